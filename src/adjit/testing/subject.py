"""A function with its arguments, placed afresh for every run, and the plain run that adjit is held to.

Arguments are flat leaves (numbers and arrays); a tuple argument is put together from its leaves for each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjit.testing.placing import Placement, same_bits

Function = Callable[..., Any]


class CheckFailure(AssertionError):
    """A check failed; `kind` says which, in a word."""

    def __init__(self, kind: str, report: str):
        self.kind = kind
        super().__init__(f"[{kind}] {report}")


def require(condition: bool, kind: str, report: str) -> None:
    """Raise CheckFailure unless the condition holds."""
    if not condition:
        raise CheckFailure(kind, report)


def is_float_array(value: Any) -> bool:
    """Whether `value` is an array that carries derivatives."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def paired(cotangent: Any, tangent: Any) -> Any:
    """The terms of a cotangent applied to a tangent: products, of complex numbers the real part without conjugation."""
    return np.real(np.asarray(cotangent) * np.asarray(tangent))


def leaves(tree: Any) -> list[Any]:
    """The leaves of (named) tuples."""
    return [leaf for item in tree for leaf in leaves(item)] if isinstance(tree, tuple) else [tree]


class Subject:
    """What is checked.

    function: what adjit is given. args: its arguments, arrays as templates. layouts: one for each leaf. reference: the
    plain function; python: the same without Numba. line: the value at flat float64 arguments, which it mutates; raises
    `Rejected` where a branch goes another way than at the arguments themselves. slope: the derivative of `value +
    sum(w * final)` along a direction by other means (complex step), or None.
    """

    def __init__(
        self,
        function: Function,
        args: Sequence[Any],
        layouts: Sequence[str] = (),
        reference: Function | None = None,
        line: Callable[[Sequence[Any]], float] | None = None,
        slope: Callable[..., float] | None = None,
        exact: bool = True,
        forward: bool = True,
        python: Function | None = None,
    ):
        self.function, self.reference = function, reference or function
        self.python = python or getattr(self.reference, "py_func", self.reference)
        self.trees = tuple(args)
        self.values = tuple(leaf for tree in args for leaf in leaves(tree))
        self.layouts = tuple(layouts) or ("C",) * len(self.values)
        self.line = line or self._plain_line
        self.slope = slope
        self.forward = forward
        self.single = any(is_float_array(v) and v.dtype in (np.float32, np.complex64) for v in self.values)
        self.complex = any(np.iscomplexobj(v) for v in self.values)
        self.exact = exact
        numbers = float | complex
        self.wrt = tuple(k for k, v in enumerate(self.values) if isinstance(v, numbers) or is_float_array(v))
        self.arrays = tuple(k for k in self.wrt if isinstance(self.values[k], np.ndarray))
        self._plain_run: tuple[Any, list[Any]] | None = None

    # arguments

    def place(self, values: Sequence[Any] | None = None) -> Placement:
        """Fresh arguments, at other values if given."""
        return Placement(tuple(self.values if values is None else values), self.layouts)

    def call_args(self, flat: Sequence[Any], function: Function | None = None) -> list[Any]:
        """Flat leaves as the function's arguments; named tuples are of the classes of its own module."""
        names = getattr(getattr(function, "py_func", function), "__globals__", {})
        items = iter(flat)

        def build(tree: Any) -> Any:
            if not isinstance(tree, tuple):
                return next(items)
            cls = names.get(type(tree).__name__, type(tree))
            parts = [build(item) for item in tree]
            return cls(*parts) if hasattr(cls, "_fields") else tuple(parts)

        return [build(tree) for tree in self.trees]

    def parameters(self) -> Iterator[tuple[int, Any, tuple[int, ...]]]:
        """Position, template and leaf numbers of each parameter."""
        at = 0
        for k, tree in enumerate(self.trees):
            count = len(leaves(tree))
            yield k, tree, tuple(range(at, at + count))
            at += count

    def moving(self) -> tuple[int, ...]:
        """Positions of the parameters that hold something to differentiate by."""
        return tuple(k for k, _, flat in self.parameters() if not set(self.wrt).isdisjoint(flat))

    def with_layouts(self, layouts: Sequence[str]) -> Subject:
        """The same with other layouts."""
        return Subject(
            self.function,
            self.trees,
            layouts,
            self.reference,
            self.line,
            self.slope,
            self.exact,
            self.forward,
            self.python,
        )

    # the plain run

    def plain(self) -> tuple[Any, list[Any]]:
        """Value and final leaves of the plain run."""
        if self._plain_run is None:
            placement = self.place()
            with np.errstate(all="ignore"):
                value = self.reference(*self.call_args(placement.args, self.reference))
            self._plain_run = value, placement.snapshot()
        return self._plain_run

    def _plain_line(self, flat: Sequence[Any]) -> float:
        python = getattr(self.function, "py_func", self.function)
        return float(python(*self.call_args(flat, python)))

    def doubles(self) -> list[Any]:
        """Fresh flat arguments in double precision."""
        return [
            v.astype(np.result_type(v, np.float64))
            if is_float_array(v)
            else v.copy()
            if isinstance(v, np.ndarray)
            else v
            for v in self.values
        ]

    def shifted(self, t: float, tangents: dict[int, Any]) -> list[Any]:
        """Flat float64 arguments moved by t along the tangents."""
        args = self.doubles()
        for k, direction in tangents.items():
            moved = args[k] + t * np.asarray(direction)
            args[k] = moved if isinstance(args[k], np.ndarray) else moved.item()
        return args

    # comparisons

    def tolerance(self, double: float) -> float:
        """`double`, or what single precision can be held to."""
        return 2e-3 if self.single else double

    def same_run(self, value: Any, placement: Placement, who: str) -> None:
        """The value and the final state of every argument are the plain run's, and nothing else was touched.

        (Reports are only put together where there is one: printing arrays costs more than comparing them.)
        """
        want, final = self.plain()
        if not self._equal(value, want):
            raise CheckFailure("value", f"{who}: {value!r}, plain run {want!r}")
        for k, (got, right) in enumerate(zip(placement.snapshot(), final, strict=True)):
            if not self._equal(got, right):
                raise CheckFailure("final state", f"{who}: argument {k} ends as {got!r}, plain run {right!r}")
        require(placement.intact(), "canary", f"{who} wrote outside an argument")

    def _equal(self, got: Any, want: Any) -> bool:
        if self.exact:
            return same_bits(got, want)
        near = 2e-4 if self.single else 1e-11
        same_kind = np.asarray(got).dtype.kind == np.asarray(want).dtype.kind and np.shape(got) == np.shape(
            want
        )
        return same_kind and bool(np.allclose(got, want, rtol=near, atol=near, equal_nan=True))

    def close(self, a: Any, b: Any, double: float = 1e-10) -> bool:
        """Equal to a relative tolerance."""
        return bool(np.allclose(a, b, rtol=self.tolerance(double), atol=self.tolerance(double) / 100))

    def directions(self, rng: np.random.Generator, which: Sequence[int]) -> dict[int, Any]:
        """Random directions, one number for each element, that the leaf's dtype holds exactly."""

        def draw(k: int) -> Any:
            d = np.asarray(rng.uniform(-1, 1, np.shape(self.values[k])))
            if np.iscomplexobj(self.values[k]):
                d = np.asarray(d + 1j * rng.uniform(-1, 1, d.shape))
            return d.astype(self.values[k].dtype).astype(d.dtype) if k in self.arrays else d.item()

        return {k: draw(k) for k in which}

    def by_keyword(self, args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The same arguments, but for the first by keyword, from the last to the second."""
        code = getattr(self.reference, "py_func", self.reference).__code__
        names = code.co_varnames[: len(args)]
        return list(args[:1]), dict(reversed([*zip(names, args, strict=True)][1:]))
