"""Parallel assignment as a sequence of assignments."""

from __future__ import annotations

from dataclasses import dataclass

from adjit.ir.core import Atom


@dataclass(frozen=True)
class Copy:
    """`place = value`; `reads`: the names that the value reads."""

    place: str
    value: Atom
    reads: frozenset[str]


def in_order(copies: list[Copy]) -> list[tuple[Copy, ...]]:
    """Groups to assign one after the other; those of one group (a cycle, `a, b = b, a`) at once."""
    pending, groups = list(copies), []
    while pending:
        free = next((c for c in pending if not any(c.place in o.reads for o in pending if o is not c)), None)
        group = tuple(pending) if free is None else (free,)
        groups.append(group)
        pending = [c for c in pending if c not in group]
    return groups
