"""Growing records of a function that is itself a derivative: all versions of one record are one memory.

    r1 = ensure r0 n; store r1[k] = v; ...; r = final version      a version holds what the ones before held

When such a function is reversed, every version stands for the last one, and has one shadow.
"""

from __future__ import annotations

from adjit.analysis.regions import Regions
from adjit.errors import UnsupportedError
from adjit.ir.core import Atom, Ensure, Function, If, Loop, Sym
from adjit.ir.types import Array
from adjit.ir.visit import walk


def groups_of(function: Function) -> list[frozenset[Sym]]:
    """The versions of each growing record of a function."""
    group: dict[Sym, Sym] = {}

    def find(s: Sym) -> Sym:
        while group.setdefault(s, s) != s:
            s = group[s]
        return s

    def join(*atoms: Atom) -> None:
        syms = [a for a in atoms if isinstance(a, Sym) and isinstance(a.type, Array)]
        for s in syms[1:]:
            group[find(s)] = find(syms[0])

    grown: list[Ensure] = []
    for stmt in walk(function.body):
        match stmt:
            case Ensure():
                grown.append(stmt)
                join(stmt.target, stmt.array)
            case Loop():
                for flow in zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True):
                    join(*flow)
            case If():
                for flow in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
                    join(*flow)
            case _:
                pass
    heads = dict.fromkeys(find(e.target) for e in grown)
    return [frozenset(s for s in group if find(s) == head) for head in heads]


def growing(function: Function) -> dict[Sym, Sym]:
    """Each version of a growing record, and the version that is left at the function's end.

    Raises: UnsupportedError where a record does not live as long as the function.
    """
    groups = groups_of(function)
    if not groups:
        return {}
    regions = Regions(function)
    final: dict[Sym, Sym] = {}
    for members in groups:
        outer = [s for s in members if regions.where[s][0] is regions.root]
        if not outer:
            ensure = next(s for s in walk(function.body) if isinstance(s, Ensure) and s.target in members)
            raise UnsupportedError(
                "a derivative inside a loop or branch, of a loop whose length is not known ahead, cannot be "
                "differentiated once more",
                "give the loop a bound that is known before it starts",
                ensure.span,
            )
        last = max(outer, key=lambda s: regions.where[s][1])
        final.update(dict.fromkeys(members, last))
    return final
