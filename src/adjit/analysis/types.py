"""Types every symbol as Numba would.

`infer` walks the structured SSA, asks Numba's typing context about each operation, and iterates loop params to
their fixed point. What flows into a param or a result of another type is then cast explicitly; operations
keep their operands as they are. Functions that are not dispatchers get NumPy 2's rules instead (see
`promotion`), by casts of operands.

Symbols keep their identity: a typed symbol equals the untyped one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numba.core import types

from adjit.analysis import numba_types
from adjit.analysis.derived import derived_facts
from adjit.analysis.facts import Fact
from adjit.analysis.promotion import join, type_let
from adjit.analysis.several import held, unbounded, widened
from adjit.errors import UnsupportedError
from adjit.ir.core import (
    Alloc,
    Atom,
    Block,
    Call,
    Const,
    Custom,
    Derive,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    RefGet,
    RefNew,
    Slice,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
    unique_name,
)
from adjit.ir.spellings import CONVERSIONS
from adjit.ir.types import FLOAT64, INT64, UNKNOWN, Array, RefList, Scalar, Type
from adjit.ir.visit import walk, with_own_symbols
from adjit.rules import linear

_MAX_ROUNDS = 50
_MAX_INSTANCES = 12


def infer(
    function: Function,
    weak_params: frozenset[Sym] | None = None,
    marked: set[Sym] | None = None,
    by_numba: set[Sym] | None = None,
    lists: set[Sym] | None = None,
) -> Function:
    """The typed function.

    Arguments:
    - function: untyped IR; ranks of arrays are known, scalars and layouts may be unknown.
    - weak_params: None types by Numba's own rules (a dispatcher); else NumPy 2's rules, and these
      parameters are Python numbers.
    - marked: symbols that the caller follows; their copies in instances of called functions are added.
    - by_numba: symbols that have Numba's types whatever the rules are, and their copies likewise.
    - lists: arrays whose items stay Python's numbers, or NumPy's, as they were put there; and their copies.

    Raises: UnsupportedError where Numba cannot type an operation or a flow.
    """
    from adjit.analysis.retype import retyped

    return retyped(function, facts_of(function, weak_params, marked, by_numba, lists))


def facts_of(
    function: Function,
    weak_params: frozenset[Sym] | None,
    marked: set[Sym] | None = None,
    by_numba: set[Sym] | None = None,
    lists: set[Sym] | None = None,
) -> Inference:
    """The inferred facts, at their fixed point."""
    followed = tuple(set[Sym]() if s is None else s for s in (marked, by_numba, lists))
    inference = Inference(weak_params is not None, function.functions, *followed)
    given = {p: Fact(p.type, weak_params is not None and p in weak_params) for p in function.params}
    inference.facts.update(given)
    inference.origins = _origins(function.body)
    for _ in range(_MAX_ROUNDS):
        inference.begin(given)
        before = inference.state()
        inference.block(function.body)
        inference.visit_instances()
        if inference.state() == before and not inference.settle():
            return inference
    raise AssertionError(f"{function.name}: types of list elements do not settle")


def view_index(items: tuple[Atom | Slice, ...]) -> tuple[types.Type, ...]:
    """Numba's types of the index of a view."""
    return tuple(
        types.intp
        if not isinstance(i, Slice)
        else (types.slice2_type if i.step is None else types.slice3_type)
        for i in items
    )


def new_axes_index(axes: tuple[int | None, ...]) -> tuple[types.Type, ...]:
    """Numba's types of the index that adds axes: full slices after the last new one are left out."""
    last = len(axes) - axes[::-1].index(None)
    return tuple(types.none if k is None else types.slice2_type for k in axes[:last])


def _permuted(layout: str, axes: tuple[int | None, ...]) -> str:
    """The layout of an array with its axes in another order."""
    if axes == tuple(range(len(axes))):
        return layout
    if axes == tuple(range(len(axes)))[::-1]:
        return {"C": "F", "F": "C"}.get(layout, layout)
    return "A"


@dataclass(eq=False)
class Instance:
    """A called function for arguments of one tuple of types; `results` are joined over all rounds."""

    function: Function
    results: list[Fact | None]
    given: dict[Sym, Fact]


