"""Complex numbers: the convention, every operator, programs, dtypes, what stays refused.

Gates: cotangents are JAX's (Re(ct * t), no conjugation), forward and reverse mode agree to 1e-12 under that pairing, and
both are what differences along both axes say.
"""

from __future__ import annotations

import cmath
import linecache
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

import adjit as aj
from tests.api import complex_programs as programs
from tests.api.complex_facts import FACTS

FLAVOURS: dict[str, Callable[[Any], Any]] = {"plain": lambda f: f, "njit": njit}
flavours = pytest.mark.parametrize("wrap", FLAVOURS.values(), ids=FLAVOURS)


def _function(text: str) -> Callable[..., Any]:
    """The function of a lambda's text, with source for adjit to read."""
    name = f"<complex {text}>"
    source = f"f = {text}\n"
    linecache.cache[name] = (len(source), None, [source], name)
    space: dict[str, Any] = {"np": np, "cmath": cmath}
    exec(compile(source, name, "exec"), space)
    return space["f"]


def _drawn(rng: np.random.Generator, like: Any) -> Any:
    """A tangent of the kind of a number or array; None for what has none."""
    if isinstance(like, tuple):
        items = [_drawn(rng, v) for v in like]
        return type(like)(*items) if hasattr(like, "_fields") else tuple(items)
    if isinstance(like, int) or (isinstance(like, np.ndarray) and like.dtype.kind in "iub"):
        return None
    drawn = rng.standard_normal(np.shape(like))
    if np.iscomplexobj(like):
        drawn = drawn + 1j * rng.standard_normal(np.shape(like))
    return drawn.astype(like.dtype) if isinstance(like, np.ndarray) else type(like)(drawn)


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, tuple):
        return [leaf for item in tree for leaf in _leaves(item)]
    return [] if tree is None else [tree]


def _pairing(a: Any, b: Any) -> tuple[float, float]:
    """Re(sum of products), and how large its terms are."""
    pairs = [(np.asarray(x), np.asarray(y)) for x, y in zip(_leaves(a), _leaves(b), strict=True)]
    return sum(float(np.sum(x * y).real) for x, y in pairs), sum(float(np.sum(abs(x * y))) for x, y in pairs)


def _agree(f: Callable[..., Any], args: tuple[Any, ...], near: float = 1e-12) -> None:
    """Forward against reverse mode."""
    rng = np.random.default_rng(3)
    fresh = lambda: tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    for _ in range(3):
        tangents = tuple(_drawn(rng, a) for a in args)
        value, tangent = aj.jvp(f, fresh(), tangents)
        ct = _drawn(rng, value)
        again, pullback = aj.vjp(f, *fresh())
        np.testing.assert_array_equal(value, again)
        cotangents = pullback(ct)
        left, size = _pairing(ct, tangent)
        given = tuple(c for c, t in zip(cotangents, tangents, strict=True) if t is not None)
        right, other = _pairing(given, tuple(t for t in tangents if t is not None))
        assert abs(left - right) <= near * max(size, other)


# the convention


@pytest.mark.parametrize(("text", "args", "ct", "want"), FACTS, ids=[f"{t[7:]}-{a}" for t, a, _, _ in FACTS])
def test_cotangents_are_those_of_jax(text: str, args: Any, ct: complex, want: Any) -> None:
    f = _function(text)
    value, pullback = aj.vjp(f, *args)
    got = pullback(ct)
    assert [type(g) for g in got] == [type(w) for w in want]
    np.testing.assert_allclose(got, want, rtol=1e-12)
    tangents = tuple(type(a)(0.37 if isinstance(a, float) else 0.37 + 0.21j) for a in args)
    same, tangent = aj.jvp(f, args, tangents)
    assert same == value
    left, right = _pairing(ct, tangent)[0], _pairing(got, tangents)[0]
    assert abs(left - right) <= 1e-12 * max(abs(left), abs(right), 1.0)


def modulus(z):
    return abs(z) ** 2


@flavours
def test_gradient_of_a_real_function(wrap: Callable[[Any], Any]) -> None:
    """df/dx - i df/dy."""
    assert aj.grad(wrap(modulus))(1 + 2j) == 2 - 4j
    got = aj.grad(wrap(modulus))(np.complex64(1 + 2j))
    assert type(got) is np.complex64
    assert got == 2 - 4j
    assert type(aj.grad(wrap(modulus))(np.complex128(1 + 2j))) is np.complex128


