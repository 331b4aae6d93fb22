"""Products of matrices and vectors, by BLAS."""

from __future__ import annotations

from adjit.ir.builder import Builder, const_of
from adjit.ir.core import Atom, Sym
from adjit.ir.nests import nest
from adjit.rules.linear.base import Matrices, Pull, Push, WholeRule, dtype_of, rank


def _tangent(p: Push) -> None:
    """C = A B:  dC = dA B + A dB."""
    into = p.into(0)
    assert into is not None
    a, b = p.dot(0), p.dot(1)
    if a is not None:
        p.m.whole("matmul", (into,), a, p.arg(1))
    if b is not None and a is not None:
        p.m.add(into, p.m.product(p.arg(0), b))
    elif b is not None:
        p.m.whole("matmul", (into,), p.arg(0), b)


def _adjoint(p: Pull) -> None:
    """C = A B:  A' += C' B^T, B' += A^T C'."""
    ct = p.ct(0)
    if ct is None:
        return
    left, right = p.shadow(0), p.shadow(1)
    if left is not None:
        _into_left(p.m, left, ct, p.arg(1))
    if right is not None:
        _into_right(p.m, right, p.arg(0), ct)


def _into_left(m: Matrices, shadow: Sym, ct: Sym, b: Sym) -> None:
    if rank(b) == 1:
        m.add_outer(shadow, ct, b)
    elif rank(ct) == 1:
        m.add(shadow, m.product(b, ct))
    else:
        m.add(shadow, m.product(ct, m.transposed(b)))


def _into_right(m: Matrices, shadow: Sym, a: Sym, ct: Sym) -> None:
    if rank(a) == 1:
        m.add_outer(shadow, a, ct)
    else:
        m.add(shadow, m.product(m.transposed(a), ct))


MATMUL = WholeRule(
    "matmul",
    "np.dot({0}, {1}, {out0})",
    ("numpy.matmul", "numpy.dot"),
    _tangent,
    _adjoint,
    raises=False,
    takes_complex=True,
    convention="as the library: 0 times inf is NaN",
    reference="Giles 2008, An extended collection of matrix derivative results",
    strided="{out0}[...] = np.dot({0}, {1})",
)


def loops(b: Builder, out: Sym, x: Sym, y: Sym) -> None:
    """The product by loops, of numbers that BLAS has no product of."""
    m, dtype = Matrices(b), dtype_of(out)
    inner = m.shape(x)[-1:]

    def element(b: Builder, place: tuple[Atom, ...], _: object) -> None:
        row, column = place[: rank(x) - 1], place[rank(x) - 1 :]

        def term(b: Builder, k: tuple[Atom, ...], total: Atom | None) -> Atom:
            assert total is not None
            pair = (b.load(x, (*row, *k)), b.load(y, (*k, *column)))
            one, other = (b.cast(v, dtype) for v in pair)
            return b.op("add", total, b.op("mul", one, other))

        total = nest(b, inner, term, const_of(0, dtype))
        assert total is not None
        b.store(out, place, total)

    nest(b, m.shape(out), element)


def _last(_: object) -> None:
    raise AssertionError("a product is added up in one call only where nothing is differentiated any more")


MATMUL_ADD = WholeRule("matmul_add", "dot_add({0}, {1}, {out0})", (), _last, _last, raises=True)
"""`out += a @ b`: made by `codegen.accumulate`, the one operation whose result was there before."""

RULES = (MATMUL, MATMUL_ADD)
