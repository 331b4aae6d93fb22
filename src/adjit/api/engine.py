"""From the arguments of a call to the plan that serves it: one dictionary look-up where nothing is new.

An `Engine` belongs to one operator on one function. Plans are kept per signature of the arguments, and shared
between functions of the same code and captured values, so that `grad(lambda ...)` in a loop is built once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from adjit.api.bounds import located
from adjit.api.debug import debugging, trapping
from adjit.api.source import Source
from adjit.errors import DeviceError
from adjit.ir.structure import Spec
from adjit.runtime.arguments import LAYOUT_FLAGS, SIMPLE, key_of, ones_of, spec_of, writable
from adjit.runtime.captures import watch_of
from adjit.runtime.places import common_place
from adjit.runtime.request import Request
from adjit.runtime.signature import place

BUILDING = threading.RLock()
_KEPT = 512
_stores: OrderedDict[Hashable, dict[Hashable, Any]] = OrderedDict()

_engines: dict[Hashable, Engine[Any]] = {}

P = TypeVar("P")


class Engine(Generic[P]):
    """Plans of one operator on one function.

    make: builds a plan from the specs of the arguments and the operator's own key (`extra`: what is active).
    key: what tells this operator from others on the same function. What partials bind is not kept: it comes with
    the call.
    """

    def __init__(self, source: Source, key: Hashable, make: Callable[[Engine[P], tuple[Spec, ...], Any], P]):
        self.source, self._make = source.unbound(), make
        self._key = (key, source.key)
        self._watch = watch_of(source.base)
        self._names = source.signature.names
        self._captured: Hashable = None
        self._built = threading.local()
        self._plans: dict[Hashable, P] = {}

    def plan(self, values: tuple[Any, ...], extra: Hashable = None) -> P:
        """The plan for these values, one per parameter. Raises ArgumentError naming what does not fit."""
        parts: list[Hashable] = [extra, debugging.get()]
        for value, name in zip(values, self._names, strict=True):
            cls = type(value)
            if cls is np.ndarray:
                parts.append((value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS))
            else:
                parts.append(cls if cls in SIMPLE else key_of(value, name))
        key: Hashable = tuple(parts)
        captured = self._watch.key()
        if captured is not self._captured:
            self._switch(captured)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans.get((key, ones_of(values)))
        return self._new(key, values, extra) if plan is None else plan

    def compile(self, specs: tuple[Spec, ...], kind: str, active: tuple[bool, ...], **more: Any) -> Any:
        """Build the program of `kind` ("joint", "split", "forward", "primal").

        Programs are built for writable arrays; `plan.Guard` refuses a read-only one that is written.
        """
        from adjit.runtime import program

        options = self.source.options
        on_device = common_place(specs, self._names)
        if on_device and (options.boundscheck or debugging.get()):
            wanted = "boundscheck" if options.boundscheck else "debug_nans"
            raise DeviceError(
                f"{wanted} of a program on a device", "run it on NumPy arrays", place(self.source.base)
            )
        compiled = program.build(request_of(self.source, specs, kind, active, **more))
        self._built.stretches = getattr(self._built, "stretches", False) or compiled.stretches
        for wrap, wanted in ((trapping, debugging.get()), (located, compiled.located)):
            if wanted:
                pullback = compiled.pullback and wrap(compiled.pullback)
                compiled = replace(compiled, call=wrap(compiled.call), pullback=pullback)
        return compiled

    def _switch(self, captured: Hashable) -> None:
        """Take the plans that belong to these captured values."""
        with BUILDING:
            store = (self._key, captured)
            self._plans = _stores.setdefault(store, {})
            _stores.move_to_end(store)
            while len(_stores) > _KEPT:
                _stores.popitem(last=False)
            self._captured = captured

    def _new(self, key: Hashable, values: tuple[Any, ...], extra: Any) -> P:
        with BUILDING:
            at = (key, ones_of(values))
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plans.get(at)
            if plan is None:
                specs = tuple(spec_of(v, n) for v, n in zip(values, self._names, strict=True))
                self._built.__dict__.clear()
                plan = self._make(self, specs, extra)
                self._plans[key if self._serves_all() else at] = plan
            return plan

    def _serves_all(self) -> bool:
        """Whether the plan just made is right whichever extents are one: not where it has built no program yet."""
        return getattr(self._built, "stretches", True) is False


def request_of(
    source: Source, specs: tuple[Spec, ...], kind: str, active: tuple[bool, ...], **more: Any
) -> Request:
    """What is asked of `runtime.program` for a function and the structure of its arguments."""
    options = source.options
    return Request(
        f=source.base,
        specs=tuple(map(writable, specs)),
        kind=kind,
        active=active,
        pure=source.pure,
        boundscheck=options.boundscheck,
        deterministic=options.deterministic,
        memory=options.memory,
        debug_nans=debugging.get(),
        **more,
    )


def engine_of(
    source: Source, key: Hashable, make: Callable[[Engine[P], tuple[Spec, ...], Any], P]
) -> Engine[P]:
    """The engine of an operator that is a plain call (`vjp`, `jvp`): made once per function and options.

    What partials bind is not part of it: it is a run-time argument.
    """
    at = (id(source.base), key, source.key)
    kept = _engines.get(at)
    if kept is None:
        with BUILDING:
            kept = _engines[at] = Engine(source, key, make)
            while len(_engines) > _KEPT:
                del _engines[next(iter(_engines))]
    return kept
