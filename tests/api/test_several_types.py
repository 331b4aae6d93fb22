"""Integers that are Python's on one path and NumPy's on another, NumPy's bools, powers that wrap: plain functions.

Values are those of the function run by Python. Random programs of integers may raise OverflowError or be refused where
the result depends on the path, but never differ.
"""

from __future__ import annotations

import linecache
import math
import random
import warnings
from typing import Any

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
SMALL = ("uint8", "uint16", "uint32", "int8", "int16", "int32")


def least(x, l, u):
    return x * min(-l, u[2] % 6)


def chosen(x, l, u):
    return x * (-l if l > 0 else u[2])


def rebound(x, l, u):
    k = u[0]
    if l > 0:
        k = -l
    return x * k


def greatest(x, l, u):
    return x * max(u[0], l * 100000)


def of_literals(x, l, u):
    return x * max(-3, u[0]) + x * min(u[0], 70000) + x * min(l, u[1], -2)


def below(x, l, u):
    return x * (1.0 if -l < u[0] else 2.0) + x * (u[1] == -l)


def listed(x, l, u):
    return x * np.array([-l, u[0]])[0]


def summed(x, l, u):
    s = 0
    for i in range(u.shape[0]):
        s += u[i]
    return x * (s + s) + x * (s * 3)  # wraps


def hashed(x, l, u):
    h = 7
    for i in range(20):
        h = h * 11 + u[i % 3]
    return x * h


def counted(x, l, u):
    n = l
    for i in range(u.shape[0]):
        n += u[i]
    return x * n


PROGRAMS = (least, chosen, rebound, greatest, of_literals, below, listed, summed, hashed, counted)


def _agree(f: Any, args: tuple[Any, ...]) -> None:
    wanted = f(*args)
    value, gradient = aj.value_and_grad(f)(*args)
    assert (value, gradient) == (pytest.approx(float(wanted), rel=1e-14), pytest.approx(wanted / args[0]))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", SMALL)
def test_by_path(f: Any, dtype: str, uncompiled: None) -> None:
    _agree(f, (1.5, 4, np.array([3, 40, 57], dtype)))


def test_by_path_compiled() -> None:
    def f(x, l, u):
        s = 0
        for i in range(u.shape[0]):
            s += u[i]
        return x * min(-l, u[0]) + x * max(u[0], l * 100000) + x * s * 3 + x * (-l < u[0]) + x * (u[0] ** 41)

    for dtype in (np.uint8, np.uint64):
        _agree(f, (1.5, 4, np.array([3, 40, 57], dtype))) if dtype == np.uint8 else _refused(f, dtype)


def _refused(f: Any, dtype: Any) -> None:
    with pytest.raises(aj.UnsupportedError, match=r"a Python integer or uint64|depends on the path"):
        aj.grad(f)(1.5, 4, np.array([3, 40, 57], dtype))


def test_what_depends_on_the_path_raises(uncompiled: None) -> None:
    def f(x, l, u):
        k = l if l > 0 else u[0]
        return x * (k + 200)

    u = np.array([100], np.uint8)
    assert aj.value_and_grad(f)(1.0, 30, u) == (230.0, 230.0)
    with pytest.raises(OverflowError, match=r"is a uint8 of NumPy on another path.*int\(k\)"):
        aj.grad(f)(1.0, 100, u)
    assert aj.value_and_grad(f)(1.0, 300, u) == (500.0, 500.0)  # no uint8


def test_arrays_of_what_depends_on_the_path_are_refused(uncompiled: None) -> None:
    def filled(x, l, u):
        a = np.full(3, l if l > 0 else u[0])
        a[0] = 200
        return x * np.sum(a * a)

    def listed(x, l, u):
        return x * np.array([l if l > 0 else u[0], 2])[0]

    u = np.array([100], np.uint8)
    for f in (filled, listed):
        with pytest.raises(aj.UnsupportedError, match="by the path"):
            aj.grad(f)(1.0, 1, u)


