"""The whole grammar of the IR on one screen: structured SSA, immutable.

    Function  ::= name (params) body -> results, with the functions that it calls
    Block     ::= Stmt*
    Stmt      ::= Let | Load | Store | View | Alloc | Ensure | RefNew | RefAppend | RefGet
                | RefSet | Whole | Loop | If | Custom | Derive | Call | Raise
    Atom      ::= Sym | Const | Undef

Every `Sym` is defined exactly once (a parameter, a statement's target, a loop's index, params or
results, an If's results). Scalars are values; array symbols are references to memory, so a `Store`
through one view is seen by a `Load` through another. There is no break, continue or return: early
exits are booleans that guard what follows, and `Loop.stop`. Loops and branches yield values
explicitly (`nexts`/`results`, `then_values`/`else_values`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from os.path import basename
from typing import TypeVar, dataclass_transform

from adjit.ir.notes import Note
from adjit.ir.types import BOOL, FLOAT64, INT64, Array, Scalar, Type

_ids = itertools.count(1)
_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(cls: type[_T]) -> type[_T]:
    """A class of immutable objects that are equal only to themselves.

    The type checker sees to it that nothing is assigned to. A dataclass that is frozen at run time takes four times as
    long to make an object, and a build makes tens of thousands.
    """
    return dataclass(slots=True, eq=False)(cls)


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the user's source: 1-based lines, 0-based columns."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def told(self, message: str) -> str:
        """A message of the running program, with the place: compiled code has no traceback that would tell it."""
        return f"{message} (line {self.line} of {basename(self.file)})" if self.line > 0 else message


NOWHERE = Span("<generated>", 0)


@node
class Sym:
    """A symbol; equal only to itself. `name` is a hint taken from the user's program."""

    name: str
    type: Type
    uid: int = field(default_factory=lambda: next(_ids))

    def __hash__(self) -> int:
        return self.uid

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Sym) and other.uid == self.uid)

    def __str__(self) -> str:
        return f"{self.name}.{self.uid}"


@dataclass(frozen=True, slots=True)
class Const:
    """A literal. `type` decides how it is printed: a float32 2.0 is `float32(2.0)`."""

    value: bool | int | float | complex
    type: Scalar

    @property
    def integer(self) -> int:
        """The value of an integer constant."""
        assert not isinstance(self.value, complex)
        return int(self.value)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Const) and self.type == other.type and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((repr(self.value), self.type))


@dataclass(frozen=True, slots=True)
class Undef:
    """A value that no path that reads it can see (a name not yet bound, a return not yet taken)."""

    type: Type


Atom = Sym | Const | Undef
Block = tuple["Stmt", ...]


@node
class Let:
    """`target = op(*args)`: pure, scalar result. `op` is a key of the rules registry.

    `fn` is the spelling to print (e.g. "numpy.sin"), or None for the op's default spelling.
    For op "cast" the destination is `target.type` (`fn` then names the user's spelling, if any).
    op "dim" has args (array, Const axis) and gives that extent as int64.
    """

    target: Sym
    op: str
    args: tuple[Atom, ...]
    fn: str | None = None
    span: Span = NOWHERE


@node
class Load:
    """`target = array[index]`: one element, as many indices as dimensions, Python's negative wrap."""

    target: Sym
    array: Sym
    index: tuple[Atom, ...]
    span: Span = NOWHERE


@node
class Store:
    """`array[index] = value`: one element. The value is cast to the array's dtype by the store.

    fills: (before typing) whether an array that was made without a dtype has this value's.
    wraps: (before typing) whether an integer that the elements do not hold is cut off, as in Numba; NumPy raises.
    update: "add", "min" or "max" where this is the end of an update of the element, loaded before, whose order among
    others of its kind does not matter: turns of a parallel loop may meet in it. "" for any other store.
    """

    array: Sym
    index: tuple[Atom, ...]
    value: Atom
    span: Span = NOWHERE
    fills: bool = False
    update: str = ""
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class Slice:
    """start:stop:step of one axis; None where absent."""

    start: Atom | None = None
    stop: Atom | None = None
    step: Atom | None = None


