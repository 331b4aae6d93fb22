"""Loops: which values they carry, how they end, and what `for` iterates over.

A `for` over ranges, arrays and their zips becomes a counted Loop; over a tuple it is unrolled. A `while` becomes
an endless Loop whose body tests the condition, runs the turn under an If, and stops where it fails:

    while c: body    ->    loop: c; If(c, body, nothing); stop not c
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from adjit.errors import UnsupportedError
from adjit.frontend import expressions, iteration, list_names, liveness, statements
from adjit.frontend.context import (
    BREAK,
    CONTINUE,
    EXITS,
    RESULT,
    RETURN,
    Branch,
    Env,
    Lowering,
    hint_of,
    portable,
)
from adjit.frontend.values import (
    FIRST_TURN,
    UNBOUND,
    Conflict,
    FlatValue,
    Growing,
    IndexSpace,
    NdEnumerateValue,
    RangeValue,
    Unbound,
    Value,
    atoms,
    carried_type,
    fits,
    rebuild,
    two_names,
)
from adjit.ir.core import FALSE, ONE, TRUE, Atom, Const, Loop, Sym, Undef
from adjit.ir.notes import InOrder
from adjit.ir.types import BOOL, UNKNOWN, Type

STOP = "$stop"


# what is carried


@dataclass(slots=True)
class _Carried:
    """One name that a loop carries: its params, and what it was before."""

    name: str
    template: Value
    params: list[Sym]
    inits: list[Atom]
    value: Value
    aliases: list[str] = field(default_factory=list)  # other names of the same list
    ends: frozenset[object] = frozenset()  # owners that a list has at the end of a turn


class _Plan:
    """The params, nexts and results of a loop under construction."""

    def __init__(self, lx: Lowering, node: ast.For | ast.While):
        self.lx, self.node = lx, node
        self.facts = liveness_of(lx, node)
        self.before = lx.env
        self.guesses: dict[str, Value] = {}
        self.lists = list_names.Carried(lx.env)
        self.unsure = False  # a name has one kind on one path through a turn, and none on the others

    def start(self) -> tuple[Env, list[_Carried]]:
        """The names at the start of a turn."""
        env = self.before.copy()
        for name in (*EXITS, RESULT):
            env.names.pop(name, None)
        carried: list[_Carried] = []
        slots: dict[Value, _Carried] = {}
        for name in dict.fromkeys((*self.facts.assigned, *self.lists.changed)):
            old = env.names.pop(name, UNBOUND)
            if name not in self.facts.start and name not in self.lists.changed:
                continue
            if isinstance(old, Growing) and old in slots and name not in self.lists.apart:
                slots[old].aliases.append(name)
                env.names[name] = slots[old].value
                continue
            slot = self.slot(name, old, self.guesses.get(name, Undef(UNKNOWN)))
            env.names[name] = slot.value
            slots[old] = slot
            carried.append(slot)
        return env, carried

    def scout(self, turn: Callable[[], object]) -> bool:
        """Run the first turn only to learn the kinds of names that it binds for the next one."""
        names = [n for n in self.facts.assigned if n in self.facts.start and n not in self.guesses]
        names = [n for n in names if isinstance(self.before.names.get(n, UNBOUND), Unbound)]
        if not names:
            return False
        env, _ = self.start()
        env.names.update(dict.fromkeys(names, FIRST_TURN))
        try:
            with self.lx.in_loop():
                end = self.lx.attempt(env, lambda: _ignore(turn)).env
        except UnsupportedError:
            return False
        for name in names:
            found = end.names.get(name, UNBOUND)
            self.guesses[name] = Undef(UNKNOWN) if isinstance(found, Unbound | Conflict) else found
        return True

    def slot(self, name: str, old: Value, otherwise: Value) -> _Carried:
        template = otherwise if isinstance(old, Unbound) else old
        if isinstance(template, Growing):
            template = self.lists.owned(name, template)
        params = [Sym(hint_of(name), _param_type(name, a)) for a in atoms(template)]
        value = rebuild(template, iter(params))
        for param, a in zip(params, atoms(template), strict=True):
            self.lx.like(param, a)
        absent: list[Atom] = [Undef(p.type) for p in params]
        inits = absent if isinstance(old, Unbound) else list(atoms(old))
        return _Carried(name, value, params, inits, value)

    def nexts(self, slot: _Carried, end: Env) -> list[Atom] | None:
        """What the slot is at the end of a turn; None if its kind must be guessed anew."""
        if end.dead or end.flag(RETURN) == TRUE:
            return [Undef(p.type) for p in slot.params]
        value = end.names.get(slot.name, UNBOUND)
        if isinstance(value, Unbound):
            return [Undef(p.type) for p in slot.params]
        self.lx.both_grow(value, slot.template)
        found = None if isinstance(value, Conflict) else fits(value, slot.template)
        if isinstance(value, Growing):
            slot.ends = value.owners
        if found is None and isinstance(self.before.names.get(slot.name, UNBOUND), Unbound):
            if slot.name not in self.guesses:
                if isinstance(value, Conflict):
                    self.unsure = True
                else:
                    self.guesses[slot.name] = value
                return None
        if found is None:
            both = self.lx.conflict(slot.template, value)
            before, after = both.kinds
            self.lx.refuse(
                self.node,
                f"'{slot.name}' is {before} at the start of a turn of this loop and {after} at its end",
                two_names(both),
            )
        return found

    def late(self, name: str, end: Env) -> tuple[_Carried | None, Value]:
        """A name that is only read after the loop: its slot, or what it stands for without one."""
        old = self.before.names.get(name, FALSE if name in (RETURN, BREAK) else UNBOUND)
        value = end.names.get(name, UNBOUND)
        if end.dead or isinstance(value, Unbound) or (name in (RETURN, BREAK) and value == FALSE):
            return None, UNBOUND if name in (RETURN, BREAK) else old
        if isinstance(value, Conflict):
            return None, value
        template = value
        if isinstance(old, Unbound):
            if not portable(value):
                return None, Conflict((self.lx.kind(value), "nothing"))
            has_atoms = any(True for _ in atoms(value))
            return (self.slot(name, UNBOUND, template), value) if has_atoms else (None, value)
        if name == RETURN and not isinstance(value, Sym | Const | Undef):
            raise AssertionError
        self.lx.both_grow(old, template)
        found = fits(old, template)
        if found is None:
            return None, self.lx.conflict(old, value)
        if not found:
            return None, value
        slot = self.slot(name, UNBOUND, template)
        slot.inits = found
        return slot, value


def liveness_of(lx: Lowering, node: ast.For | ast.While) -> liveness.Facts:
    """The loop's facts, from the scope of the function that it stands in."""
    return lx.frame.scope.loops[node]


