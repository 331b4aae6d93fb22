"""Facts about the plan of a reverse sweep: what is recorded, rolled back, kept, computed again."""

from __future__ import annotations

from collections.abc import Iterator

from adjit.analysis.evaluate import Evaluate
from adjit.analysis.regions import Region
from adjit.ir.core import If, Let, Load, Loop, Span, Stmt, Store, Sym
from adjit.ir.types import BOOL, Array, Scalar
from adjit.transform.facts import Fact, Kept, Recomputed, Recorded, RolledBack
from adjit.transform.primal_facts import is_bound, operation_of
from adjit.transform.reverse.planner import Built, Planner

_PLAIN = frozenset({"add", "sub", "neg", "cast", "dim", "nonneg", "pos", "select", "and_", "or_", "not_"})
"""Operations that are not worth a word."""


def of_plan(planner: Planner, built: Built, known: Evaluate, passed: tuple[Sym, ...]) -> Iterator[Fact]:
    """The facts of one function's plan. passed: what its forward sweep hands to the reverse sweep as it is."""
    layout = built[3]
    stores = {planner.decisions.old(s): s for s in planner.decisions.restored.values()}
    for tape in layout.tapes:
        for s in tape.slots:
            yield _recorded(planner, s, tape.region, stores.get(s), known)
    for s in layout.saved:
        if isinstance(s.type, Scalar) and s in passed:
            yield _recorded(planner, s, planner.regions.root, stores.get(s), known)
    copied = planner.protected() if planner.callee is None else []
    for s in copied:
        yield Kept(_place(planner, s), s.name, known.size(s), True)
    buffers = {t.buffer for t in (*layout.tapes, *layout.foreign)}
    for s in passed:
        if isinstance(s.type, Array) and s not in buffers and s not in copied:
            copy = planner.wish.split and s in planner.function.params
            yield Kept(_place(planner, s), s.name, known.size(s), copy)
    yield from _again(built)


def _recorded(planner: Planner, s: Sym, region: Region, store: Store | None, known: Evaluate) -> Recorded:
    assert isinstance(s.type, Scalar)
    times, most = _times(region, known)
    needed = planner.decisions.needed_at.get(s)
    if store is not None:
        name = f"what {store.array.name} held"
        return RolledBack(store.span, name, "this store overwrites it", s.type.itemsize, times, most, needed)
    stmt = planner.regions.definition.get(s)
    span = planner.function.span if stmt is None else stmt.span
    return Recorded(span, _called(s, stmt, span), _why(s, stmt), s.type.itemsize, times, most, needed)


def _called(s: Sym, stmt: Stmt | None, span: Span) -> str:
    if is_bound(s.name, span):
        return s.name
    if s.name.endswith("_tag"):
        return f"what {s.name.removesuffix('_tag')} stands for"
    match stmt:
        case Load():
            return f"{stmt.array.name}[...]"
        case Let():
            return "a condition" if s.type == BOOL else operation_of(stmt)
        case If() if s.type == BOOL:
            return "a condition"
        case _:
            return s.name


def _why(s: Sym, stmt: Stmt | None) -> str:
    match stmt:
        case Load():
            return f"{stmt.array.name} is overwritten afterwards"
        case Loop() if s == stmt.index:
            return "it is the place of the turn"
        case Loop() if s in stmt.params:
            return "each turn makes it from the one before"
        case Loop():
            return "it is what the loop comes to"
        case If():
            return "a branch chose it"
        case Let():
            return "what it is computed from is gone by then"
        case _:
            return "it is gone by then"


def _times(region: Region, known: Evaluate) -> tuple[int | None, bool]:
    """How often the region runs; whether that is only a bound."""
    total, most = 1, False
    for r in region.path():
        if isinstance(r.owner, Loop):
            turns = known.turns(r.owner)
            if turns is None:
                return None, most
            total *= turns
        elif isinstance(r.owner, If):
            most = True
    return total, most


def _place(planner: Planner, s: Sym) -> Span:
    stmt = planner.regions.definition.get(s)
    return planner.function.span if stmt is None else stmt.span


def _again(built: Built) -> Iterator[Fact]:
    sweep = built[0]
    names: dict[tuple[str, int], tuple[dict[str, None], dict[str, None]]] = {}
    for stmt in sweep.recomputed.values():
        if stmt.op not in _PLAIN and stmt.target.type.differentiable:
            of_line = names.setdefault((stmt.span.file, stmt.span.line), ({}, {}))
            name = stmt.target.name if is_bound(stmt.target.name, stmt.span) else operation_of(stmt)
            of_line[0][name] = None
    for load in sweep.repeated.values():
        of_line = names.setdefault((load.span.file, load.span.line), ({}, {}))
        of_line[1][load.array.name] = None
    for (file, line), (computed, loaded) in names.items():
        if line > 0:
            yield Recomputed(Span(file, line), tuple(computed), tuple(loaded))
