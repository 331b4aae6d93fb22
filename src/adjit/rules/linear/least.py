"""Orthogonal factors, pseudo-inverses, least squares.

Written with A' for the cotangent of A and dA for its tangent.
"""

from __future__ import annotations

from adjit.ir.builder import const_of
from adjit.ir.core import Atom, Sym
from adjit.rules.linear.base import Matrices, Pull, Push, WholeRule, dtype_of, rank, real
from adjit.rules.linear.solving import difference, mirrored, solve

_RANK = "of full rank; else not what differences give, for the rank changes"


def _masked(m: Matrices, a: Sym, op: str) -> Sym:
    """`a` where row `op` column, else 0."""
    b, zero = m.b, const_of(0.0, dtype_of(a))

    def element(i: Atom, j: Atom) -> Atom:
        return b.op("select", b.op(op, i, j), b.load(a, (i, j)), zero)

    return m.made(m.shape(a), dtype_of(a), element)


def minus(m: Matrices, a: Sym, c: Sym) -> Sym:
    """`a - c`."""
    return m.made(m.shape(a), dtype_of(a), lambda *i: difference(m, a, c, i))


def _over(m: Matrices, a: Sym, r: Sym) -> Sym:
    """`a @ r^-1`."""
    return m.transposed(solve(m, m.transposed(r), m.transposed(a)))


def _qr_tangent(p: Push) -> None:
    """A = Q R, with C = Q^H dA R^-1 and W = low C - (low C)^H + i Im(diag C), low without the diagonal:

    dR = (C - W) R, dQ = dA R^-1 - Q (C - W).
    """
    da = p.dot(0)
    assert da is not None
    m, q, r = p.m, p.out(0), p.out(1)
    change = _over(m, da, r)
    core = m.product(m.adjoint(q), change)
    low = _masked(m, core, "gt")
    upper = _real_diagonal(m, minus(m, minus(m, core, low), _negative(m, m.adjoint(low))))
    first, second = p.into(0), p.into(1)
    if first is not None:
        m.set(first, minus(m, change, m.product(q, upper)))
    if second is not None:
        m.whole("matmul", (second,), upper, r)


def _real_diagonal(m: Matrices, a: Sym) -> Sym:
    """`a` without the imaginary parts of its diagonal: the factor R has a real one."""
    if not dtype_of(a).is_complex:
        return a
    b = m.b

    def element(i: Atom, j: Atom) -> Atom:
        there = b.load(a, (i, j))
        return b.op("select", b.op("eq", i, j), real(b, there), there)

    return m.made(m.shape(a), dtype_of(a), element)


def _negative(m: Matrices, a: Sym) -> Sym:
    b = m.b
    return m.made(m.shape(a), dtype_of(a), lambda *i: b.op("neg", b.load(a, i)))


def _qr_adjoint(p: Pull) -> None:
    """A = Q R, with M = R* R'^H - Q'^H Q*:  A' += (Q' + Q* (low M + (low M)^H)) R^-T, the diagonal once and real.

    ' stands for the conjugate of a gradient, * for a conjugate.
    """
    first, second, shadow = p.ct(0), p.ct(1), p.shadow(0)
    if shadow is None or (first is None and second is None):
        return
    m, r, q = p.m, p.out(1), p.m.conjugated(p.out(0))
    core = None if second is None else m.product(m.conjugated(r), m.adjoint(_masked(m, second, "le")))
    if first is not None:
        other = m.product(m.adjoint(first), q)
        core = _negative(m, other) if core is None else minus(m, core, other)
    assert core is not None
    total = m.product(q, mirrored(m, core))
    if first is not None:
        m.add(total, first)
    m.add(shadow, m.transposed(solve(m, r, m.transposed(total))))


QR = WholeRule(
    "qr",
    "{out0}[:], {out1}[:] = np.linalg.qr({0})",
    ("numpy.linalg.qr",),
    _qr_tangent,
    _qr_adjoint,
    dtypes=lambda d: (d[0], d[0]),
    takes_complex=True,
    convention="of columns that depend on each other: raises `LinAlgError` in the derivative",
    reference="Walter, Lehmann 2012, Algorithmic differentiation of linear algebra functions; Seeger et al. 2017",
)


def _pinv(m: Matrices, a: Sym) -> Sym:
    rows, columns = m.shape(a)
    out = m.new((columns, rows), dtype_of(a))
    m.whole("pinv", (out,), a)
    return out


