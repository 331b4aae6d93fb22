"""From the values of a call to specs, leaves and signature keys, and from flat results back to trees.

The *key* of a value is what decides which compiled program serves it: its type, and for an array dtype,
dimensions and memory layout. Keys are cheap (no `inspect`, no `numba.typeof`), specs are made from values once
per key. What adjit does not take is refused here, by the argument's name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from adjit.errors import ArgumentError
from adjit.ir.structure import Leaf, NoneSpec, Spec, StaticSpec, TupleSpec
from adjit.ir.types import Array, Scalar
from adjit.rules.custom import CustomFunction
from adjit.runtime.captures import watch_of
from adjit.runtime.foreign import ForeignArrays, kind_of
from adjit.runtime.places import KNOWN, library_of, place_of

_PYTHON = {float: "float64", int: "int64", bool: "bool", complex: "complex128"}
_NUMPY = {
    np.dtype(name).type: name
    for name in (
        *("float32", "float64", "complex64", "complex128", "bool"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
}
_C, _F, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400
LAYOUT_FLAGS = _C | _F | _ALIGNED | _WRITEABLE
SIMPLE = frozenset((float, bool, complex, *_NUMPY))
_FUNCTIONS: tuple[type, ...] = (FunctionType, Dispatcher, CustomFunction, BuiltinFunctionType, np.ufunc)
_INT_RANGE = range(-(2**63), 2**63)
_INSTEAD = {
    list: "pass a tuple, or an array: np.asarray(x)",
    dict: "pass a NamedTuple, or the values as arguments",
    set: "pass a sorted array",
    frozenset: "pass a sorted array",
    bytes: "pass np.frombuffer(x, dtype=np.uint8)",
}


class StaticFunction:
    """Base of adjit's own callables that may be passed as arguments; known when the program is built."""


def key_of(value: Any, name: str = "argument") -> Hashable:
    """What decides the program for this value. Raises ArgumentError for what adjit does not take."""
    cls = type(value)
    if cls is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS
    if cls in SIMPLE or value is None:
        return cls
    if cls is int:
        if value in _INT_RANGE:
            return cls
        raise ArgumentError(f"'{name}' is {value}, which does not fit in int64", "pass it as a float")
    if cls in KNOWN or place_of(value):
        return _device_key(value, name)
    if isinstance(value, tuple):
        return cls, tuple(
            [type(v) if type(v) in SIMPLE else _item_key(value, k, name) for k, v in enumerate(value)]
        )
    if isinstance(value, (*_FUNCTIONS, StaticFunction)):
        return watch_of(value).key()
    if cls is str:
        return cls, value
    kind = kind_of(value)
    if kind is not None:
        raise ForeignArrays(kind, name)
    raise _refused(value, name)


def _device_key(a: Any, name: str) -> Hashable:
    place = place_of(a)
    return (place, *library_of(place).key(a, name))


def _item_key(value: tuple[Any, ...], k: int, name: str) -> Hashable:
    item = value[k]
    if type(item) is int and item in _INT_RANGE:
        return int
    return key_of(item, item_name(name, value, k))


def ones_of(value: Any) -> Any:
    """The axes of extent one of the arrays in a value: what broadcasting depends on beside types."""
    if type(value) is np.ndarray:
        shape = value.shape
        return tuple(k for k, n in enumerate(shape) if n == 1) if 1 in shape else ()
    if place_of(value):
        return tuple(k for k, n in enumerate(value.shape) if n == 1)
    return tuple(map(ones_of, value)) if isinstance(value, tuple) else ()


def spec_of(value: Any, name: str = "argument") -> Spec:
    """The structure of one value. Raises ArgumentError, naming `name`, for what adjit does not take."""
    cls = type(value)
    if cls is np.ndarray:
        return Leaf(_array_type(value, name), ones=ones_of(value))
    if value is None:
        return NoneSpec()
    if cls in _PYTHON:
        return Leaf(Scalar(_PYTHON[cls]), weak=True)
    if cls in _NUMPY:
        return Leaf(Scalar(_NUMPY[cls]))
    if isinstance(value, tuple):
        if cls is not tuple and not hasattr(cls, "_fields"):
            raise _refused(value, name)
        items = tuple(spec_of(v, item_name(name, value, k)) for k, v in enumerate(value))
        return TupleSpec(items, None if cls is tuple else cls)
    if isinstance(value, (*_FUNCTIONS, StaticFunction)) or cls is str:
        return StaticSpec(value)
    if place_of(value):
        return _device_spec(value, name)
    raise _refused(value, name)


def _device_spec(a: Any, name: str) -> Spec:
    place, dtype, ndim, layout, fixed = _device_key(a, name)  # type: ignore[misc]
    known = _NUMPY.get(dtype.type)
    if known is None or dtype.fields is not None or not dtype.isnative:
        raise ArgumentError(
            f"'{name}' is an array of dtype {dtype}", f"supported: {', '.join(sorted(_NUMPY.values()))}"
        )
    return Leaf(Array(Scalar(known), ndim, layout, fixed), ones=ones_of(a), place=place)


def item_name(name: str, value: tuple[Any, ...] | TupleSpec, k: int) -> str:
    """How item k of a tuple argument is called in messages and in `wrt`: `p.D`, `p.1`."""
    cls = value.cls if isinstance(value, TupleSpec) else type(value)
    fields = getattr(cls, "_fields", None)
    return f"{name}.{fields[k] if fields else k}"


