"""Whether a store may overwrite an element after it was loaded: a small dependence test.

With `a[i - 1]` loaded and `a[i]` stored in one ascending loop, the store of a later turn never meets the load: the
element at i-1 was stored in the turn before. Such a store need not be rolled back for the load's sake.
"""

from __future__ import annotations

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.order import Order
from adjit.analysis.regions import Region, Regions, common
from adjit.ir.core import Const, If, Load, Loop, Store, Sym


def may_overwrite_later(
    regions: Regions, alias: Alias, affine: Affine, order: Order, load: Load, store: Store
) -> bool:
    """Whether some execution of `store` after some execution of `load` may hit the loaded element."""
    if alias.roots(load.array).isdisjoint(alias.roots(store.array)):
        return False
    where_load, where_store = regions.place[id(load)], regions.place[id(store)]
    shared = common(where_load[0], where_store[0])
    if load.array == store.array and _defined_outside(regions, load.array, shared.loops):
        distance = _distances(regions, affine, load, store, shared.loops)
        if distance is None:
            return False
        for loop in shared.loops:
            if loop.index is None:
                return True
            if order.never_at_once(load, store, loop):
                return not order.never_later(load, store, loop)
            if loop.index not in distance:
                if order.never_later(load, store, loop):
                    continue
                return True
            step = loop.step
            if not isinstance(step, Const) or not isinstance(step.value, int) or step.value == 0:
                return True
            d = distance[loop.index] * (1 if step.value > 0 else -1)
            if d != 0:
                return d > 0
    elif shared.loops:
        return True
    call = regions.assumed.get(id(store))
    if call is not None and call is regions.assumed.get(id(load)):
        return False  # a call's reverse puts back itself what it needs of what the call stored
    return _after(where_load, where_store, shared)


def _defined_outside(regions: Regions, array: Sym, loops: tuple[Loop, ...]) -> bool:
    """Whether the name means the same array in every turn of the loops."""
    return _invariant(regions, array, loops)


def _distances(
    regions: Regions, affine: Affine, load: Load, store: Store, loops: tuple[Loop, ...]
) -> dict[Sym, int] | None:
    """How much later (in index value) the store's turn is, per loop index, where both meet; None: they never do."""
    found: dict[Sym, int] = {}
    for a, b in zip(load.index, store.index, strict=True):
        base_a, off_a = affine.split(a)
        base_b, off_b = affine.split(b)
        if base_a != base_b or not (affine.nonnegative(a) and affine.nonnegative(b)):
            continue
        d = off_a - off_b
        if base_a is None or _invariant(regions, base_a, loops):
            if d != 0:
                return None
            continue
        if found.setdefault(base_a, d) != d:
            return None
    return found


def _invariant(regions: Regions, s: Sym, loops: tuple[Loop, ...]) -> bool:
    region, _ = regions.where[s]
    return all(loop not in region.loops for loop in loops)


def _after(load: tuple[Region, int], store: tuple[Region, int], shared: Region) -> bool:
    """Whether, within one turn of every common loop, the store comes after the load."""
    at_load, at_store = _index_in(load, shared), _index_in(store, shared)
    if at_load != at_store:
        return at_store > at_load
    stmt = shared.block[at_load]
    return not isinstance(stmt, If | Store)  # a load that stands where a store does sees what that stored


def _index_in(place: tuple[Region, int], region: Region) -> int:
    inner, at = place
    while inner is not region:
        assert inner.parent is not None
        inner, at = inner.parent, inner.at
    return at
