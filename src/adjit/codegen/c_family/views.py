"""Views in kernels: a pointer to the first element, extents and strides, computed where the view is taken."""

from __future__ import annotations

from adjit.codegen.c_family.expressions import Expressions
from adjit.codegen.c_family.memory import Memory, contiguous
from adjit.codegen.c_family.scalars import memory_type
from adjit.codegen.names import Names
from adjit.ir.core import Atom, Const, Slice, Sym, View
from adjit.ir.types import FLOAT64, INT64, Array


class Views:
    """Writes the views of one kernel. pointer: the word for global memory before a pointer's type."""

    def __init__(self, show: Expressions, names: Names, pointer: str):
        self._show, self._names, self._pointer = show, names, pointer

    def view(self, stmt: View, of: Memory) -> tuple[Memory, list[str]]:
        """What the view refers to, and the lines before it."""
        if stmt.axes is not None:
            extents = tuple("1" if k is None else of.extents[k] for k in stmt.axes)
            strides = tuple("0" if k is None else of.strides[k] for k in stmt.axes)
            return Memory(of.base, extents, strides, of.local), []
        lines: list[str] = []
        name = stmt.target.name
        if stmt.shape is not None:
            shape = tuple(self._kept(a, f"{name}_n{k}", lines) for k, a in enumerate(stmt.shape))
            return Memory(of.base, shape, contiguous(shape), of.local), lines
        return self._sliced(stmt, of, name, lines)

    def _sliced(self, stmt: View, of: Memory, name: str, lines: list[str]) -> tuple[Memory, list[str]]:
        terms: list[str] = []
        extents: list[str] = []
        strides: list[str] = []
        for axis, item in enumerate(stmt.index):
            n, stride = of.extents[axis], of.strides[axis]
            if not isinstance(item, Slice):
                start = self._show.place(item, n)
            elif item == Slice():
                extents.append(n)
                strides.append(stride)
                continue
            else:
                start, extent, by = self._slice(item, n, f"{name}_{axis}", lines)
                extents.append(extent)
                strides.append(stride if by == "1" else by if stride == "1" else f"({by} * {stride})")
                start = f"(index){start}"
            terms.append(start if stride == "1" else f"{start} * {stride}")
        array = stmt.array.type
        assert isinstance(array, Array)
        base = self._names.fresh(name)
        space = "" if of.local else self._pointer
        lines.append(
            f"{space}{memory_type(array.dtype)} *const {base} = {of.base} + {' + '.join(terms) or '0'};"
        )
        return Memory(base, tuple(extents), tuple(strides), of.local), lines

    def _slice(self, item: Slice, n: str, name: str, lines: list[str]) -> tuple[str, str, str]:
        """The start, the length and the step of a slice."""
        self._show.helpers["slice", FLOAT64] = None
        step = "1" if item.step is None else self._kept(item.step, f"{name}_step", lines)
        down = f"{step} < 0"
        first = self._end(item.start, n, step, "0" if item.step is None else f"({down} ? {n} - 1 : 0)")
        last = self._end(item.stop, n, step, n if item.step is None else f"({down} ? -1 : {n})")
        start, length = self._names.fresh(f"{name}_start"), self._names.fresh(f"{name}_length")
        lines.append(f"const int64 {start} = {first};")
        lines.append(f"const int64 {length} = slice_length({start}, {last}, {step});")
        return start, length, step if step == "1" else f"(index){step}"

    def _end(self, a: Atom | None, n: str, step: str, default: str) -> str:
        return default if a is None else f"slice_start({self._show.typed(a, INT64)}, {n}, {step})"

    def _kept(self, a: Atom, name: str, lines: list[str]) -> str:
        """A number as a name or a literal."""
        if isinstance(a, Const) and a.integer >= 0:
            return str(a.integer)
        if isinstance(a, Sym) and a not in self._show.plan.nested and a.type == INT64:
            return self._show.name(a)
        fresh = self._names.fresh(name)
        lines.append(f"const int64 {fresh} = {self._show.typed(a, INT64)};")
        return fresh
