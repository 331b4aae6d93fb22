"""Numbers of host code that remember how they were computed, so that a recorded run can be repeated with others.

Host code runs once on `Number`s. What is computed from them becomes steps of a trace; what the code looks at (a
branch, a trip count) becomes a test: with other numbers the same steps are right as long as every test comes out the
same. Numbers that come from the device are not there while a run is recorded: to look at one raises `Unrepeatable`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any


class Unrepeatable(Exception):
    """What runs cannot be recorded: it depends on what the device computes, or on what is not traced."""


class Trace:
    """The steps of one run. Values are numbered: first the inputs, then what steps make, in order.

    A step is (function, operands): an operand is a `Number`'s index in a list of one, or a value. A test is
    (None, index, value).
    """

    def __init__(self, inputs: Sequence[Any]):
        self.inputs = [Number(self, k, v, False) for k, v in enumerate(inputs)]
        self._steps: list[tuple[Any, ...]] = []
        self._late: list[tuple[Any, ...]] = []
        self._count = len(self.inputs)
        self._tested: set[int] = set()

    def made(self, late: bool = False, value: Any = None) -> Number:
        """A number that no step makes: the recorder says where it comes from."""
        self._count += 1
        return Number(self, self._count - 1, value, late)

    def apply(self, function: Callable[..., Any], args: Sequence[Any]) -> Number:
        """`function(*args)` as a step."""
        late = any(type(a) is Number and a.late for a in args)
        operands = tuple([a.index] if type(a) is Number else a for a in args)
        value = None if late else function(*[a.value if type(a) is Number else a for a in args])
        number = self.made(late, value)
        (self._late if late else self._steps).append((function, operands, number.index))
        return number

    def look(self, number: Number) -> Any:
        """The value of a number that the code depends on. Raises Unrepeatable if only the device knows it."""
        if number.late:
            raise Unrepeatable("the host's code depends on what the device computes")
        if number.index not in self._tested:
            self._tested.add(number.index)
            self._steps.append((None, number.index, number.value))
        return number.value

    def again(self, inputs: Sequence[Any]) -> list[Any] | None:
        """Every value with other inputs, those from the device missing; None where a test comes out otherwise."""
        values = [*inputs, *[None] * (self._count - len(inputs))]
        for step in self._steps:
            if step[0] is None:
                if not same(values[step[1]], step[2]):
                    return None
            else:
                _take(step, values)
        return values

    def finish(self, values: list[Any]) -> None:
        """Fill in what follows from numbers of the device, once those are there."""
        for step in self._late:
            _take(step, values)


def _take(step: tuple[Any, ...], values: list[Any]) -> None:
    function, operands, target = step
    values[target] = function(*[values[a[0]] if type(a) is list else a for a in operands])


def same(a: Any, b: Any) -> bool:
    """Whether two numbers have the same bits and type."""
    return type(a) is type(b) and (a == b or (a != a and b != b)) and (a != 0 or str(a) == str(b))


class Number:
    """A number of a recorded run. late: whether the device computes it, so that it is not known yet."""

    __slots__ = ("index", "late", "trace", "value")
    __array_ufunc__ = None  # NumPy's numbers leave operations with this one to it

    def __init__(self, trace: Trace, index: int, value: Any, late: bool):
        self.trace, self.index, self.value, self.late = trace, index, value, late

    def __bool__(self) -> bool:
        return bool(self.trace.look(self))

    def __float__(self) -> float:
        return float(self.trace.look(self))

    def __int__(self) -> int:
        return int(self.trace.look(self))

    def __index__(self) -> int:
        return operator.index(self.trace.look(self))

    def __hash__(self) -> int:
        return hash(self.trace.look(self))


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *others: self.trace.apply(function, (self, *others))


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: self.trace.apply(function, (other, self))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Number, f"__{_name}__", _operator(getattr(operator, _name)))
    setattr(Number, f"__r{_name}__", _reflected(getattr(operator, _name)))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs"):
    setattr(Number, f"__{_name}__", _operator(getattr(operator, _name)))


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which traces where it is given a traced number."""

    def call(*args: Any) -> Any:
        for a in args:
            if type(a) is Number:
                return a.trace.apply(function, args)
        return function(*args)

    return call


class LiftedMath:
    """A module of functions of numbers, each of which traces."""

    def __init__(self, functions: Any):
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._functions, name)
        found = lifted(found) if callable(found) else found
        setattr(self, name, found)
        return found


def _szmul(ct: Any, slope: Any) -> Any:
    return ct * slope if ct != 0 else ct


def _choose(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


def traceable(namespace: dict[str, Any]) -> None:
    """Let the functions of numbers that host code calls trace."""
    namespace |= {"szmul": lifted(_szmul), "choose": lifted(_choose)}
    for name in ("fdiv", "float32", "float64"):
        if namespace.get(name) is not None:
            namespace[name] = lifted(namespace[name])
    namespace["math"] = LiftedMath(namespace["math"])


__all__ = ["Number", "Trace", "Unrepeatable", "lifted", "same", "traceable"]
