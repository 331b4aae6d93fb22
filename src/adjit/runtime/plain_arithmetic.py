"""Arithmetic of generated text that runs as plain Python: it raises nowhere where compiled code does not.

x / y       ->  ieee_divide(x, y)        in functions with `error_model="numpy"`
x // y, x % y                            likewise
x ** y      ->  ieee_power(x, y)         likewise; elsewhere power(x, y), where whole powers of zero raise

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
        if not self._quiet:
            name = "__power__" if name == "__ieee_power__" else None
        if name is None:
            return node
        call = ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])
        return ast.copy_location(call, node)


_OPERATORS: dict[type[ast.operator], str] = {
    ast.Div: "__ieee_divide__",
    ast.FloorDiv: "__ieee_floor_divide__",
    ast.Mod: "__ieee_remainder__",
    ast.Pow: "__ieee_power__",
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


def _power(a: Any, b: Any) -> Any:
    if isinstance(b, int | np.integer) and not isinstance(a, complex) and a == 0 and b < 0:
        raise ZeroDivisionError("zero to a negative power")
    return _quiet_power(a, b)


def _quiet_power(a: Any, b: Any) -> Any:
    found = _any_power(a, b)
    real = isinstance(found, complex) and not isinstance(a, complex) and not isinstance(b, complex)
    return math.nan if real else found


_any_power = _never_raises(operator.pow, np.float_power)

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "__ieee_divide__": _never_raises(operator.truediv, np.divide),
    "__ieee_floor_divide__": _never_raises(operator.floordiv, np.floor_divide),
    "__ieee_remainder__": _never_raises(operator.mod, np.remainder),
    "__ieee_power__": _quiet_power,
    "__power__": _power,
}
"""What the calls mean, by name."""
