"""`jacfwd`, `jacrev` and `jacobian`: every derivative of every result, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from adjit.api.blocks import Blocks, Inputs, Units
from adjit.api.derivative import Derivative
from adjit.api.device.blocks import DeviceJacobian
from adjit.api.engine import Engine
from adjit.api.lanes import Block
from adjit.api.plan import Leaves, leaves_of, renumber
from adjit.api.pulls import ROW_COST
from adjit.api.pushes import PASS_COST, Program, Pushes, cost_of
from adjit.api.rows import Rows
from adjit.api.wrt import Wrt, select
from adjit.errors import ArgumentError
from adjit.ir.structure import Spec
from adjit.runtime.arguments import Template
from adjit.runtime.foreign import ForeignArrays
from adjit.runtime.memory import available

if TYPE_CHECKING:
    from adjit.api.report import Report
    from adjit.api.sparse.jacobian import SparseJacobian

_LARGE = 2**26
"""Bytes from which on a matrix is held against the memory that is free, at every call."""


def jacfwd(f: Callable[..., Any], wrt: Wrt = 0) -> Jacobian:
    """The Jacobian of f by forward mode: passes of up to 16 columns each.

    Arguments: f returns numbers, arrays or (named) tuples of those. wrt: as `grad`'s.
    Returns: a function of f's arguments. For a result of shape `out` and an argument of shape `in` it gives an array
    of shape `(*out, *in)` and the result's dtype, a number where both are numbers; the tree of the result around
    the tree of what is differentiated by (a tuple for a tuple of `wrt`), None for parts without a derivative.
    Derivatives are with respect to values at entry; arrays that f writes end as the plain call leaves them. Bits
    do not depend on how many columns a pass carries. Of device arrays the blocks are device arrays.
    Raises: ArgumentError for an unknown `wrt`, for complex arguments, for a function without a result (use
    `aj.pure`); MemoryLimitError, before it is allocated, for a matrix that does not fit.
    """
    return Jacobian(f, wrt, "jacfwd")


def jacrev(f: Callable[..., Any], wrt: Wrt = 0) -> Jacobian:
    """The Jacobian of f by reverse mode: f once, then sweeps for up to 16 numbers of its result each.

    As `jacfwd`; the result must be real. Compiled sums over long loops may differ in the last bits with the number of
    rows that a sweep carries.
    """
    return Jacobian(f, wrt, "jacrev")


@overload
def jacobian(f: Callable[..., Any], wrt: Wrt = 0, sparse: Literal[False] = False) -> Jacobian: ...


@overload
def jacobian(f: Callable[..., Any], wrt: Wrt = 0, *, sparse: Any) -> Jacobian | SparseJacobian: ...


def jacobian(f: Callable[..., Any], wrt: Wrt = 0, sparse: Any = False) -> Jacobian | SparseJacobian:
    """The Jacobian of f by the mode that costs less: `.mode(*args)` says which.

    As `jacfwd`. Counts decide: reverse mode where the result has fewer numbers than forward mode takes passes, by
    what the two cost.
    sparse: True for one `scipy.sparse.csr_array` of shape (outputs, inputs), whose pattern is derived from the program
    (`aj.sparsity`); or the pattern, anything that SciPy takes for a matrix, which is checked in every call. Of arrays
    on CUDA devices the matrix is a `cupyx.scipy.sparse.csr_matrix`, of pyopencl's one of `CompressedRows`.
    Raises: with `sparse` also CheckError where a given pattern lacks entries.
    """
    if sparse is False:
        return Jacobian(f, wrt, "jacobian")
    from adjit.api.sparse.jacobian import SparseJacobian

    return SparseJacobian(f, wrt, None if sparse is True else sparse)


class Jacobian(Derivative):
    """A function that gives Jacobians: `kind` is "jacfwd", "jacrev" or "jacobian"."""

    def __init__(self, f: Callable[..., Any], wrt: Wrt, kind: str):
        super().__init__(f, wrt, kind)
        self._engine: Engine[Matrices] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._bind(args, kwargs)
        try:
            plan = self.plan(values)
        except ForeignArrays as foreign:
            return foreign.kind.call(self, args, kwargs)
        return plan.run(values)[1]

    def plan(self, values: tuple[Any, ...], value: bool = False) -> Matrices:
        """The programs for arguments like these, as `signature.bind` gives them; with `value` they give f's, too."""
        return self._plans().plan(values, value)

    def mode(self, *args: Any, **kwargs: Any) -> str:
        """The mode for arguments like these: "forward" or "reverse".

        f is run (on copies) where only that says how large its result is.
        """
        values = self._bind(args, kwargs)
        return self.plan(values).mode(values)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated Python source for arguments like these."""
        values = self._bind(args, kwargs)
        return self.plan(values).compiled(values).source

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """What the program of one pass does for arguments like these (see `aj.explain`)."""
        from adjit.api.explained import report

        values = self._bind(args, kwargs)
        tree = leaves_of(self.source_, values)
        kind = "split" if self.mode(*args, **kwargs) == "reverse" else "forward"
        return report(self.source_, tree, values, kind, select(self.paths, tree).active)

    def __repr__(self) -> str:
        return f"adjit.{self.kind}({self.source_.name}, wrt={self.wrt!r})"

    def _plans(self) -> Engine[Matrices]:
        if self._engine is None:
            single = not isinstance(self.wrt, tuple)
            paths, kind = self.paths, self.kind

            def make(engine: Engine[Matrices], specs: tuple[Spec, ...], value: Any) -> Matrices:
                return Matrices(engine, specs, paths, single, kind, bool(value))

            self._engine = Engine(self.source_, (self.kind, self.paths, single), make)
        return self._engine


class Buffers:
    """The memory of a Jacobian: its blocks; in forward mode also seeds, and the lanes that they go into.

    matrix, found: the one block as rows and columns, and in its trees, where one call of compiled code gives it.
    """

    def __init__(self, blocks: Blocks, units: Units | None):
        self.blocks, self.units = blocks, units
        self.lanes: list[Block] | None = None
        self.matrix: np.ndarray[Any, Any] | None = None
        self.found: Any = None


class _Known:
    """A Jacobian of one block whose shape is known from a call before: one call of compiled code gives it."""

    def __init__(self, program: Program, blocks: Blocks, wrt: Template):
        self.program, self._wrt = program, wrt
        self._blocks = Blocks(blocks.results, blocks.inputs, blocks.name, None)
        block = blocks.of[0][0]
        self._shape, self._dtype = block.shape, block.dtype
        self._rows = (block.size // blocks.inputs.count, blocks.inputs.count)
        self._large = block.nbytes > _LARGE
        self._bare = blocks.tree_of([[block]], wrt) is block  # no trees around it

    def matrix(self, room: Callable[[], int]) -> np.ndarray[Any, Any]:
        """Memory for the block, as rows and columns."""
        if self._large:
            self._blocks.require(self._rows[0] * self._rows[1] * self._dtype.itemsize, self._rows[0], room())
        return np.empty(self._rows, self._dtype)

    def rows_of(self, block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The block as rows and columns."""
        return block.reshape(self._rows)

    def tree(self, matrix: np.ndarray[Any, Any]) -> Any:
        """The block in its trees."""
        if self._bare:
            return matrix.reshape(self._shape)
        return self._blocks.tree_of([[matrix.reshape(self._shape)]], self._wrt)


