"""The state of one lowering: the IR built so far, the frames of the functions being inlined, the captures."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from adjit.frontend.extents import Extents
from adjit.frontend.fence import refuse, span_of
from adjit.frontend.liveness import Scope
from adjit.frontend.options import Options
from adjit.frontend.shown import Copy
from adjit.frontend.values import (
    CALL_EACH,
    FIRST_TURN,
    NONE,
    UNBOUND,
    Closure,
    Conflict,
    Flow,
    Growing,
    ListFound,
    Once,
    RangeValue,
    Static,
    TupleValue,
    Unbound,
    Value,
    atoms,
    conflict,
    is_atom,
    is_iterator,
    joined_type,
    kind,
    rebuild,
    same_items,
    same_static,
)
from adjit.ir.builder import Builder
from adjit.ir.core import FALSE, ONE, TRUE, Atom, Const, Function, If, Raise, Slice, Span, Stmt, Sym, Undef
from adjit.ir.types import BOOL, COMPLEX128, FLOAT64, INT64, UINT64, UNKNOWN, Array, Scalar

RETURN, BREAK, CONTINUE, RESULT = "$return", "$break", "$continue", "$result"
EXITS = (RETURN, BREAK, CONTINUE)

KNOWN_DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
)


class DeadPath(Exception):
    """Raised inside the frontend where the path being lowered always raises: nothing after it runs."""


@dataclass(slots=True)
class Env:
    """What each name is bound to on the current path, and whether the path has come to a `raise`.

    Exits are flags among the names: "$return", "$break" and "$continue" are bool atoms, absent means false.
    """

    names: dict[str, Value] = field(default_factory=dict)
    dead: bool = False

    def copy(self) -> Env:
        return Env(dict(self.names), self.dead)

    def flag(self, name: str) -> Atom:
        value = self.names.get(name, FALSE)
        assert isinstance(value, Sym | Const | Undef)
        return value

    def exits(self, names: tuple[str, ...] = EXITS) -> list[Atom]:
        """The exits that may have been taken."""
        return [f for f in (self.flag(n) for n in names) if f != FALSE]

    @property
    def left(self) -> bool:
        """Whether this path has surely left the statements being run."""
        return self.dead or TRUE in self.exits()


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a function that is being inlined."""

    name: str
    file: str
    scope: Scope
    env: Env
    code: object
    lexical: Frame | None = None
    globals: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, Any] = field(default_factory=dict)
    frozen: Any = None
    fixed: dict[str, object] = field(default_factory=dict)
    plain: bool = True
    parallel: bool = True
    threaded: bool = False  # its array statements are to run on threads
    error_model: str = "python"
    finished: bool = False  # its names belong to where it was called
    at: Span | None = None  # of a library function: the place of its call, which everything in it has

    def runs(self, other: Frame) -> bool:
        """Whether it is of the same function as another frame: of the same code, closed over the same names."""
        same = self.code is other.code and self.lexical is other.lexical
        cells = self.cells.items()
        return same and all(other.cells.get(name) is cell for name, cell in cells)


@dataclass(slots=True, eq=False)
class Template:
    """A function that calls itself, while it is lowered.

    `names`: its parameters as they were bound in the first call (atoms stand for any atom). `shape`: the structure
    of its result, None until the paths that do not recurse have shown it.
    """

    key: str
    frame: Frame
    names: dict[str, Value]
    shape: Value | None = None
    extras: tuple[Sym, ...] = ()


@dataclass(slots=True)
class Branch:
    """A path that was run on the side: its statements and the names at its end."""

    block: list[Stmt]
    env: Env


_snapshots: WeakKeyDictionary[FunctionType, dict[int, tuple[Any, Any]]] = WeakKeyDictionary()


