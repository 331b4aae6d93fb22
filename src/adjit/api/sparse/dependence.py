"""Runs a pattern program: which outputs depend on groups of inputs, 64 groups at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjit.api.engine import Engine
from adjit.api.plan import Guard, Leaves, Results
from adjit.api.source import Source
from adjit.api.sparse.columns import Columns
from adjit.api.sparse.derived import derive
from adjit.api.sparse.graphs import Words
from adjit.api.sparse.pattern import Pattern
from adjit.errors import ArgumentError, DeviceError
from adjit.ir.structure import Spec
from adjit.ir.types import Array
from adjit.runtime.places import common_place
from adjit.runtime.signature import place


class Dependence:
    """The compiled pattern program of a function, by the inputs that `paths` name.

    reasons: why the pattern may be another one for other values of floats, with lines.
    """

    def __init__(self, engine: Engine[Dependence], specs: tuple[Spec, ...], paths: tuple[str, ...]):
        self.leaves = Leaves(engine.source, specs)
        if common_place(specs, engine.source.signature.names):
            raise DeviceError(
                "the sparsity of a program on a device is not derived",
                "derive it from NumPy arrays of the same shapes, and give it: sparse=pattern",
                place(engine.source.signature.py_func),
            )
        self.columns = Columns(paths, self.leaves)
        self.compiled = engine.compile(specs, "sparsity", self.columns.active)
        self._guard = Guard(self.leaves, self.compiled)
        self.results = Results(self.compiled.out)
        if not self.results.carrying:
            raise ArgumentError(
                f"{engine.source.name}() returns nothing that carries a derivative",
                "return floats or float arrays; of a function that works in place use aj.pure(f)",
                place(engine.source.signature.py_func),
            )
        self.reasons = tuple(_told(reason, span, engine.source) for reason, span in self.compiled.reasons)

    def words(self, values: Sequence[Any], lanes: Words) -> tuple[Words, bool]:
        """For each output the OR of the words of the inputs on which it depends; whether a loop was cut off.

        Arguments: values: one per parameter. lanes: a word for each input, in the order of the columns.
        """
        leaves = list(self.leaves.of(values))
        if self._guard.needed:
            self._guard.check(leaves)
        given = self.columns.split(lanes, leaves, _word_array)
        for i, written in enumerate(self.compiled.written):
            if written:
                leaves[i] = leaves[i].copy("K")
        notes = np.zeros(1, np.int64)
        flat = self.compiled.call(*leaves, *self.compiled.captures, *given, notes) or ()
        parts = [w.reshape(-1) if isinstance(w, np.ndarray) else np.array([w], np.uint64) for w in flat]
        return np.concatenate(parts), bool(notes[0])


def _word_array(part: Words, shape: tuple[int, ...], type: Any) -> Any:
    if not isinstance(type, Array):
        return np.uint64(part[0])
    return np.array(part.reshape(shape), order="F" if type.layout == "F" else "C")


def _told(reason: str, span: Any, source: Source) -> str:
    return f"{reason}, in line {span.line} of {source.name}()"


def derived_pattern(of: Dependence, values: Sequence[Any]) -> Pattern:
    """The pattern for these arguments. Raises MemoryLimitError where it has too many entries."""
    inputs = sum(of.columns.sizes(of.leaves.of(values)))
    words, _ = of.words(values, np.zeros(inputs, np.uint64))
    cut = False

    def run(lanes: Words) -> Words:
        nonlocal cut
        found, more = of.words(values, lanes)
        cut |= more
        return found

    rows = derive(run, inputs, len(words))
    reasons = (*of.reasons, *(("a loop in a branch that is not taken does not end",) if cut else ()))
    return Pattern(rows, (len(words), inputs), not reasons, reasons)
