"""The reverse sweep: the primal's statements, last first, with adjoints in place of values.

    t = op(x, y)        ->   dx += szmul(dt, slope_x); dy += szmul(dt, slope_y)
    t = load a[i]       ->   da[i] += dt
    store a[i] = v      ->   dv += da[i]; da[i] = 0; a[i] = old      (old: only where a later load needs it)
    for i in range      ->   the turns, last first; adjoints of carried values are carried
    if c                ->   if c, each branch reversed

Scalars have adjoint values in SSA form, memory has shadows. No path branches on an adjoint's value.
"""

from __future__ import annotations

import cmath
from collections.abc import Iterator

from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    Alloc,
    Atom,
    Call,
    Const,
    Custom,
    If,
    Let,
    Load,
    Loop,
    Raise,
    Stmt,
    Store,
    Sym,
    Whole,
    fresh,
)
from adjit.ir.nests import add_into, sum_all
from adjit.ir.notes import InOrder
from adjit.ir.types import INT64, Array, Scalar
from adjit.ir.visit import blocks, operands, walk, yields
from adjit.rules import get as rule_of
from adjit.rules import linear
from adjit.rules.base import Point
from adjit.transform.custom import Pull, pull_call
from adjit.transform.reverse.callees import Calls
from adjit.transform.reverse.heads import reversed_range
from adjit.transform.reverse.increments import Increment, find_increment
from adjit.transform.reverse.materialise import Scope
from adjit.transform.reverse.record import Tape
from adjit.transform.reverse.shadows import Context, Shadows
from adjit.transform.reverse.trees import Trees

_POLYNOMIAL = frozenset({"add", "sub", "neg", "pos", "mul"})


