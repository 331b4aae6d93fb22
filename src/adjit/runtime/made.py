"""From a request and a typed primal to the generated module: prepare, transform, put in the order that is printed.

The calling conventions are flat: leaves of the arguments in order, captured arrays, then shadows or tangents, then
seeds. What comes back is a flat tuple: leaves of the result, then adjoints or tangents (or, in split mode, what the
pullback needs).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from adjit.analysis.alias import Alias, first_stores
from adjit.analysis.certain_races import refuse_certain_races
from adjit.codegen.accumulate import accumulated
from adjit.codegen.chains import chains
from adjit.codegen.columns import columns_of
from adjit.codegen.loose import loose, loose_parts
from adjit.codegen.module import Module, Unit
from adjit.codegen.names import is_reserved
from adjit.codegen.rarely import rarely
from adjit.errors import ArgumentError, UnsupportedError
from adjit.ir.core import NOWHERE, Call, Function, If, Raise, Span, Stmt, Store, Sym
from adjit.ir.structure import TupleSpec, leaves
from adjit.ir.types import Array
from adjit.ir.verify import verify
from adjit.ir.visit import everywhere, walk_program
from adjit.runtime.device_text import RESERVED_ON_DEVICE
from adjit.runtime.joint import joint_glue
from adjit.runtime.places import placed
from adjit.runtime.request import Request
from adjit.runtime.stack import stack_bytes
from adjit.runtime.sweeps import Swept
from adjit.runtime.widths import WIDTHS
from adjit.transform.abreast import abreast
from adjit.transform.bounds import bounds_checked
from adjit.transform.carry import carry
from adjit.transform.clean import clean
from adjit.transform.contract import contract
from adjit.transform.depth import deepest, limited_depth
from adjit.transform.extremes import extremes
from adjit.transform.forward import forward
from adjit.transform.interchange import interchange
from adjit.transform.lift import lift
from adjit.transform.parallel_nests import asked_nests, parallel_nests
from adjit.transform.parts import parts
from adjit.transform.primal import Primal
from adjit.transform.pure import pure
from adjit.transform.reverse import Reversed, Wish, reverse
from adjit.transform.side_by_side import side_by_side
from adjit.transform.sparsity import sparsity
from adjit.transform.unread import unread
from adjit.transform.values_only import values_only
from adjit.transform.wavefront import wavefront
from adjit.transform.widen import widened


def _written(function: Function) -> dict[Sym, Store]:
    return first_stores(function, Alias(function))


def _refuse_written_captures(request: Request, function: Function, written: dict[Sym, Store]) -> None:
    for p in function.params[len(request.active) :]:
        if p in written:
            raise UnsupportedError(
                f"{function.name}() writes `{p.name}`, an array that is captured or a default value",
                "pass the array as an argument",
                _place(written[p]) or function.span,
            )


def _place(store: Store | None) -> Span | None:
    return None if store is None or store.span == NOWHERE else store.span


def prepared(request: Request, primal: Primal) -> Primal:
    """The primal as the request's transform takes it."""
    primal = _contracted(primal, request)
    if request.place:
        derived = request.kind != "primal"
        nests = everywhere(primal.function, lambda f: parallel_nests(extremes(f, derived)))
        primal = replace(primal, function=interchange(nests))
    elif not (request.boundscheck or primal.boundscheck):  # a check says where the first access failed
        primal = replace(primal, function=everywhere(primal.function, asked_nests))
    if request.boundscheck or primal.located:
        primal = replace(primal, function=bounds_checked(primal.function))
    if request.pure:
        _refuse_written_captures(request, primal.function, _written(primal.function))
        primal = replace(primal, **pure(primal.function, primal.out))
    return replace(primal, out=placed(primal.out, request.place)) if request.place else primal


@dataclass(frozen=True)
class Made:
    """A program before it is rendered. swept: (reverse mode) both sweeps and how they were planned. sweep: (split) the
    second one, for `runtime.sweeps`.
    """

    module: Module
    meta: dict[str, Any]
    swept: Reversed | None = None
    sweep: Swept | None = None