class Inference:
    """Facts about symbols, and about the element type ("cell") of arrays that are typed by what fills them.

    Called functions have one instance for each tuple of argument types, as in Numba. What they return is found by
    iteration, from the paths that do not recurse.
    """

    def __init__(self, numpy_rules: bool, functions: tuple[Function, ...], *followed: set[Sym]):
        self.numpy_rules = numpy_rules
        self.marked, self.by_numba, self.lists = followed
        self.templates = {f.name: f for f in functions}
        self.instances: dict[tuple[str, tuple[Fact, ...]], Instance] = {}
        self._any_layout: set[str] = set()
        self.facts: dict[Sym, Fact] = {}
        self.cells: dict[Sym, Fact] = {}
        self.items: dict[Sym, Fact] = {}  # of lists
        self.origins: dict[Sym, Sym] = {}
        self._open: set[Sym] = set()
        self._widened = False  # an element type was another earlier in this round
        self._neutral: set[Sym] = set()  # carried values that start with a number of no type yet

    def rules(self, s: Sym) -> bool:
        """Whether the symbol is typed by NumPy's rules; else by Numba's."""
        return self.numpy_rules and s not in self.by_numba

    def origin(self, s: Sym) -> Sym:
        """The representative of all array symbols that may share memory or a name with `s`."""
        while s in self.origins:
            s = self.origins[s]
        return s

    def fact(self, a: Atom) -> Fact | None:
        """What is known of an atom so far; nothing of Undef."""
        match a:
            case Sym():
                return self.facts.get(a)
            case Const():
                bounds = (a.integer, a.integer) if self.numpy_rules and a.type == INT64 else None
                return Fact(a.type, self.numpy_rules, bounds=bounds) if a.type.known else None
            case Undef():
                return None

    def is_list(self, array: Sym) -> bool:
        """Whether the array is a list of the program, by whatever name."""
        return bool(self.lists) and self.origin(array) in {self.origin(s) for s in self.lists}

    def begin(self, given: dict[Sym, Fact]) -> None:
        """A round: from the arguments alone, if an element type has become another, of which nothing may be kept."""
        if self._widened:
            self._widened = False
            self.facts = {p: f for i in self.instances.values() for p, f in i.given.items()} | given

    def settle(self) -> bool:
        """Give float64 to element types that nothing decides; whether there were any."""
        pending = {r for r in self._open if r not in self.cells}
        for root in pending:
            self.cells[root] = Fact(FLOAT64)
        return bool(pending)

    def state(self) -> object:
        """What must stop changing."""
        instances = [(key, tuple(i.results)) for key, i in self.instances.items()]
        return dict(self.cells), dict(self.items), instances

    def visit_instances(self) -> None:
        """One round over the bodies of the called functions."""
        for instance in list(self.instances.values()):
            self.block(instance.function.body)
            for k, a in enumerate(instance.function.results):
                found = [unbounded(f) for f in (self.fact(a), instance.results[k]) if f is not None]
                plain = all(map(self.rules, instance.function.params))
                instance.results[k] = join(tuple(found), plain) if found else None

    def instance(self, call: Call) -> Instance | None:
        """The callee for these arguments, made where it is new; None while a type is not known."""
        facts = [self.fact(a) for a in call.args]
        known = tuple(unbounded(f) for f in facts if f is not None and f.type.known)
        if len(known) != len(facts):
            return None
        if call.callee in self._any_layout:
            known = tuple(map(_strided, known))
        key = (call.callee, known)
        if key not in self.instances:
            if self._alternates(call.callee, known):
                self._any_layout.add(call.callee)
                self.instances = {k: i for k, i in self.instances.items() if k[0] != call.callee}
                return self.instance(call)
            if sum(name == call.callee for name, _ in self.instances) >= _MAX_INSTANCES:
                name = call.callee.partition(".")[0]
                raise UnsupportedError(
                    f"'{name}' calls itself with arguments of other types each time",
                    "convert the arguments so that each call passes the same types",
                    call.span,
                )
            own = self._copy(call.callee, known)
            given = dict(zip(own.params, known, strict=True))
            self.instances[key] = Instance(own, [None] * len(call.results), given)
        return self.instances[key]

    def _alternates(self, name: str, facts: tuple[Fact, ...]) -> bool:
        """Whether the arguments differ from those of another call in the layout of arrays alone.

        Two versions that call each other would be mutual recursion, so there is one, for any layout.
        """
        wide = tuple(map(_strided, facts))
        return any(n == name and tuple(map(_strided, other)) == wide for n, other in self.instances)

    def _copy(self, name: str, facts: tuple[Fact, ...]) -> Function:
        env: dict[Sym, Atom] = {}
        own = replace(with_own_symbols(self.templates[name], env), name=unique_name(name))
        for followed in (self.marked, self.by_numba, self.lists):
            followed |= {s for old, s in env.items() if old in followed and isinstance(s, Sym)}
        self.facts.update(zip(own.params, facts, strict=True))
        self.origins.update(_origins(own.body))
        return own

    def block(self, block: Block) -> None:
        for stmt in block:
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Let():
                self._set(stmt.target, self._let(stmt))
            case Call():
                called = self.instance(stmt)
                if called is not None:
                    for r, fact in zip(stmt.results, called.results, strict=True):
                        self._set(r, fact)
            case Load():
                self._set(stmt.target, self._load(stmt))
            case Store():
                self._store(stmt)
            case Whole():
                self._whole(stmt)
            case View():
                self._set(stmt.target, self._view(stmt))
            case Alloc():
                self._set(stmt.target, self._alloc(stmt))
            case Ensure():
                self._set(stmt.target, self.facts.get(stmt.array))
            case RefNew():
                self._set(stmt.target, Fact(stmt.target.type))
            case RefGet():
                listed = stmt.references.type
                assert isinstance(listed, RefList)
                self._set(stmt.target, Fact(listed.element))
            case Loop():
                self._loop(stmt)
            case If():
                self._if(stmt)
            case Custom():
                self.block(stmt.body)
                for r, v in zip(stmt.results, stmt.values, strict=True):
                    self._set(r, self.fact(v))
            case Derive():
                for p, a in zip(stmt.params, stmt.args, strict=False):  # a "pull" has no params
                    self._set(p, self.fact(a))
                self.block(stmt.body)
                facts = (*map(self.fact, stmt.values), *derived_facts(stmt, self.fact))
                for r, found in zip(stmt.results, facts, strict=True):
                    self._set(r, found)
            case _:
                pass

    def _set(self, s: Sym, fact: Fact | None) -> None:
        if fact is not None:
            self.facts[s] = fact

    def _array(self, s: Sym) -> Array | None:
        fact = self.facts.get(s)
        return fact.type if fact is not None and isinstance(fact.type, Array) else None

    def _let(self, let: Let) -> Fact | None:
        facts = tuple(self.fact(a) for a in let.args)
        if facts[0] is None and let.args[0] in self._neutral:
            facts = (facts[1], *facts[1:])
        known = tuple(f for f in facts if f is not None and _complete(f.type))
        if len(known) != len(facts):
            given = let.op == "cast" and let.fn not in CONVERSIONS
            return Fact(let.target.type) if given else None
        typing = type_let(let, known, self.rules(let.target))
        return None if typing is None else typing.result

    def _load(self, load: Load) -> Fact | None:
        array, root = self._array(load.array), self.origin(load.array)
        if array is None or not array.dtype.known:
            return None
        item = self.items.get(root) if self.rules(load.array) else None
        if item is not None and held(item, array.dtype) is not None:
            return held(item, array.dtype)
        cell = self.cells.get(root)
        among = cell.among if cell is not None and cell.type == array.dtype else ()
        return Fact(array.dtype, element=None if cell is None else cell.element, among=among)

    def _store(self, store: Store) -> None:
        value = self.fact(store.value)
        if value is None:
            return
        listed = self.is_list(store.array)
        if listed:
            self._put(store.array, value if isinstance(store.value, Const) else unbounded(value))
        if store.fills or (listed and self.rules(store.array)):  # Numba cuts off what is assigned
            self._fill(store.array, value)

    def _put(self, array: Sym, value: Fact) -> None:
        """An item of a list."""
        root = self.origin(array)
        old = self.items.get(root)
        joined = value if old is None else join((old, value), self.numpy_rules)
        if joined is not None and isinstance(joined.type, Scalar):
            self.items[root] = joined

    def _whole(self, stmt: Whole) -> None:
        """The results' element types; of several among the arguments NumPy takes the widest."""
        arrays = [self._array(a) for a in stmt.args if isinstance(a, Sym) and isinstance(a.type, Array)]
        known = tuple(a.dtype for a in arrays if a is not None and a.dtype.known)
        if len(known) == len(arrays):
            common = numba_types.promoted(known)
            for s, dtype in zip(stmt.outs, linear.get(stmt.op).dtypes((common,) * len(known)), strict=True):
                self._fill(s, Fact(dtype))

    def _fill(self, array: Sym, value: Fact) -> None:
        """What is put in an array that was made without a dtype."""
        root = self.origin(array)
        if root in self._open:
            old = self.cells.get(root)
            value = unbounded(value)
            joined = value if old is None else join((old, value), self.rules(array))
            if joined is not None:
                self._widened = self._widened or (old is not None and old.type != joined.type)
                self.cells[root] = joined

    def _view(self, view: View) -> Fact | None:
        array = self._array(view.array)
        if array is None:
            return None
        if view.shape is not None:
            return Fact(Array(array.dtype, len(view.shape), "C", array.readonly))
        axes = view.axes
        if axes is not None and None not in axes:
            return Fact(replace(array, layout=_permuted(array.layout, axes)))
        dtype = array.dtype if array.dtype.known else FLOAT64
        stand_in = Array(dtype, array.ndim, array.layout, array.readonly)
        index = view_index(view.index) if axes is None else new_axes_index(axes)
        got = numba_types.getitem(stand_in, index)
        if not isinstance(got, Array):
            return None
        return Fact(Array(array.dtype, got.ndim, got.layout, got.readonly))

    def _alloc(self, alloc: Alloc) -> Fact | None:
        type_ = alloc.target.type
        assert isinstance(type_, Array)
        dtype, layout = type_.dtype, type_.layout
        fill = None if alloc.fill is None else self.fact(alloc.fill)
        if fill is not None and alloc.target in self.lists:
            self._put(alloc.target, fill if isinstance(alloc.fill, Const) else unbounded(fill))
        if layout == "?":
            like = None if alloc.like is None else self._array(alloc.like)
            layout = like.layout if like is not None and like.layout == "F" else "C"
        if not dtype.known:
            like = None if alloc.like is None else self._array(alloc.like)
            dtype = self._element(alloc) if alloc.like is None else like.dtype if like else UNKNOWN
        return Fact(Array(dtype, type_.ndim, layout))

    def _element(self, alloc: Alloc) -> Scalar:
        """The dtype of an array that was created without one: its fill's, else that of the stores that fill it."""
        fact = None if alloc.fill is None else self.fact(alloc.fill)
        if alloc.fill is None or alloc.target in self.lists:
            root = self.origin(alloc.target)
            self._open.add(root)
            if fact is not None:
                self._fill(alloc.target, fact)
            fact = self.cells.get(root)
        return fact.type if fact is not None and isinstance(fact.type, Scalar) else UNKNOWN

    def _loop(self, loop: Loop) -> None:
        if loop.index is not None:
            self._set(loop.index, self._index(loop))
        for p, init in zip(loop.params, loop.inits, strict=True):
            self._flow(p, (init,))
            if init in self._neutral or (isinstance(init, Const) and not init.type.known):
                self._neutral.add(p)
        for _ in range(_MAX_ROUNDS):
            self.block(loop.body)
            flows = list(zip(loop.params, loop.inits, loop.nexts, strict=True))
            if not any([self._flow(p, (init, after), carried=True) for p, init, after in flows]):
                break
        for p, r in zip(loop.params, loop.results, strict=True):
            self._set(r, self.facts.get(p))

    def _index(self, loop: Loop) -> Fact | None:
        facts = [self.fact(b) for b in (loop.lo, loop.hi, loop.step) if b is not None]
        if loop.index is not None and self.rules(loop.index):
            return Fact(INT64, True)
        if any(f is None for f in facts):
            return None
        got = numba_types.range_index(tuple(f.type for f in facts if f is not None))
        return None if got is None else Fact(got)

    def _if(self, stmt: If) -> None:
        self.block(stmt.then)
        self.block(stmt.els)
        for r, a, b in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
            self._flow(r, (a, b))

    def _flow(self, s: Sym, sources: tuple[Atom, ...], carried: bool = False) -> bool:
        """Widen the type of `s` by what flows into it; whether it changed."""
        facts = [f for f in (self.fact(a) for a in sources) if f is not None]
        old = self.facts.get(s)
        if old is not None:
            facts.append(old)
        joined = join(tuple(facts), self.rules(s)) if facts else None
        if joined is not None and old is not None and carried:
            joined = widened(old, joined)
        if joined is None or joined == old:
            return False
        self.facts[s] = joined
        return True


