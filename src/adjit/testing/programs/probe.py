"""What a run of a program went through: which way each float comparison went, how close, how many turns."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from adjit.testing.programs.array_probe import ArrayComparisons
from adjit.testing.programs.nodes import Program


class Rejected(Exception):
    """The program or these inputs are no test.

    Too close to a kink, too long, not finite, or not valid Python.
    """


class Probe(ArrayComparisons):
    """Records the outcomes (`trace`) and the smallest margin of a run's comparisons.

    Stops runs that are too long.
    """

    def __init__(self, limit: int = 4000):
        self.trace: list[int] = []
        self.margin = math.inf
        self.ticks = 0
        self.limit = limit

    def tick(self) -> None:
        """One more turn of a loop."""
        self.ticks += 1
        if self.ticks > self.limit:
            raise Rejected("too many turns")

    def note(self, outcome: int, margin: float) -> None:
        """Take down an outcome and how close it was."""
        if math.isnan(margin):
            raise Rejected("a comparison with NaN (np.empty is NaN in a probed run)")
        self.trace.append(outcome)
        self.margin = min(self.margin, float(margin))

    def gt(self, a: float, b: float) -> bool:
        """a > b."""
        self.note(int(a > b), abs(a - b))
        return a > b

    def max(self, a: float, b: float) -> float:
        """max(a, b)."""
        self.note(int(a > b), abs(a - b))
        return max(a, b)

    def min(self, a: float, b: float) -> float:
        """min(a, b)."""
        self.note(int(a > b), abs(a - b))
        return min(a, b)

    def abs(self, a: float) -> float:
        """abs(a)."""
        self.note(int(a > 0), abs(a))
        return abs(a)

    def modulus(self, a: complex) -> float:
        """abs(a) of a complex number, which has a kink at zero alone."""
        self.note(1, abs(a))
        return abs(a)

    def int(self, a: float) -> int:
        """int(a)."""
        self.note(int(a), abs(a - round(a)))
        return int(a)

    def wrapped(self, name: str, a: Any, b: Any) -> Any:
        """An operation of small integers that may wrap around in their type."""
        with np.errstate(over="ignore"):
            return getattr(operator, name)(a, b)


class Probed:
    """The probed program, callable on plain arguments; remembers the outcomes of its first run."""

    def __init__(self, program: Program):
        self.namespace: dict[str, Any] = {}
        exec(compile(program.source(probe=True), f"<probe {program.seed}>", "exec"), self.namespace)
        self._function: Callable[..., Any] = self.namespace[program.name]
        # Small integers that leave their range mean something else to NumPy, to Python and to Numba, except where
        # `wrapped` computes them.
        self._overflow: Literal["raise", "ignore"] = "raise" if program.kinds else "ignore"
        self.base: list[int] | None = None
        self.margin = math.inf

    def __call__(self, args: Sequence[Any]) -> float:
        """The value at these arguments (the program's own, not flat).

        Raises: Rejected where a comparison goes another way than in the first run.
        """
        probe = Probe()
        self.namespace["_probe"] = probe
        with np.errstate(divide="ignore", invalid="ignore", under="ignore", over=self._overflow):
            value = float(self._function(*args))
        if self.base is None:
            self.base, self.margin = probe.trace, probe.margin
        elif probe.trace != self.base:
            raise Rejected("a branch changes within reach of the differences")
        return value


def fresh(program: Program) -> list[Any]:
    """Plain C-ordered copies of the program's arguments."""
    return [a.value.copy() if isinstance(a.value, np.ndarray) else a.value for a in program.arguments]


def validate(program: Program) -> Probed:
    """Run the program once, probed; `Rejected` if it is not a fair test."""
    try:
        probed = Probed(program)
        args = fresh(program)
        value = probed(program.packed(args, probed.namespace))
    except Rejected:
        raise
    except Exception as error:  # a shrunk or unlucky program: undefined name, index out of bounds, overflow
        raise Rejected(f"{type(error).__name__}: {error}") from error
    floats = [a for a in args if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
    largest = max([abs(value), *(float(np.max(np.abs(a), initial=0.0)) for a in floats)])
    if not largest < 1e3:
        raise Rejected("values grow")
    if probed.margin < 1e-4:
        raise Rejected("too close to a kink")
    return probed
