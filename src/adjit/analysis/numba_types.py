"""Between the IR's types and Numba's, and questions to Numba's typing context."""

from __future__ import annotations

import builtins
import importlib
import math
import operator
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target

from adjit.ir.types import BOOL, Array, RefList, Scalar, Type

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "neg": operator.neg,
    "pos": operator.pos,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "and_": operator.and_,
    "or_": operator.or_,
    "xor": operator.xor,
    "invert": operator.invert,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "not_": operator.not_,
}


def to_numba(type: Type) -> types.Type:
    """The Numba type of an IR type; an unknown layout is asked about as "A"."""
    match type:
        case Scalar():
            return types.boolean if type.is_bool else getattr(types, type.name)
        case Array():
            layout = "A" if type.layout == "?" else type.layout
            return types.Array(to_numba(type.dtype), type.ndim, layout, readonly=type.readonly)
        case RefList():
            return types.ListType(to_numba(type.element))


def from_numba(type: types.Type) -> Type | None:
    """The IR type of a Numba type, or None where the IR has none."""
    type = types.unliteral(type)
    if isinstance(type, types.Boolean):
        return BOOL
    if isinstance(type, types.Number):
        return Scalar(type.name)
    if isinstance(type, types.Array):
        dtype = from_numba(type.dtype)
        if not isinstance(dtype, Scalar):
            return None
        return Array(dtype, type.ndim, type.layout, readonly=not type.mutable)
    return None


@cache
def context() -> Any:
    """Numba's CPU typing context, with everything that is registered loaded."""
    typing_context: Any = cpu_target.typing_context
    target_context: Any = cpu_target.target_context
    target_context.refresh()  # imports the modules that register most overloads (np.sinc, cmath.cosh)
    typing_context.refresh()
    return typing_context


@lru_cache(maxsize=8192)
def resolve(function: Callable[..., Any], arguments: tuple[types.Type, ...]) -> types.Type | None:
    """The type of `function(*arguments)` in Numba, or None if Numba cannot type it."""
    try:
        known = context().resolve_value_type(function)
        signature = known.get_call_type(context(), arguments, {})
    except (
        NumbaError,
        NotImplementedError,
        ArithmeticError,
        LookupError,
        ValueError,
        AttributeError,
        TypeError,
    ):
        return None  # what a typing template raises says no more than that there is no such operation
    return None if signature is None else signature.return_type


def getitem(array: Array, index: tuple[types.Type, ...]) -> Type | None:
    """The type of `array[index]`."""
    got = resolve(operator.getitem, (to_numba(array), _index(index)))
    return None if got is None else from_numba(got)


def can_store(array: Array, index: tuple[types.Type, ...], value: Type) -> bool:
    """Whether `array[index] = value` compiles."""
    return resolve(operator.setitem, (to_numba(array), _index(index), to_numba(value))) is not None


def range_index(bounds: tuple[Type, ...]) -> Type | None:
    """The type of the index of `for i in range(*bounds)`."""
    got = resolve(range, tuple(to_numba(b) for b in bounds))
    if got is None:
        return None
    assert isinstance(got, types.RangeType)
    return from_numba(got.dtype)


@lru_cache(maxsize=4096)
def unify(*several: Type) -> Type | None:
    """The type that Numba gives a variable that holds values of all these types."""
    got = context().unify_types(*(to_numba(t) for t in several))
    return None if got is None or got is types.undefined else from_numba(got)


def promoted(dtypes: tuple[Scalar, ...]) -> Scalar:
    """The element type that NumPy computes in."""
    return Scalar(np.result_type(*(t.name for t in dtypes)).name) if len(set(dtypes)) > 1 else dtypes[0]


def _index(index: tuple[types.Type, ...]) -> types.Type:
    if len(index) == 1:
        return index[0]
    return types.UniTuple(index[0], len(index)) if len(set(index)) == 1 else types.Tuple(index)


_ROOTS = {"math": math, "numpy": np, "np": np, "builtins": builtins, "operator": operator}


@cache
def callable_of(spelling: str) -> Callable[..., Any] | None:
    """The function that a dotted name means: "math.sin", "numpy.linalg.norm", "min"."""
    root, _, rest = spelling.partition(".")
    if not rest:
        return getattr(builtins, root, None)
    try:
        found: Any = _ROOTS.get(root) or importlib.import_module(root)
        for part in rest.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found