class Lowering:
    """The IR under construction and everything that the pieces of the frontend share."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.frames: list[Frame] = []
        self.captured: dict[int, tuple[Any, Sym]] = {}
        self.dependencies: dict[object, None] = {}
        self.prefixes: dict[Sym, tuple[Sym, tuple[Atom, ...]]] = {}
        self.lists: set[Sym] = set()
        self.sites: dict[Sym, ast.AST] = {}  # of these lists: where each was made
        self.growing: dict[
            ast.AST, Value | None
        ] = {}  # lists that change their length: the structure of an item
        self.seen: dict[Sym, frozenset[object]] = {}  # arrays that show such a list as it was: its owners
        self.changes: list[frozenset[object]] = []  # owners of the lists whose length was changed, in order
        self.defaults: dict[Sym, tuple[str, str]] = {}  # arrays: default values of which parameter of what
        self.shown: dict[Sym, Copy] = {}  # copies that stand for views that may have a name
        self.lengths: dict[Sym, int] = {}
        self.head: list[Stmt] = []
        self.params: set[Sym] = set()
        self.options = Options()
        self.extents: dict[tuple[Sym, int], Sym] = {}
        self.ones: set[tuple[Sym, int]] = set()  # axes of the arguments whose extent is one
        self.stretches = False  # whether that was asked
        self.items: list[tuple[str, tuple[Value, ...]]] = []  # of kernels being lowered: name and index
        self.loops = 0  # how many loops are being lowered, one in the other
        self.parallel_loops = 0
        self.steps: dict[object, Callable[[Lowering, list[Value], ast.AST], Value]] = {}  # see `device_steps`
        self.shared: frozenset[Sym] = frozenset()  # arrays from outside of the outermost parallel loop
        self.in_order = (
            False  # a parallel loop being lowered updates shared arrays in a way that needs an order
        )
        self.integers = Extents(self.builder.shapes, lambda: self.builder.scopes)
        self.recursive: list[Frame] = []  # of functions that call themselves
        self.templates: list[Template] = []  # recursive functions being lowered, outer first
        self.functions: dict[str, Function] = {}  # those that are finished
        self.by_numba: set[Sym] = set()  # what dispatchers compute that a plain function calls

    # where we are

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @property
    def env(self) -> Env:
        return self.frames[-1].env

    def span(self, node: ast.AST) -> Span:
        return self.frame.at or span_of(self.frame.file, node)

    def failure(self, message: str, node: ast.AST, error: str = "ValueError") -> Raise:
        """What raises, when the program runs, a message of adjit's own."""
        span = self.span(node)
        return Raise(error, (span.told(message),), span)

    def refuse(self, node: ast.AST, reason: str, remedy: str) -> NoReturn:
        refuse(reason, self.span(node), remedy)

    def is_list(self, value: Value) -> bool:
        """Whether a value is a list of the program, which is an array here."""
        return isinstance(value, Growing) or (isinstance(value, Sym) and value in self.lists)

    def both_grow(self, a: Value, b: Value) -> None:
        """Where a name is a list that changes its length on one path, it is on the other."""
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Growing) and isinstance(other, Sym) and other in self.sites:
                raise ListFound(self.sites[other], one.shape)

    def kind(self, value: Value) -> str:
        """What the value is, in words of the user."""
        return kind(value, self.lists)

    def conflict(self, a: Value, b: Value) -> Conflict:
        """What a name is that is `a` on one path and `b` on another, which cannot be joined."""
        return conflict(a, b, self.lists)

    @contextmanager
    def at(self, node: ast.AST) -> Generator[None]:
        """Statements built inside the `with` have the node's span."""
        before = self.builder.span
        if hasattr(node, "lineno"):
            self.builder.span = self.span(node)
        try:
            yield
        finally:
            self.builder.span = before

    # building

    def let(
        self, op: str, *args: Atom, type: Scalar = UNKNOWN, fn: str | None = None, name: str | None = None
    ) -> Sym:
        target = self.builder.let(op, *args, type=type, fn=fn, name=name)
        self.integers.note(target, op, args)
        return target

    def like(self, target: Sym, *sources: Atom) -> None:
        """A name that may stand for a list is one, and so is one that may stand for a shared array."""
        for a in sources:
            if isinstance(a, Sym) and a in self.lists:
                self.lists.add(target)
                if a in self.sites:
                    self.sites[target] = self.sites[a]
                if a in self.seen:
                    self.seen[target] = self.seen.get(target, frozenset()) | self.seen[a]
        if any(isinstance(a, Sym) and a in self.shared for a in sources):
            self.shared |= {target}

    def any_of(self, flags: list[Atom]) -> Atom:
        """The disjunction of bools."""
        if not flags:
            return FALSE
        if TRUE in flags:
            return TRUE
        total = flags[0]
        for flag in flags[1:]:
            total = self.let("or_", total, flag, type=BOOL, name="left")
        return total

    def negate(self, flag: Atom, name: str = "keep") -> Atom:
        if isinstance(flag, Const):
            return FALSE if flag.value else TRUE
        return self.let("not_", flag, type=BOOL, name=name)

    def named(self, value: Value, node: ast.AST) -> Value:
        """What a name is bound to that is given the value."""
        if is_iterator(value):
            return Once(value, self.loops)
        if isinstance(value, TupleValue) and any(is_iterator(item) for item in value.items):
            self.refuse(node, "an iterator in a tuple", "make it where it is used")
        return value

    @contextmanager
    def in_loop(self) -> Generator[None]:
        """What is lowered inside the `with` may run several times."""
        self.loops += 1
        try:
            yield
        finally:
            self.loops -= 1

    @contextmanager
    def in_parallel(self, parallel: bool) -> Generator[None]:
        """What is lowered inside the `with` stands in a parallel loop, if `parallel`: divisions never raise there, as
        in Numba's.
        """
        outer = self.shared
        if parallel and not outer:
            held = (v for v in self.env.names.values() if isinstance(v, Sym))
            self.shared = frozenset(v for v in held if isinstance(v.type, Array))
        self.parallel_loops += parallel
        try:
            yield
        finally:
            self.parallel_loops -= parallel
            self.shared = outer

    @property
    def asks_for_threads(self) -> bool:
        """Whether an array statement that is lowered here is to run on threads: as in Numba, where its dispatcher has
        `parallel=True` and no parallel loop is around it.
        """
        return self.frame.threaded and not self.parallel_loops

    # paths

    def attempt(self, env: Env, run: Callable[[], None]) -> Branch:
        """Run on the side, from `env`."""
        frame = self.frame
        before = frame.env
        frame.env = env
        try:
            with self.builder.collect() as block:
                self._run(run)
            return Branch(block, frame.env)
        finally:
            frame.env = before

    def resume(self, branch: Branch, run: Callable[[], None]) -> None:
        """Run on where the branch ended."""
        more = self.attempt(branch.env, run)
        branch.block.extend(more.block)
        branch.env = more.env

    def _run(self, run: Callable[[], None]) -> None:
        depth = len(self.frames)
        try:
            run()
        except DeadPath:
            del self.frames[depth:]
            self.env.dead = True

    def join(self, cond: Atom, then: Branch, els: Branch) -> None:
        """Close an If: the current path goes on with the names of both branches."""
        flow = Flow(self.lists)
        base = self.env
        a, b = then.env, els.env
        joined: dict[str, Value] = {}
        for name in dict.fromkeys((*a.names, *b.names)):
            value = self._meet(name, _at_end(name, a, b), _at_end(name, b, a), base, flow)
            if not isinstance(value, Unbound) or value is FIRST_TURN:
                joined[name] = value
        self.frame.env = Env(joined, a.dead and b.dead)
        if then.block or els.block or flow.targets:
            args = (tuple(then.block), tuple(els.block), tuple(flow.left), tuple(flow.right))
            for target, *sources in zip(flow.targets, flow.left, flow.right, strict=True):
                self.like(target, *sources)
            self.builder.append(If(cond, *args, tuple(flow.targets), self.builder.span))

    def _meet(self, name: str, a: Value, b: Value, base: Env, flow: Flow) -> Value:
        for one, other in ((a, b), (b, a)):
            if isinstance(other, Unbound):
                if isinstance(one, Unbound) or base.names.get(name) is one:
                    return one
                if not portable(one):
                    return Conflict((self.kind(one), "nothing"))
                if not _local(one):
                    return one
                return self._with_undef(name, one, one is a, flow)
        self.both_grow(a, b)
        return meet(name, a, b, flow)

    def _with_undef(self, name: str, value: Value, first: bool, flow: Flow) -> Value:
        if isinstance(value, TupleValue):
            items = tuple(self._with_undef(name, v, first, flow) for v in value.items)
            return TupleValue(items, value.cls)
        if isinstance(value, RangeValue):
            lo, hi, step = (_number(self._with_undef(name, v, first, flow)) for v in value.bounds)
            return RangeValue(lo, hi, step, value.parallel)
        if isinstance(value, Growing):
            key = (value, UNBOUND) if first else (UNBOUND, value)
            if key not in flow.met:
                made = (_number(self._with_undef(name, v, first, flow)) for v in atoms(value))
                flow.met[key] = rebuild(value, made)
            return flow.met[key]
        if not isinstance(value, Sym | Undef):
            return value
        absent = Undef(value.type)
        pair = (value, absent) if first else (absent, value)
        target_type = value.type if isinstance(value.type, Array) or value.type == BOOL else UNKNOWN
        return flow.meet(*pair, target_type, hint_of(name))

    def branch(self, cond: Atom, then: Callable[[], Value], els: Callable[[], Value], node: ast.AST) -> Value:
        """The value of `then() if cond else els()`; only the taken one is evaluated."""

        def keep(run: Callable[[], Value]) -> Callable[[], None]:
            def action() -> None:
                self.env.names["$value"] = run()

            return action

        base = self.env
        a, b = self.attempt(base.copy(), keep(then)), self.attempt(base.copy(), keep(els))
        with self.at(node):
            self.join(cond, a, b)
        if self.env.dead:
            raise DeadPath
        value = self.env.names.pop("$value")
        if isinstance(value, Conflict):
            remedy = (
                CALL_EACH if value.functions else "write 'if' and 'else', with a name of its own for each"
            )
            self.refuse(node, f"one branch gives {value.kinds[0]}, the other {value.kinds[1]}", remedy)
        return value

    def guarded(self, flags: list[Atom], run: Callable[[], None]) -> None:
        """Run only where none of the exits has been taken."""
        keep = self.negate(self.any_of(flags))
        before = self.env
        inside = self.env.copy()
        for name in (*EXITS, RESULT):
            inside.names.pop(name, None)
        then = self.attempt(inside, run)
        for name in EXITS:  # where they are not taken inside, they are false there and stay what they were
            if name in self.env.names:
                then.env.names.setdefault(name, self.env.names[name])
        self.join(keep, then, Branch([], self.env))
        pending = [name for name in EXITS if before.flag(name) in flags]
        alone = (
            len(pending) == 1 == len(flags)
        )  # no other exit, a `break` that ends here among them, skips `run`
        if alone and (then.env.dead or then.env.flag(pending[0]) == TRUE):
            self.env.names[pending[0]] = TRUE  # either it was taken before, or inside

    # Python objects

    def wrap(self, obj: object, name: str, node: ast.AST) -> Value:
        """A captured or global Python object as a value."""
        if obj is None:
            return NONE
        if isinstance(obj, bool | np.bool_):
            self.depend(name, bool(obj))
            return TRUE if obj else FALSE
        if isinstance(obj, np.generic):
            return self._numpy_scalar(obj, name, node)
        if isinstance(obj, int | float | complex):
            self.depend(name, obj)
            return self.constant(obj, node)
        if isinstance(obj, np.ndarray):
            return self.capture(obj, name, node)
        if isinstance(obj, tuple):
            cls = type(obj) if hasattr(obj, "_fields") else None
            return TupleValue(tuple(self.wrap(v, f"{name}_{k}", node) for k, v in enumerate(obj)), cls)
        if isinstance(obj, str):
            self.depend(name, obj)
        return Static(obj)

    def default(self, obj: object, parameter: str, function: FunctionType, node: ast.AST) -> Value:
        """The default value of a parameter that a call leaves out."""
        value = self.wrap(obj, parameter, node)
        for a in atoms(value):
            if isinstance(a, Sym) and a in self.params:
                self.defaults[a] = (parameter, function.__name__)
        return value

    def depend(self, name: str, value: object) -> None:
        self.dependencies[(name, type(value).__name__, repr(value))] = None

    def constant(self, value: complex, node: ast.AST) -> Const:
        """A literal."""
        if isinstance(value, bool):
            return TRUE if value else FALSE
        if isinstance(value, int):
            if -(2**63) <= value < 2**63:
                return Const(value, INT64)
            if 0 <= value < 2**64:
                return Const(value, UINT64)
            self.refuse(node, f"the integer {value} does not fit in 64 bits", "make it a float")
        return Const(value, FLOAT64 if isinstance(value, float) else COMPLEX128)

    def _numpy_scalar(self, obj: np.generic, name: str, node: ast.AST) -> Value:
        """NumPy scalars are strong: they keep their dtype where a Python number would adapt."""
        dtype = self.dtype(obj.dtype, node)
        value = obj.item()
        self.depend(name, (dtype.name, value))
        if not self.frame.plain and dtype in (INT64, FLOAT64):
            return self.constant(value, node)
        return self.let("cast", self.constant(value, node), type=dtype, fn=f"numpy.{dtype.name}", name=name)

    def dtype(self, dtype: np.dtype[Any], node: ast.AST) -> Scalar:
        """A NumPy dtype as the IR's scalar type."""
        name = np.dtype(dtype).name
        if name not in KNOWN_DTYPES or not np.dtype(dtype).isnative:
            self.refuse(
                node, f"the dtype {dtype} is not supported", "use a float, int, bool or complex dtype"
            )
        return Scalar(name)

    def capture(self, array: Any, name: str, node: ast.AST) -> Sym:
        """A captured array is a hidden argument; what a dispatcher captures is frozen, as Numba does."""
        if self.frame.frozen is not None:
            array = _snapshot(self.frame.frozen, array)
        if id(array) not in self.captured:
            type_ = Array(
                self.dtype(array.dtype, node), array.ndim, layout_of(array), not array.flags.writeable
            )
            self.captured[id(array)] = (array, Sym(name.rpartition(".")[2], type_))
            self.params.add(self.captured[id(array)][1])
        return self.captured[id(array)][1]

    def extent(self, array: Sym, axis: int) -> Atom:
        """`array.shape[axis]`; of an argument, once at the head of the function."""
        base, before = self.prefix(array)
        axis += len(before)
        made = self.builder.shapes.get(base)
        if made is not None and isinstance(made[axis], Const):
            return made[axis]
        if base not in self.params:
            found = self._dim(base, axis)
        elif (base, axis) in self.extents:
            found = self.extents[base, axis]
        else:
            with self.builder.collect() as block:
                found = self.extents[base, axis] = self._dim(base, axis)
            self.head += block
        return found

    def _dim(self, array: Sym, axis: int) -> Sym:
        target = self.builder.dim(array, axis)
        self.integers.note(target, "dim", (array, axis))
        return target

    def is_one(self, extent: Atom) -> bool:
        """Whether an extent is known to be one: a constant, or an argument's."""
        if not isinstance(extent, Sym):
            return extent == ONE
        op, args = self.integers.meanings.get(extent, ("", ()))
        if op != "dim" or args[0] not in self.params:
            return False
        self.stretches = True
        return args in self.ones

    def is_known(self, extent: Atom) -> bool:
        """Whether it is known if an extent is one: of constants, and of arguments."""
        if not isinstance(extent, Sym):
            return True
        op, args = self.integers.meanings.get(extent, ("", ()))
        return op == "dim" and args[0] in self.params

    # views of leading axes, so that a[i][j] is one load

    def prefix(self, array: Sym) -> tuple[Sym, tuple[Atom, ...]]:
        """(base, leading indices) such that `array` is `base[indices]`."""
        return self.prefixes.get(array, (array, ()))

    def rows(self, array: Sym, index: tuple[Atom, ...]) -> Sym:
        """`array[index]` for fewer indices than axes: a view."""
        base, before = self.prefix(array)
        type_ = base.type
        assert isinstance(type_, Array)
        index = (*before, *index)
        spelled = (*index, *[Slice()] * (type_.ndim - len(index)))
        view = self.builder.view(
            base, spelled, Array(type_.dtype, type_.ndim - len(index), "?", type_.readonly)
        )
        self.prefixes[view] = (base, index)
        return view


