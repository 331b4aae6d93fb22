"""Operations that are no statements of their own become loops that say what depends on what.

    whole c = inv(a)           ->  whole c = inv(a); s = sum of a; for i, j: c[i, j] = every(c[i, j], s)
    whole c = matmul(a, b)     ->  ...; r = row sums of a; s = column sums of b; c[i, j] = every(c[i, j], r[i], s[j])
    y = custom(x) {v = ...}    ->  v = ...; y = every(v, x)
    if c: raise else: ... -> r ->  r is not what it was before the branch where that raises

`every(v, a, ...)` is v, and depends on all of its operands. A rule of the user's own may have any derivative, so what
it gives depends on all that it takes. Used before a pattern is derived; nobody computes the sums.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Alias
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    Atom,
    Block,
    Custom,
    Function,
    If,
    Raise,
    Stmt,
    Store,
    Sym,
    Undef,
    Whole,
)
from adjit.ir.nests import nest, sum_all
from adjit.ir.types import Array, Scalar
from adjit.ir.visit import Rewriter, walk
from adjit.rules import get as rule_of
from adjit.rules import linear

EVERY = "every"


def carries(op: str, k: int) -> bool:
    """Whether operand k of an operation has a slope."""
    return op == EVERY or rule_of(op).carries(k)


def opened(function: Function) -> Function:
    """The function without whole operations whose dependences are not said, and without rules of the user's."""
    o = _Opened(Alias(function))
    return replace(function, body=o.block(function.body), results=o.atoms(function.results))


class _Opened(Rewriter):
    def __init__(self, alias: Alias):
        super().__init__()
        self._alias = alias

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Custom):
            return self._custom(stmt)
        stmt = self.rebuild(stmt)
        if isinstance(stmt, If):
            return (_past_raise(stmt),)
        if not isinstance(stmt, Whole):
            return (stmt,)
        b = Builder(stmt.span)
        _product(b, stmt) if stmt.op == "matmul" and _is_matrix_product(stmt) else _all_to_all(b, stmt)
        return (stmt, *b.block())

    def _custom(self, stmt: Custom) -> Block:
        args = self.atoms(stmt.args)
        body = self.block(stmt.body)
        values = self.atoms(stmt.values)
        b = Builder(stmt.span)
        stores = [s.array for s in walk(stmt.body) if isinstance(s, Store)]
        roots = frozenset[Sym]().union(*map(self._alias.roots, stores))
        pairs = zip(args, stmt.args, strict=True)
        written = [a for a, old in pairs if not self._alias.roots(old).isdisjoint(roots)]
        with b.collect() as before:
            terms = _terms(b, args)
        for array in dict.fromkeys(written):
            assert isinstance(array, Sym)
            _mix_into(b, array, terms)
        for r, v in zip(stmt.results, values, strict=True):
            if isinstance(v, Sym) and isinstance(v.type, Array):
                _mix_into(b, v, terms)
                self.env[r] = v
            elif r.type.differentiable and isinstance(r.type, Scalar):
                self.env[r] = b.let(EVERY, v, *terms, type=r.type, name=r.name)
            else:
                self.env[r] = v
        return (*before, *body, *b.block())


def _past_raise(stmt: If) -> If:
    """The branch without values of a side that ends in a `raise`."""
    then, els = _raises(stmt.then), _raises(stmt.els)
    nothing = tuple(Undef(r.type) for r in stmt.results)
    return replace(
        stmt,
        then_values=nothing if then else stmt.then_values,
        else_values=nothing if els else stmt.else_values,
    )


def _raises(block: Block) -> bool:
    return any(
        isinstance(s, Raise) or (isinstance(s, If) and _raises(s.then) and _raises(s.els)) for s in block
    )


def differ(a: Atom, b: Atom) -> bool:
    """Whether what two ways hand on is a choice: not where one of them has no value."""
    return a != b and not isinstance(a, Undef) and not isinstance(b, Undef)


def _terms(b: Builder, args: tuple[Atom, ...]) -> list[Atom]:
    """One number for each differentiable argument that depends on all of it."""
    moving = [a for a in args if isinstance(a, Sym) and a.type.differentiable]
    return [sum_all(b, a) if isinstance(a.type, Array) else a for a in dict.fromkeys(moving)]


def _mix_into(b: Builder, array: Sym, terms: list[Atom]) -> None:
    """Every element depends on every term."""
    assert isinstance(array.type, Array)
    if not array.type.differentiable or not terms:
        return
    dtype = array.type.dtype
    shape = tuple(b.dim(array, k) for k in range(array.type.ndim))

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        b.store(array, i, b.let(EVERY, b.load(array, i), *terms, type=dtype))

    nest(b, shape, one)


def _all_to_all(b: Builder, stmt: Whole) -> None:
    carries = linear.get(stmt.op).carries
    for k, out in enumerate(stmt.outs):
        moving = tuple(a for j, a in enumerate(stmt.args) if carries(k, j))
        _mix_into(b, out, _terms(b, moving))


def _is_matrix_product(stmt: Whole) -> bool:
    ranks = [a.type.ndim for a in stmt.args if isinstance(a.type, Array)]
    return len(ranks) == 2 and all(r in (1, 2) for r in ranks)


def _product(b: Builder, stmt: Whole) -> None:
    """Element (i, j) of a product depends on row i of one matrix and column j of the other."""
    x, y = stmt.args
    assert isinstance(x, Sym) and isinstance(y, Sym)
    (out,) = stmt.outs
    rows, columns = _lines(b, x, -1), _lines(b, y, 0)
    assert isinstance(out.type, Array)
    dtype = out.type.dtype
    shape = tuple(b.dim(out, k) for k in range(out.type.ndim))

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        n = _rank(rows)
        terms = (b.load(rows, i[:n]), b.load(columns, i[n:]))
        b.store(out, i, b.let(EVERY, b.load(out, i), *terms, type=dtype))

    nest(b, shape, one)


def _rank(a: Sym) -> int:
    assert isinstance(a.type, Array)
    return a.type.ndim


def _lines(b: Builder, a: Sym, axis: int) -> Sym:
    """Sums along an axis of a vector or a matrix."""
    assert isinstance(a.type, Array)
    dtype, axis = a.type.dtype, axis % a.type.ndim
    shape = tuple(b.dim(a, k) for k in range(a.type.ndim))
    kept = tuple(n for k, n in enumerate(shape) if k != axis)
    sums = b.alloc(f"{a.name}_sums", Array(dtype, len(kept), "C"), kept, const_of(0.0, dtype))

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        at = tuple(k for d, k in enumerate(i) if d != axis)
        b.store(sums, at, b.op("add", b.load(sums, at), b.load(a, i)))

    nest(b, shape, one)
    return sums
