"""Operations in kernels on a device: what they are on the CPU, number by number. Many in one kernel, one row each."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjit as aj

from .places import copies, same, to_device, to_host


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python (integers that wrap around are compared with NumPy)."""


def both(k, *args, ndrange, rtol=1e-14):
    """Runs the kernel on both places and compares every array."""
    given = to_device(args)
    k(*given, ndrange=ndrange)
    reference = copies(args)
    k(*reference, ndrange=ndrange)
    same(given, reference, rtol=rtol)
    return reference


FLOATS = np.array([0.3, -0.3, 2.5, -2.5, 1.0, -1.0, 7.25, -0.0, 0.0, 3.5, -3.5, 1e-3])


@aj.kernel
def elementary(y, x):
    i = aj.index()
    v = x[i]
    y[0, i] = math.exp(v) + math.expm1(v) + np.exp2(v)
    y[1, i] = math.log(abs(v) + 1.0) + math.log1p(v * v) + math.log2(v * v + 0.5) + math.log10(v * v + 2.0)
    y[2, i] = math.sqrt(abs(v)) + np.cbrt(v)
    y[3, i] = math.sin(v) * math.cos(v) + math.tan(0.3 * v)
    y[4, i] = math.asin(math.tanh(v)) + math.acos(math.tanh(v)) + math.atan(v) + math.atan2(v, 0.7)
    y[5, i] = (
        math.sinh(0.5 * v)
        + math.cosh(0.5 * v)
        + math.asinh(v)
        + math.acosh(abs(v) + 1.5)
        + math.atanh(0.1 * v)
    )
    y[6, i] = math.erf(v) + math.erfc(v) + math.gamma(abs(v) + 0.5) + math.lgamma(abs(v) + 0.5)
    y[7, i] = math.hypot(v, 2.0) + math.copysign(3.0, v) + math.degrees(v) + math.radians(v) + np.sinc(v)
    y[8, i] = np.logaddexp(v, 0.5) + np.logaddexp2(v, 0.5) + np.square(v) + np.reciprocal(v * v + 1.0)
    y[9, i] = np.sign(v) + np.rint(v) + np.floor(v) + np.ceil(v) + np.trunc(v)
    y[10, i] = v // 0.7 + 10.0 * (v % 0.7)
    y[11, i] = v // -0.7 + 10.0 * (v % -0.7) + math.fmod(v, 0.7)
    y[12, i] = v**2 + v**3 + (abs(v) + 0.1) ** 1.7 + (v + 10.0) ** -2
    y[13, i] = (
        min(v, 0.5)
        + max(v, -0.5)
        + np.minimum(v, 1.0)
        + np.maximum(v, 1.5)
        + np.fmin(v, 0.2)
        + np.fmax(v, 0.2)
    )
    y[14, i] = (1.0 if v > 0.4 else 2.0) + (v if v == v and not (v < 0.0 or v > 2.0) else -v)
    y[15, i] = int(v) + float(int(v * 3.0)) + math.floor(v) + round(v)
    y[16, i] = math.ldexp(v, 3) + np.nextafter(v, 2.0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_elementary_functions(dtype):
    x = FLOATS.astype(dtype)
    both(
        elementary,
        np.zeros((17, len(x)), dtype),
        x,
        ndrange=len(x),
        rtol=1e-13 if dtype == "float64" else 3e-6,
    )


@aj.kernel
def not_numbers(y, x):
    i = aj.index()
    v = x[i]
    y[0, i] = np.minimum(v, 1.0)
    y[1, i] = np.maximum(1.0, v)
    y[2, i] = np.fmin(v, 1.0)
    y[3, i] = np.fmax(1.0, v)
    y[4, i] = min(v, 1.0)
    y[5, i] = min(1.0, v)
    y[6, i] = max(v, 1.0)
    y[7, i] = max(1.0, v)
    y[8, i] = 1.0 * math.isnan(v) + 2.0 * math.isinf(v) + 4.0 * math.isfinite(v)
    y[9, i] = np.sign(v)
    y[10, i] = 1.0 if np.signbit(v) else 0.0
    y[11, i] = 1.0 / v
    y[12, i] = v - v


def test_infinities_and_nan():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0])
    both(not_numbers, np.zeros((13, len(x))), x, ndrange=len(x))


