"""Several cotangents in one sweep: each gets the bits that a sweep for it alone gives."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj
from adjit.api import engine
from adjit.runtime import cache
from adjit.runtime.widths import COSTS, WIDTHS

RNG = np.random.default_rng(11)
X = RNG.uniform(0.2, 1.0, 12)


def burgers(u: np.ndarray, speed: float) -> np.ndarray:
    v = u.copy()
    for _ in range(3):
        for i in range(1, len(v) - 1):
            v[i] = v[i] - speed * v[i] * (v[i + 1] - v[i - 1]) + 0.05 * (v[i + 1] - 2.0 * v[i] + v[i - 1])
    return v


def in_place(x: np.ndarray) -> tuple[np.ndarray, float]:
    total = 0.0
    for i in range(len(x)):
        if i > 0 and x[i] > 0.5:
            x[i - 1] = x[i] * x[i - 1]
        else:
            x[i] = math.sin(x[i]) + total
        total += x[i] * x[i // 2]
    return x[2:9:3], total


def stops(x: np.ndarray, limit: float) -> tuple[float, np.ndarray]:
    y = np.zeros(4)
    s, k = 1.0, 0
    while True:
        s = s * x[k % len(x)] + limit
        y[k % 4] = y[k % 4] * s + x[k // 2]
        k += 1
        if s > 2.0 * limit or k > 9:
            break
    return s, y


def views(x: np.ndarray) -> np.ndarray:
    m = x.copy().reshape(3, 4)
    right, column = m[:, 2:], m[:, 1]
    for i in range(3):
        right[i, 0] *= m[i, 2] + column[i]
        column[i] = right[2 - i, 1]
    m.T[0, :] += column * m[0, 0]
    return m.T


def swapped(x: np.ndarray) -> np.ndarray:
    a, b = x.copy(), x * 2.0
    for t in range(5):
        for i in range(len(a)):
            b[i] = a[i] * a[i - 1] - 0.1 * b[i]
        if t != 2:
            a, b = b, a
    return a


def made_in_loops(x: np.ndarray) -> np.ndarray:
    a = x * 1.0
    for t in range(3):
        b = np.empty(len(x))
        for i in range(len(x)):
            b[i] = a[i] * a[i - 1] + math.sin(a[i])
        if b[t] > 0.1:
            a = b
    return a


def half(x: np.ndarray, s: float) -> np.ndarray:
    y = np.zeros(len(x), np.float32)
    for i in range(len(x)):
        y[i] = x[i] * x[i - 1] * s
    return y


def edges(x: np.ndarray) -> np.ndarray:
    """Slopes that are infinite at 0."""
    y = np.zeros(4)
    for i in range(4):
        if x[i] >= 0.0:
            y[i] = np.log(x[i]) * x[4]
        else:
            y[i] = x[i] * x[i]
    return y


@njit(parallel=True)
def scattered(x: np.ndarray) -> np.ndarray:
    y = np.zeros(7)
    for i in prange(len(x)):
        y[(i * 5) % 7] += x[i] * x[(i * 3) % len(x)]
    return y


def captured(x: np.ndarray, spread: float, vadd: float) -> np.ndarray:
    """Names that generated text uses for operations on lanes."""
    lanes_at = np.zeros(3)
    for float64x4 in range(len(x)):
        lanes_at[float64x4 % 3] += spread * x[float64x4] * vadd
    return lanes_at


def flat_pairs(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        assert isinstance(b, tuple)
        for one, other in zip(a, b, strict=True):
            yield from flat_pairs(one, other)
    elif a is not None or b is not None:
        yield a, b


def item(tree: Any, k: int) -> Any:
    if isinstance(tree, tuple):
        return tuple(item(t, k) for t in tree)
    return None if tree is None else tree[k]


def cotangents(value: Any, count: int) -> Any:
    """Random batches like a value; one of the cotangents is zero."""
    if isinstance(value, tuple):
        return tuple(cotangents(v, count) for v in value)
    found = RNG.standard_normal((count, *np.shape(value))).astype(np.asarray(value).dtype)
    found[count // 2] = 0.0
    return found


def batches(tree: Any) -> Any:
    return tuple(map(batches, tree)) if isinstance(tree, tuple) else aj.Batch(tree)


def check(f: Any, *args: Any, in_lanes: bool = True, compiled: bool = False, count: int = 5) -> None:
    """A pullback's batch against single sweeps, bit for bit; uncompiled also `jacrev` against `jacfwd`.

    Compiled sums of a single sweep are vectorised in an order of their own (`codegen.loose`).
    """
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    value, pullback = aj.vjp(f, *copies)
    assert (pullback._plan.pulls.width(count) > 1) is in_lanes
    cts = cotangents(value, count)
    with np.errstate(all="ignore"):
        several = pullback(batches(cts))
        for k in range(count):
            for found, alone in flat_pairs(item(several, k), pullback(item(cts, k))):
                if not compiled:
                    assert np.array_equal(found, alone, equal_nan=True)
                else:
                    np.testing.assert_allclose(found, alone, rtol=1e-12, atol=1e-13)
        if compiled:
            return
        wrt = tuple(k for k, a in enumerate(args) if isinstance(a, float | np.ndarray))
        rows = aj.jacrev(f, wrt)(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])
        columns = aj.jacfwd(f, wrt)(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])
    for found, other in flat_pairs(rows, columns):
        assert np.shape(found) == np.shape(other)
        assert type(found) is type(other)
        near = 1e-4 if np.asarray(found).dtype == np.float32 else 1e-11
        np.testing.assert_allclose(found, other, rtol=near, atol=near)


PROGRAMS = [
    (burgers, (X, 0.3)),
    (in_place, (X,)),
    (stops, (X, 0.7)),
    (views, (X,)),
    (swapped, (X,)),
    (made_in_loops, (X,)),
    (half, (X.astype(np.float32), 2.0)),
    (scattered, (X,)),
    (captured, (X, 2.0, 3.0)),
    (lambda s, t: (s * t, s - t, math.sin(s)), (0.5, 2.0)),
    (lambda x: x[3] * 2.0, (X,)),
    (lambda x: (x, x * x), (X,)),
    (lambda x: x[::-1] * x.T, (np.asfortranarray(X.reshape(2, 6))[:, :2],)),
    (aj.pure(in_place), (X,)),
    (aj.grad(lambda x: (burgers(x, 0.2) ** 2).sum()), (X,)),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS)
def test_every_cotangent_gets_its_own_bits(f: Any, args: tuple[Any, ...], uncompiled: None) -> None:
    check(f, *args)


@pytest.mark.parametrize(("f", "args"), [(burgers, (X, 0.3)), (made_in_loops, (X,)), (edges, (X * 0.0,))])
def test_compiled(f: Any, args: tuple[Any, ...]) -> None:
    check(f, *args, compiled=True)


@pytest.mark.parametrize("count", [1, 2, 3, 9, 16, 17, 40])
def test_packs_of_one_record(count: int, uncompiled: None) -> None:
    _, pullback = aj.vjp(burgers, X, 0.3)
    cts = RNG.standard_normal((count, len(X)))
    by_x, by_s = pullback(aj.Batch(cts))
    for k in range(count):
        one, number = pullback(cts[k])
        assert np.array_equal(by_x[k], one)
        assert by_s[k] == number


def test_zeros_stay_zeros_beside_slopes_without_a_value(uncompiled: None) -> None:
    """In each lane 0 times infinity is 0, whatever the other lanes hold."""
    x = np.array([0.0, 0.25, 0.0, -1.0, 1.0])
    with np.errstate(all="ignore"):
        _, pullback = aj.vjp(edges, x)
        (rows,) = pullback(aj.Batch(np.eye(4)))
        alone = np.array([pullback(row)[0] for row in np.eye(4)])
    assert np.array_equal(rows, alone, equal_nan=True)
    assert np.array_equal(rows[1], [0.0, 4.0, 0.0, 0.0, math.log(0.25)])
    assert np.isinf(rows[0, 0])
    assert not rows[0, 1:4].any()


def moved(x: np.ndarray, a: float, out: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        x[i] = x[i] * x[i - 1] * a
        s += x[i]
        out[i % 3, i % 2] += x[i] * a
    return s * a


def check_shadows(count: int, order: Any) -> None:
    """`BatchDuplicated` against `Duplicated` with each shadow."""
    out = np.asarray(RNG.random((3, 2)), order=order)
    dx, dout = RNG.random((count, 12)), [np.asarray(RNG.random((3, 2)), order=order) for _ in range(count)]
    x, left = X.copy(), out.copy(order="K")
    several = [d.copy() for d in dx], [d.copy(order="K") for d in dout]
    batch = (
        aj.BatchDuplicated(x, tuple(several[0])),
        aj.Active(1.3),
        aj.BatchDuplicated(left, tuple(several[1])),
    )
    found = aj.autodiff(aj.Reverse, moved, *batch)
    for k in range(count):
        own = (
            aj.Duplicated(X.copy(), dx[k].copy()),
            aj.Active(1.3),
            aj.Duplicated(out.copy(order="K"), dout[k]),
        )
        one = aj.autodiff(aj.Reverse, moved, *own)
        assert found.value == one.value
        assert np.array_equal(x, own[0].value)
        assert np.array_equal(left, own[2].value)
        np.testing.assert_allclose(several[0][k], own[0].shadow, rtol=1e-13)
        np.testing.assert_allclose(several[1][k], own[2].shadow, rtol=1e-13)
        assert math.isclose(found.gradients[1][k], one.gradients[1], rel_tol=1e-13)


@pytest.mark.parametrize("count", [2, 3, 17])
@pytest.mark.parametrize("order", ["C", "F"])
def test_batches_of_shadows(count: int, order: Any, uncompiled: None) -> None:
    check_shadows(count, order)


def test_batches_of_shadows_compiled() -> None:
    check_shadows(3, "F")


def test_shadows_without_axes(uncompiled: None) -> None:
    def f(z: np.ndarray, x: np.ndarray) -> None:
        z[()] = z[()] * x[0] + x[1]

    dz, dx = tuple(np.array(1.0 + k) for k in range(3)), tuple(np.zeros(2) for _ in range(3))
    z, x = np.array(2.0), np.array([0.5, 3.0])
    aj.autodiff(aj.Reverse, f, aj.BatchDuplicated(z, dz), aj.BatchDuplicated(x, dx))
    assert z == 4.0
    assert [float(d) for d in dz] == [0.5, 1.0, 1.5]
    assert np.array_equal(dx, [[2.0, 1.0], [4.0, 2.0], [6.0, 3.0]])


def solved(x: np.ndarray) -> np.ndarray:
    return np.linalg.solve(np.diag(x), x)


def waves(x: np.ndarray) -> np.ndarray:
    return (np.exp(1j * x) * x).real


def halves(x: np.ndarray, n: int) -> float:
    return x[n] if n == 0 else x[n] * halves(x, n - 1)


@aj.custom_vjp
def clipped(a: float) -> float:
    return a * a


clipped.defvjp(lambda a: (a * a, a), lambda a, ct: (min(ct, 1.0) * a,))


def with_a_rule(x: np.ndarray) -> np.ndarray:
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = clipped(x[i])
    return y


@pytest.mark.parametrize(
    "f", [solved, waves, lambda x: halves(x, 3) * x, aj.options(burgers, boundscheck=True)]
)
def test_what_is_swept_alone(f: Any, uncompiled: None) -> None:
    check(f, X, *([0.3] if "burgers" in repr(f) else []), in_lanes=False)


def test_a_rule_that_is_not_linear(uncompiled: None) -> None:
    """A rule may do anything with a cotangent."""
    value, pullback = aj.vjp(with_a_rule, X)
    cts = 3.0 * RNG.random((5, len(value)))
    (several,) = pullback(aj.Batch(cts))
    assert np.array_equal(several, [pullback(ct)[0] for ct in cts])
    assert not np.allclose(several, cts * X)


def test_traps_are_for_one(uncompiled: None) -> None:
    with aj.debug_nans(), np.errstate(all="ignore"):
        _, pullback = aj.vjp(edges, np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
        with pytest.raises(aj.CheckError):
            pullback(aj.Batch(np.ones((4, 4))))


def test_sweeps_from_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Of a program that was built before: from the same plan made again, or from disk; alone if the plan is another."""

    def f(x: np.ndarray) -> np.ndarray:
        y = np.ones(3)
        for i in range(len(x)):
            y[i % 3] *= x[i]
        return y

    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))
    _, pullback = aj.vjp(f, X)
    alone = np.array([pullback(row)[0] for row in np.eye(3)])

    def again() -> Any:
        cache.forget()
        monkeypatch.setattr(engine, "_stores", OrderedDict())
        monkeypatch.setattr(engine, "_engines", {})
        return aj.vjp(f, X)[1]

    for _ in range(2):
        pullback = again()
        sweeps = pullback._plan.compiled.lanes.__self__
        assert sweeps._made is None
        assert np.array_equal(pullback(aj.Batch(np.eye(3)))[0], alone)
    pullback = again()
    sweeps = pullback._plan.compiled.lanes.__self__
    sweeps._text += "# otherwise\n"
    assert pullback._plan.pulls.width(3) == 1
    assert np.array_equal(pullback(aj.Batch(np.eye(3)))[0], alone)


