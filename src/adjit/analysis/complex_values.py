"""Complex numbers are not differentiated: where a derivative would have to pass through one, it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from adjit.errors import UnsupportedError
from adjit.ir.core import Alloc, Atom, Span, Stmt, Store, Whole
from adjit.ir.types import Array, RefList, Scalar, Type
from adjit.ir.visit import inner_targets, targets

REMEDY = "write it with real and imaginary parts as floats of their own"


def is_complex(type: Type) -> bool:
    """Whether values of this type, or elements of such arrays, are complex."""
    match type:
        case Scalar():
            return type.is_complex
        case Array():
            return type.dtype.is_complex
        case RefList():
            return type.element.dtype.is_complex


def refuse_complex(
    stmts: Iterable[Stmt], outputs: Iterable[Atom], varied: Callable[[Atom], bool], whole: Span
) -> None:
    """Raise UnsupportedError at the first complex value for which `varied` holds, or for a seeded complex output.

    Complex numbers that do not depend on what is differentiated by may stay.
    """
    for stmt in stmts:
        for name in _varied_complex(stmt, varied):
            raise UnsupportedError(
                f"`{name}` is complex and depends on what is differentiated by", REMEDY, stmt.span
            )
    if any(is_complex(a.type) for a in outputs):
        raise UnsupportedError("the function returns a complex value", REMEDY, whole)


def _varied_complex(stmt: Stmt, varied: Callable[[Atom], bool]) -> Iterator[str]:
    for s in (*targets(stmt), *inner_targets(stmt)):
        if isinstance(s.type, Scalar) and s.type.is_complex and varied(s):
            yield s.name
    match stmt:
        case Store() if is_complex(stmt.array.type) and varied(stmt.value):
            yield stmt.array.name
        case Alloc() if is_complex(stmt.target.type) and stmt.fill is not None and varied(stmt.fill):
            yield stmt.target.name
        case Whole():
            yield from (s.name for s in stmt.outs if is_complex(s.type) and varied(s))
        case _:
            return
