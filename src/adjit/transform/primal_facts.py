"""Facts about the program that is differentiated: what carries derivatives, what does not, rules, promotions."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Iterator

from adjit.analysis.activity import Activity
from adjit.analysis.evaluate import Evaluate
from adjit.analysis.trusted import trusted_stores
from adjit.ir.core import Custom, Function, Let, Load, Span, Stmt, Store, Sym
from adjit.ir.types import Array, Scalar
from adjit.ir.visit import inner_targets, targets, walk
from adjit.rules.custom import CustomCall
from adjit.transform.facts import Active, Fact, Promoted, Ruled, Shadow, Trusted, ZeroSlope
from adjit.transform.slopes import carries

_DOUBLE = {"float32": "float64", "complex64": "complex128"}
_STEPS = frozenset(
    {"floor", "ceil", "trunc", "rint", "round", "sign", "floordiv", "stop_gradient", "round_to"}
)
"""Operations that are constant between jumps, or made to be without derivative."""


def is_named(name: str, span: Span) -> bool:
    """Whether the user's line has the name."""
    return re.search(rf"\b{re.escape(name)}\b", linecache.getline(span.file, span.line)) is not None


def is_bound(name: str, span: Span) -> bool:
    """Whether the user's line binds the name."""
    bound = re.search(
        rf"\b{re.escape(name)}\b[^=!<>]*[^=!<>]=(?!=)|\b{re.escape(name)}\s*=(?!=)",
        linecache.getline(span.file, span.line),
    )
    return bound is not None


_WORDS = {
    "mul": "a product",
    "div": "a quotient",
    "fdiv": "a quotient",
    "pow": "a power",
    "mod": "a remainder",
}


def operation_of(let: Let) -> str:
    """What an operation is called in a sentence."""
    return f"{let.fn}(...)" if let.fn else _WORDS.get(let.op, f"{let.op}(...)")


def of_activity(function: Function, activity: Activity) -> Iterator[Fact]:
    """What carries derivatives, line by line; operations that stop them; rules of the user's."""
    found: dict[tuple[str, int], dict[str, None]] = {}
    bound = _bound(function)
    for stmt in walk(function.body):
        carrying = [s for s in _carrying(stmt, activity) if activity.active(s)]
        if carrying:
            names = found.setdefault((stmt.span.file, stmt.span.line), {})
            shown = (s for s in carrying if s in bound and is_named(s.name, stmt.span))
            names.update((s.name, None) for s in shown)
    for (file, line), names in found.items():
        yield Active(Span(file, line), tuple(names))
    for stmt in walk(function.body):
        if isinstance(stmt, Let) and _stops(stmt, activity):
            operation = stmt.fn or ("//" if stmt.op == "floordiv" else stmt.op)
            yield ZeroSlope(
                stmt.span, "a conversion to an integer" if stmt.op == "cast" else f"'{operation}'"
            )


def _bound(function: Function) -> set[Sym]:
    """Symbols that have a name in the user's program; others were only called after what they are made of."""
    found = {*function.params}
    for stmt in walk(function.body):
        made = (*targets(stmt), *inner_targets(stmt))
        named = not isinstance(stmt, Let | Load)
        found.update(s for s in made if named or isinstance(s.type, Array) or is_bound(s.name, stmt.span))
    return found


def _carrying(stmt: Stmt, activity: Activity) -> tuple[Sym, ...]:
    """What a statement makes and reads, if derivatives pass through it."""
    match stmt:
        case Let() if activity.active(stmt.target):
            return (stmt.target, *(a for a in stmt.args if isinstance(a, Sym)))
        case Load() if activity.active(stmt.target):
            return (stmt.target, stmt.array)
        case Store() if activity.active(stmt.array) and activity.active(stmt.value):
            return (stmt.array, *((stmt.value,) if isinstance(stmt.value, Sym) else ()))
        case _:
            return ()


def _stops(let: Let, activity: Activity) -> bool:
    """Whether a value with a derivative goes in, and none comes out."""
    if not any(isinstance(a, Sym) and a in activity.varied for a in let.args):
        return False
    if let.op == "cast":
        return isinstance(let.target.type, Scalar) and let.target.type.is_int
    varied = [k for k, a in enumerate(let.args) if isinstance(a, Sym) and a in activity.varied]
    return let.op in _STEPS and not any(carries(let.op, k) for k in varied)


def of_rules(function: Function, reverse: bool) -> Iterator[Fact]:
    """Calls with rules of the user's."""
    for stmt in walk(function.body):
        if isinstance(stmt, Custom) and isinstance(stmt.rule, CustomCall):
            given = stmt.rule.function
            ruled = (given.bwd if reverse else given.jvp) is not None
            yield Ruled(
                stmt.span, stmt.rule.name, ("defvjp" if reverse else "defjvp") if ruled else "own code"
            )


def of_promotions(function: Function) -> Iterator[Fact]:
    """Floats of single precision that are cast to double precision without the user's asking."""
    for stmt in walk(function.body):
        if not isinstance(stmt, Let) or stmt.op != "cast" or stmt.fn is not None:
            continue
        (source,) = stmt.args
        before, after = str(source.type), str(stmt.target.type)
        if isinstance(source, Sym) and _DOUBLE.get(before) == after:
            name = f"'{source.name}'" if is_named(source.name, stmt.span) else "a value"
            yield Promoted(stmt.span, name, before, after)


def of_races(function: Function) -> Iterator[Fact]:
    """Stores of parallel loops that are right only if no other turn touches the element."""
    for f in (function, *function.functions):
        for store in trusted_stores(f):
            yield Trusted(store.span, store.array.name)


def of_shadows(
    function: Function, activity: Activity, asked: Iterable[Sym], known: Evaluate
) -> Iterator[Fact]:
    """Arrays from outside that get a shadow of their own: they carry active values, and none was asked for."""
    given = set(asked)
    for p in function.params:
        if isinstance(p.type, Array) and p not in given and activity.active(p):
            yield Shadow(function.span, p.name, known.size(p))
