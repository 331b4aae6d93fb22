"""Typed IR -> one readable Python function that Numba compiles.

Every function returns a flat tuple of its results, `return a, b` or `return (a,)`; with no results it returns
None. The text uses only the names of the generated module's prelude (see `module.render`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adjit.analysis.ranges import unsigned_indices
from adjit.codegen.allocation import allocation
from adjit.codegen.callees import exact, exactly
from adjit.codegen.coalesce import Variables
from adjit.codegen.comments import source_line
from adjit.codegen.copies import Copy, in_order
from adjit.codegen.emitted import Emitted, Within
from adjit.codegen.expressions import Expressions, array_name, zero
from adjit.codegen.lines import INDENT, else_lines, with_comment
from adjit.codegen.names import RESERVED, Names
from adjit.codegen.nesting import Plan
from adjit.codegen.strided import strided
from adjit.codegen.views import contiguous_by_type, view
from adjit.codegen.while_form import While
from adjit.ir.core import (
    FALSE,
    TRUE,
    Alloc,
    Atom,
    Block,
    Call,
    Custom,
    Derive,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefNew,
    RefSet,
    Span,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
)
from adjit.ir.types import Array, RefList
from adjit.ir.visit import inner_targets, targets, walk
from adjit.rules import linear


def emit(function: Function, error_model: str = "python", comments: bool = True) -> str:
    """The text of one `def` without a decorator.

    Arguments:
    - function: typed IR.
    - error_model: Numba's option under which the text will be compiled; decides how `fdiv` prints.
    - comments: whether the user's lines are quoted.
    """
    return emit_full(function, error_model, comments).text


def emit_full(
    function: Function,
    error_model: str = "python",
    comments: bool = True,
    callees: Mapping[str, str] | None = None,
    within: Within | None = None,
) -> Emitted:
    """The text, and the operations and list types that it uses; `callees`: printed names of called functions."""
    names = callees or {f.name: f.name for f in function.functions}
    printer = Printer(function, error_model, comments, names, within)
    printer.one_by_one = strided(function)
    text = printer.function(function)
    lists = {
        s.type.element
        for stmt in walk(function.body)
        for s in targets(stmt)
        if isinstance(stmt, RefNew) and isinstance(s.type, RefList)
    }
    lists |= {a.element for a in printer.list_zeros}
    return Emitted(text, frozenset(printer.show.ops), frozenset(lists))


@dataclass(frozen=True, slots=True)
class _Leave:
    """Whether the loop ends after each branch; `flag` is the result that says so and is not printed."""

    then: Atom
    els: Atom
    flag: Sym | None


class Printer:
    """Prints one function; other back ends override how arrays are made and functions called."""

    def __init__(
        self,
        function: Function,
        error_model: str,
        comments: bool,
        callees: Mapping[str, str],
        within: Within | None,
        taken: frozenset[str] = frozenset(),
    ):
        self.callees = callees
        self._function = function
        self.plan = Plan(function)
        self.variables = Variables(function, self.plan)
        self.comments = comments
        self.list_zeros: set[RefList] = set()
        self.one_by_one: frozenset[int] = frozenset()
        self._names: dict[Sym, str] = {}
        self._lines: list[str] = []
        self._depth = 0
        self._span: Span | None = None
        self.contiguous = contiguous_by_type(function)
        self._copied: set[Sym] = set()
        self._name_all(function, taken if within is None else within.taken)
        unsigned = unsigned_indices(function) if within is None else within.unsigned
        self.show = Expressions(
            self.plan,
            self.name,
            lambda a: a in unsigned,
            error_model,
            helpers=within is not None and within.helpers,
        )

    # names

    def name(self, s: Sym) -> str:
        """The Python name of the symbol's variable."""
        return self._names[self.variables.of(s)]

    def _name_all(self, function: Function, taken: frozenset[str]) -> None:
        names = Names(RESERVED | taken | {function.name, *self.callees.values()})
        for p in function.params:
            self._names.setdefault(self.variables.of(p), names.fresh(p.name))
        for stmt in walk(function.body):
            for s in (*inner_targets(stmt), *targets(stmt)):
                variable = self.variables.of(s)
                if variable not in self._names and s not in self.plan.nested:
                    self._names[variable] = names.fresh(self._hint(variable))

    def _hint(self, variable: Sym) -> str:
        return variable.name

    # lines

    def emit(self, text: str) -> None:
        self._lines.append(INDENT * self._depth + text)

    def line(self, text: str, span: Span) -> None:
        """One line, with the user's line as a comment where that changes."""
        quoted = None
        if (
            self.comments
            and span.line > 0
            and (self._span is None or self._place(span) != self._place(self._span))
        ):
            quoted = source_line(span)
            self._span = span
        for part in with_comment(text, quoted, len(INDENT) * self._depth):
            self.emit(part)

    @staticmethod
    def _place(span: Span) -> tuple[str, int]:
        return span.file, span.line

    # function and blocks

    def function(self, f: Function) -> str:
        self._depth = 1
        self.block(f.body)
        if f.results:
            recursive = any(isinstance(s, Call) and s.callee == f.name for s in walk(f.body))
            shown = [(a, self.show.text(a)) for a in f.results]
            values = ", ".join(exactly(text, a.type) if recursive else text for a, text in shown)
            self.emit(f"return ({values},)" if len(f.results) == 1 else f"return {values}")
        elif not self._lines or self._lines[-1].lstrip().startswith("#"):
            self.emit("return None")
        body, self._lines = self._lines, []
        for text in self._zeros(f):
            self.emit(text)
        head = [f"# {line}".rstrip() for line in f.doc.splitlines()]
        name = self.callees.get(f.name, f.name)
        head.append(f"def {name}({', '.join(self.given(map(self.name, f.params)))}):")
        return "\n".join([*head, *self._lines, *body]) + "\n"

    def given(self, arguments: Iterable[str]) -> Iterable[str]:
        """The parameters of a function, or the arguments of a call, as they are printed."""
        return arguments

    def allocated(self, stmt: Alloc) -> str:
        """The expression that makes an array."""
        return allocation(stmt, self.show)

    def grown(self, stmt: Ensure, name: str, need: str) -> str:
        """The expression that makes a larger copy of a record."""
        return f"grow({name}, {need})"

    def list_of(self, element: Array) -> str:
        """The expression that makes an empty list of arrays."""
        return f"List.empty_list({array_name(element)})"

    def _zeros(self, f: Function) -> list[str]:
        """Values for variables that would else be read unbound by a copy or a return."""
        read = self._copied | {self.variables.of(a) for a in f.results if isinstance(a, Sym)}
        bound = {self.variables.of(p) for p in f.params}
        wanted = {self.variables.of(s): s for s in sorted(self.variables.undefined, key=lambda s: s.uid)}
        texts: list[str] = []
        for variable, s in wanted.items():
            if variable in read and variable not in bound:
                if isinstance(s.type, RefList):
                    self.list_zeros.add(s.type)
                texts.append(f"{self._names[variable]} = {self.show.initial(Undef(s.type))}")
        return texts

    def block(self, block: Block) -> None:
        for stmt in block:
            self.stmt(stmt)

    def _branch(self, stmt: If, then: bool, leave: _Leave | None) -> list[str]:
        """The lines of a branch, one level deeper, with the copies and the `break` at its end."""
        block, values = (stmt.then, stmt.then_values) if then else (stmt.els, stmt.else_values)
        kept = self._span
        if stmt.span.line > 0 and block:
            self._span = stmt.span
        outer, self._lines = self._lines, []
        self._depth += 1
        into = stmt.results
        if leave is not None and leave.flag is not None:
            pairs = [(r, v) for r, v in zip(into, values, strict=True) if r != leave.flag]
            into, values = tuple(r for r, _ in pairs), tuple(v for _, v in pairs)
        stop = None if leave is None else leave.then if then else leave.els
        self._until(block, into, values, stop)
        self._depth -= 1
        lines, self._lines = self._lines, outer
        self._span = kept if block else self._span
        return lines

    def _until(
        self, block: Block, into: tuple[Sym, ...], values: tuple[Atom, ...], stop: Atom | None
    ) -> None:
        """A block, the copies at its end, and the exit from the loop that comes then.

        The exit moves into the branches of an If that decides it, where nothing is to be done after that.
        """
        last = block[-1] if block else None
        leave = self._leave(last, stop) if isinstance(last, If) else None
        if leave is not None and isinstance(last, If) and not self._moves(into, values):
            self.block(block[:-1])
            self._if(last, leave)
            return
        self.block(block)
        self.copies(into, values)
        if stop is None or stop == FALSE:
            return
        if stop == TRUE:
            self.emit("break")
            return
        self._break(self.show.text(stop))

    def _leave(self, last: If, stop: Atom | None) -> _Leave | None:
        """How the exit looks in the branches of the block's last statement, if that decides it."""
        if not isinstance(stop, Sym) or self.plan.is_short(last):
            return None
        if stop == last.cond and stop not in self.plan.nested:
            return _Leave(TRUE, FALSE, None)
        if stop in last.results and self.plan.uses[stop] == 1:
            k = last.results.index(stop)
            return _Leave(last.then_values[k], last.else_values[k], stop)
        return None

    def _moves(self, into: tuple[Sym, ...], values: tuple[Atom, ...]) -> bool:
        """Whether the copies print anything."""
        outer, self._lines = self._lines, []
        kept = set(self._copied)
        self.copies(into, values)
        lines, self._lines = self._lines, outer
        self._copied = kept
        return bool(lines)

    # statements

    def stmt(self, stmt: Stmt) -> None:
        made = targets(stmt)
        if made and made[0] in self.plan.nested:
            return
        if self.plan.is_short(stmt):
            self.line(self.show.assigned(self.name(made[0]), stmt), stmt.span)
            return
        match stmt:
            case Let() | Load():
                if isinstance(stmt, Let) and stmt.op == "cast":  # of what a branch's paths leave, read or not
                    self._copied.update(self.variables.of(r) for a in stmt.args for r in self.plan.leaves(a))
                self.line(self.show.assigned(self.name(stmt.target), stmt), stmt.span)
            case Store() if _in_lanes(stmt):
                where, value = self.show.place(stmt.index), self.show.text(stmt.value)
                self.line(f"put_lanes({self.name(stmt.array)}, {where}, {value})", stmt.span)
            case Store():
                place = self.show.element(stmt.array, stmt.index)
                self.line(self.show.assignment(place, stmt.value), stmt.span)
            case View():
                self.line(f"{self.name(stmt.target)} = {view(stmt, self.show, self.contiguous)}", stmt.span)
            case Alloc():
                self.line(f"{self.name(stmt.target)} = {self.allocated(stmt)}", stmt.span)
            case Ensure():
                self._ensure(stmt)
            case RefNew():
                assert isinstance(stmt.target.type, RefList)
                made = self.list_of(stmt.target.type.element)
                self.line(f"{self.name(stmt.target)} = {made}", stmt.span)
            case RefAppend():
                self.line(f"{self.name(stmt.references)}.append({self.name(stmt.array)})", stmt.span)
            case RefGet():
                position = self.show.text(stmt.position)
                self.line(f"{self.name(stmt.target)} = {self.name(stmt.references)}[{position}]", stmt.span)
            case RefSet():
                place = f"{self.name(stmt.references)}[{self.show.text(stmt.position)}]"
                self.line(f"{place} = {self.name(stmt.array)}", stmt.span)
            case Whole():
                self._whole(stmt)
            case Loop():
                self._loop(stmt)
            case If():
                self._if(stmt)
            case Custom():
                self.block(stmt.body)
                self.copies(stmt.results, stmt.values)
            case Call():
                self._call(stmt)
            case Derive():
                raise AssertionError("an inner gradient is printed after transform.expand")
            case Raise():
                args = ", ".join(self.show.text(a) if isinstance(a, Sym) else repr(a) for a in stmt.args)
                self.line(f"raise {stmt.exception}({args})", stmt.span)

    def _whole(self, stmt: Whole) -> None:
        """The library's call. It wants its arrays contiguous, in either order."""
        args = [
            f"np.ascontiguousarray({t})" if _strided(a) else t
            for a, t in ((a, self.show.text(a)) for a in stmt.args)
        ]
        outs = {f"out{k}": self.name(s) for k, s in enumerate(stmt.outs)}
        rule = linear.get(stmt.op)
        text = rule.strided if rule.strided and any(map(_strided, stmt.outs)) else rule.text
        self.line(text.format(*args, **outs), stmt.span)

    def _ensure(self, stmt: Ensure) -> None:
        name, need = self.name(stmt.target), self.show.text(stmt.need)
        self.copies((stmt.target,), (stmt.array,))
        self.line(f"if {name}.size < {self.show.text(stmt.need, 5)}:", stmt.span)
        self._depth += 1
        self.emit(f"{name} = {self.grown(stmt, name, need)}")
        self._depth -= 1

    def _call(self, stmt: Call) -> None:
        """A call of another function; what it is given must be bound, if only to a value that it will not read."""
        self._copied.update(self.variables.of(a) for a in stmt.args if isinstance(a, Sym))
        own = stmt.callee == self._function.name
        args: list[str] = []
        for k, a in enumerate(stmt.args):
            if isinstance(a, Undef) and isinstance(a.type, RefList):
                self.list_zeros.add(a.type)
            text = zero(a.type) if isinstance(a, Undef) else self.show.text(a)
            args.append(exact(a, text, self._function.params[k]) if own else text)
        call = f"{self.callees[stmt.callee]}({', '.join(self.given(args))})"
        made = [self.name(r) for r in stmt.results]
        into = f"({made[0]},)" if len(made) == 1 else ", ".join(made)
        self.line(f"{into} = {call}" if made else call, stmt.span)

    def _if(self, stmt: If, leave: _Leave | None = None) -> None:
        then = self._branch(stmt, True, leave)
        els = self._branch(stmt, False, leave)
        if not then and not els:
            return
        if then:
            self.line(f"if {self.show.text(stmt.cond)}:", stmt.span)
            self._lines += then
            if els:
                self._lines += else_lines(els, self._depth)
        else:
            self.line(f"if not {self.show.text(stmt.cond, 3)}:", stmt.span)
            self._lines += els

    def _loop(self, loop: Loop) -> None:
        if loop.parallel:
            self._parts(loop)
            return
        self.copies(loop.params, loop.inits)
        form = self.plan.whiles.get(id(loop))
        if form is not None:
            self._while(loop, form)
            return
        if loop.note and self.comments:
            self.emit(f"# {loop.note}")
        self.line(self._head(loop), loop.span)
        self._depth += 1
        before = len(self._lines)
        if id(loop) in self.one_by_one:
            self.emit("one_by_one()")
        self._until(loop.body, loop.params, loop.nexts, loop.stop)
        if len(self._lines) == before:
            self.emit("pass")
        self._depth -= 1

    def _parts(self, loop: Loop) -> None:
        """A loop that `threads` has left only a call in."""
        (call,) = loop.body
        assert isinstance(call, Call)
        assert loop.hi is not None
        given = "".join(f"{self.show.text(a)}, " for a in call.args[1:])
        name, count = self.callees[call.callee], self.show.text(loop.hi)
        self.line(f"run_parts({name}, {count}, ({given.rstrip() or ','}))", loop.span)

    def _head(self, loop: Loop) -> str:
        if loop.index is None:
            return "while True:"
        assert loop.lo is not None
        assert loop.hi is not None
        parts = [self.show.text(loop.hi)]
        step = "1" if loop.step is None else self.show.text(loop.step)
        lo = self.show.text(loop.lo)
        if lo != "0" or step != "1":
            parts.insert(0, lo)
        if step != "1":
            parts.append(step)
        return f"for {self.name(loop.index)} in range({', '.join(parts)}):"

    def _while(self, loop: Loop, form: While) -> None:
        outer, self._lines = self._lines, []
        self._depth += 1
        self.block(form.pre)
        self._depth -= 1
        pre, self._lines = self._lines, outer
        if pre:
            self.line("while True:", loop.span)
            self._lines += pre
            self._depth += 1
            self._break(f"not {self.show.text(form.cond, 3)}")
        else:
            self.line(f"while {self.show.text(form.cond)}:", loop.span)
            self._depth += 1
        before = len(self._lines)
        self._until(form.work, loop.params, form.nexts, form.stop)
        if len(self._lines) == before and not pre:
            self.emit("pass")
        self._depth -= 1

    def _break(self, condition: str) -> None:
        self.emit(f"if {condition}:")
        self.emit(f"{INDENT}break")

    # copies

    def copies(self, into: tuple[Sym, ...], values: tuple[Atom, ...]) -> None:
        """Parallel assignment, one after the other where the order allows it, else as a tuple."""
        pending: list[Copy] = []
        for s, v in zip(into, values, strict=True):
            if isinstance(v, Undef):
                continue
            reads = {self.name(r) for r in self.plan.leaves(v)}
            plain = isinstance(v, Sym) and v not in self.plan.nested
            if plain and reads == {self.name(s)}:
                continue
            self._copied.update(self.variables.of(r) for r in self.plan.leaves(v))
            pending.append(Copy(self.name(s), v, frozenset(reads)))
        for group in in_order(pending):
            if len(group) == 1:
                self.emit(self.show.assignment(group[0].place, group[0].value))
                continue
            places, values_ = (
                ", ".join(c.place for c in group),
                ", ".join(self.show.initial(c.value) for c in group),
            )
            self.emit(f"{places} = {values_}")


def _strided(a: Atom) -> bool:
    """Whether it is an array that need not be contiguous."""
    return isinstance(a.type, Array) and a.type.layout == "A" and a.type.ndim > 0


def _in_lanes(stmt: Store) -> bool:
    return isinstance(stmt.array.type, Array) and stmt.array.type.dtype.lanes > 1
