"""How much work a block of statements is, as a number that the program computes before it runs the block."""

from __future__ import annotations

from adjit.analysis.carried import Carried
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Block, If, Let, Loop, Whole, const

_UNKNOWN_TURNS = 8
"""Assumed of a loop whose number of turns is not known before."""
_CHEAP = frozenset(
    {"add", "sub", "mul", "neg", "pos", "szmul", "select", "dim", "nonneg", "cast", "abs", "min", "max"}
    | {"lt", "le", "gt", "ge", "eq", "ne", "and_", "or_", "not_", "xor", "lshift", "rshift", "invert"}
)
_COSTLY = 10
"""Operations that a division or a function counts for."""
_WHOLE = 1000
"""Operations that one of whole arrays counts for."""


def work(b: Builder, block: Block, carried: Carried) -> Atom:
    """The number of operations of one run of the block, from what is known where `b` stands."""
    fixed, more = _count(b, block, carried)
    total: Atom = const(max(fixed, 1))
    for a in more:
        total = b.op("add", total, a)
    return total


def _count(b: Builder, block: Block, carried: Carried) -> tuple[int, list[Atom]]:
    fixed, more = 0, list[Atom]()
    for stmt in block:
        match stmt:
            case Let():
                fixed += 1 if stmt.op in _CHEAP else _COSTLY
            case If():
                for sub in (stmt.then, stmt.els):
                    n, others = _count(b, sub, carried)
                    fixed += n
                    more += others
            case Loop():
                trips = carried.trips(stmt)
                n, others = _count(b, stmt.body, carried)
                n += 1
                if trips is None:
                    fixed += _UNKNOWN_TURNS * n
                    more += [b.op("mul", a, _UNKNOWN_TURNS) for a in others]
                    continue
                each: Atom = const(n)
                for a in others:
                    each = b.op("add", each, a)
                more.append(b.op("mul", trips(b), each))
            case Whole():
                fixed += _WHOLE
            case _:
                fixed += 1
    return fixed, more