def transformed(request: Request, primal: Primal) -> Made:
    """The program of a prepared primal. Raises UnsupportedError, MissingRuleError."""
    function = primal.function
    refuse_certain_races(function)
    n_leaves = len(request.active)
    params = function.params[:n_leaves]
    written = _written(function)
    _refuse_written_captures(request, function, written)
    meta: dict[str, Any] = {
        "out": primal.out,
        "written": tuple(p in written for p in params),
        "copied": primal.copied[:n_leaves],
        "stores": tuple(_place(written.get(p)) for p in params),
        "n_results": len(function.results),
        "captured": tuple(p.name for p in function.params[n_leaves:]),
        "raises": _raises(function.body),
        "stretches": primal.stretches,
        "records": (),
        "reasons": (),
        "pullback": None,
        "recording": False,
        "span": function.span,
        "located": request.boundscheck or primal.located,
        "packed": False,
        "columns": None,
        "lanes": False,
        "unset": (),
    }
    active = tuple(p for p, on in zip(params, request.active, strict=True) if on)
    for p in active:
        if not p.type.differentiable:
            raise ArgumentError(f"`{p.name}` of type {p.type} carries no derivative")
    taken = is_reserved(function.name) or (request.place and function.name in RESERVED_ON_DEVICE)
    if taken:  # by this name the generated text means something else
        primal = replace(primal, function=replace(function, name=f"{function.name}_function"))
    build_kind = {
        "primal": _primal,
        "forward": _forward,
        "joint": _joint,
        "split": _split,
        "sparsity": _sparsity,
    }[request.kind]
    made = build_kind(request, primal, active, meta)
    return replace(made, module=_limited_depth(made.module))


def _raises(block: Sequence[Stmt]) -> bool:
    """Whether every path through the block ends in a `raise`."""
    return any(
        isinstance(s, Raise) or (isinstance(s, If) and _raises(s.then) and _raises(s.els)) for s in block
    )


def _limited_depth(module: Module) -> Module:
    """Functions that call themselves raise before the stack overflows."""
    limit = deepest((u.function for u in module.units), stack_bytes())
    if limit is None:
        return module
    units = tuple(replace(u, function=limited_depth(u.function, limit)) for u in module.units)
    return replace(module, units=units)


def _last(request: Request, primal: Primal, backward: Function) -> Function:
    """Adjoint code as it is printed: nothing is derived from it any more."""
    backward = everywhere(backward, values_only)
    plain = os.environ.get("ADJIT_UNCOMPILED") == "1" or request.place
    if plain:
        return backward
    backward = everywhere(loose(accumulated(backward)), rarely)
    return backward if primal.fastmath else everywhere(backward, chains)


def _unit(request: Request, primal: Primal, function: Function, adjoint: bool = False) -> Unit:
    function = function if adjoint else everywhere(function, values_only)
    if not adjoint and not request.place:  # adjoint code has been put in order with its loops in parts
        function = everywhere(function, lambda f: _ordered(request, primal, f))
        if os.environ.get("ADJIT_UNCOMPILED") != "1":
            function = everywhere(function, lambda f: rarely(loose_parts(f)))
    if os.environ.get("ADJIT_VERIFY") == "1":
        verify(function)
    return Unit(
        function,
        "numpy" if adjoint else primal.error_model,
        primal.fastmath,
        request.boundscheck or primal.boundscheck or None,
    )


def _ordered(request: Request, primal: Primal, function: Function) -> Function:
    """Primal code with its loops in parts, and recurrences and sums in forms that the processor is faster with."""
    function = parts(function)
    if not (request.boundscheck or primal.boundscheck):  # both read before a loop begins what it would read
        raising = primal.error_model != "numpy"
        function = wavefront(abreast(function, raising), raising)
        function = carry(function, stored=True)
        function = function if primal.fastmath else side_by_side(function)
    return clean(function, keep_raising=True)


def _calls_itself(function: Function) -> bool:
    return any(isinstance(s, Call) and s.callee == function.name for s in walk_program(function))


def _units(
    request: Request, primal: Primal, rev: Reversed, results: int, wide: Function | None = None
) -> tuple[Unit, Unit]:
    """Both sweeps, the second one for several cotangents where `wide` is it.

    What the first hands to the second comes after the user's `results`.
    """
    handed = rev.backward.params[: len(rev.kept) + len(rev.saved)][-len(rev.passed) :] if rev.passed else ()
    forward = _unit(request, primal, rev.forward)
    backward = _unit(request, primal, _last(request, primal, wide or rev.backward), True)
    return replace(forward, results=results), replace(backward, handed=handed)


def _contracted(primal: Primal, request: Request) -> Primal:
    """Without local arrays that need not be made; with them where every index is to be checked."""
    if request.boundscheck or primal.boundscheck:
        return primal
    raising = primal.error_model != "numpy"
    return replace(primal, function=everywhere(primal.function, partial(contract, raising=raising)))


def _primal(request: Request, primal: Primal, _: object, meta: dict[str, Any]) -> Made:
    function = everywhere(primal.function, lambda f: lift(clean(f, keep_raising=True)))
    meta["call"] = function.name
    return Made(Module((_unit(request, primal, function),), (), _doc(primal, "the primal")), meta)


def _in_lanes(request: Request, primal: Primal) -> bool:
    """Whether lanes may be: not on devices, nor where accesses are checked, which is one at a time."""
    return not (request.place or request.boundscheck or primal.boundscheck or primal.located)


