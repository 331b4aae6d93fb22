"""Square systems: solve, inv, det, slogdet, cholesky.

Written with A' for the cotangent of A and dA for its tangent.
"""

from __future__ import annotations

from adjit.ir.builder import Builder, const_of
from adjit.ir.core import ZERO, Atom, Sym
from adjit.ir.nests import nest
from adjit.rules.linear.base import Matrices, Pull, Push, WholeRule, conjugate, dtype_of, rank, real

GILES = "Giles 2008, An extended collection of matrix derivative results"
SINGULAR = "a singular matrix raises `LinAlgError`"


def solve(m: Matrices, a: Sym, b: Sym) -> Sym:
    """`a^-1 @ b`."""
    x = m.new(m.shape(b), dtype_of(b))
    m.whole("solve", (x,), a, b)
    return x


def inv(m: Matrices, a: Sym) -> Sym:
    """`a^-1`."""
    x = m.new(m.shape(a), dtype_of(a))
    m.whole("inv", (x,), a)
    return x


def _solve_tangent(p: Push) -> None:
    """X = A^-1 B:  dX = A^-1 (dB - dA X)."""
    into, da, db = p.into(0), p.dot(0), p.dot(1)
    assert into is not None
    m = p.m
    if da is None:
        assert db is not None
        m.whole("solve", (into,), p.arg(0), db)
        return
    right = m.product(da, p.out(0))
    right = m.made(m.shape(right), dtype_of(right), lambda *i: difference(m, db, right, i))
    m.whole("solve", (into,), p.arg(0), right)


def difference(m: Matrices, a: Sym | None, b: Sym, i: tuple[Atom, ...]) -> Atom:
    """`a[i] - b[i]`; a None is zero."""
    there = m.b.load(b, i)
    return m.b.op("neg", there) if a is None else m.b.op("sub", m.b.load(a, i), there)


def _solve_adjoint(p: Pull) -> None:
    """X = A^-1 B:  Y = A^-T X', B' += Y, A' -= Y X^T."""
    ct = p.ct(0)
    if ct is None:
        return
    m = p.m
    y = solve(m, m.transposed(p.arg(0)), ct)
    left, right = p.shadow(0), p.shadow(1)
    if right is not None:
        m.add(right, y)
    if left is None:
        return
    x = p.out(0)
    if rank(x) == 1:
        m.add_outer(left, y, x, -1)
    else:
        m.add(left, m.product(y, m.transposed(x)), -1)


SOLVE = WholeRule(
    "solve",
    "{out0}[:] = np.linalg.solve({0}, {1})",
    ("numpy.linalg.solve",),
    _solve_tangent,
    _solve_adjoint,
    dtypes=lambda d: d[1:],
    takes_complex=True,
    convention=SINGULAR,
    reference=GILES,
)


def _inv_tangent(p: Push) -> None:
    """C = A^-1:  dC = -C dA C."""
    into, da = p.into(0), p.dot(0)
    assert into is not None and da is not None
    c = p.out(0)
    p.m.set(into, p.m.product(p.m.product(c, da), c), -1)


