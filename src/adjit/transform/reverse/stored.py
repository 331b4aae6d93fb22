"""Values that memory holds, so that the reverse sweep need not compute them again.

    t = tanh(x); store h[i, j] = t      (nothing stores there later)     ->   t is h[i, j]

Only of operations that take long: a load costs more than a product.
"""

from __future__ import annotations

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.dependence import may_overwrite_later
from adjit.analysis.order import Order
from adjit.analysis.regions import Regions
from adjit.ir.core import Let, Load, Store, fresh
from adjit.transform.reverse.record import Decisions

_LONG = frozenset(
    "exp exp2 expm1 tanh sinh cosh tan pow cbrt gamma lgamma erf erfc asin acos atan asinh acosh atanh log".split()
)


class Stored:
    """Finds the store of a value, as a load of the same element that stands where the store does."""

    def __init__(self, regions: Regions, alias: Alias, affine: Affine, order: Order, decisions: Decisions):
        self._regions, self._alias, self._affine, self._order = regions, alias, affine, order
        self._decisions = decisions
        self._found = decisions.stored

    def of(self, let: Let) -> Load | None:
        """The load, if there is one and the store is not rolled back."""
        if let.op not in _LONG:
            return None
        if let.target not in self._found:
            self._found[let.target] = self._find(let)
        found = self._found[let.target]
        return None if found is None or id(found[0]) in self._decisions.restored else found[1]

    def _find(self, let: Let) -> tuple[Store, Load] | None:
        region, at = self._regions.place[id(let)]
        for stmt in region.block[at + 1 :]:
            if isinstance(stmt, Store) and stmt.value == let.target:
                if let.target.type == stmt.array.type.dtype:  # type: ignore[union-attr]
                    load = Load(fresh(let.target), stmt.array, stmt.index, stmt.span)
                    return None if self._overwritten(load, stmt) else (stmt, load)
        return None

    def _overwritten(self, load: Load, own: Store) -> bool:
        """Whether another store, or the same in another turn of a loop, may hit the element later."""
        self._regions.place[id(load)] = self._regions.place[id(own)]
        stores = (s for stmt in self._regions.root.block for s in self._regions.stores(stmt))
        facts = self._regions, self._alias, self._affine, self._order
        return any(may_overwrite_later(*facts, load, s) for s in stores)