class Sweep(Shadows):
    """Builds the body of the reverse function."""

    results: tuple[Atom, ...]
    calls: Calls

    def begin(self, context: Context) -> None:
        self.context = context
        self.adjoint: dict[Sym, Atom] = {}
        self.cursor: dict[Tape, Atom] = {t: t.cursor for t in (*self.layout.tapes, *self.layout.foreign)}
        self.trees = Trees(self.regions, self.results, context.active)
        self.restoring = False  # inside a custom call: memory is rolled back, nothing is differentiated
        self._busy: dict[int, bool] = {}
        self._free_memo: dict[int, tuple[Sym, ...]] = {}

    # adjoints of scalars

    def is_active(self, a: Atom) -> bool:
        return isinstance(a, Sym) and a in self.context.active

    def add(self, a: Atom, contribution: Atom) -> None:
        """Accumulate into the adjoint of `a` (nothing where it is inactive)."""
        if not self.is_active(a):
            return
        assert isinstance(a, Sym) and isinstance(a.type, Scalar)
        contribution = self.b.cast(contribution, a.type)
        old = self.adjoint.get(a)
        hint = f"d{a.name}"
        if old is not None:
            contribution = self.b.op("add", old, contribution, hint=hint)
        self.adjoint[a] = contribution
        if self.context.watch:
            self._trap(a, contribution)

    def _trap(self, s: Sym, adjoint: Atom) -> None:
        """Under `debug_nans`: raise at the first adjoint that is not finite."""
        b = self.b
        text = f"the adjoint of `{s.name}` is not finite at {b.span.file}:{b.span.line}"
        raising = Raise("FloatingPointError", (text,), b.span)
        b.if_(b.op("not_", b.op("isfinite", adjoint)), (raising,))

    def take(self, s: Sym) -> Atom | None:
        """The finished adjoint of a symbol that is about to be undefined."""
        return self.adjoint.pop(s, None)

    def _or_zero(self, a: Atom | None, s: Sym) -> Atom:
        return const_of(0.0, s.type) if a is None else a

    # blocks

    def open_region(self, region: object, builder: Builder) -> Scope:
        """Enter a region for reversal: its tapes' cursors move back by one turn."""
        scope = Scope(region, builder, len(region.block))  # type: ignore[attr-defined, arg-type]
        self.push(scope)
        for tape in self.layout.of(scope.region):
            base = builder.op("nonneg", builder.op("sub", self.cursor[tape], tape.width))
            self.cursor[tape] = base
        for tape in self.layout.at(scope.region):
            base = self.cursor[tape]
            scope.base[tape.dtype] = base
        for tape, end in self.layout.ends.get(scope.region, {}).items():
            own = self.layout.tape(scope.region, INT64)
            assert own is not None
            at = builder.op("add", self.cursor[own], own.slots[end])
            self.cursor[tape] = builder.load(own.buffer, (at,), "cursor")
        return scope

    def block(self) -> None:
        """Reverse the statements of the innermost scope's region."""
        region = self.top.region
        for i in range(len(region.block) - 1, -1, -1):
            stmt = region.block[i]
            if not self.busy(stmt):
                continue
            self.move(i)
            self.b.span = stmt.span
            self.stmt(stmt)

    def busy(self, stmt: Stmt) -> bool:
        """Whether the reverse sweep has anything to do at the statement."""
        key = id(stmt)
        if key not in self._busy:
            match stmt:
                case Let() | Load():
                    found = self.is_active(stmt.target)
                case Store():
                    found = self.has_shadow(stmt.array) or key in self.decisions.restored
                case Alloc():
                    found = stmt.fill is not None and self.is_active(stmt.fill)
                case Custom():
                    stores = self.regions.stores(stmt)
                    found = isinstance(stmt.rule, Pull) or any(
                        id(s) in self.decisions.restored for s in stores
                    )
                case Whole():
                    found = not self.restoring and any(map(self.has_shadow, stmt.outs))
                case Call():
                    found = self.calls.of(stmt).active
                case Loop() | If():
                    inner = (s for b in blocks(stmt) for s in walk(b) if not isinstance(s, Loop | If))
                    found = any(self.busy(s) for s in inner) or any(map(self.is_active, stmt.results))
                case _:
                    found = False
            self._busy[key] = found
        return self._busy[key]

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Let():
                self._let(stmt)
            case Load():
                self._load(stmt)
            case Store():
                self._store(stmt)
            case Alloc():
                self._alloc(stmt)
            case Whole():
                linear.get(stmt.op).adjoint(_Pull(self, stmt))
            case Loop():
                self._loop(stmt)
            case If():
                self._if(stmt)
            case Custom():
                self._custom(stmt)
            case Call():
                self._call(stmt)
            case _:
                pass

    def _call(self, stmt: Call) -> None:
        """The reverse form of the callee in place of the call."""
        callee = self.calls.of(stmt)
        for load in self.regions.of_call[id(stmt)][1]:
            self.repeated[id(load)] = load
        seeds = [self._or_zero(self.take(stmt.results[k]), stmt.results[k]) for k in callee.seeded]
        values = [self.need(stmt.args[k]) for k in callee.needed]
        shadows = [self.shadow_of_any(stmt.args[k]) for k in callee.shadowed]
        inputs = [(stmt.args[k], callee.function.params[k]) for k in callee.inputs]
        adjoints = tuple(Sym(f"d{p.name}", p.type) for _, p in inputs)
        cursors = tuple(fresh(t.cursor) for t in callee.state)
        given = (*(self.cursor[t] for t in callee.state), *(t.buffer for t in callee.state))
        args = (*values, *shadows, *seeds, *given)
        self.b.append(Call((*adjoints, *cursors), callee.backward, args, stmt.span))
        self.cursor.update(zip(callee.state, cursors, strict=True))
        for (a, _), d in zip(inputs, adjoints, strict=True):
            self.add(a, d)

    def _custom(self, stmt: Custom) -> None:
        """`bwd` in place of what it is the rule of; what the call wrote is rolled back."""
        if self.custom_is_active(stmt):
            self._pull_custom(stmt)
        if any(id(s) in self.decisions.restored for s in self.regions.stores(stmt)):
            (region,) = self.regions.inner[id(stmt)]
            outer, self.restoring = self.restoring, True
            scope = self.open_region(region, Builder(stmt.span, simplify=True))
            self.block()
            self.pop()
            self.restoring = outer
            self.b.extend(scope.builder.block())

    def _pull_custom(self, stmt: Custom) -> None:
        pull = stmt.rule
        assert isinstance(pull, Pull)
        cts: list[Atom] = []
        for r in stmt.results[: pull.n_values]:
            if isinstance(r.type, Array) and r.type.differentiable:
                cts.append(self.shadow(r))
            elif r.type.differentiable:
                cts.append(self._or_zero(self.take(r), r))
        res = tuple(self.need(r) for r in pull.kept)
        written = [stmt.args[k] for k in pull.written]
        shadows = tuple(self.shadow(a) for a in written if isinstance(a, Sym) and a.type.differentiable)
        body, found = pull_call(stmt, res, tuple(cts), shadows)
        self.b.extend(body)
        for a, got in zip(stmt.args, found, strict=True):
            if got is None or not isinstance(a, Sym):
                continue
            if isinstance(a.type, Array):
                if self.has_shadow(a):
                    assert isinstance(got, Sym)
                    add_into(self.b, self.shadow(a), got)
            elif self.is_active(a):
                self.add(a, got)

    def custom_is_active(self, stmt: Custom) -> bool:
        """Whether the reverse sweep calls the rule."""
        return isinstance(stmt.rule, Pull)

    # statements

    def _let(self, stmt: Let) -> None:
        ct = self.take(stmt.target)
        if ct is None:
            return
        tree = [stmt] if self.context.watch else self.trees.of(stmt)
        if len(tree) == 1:
            for k, contribution in self._pulled(stmt, ct):
                self.add(stmt.args[k], contribution)
            return
        for leaf, slope in self._slopes(tree).items():
            self.add(leaf, product(self.b, ct, slope))

    def _pulled(self, stmt: Let, ct: Atom) -> Iterator[tuple[int, Atom]]:
        """What each active operand receives for the cotangent `ct` of an operation's result."""
        rule = rule_of(stmt.op)
        assert isinstance(stmt.target.type, Scalar)
        point = Point(
            lambda: self.b,
            lambda k: self.need(stmt.args[k]),
            lambda: self.need(stmt.target),
            stmt.target.type,
            tuple(a.type for a in stmt.args),
        )
        for k, a in enumerate(stmt.args):
            if rule.carries(k) and self.is_active(a):
                contribution = rule.pull(point, ct, k)
                if contribution is not None:
                    yield k, contribution

    def _slopes(self, tree: list[Let]) -> dict[Sym, Atom]:
        """The derivative of a tree's root in each leaf.

        Above a product everything is a sum or product ("polynomial") up to the root: then a zero slope meets an
        infinite factor only where the root itself is NaN, and needs no strong zero.
        """
        inside = {node.target for node in tree}
        slopes: dict[Sym, Atom] = {tree[0].target: const_of(1.0, tree[0].target.type)}
        polynomial = dict.fromkeys(inside, True)
        for node in tree:
            own = slopes.pop(node.target, None)
            if own is None:
                continue
            plain = polynomial[node.target] and node.op in _POLYNOMIAL and node.fn is None
            parts = self._plain_products(node, own) if plain and node.op == "mul" else self._pulled(node, own)
            for k, part in parts:
                a = node.args[k]
                assert isinstance(a, Sym) and isinstance(a.type, Scalar)
                part = self.b.cast(part, _slope_type(a.type, part))
                old = slopes.get(a)
                slopes[a] = part if old is None else self.b.op("add", old, part)
                if a in inside and not plain:
                    polynomial[a] = False
        return {a: s for a, s in slopes.items() if a not in inside}

    def _plain_products(self, node: Let, own: Atom) -> Iterator[tuple[int, Atom]]:
        """`t = x * y`: x gets own * y, y gets own * x."""
        assert isinstance(node.target.type, Scalar)
        for k, a in enumerate(node.args):
            if self.is_active(a):
                other = self.b.cast(self.need(node.args[1 - k]), node.target.type)
                yield k, self.b.op("mul", own, other)

    def _load(self, stmt: Load) -> None:
        ct = self.take(stmt.target)
        if ct is None or not self.has_shadow(stmt.array):
            return
        shadow = self.shadow(stmt.array)
        index = tuple(self.need(i) for i in stmt.index)
        b = self.b
        old = b.load(shadow, index)
        b.store(shadow, index, b.op("add", old, ct), "add")

    def _store(self, stmt: Store) -> None:
        index = tuple(self.need(i) for i in stmt.index)
        b = self.b
        if self.has_shadow(stmt.array) and not self.restoring:
            shadow = self.shadow(stmt.array)
            assert isinstance(shadow.type, Array)
            step = find_increment(self, stmt)
            if step is not None:
                self._increment(step, shadow, index)
            else:
                if self.is_active(stmt.value):
                    self.add(stmt.value, b.load(shadow, index))
                b.store(shadow, index, const_of(0.0, shadow.type.dtype))
        if id(stmt) in self.decisions.restored:
            known = self.context.known_old.get(id(stmt))
            old = self.old_value(stmt) if known is None else self.need(known)
            b.store(self.need_sym(stmt.array), index, old)

    def _increment(self, step: Increment, shadow: Sym, index: tuple[Atom, ...]) -> None:
        """`a[i] = a[i] + e`: the shadow stays, only e receives."""
        live = [(a, sign) for a, sign in step.terms if self.is_active(a)]
        if not live:
            return
        ct = self.b.load(shadow, index)
        for a, sign in live:
            self.add(a, ct if sign > 0 else self.b.op("neg", ct))

    def _alloc(self, stmt: Alloc) -> None:
        """`np.full(shape, v)`: v receives the sum of the shadow."""
        assert stmt.fill is not None
        shadow = self.shadow(stmt.target)
        total = sum_all(self.b, shadow)
        self.add(stmt.fill, total)

    # control

    def free_active(self, stmt: Stmt) -> tuple[Sym, ...]:
        """Active scalars from outside that the statement's blocks (and their yields) use, in order."""
        key = id(stmt)
        if key not in self._free_memo:
            inside: set[Sym] = set()
            for region in self.regions.inner[key]:
                inside |= self.regions.defined(region)
            found: dict[Sym, None] = {}
            for sub in blocks(stmt):
                for s in walk(sub):
                    for a in (*operands(s), *yields(s)):
                        if isinstance(a, Sym) and a not in inside and self.is_active(a):
                            found[a] = None
            for a in yields(stmt):
                if isinstance(a, Sym) and a not in inside and self.is_active(a):
                    found[a] = None
            self._free_memo[key] = tuple(found)
        return self._free_memo[key]

    def _if(self, stmt: If) -> None:
        cond = self.need(stmt.cond)
        outers = self.free_active(stmt)
        incoming = {r: self.take(r) for r in stmt.results if self.is_active(r)}
        before = self.adjoint
        subs = self.regions.inner[id(stmt)]
        tapes = list(dict.fromkeys(t for r in subs for t in self.layout.below(r)))
        cursors = {t: self.cursor[t] for t in tapes}
        bodies, adjoints, ends = [], [], []
        for region, values in zip(subs, (stmt.then_values, stmt.else_values), strict=True):
            self.adjoint = {o: before[o] for o in outers if o in before}
            self.cursor.update(cursors)
            scope = self.open_region(region, Builder(stmt.span, simplify=True))
            for r, v in zip(stmt.results, values, strict=True):
                ct = incoming.get(r)
                if ct is not None:
                    self.add(v, ct)
            self.block()
            self.pop()
            bodies.append(scope.builder.block())
            adjoints.append(self.adjoint)
            ends.append(tuple(self.cursor[t] for t in tapes))
        self.adjoint = before
        joined = [o for o in outers if adjoints[0].get(o) != adjoints[1].get(o)]
        results = [Sym(f"d{o.name}", o.type) for o in joined]
        moved = tuple(Sym("cursor", INT64) for _ in tapes)
        for o, r in zip(joined, results, strict=True):
            self.adjoint[o] = r
        for o in outers:
            if o not in joined and o in adjoints[0]:
                self.adjoint[o] = adjoints[0][o]
        self.cursor.update(zip(tapes, moved, strict=True))
        yields_ = [
            (*(self._or_zero(adj.get(o), o) for o in joined), *end)
            for adj, end in zip(adjoints, ends, strict=True)
        ]
        self.b.if_(cond, bodies[0], bodies[1], yields_[0], yields_[1], (*results, *moved))

    def _loop(self, stmt: Loop) -> None:
        (region,) = self.regions.inner[id(stmt)]
        head = reversed_range(self, stmt)
        outers = self.free_active(stmt)
        carried = [j for j, p in enumerate(stmt.params) if self.is_active(p)]
        tapes = self.layout.below(region)
        incoming = {stmt.results[j]: self.take(stmt.results[j]) for j in carried}
        inits = (
            *(self._or_zero(incoming[stmt.results[j]], stmt.params[j]) for j in carried),
            *(self._or_zero(self.adjoint.get(o), o) for o in outers),
            *(self.cursor[t] for t in tapes),
        )
        names = [stmt.params[j] for j in carried] + list(outers)
        params = (*(Sym(f"d{s.name}", s.type) for s in names), *(fresh(t.cursor) for t in tapes))
        before, outer_cursor = self.adjoint, dict(self.cursor)
        n = len(carried)
        self.adjoint = {o: p for o, p in zip(outers, params[n:], strict=False)}
        cursors = dict(zip(tapes, params[n + len(outers) :], strict=True))
        self.cursor.update(cursors)
        scope = self.open_region(region, Builder(stmt.span, simplify=True))
        head.bind(self, stmt, scope)
        for j, p in zip(carried, params, strict=False):
            self.add(stmt.nexts[j], p)
        self.block()
        kept = self.layout.ends.get(region, {})  # the turn's own cursors; the first turn's is the least
        nexts = (
            *(self._or_zero(self.take(stmt.params[j]), stmt.params[j]) for j in carried),
            *(self.adjoint[o] for o in outers),
            *(
                self.b.op("min", p, self.cursor[t]) if t in kept else self.cursor[t]
                for t, p in cursors.items()
            ),
        )
        self.pop()
        self.adjoint, self.cursor = before, outer_cursor
        results = tuple(fresh(p) for p in params)
        for o, r in zip(outers, results[n:], strict=False):
            self.adjoint[o] = r
        self.cursor.update(zip(tapes, results[n + len(outers) :], strict=True))
        body = scope.builder.block()
        unmarked = self._meets_unmarked(stmt) if stmt.parallel else None
        self.b.append(
            Loop(
                head.index,
                head.lo,
                head.hi,
                head.step,
                params,
                inits,
                body,
                nexts,
                results,
                None,
                stmt.span,
                parallel=stmt.parallel and unmarked is None,
                note=None if unmarked is None else InOrder(unmarked),
            )
        )
        for j, r in zip(carried, results, strict=False):
            self.add(stmt.inits[j], r)

    def _meets_unmarked(self, stmt: Loop) -> str | None:
        """What changes shadows without being marked as an update, where turns may meet; None if nothing does."""
        for s in walk(stmt.body):
            match s:
                case Custom():
                    return "a derivative rule in it may add to any cotangent"
                case Call():
                    return "a function that calls itself may add to any cotangent"
                case Whole():
                    return "an operation of whole arrays in it may add to any cotangent"
                case Store(update="min" | "max"):
                    return f"which turn set {s.array.name} depends on their order"
                case Store(update="add") if not find_increment(self, s):
                    return f"it uses what {s.array.name} held before an update"
                case _:
                    pass
        return None