@node
class View:
    """A reference to the memory of `array`, no copy, in one of three forms.

    * `array[index]` with at least one slice or missing axis: items are Atom or Slice, one per axis (Ellipsis and
      missing axes are spelled out as `Slice()`).
    * `axes` (the index is empty): axis k of the target is axis `axes[k]` of the array, or a new one of extent 1
      where that is None; every axis of the array occurs once. `(1, 0)` is the transpose of a matrix.
    * `shape` (the index is empty): the same elements in index order. The product of the extents is the array's
      size, and its layout is "C". Until layouts are known `elsewhere` says what becomes of arrays of others:
      "refuse", "copy", or "either" (NumPy's reshape: a copy only where the strides leave no other choice).
    """

    target: Sym
    array: Sym
    index: tuple[Atom | Slice, ...]
    axes: tuple[int | None, ...] | None = None
    shape: tuple[Atom, ...] | None = None
    elsewhere: str = ""
    span: Span = NOWHERE


@node
class Alloc:
    """`target = np.empty/zeros/full(shape)`: fresh memory. `fill` None means uninitialised.

    `like` keeps the layout of another array (`np.zeros_like`); `shape` is spelled out also then.
    """

    target: Sym
    shape: tuple[Atom, ...]
    fill: Atom | None = None
    like: Sym | None = None
    span: Span = NOWHERE


@node
class Ensure:
    """`target = array if len(array) >= need else a grown copy` (1-D records only)."""

    target: Sym
    array: Sym
    need: Atom
    span: Span = NOWHERE


@node
class RefNew:
    """`target = []`: an empty list of array references."""

    target: Sym
    span: Span = NOWHERE


@node
class RefAppend:
    """`references.append(array)`."""

    references: Sym
    array: Sym
    span: Span = NOWHERE


@node
class RefGet:
    """`target = references[position]`."""

    target: Sym
    references: Sym
    position: Atom
    span: Span = NOWHERE


@node
class RefSet:
    """`references[position] = array`, of a position that the list has (written by `transform.parts` only)."""

    references: Sym
    position: Atom
    array: Sym
    span: Span = NOWHERE


@node
class Whole:
    """`outs = op(*args)`, of whole arrays, by a library. `op` is a key of `adjit.rules.linear`.

    `outs` are allocations that nothing has read or written before: their contents come from here alone, as if
    the allocation had made them. `args` are arrays, or numbers that carry no derivatives.
    """

    outs: tuple[Sym, ...]
    op: str
    args: tuple[Atom, ...]
    span: Span = NOWHERE


@node
class Loop:
    """A loop with explicit carried values.

    Counted when `index` is a Sym: `for index in range(lo, hi, step)`; else endless until `stop`.
    `params[j]` is inits[j] in the first turn, then nexts[j] of the turn before; `results[j]` is the
    last nexts[j] (or inits[j] when no turn runs). `stop`, if given, is a bool evaluated at the end
    of the body: the loop ends after that turn when it is true.
    at_once: (before `transform.scalarise`) an array statement: every load in the nest sees memory as it was before the
    nest's first store. Each turn of the innermost loop ends with its one store.
    parallel: a counted loop whose turns may run in any order, and together: but for updates (`Store.update`) no turn
    touches an element of outer memory that another one writes. What it carries is another matter (sums).
    note: what a pass decided about the loop, for those who read the program.
    asked: an array statement of a dispatcher with `parallel=True`: it is to be a parallel loop where its turns are
    proven to be such, sums over whole arrays in any order (`transform.parallel_nests`).
    free: a part of a parallel loop, whose sums of floats may be added up in any order (`codegen.loose`).
    """

    index: Sym | None
    lo: Atom | None
    hi: Atom | None
    step: Atom | None
    params: tuple[Sym, ...]
    inits: tuple[Atom, ...]
    body: Block
    nexts: tuple[Atom, ...]
    results: tuple[Sym, ...]
    stop: Atom | None = None
    span: Span = NOWHERE
    at_once: bool = False
    parallel: bool = False
    note: Note | None = None
    asked: bool = False
    free: bool = False


@node
class If:
    """`results = then_values if cond else else_values`, with the statements of the taken branch."""

    cond: Atom
    then: Block
    els: Block
    then_values: tuple[Atom, ...] = ()
    else_values: tuple[Atom, ...] = ()
    results: tuple[Sym, ...] = ()
    span: Span = NOWHERE


