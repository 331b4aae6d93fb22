"""What the forward sweep records, and in which buffers.

A *tape* holds what one region (a loop's body, a branch) records of one dtype: all its slots for one turn lie side
by side, and a cursor moves by the number of slots each time the region runs. The reverse sweep moves the cursor
back. Values of the function's own body are not taped: they are passed on as they are ("saved").

So that the turns of a parallel loop need not follow each other, what a turn records stands at a place of its own:
    * what a branch right in a turn records has a slot in every turn, taken or not: the cursor moves with the turns;
    * of a record to which each turn adds a number of values that depends on data, the turn keeps the cursor at its end
      (`ends`), in a record of the loop: the reverse turn starts from there, whatever turn ran before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from adjit.analysis.carried import Carried
from adjit.analysis.item_nests import axes_of
from adjit.analysis.regions import Region, Regions
from adjit.ir.core import Call, If, Load, Loop, Span, Store, Sym
from adjit.ir.types import INT64, Array, Scalar


@dataclass(eq=False)
class Tape:
    """The records of one region and dtype.

    turn: the region with whose runs the cursor moves: the region itself, or that of the turn of a parallel loop.
    """

    region: Region
    dtype: Scalar
    turn: Region
    slots: dict[Sym, int] = field(default_factory=dict)
    buffer: Sym = field(init=False)
    cursor: Sym = field(init=False)

    def __post_init__(self) -> None:
        self.buffer = Sym("record", Array(self.dtype, 1, "C"))
        self.cursor = Sym("cursor", INT64)

    @property
    def width(self) -> int:
        """Slots per turn."""
        return len(self.slots)


@dataclass
class Decisions:
    """Which values are recorded (and in which regions), which stores are rolled back, which loads not repeated.

    A value is recorded where it is defined, or, if only a branch needs it, at the entry of that branch.
    """

    recorded: dict[Sym, dict[Region, None]] = field(default_factory=dict)
    restored: dict[int, Store] = field(default_factory=dict)
    unrepeatable: set[int] = field(default_factory=set)
    overwritten: dict[int, Sym] = field(default_factory=dict)
    stored: dict[Sym, tuple[Store, Load] | None] = field(default_factory=dict)  # see `stored`
    needed_at: dict[Sym, Span] = field(default_factory=dict)  # where the sweep first wanted what is recorded

    def old(self, store: Store) -> Sym:
        """The symbol of the value that a rolled-back store overwrites."""
        if id(store) not in self.overwritten:
            assert isinstance(store.array.type, Array)
            self.overwritten[id(store)] = Sym(f"{store.array.name}_old", store.array.type.dtype)
        return self.overwritten[id(store)]


class Layout:
    """Tapes and saved symbols for a set of decisions."""

    def __init__(
        self,
        regions: Regions,
        decisions: Decisions,
        known_old: dict[int, Sym],
        called: bool = False,
        device: bool = False,
    ):
        """`known_old`: rolled-back stores whose overwritten value is a recorded symbol already.

        `called`: of a called function, which tapes the values of its own body too, since each call has its own.
        `device`: whether the turns of a nest are work items, each of which keeps its own ends.
        """
        self.called, self.device = called, device
        self.tapes: list[Tape] = []
        self._moved: dict[int, dict[Tape, None]] = {}  # region -> tapes that calls in it move
        self._foreign: dict[Tape, None] = {}
        self.saved: dict[Sym, None] = {}
        self.home: dict[Sym, tuple[Region, ...]] = {}
        self._by_key: dict[tuple[int, Scalar], Tape] = {}
        for s, places in decisions.recorded.items():
            own = regions.where[s][0]
            for region in (own,) if own in places else places:
                self._place(s, region, regions)
        for store in decisions.restored.values():
            if id(store) not in known_old and id(store) not in regions.assumed:
                self._place(decisions.old(store), regions.place[id(store)][0], regions)
        self.ends: dict[Region, dict[Tape, Sym]] = {}
        if not called:
            self._keep_ends()

    def _place(self, s: Sym, region: Region, regions: Regions) -> None:
        self.home[s] = (*self.home.get(s, ()), region)
        if region is regions.root and not self.called:
            self.saved[s] = None
            return
        assert isinstance(s.type, Scalar)
        tape = self._tape(region, s.type)
        tape.slots[s] = len(tape.slots)

    def _tape(self, region: Region, dtype: Scalar) -> Tape:
        key = (id(region), dtype)
        if key not in self._by_key:
            turn = region if self.called else _turn(region)
            self._by_key[key] = Tape(region, dtype, turn)
            self.tapes.append(self._by_key[key])
        return self._by_key[key]

    def _keep_ends(self) -> None:
        """Find the records of which each turn of a parallel loop keeps where it ended."""
        cut = {id(loop) for loop in map(cut_loop, self.tapes) if loop is not None}
        for tape in tuple(self.tapes):
            path = tape.turn.path()
            outer = next((r for r in path if _parallel(r)), None)
            if outer is not None and self.device:
                outer = _of_item(outer, path)
            if outer is None or _regular(tape.turn, outer, cut):
                continue
            end = Sym("end", INT64)
            self.ends.setdefault(outer, {})[tape] = end
            own = self._tape(outer, INT64)
            own.slots[end] = len(own.slots)

    def tape(self, region: Region, dtype: Scalar) -> Tape | None:
        """The region's tape of that dtype."""
        return self._by_key.get((id(region), dtype))

    def attach(self, regions: Regions, state: Callable[[Call], tuple[Tape, ...]]) -> None:
        """Learn which tapes each call moves."""
        for region, call in regions.calls():
            tapes = dict.fromkeys(state(call))
            for r in region.path():
                self._moved.setdefault(id(r), {}).update(tapes)
            self._foreign.update((t, None) for t in tapes if t not in self.tapes)

    @property
    def foreign(self) -> tuple[Tape, ...]:
        """Tapes of called functions."""
        return tuple(self._foreign)

    def moved_by_calls(self, region: Region) -> dict[Tape, None]:
        """Tapes that calls in the region move."""
        return self._moved.get(id(region), {})

    def of(self, region: Region) -> list[Tape]:
        """The tapes that move when the region runs."""
        return [t for t in self.tapes if t.turn is region]

    def at(self, region: Region) -> list[Tape]:
        """The tapes of what the region records."""
        return [t for t in self.tapes if t.region is region]

    def below(self, region: Region) -> list[Tape]:
        """Tapes of the region and everything inside it, with those that calls inside it move."""
        own = [t for t in self.tapes if region in t.turn.path()]
        return list(dict.fromkeys((*own, *self.moved_by_calls(region))))


