"""Which operands of an operation carry derivatives."""

from __future__ import annotations

from adjit.rules import get as rule_of


def carries(op: str, k: int) -> bool:
    """Whether operand k of the operation has a slope."""
    return rule_of(op).carries(k)
