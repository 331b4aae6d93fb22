"""`SparseJacobian`: Jacobians and Hessians as SciPy's sparse matrices, from few products."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from adjit.api.derivative import Derivative
from adjit.api.device.sparse import DeviceMatrices
from adjit.api.engine import Engine
from adjit.api.lanes import Block
from adjit.api.plan import Leaves
from adjit.api.pushes import Pushes, Tangent, own_copy
from adjit.api.rows import Rows
from adjit.api.sparse.check import disagreeing, named
from adjit.api.sparse.columns import Columns
from adjit.api.sparse.compression import compression
from adjit.api.sparse.cotangents import swept
from adjit.api.sparse.dependence import Dependence, derived_pattern
from adjit.api.sparse.graphs import Index
from adjit.api.sparse.pattern import Pattern, given_pattern, shape_checked
from adjit.api.sparse.prepared import Facts, Prepared, Short
from adjit.api.sparse.products import Directions, Products
from adjit.api.wrt import Wrt
from adjit.errors import CheckError
from adjit.ir.structure import Spec
from adjit.runtime.foreign import ForeignArrays


class SparseJacobian(Derivative):
    """A function that gives the Jacobian of f as a `scipy.sparse.csr_array` of shape (outputs, inputs).

    Columns are the numbers that `wrt` names, side by side, rows those of the result below each other, arrays in C
    order. The pattern is derived from the program (`aj.sparsity`) unless it is given; it and the colouring are kept
    while shapes, integers and bools of the arguments are the same. A pattern that is given, or may be another one for
    other floats, is checked in every call by one product more. Of device arrays the entries are on the device
    (`device.sparse`), and a pattern that floats decide has to be given.
    pattern: anything that SciPy takes for a matrix of that shape, entries that may be there stored or not zero.
    symmetric: whether the matrix is (a Hessian): it takes fewer products then.
    """

    def __init__(self, f: Callable[..., Any], wrt: Wrt = 0, pattern: Any = None, symmetric: bool = False):
        super().__init__(f, wrt, "sparse_jacobian")
        self._given = None if pattern is None else given_pattern(pattern)
        self._symmetric = symmetric
        self._engine: Engine[Matrices] | None = None
        self._kept: tuple[Matrices, Prepared] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.run(*self._at(args, kwargs), False)[1]
        except ForeignArrays as foreign:
            return foreign.kind.call(self, args, kwargs)

    def value_and_matrix(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The value and the Jacobian. Arrays that f writes end as the plain call leaves them.

        Raises: ArgumentError where a given pattern has not the Jacobian's shape; CheckError where it lacks entries.
        """
        try:
            return self.run(*self._at(args, kwargs), True)
        except ForeignArrays as foreign:
            return foreign.kind.call(self.value_and_matrix, args, kwargs)

    def run(
        self, plan: Matrices, values: tuple[Any, ...], leaves: Sequence[Any], with_value: bool
    ) -> tuple[Any, Any]:
        """The value (None if it is not wanted) and the Jacobian, by the programs of `plan`."""
        value, matrix, wrong = plan.run(leaves, self.kept(plan, values, leaves), with_value)
        if len(wrong) and self._given is None:  # floats choose another pattern by now
            self._kept = None
            value, matrix, wrong = plan.run(leaves, self.kept(plan, values, leaves), with_value)
        if len(wrong):
            raise CheckError(
                f"the sparsity pattern of {self.source_.name}() lacks entries in {named(wrong)}",
                "give a pattern with all entries that can be there, or none: sparse=True",
            )
        return value, matrix

    def prepare(self, *args: Any, **kwargs: Any) -> Prepared:
        """The pattern and the colours for arguments like these. The function is not run, but for its pattern."""
        try:
            return self.kept(*self._at(args, kwargs))
        except ForeignArrays as foreign:
            return foreign.kind.call(self.prepare, args, kwargs)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated source of the program that derives the pattern, for arguments like these."""
        return self._at(args, kwargs)[0].dependence.compiled.source

    def _at(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Matrices, tuple[Any, ...], Sequence[Any]]:
        values = self._bind(args, kwargs)
        plan = self.plan(values)
        return plan, values, plan.leaves.of(values)

    def kept(self, plan: Matrices, values: tuple[Any, ...], leaves: Sequence[Any]) -> Prepared:
        """The pattern and the colours for these arguments: those of the last call where they still hold."""
        if self._kept is not None:
            of, kept = self._kept
            if of is plan and kept.facts.hold(plan.steering(leaves)):
                return kept
        pattern = plan.pattern(values) if self._given is None else plan.fitting(self._given, leaves)
        if self._symmetric:
            pattern = pattern.symmetric()
        kept = plan.prepared(pattern, leaves, self._symmetric)
        self._kept = plan, kept
        return kept

    def plan(self, values: tuple[Any, ...]) -> Matrices:
        """The programs for arguments like these, as `signature.bind` gives them."""
        return self._plans().plan(values)

    def _plans(self) -> Engine[Matrices]:
        if self._engine is None:
            paths = self.paths

            def make(engine: Engine[Matrices], specs: tuple[Spec, ...], _: Any) -> Any:
                return (DeviceMatrices if Leaves(engine.source, specs).place else Matrices)(
                    engine, specs, paths
                )

            self._engine = Engine(self.source_, (self.kind, self.paths), make)
        return self._engine


class Matrices:
    """The programs of one sparse Jacobian: the pattern's, and those of its products."""

    def __init__(self, engine: Engine[Any], specs: tuple[Spec, ...], paths: tuple[str, ...]):
        self._engine, self._specs, self._paths = engine, specs, paths
        self._name = engine.source.name
        self.leaves = Leaves(engine.source, specs)
        self._columns = Columns(paths, self.leaves)
        self._pushes = Pushes(engine, specs, self._columns.active, "jacobian", value=False)
        self._with_value = Pushes(engine, specs, self._columns.active, "jacobian")
        self._rows = Rows(engine, specs, self._columns.active, "jacobian")

    @cached_property
    def dependence(self) -> Dependence:
        """The pattern program."""
        return Dependence(self._engine, self._specs, self._paths)

    def steering(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """What a pattern may follow from, floats apart: the leaves of the arguments, and captured arrays."""
        captures = self.dependence.compiled.captures if "dependence" in self.__dict__ else ()
        return [*leaves, *captures]

    def pattern(self, values: tuple[Any, ...]) -> Pattern:
        """The derived pattern."""
        return derived_pattern(self.dependence, values)

    def fitting(self, pattern: Pattern, leaves: Sequence[Any]) -> Pattern:
        """A given pattern that has the Jacobian's shape. Raises ArgumentError."""
        counted = _Rows()
        self._pushes.run(list(map(own_copy, leaves)), Directions((), 0, self._parts(None, leaves)), counted)
        shape = (counted.count, sum(self._columns.sizes(leaves)))
        shape_checked(pattern, shape, self._name)
        return pattern

    def prepared(self, pattern: Pattern, leaves: Sequence[Any], symmetric: bool) -> Prepared:
        """A pattern with all that its use takes."""
        how = compression(pattern, symmetric)
        if how.mode == "reverse" and self._rows.cost(how.count) == how.count:  # each row is swept alone
            how = compression(pattern, symmetric, float)
        checked = not pattern.proven
        vector = np.random.default_rng(len(pattern.indices)).standard_normal(pattern.shape[1])
        vectors = self._parts(vector, leaves) if checked else None
        if how.mode == "forward":
            directions = Directions(self._parts(how.colours, leaves), how.count, vectors)
            at = how.places(pattern, self._sink(directions, pattern.shape[0]).strides)
        else:
            directions = Directions((), 0, vectors)
            at = how.places(pattern, (1, pattern.shape[1]))
        kept = self._buffers(directions, leaves) if how.mode == "forward" else None
        facts = Facts(self.steering(leaves))
        single = checked and self._is_single(directions.count)
        short = None if checked or kept is None else self._short(directions, kept, pattern.shape[0])
        return Prepared(facts, pattern, how, at, directions, vector if checked else None, kept, single, short)

    def _is_single(self, count: int) -> bool:
        """Whether the program computes in single precision somewhere: on what it is given, or by a conversion."""
        told = [self._pushes.program(count).compiled.source, *(str(leaf.type) for leaf in self.leaves.all)]
        return any(name in text for name in ("float32", "complex64") for text in told)

    def again(self, prepared: Prepared, matrix: Any) -> Callable[[Sequence[Any]], Any] | None:
        """As `short`: writes the entries of a matrix of this pattern, and gives the value."""
        if prepared.short is None or prepared.blocks is None:
            return None
        count = prepared.directions.count
        results, call = (
            self._with_value.program(count).results,
            _packed(self._with_value, count, prepared.blocks),
        )

        def run(leaves: Sequence[Any]) -> Any:
            flat, products = call(leaves)
            products.take(prepared.at, out=matrix.data, mode="clip")
            return results.value(flat)

        return run

    def _short(self, directions: Directions, blocks: list[Block], rows: int) -> Short | None:
        """All that a call does where one pass of a program that writes no argument leaves its one result packed."""
        if not self._sink(directions, rows).whole:
            return None
        call = _packed(self._pushes, directions.count, blocks)
        return lambda leaves: call(leaves)[1]

    def _buffers(self, directions: Directions, leaves: Sequence[Any]) -> list[Block] | None:
        """Directions that are written once, where a single pass leaves them as they are."""
        program = self._pushes.program(directions.count)
        if directions.count > program.width or any(program.compiled.written):
            return None
        blocks = self._pushes.blocks(program, leaves)
        directions.fill(blocks, 0, directions.count)
        directions.written = blocks
        return blocks

    def run(self, leaves: Sequence[Any], prepared: Prepared, with_value: bool) -> tuple[Any, Any, Index]:
        """The value (or None), the matrix, and the rows in which a matrix that is not proven is wrong.

        Arrays that f writes end as the plain call leaves them, or as they were where a row is wrong.
        """
        if prepared.short is not None and not with_value:
            return None, prepared.matrix(prepared.short(leaves)), _NONE
        vector, how = prepared.vector, prepared.how
        entry = None if vector is None else list(map(own_copy, leaves))
        tangent = None
        rows = prepared.pattern.shape[0]
        if how.mode == "forward":
            pushes = self._with_value if with_value else self._pushes
            products = self._sink(prepared.directions, rows)
            value = pushes.run(leaves, prepared.directions, products, prepared.blocks)
            tangent, found = None if vector is None else products.direction(how.count), products.found
        else:
            if entry is not None:
                products = self._sink(prepared.directions, rows)
                self._pushes.run(list(map(own_copy, leaves)), prepared.directions, products)
                tangent = products.direction(0)
            value, swept_rows = swept(self._rows, self._columns, self.leaves, leaves, how.colours, how.count)
            found = swept_rows.reshape(-1)
        matrix = prepared.matrix(found)
        if entry is None or vector is None or tangent is None:
            return value, matrix, _NONE
        wrong = disagreeing(matrix, vector.astype(tangent.dtype), tangent, prepared.single)
        if len(wrong):
            for v, before in zip(leaves, entry, strict=True):
                if isinstance(v, np.ndarray) and v.flags.writeable:
                    v[...] = before
        return value, matrix, wrong

    def _sink(self, directions: Directions, rows: int) -> Products:
        return Products(self._pushes.program(directions.count), directions.count, rows)

    def _parts(self, flat: np.ndarray[Any, Any] | None, leaves: Sequence[Any]) -> list[Any]:
        """What belongs to the columns, as one array per active leaf; zeros of None."""
        flat = np.zeros(sum(self._columns.sizes(leaves))) if flat is None else flat
        return self._columns.split(flat, leaves, lambda part, shape, _: part.reshape(shape))


def _packed(
    pushes: Pushes, count: int, blocks: Sequence[Block]
) -> Callable[[Sequence[Any]], tuple[Sequence[Any], Any]]:
    """One call of the program with directions that are written: all that it returns, and its one packed result."""
    compiled = pushes.program(count).compiled
    call, at, more = (
        compiled.call,
        compiled.n_results,
        (*compiled.captures, *(s for b in blocks for s in b.given)),
    )

    def run(leaves: Sequence[Any]) -> tuple[Sequence[Any], Any]:
        flat = call(*leaves, *more)
        return flat, flat[at]["lanes"].reshape(-1)

    return run


class _Rows:
    """Counts the numbers of a result (`pushes.Sink`)."""

    count = 0

    def take(self, tangents: Sequence[Tangent], start: int, stop: int) -> None:
        self.count = sum(math.prod(tangent.shape) for tangent in tangents)


_NONE = np.empty(0, np.int64)
