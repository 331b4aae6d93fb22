"""Gates what a refusal says: the cause in the user's words, and a remedy that works when it is followed."""

import ast
import functools
import math
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from scipy import special

import adjit as aj
from adjit.errors import AdjitError, ArgumentError, CallError, MissingRuleError, UnsupportedError
from adjit.frontend import remedies
from adjit.frontend.read_source import read_source

X = np.array([1.0, 2.0])


def squares(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


@functools.lru_cache
def cached(x):
    return x * x


class Spring:
    def __init__(self):
        self.k = 2.0

    def __call__(self, x):
        return x * x

    def energy(self, x):
        return self.k * x

    @classmethod
    def made(cls, x):
        return x

    @staticmethod
    def square(x):
        return x * x


class Model(NamedTuple):
    k: float

    def energy(self, x):
        return self.k * x


def calls_method(m):
    return m.energy(2.0)


def missing_field(m):
    return m.q


async def awaited(x):
    return x


def undefined(x):
    return nope * x  # noqa: F821


def misspelt(value):
    return valeu * value  # noqa: F821


def rows(x):
    s = 0.0
    for row in x:
        s += row
    return s


def sines(x):
    return math.sin(x[0])


def first(x):
    return x[0]


weights = np.ones(2)


def writes_and_reads(x):
    x[0] = weights[1]
    return x[0]


def sometimes(x):
    r = None
    if x > 0.0:
        r = x * x
    return r if r is not None else 0.0


def swapped(a, b):
    for _ in range(2):
        a, b = b, a
    return 1.0 * a[0]


def pushed(x):
    return aj.jvp(lambda y: y * x, (x,), (1.0,))[1]


def pulled_back(x):
    return aj.vjp(lambda y: y * x, x)[1](1.0)[0]


def swept(x):
    return aj.autodiff(aj.Reverse, lambda y: y * x, aj.Active(x)).gradients[0]


def checked(x):
    aj.check_grad(lambda y: y * y, x)
    return x


REFUSED = [
    (
        lambda: aj.grad(swapped)(np.ones(2, np.float32), np.ones(2)),
        UnsupportedError,
        "a 1-D array of float32 at the start of a turn of this loop and a 1-D array of float64",
    ),
    (lambda: aj.grad(cached)(3.0), ArgumentError, "cached.__wrapped__"),
    (lambda: aj.grad(lambda x: cached(x))(3.0), MissingRuleError, "cached.__wrapped__"),
    (lambda: aj.grad(swept)(3.0), MissingRuleError, "the call of 'adjit.Active'"),
    (lambda: aj.grad(checked)(3.0), MissingRuleError, "the call of 'adjit.check_grad'"),
    (lambda: aj.grad(lambda x: x.foo)(X), UnsupportedError, "an array has no attribute 'foo'"),
    (lambda: aj.grad(lambda x: (x * x).summ())(X), UnsupportedError, "did you mean 'sum'?"),
    (lambda: aj.grad(lambda x: x.strides[0] * x[0])(X), UnsupportedError, "'strides' of an array is not"),
    (lambda: aj.grad(lambda x: x.sum)(X), UnsupportedError, "call it: '.sum(...)'"),
    (lambda: aj.grad(Spring())(3.0), ArgumentError, "an object of class Spring is not a function"),
    (lambda: aj.grad(lambda x: Spring.made(x))(3.0), UnsupportedError, "bound method"),
    (lambda: aj.grad(Spring().energy)(3.0), ArgumentError, "'Spring.energy' is a bound method"),
    (lambda: aj.grad(Spring.made)(3.0), ArgumentError, "make it a @staticmethod"),
    (
        lambda: aj.grad(numba.vectorize(lambda x: x * x))(2.0),
        ArgumentError,
        "decorate the function with njit",
    ),
    (lambda: aj.grad(math.sin)(1.0), ArgumentError, "lambda x: math.sin(x)"),
    (lambda: aj.grad(math.atan2)(1.0, 1.0), ArgumentError, "lambda x, y: math.atan2(x, y)"),
    (lambda: aj.grad(np.sin)(1.0), ArgumentError, "lambda x: numpy.sin(x)"),
    (lambda: aj.grad(math.fsum)(1.0), ArgumentError, "no rule"),
    (lambda: aj.grad(special.erf)(1.0), ArgumentError, "call math.erf of each element"),
    (lambda: aj.grad(numba.stencil(lambda a: a[-1] + a[1]))(X), ArgumentError, "made by numba.stencil"),
    (lambda: aj.grad(aj.grad(squares))(X), ArgumentError, "the gradient of squares() returns array"),
    (lambda: aj.grad(squares)(np.array(2.0)), UnsupportedError, "it has no shape[0]"),
    (lambda: aj.grad(first)(np.array(2.0)), UnsupportedError, "1 index for an array of 0 dimensions"),
    (lambda: aj.grad(squares)((1.0, 2.0)), UnsupportedError, "'x' is a tuple, which has no 'shape'"),
    (lambda: aj.grad(squares)(np.ones((2, 2))), UnsupportedError, "and a 1-D array at its end"),
    (lambda: aj.grad(rows)(np.ones((2, 2))), UnsupportedError, "'s' is a number at the start of a turn"),
    (lambda: aj.grad(sines)(np.ones((2, 2))), UnsupportedError, "'x[0]' is a 1-D array"),
    (lambda: aj.grad(calls_method)(Model(1.0)), UnsupportedError, "make it a function"),
    (lambda: aj.grad(missing_field)(Model(1.0)), UnsupportedError, "its fields are: k"),
    (lambda: aj.grad(squares, wrt=(0, "x")), ArgumentError, "wrt names 'x' twice (wrt=0 and wrt='x')"),
    (lambda: aj.grad(calls_method, wrt=("m.k", 0)), ArgumentError, "'m' and 'm.k', which is inside of it"),
    (lambda: aj.grad(awaited)(1.0), UnsupportedError, "write 'def' in place of 'async def'"),
    (lambda: aj.grad(undefined)(1.0), UnsupportedError, "import it, assign it before the call"),
    (lambda: aj.grad(misspelt)(1.0), UnsupportedError, "did you mean 'value'?"),
    (lambda: aj.grad(writes_and_reads)(weights), ArgumentError, "the captured array 'weights'"),
    (lambda: aj.grad(sometimes)(1.0), UnsupportedError, "a bool that says whether it is set"),
]


SCALE = 2.0


def captures(x):
    return np.sum(x) * SCALE


def test_a_prepared_operator_ends_with_what_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = aj.prepare(aj.grad, captures, X)
    with pytest.raises(ArgumentError, match="arguments are of other types or shapes"):
        prepared(np.ones(3))
    with aj.debug_nans(), pytest.raises(ArgumentError, match="debug_nans"):
        prepared(X)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    with pytest.raises(ArgumentError, match=r"what captures\(\) captures .* has another value") as caught:
        prepared(X)
    assert "prepare again" in caught.value.remedy
    monkeypatch.undo()
    assert prepared(X)[0] == 2.0


SPECIAL = [
    (special.erf, math.erf),
    (special.erfc, math.erfc),
    (special.gamma, math.gamma),
    (special.gammaln, math.lgamma),
    (special.ndtr, lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0))),
    (special.expit, lambda x: 1.0 / (1.0 + np.exp(-x))),
    (special.logit, lambda x: np.log(x / (1.0 - x))),
    (special.log_expit, lambda x: -np.logaddexp(0.0, -x)),
    (special.exp10, lambda x: 10.0**x),
    (special.entr, lambda x: -x * np.log(x)),
]