@flavours
def test_points_without_a_derivative(wrap: Callable[[Any], Any]) -> None:
    assert aj.grad(wrap(programs.norm_of_zero))(0j) == 0j
    _, pullback = aj.vjp(wrap(programs.norm_of_zero), 0j)
    assert pullback(1.0) == (0j,)
    assert aj.grad(wrap(programs.strong), (0, 1))(1 + 2j, 3.0) == (3.0, 1.0)
    assert aj.jvp(wrap(programs.strong), (1 + 2j, 3.0), (1j, 1.0))[1] == 1.0


def test_a_zero_cotangent_stays_zero() -> None:
    _, pullback = aj.vjp(_function("lambda z: np.log(z)"), 0j)
    assert pullback(0j) == (0j,)


# programs


class State(NamedTuple):
    z: complex
    w: complex
    n: int


_RNG = np.random.default_rng(0)


def _complex(*shape: int) -> Any:
    return _RNG.standard_normal(shape) + 1j * _RNG.standard_normal(shape)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "fft": (programs.fft_power, (_complex(16), 5)),
    "newton": (programs.newton_root, (1 + 2j, 1 + 0.5j)),
    "escape": (programs.escape, (0.3 + 0.5j, 60)),
    "escaped": (programs.escape, (0.5 + 0.5j, 60)),
    "roots": (programs.durand_kerner, (np.array([2 - 1j, 0.5, -1 + 1j, 0.3j]), np.zeros(4, complex))),
    "optics": (
        programs.reflectance,
        (np.array([1.4 + 0.01j, 2.1, 1.7 - 0.1j]), np.array([0.2, 0.35, 0.1]), 3.1),
    ),
    "ladder": (programs.ladder, (np.array([1.0, 2.0]), np.array([1e-3, 3e-3]), np.array([1e-6, 2e-6]), 3e3)),
    "spins": (programs.spin_chain, (_complex(8) / 4, np.array([0.7, -0.4]), 0.9, 0.1, 3)),
    "horner": (programs.horner, (_complex(5), 0.3 - 0.8j)),
    "records": (programs.records, (State(0.3 + 0.4j, 0.1 - 0.2j, 3), 1.1)),
}


@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        pytest.param(name, wrap, id=f"{name}-{flavour}", marks=[] if (k + j) % 2 == 0 else pytest.mark.slow)
        for k, name in enumerate(PROGRAMS)
        for j, (flavour, wrap) in enumerate(FLAVOURS.items())
    ],
)
def test_programs(name: str, wrap: Callable[[Any], Any], request: pytest.FixtureRequest) -> None:
    """Dispatchers are compiled; plain functions run as Python, but for --slow."""
    if wrap is not njit and not request.config.getoption("--slow"):
        request.getfixturevalue("uncompiled")
    f, args = PROGRAMS[name]
    _agree(wrap(f), args, 1e-10 if name == "roots" else 1e-12)
    report = aj.check_grad(wrap(f), *args)
    assert report.reverse < 1e-6
    assert report.forward is not None


def test_states_of_the_discrete_fourier_transform() -> None:
    """Its transpose: the transform of the cotangent itself, no conjugation."""
    x, y = _RNG.standard_normal(6), np.zeros(6, complex)
    (state,), pullback = aj.vjp(aj.pure(programs.dft), x, y)
    np.testing.assert_allclose(state, np.fft.fft(x), rtol=1e-12)
    ct = _complex(6)
    dx, dy = pullback((ct,))
    assert dx.dtype == np.float64
    np.testing.assert_allclose(dx, np.fft.fft(ct).real, rtol=1e-12)
    np.testing.assert_array_equal(dy, 0)
    aj.check_grad(programs.dft, x, y)


def test_newton_is_the_cube_root() -> None:
    """dz/dc = 1/(3 z**2), times the cotangent."""
    z, pullback = aj.vjp(programs.newton_root, 1 + 2j, 1 + 0.5j)
    dc, dz = pullback(0.5 - 1j)
    np.testing.assert_allclose(dc, (0.5 - 1j) / (3 * z**2), rtol=1e-12)
    assert abs(dz) < 1e-12


def test_the_transform_keeps_power() -> None:
    """Parseval: summed over outputs, the gradient is 2 n conj(x)."""
    x = _complex(8)
    total = sum(aj.grad(programs.fft_power)(x.copy(), k) for k in range(8))
    np.testing.assert_allclose(total, 16 * np.conj(x), rtol=1e-12)


# every operator


def square_in_place(a):
    for i in range(len(a)):
        a[i] = a[i] * a[i]


