"""Arithmetic of generated text that runs as plain Python: it raises nowhere where compiled code does not.

x / y       ->  ieee_divide(x, y)        in functions with `error_model="numpy"`
x // y, x % y                            likewise
x ** y      ->  power(x, y)              everywhere

(The names have underscores around them, so that no function of a user has them.)
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np


def with_ieee_arithmetic(text: str, file: str) -> ast.Module:
    """The parsed text, with calls of `FUNCTIONS` where Python's operators would raise and compiled ones do not."""
    return ast.fix_missing_locations(_Arithmetic().visit(ast.parse(text, file)))


class _Arithmetic(ast.NodeTransformer):
    _quiet = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer = self._quiet
        self._quiet = outer or any(
            k.arg == "error_model" and isinstance(k.value, ast.Constant) and k.value.value == "numpy"
            for d in node.decorator_list
            if isinstance(d, ast.Call)
            for k in d.keywords
        )
        self.generic_visit(node)
        self._quiet = outer
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.op))
        if name is None or not (self._quiet or name == "__power__"):
            return node
        call = ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])
        return ast.copy_location(call, node)


_OPERATORS: dict[type[ast.operator], str] = {
    ast.Div: "__ieee_divide__",
    ast.FloorDiv: "__ieee_floor_divide__",
    ast.Mod: "__ieee_remainder__",
    ast.Pow: "__power__",
}


def _never_raises(exact: Callable[[Any, Any], Any], other: np.ufunc) -> Callable[[Any, Any], Any]:
    """Python's operator; NumPy's where that raises, of whole numbers 0 where that is a whole number."""

    def operate(a: Any, b: Any) -> Any:
        try:
            return exact(a, b)
        except (ZeroDivisionError, OverflowError):
            with np.errstate(all="ignore"):
                return other(a, b).item()

    return operate


def power(a: Any, b: Any) -> Any:
    """`a ** b` as compiled code has it: whole negative powers are one over whole positive ones, and that division
    raises under either error model; those of whole numbers are whole numbers."""
    if not isinstance(b, int | np.integer) or isinstance(a, complex) or b >= 0 or b < -_WHOLE:
        found = _any_power(a, b)
        real = isinstance(found, complex) and not isinstance(a, complex) and not isinstance(b, complex)
        return math.nan if real else found
    if isinstance(a, int | np.integer):
        if a == 0:
            raise ZeroDivisionError("0 cannot be raised to a negative power")
        return a**-b if abs(a) == 1 else 0
    inverse = _any_power(a, -b)
    if inverse == 0:
        raise ZeroDivisionError("division by zero")
    return _any_power(a, b)


_any_power = _never_raises(operator.pow, np.float_power)

_WHOLE = 0x10000
"""The largest exponent by which compiled code multiplies."""

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "__ieee_divide__": _never_raises(operator.truediv, np.divide),
    "__ieee_floor_divide__": _never_raises(operator.floordiv, np.floor_divide),
    "__ieee_remainder__": _never_raises(operator.mod, np.remainder),
    "__power__": power,
}
"""What the calls mean, by name."""
