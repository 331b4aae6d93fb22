"""Eigenvalues, singular values.

Written with A' for the cotangent of A and dA for its tangent. Where two eigenvalues (singular values) are equal, the
vectors that belong to them can be turned among themselves and have no derivative: their share in each other is left
out, which is right for every function that does not depend on the choice. Complex vectors have a phase each, which is
chosen by the library, too.
"""

from __future__ import annotations

from adjit.ir.builder import Builder, const_of
from adjit.ir.core import Atom, Block, If, Sym
from adjit.ir.nests import nest
from adjit.ir.types import BOOL, Scalar
from adjit.rules.linear.base import Matrices, Pull, Push, WholeRule, alike, dtype_of
from adjit.rules.linear.solving import GILES, add_lower, mirrored

_TIES = "vectors of equal values have no share in each other's derivative; complex ones: of functions of any phases"


def gap(b: Builder, at: Atom, other: Atom) -> Atom:
    """`1 / (at - other)`; of equal values 0."""
    d = b.op("sub", at, other)
    one, zero = const_of(1.0, d.type), const_of(0.0, d.type)
    return b.op("select", b.op("eq", d, zero), zero, b.op("fdiv", one, d))


def _gapped(m: Matrices, w: Sym, a: Sym) -> Sym:
    """`a[i, j] / (w[j] - w[i])`, and 0 where the two are equal."""
    b = m.b

    def element(i: Atom, j: Atom) -> Atom:
        there = b.load(a, (i, j))
        return b.op("mul", there, alike(b, gap(b, b.load(w, (j,)), b.load(w, (i,))), there))

    return m.made(m.shape(a), dtype_of(a), element)


def _part(dtype: Scalar) -> Scalar:
    return dtype.part


def _into_diagonal(m: Matrices, target: Sym, source: Sym) -> None:
    """`target[i, i] += source[i]`."""

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        there = b.load(target, (*i, *i))
        b.store(target, (*i, *i), b.op("add", there, alike(b, b.load(source, i), there)))

    nest(m.b, m.shape(source), one)


def _set_diagonal(m: Matrices, target: Sym, source: Sym) -> None:
    """`target[i] = source[i, i]`, of complex numbers the real part."""

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        there = b.load(source, (*i, *i))
        b.store(target, i, b.op("real", there) if dtype_of(source).is_complex else there)

    nest(m.b, m.shape(target), one)


def _zeros(m: Matrices, like: Sym) -> Sym:
    dtype = dtype_of(like)
    return m.made(m.shape(like), dtype, lambda *_: const_of(0.0, dtype))


def _between(m: Matrices, left: Sym, middle: Sym, right: Sym) -> Sym:
    """`left @ middle @ right`."""
    return m.product(m.product(left, middle), right)


def _eigh_tangent(p: Push) -> None:
    """A = V w V^H, with M = V^H dA V:  dw = diag M, dV = V (M / gaps)."""
    da = p.dot(0)
    assert da is not None
    m, v = p.m, p.out(1)
    inside = _between(m, m.adjoint(v), mirrored(m, da), v)
    values, vectors = p.into(0), p.into(1)
    if values is not None:
        _set_diagonal(m, values, inside)
    if vectors is not None:
        m.whole("matmul", (vectors,), v, _gapped(m, p.out(0), inside))


def _eigh_adjoint(p: Pull) -> None:
    """A = V w V^H:  A' += conj(V) (diag w' + (V^T V') / gaps) V^T, in the lower triangle, which alone is read."""
    values, vectors, shadow = p.ct(0), p.ct(1), p.shadow(0)
    if shadow is None or (values is None and vectors is None):
        return
    m, v = p.m, p.out(1)
    if vectors is None:
        middle = _zeros(m, v)
    else:
        middle = _gapped(m, p.out(0), m.product(m.transposed(v), vectors))
    if values is not None:
        _into_diagonal(m, middle, values)
    add_lower(m, shadow, _between(m, m.conjugated(v), middle, m.transposed(v)))