def _at_end(name: str, env: Env, other: Env) -> Value:
    """What a name is at the end of a branch; nothing where the branch does not come back to read it."""
    if env.dead:
        return UNBOUND
    if name in EXITS:
        return env.names.get(name, FALSE)
    if (
        not name.startswith("$")
        and env.flag(RETURN) == TRUE
        and other.flag(RETURN) != TRUE
        and not other.dead
    ):
        return UNBOUND
    return env.names.get(name, UNBOUND)


def meet(name: str, a: Value, b: Value, flow: Flow) -> Value:
    """One value for two paths; what differs goes through `flow`."""
    if a is b:
        return a
    if isinstance(a, Sym | Const | Undef) and isinstance(b, Sym | Const | Undef):
        if a == b:
            return a
        if isinstance(a, Undef):
            a = Undef(b.type)
        elif isinstance(b, Undef):
            b = Undef(a.type)
        joined = joined_type(a.type, b.type)
        return conflict(a, b, flow.lists) if joined is None else flow.meet(a, b, joined, hint_of(name))
    if isinstance(a, TupleValue) and isinstance(b, TupleValue):
        if a.cls is b.cls and len(a.items) == len(b.items):
            items = tuple(meet(name, x, y, flow) for x, y in zip(a.items, b.items, strict=True))
            clash = next((i for i in items if isinstance(i, Conflict)), None)
            return TupleValue(items, a.cls) if clash is None else clash
    elif isinstance(a, RangeValue) and isinstance(b, RangeValue) and a.parallel == b.parallel:
        lo, hi, step = (_number(meet(name, x, y, flow)) for x, y in zip(a.bounds, b.bounds, strict=True))
        return RangeValue(lo, hi, step, a.parallel)
    elif isinstance(a, Growing) and isinstance(b, Growing) and same_items(a, b):
        if (a, b) not in flow.met:
            flow.met[a, b] = _lists(name, a, b, flow)
        return flow.met[a, b]
    elif same_static(a, b):
        return a
    return a if isinstance(a, Conflict) else b if isinstance(b, Conflict) else conflict(a, b, flow.lists)