def test_the_width_costs_least() -> None:
    for count in range(1, 60):
        best = WIDTHS.best(count)
        assert -(-count // best) * COSTS[best] == min(-(-count // w) * c for w, c in COSTS.items())
    assert (WIDTHS.best(1), WIDTHS.best(3), WIDTHS.best(100)) == (1, 4, 16)


def test_the_mode_knows_what_sweeps_cost(uncompiled: None) -> None:
    """Sixteen rows cost about three; each row alone would cost as much as forward mode takes for all columns."""

    def few(x: np.ndarray) -> np.ndarray:
        y = np.zeros(16)
        for i in range(len(x)):
            y[i % 16] += x[i] * x[i]
        return y

    assert aj.jacobian(few).mode(RNG.random(64)) == "reverse"
    assert aj.jacobian(lambda x: np.linalg.inv(np.diag(x))[0, :16] * 1.0).mode(RNG.random(64)) == "forward"


@pytest.mark.usefixtures("uncompiled")
def test_a_complex_number_that_is_not_used() -> None:
    def plain(x, d):
        return x * x

    _, pull = aj.vjp(plain, 3.0, 1.0 + 2.0j)
    dx, dd = pull(aj.Batch(np.array([1.0, 2.0, 3.0, 4.0])))
    np.testing.assert_array_equal(
        np.asarray(dx.array if hasattr(dx, "array") else dx), [6.0, 12.0, 18.0, 24.0]
    )
    assert not np.any(np.asarray(dd.array if hasattr(dd, "array") else dd))
