"""Every column of a Jacobian in one compiled call: the loop over the passes of a program with tangents in lanes.

seeds = 0; for each pass: ones into the lanes; results, tangent = f_forward(..., seeds); tangent -> columns; zeros again
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.ir.core import Atom, Function, Sym
from adjit.ir.types import Array


@dataclass(frozen=True)
class Columns:
    """name: of the function that is printed. forward: whose last parameter is the tangents of `of`, the only ones that
    come in, and whose last result the only ones that go out, of an array or (in an array of one element) of a number.
    """

    name: str
    forward: Function
    of: Sym


def columns_of(name: str, forward: Function, of: Sym) -> Columns | None:
    """The loop over passes; None where arrays do not lie in C's order."""
    return Columns(name, forward, of) if _in_order(of) and _in_order(forward.results[-1]) else None


def _in_order(a: Atom) -> bool:
    return isinstance(a.type, Array) and a.type.layout == "C"


def text_of(columns: Columns) -> str:
    """The function: the forward function's parameters but the tangents, then the matrix -> whether it has one row for
    each number of the result (else nothing is in it), the primal's results."""
    of = columns.of
    assert isinstance(of.type, Array)
    tangents = columns.forward.params[-1].type
    assert isinstance(tangents, Array)
    lanes = tangents.dtype
    names = [f"{p.name}_{k}" for k, p in enumerate(columns.forward.params[:-1])]
    array = names[columns.forward.params.index(of)]
    given = f"seeds.reshape({array}.shape)" if of.type.ndim != 1 else "seeds"
    results = ", ".join(f"found[{k}]" for k in range(len(columns.forward.results) - 1))
    returned = f", {results}" if results else ","
    return f'''@njit(cache=True)
def {columns.name}({", ".join([*names, "matrix"])}):
    """Each pass: {lanes.lanes} columns of the matrix, one for each number of {of.name}."""
    n = {array}.size
    seeds = np.zeros(n, {lanes})
    for first in range(0, n, {lanes.lanes}):
        count = min({lanes.lanes}, n - first)
        for k in range(count):
            put_lane(seeds, first + k, k, 1.0)
        found = {columns.forward.name}({", ".join([*names, given])})
        tangent = found[{len(columns.forward.results) - 1}].reshape(-1)
        if tangent.size != matrix.shape[0]:
            return False{returned}
        for row in range(tangent.size):
            put_row(matrix, row, first, count, lanes_at(tangent, (row,)))
        for k in range(count):
            put_lane(seeds, first + k, k, 0.0)
    return True{returned}
'''
