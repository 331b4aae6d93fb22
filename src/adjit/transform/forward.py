"""Forward mode: every varied value gets tangents beside it, every varied array moves along with shadows.

    t = op(x, y)      ->  t = op(x, y); t_dot = szmul(x_dot, slope_x) + szmul(y_dot, slope_y)
    t = load a[i]     ->  t = load a[i]; t_dot = load a_dot[i]
    store a[i] = v    ->  store a[i] = v; store a_dot[i] = v_dot      (0 where v is not varied)
    loops, branches   ->  tangents are carried and yielded beside the values

`width` tangents are carried at once: beside each value as many symbols, or, `packed`, one of as many lanes
(`Scalar.lanes`), whose arithmetic is vector instructions. The primal's statements stay as they are, so its value keeps
its bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.analysis.activity import Activity
from adjit.analysis.alias import Alias, overlaps_stated
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Call,
    Const,
    Custom,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    RefAppend,
    RefGet,
    RefNew,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
    unique_name,
)
from adjit.ir.types import Array, RefList, Scalar, Type, any_layout
from adjit.ir.visit import Rewriter, everywhere, same_view
from adjit.rules import get as rule_of
from adjit.rules import linear
from adjit.rules.base import Point
from adjit.transform.clean import clean
from adjit.transform.custom import push_call
from adjit.transform.packing import fits_lanes, packable
from adjit.transform.prepare import forward_views
from adjit.transform.slopes import carries

Tangents = tuple[Atom, ...]


@dataclass(frozen=True)
class Pushed:
    """function: parameters, then `width` tangents per active parameter -> results, then tangents per
    differentiable result. `tangent_params` lists the tangents in order.

    packed: one array of lanes per active parameter, and per differentiable result, instead; a number's has one element.
    """

    function: Function
    tangent_params: tuple[Sym, ...]
    n_results: int
    packed: bool = False


@dataclass(frozen=True)
class _Program:
    """What is known of the whole program: activity, and the called functions with the names of their tangent forms."""

    activity: Activity
    functions: dict[str, Function]
    names: dict[str, str]
    width: int
    lanes: int = 1


class _Push(linear.Push):
    """An operation of whole arrays, and one of its tangents."""

    def __init__(
        self,
        m: linear.Matrices,
        stmt: Whole,
        dots: tuple[Atom | None, ...],
        into: tuple[Atom | None, ...],
    ):
        self.m, self._stmt, self._dots, self._into = m, stmt, dots, into

    def arg(self, k: int) -> Sym:
        return _array(self._stmt.args[k])

    def out(self, k: int) -> Sym:
        return self._stmt.outs[k]

    def number(self, k: int) -> Atom:
        return self._stmt.args[k]

    def dot(self, k: int) -> Sym | None:
        found = self._dots[k]
        return None if found is None else _array(found)

    def into(self, k: int) -> Sym | None:
        found = self._into[k]
        return None if found is None else _array(found)


def _array(a: Atom) -> Sym:
    assert isinstance(a, Sym)
    return a


class _Forward:
    def __init__(self, program: _Program):
        self.program, self.width = program, program.width
        self.activity = program.activity
        self.tangents: dict[Sym, Tangents] = {}
        self.same: dict[Sym, Atom] = {}  # results of custom calls
        self.b = Builder(simplify=True)

    def varied(self, a: Atom) -> bool:
        if isinstance(a, Sym) and isinstance(a.type, RefList):
            return a.type.differentiable
        return self.activity.active(a)

    def fresh(self, s: Sym) -> tuple[Sym, ...]:
        return tuple(Sym(f"{s.name}_dot", self.dotted(s.type)) for _ in range(self.width))

    def dotted(self, type: Type) -> Type:
        """The type of a tangent of something of this type."""
        if self.program.lanes == 1:
            return type
        if isinstance(type, Array):
            return replace(type, dtype=replace(type.dtype, lanes=self.program.lanes))
        assert isinstance(type, Scalar)
        return replace(type, lanes=self.program.lanes)

    def zero(self, type: Type) -> Const:
        """A tangent of nothing that varies."""
        return const_of(0.0, self.dotted(type))

    def define(self, s: Sym) -> tuple[Sym, ...]:
        new = self.fresh(s)
        self.tangents[s] = new
        return new

    def given(self, p: Sym) -> tuple[Sym, ...]:
        """The tangents of a parameter of the entry function; lanes of a number come in an array of one element."""
        made = self.define(p)
        if self.program.lanes == 1 or isinstance(p.type, Array):
            return made
        (t,) = made
        assert isinstance(t.type, Scalar)
        box = Sym(t.name, Array(t.type, 1, "C"))
        self.b.append(Load(t, box, (ZERO,), self.b.span))
        return (box,)

    def returned(self, t: Atom) -> Atom:
        """A tangent as a result of the entry function."""
        if self.program.lanes == 1 or isinstance(t.type, Array):
            return t
        assert isinstance(t.type, Scalar)
        box = self.b.alloc("tangent", Array(t.type, 1, "C"), (ONE,))
        self.b.store(box, (ZERO,), t)
        return box

    def tangent(self, a: Atom, like: Sym | None = None) -> Tangents:
        """The tangents of an atom; zeros where it is not varied."""
        if isinstance(a, Sym) and a in self.tangents:
            return self.tangents[a]
        if isinstance(a.type, Array):
            return self._array_zero(a, like)
        if isinstance(a, Undef):
            return (Undef(self.dotted(a.type)),) * self.width
        return (self.zero(a.type),) * self.width

    def _array_zero(self, a: Atom, like: Sym | None) -> Tangents:
        if isinstance(a, Undef):
            return (Undef(self.dotted(a.type)),) * self.width
        assert isinstance(a, Sym)
        made = self.define(a)
        for t in made:
            self._zeros(t, a)
        return made

    def _zeros(self, t: Sym, like: Sym) -> None:
        assert isinstance(like.type, Array)
        shape = tuple(self.b.dim(like, k) for k in range(like.type.ndim))
        fortran = like if like.type.layout == "F" and like.type.ndim > 1 else None
        self.b.append(Alloc(t, shape, self.zero(like.type.dtype), fortran, self.b.span))

    # statements

    def block(self, block: Block) -> Block:
        with self.b.collect() as out:
            for stmt in block:
                self.b.span = stmt.span
                self.stmt(stmt)
        return tuple(out)

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Let():
                self.b.append(stmt)
                if self.varied(stmt.target):
                    self.tangents[stmt.target] = self._push(stmt)
            case Load():
                self.b.append(stmt)
                if self.varied(stmt.target):
                    sources = self.tangent(stmt.array)
                    for t, a in zip(self.define(stmt.target), sources, strict=True):
                        assert isinstance(a, Sym)
                        self.b.append(Load(t, a, stmt.index, stmt.span))
            case Store():
                self._store(stmt)
            case View():
                self.b.append(stmt)
                if self.varied(stmt.target):
                    sources = self.tangent(stmt.array)
                    for t, a in zip(self.define(stmt.target), sources, strict=True):
                        assert isinstance(a, Sym)
                        self.b.append(same_view(stmt, t, a))
            case Alloc():
                self.b.append(stmt)
                if self.varied(stmt.target):
                    self._alloc(stmt)
            case Ensure():
                self.b.append(stmt)
                if self.varied(stmt.target):
                    sources = self.tangent(stmt.array)
                    for t, a in zip(self.define(stmt.target), sources, strict=True):
                        assert isinstance(a, Sym)
                        self.b.append(Ensure(t, a, stmt.need, stmt.span))
            case RefNew():
                self.b.append(stmt)
                if self.varied(stmt.target):
                    for t in self.define(stmt.target):
                        self.b.append(RefNew(t, stmt.span))
            case RefAppend():
                self.b.append(stmt)
                if self.varied(stmt.references):
                    pairs = zip(self.tangent(stmt.references), self.tangent(stmt.array), strict=True)
                    for r, a in pairs:
                        assert isinstance(r, Sym) and isinstance(a, Sym)
                        self.b.append(RefAppend(r, a, stmt.span))
            case RefGet():
                self.b.append(stmt)
                if self.varied(stmt.target):
                    sources = self.tangent(stmt.references)
                    for t, r in zip(self.define(stmt.target), sources, strict=True):
                        assert isinstance(r, Sym)
                        self.b.append(RefGet(t, r, stmt.position, stmt.span))
            case Whole():
                self.b.append(stmt)
                if any(map(self.varied, stmt.outs)):
                    self._whole(stmt)
            case Loop():
                self._loop(stmt)
            case If():
                self._if(stmt)
            case Custom():
                self._custom(stmt)
            case Call():
                self._call(stmt)
            case _:
                self.b.append(stmt)

    def _push(self, stmt: Let) -> Tangents:
        rule = rule_of(stmt.op)
        assert isinstance(stmt.target.type, Scalar)
        type_ = stmt.target.type
        types = tuple(a.type for a in stmt.args)
        point = Point(lambda: self.b, lambda k: stmt.args[k], lambda: stmt.target, type_, types)
        columns = [self.tangent(a) if self.varied(a) else None for a in stmt.args]
        found: list[Atom] = []
        for w in range(self.width):
            dots = tuple(None if c is None else c[w] for c in columns)
            t = rule.push(point, dots)
            if t is None or isinstance(t, Const):
                t = const_of(0.0 if t is None else t.value, self.dotted(type_))
            found.append(t)
        return tuple(found)

    def _store(self, stmt: Store) -> None:
        if self.varied(stmt.array):
            assert isinstance(stmt.array.type, Array)
            for a, v in zip(self.tangent(stmt.array), self._value(stmt), strict=True):
                assert isinstance(a, Sym)
                update = "add" if stmt.update == "add" else ""
                self.b.append(Store(a, stmt.index, v, stmt.span, update=update))
        self.b.append(stmt)

    def _value(self, stmt: Store) -> Tangents:
        assert isinstance(stmt.array.type, Array)
        if self.varied(stmt.value):
            return self.tangent(stmt.value)
        return (self.zero(stmt.array.type.dtype),) * self.width

    def _alloc(self, stmt: Alloc) -> None:
        assert isinstance(stmt.target.type, Array)
        dtype = stmt.target.type.dtype
        fills: Tangents = (self.zero(dtype),) * self.width
        if stmt.fill is not None and self.varied(stmt.fill):
            fills = self.tangent(stmt.fill)
        for t, fill in zip(self.define(stmt.target), fills, strict=True):
            self.b.append(Alloc(t, stmt.shape, fill, stmt.like, stmt.span))

    def _whole(self, stmt: Whole) -> None:
        columns = [self.tangent(a) if self.varied(a) else None for a in stmt.args]
        into = [self.tangent(s) if self.varied(s) else None for s in stmt.outs]
        for w in range(self.width):
            dots = tuple(None if c is None else c[w] for c in columns)
            point = _Push(
                linear.Matrices(self.b), stmt, dots, tuple(None if c is None else c[w] for c in into)
            )
            linear.get(stmt.op).tangent(point)

    def _loop(self, stmt: Loop) -> None:
        moved = [j for j, p in enumerate(stmt.params) if self.varied(p)]
        inits = tuple(t for j in moved for t in self.tangent(stmt.inits[j], stmt.params[j]))
        params = tuple(t for j in moved for t in self.define(stmt.params[j]))
        with self.b.collect() as tail:
            body = self.block(stmt.body)
            nexts = tuple(t for j in moved for t in self.tangent(stmt.nexts[j], stmt.params[j]))
        results = tuple(t for j in moved for t in self.define(stmt.results[j]))
        self.b.append(
            replace(
                stmt,
                params=(*stmt.params, *params),
                inits=(*stmt.inits, *inits),
                body=(*body, *tail),
                nexts=(*stmt.nexts, *nexts),
                results=(*stmt.results, *results),
            )
        )

    def _if(self, stmt: If) -> None:
        moved = [j for j, r in enumerate(stmt.results) if self.varied(r)]
        parts: list[tuple[Block, Tangents]] = []
        for block, values in ((stmt.then, stmt.then_values), (stmt.els, stmt.else_values)):
            with self.b.collect() as tail:
                body = self.block(block)
                ends = tuple(t for j in moved for t in self.tangent(values[j], stmt.results[j]))
            parts.append(((*body, *tail), ends))
        results = tuple(t for j in moved for t in self.define(stmt.results[j]))
        self.b.append(
            replace(
                stmt,
                then=parts[0][0],
                els=parts[1][0],
                then_values=(*stmt.then_values, *parts[0][1]),
                else_values=(*stmt.else_values, *parts[1][1]),
                results=(*stmt.results, *results),
            )
        )

    def _call(self, stmt: Call) -> None:
        callee = self.program.functions[stmt.callee]
        pairs = zip(stmt.args, callee.params, strict=True)
        dots = tuple(t for a, p in pairs if self.varied(p) for t in self.tangent(a, p))
        made = zip(stmt.results, callee.results, strict=True)
        moved = tuple(t for r, a in made if self.varied(a) for t in self.define(r))
        self.b.append(
            Call((*stmt.results, *moved), self.program.names[stmt.callee], (*stmt.args, *dots), stmt.span)
        )

    def callee(self, f: Function) -> Function:
        """The tangent form of a called function: tangents of varied parameters in, of varied results out."""
        params = tuple(t for p in f.params if self.varied(p) for t in self._given(p))
        body = self.block(f.body)
        with self.b.collect() as tail:
            results = tuple(_strided(t) for a in f.results if self.varied(a) for t in self.tangent(a))
        whole, more = (*f.params, *params), (*f.results, *results)
        new = replace(f, name=self.program.names[f.name], params=whole, body=(*body, *tail), results=more)
        return _replaced(new, self.same)

    def _given(self, p: Sym) -> tuple[Sym, ...]:
        """Tangents of a called function's parameter; an array's may have any layout."""
        made = tuple(_strided(t) for t in self.fresh(p))
        self.tangents[p] = made
        return tuple(t for t in made if isinstance(t, Sym))

    def _custom(self, stmt: Custom) -> None:
        if not any(self.varied(a) for a in stmt.args):
            self.b.append(stmt)
            return
        value, dots = push_call(stmt, self.tangent, self.width, self.b)
        moving = iter(dots)
        for r, v in zip(stmt.results, value, strict=True):
            self.same[r] = v
            if r.type.differentiable:
                self.tangents[r] = next(moving)


def _strided(a: Atom) -> Atom:
    """The same symbol, said to have any layout where it is an array: tangents may differ from primals in that."""
    return Sym(a.name, any_layout(a.type), a.uid) if isinstance(a, Sym) else a


def forward(function: Function, inputs: tuple[Sym, ...], width: int = 1, packed: bool = False) -> Pushed:
    """Build the tangent function of a typed primal. `inputs` are active parameters of `function`.

    packed: whether tangents are to be packed where the program allows it (see the module).
    """
    function = everywhere(function, lambda f: clean(forward_views(f), keep_raising=True))
    activity = Activity(function, Alias(function), inputs, None, carries)
    names = {f.name: unique_name(f"{f.name.partition('.')[0]}_forward") for f in function.functions}
    program = _Program(activity, {f.name: f for f in function.functions}, names, width)
    if packed and width > 1 and packable(function, activity, inputs):
        pushed = _pushed(function, inputs, replace(program, width=1, lanes=width))
        if fits_lanes(pushed.function):
            return pushed
    return _pushed(function, inputs, program)


def _pushed(function: Function, inputs: tuple[Sym, ...], program: _Program) -> Pushed:
    f = _Forward(program)
    with f.b.collect() as prologue:
        tangent_params = tuple(t for p in inputs for t in f.given(p))
        for p in function.params:
            if isinstance(p.type, Array) and p not in inputs and f.varied(p):
                f.tangent(p)
    body = f.block(function.body)
    with f.b.collect() as tail:
        tangents = tuple(
            f.returned(t) for a in function.results if a.type.differentiable for t in f.tangent(a)
        )
    new = Function(
        f"{function.name}_forward",
        (*function.params, *tangent_params),
        (*prologue, *body, *tail),
        (*function.results, *tangents),
        function.doc,
        function.span,
        tuple(_Forward(program).callee(g) for g in function.functions),
    )
    new = _replaced(new, f.same)
    new = overlaps_stated(everywhere(new, lambda f: clean(f, keep_raising=True)))
    return Pushed(new, tangent_params, len(function.results), program.lanes > 1)


def _replaced(function: Function, env: dict[Sym, Atom]) -> Function:
    """The function with symbols replaced by what they are equal to."""
    if not env:
        return function
    for s in env:
        while isinstance(env[s], Sym) and env[s] in env:
            env[s] = env[env[s]]  # type: ignore[index]
    r = Rewriter(dict(env))
    return replace(function, body=r.block(function.body), results=r.atoms(function.results))
