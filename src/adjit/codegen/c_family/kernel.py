"""Prints one kernel: its parameters, the place of the work item, the body, and sums over the work-group.

An array is given as a pointer, the place of its first element, its extents, and its strides where its layout does not
say them. What work items add up is combined in each work-group in a fixed order, then by the host, group by group.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.analysis.places import places_of
from adjit.codegen.c_family.body import Body
from adjit.codegen.c_family.dialect import CUDA, Dialect, given, group, header, item
from adjit.codegen.c_family.expressions import Expressions
from adjit.codegen.c_family.helpers import has_atomic, helper, wants_wide
from adjit.codegen.c_family.memory import Memory, layout_strides
from adjit.codegen.c_family.scalars import memory_type
from adjit.codegen.c_family.words import TAKEN
from adjit.codegen.comments import source_line
from adjit.codegen.lines import INDENT
from adjit.codegen.names import Names
from adjit.codegen.nesting import Plan
from adjit.errors import UnsupportedError
from adjit.ir.core import Atom, Const, Function, Let, Store, Sym
from adjit.ir.types import BOOL, Array, Scalar
from adjit.ir.visit import inner_targets, operands, targets, walk
from adjit.transform.kernel_body import Kernel, Total


@dataclass(frozen=True)
class Printed:
    """A kernel's text and the helper functions that it calls.

    fp64, wide_atomics: whether it needs numbers of 64 bits, and atomic operations on them.
    """

    text: str
    helpers: tuple[tuple[str, Scalar], ...]
    fp64: bool
    wide_atomics: bool


def text_of(kernels: list[Printed], dialect: Dialect) -> str:
    """One text with every kernel, self-contained."""
    used = dict.fromkeys(h for k in kernels for h in k.helpers)
    parts = [header(dialect, any(k.fp64 for k in kernels), any(k.wide_atomics for k in kernels))]
    parts += [helper(dialect, name, type) + "\n" for name, type in used]
    return "\n".join([*parts, *(k.text for k in kernels)])


def emit(kernel: Kernel, dialect: Dialect) -> Printed:
    """The text of one kernel. Raises UnsupportedError, with the line, for what kernels on devices cannot do."""
    _refuse(kernel)
    return _Printer(kernel, dialect).printed()


class _Printer:
    def __init__(self, kernel: Kernel, dialect: Dialect):
        self._kernel, self._dialect = kernel, dialect
        f = kernel.function
        self._names = Names(TAKEN | {kernel.name})
        self._arrays: dict[Sym, Memory] = {}
        self._stored = {s.array for s in walk(f.body) if isinstance(s, Store)}
        plan = Plan(f)
        self._body = Body(f, plan, self._names, self._arrays)
        self._body.show = Expressions(
            dialect, plan, self._body.name, self._memory, self._nonnegative, self._places(f), self._positive()
        )

    def printed(self) -> Printed:
        """The text."""
        kernel, body = self._kernel, self._body
        params = [f"const int64 {self._bound(s)}" for s in kernel.counts]
        head: list[str] = []
        for s in kernel.given:
            more, lines = self._parameter(s)
            params += more
            head += lines
        outs = [self._names.fresh(f"{r.name}_of_blocks") for r in _results(kernel)]
        finals = [self._names.fresh(f"{r.name}_of_all") for r in _results(kernel)] if self._finishes else []
        params += self._out_params(outs, finals)
        head += self._place()
        body.block(kernel.function.body)
        tail = self._totals(outs, finals)
        quoted = (source_line(kernel.span) or "").rstrip("\\ ")
        title = f"// {kernel.function.doc}: {quoted}\n" if kernel.function.doc else ""
        signature = f"{self._dialect.kernel} {kernel.name}({', '.join(params)})"
        text = "\n".join([f"{title}{signature}", "{", *head, *body.top, *body.lines, *tail, "}", ""])
        return Printed(text, tuple(body.show.helpers), self._fp64(), self._wide(tuple(body.show.helpers)))

    # what it is given

    def _bound(self, s: Sym) -> str:
        name = self._names.fresh(s.name)
        self._body.bind(s, name)
        return name

    def _parameter(self, s: Sym) -> tuple[list[str], list[str]]:
        """The parameters that stand for a symbol, and lines at the kernel's top."""
        if isinstance(s.type, Scalar):
            if not s.type.is_float:
                return [f"{memory_type(s.type)} {self._bound(s)}"], []
            param, lines = given(self._dialect, memory_type(s.type), self._bound(s))
            return [param], [INDENT + line for line in lines]
        assert isinstance(s.type, Array)
        name = self._names.fresh(s.name)
        kind = memory_type(s.type.dtype)
        lock = "" if self._writes(s) else "const "
        restrict = self._dialect.restrict if self._kernel.restrict else ""
        first, at = self._names.fresh(f"{name}_memory"), self._names.fresh(f"{name}_at")
        extents = tuple(self._names.fresh(f"{name}_n{k}") for k in range(s.type.ndim))
        pointer, lines = given(self._dialect, f"{self._dialect.pointer}{lock}{kind} *{restrict}", first)
        params = [pointer, f"PLACE({at})"]
        params += [f"const index {n}" for n in extents]
        strides = layout_strides(s.type, extents)
        if strides is None:
            strides = tuple(self._names.fresh(f"{name}_s{k}") for k in range(s.type.ndim))
            params += [f"const index {n}" for n in strides]
        self._arrays[s] = Memory(name, extents, strides)
        start = f"FIRST({at}, {self._group})"
        lines.append(f"{self._dialect.pointer}{lock}{kind} *const {name} = {first} + {start};")
        return params, [INDENT + line for line in lines]

    @property
    def _group(self) -> str:
        """The number of the group of arrays: along the first axis that the work items leave free, if there is one."""
        axes = max(1, len(self._kernel.items))
        return "0" if axes > 2 or self._kernel.totals else group(self._dialect, axes)

    def _writes(self, s: Sym) -> bool:
        """Whether the kernel may write the array, also by a view of it."""
        views = {s}
        for stmt in walk(self._kernel.function.body):
            if any(a in views for a in operands(stmt)) and any(
                isinstance(t.type, Array) for t in targets(stmt)
            ):
                return True
        return s in self._stored

    def _memory(self, s: Sym) -> Memory:
        return self._arrays[s]

    def _nonnegative(self, a: Atom) -> bool:
        if isinstance(a, Const):
            return a.integer >= 0
        return isinstance(a, Sym) and (a in self._kernel.nonnegative or a.type == BOOL)

    def _places(self, f: Function) -> set[Sym]:
        kernel = self._kernel
        return places_of(walk(f.body), {*kernel.counts, *kernel.items, *kernel.places})

    def _positive(self) -> frozenset[Sym]:
        """Numbers of work items: where one runs, they are not zero."""
        kernel = self._kernel
        return frozenset({*kernel.counts, *(kernel.items[1:] if kernel.totals else ())})

    # the work item

    def _place(self) -> list[str]:
        kernel = self._kernel
        if kernel.totals:
            first, count = kernel.items
            texts = (item(self._dialect, 0), self._dialect.items)
            pairs = zip((first, count), texts, strict=True)
            return [f"{INDENT}const int64 {self._bound(s)} = {text};" for s, text in pairs]
        if not kernel.items:
            return [f"{INDENT}if ({item(self._dialect, 0)} != 0) return;"]
        last = len(kernel.items) - 1
        lines = [
            f"{INDENT}const int64 {self._bound(s)} = {item(self._dialect, last - k)};"
            for k, s in enumerate(kernel.items)
        ]
        tests = (
            f"{self._body.name(s)} >= {self._body.name(n)}"
            for s, n in zip(kernel.items, kernel.counts, strict=True)
        )
        return [*lines, f"{INDENT}if ({' || '.join(tests)}) return;"]

    @property
    def _finishes(self) -> bool:
        """Whether the last block combines what the blocks came to; else the host does."""
        return self._dialect is CUDA and bool(self._kernel.totals)

    def _out_params(self, outs: list[str], finals: list[str]) -> list[str]:
        d, params = self._dialect, list[str]()
        for k, (t, out) in enumerate(zip(self._kernel.totals, outs, strict=True)):
            params.append(f"{d.pointer}{memory_type(t.type)} *{d.restrict}{out}")
            params += [f"{memory_type(t.type)} *{d.restrict}{finals[k]}"] if finals else []
        return [*params, "unsigned int *arrived"] if finals else params

    def _totals(self, outs: list[str], finals: list[str]) -> list[str]:
        """What the work-group comes to, for each total: halves are combined, in the same order every time."""
        kernel, d = self._kernel, self._dialect
        if not kernel.totals:
            return []
        lines = ["// what the work items of a block come to, in a fixed order", f"const int lane = {d.lane};"]
        blocks = [self._names.fresh(f"{r.name}_of_items") for r in _results(kernel)]
        for t, block, a in zip(kernel.totals, blocks, kernel.function.results, strict=True):
            lines += [f"{d.shared} {memory_type(t.type)} {block}[BLOCK];"]
            lines += [f"{block}[lane] = {self._body.show.typed(a, t.type)};"]
        lines += ["__shared__ bool last;"] if finals else []
        lines += [*self._halves(blocks), "if (lane == 0) {"]
        lines += [f"{INDENT}{out}[{d.block}] = {block}[0];" for out, block in zip(outs, blocks, strict=True)]
        lines += self._last_block(outs, finals, blocks) if finals else ["}"]
        return [INDENT + line for line in lines]

    def _halves(self, blocks: list[str], more: str = "") -> list[str]:
        """Combine what the items of a block have, half of them with the other half. more: which items have it."""
        d = self._dialect
        lines = [
            d.barrier,
            "for (int half_ = BLOCK / 2; half_ > 0; half_ /= 2) {",
            f"{INDENT}if (lane < half_{more}) {{",
        ]
        for t, block in zip(self._kernel.totals, blocks, strict=True):
            if t.op == "first":
                continue
            combined = self._combined(t, f"{block}[lane]", f"{block}[lane + half_]")
            lines.append(f"{INDENT * 2}{block}[lane] = {combined};")
        return [*lines, f"{INDENT}}}", f"{INDENT}{d.barrier}", "}"]

    def _last_block(self, outs: list[str], finals: list[str], blocks: list[str]) -> list[str]:
        """The block that comes last combines what all came to, in the order of the blocks."""
        lines = [
            f"{INDENT}__threadfence();",
            f"{INDENT}last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;",
            "}",
            self._dialect.barrier,
            "if (!last) return;",
        ]
        rows = list(zip(self._kernel.totals, outs, blocks, strict=True))
        for t, out, block in rows:
            kind = memory_type(t.type)
            lines.append(f"if (lane < gridDim.x) {block}[lane] = ((volatile {kind} *){out})[lane];")
        lines.append("for (unsigned int k = lane + BLOCK; k < gridDim.x; k += BLOCK) {")
        for t, out, block in rows:
            if t.op != "first":
                combined = self._combined(
                    t, f"{block}[lane]", f"((volatile {memory_type(t.type)} *){out})[k]"
                )
                lines.append(f"{INDENT}{block}[lane] = {combined};")
        lines += ["}", "const unsigned int came = gridDim.x;"]
        lines += [*self._halves(blocks, " && lane + half_ < came"), "if (lane == 0) {"]
        lines += [f"{INDENT}{final}[0] = {block}[0];" for final, block in zip(finals, blocks, strict=True)]
        return [*lines, "}"]

    def _combined(self, total: Total, a: str, b: str) -> str:
        """`a op b` of two elements."""
        x, y = Sym("a", total.type), Sym("b", total.type)
        self._body.bind(x, a)
        self._body.bind(y, b)
        let = Let(Sym("t", total.type), total.op, (x, y), total.fn)
        return self._body.show.operation(let)[0]

    # what it needs

    def _types(self) -> set[str]:
        f = self._kernel.function
        symbols = [*f.params]
        for stmt in walk(f.body):
            symbols += [
                *targets(stmt),
                *inner_targets(stmt),
                *(a for a in operands(stmt) if isinstance(a, Sym)),
            ]
            symbols += [a for a in operands(stmt) if isinstance(a, Const)]  # type: ignore[misc]
        return {(s.type.dtype if isinstance(s.type, Array) else s.type).name for s in symbols}  # type: ignore[union-attr]

    def _fp64(self) -> bool:
        return "float64" in self._types()

    @staticmethod
    def _wide(helpers: tuple[tuple[str, Scalar], ...]) -> bool:
        return any(name.startswith("atomic_") and wants_wide(type) for name, type in helpers)


def _results(kernel: Kernel) -> tuple[Sym, ...]:
    return tuple(a if isinstance(a, Sym) else Sym("total", a.type) for a in kernel.function.results)


def _refuse(kernel: Kernel) -> None:
    """Refuse what no kernel text can say."""
    for stmt in walk(kernel.function.body):
        for s in (*targets(stmt), *operands(stmt)):
            type = s.type.dtype if isinstance(s.type, Array) else s.type
            if isinstance(type, Scalar) and type.is_complex:
                name = f" ('{s.name}')" if isinstance(s, Sym) else ""
                raise UnsupportedError(
                    f"complex numbers{name} in a kernel on a device",
                    "keep real and imaginary parts in arrays of their own",
                    stmt.span,
                )
        if isinstance(stmt, Store) and stmt.update and not has_atomic(stmt.update, stmt.array.type.dtype):  # type: ignore[union-attr, arg-type]
            type = stmt.array.type.dtype  # type: ignore[union-attr]
            raise UnsupportedError(
                f"an atomic update of '{stmt.array.name}', an array of {type}, on a device",
                "use an array of int32, int64, float32 or float64",
                stmt.span,
            )


__all__ = ["Printed", "emit", "text_of"]
