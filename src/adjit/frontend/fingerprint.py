"""A cheap key of everything that a function's IR depends on, without building any.

It follows code objects: closure values, the globals and module attributes that the code names, and the same of
every function met. Numbers count by value; arrays by type and by which of them are the same array (their
contents are run-time arguments). The key means the same in every process; what has no such key (an
object that could be anything) gives None.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from types import CodeType, FunctionType, ModuleType

import numpy as np

from adjit.frontend.frozen import frozen_values
from adjit.frontend.kernel_function import KernelFunction
from adjit.frontend.lasting import lasting
from adjit.rules.custom import CustomFunction

_LIBRARIES = ("numpy", "math", "cmath", "numba", "builtins", "operator", "scipy", "adjit")
_NOTHING: Mapping[str, object] = {}
_NUMBERS = bool | int | float | complex | str


class _UnstableError(Exception):
    """Something met has no key that lasts."""


def fingerprint(f: object) -> str | None:
    """A text that changes whenever the lowering of `f` would; None where no lasting one exists."""
    try:
        return repr(_Walk().value(f))
    except _UnstableError:
        return None


@lasting
def _names(code: CodeType) -> tuple[str, ...]:
    """Every global or attribute name used by the code and the code nested in it."""
    found = dict.fromkeys(code.co_names)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found.update(dict.fromkeys(_names(const)))
    return tuple(found)


@lasting
def _code(code: CodeType) -> Hashable:
    """The code by content: its place (errors and comments name it), instructions, constants and names."""
    consts = tuple(_const(c) for c in code.co_consts)
    place = (code.co_filename, code.co_firstlineno, code.co_qualname)
    return (
        place,
        code.co_code.hex(),
        code.co_linetable.hex(),  # errors and comments name lines inside the function too
        consts,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
    )


def _const(c: object) -> Hashable:
    if isinstance(c, CodeType):
        return _code(c)
    if isinstance(c, frozenset):
        return ("frozenset", tuple(sorted(map(repr, c))))
    return (type(c).__name__, repr(c))


class _Walk:
    """One traversal; objects are numbered in the order they are met."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, tuple[str, ...]], int] = {}
        self._alive: list[object] = []

    def _met(self, obj: object, names: tuple[str, ...] = ()) -> int | None:
        """The number of an object met before (read by these names), else None (and it is numbered)."""
        key = (id(obj), names)
        if key in self._seen:
            return self._seen[key]
        self._seen[key] = len(self._seen)
        self._alive.append(obj)
        return None

    def value(self, obj: object) -> Hashable:
        """The key of a value that code can name."""
        if obj is None or isinstance(obj, _NUMBERS):
            return (type(obj).__name__, repr(obj))
        if isinstance(obj, np.generic):
            return ("scalar", obj.dtype.name, repr(obj.item()))
        if isinstance(obj, tuple):
            fields = getattr(type(obj), "_fields", ())
            return ("tuple", type(obj).__qualname__, fields, *(self.value(item) for item in obj))
        if isinstance(obj, type) and obj.__module__.partition(".")[0] in _LIBRARIES:
            return ("class", obj.__module__, obj.__qualname__)
        again = self._met(obj)
        if again is not None:
            return ("again", again)
        if isinstance(obj, np.ndarray):
            return (
                "array",
                obj.dtype.str,
                obj.ndim,
                obj.flags.c_contiguous,
                obj.flags.f_contiguous,
                obj.flags.writeable,
            )
        if isinstance(obj, FunctionType):
            return self.function(obj)
        if isinstance(obj, functools.partial):
            items = tuple((k, self.value(v)) for k, v in sorted(obj.keywords.items()))
            return ("partial", self.value(obj.func), *(self.value(a) for a in obj.args), items)
        if isinstance(obj, ModuleType):
            return ("module", obj.__name__)
        return self.other(obj)

    def other(self, obj: object) -> Hashable:
        if isinstance(obj, KernelFunction):
            return ("kernel", self.value(obj.body))
        if hasattr(type(obj), "layer_options"):
            layer = obj.layer_options, obj.layer_pure  # pyright: ignore[reportAttributeAccessIssue]
            return ("layer", type(obj).__qualname__, repr(layer), self.value(obj.f))  # pyright: ignore[reportAttributeAccessIssue]
        custom = obj if isinstance(obj, CustomFunction) else getattr(obj, "__adjit_custom__", None)
        if isinstance(custom, CustomFunction):
            parts = (custom.primal, custom.fwd, custom.bwd, custom.jvp)
            return ("custom", *(self.value(p) for p in parts))
        inner = getattr(obj, "py_func", None)
        if isinstance(inner, FunctionType):
            options = sorted(getattr(obj, "targetoptions", {}).items(), key=str)
            signatures = "" if getattr(obj, "_can_compile", True) else repr(getattr(obj, "signatures", ""))
            return ("dispatcher", repr(options), signatures, self.function(inner, frozen_values(obj)))
        base = getattr(obj, "structure", None)
        if callable(base):
            return ("structure", self.value(base()))
        name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", getattr(obj, "__name__", None))
        if name[1] is not None and str(name[0]).partition(".")[0] in _LIBRARIES:
            return ("library", *name)
        if isinstance(obj, np.ufunc):
            return ("ufunc", obj.__name__)
        if isinstance(obj, type) and hasattr(obj, "_field_defaults"):
            return self._class(obj, ())
        raise _UnstableError

    def _class(self, cls: type, names: tuple[str, ...]) -> Hashable:
        """A user's class: the defaults of a NamedTuple, and what else of it the code can name."""
        fields = getattr(cls, "_fields", ())
        defaults = tuple((k, self.value(v)) for k, v in getattr(cls, "_field_defaults", {}).items())
        parts = tuple(
            (n, self._named(getattr(cls, n), names)) for n in names if n not in fields and hasattr(cls, n)
        )
        return ("class", cls.__module__, cls.__qualname__, fields, defaults, parts)

    def function(self, f: FunctionType, frozen: Mapping[str, object] = _NOTHING) -> Hashable:
        """The key of a function; `frozen`: what Numba fixed of its globals and closure values."""
        if (f.__module__ or "").partition(".")[0] in _LIBRARIES and "demos" not in (f.__module__ or ""):
            return ("library", f.__module__, f.__qualname__)
        code = f.__code__
        names = _names(code)
        cells = zip(code.co_freevars, f.__closure__ or (), strict=True)
        closure = tuple(
            self._named(frozen[n], names) if n in frozen else self._cell(c, names) for n, c in cells
        )
        used = tuple(
            (n, self._named(frozen.get(n, f.__globals__[n]), names)) for n in names if n in f.__globals__
        )
        defaults = tuple(self.value(d) for d in f.__defaults__ or ())
        keywords = tuple((k, self.value(v)) for k, v in (f.__kwdefaults__ or {}).items())
        return ("function", _code(code), f.__module__, closure, used, defaults, keywords)

    def _cell(self, cell: object, names: tuple[str, ...]) -> Hashable:
        try:
            value = cell.cell_contents  # pyright: ignore[reportAttributeAccessIssue]
        except ValueError:
            return ("empty",)
        return self._named(value, names)

    def _named(self, value: object, names: tuple[str, ...]) -> Hashable:
        """A value that code can name; of a module or a class, what of it the code can name."""
        if isinstance(value, type) and value.__module__.partition(".")[0] not in _LIBRARIES:
            again = self._met(value, names)
            return ("again", again) if again is not None else self._class(value, names)
        if not isinstance(value, ModuleType):
            return self.value(value)
        again = self._met(value, names)
        if again is not None or value.__name__.partition(".")[0] in _LIBRARIES:
            return ("module", value.__name__)
        parts = tuple((n, self._named(vars(value)[n], names)) for n in names if n in vars(value))
        return ("module", value.__name__, parts)
