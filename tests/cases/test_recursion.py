"""Functions that call themselves: value, state, gradient, tangents, pullbacks and second derivatives."""

from __future__ import annotations

import copy
import linecache
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit.errors import UnsupportedError
from tests.cases.recursive import LEFT, PROGRAMS, RIGHT, power, quicksort, walk_tree, with_locals

COMPILED = ("quicksort", "locals", "same_array", "children", "pairs", "karatsuba", "overwritten_above")


def richardson(f, args, direction, step=1e-4):
    """The directional derivative in the first argument, to fourth order."""

    def at(h):
        moved = copy.deepcopy(args)
        return f(moved[0] + h * direction, *moved[1:])

    wide, narrow = (at(step) - at(-step)) / (2 * step), (at(step / 2) - at(-step / 2)) / step
    return (4 * narrow - wide) / 3


def check(f, args):
    """Every mode against plain njit, differences and each other."""
    reference, mine = copy.deepcopy(args), copy.deepcopy(args)
    expected = f(*reference)
    value, gradient = aj.value_and_grad(f)(*mine)
    assert value == expected
    for a, b in zip(mine, reference, strict=True):
        np.testing.assert_array_equal(a, b)
    rng = np.random.default_rng(1)
    direction = rng.uniform(0.5, 1.0, np.shape(args[0])) if np.ndim(args[0]) else 0.7
    slope = np.sum(gradient * direction)
    assert slope == pytest.approx(richardson(f, args, direction), rel=1e-7, abs=1e-8)
    rest = (None,) * (len(args) - 1)
    _, tangent = aj.jvp(f, copy.deepcopy(args), (direction, *rest))
    assert tangent == pytest.approx(slope, rel=1e-11, abs=1e-12)
    _, pullback = aj.vjp(f, *copy.deepcopy(args))
    for _ in range(2):
        np.testing.assert_allclose(pullback(1.0)[0], gradient, rtol=1e-12, atol=1e-13)
    _, curve = aj.jvp(aj.grad(f), copy.deepcopy(args), (direction, *rest))
    h = 1e-5

    def slopes(sign):
        moved = copy.deepcopy(args)
        return np.asarray(aj.grad(f)(moved[0] + sign * h * direction, *moved[1:]))

    differences = (slopes(1) - slopes(-1)) / (2 * h)
    np.testing.assert_allclose(curve, differences, rtol=2e-5, atol=2e-5 * (1 + np.abs(differences).max()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_recursion(name, monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    monkeypatch.setenv("ADJIT_VERIFY", "1")
    check(*PROGRAMS[name])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[] if n in ("children", "quicksort", "pairs") else pytest.mark.slow)
        for n in COMPILED
    ],
)
def test_compiled_recursion(name):
    check(*PROGRAMS[name])


