"""The printer's text back into IR: `to_text(parse(to_text(f))) == to_text(f)`.

Each line is read by one small function, found by its first word in `_STATEMENTS` (statements without a target) or,
after `name: type =`, in `_VALUES`; a new statement is one more of these. Symbols get new identities and the names that
the text gives them. Objects that have no text (`Custom.rule`) are looked up by name in a table that comes along.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from adjit.ir.core import (
    NOWHERE,
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
    Slice,
    Span,
    Stmt,
    Store,
    Sym,
    View,
    Whole,
)
from adjit.ir.line import DEFINED, DEFINITION, Line, ParseError

_LET = re.compile(r"([\w.]+)(?:<([^>]*)>)?\(")
_PLACE = re.compile(r"  @ (\d+):(\d+):(\d+)-(\d+):(\d+)$")
_LITERAL = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?[\d.][\w.+-]*|-?inf|nan""")
_WORD = re.compile(r"\w+")
_ENDS = ("next ", "stop ", "yield ", "return", "else:", "-> ")


class _Parser:
    def __init__(self, text: str, opaque: Mapping[str, object]):
        self.lines = text.splitlines()
        self.at = 0
        self.opaque = opaque
        self.symbols: dict[str, Sym] = {}
        self.files: dict[int, str] = {}
        self.span = NOWHERE

    # lines

    def ahead(self, depth: int) -> str | None:
        """The text of the next line if it is at this depth."""
        if self.at >= len(self.lines):
            return None
        line = self.lines[self.at]
        indent = len(line) - len(line.lstrip(" "))
        if indent > 2 * depth:
            raise ParseError("unexpected indentation")
        return line[indent:] if indent == 2 * depth else None

    def take(self, text: str) -> Line:
        """The next line without its span, which is kept in `span`."""
        self.at += 1
        found = _PLACE.search(text)
        self.span = NOWHERE
        if found is not None:
            file, *places = map(int, found.groups())
            self.span, text = Span(self.files[file], *places), text[: found.start()]
        return Line(text, self.symbols)

    def word(self, depth: int, word: str) -> Line | None:
        """The next line, if it is at this depth and starts with `word`, after that word."""
        text = self.ahead(depth)
        if text is None or not text.startswith(word):
            return None
        line = self.take(text)
        line.expect(word)
        return line

    # blocks

    def program(self) -> Function:
        while (text := self.ahead(0)) is not None and text.startswith("file "):
            self.at += 1
            _, number, name = text.split(" ", 2)
            self.files[int(number)] = ast.literal_eval(name)
        entry = self.function()
        callees: list[Function] = []
        while self.at < len(self.lines):
            callees.append(self.function())
        return replace(entry, functions=tuple(callees))

    def function(self) -> Function:
        head = self.word(0, "function ")
        if head is None:
            raise ParseError("a function is expected")
        name = head.match(re.compile(r"[^(]+"))[0]
        head.expect("(")
        params, span = head.defines("):"), self.span
        doc = self.word(1, "doc ")
        groups: list[frozenset[Sym]] = []
        while (line := self.word(1, "overlapping ")) is not None:
            groups.append(frozenset(a for a in line.atoms() if isinstance(a, Sym)))
        body = self.block(1)
        end = self.word(1, "return")
        if end is None:
            raise ParseError("'return' is expected")
        end.has(" ")
        results = end.atoms()
        text = "" if doc is None else ast.literal_eval(doc.text[4:])
        return Function(name, params, body, results, text, span, (), tuple(groups))

    def block(self, depth: int) -> Block:
        """The statements of this depth, up to what ends a block."""
        out: list[Stmt] = []
        while (text := self.ahead(depth)) is not None:
            definition = DEFINITION.match(text)
            if definition is None and text.startswith(_ENDS):
                break
            if definition is not None:
                out.append(self.definition(text))
                continue
            word = re.split(r"[ :]", text, maxsplit=1)[0]
            if word not in _STATEMENTS:
                raise ParseError(f"no statement starts with {word!r}")
            line = self.take(text)
            line.expect(word)
            out.append(_STATEMENTS[word](self, line, depth))
        return tuple(out)

    def definition(self, text: str) -> Stmt:
        line = self.take(text)
        found = line.match(DEFINED)
        line.expect(" = ")
        word = line.text[line.at :].split(" ", 1)[0]
        if word in _VALUES:
            line.at += len(word)
            line.has(" ")
        # What is read comes first: a statement's target is not in scope on its right-hand side.
        make = _VALUES.get(word, _let)(self, line)
        return make(line.define(found[1], found[2]), self.span)

    def yields(self, depth: int, word: str) -> tuple[Atom, ...]:
        line = self.word(depth, word)
        return () if line is None else line.atoms()

    def results(self, depth: int) -> tuple[Sym, ...]:
        line = self.word(depth, "-> ")
        if line is None:
            return ()
        out = [line.defined()]
        while line.has(", "):
            out.append(line.defined())
        return tuple(out)


