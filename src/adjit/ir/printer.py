"""The IR's textual form: one statement a line, indentation for blocks. `parser` reads it back.

    function f(x: array(float64, 1d, C), n: int64):
      for i: int64 in range(0:int64, n, 1:int64) carry (s: float64 = 0.0:float64):
        t: float64 = load x[i]
        s.1: float64 = add(s, t)
        next s.1
      -> s.2: float64
      return s.2

The complete form also holds what a reader seldom wants: the docstring, the files, and a span at the end of each
line (`@ file:line:column-line:column`).
"""

from __future__ import annotations

from adjit.ir.core import (
    NOWHERE,
    Alloc,
    Atom,
    Block,
    Call,
    Const,
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
    Slice,
    Span,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
)


class _Names:
    """Short stable names: `x`, `x.1`, `x.2` in order of first sight; a hint that ends so itself gets a number too."""

    def __init__(self) -> None:
        self._names: dict[Sym, str] = {}
        self._counts: dict[str, int] = {}

    def __call__(self, s: Sym) -> str:
        if s not in self._names:
            n = self._counts.get(s.name, 0)
            self._counts[s.name] = n + 1
            numbered = n > 0 or s.name.rpartition(".")[2].isdigit()
            self._names[s] = f"{s.name}.{n}" if numbered else s.name
        return self._names[s]


