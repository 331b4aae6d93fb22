"""Prints the statements of a kernel as C: structured SSA becomes variables, loops and branches.

A symbol with a variable of its own is declared where it is defined; those that share one (what a loop carries, what a
branch chooses) are declared at the top. The ends of a `for` are computed once, as Python's range does.
"""

from __future__ import annotations

from collections import Counter

from adjit.codegen.c_family.expressions import Expressions
from adjit.codegen.c_family.memory import Memory, layout_strides
from adjit.codegen.c_family.scalars import c_type, memory_type
from adjit.codegen.c_family.update_pairs import update_pairs
from adjit.codegen.c_family.views import Views
from adjit.codegen.coalesce import Variables
from adjit.codegen.comments import source_line
from adjit.codegen.copies import Copy, in_order
from adjit.codegen.lines import INDENT, with_comment
from adjit.codegen.names import Names
from adjit.codegen.nesting import Plan
from adjit.codegen.while_form import While
from adjit.errors import UnsupportedError
from adjit.ir.core import (
    FALSE,
    TRUE,
    Alloc,
    Atom,
    Block,
    Const,
    Custom,
    Function,
    If,
    Let,
    Load,
    Loop,
    Span,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
)
from adjit.ir.types import INT64, Array, Scalar
from adjit.ir.visit import inner_targets, targets, walk

_MOST_LOCAL = 4096
"""Bytes of a local array at most: a work item has little memory of its own."""