INTEGERS = np.array([7, -7, 3, -3, 0, 1, -1, 100, -100, 12])


@aj.kernel
def whole_numbers(y, a, b):
    i = aj.index()
    m, n = a[i], b[i]
    y[0, i] = m + n
    y[1, i] = m - n * 3
    y[2, i] = m // 3 + m % 3 + 4 * (m % 8) + 3 * (m % 2)
    y[3, i] = m // -3 + m % -3
    y[4, i] = (m & n) | (m ^ 5)
    y[5, i] = ~m
    y[6, i] = (m << 2) + (m >> 1)
    y[7, i] = abs(m) + min(m, n) + max(m, n)
    y[8, i] = m**2 + 2 ** abs(n % 5)
    y[9, i] = 1 if m < n else 0
    y[10, i] = (m == n) + 2 * (m != n) + 4 * (m >= n)
    y[11, i] = np.sign(m) + math.gcd(m, n)
    y[12, i] = -m


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8"])
def test_integers(dtype):
    a = INTEGERS.astype(dtype)
    both(whole_numbers, np.zeros((13, len(a)), "int64"), a, a[::-1].copy(), ndrange=len(a))


@aj.kernel
def beyond_their_range(y, x, a, b):
    i = aj.index()
    m, n = a[i], b[i]
    square = m * m
    y[0, i] = x[i] * square
    y[1, i] = x[i] * (m + n) + (1.0 if m - n > 0 else 2.0)
    y[2, i] = x[i] * (-m)
    y[3, i] = x[i] * (m << n % 5)
    y[4, i] = x[i] * ((m * n) >> 1)
    y[5, i] = x[i] * (m * m // 3) + m * m % 7
    a[i] += n
    b[i] = m * n
    y[6, i] = x[i] * a[i] + b[i]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint32"])
def test_small_integers_wrap_as_numpys(dtype):
    limits = np.iinfo(dtype)
    m = np.array([limits.max, limits.min, 12, 100, limits.max // 2 + 1], dtype)
    n = np.array([3, 7, limits.max, 12, limits.max - 1], dtype)
    x = np.linspace(1.0, 2.0, 5)
    y, _, a, b = both(beyond_their_range, np.zeros((7, 5)), x, m.copy(), n.copy(), ndrange=5)
    three, five, seven, one = (np.array(k, dtype) for k in (3, 5, 7, 1))
    wanted = [x * (m * m), x * (m + n) + np.where(m - n > 0, 1.0, 2.0), x * -m, x * (m << n % five)]
    wanted += [x * ((m * n) >> one), x * (m * m // three) + m * m % seven, x * (m + n) + m * n]
    same((y, a, b), (np.stack(wanted), m + n, m * n), rtol=1e-14)


@aj.kernel
def divided(y, a, b):
    i = aj.index()
    y[0, i] = a[i] // b[i]
    y[1, i] = a[i] % b[i]
    y[2, i] = a[i] / b[i]


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint64", "uint32"])
def test_division_of_integers_rounds_down(dtype):
    pairs = [(a, b) for a in (7, -7, 6, 0, 1) for b in (3, -3, 1, -1, 100)]
    a, b = np.array(pairs).astype(dtype).T.copy()
    y = to_device(np.zeros((3, len(a))))
    divided(y, *to_device((a, b)), ndrange=len(a))
    same(y, np.array([a // b, a % b, a / b], float))


def test_an_integer_divided_by_zero_is_zero():
    y = to_device(np.ones((3, 2)))
    divided(y, *to_device((np.array([5, 0]), np.array([0, 0]))), ndrange=2)
    got = to_host(y)
    assert got[:2].tolist() == [[0.0, 0.0], [0.0, 0.0]] and got[2, 0] == np.inf and np.isnan(got[2, 1])


def test_the_least_integer_divided_by_minus_one():
    y = to_device(np.zeros((3, 1)))
    least = np.array([np.iinfo("int64").min])
    divided(y, *to_device((least, np.array([-1]))), ndrange=1)
    assert to_host(y)[:2, 0].tolist() == [float(least[0]), 0.0]


@aj.kernel
def scrambled(y, seed):
    i = aj.index()
    state = y[i] + seed
    for _ in range(5):
        state = state * 6364136223846793005 + 1442695040888963407
    y[i] = state - seed


def test_sums_and_products_of_integers_wrap_around():
    y = np.arange(8)
    given = to_device(y)
    scrambled(given, 2**62 - 3, ndrange=8)
    with np.errstate(over="ignore"):
        state = y + np.int64(2**62 - 3)
        for _ in range(5):
            state = state * np.int64(6364136223846793005) + np.int64(1442695040888963407)
        same(given, state - np.int64(2**62 - 3))


@aj.kernel
def beside(y, s, u):
    i = aj.index()
    y[0, i] = s[i] < u[i]
    y[1, i] = s[i] <= u[i]
    y[2, i] = s[i] > u[i]
    y[3, i] = s[i] >= u[i]
    y[4, i] = s[i] == u[i]
    y[5, i] = s[i] != u[i]
    y[6, i] = u[i] < s[i]
    y[7, i] = u[i] >= s[i]


def test_signed_and_unsigned_numbers_are_compared_by_value():
    s, u = np.array([-1, 0, 5, 5, 2]), np.array([2**64 - 1, 0, 5, 6, 1], dtype="uint64")
    y = to_device(np.zeros((8, 5), bool))
    beside(y, *to_device((s, u)), ndrange=5)
    pairs = [(int(a), int(b)) for a, b in zip(s, u)]
    tests = ["<", "<=", ">", ">=", "==", "!="]
    want = [[eval(f"{a} {t} {b}") for a, b in pairs] for t in tests]
    want += [[b < a for a, b in pairs], [b >= a for a, b in pairs]]
    assert to_host(y).tolist() == want


@aj.kernel
def mixed(y, x, k):
    i = aj.index()
    y[i] = k[i] * x[i] + k[i] / 4 + 0.5 * i + x[i] ** k[i]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_integers_beside_floats(dtype):
    x, k = np.array([0.5, -1.5, 2.0, 0.0], dtype), np.array([3, -2, 0, 1], "int32")
    y = both(mixed, np.zeros(4, dtype), x, k, ndrange=4, rtol=1e-6 if dtype == "float32" else 1e-15)[0]
    assert y.dtype == dtype


@aj.kernel
def beyond(y, x):
    i = aj.index()
    y[0, i] = min(x[i], 1e39)
    y[1, i] = x[i] * 1e39
    y[2, i] = max(x[i], -1e300)
    y[3, i] = x[i] * 1e-60


def test_constants_that_float32_does_not_hold():
    both(beyond, np.zeros((4, 3), "float32"), np.array([1.5, -2.0, 0.25], "float32"), ndrange=3)


@aj.kernel
def narrow(y, x, h):
    i = aj.index()
    v = x[i] * 0.5 + i * x[0] - h * x[i] ** 2
    y[i] = math.sin(v) + math.exp(-v) / (2.0 + math.sqrt(v * v)) + min(v, 1.0)
    aj.atomic_add(y, 0, v)


def test_float32_kernels_hold_no_float64():
    x = np.array([0.5, -1.5, 2.0], "float32")
    args = to_device((np.zeros(3, "float32"), x))

    def f(y, x, h):
        narrow(y, x, h, ndrange=3)
        return np.sum(y * x)

    for text in (aj.jit(f).source(*args, 0.25), aj.grad(f, wrt=(0, 1)).source(*args, 0.25)):
        kernels = text.partition("KERNELS")[2].partition("SOURCE")[0]
        assert "double" not in kernels and "cl_khr_fp64" not in kernels, kernels
        assert "SOURCE = Source(KERNELS, fp64=False" in text


@aj.kernel
def flow(y, x, limit):
    i = aj.index()
    total = 0.0
    k = 0
    while True:
        k += 1
        if k % 3 == 0:
            continue
        total += x[i] * k
        if total > limit or k > 20:
            break
    else:
        total = -1.0
    y[0, i] = total
    y[1, i] = k
    last = -5
    for last in range(10, i, -2):
        if last == 6:
            break
    else:
        last = 77
    y[2, i] = last
    a, b = 0, 1
    for _ in range(i):
        a, b = b, a + b
    y[3, i] = a
    n = 3
    for j in range(n):
        n = n + 2
        y[4, i] += j + n
    while n > 4 and n != 7:
        n -= 1
    y[5, i] = n
    if i == 2:
        return
    step = 1 if i % 2 == 0 else -1
    for j in range(0, 4 * step, step):
        y[6, i] += j


def test_control_flow():
    x = np.array([0.5, 1.0, 3.0, 0.1, 7.0, 2.0])
    both(flow, np.zeros((7, 6)), x, 6.0, ndrange=6)


@aj.kernel
def at_the_end(y, x, k):
    i = aj.index()
    y[i] = x[k[i]] + x[-1] + x[i - 2]


def test_negative_indices_count_from_the_end():
    both(at_the_end, np.zeros(4), np.array([1.0, 10.0, 100.0, 1000.0]), np.array([-1, -4, 0, 2]), ndrange=4)


@aj.kernel
def sections(y, x, lo, step):
    i = aj.index()
    row = x[i]
    part = x[i, lo:-1]
    back = row[::-1]
    every = x[:, 1::step]
    y[0, i] = part[0] + 10 * part[-1] + 100 * len(part)
    y[1, i] = back[0] + 10 * back[2]
    y[2, i] = every[i, 0] + 10 * every.shape[1] + x.T[2, i]
    total = 0.0
    for v in x[i, 1:4]:
        total += v
    y[3, i] = total + np.sum(x[i, 2:])
    beyond = x[i, -100:2]
    y[4, i] = len(beyond) + beyond[0]


@pytest.mark.parametrize("order", ["C", "F"])
def test_views_in_kernels(order):
    x = np.asarray(np.arange(24.0).reshape(4, 6) ** 1.5, order=order)
    given = to_device((np.zeros((5, 4)), x), order)
    sections(*given, 1, 2, ndrange=4)
    want = np.zeros((5, 4))
    sections(want, x, 1, 2, ndrange=4)
    same(given[0], want)


@aj.kernel
def small_arrays(y, x):
    i = aj.index()
    w = np.zeros((2, 3))
    order = np.ones(3, dtype=np.int64)
    for k in range(3):
        w[0, k] = x[i] * k
        w[1, 2 - k] = w[0, k] + 1.0
        order[k] += k
    tail = w[1, 1:]
    tail[0] *= 2.0
    y[i] = np.sum(w[1]) + w[0, -1] + order[2]


def test_local_arrays():
    both(small_arrays, np.zeros(3), np.array([0.5, -2.0, 4.0]), ndrange=3)


@aj.kernel
def flags(hit, y, x, on):
    i = aj.index()
    hit[i] = x[i] > 0.0 and on
    y[i] = 1.0 if hit[i] else 2.0


@pytest.mark.parametrize("on", [True, False])
def test_bools(on):
    both(flags, np.zeros(3, bool), np.zeros(3), np.array([1.0, -1.0, 2.0]), on, ndrange=3)


@aj.kernel
def pile(a, x):
    i = aj.index()
    aj.atomic_add(a, i % 2, x[i])
    aj.atomic_max(a, 2, x[i])
    aj.atomic_min(a, 3, x[i])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint64", "uint32"])
def test_atomic_updates(dtype):
    x = np.arange(1, 4001).astype(dtype)
    both(
        pile,
        np.array([5, 6, 7, 8]).astype(dtype),
        x,
        ndrange=len(x),
        rtol=1e-5 if dtype == "float32" else 1e-14,
    )


@aj.kernel
def box(y, x):
    i, j, k = aj.index(3)
    y[i, j, k] = 100 * i + 10 * j + k + x[k, j, i]


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 70, 3), (5, 0, 2)])
def test_three_axes(shape):
    both(box, np.zeros(shape), np.ones(shape[::-1]), ndrange=shape)


def test_block_is_a_hint():
    y = to_device(np.zeros(3))
    small_arrays(y, to_device(np.ones(3)), ndrange=3, block=16)
    want = np.zeros(3)
    small_arrays(want, np.ones(3), ndrange=3)
    same(y, want)