def test_literals_that_do_not_fit_are_refused(uncompiled: None) -> None:
    u = np.array([100], np.uint8)
    for f in (lambda x, u: x * (u[0] + 300), lambda x, u: x * np.sum(u * -1)):
        with pytest.raises(aj.UnsupportedError, match="out of bounds for uint8: NumPy raises OverflowError"):
            aj.grad(f)(1.0, u)
    assert aj.grad(lambda x, u: x * (u[0] / 300 + u[0] * 1e3))(1.0, u) == 100 / 300 + 1e5
    assert aj.grad(lambda x, u: x * np.clip(u[0], -1, 300))(1.0, u) == 100


def pairs(x, y):
    return ((x[0] > 0) + (x[1] > 0)) * x[0]


def in_turn(x, y):
    c = x[0] > 0
    c = c + (x[1] > 0)
    c += x[2] > 0
    return c * x[0] + x[1] * (True + (y > 0) + (x[0] > 0))


def of_a_mask(x, y):
    m = x > 1.2
    return (m[0] + m[1] + m[2]) * x[0] + np.sum((m + m) * x) + np.sum(~m * x)


def inverted(x, y):
    return (~(x[0] > 5)) * x[0] + (~(y > 0)) * x[1] + (~(y > 5)) * x[1]


def of_functions(x, y):
    return x[0] * (np.isfinite(y) + np.isfinite(x[0])) + x[1] * np.multiply(x[0] > 0, x[1] > 0) * 3


def of_python(x, y):
    return x[0] * ((y > 0) + (y > 1)) + x[1] * (bool(x[0]) + (not x[1] > 9))


def counting(x, y):
    c = 0
    for i in range(3):
        c += x[i] > 1
    return c * x[0] + np.count_nonzero(x > 1.2) * x[1] + np.dot(x > 0, x > 1.1) * x[2]


BOOLS = (pairs, in_turn, of_a_mask, inverted, of_functions, of_python, counting)


@pytest.mark.parametrize("f", BOOLS, ids=lambda f: f.__name__)
def test_bools(f: Any, uncompiled: None) -> None:
    x = np.array([1.0, 1.5, 2.0])
    assert aj.value_and_grad(f)(x, 1.5)[0] == f(x, 1.5)


def test_bools_compiled() -> None:
    def f(x, y):
        c = (x[0] > 0) + (x[1] > 0)
        return c * x[0] + (~c) * x[1] + ((y > 0) + (y > 1)) * x[2] + (~(y > 0)) * x[1]

    x = np.array([1.0, 1.5, 2.0])
    value, gradient = aj.value_and_grad(f)(x, 1.5)
    assert value == f(x, 1.5)
    assert gradient.tolist() == [1, -2, 2]


def masks(x, q):
    return np.sum(x) / np.sum(np.logical_and(x > -9, np.isfinite(x))) + np.sum((x > -5) * (x < 5)) * x[0]


def chosen_by_masks(x, q):
    inside = (x > 1.2) * (x < 9)
    return (
        np.sum(x[inside]) / np.sum(inside)
        + np.sum(x[(x < 1.2) + (x > 1.9)])
        + np.sum(np.where(q * inside, x, 0.0))
    )


def folds(x, q):
    both = np.logical_and(x > 1.2, x < 9)
    of_rows = np.sum(np.sum(np.logical_or(x[:, None] > 0, x[None, :] < 9), axis=1))
    return x[0] * (
        of_rows + np.var(both) + np.average(both) + np.add.reduce(both) + both.sum() + np.cumsum(both)[2]
    )


def products(x, q):
    return x[0] * (np.sum(q * True) + np.sum(np.isfinite(x) * q) + np.sum(np.minimum(q, q)) + np.dot(q, q))


