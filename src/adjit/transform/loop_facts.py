"""Facts about the loops of finished code, from the notes that passes left on them (`ir.notes`)."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

from adjit.analysis.evaluate import Evaluate
from adjit.ir.core import Block, Function, Loop, Sym
from adjit.ir.notes import AHEAD, COPIED, Counted, InOrder, OnThreads, Pulled
from adjit.ir.types import Array
from adjit.ir.visit import blocks, free
from adjit.transform.facts import Access, Fact, Parallel, PulledSum


def of_loops(function: Function, known: Evaluate, sweep: str) -> Iterator[Fact]:
    """Which loops run on threads, in how many parts, or why they do not; which sums are pulled."""
    for loop, around in _loops(function.body, ()):
        match loop.note:
            case OnThreads(updates=updates, ahead=ahead):
                parts = _parts(loop, around, known)
                shapes = {a.name: a for a in free(loop.body) if isinstance(a.type, Array)}
                accesses = [_access(array, how, parts, shapes, known) for array, how in updates]
                accesses += [Access(name, AHEAD) for name in ahead]
                yield Parallel(loop.span, sweep, parts, "", tuple(accesses))
            case InOrder(reason=reason):
                yield Parallel(loop.span, sweep, None, _said(reason, loop), ())
            case Pulled(array=array):
                yield PulledSum(loop.span, sweep, array)
            case Counted() | None:
                pass


def _said(reason: str, loop: Loop) -> str:
    """The reason in the user's words: the place in a record has a name in generated code only."""
    if "`cursor`" not in reason or "cursor" in "".join(linecache.getlines(loop.span.file)):
        return reason
    return "how many values a turn records depends on data"


def _loops(block: Block, around: tuple[Loop, ...]) -> Iterator[tuple[Loop, tuple[Loop, ...]]]:
    for stmt in block:
        inside = around
        if isinstance(stmt, Loop):
            yield stmt, around
            inside = (*around, stmt)
        for sub in blocks(stmt):
            yield from _loops(sub, inside)


def _parts(loop: Loop, around: tuple[Loop, ...], known: Evaluate) -> int | None:
    """The turns of a loop over parts; of both phases, where it runs every second part at once."""
    alone = known.turns(loop)
    phase = around[-1] if around and around[-1].index is not None else None
    if alone is not None or phase is None or phase.index is None:
        return alone
    turns = known.turns(phase)
    found = [known.given({phase.index: k}).turns(loop) for k in range(turns or 0)]
    return sum(n for n in found if n is not None) if found and all(n is not None for n in found) else None


def _access(array: str, how: str, parts: int | None, arrays: dict[str, Sym], known: Evaluate) -> Access:
    size = known.size(arrays[array]) if how == COPIED and array in arrays else None
    if how == COPIED and size is None and f"{array}_of_parts" in arrays:
        whole = known.size(arrays[f"{array}_of_parts"])
        return Access(array, how, whole)
    return Access(array, how, None if size is None or parts is None else size * parts)