def _parallel(region: Region) -> bool:
    return isinstance(region.owner, Loop) and region.owner.parallel


def _of_item(outer: Region, path: Sequence[Region]) -> Region:
    """The turn of the innermost loop that is an axis of the nest that begins with the parallel loop."""
    assert isinstance(outer.owner, Loop)
    axes = axes_of(outer.owner)
    return next(r for r in reversed(path) if r.owner in axes)


def _turn(region: Region) -> Region:
    """The turn of a parallel loop around a branch with nothing but branches between; else the region itself."""
    outer = region
    while isinstance(outer.owner, If):
        assert outer.parent is not None
        outer = outer.parent
    return outer if _parallel(outer) else region


def cut_loop(tape: Tape) -> Loop | None:
    """The loop that is cut into chunks of turns, each of which makes room for what it records (see `sites`)."""
    region = tape.turn
    while isinstance(region.owner, If):
        assert region.parent is not None
        region = region.parent
    loop = region.owner
    if not isinstance(loop, Loop):
        return None
    return loop if region is not tape.turn or loop.index is None or loop.stop is not None else None


def _regular(region: Region, outer: Region, cut: set[int]) -> bool:
    """Whether the region runs as often in every turn of the parallel loop, as is known before the loop.

    Nothing is known of what goes on in a loop that is `cut` into chunks.
    """
    assert isinstance(outer.owner, Loop)
    carried = Carried(outer.owner)
    while region is not outer:
        if not isinstance(region.owner, Loop) or id(region.owner) in cut:
            return False
        if carried.trips(region.owner) is None:
            return False
        assert region.parent is not None
        region = region.parent
    return True
