"""A cheap key of everything that a function's IR depends on, without building any.

It follows code objects: closure values, the globals and module attributes that the code names, and the same of
every function met. Arrays count by identity and type (the lowered program keeps them alive), numbers by value.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from types import CodeType, FunctionType, ModuleType

import numpy as np

from adjit.rules.custom import CustomFunction

_LIBRARIES = ("numpy", "math", "cmath", "numba", "builtins", "operator", "scipy")


def fingerprint(f: object) -> Hashable:
    """A hashable that changes whenever the lowering of `f` would."""
    return _of(f, set())


@functools.lru_cache(maxsize=4096)
def _names(code: CodeType) -> tuple[str, ...]:
    """Every global or attribute name used by the code and the code nested in it."""
    found = dict.fromkeys(code.co_names)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found.update(dict.fromkeys(_names(const)))
    return tuple(found)


def _of(obj: object, seen: set[int]) -> Hashable:
    if obj is None or isinstance(obj, bool | int | float | complex | str):
        return (type(obj).__name__, repr(obj))
    if isinstance(obj, np.generic):
        return ("scalar", obj.dtype.name, repr(obj.item()))
    if isinstance(obj, np.ndarray):
        layout = (obj.flags.c_contiguous, obj.flags.f_contiguous, obj.flags.writeable)
        return ("array", id(obj), obj.dtype.str, obj.ndim, layout)
    if isinstance(obj, tuple):
        return ("tuple", type(obj), *(_of(item, seen) for item in obj))
    if id(obj) in seen:
        return ("again", id(obj))
    if isinstance(obj, FunctionType):
        return _function(obj, seen)
    if isinstance(obj, functools.partial):
        items = tuple((k, _of(v, seen)) for k, v in sorted(obj.keywords.items()))
        return ("partial", _of(obj.func, seen), *(_of(a, seen) for a in obj.args), items)
    custom = obj if isinstance(obj, CustomFunction) else getattr(obj, "__adjit_custom__", None)
    if isinstance(custom, CustomFunction):
        seen.add(id(obj))
        parts = (custom.primal, custom.fwd, custom.bwd, custom.jvp)
        return ("custom", id(custom), *(_of(p, seen) for p in parts))
    inner = getattr(obj, "py_func", None)
    if isinstance(inner, FunctionType):
        options = getattr(obj, "targetoptions", {})
        signatures = "" if getattr(obj, "_can_compile", True) else repr(getattr(obj, "signatures", ""))
        return ("dispatcher", repr(sorted(options.items(), key=str)), signatures, _function(inner, seen))
    return ("object", id(obj))


def _function(f: FunctionType, seen: set[int]) -> Hashable:
    if id(f) in seen:
        return ("again", id(f))
    seen.add(id(f))
    if (f.__module__ or "").partition(".")[0] in (*_LIBRARIES, "adjit"):
        return ("library", id(f))
    code = f.__code__
    names = _names(code)
    closure = tuple(_cell(c, names, seen) for c in f.__closure__ or ())
    scope = f.__globals__
    used = tuple((n, _global(scope[n], names, seen)) for n in names if n in scope)
    defaults = tuple(_of(d, seen) for d in f.__defaults__ or ())
    keywords = tuple((k, _of(v, seen)) for k, v in (f.__kwdefaults__ or {}).items())
    return ("function", code, f.__module__, closure, used, defaults, keywords)


def _cell(cell: object, names: tuple[str, ...], seen: set[int]) -> Hashable:
    try:
        value = cell.cell_contents  # pyright: ignore[reportAttributeAccessIssue]
    except ValueError:
        return ("empty",)
    return _global(value, names, seen)


def _global(value: object, names: tuple[str, ...], seen: set[int]) -> Hashable:
    """A value that code can name; of a module, what of it the code can name."""
    if not isinstance(value, ModuleType):
        if callable(value) or value is None or isinstance(value, bool | int | float | complex | str | tuple | np.generic | np.ndarray):
            return _of(value, seen)
        parts = tuple((n, _of(getattr(value, n), seen)) for n in names if hasattr(value, n))
        return ("object", id(value), parts)
    if value.__name__.partition(".")[0] in (*_LIBRARIES, "adjit") or id(value) in seen:
        return ("module", value.__name__)
    seen.add(id(value))
    parts = tuple((n, _global(vars(value)[n], names, seen)) for n in names if n in vars(value))
    return ("module", value.__name__, parts)
