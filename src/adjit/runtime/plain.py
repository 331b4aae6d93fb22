"""The names of a generated module's prelude as plain Python, to run it without Numba.

Integers are Python's and never wrap, but for what is stored in arrays of few bits (`plain_narrow`); floats follow
IEEE as they do in compiled code (no ZeroDivisionError in adjoints, no ValueError from `math.sqrt(-1.0)`;
`plain_arithmetic`). What compiled code would do without a word is made to show here: an index that is said not to be
negative (`as_index(i)`) and is raises IndexError, and memory that nobody has written holds NaN, or a huge negative
integer.
"""

from __future__ import annotations

import math
import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adjit.runtime.lanes import plain_lanes
from adjit.runtime.plain_arithmetic import FUNCTIONS, power
from adjit.runtime.plain_narrow import caster, made_narrow, narrow, wide


def _run_parts(part: Callable[..., None], count: int, given: tuple[Any, ...]) -> None:
    """Every part of a parallel loop, in an order that no program can rely on.

    Two that meet need not show in any order (both may add to one element), so each part is run alone before: what it
    changes must be what all of them leave there.
    """
    arrays = [a for a in given if isinstance(a, np.ndarray) and a.flags.writeable]
    start = [a.copy() for a in arrays]
    alone = [_change(part, k, given, arrays, start) for k in range(count)] if count > 1 else []
    for k in (*range(1, count, 2), *range(count - 1 - (count - 1) % 2, -1, -2)):
        part(k, *given)
    for changes in alone:
        for array, (where, values) in zip(arrays, changes, strict=True):
            if array[where].tobytes() != values.tobytes():
                raise AssertionError(f"parts of a parallel loop meet: {array[where]} and {values}")


Change = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def _change(
    part: Callable[..., None],
    k: int,
    given: tuple[Any, ...],
    arrays: list[np.ndarray[Any, Any]],
    start: list[np.ndarray[Any, Any]],
) -> list[Change]:
    """Where one part changes each array, and to what; the arrays are as before then."""
    part(k, *given)
    changes = [_different(a, s) for a, s in zip(arrays, start, strict=True)]
    for array, before in zip(arrays, start, strict=True):
        array[...] = before
    return changes


def _different(array: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> Change:
    where = (array != before) & ~((array != array) & (before != before))
    return where, array[where]


def _njit(function: Callable[..., Any] | str | None = None, **_: object) -> Any:
    """The decorator that compiles nothing, with or without a signature."""
    return function if callable(function) else lambda f: f


def _index(x: Any) -> int:
    if x < 0:
        raise IndexError(f"an index that is said not to be negative is {x}")
    return int(x)


def _poison(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.names:
        array["lanes"][...] = np.nan
        return array
    array.fill(
        np.nan if array.dtype.kind in "fc" else np.iinfo(array.dtype).min if array.dtype.kind == "i" else 1
    )
    return array


def _poisoned(*args: Any, **kwargs: Any) -> np.ndarray[Any, Any]:
    return _poison(np.empty(*args, **kwargs))


def _numpy() -> types.SimpleNamespace:
    """NumPy, with poison in uninitialised memory."""
    space = types.SimpleNamespace(**vars(np))
    space.empty = made_narrow(_poisoned)
    for name in ("zeros", "ones", "full"):
        setattr(space, name, made_narrow(getattr(np, name)))
    space.spacing = lambda x: np.copysign(np.spacing(x), x)  # Numba's has the sign of -0.0 too
    space.empty_like = made_narrow(lambda *args, **kwargs: _poison(np.empty_like(*args, **kwargs)))
    return space


_NUMPY = _numpy()


def empty() -> Callable[..., np.ndarray[Any, Any]]:
    """What makes memory that the program is to set: poisoned where programs run as plain Python."""
    return _poisoned if os.environ.get("ADJIT_UNCOMPILED") == "1" else np.empty


def _fdiv(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.divide(a, b)


class _Types(types.SimpleNamespace):
    boolean = np.bool_
    int64 = voidptr = staticmethod(lambda *_: None)
    ExternalFunction = staticmethod(lambda *_: None)

    @staticmethod
    def Array(*_: object, **__: object) -> None:
        """An array type; nothing needs it."""


class _List(list[Any]):
    @classmethod
    def empty_list(cls, _: object) -> _List:
        """An empty list of references."""
        return cls()


class _Math:
    """`math` that gives what compiled code does where Python raises: NaN, infinity, or no number at all."""

    @staticmethod
    def pow(a: float, b: float) -> float:
        """A float in any case."""
        return power(float(a), b)

    def __getattr__(self, name: str) -> Any:
        exact = getattr(math, name)
        if not callable(exact):
            return exact
        other = _INSTEAD.get(name) or getattr(np, name, None)

        def quiet(*args: Any) -> Any:
            try:
                return exact(*args)
            except (ValueError, OverflowError):
                with np.errstate(all="ignore"):
                    return math.nan if other is None else other(*args)

        self.__dict__[name] = quiet
        return quiet


def _gamma(x: float) -> float:
    """Gamma at its poles and beyond all floats."""
    if x == 0.0:
        return math.copysign(math.inf, x)
    return math.inf if x > 0.0 else -math.inf if x > -1.0 else math.nan


_INSTEAD: dict[str, Callable[..., Any]] = {
    "gamma": _gamma,
    "lgamma": lambda x: math.inf,
    **dict.fromkeys(("floor", "ceil", "trunc"), lambda x: _NO_INTEGER),
}
"""What functions give where Python's raise, beside NumPy's of the same name."""

_NO_INTEGER = -(2**63)
"""What a processor makes of a float that is no int64."""


def _nothing() -> None:
    """What stands for a mark that only a compiler reads."""


def adapt(namespace: dict[str, Any]) -> None:
    """Put helpers that need no Numba in place of the module's own, after it was executed."""
    namespace["np"] = _NUMPY
    if "fdiv" in namespace:
        namespace["fdiv"] = _fdiv
    if "run_parts" in namespace:
        namespace["run_parts"] = _run_parts
    if "one_by_one" in namespace:
        namespace["one_by_one"] = _nothing


def boxed(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function of generated text, whose numbers come back as compiled code's do: Python's own.

    (Single precision stays as it is: the pullback takes it again.)
    """

    def run(*args: Any) -> Any:
        taken = [narrow(a) for a in args]
        given = {id(t): a for t, a in zip(taken, args, strict=True)}
        found = call(*taken)
        return tuple(_own(wide(a, given)) for a in found) if type(found) is tuple else found

    return run


def _own(value: Any) -> Any:
    return value.item() if isinstance(value, np.float64 | np.complex128 | np.integer | np.bool_) else value


def plain_namespace() -> dict[str, Any]:
    """Fresh globals for the text of a module."""
    sizes = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32)]
    scalars = {name: caster(name) for name in (*sizes, "uint64")}
    space: dict[str, Any] = {
        **scalars,
        "int64": int,
        **FUNCTIONS,
        "as_index": _index,
        "float32": np.float32,
        "float64": np.float64,
        "complex64": np.complex64,
        "complex128": np.complex128,
        "math": _Math(),
        "njit": _njit,
        "intrinsic": lambda f: f,
        "get_num_threads": lambda: 1,
        "types": _Types(),
        "List": _List,
        "from_dtype": lambda dtype: dtype,
        "overload": lambda _: _njit,
    }
    return space | plain_lanes()