def power_of(a, x):
    s = 0.0
    for i in range(len(a)):
        w = a[i] * a[i] * x
        s += w.real * w.real + w.imag * w.imag
    return s


def test_autodiff_in_place() -> None:
    a, da = np.array([1 + 1j, 2 - 1j]), np.array([1 + 0j, 1j])
    aj.autodiff(aj.Reverse, square_in_place, aj.Duplicated(a, da))
    np.testing.assert_array_equal(a, [2j, 3 - 4j])
    np.testing.assert_array_equal(da, [2 + 2j, 2j * (2 - 1j)])
    a, da = np.array([1 + 1j, 2 - 1j]), np.array([1 + 0j, 1j])
    aj.autodiff(aj.Forward, square_in_place, aj.Duplicated(a, da))
    np.testing.assert_array_equal(da, [2 + 2j, 2j * (2 - 1j)])


def test_batches_and_active_numbers() -> None:
    a = np.array([1 + 1j, 2 - 1j])
    one, two = np.zeros(2, complex), np.ones(2, complex)
    value, gradients = aj.autodiff(
        aj.Reverse, power_of, aj.BatchDuplicated(a, (one, two)), aj.Active(1.5 + 0.5j)
    )
    want = aj.grad(power_of, (0, 1))(a, 1.5 + 0.5j)
    np.testing.assert_allclose(one, want[0], rtol=1e-14)
    np.testing.assert_allclose(two, 1 + want[0], rtol=1e-14)
    assert gradients[1] == (want[1], want[1])
    assert value == power_of(a, 1.5 + 0.5j)
    shadows = (np.array([1j, 0]), np.array([1.0, 1j]))
    _, dots = aj.autodiff(aj.Forward, power_of, aj.BatchDuplicated(a, shadows), aj.Const(1.5 + 0.5j))
    np.testing.assert_allclose(dots, [(want[0] @ t).real for t in shadows], rtol=1e-13)


def test_tangents_of_gradients() -> None:
    """Re(second derivative in two directions) is symmetric, and what differences of the gradient say."""
    a = np.array([1 + 1j, 2 - 1j])
    gradient = aj.grad(power_of)
    u, v = _complex(2), _complex(2)
    along = [aj.jvp(lambda a: gradient(a, 0.5 + 1j), (a,), (t,))[1] for t in (u, v)]
    np.testing.assert_allclose((along[0] @ v).real, (along[1] @ u).real, rtol=1e-12)
    h = 1e-6
    difference = (gradient(a + h * u, 0.5 + 1j) - gradient(a - h * u, 0.5 + 1j)) / (2 * h)
    np.testing.assert_allclose(along[0], difference, rtol=1e-7)


def test_gradients_inside_programs() -> None:
    """|z|**2 has gradient 2 conj(z); of its modulus squared again, 8 conj(z)."""
    inner = aj.grad(modulus)
    assert aj.grad(lambda z: abs(inner(z)) ** 2)(1 + 2j) == 8 * (1 - 2j)


@aj.custom_vjp
def doubled(z):
    return 2 * z


doubled.defvjp(lambda z: (2 * z, z), lambda res, ct: (3 * ct + 0 * res,))


@aj.custom_jvp
def rooted(z):
    return np.sqrt(z)


@rooted.defjvp
def rooted_dot(primals, tangents):
    (z,), (t,) = primals, tangents
    w = np.sqrt(z)
    return w, t / (2 * w)


def test_custom_rules() -> None:
    assert aj.vjp(lambda z: doubled(z) * 1j, 1 + 1j)[1](1.0) == (3j,)
    _, pullback = aj.vjp(lambda z: rooted(z) * z, 3 + 4j)
    np.testing.assert_allclose(pullback(1j)[0], 1j * 1.5 * np.sqrt(3 + 4j), rtol=1e-14)
    _, tangent = aj.jvp(lambda z: rooted(z) * z, (3 + 4j,), (1j,))
    np.testing.assert_allclose(tangent, 1j * 1.5 * np.sqrt(3 + 4j), rtol=1e-14)


def real_in_complex(x):
    a = np.zeros(3, np.complex128)
    for i in range(3):
        a[i] = x[i]
        a[i] *= 2 - 1j
    b = np.full(2, x[0], np.complex128)
    return (a[0] * a[1] * a[2] + b[0] * b[1]).imag


@flavours
def test_real_numbers_in_complex_memory(wrap: Callable[[Any], Any]) -> None:
    x = np.array([1.0, 2.0, 3.0])
    got = aj.grad(wrap(real_in_complex))(x)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, np.prod(x) / x * ((2 - 1j) ** 3).imag, rtol=1e-14)