def _inv_adjoint(p: Pull) -> None:
    """C = A^-1:  A' -= C^T C' C^T."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is not None and shadow is not None:
        c = p.m.transposed(p.out(0))
        p.m.add(shadow, p.m.product(p.m.product(c, ct), c), -1)


INV = WholeRule(
    "inv",
    "{out0}[:] = np.linalg.inv({0})",
    ("numpy.linalg.inv",),
    _inv_tangent,
    _inv_adjoint,
    takes_complex=True,
    convention=SINGULAR,
    reference=GILES,
)


def inner(m: Matrices, a: Sym, b: Sym) -> Atom:
    """`sum(a * b)`."""

    def one(b_: Builder, i: tuple[Atom, ...], total: Atom | None) -> Atom:
        assert total is not None
        return b_.op("add", total, b_.op("mul", b_.load(a, i), b_.load(b, i)))

    found = nest(m.b, m.shape(a), one, const_of(0.0, dtype_of(a)))
    assert found is not None
    return found


def add_scaled(m: Matrices, target: Sym, source: Sym, factor: Atom) -> None:
    """`target += factor * source`; where the factor is zero nothing is added."""

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        b.store(target, i, b.op("add", b.load(target, i), b.op("szmul", factor, b.load(source, i))))

    nest(m.b, m.shape(target), one)


def cofactors(m: Matrices, a: Sym) -> Sym:
    """The matrix of cofactors, which exists of singular matrices too."""
    c = m.new(m.shape(a), dtype_of(a))
    m.whole("cofactors", (c,), a)
    return c


def _det_tangent(p: Push) -> None:
    """d = det A:  dd = sum(cof(A) * dA)."""
    into, da = p.into(0), p.dot(0)
    assert into is not None and da is not None
    p.m.b.store(into, (ZERO,), inner(p.m, cofactors(p.m, p.arg(0)), da))


def _det_adjoint(p: Pull) -> None:
    """d = det A:  A' += d' cof(A)."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is not None and shadow is not None:
        add_scaled(p.m, shadow, cofactors(p.m, p.arg(0)), p.m.b.load(ct, (ZERO,)))


DET = WholeRule(
    "det",
    "{out0}[0] = np.linalg.det({0})",
    ("numpy.linalg.det",),
    _det_tangent,
    _det_adjoint,
    raises=False,
    takes_complex=True,
    convention="right at singular matrices; there the second derivative raises `LinAlgError`",
    reference=f"{GILES}; of singular matrices by the cofactors' singular value decomposition",
)


def _cofactors_tangent(p: Push) -> None:
    """C = det(A) A^-T, with B = A^-T:  dC = sum(C * dA) B - B dA^T C."""
    into, da = p.into(0), p.dot(0)
    assert into is not None and da is not None
    m, c = p.m, p.out(0)
    inverse = m.transposed(inv(m, p.arg(0)))
    total = inner(m, c, da)
    rest = m.product(m.product(inverse, m.transposed(da)), c)
    _set_difference(m, into, inverse, total, rest)