def _array_type(a: np.ndarray[Any, Any], name: str) -> Array:
    flags = a.flags.num
    known = _NUMPY.get(a.dtype.type)
    if known is None or a.dtype.fields is not None:
        raise ArgumentError(
            f"'{name}' is an array of dtype {a.dtype}", f"supported: {', '.join(sorted(_NUMPY.values()))}"
        )
    if not a.dtype.isnative:
        raise ArgumentError(
            f"'{name}' is byte-swapped ({a.dtype})", "pass x.astype(x.dtype.newbyteorder('='))"
        )
    if not flags & _ALIGNED:
        raise ArgumentError(f"'{name}' is not aligned in memory", "pass x.copy()")
    return Array(Scalar(known), a.ndim, layout_of(a), readonly=not flags & _WRITEABLE)


def layout_of(a: np.ndarray[Any, Any]) -> str:
    """Numba's layout rule: "C" where it is C-contiguous, else "F", else "A"."""
    flags = a.flags.num
    if flags & _C:
        return "C"
    return "F" if flags & _F else "A"


def same_layout(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], writeable: bool) -> bool:
    """Whether b can stand beside a: aligned, of a's layout (any, beside a strided a), writeable if asked."""
    flags = b.flags.num
    if not flags & _ALIGNED or (writeable and not flags & _WRITEABLE):
        return False
    own = a.flags.num & (_C | _F)
    return not own or bool(flags & _C if own & _C else flags & _F)


def _refused(value: Any, name: str) -> ArgumentError:
    cls = type(value)
    kind = f"{cls.__module__}.{cls.__qualname__}" if cls.__module__ != "builtins" else cls.__qualname__
    if isinstance(value, np.ma.MaskedArray):
        remedy = (
            f"pass {name}.filled(v), a plain array with v where it is masked; "
            f"np.asarray({name}) drops the mask, and counts what is under it"
        )
    elif isinstance(value, np.ndarray):
        remedy = f"pass np.asarray({name}), a plain array on the same memory"
    elif hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"):
        remedy = "pass a NumPy array; on a CPU device np.from_dlpack(x) shares the memory"
    elif hasattr(cls, "__dataclass_fields__"):
        remedy = "make it a NamedTuple, or pass its fields"
    else:
        remedy = _INSTEAD.get(cls, "pass numbers, NumPy arrays, strings, None, functions, or tuples of those")
    return ArgumentError(f"'{name}' is of type {kind}, which adjit does not take", remedy)


# --- Leaves ---------------------------------------------------------------------------------------------------


def flatten(values: Sequence[Any]) -> list[Any]:
    """Numbers and arrays of the values, left to right; None and functions have no leaf."""
    out: list[Any] = []
    for v in values:
        cls = type(v)
        if cls is np.ndarray or cls in SIMPLE or cls is int or cls in KNOWN:
            out.append(v)
        elif isinstance(v, tuple):
            out += flatten(v)
        elif v is not None and place_of(v):
            out.append(v)
    return out


def writable(spec: Spec) -> Spec:
    """The spec with no array marked read-only."""
    match spec:
        case Leaf(type=Array(readonly=True) as t):
            return replace(spec, type=replace(t, readonly=False))
        case TupleSpec(items=items, cls=cls):
            return TupleSpec(tuple(map(writable, items)), cls)
        case _:
            return spec


def leaf_names(spec: Spec, name: str) -> Iterator[str]:
    """The names of the leaves of one argument, in flat order: `p.D`, `p.state.0`."""
    match spec:
        case Leaf():
            yield name
        case TupleSpec(items=items):
            for k, item in enumerate(items):
                yield from leaf_names(item, item_name(name, spec, k))
        case _:
            return


def describe(spec: Spec) -> str:
    """A type as a message names it."""
    match spec:
        case Leaf(type=t):
            return str(t)
        case NoneSpec():
            return "None"
        case StaticSpec(value=str()):
            return "a string"
        case StaticSpec(value=v):
            return f"the function {getattr(v, '__name__', v)!s}"
        case TupleSpec(items=items, cls=cls):
            inner = ", ".join(describe(s) for s in items)
            return f"{cls.__name__ if cls else 'tuple'}({inner})"


# --- Trees ----------------------------------------------------------------------------------------------------

Template = int | None | tuple[Callable[[list[Any]], Any], tuple["Template", ...]]
"""A tree to fill: the number of a leaf, None, or how to make a tuple and its items."""


def template(spec: Spec, counter: Iterator[int], keep: Callable[[int], bool]) -> Template:
    """The tree of `spec` with its leaves numbered by `counter`; leaves that `keep` rejects become None."""
    match spec:
        case Leaf():
            k = next(counter)
            return k if keep(k) else None
        case TupleSpec(items=items, cls=cls):
            inner = tuple(template(s, counter, keep) for s in items)
            return (tuple if cls is None else cls._make, inner)
        case _:
            return None


def fill(tree: Template, leaves: Sequence[Any]) -> Any:
    """The tree with leaf values in place."""
    if tree is None:
        return None
    if isinstance(tree, int):
        return leaves[tree]
    return tree[0]([fill(t, leaves) for t in tree[1]])


def number_maker(leaf: Leaf, own: bool = False) -> Callable[[Any], Any] | None:
    """What turns Numba's boxed number into the leaf's type; None where it stays.

    `own`: float64 numbers that are not weak become np.float64, not Python's float.
    """
    if not isinstance(leaf.type, Scalar) or leaf.weak:
        return None
    boxed = not own and leaf.type.name in ("float64", "int64", "bool", "complex128")
    return None if boxed else np.dtype(leaf.type.name).type