class Body:
    """Prints the blocks of one kernel.

    names: those that are free. arrays: what the kernel is given; local arrays and views are added.
    """

    def __init__(self, function: Function, plan: Plan, names: Names, arrays: dict[Sym, Memory]):
        self.plan = plan
        self.variables = Variables(function, plan)
        self.arrays = arrays
        self.names = names
        self.lines: list[str] = []
        self.top: list[str] = []
        self.show: Expressions
        self._names: dict[Sym, str] = {}
        self._depth = 1
        self._span: Span | None = None
        self._made: Counter[Sym] = Counter()
        self._indices: set[Sym] = set()
        self._parameters = {self.variables.of(p) for p in function.params}
        self._made.update(self._parameters)
        for stmt in walk(function.body):
            for s in (*inner_targets(stmt), *targets(stmt)):
                self._made[self.variables.of(s)] += 1
            if isinstance(stmt, Loop) and stmt.index is not None:
                self._indices.add(stmt.index)

    # names

    def name(self, s: Sym) -> str:
        """The variable of a scalar symbol; declared at the top when it is first asked for and not yet declared."""
        v = self.variables.of(s)
        if v not in self._names:
            assert isinstance(v.type, Scalar)
            self._names[v] = self.names.fresh(v.name)
            self.top.append(f"{INDENT}{c_type(v.type)} {self._names[v]} = 0;")
        return self._names[v]

    def bind(self, s: Sym, name: str) -> None:
        """Give a parameter its name."""
        self._names[self.variables.of(s)] = name

    def _declared(self, s: Sym) -> str:
        """How an assignment to the symbol begins."""
        v = self.variables.of(s)
        if v in self._names or v in self._parameters or self._made[v] > 1:
            return self.name(s)
        assert isinstance(s.type, Scalar)
        self._names[v] = self.names.fresh(s.name)
        return f"const {c_type(s.type)} {self._names[v]}"

    # lines

    def emit(self, text: str) -> None:
        """A line at the present depth."""
        self.lines.append(INDENT * self._depth + text)

    def line(self, text: str, span: Span) -> None:
        """A line, with the user's line as a comment where that changes."""
        quoted = None
        place = (span.file, span.line)
        if span.line > 0 and (self._span is None or place != (self._span.file, self._span.line)):
            quoted = (source_line(span) or "").rstrip("\\ ") or None  # a backslash would join the next line
            self._span = span
        for part in with_comment(text, quoted, len(INDENT) * self._depth, "//"):
            self.emit(part)

    # blocks

    def block(self, block: Block) -> None:
        """The statements, one after the other."""
        pairs = update_pairs(block) if self.show.dialect.pairs else {}
        seconds = {second: first for first, second in pairs.items()}
        for k, stmt in enumerate(block):
            if k in pairs and self._is_dense(stmt):
                continue  # with the other one
            before = block[seconds[k]] if k in seconds else None
            if isinstance(before, Store) and isinstance(stmt, Store) and self._is_dense(stmt):
                self.line(f"{self.show.pair(before, stmt)};", stmt.span)
            else:
                self._stmt(stmt)

    def _is_dense(self, stmt: Stmt) -> bool:
        """Whether the last axis of the array that is stored to has its elements side by side."""
        return isinstance(stmt, Store) and self.arrays[stmt.array].strides[-1] == "1"

    def _inner(self, head: str, span: Span) -> None:
        self.line(f"{head} {{", span)
        self._depth += 1

    def _close(self) -> None:
        self._depth -= 1
        self.emit("}")

    def _stmt(self, stmt: Stmt) -> None:
        made = targets(stmt)
        if made and made[0] in self.plan.nested:
            return
        if self.plan.is_short(stmt):
            self.line(f"{self._declared(made[0])} = {self.show.statement(stmt)[0]};", stmt.span)
            return
        match stmt:
            case Let() | Load():
                text = self.show.statement(stmt)[0]
                self.line(f"{self._declared(stmt.target)} = {text};", stmt.span)
            case Store():
                self._store(stmt)
            case View():
                self._view(stmt)
            case Alloc():
                self._alloc(stmt)
            case Loop():
                self._loop(stmt)
            case If():
                self._if(stmt)
            case Custom():
                self.block(stmt.body)
                self.copies(stmt.results, stmt.values)
            case _:
                raise AssertionError(f"{type(stmt).__name__} in a kernel")

    def _store(self, stmt: Store) -> None:
        type = stmt.array.type.dtype  # type: ignore[union-attr]
        if stmt.update:
            self.line(f"{self.show.update(stmt.array, stmt.index, stmt.update, stmt.value)};", stmt.span)
            return
        place = self.show.element(stmt.array, stmt.index)
        inner = self.plan.nested.get(stmt.value) if isinstance(stmt.value, Sym) else None
        if (
            isinstance(inner, Let)
            and inner.op in ("add", "sub", "mul")
            and inner.target.type == type
            and type.is_float
        ):
            a, b = inner.args
            if self.show.typed(a, type) == place:
                symbol = {"add": "+", "sub": "-", "mul": "*"}[inner.op]
                self.line(f"{place} {symbol}= {self.show.typed(b, type)};", stmt.span)
                return
        self.line(f"{place} = {self.show.typed(stmt.value, type)};", stmt.span)

    def _view(self, stmt: View) -> None:
        made = Views(self.show, self.names, self.show.dialect.pointer)
        memory, lines = made.view(stmt, self.arrays[stmt.array])
        for text in lines:
            self.line(text, stmt.span)
        self.arrays[stmt.target] = memory

    def _alloc(self, stmt: Alloc) -> None:
        type = stmt.target.type
        assert isinstance(type, Array)
        size = 1
        for n in stmt.shape:
            if not isinstance(n, Const):
                raise UnsupportedError(
                    f"the local array '{stmt.target.name}' of a kernel has an extent that is not a constant",
                    "give it a fixed size, or pass an array with a place for each work item",
                    stmt.span,
                )
            size *= n.integer
        if size * type.dtype.itemsize > _MOST_LOCAL:
            raise UnsupportedError(
                f"the local array '{stmt.target.name}' of a kernel takes {size * type.dtype.itemsize} bytes",
                "pass an array with a place for each work item",
                stmt.span,
            )
        name = self.names.fresh(stmt.target.name)
        extents = tuple(str(n.integer) for n in stmt.shape if isinstance(n, Const))
        strides = layout_strides(type, extents)
        assert strides is not None
        self.arrays[stmt.target] = Memory(name, extents, strides, local=True)
        self.top.append(f"{INDENT}{memory_type(type.dtype)} {name}[{max(size, 1)}];")
        if stmt.fill is not None:
            at = self.names.fresh("k")
            value = self.show.typed(stmt.fill, type.dtype)
            self.line(f"for (int {at} = 0; {at} < {size}; {at}++) {name}[{at}] = {value};", stmt.span)

    def _if(self, stmt: If) -> None:
        outer, self.lines = self.lines, []
        kept = self._span
        self._span = stmt.span if stmt.span.line > 0 else kept
        parts: list[list[str]] = []
        for block, values in ((stmt.then, stmt.then_values), (stmt.els, stmt.else_values)):
            self._depth += 1
            self.block(block)
            self.copies(stmt.results, values)
            self._depth -= 1
            parts.append(self.lines)
            self.lines = []
        self.lines = outer
        self._span = kept
        then, els = parts
        if not then and not els:
            return
        cond = self.show.text(stmt.cond) if then else f"!{self.show.text(stmt.cond, 13)}"
        self.line(f"if ({cond}) {{", stmt.span)
        self.lines += then or els
        if then and els:
            self.emit("} else {")
            self.lines += els
        self.emit("}")

    # loops

    def _loop(self, loop: Loop) -> None:
        self.copies(loop.params, loop.inits)
        form = self.plan.whiles.get(id(loop))
        if form is not None:
            self._while(loop, form)
            return
        if loop.index is None:
            self._inner("while (true)", loop.span)
        else:
            self._for(loop)
        self.block(loop.body)
        self.copies(loop.params, loop.nexts)
        self._stop(loop.stop)
        self._close()

    def _for(self, loop: Loop) -> None:
        assert loop.index is not None and loop.lo is not None and loop.hi is not None
        index = self.variables.of(loop.index)
        assert isinstance(index.type, Scalar)
        kind = c_type(index.type)
        alone = self._made[index] == 1 and index not in self._names
        count = self.names.fresh(loop.index.name)
        if alone:
            self._names[index] = count
        hi = self._fixed(loop.hi, index.type, f"{loop.index.name}_end", loop.span)
        step = loop.step
        if step is None or isinstance(step, Const):
            by = 1 if step is None else step.integer
            test = f"{count} {'<' if by > 0 else '>'} {hi}"
            move = f"{count}++" if by == 1 else f"{count}--" if by == -1 else f"{count} += {by}"
        elif step in self.show.counts:
            test, move = f"{count} < {hi}", f"{count} += {self.show.text(step)}"
        else:
            name = self._fixed(step, index.type, f"{loop.index.name}_step", loop.span)
            test = f"{name} > 0 ? {count} < {hi} : {count} > {hi}"
            move = f"{count} += {name}"
        lo = self.show.typed(loop.lo, index.type)
        self._inner(f"for ({kind} {count} = {lo}; {test}; {move})", loop.span)
        if not alone:
            self.emit(f"{self.name(loop.index)} = {count};")

    def _fixed(self, a: Atom, type: Scalar, hint: str, span: Span) -> str:
        """A bound of a loop, that the loop's body does not change."""
        if a.type == type and (isinstance(a, Const) or (isinstance(a, Sym) and self._never_changes(a))):
            return self.show.text(a, 13)
        name = self.names.fresh(hint)
        self.line(f"const {c_type(type)} {name} = {self.show.typed(a, type)};", span)
        return name

    def _never_changes(self, s: Sym) -> bool:
        if s in self.plan.nested:
            return False
        variable = self.variables.of(s)
        single = len(self.variables.members.get(variable, [s])) == 1
        return single and (variable in self._parameters or self._made[variable] == 1)

    def _while(self, loop: Loop, form: While) -> None:
        outer, self.lines = self.lines, []
        self._depth += 1
        self.block(form.pre)
        self._depth -= 1
        pre, self.lines = self.lines, outer
        if pre:
            self._inner("while (true)", loop.span)
            self.lines += pre
            self.emit(f"if (!{self.show.text(form.cond, 13)}) break;")
        else:
            self._inner(f"while ({self.show.text(form.cond)})", loop.span)
        self.block(form.work)
        self.copies(loop.params, form.nexts)
        self._stop(form.stop)
        self._close()

    def _stop(self, stop: Atom | None) -> None:
        if stop is None or stop == FALSE:
            return
        self.emit("break;" if stop == TRUE else f"if ({self.show.text(stop)}) break;")

    # copies

    def copies(self, into: tuple[Sym, ...], values: tuple[Atom, ...]) -> None:
        """Parallel assignment, one after the other where the order allows it, else through copies."""
        pending: list[tuple[Copy, Scalar]] = []
        for s, v in zip(into, values, strict=True):
            if isinstance(v, Undef):
                continue
            if isinstance(s.type, Array):
                raise UnsupportedError(
                    f"the array '{s.name}' in a kernel is one of several, chosen when it runs",
                    "index both, or choose before the launch",
                    self._span,
                )
            assert isinstance(s.type, Scalar)
            reads = frozenset(self.name(r) for r in self.plan.leaves(v) if isinstance(r.type, Scalar))
            plain = isinstance(v, Sym) and v not in self.plan.nested
            if plain and reads == frozenset((self.name(s),)):
                continue
            pending.append((Copy(self.name(s), v, reads), s.type))
        types = {c.place: t for c, t in pending}
        for group in in_order([c for c, _ in pending]):
            if len(group) == 1:
                self._assign(group[0].place, group[0].value, types[group[0].place])
                continue
            kept = [(c, self.names.fresh(f"{c.place}_next")) for c in group]
            for c, name in kept:
                self.emit(
                    f"const {c_type(types[c.place])} {name} = {self.show.typed(c.value, types[c.place])};"
                )
            for c, name in kept:
                self.emit(f"{c.place} = {name};")

    def _assign(self, place: str, value: Atom, type: Scalar) -> None:
        inner = self.plan.nested.get(value) if isinstance(value, Sym) else None
        if (
            isinstance(inner, Let)
            and inner.op in ("add", "sub", "mul")
            and inner.target.type == type
            and type.is_float
        ):
            a, b = inner.args
            if self.show.typed(a, type) == place:
                self.emit(
                    f"{place} {'+-*'[('add', 'sub', 'mul').index(inner.op)]}= {self.show.typed(b, type)};"
                )
                return
        self.emit(f"{place} = {self.show.typed(value, type)};")


__all__ = ["INT64", "Body"]
