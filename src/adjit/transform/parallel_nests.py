"""Loops whose turns are proven to meet nowhere are marked as parallel: for devices, before a derivative is taken.

    for i: b[i] = a[i + 1] - a[i]     ->   in parallel, for i: b[i] = a[i + 1] - a[i]      (a and b surely differ)

Array statements are such, and loops that people write out. Taken before the derivative, since names that are swapped
in a time loop (`a, b = b, a`) are still known to differ there, and the reverse of a parallel loop is one.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.device_turns import DeviceTurns, NotItemsError
from adjit.ir.core import Function, Loop, Stmt
from adjit.ir.visit import Rewriter


def parallel_nests(function: Function) -> Function:
    """The function with its parallel loops marked (see the module)."""
    marker = _Marker(function)
    body = marker.block(function.body)
    return replace(function, body=body, results=marker.atoms(function.results))


class _Marker(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        alias = Alias(function)
        self._turns = DeviceTurns(function, alias, Affine.of(function))

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        rebuilt = self.rebuild(stmt)
        if isinstance(stmt, Loop) and not stmt.parallel and isinstance(rebuilt, Loop):
            try:
                self._turns.of(stmt)
            except NotItemsError:
                return (rebuilt,)
            return (replace(rebuilt, parallel=True),)
        return (rebuilt,)
