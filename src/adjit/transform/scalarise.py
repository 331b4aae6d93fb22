"""Array statements become plain loops: what they read is kept in a new array first where a store might change it.

rewrite: at once: for i: A[i + 1] = f(B[i])                 ->  for i: A[i + 1] = f(B[i])          (A and B differ)
rewrite: at once: for i: A[i] = f(A[i])                     ->  for i: A[i] = f(A[i])
rewrite: at once: for i: A[k, i] = f(A[k + 1, i + 1])       ->  the same, without "at once"
rewrite: at once: for i: A[i + 1] = f(A[i])                 ->  for i: t[i] = f(A[i]);  for i: A[i + 1] = t[i]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.distinct import Distinct
from adjit.ir.builder import Builder
from adjit.ir.core import ZERO, Atom, Block, Function, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import Array, Scalar
from adjit.ir.visit import Rewriter, defined, operands, renamed, walk


def scalarise(function: Function) -> Function:
    """The program without array statements (see the module)."""
    alias = Alias(function)
    functions = tuple(_rewritten(f, alias) for f in function.functions)
    return replace(_rewritten(function, alias), functions=functions)


def _rewritten(function: Function, alias: Alias) -> Function:
    if not any(isinstance(s, Loop) and s.at_once for s in walk(function.body)):
        return function
    affine = Affine.of(function)
    return replace(function, body=_Scalarise(Distinct(function, alias), affine).block(function.body))


class _Scalarise(Rewriter):
    def __init__(self, distinct: Distinct, affine: Affine):
        super().__init__()
        self._distinct, self._affine = distinct, affine

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop) or not stmt.at_once:
            return (self.rebuild(stmt),)
        nest = _Nest.of(stmt)
        plain = replace(stmt, at_once=False)
        if all(self._harmless(load, nest) for load in walk((stmt,)) if isinstance(load, Load)):
            return (self.rebuild(plain),)
        return tuple(
            s for part in _kept_first(plain, nest, self._affine) for s in super(_Scalarise, self).stmt(part)
        )

    def _harmless(self, load: Load, nest: _Nest) -> bool:
        """Whether no earlier turn's store can change what is loaded."""
        if self._distinct.surely(load.array, nest.store.array):
            return True
        if load.array != nest.store.array:
            return False
        same = load in nest.body and nest.meaning(load.index) == nest.meaning(nest.store.index)
        return same or self._elsewhere(load, nest)

    def _elsewhere(self, load: Load, nest: _Nest) -> bool:
        """Whether an axis along which the nest does not move tells the two apart (another row of the array)."""
        inside = defined(nest.loops)
        return any(
            self._affine.apart(a, b) and self._affine.split(a)[0] not in inside
            for a, b in zip(load.index, nest.store.index, strict=True)
        )


@dataclass(frozen=True)
class _Nest:
    """A nest of loops around one block that ends with the store."""

    loops: tuple[Loop, ...]
    body: Block
    store: Store

    @staticmethod
    def of(loop: Loop) -> _Nest:
        loops = [loop]
        while isinstance(loops[-1].body[-1], Loop):
            loops.append(loops[-1].body[-1])
        body = loops[-1].body
        store = body[-1]
        assert isinstance(store, Store), "an array statement ends with its store"
        return _Nest(tuple(loops), body, store)

    def meaning(self, index: tuple[Atom, ...]) -> tuple[object, ...]:
        """The index with what the body computes spelled out, so that equal ones are equal."""
        lets = {s.target: s for s in self.body if isinstance(s, Let)}

        def spelled(a: Atom) -> object:
            let = lets.get(a) if isinstance(a, Sym) else None
            return a if let is None else (let.op, *map(spelled, let.args))

        return tuple(map(spelled, index))


def _kept_first(outer: Loop, nest: _Nest, affine: Affine) -> tuple[Stmt, ...]:
    """The nest as two: values into a new array, then from there to where they belong."""
    b = Builder(outer.span)
    dtype = nest.store.value.type
    assert isinstance(dtype, Scalar)
    shape = tuple(_extent(b, loop, affine) for loop in nest.loops)
    kept = b.alloc("kept", Array(dtype, len(shape), "C"), shape)

    def at(b: Builder) -> tuple[Atom, ...]:
        return tuple(b.op("sub", _index(loop), _low(loop)) for loop in nest.loops)

    with b.collect() as first:
        b.extend(nest.body[:-1])
        b.store(kept, at(b), nest.store.value)
    with b.collect() as second:
        b.extend(_needed(nest.body[:-1], nest.store.index))
        value = b.load(kept, at(b))
        b.store(nest.store.array, nest.store.index, value, nest.store.update)
    b.append(_around(nest.loops, tuple(first)))
    (again,) = renamed((_around(nest.loops, tuple(second)),), {})
    b.append(again)
    return b.block()


def _around(loops: tuple[Loop, ...], body: Block) -> Loop:
    """The loops with another innermost body; what stands between them stays."""
    inner = replace(loops[-1], body=body)
    for loop in reversed(loops[:-1]):
        inner = replace(loop, body=(*loop.body[:-1], inner))
    return replace(inner, at_once=False)


def _needed(body: Block, index: tuple[Atom, ...]) -> Block:
    """The statements that the index is computed by."""
    wanted: set[Atom] = set(index)
    out: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, Let | Load) and stmt.target in wanted:
            wanted.update(operands(stmt))
            out.append(stmt)
    return tuple(reversed(out))


def _index(loop: Loop) -> Sym:
    assert loop.index is not None
    return loop.index


def _low(loop: Loop) -> Atom:
    assert loop.lo is not None
    return loop.lo


def _extent(b: Builder, loop: Loop, affine: Affine) -> Atom:
    """The turns of a loop; none where it ends before it begins, as over `x[:-1]` of an array without elements."""
    assert loop.hi is not None
    if _low(loop) != ZERO:
        return b.op("max", b.op("sub", loop.hi, _low(loop)), 0)
    return loop.hi if affine.nonnegative(loop.hi) else b.op("max", loop.hi, 0)