@pytest.mark.parametrize(("function", "instead"), SPECIAL, ids=[f.__name__ for f, _ in SPECIAL])
def test_what_stands_for_functions_of_scipy(function: Any, instead: Any, uncompiled: None) -> None:
    name = f"scipy.special.{function.__name__}"
    with pytest.raises(MissingRuleError, match=f"'{name}'") as caught:
        aj.grad(lambda x: function(x))(0.4)
    remedy = caught.value.remedy
    assert remedy == remedies.INSTEAD[name]
    source = read_source(instead).node if instead.__name__ == "<lambda>" else None
    assert (instead.__name__ if source is None else ast.unparse(source.body)) in remedy
    assert math.isclose(function(0.4), instead(0.4), rel_tol=1e-14)
    aj.check_grad(lambda x: instead(x), 0.4)


def test_stands_for_functions_of_vectors(uncompiled: None) -> None:
    def logsumexp(x):
        m = np.max(x)
        return m + np.log(np.sum(np.exp(x - m)))

    def distance(p, q):
        return math.sqrt(np.sum((p - q) ** 2))

    assert math.isclose(logsumexp(X), special.logsumexp(X))
    np.testing.assert_allclose(aj.grad(logsumexp)(X), special.softmax(X))
    assert aj.grad(distance)(X, X + 3.0).tolist() == [-math.sqrt(0.5)] * 2


def test_jvp_and_vjp_work_inside():
    assert aj.grad(pushed)(3.0) == 1.0
    assert aj.grad(pulled_back)(3.0) == 1.0


