"""Called functions in a generated module: their names, and the signatures they are compiled for.

Functions that call themselves are compiled for one explicit signature, so that Numba need not find the type of
what they return. Arrays that are not surely contiguous are taken as strided: Numba converts where they are passed.
"""

from __future__ import annotations

from collections.abc import Iterable

from adjit.codegen.names import RESERVED, Names
from adjit.ir.core import Function
from adjit.ir.types import Array, RefList, Type


def callee_names(entries: Iterable[Function], taken: Iterable[str]) -> dict[str, str]:
    """The printed name of each function that the entries call."""
    entries = tuple(entries)
    names = Names(RESERVED | frozenset(taken) | frozenset(f.name for f in entries))
    found: dict[str, str] = {}
    for entry in entries:
        for f in entry.functions:
            if f.name not in found:
                found[f.name] = names.fresh(f.name.partition(".")[0])
    return found


def signature(function: Function) -> str:
    """Numba's signature of a called function, as the text that `njit` takes."""
    results = ", ".join(_spelled(a.type) for a in function.results)
    out = f"Tuple(({results},))" if len(function.results) == 1 else f"Tuple(({results}))"
    return f"{out if results else 'none'}({', '.join(_spelled(p.type) for p in function.params)})"


def _spelled(t: Type) -> str:
    match t:
        case Array():
            layout = t.layout if t.layout == "C" else "A"
            lock = ", readonly=True" if t.readonly else ""
            return f"Array({_spelled(t.dtype)}, {t.ndim}, '{layout}'{lock})"
        case RefList():
            return f"ListType({_list_element(t.element)})"
        case _:
            return "boolean" if str(t) == "bool" else str(t)


def _list_element(a: Array) -> str:
    """Lists are not converted: their elements' type is exact."""
    lock = ", readonly=True" if a.readonly else ""
    return f"Array({_spelled(a.dtype)}, {a.ndim}, '{a.layout}'{lock})"
