"""What a compiled program and the structure of its arguments say together: checks, leaves, results.

Plans are made once per signature; what they do at a call is bounded by the number of leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Literal

import numpy as np

from adjit.api.source import Source
from adjit.errors import ArgumentError, DeviceError
from adjit.ir.structure import Leaf, Spec, leaves
from adjit.ir.types import Array, Scalar
from adjit.runtime.arguments import Template, fill, flatten, leaf_names, number_maker, spec_of, template
from adjit.runtime.overlap import Disjoint
from adjit.runtime.places import library_of
from adjit.runtime.plain import empty
from adjit.runtime.signature import place


class Leaves:
    """The leaves of a function's arguments, before anything is compiled."""

    def __init__(self, source: Source, specs: tuple[Spec, ...]):
        self.source, self.specs = source, specs
        self.all = tuple(leaf for s in specs for leaf in leaves(s))
        pairs = zip(specs, source.signature.names, strict=True)
        self.names = tuple(n for s, name in pairs for n in leaf_names(s, name))
        self.place = next((leaf.place for leaf in self.all if leaf.place), "")
        self._trivial = all(isinstance(s, Leaf) for s in specs)
        starts, at = [], 0
        for s in specs:
            starts.append(at)
            at += sum(1 for _ in leaves(s))
        self.starts = tuple(starts)

    def of(self, values: Sequence[Any]) -> Sequence[Any]:
        """Leaf values of a call, in flat order."""
        return values if self._trivial else flatten(values)

    def tree(self, parameter: int, keep: Callable[[int], bool]) -> Template:
        """The tree of one parameter over flat leaf numbers; leaves that `keep` rejects are None."""
        return template(self.specs[parameter], count(self.starts[parameter]), keep)

    def differentiable(self, i: int) -> bool:
        """Whether leaf i is of float or complex type."""
        return self.all[i].type.differentiable

    def is_array(self, i: int) -> bool:
        return isinstance(self.all[i].type, Array)


def leaves_of(source: Source, values: Sequence[Any]) -> Leaves:
    """The leaves of the arguments of one call, one value per parameter."""
    pairs = zip(values, source.signature.names, strict=True)
    return Leaves(source, tuple(spec_of(v, n) for v, n in pairs))


class Guard:
    """Refuses arrays that the program writes and that are read-only or share memory, by name.

    What `aj.pure` copies may be read-only, but share no memory: the plain function would see there what it wrote.
    shadows: names of shadow arrays that come with the call, and whether the program writes them.
    """

    def __init__(self, of: Leaves, compiled: Any, shadows: Sequence[tuple[str, bool]] = ()):
        self._at = [i for i in range(len(of.all)) if of.is_array(i)]
        written = [bool(compiled.written[i]) for i in self._at]
        for i, w in zip(self._at, written, strict=True):
            leaf = of.all[i].type
            if w and isinstance(leaf, Array) and leaf.readonly:
                raise ArgumentError(
                    f"'{of.names[i]}' is read-only, and {of.source.name}() writes it",
                    "pass a writable copy, or use aj.pure(f)",
                    compiled.stores[i] or place(of.source.signature.py_func),
                )
        if compiled.copied:
            written = [w or compiled.copied[i] for i, w in zip(self._at, written, strict=True)]
        self._captured = tuple(c for c in compiled.captures if isinstance(c, np.ndarray))
        names = [f"'{of.names[i]}'" for i in self._at]
        pairs = zip(compiled.captured, compiled.captures, strict=True)
        names += [f"the captured array '{name}'" for name, c in pairs if isinstance(c, np.ndarray)]
        names += [name for name, _ in shadows]
        writes = [*written, *(False for _ in self._captured), *(w for _, w in shadows)]
        self._disjoint = Disjoint(names, writes)
        self.needed = self._disjoint.needed
        self._place = next((of.all[i].place for i in self._at if of.all[i].place), "")
        if self._place and self._captured:
            raise DeviceError(
                f"{names[len(self._at)]} of {of.source.name}() is a NumPy array, and the arguments are on a device",
                "pass it as an argument, a device array",
                place(of.source.signature.py_func),
            )

    def check(self, leaves: Sequence[Any], shadows: Sequence[Any] = ()) -> None:
        """Raise ArgumentError if memory is shared. Only needed if `needed`."""
        arrays = [*[leaves[i] for i in self._at], *self._captured, *shadows]
        if not self._place:
            self._disjoint.check(arrays)
        elif not (library := library_of(self._place)).apart(arrays):
            self._disjoint.check(library.ghosts(arrays))