class Matrices:
    """The programs of one Jacobian, in both modes; `value`: whether f's value is wanted as well."""

    def __init__(
        self,
        engine: Engine[Any],
        specs: tuple[Spec, ...],
        paths: tuple[str, ...],
        single: bool,
        kind: str,
        value: bool,
    ):
        self._kind, self._name = kind, engine.source.name
        self._memory = engine.source.options.memory
        self._tree = tree = Leaves(engine.source, specs)
        selection = select(paths, tree)
        at = [i for i, on in enumerate(selection.active) if on]
        for i in at:
            if tree.all[i].number.is_complex:
                raise ArgumentError(
                    f"'{tree.names[i]}' is complex, and a Jacobian is of real numbers",
                    "use aj.jvp or aj.vjp, or differentiate by its real and imaginary parts",
                )
        numbers = {i: k for k, i in enumerate(at)}
        trees = tuple(renumber(t, numbers) for t in selection.trees)
        self._wrt: Template = trees[0] if single else (tuple, trees)
        self.pushes = Pushes(engine, specs, selection.active, kind, value)
        self.rows = Rows(engine, specs, selection.active, kind)
        self._outputs: dict[Hashable, int] = {}
        self._known: dict[Hashable, _Known] = {}
        self._on_device = DeviceJacobian(self.pushes, self.rows) if tree.place else None

    def inputs(self, leaves: Sequence[Any]) -> Inputs:
        """What is differentiated by, in one call."""
        return Inputs(self._tree, self.pushes.at, leaves)

    def mode(self, values: tuple[Any, ...]) -> str:
        """The mode for these arguments."""
        leaves = self._tree.of(values)
        return self._mode(leaves, self.inputs(leaves))

    def compiled(self, values: tuple[Any, ...]) -> Any:
        """The program for these arguments."""
        leaves = self._tree.of(values)
        inputs = self.inputs(leaves)
        forward = self._mode(leaves, inputs) == "forward"
        return self.pushes.program(inputs.count).compiled if forward else self.rows.compiled

    def buffers(self, values: tuple[Any, ...]) -> Buffers:
        """What a call with such arguments works in, to be used again and again."""
        leaves = self._tree.of(values)
        inputs = self.inputs(leaves)
        if self._mode(leaves, inputs) == "reverse":
            return Buffers(Blocks(self.rows.results, inputs, self._name, self._memory), None)
        results = self.pushes.program(inputs.count).results
        return Buffers(Blocks(results, inputs, self._name, self._memory), Units(inputs))

    def run(self, values: tuple[Any, ...], buffers: Buffers | None = None) -> tuple[Any, Any]:
        """The value and the Jacobian."""
        leaves = self._tree.of(values)
        if self._on_device is not None:
            return self._run_on(self._on_device, leaves, self.buffers(values) if buffers is None else buffers)
        shapes = tuple([getattr(leaf, "shape", ()) for leaf in leaves])
        known = self._known.get(shapes)
        if known is not None:
            matrix = known.matrix(self._room) if buffers is None else buffers.matrix
            if matrix is not None:
                fits, value = self.pushes.fill(known.program, leaves, matrix)
                if fits:
                    return value, known.tree(matrix) if buffers is None else buffers.found
        buffers = self.buffers(values) if buffers is None else buffers
        blocks = buffers.blocks
        if buffers.units is None:
            return self.rows.run(leaves, blocks), blocks.tree(self._wrt)
        program = self.pushes.program(buffers.units.count)
        if buffers.lanes is None:
            buffers.lanes = self.pushes.blocks(program, leaves)
        value = self.pushes.run(leaves, buffers.units, blocks, buffers.lanes)
        found = blocks.tree(self._wrt)
        if program.compiled.columns is not None and buffers.units.count:
            known = self._known[shapes] = _Known(program, blocks, self._wrt)
            buffers.matrix, buffers.found = known.rows_of(blocks.of[0][0]), found
        return value, found

    def _run_on(self, device: DeviceJacobian, leaves: Sequence[Any], buffers: Buffers) -> tuple[Any, Any]:
        blocks = buffers.blocks
        value = (device.reverse if buffers.units is None else device.forward)(leaves, blocks)
        return value, blocks.tree(self._wrt)

    def _room(self) -> int:
        return available() if self._memory is None else self._memory

    def _mode(self, leaves: Sequence[Any], inputs: Inputs) -> str:
        if self._kind != "jacobian":
            return "reverse" if self._kind == "jacrev" else "forward"
        forward = PASS_COST * cost_of(inputs.count)
        if forward <= ROW_COST:  # whatever the result
            return "forward"
        return "reverse" if ROW_COST * self.rows.cost(self._rows(leaves)) < forward else "forward"

    def _rows(self, leaves: Sequence[Any]) -> int:
        """How many numbers the result has."""
        key = tuple(np.shape(leaf) for leaf in leaves)
        found = self._outputs.get(key)
        if found is None:
            found = self._outputs[key] = self.rows.count(leaves)
        return found
