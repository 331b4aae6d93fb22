"""Functions put in as code by transforms that build programs out of derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from adjit.analysis.alias import Alias, written_params
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Function, Sym
from adjit.ir.nests import copy_into
from adjit.ir.types import Array
from adjit.ir.visit import reachable, renamed


def inlined(b: Builder, function: Function, args: Sequence[Atom]) -> tuple[Atom, ...]:
    """The function's code where the builder stands; its results there."""
    env: dict[Sym, Atom] = dict(zip(function.params, args, strict=True))
    b.extend(renamed(function.body, env))
    return tuple(env.get(a, a) if isinstance(a, Sym) else a for a in function.results)


def with_callees(function: Function, *others: Function) -> Function:
    """The function with all functions that it calls, which stand with it or with the others."""
    known = {f.name: f for o in (function, *others) for f in o.functions}
    return replace(function, functions=reachable(function, known.values()))


class Entry:
    """Arguments at entry, for code that runs several times: what it writes is copied before the first time."""

    def __init__(self, b: Builder, functions: Iterable[Function], params: Sequence[Sym]):
        written: set[Sym] = set()
        for f in functions:
            at = dict(zip(f.params, params, strict=False))
            written |= {at[p] for p in written_params(f, Alias(f)) if p in at}
        self._kept = {p: copied(b, p) for p in params if p in written}
        self._params = params

    def writes(self, p: Sym) -> bool:
        """Whether the code writes the argument."""
        return p in self._kept

    def args(self, b: Builder) -> tuple[Atom, ...]:
        """The arguments of one run."""
        return tuple(copied(b, self._kept[p]) if p in self._kept else p for p in self._params)


def copied(b: Builder, array: Sym) -> Sym:
    """A copy, in the layout of shadows."""
    copy = b.alloc_like(array.name, array)
    copy_into(b, copy, array)
    return copy


def extents(b: Builder, a: Atom) -> tuple[Atom, ...]:
    """Of an array; of a number none."""
    if not isinstance(a.type, Array):
        return ()
    assert isinstance(a, Sym)
    return tuple(b.dim(a, k) for k in range(a.type.ndim))