# statements without a target


def _store(p: _Parser, line: Line, depth: int) -> Stmt:
    line.expect(" ")
    array = line.symbol()
    line.expect("[")
    index = line.atoms("]")
    line.expect(" = ")
    return Store(array, index, line.atom(), p.span)


def _update(p: _Parser, line: Line, depth: int) -> Stmt:
    line.expect(" ")
    update = line.match(re.compile(r"add|min|max"))[0]
    return replace(_store(p, line, depth), update=update)


def _fill(p: _Parser, line: Line, depth: int) -> Stmt:
    return replace(_store(p, line, depth), fills=True)


def _refappend(p: _Parser, line: Line, depth: int) -> Stmt:
    line.expect(" ")
    references = line.symbol()
    line.expect(" ")
    return RefAppend(references, line.symbol(), p.span)


def _refset(p: _Parser, line: Line, depth: int) -> Stmt:
    line.expect(" ")
    references = line.symbol()
    line.expect(" ")
    position = line.atom()
    line.expect(" ")
    return RefSet(references, position, line.symbol(), p.span)


def _whole(p: _Parser, line: Line, depth: int) -> Stmt:
    line.expect(" ")
    outs = [line.symbol()]
    while line.has(", "):
        outs.append(line.symbol())
    line.expect(" = ")
    op = line.match(re.compile(r"\w+"))[0]
    line.expect("(")
    return Whole(tuple(outs), op, line.atoms(")"), p.span)


def _raise(p: _Parser, line: Line, depth: int) -> Stmt:
    line.expect(" ")
    name = line.match(re.compile(r"\w+"))[0]
    line.expect("(")

    def one() -> object:
        found = _LITERAL.match(line.text, line.at)
        if found is None:
            return line.symbol()
        line.at = found.end()
        text = found[0]
        return float(text) if text.lstrip("-") in ("inf", "nan") else ast.literal_eval(text)

    return Raise(name, line.several(one, ")"), p.span)  # type: ignore[arg-type]


def _counted(p: _Parser, line: Line, depth: int) -> Stmt:
    line.expect(" ")
    found = line.match(DEFINED)
    line.expect(" in range(")
    lo, hi, step = line.atoms(")")
    return _turns(p, line, depth, line.define(found[1], found[2]), (lo, hi, step))


def _endless(p: _Parser, line: Line, depth: int) -> Stmt:
    return _turns(p, line, depth, None, (None, None, None))


def _turns(p: _Parser, line: Line, depth: int, index: Sym | None, bounds: tuple[Atom | None, ...]) -> Stmt:
    span = p.span
    params: list[Sym] = []
    inits: list[Atom] = []
    at_once = line.has(" at once")
    parallel = line.has(" in parallel")
    asked = line.has(" asked")
    free = line.has(" free")
    if line.has(" carry ("):
        while not line.has(")"):
            if params:
                line.expect(", ")
            params.append(line.defined())
            line.expect(" = ")
            inits.append(line.atom())
    line.expect(":")
    body = p.block(depth + 1)
    nexts = p.yields(depth + 1, "next ")
    stop = p.yields(depth + 1, "stop ")
    results = p.results(depth)
    lo, hi, step = bounds
    return Loop(
        index,
        lo,
        hi,
        step,
        tuple(params),
        tuple(inits),
        body,
        nexts,
        results,
        stop[0] if stop else None,
        span,
        at_once,
        parallel,
        asked=asked,
        free=free,
    )


def _if(p: _Parser, line: Line, depth: int) -> Stmt:
    span = p.span
    line.expect(" ")
    cond = line.atom()
    line.expect(":")
    then = p.block(depth + 1)
    then_values = p.yields(depth + 1, "yield ")
    if p.word(depth, "else:") is None:
        raise ParseError("'else:' is expected")
    els = p.block(depth + 1)
    else_values = p.yields(depth + 1, "yield ")
    return If(cond, then, els, then_values, else_values, p.results(depth), span)


def _call(p: _Parser, line: Line, depth: int) -> Stmt:
    span = p.span
    line.expect(" ")
    name = line.match(re.compile(r"[^(]+"))[0]
    line.expect("(")
    args = line.atoms(")")
    return Call(p.results(depth), name, args, span)


