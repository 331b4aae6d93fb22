"""Products that are added up, in one call of BLAS: no temporary array, no loop.

    t = empty(n, m); whole t = matmul(x, y); for i: for j: s[i, j] = s[i, j] + t[i, j]   ->   whole s = matmul_add(x, y)
    ..; for i: for j: s[i, j] = t[i, j]                                                  ->   whole s = matmul(x, y)

The last step before adjoint code is printed: in a program of the user's, or one that is differentiated once more, sums
stay in the order in which they are written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from adjit.analysis.alias import Alias
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Function,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Sym,
    Whole,
)
from adjit.ir.types import FLOAT32, FLOAT64, Array
from adjit.ir.visit import Rewriter, operands, walk, yields
from adjit.transform.clean import clean
from adjit.transform.clear_outside import clears


def accumulated(function: Function) -> Function:
    """The function with its sums of products in one call each (see the module)."""
    if not any(isinstance(s, Whole) for s in walk(function.body)):
        return function
    new = replace(function, body=_Accumulate(function).block(function.body))
    return clean(new, keep_raising=True)


@dataclass(frozen=True)
class _Sum:
    """`target += source`, or `target = source` if it is the `first`, over all of both."""

    target: Sym
    source: Sym
    first: bool


class _Accumulate(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._alias = Alias(function)
        self._extents = {
            s.target: s.args for s in walk(function.body) if isinstance(s, Let) and s.op == "dim"
        }
        self._reads: Counter[Atom] = Counter(function.results)
        for stmt in walk(function.body):
            self._reads.update((*operands(stmt), *yields(stmt)))

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in super().block(block):
            made = self._merged(out, stmt)
            out.append(stmt if made is None else made)
        return tuple(out)

    def _merged(self, before: list[Stmt], stmt: Stmt) -> Whole | None:
        """The sum as one call; the product is taken out of what stands before it."""
        total = self._sum(stmt) if isinstance(stmt, Loop) else None
        if total is None or self._reads[total.source] != 2:
            return None
        k = len(before) - 1
        while k >= 0 and (isinstance(before[k], Let) or clears(before[k], total.target)):
            k -= 1
        product = before[k] if k >= 0 else None
        if not isinstance(product, Whole) or product.op != "matmul" or product.outs != (total.source,):
            return None
        if not self._own(total, product):
            return None
        at = next(
            (i for i, s in enumerate(before) if isinstance(s, Alloc) and s.target == total.source), None
        )
        if at is None:
            return None
        del before[k], before[at]
        return replace(product, op="matmul" if total.first else "matmul_add", outs=(total.target,))

    def _own(self, total: _Sum, product: Whole) -> bool:
        """Whether BLAS can add: matrices of one type of floats, the sum in memory of its own."""
        arrays = (total.target, total.source, *product.args)
        types = [a.type for a in arrays]
        if not all(isinstance(t, Array) and t.ndim == 2 and t.dtype in (FLOAT32, FLOAT64) for t in types):
            return False
        if len({t.dtype for t in types}) != 1:  # type: ignore[union-attr]
            return False
        if total.first and total.target.type.layout != "C":  # type: ignore[union-attr]
            return False  # `np.dot` stores to no other
        mine = self._alias.roots(total.target)
        return all(mine.isdisjoint(self._alias.roots(a)) for a in product.args)

    def _sum(self, outer: Loop) -> _Sum | None:
        if len(outer.body) != 1 or not isinstance(outer.body[0], Loop):
            return None
        inner = outer.body[0]
        place = (outer.index, inner.index)
        match inner.body:
            case (Load() as one, Store() as store) if store.value == one.target and not store.update:
                accesses, arrays = (one, store), {one.array}
            case (Load() as one, Load() as other, Let(op="add", fn=None) as add, Store() as store):
                if {one.target, other.target} != set(add.args) or store.value != add.target:
                    return None
                accesses, arrays = (one, other, store), {one.array, other.array}
            case _:
                return None
        sources = arrays - {store.array}
        if any(access.index != place for access in accesses) or len(sources) != 1:
            return None
        first = len(arrays) == 1
        if not first and store.array not in arrays:
            return None
        loops = (outer, inner)
        whole = all(
            loop.lo == ZERO
            and loop.step == ONE
            and loop.stop is None
            and not loop.params
            and self._is_extent(loop.hi, store.array, axis)
            for axis, loop in enumerate(loops)
        )
        return _Sum(store.array, next(iter(sources)), first) if whole else None

    def _is_extent(self, a: Atom | None, array: Sym, axis: int) -> bool:
        found = self._extents.get(a) if isinstance(a, Sym) else None
        return found is not None and found[0] == array and getattr(found[1], "value", None) == axis
