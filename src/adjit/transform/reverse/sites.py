"""Where the capacity of each record is ensured.

* a body of counted loops: before the outermost loop where the turns of all can be counted (see `room`); at the
  function's top that is the exact size;
* a branch, or a loop that may stop early: the loop around it is cut into chunks of turns, and each chunk ensures what
  its turns can write, so that a rare branch reserves next to nothing and no element costs a test;
* on a device, in a parallel loop, such a loop looks in each turn: the records are counted before they are written
  (`transform.counted_records`), and no work item looks;
* a branch outside all loops: at its own start;
* in a called function: the same, as far as no call stands in the way, which may move the same record; a region with a
  call in it pushes at its end, and looks then.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.analysis.regions import Region, Regions
from adjit.ir.core import Atom, If, Loop
from adjit.transform.reverse.record import Layout, Tape, cut_loop
from adjit.transform.reverse.room import may_count

CHUNK = 1024
"""Turns of a loop between two looks at the capacity of a record that it may write."""

Trip = tuple[Atom, Atom, Atom]


@dataclass(frozen=True)
class Site:
    """In `region`, before statement `at` (-1: at its start), for all turns of `loops`, outermost first, of which the
    tape's region is the innermost body.

    `loop`: the loop is cut into chunks instead; `region` is then where it stands.
    """

    region: Region
    at: int
    loops: tuple[Loop, ...] = ()
    loop: Loop | None = None


def site_of(tape: Tape, regions: Regions, layout: Layout) -> Site | None:
    """The site of a tape (see the module); None where it is pushed at its region's end."""
    region = tape.turn
    if layout.called:
        if tape in layout.moved_by_calls(region):
            return None
        loop = next((r for r in region.path()[::-1] if isinstance(r.owner, Loop)), None)
        if loop is None or tape in layout.moved_by_calls(loop):
            return Site(region, -1)
    while isinstance(region.owner, If):
        assert region.parent is not None
        region = region.parent
    loop = region.owner
    if not isinstance(loop, Loop):
        return Site(tape.turn, -1)
    assert region.parent is not None
    if cut_loop(tape) is not None:
        if layout.device and any(isinstance(r.owner, Loop) and r.owner.parallel for r in region.path()):
            return Site(region, -1)
        return Site(region.parent, region.at, (), loop)
    return _hoisted(tape, region, regions, layout)


def _hoisted(tape: Tape, region: Region, regions: Regions, layout: Layout) -> Site:
    """Before the outermost counted loop at which every number of turns can be counted."""
    loops: tuple[Loop, ...] = ()
    while True:
        loop = region.owner
        assert isinstance(loop, Loop)
        loops = (loop, *loops)
        assert region.parent is not None
        at, region = region.at, region.parent
        outer = region.owner
        in_the_way = layout.called and tape in layout.moved_by_calls(region)
        in_the_way = in_the_way or tape in layout.ends.get(
            region, {}
        )  # each turn of a parallel loop by itself
        if in_the_way or not isinstance(outer, Loop) or not may_count((outer, *loops), region, regions):
            return Site(region, at, loops)