def _cofactors_adjoint(p: Pull) -> None:
    """C = det(A) A^-T, with B = A^-T:  A' += sum(B * C') C - C C'^T B."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is None or shadow is None:
        return
    m, c = p.m, p.out(0)
    inverse = m.transposed(inv(m, p.arg(0)))
    total = inner(m, inverse, ct)
    m.add(shadow, m.product(m.product(c, m.transposed(ct)), inverse), -1)
    add_scaled(m, shadow, c, total)


def _set_difference(m: Matrices, into: Sym, a: Sym, factor: Atom, b: Sym) -> None:
    """`into = factor * a - b`."""

    def one(b_: Builder, i: tuple[Atom, ...], _: object) -> None:
        b_.store(into, i, b_.op("sub", b_.op("mul", factor, b_.load(a, i)), b_.load(b, i)))

    nest(m.b, m.shape(into), one)


COFACTORS = WholeRule(
    "cofactors",
    "{out0}[:] = cofactors({0})",
    (),
    _cofactors_tangent,
    _cofactors_adjoint,
    raises=False,
    takes_complex=True,
    convention=SINGULAR,
    reference=GILES,
)


def _slogdet_tangent(p: Push) -> None:
    """s, l = slogdet A:  dl = sum(A^-T * dA)."""
    into, da = p.into(1), p.dot(0)
    if into is not None and da is not None:
        inverse = p.m.transposed(inv(p.m, p.arg(0)))
        p.m.b.store(into, (ZERO,), inner(p.m, inverse, da))


def _slogdet_adjoint(p: Pull) -> None:
    """s, l = slogdet A:  A' += l' A^-T."""
    ct, shadow = p.ct(1), p.shadow(0)
    if ct is not None and shadow is not None:
        inverse = p.m.transposed(inv(p.m, p.arg(0)))
        add_scaled(p.m, shadow, inverse, p.m.b.load(ct, (ZERO,)))


SLOGDET = WholeRule(
    "slogdet",
    "{out0}[0], {out1}[0] = np.linalg.slogdet({0})",
    ("numpy.linalg.slogdet",),
    _slogdet_tangent,
    _slogdet_adjoint,
    dtypes=lambda d: (d[0], d[0]),
    raises=False,
    carries=lambda k, j: k == 1,
    convention=f"the sign has none; {SINGULAR} in the derivative",
    reference=GILES,
)


def lower_halved(m: Matrices, a: Sym) -> Sym:
    """The lower triangle with half the diagonal, of which the real part counts."""
    dtype, b = dtype_of(a), m.b

    def element(i: Atom, j: Atom) -> Atom:
        half = b.op("mul", real(b, b.load(a, (i, j))), 0.5)
        zero = const_of(0.0, dtype)
        return b.op(
            "select", b.op("gt", i, j), b.load(a, (i, j)), b.op("select", b.op("eq", i, j), half, zero)
        )

    return m.made(m.shape(a), dtype, element)


def mirrored(m: Matrices, a: Sym) -> Sym:
    """The symmetric (complex: Hermitian) matrix of which only the lower triangle is read."""
    b = m.b

    def element(i: Atom, j: Atom) -> Atom:
        low = b.op("ge", i, j)
        row, column = b.op("select", low, i, j), b.op("select", low, j, i)
        there = b.load(a, (row, column))
        if not dtype_of(a).is_complex:
            return there
        off = b.op("select", low, there, b.op("conj", there))
        return b.op("select", b.op("eq", i, j), real(b, there), off)

    return m.made(m.shape(a), dtype_of(a), element)


def add_lower(m: Matrices, shadow: Sym, s: Sym) -> None:
    """What the symmetric matrix receives, into the triangle that was read: `s + s.T` below, `s` on the diagonal.

    Of a Hermitian one: `s + s.conj().T` below, the real part of `s` on the diagonal.
    """
    (n, _) = m.shape(shadow)
    b = m.b

    def row(b: Builder, at: tuple[Atom, ...], _: object) -> None:
        (i,) = at

        def below(b: Builder, place: tuple[Atom, ...], _: object) -> None:
            (j,) = place
            both = b.op("add", b.load(s, (i, j)), conjugate(b, b.load(s, (j, i))))
            b.store(shadow, (i, j), b.op("add", b.load(shadow, (i, j)), both))

        nest(b, (i,), below)
        b.store(shadow, (i, i), b.op("add", b.load(shadow, (i, i)), real(b, b.load(s, (i, i)))))

    nest(b, (n,), row)


def _cholesky_tangent(p: Push) -> None:
    """A = L L^H:  dL = L low(L^-1 dA L^-H), where low halves the diagonal."""
    into, da = p.into(0), p.dot(0)
    assert into is not None and da is not None
    m, low = p.m, p.out(0)
    half = m.adjoint(solve(m, low, mirrored(m, da)))
    m.whole("matmul", (into,), low, lower_halved(m, m.adjoint(solve(m, low, half))))


def _cholesky_adjoint(p: Pull) -> None:
    """A = L L^H:  A' += L^-T low(L^T L') conj(L)^-1, added up in the lower triangle, which alone is read."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is None or shadow is None:
        return
    m = p.m
    upper = m.transposed(p.out(0))
    middle = lower_halved(m, m.product(upper, ct))
    half = solve(m, upper, middle)
    add_lower(m, shadow, m.transposed(solve(m, m.conjugated(upper), m.transposed(half))))


CHOLESKY = WholeRule(
    "cholesky",
    "{out0}[:] = np.linalg.cholesky({0})",
    ("numpy.linalg.cholesky",),
    _cholesky_tangent,
    _cholesky_adjoint,
    takes_complex=True,
    convention="only the lower triangle is read, and gets the gradient; a matrix that is not positive definite raises "
    "`LinAlgError`",
    reference="Murray 2016, Differentiation of the Cholesky decomposition; Seeger et al. 2017, Auto-differentiating "
    "linear algebra",
)


RULES = (SOLVE, INV, DET, SLOGDET, CHOLESKY, COFACTORS)
