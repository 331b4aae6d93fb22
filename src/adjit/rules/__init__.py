"""Derivative rules: the registry of every operation that the IR knows.

A rule is one `Rule` object in one of the modules below, grouped by idea. Adding a rule is adding that
object: the test grid and the documentation's table (`python -m adjit.rules.table`) follow.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
from collections.abc import Callable, Iterable
from functools import cache

from adjit.rules.base import Point as Point
from adjit.rules.base import Rule as Rule
from adjit.rules.base import Sample as Sample

_MODULES = {
    "Arithmetic": "arithmetic",
    "Powers": "power",
    "Exponentials, logarithms, roots": "exponential",
    "Trigonometry": "trigonometric",
    "Special functions": "special",
    "Rounding and parts of floats": "rounding",
    "Complex numbers": "complex_parts",
    "Selection and conversion": "selection",
    "Comparison and logic": "comparison",
    "Integers": "integer",
}
"""The modules of the rules, by the title of the group; imported when a rule is first asked for."""


@cache
def groups() -> dict[str, tuple[Rule, ...]]:
    """Every rule, by the title of its group."""
    return {title: importlib.import_module(f"adjit.rules.{name}").RULES for title, name in _MODULES.items()}


@cache
def _registry() -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for rule in (rule for group in groups().values() for rule in group):
        assert rule.op not in found, f"two rules for {rule.op!r}"
        assert len(rule.slopes) in (0, rule.arity), f"{rule.op!r}: one slope per operand"
        found[rule.op] = rule
    return found


def get(op: str) -> Rule:
    """The rule of an IR operation.

    Raises:
        KeyError: there is none.
    """
    rule = _registry().get(op)
    if rule is None:
        raise KeyError(f"no derivative rule for op {op!r}; adjit.rules.all_rules() lists those there are")
    return rule


def all_rules() -> tuple[Rule, ...]:
    """Every rule, grouped by idea."""
    return tuple(_registry().values())


def find(function: Callable[..., object], arity: int | None = None) -> Rule | None:
    """The rule of a Python callable (`math.sin`, `numpy.sin`, `abs`), known by identity, or None.

    `arity` tells apart spellings that mean two operations (`round(x)`, `round(x, n)`).
    """
    candidates = [rule for known, _, rule in _by_identity().get(id(function), ()) if known is function]
    if arity is not None:
        candidates = [rule for rule in candidates if rule.arity == arity]
    return candidates[0] if candidates else None


def spelling(function: Callable[..., object]) -> str | None:
    """The dotted name to put in `Let.fn` for a callable: "math.sin", "numpy.sin", "abs".

    None for an alias (`math.fmod`, `numpy.where`): Numba lacks it, the op's default form is printed.

    Raises:
        KeyError: no rule has this callable.
    """
    entries = [name for known, name, _ in _by_identity().get(id(function), ()) if known is function]
    if not entries:
        raise KeyError(f"no derivative rule for {function!r}")
    return entries[0]


def prelude(ops: Iterable[str]) -> str:
    """Source text of the helper functions that these operations' templates call, dependencies first.

    The text is plain functions (put Numba's decorator in front of each `def` as the back end needs it),
    and needs `import math` above it.
    """
    from adjit.rules import special_functions as helpers

    wanted = dict.fromkeys(name for op in ops for name in get(op).helpers)
    return "\n\n".join(inspect.getsource(getattr(helpers, name)) for name in wanted)


def resolve(name: str) -> Callable[..., object] | None:
    """The callable of a dotted name; None where the installed library has none."""
    module, _, attribute = name.rpartition(".")
    owner = importlib.import_module(module) if module else builtins
    return getattr(owner, attribute, None)


@cache
def _by_identity() -> dict[int, list[tuple[Callable[..., object], str | None, Rule]]]:
    """Callables by id, each with its name to print and rule."""
    found: dict[int, list[tuple[Callable[..., object], str | None, Rule]]] = {}
    for rule in all_rules():
        printed = (*rule.spellings, *rule.complex_spellings)
        names = [*((name, name) for name in printed), *((name, None) for name in rule.aliases)]
        for name, printed in names:
            function = resolve(name)
            if function is not None:
                found.setdefault(id(function), []).append((function, printed, rule))
    return found