EIGH = WholeRule(
    "eigh",
    "{out0}[:], {out1}[:] = np.linalg.eigh({0})",
    ("numpy.linalg.eigh",),
    _eigh_tangent,
    _eigh_adjoint,
    dtypes=lambda d: (_part(d[0]), d[0]),
    takes_complex=True,
    convention=f"only the lower triangle is read, and gets the gradient; {_TIES}",
    reference=GILES,
)


def _vectors(m: Matrices, a: Sym) -> Sym:
    """The eigenvectors."""
    n, _ = m.shape(a)
    w, v = m.new((n,), _part(dtype_of(a))), m.new(m.shape(a), dtype_of(a))
    m.whole("eigh", (w, v), a)
    return v


def _eigvalsh_tangent(p: Push) -> None:
    """A = V w V^H:  dw = diag(V^H dA V)."""
    into, da = p.into(0), p.dot(0)
    assert into is not None and da is not None
    v = _vectors(p.m, p.arg(0))
    _set_diagonal(p.m, into, _between(p.m, p.m.adjoint(v), mirrored(p.m, da), v))


def _eigvalsh_adjoint(p: Pull) -> None:
    """A = V w V^H:  A' += conj(V) diag(w') V^T, added up in the lower triangle, which alone is read."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is None or shadow is None:
        return
    m = p.m
    v = _vectors(m, p.arg(0))
    middle = _zeros(m, v)
    _into_diagonal(m, middle, ct)
    add_lower(m, shadow, _between(m, m.conjugated(v), middle, m.transposed(v)))


EIGVALSH = WholeRule(
    "eigvalsh",
    "{out0}[:] = np.linalg.eigvalsh({0})",
    ("numpy.linalg.eigvalsh",),
    _eigvalsh_tangent,
    _eigvalsh_adjoint,
    dtypes=lambda d: (_part(d[0]),),
    takes_complex=True,
    convention="only the lower triangle is read, and gets the gradient; equal eigenvalues: of their sum",
    reference=GILES,
)


def _scaled(m: Matrices, a: Sym, s: Sym, axis: int, power: int = 1) -> Sym:
    """`a` with its rows (axis 0) or columns (axis 1) times, or over, `s`."""
    b, op = m.b, "mul" if power > 0 else "fdiv"

    def element(*i: Atom) -> Atom:
        there = b.load(a, i)
        return b.op(op, there, alike(b, b.load(s, (i[axis],)), there))

    return m.made(m.shape(a), dtype_of(a), element)


def _sum(m: Matrices, a: Sym, c: Sym, sign: int = 1) -> Sym:
    b, op = m.b, "add" if sign > 0 else "sub"
    return m.made(m.shape(a), dtype_of(a), lambda *i: b.op(op, b.load(a, i), b.load(c, i)))


def _turned(m: Matrices, s: Sym, a: Sym) -> Sym:
    """`a / (s[j]^2 - s[i]^2)`, and 0 where the two are equal."""
    b = m.b
    squares = m.made(m.shape(s), dtype_of(s), lambda i: b.op("mul", b.load(s, (i,)), b.load(s, (i,))))
    return _gapped(m, squares, a)


def _add_phases(m: Matrices, target: Sym, core: Sym, s: Sym) -> None:
    """`target[i, i] += 1j * core[i, i].imag / s[i]`: the phases of U, where those of V stay."""
    if not dtype_of(core).is_complex:
        return

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        phase = b.op("fdiv", b.op("imag", b.load(core, (*i, *i))), b.load(s, i))
        there = b.load(target, (*i, *i))
        b.store(target, (*i, *i), b.op("add", there, b.op("complex", const_of(0.0, dtype_of(s)), phase)))

    nest(m.b, m.shape(s), one)


def _svd_tangent(p: Push) -> None:
    """A = U s V^H, with P = U^H dA V:  ds = diag P, dU = U ((P s + s P^H) / gaps) + (1 - U U^H) dA V / s.

    Of complex matrices i Im(P[i, i]) / s[i] is added in the brackets of dU.
    """
    da = p.dot(0)
    assert da is not None
    m, u, s, v = p.m, p.out(0), p.out(1), p.m.adjoint(p.out(2))
    inside = _between(m, m.adjoint(u), da, v)
    for k, (left, change, right) in enumerate(((u, da, v), (v, m.adjoint(da), u))):
        into = p.into(2 * k)
        if into is None:
            continue
        core = inside if k == 0 else m.adjoint(inside)
        both = _sum(m, _scaled(m, core, s, 1), _scaled(m, m.adjoint(core), s, 0))
        turned = _turned(m, s, both)
        if k == 0:
            _add_phases(m, turned, core, s)
        target = into if k == 0 else m.made(m.shape(v), dtype_of(v), lambda *_: const_of(0.0, dtype_of(v)))
        m.set(target, m.product(left, turned))
        with m.b.collect() as block:
            outside = _scaled(m, m.product(change, right), s, 1, -1)
            m.add(target, outside)
            m.add(target, m.product(left, m.product(m.adjoint(left), outside)), -1)
        _if_tall(m, left, tuple(block))
        if k == 1:
            m.set(into, m.adjoint(target))
    values = p.into(1)
    if values is not None:
        _set_diagonal(m, values, inside)


def _svd_adjoint(p: Pull) -> None:
    """A = U s V^H, with ' for the conjugates of gradients and * for conjugates:

    A' += U* (diag s' + T_U s + s T_V) V^T + (1 - U* U^T) U' s^-1 V^T + U* s^-1 V'^T (1 - V* V^T),
    T_U = (U^T U' - (U^T U')^H) / gaps + i Im(diag U^T U') / s^2, T_V = (V^T V' - (V^T V')^H) / gaps.
    """
    left, values, right, shadow = p.ct(0), p.ct(1), p.ct(2), p.shadow(0)
    if shadow is None or (left is None and values is None and right is None):
        return
    m, u, vt = p.m, p.out(0), p.out(2)
    s, v = p.out(1), m.adjoint(vt)
    middle = _zeros(m, m.product(m.transposed(u), u))
    if left is not None:
        inside = m.product(m.transposed(u), left)
        m.add(middle, _scaled(m, _twist(m, s, inside), s, 1))
        _add_phases(m, middle, inside, s)
    if right is not None:
        inside = m.product(m.transposed(v), m.adjoint(right))
        m.add(middle, _scaled(m, _twist(m, s, inside), s, 0))
    if values is not None:
        _into_diagonal(m, middle, values)
    back, forth = m.conjugated(u), m.conjugated(vt)
    m.add(shadow, _between(m, back, middle, forth))
    if left is not None:
        _add_beyond(m, shadow, back, left, s, forth)
    if right is not None:
        _add_beyond(m, m.transposed(shadow), v, m.transposed(right), s, m.transposed(back))


def _twist(m: Matrices, s: Sym, inside: Sym) -> Sym:
    return _turned(m, s, _sum(m, inside, m.adjoint(inside), -1))


def _add_beyond(m: Matrices, shadow: Sym, u: Sym, ct: Sym, s: Sym, vt: Sym) -> None:
    """`shadow += (1 - u u^H) ct / s @ vt`, if u is not square."""
    b = m.b
    with b.collect() as block:
        scaled = _scaled(m, ct, s, 1, -1)
        inner = m.product(u, m.product(m.adjoint(u), scaled))
        m.add(shadow, m.product(_sum(m, scaled, inner, -1), vt))
    _if_tall(m, u, tuple(block))


def _if_tall(m: Matrices, u: Sym, block: Block) -> None:
    rows, columns = m.shape(u)
    tall = m.b.let("gt", rows, columns, type=BOOL)
    m.b.append(If(tall, block, (), span=m.b.span))


SVD = WholeRule(
    "svd",
    "{out0}[:], {out1}[:], {out2}[:] = np.linalg.svd({0}, False)",
    ("numpy.linalg.svd",),
    _svd_tangent,
    _svd_adjoint,
    dtypes=lambda d: (d[0], _part(d[0]), d[0]),
    takes_complex=True,
    convention=f"{_TIES}; singular values 0: not finite for the vectors of a matrix that is not square",
    reference="Townsend 2016, Differentiating the singular value decomposition; Giles 2008",
)

RULES = (EIGH, EIGVALSH, SVD)
