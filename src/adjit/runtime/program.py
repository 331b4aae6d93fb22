"""From a request to a compiled program: made (`runtime.made`), loaded, kept in memory and on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from adjit.codegen.module import render
from adjit.errors import UnsupportedError
from adjit.ir.core import Span
from adjit.ir.structure import Spec
from adjit.runtime import cache
from adjit.runtime.compile import load, only_called_by_others, stored_text, with_room
from adjit.runtime.device_text import device_text, dialect_of, entered, parameters_fit
from adjit.runtime.made import Made, prepared, transformed
from adjit.runtime.memory import limited
from adjit.runtime.plain import boxed
from adjit.runtime.request import Request
from adjit.runtime.stack import stack_bytes
from adjit.runtime.sweeps import Sweeps, Swept
from adjit.transform.primal import Primal, captures_of, fingerprint, primal_of

_NO_LIMIT = 2**62
"""Records on a device take what memory there is; an allocation that fails says so."""


def _one_by_one(_: int) -> None:
    """Of a program without sweeps of several cotangents."""


@dataclass(frozen=True)
class Compiled:
    """A program that is ready to be called (see the module for the conventions).

    captured: the names of the captures. raises: whether every path ends in a `raise`, so that there is no result.
    stretches: whether the program depends on which extents of its arguments are one. located: whether it checks indices
    and says in an IndexError where it was. packed: whether tangents of arrays lie side by side; columns: then all
    columns of a Jacobian in one call (`codegen.columns`), where that is known to do. reasons: why a pattern is that
    of these floats only. copied: the leaves that the plain function writes, and this program copies; empty for none.
    inner, inner_pullback: (on a device) the host functions themselves, which take the call's
    `Device` first and have `DeviceArray`s for arrays; fits: whether each kernel has no more parameters than any device
    takes.
    lanes: (split) the pullback of so many cotangents at once, from the record of one call; None where each is swept
    alone (`runtime.sweeps`).
    stores: for each leaf that is written a place that writes it. unset: (a gradient, or a pullback) for each active
    array whether its shadow may hold anything when it comes in; the others come in as zeros.
    """

    call: Callable[..., Any]
    pullback: Callable[..., Any] | None
    captures: tuple[Any, ...]
    out: Spec
    written: tuple[bool, ...]
    n_results: int
    text: Callable[[], str]
    records: tuple[tuple[str, int], ...] = ()
    captured: tuple[str, ...] = ()
    raises: bool = False
    stretches: bool = False
    located: bool = False
    packed: bool = False
    columns: Callable[..., Any] | None = None
    reasons: tuple[tuple[str, Span], ...] = ()
    copied: tuple[bool, ...] = ()
    inner: Callable[..., Any] | None = None
    inner_pullback: Callable[..., Any] | None = None
    fits: bool = True
    lanes: Callable[[int], Callable[..., Any] | None] = _one_by_one
    stores: tuple[Span | None, ...] = ()
    unset: tuple[bool, ...] = ()

    @property
    def source(self) -> str:
        """The generated module."""
        return self.text()


def build(request: Request) -> Compiled:
    """The compiled program of a request, from the cache where it is known.

    Raises: UnsupportedError, MissingRuleError.
    """
    try:
        return _build(request)
    except (RecursionError, SyntaxError) as error:
        raise UnsupportedError(
            "the program is nested too deeply", "split it into functions and loops"
        ) from error


def _build(request: Request) -> Compiled:
    key = _key(request)
    hit = None if key is None else cache.lookup(key)
    if hit is not None:
        name, meta = hit
        stored = stored_text(name)
        if stored is not None:
            captures = captures_of(request.f, request.specs, meta["captures"])
            namespace = load(stored, place=request.place)
            return _compiled(request, namespace, meta, captures, lambda: stored, None)
    text, made, primal = _made(request)
    meta = made.meta
    meta["captures"] = len(primal.captures)
    meta["lines"] = text.count("\n")
    meta["fits"] = not request.place or parameters_fit(text, request.place)
    plain = os.environ.get("ADJIT_UNCOMPILED") == "1"
    if key is not None and not plain:
        try:
            cache.store(key, text, meta)
        except Exception:  # a result type that does not pickle: the program stays in memory
            pass
    namespace = load(text, compiled=not plain, place=request.place)
    return _compiled(request, namespace, meta, primal.captures, lambda: text, made.sweep)


def _made(request: Request) -> tuple[str, Made, Primal]:
    """The program of a request, and its text."""
    primal = prepared(request, primal_of(request.f, request.specs))
    made = transformed(request, primal)
    place = request.place
    if place:
        return device_text(made.module, _shown(made.meta), dialect_of(place)), made, primal
    return render(made.module), made, primal


def _sweeps(request: Request, text: str, sweep: Swept | None) -> Callable[[int], Callable[..., Any] | None]:
    """The sweeps of several cotangents of a split program."""

    def remake() -> tuple[str, Swept]:
        again, made, _ = _made(request)
        assert made.sweep is not None
        return again, made.sweep

    plain = os.environ.get("ADJIT_UNCOMPILED") == "1"
    return Sweeps(text, _key(request) is not None, plain, sweep, remake).of


def _key(request: Request) -> str | None:
    if os.environ.get("ADJIT_UNCOMPILED") == "1":
        return None
    print_ = fingerprint(request.f, request.specs)
    if print_ is None:
        return None
    return cache.program_key(print_, replace(request, f=None, specs=()), stack_bytes())


def _compiled(
    request: Request,
    namespace: dict[str, Any],
    meta: dict[str, Any],
    captures: tuple[Any, ...],
    text: Callable[[], str],
    sweep: Swept | None,
) -> Compiled:
    only_called_by_others(namespace, (str(meta[kind]) for kind in ("call", "pullback", "columns")))
    call = with_room(namespace[meta["call"]], meta["lines"])
    pullback = None if meta["pullback"] is None else with_room(namespace[meta["pullback"]], meta["lines"])
    inner = inner_pullback = None
    if request.place:
        inner = namespace[meta["call"]]
        call = entered(request.place, inner, _shown(meta))
        if pullback is not None:
            inner_pullback = namespace[str(meta["pullback"])]
            pullback = entered(request.place, inner_pullback, 0)
    elif os.environ.get("ADJIT_UNCOMPILED") == "1":
        call, pullback = boxed(call), pullback and boxed(pullback)
    if meta["recording"]:
        memory = _NO_LIMIT if request.place and request.memory is None else request.memory
        call = limited(call, memory, meta["span"])
        inner = inner and limited(inner, memory, meta["span"])
    return Compiled(
        call,
        pullback,
        captures,
        meta["out"],
        meta["written"],
        meta["n_results"],
        text,
        meta["records"],
        meta["captured"],
        meta["raises"],
        meta["stretches"],
        meta["located"],
        meta["packed"],
        meta["columns"] and with_room(namespace[meta["columns"]], meta["lines"]),
        meta["reasons"],
        meta["copied"],
        inner,
        inner_pullback,
        meta["fits"],
        _sweeps(request, text(), sweep) if meta["lanes"] else _one_by_one,
        meta["stores"],
        meta["unset"],
    )


def _shown(meta: dict[str, Any]) -> int:
    """How many results of the function that is called are the user's; what follows is for the next sweep."""
    return meta.get("shown", meta["n_results"])
