"""Recursion that would overflow the stack raises instead.

    function f(x): ...; call f(y)
    ->   function f(x, depth): if depth > limit: raise RecursionError; ...; call f(y, depth + 1)

A compiled function that recurses too deeply ends the process. The limit is the stack over a generous guess of what one
call takes, the same for every form of every function of a program, so that a forward sweep that succeeds can be
reversed. (Measured: recursion of one and a half to two times the limit still passes.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adjit.ir.builder import Builder
from adjit.ir.core import ZERO, Atom, Block, Call, Function, Loop, Raise, Sym, const
from adjit.ir.types import INT64, Array, RefList
from adjit.ir.visit import Passing, blocks, everywhere, inner_targets, operands, targets, walk, yields

_WORDS_OF_ARRAY = 10  # Numba passes an array as its fields: 5 + 2 per axis, rounded up
_WORDS_OF_VALUE = 3  # alive across a call: the value, and what the optimiser loads early for it
_BYTES_OF_CALL = 256  # return address, saved registers, alignment, temporaries


def frame_bytes(f: Function) -> int:
    """A generous guess of the stack that one call of the function takes."""
    calls = [s for s in walk(f.body) if isinstance(s, Call)]
    words = _words(f.params) + _words(f.results)
    words += max((_words(c.args) + _words(c.results) for c in calls), default=0)
    return _BYTES_OF_CALL + 8 * (words + _WORDS_OF_VALUE * _Lives(f).most())


class _Lives:
    """How many words are alive across a call, at most: each of them has a place in the frame."""

    def __init__(self, f: Function):
        self._at = 0
        self._defined: dict[Sym, int] = {}
        self._last: dict[Sym, int] = {}
        self._calls: list[tuple[int, int]] = []  # the call, and where its outermost loop begins
        self._block(f.body, None)
        self._use(f.results)

    def most(self) -> int:
        """The words alive across the call that has most of them."""
        return max((self._alive(call, start) for call, start in self._calls), default=0)

    def _alive(self, call: int, start: int) -> int:
        return _words(s for s, at in self._defined.items() if at < call and self._last.get(s, -1) >= start)

    def _use(self, atoms: Iterable[Atom]) -> None:
        self._last.update((a, self._at) for a in atoms if isinstance(a, Sym))

    def _block(self, block: Block, loop: int | None) -> None:
        for stmt in block:
            self._at += 1
            self._use(operands(stmt))
            if isinstance(stmt, Call):
                self._calls.append((self._at, self._at if loop is None else loop))
            start = self._at if isinstance(stmt, Loop) and loop is None else loop
            self._defined.update((s, self._at) for s in inner_targets(stmt))
            for sub in blocks(stmt):
                self._block(sub, start)
            self._use(yields(stmt))
            self._at += 1
            self._defined.update((s, self._at) for s in targets(stmt))


def _words(atoms: Iterable[Atom]) -> int:
    return sum(_WORDS_OF_ARRAY if isinstance(a.type, Array | RefList) else 1 for a in atoms)


def deepest(functions: Iterable[Function], stack: int) -> int | None:
    """How deep calls may be nested with so many bytes of stack; None where nothing recurses."""
    sizes = [frame_bytes(f) for entry in functions for f in entry.functions]
    return stack // max(sizes) if sizes else None


def limited_depth(function: Function, limit: int) -> Function:
    """The program, whose called functions count how deep they are nested."""
    if not function.functions:
        return function
    depth = {f.name: Sym("depth", INT64) for f in function.functions}
    return everywhere(function, lambda f: _counting(f, depth.get(f.name), limit))


def _counting(f: Function, depth: Sym | None, limit: int) -> Function:
    if depth is None:
        return replace(f, body=Passing((ZERO,)).block(f.body))
    b = Builder(f.span)
    text = f"the function at {f.span.file}:{f.span.line} calls itself more than {limit} deep"
    b.if_(b.op("gt", depth, const(limit)), (Raise("RecursionError", (text,), f.span),))
    deeper = b.op("add", depth, 1)
    assert isinstance(deeper, Sym)
    return replace(f, params=(*f.params, depth), body=(*b.block(), *Passing((deeper,)).block(f.body)))