def _pinv_tangent(p: Push) -> None:
    """P = A^+:  dP = -P dA P + P P^T dA^T (1 - A P) + (1 - P A) dA^T P^T P."""
    into, da = p.into(0), p.dot(0)
    assert into is not None and da is not None
    m, a, pi = p.m, p.arg(0), p.out(0)
    t = m.transposed
    m.set(into, m.product(m.product(pi, da), pi), -1)
    first = m.product(m.product(pi, t(pi)), t(da))
    m.add(into, first)
    m.add(into, m.product(m.product(first, a), pi), -1)
    second = m.product(t(da), m.product(t(pi), pi))
    m.add(into, second)
    m.add(into, m.product(pi, m.product(a, second)), -1)


def _pinv_adjoint(p: Pull) -> None:
    """P = A^+:  A' += -P^T P' P^T + (1 - A P) P'^T P P^T + P^T P P'^T (1 - P A)."""
    ct, shadow = p.ct(0), p.shadow(0)
    if ct is None or shadow is None:
        return
    m, a, pi = p.m, p.arg(0), p.out(0)
    t = m.transposed
    m.add(shadow, m.product(m.product(t(pi), ct), t(pi)), -1)
    first = m.product(t(ct), m.product(pi, t(pi)))
    m.add(shadow, first)
    m.add(shadow, m.product(a, m.product(pi, first)), -1)
    second = m.product(m.product(t(pi), pi), t(ct))
    m.add(shadow, second)
    m.add(shadow, m.product(m.product(second, pi), a), -1)


PINV = WholeRule(
    "pinv",
    "{out0}[:] = np.linalg.pinv({0})",
    ("numpy.linalg.pinv",),
    _pinv_tangent,
    _pinv_adjoint,
    convention=_RANK,
    reference="Golub, Pereyra 1973, The differentiation of pseudo-inverses",
)


def _lstsq_tangent(p: Push) -> None:
    """x = P b, with P = A^+ and r = b - A x:  dx = P (db - dA x) + P P^T dA^T r + (1 - P A) dA^T P^T x."""
    into, da, db = p.into(0), p.dot(0), p.dot(1)
    assert into is not None
    m, a, x = p.m, p.arg(0), p.out(0)
    pi, t = _pinv(m, a), m.transposed
    if db is not None:
        m.whole("matmul", (into,), pi, db)
    if da is None:
        return
    m.add(into, m.product(pi, m.product(da, x)), -1)
    residual = minus(m, p.arg(1), m.product(a, x))
    m.add(into, m.product(pi, m.product(t(pi), m.product(t(da), residual))))
    free = m.product(t(da), m.product(t(pi), x))
    m.add(into, free)
    m.add(into, m.product(pi, m.product(a, free)), -1)


def _lstsq_adjoint(p: Pull) -> None:
    """x = P b, with P = A^+, r = b - A x, y = P^T x', z = x' - P A x':

    b' += y, A' += -y x^T + r (P y)^T + (P^T x) z^T.
    """
    ct, left, right = p.ct(0), p.shadow(0), p.shadow(1)
    if ct is None:
        return
    m, a = p.m, p.arg(0)
    pi = _pinv(m, a)
    y = m.product(m.transposed(pi), ct)
    if right is not None:
        m.add(right, y)
    if left is None:
        return
    x = p.out(0)
    add_products(m, left, y, x, -1)
    add_products(m, left, minus(m, p.arg(1), m.product(a, x)), m.product(pi, y))
    add_products(m, left, m.product(m.transposed(pi), x), minus(m, ct, m.product(pi, m.product(a, ct))))


def add_products(m: Matrices, target: Sym, x: Sym, y: Sym, sign: int = 1) -> None:
    """`target += sign * x @ y.T`; of vectors their outer product."""
    if rank(x) == 1:
        m.add_outer(target, x, y, sign)
    else:
        m.add(target, m.product(x, m.transposed(y)), sign)


LSTSQ = WholeRule(
    "lstsq",
    "{out0}[:] = np.linalg.lstsq({0}, {1})[0]",
    ("numpy.linalg.lstsq",),
    _lstsq_tangent,
    _lstsq_adjoint,
    convention=f"the solution alone; {_RANK}",
    reference="Golub, Pereyra 1973, The differentiation of pseudo-inverses",
)

RULES = (QR, PINV, LSTSQ)
