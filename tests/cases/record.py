"""What a case is, how its arguments take a dtype and a layout, and the reference answers it is held to.

Every expected number is either a closed form or a Richardson difference of the *plain Python function*, so
nothing here depends on adjit; `test_reference.py` compares the two with each other.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import njit


def uncompiled() -> bool:
    """Whether generated programs run as plain Python now."""
    return os.environ.get("ADJIT_UNCOMPILED") == "1"


Arguments = tuple[Any, ...]
Gradients = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """One program with its arguments and its right answer.

    Arguments:
        name: unique; also names the test.
        program: a plain function that returns a scalar.
        args: template arguments, float64 and C order; `realise` gives them another dtype and layout.
        wrt: positions that are differentiated, always a tuple.
        gradient: closed form, called with (unmodified) arguments, returns one gradient per entry of `wrt`;
            None where only differences are known.
        origin: the line of `cases.md`, and whatever else explains why the case is here.
        differences: False at points where the derivative is a convention and differences mean nothing.
        flavours: "njit" (a dispatcher) and/or "plain" (the function itself).
        dtypes: float types that arrays may take.
        core: multiply every mode, dtype and layout in place of a sample.
        refusable: this release may refuse it, with the line; what it must not be is wrong.
    """

    name: str
    program: Callable[..., Any]
    args: Arguments
    wrt: tuple[int, ...] = (0,)
    gradient: Callable[..., Gradients] | None = None
    origin: str = ""
    differences: bool = True
    flavours: tuple[str, ...] = ("njit", "plain")
    dtypes: tuple[str, ...] = ("float64", "float32")
    core: bool = False
    refusable: bool = False


@dataclass(frozen=True)
class Combination:
    """One way to run a case."""

    mode: str
    dtype: str
    layout: str
    flavour: str

    def __str__(self) -> str:
        return f"{self.mode}-{self.dtype}-{self.layout}-{self.flavour}"


def vec(*values: float) -> np.ndarray:
    """A float64 vector."""
    return np.array(values, dtype=np.float64)


def ints(*values: int) -> np.ndarray:
    """An int64 vector."""
    return np.array(values, dtype=np.int64)


def wave(*shape: int, seed: int = 0, low: float = 0.3, high: float = 1.7) -> np.ndarray:
    """Reproducible numbers in [low, high), far from each other and from the usual kinks at 0."""
    return np.random.default_rng(seed + 17).uniform(low, high, shape)


def is_float_array(value: object) -> bool:
    """Whether `value` is an array that carries derivatives."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def lay_out(array: np.ndarray, layout: str) -> np.ndarray:
    """A copy of `array` in C order, F order, or with gaps between all elements ("A")."""
    if layout == "C":
        return np.array(array, order="C")
    if layout == "F":
        return np.array(array, order="F")
    wide = np.full(
        tuple(2 * n + 1 for n in array.shape), np.nan if array.dtype.kind == "f" else -(2**40), array.dtype
    )
    view = wide[tuple(slice(1, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def realise(args: Arguments, dtype: str = "float64", layout: str = "C") -> Arguments:
    """Fresh arguments: float arrays take `dtype` and `layout`, all else is copied as it is."""

    def one(value: Any) -> Any:
        if is_float_array(value):
            return lay_out(value.astype(dtype), layout)
        if isinstance(value, tuple):
            parts = [one(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return copy.copy(value)

    return tuple(one(value) for value in args)


@cache
def flavoured(program: Callable[..., Any], flavour: str) -> Callable[..., Any]:
    """The function that adjit is given.

    The program, or its dispatcher (one per program, so that compiles are shared).
    """
    return njit(program) if flavour == "njit" else program


def reference_call(case: Case, dtype: str, layout: str) -> tuple[Any, Arguments]:
    """Value and final arguments of the plain function: Numba's, or plain Python's in uncompiled mode."""
    args = realise(case.args, dtype, layout)
    run = case.program if uncompiled() else flavoured(case.program, "njit")
    return run(*args), args


def leaves(value: Any) -> list[Any]:
    """The arrays and scalars of a structure, in order."""
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def same_bits(a: Any, b: Any) -> bool:
    """Equal in every bit, NaNs included; scalars are compared as float64, structures leaf by leaf."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        left, right = leaves(a), leaves(b)
        return len(left) == len(right) and all(map(same_bits, left, right))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if a is None or b is None:
        return a is b
    return np.float64(a).tobytes() == np.float64(b).tobytes()


def richardson(line: Callable[[float], float], step: float = 1e-2, levels: int = 5) -> float:
    """d line/dt at 0 by central differences, extrapolated (Ridders): best entry of the table."""
    table = [[(line(step) - line(-step)) / (2 * step)]]
    best, error = table[0][0], np.inf
    for level in range(1, levels):
        step /= 2
        row = [(line(step) - line(-step)) / (2 * step)]
        for k in range(1, level + 1):
            row.append(row[k - 1] + (row[k - 1] - table[-1][k - 1]) / (4.0**k - 1))
            change = max(abs(row[k] - row[k - 1]), abs(row[k] - table[-1][k - 1]))
            if change < error:
                best, error = row[k], change
        table.append(row)
    return float(best)


def differences(
    program: Callable[..., Any],
    args: Arguments,
    wrt: tuple[int, ...],
    weights: dict[int, np.ndarray] | None = None,
) -> Gradients:
    """Gradient of `value + sum over k of sum(weights[k] * final args[k])` by differences of plain Python runs.

    Radient of `value + sum over k of sum(weights[k] * final args[k])` by differences of plain Python runs.
    """

    def objective(position: int, index: tuple[int, ...] | None, t: float) -> float:
        run = list(realise(args))
        if index is None:
            run[position] = run[position] + t
        else:
            run[position][index] += t
        value = program(*run)
        extra = sum(np.sum(w * run[k]) for k, w in (weights or {}).items())
        return float(value) + float(extra)

    def gradient(position: int) -> Any:
        template = args[position]
        if not is_float_array(template):
            return richardson(lambda t: objective(position, None, t))
        out = np.empty(template.shape)
        for index in np.ndindex(template.shape):
            out[index] = richardson(lambda t, index=index: objective(position, index, t))
        return out

    return tuple(gradient(position) for position in wrt)


def expected(case: Case, dtype: str) -> Gradients:
    """The right gradient in float64, at arguments rounded to `dtype`."""
    rounded = realise(realise(case.args, dtype), "float64")
    if case.gradient is not None:
        return case.gradient(*rounded)
    return differences(case.program, rounded, case.wrt)


def close(got: Any, want: Any, dtype: str) -> bool:
    """Equal to within the rounding of `dtype` and of the differences, relative to the largest entry."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape or not np.all(np.isfinite(got)):
        return False
    tolerance = 2e-7 if dtype == "float64" else 5e-4
    return bool(
        np.max(np.abs(got - want), initial=0.0) <= tolerance * (1 + np.max(np.abs(want), initial=0.0))
    )


def combinations(case: Case) -> Iterator[Combination]:
    """Every sensible way to run `case`: axes that its arguments do not have are left out."""
    arrays = [value for value in leaves(case.args) if is_float_array(value)]
    layouts = ["C", "A"] if arrays else ["C"]
    if any(array.ndim > 1 for array in arrays):
        layouts.insert(1, "F")
    for dtype in case.dtypes if arrays else case.dtypes[:1]:
        for layout in layouts:
            for mode in ("grad", "vjp", "autodiff", "jvp"):
                for flavour in case.flavours:
                    yield Combination(mode, dtype, layout, flavour)