def _custom(p: _Parser, line: Line, depth: int) -> Stmt:
    span = p.span
    line.expect(" ")
    name = line.match(re.compile(r"[^( ]+"))[0]
    if name not in p.opaque:
        raise ParseError(f"the table of rules has no {name!r}")
    line.expect(" (")
    args = line.atoms("):")
    body = p.block(depth + 1)
    values = p.yields(depth + 1, "yield ")
    return Custom(args, body, values, p.results(depth), p.opaque[name], span)


def _derive(p: _Parser, line: Line, depth: int) -> Stmt:
    span = p.span
    line.expect(" ")
    kind = line.match(re.compile(r"\w+"))[0]
    heads = int(line.match(re.compile(r"\d+"))[0]) if line.has(" of ") else None
    # What is read around it is read before the params are defined, which stand to the left of it.
    at = line.text.rindex(" at (")
    args = Line(line.text[at + 5 :], p.symbols).atoms("):")
    found = re.search(r" given \(", line.text[:at])
    given = Line(line.text[found.end() : at], p.symbols).atoms(")") if found else ()
    line.expect(" (")
    params = line.defines(")")
    line.expect(" wrt (")
    wrt = line.atoms(")")
    body = p.block(depth + 1)
    values = p.yields(depth + 1, "yield ")
    active = tuple(q in wrt for q in params)
    count = len(values) if heads is None else heads
    return Derive(kind, args, params, body, values, p.results(depth), active, count, given, span)


_STATEMENTS: dict[str, Callable[[_Parser, Line, int], Stmt]] = {
    "store": _store,
    "fill": _fill,
    "update": _update,
    "refappend": _refappend,
    "refset": _refset,
    "whole": _whole,
    "raise": _raise,
    "for": _counted,
    "loop": _endless,
    "if": _if,
    "call": _call,
    "custom": _custom,
    "derive": _derive,
}


# right-hand sides: each reads its operands and gives what makes the statement of the target

_Make = Callable[[Sym, Span], Stmt]


def _let(p: _Parser, line: Line) -> _Make:
    found = line.match(_LET)
    args = line.atoms(")")
    return lambda target, span: Let(target, found[1], args, found[2], span)


def _load(p: _Parser, line: Line) -> _Make:
    array = line.symbol()
    line.expect("[")
    index = line.atoms("]")
    return lambda target, span: Load(target, array, index, span)


def _view(p: _Parser, line: Line) -> _Make:
    array = line.symbol()
    if line.has(" axes ("):
        axes: tuple[int | None, ...] = line.several(lambda: _axis(line), ")")  # type: ignore[assignment]
        return lambda target, span: View(target, array, (), axes, span=span)
    if line.has(" shape ("):
        shape = line.atoms(")")
        elsewhere = line.match(_WORD)[0] if line.has(" else ") else ""
        return lambda target, span: View(target, array, (), None, shape, elsewhere, span)
    line.expect("[")
    index: tuple[Atom | Slice, ...] = line.several(line.item, "]")  # type: ignore[assignment]
    return lambda target, span: View(target, array, index, span=span)


def _axis(line: Line) -> int | None:
    text = line.match(_WORD)[0]
    return None if text == "new" else int(text)


def _alloc(p: _Parser, line: Line) -> _Make:
    line.expect("(")
    shape = line.atoms(")")
    fill = line.atom() if line.has(" fill ") else None
    like = line.symbol() if line.has(" like ") else None
    return lambda target, span: Alloc(target, shape, fill, like, span)


def _ensure(p: _Parser, line: Line) -> _Make:
    array = line.symbol()
    line.expect(" ")
    need = line.atom()
    return lambda target, span: Ensure(target, array, need, span)


def _refnew(p: _Parser, line: Line) -> _Make:
    return lambda target, span: RefNew(target, span)


def _refget(p: _Parser, line: Line) -> _Make:
    references = line.symbol()
    line.expect(" ")
    position = line.atom()
    return lambda target, span: RefGet(target, references, position, span)


_VALUES: dict[str, Callable[[_Parser, Line], _Make]] = {
    "load": _load,
    "view": _view,
    "alloc": _alloc,
    "ensure": _ensure,
    "refnew": _refnew,
    "refget": _refget,
}


def parse(text: str, opaque: Mapping[str, object] | None = None) -> Function:
    """The function of a text.

    Arguments:
    - text: what `printer.to_text` gave, in either form.
    - opaque: the objects that the text only names, as `printer.text_and_opaque` gave them.

    Raises: ParseError, with the line, for anything that the printer does not write.
    """
    p = _Parser(text, {} if opaque is None else opaque)
    try:
        return p.program()
    except ParseError as error:
        at = min(p.at, len(p.lines) - 1)
        raise ParseError(f"line {at + 1}: {error}: {p.lines[at] if p.lines else ''}") from None