class _Printer:
    def __init__(self, complete: bool = False) -> None:
        self.names = _Names()
        self.lines: list[str] = []
        self._functions: dict[str, str] = {}
        self.complete = complete
        self.files: dict[str, int] = {}
        self.opaque: dict[str, object] = {}
        self._opaque_names: dict[int, str] = {}

    def function(self, name: str) -> str:
        """A called function's name, numbered by first sight among those of one stem."""
        if name not in self._functions:
            stem = name.partition(".")[0]
            n = sum(f.partition(".")[0] == stem for f in self._functions)
            self._functions[name] = f"{stem}.{n + 1}"
        return self._functions[name]

    def atom(self, a: Atom | None) -> str:
        match a:
            case None:
                return ""
            case Sym():
                return self.names(a)
            case Const():
                return f"{a.value!r}:{a.type}"
            case Undef():
                return f"undef({a.type})"

    def named(self, rule: object) -> str:
        """A name for an object that has no text: its own `name`, or its class's, with a number where needed."""
        if id(rule) not in self._opaque_names:
            base = getattr(rule, "name", None) or type(rule).__name__.lower()
            taken = sum(name.partition(".")[0] == base for name in self.opaque)
            name = f"{base}.{taken}" if taken else str(base)
            self._opaque_names[id(rule)] = name
            self.opaque[name] = rule
        return self._opaque_names[id(rule)]

    def defined(self, s: Sym) -> str:
        return f"{self.names(s)}: {s.type}"

    def atoms(self, atoms: tuple[Atom, ...]) -> str:
        return ", ".join(self.atom(a) for a in atoms)

    def item(self, item: Atom | Slice) -> str:
        if isinstance(item, Slice):
            step = f":{self.atom(item.step)}" if item.step is not None else ""
            return f"{self.atom(item.start)}:{self.atom(item.stop)}{step}"
        return self.atom(item)

    def form(self, view: View) -> str:
        """How a view sees its array."""
        if view.axes is not None:
            return f" axes ({', '.join('new' if k is None else str(k) for k in view.axes)})"
        if view.shape is not None:
            otherwise = f" else {view.elsewhere}" if view.elsewhere else ""
            return f" shape ({self.atoms(view.shape)}){otherwise}"
        return f"[{', '.join(self.item(i) for i in view.index)}]"

    def whole(self, f: Function, name: str) -> None:
        """One function under a name."""
        params = ", ".join(self.defined(s) for s in f.params)
        place = self.place(f.span) if self.complete and f.span != NOWHERE else ""
        self.lines.append(f"function {name}({params}):{place}")
        if self.complete and f.doc:
            self.lines.append(f"  doc {f.doc!r}")
        for group in f.overlapping:
            self.lines.append(f"  overlapping {', '.join(self.names(s) for s in f.params if s in group)}")
        self.block(f.body, 1)
        self.lines.append(f"  return {self.atoms(f.results)}".rstrip())

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def place(self, span: Span) -> str:
        """The span as the end of a line."""
        file = self.files.setdefault(span.file, len(self.files))
        return f"  @ {file}:{span.line}:{span.column}-{span.end_line}:{span.end_column}"

    def block(self, block: Block, depth: int) -> None:
        for stmt in block:
            head = len(self.lines)
            self.stmt(stmt, depth)
            if self.complete and stmt.span != NOWHERE:
                self.lines[head] += self.place(stmt.span)

    def stmt(self, stmt: Stmt, d: int) -> None:
        match stmt:
            case Let():
                fn = f"<{stmt.fn}>" if stmt.fn else ""
                args = self.atoms(stmt.args)
                self.emit(d, f"{self.defined(stmt.target)} = {stmt.op}{fn}({args})")
            case Load():
                source = f"{self.names(stmt.array)}[{self.atoms(stmt.index)}]"
                self.emit(d, f"{self.defined(stmt.target)} = load {source}")
            case Store():
                place = f"{self.names(stmt.array)}[{self.atoms(stmt.index)}]"
                word = f"update {stmt.update}" if stmt.update else "fill" if stmt.fills else "store"
                self.emit(d, f"{word} {place} = {self.atom(stmt.value)}")
            case View():
                form = self.form(stmt)
                self.emit(d, f"{self.defined(stmt.target)} = view {self.names(stmt.array)}{form}")
            case Alloc():
                like = f" like {self.names(stmt.like)}" if stmt.like else ""
                fill = "" if stmt.fill is None else f" fill {self.atom(stmt.fill)}"
                self.emit(d, f"{self.defined(stmt.target)} = alloc ({self.atoms(stmt.shape)}){fill}{like}")
            case Ensure():
                array, need = self.names(stmt.array), self.atom(stmt.need)
                self.emit(d, f"{self.defined(stmt.target)} = ensure {array} {need}")
            case RefNew():
                self.emit(d, f"{self.defined(stmt.target)} = refnew")
            case RefAppend():
                self.emit(d, f"refappend {self.names(stmt.references)} {self.names(stmt.array)}")
            case RefGet():
                position = self.atom(stmt.position)
                self.emit(d, f"{self.defined(stmt.target)} = refget {self.names(stmt.references)} {position}")
            case RefSet():
                position = self.atom(stmt.position)
                array = self.names(stmt.array)
                self.emit(d, f"refset {self.names(stmt.references)} {position} {array}")
            case Whole():
                outs = ", ".join(self.names(s) for s in stmt.outs)
                self.emit(d, f"whole {outs} = {stmt.op}({self.atoms(stmt.args)})")
            case Loop():
                self._loop(stmt, d)
            case If():
                self._if(stmt, d)
            case Custom():
                self.emit(d, f"custom {self.named(stmt.rule)} ({self.atoms(stmt.args)}):")
                self.block(stmt.body, d + 1)
                self._yield(stmt.values, d)
                self._results(stmt.results, d)
            case Derive():
                params = ", ".join(self.defined(p) for p in stmt.params)
                wrt = ", ".join(self.names(p) for p, on in zip(stmt.params, stmt.active, strict=True) if on)
                given = f" given ({self.atoms(stmt.given)})" if stmt.given else ""
                heads = "" if stmt.heads == len(stmt.values) else f" of {stmt.heads}"
                at = f"at ({self.atoms(stmt.args)})"
                self.emit(d, f"derive {stmt.kind}{heads} ({params}) wrt ({wrt}){given} {at}:")
                self.block(stmt.body, d + 1)
                self._yield(stmt.values, d)
                self._results(stmt.results, d)
            case Call():
                self.emit(d, f"call {self.function(stmt.callee)}({self.atoms(stmt.args)})")
                self._results(stmt.results, d)
            case Raise():
                args = ", ".join(self.names(a) if isinstance(a, Sym) else repr(a) for a in stmt.args)
                self.emit(d, f"raise {stmt.exception}({args})")

    def _loop(self, stmt: Loop, d: int) -> None:
        pairs = zip(stmt.params, stmt.inits, strict=True)
        carried = ", ".join(f"{self.defined(p)} = {self.atom(i)}" for p, i in pairs)
        head = "loop" if stmt.index is None else f"for {self.defined(stmt.index)} in "
        if stmt.index is not None:
            head += f"range({self.atom(stmt.lo)}, {self.atom(stmt.hi)}, {self.atom(stmt.step)})"
        head += " at once" if stmt.at_once else ""
        head += " in parallel" if stmt.parallel else ""
        head += " asked" if stmt.asked else ""
        head += " free" if stmt.free else ""
        self.emit(d, f"{head}{f' carry ({carried})' if carried else ''}:")
        self.block(stmt.body, d + 1)
        if stmt.nexts:
            self.emit(d + 1, f"next {self.atoms(stmt.nexts)}")
        if stmt.stop is not None:
            self.emit(d + 1, f"stop {self.atom(stmt.stop)}")
        self._results(stmt.results, d)

    def _if(self, stmt: If, d: int) -> None:
        self.emit(d, f"if {self.atom(stmt.cond)}:")
        self.block(stmt.then, d + 1)
        self._yield(stmt.then_values, d)
        self.emit(d, "else:")
        self.block(stmt.els, d + 1)
        self._yield(stmt.else_values, d)
        self._results(stmt.results, d)

    def _yield(self, values: tuple[Atom, ...], d: int) -> None:
        if values:
            self.emit(d + 1, f"yield {self.atoms(values)}")

    def _results(self, results: tuple[Sym, ...], d: int) -> None:
        if results:
            self.emit(d, "-> " + ", ".join(self.defined(r) for r in results))


def to_text(function: Function, complete: bool = False) -> str:
    """The function, and below it those that it calls, as text; `complete` with docstrings and spans."""
    return text_and_opaque(function, complete)[0]


def text_and_opaque(function: Function, complete: bool = False) -> tuple[str, dict[str, object]]:
    """The text, and the objects that it only names (derivative rules of the user's), as the parser wants them."""
    p = _Printer(complete)
    for k, f in enumerate((function, *function.functions)):
        p.whole(f, f.name if k == 0 else p.function(f.name))
    files = [f"file {number} {name!r}" for name, number in p.files.items()]
    return "\n".join([*files, *p.lines]) + "\n", p.opaque
