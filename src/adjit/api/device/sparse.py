"""Sparse Jacobians of device arrays: the pattern from stand-ins of their shapes, products and entries on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adjit.api.device.blocks import Sweep, zero_seed
from adjit.api.device.check import Check
from adjit.api.device.moves import flattened, order_of, part
from adjit.api.device.passes import Passes, is_array
from adjit.api.device.seeds import Coloured, Given, as_given
from adjit.api.device.sinks import Counted, Products
from adjit.api.engine import Engine
from adjit.api.plan import Leaves
from adjit.api.pushes import Program, Pushes, own_copy
from adjit.api.rows import Rows
from adjit.api.sparse.columns import Columns
from adjit.api.sparse.compression import Compression, compression
from adjit.api.sparse.dependence import Dependence, derived_pattern
from adjit.api.sparse.graphs import Index
from adjit.api.sparse.pattern import Pattern, shape_checked
from adjit.api.sparse.prepared import Facts
from adjit.errors import DeviceError
from adjit.ir.structure import Spec
from adjit.runtime.arguments import spec_of
from adjit.runtime.foreign import mapped
from adjit.runtime.places import library_of, place_of
from adjit.runtime.signature import place

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class DevicePrepared:
    """A pattern with its compression, and what of them is on the device (see `sparse.prepared.Prepared`).

    at: where each entry is among the products. colours: for each active leaf (in reverse mode: each result) those of
    its numbers. vectors: the direction to check, alike, then as one array of all columns; empty where the pattern is
    proven. form: the pattern as the place's matrices have it. starts, columns: it as arrays of the device, where it is
    checked.
    """

    facts: Facts
    pattern: Pattern
    how: Compression
    at: Any
    colours: list[Any]
    vectors: list[Any]
    form: Any
    starts: Any
    columns: Any


class DeviceMatrices:
    """The programs of one sparse Jacobian of device arrays, as `sparse.jacobian.Matrices` for the host's."""

    def __init__(self, engine: Engine[Any], specs: tuple[Spec, ...], paths: tuple[str, ...]):
        self._engine, self._paths = engine, paths
        self.leaves = Leaves(engine.source, specs)
        self._columns = Columns(paths, self.leaves)
        active = self._columns.active
        self._passes = Passes(Pushes(engine, specs, active, "jacobian", value=False))
        self._with_value = Passes(Pushes(engine, specs, active, "jacobian"))
        self._rows = Rows(engine, specs, active, "jacobian")
        self._at = self._passes.pushes.at
        self._library = library_of(self.leaves.place)
        self._dependence: Dependence | None = None
        self._sweeps: Callable[..., Any] | None = None

    @property
    def dependence(self) -> Dependence:
        """The pattern program, once a pattern has been derived."""
        assert self._dependence is not None
        return self._dependence

    def steering(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """What a pattern may follow from."""
        return leaves

    def pattern(self, values: tuple[Any, ...]) -> Pattern:
        """The derived pattern, from arrays of the host: zeros for floats, copies of integers and bools.

        Raises: DeviceError where values of floats decide it.
        """
        standing = mapped(values, _stand_in)
        if self._dependence is None:
            names = self.leaves.source.signature.names
            specs = tuple(spec_of(v, n) for v, n in zip(standing, names, strict=True))
            self._dependence = Dependence(self._engine, specs, self._paths)
        self._refuse(self._dependence.reasons)
        pattern = derived_pattern(self._dependence, standing)
        self._refuse(pattern.reasons)
        return pattern

    def _refuse(self, reasons: tuple[str, ...]) -> None:
        if reasons:
            raise DeviceError(
                f"values of floats, which are on the device, decide the sparsity pattern: {reasons[0]}",
                "give a pattern: sparse=aj.sparsity(f, ...) of NumPy arrays; it is checked in every call",
                place(self.leaves.source.signature.py_func),
            )

    def fitting(self, pattern: Pattern, leaves: Sequence[Any]) -> Pattern:
        """A given pattern that has the Jacobian's shape. Raises ArgumentError."""
        passes = self._passes
        program = passes.pushes.program(1)

        def make(own: Sequence[Any], _: Sequence[Any]) -> tuple[Given, Counted]:
            return Given(passes.moves, passes.places(program, own), [None] * len(self._at), 0), Counted()

        _, (rows,) = passes.run("count", 1, list(map(own_copy, leaves)), (), make)
        shape_checked(pattern, (rows, sum(self._columns.sizes(leaves))), self.leaves.source.name)
        return pattern

    def prepared(self, pattern: Pattern, leaves: Sequence[Any], symmetric: bool) -> DevicePrepared:
        """A pattern with all that its use takes."""
        how = compression(pattern, symmetric)
        like = next(a for a in leaves if place_of(a))
        columns = pattern.shape[1]
        strides = (1, pattern.shape[0]) if how.mode == "forward" else (1, columns)
        vectors = list[Any]()
        if not pattern.proven:
            vector = np.random.default_rng(len(pattern.indices)).standard_normal(columns)
            vectors = [*self._split(vector, leaves, like, None), self._there(self._typed(vector), like)]
        if how.mode == "forward":
            colours = self._split(how.colours, leaves, like, np.int32)
        else:
            colours = self._split_rows(how.colours, leaves, like)
        plain = pattern.plain_matrix()
        rows = [self._there(a, like) if vectors else None for a in (plain.indptr, plain.indices)]
        at, form = self._there(how.places(pattern, strides), like), self._library.sparse_form(plain, like)
        return DevicePrepared(Facts(leaves), pattern, how, at, colours, vectors, form, *rows)

    def _typed(self, vector: Any) -> Any:
        """A vector of columns in the dtype of the tangents."""
        return vector.astype(_dtype(self._passes.pushes.program(1)))

    def _there(self, a: Any, like: Any) -> Any:
        return self._library.sent(np.ascontiguousarray(a), like)

    def _split(self, flat: Any, leaves: Sequence[Any], like: Any, dtype: Any) -> list[Any]:
        """What belongs to the columns, for each active leaf in the order of its tangents' memory."""

        def made(part: Any, shape: tuple[int, ...], type: Any) -> Any:
            leaf_dtype = np.dtype(type.dtype.name if shape or hasattr(type, "ndim") else type.name)
            if not hasattr(type, "ndim"):
                return int(part[0]) if dtype else as_given(leaf_dtype.type(part[0]))
            order = "F" if type.layout == "F" else "C"
            return self._there(part.reshape(shape).ravel(order).astype(dtype or leaf_dtype), like)

        return self._columns.split(flat, leaves, made)

    def _split_rows(self, colours: Index, leaves: Sequence[Any], like: Any) -> list[Any]:
        """The colours of rows, for each result that carries a derivative in the order of its cotangent's memory."""
        shapes = self._rows.shapes(leaves)
        found, at = list[Any](), 0
        for k, shape in zip(self._rows.results.carrying, shapes, strict=True):
            leaf, size = self._rows.results.all[k], int(np.prod(shape, dtype=np.int64))
            part, at = colours[at : at + size], at + size
            if leaf.is_array:
                part = part.reshape(shape).ravel("F" if order_of(leaf) == "F" else "C")
                found.append(self._there(part.astype(np.int32), like))
            else:
                found.append(int(part[0]))
        return found

    def again(self, prepared: DevicePrepared, matrix: Any) -> Callable[[Sequence[Any]], Any] | None:
        """Writes the entries of a matrix of this pattern, and gives the value; None where it is checked."""
        if prepared.vectors:
            return None
        return lambda leaves: self.run(leaves, prepared, True, matrix.data)[0]

    def run(
        self, leaves: Sequence[Any], prepared: DevicePrepared, with_value: bool, into: Any = None
    ) -> tuple[Any, Any, Index]:
        """The value (or None), the matrix, and the rows in which a matrix that is not proven is wrong.

        Arrays that f writes end as the plain call leaves them, or as they were where a row is wrong. into: memory for
        the entries.
        """
        checked = bool(prepared.vectors)
        before = [own_copy(v) if checked else None for v in leaves]
        if prepared.how.mode == "forward":
            value, found = self._forward(leaves, prepared, with_value, into)
        else:
            tangent = self._tangent(list(map(own_copy, leaves)), prepared) if checked else []
            value, found = self._reverse(leaves, prepared, into)
            found = [*found, *tangent]
        data = found[0] if into is None else into
        matrix = self._library.sparse(data, prepared.form)
        if not checked:
            return value, matrix, _NONE
        rows = prepared.starts, prepared.columns
        wrong = self._check.wrong(data, rows, prepared.vectors[-1], found[1])
        if len(wrong):
            for v, old in zip(leaves, before, strict=True):
                if place_of(v):
                    self._check.restore(v, old)
        return value, matrix, wrong

    @cached_property
    def _check(self) -> Check:
        single = "float32" in self._passes.pushes.program(1).compiled.source
        return Check(self._passes.moves, self.leaves.place, single)

    def _forward(
        self, leaves: Sequence[Any], prepared: DevicePrepared, with_value: bool, into: Any
    ) -> tuple[Any, list[Any]]:
        """The value, the entries, and the tangent in the direction that is checked, if there is one."""
        passes = self._with_value if with_value else self._passes
        checked, wide = bool(prepared.vectors), len(self._at)
        count = prepared.how.count + checked

        def make(own: Sequence[Any], extra: Sequence[Any]) -> tuple[Coloured, Products]:
            colours, rows, at, *rest = extra
            given = [rest.pop(0) for _ in range(wide)]
            vectors = [rest.pop(0) for _ in range(wide * checked)]
            program = passes.pushes.program(colours + checked)
            seeds = Coloured(passes.moves, passes.places(program, own), given, colours, vectors)
            return seeds, Products(passes.moves, _dtype(program), seeds.count, rows, (at, *rest), checked)

        extra = [prepared.how.count, prepared.pattern.shape[0], prepared.at, *prepared.colours]
        extra += [*prepared.vectors[:-1], *([] if into is None else [into])]
        return passes.run(("products", checked, into is None), count, leaves, extra, make)

    def _tangent(self, leaves: Sequence[Any], prepared: DevicePrepared) -> list[Any]:
        """The tangent in the direction that is checked."""
        passes, wide = self._passes, len(self._at)

        def make(own: Sequence[Any], extra: Sequence[Any]) -> tuple[Coloured, Products]:
            program = passes.pushes.program(1)
            places = passes.places(program, own)
            seeds = Coloured(passes.moves, places, [], 0, extra[1:])
            return seeds, Products(passes.moves, _dtype(program), 1, extra[0], (), True)

        assert len(prepared.vectors) == wide + 1
        extra = [prepared.pattern.shape[0], *prepared.vectors[:-1]]
        return passes.run("tangent", 1, leaves, extra, make)[1]

    def _reverse(self, leaves: Sequence[Any], prepared: DevicePrepared, into: Any) -> tuple[Any, list[Any]]:
        """The value and the entries, by a sweep for each colour of rows."""
        compiled, results = self._rows.compiled, self._rows.results
        self._rows.check(leaves)
        if self._sweeps is None:
            self._sweeps = self._passes.moves.call(self._swept)
        extra = [prepared.how.count, prepared.at, *prepared.colours, *([] if into is None else [into])]
        flat = self._sweeps(*leaves, *compiled.captures, *extra)
        return results.value(flat), list(flat[results.count :])

    def _swept(self, device: Any, *args: Any) -> tuple[Any, ...]:
        compiled, results, moves = self._rows.compiled, self._rows.results, self._passes.moves
        n = len(self.leaves.all) + len(compiled.captures)
        own, (count, at, *rest) = args[: len(self.leaves.all)], args[n:]
        flat = compiled.inner(device, *args[:n])
        carrying = [(results.all[k], flat[k]) for k in results.carrying]
        colours, into = rest[: len(carrying)], rest[len(carrying) :]
        leaves = [self.leaves.all[i] for i in self._at]
        shapes = [own[i].shape if self.leaves.is_array(i) else () for i in self._at]
        starts, columns = self._starts(own)
        dtype = np.result_type(*[leaf.number.name for leaf in leaves])
        products = device.zeros((count * columns,), dtype)
        sweep = Sweep(moves, compiled, leaves, shapes)
        for c in range(count):
            seeds = list[Any]()
            for (leaf, value), colour in zip(carrying, colours, strict=True):
                seed = zero_seed(device, leaf, value)
                if is_array(seed):
                    moves.coloured(device, part(flattened(seed), 0, (1, seed.size)), colour, c)
                else:
                    seed = seed + (colour == c)
                seeds.append(seed)
            sizes = [int(np.prod(s, dtype=np.int64)) for s in shapes]
            rows = [part(products, c * columns + a, (m,)) for a, m in zip(starts, sizes, strict=True)]
            sweep.run(device, flat[results.count :], seeds, rows)
        data = into[0] if into else device.empty(at.shape, dtype)
        moves.gathered(device, data, products, at)
        return (*flat[: results.count], data)

    def _starts(self, own: Sequence[Any]) -> tuple[list[int], int]:
        """Where the columns of each active leaf start, and how many there are."""
        starts, at = dict[int, int](), 0
        for i, n in zip(self._columns.order, self._columns.sizes(own), strict=True):
            starts[i] = at
            at += n
        return [starts[i] for i in self._at], at


def _stand_in(value: Any) -> Any:
    """An array of the host's for one of the device: of its shape and order; its values where they are not floats."""
    at = place_of(value)
    if not at:
        return value
    library = library_of(at)
    order = "F" if library.layout_of(value) == "F" else "C"
    if value.dtype.kind in "fc" or value.size == 0:
        return np.zeros(value.shape, value.dtype, order)
    return np.asarray(library.private(value, order).get(), order=order)


def _dtype(program: Program) -> np.dtype[Any]:
    results = program.results
    return np.result_type(*[results.all[k].number.name for k in results.carrying])
