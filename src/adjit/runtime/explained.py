"""The facts of a program for some arguments (`transform.facts`): it is built anew; nothing is compiled or run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adjit.analysis.activity import Activity
from adjit.analysis.alias import Alias
from adjit.analysis.evaluate import Evaluate
from adjit.ir.core import Span, Sym
from adjit.ir.structure import Spec
from adjit.ir.types import Array
from adjit.ir.visit import walk
from adjit.runtime.made import Made, prepared, transformed
from adjit.runtime.request import Request
from adjit.transform.facts import Fact
from adjit.transform.loop_facts import of_loops
from adjit.transform.plan_facts import of_plan
from adjit.transform.primal import primal_of
from adjit.transform.primal_facts import of_activity, of_promotions, of_races, of_rules, of_shadows
from adjit.transform.reverse import Reversed
from adjit.transform.slopes import carries


@dataclass(frozen=True)
class Explained:
    """What is known of a program. out: the structure of its result. lines: every place that has a statement of it."""

    name: str
    span: Span
    out: Spec
    lines: tuple[Span, ...]
    facts: tuple[Fact, ...]


def result_of(request: Request) -> Spec:
    """The structure of the function's result."""
    return primal_of(request.f, request.specs).out


def explained(request: Request, leaves: Sequence[object], plain: bool) -> Explained:
    """What is done for these leaves of arguments. plain: whether the function has NumPy's types.

    Raises: UnsupportedError, MissingRuleError.
    """
    typed = primal_of(request.f, request.specs)
    primal = prepared(request, typed)
    made = transformed(request, primal)
    values = dict(zip(primal.function.params, (*leaves, *typed.captures), strict=True))
    active = {p for p, on in zip(primal.function.params, request.active, strict=False) if on}
    facts = [*of_promotions(typed.function)] if plain else []
    if request.kind in ("joint", "split"):
        assert made.swept is not None
        facts += of_rules(typed.function, reverse=True)
        facts += _of_reverse(made.swept, active, values)
    elif request.kind == "forward":
        activity = Activity(primal.function, Alias(primal.function), active, None, carries)
        facts += of_rules(typed.function, reverse=False)
        facts += of_activity(primal.function, activity)
        facts += of_shadows(primal.function, activity, active, Evaluate(primal.function, values))
    facts += _of_units(made, values)
    facts += of_races(primal.function)
    lines = dict.fromkeys(s.span for f in (typed.function, *typed.function.functions) for s in walk(f.body))
    name = typed.function.name.partition(".")[0]
    return Explained(name, typed.function.span, typed.out, tuple(lines), tuple(dict.fromkeys(facts)))


def _of_reverse(swept: Reversed, active: set[Sym], values: dict[Sym, object]) -> Iterator[Fact]:
    for k, (planner, built) in enumerate(swept.plans):
        known = Evaluate(planner.function, values)
        passed = (*swept.kept, *swept.saved) if planner.wish.split else swept.saved
        yield from of_activity(planner.function, planner.activity)
        if k == 0:
            yield from of_shadows(planner.function, planner.activity, active, known)
        yield from of_plan(planner, built, known, passed if k == 0 else ())


def _of_units(made: Made, values: dict[Sym, object]) -> Iterator[Fact]:
    """Facts about the loops of the finished functions."""
    swept = made.swept
    if swept is not None:
        values = _with_passed(swept, values)
    for k, unit in enumerate(made.module.units):
        sweep = "" if swept is None else "reverse sweep" if k else "forward sweep"
        for function in (unit.function, *unit.function.functions):
            yield from of_loops(function, Evaluate(function, values), sweep)


def _with_passed(swept: Reversed, values: dict[Sym, object]) -> dict[Sym, object]:
    """The values with what the reverse sweep gets: shadows have the shapes of their arrays."""
    inputs = swept.plans[0][0].wish.inputs
    arrays = [p for p in inputs if isinstance(p.type, Array)]
    more = {d: values[p] for d, p in zip(swept.shadows, arrays, strict=True)}
    known = Evaluate(swept.forward, values)
    saved = swept.saved
    for s, a in zip(saved, swept.passed[len(swept.passed) - len(saved) :], strict=True):
        found = known.shape(a) if isinstance(a.type, Array) else known.integer(a)
        if found is not None:
            more[s] = found
    return {**values, **more}
