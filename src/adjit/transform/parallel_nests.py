"""Loops whose turns are proven to meet nowhere are marked as parallel, before a derivative is taken.

    for i: b[i] = a[i + 1] - a[i]     ->   in parallel, for i: b[i] = a[i + 1] - a[i]      (a and b surely differ)

For a device all that are proven: array statements, and loops that people write out. For threads those that were asked
for (`Loop.asked`): array statements of dispatchers with `parallel=True`. Taken before the derivative, since names that
are swapped in a time loop (`a, b = b, a`) are still known to differ there, and the reverse of a parallel loop is one.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.device_turns import DeviceTurns, NotItemsError
from adjit.ir.core import Function, Loop, Stmt
from adjit.ir.notes import InOrder
from adjit.ir.visit import Rewriter, walk
from adjit.transform.small_steps import small_steps
from adjit.transform.update_marks import update_marks


def parallel_nests(function: Function) -> Function:
    """The function with all loops marked whose turns may run at the same time (see the module)."""
    return _marked(update_marks(small_steps(function)), asked=False)


def asked_nests(function: Function) -> Function:
    """The function with those loops marked that were asked for; of others a note says what stands in the way."""
    if not any(isinstance(s, Loop) and s.asked for s in walk(function.body)):
        return function
    return _marked(function, asked=True)


def _marked(function: Function, asked: bool) -> Function:
    marker = _Marker(function, asked)
    body = marker.block(function.body)
    return replace(function, body=body, results=marker.atoms(function.results))


class _Marker(Rewriter):
    def __init__(self, function: Function, asked: bool):
        super().__init__()
        self._asked = asked
        self._turns = DeviceTurns(function, Alias(function), Affine.of(function))

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        rebuilt = self.rebuild(stmt)
        if not isinstance(stmt, Loop) or not isinstance(rebuilt, Loop) or stmt.parallel:
            return (rebuilt,)
        if self._asked and not stmt.asked:
            return (rebuilt,)
        try:
            self._turns.of(stmt)
        except NotItemsError as why:
            return (replace(rebuilt, asked=False, note=InOrder(str(why)) if self._asked else None),)
        return (replace(rebuilt, asked=False, parallel=True),)