def _ignore(turn: Callable[[], object]) -> None:
    turn()


def _param_type(name: str, a: Atom) -> Type:
    return BOOL if name in (RETURN, BREAK, STOP) else carried_type(a.type)


def _emit(
    lx: Lowering,
    node: ast.For | ast.While,
    bounds: iteration.Bounds | None,
    turn: Callable[[Sym | None], Atom | None],
    hint: str = "i",
    parallel: bool = False,
    going_on: list[Env] | None = None,
) -> Env:
    """Build the Loop; `turn` lowers one turn and gives the stop flag. Gives the names at a turn's end.

    going_on: where `turn` puts the names with which the next turn begins, if these are others.
    """
    plan = _Plan(lx, node)
    while True:
        start, carried = plan.start()
        index = None if bounds is None else _index(lx, bounds, hint)
        stop: list[Atom | None] = []
        try:
            with lx.in_loop():
                branch = lx.attempt(start, lambda index=index, stop=stop: stop.append(turn(index)))
        except UnsupportedError:
            if not plan.scout(lambda index=index: turn(index)):
                raise
            continue
        plan.lists.going_on = going_on[-1] if going_on else branch.env
        if plan.lists.again([(s.name, s.value, s.aliases) for s in carried], branch.env):
            continue
        nexts = [plan.nexts(slot, branch.env) for slot in carried]
        if all(n is not None for n in nexts):
            break
        if plan.unsure:
            plan.unsure = False
            plan.scout(lambda index=index: turn(index))
    flat = [a for n in nexts if n is not None for a in n]
    after = plan.before.copy()
    names = [n for n in plan.facts.assigned if n not in plan.facts.start]
    for name in names:
        after.names.pop(name, None)
    live = [n for n in names if n in plan.facts.after]
    for name in (*live, RETURN, RESULT, BREAK):
        slot, value = plan.late(name, branch.env)
        if slot is None:
            if not isinstance(value, Unbound):
                after.names[name] = value
            continue
        carried.append(slot)
        flat += list(atoms(value))
    _finish(lx, plan, index, bounds, carried, flat, branch, stop[0] if stop else None, after, parallel)
    return branch.env


def _index(lx: Lowering, bounds: iteration.Bounds, hint: str) -> Sym:
    """The index of a counted loop."""
    index = Sym(hint, UNKNOWN)
    lo, hi, step = bounds
    if isinstance(step, Const) and isinstance(step.value, int):
        above = lo if step.value > 0 else expressions.integer(lx, "add", hi, ONE)
        if lx.integers.negative(above) is False:
            lx.integers.counts.add(index)
    return index


