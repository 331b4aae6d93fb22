"""From a program's request to its report: what `explain` of every operator ends in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba.core.dispatcher import Dispatcher

from adjit.api.engine import request_of
from adjit.api.plan import Leaves
from adjit.api.source import Source
from adjit.ir.structure import Spec
from adjit.rules.custom import CustomFunction

if TYPE_CHECKING:
    from adjit.api.report import Report


def report(
    source: Source, tree: Leaves, values: tuple[Any, ...], kind: str, active: tuple[bool, ...], **more: Any
) -> Report:
    """The report of one program. Nothing is compiled or run. Raises UnsupportedError, MissingRuleError."""
    from adjit.api.report import Report
    from adjit.runtime.explained import explained

    request = request_of(source, tree.specs, kind, active, **more)
    found = explained(request, tree.of(values), _has_numpy_types(source.base))
    names = tuple(n for n, on in zip(tree.names, active, strict=True) if on)
    return Report(found.name, kind, found.span, names, found.facts, found.lines)


def result_of(source: Source, specs: tuple[Spec, ...]) -> Spec:
    """The structure of the function's result."""
    from adjit.runtime import explained

    request = request_of(source, specs, "primal", ())
    return explained.result_of(request)


def _has_numpy_types(base: Any) -> bool:
    """Whether the function is typed by NumPy's rules, not by Numba's."""
    while hasattr(base, "source_"):
        base = base.source_.base
    return not isinstance(base.primal if isinstance(base, CustomFunction) else base, Dispatcher)
