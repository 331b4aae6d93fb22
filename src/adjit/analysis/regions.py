"""Where things stand: the tree of blocks, where each symbol is defined, and what each statement writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from adjit.ir.core import Block, Call, Custom, Function, If, Load, Loop, Stmt, Store, Sym, Undef, Whole
from adjit.ir.types import INT64, Array
from adjit.ir.visit import blocks, defined, inner_targets, targets

Arrays = Callable[[Call], tuple[Sym, ...]]


def _nothing(_: Call) -> tuple[Sym, ...]:
    return ()


def _anywhere(array: Sym) -> tuple[Sym, ...]:
    assert isinstance(array.type, Array)
    return tuple(Sym("anywhere", INT64) for _ in range(array.type.ndim))


@dataclass(eq=False)
class Region:
    """One block: the function's body, a loop's body, or a branch."""

    block: Block
    parent: Region | None = None
    owner: Stmt | None = None
    at: int = -1  # index of `owner` in the parent's block
    depth: int = 0  # number of enclosing regions
    loops: tuple[Loop, ...] = ()  # enclosing loops, outermost first
    children: list[Region] = field(default_factory=list)

    def path(self) -> list[Region]:
        """Regions from the root to this one."""
        chain: list[Region] = []
        region: Region | None = self
        while region is not None:
            chain.append(region)
            region = region.parent
        return chain[::-1]


class Regions:
    """The region tree of a function, with look-ups by statement and symbol.

    What a call may write and load again stands in the tables as stores and loads at unknown places, and so does
    what an operation of whole arrays reads.
    """

    def __init__(self, function: Function, written: Arrays = _nothing, read: Arrays = _nothing):
        """`written`, `read`: the arguments through which a call writes, and its reverse loads."""
        self._written, self._read = written, read
        self.of_call: dict[int, tuple[tuple[Store, ...], tuple[Load, ...]]] = {}
        self.of_whole: dict[
            int, dict[Sym, Load]
        ] = {}  # what the adjoint of an operation of whole arrays may read
        self.assumed: dict[int, Call | Whole] = {}  # such stores and loads, and the statement they stand for
        self.root = Region(function.body)
        self.where: dict[Sym, tuple[Region, int]] = {p: (self.root, -1) for p in function.params}
        self.definition: dict[Sym, Stmt] = {}
        self.place: dict[int, tuple[Region, int]] = {}
        self.inner: dict[int, tuple[Region, ...]] = {}
        self._stores: dict[int, tuple[Store, ...]] = {}
        self._defined: dict[int, set[Sym]] = {}
        self._index(self.root)

    def _index(self, region: Region) -> None:
        for i, stmt in enumerate(region.block):
            self.place[id(stmt)] = (region, i)
            if isinstance(stmt, Call):
                self._assume(stmt, (region, i))
            elif isinstance(stmt, Whole):
                self._reads(stmt, (region, i))
            for s in targets(stmt):
                self.where[s] = (region, i)
                self.definition[s] = stmt
            subs: list[Region] = []
            for block in blocks(stmt):
                loops = (*region.loops, stmt) if isinstance(stmt, Loop) else region.loops
                sub = Region(block, region, stmt, i, region.depth + 1, loops)
                subs.append(sub)
                for s in inner_targets(stmt):
                    self.where[s] = (sub, -1)
                    self.definition[s] = stmt
                region.children.append(sub)
                self._index(sub)
            self.inner[id(stmt)] = tuple(subs)

    def _assume(self, call: Call, place: tuple[Region, int]) -> None:
        stores = tuple(
            Store(a, _anywhere(a), Undef(a.type.dtype), call.span)  # type: ignore[union-attr]
            for a in self._written(call)
        )
        loads = tuple(
            Load(Sym(a.name, a.type.dtype), a, _anywhere(a), call.span)  # type: ignore[union-attr]
            for a in self._read(call)
        )
        self.of_call[id(call)] = (stores, loads)
        for access in (*stores, *loads):
            self.where.setdefault(access.array, (self.root, -1))
            self.place[id(access)] = place
            self.assumed[id(access)] = call

    def _reads(self, stmt: Whole, place: tuple[Region, int]) -> None:
        arrays = {a for a in (*stmt.outs, *stmt.args) if isinstance(a, Sym) and isinstance(a.type, Array)}
        loads = {a: Load(Sym(a.name, a.type.dtype), a, _anywhere(a), stmt.span) for a in arrays}  # type: ignore[union-attr]
        self.of_whole[id(stmt)] = loads
        for load in loads.values():
            self.place[id(load)] = place
            self.assumed[id(load)] = stmt

    def calls(self) -> list[tuple[Region, Call]]:
        """Every call, and where it stands."""
        found: list[tuple[Region, Call]] = []
        todo = [self.root]
        while todo:
            region = todo.pop(0)
            found += [(region, s) for s in region.block if isinstance(s, Call)]
            todo += region.children
        return found

    def defined(self, region: Region) -> set[Sym]:
        """Every symbol defined in the region, its head (a loop's index and params) and below."""
        key = id(region)
        if key not in self._defined:
            head = set() if region.owner is None else set(inner_targets(region.owner))
            self._defined[key] = defined(region.block) | head
        return self._defined[key]

    def stores(self, stmt: Stmt) -> tuple[Store, ...]:
        """Every store in the statement, at any depth, with those that its calls may make."""
        key = id(stmt)
        if key not in self._stores:
            if isinstance(stmt, Store):
                found: tuple[Store, ...] = (stmt,)
            elif isinstance(stmt, Call):
                found = self.of_call[key][0]
            elif isinstance(stmt, Loop | If | Custom):
                found = tuple(w for b in blocks(stmt) for s in b for w in self.stores(s))
            else:
                found = ()
            self._stores[key] = found
        return self._stores[key]


def common(a: Region, b: Region) -> Region:
    """The innermost region that encloses both."""
    last = a
    for ra, rb in zip(a.path(), b.path(), strict=False):
        if ra is not rb:
            break
        last = ra
    return last
