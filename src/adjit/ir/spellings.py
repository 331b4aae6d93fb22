"""Spellings of operations (`Let.fn`) that are no function's name: what they mean is found with the types."""

from __future__ import annotations

WHOLE = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "neg": "negative", "lshift": "left_shift", "rshift": "right_shift",
    "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal", "pos": "positive", "invert": "invert",
}  # fmt: skip
"""The NumPy function that an operator means for whole arrays."""

OF_BOOLS = {"add": "or_", "mul": "and_", "invert": "not_"}
"""What operators mean for NumPy's bools."""

OPERATOR = "operator"
"""The spelling of an operator on whole arrays in a dispatcher: Numba computes it on numbers, and NumPy's function has
the type of the array."""

CLIPPED = {"clip, low": "numpy.maximum", "clip, high": "numpy.minimum"}
"""The spellings of what `np.clip` is made of, which takes any of Python's integers as a bound, and what they mean."""

FLOAT_POWER = "numpy.float_power"
"""A power in double precision, whatever its operands are."""

CONVERSIONS = ("element", "summed", "index", "made", "own", "boxed", "floating")
ELEMENT, SUMMED, INDEX, MADE, OWN, BOXED, FLOATING = CONVERSIONS
"""Conversions to a type that is found with the types: to the element type of an array of such numbers, to the type in
which such numbers are added up, of an integer to int64, of Python's number to NumPy's own, and of an integer or a bool
(OWN) alone, of a number of Numba's to Python's (BOXED), of integers and bools to float64 (FLOATING). Where that is
their type, nothing is converted."""