@node
class Custom:
    """A call with a user's derivative rule. `body` computes `results` from `args` (the primal, inlined).

    `rule` is opaque here; the transforms ask it for the functions to put in place of `body`.
    """

    args: tuple[Atom, ...]
    body: Block
    values: tuple[Atom, ...]
    results: tuple[Sym, ...]
    rule: object
    span: Span = NOWHERE


@node
class Derive:
    """A derivative taken inside the program: of `params -> values` (the body) at `args`, in the active params.

    `results` are the values, then the derivatives of `values[:heads]`, what else is returned being auxiliary. The body
    may read what is around it. It lives from the frontend to typing; `transform.expand` then puts the derivative's own
    code in its place. By kind:

    * "grad": one gradient per active param, of a real scalar.
    * "jvp": `given` is a tangent per active param; one tangent per value.
    * "jacfwd", "jacrev": one array (or number) for each pair of a value and an active param, of both extents.
    * "hessian": of a real scalar, one for each two active params. "hvp": `given` is a vector per active param; the
      product of the Hessian with it, per active param. "laplacian": the trace.
    * "vjp": a number that stands for what the reverse sweep needs; "pull", which has no body, takes it and the
      active args of the "vjp" as its args, and `given` is a cotangent per value (`Undef` where that is zero): one
      cotangent per active param.
    """

    kind: str
    args: tuple[Atom, ...]
    params: tuple[Sym, ...]
    body: Block
    values: tuple[Atom, ...]
    results: tuple[Sym, ...]
    active: tuple[bool, ...]
    heads: int
    given: tuple[Atom, ...] = ()
    span: Span = NOWHERE


@node
class Call:
    """`results = callee(*args)`: a function of the program that calls itself; all others are inlined.

    `callee` is the name of one of the entry function's `functions`. Arrays are passed by reference.
    """

    results: tuple[Sym, ...]
    callee: str
    args: tuple[Atom, ...]
    span: Span = NOWHERE


@node
class Raise:
    """`raise exception(*args)`; nothing after it runs. `exception` is a builtin's name."""

    exception: str
    args: tuple[str | int | float | Sym, ...] = ()
    span: Span = NOWHERE


Stmt = (
    Let
    | Load
    | Store
    | View
    | Alloc
    | Ensure
    | RefNew
    | RefAppend
    | RefGet
    | RefSet
    | Whole
    | Loop
    | If
    | Custom
    | Derive
    | Call
    | Raise
)


@node
class Function:
    """`results` are atoms valid at the end of the body. `doc` is printed above the generated source.

    functions: of an entry function, every function that it and they call, by unique names.
    augmented: whether it is the forward half of a derivative (of a called function).
    device: whether it runs on a device, so that derivatives taken in it are made for that.
    overlapping: groups of parameters, arrays and lists of arrays, that may share memory (those of a primal's entry
    function never do where they are written).
    """

    name: str
    params: tuple[Sym, ...]
    body: Block
    results: tuple[Atom, ...]
    doc: str = ""
    span: Span = NOWHERE
    functions: tuple[Function, ...] = ()
    overlapping: tuple[frozenset[Sym], ...] = ()
    augmented: bool = False
    device: bool = False


def unique_name(name: str) -> str:
    """A name for a called function that no other has: `name.17`."""
    return f"{name.partition('.')[0]}.{next(_ids)}"


def const(value: bool | int | float, type: Scalar | None = None) -> Const:
    """A constant of the natural Numba type of a Python value, or of `type`."""
    if type is not None:
        return Const(value, type)
    if isinstance(value, bool):
        return Const(value, BOOL)
    if isinstance(value, int):
        return Const(value, INT64)
    return Const(value, FLOAT64)


def fresh(like: Sym, name: str | None = None) -> Sym:
    """A new symbol of the same type."""
    return Sym(name or like.name, like.type)


def name_fresh(s: Sym, name: str) -> None:
    """Give a symbol that was just made the name that the user's program binds it to (a hint, no more)."""
    object.__setattr__(s, "name", name)


def is_array(atom: Atom) -> bool:
    """Whether the atom is a reference to memory."""
    return isinstance(atom.type, Array)


TRUE = Const(True, BOOL)
FALSE = Const(False, BOOL)
ZERO = Const(0, INT64)
ONE = Const(1, INT64)
