"""`autodiff`: derivatives in place, with shadows that the caller owns (Enzyme's convention)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjit.api.annotations import Active, BatchDuplicated, Const, Duplicated, Mode, Result
from adjit.api.engine import Engine, engine_of
from adjit.api.plan import Guard, Leaves, Results, seed
from adjit.api.source import Source, source_of
from adjit.api.tangents import collect, fit_array, fit_scalar, mask_of, spread
from adjit.errors import ArgumentError
from adjit.ir.structure import Leaf, NoneSpec, Spec, TupleSpec, leaves
from adjit.ir.types import Array, Scalar
from adjit.runtime.arguments import (
    describe,
    fill,
    flatten,
    item_name,
    layout_of,
    number_maker,
    same_layout,
    template,
)
from adjit.runtime.foreign import ForeignArrays
from adjit.runtime.overlap import overlap
from adjit.runtime.places import library_of, place_of
from adjit.runtime.signature import place


def autodiff(mode: Mode, f: Callable[..., Any], *annotated: Any, **keywords: Any) -> Any:
    """Differentiate one call of f, in place and without allocating.

    Arguments: mode: `Reverse` or `Forward`. annotated: f's arguments as `Active(s)` (floats, Reverse only),
    `Duplicated(x, dx)`, `BatchDuplicated(x, (dx1, dx2, ...))` or `Const(p)`. Bare integers, bools, functions and
    None are Const; bare floats and arrays are refused. keywords: f's, all Const, such as a kernel's `ndrange`.
    Returns: Reverse: `Result(value, gradients)`; a scalar that f returns is seeded with 1. The shadow of an array
    that f writes enters as the cotangent of its final value and leaves as that of its entry value; shadows of
    arrays that are only read are added to. Forward: `(value, tangent)`, and shadows move along with their arrays.
    With batches, gradients and tangents are tuples, one item per shadow.
    Raises: ArgumentError, before anything is touched: for a shadow of another shape, dtype or layout, for memory
    that is shared and written, and in Reverse for a function that returns arrays (use `vjp`).
    """
    if mode not in (Mode.REVERSE, Mode.FORWARD):
        raise ArgumentError(f"the first argument of autodiff is {mode!r}", "give aj.Reverse or aj.Forward")
    source = source_of(f)
    signature = source.signature
    taken = [_take(mode, a, source, k) for k, a in enumerate(annotated)]
    given = {k: _take_keyword(v, k) for k, v in keywords.items()} if keywords else keywords
    values = signature.bind(tuple([t.value for t in taken]), given)
    extra = (len(signature.prefix), tuple([t.tag for t in taken]))
    engine = engine_of(source, ("autodiff", mode), _Reverse if mode is Mode.REVERSE else _Forward)
    try:
        plan = engine.plan(values, extra)
    except ForeignArrays as foreign:
        return foreign.kind.call(partial(autodiff, mode, f), annotated, keywords)
    return plan.run(values, taken)


class _Taken:
    """An annotated argument: its value, what is active in it, and its shadow trees."""

    __slots__ = ("shadows", "tag", "value")

    def __init__(self, value: Any, tag: Any, shadows: tuple[Any, ...] = ()):
        self.value, self.tag, self.shadows = value, tag, shadows


_CONST = "const"
_ACTIVE = "active"


def _take(mode: Mode, a: Any, source: Source, k: int) -> _Taken:
    kind = type(a)
    if kind is int:
        return _Taken(a, _CONST)
    if kind is Duplicated:
        if a.shadow is None:
            name = _called(source, k)
            raise ArgumentError(
                f"'{name}' is Duplicated with None for a shadow", "give an array, or write Const(x)"
            )
        return _Taken(a.value, (mask_of(a.shadow), 1, False), (a.shadow,))
    if kind is Const:
        return _Taken(a.value, _CONST)
    if kind is Active and mode is Mode.REVERSE:
        return _Taken(a.value, _ACTIVE)
    return _take_rare(a, _called(source, k))


def _take_keyword(a: Any, name: str) -> Any:
    """The value of a keyword argument, which is Const."""
    if isinstance(a, Duplicated | BatchDuplicated | Active):
        raise ArgumentError(f"'{name}' is {type(a).__name__}, and given by keyword", "give it by position")
    return a.value if isinstance(a, Const) else _take_rare(a, name).value


def _take_rare(a: Any, name: str) -> _Taken:
    if isinstance(a, BatchDuplicated):
        masks = {mask_of(s) for s in a.shadows}
        if len(masks) != 1:
            reason = f"the shadows of '{name}' differ in structure" if masks else f"'{name}' has no shadows"
            raise ArgumentError(reason, "BatchDuplicated(x, (dx1, dx2)): one structure, at least one shadow")
        return _Taken(a.value, (masks.pop(), len(a.shadows), True), a.shadows)
    if isinstance(a, Active):
        raise ArgumentError(f"'{name}' is Active, which Forward has not", "use Duplicated(x, dx)")
    if any(isinstance(v, float | complex | np.inexact | np.ndarray) or place_of(v) for v in flatten((a,))):
        kind = "an array" if isinstance(a, np.ndarray) or place_of(a) else f"a {type(a).__name__}"
        remedy = "write Const(x), Active(x) (floats) or Duplicated(x, dx) (arrays)"
        raise ArgumentError(f"'{name}' is {kind} without annotation", remedy)
    return _Taken(a, _CONST)


def _called(source: Source, k: int) -> str:
    names, at = source.signature.names, k + len(source.signature.prefix)
    return names[at] if at < len(names) else f"argument {k}"


class _Slot:
    """An active leaf with shadows: its number, leaf, name, and whether the program writes the array."""

    __slots__ = ("at", "dtype", "is_array", "leaf", "name", "written")

    def __init__(self, at: int, leaf: Leaf, name: str, written: bool):
        self.at, self.leaf, self.name, self.written = at, leaf, f"'{name}'", written
        self.is_array = isinstance(leaf.type, Array)
        self.dtype = np.dtype(leaf.type.dtype.name) if isinstance(leaf.type, Array) else None


class _InPlace:
    """What both modes share: activity, width, and the check of shadows."""

    kind: str

    def __init__(self, engine: Engine[Any], specs: tuple[Spec, ...], extra: tuple[int, tuple[Any, ...]]):
        prefix, tags = extra
        self._tree = tree = Leaves(engine.source, specs)
        self.width, self.batched = _width(tags)
        active = [False] * len(tree.all)
        shadowed: list[int] = []
        self.active: list[tuple[int, tuple[int, ...], Spec]] = []
        for k, tag in enumerate(tags):
            spec, start, name = _part(tree, k + prefix)
            flags = _flags(spec, tag, name)
            on = [start + j for j, flag in enumerate(flags) if flag]
            for i in on:
                active[i] = True
            if tag == _ACTIVE:
                self.active.append((k, tuple(on), spec))
            else:
                shadowed += on
        self._check_kinds(shadowed)
        self.compiled = engine.compile(specs, self.kind, tuple(active), width=self.width)
        self._call, self._captures = self.compiled.call, tuple(self.compiled.captures)
        self._results = Results(self.compiled.out)
        written = self.compiled.written
        self._slots = [_Slot(i, tree.all[i], tree.names[i], bool(written[i])) for i in shadowed]
        named = [
            (f"the shadow of {s.name}", self._moves(s))
            for s in self._slots
            for _ in range(self.width)
            if s.is_array
        ]
        self._guard = Guard(tree, self.compiled, named)
        self._arrays = [s.is_array for s in self._slots for _ in range(self.width)]

    def _moves(self, slot: _Slot) -> bool:
        """Whether the program writes the shadow of this leaf."""
        raise NotImplementedError

    def _check_kinds(self, shadowed: Sequence[int]) -> None:
        """Refuse numbers in Duplicated where the mode has no use for them."""

    def _enter(self, leaves: Sequence[Any], taken: Sequence[_Taken]) -> list[Any]:
        """The shadows as the program takes them, all checks done."""
        given: list[tuple[Any, ...]] = []
        for t in taken:
            if len(t.shadows) == 1 and type(t.shadows[0]) is np.ndarray:
                given.append(t.shadows)
            elif t.shadows:
                given += zip(*map(collect, t.shadows), strict=True)
        shadows: list[Any] = []
        for slot, batch in zip(self._slots, given, strict=True):
            shadows += [self._fit(slot, leaves[slot.at], s) for s in batch]
        if self._guard.needed:
            self._guard.check(
                leaves, [s for s, is_array in zip(shadows, self._arrays, strict=True) if is_array]
            )
        return shadows

    def _fit(self, slot: _Slot, value: Any, shadow: Any) -> Any:
        plain = type(shadow) is np.ndarray and type(value) is np.ndarray
        if plain and shadow.dtype is slot.dtype and shadow.shape == value.shape:
            moves = self._moves(slot)
            if same_layout(value, shadow, writeable=moves) and (moves or not overlap(value, shadow)):
                return shadow
        return self._explain(slot, value, shadow)

    def _explain(self, slot: _Slot, value: Any, shadow: Any) -> Any:
        """Say what is wrong with a shadow."""
        if not slot.is_array:
            return fit_scalar(shadow, slot.leaf, slot.name, "shadow")
        fit_array(shadow, value.shape, slot.leaf, slot.name, "shadow")
        if slot.leaf.place:
            return self._fit_on_device(slot, value, shadow)
        layout, own = layout_of(shadow), layout_of(value)
        if layout != own and own != "A":
            reason = f"shadow of {slot.name} has memory layout {layout}, and {slot.name} {own}"
            raise ArgumentError(reason, f"make it with np.zeros_like({slot.name[1:-1]})")
        if not shadow.flags.aligned or (self._moves(slot) and not shadow.flags.writeable):
            raise ArgumentError(f"shadow of {slot.name} is read-only or not aligned", "pass a writable copy")
        if not self._moves(slot) and overlap(value, shadow):
            raise ArgumentError(
                f"shadow of {slot.name} shares memory with {slot.name}", "pass a copy as shadow"
            )
        return shadow

    def _fit_on_device(self, slot: _Slot, value: Any, shadow: Any) -> Any:
        library = library_of(slot.leaf.place)
        library.check(shadow, f"the shadow of {slot.name[1:-1]}")
        layout, own = library.layout_of(shadow), library.layout_of(value)
        if layout != own and own != "A":
            reason = f"shadow of {slot.name} has memory layout {layout}, and {slot.name} {own}"
            raise ArgumentError(reason, "make it with cl.array.zeros_like")
        if not self._moves(slot) and overlap(*library.ghosts((value, shadow))):
            raise ArgumentError(
                f"shadow of {slot.name} shares memory with {slot.name}", "pass a copy as shadow"
            )
        return shadow


class _Reverse(_InPlace):
    """Reverse mode in one joint call."""

    kind = "joint"

    def __init__(self, engine: Engine[Any], specs: tuple[Spec, ...], extra: tuple[int, tuple[Any, ...]]):
        super().__init__(engine, specs, extra)
        self._tail = _reverse_seeds(self.compiled.out, engine.source) * self.width
        order = sorted(i for _, on, _ in self.active for i in on)
        self._at = {i: k * self.width for k, i in enumerate(order)}
        self._makers = {i: number_maker(self._tree.all[i], own=True) for i in order}
        self._trees = {k: self._gradient_tree(on, spec) for k, on, spec in self.active}
        self._positions = len(extra[1])

    def run(self, values: tuple[Any, ...], taken: Sequence[_Taken]) -> Result:
        """The value, and the gradients of Active arguments."""
        leaves = self._tree.of(values)
        shadows = self._enter(leaves, taken)
        flat = self._call(*leaves, *self._captures, *shadows, *self._tail) or ()
        adjoints = flat[self._results.count :]
        gradients: list[Any] = [None] * self._positions
        for k, tree in self._trees.items():
            each = tuple(fill(tree, self._batch(adjoints, b)) for b in range(self.width))
            gradients[k] = each if self.batched else each[0]
        return Result(self._results.value(flat), tuple(gradients))

    def _batch(self, adjoints: Sequence[Any], b: int) -> list[Any]:
        out: list[Any] = [None] * len(self._tree.all)
        for i, at in self._at.items():
            make = self._makers[i]
            out[i] = adjoints[at + b] if make is None else make(adjoints[at + b])
        return out

    def _gradient_tree(self, on: tuple[int, ...], spec: Spec) -> Any:
        start = on[0] - _first(spec)
        return template(spec, iter(range(start, start + len(self._tree.all))), lambda i: i in on)

    def _moves(self, slot: _Slot) -> bool:
        return True

    def _check_kinds(self, shadowed: Sequence[int]) -> None:
        for i in shadowed:
            if not self._tree.is_array(i):
                name = self._tree.names[i]
                raise ArgumentError(
                    f"'{name}' is a number, and Reverse cannot write into its shadow",
                    "use Active(x) for numbers; in a tuple with arrays, give None as its shadow",
                )


class _Forward(_InPlace):
    """Forward mode: shadows are tangents, and move along."""

    kind = "forward"

    def run(self, values: tuple[Any, ...], taken: Sequence[_Taken]) -> tuple[Any, Any]:
        """The value and its tangent, or a tuple of tangents."""
        leaves = self._tree.of(values)
        shadows = self._enter(leaves, taken)
        flat = self._call(*leaves, *self._captures, *shadows) or ()
        moved = flat[self._results.count :]
        each = tuple(self._results.tangent(moved[b :: self.width]) for b in range(self.width))
        return self._results.value(flat), each if self.batched else each[0]

    def _moves(self, slot: _Slot) -> bool:
        return slot.written


def _width(tags: tuple[Any, ...]) -> tuple[int, bool]:
    """How many derivatives at once, and whether they come in batches."""
    shadowed = [t for t in tags if t not in (_CONST, _ACTIVE) and t[0] is not False]
    kinds = {(width, batched) for _, width, batched in shadowed}
    if len(kinds) > 1:
        raise ArgumentError(
            "shadows come in batches of different sizes", "give every BatchDuplicated as many shadows"
        )
    return kinds.pop() if kinds else (1, False)


def _part(tree: Leaves, at: int) -> tuple[Spec, int, str]:
    """The spec, first leaf and name of a positional argument, counted with what partials bind."""
    signature = tree.source.signature
    parameter, item = signature.parameter(at - len(signature.prefix))
    spec, start, name = tree.specs[parameter], tree.starts[parameter], signature.names[parameter]
    if item is None:
        return spec, start, name
    assert isinstance(spec, TupleSpec)
    start += sum(1 for s in spec.items[:item] for _ in leaves(s))
    return spec.items[item], start, item_name(name, spec, item)


def _flags(spec: Spec, tag: Any, name: str) -> list[bool]:
    """Which leaves of an argument are active. Raises ArgumentError where the annotation does not fit."""
    if tag == _CONST:
        return [False for _ in leaves(spec)]
    if tag != _ACTIVE:
        return list(spread(spec, tag[0], name, "shadow"))
    every = list(leaves(spec))
    if any(isinstance(leaf.type, Array) for leaf in every):
        raise ArgumentError(f"'{name}' is Active and holds an array", "use Duplicated(x, dx) for arrays")
    flags = [leaf.type.differentiable for leaf in every]
    if not any(flags):
        raise ArgumentError(
            f"'{name}' is Active, and {describe(spec)} has no derivative", "pass a float (2.0, not 2)"
        )
    return flags


def _first(spec: Spec) -> int:
    """The number of the first differentiable leaf inside a spec."""
    return next(k for k, leaf in enumerate(leaves(spec)) if leaf.type.differentiable)


def _reverse_seeds(out: Spec, source: Source) -> tuple[Any, ...]:
    if isinstance(out, NoneSpec):
        return ()
    if isinstance(out, Leaf) and isinstance(out.type, Scalar) and not out.type.is_complex:
        return (seed(out),) if out.type.is_float else ()
    raise ArgumentError(
        f"autodiff(Reverse, ...) seeds one real scalar; {source.name}() returns {describe(out)}",
        "use aj.vjp(f, ...), or write the result into an argument with a shadow",
        place(source.signature.py_func),
    )
