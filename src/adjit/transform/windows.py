"""Views of views of views, made turn after turn, become one view whose bounds are carried.

    loop carry (v = x):  ... next v[1:]
    ->  loop carry (base = x, lo = 0, n = len(x)):  v = base[lo : lo + n];  ... next base, lo + min(1, n), max(n - 1, 0)

Per axis a *window* has its first index in the base, its length, and its step where any slice of the cycle
has one. Slices compose, so a chain of any length has one description. Cycles through a transposed view or a step that
is not constant are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adjit.analysis.regions import Regions
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    ZERO,
    Atom,
    Block,
    Const,
    Function,
    If,
    Loop,
    Slice,
    Stmt,
    Sym,
    Undef,
    View,
    const,
    fresh,
)
from adjit.ir.types import INT64, Array
from adjit.ir.visit import Rewriter, walk
from adjit.transform.clean import clean

Axis = tuple[Atom, Atom, Atom | None]


class _Cycles:
    """Which rebound arrays are views of themselves."""

    def __init__(self, function: Function):
        self.definition = Regions(function).definition
        self.inputs: dict[Sym, tuple[Atom, ...]] = {}
        for stmt in walk(function.body):
            if isinstance(stmt, Loop):
                flows = zip(stmt.params, stmt.results, stmt.inits, stmt.nexts, strict=True)
                for p, r, i, n in flows:
                    if isinstance(p.type, Array):
                        self.inputs[p] = self.inputs[r] = (i, n)
            elif isinstance(stmt, If):
                for r, a, c in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
                    if isinstance(r.type, Array):
                        self.inputs[r] = (a, c)
        self.members: set[Sym] = set()
        self.backwards: set[int] = set()  # axes that some slice of a cycle runs along backwards
        self.steps: set[int] = set()  # axes that some slice of a cycle steps over
        edges = {p: [self.chain(a) for a in atoms] for p, atoms in self.inputs.items()}
        reach = {p: self._reach(p, edges) for p in edges}
        for p, found in edges.items():
            cyclic = [
                (b, views) for b, views in found if views and isinstance(b, Sym) and p in reach.get(b, ())
            ]
            if cyclic and all(_windows(views) for _, views in cyclic):
                self.members |= {q for q in edges if q in reach[p] and p in reach[q]} | {p}
            elif cyclic:
                self.members = set()
                return
        for view in (v for p in self.members for _, views in edges[p] for v in views):
            for d, item in enumerate(view.index):
                step = item.step if isinstance(item, Slice) else None
                if isinstance(step, Const) and step != ONE:
                    self.steps.add(d)
                    if step.integer < 0:
                        self.backwards.add(d)

    def chain(self, a: Atom) -> tuple[Atom, list[View]]:
        """What an atom is a view of, and the views, outermost last."""
        views: list[View] = []
        while isinstance(a, Sym) and a not in self.inputs:
            made = self.definition.get(a)
            if not isinstance(made, View):
                break
            views.append(made)
            a = made.array
        return a, views[::-1]

    def _reach(self, p: Sym, edges: dict[Sym, list[tuple[Atom, list[View]]]]) -> set[Sym]:
        seen: set[Sym] = set()
        todo = [p]
        while todo:
            for b, _ in edges[todo.pop()]:
                if isinstance(b, Sym) and b in edges and b not in seen:
                    seen.add(b)
                    todo.append(b)
        return seen


def _windows(views: Iterable[View]) -> bool:
    """Whether every view is a box of slices of constant steps."""
    return all(
        v.axes is None
        and v.shape is None
        and all(isinstance(i, Slice) and (i.step is None or isinstance(i.step, Const)) for i in v.index)
        for v in views
    )


class _Windows(Rewriter):
    def __init__(self, cycles: _Cycles):
        super().__init__()
        self._cycles = cycles
        self._known: dict[Sym, tuple[Atom, tuple[Axis, ...]]] = {}

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Loop() if self._slots(zip(stmt.params, stmt.results, strict=True)):
                return self._loop(stmt)
            case If() if self._slots((r,) for r in stmt.results):
                return self._if(stmt)
            case _:
                return (self.rebuild(stmt),)

    def _slots(self, groups: Iterable[tuple[Sym, ...]]) -> list[int]:
        return [j for j, group in enumerate(groups) if any(s in self._cycles.members for s in group)]

    # windows

    def _open(self, s: Sym) -> list[Sym]:
        """Symbols for the window of `s`: its base, then its integers."""
        assert isinstance(s.type, Array)
        base = fresh(s)
        axes: list[Axis] = []
        for d in range(s.type.ndim):
            step = Sym(f"{s.name}_step", INT64) if d in self._cycles.steps else None
            axes.append((Sym(f"{s.name}_lo", INT64), Sym(f"{s.name}_n", INT64), step))
        self._known[s] = (base, tuple(axes))
        return [base, *(a for axis in axes for a in axis if isinstance(a, Sym))]

    def _bind(self, s: Sym, b: Builder) -> None:
        """`s = base[window]`."""
        base, axes = self._known[s]
        assert isinstance(base, Sym)
        index = tuple(self._slice(b, base, d, axis) for d, axis in enumerate(axes))
        b.append(View(s, base, index, span=b.span))

    def _slice(self, b: Builder, base: Sym, d: int, axis: Axis) -> Slice:
        """The slice of the base's axis `d`. One that runs backwards past 0 must not wrap around."""
        lo, n, step = axis
        end = b.op("add", lo, n if step is None else b.op("mul", n, step))
        if d in self._cycles.backwards:
            wrapped = b.op("sub", end, b.dim(base, d))
            end = b.op("select", b.op("lt", end, ZERO), wrapped, end)
        return Slice(lo, end, step)

    def _flow(self, a: Atom, like: Sym, b: Builder) -> list[Atom]:
        """The window of what flows into `like`, in the order of `_open`."""
        base, axes = self._described(a, like, b)
        return [base, *(x for axis in axes for x in axis if x is not None)]

    def _described(self, a: Atom, like: Sym, b: Builder) -> tuple[Atom, tuple[Axis, ...]]:
        assert isinstance(like.type, Array)
        steps = [ONE if d in self._cycles.steps else None for d in range(like.type.ndim)]
        if not isinstance(a, Sym):
            return Undef(like.type), tuple((ZERO, ZERO, step) for step in steps)
        root, views = self._cycles.chain(a)
        if isinstance(root, Sym) and root in self._known and _windows(views):
            base, axes = self._known[root]
            for view in views:
                axes = tuple(_sliced(b, axis, item) for axis, item in zip(axes, view.index, strict=True))
            return base, axes
        return a, tuple((ZERO, b.dim(a, d), step) for d, step in enumerate(steps))

    # control

    def _loop(self, stmt: Loop) -> tuple[Stmt, ...]:
        slots = self._slots(zip(stmt.params, stmt.results, strict=True))
        plain = [j for j in range(len(stmt.params)) if j not in slots]
        before, head, end, after = (Builder(stmt.span, simplify=True) for _ in range(4))
        params, results = ([x[j] for j in plain] for x in (stmt.params, stmt.results))
        inits: list[Atom] = [stmt.inits[j] for j in plain]
        nexts: list[Atom] = [stmt.nexts[j] for j in plain]
        for j in slots:
            inits += self._flow(stmt.inits[j], stmt.params[j], before)
            params += self._open(stmt.params[j])
            self._bind(stmt.params[j], head)
        body = self.block(stmt.body)
        for j in slots:
            nexts += self._flow(stmt.nexts[j], stmt.params[j], end)
        for j in slots:
            results += self._open(stmt.results[j])
            self._bind(stmt.results[j], after)
        loop = replace(
            stmt,
            params=tuple(params),
            inits=tuple(inits),
            body=(*head.block(), *body, *end.block()),
            nexts=tuple(nexts),
            results=tuple(results),
        )
        return (*before.block(), loop, *after.block())

    def _if(self, stmt: If) -> tuple[Stmt, ...]:
        slots = self._slots((r,) for r in stmt.results)
        plain = [j for j in range(len(stmt.results)) if j not in slots]
        blocks: list[Block] = []
        yields: list[tuple[Atom, ...]] = []
        for block, values in ((stmt.then, stmt.then_values), (stmt.els, stmt.else_values)):
            end = Builder(stmt.span, simplify=True)
            body = self.block(block)
            flows = [values[j] for j in plain]
            for j in slots:
                flows += self._flow(values[j], stmt.results[j], end)
            blocks.append((*body, *end.block()))
            yields.append(tuple(flows))
        results = [stmt.results[j] for j in plain]
        after = Builder(stmt.span, simplify=True)
        for j in slots:
            results += self._open(stmt.results[j])
            self._bind(stmt.results[j], after)
        new = If(stmt.cond, blocks[0], blocks[1], yields[0], yields[1], tuple(results), stmt.span)
        return (new, *after.block())