class Results:
    """The result of a program: its flat leaves as a tree of the right types."""

    def __init__(self, out: Spec):
        self.spec = out
        self.all = tuple(leaves(out))
        self.count = len(self.all)
        self._tree = template(out, count(), lambda _: True)
        self._makers = [(k, make) for k, leaf in enumerate(self.all) if (make := number_maker(leaf))]
        self.carrying = tuple(k for k, leaf in enumerate(self.all) if leaf.type.differentiable)
        numbers = {k: n for n, k in enumerate(self.carrying)}
        tangent = template(out, count(), lambda k: k in numbers)
        self._tangent = renumber(tangent, numbers)
        self._tangent_makers = [(numbers[k], make) for k, make in self._makers if k in numbers]

    def value(self, flat: Sequence[Any]) -> Any:
        """The result, from a flat tuple that starts with its leaves."""
        if self._tree == 0 and not self._makers:
            return flat[0]
        return fill(self._tree, _made(flat[: self.count], self._makers))

    def tangent(self, flat: Sequence[Any]) -> Any:
        """A tree like the result, from one item per leaf that carries derivatives; None elsewhere."""
        return fill(self._tangent, _made(flat, self._tangent_makers))

    def around(self, items: Sequence[Any]) -> Any:
        """A tree like the result with these items, one per leaf that carries derivatives; None elsewhere."""
        return fill(self._tangent, list(items))


def _made(flat: Sequence[Any], makers: Sequence[tuple[int, Callable[[Any], Any]]]) -> Sequence[Any]:
    if not makers:
        return flat
    out = list(flat)
    for k, make in makers:
        out[k] = make(out[k])
    return out


def renumber(tree: Template, numbers: Mapping[int, int]) -> Template:
    """The tree with other leaf numbers."""
    if tree is None:
        return None
    if isinstance(tree, int):
        return numbers[tree]
    return tree[0], tuple(renumber(t, numbers) for t in tree[1])


class Gradients:
    """Where adjoints of the active leaves come from, and where they go.

    Active array leaves get shadows, in the array's dtype and shape, F-ordered where the array is, else
    C-ordered. Adjoints of active scalar leaves come back from the program, in flat order. Both together,
    shadows first, are what trees of gradients are filled from (`place`, `collect`); `order` has their leaf numbers.
    """

    def __init__(self, of: Leaves, active: Sequence[bool], unset: Sequence[bool]):
        """unset: of each active array, whether the program takes a shadow that may hold anything."""
        on = [i for i in range(len(of.all)) if active[i]]
        arrays = [i for i in on if of.is_array(i)]
        scalars = [i for i in on if not of.is_array(i)]
        self._storage = tuple((i, *_storage(of.all[i].type)) for i in arrays)
        self.unset = tuple(unset) or (False,) * len(arrays)
        make = empty()
        self._new = tuple(make if u else np.zeros for u in self.unset)
        self._place = next((of.all[i].place for i in arrays if of.all[i].place), "")
        self.order = (*arrays, *scalars)
        self._numbers = {i: k for k, i in enumerate(self.order)}
        self._makers = [(self._numbers[i], m) for i in scalars if (m := number_maker(of.all[i], own=True))]

    def place(self, tree: Template) -> Template:
        """A tree over flat leaf numbers as a tree over what `collect` returns."""
        return renumber(tree, self._numbers)

    def shapes(self, leaves: Sequence[Any]) -> list[Any]:
        """Shapes of the shadows (of device arrays the arrays, which say the device too)."""
        if self._place:
            return [leaves[i] for i, _, _ in self._storage]
        return [leaves[i].shape for i, _, _ in self._storage]

    def shadows(self, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """New shadows for the arrays of a call: zero everywhere, but for those that may hold anything."""
        if self._place:
            return self.shadows_like(self.shapes(leaves))
        storage = zip(self._new, self._storage, strict=True)
        return [new(leaves[i].shape, dtype, order) for new, (i, dtype, order) in storage]

    def shadows_like(self, shapes: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """As `shadows`, of given shapes."""
        if self._place:
            zeros = library_of(self._place).zeros
            return [zeros(a, t, order) for a, (_, t, order) in zip(shapes, self._storage, strict=True)]
        storage = zip(self._new, shapes, self._storage, strict=True)
        return [new(shape, dtype, order) for new, shape, (_, dtype, order) in storage]

    def collect(self, shadows: Sequence[Any], adjoints: Sequence[Any]) -> list[Any]:
        """One gradient per active leaf, numbers in their own types."""
        out = [*shadows, *adjoints]
        for k, make in self._makers:
            out[k] = make(out[k])
        return out


def _storage(type: Any) -> tuple[np.dtype[Any], Literal["C", "F"]]:
    return np.dtype(type.dtype.name), "F" if type.layout == "F" else "C"


def seed(leaf: Leaf, value: float = 1.0) -> Any:
    """A cotangent for a scalar result, in its own dtype as Numba takes it."""
    assert isinstance(leaf.type, Scalar)
    return value if leaf.type.name == "float64" else np.dtype(leaf.type.name).type(value)