class _Pull(linear.Pull):
    """An operation of whole arrays where the sweep stands. What the rule asks for is needed from here on."""

    def __init__(self, sweep: Sweep, stmt: Whole):
        self.m, self._sweep, self._stmt = linear.Matrices(sweep.b), sweep, stmt

    def _read(self, a: Atom) -> Sym:
        assert isinstance(a, Sym)
        load = self._sweep.regions.of_whole[id(self._stmt)][a]
        self._sweep.repeated[id(load)] = load
        return self._sweep.need_sym(a)

    def arg(self, k: int) -> Sym:
        return self._read(self._stmt.args[k])

    def out(self, k: int) -> Sym:
        return self._read(self._stmt.outs[k])

    def number(self, k: int) -> Atom:
        return self._sweep.need(self._stmt.args[k])

    def _shadow(self, a: Atom) -> Sym | None:
        return self._sweep.shadow(a) if isinstance(a, Sym) and self._sweep.has_shadow(a) else None

    def ct(self, k: int) -> Sym | None:
        return self._shadow(self._stmt.outs[k])

    def shadow(self, k: int) -> Sym | None:
        return self._shadow(self._stmt.args[k])


def product(b: Builder, ct: Atom, slope: Atom) -> Atom:
    """szmul(ct, slope) in the wider dtype of the two; a finite constant slope needs no strong zero."""
    assert isinstance(ct.type, Scalar) and isinstance(slope.type, Scalar)
    wide = max(ct.type.part, slope.type.part, key=lambda t: t.itemsize)
    if ct.type.is_complex or slope.type.is_complex:
        wide = wide.complexified
    ct, slope = b.cast(ct, wide), b.cast(slope, wide)
    if not isinstance(slope, Const):
        return b.op("szmul", ct, slope)
    value = slope.value
    if value in (1.0, -1.0):
        return ct if value == 1.0 else b.op("neg", ct)
    return b.op("mul" if cmath.isfinite(value) else "szmul", ct, slope)


def _slope_type(leaf: Scalar, slope: Atom) -> Scalar:
    """The type in which a leaf's slope is held: the leaf's, but complex where the slope is."""
    assert isinstance(slope.type, Scalar)
    return leaf.complexified if slope.type.is_complex else leaf
