"""The reverse sweep: the primal's statements, last first, with adjoints in place of values.

    t = op(x, y)        ->   dx += szmul(dt, slope_x); dy += szmul(dt, slope_y)
    t = load a[i]       ->   da[i] += dt
    store a[i] = v      ->   dv += da[i]; da[i] = 0; a[i] = old      (old: only where a later load needs it)
    for i in range      ->   the turns, last first; adjoints of carried values are carried
    if c                ->   if c, each branch reversed

Scalars have adjoint values in SSA form, memory has shadows. No path branches on an adjoint's value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from adjit.errors import UnsupportedError
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Const,
    Custom,
    If,
    Let,
    Load,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefNew,
    Slice,
    Stmt,
    Store,
    Sym,
    View,
    const,
    fresh,
)
from adjit.ir.types import INT64, Array, RefList, Scalar
from adjit.ir.visit import blocks, operands, walk, yields
from adjit.rules import get as rule_of
from adjit.rules.base import Point
from adjit.transform.reverse.sites import trip_count
from adjit.transform.reverse.increments import Increment, find_increment
from adjit.transform.reverse.materialise import Materialiser, Scope
from adjit.transform.custom import Pull, pull_call
from adjit.transform.nests import add_into, sum_all
from adjit.transform.reverse.record import Tape
from adjit.transform.reverse.trees import Trees


@dataclass
class Context:
    """What is active, and what of the reversed function exists from the start."""

    active: frozenset[Sym]  # scalars
    active_array: dict[Sym, bool]  # arrays, by symbol
    known_old: dict[int, Sym]
    totals: dict[Sym, Sym]
    watch: bool = False


_POLYNOMIAL = frozenset({"add", "sub", "neg", "pos", "mul"})


class Sweep(Materialiser):
    """Builds the body of the reverse function."""

    context: Context
    results: tuple[Atom, ...]

    def begin(self, context: Context) -> None:
        self.context = context
        self.adjoint: dict[Sym, Atom] = {}
        self.cursor: dict[Tape, Atom] = {t: t.cursor for t in self.layout.tapes}
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

    # shadows of memory

    def shadow(self, a: Sym) -> Sym:
        """The array that holds the adjoints of `a`'s elements."""
        a = self.versions.get(a, a)
        for scope in reversed(self.stack):
            if a in scope.shadows:
                return scope.shadows[a]
        region, _ = self.regions.where[a]
        level = self._open(region)
        stmt = self.regions.definition.get(a)
        if stmt is None or a in self.versions:
            return self._zero_shadow(a)
        assert level is not None, f"shadow of {a} asked for outside its region"
        match stmt:
            case Alloc():
                made = self._shadow_of_allocation(stmt, level)
            case View():
                base = self.shadow(stmt.array)
                index = tuple(self._item(i) for i in stmt.index)
                level = self._shadow_level(base, stmt, level)
                made = Sym(f"d{a.name}", a.type)
                self.stack[level].builder.append(View(made, base, index, stmt.transpose, stmt.span))
            case If():
                made, level = self._shadow_of_branch(stmt, a, level)
            case RefGet():
                made = Sym(f"d{a.name}", a.type)
                position = self.need(stmt.position)
                level = self.at_level(stmt.position, level)
                references = self._shadow_list(stmt.references)
                self.stack[level].builder.append(RefGet(made, references, position, stmt.span))
            case _:
                raise UnsupportedError(
                    f"the array `{a.name}` is rebound in a way that the reverse sweep cannot follow",
                    "allocate the array before the loop and overwrite it, or swap two arrays by name",
                    None if stmt is None else stmt.span,
                )
        self.stack[level].shadows[a] = made
        return made

    def _zero_shadow(self, a: Sym) -> Sym:
        """A fresh shadow of an array that exists throughout: a parameter nobody asked about, a growing record."""
        root = self.stack[0]
        assert isinstance(a.type, Array)
        self.kept[a] = None
        shape = tuple(root.builder.dim(a, k) for k in range(a.type.ndim))
        kind = replace(a.type, layout="C", readonly=False)
        made = root.builder.alloc(f"d{a.name}", kind, shape, const_of(0.0, a.type.dtype))
        root.shadows[a] = made
        return made

    def _shadow_list(self, listed: Sym) -> Sym:
        """A list of zero shadows, one for each array of the list."""
        root = self.stack[0]
        if listed in root.shadows:
            return root.shadows[listed]
        assert isinstance(listed.type, RefList)
        made, k, b = Sym(f"d{listed.name}", listed.type), Sym("k", INT64), root.builder
        element = listed.type.element
        b.append(RefNew(made, b.span))
        with b.collect() as body:
            a = Sym(listed.name, element)
            b.append(RefGet(a, listed, k, b.span))
            shape = tuple(b.dim(a, axis) for axis in range(element.ndim))
            da = b.alloc(f"d{a.name}", element, shape, const_of(0.0, element.dtype))
            b.append(RefAppend(made, da, b.span))
        total = self.need(self.context.totals[listed])
        b.append(Loop(k, ZERO, total, ONE, (), (), tuple(body), (), (), None, b.span))
        root.shadows[listed] = made
        return made

    def _shadow_of_allocation(self, stmt: Alloc, level: int) -> Sym:
        shape = tuple(self.need(n) for n in stmt.shape)
        made = Sym(f"d{stmt.target.name}", stmt.target.type)
        zero = const_of(0.0, stmt.target.type.dtype)  # type: ignore[union-attr]
        self.stack[level].builder.append(Alloc(made, shape, zero, None, stmt.span))
        return made

    def _shadow_level(self, base: Sym, stmt: View, least: int) -> int:
        for k, scope in enumerate(self.stack):
            if base in scope.shadows.values():
                least = max(least, k)
        for item in stmt.index:
            parts = (item.start, item.stop, item.step) if isinstance(item, Slice) else (item,)
            for a in parts:
                if a is not None:
                    least = self.at_level(a, least)
        return least

    def _shadow_of_branch(self, stmt: If, a: Sym, level: int) -> tuple[Sym, int]:
        cond = self.need(stmt.cond)
        level = self.at_level(stmt.cond, level)
        j = stmt.results.index(a)
        bodies, values = [], []
        for branch, ends in enumerate((stmt.then_values, stmt.else_values)):
            before = self._replay(stmt, branch, level)
            end = ends[j]
            assert isinstance(end, Sym)
            values.append(self.shadow(end))
            bodies.append(self._unreplay(before).builder.block())
        made = Sym(f"d{a.name}", a.type)
        b = self.stack[level].builder
        b.append(If(cond, bodies[0], bodies[1], (values[0],), (values[1],), (made,), stmt.span))
        return made, level

    def has_shadow(self, array: Sym) -> bool:
        return self.context.active_array.get(array, False)

    # blocks

    def open_region(self, region: object, builder: Builder) -> Scope:
        """Enter a region for reversal: its tapes' cursors move back by one turn."""
        scope = Scope(region, builder, len(region.block))  # type: ignore[attr-defined, arg-type]
        self.push(scope)
        for tape in self.layout.of(scope.region):
            base = builder.op("nonneg", builder.op("sub", self.cursor[tape], tape.width))
            self.cursor[tape] = base
            scope.base[tape.dtype] = base
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
            case Loop():
                self._loop(stmt)
            case If():
                self._if(stmt)
            case Custom():
                self._custom(stmt)
            case _:
                pass

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
        res = tuple(self.need(r) for r in stmt.results[pull.n_values :])
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
        )
        for k, a in enumerate(stmt.args):
            if rule.slope(k) is not None and self.is_active(a):
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
                part = self.b.cast(part, a.type)
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
        b.store(shadow, index, b.op("add", old, ct))

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
        tapes = [t for r in subs for t in self.layout.below(r)]
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
        head = self._reversed_range(stmt)
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
        self.cursor.update(zip(tapes, params[n + len(outers) :], strict=True))
        scope = self.open_region(region, Builder(stmt.span, simplify=True))
        head.bind(self, stmt, scope)
        for j, p in zip(carried, params, strict=False):
            self.add(stmt.nexts[j], p)
        self.block()
        nexts = (
            *(self._or_zero(self.take(stmt.params[j]), stmt.params[j]) for j in carried),
            *(self.adjoint[o] for o in outers),
            *(self.cursor[t] for t in tapes),
        )
        self.pop()
        self.adjoint, self.cursor = before, outer_cursor
        results = tuple(fresh(p) for p in params)
        for o, r in zip(outers, results[n:], strict=False):
            self.adjoint[o] = r
        self.cursor.update(zip(tapes, results[n + len(outers) :], strict=True))
        body = scope.builder.block()
        self.b.append(
            Loop(head.index, head.lo, head.hi, head.step, params, inits, body, nexts, results, None, stmt.span)
        )
        for j, r in zip(carried, results, strict=False):
            self.add(stmt.inits[j], r)

    def _reversed_range(self, stmt: Loop) -> _Head:
        b = self.b
        if stmt.index is None or stmt.stop is not None:
            turns = self.need(stmt.results[-1])
            first = b.op("sub", turns, ONE)
            lo = step = None
            if stmt.index is not None:
                assert stmt.lo is not None and stmt.step is not None
                lo, step = b.cast(self.need(stmt.lo), INT64), b.cast(self.need(stmt.step), INT64)
            return _Head(Sym("turn", INT64), first, const(-1), const(-1), lo, step)
        assert stmt.lo is not None and stmt.hi is not None and stmt.step is not None
        lo, hi, step = (b.cast(self.need(a), INT64) for a in (stmt.lo, stmt.hi, stmt.step))
        index = Sym(stmt.index.name, INT64)
        if isinstance(step, Const) and int(step.value) == 1:
            return _Head(index, b.op("sub", hi, ONE), b.op("sub", lo, ONE), const(-1))
        if isinstance(step, Const) and int(step.value) == -1:
            return _Head(index, b.op("add", hi, ONE), b.op("add", lo, ONE), const(1))
        turns = trip_count(b, lo, hi, step)
        last = b.op("add", lo, b.op("mul", b.op("sub", turns, ONE), step))
        return _Head(index, last, b.op("sub", lo, step), b.op("neg", step))