def _strided(fact: Fact) -> Fact:
    """The same, of an array of any layout."""
    t = fact.type
    return Fact(replace(t, layout="A"), fact.weak) if isinstance(t, Array) and t.ndim else fact


def _complete(type: Type) -> bool:
    return not isinstance(type, Scalar) or type.known


def _origins(block: Block) -> dict[Sym, Sym]:
    """Union-find parents that join array symbols which may be the same memory or name."""
    parents: dict[Sym, Sym] = {}

    def find(s: Sym) -> Sym:
        while s in parents:
            s = parents[s]
        return s

    def join_(a: Atom, b: Atom) -> None:
        if isinstance(a, Sym) and isinstance(b, Sym) and isinstance(a.type, Array):
            roots = find(a), find(b)
            if roots[0] != roots[1]:
                parents[roots[0]] = roots[1]

    for stmt in walk(block):
        match stmt:
            case View() | Ensure():
                join_(stmt.target, stmt.array)
            case Loop():
                for p, i, n, r in zip(stmt.params, stmt.inits, stmt.nexts, stmt.results, strict=True):
                    for other in (i, n, r):
                        join_(p, other)
            case If():
                for r, a, b in zip(stmt.results, stmt.then_values, stmt.else_values, strict=True):
                    join_(r, a)
                    join_(r, b)
            case Custom():
                for r, v in zip(stmt.results, stmt.values, strict=True):
                    join_(r, v)
            case Derive():
                for r, v in zip(stmt.results, stmt.values, strict=False):
                    join_(r, v)
                for p, a in zip(stmt.params, stmt.args, strict=False):
                    join_(p, a)
            case _:
                pass
    return parents
