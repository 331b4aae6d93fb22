"""What a name can stand for while a program is lowered: IR atoms, or things known when the program is built."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from adjit.ir.core import Atom, Const, Sym, Undef
from adjit.ir.structure import Leaf, NoneSpec, Spec, StaticSpec, TupleSpec
from adjit.ir.types import BOOL, UNKNOWN, Array, Scalar, Type

if TYPE_CHECKING:
    from adjit.frontend.context import Frame


@dataclass(frozen=True, slots=True, eq=False)
class TupleValue:
    """A tuple, or a NamedTuple of class `cls`: exploded, it never reaches the IR."""

    items: tuple[Value, ...]
    cls: type | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A Python object known when the program is built: None, a module, a function, a dtype, a string."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A nested function or lambda. It reads the *current* names of the frame that it was defined in."""

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: tuple[Value, ...]
    keyword_defaults: dict[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """`functools.partial(function, *args, **keywords)`."""

    function: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class DerivativeOf:
    """`aj.grad(f, wrt)`, or another operator, inside a program: a function that is not called yet.

    wrt: the argument's number and the path into it, for each; single: there is one, and not in a tuple.
    """

    kind: str
    function: Value
    wrt: tuple[tuple[int, tuple[str, ...]], ...]
    single: bool
    has_aux: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PullbackOf:
    """The second result of `aj.vjp` inside a program.

    link: stands for what the reverse sweep needs. args: the arguments that are differentiated by, flat. value: the
    result. trees: a tree like each positional argument, of numbers into `args`; None where there is no derivative.
    """

    link: Sym
    args: tuple[Atom, ...]
    value: Value
    trees: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """`aj.Const(value)`, an argument of `aj.vjp` that gets no cotangent."""

    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """`owner.name`, about to be called."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class SliceValue:
    """`start:stop:step`."""

    start: Atom | None
    stop: Atom | None
    step: Atom | None


@dataclass(frozen=True, slots=True, eq=False)
class RangeValue:
    """`range(lo, hi, step)`; its bounds are evaluated. parallel: a `prange` whose turns may run at the same time."""

    lo: Atom
    hi: Atom
    step: Atom
    parallel: bool = False

    @property
    def bounds(self) -> tuple[Atom, Atom, Atom]:
        """First number, end and step."""
        return self.lo, self.hi, self.step


@dataclass(frozen=True, slots=True, eq=False)
class ZipValue:
    """`zip(*items)`."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EnumerateValue:
    """`enumerate(item, start)`."""

    item: Value
    start: Atom


@dataclass(frozen=True, slots=True, eq=False)
class ReversedValue:
    """`reversed(item)`."""

    item: Value


@dataclass(frozen=True, slots=True, eq=False)
class IndexSpace:
    """`np.ndindex(shape)`."""

    shape: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FlatValue:
    """`array.flat`."""

    array: Sym


@dataclass(frozen=True, slots=True, eq=False)
class NdEnumerateValue:
    """`np.ndenumerate(array)`."""

    array: Sym


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where an element stands along one axis: `index + shift`, from 0 on. `index` is a loop's, or a constant."""

    index: Atom
    shift: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A part of one axis of an array: elements start, start + step, ..., `extent` of them.

    stop: with step 1, where it ends, which may be before the start.
    """

    start: Atom
    step: Atom
    extent: Atom
    stop: Atom | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """A whole array that is not in memory: its extents, and the code of one element at given places.

    dtype: of the elements, where known (bool always is). part: the array and one item per axis, of a part of an array
    (None for a new axis). shows: the array of which NumPy would show numbers, and the attribute or function that gives
    the view (see `shown`). fused: the same code where it is an operand in an expression, if that has other numbers (see
    `analysis.promotion.Fact`).
    """

    shape: tuple[Atom, ...]
    at: Callable[[tuple[Place, ...]], Atom]
    dtype: Scalar = UNKNOWN
    part: tuple[Sym, tuple[Atom | Axis | None, ...]] | None = None
    shows: tuple[Sym, str] | None = None
    fused: Callable[[tuple[Place, ...]], Atom] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Growing:
    """A list of which the program changes the length, as it is at this point of the program (see `growing`).

    columns: one array for each number of an item, `count` items of it being in use. shape: the structure of an item,
    None as long as nothing was put in. site: where the list is made. owners: stands for the lists that it may be; what
    has none in common with it is another list.
    """

    columns: tuple[Atom, ...]
    count: Atom
    shape: Value | None
    site: ast.AST
    owners: frozenset[object]


class ListFound(Exception):
    """Internal: the list that is made at `site` changes its length, and has items of this structure (None: not known).

    The program is lowered once more, with a list that can.
    """

    def __init__(self, site: ast.AST, shape: Value | None):
        super().__init__()
        self.site, self.shape = site, shape


@dataclass(frozen=True, slots=True, eq=False)
class Once:
    """An iterator that has a name: it can be run over once, in as many loops as it was made in."""

    value: Value
    loops: int


@dataclass(frozen=True, slots=True, eq=False)
class Conflict:
    """A name that is bound to values of different kinds on different paths: refused when it is read.

    functions: whether both are functions.
    """

    kinds: tuple[str, str]
    functions: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Unbound:
    """A name that is not bound on this path, or a path that does not come back."""


Value = (
    Atom
    | TupleValue
    | Static
    | Closure
    | Partial
    | DerivativeOf
    | PullbackOf
    | Constant
    | Method
    | SliceValue
    | RangeValue
    | ZipValue
    | EnumerateValue
    | ReversedValue
    | IndexSpace
    | FlatValue
    | NdEnumerateValue
    | Elements
    | Growing
    | Once
    | Conflict
    | Unbound
)

NONE = Static(None)
UNBOUND = Unbound()
SPENT = Once(NONE, -1)
"""An iterator that has been run over."""
FIRST_TURN = Unbound()
"""A name that is bound only by a later turn of the loop: paths that read it do not exist in the first one."""


def is_atom(value: Value) -> bool:
    """A number or an array."""
    return isinstance(value, Sym | Const | Undef)


def is_scalar(value: Value) -> bool:
    """A number."""
    return isinstance(value, Sym | Const | Undef) and isinstance(value.type, Scalar)


def is_array(value: Value) -> bool:
    """An array."""
    return isinstance(value, Sym | Undef) and isinstance(value.type, Array)


def is_iterator(value: Value) -> bool:
    """Whether running over the value uses it up."""
    once = ZipValue | EnumerateValue | ReversedValue | IndexSpace | FlatValue | NdEnumerateValue
    return isinstance(value, once)


def kind(value: Value, lists: Container[Sym] = ()) -> str:
    """What the value is, in words of the user. lists: the arrays that are lists of the program."""
    match value:
        case Sym() | Const() | Undef():
            if isinstance(value, Sym) and value in lists:
                return "a list"
            t = value.type
            return f"a {t.ndim}-D array" if isinstance(t, Array) else "a number"
        case TupleValue():
            return f"a tuple of {len(value.items)}"
        case Static(value=None):
            return "None"
        case Static():
            return describe(value.value)
        case Closure():
            name = value.node.name if isinstance(value.node, ast.FunctionDef) else "<lambda>"
            return f"the function '{name}'"
        case Partial():
            return "a partial function"
        case DerivativeOf():
            return "a gradient function" if "grad" in value.kind else "a derivative function"
        case PullbackOf():
            return "a pullback"
        case Constant():
            return "an aj.Const"
        case Method():
            return f"the method '{value.name}'"
        case SliceValue():
            return "a slice"
        case RangeValue():
            return "a prange" if value.parallel else "a range"
        case Elements():
            return f"a {len(value.shape)}-D array"
        case Growing():
            return "a list"
        case Conflict():
            return " or ".join(value.kinds)
        case Unbound():
            return "nothing"
        case _:
            return "an iterator"


def kinds(a: Value, b: Value, lists: Container[Sym] = ()) -> tuple[str, str]:
    """What two values are, in words that tell them apart."""
    words = kind(a, lists), kind(b, lists)
    types = [v.type for v in (a, b) if isinstance(v, Sym | Undef) and isinstance(v.type, Array)]
    if words[0] != words[1] or len(types) < 2:
        return words
    first, second = (f"{words[0]} of {t.dtype}" for t in types)
    return first, second


def conflict(a: Value, b: Value, lists: Container[Sym] = ()) -> Conflict:
    """What a name is that is `a` on one path and `b` on another, which cannot be joined."""
    return Conflict(kinds(a, b, lists), _is_function(a) and _is_function(b))


def _is_function(value: Value) -> bool:
    return isinstance(value, Closure | Partial | DerivativeOf | PullbackOf | Method) or (
        isinstance(value, Static) and callable(value.value)
    )


def two_names(value: Conflict) -> str:
    """What to write for a name that would stand for two kinds of values."""
    if value.functions:
        return CALL_EACH
    if "None" in value.kinds:
        return "use two names: a number from the start, and a bool that says whether it is set"
    return "use two names"


CALL_EACH = (
    "which function or kernel is called must be known when the program is compiled: "
    "call each in a branch of its own (if c: a(...) else: b(...))"
)


def describe(value: object) -> str:
    """A Python object, in words."""
    if isinstance(value, str):
        return "a string"
    name = getattr(value, "__name__", None)
    if isinstance(value, list | dict | set | frozenset | bytes):
        return f"a {type(value).__name__}"
    return f"'{name}'" if isinstance(name, str) else f"an object of type {type(value).__name__}"


def same_static(a: Value, b: Value) -> bool:
    """Whether two values without atoms are the same compile-time thing."""
    if a is b:
        return True
    match a, b:
        case Static(), Static():
            try:
                same_type = type(a.value) is type(b.value)
                return a.value is b.value or (same_type and isinstance(a.value, str) and a.value == b.value)
            except Exception:
                return False
        case TupleValue(), TupleValue():
            return (
                a.cls is b.cls
                and len(a.items) == len(b.items)
                and all(same_static(x, y) for x, y in zip(a.items, b.items, strict=True))
            )
        case Closure(), Closure():
            return a.node is b.node and a.frame is b.frame and not a.defaults and not a.keyword_defaults
        case _:
            return False


def joined_type(a: Type, b: Type) -> Type | None:
    """The type of a symbol that is `a` on one path and `b` on another; None where kinds clash."""
    match a, b:
        case Scalar(), Scalar():
            return BOOL if a == b == BOOL else UNKNOWN
        case Array(), Array():
            if a.ndim != b.ndim or (a.dtype != b.dtype and a.dtype.known and b.dtype.known):
                return None
            dtype = a.dtype if a.dtype.known else b.dtype
            layout = a.layout if a.layout == b.layout else "?"
            return Array(dtype, a.ndim, layout, a.readonly or b.readonly)
        case _:
            return None


def carried_type(t: Type) -> Type:
    """The type of a loop's param before typing: what is not known is left open."""
    return Array(t.dtype, t.ndim, "?", t.readonly) if isinstance(t, Array) else UNKNOWN


@dataclass(slots=True)
class Flow:
    """Atoms of two sources side by side, and the fresh symbols in which they meet. lists: arrays that are lists."""

    lists: Container[Sym] = ()
    targets: list[Sym] = field(default_factory=list)
    left: list[Atom] = field(default_factory=list)
    right: list[Atom] = field(default_factory=list)
    met: dict[tuple[Value, Value], Value] = field(default_factory=dict)  # lists: two names of one stay that

    def meet(self, a: Atom, b: Atom, type: Type, name: str) -> Sym:
        target = Sym(name, type)
        self.targets.append(target)
        self.left.append(a)
        self.right.append(b)
        return target


def rebuild(template: Value, make: Iterator[Atom]) -> Value:
    """The template with its atoms replaced, left to right."""
    if isinstance(template, TupleValue):
        return TupleValue(tuple(rebuild(item, make) for item in template.items), template.cls)
    if isinstance(template, RangeValue):
        return RangeValue(next(make), next(make), next(make), template.parallel)
    if isinstance(template, Growing):
        return replace(template, columns=tuple(next(make) for _ in template.columns), count=next(make))
    return next(make) if is_atom(template) else template


def atoms(value: Value) -> Iterator[Atom]:
    """The numbers and arrays in a value, left to right."""
    if isinstance(value, TupleValue):
        for item in value.items:
            yield from atoms(item)
    elif isinstance(value, RangeValue):
        yield from value.bounds
    elif isinstance(value, Growing):
        yield from (*value.columns, value.count)
    elif isinstance(value, Sym | Const | Undef):
        yield value


def fits(value: Value, template: Value) -> list[Atom] | None:
    """The atoms of `value` if it has the template's structure, else None."""
    if isinstance(template, Sym | Const | Undef):
        if not isinstance(value, Sym | Const | Undef):
            return None
        if isinstance(value, Undef):
            return [Undef(template.type)]
        return None if joined_type(value.type, template.type) is None else [value]
    if isinstance(template, TupleValue):
        if not isinstance(value, TupleValue) or value.cls is not template.cls:
            return None
        if len(value.items) != len(template.items):
            return None
        found: list[Atom] = []
        for v, t in zip(value.items, template.items, strict=True):
            part = fits(v, t)
            if part is None:
                return None
            found += part
        return found
    if isinstance(template, RangeValue):
        if not isinstance(value, RangeValue) or value.parallel != template.parallel:
            return None
        return list(value.bounds)
    if isinstance(template, Growing):
        return list(atoms(value)) if isinstance(value, Growing) and same_items(value, template) else None
    return [] if same_static(value, template) else None


def same_items(a: Growing, b: Growing) -> bool:
    """Whether two lists have items of one structure. That of an empty list is found by the other."""
    if a.shape is None or b.shape is None:
        if a.shape is not b.shape:
            raise ListFound(*(a.site, b.shape) if a.shape is None else (b.site, a.shape))
        return True
    return fits(a.shape, b.shape) is not None


def spec_of(value: Value) -> Spec | None:
    """The structure of a value; None where it cannot leave the program."""
    match value:
        case Sym() | Const() | Undef():
            return Leaf(value.type)
        case TupleValue():
            items = tuple(spec_of(item) for item in value.items)
            found = tuple(item for item in items if item is not None)
            return TupleSpec(found, value.cls) if len(found) == len(items) else None
        case Static(value=None):
            return NoneSpec()
        case _:
            return None


def static_spec(value: Value) -> Spec:
    """As `spec_of`, with compile-time values as StaticSpec."""
    if isinstance(value, TupleValue):
        return TupleSpec(tuple(static_spec(item) for item in value.items), value.cls)
    found = spec_of(value)
    if found is not None:
        return found
    return StaticSpec(value.value if isinstance(value, Static) else value)
