"""What is known of a symbol's type, and NumPy's rule by which such facts combine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from adjit.analysis import numba_types
from adjit.ir.types import BOOL, INT64, UINT64, Scalar, Type

_ZEROS = {"bool": False, "int": 0, "float": 0.0, "complex": 0j}


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of a symbol: its type, and whether it is a weak number.

    element: of a number inside of an expression of whole arrays, the type that an array of them has, where it is
    another: Numba computes `x * (a * a)` of int8 with an int64 `a * a`, and makes an array of int8 of a lone `a * a`.
    bounds: of a weak integer that comes of literals alone, the least and the greatest that it can be.
    among: the facts of which one holds on each path, where they are several; `type` is what holds them all.
    numpys: of a weak float that is NumPy's all the same, whose comparisons are NumPy's bools: a float in Python times
    one of those, which takes the dtype of what it meets so that single precision stays that.
    """

    type: Type
    weak: bool = False
    element: Scalar | None = None
    bounds: tuple[int, int] | None = None
    among: tuple[Fact, ...] = ()
    numpys: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """Where an operation raises: unless the operands that must fit the type do so, and if `wraps` the result too.

    ranges: that holds for whole operands that lie in these (None: any number), on whose type the result would depend.
    """

    type: Scalar
    fit: tuple[bool, ...]
    ranges: tuple[tuple[int, int] | None, ...]
    wraps: bool


@dataclass(frozen=True, slots=True)
class Typing:
    """How one operation is typed: casts of operands (None: as it is), Numba's result, the final result."""

    casts: tuple[Scalar | None, ...]
    raw: Scalar
    result: Fact
    splits: tuple[Split, ...] = ()


def parts(fact: Fact) -> tuple[Fact, ...]:
    """The facts of which one holds."""
    return fact.among or (fact,)


def are_numpy_bools(facts: tuple[Fact, ...]) -> bool:
    """Whether all are bools, and one at least is NumPy's, on every path."""
    bools = all(f.type == BOOL for f in facts)
    return bools and any(all(not p.weak for p in parts(f)) for f in facts)


@lru_cache(maxsize=4096)
def promote(facts: tuple[Fact, ...]) -> Fact | None:
    """NumPy 2's `result_type`; all weak gives weak; None where an operand is no number."""
    facts = tuple(p for f in facts for p in parts(f))
    if not facts or not all(isinstance(f.type, Scalar) for f in facts):
        return None
    strong = [np.dtype(f.type.name) for f in facts if not f.weak and isinstance(f.type, Scalar)]
    if any(f.weak and f.type.differentiable for f in facts if isinstance(f.type, Scalar)):
        strong = [t for t in strong if t.kind != "b"]  # a float in Python times a truth value stays weak
    if not strong:
        whole = all(isinstance(f.type, Scalar) and f.type.is_int for f in facts)
        if whole and {f.type for f in facts} == {INT64, UINT64}:  # Numba's is a float
            signed = any(f.type == INT64 and (f.bounds is None or f.bounds[0] < 0) for f in facts)
            return Fact(INT64 if signed else UINT64, True)
        got = numba_types.unify(*(f.type for f in facts))
        own = any(f.numpys or not f.weak for f in facts)
        return None if got is None else Fact(got, True, numpys=own)
    weak = [_python_zero(f.type) for f in facts if f.weak and isinstance(f.type, Scalar)]
    try:
        dtype = np.result_type(*strong, *weak)
    except TypeError:
        return None
    return Fact(Scalar(dtype.name))


def _python_zero(type: Scalar) -> bool | int | float | complex:
    kind = "bool" if type.is_bool else "int" if type.is_int else "complex" if type.is_complex else "float"
    return _ZEROS[kind]
