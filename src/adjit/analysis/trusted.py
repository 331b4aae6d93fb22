"""Stores in parallel loops of which nothing shows that no other turn touches the element: the user's word is taken.

    for i in range(n), in parallel: y[index[i]] = y[index[i]] + w[i]

Right if no number is twice in `index`. `aj.check_races` runs the program and looks.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.device_turns import whole_arrays
from adjit.analysis.distinct import Distinct
from adjit.analysis.meetings import Meetings
from adjit.analysis.update_pairs import Pairs
from adjit.ir.core import Alloc, Function, Load, Loop, Store
from adjit.ir.visit import walk


def trusted_stores(function: Function) -> Iterator[Store]:
    """The first such store of each array and loop."""
    loops = [s for s in walk(function.body) if isinstance(s, Loop) and s.parallel]
    if not loops:
        return
    alias, affine = Alias(function), Affine.of(function)
    distinct, whole = Distinct(function, alias), whole_arrays(function)
    meetings = Meetings(alias, affine)
    for loop in loops:
        body = list(walk(loop.body))
        own = {r for s in body if isinstance(s, Alloc) for r in alias.roots(s.target)}
        stores = [
            s for s in body if isinstance(s, Store) and not s.update and not alias.roots(s.array) <= own
        ]
        pairs = Pairs(loop.body, affine, loop.nexts)
        updating = {id(pairs.load_of(s)) for s in body if isinstance(s, Store) and s.update}
        touching = [
            s
            for s in body
            if (isinstance(s, Load) and id(s) not in updating and _meets(s, stores, alias, distinct))
            or (isinstance(s, Store) and _meets(s, stores, alias, distinct))
        ]
        groups = meetings.touched(loop, touching, whole, distinct)
        if groups is None:
            yield from stores[:1]
            continue
        for group in groups:
            if not group.apart:
                yield next(s for s in group.accesses if isinstance(s, Store) and not s.update)


def _meets(access: Load | Store, stores: list[Store], alias: Alias, distinct: Distinct) -> bool:
    """Whether the access is of an array that one of the stores writes."""
    roots = alias.roots(access.array)
    return any(
        roots & alias.roots(s.array)
        and not (s.array != access.array and distinct.surely(s.array, access.array))
        for s in stores
    )
