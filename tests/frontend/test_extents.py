"""Integers while a program is lowered: which are equal, which are never negative."""

from adjit.frontend.extents import Extents
from adjit.ir.core import Const, Sym, const
from adjit.ir.types import FLOAT64 as F
from adjit.ir.types import INT64, Array

A, B = Sym("a", Array(F, 1, "C")), Sym("b", Array(F, 1, "C"))


class Made:
    """Integers made one after the other."""

    def __init__(self):
        self.scopes = [{}]
        self.known = Extents({}, lambda: self.scopes)

    def let(self, op, *args):
        s = Sym(op, INT64)
        self.known.note(s, op, args)
        return s

    def dim(self, array, axis=0):
        return self.let("dim", array, const(axis))


def test_linear_forms_are_equal_however_they_are_written():
    m = Made()
    n = m.dim(A)
    one, two = const(1), const(2)
    assert m.known.same(m.let("sub", m.let("sub", n, one), one), m.let("sub", n, two))
    assert m.known.same(m.let("mul", two, n), m.let("add", n, n))
    assert m.known.same(m.let("sub", n, n), const(0))
    assert m.known.same(m.let("add", n, one), n) is False
    assert m.known.same(n, m.dim(B)) is None


def test_extremes_are_equal_as_sets():
    m = Made()
    n, k = m.dim(A), Sym("k", INT64)
    assert m.known.same(m.let("min", n, k), m.let("min", k, n))
    assert m.known.same(m.let("max", const(0), n), m.let("min", const(0), n)) is None


def test_what_a_block_has_checked_holds_in_it_and_not_after_it():
    m = Made()
    n, k = m.dim(A), m.dim(B)
    m.scopes.append({})
    m.known.learn(m.let("sub", n, const(1)), k)
    assert m.known.same(m.let("sub", n, const(2)), m.let("sub", k, const(1)))
    assert m.known.same(m.let("max", const(0), m.let("sub", n, const(1))), m.let("max", const(0), k))
    m.scopes.pop()
    assert m.known.same(m.let("sub", n, const(1)), k) is None


def test_extents_of_what_is_made_are_what_it_was_made_with():
    m = Made()
    n = Sym("n", INT64)
    m.known.shapes = {A: (n,)}
    assert m.known.same(m.let("dim", A, 0), n)


def test_signs():
    m = Made()
    n, i, k = m.dim(A), Sym("i", INT64), Sym("k", INT64)
    m.known.counts.add(i)
    assert m.known.negative(m.let("add", m.let("mul", const(2), i), n)) is False
    assert m.known.negative(m.let("sub", n, const(1))) is None
    assert m.known.negative(k) is None
    assert m.known.negative(m.let("max", const(0), k)) is False
    assert m.known.negative(Const(-3, INT64)) is True
    assert m.known.at_most(i, m.let("add", i, const(1)))
    assert not m.known.at_most(m.let("add", i, const(1)), n)