def of_small(x, q):
    u, count = np.array([100, 40, 57], np.uint8), 0
    for k in range(3):
        count += u[k] > 50
    return x[0] * (np.sum(x > 0) * u[0] + (np.count_nonzero(q) - u[0]) + count * u[0] * 2)


def own_integers(x, q):
    u, n = np.array([100, 40, 57], np.uint8), len(x)
    places = (np.argmax(x) - u[0]) + (x.argmin() - u[1]) + np.searchsorted(x, 1.2) * u[0] * u[0]
    places += np.digitize(1.2, x) * u[2] * 3 + np.add(n, 1) * u[0] * 2
    chosen = (np.where(q[0], 1, 0) + u[0] + 200) + np.where(n > 0, n, 2) * u[0] * u[0]
    return x[0] * (places + chosen + (np.greater(n, 1) + np.less(n, 5)) + (np.equal(n, 3) + q[0]))


def flags(x, q):
    found = False
    for i in range(3):
        if q[i]:
            found = x[i] > 1.2
    return x[0] if found else x[1]


def listed_integers(x, q):
    u, s = np.array([100, 40], np.uint8), 0.0
    items = [3, u[0], len(x)]
    for k in items:
        s += x[0] * k
    return s + x[1] * items[1] + x[2] * np.array([len(x) - 7, u[1]])[0]


@pytest.mark.parametrize(
    "f",
    [masks, chosen_by_masks, folds, products, of_small, own_integers, flags, listed_integers],
    ids=lambda f: f.__name__,
)
def test_masks_and_flags(f: Any, uncompiled: None) -> None:
    x, q = np.array([1.0, 1.5, 2.0]), np.array([True, False, True])
    assert aj.value_and_grad(f)(x, q)[0] == pytest.approx(f(x, q), rel=1e-14)


def test_masks_and_flags_compiled() -> None:
    @njit
    def helper(a, b):
        return (a > 0) + (b > 0)

    def f(x, q):
        n = np.sum(np.logical_and(x > -9, np.isfinite(x))) + np.sum((x > -5) * (x < 5)) + np.sum(q * True)
        return x[0] * n + x[1] * helper(x[0], x[1])  # Numba's bools are numbers

    x, q = np.array([1.0, 1.5, 2.0]), np.array([True, False, True])
    assert aj.value_and_grad(f)(x, q)[0] == f(x, q) == 11.0


def test_bools_by_path_are_not_added(uncompiled: None) -> None:
    def f(x, n):
        c = n > 0
        if n > 5:
            c = x[0] > 0
        return x[0] * (c + (n > 1))

    with pytest.raises(aj.UnsupportedError, match="depends on the path"):
        aj.grad(f)(np.ones(2), 3)


def test_parallel_turns_do_not_raise() -> None:
    def f(x, nb):
        s = 0.0
        for i in prange(x.shape[0]):
            j = nb[i] if nb[i] < x.shape[0] else 0
            k = i + 1 if i + 1 < x.shape[0] else nb[0]
            s += x[i] * x[j] * x[k - 1]
        return s

    args = np.array([1.0, 1.5, 2.0]), np.array([1, 2, 0], np.uint8)
    text = aj.value_and_grad(f).source(*args)
    assert "OverflowError" not in text
    assert "in order" not in text


def test_what_numpy_has_not_of_bools_is_refused(uncompiled: None) -> None:
    for f in (lambda x: x[0] * ((x[0] > 0) - (x[1] > 0)), lambda x: x[0] * (-(x[0] > 0))):
        with pytest.raises(aj.UnsupportedError, match="`-` of NumPy's bools"):
            aj.grad(f)(np.ones(2))


def test_powers_wrap() -> None:
    def f(x, u, v):
        return x * float(u[0] ** v[0]) + x * np.sum(u**v) + x * float(u[1] ** 20) + x * np.sum(np.power(u, v))

    for dtype, base in (("int8", -3), ("uint32", 7), ("uint64", 100)):
        _agree(f, (1.0, np.array([base, base], dtype), np.array([41, 63], dtype)))


