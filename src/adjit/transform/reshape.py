"""Arrays that are reshaped and are not contiguous in index order: copied as NumPy does, or refused.

v = view a shape (n, m) else copy   ->   c = alloc (...); c[i, j] = a[i, j] ...; v = view c shape (n, m)

Whether NumPy's `reshape` copies then depends on the strides of the call ("either"). The two cannot be told apart
where nobody writes the memory, so a copy it is; elsewhere it is refused. Numba's `ravel` always copies ("copy"), its
`reshape` never does ("refuse"). After this pass every reshaped view is one of contiguous memory.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis.alias import Alias
from adjit.errors import UnsupportedError
from adjit.ir.builder import Builder
from adjit.ir.core import Function, Stmt, Store, Sym, View
from adjit.ir.nests import copy_into
from adjit.ir.types import Array
from adjit.ir.visit import Rewriter, everywhere, walk_program


class _Reshape(Rewriter):
    def __init__(self, alias: Alias, written: frozenset[Sym]):
        super().__init__()
        self._alias, self._written = alias, written

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, View) or stmt.shape is None:
            return (self.rebuild(stmt),)
        array = stmt.array
        assert isinstance(array.type, Array)
        if array.type.layout == "C":
            return (replace(stmt, elsewhere=""),)
        self._check(stmt)
        b = Builder(stmt.span)
        shape = tuple(b.dim(array, k) for k in range(array.type.ndim))
        copy = b.alloc(array.name, replace(array.type, layout="C", readonly=False), shape)
        copy_into(b, copy, array)
        return (*b.block(), replace(stmt, array=copy, elsewhere=""))

    def _check(self, stmt: View) -> None:
        """Refuse what may be a copy or a view, where that makes a difference."""
        name = stmt.array.name
        if stmt.elsewhere == "refuse":
            raise UnsupportedError(
                f"`{name}` is reshaped and is not contiguous, or not known to be: Numba does not copy then",
                f"copy it first: {name}.copy()",
                stmt.span,
            )
        if stmt.elsewhere == "either" and not self._alias.roots(stmt.array).isdisjoint(self._written):
            raise UnsupportedError(
                f"`{name}` is reshaped, and written somewhere: whether NumPy makes a view or a copy of it depends on "
                "its strides",
                f"pass a contiguous array, or copy it first: {name}.copy()",
                stmt.span,
            )


def reshaped(function: Function) -> Function:
    """The typed function with every reshaped view contiguous (see the module)."""
    stmts = list(walk_program(function))
    if not any(isinstance(s, View) and s.shape is not None for s in stmts):
        return function
    alias = Alias(function)
    written = frozenset[Sym]().union(*(alias.roots(s.array) for s in stmts if isinstance(s, Store)))
    return everywhere(function, lambda f: replace(f, body=_Reshape(alias, written).block(f.body)))
