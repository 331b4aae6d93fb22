"""The IR's textual form: one statement a line, indentation for blocks."""

from __future__ import annotations

from adjit.ir.core import (
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
    Slice,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
)


class _Names:
    """Short stable names: `x`, `x.1`, `x.2` in order of first sight."""

    def __init__(self) -> None:
        self._names: dict[Sym, str] = {}
        self._counts: dict[str, int] = {}

    def __call__(self, s: Sym) -> str:
        if s not in self._names:
            n = self._counts.get(s.name, 0)
            self._counts[s.name] = n + 1
            self._names[s] = s.name if n == 0 else f"{s.name}.{n}"
        return self._names[s]


class _Printer:
    def __init__(self) -> None:
        self.names = _Names()
        self.lines: list[str] = []
        self._functions: dict[str, str] = {}

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
                return "undef"

    def defined(self, s: Sym) -> str:
        return f"{self.names(s)}: {s.type}"

    def atoms(self, atoms: tuple[Atom, ...]) -> str:
        return ", ".join(self.atom(a) for a in atoms)

    def item(self, item: Atom | Slice) -> str:
        if isinstance(item, Slice):
            step = f":{self.atom(item.step)}" if item.step is not None else ""
            return f"{self.atom(item.start)}:{self.atom(item.stop)}{step}"
        return self.atom(item)

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def block(self, block: Block, depth: int) -> None:
        for stmt in block:
            self.stmt(stmt, depth)

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
                self.emit(d, f"store {place} = {self.atom(stmt.value)}")
            case View():
                index = ", ".join(self.item(i) for i in stmt.index)
                source = f"{self.names(stmt.array)}" + (".T" if stmt.transpose else f"[{index}]")
                self.emit(d, f"{self.defined(stmt.target)} = view {source}")
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
            case Loop():
                self._loop(stmt, d)
            case If():
                self._if(stmt, d)
            case Custom():
                self.emit(d, f"custom ({self.atoms(stmt.args)}):")
                self.block(stmt.body, d + 1)
                self.emit(d + 1, f"yield {self.atoms(stmt.values)}")
                self._results(stmt.results, d)
            case Derive():
                params = ", ".join(self.defined(p) for p in stmt.params)
                self.emit(d, f"derive ({params}) at ({self.atoms(stmt.args)}):")
                self.block(stmt.body, d + 1)
                self.emit(d + 1, f"yield {self.atoms(stmt.values)}")
                self._results(stmt.results, d)
            case Call():
                made = ", ".join(self.defined(r) for r in stmt.results)
                call = f"call {self.function(stmt.callee)}({self.atoms(stmt.args)})"
                self.emit(d, f"{made} = {call}" if made else call)
            case Raise():
                args = ", ".join(self.names(a) if isinstance(a, Sym) else repr(a) for a in stmt.args)
                self.emit(d, f"raise {stmt.exception}({args})")

    def _loop(self, stmt: Loop, d: int) -> None:
        pairs = zip(stmt.params, stmt.inits, strict=True)
        carried = ", ".join(f"{self.defined(p)} = {self.atom(i)}" for p, i in pairs)
        head = "loop" if stmt.index is None else f"for {self.defined(stmt.index)} in "
        if stmt.index is not None:
            head += f"range({self.atom(stmt.lo)}, {self.atom(stmt.hi)}, {self.atom(stmt.step)})"
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
        if stmt.then_values:
            self.emit(d + 1, f"yield {self.atoms(stmt.then_values)}")
        self.emit(d, "else:")
        self.block(stmt.els, d + 1)
        if stmt.else_values:
            self.emit(d + 1, f"yield {self.atoms(stmt.else_values)}")
        self._results(stmt.results, d)

    def _results(self, results: tuple[Sym, ...], d: int) -> None:
        if results:
            self.emit(d, "-> " + ", ".join(self.defined(r) for r in results))


def to_text(function: Function) -> str:
    """The function as text, and below it the functions that it calls."""
    p = _Printer()
    for k, f in enumerate((function, *function.functions)):
        name = p.function(f.name) if k > 0 else f.name
        p.emit(0, f"function {name}({', '.join(p.defined(s) for s in f.params)}):")
        for group in f.overlapping:
            p.emit(1, f"overlapping {', '.join(p.names(s) for s in f.params if s in group)}")
        p.block(f.body, 1)
        p.emit(1, f"return {p.atoms(f.results)}")
    return "\n".join(p.lines) + "\n"
