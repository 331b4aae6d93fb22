"""Local arrays are not made where their elements are as well computed where they are read.

    t = alloc (n); for i in range(n): t[i] = a[i + 1] - a[i]; for i in range(n): b[i] = c[i] * t[i]
    ->  for i in range(n): x = a[i + 1] - a[i]; b[i] = c[i] * x

One nest fills the whole array, element by element, from memory that nobody writes between there and the readers, nor
in these. A reader's nest has as many loops as the array has axes, and each index follows a loop of its own, so that an
element is computed once for each place that reads it: two such places only if that is about as cheap as a load.
The value is the same to the bit. What a derivative would have recorded, cleared, filled and cleared again is gone too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.distinct import Distinct
from adjit.analysis.ranges import lower_bounds
from adjit.analysis.regions import Regions
from adjit.ir.builder import Builder
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Call,
    Const,
    Custom,
    Derive,
    Function,
    If,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Sym,
    Whole,
)
from adjit.ir.types import INT64, Array, Scalar
from adjit.ir.visit import Rewriter, operands, walk, yields
from adjit.transform.copier import Copier

_CHEAP = frozenset(
    {"add", "sub", "mul", "neg", "pos", "abs", "select", "cast", "dim", "nonneg", "stop_gradient"}
    | {"lt", "le", "gt", "ge", "eq", "ne", "not_", "and_", "or_", "xor", "min", "max", "minimum", "maximum"}
    | {"logical_and", "logical_or", "logical_not", "logical_xor", "real", "imag", "conjugate", "complex"}
)
_DIVISION = frozenset({"div", "fdiv"})
_MOST = 24
"""Operations and loads of an element that one place reads."""
_AS_A_LOAD = 3
"""The same where several do: about what the store and the loads cost."""


def contract(function: Function, raising: bool = True, adjoint: bool = False) -> Function:
    """The function without arrays that need not be (see the module).

    raising: whether a division may raise. adjoint: whether it is adjoint code, where nothing raises: extents of
    arrays are those of arrays that have been made.
    """
    if not any(isinstance(s, Alloc) for s in walk(function.body)):
        return function
    return _Contract(function, raising and not adjoint, adjoint).function()


@dataclass(frozen=True)
class _Filled:
    """A local array, and the nest that fills it."""

    alloc: Alloc
    loops: tuple[Loop, ...]
    """One for each axis, in the order of the axes."""
    body: tuple[Let | Load, ...]
    """What an element is made of, outer statements first."""
    value: Atom
    sources: tuple[Sym, ...]


@dataclass(frozen=True)
class _Read:
    """A load, the block that it is in, and the loops around that."""

    load: Load
    block: Block
    loops: tuple[Loop, ...]


class _Contract:
    def __init__(self, function: Function, raising: bool, adjoint: bool):
        self._function, self._adjoint = function, adjoint
        self._cheap = _CHEAP if raising else _CHEAP | _DIVISION
        ends = (a for s in walk(function.body) for a in yields(s))
        self._leaving = {*ends, *function.results}
        self._definition = Regions(function).definition
        self._affine = Affine(self._definition, lower_bounds(function))
        self._distinct = Distinct(function, Alias(function))

    def function(self) -> Function:
        return replace(self._function, body=self._block(self._function.body))

    def _block(self, block: Block) -> Block:
        """The block, and those inside it, without the arrays that are made and read in them."""
        for array in [s.target for s in block if isinstance(s, Alloc)]:
            block = self._without(block, array)
        return tuple([self._inside(stmt) for stmt in block])

    def _inside(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Loop | If) or not any(isinstance(s, Alloc) for s in walk((stmt,))):
            return stmt
        if isinstance(stmt, Loop):
            return replace(stmt, body=self._block(stmt.body))
        return replace(stmt, then=self._block(stmt.then), els=self._block(stmt.els))

    def _without(self, block: Block, array: Sym) -> Block:
        """The block without one array; as it is if the array must stay."""
        uses = [s for s in walk(block) if array in operands(s)]
        stores = [s for s in uses if isinstance(s, Store)]
        if array in self._leaving or len(stores) != 1 or not all(map(self._plain, uses)):
            return block
        at = next(k for k, s in enumerate(block) if any(t is stores[0] for t in walk((s,))))
        alloc = next(s for s in block if isinstance(s, Alloc) and s.target == array)
        filled = self._filled(alloc, block[at], stores[0])
        if filled is None:
            return block
        reads = list(_reads(block[at + 1 :], array))
        if len(reads) != sum(isinstance(s, Load) for s in uses) or not self._affordable(filled, reads):
            return block
        threads = isinstance(block[at], Loop) and block[at].parallel  # type: ignore[union-attr]
        if threads and not all(r.loops and r.loops[0].parallel for r in reads):
            return block  # what threads compute would be computed in order
        last = max((k for k, s in enumerate(block) if any(_reads((s,), array))), default=at)
        if not self._steady(filled, block[at + 1 : last + 1]):
            return block
        rest = tuple(s for s in block if s is not block[at] and s is not alloc)
        return _Substitute(filled, self._affine).block(rest)

    def _plain(self, use: Stmt) -> bool:
        """Whether a statement only reads or writes an element, or asks for an extent."""
        extent = isinstance(use, Let) and use.op == "dim" and use.target not in self._leaving
        return extent or isinstance(use, Load | Store)

    # what is asked of the nest that fills the array

    def _filled(self, alloc: Alloc, stmt: Stmt, store: Store) -> _Filled | None:
        """The array with its nest, if that fills all of it."""
        if not isinstance(stmt, Loop) or stmt.at_once or not self._castable(store):
            return None
        if not all(a.type == INT64 for a in alloc.shape):
            return None
        if not (self._adjoint or all(map(self._affine.nonnegative, alloc.shape))):
            return None  # it may raise
        loops, body = _nest(stmt)
        made = tuple(s for s in body[:-1] if isinstance(s, Let | Load))
        if not body or body[-1] is not store or len(made) != len(body) - 1:
            return None
        ordered = tuple(loop for a in store.index for loop in loops if loop.index == a)
        if not len({*ordered}) == len(ordered) == len(loops) == len(store.index) > 0:
            return None
        if not all(self._whole(loop, k, alloc) for k, loop in enumerate(ordered)):
            return None
        if not all(isinstance(s, Load) or s.op in self._cheap for s in made):
            return None
        sources = tuple(dict.fromkeys(s.array for s in made if isinstance(s, Load)))
        return None if alloc.target in sources else _Filled(alloc, ordered, made, store.value, sources)

    def _whole(self, loop: Loop, axis: int, alloc: Alloc) -> bool:
        """Whether the loop runs over a whole axis."""
        if loop.lo != ZERO or loop.step != ONE or loop.stop is not None or loop.params:
            return False
        definition = self._definition.get(loop.hi) if isinstance(loop.hi, Sym) else None
        if isinstance(definition, Let) and definition.op == "dim" and definition.args[0] == alloc.target:
            other = definition.args[1]
            return isinstance(other, Const) and alloc.shape[other.integer] == alloc.shape[axis]
        return loop.hi == alloc.shape[axis]

    def _castable(self, store: Store) -> bool:
        """Whether a cast does what the store does to the value."""
        assert isinstance(store.array.type, Array)
        kept, given = store.array.type.dtype, store.value.type
        return kept == given or (isinstance(given, Scalar) and given.is_float and kept.is_float)

    # what is asked of the readers

    def _affordable(self, filled: _Filled, reads: list[_Read]) -> bool:
        """Whether each place computes an element once, and there is one or it is cheap."""
        if not all(map(self._once, reads)):
            return False
        sites = {(id(r.block), tuple(map(self._affine.split, r.load.index))) for r in reads}
        cost = sum(isinstance(s, Load) or s.target.type != INT64 for s in filled.body)
        return cost <= (_MOST if len(sites) <= 1 else _AS_A_LOAD) and len(sites) <= 2

    def _once(self, read: _Read) -> bool:
        """Whether each index follows a loop of its own and none is left over."""
        found = [self._affine.split(a)[0] for a in read.load.index]
        indices = [loop.index for loop in read.loops]
        if None in found or len(found) != len(indices) or {*found} != {*indices}:
            return False
        known = all(map(self._affine.nonnegative, read.load.index))
        return known and all(isinstance(loop.step, Const) for loop in read.loops)

    def _steady(self, filled: _Filled, after: Block) -> bool:
        """Whether none of these statements may write what the elements are made of."""
        for s in walk(after):
            if isinstance(s, Call | Custom | Derive):
                return False
            written = (s.array,) if isinstance(s, Store) else s.outs if isinstance(s, Whole) else ()
            if not all(self._distinct.surely(a, b) for a in written for b in filled.sources):
                return False
        return True


class _Substitute(Rewriter):
    """Puts what an element is made of in place of its loads, and the shape in place of the array's extents."""

    def __init__(self, filled: _Filled, affine: Affine):
        super().__init__()
        self._filled, self._affine = filled, affine
        self._made: dict[tuple[object, ...], Atom] = {}

    def block(self, block: Block) -> Block:
        outer, self._made = self._made, {}
        out = super().block(block)
        self._made = outer
        return out

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        target = self._filled.alloc.target
        if isinstance(stmt, Load) and stmt.array == target:
            return self._computed(stmt)
        if isinstance(stmt, Let) and stmt.op == "dim" and stmt.args[0] == target:
            axis = stmt.args[1]
            assert isinstance(axis, Const)
            self.env[stmt.target] = self._filled.alloc.shape[axis.integer]
            return ()
        return (self.rebuild(stmt),)

    def _computed(self, load: Load) -> tuple[Stmt, ...]:
        index = self.atoms(load.index)
        key = tuple(self._affine.split(a) for a in load.index)
        if key in self._made:
            self.env[load.target] = self._made[key]
            return ()
        b = Builder(load.span, simplify=True)
        env: dict[Sym, Atom] = {}
        for loop, i in zip(self._filled.loops, index, strict=True):
            assert loop.index is not None
            env[loop.index] = i
        copier = Copier(b, env)
        for s in self._filled.body:
            copier.take(self.rebuild(s))
        assert isinstance(load.target.type, Scalar)
        value = copier.atom(self.atom(self._filled.value))
        if value.type != load.target.type:
            value = b.let("cast", value, type=load.target.type)
        self._made[key] = self.env[load.target] = value
        return b.block()


def _nest(loop: Loop) -> tuple[list[Loop], Block]:
    """The loops of a nest, and everything else in it; nothing where it is no nest."""
    loops, body = [loop], []
    while loop.body and isinstance(loop.body[-1], Loop):
        body += loop.body[:-1]
        loop = loop.body[-1]
        loops.append(loop)
    return loops, (*body, *loop.body)


def _reads(block: Block, array: Sym, loops: tuple[Loop, ...] = ()) -> Iterator[_Read]:
    """Loads of the array in loops and branches."""
    for stmt in block:
        match stmt:
            case Load() if stmt.array == array:
                yield _Read(stmt, block, loops)
            case Loop():
                yield from _reads(stmt.body, array, (*loops, stmt))
            case If():
                yield from _reads(stmt.then, array, loops)
                yield from _reads(stmt.els, array, loops)
            case _:
                pass