def test_fmod_of_integers_has_the_sign_of_the_first() -> None:
    def f(x, a, n):
        return x * np.fmod(a[0], a[1]) + x * math.fmod(-7, n) + x * np.sum(np.fmod(a, 2))

    _agree(f, (1.0, np.array([-3, 2]), 2))


def test_the_negative_exponent_of_an_unsigned_base_raises(uncompiled: None) -> None:
    def f(x, u, n):
        return x * float(u[0] ** n)

    assert aj.value_and_grad(f)(1.0, np.array([3], np.uint64), 4)[0] == 81
    with pytest.raises(ValueError, match="negative power"):
        aj.grad(f)(1.0, np.array([3], np.uint64), -1)


def literals(x, n, u):
    s = 0.0
    for k in [100, 200]:
        s += x * (k + u[0])  # wraps in uint8
    return s + x * ([7, n][1] + u[0]) + x * ([0.5, n][0] + u[0])


def put(x, n, u):
    w, v = [u[0], u[1]], [0] * 3
    w[0] = n
    for i in range(3):
        v[i] = u[i]
    return x * (w[0] + u[2]) + x * (v[0] + u[2])


def made(x, n, u):
    w = [50 * i for i in range(3)]
    v = w.copy()
    v[0] = n
    big = [i for i in u if i > 50]
    return x * (w[1] + u[2]) + x * ((v if n > 1 else w)[0] + u[2]) + x * (big[0] + big[1])


@pytest.mark.parametrize("f", [literals, put, made], ids=lambda f: f.__name__)
def test_items_of_lists_stay_pythons(f: Any, uncompiled: None) -> None:
    u = np.array([100, 3, 200], np.uint8)
    _agree_on_the_value(f, (0.5, 3, u))
    for call in (f, aj.grad(f)):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            call(0.5, 300, u)


def test_items_of_lists_in_single_precision(uncompiled: None) -> None:
    def f(x):
        s = x[0]
        for w in [0.1, 0.3]:
            s += w * x[1]
        return s

    x = np.array([1.0, 1.5], np.float32)
    value, gradient = aj.value_and_grad(f)(x)
    assert (value, gradient.dtype) == (f(x), np.float32)


def test_floats_by_path(uncompiled: None) -> None:
    """A float that may be Python's or NumPy's, integers beside floats and beside bools."""
    u, y = np.array([100, 3], np.uint8), np.array([1.5, -2.0])

    def accumulated(x, n):
        s = 0.0
        for i in range(n):
            s += y[i]
        return x * s * ((x > 0) + (x > 1)) + (s > 0) * (s > 1) + (2 if s > 1 else 3)

    def integers(x, n):
        k = u[0] if n > 1 else 0.25
        b = n if n > 5 else y[0] > 0
        return x * (k * 2 - 1) + (k > 2) * x + k / 3 + b * 3 + (b > 0)

    for f in (accumulated, integers):
        for n in (0, 1, 2):
            _agree_on_the_value(f, (0.5, n))

    def doubled(x, y, n):
        m = max(x, y[0])
        return ((m > 0) + (m > 1)) * x

    def mixed(x, y, n):
        k = n if n > 2 else y[0] > 0
        return ((k > 0) + (k > 0)) * x

    for f in (doubled, mixed):
        with pytest.raises(
            aj.UnsupportedError, match=r"`\+` for \(bool or a Python bool.* depends on the path"
        ):
            aj.grad(f)(2.0, y, 3)

    def wraps(x, n):
        k = max(u[0], 0.5) if n else 0.25
        return x * (k + 200)

    assert aj.value_and_grad(wraps)(1.0, 0)[0] == 200.25
    with pytest.raises(OverflowError, match="is a uint8 of NumPy on another path"):
        aj.grad(wraps)(1.0, 1)  # 44 in Python, of a uint8


