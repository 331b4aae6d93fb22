"""Operations on complex numbers whose derivative is not known, refused where a derivative would pass through them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adjit import rules
from adjit.analysis.promotion import spelling_of
from adjit.errors import UnsupportedError
from adjit.ir.core import Atom, Let, Stmt, Whole
from adjit.ir.types import Array, Scalar
from adjit.rules import linear


def refuse_without_rule(stmts: Iterable[Stmt], varied: Callable[[Atom], bool]) -> None:
    """Raise UnsupportedError at the first operation on varied complex numbers that has no rule for them."""
    for stmt in stmts:
        if isinstance(stmt, Whole):
            _refuse_whole(stmt, varied)
        if not isinstance(stmt, Let) or not varied(stmt.target):
            continue
        numbers = (a.type for a in (stmt.target, *stmt.args))
        is_complex = any(isinstance(t, Scalar) and t.is_complex for t in numbers)
        if is_complex and not rules.get(stmt.op).takes_complex:
            raise UnsupportedError(
                f"'{spelling_of(stmt) or stmt.op}' of complex numbers is not differentiated",
                "write it with the real and imaginary parts",
                stmt.span,
            )


def _refuse_whole(stmt: Whole, varied: Callable[[Atom], bool]) -> None:
    dtypes = [a.type.dtype for a in (*stmt.outs, *stmt.args) if isinstance(a.type, Array)]
    if (
        any(t.is_complex for t in dtypes)
        and any(map(varied, stmt.outs))
        and not linear.get(stmt.op).takes_complex
    ):
        raise UnsupportedError(
            f"'{stmt.op}' of complex matrices is not differentiated",
            "write it with the real and imaginary parts",
            stmt.span,
        )