# dtypes


def scaled(a, h):
    s = 0.0
    for i in range(len(a)):
        w = h * a[i] * (1 + 2j) + 0.5 * np.exp(1j * a[i])
        s += w.real
    return s


def test_single_precision_stays_single() -> None:
    """Python's complex numbers are weak under NumPy's rules."""
    a = np.array([1 + 1j, 0.5], np.complex64)
    value, (da, dh) = aj.value_and_grad(scaled, (0, 1))(a, 0.25)
    assert type(value) is np.float32
    assert da.dtype == np.complex64
    assert type(dh) is float
    wide, (dwide, _) = aj.value_and_grad(scaled, (0, 1))(a.astype(complex), 0.25)
    np.testing.assert_allclose(da, dwide, rtol=1e-6)
    np.testing.assert_allclose(value, wide, rtol=1e-6)
    assert "complex128(" not in aj.grad(scaled).source(a, np.float32(0.25))
    aj.check_grad(scaled, a, np.float32(0.25))


@flavours
def test_the_value_is_the_plain_one(wrap: Callable[[Any], Any]) -> None:
    f = wrap(_function("lambda z, w, x: (z / w + x * z) ** 3 - cmath.exp(w) * z ** w + complex(x, 2 * x)"))
    value, _ = aj.vjp(f, 1.1 - 0.3j, 0.7j, 1.7)
    assert value == njit(
        _function("lambda z, w, x: (z / w + x * z) ** 3 - cmath.exp(w) * z ** w + complex(x, 2 * x)")
    )(1.1 - 0.3j, 0.7j, 1.7)


@pytest.mark.parametrize(
    "name", "acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh".split()
)
def test_cmath(name: str) -> None:
    f = _function(f"lambda z: cmath.{name}(z)")
    z, h = 0.4 + 0.3j, 1e-5
    value, pullback = aj.vjp(f, z)
    np.testing.assert_allclose(value, f(z), rtol=1e-14)
    np.testing.assert_allclose(pullback(1j)[0], 1j * (f(z + h) - f(z - h)) / (2 * h), rtol=1e-8)
    (dx,) = aj.vjp(f, 0.4)[1](1.0)  # of a real number
    assert type(dx) is float
    np.testing.assert_allclose(dx, ((f(0.4 + h) - f(0.4 - h)) / (2 * h)).real, rtol=1e-8, atol=1e-12)


def test_logarithm_to_a_base() -> None:
    aj.check_grad(_function("lambda z, b: cmath.log(z, b)"), 0.4 + 0.3j, 2 - 1j)


# what is refused


@pytest.mark.parametrize(
    ("text", "args", "words"),
    [
        ("lambda z: z * z", (1j,), "returns complex128"),
        ("lambda z: z", (np.ones(2, complex),), "returns array"),
        (
            "lambda z: np.maximum(z, 1j).real",
            (1j,),
            "'numpy.maximum' of complex numbers is not differentiated",
        ),
        ("lambda z: np.sign(z).real", (1j,), "sign"),
        ("lambda z: float(z)", (1j,), "float"),
        ("lambda z: z if z < 1 else 2 * z", (1j,), "<"),
        ("lambda z: (z // 2).real", (1j,), "//"),
    ],
)
def test_what_is_refused(text: str, args: tuple[Any, ...], words: str) -> None:
    with pytest.raises(aj.AdjitError) as caught:
        aj.grad(_function(text))(*args)
    assert words in str(caught.value)


def test_a_complex_result_has_advice() -> None:
    with pytest.raises(aj.ArgumentError, match=r"abs\(z\)\*\*2 or z\.real, or use aj\.vjp"):
        aj.grad(_function("lambda z: z * z"))(1j)
    with pytest.raises(aj.ArgumentError, match="seeds one real scalar"):
        aj.autodiff(aj.Reverse, _function("lambda z: z * z"), aj.Active(1j))


def test_cotangents_and_tangents_must_fit() -> None:
    _, pullback = aj.vjp(modulus, 1j)
    with pytest.raises(aj.ArgumentError, match="must be a number \\(float64\\), not complex"):
        pullback(1j)
    with pytest.raises(aj.ArgumentError, match="dtype float64"):
        aj.jvp(power_of, (np.ones(2, complex), 1.0), (np.ones(2), None))


def test_a_wrong_rule_is_found_along_the_imaginary_axis() -> None:
    with pytest.raises(aj.CheckError, match="z"):
        aj.check_grad(lambda z: abs(doubled(z)) ** 2, 1 + 1j)
