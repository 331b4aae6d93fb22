"""Reverse mode: a typed primal becomes an augmented forward function and a reverse function.

The two are planned together (see `planner`), and so is each function that the program calls (see `callees`): what one
needs of another is found by planning all of them until nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from adjit.analysis.activity import Activity
from adjit.analysis.alias import Alias, overlapping
from adjit.errors import UnsupportedError
from adjit.ir.builder import Builder
from adjit.ir.core import Atom, Custom, Function, Stmt, Store, Sym, fresh
from adjit.ir.nests import copied_list, copy_into
from adjit.ir.types import Array
from adjit.ir.visit import (
    Passing,
    Rewriter,
    defined,
    everywhere,
    free,
    from_outside,
    reachable,
    targets,
    walk,
    walk_program,
    with_own_symbols,
)
from adjit.transform.abreast import abreast
from adjit.transform.ascend import ascend
from adjit.transform.both_ways import both_ways
from adjit.transform.carry import carry
from adjit.transform.choose import choose
from adjit.transform.clean import clean
from adjit.transform.common import common
from adjit.transform.contract import contract
from adjit.transform.counted_records import counted_records
from adjit.transform.custom import dissolved, with_forward
from adjit.transform.defer import defer_stores
from adjit.transform.fill import fill
from adjit.transform.gather import gather
from adjit.transform.gather_items import gather_items
from adjit.transform.hoist import hoist
from adjit.transform.hold import hold
from adjit.transform.join import join
from adjit.transform.lift import lift
from adjit.transform.parts import parts
from adjit.transform.prepare import count_turns, filled, forward_views
from adjit.transform.reverse.augment import Augment
from adjit.transform.reverse.callees import Callee, Calls, refuse_unsupported
from adjit.transform.reverse.growing import growing
from adjit.transform.reverse.lasting import lasting
from adjit.transform.reverse.lasting_lists import lasting_lists
from adjit.transform.reverse.materialise import KeepAllocationError, NumberBranchError
from adjit.transform.reverse.planner import Built, Planner, Wish, exposed_roots
from adjit.transform.reverse.references import references
from adjit.transform.reverse.returned import returned
from adjit.transform.reverse.rows import in_rows
from adjit.transform.reverse.turn import turned
from adjit.transform.signs import signs
from adjit.transform.sink import sink
from adjit.transform.slopes import carries
from adjit.transform.steady import steady
from adjit.transform.stride import stride
from adjit.transform.through import through
from adjit.transform.unread import unread
from adjit.transform.windows import windows

_MOST_ROUNDS = 200


@dataclass(frozen=True)
class Reversed:
    """An augmented forward function and a reverse function.

    forward: the primal's parameters, `limit` (bytes a record may take) -> the primal's results, then what is
    passed on: `saved` (split: `kept`, `saved`).
    backward: `kept` primal parameters, `saved`, `shadows`, `seeds` -> adjoints of the active scalar parameters.
    early: shadows and seeds that the forward function takes too, after `limit` (see `turn`).
    `passed`: the forward function's atoms for what is passed on. `plans`: what was planned, function by function.
    unset: shadows that may hold anything when the reverse function is called, which stores to all of them before it
    adds (those of a wish for `clear` shadows).
    """

    forward: Function
    backward: Function
    kept: tuple[Sym, ...]
    saved: tuple[Sym, ...]
    passed: tuple[Atom, ...]
    shadows: tuple[Sym, ...]
    seeds: tuple[Sym, ...]
    records: tuple[tuple[str, int], ...]
    limit: Sym
    early: tuple[Sym, ...]
    plans: tuple[tuple[Planner, Built], ...]
    unset: frozenset[Sym]


def reverse(function: Function, wish: Wish) -> Reversed:
    """Build both sweeps of a typed primal. Parameters of `function` and of `wish.inputs` are the same symbols."""
    refuse_unsupported(function)
    wish = replace(wish, device=wish.device or function.device)
    if wish.device:
        function = counted_records(function)  # of a derivative that is itself differentiated
    ready = everywhere(function, _ready)
    head, ready = returned(everywhere(_with_rules(ready, wish), hoist))
    plan = _planned(_with_shared(ready, head) if head else ready, wish)
    planner, built = plan.entry
    function = planner.function
    augment, forward, final = plan.augmented(planner, built)
    body = built[1].block()
    passed_in = sorted(free(body) - defined(body), key=lambda s: s.uid)
    together = overlapping(passed_in, planner.alias)  # an array, a view of it, a list that holds it
    name = f"{function.name}_reverse"
    whole = Function(name, (), body, built[2], span=function.span, overlapping=together)
    shadows = tuple(planner.shadow_of.values())
    backward, unset = _ordered(whole, wish.device, shadows if wish.clear else ())
    needed = from_outside(backward)
    kept = tuple(p for p in function.params if p in needed)
    given = {*shadows, *planner.seeds, *kept}
    saved = tuple(s for s in sorted(needed, key=lambda s: s.uid) if s not in given)
    passed = tuple(final.get(s, s) for s in ((*kept, *saved) if wish.split else saved))
    if wish.split:
        forward, passed = _own_copies(planner, forward, passed)
    forward = dissolved(replace(forward, results=(*function.results, *passed)))
    forward = lift(clean(forward if wish.device else stride(forward), keep_raising=True))
    early: tuple[Sym, ...] = ()
    if wish.once and not function.functions:
        count = len(function.results)
        handed = dict(zip(saved, forward.results[count:], strict=True))
        found = turned(forward, backward, count, handed, (*shadows, *planner.seeds))
        if found is not None:
            forward, backward, early, saved = found.forward, found.backward, found.early, found.taken
            kept = tuple(p for p in kept if p in backward.params)
    backward = backward if wish.device else _in_parts(backward)
    params = (*kept, *saved, *shadows, *planner.seeds)
    groups = (g.intersection(params) for g in together)
    backward = replace(backward, params=params, overlapping=tuple(g for g in groups if len(g) > 1))
    callees = plan.forms()
    layout = built[3]
    records = tuple((t.dtype.name, t.width) for t in (*layout.tapes, *layout.foreign))
    return Reversed(
        replace(forward, functions=reachable(forward, callees)),
        replace(backward, functions=reachable(backward, callees)),
        kept,
        saved,
        forward.results[len(function.results) :],
        shadows,
        planner.seeds,
        records,
        augment.limit,
        early,
        (plan.entry, *((p, b) for _, p, b in plan.callees)),
        unset,
    )


def _ready(f: Function) -> Function:
    """One function in the form that planning wants."""
    return windows(clean(forward_views(filled(f)), keep_raising=True))


@dataclass
class _Plan:
    """The planned program: the entry function and the active callees, each with its last build."""

    calls: Calls
    entry: tuple[Planner, Built]
    callees: list[tuple[Callee, Planner, Built]]

    def augmented(self, planner: Planner, built: Built) -> tuple[Augment, Function, dict[Sym, Atom]]:
        known = set(built[0].context.known_old)
        augment = Augment(
            planner.function, planner.regions, planner.decisions, built[3], known, self.calls, planner.callee
        )
        return augment, *augment.build()

    def forms(self) -> list[Function]:
        """Every form of every called function: primal, augmented, reverse."""
        found = list(self.calls.functions.values())
        for callee, planner, built in self.callees:
            _, forward, _ = self.augmented(planner, built)
            found += [
                lift(clean(stride(dissolved(forward)), keep_raising=True)),
                with_own_symbols(_reverse_form(callee, planner, built)),
            ]
        return found


def _reverse_form(callee: Callee, planner: Planner, built: Built) -> Function:
    """The reverse function of a called function; its parameters are as `Sweep` passes them."""
    primal = tuple(callee.function.params[k] for k in callee.needed)
    shadows = tuple(planner.shadow_of.values())
    state = (*(t.cursor for t in callee.state), *(t.buffer for t in callee.state))
    together = overlapping(callee.function.params, planner.alias)
    groups = [frozenset(p for p in g if p in primal) for g in together]
    groups += [frozenset(planner.shadow_of[p] for p in g if p in planner.shadow_of) for g in together]
    whole = Function(
        callee.backward,
        (*primal, *shadows, *planner.seeds, *state),
        built[1].block(),
        built[2],
        span=callee.function.span,
        overlapping=tuple(g for g in groups if len(g) > 1),
    )
    return replace(_tidied(whole), params=whole.params)


def _outputs(function: Function, wish: Wish) -> list[Atom]:
    """What receives cotangents."""
    outputs: list[Atom] = [
        function.results[k] for k in wish.seeded if function.results[k].type.differentiable
    ]
    if wish.final:
        outputs += [p for p in wish.inputs if isinstance(p.type, Array)]
    return outputs


class _Rules(Rewriter):
    """Puts `fwd` in place of each active call with a custom rule."""

    def __init__(self, activity: Activity, alias: Alias, called: bool):
        super().__init__()
        self._activity, self._alias = activity, alias
        self._depth = int(called)  # enclosing loops, branches and calls

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Custom):
            self._depth += 1
            rebuilt = self.rebuild(stmt)
            self._depth -= 1
            return (rebuilt,)
        written = [s.array for s in walk(stmt.body) if isinstance(s, Store)]
        if not any(map(self._activity.active, (*stmt.results, *written))):
            return (stmt,)
        roots = frozenset[Sym]().union(*(self._alias.roots(a) for a in written))
        places = tuple(k for k, a in enumerate(stmt.args) if not self._alias.roots(a).isdisjoint(roots))
        return with_forward(stmt, places, self._depth > 0)


def _with_rules(function: Function, wish: Wish) -> Function:
    if not any(isinstance(s, Custom) for s in walk_program(function)):
        return function
    alias = Alias(function)
    activity = Activity(function, alias, wish.inputs, _outputs(function, wish), carries)
    called = {f.name for f in function.functions}
    return everywhere(
        function, lambda f: replace(f, body=_Rules(activity, alias, f.name in called).block(f.body))
    )


def _tidied(backward: Function) -> Function:
    """The reverse function of a called one without dead code, with its memory traffic in a good order."""
    return _in_parts(_ordered(backward)[0])


def _ordered(
    backward: Function, device: bool = False, clear: Sequence[Sym] = ()
) -> tuple[Function, frozenset[Sym]]:
    """The reverse function without dead code, with its increments in a good order.

    clear: shadows that hold zeros at first; also returns those that need not. On a device every turn of a parallel loop
    is a work item: guards stay guards.
    """
    backward = clean(backward)
    backward = replace(backward, params=tuple(sorted(from_outside(backward), key=lambda s: s.uid)))
    if device:
        ordered = sink(choose(common(through(clean(backward)))))
        return clean(common(steady(clean(unread(clean(gather_items(ordered))))))), frozenset()
    ordered = sink(choose(common(through(clean(stride(backward))))))
    unset: frozenset[Sym] = frozenset()
    for ordering in (_held, join, gather, fill):
        after, more = ordering(ordered, frozenset(clear) - unset)
        ordered, unset = ordered if after is ordered else clean(after), unset | more
    return clean(common(steady(clean(unread(ordered))))), unset


def _in_parts(backward: Function) -> Function:
    """The reverse function with its parallel loops in parts, its turns tied together by what one hands to the next."""
    return clean(carry(defer_stores(signs(abreast(both_ways(ascend(lift(parts(backward)))))))))


def _held(function: Function, clear: Iterable[Sym]) -> tuple[Function, frozenset[Sym]]:
    """What is pushed to several arrays written down, and those arrays not made that need not be."""
    after, unset = hold(function, clear)
    if after is function:
        return function, unset
    return contract(clean(unread(clean(after))), adjoint=True), unset


def _planned(function: Function, wish: Wish) -> _Plan:
    """Plan, keeping references to the allocations inside loops and calls that turn out to be needed."""
    function = lasting_lists(lasting(function))
    forced: set[Sym] = set()
    chosen: set[Sym] = set()
    while True:
        versions = growing(function)
        program = _followed(function, forced, versions, chosen)
        try:
            return _plan(everywhere(filled(program), count_turns), wish, versions)
        except KeepAllocationError as error:
            rows = in_rows(function, error.array)
            if rows is None:
                forced.add(error.array)
            else:
                function = rows
        except NumberBranchError as error:
            if error.array in chosen:
                raise UnsupportedError(
                    f"the array `{error.array.name}`, chosen by a branch, cannot be followed backwards",
                    "use one array and copy into it, or index both",
                    error.span,
                ) from None
            chosen.add(error.array)


def _followed(function: Function, forced: set[Sym], versions: dict[Sym, Sym], chosen: set[Sym]) -> Function:
    """The program with rebound arrays as numbers. Lists that callees fill are made in the entry function."""
    callees: list[Function] = []
    shared: list[Stmt] = []
    for f in function.functions:
        head, callee = references(f, forced, versions, chosen)
        callees.append(filled(callee))
        shared += head
    head, entry = references(replace(function, functions=()), forced, versions, chosen)
    entry = replace(entry, body=(*head, *entry.body), functions=tuple(callees))
    return _with_shared(entry, tuple(shared)) if shared else entry


def _with_shared(entry: Function, head: tuple[Stmt, ...]) -> Function:
    """What `head` defines is made once, in the entry function, and passed to every callee."""
    made = tuple(s for stmt in head for s in targets(stmt))
    callees: list[Function] = []
    for f in entry.functions:
        own = tuple(fresh(s) for s in made)
        body = Passing(own, dict(zip(made, own, strict=True))).block(f.body)
        callees.append(replace(f, params=(*f.params, *own), body=body))
    body = Passing(made).block(entry.body)
    return replace(entry, body=(*head, *body), functions=tuple(callees))


def _plan(program: Function, wish: Wish, versions: dict[Sym, Sym]) -> _Plan:
    """Plan every function until what they ask of each other does not change; then build with their records known."""
    alias = Alias(program)
    activity = Activity(program, alias, wish.inputs, _outputs(program, wish), carries)
    calls = Calls(program, alias, activity)
    for _ in range(_MOST_ROUNDS):
        before = calls.facts()
        callees: list[tuple[Callee, Planner, Built]] = []
        for callee in calls.callees.values():
            if callee.active:
                planner = Planner(callee.function, wish, versions, activity, calls, callee)
                built = planner.plan()
                _learn(calls, planner, built)
                callees.append((callee, planner, built))
        entry = Planner(program, wish, versions, activity, calls)
        built = entry.plan()
        _learn(calls, entry, built)
        if calls.facts() == before:
            break
    else:
        raise AssertionError("the plans of the program's functions do not settle")
    if not callees:
        return _Plan(calls, (entry, built), [])
    tapes = {callee.function.name: built[3].tapes for callee, _, built in callees}
    for callee, _, _ in callees:
        names = calls.reached(callee.function.name)
        callee.state = tuple(t for name in names for t in tapes.get(name, ()))
    last = [(callee, planner, _built_again(planner, built)) for callee, planner, built in callees]
    return _Plan(calls, (entry, _built_again(entry, built)), last)


def _built_again(planner: Planner, built: Built) -> Built:
    """The last build once more, now that it is known which records each call moves."""
    layout = built[3]
    layout.attach(planner.regions, lambda call: planner.calls.of(call).state)
    return planner.sweep(layout)


def _learn(calls: Calls, planner: Planner, built: Built) -> None:
    """What the plan of one function means for the others."""
    reads, rolled, back = planner.memory(built[0])
    calls.want_back(back)
    callee = planner.callee
    if callee is None:
        return
    callee.reads, callee.rolled = reads, rolled
    form = _tidied(Function(callee.backward, (), built[1].block(), built[2]))
    read = from_outside(form)
    callee.needed = tuple(k for k, p in enumerate(callee.function.params) if p in read)


def _own_copies(
    planner: Planner, forward: Function, passed: tuple[Atom, ...]
) -> tuple[Function, tuple[Atom, ...]]:
    """Arrays that the caller can reach are copied before they are kept."""
    exposed = exposed_roots(planner.function, planner.alias)
    b = Builder(forward.span)
    own: list[Atom] = []
    for a in passed:
        if isinstance(a, Sym) and isinstance(a.type, Array) and a in exposed:
            copy = b.alloc_like(a.name, a)
            copy_into(b, copy, a)
            a = copy
        elif isinstance(a, Sym) and not planner.alias.held(a).isdisjoint(exposed):
            a = copied_list(b, a, a.name)
        own.append(a)
    return replace(forward, body=(*forward.body, *b.block())), tuple(own)


__all__ = ["Reversed", "Wish", "reverse"]