def test_a_float_times_a_bool_of_numpy_compares_as_numpys(uncompiled: None) -> None:
    def f(x, y):
        z = x * (y[0] > 0)
        return ((z > 0) + (z > 1)) * x + (~(z > 0)) * x

    _agree_on_the_value(f, (1.5, np.ones(1)))


def _agree_on_the_value(f: Any, args: tuple[Any, ...]) -> None:
    assert aj.value_and_grad(f)(*args)[0] == pytest.approx(float(f(*args)), rel=1e-14)


class _Programs:
    """Random functions of integers of several types, half of them with floats and bools."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._floats = self._random.choice(
            ((), (0.5, "x", "y[0]", "y[1] > 0", "x > 1", "(y[0] > 0)", "float(l)"))
        )

    def _one(self, *several: object) -> str:
        return str(self._random.choice(several))

    def _expression(self, depth: int = 2) -> str:
        if depth == 0 or self._random.random() < 0.25:
            literal = self._one(0, 1, 2, 3, -1, -2, 5, 100, *self._floats)
            return self._one("k", "l", "n", "m", "u[0]", "u[1]", "v[0]", "w[1]", literal)
        a, b = self._expression(depth - 1), self._expression(depth - 1)
        return self._one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} // {self._one(2, 3, 7)})",
            f"({a} % {self._one(2, 3, 7)})", f"min({a}, {b})", f"max({a}, {b})", f"abs({a})", f"np.minimum({a}, {b})",
            f"({a} if {self._one('k', 'l', 'n')} > {self._one(0, 1, 2)} else {b})", f"({a} & {b})", f"({a} ^ {b})",
            f"({a} >> {self._one(1, 2)})", f"(~{a})", f"({a} < {b}) * 1",
        )  # fmt: skip

    def source(self) -> str:
        lines = ["def f(x, l, n, u, v, w, y):", "    k = 0", "    m = 3"]
        for _ in range(self._random.randint(2, 6)):
            to, kind = self._one("k", "m"), self._random.random()
            if kind < 0.5:
                lines.append(f"    {to} = {self._expression()}")
            elif kind < 0.7:
                lines.append(f"    if {self._one('k', 'l', 'n')} > {self._one(0, 2, 4)}:")
                lines.append(f"        {to} = {self._expression()}")
            else:
                lines.append(f"    for i in range({self._one(0, 1, 3)} + l % 2):")
                lines.append(f"        {to} = {self._expression(1)} {self._one('+', '-')} {to}")
        return "\n".join([*lines, "    return x * k + x * x * m", ""])

    def arguments(self) -> tuple[Any, ...]:
        def array() -> np.ndarray[Any, Any]:
            dtype = np.dtype(self._one("uint8", "uint16", "int8", "int16"))
            ends = np.iinfo(dtype)
            numbers = (0, 1, 3, 7, ends.max, ends.min, ends.max - 2)
            return np.array([self._random.choice(numbers) for _ in range(2)], dtype)

        l, n = self._random.choice((-4, 0, 3, 5, 200)), self._random.choice((1, 2, -1, 7))
        return 1.5, l, n, array(), array(), array(), np.array([2.5, self._random.choice((-1.0, 3.0))])


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed: int, uncompiled: None) -> None:
    agreed = 0
    for k in range(40):
        programs = _Programs(1000 * seed + k)
        text, name = programs.source(), f"<several {seed} {k}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        scope: dict[str, Any] = {"np": np}
        exec(compile(text, name, "exec"), scope)
        args = programs.arguments()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = float(scope["f"](*args))
        except (OverflowError, TypeError):  # NumPy has no `-` of bools, nor `&` of floats
            continue
        try:
            value, _ = aj.value_and_grad(scope["f"])(*args)
        except (OverflowError, aj.UnsupportedError):
            continue
        assert value == pytest.approx(wanted, rel=1e-12), (text, args)
        agreed += 1
    assert agreed >= 20
