"""Discrete Fourier transforms along one axis, by NumPy: `out = fft(x, n, axis)`, and ifft, rfft, irfft.

A transform is linear, so its tangent is the transform of the tangent, and nothing is recorded. Cotangents are paired
without conjugation (Re(ct * t)), under which the matrix w[j, k] = exp(-+2 pi i j k / n) is its own transpose: the
adjoint of fft is fft, of ifft ifft. Entries that `n` cuts get nothing, those that it adds are dropped.

The transform of real numbers gives half of a spectrum. With the weights c = 1 where a frequency is its own mirror
image (0, and n/2 of an even n) and 2 elsewhere,

    y = rfft(x):   x' += irfft(conj(y') / c)        x = irfft(z):   z' += c * conj(rfft(x'))

each with the factor of the other one: "forward" for "backward". After Johnson 2011, Notes on FFT-based
differentiation, and the transposes of JAX (`jax._src.lax.fft`), whose convention of cotangents this is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adjit.ir.builder import Builder
from adjit.ir.core import ZERO, Atom, Const, Sym
from adjit.ir.nests import nest
from adjit.ir.types import COMPLEX128, FLOAT64, Scalar
from adjit.rules.linear.base import Dtypes, Matrices, Point, Pull, Push, WholeRule, dtype_of

Term = Callable[[Builder, tuple[Atom, ...]], Atom]

NORMS = ("backward", "ortho", "forward")
_OTHER = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def op_of(kind: str, norm: str) -> str:
    """The operation of a transform under a norm: `fft`, `fft_ortho`, `fft_forward`."""
    return kind if norm == "backward" else f"{kind}_{norm}"


def _axis(p: Point) -> int:
    axis = p.number(2)
    assert isinstance(axis, Const)
    return axis.integer


def _tangent(op: str, p: Push) -> None:
    """dy = F dx."""
    into, dx = p.into(0), p.dot(0)
    assert into is not None and dx is not None
    p.m.whole(op, (into,), dx, p.number(1), p.number(2))


def _add_common(m: Matrices, shadow: Sym, source: Sym, axis: int, term: Term) -> None:
    """`shadow[i] += term(i)` at the places along the axis that both arrays have; the real part of it, if it is real."""
    shape = list(m.shape(shadow))
    shape[axis] = m.b.op("min", shape[axis], m.b.dim(source, axis))

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        value = b.cast(term(b, i), dtype_of(shadow))
        b.store(shadow, i, b.op("add", b.load(shadow, i), value))

    nest(m.b, tuple(shape), one)


def _adjoint(op: str, p: Pull) -> None:
    """y = F x:  x' += F y'."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is None or shadow is None:
        return
    m, axis = p.m, _axis(p)
    t = m.new(m.shape(ct), dtype_of(ct))
    m.whole(op, (t,), ct, m.b.dim(ct, axis), p.number(2))
    _add_common(m, shadow, t, axis, lambda b, i: b.load(t, i))


def _weighted(b: Builder, value: Atom, k: Atom, n: Atom, inside: float) -> Atom:
    """`value`, times `inside` at frequencies that are not their own mirror image."""
    twice = b.op("eq", b.op("add", k, k), n)
    edge = b.op("or_", b.op("eq", k, ZERO), twice)
    return b.op("select", edge, value, b.op("mul", value, inside))


def _real_adjoint(norm: str, p: Pull) -> None:
    """y = rfft x:  x' += irfft(conj(y') / c), with the other factor."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is None or shadow is None:
        return
    m, axis, n = p.m, _axis(p), p.number(1)

    def half(*i: Atom) -> Atom:
        return _weighted(m.b, m.b.op("conj", m.b.load(ct, i)), i[axis], n, 0.5)

    spectrum = m.made(m.shape(ct), dtype_of(ct), half)
    shape = list(m.shape(shadow))
    shape[axis] = n
    t = m.new(tuple(shape), dtype_of(ct).part)
    m.whole(op_of("irfft", _OTHER[norm]), (t,), spectrum, n, p.number(2))
    _add_common(m, shadow, t, axis, lambda b, i: b.load(t, i))


def _half_adjoint(norm: str, p: Pull) -> None:
    """x = irfft z:  z' += c * conj(rfft(x')), with the other factor."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is None or shadow is None:
        return
    m, axis, n = p.m, _axis(p), p.number(1)
    shape = list(m.shape(ct))
    shape[axis] = m.b.op("add", m.b.op("floordiv", n, 2), 1)
    t = m.new(tuple(shape), dtype_of(ct).complexified)
    m.whole(op_of("rfft", _OTHER[norm]), (t,), ct, n, p.number(2))
    conj = lambda b, i: b.op("conj", b.load(t, i))  # noqa: E731
    _add_common(m, shadow, t, axis, lambda b, i: _weighted(b, conj(b, i), i[axis], n, 2.0))


def complex_of(dtype: Scalar) -> Scalar:
    """The type of a spectrum; integers are transformed as float64."""
    return dtype.complexified if dtype.differentiable else COMPLEX128


def _spectrum(dtypes: Dtypes) -> Dtypes:
    return (complex_of(dtypes[0]),)


def _signal(dtypes: Dtypes) -> Dtypes:
    return (dtypes[0].part if dtypes[0].differentiable else FLOAT64,)


_ADJOINTS: dict[str, Callable[[str, Pull], None]] = {"rfft": _real_adjoint, "irfft": _half_adjoint}
_LENGTH = "`n` cuts, or adds zeros"
_HERMITIAN = f"{_LENGTH}; the imaginary parts of the frequencies 0 and n/2 are not read, and get nothing"
_SOURCE = "a symmetric matrix is its own transpose"
_HALF = "Johnson 2011, Notes on FFT-based differentiation; transposes of `jax.lax.fft`"


def _rule(kind: str, norm: str) -> WholeRule:
    op = op_of(kind, norm)
    pull = partial(_ADJOINTS[kind], norm) if kind in _ADJOINTS else partial(_adjoint, op)
    return WholeRule(
        op,
        f"fourier({kind.upper()}, {{0}}, {{1}}, {{2}}, {norm.upper()}, {{out0}})",
        (f"numpy.fft.{kind}",),
        partial(_tangent, op),
        pull,
        dtypes=_signal if kind == "irfft" else _spectrum,
        raises=False,
        takes_complex=True,
        takes_integers=True,
        real_only=kind == "rfft",
        convention=_HERMITIAN if kind == "irfft" else _LENGTH,
        reference=_HALF if kind in _ADJOINTS else _SOURCE,
    )


RULES = tuple(_rule(kind, norm) for kind in ("fft", "ifft", "rfft", "irfft") for norm in NORMS)
