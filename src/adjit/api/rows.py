"""Rows of a Jacobian by reverse mode: one record, sweeps for a few numbers of the result each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from adjit.api.blocks import Blocks, Numbers, Units
from adjit.api.engine import Engine
from adjit.api.plan import Guard, Leaves, Results, seed
from adjit.api.pulls import Pulls
from adjit.api.pushes import own_copy
from adjit.api.tangents import zeros
from adjit.api.vjp import require_result
from adjit.errors import ArgumentError
from adjit.ir.structure import Leaf, Spec
from adjit.ir.types import Array
from adjit.runtime.widths import WIDTHS


class Rows:
    """The split program of one function and one choice of active leaves; compiled when it is first asked for."""

    def __init__(self, engine: Engine[Any], specs: tuple[Spec, ...], active: tuple[bool, ...], what: str):
        self._engine, self._specs, self._active, self._what = engine, specs, active, what
        self._tree = Leaves(engine.source, specs)
        self._at = [i for i, on in enumerate(active) if on]

    @cached_property
    def compiled(self) -> Any:
        """The program. Raises ArgumentError if the result carries no derivative, or a complex one."""
        compiled = self._engine.compile(self._specs, "split", self._active)
        if not compiled.raises:
            results = Results(compiled.out)
            require_result(compiled.out, results, self._engine.source, self._what)
            for k in results.carrying:
                if results.all[k].number.is_complex:
                    raise ArgumentError(
                        f"{self._engine.source.name}() returns complex numbers, and {self._what} is of real ones",
                        "use aj.jacfwd, or return real and imaginary parts",
                    )
        return compiled

    @cached_property
    def results(self) -> Results:
        return Results(self.compiled.out)

    @cached_property
    def _guard(self) -> Guard:
        return Guard(self._tree, self.compiled)

    @cached_property
    def pulls(self) -> Pulls:
        """The sweeps of several rows."""
        carrying = [self.results.all[k] for k in self.results.carrying]
        return Pulls(self.compiled, [self._tree.all[i] for i in self._at], carrying)

    def count(self, leaves: Sequence[Any]) -> int:
        """How many numbers the result has. Runs the function on copies where only that says it."""
        return sum(map(math.prod, self.shapes(leaves)))

    def cost(self, count: int) -> float:
        """What sweeps for so many numbers of the result cost, over one for one."""
        return WIDTHS.cost(count) if self.pulls.width(count) > 1 else float(count)

    def shapes(self, leaves: Sequence[Any]) -> list[tuple[int, ...]]:
        """The shapes of the results that carry derivatives. Runs the function as `count`."""
        carrying = [self.results.all[k] for k in self.results.carrying]
        if not any(map(_is_array, carrying)):
            return [()] * len(carrying)
        flat = self._forward(list(map(own_copy, leaves)))
        return [tuple(flat[k].shape) if _is_array(self.results.all[k]) else () for k in self.results.carrying]

    def check(self, leaves: Sequence[Any]) -> None:
        """Raise ArgumentError for arrays that may not be given (see `Guard`)."""
        if self._guard.needed:
            self._guard.check(leaves)

    def _forward(self, leaves: Sequence[Any]) -> Sequence[Any]:
        self.check(leaves)
        return self.compiled.call(*leaves, *self.compiled.captures)

    def run(self, leaves: Sequence[Any], blocks: Blocks) -> Any:
        """All rows, into the blocks. Returns the value; arrays that f writes end as the plain call leaves them."""
        shapes = [leaves[i].shape if self._tree.is_array(i) else () for i in self._at]
        flat = self._forward(leaves)
        saved = flat[self.results.count :]
        carrying = [(self.results.all[k], flat[k]) for k in self.results.carrying]
        outs = [np.shape(value) for _, value in carrying]
        blocks.make(outs)
        rows = Units(Numbers(outs))
        if self.pulls.width(rows.count) > 1:
            self.pulls.run(saved, shapes, outs, rows, blocks.put)
            return self.results.value(flat)
        for o, (leaf, value) in enumerate(carrying):
            for place in np.ndindex(np.shape(value)):
                given = [_zero(*pair) for pair in carrying]
                if _is_array(leaf):
                    given[o][(*place, ...)] = 1
                else:
                    given[o] = given[o] + 1
                self._sweep(
                    saved, given, [block[(*place, ...)] for block in blocks.of[o]], shapes, blocks, o, place
                )
        return self.results.value(flat)

    def _sweep(
        self,
        saved: Sequence[Any],
        seeds: Sequence[Any],
        rows: Sequence[Any],
        shapes: Sequence[tuple[int, ...]],
        blocks: Blocks,
        o: int,
        place: tuple[int, ...],
    ) -> None:
        """One sweep; each row of the blocks is a shadow itself where its layout is what the program wants."""
        arrays = [k for k, i in enumerate(self._at) if self._tree.is_array(i)]
        shadows = [self._shadow(k, rows[k], shapes[k]) for k in arrays]
        adjoints = iter(self.compiled.pullback(*saved, *shadows, *seeds) or ())
        for k, shadow in zip(arrays, shadows, strict=True):
            if shadow is not rows[k]:
                blocks.of[o][k][place] = shadow
        for k, i in enumerate(self._at):
            if not self._tree.is_array(i):
                blocks.of[o][k][place] = next(adjoints)

    def _shadow(self, k: int, row: Any, shape: tuple[int, ...]) -> Any:
        type_ = self._tree.all[self._at[k]].type
        assert isinstance(type_, Array)
        fits = row.dtype == type_.dtype.name and row.ndim == len(shape) and row.flags.c_contiguous
        if fits and (type_.layout != "F" or row.flags.f_contiguous):
            return row
        return np.zeros(shape, type_.dtype.name, "F" if type_.layout == "F" else "C")


def _is_array(leaf: Leaf) -> bool:
    return isinstance(leaf.type, Array)


def _zero(leaf: Leaf, value: Any) -> Any:
    if _is_array(leaf):
        return zeros(value.shape, leaf)
    return seed(leaf, 0.0)