def product(b: Builder, ct: Atom, slope: Atom) -> Atom:
    """szmul(ct, slope) in the wider dtype of the two; a finite constant slope needs no strong zero."""
    assert isinstance(ct.type, Scalar) and isinstance(slope.type, Scalar)
    wide = max(ct.type, slope.type, key=lambda t: t.itemsize)
    ct, slope = b.cast(ct, wide), b.cast(slope, wide)
    if not isinstance(slope, Const):
        return b.op("szmul", ct, slope)
    value = float(slope.value)  # type: ignore[arg-type]
    if value in (1.0, -1.0):
        return ct if value > 0 else b.op("neg", ct)
    return b.op("mul" if math.isfinite(value) else "szmul", ct, slope)


@dataclass
class _Head:
    """The range of a reversed loop, and how the primal's index follows from its index."""

    index: Sym
    lo: Atom
    hi: Atom
    step: Atom
    first: Atom | None = None
    stride: Atom | None = None

    def bind(self, sweep: Sweep, stmt: Loop, scope: Scope) -> None:
        """Make the loop's index and turn counter available in its scope."""
        b = scope.builder
        if stmt.index is None or stmt.stop is not None:
            scope.values[stmt.params[-1]] = self.index
        if stmt.index is None:
            return
        value: Atom = self.index
        if stmt.stop is not None:
            assert self.first is not None and self.stride is not None
            value = b.op("add", self.first, b.op("mul", self.index, self.stride))
        assert isinstance(stmt.index.type, Scalar)
        scope.values[stmt.index] = b.cast(value, stmt.index.type)