def _finish(
    lx: Lowering,
    plan: _Plan,
    index: Sym | None,
    bounds: iteration.Bounds | None,
    carried: list[_Carried],
    nexts: list[Atom],
    branch: Branch,
    stop: Atom | None,
    after: Env,
    parallel: bool,
) -> None:
    """Append the Loop and bind its results."""
    results: list[Sym] = []
    for slot in carried:
        mine = [Sym(p.name, p.type) for p in slot.params]
        results += mine
        for result, p in zip(mine, slot.params, strict=True):
            lx.like(result, p)
        made = rebuild(slot.template, iter(mine))
        if isinstance(made, Growing):
            made = replace(made, owners=made.owners | slot.ends)
        after.names.update(dict.fromkeys((slot.name, *slot.aliases), made))
    lo, hi, step = bounds if bounds is not None else (None, None, None)
    params = tuple(p for slot in carried for p in slot.params)
    inits = tuple(a for slot in carried for a in slot.inits)
    inits = tuple(Undef(p.type) if isinstance(a, Undef) else a for a, p in zip(inits, params, strict=True))
    block = tuple(branch.block)
    span = lx.span(plan.node)
    lx.builder.append(
        Loop(
            index,
            lo,
            hi,
            step,
            params,
            inits,
            block,
            tuple(nexts),
            tuple(results),
            stop,
            span,
            parallel=parallel and stop is None and not lx.in_order,
            note=InOrder("its turns combine whole arrays other than by += and -=")
            if parallel and lx.in_order
            else None,
        )
    )
    lx.frame.env = after


def _stop(lx: Lowering) -> Atom | None:
    """The flag that ends the loop after this turn."""
    lx.env.names.pop(CONTINUE, None)
    flags = lx.env.exits((BREAK, RETURN))
    return lx.any_of(flags) if flags else None


def _otherwise(lx: Lowering, node: ast.For | ast.While) -> None:
    """The loop's `else`, and the end of its `break`."""
    broke = lx.env.flag(BREAK)
    flags = lx.env.exits((BREAK, RETURN))
    lx.env.names.pop(BREAK, None)
    if not node.orelse or TRUE in flags or lx.env.dead:
        return
    if flags:
        keep = [broke, lx.env.flag(RETURN)]
        lx.guarded([f for f in keep if f != FALSE], lambda: statements.run(lx, node.orelse))
    else:
        statements.run(lx, node.orelse)


# while


def run_while(lx: Lowering, node: ast.While) -> None:
    """Lower a `while` loop."""
    endless: list[bool] = []
    going_on: list[Env] = []

    def turn(_: Sym | None) -> Atom | None:
        test = expressions.truth(lx, expressions.evaluate(lx, node.test), node.test)
        endless.append(test == TRUE)
        if test == FALSE:
            return TRUE
        if test == TRUE:
            statements.run(lx, node.body)
            return _stop(lx)

        def body() -> None:
            statements.run(lx, node.body)
            stop = _stop(lx)
            if stop is not None:
                lx.env.names[STOP] = stop

        base = lx.env
        then = lx.attempt(base.copy(), body)
        els = lx.attempt(base.copy(), lambda: None)
        going_on.append(then.env)
        exits = STOP in then.env.names
        if exits:
            els.env.names[STOP] = TRUE
        lx.join(test, then, els)
        stop = lx.env.names.pop(STOP, None)
        if stop is None or then.env.dead:
            return lx.negate(test, "stop")
        assert isinstance(stop, Sym | Const | Undef)
        return stop

    end = _emit(lx, node, None, turn, going_on=going_on)
    if endless[-1] and not lx.env.dead:
        _after_endless(lx, end)
    _otherwise(lx, node)


def _after_endless(lx: Lowering, end: Env) -> None:
    """A `while True` comes back by `break` or `return` only."""
    if end.flag(BREAK) != FALSE:
        return
    if end.flag(RETURN) != FALSE:
        lx.env.names[RETURN] = TRUE
    else:
        lx.env.dead = True


# for


def run_for(lx: Lowering, node: ast.For) -> None:
    """Lower a `for` loop."""
    source = expressions.evaluate(lx, node.iter)
    changed = len(lx.changes)
    items = iteration.static_items(lx, source, node.iter)
    if items is not None:
        _unroll(lx, node, items)
    else:
        bounds, element = iteration.access(lx, source, node.iter)
        parallel = isinstance(source, RangeValue) and source.parallel

        def turn(index: Sym | None) -> Atom | None:
            assert index is not None
            with lx.in_parallel(parallel):
                with lx.at(node.target):
                    statements.bind(lx, node.target, element(index))
                statements.run(lx, node.body)
                return _stop(lx)

        around, lx.in_order = lx.in_order, False
        _emit(lx, node, bounds, turn, _hint(node.target, source), parallel)
        lx.in_order = around or (lx.in_order and lx.parallel_loops > 0)
    list_names.refuse_changed(lx, source, lx.changes[changed:], node)
    _otherwise(lx, node)


def _hint(target: ast.expr, source: Value) -> str:
    if isinstance(source, IndexSpace | FlatValue | NdEnumerateValue):
        return "flat"
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Tuple) and target.elts and isinstance(target.elts[0], ast.Name):
        return target.elts[0].id
    return "i"


def _unroll(lx: Lowering, node: ast.For, items: list[Value]) -> None:
    def step(k: int) -> None:
        if k == len(items):
            return
        statements.bind(lx, node.target, items[k])
        statements.run(lx, node.body)
        lx.env.names.pop(CONTINUE, None)
        flags = lx.env.exits((BREAK, RETURN))
        if lx.env.dead or TRUE in flags:
            return
        if flags:
            lx.guarded(flags, lambda: step(k + 1))
        else:
            step(k + 1)

    step(0)
