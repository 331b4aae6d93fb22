"""What is slow to compute in the runs that are made ahead of a loop's parts, kept for the parts (see `ahead`).

    ahead:  t = sin(x[i]); terms[i] = t; p = p * t          in the part itself:  t = terms[i]; record[c] = p; p = p * t

A number and its place in memory cost less than a function that is evaluated twice. In loops inside a turn a value has
no place of its own, and is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjit.analysis.work import is_slow
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Block, Const, If, Let, Load, Loop, Stmt, Store, Sym
from adjit.ir.types import Array, Scalar
from adjit.ir.visit import Rewriter


class Terms:
    """The slow values of one loop's turns, and an array for each."""

    def __init__(self, b: Builder, loop: Loop, lo: Atom, turns: Atom, body: Block):
        """body: what runs ahead. lo: the first index."""
        self._loop, self._lo = loop, lo
        self._arrays = {s.target: b.alloc(s.target.name, _row(s.target), (turns,)) for s in _slow(body)}

    def __bool__(self) -> bool:
        return bool(self._arrays)

    def kept(self, body: Block) -> Block:
        """The body with each value stored where it was computed."""
        head, turn = self._turn()
        return (*head, *_Keeps(self._arrays, turn).block(body))

    def read(self, body: Block) -> Block:
        """The body with each value read where it was computed."""
        head, turn = self._turn()
        return (*head, *_Reads(self._arrays, turn).block(body))

    def _turn(self) -> tuple[Block, Atom]:
        """The number of the turn."""
        loop, b = self._loop, Builder(self._loop.span, simplify=True)
        if not self._arrays:
            return (), self._lo
        assert loop.index is not None
        assert isinstance(loop.step, Const)
        up = loop.step.integer > 0
        passed = b.op("sub", loop.index, self._lo) if up else b.op("sub", self._lo, loop.index)
        if abs(loop.step.integer) > 1:
            passed = b.op("floordiv", passed, abs(loop.step.integer))
        turn = b.op("nonneg", passed) if isinstance(passed, Sym) else passed
        return b.block(), turn


def _slow(block: Block) -> Iterator[Let]:
    """The slow operations that a turn does once at most."""
    for s in block:
        if isinstance(s, Let) and is_slow(s):
            yield s
        elif isinstance(s, If):
            yield from _slow(s.then)
            yield from _slow(s.els)


def _row(s: Sym) -> Array:
    assert isinstance(s.type, Scalar)
    return Array(s.type, 1, "C")


class _Kept(Rewriter):
    """Goes over a turn's slow terms."""

    def __init__(self, arrays: dict[Sym, Sym], turn: Atom):
        super().__init__()
        self._arrays, self._turn = arrays, turn

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        new = self.rebuild(stmt)
        if not isinstance(new, Let) or new.target not in self._arrays:
            return (new,)
        return self.term(new, self._arrays[new.target])

    def term(self, let: Let, array: Sym) -> tuple[Stmt, ...]:
        """What stands for a term that has this array."""
        raise NotImplementedError


class _Keeps(_Kept):
    def term(self, let: Let, array: Sym) -> tuple[Stmt, ...]:
        return (let, Store(array, (self._turn,), let.target, let.span))


class _Reads(_Kept):
    def term(self, let: Let, array: Sym) -> tuple[Stmt, ...]:
        return (Load(let.target, array, (self._turn,), let.span),)