def _sliced(b: Builder, axis: Axis, item: Atom | Slice) -> Axis:
    """The window of a slice of a window."""
    assert isinstance(item, Slice)
    lo, n, step = axis
    stride = 1 if item.step is None else item.step.integer if isinstance(item.step, Const) else 0
    if stride < 0:
        return _reversed(b, axis, item, stride)
    first = ZERO if item.start is None else _bounded(b, item.start, n)
    last = n if item.stop is None else _bounded(b, item.stop, n)
    count = b.op("sub", last, first)
    if stride != 1:
        count = b.op("floordiv", b.op("add", count, stride - 1), stride)
    offset = first if step is None else b.op("mul", first, step)
    wider = step if step is None or stride == 1 else b.op("mul", step, stride)
    return b.op("add", lo, offset), b.op("max", count, ZERO), wider


def _reversed(b: Builder, axis: Axis, item: Slice, stride: int) -> Axis:
    """The window of a slice that runs backwards; where it is empty its first index stays in the base."""
    lo, n, step = axis
    assert step is not None
    last = b.op("sub", n, ONE)
    first = last if item.start is None else b.op("min", _bounded(b, item.start, n, const(-1)), last)
    end = const(-1) if item.stop is None else b.op("min", _bounded(b, item.stop, n, const(-1)), last)
    count = b.op("floordiv", b.op("add", b.op("sub", first, end), -stride - 1), -stride)
    count = b.op("max", count, ZERO)
    begin = b.op("select", b.op("gt", count, ZERO), b.op("add", lo, b.op("mul", first, step)), lo)
    return begin, count, b.op("mul", step, stride)


def _bounded(b: Builder, a: Atom, n: Atom, least: Const = ZERO) -> Atom:
    """A bound of a slice as an index between `least` (0 or -1) and n."""
    if isinstance(a, Const):
        if a.integer >= 0:
            return b.op("min", Const(a.integer, INT64), n)
        return b.op("max", b.op("sub", n, -a.integer), least)
    a = b.cast(a, INT64)
    a = b.op("select", b.op("lt", a, ZERO), b.op("add", a, n), a)
    return b.op("min", b.op("max", a, least), n)


def windows(function: Function) -> Function:
    """Arrays that become views of themselves again and again as windows (see the module)."""
    cycles = _Cycles(function)
    if not cycles.members:
        return function
    carried = replace(function, body=_Windows(cycles).block(function.body))
    return clean(carried, keep_raising=True)  # bases that stay the same are not carried