def test_a_second_process_loads_recursive_functions_from_the_cache(tmp_path):
    text = (
        "import numpy as np, adjit as aj\n"
        "from tests.cases.recursive import with_locals\n"
        "print(aj.grad(with_locals)(np.linspace(0.3, 1.1, 7)).tolist())\n"
    )
    env = os.environ | {"ADJIT_CACHE_DIR": str(tmp_path)}
    root = Path(__file__).parents[2]
    outs = [
        subprocess.run(
            [sys.executable, "-c", text], env=env, cwd=root, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert outs[0].stdout == outs[1].stdout
    np.testing.assert_allclose(eval(outs[0].stdout), aj.grad(with_locals)(np.linspace(0.3, 1.1, 7)))


def test_duplicated_shadows_accumulate_through_calls(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    f, (x, *rest) = PROGRAMS["children"]
    once = np.zeros(7)
    aj.autodiff(aj.Reverse, f, aj.Duplicated(x.copy(), once), *map(aj.Const, rest))
    twice = np.full(7, 2.0)
    aj.autodiff(aj.Reverse, f, aj.Duplicated(x.copy(), twice), *map(aj.Const, rest))
    np.testing.assert_allclose(twice, once + 2.0, rtol=1e-14)


def test_gradients_inside_a_program_go_through_recursion(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    def f(x):
        return aj.grad(lambda y: power(y, 3) * x)(x * x)

    assert aj.jvp(f, (1.3,), (1.0,)) == pytest.approx((3 * 1.3**5, 15 * 1.3**4))
    with pytest.raises(
        UnsupportedError, match="a gradient of a gradient through a function that calls itself"
    ):
        aj.grad(f)(1.3)


def test_float32_stays_float32(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    def shrink(x, n):
        if n == 0:
            return x[0] * 0.5
        x[0] = x[0] * 1.5 + 0.1
        return shrink(x, n - 1) * 0.3

    value, gradient = aj.value_and_grad(shrink)(np.array([0.7], np.float32), 4)
    assert np.asarray(value).dtype == np.float32 and gradient.dtype == np.float32
    assert gradient[0] == pytest.approx(0.5 * 1.5**4 * 0.3**4, rel=1e-6)


def test_several_types_of_one_function():
    @njit
    def count(x, n):
        return x if n == 0 else count(x + 1, n - 1)

    def f(x):
        return count(x, 3) * count(2, 4) * count(x * x, 1)

    assert aj.value_and_grad(f)(0.5) == (f(0.5), pytest.approx(6 * (3 * 0.25 + 2 * 3 * 0.5 + 1)))


def test_a_strided_argument_is_passed_on(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    @njit
    def evens(x):
        return x[0] ** 2 if len(x) == 1 else evens(x[::2]) * x[1]

    x = np.linspace(0.5, 1.2, 9)
    np.testing.assert_allclose(
        aj.grad(evens)(x)[[1, 2, 4]], [evens(x) / x[1], evens(x) / x[2], evens(x) / x[4]]
    )
    check(evens, (x,))


def test_compiled_strided_arguments():
    @njit
    def evens(x):
        return x[0] ** 2 if len(x) == 1 else evens(x[::2]) * x[1]

    check(evens, (np.linspace(0.5, 1.2, 9),))


def test_a_recursive_lambda(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    def f(x):
        power = lambda n: x[0] if n == 0 else x[n] * power(n - 1)
        return power(2) * power(1)

    np.testing.assert_allclose(aj.grad(f)(np.array([1.1, 0.7, 1.3])), [1.4014, 2.2022, 0.5929], rtol=1e-12)


def test_layouts_that_alternate_are_one_function():
    @njit
    def flip(m, n):
        return m[0, 1] if n == 0 else flip(m.T, n - 1) * m[1, 1]

    m = np.arange(1.0, 5.0).reshape(2, 2)
    value, gradient = aj.value_and_grad(flip)(m, 2)
    assert value == flip(m, 2) == 32.0
    np.testing.assert_array_equal(gradient, [[0.0, 16.0], [0.0, 16.0]])


def test_too_deep_a_recursion_raises():
    @njit
    def deep(x, n):
        return x if n == 0 else deep(x, n - 1) + x

    with pytest.raises(RecursionError, match="deep"):
        aj.grad(deep)(1.0, 10**6)
    assert aj.grad(deep)(1.0, 1000) == 1001.0


def fill(a, x, n):
    if n == 0:
        return
    a[n - 1] = x * x * n
    fill(a, x, n - 1)


@aj.custom_jvp
def filled(a, x):
    fill(a, x, 2)
    return 0.0


def filled_rule(primals, tangents):
    a, x = primals
    da, dx = tangents
    for k in range(2):
        a[k] = x * x * (k + 1)
        da[k] = 2.0 * x * dx * (k + 1)
    return 0.0, 0.0


filled.defjvp(filled_rule)


def test_what_a_ruled_function_writes_by_recursion_is_varied(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    def f(x):
        a = np.zeros(2)
        filled(a, x)
        return a[1] * 1.0

    assert aj.jvp(f, (1.5,), (1.0,)) == (4.5, 6.0)


def test_many_values_alive_across_a_call_count_for_the_depth():
    lines = [f"    t{i} = x[{i}] * x[{(i + 1) % 40}] + n" for i in range(40)]
    more = [f"    s += t{i} * r * x[{i}]" for i in range(40)]
    text = "\n".join(
        ["def wide(x, n):", "    if n == 0:", "        return x[0]", *lines, "    r = wide(x, n - 1)"]
        + ["    s = r * 0.5", *more, "    return s * 1e-3", ""]
    )
    name = "<wide>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {}
    exec(compile(text, name, "exec"), namespace)
    x = np.ones(40)
    with pytest.raises(RecursionError, match="deep"):
        aj.jvp(namespace["wide"], (x, 10**7), (x, None))


# refusals


def never(x):
    return never(x * 0.5)


def two(x, n):
    return x if n == 0 else two(x, n - 1) + three(x, n - 1)


def three(x, n):
    return x if n == 0 else three(x * 0.5, n - 1) + two(x, n - 1)


def growing_tuple(t, n):
    return 1.0 if n == 0 else growing_tuple((t, 1.0), n - 1)


def made(x, n):
    if n == 0:
        return x.copy()
    y = made(x, n - 1)
    y[0] = y[0] * x[1]
    return y


def first(x, n):
    return made(x, n)[0]


def other_types(x, n):
    return x * 1.0 if n <= 0 else other_types(n, n - 1) + other_types(x * 0.5, n - 2)


def counted(a, n):
    if n == 0:
        return 2
    a[0] = a[0] + 1.0
    return counted(a, n - 1)


def compared(x, n):
    a = np.zeros(1)
    items = [x * i for _ in range(1) for i in range(counted(a, n))]
    return a[0] * x + items[1]


def carried(x, n):
    a = made(x, 1)
    for _ in range(n):
        a = made(x, 1)
    return a[0]


def tail(x, n):
    return x if n == 0 else tail(x[1:], n - 1)


def last(x, n):
    return tail(x, n)[0]


@aj.custom_vjp
def ruled(x):
    return power(x, 2)


def forth(x):
    return power(x, 2), x


def back(res, ct):
    return (2.0 * res * ct,)


ruled.defvjp(forth, back)


def with_rule(x):
    return ruled(x)


@pytest.mark.parametrize(
    ("f", "args", "reason"),
    [
        (never, (1.0,), "calls itself on every path"),
        (two, (1.0, 3), "call themselves and each other"),
        (growing_tuple, (1.0, 3), "another kind of arguments each time"),
        (last, (np.ones(3), 2), "returns an array that it did not allocate"),
        (with_rule, (1.0,), "a rule"),
        (compared, (1.0, 3), "calls a function that calls itself"),
        (njit(other_types), (1.0, 3), "arguments of other types"),
    ],
)
def test_what_reverse_mode_refuses(f, args, reason):
    with pytest.raises(UnsupportedError, match=reason) as error:
        aj.grad(f)(*args)
    assert Path(__file__).name in str(error.value) or "recursive.py" in str(error.value)


def test_arrays_that_recursive_functions_return(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    x, dx = np.array([0.5, 2.0, 1.0]), np.array([1.0, 0.5, 0.0])
    value, tangent = aj.jvp(first, (x, 2), (dx, None))
    assert (value, tangent) == (pytest.approx(2.0), pytest.approx(4.0 + 0.5 * 2 * 0.5 * 2.0))
    np.testing.assert_allclose(aj.grad(first)(x, 2), [4.0, 2.0, 0.0])
    assert aj.jvp(last, (x, 2), (dx, None)) == (1.0, 0.0)  # forward mode takes its argument's views too


def test_quicksort_of_integers_is_inactive(monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    def f(x, order):
        quicksort(order, 0, len(order) - 1)
        return x[order[0]] * math.sin(x[order[2]])

    x = np.array([0.3, 0.9, 0.4])
    _, g = aj.value_and_grad(f)(x, np.array([2, 0, 1]))
    np.testing.assert_allclose(g, [math.sin(0.4), 0.0, 0.3 * math.cos(0.4)])


def test_the_tree_is_rolled_back_for_the_caller(monkeypatch):
    """The caller's own loads are repeated after the calls' reverse: what the calls wrote must be put back."""
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")

    def f(value):
        s = 0.0
        for _ in range(3):
            s += value[1] * value[2]
            s += walk_tree(value, LEFT, RIGHT)
            value[3] = value[3] * value[1]
        return s

    check(njit(f), (np.linspace(0.4, 0.9, 7),))


def damped(x, n=3, *, rate=0.7):
    if n <= 0:
        return x
    return math.sin(damped(n=n - 1, rate=0.9 * rate, x=rate * x))


def damped_by_position(x, n, rate):
    if n <= 0:
        return x
    return math.sin(damped_by_position(rate * x, n - 1, 0.9 * rate))


def peeled(lo, a, hi=4):
    if lo >= hi:
        return 0.0
    a[lo] *= 1.5
    return a[lo] ** 2 + peeled(hi=hi - 1, a=a, lo=lo + 1)


def nested_peel(x, rate):
    def inside(z, n=2):
        return z if n == 0 else math.cos(rate * inside(n=n - 1, z=z * z))

    return inside(x) + inside(n=1, z=x)


def test_arguments_by_keyword_in_another_order(uncompiled):
    """A call of itself binds by name: it took the arguments in the order in which they were written."""
    value, slopes = aj.value_and_grad(lambda x, r: damped(x, rate=r), wrt=(0, 1))(0.5, 0.7)
    other, wanted = aj.value_and_grad(lambda x, r: damped_by_position(x, 3, r), wrt=(0, 1))(0.5, 0.7)
    assert value == other == damped(0.5, rate=0.7)
    assert slopes == wanted
    aj.check_grad(lambda x, r: damped(x, rate=r), 0.5, 0.7)
    a = np.array([0.3, -0.4, 0.5, 0.6])
    value, slope = aj.value_and_grad(lambda v: peeled(a=v, lo=0))(a.copy())
    assert value == peeled(0, a.copy())
    np.testing.assert_allclose(slope, [4.5 * 0.3, -4.5 * 0.4, 0, 0])
    assert aj.value_and_grad(nested_peel)(0.4, 0.8)[0] == nested_peel(0.4, 0.8)
    aj.check_grad(nested_peel, 0.4, 0.8)