def _forward(request: Request, primal: Primal, active: tuple[Sym, ...], meta: dict[str, Any]) -> Made:
    packed = request.packed and _in_lanes(request, primal)
    pushed = forward(primal.function, active, request.width, packed)
    function = pushed.function
    if not request.value and not _calls_itself(function):
        function = replace(function, results=function.results[pushed.n_results :])
        function = clean(unread(clean(function, keep_raising=True)), keep_raising=True)
        meta["n_results"] = 0
    meta["call"], meta["packed"] = function.name, pushed.packed
    meta["shown"] = len(function.results)  # tangents are the user's as well
    unit = _unit(request, primal, function)
    columns = None
    if pushed.packed and not any(meta["written"]):
        wanted = len(active) == 1 and sum(a.type.differentiable for a in primal.function.results) == 1
        columns = columns_of(f"{function.name}_columns", unit.function, active[0]) if wanted else None
        meta["columns"] = columns and columns.name
    return Made(Module((unit,), (), _doc(primal, "value and tangents"), columns), meta)


def _sparsity(request: Request, primal: Primal, active: tuple[Sym, ...], meta: dict[str, Any]) -> Made:
    pattern = sparsity(primal.function, active)
    meta.update(call=pattern.function.name, reasons=pattern.reasons)
    primal = replace(primal, error_model="numpy", fastmath=False)
    unit = _unit(request, primal, pattern.function)
    return Made(Module((unit,), (), _doc(primal, "what depends on what")), meta)


def _seeded(request: Request, primal: Primal) -> tuple[int, ...]:
    """Indices of the results that receive a cotangent."""
    out = primal.out
    seeded = out.items[0] if request.aux and isinstance(out, TupleSpec) else out
    count = sum(1 for _ in leaves(seeded))
    results = primal.function.results[:count]
    return tuple(k for k, a in enumerate(results) if a.type.differentiable)


def _joint(request: Request, primal: Primal, active: tuple[Sym, ...], meta: dict[str, Any]) -> Made:
    clear = not (request.final or request.debug_nans or request.width > 1)
    wish = Wish(
        active,
        _seeded(request, primal),
        final=request.final,
        watch=request.debug_nans,
        repeats=request.width > 1,
        device=bool(request.place),
        clear=clear,
        once=clear and request.value and _in_lanes(request, primal),
    )
    rev = reverse(primal.function, wish)
    count = len(primal.function.results)
    if not request.value and not _calls_itself(rev.forward):
        forward = replace(rev.forward, results=rev.forward.results[count:])
        rev = replace(rev, forward=clean(unread(clean(forward, keep_raising=True)), keep_raising=True))
        count = 0
    wide, lanes = None, WIDTHS.best(request.width)
    if request.width > 2 and _in_lanes(request, primal) and not request.debug_nans:
        wide = widened(rev.backward, rev.backward.params[-len(rev.shadows) - len(rev.seeds) :], lanes)
    units = _units(request, primal, rev, count, wide)
    glue = joint_glue(primal.function, rev, active, count, request.width, lanes if wide else 1)
    meta.update(
        call=glue.name, records=rev.records, recording=True, n_results=count, unset=_unset(rev, active)
    )
    return Made(Module(units, (glue,), _doc(primal, "value and gradient")), meta, rev)


def _split(request: Request, primal: Primal, active: tuple[Sym, ...], meta: dict[str, Any]) -> Made:
    wish = Wish(
        active,
        _seeded(request, primal),
        split=True,
        watch=request.debug_nans,
        device=bool(request.place),
        clear=not request.debug_nans,
    )
    rev = reverse(primal.function, wish)
    units = _units(request, primal, rev, len(primal.function.results))
    meta.update(call=rev.forward.name, pullback=rev.backward.name, records=rev.records, recording=True)
    meta["lanes"] = _in_lanes(request, primal) and not request.debug_nans
    meta["unset"] = _unset(rev, active)
    sweep = Swept(
        rev.backward,
        len(rev.shadows) + len(rev.seeds),
        lambda wide: _unit(request, primal, _last(request, primal, wide), True),
        _doc(primal, "pullback of several cotangents"),
    )
    return Made(Module(units, (), _doc(primal, "value, and pullback")), meta, rev, sweep)


def _unset(rev: Reversed, active: tuple[Sym, ...]) -> tuple[bool, ...]:
    """For each active array whether its shadow may hold anything when the program is called."""
    arrays = sum(isinstance(p.type, Array) for p in active)
    assert len(rev.shadows) == arrays, "a shadow for each active array"
    return tuple(shadow in rev.unset for shadow in rev.shadows)


def _doc(primal: Primal, what: str) -> str:
    span = primal.function.span
    return f"{primal.function.name}: {what}. Source: {span.file}:{span.line}"
