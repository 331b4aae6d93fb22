"""Called functions in a generated module: their names, and the signatures they are compiled for.

Functions that call themselves are compiled for one explicit signature, so that Numba need not find the type of
what they return. Arrays that are not surely contiguous are taken as strided: Numba converts where they are passed.
"""

from __future__ import annotations

from collections.abc import Iterable

from adjit.codegen.names import RESERVED, Names
from adjit.ir.core import Atom, Const, Function, Sym, Undef
from adjit.ir.types import BOOL, INT64, Array, RefList, Type


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


def exact(argument: Atom, text: str, parameter: Sym) -> str:
    """The text of an argument of a function's call of itself, in exactly the type of the parameter.

    Numba would compile another version for any other type (a contiguous array, a literal), and loses the link between
    two versions that call each other when it loads them from its cache.
    """
    literal = isinstance(argument, Const | Undef)
    if literal and argument.type == BOOL:
        return f"np.bool_({text})"
    if literal and argument.type == INT64:
        return f"int64({text})"
    return text if argument == parameter else exactly(text, parameter.type)


def exactly(text: str, t: Type) -> str:
    """The text of an array as one of any layout, if that is the type."""
    if isinstance(t, Array) and t.layout != "C" and t.ndim:
        return f"{text}[{', '.join(['::1'] * t.ndim)}]"
    return text


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
