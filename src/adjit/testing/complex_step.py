"""The complex step: an exact derivative of the plain program that owes nothing to adjit.

    df/dt along d = Im f(a + i h d) / h, with h so small that nothing is lost

Reference: W. Squire and G. Trapp, "Using complex variables to estimate derivatives of real functions", 1998. The probed
text of a program runs on complex arrays; comparisons, `max`, `abs` and `int` go by real parts, which the probe does.
"""

from __future__ import annotations

import cmath
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adjit.testing.programs.nodes import Program
from adjit.testing.programs.probe import Probe, Rejected

STEP = 1e-25


class ComplexProbe(Probe):
    """Compares real parts."""

    def gt(self, a: Any, b: Any) -> bool:
        """a > b."""
        return super().gt(a.real, b.real)

    def max(self, a: Any, b: Any) -> Any:
        """The operand that Python's max returns."""
        return a if super().max(a.real, b.real) == a.real else b

    def min(self, a: Any, b: Any) -> Any:
        """The operand that Python's min returns."""
        return a if super().min(a.real, b.real) == a.real else b

    def abs(self, a: Any) -> Any:
        """abs(a)."""
        super().abs(a.real)
        return a if a.real > 0 else -a

    def int(self, a: Any) -> int:
        """int(a)."""
        return super().int(a.real)

    def fresh(self, a: Any) -> Any:
        """A new array that a name is bound to: what is stored into it may be complex."""
        return a.astype(np.complex128) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a


def _math() -> types.SimpleNamespace:
    space = types.SimpleNamespace(**vars(math))
    for name in ("sin", "cos", "tan", "tanh", "sinh", "cosh", "exp", "log", "sqrt", "atan", "asin", "acos"):
        setattr(space, name, getattr(cmath, name))
    return space


def _complex(make: Callable[..., Any]) -> Callable[..., Any]:
    """A constructor of float arrays that makes complex ones, unless it is told a dtype."""
    return lambda shape, *args, **told: make(shape, *args, **({"dtype": np.complex128} | told))


def _numpy() -> types.SimpleNamespace:
    space = types.SimpleNamespace(**vars(np))
    space.zeros, space.ones, space.empty, space.full = map(_complex, (np.zeros, np.ones, np.empty, np.full))
    return space


_MATH, _NUMPY = _math(), _numpy()


class ComplexStep:
    """The program on complex arguments."""

    def __init__(self, program: Program, trace: list[int] | None):
        self._namespace: dict[str, Any] = {}
        exec(compile(program.source(probe=True), f"<complex {program.seed}>", "exec"), self._namespace)
        self._namespace.update(math=_MATH, np=_NUMPY, float=complex)
        self._program, self._trace = program, trace

    def __call__(self, tangents: dict[int, Any], weights: dict[int, Any]) -> float:
        """The derivative of value + sum(weights * final arrays) along the tangents.

        Raises: Rejected if the run takes other branches than the real one.
        """
        args: list[Any] = []
        for k, argument in enumerate(self._program.arguments):
            value = argument.value
            if k in tangents:
                value = value + 1j * STEP * np.asarray(tangents[k])
            args.append(complex(value) if k in tangents and not np.ndim(value) else _copy(value))
        probe = self._namespace["_probe"] = ComplexProbe()
        with np.errstate(all="ignore"):
            value = complex(self._namespace[self._program.name](*self._program.packed(args, self._namespace)))
        if self._trace is not None and probe.trace != self._trace:
            raise Rejected("the complex run takes another branch")
        ends = sum(float(np.sum(np.asarray(w) * args[k].imag)) for k, w in weights.items())
        return (value.imag + ends) / STEP


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value
