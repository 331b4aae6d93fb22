"""Records that the first sweep keeps in the host's memory, and that kernels of the second one read, go to the device.

    def reverse(record): for t, in parallel: ... record[t] ...
    ->  def reverse(record'): record = empty(len(record')); whole record = put(record'); for t, in parallel: ...

The first sweep writes them number by number, in a loop over time; in the second one the turns of that loop may be work
items, where all that they do is adding to shadows.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Alias
from adjit.ir.builder import Builder
from adjit.ir.core import Alloc, Function, Load, Stmt, Store, Sym, Whole, fresh
from adjit.ir.types import Array
from adjit.ir.visit import walk
from adjit.transform.residence import Residence


def with_records(function: Function, hosts: frozenset[Sym], results: int | None) -> Function:
    """The function with such records moved where it begins. hosts: its parameters in the host's memory."""
    arrays = [p for p in function.params if p in hosts and isinstance(p.type, Array)]
    if not arrays:
        return function
    residence = Residence(function, Alias(function), hosts, function.results[:results])
    touched = {s.array for s in walk(function.body) if isinstance(s, Load | Store)}
    given: dict[Sym, Sym] = {}
    head: list[Stmt] = []
    for p in arrays:
        if p not in touched or residence.on_host(p):
            continue
        source = given[p] = fresh(p)
        b = Builder(function.span)
        assert isinstance(p.type, Array)
        shape = tuple(b.dim(source, k) for k in range(p.type.ndim))
        b.append(Alloc(p, shape, None, None, function.span))
        b.append(Whole((p,), "put", (source,), function.span))
        head += b.block()
    params = tuple(given.get(p, p) for p in function.params)
    return replace(function, params=params, body=(*head, *function.body))
