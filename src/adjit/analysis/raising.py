"""Which operations raise by themselves under Python's error model."""

from __future__ import annotations

from adjit.ir.core import Const, Let
from adjit.ir.types import Scalar

RAISING = frozenset({"div", "floordiv", "mod", "pow"})
"""Those that do for some operands. NumPy's spellings of them (`numpy.true_divide`) never do."""


def may_raise(let: Let) -> bool:
    """Whether it does for some values: a division by what may be zero, an integer to a power that may be negative."""
    if let.op not in RAISING or let.fn is not None:
        return False
    last = let.args[-1]
    known = last.value if isinstance(last, Const) and not isinstance(last.value, complex) else None
    if let.op == "pow":
        integers = all(isinstance(a.type, Scalar) and a.type.is_integral for a in let.args)
        return integers and (known is None or known < 0)
    return known is None or known == 0