def _lists(name: str, a: Growing, b: Growing, flow: Flow) -> Value:
    """A list that is one of two."""
    met = [meet(name, x, y, flow) for x, y in zip(atoms(a), atoms(b), strict=True)]
    clash = next((m for m in met if isinstance(m, Conflict)), None)
    joined = replace(a, owners=a.owners | b.owners)
    return rebuild(joined, map(_number, met)) if clash is None else clash


def _number(value: Value) -> Atom:
    """A bound of a range: whole numbers always have one type in common."""
    assert isinstance(value, Sym | Const | Undef)
    return value


def portable(value: Value) -> bool:
    """Whether the value may leave the branch that made it: its atoms can be replaced by others."""
    match value:
        case TupleValue():
            return all(portable(item) for item in value.items)
        case Closure():
            return not (value.defaults or value.keyword_defaults or value.frame.finished)
        case _:
            return is_atom(value) or isinstance(value, Static | Conflict | RangeValue | Growing)


def _local(value: Value) -> bool:
    """Whether the value has symbols, which may belong to one branch."""
    return any(not isinstance(a, Const) for a in atoms(value))


_HINTS = {
    RETURN: "returned",
    BREAK: "broke",
    CONTINUE: "skipped",
    RESULT: "result",
    "$stop": "stop",
    "$value": "t",
}


def hint_of(name: str) -> str:
    """The name of a symbol for a user's name or one of the frontend's own."""
    return _HINTS.get(name, name)


def layout_of(array: Any) -> str:
    """Numba's layout of a NumPy array."""
    if array.flags.c_contiguous:
        return "C"
    return "F" if array.flags.f_contiguous else "A"


def _snapshot(owner: FunctionType, array: Any) -> Any:
    """The frozen copy of an array that a dispatcher captures, made once."""
    known = _snapshots.setdefault(owner, {})
    if id(array) not in known:
        copy = np.array(array, order="K", copy=True)
        copy.flags.writeable = False
        known[id(array)] = (array, copy)
    return known[id(array)][1]
