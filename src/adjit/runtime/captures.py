"""What a plain function reads beside its arguments, and a key that says whether it is still the same.

A compiled program has the captured scalars of its function built in, so they belong to its key: closure cells,
globals, attributes of captured objects and of modules other than the numerical ones, of the function and of
every function that it reaches. A dispatcher has what it froze when Numba compiled it; until then it is read as a plain
function is. A function whose code or defaults are replaced is another one.

`Watch.key()` costs some tens of nanoseconds per captured name while nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from adjit.frontend.frozen import compilations, frozen_values

_ABSENT = object()
_NOTHING: Mapping[str, object] = {}
_OPERATORS = "adjit.api."
_STABLE = ("numpy", "math", "cmath", "numba", "adjit", "operator", "builtins")


class Same:
    """A key that is equal only for the same object, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value


class Watch:
    """The captured values of one function, and the key that stands for them."""

    def __init__(self, f: Callable[..., Any]):
        self._f = f
        self._look()

    def key(self) -> Hashable:
        """A key of all captured values; the same object as long as nothing was rebound."""
        cells, names, attributes, dispatchers, functions, key = self._seen
        for cell, value in cells:
            if _content(cell) is not value:
                return self._look()
        for scope, name, value in names:
            if scope.get(name, _ABSENT) is not value:
                return self._look()
        for owner, name, value in attributes:
            if getattr(owner, name, _ABSENT) is not value:
                return self._look()
        for dispatcher, count in dispatchers:
            if len(dispatcher.overloads) != count:
                return self._look()
        for f, code, defaults, keywords in functions:
            if f.__code__ is not code or f.__defaults__ is not defaults or f.__kwdefaults__ is not keywords:
                return self._look()
        return key

    def _look(self) -> Hashable:
        walk = _Walk()
        top = walk.function(self._f)
        key = _Hashed((top, tuple(walk.parts)))
        self._seen = (
            tuple(walk.cells),
            tuple(walk.names),
            tuple(walk.attributes),
            tuple(walk.dispatchers),
            tuple(walk.functions),
            key,
        )
        return key


@lru_cache(maxsize=128)
def watch_of(f: Callable[..., Any]) -> Watch:
    """The watch of a function; of the last few functions it is kept (and with it they are)."""
    return Watch(f)


class _Hashed:
    """A tuple whose hash is computed once."""

    __slots__ = ("hash", "parts")

    def __init__(self, parts: tuple[Hashable, ...]):
        self.parts, self.hash = parts, hash(parts)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, _Hashed) and self.hash == other.hash and self.parts == other.parts
        )


class _Walk:
    def __init__(self) -> None:
        self.cells: list[tuple[Any, object]] = []
        self.names: list[tuple[dict[str, Any], str, object]] = []
        self.attributes: list[tuple[object, str, object]] = []
        self.dispatchers: list[tuple[Any, int]] = []
        self.functions: list[tuple[FunctionType, CodeType, object, object]] = []
        self.parts: list[Hashable] = []
        self._seen: set[Hashable] = set()

    def function(self, f: Any) -> Hashable:
        """The key of a function; what it captures is appended to the lists."""
        if isinstance(f, FunctionType):
            self._plain(f)
            defaults = tuple(self.value(v) for v in f.__defaults__ or ())
            keywords = tuple((k, self.value(v)) for k, v in (f.__kwdefaults__ or {}).items())
            return f.__code__, defaults, keywords
        if isinstance(f, Dispatcher):
            self._compiled(f)
            return Same(f)
        reach = getattr(f, "captured_functions", None)
        if reach is None:
            return Same(f)
        names, inner = reach()
        if id(f) in self._seen:
            return Same(f)
        self._seen.add(id(f))
        for name in names:
            self.names.append((vars(f), name, vars(f)[name]))
        return f.structure_key(), tuple(self.function(g) for g in inner if g is not None)

    def value(self, v: Any, names: frozenset[str] = frozenset()) -> Hashable:
        """The key of a captured value: numbers by value, functions by code, the rest by identity.

        names: what the function that captures it may read of it.
        """
        if v is None or isinstance(v, bool | int | float | complex | str | bytes):
            return type(v), repr(v)
        if isinstance(v, np.generic):
            return type(v), v.dtype, v.tobytes()
        if isinstance(v, tuple):
            return type(v), tuple(self.value(item, names) for item in v)
        if isinstance(v, np.ndarray):
            return Same(v), v.dtype, v.ndim, v.flags.num
        if isinstance(v, FunctionType) and (v.__module__ or "").startswith(_OPERATORS):
            return Same(v)
        made = hasattr(v, "captured_functions") and not isinstance(v, type)
        if isinstance(v, FunctionType | Dispatcher) or made:
            return self.function(v)
        return Same(v) if _stable(v) else self._object(v, names)

    def _object(self, v: object, names: frozenset[str]) -> Hashable:
        """A class or an instance: its attributes that the function may read are built in, as globals are."""
        if (id(v), names) in self._seen:
            return Same(v)
        self._seen.add((id(v), names))
        found: list[Hashable] = []
        for name in sorted(names):
            attribute = getattr(v, name, _ABSENT)
            if attribute is not _ABSENT and not isinstance(attribute, MethodType):
                self.attributes.append((v, name, attribute))
                found.append((name, self.value(attribute, names)))
        return Same(v), tuple(found)

    def _compiled(self, f: Any) -> None:
        """A dispatcher: what it froze, and what it will read when it is compiled."""
        if id(f) not in self._seen:
            self.dispatchers.append((f, compilations(f)))
            self._seen.add(id(f))
            self._plain(f.py_func, frozen_values(f))

    def _plain(self, f: FunctionType, frozen: Mapping[str, object] = _NOTHING) -> None:
        if id(f) in self._seen:
            return
        self._seen.add(id(f))
        self.functions.append((f, f.__code__, f.__defaults__, f.__kwdefaults__))
        names = frozenset(_names(f.__code__))
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            value = frozen.get(name, _ABSENT)
            if value is _ABSENT:
                value = _content(cell)
                self.cells.append((cell, value))
            self.parts.append(_ABSENT if value is _ABSENT else self.value(value, names))
        for name in sorted(names):
            if name in frozen:
                self.parts.append((name, self.value(frozen[name])))
            elif name in f.__globals__:
                self._global(f.__globals__, name, names)

    def _global(self, scope: dict[str, Any], name: str, names: frozenset[str]) -> None:
        value = scope[name]
        self.names.append((scope, name, value))
        if not isinstance(value, ModuleType):
            self.parts.append((name, self.value(value, names)))
            return
        self.parts.append((name, Same(value)))
        if _stable(value):
            return
        inner = vars(value)
        for attribute in sorted(names & inner.keys()):
            self.names.append((inner, attribute, inner[attribute]))
            self.parts.append((name, attribute, self.value(inner[attribute], names)))


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def _stable(v: Any) -> bool:
    """Whether a module, class or instance comes from a library whose attributes nobody rebinds."""
    if isinstance(v, ModuleType):
        home = v.__name__
    else:
        home = (v if isinstance(v, type) else type(v)).__module__
    return home.partition(".")[0] in _STABLE


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes in a code object and in the functions inside it."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)