@pytest.mark.parametrize(("call", "kind", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_a_refusal_says(call: Any, kind: type[AdjitError], words: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)
    assert caught.value.remedy


def test_remedies_work() -> None:
    assert aj.grad(cached.__wrapped__)(3.0) == 6.0
    assert aj.grad(lambda x: cached.__wrapped__(x))(3.0) == 6.0
    assert aj.grad(Spring.square)(3.0) == 6.0
    assert aj.grad(Model(2.0).energy)(3.0) == 2.0
    assert aj.grad(numba.njit(lambda x: x * x))(3.0) == 6.0
    assert aj.grad(lambda x, y: math.atan2(x, y))(0.0, 1.0) == 1.0
    assert aj.vjp(aj.grad(squares), X)[1](np.array([1.0, 0.0]))[0].tolist() == [2.0, 0.0]
    assert aj.grad(squares)(np.asarray((1.0, 2.0))).tolist() == [2.0, 4.0]


def needs(x, mode=None):
    if mode is None:
        raise ValueError("give a mode")
    return x * x


@pytest.mark.parametrize(
    "call",
    [
        lambda: aj.grad(needs)(1.0),
        lambda: aj.value_and_grad(needs)(1.0),
        lambda: aj.vjp(needs, 1.0),
        lambda: aj.jvp(needs, (1.0,), (1.0,)),
        lambda: aj.jit(needs)(1.0),
        lambda: aj.autodiff(aj.Reverse, needs, aj.Active(1.0)),
        lambda: aj.check_grad(needs, 1.0),
    ],
)
def test_a_program_that_always_raises_raises_what_the_plain_one_does(call: Any) -> None:
    with pytest.raises(ValueError, match="give a mode") as caught:
        call()
    assert not isinstance(caught.value, AdjitError)


def scaled(x, a, k=3):
    return a * x * k


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "scaled() missing a required argument: 'x'"),
        ((1.0,), {}, "scaled() missing a required argument: 'a'"),
        ((1.0, 2.0, 3, 4), {}, "scaled() takes 3 positional arguments but 4 were given"),
        ((1.0, 2.0), {"q": 1}, "scaled() got an unexpected keyword argument 'q'"),
        ((1.0, 2.0), {"a": 1}, "scaled() got multiple values for argument 'a'"),
    ],
)
def test_a_wrong_call_reads_as_pythons(args: Any, kwargs: Any, words: str) -> None:
    for call in (aj.grad(scaled), aj.jit(scaled), lambda *a, **k: aj.vjp(scaled, *a, **k)):
        with pytest.raises(ArgumentError) as caught:
            call(*args, **kwargs)
        assert caught.value.reason == words
        assert isinstance(caught.value, CallError)
        assert isinstance(caught.value, ValueError)  # as every ArgumentError is
        assert isinstance(caught.value, TypeError)  # as the plain call's
        assert "x, a, k" in caught.value.remedy
        assert "def scaled" in str(caught.value)
    with pytest.raises(TypeError):
        scaled(*args, **kwargs)


def test_a_wrong_call_of_one_parameter() -> None:
    with pytest.raises(CallError, match="takes 1 positional argument but 2 were given"):
        aj.grad(squares)(X, X)


def remembered(x, work=np.zeros(2)):
    work[0] = x * x
    return work[0] * x


def remembers(x):
    return remembered(x)


def keeps(x):
    SCRATCH[0] = x
    return SCRATCH[0]


SCRATCH = np.zeros(2)


def test_a_written_default_array_is_named(uncompiled: None) -> None:
    """Of the function that is called it is an argument as any other, and ends as the plain call leaves it."""
    assert aj.grad(remembered)(2.0) == 12.0 and remembered.__defaults__[0][0] == 4.0
    with pytest.raises(
        UnsupportedError, match="default value of the parameter 'work' of 'remembered' is written"
    ):
        aj.grad(remembers)(2.0)
    with pytest.raises(UnsupportedError, match="a captured array is written, 'SCRATCH'"):
        aj.grad(keeps)(2.0)


def listed_or_number(x, flag):
    y = 1.0
    if flag:
        y = [x, x]
    return y


def listed_in_turn(x, flag):
    y = 1.0
    for _ in range(2):
        y = [x, x]
    return y[0]


def listed_or_none(x, flag):
    return [x, x] if flag else None


def indexed_twice(x, flag):
    items = [x, x]
    return items[0, 0]


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (listed_or_number, "'y' is a list on one path and a number on another"),
        (listed_in_turn, "'y' is a number on one path and a list on another"),
        (listed_or_none, "one branch gives a list, the other None"),
        (lambda x, flag: math.sin([x, x]), "'math.sin' of a list"),
        (lambda x, flag: float([x, x]), "a list is used where a number is needed"),
        (indexed_twice, "2 indices for a list"),
    ],
)
def test_a_list_is_called_a_list(f: Any, words: str, uncompiled: None) -> None:
    with pytest.raises(UnsupportedError, match=words):
        aj.grad(f)(2.0, True)


def unpacked(x, flag):
    a, b, c = x
    return a * b * c


@pytest.mark.parametrize(
    ("f", "kind", "words"),
    [
        (lambda x, flag: np.trapz(x), UnsupportedError, "NumPy 2 calls it np.trapezoid"),
        (lambda x, flag: x.mean().item(), UnsupportedError, r"leave '.item\(\)' out"),
        (lambda x, flag: x.H, UnsupportedError, r"write x.conj\(\).T"),
        (unpacked, ValueError, "not as many values to unpack as there are names"),
    ],
)
def test_what_is_meant_is_told(f: Any, kind: type[Exception], words: str, uncompiled: None) -> None:
    with pytest.raises(kind, match=words):
        aj.grad(f)(X, True)
