"""The printer's text back into IR: `to_text(parse(to_text(f))) == to_text(f)`.

Each line is read by one small function, found by its first word in `_STATEMENTS` (statements without a target) or,
after `name: type =`, in `_VALUES`; a new statement is one more of these. Symbols get new identities and the names that
the text gives them. Objects that have no text (`Custom.rule`) are looked up by name in a table that comes along.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import cache

from adjit.ir.core import (
    NOWHERE,
    Alloc,
    Atom,
    Block,
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
    Span,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
)
from adjit.ir.types import Array, RefList, Scalar, Type

_NAME = r"[^\s,:()\[\]=<>'\"?]+"
_TYPE = r"\?|reflist\(array\([^()]*\)\)|array\([^()]*\)|[a-z]+\d*"
_NUMBER = r"True|False|-?inf|nan|-?\d[\d.]*(?:e[+-]?\d+)?|\([^()]*j\)|-?[\d.]+(?:e[+-]?\d+)?j|-?(?:nan|inf)j"
_ATOM = re.compile(rf"(?P<number>{_NUMBER}):(?P<type>{_TYPE})|undef\((?P<undef>{_TYPE})\)|(?P<name>{_NAME})")
_DEFINED = re.compile(rf"({_NAME}): ({_TYPE})")
_DEFINITION = re.compile(rf"({_NAME}): ({_TYPE}) = (.*)")
_LET = re.compile(r"([\w.]+)(?:<([^>]*)>)?\(")
_PLACE = re.compile(r"  @ (\d+):(\d+):(\d+)-(\d+):(\d+)$")
_LITERAL = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?[\d.][\w.+-]*|-?inf|nan""")
_ENDS = ("next ", "stop ", "yield ", "return", "else:", "-> ")


class ParseError(ValueError):
    """The text is not what the printer writes; the message has the line."""


@cache
def parse_type(text: str) -> Type:
    """A type from its text."""
    if text.startswith("reflist("):
        element = parse_type(text[8:-1])
        assert isinstance(element, Array)
        return RefList(element)
    if not text.startswith("array("):
        return Scalar(text)
    dtype, rank, layout, *lock = text[6:-1].split(", ")
    return Array(Scalar(dtype), int(rank[:-1]), layout, lock == ["readonly"])


def _number(text: str, type: Type) -> Const:
    assert isinstance(type, Scalar)
    value = complex(text) if "j" in text else float(text) if text.lstrip("-") in ("inf", "nan") else None
    return Const(ast.literal_eval(text) if value is None else value, type)


class _Line:
    """One line of text, read from left to right."""

    def __init__(self, text: str, symbols: dict[str, Sym]):
        self.text, self.symbols, self.at = text, symbols, 0

    def has(self, word: str) -> bool:
        """Whether `word` comes next; if so it is passed."""
        found = self.text.startswith(word, self.at)
        self.at += len(word) if found else 0
        return found

    def expect(self, word: str) -> None:
        """Pass `word`."""
        if not self.has(word):
            raise ParseError(f"{word!r} is expected at {self.text[self.at :]!r}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Pass what the pattern matches."""
        found = pattern.match(self.text, self.at)
        if found is None:
            raise ParseError(f"{self.text[self.at :]!r} is not understood")
        self.at = found.end()
        return found

    def atom(self) -> Atom:
        """A symbol, a constant or an undefined value."""
        found = self.match(_ATOM)
        if found["number"] is not None:
            return _number(found["number"], parse_type(found["type"]))
        if found["undef"] is not None:
            return Undef(parse_type(found["undef"]))
        return self._known(found["name"])

    def symbol(self) -> Sym:
        """A symbol that is defined above."""
        a = self.atom()
        if not isinstance(a, Sym):
            raise ParseError(f"a symbol is expected, not {a}")
        return a

    def _known(self, name: str) -> Sym:
        if name not in self.symbols:
            raise ParseError(f"{name} is not defined")
        return self.symbols[name]

    def define(self, name: str, type: str) -> Sym:
        """A new symbol."""
        if name in self.symbols:
            raise ParseError(f"{name} is defined twice")
        base, dot, number = name.rpartition(".")
        self.symbols[name] = Sym(base if dot and number.isdigit() else name, parse_type(type))
        return self.symbols[name]

    def defined(self) -> Sym:
        """A definition `name: type`."""
        found = self.match(_DEFINED)
        return self.define(found[1], found[2])

    def item(self) -> Atom | Slice:
        """An index: an atom, or start:stop:step."""
        start = None if self.text.startswith(":", self.at) else self.atom()
        if start is not None and not self.has(":"):
            return start
        if start is None:
            self.expect(":")
        stop = None if self._ends() else self.atom()
        return Slice(start, stop, self.atom() if self.has(":") else None)

    def _ends(self) -> bool:
        return self.text[self.at] in ":,]"

    def several(self, one: Callable[[], object], close: str) -> tuple[object, ...]:
        """What `one` reads, between commas, up to `close`."""
        out: list[object] = []
        while not self.has(close):
            if out:
                self.expect(", ")
            out.append(one())
        return tuple(out)

    def atoms(self, close: str = "") -> tuple[Atom, ...]:
        """Atoms between commas up to `close`, or to the end of the line."""
        if close:
            return self.several(self.atom, close)  # type: ignore[return-value]
        out: list[Atom] = []
        while self.at < len(self.text):
            if out:
                self.expect(", ")
            out.append(self.atom())
        return tuple(out)

    def defines(self, close: str) -> tuple[Sym, ...]:
        """Definitions between commas up to `close`."""
        return self.several(self.defined, close)  # type: ignore[return-value]


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

    def take(self, text: str) -> _Line:
        """The next line without its span, which is kept in `span`."""
        self.at += 1
        found = _PLACE.search(text)
        self.span = NOWHERE
        if found is not None:
            file, *places = map(int, found.groups())
            self.span, text = Span(self.files[file], *places), text[: found.start()]
        return _Line(text, self.symbols)

    def word(self, depth: int, word: str) -> _Line | None:
        """The next line, if it is at this depth and starts with `word`, after that word."""
        text = self.ahead(depth)
        if text is None or not text.startswith(word):
            return None
        line = self.take(text)
        line.expect(word)
        return line

    # blocks

    def function(self) -> Function:
        while (text := self.ahead(0)) is not None and text.startswith("file "):
            self.at += 1
            _, number, name = text.split(" ", 2)
            self.files[int(number)] = ast.literal_eval(name)
        head = self.word(0, "function ")
        if head is None:
            raise ParseError("a function is expected")
        name = head.match(re.compile(r"[^(]+"))[0]
        head.expect("(")
        params, span = head.defines("):"), self.span
        doc = self.word(1, "doc ")
        body = self.block(1)
        end = self.word(1, "return")
        if end is None:
            raise ParseError("'return' is expected")
        end.has(" ")
        results = end.atoms()
        return Function(
            name, params, body, results, "" if doc is None else ast.literal_eval(doc.text[4:]), span
        )

    def block(self, depth: int) -> Block:
        """The statements of this depth, up to what ends a block."""
        out: list[Stmt] = []
        while (text := self.ahead(depth)) is not None:
            definition = _DEFINITION.match(text)
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
        found = line.match(_DEFINED)
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


def _store(p: _Parser, line: _Line, depth: int) -> Stmt:
    line.expect(" ")
    array = line.symbol()
    line.expect("[")
    index = line.atoms("]")
    line.expect(" = ")
    return Store(array, index, line.atom(), p.span)


def _refappend(p: _Parser, line: _Line, depth: int) -> Stmt:
    line.expect(" ")
    references = line.symbol()
    line.expect(" ")
    return RefAppend(references, line.symbol(), p.span)


def _raise(p: _Parser, line: _Line, depth: int) -> Stmt:
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


def _counted(p: _Parser, line: _Line, depth: int) -> Stmt:
    line.expect(" ")
    found = line.match(_DEFINED)
    line.expect(" in range(")
    lo, hi, step = line.atoms(")")
    return _turns(p, line, depth, line.define(found[1], found[2]), (lo, hi, step))


def _endless(p: _Parser, line: _Line, depth: int) -> Stmt:
    return _turns(p, line, depth, None, (None, None, None))


def _turns(p: _Parser, line: _Line, depth: int, index: Sym | None, bounds: tuple[Atom | None, ...]) -> Stmt:
    span = p.span
    params: list[Sym] = []
    inits: list[Atom] = []
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
    )


def _if(p: _Parser, line: _Line, depth: int) -> Stmt:
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


def _custom(p: _Parser, line: _Line, depth: int) -> Stmt:
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


def _derive(p: _Parser, line: _Line, depth: int) -> Stmt:
    span = p.span
    with_value = line.has(" value_and_grad")
    if not with_value:
        line.expect(" grad")
    # The arguments are read before the params are defined, which stand to their left.
    at = line.text.rindex(" at (")
    args = _Line(line.text[at + 5 :], p.symbols).atoms("):")
    line.expect(" (")
    params = line.defines(")")
    line.expect(" wrt (")
    wrt = line.atoms(")")
    body = p.block(depth + 1)
    values = p.yields(depth + 1, "yield ")
    active = tuple(q in wrt for q in params)
    return Derive(args, params, body, values, p.results(depth), active, with_value, span)


_STATEMENTS: dict[str, Callable[[_Parser, _Line, int], Stmt]] = {
    "store": _store,
    "refappend": _refappend,
    "raise": _raise,
    "for": _counted,
    "loop": _endless,
    "if": _if,
    "custom": _custom,
    "derive": _derive,
}


# right-hand sides: each reads its operands and gives what makes the statement of the target

_Make = Callable[[Sym, Span], Stmt]


def _let(p: _Parser, line: _Line) -> _Make:
    found = line.match(_LET)
    args = line.atoms(")")
    return lambda target, span: Let(target, found[1], args, found[2], span)


def _load(p: _Parser, line: _Line) -> _Make:
    array = line.symbol()
    line.expect("[")
    index = line.atoms("]")
    return lambda target, span: Load(target, array, index, span)


def _view(p: _Parser, line: _Line) -> _Make:
    name, transposed = line.text[line.at :], line.text.endswith(".T")
    if transposed:
        array = _Line(name[:-2], p.symbols).symbol()
        return lambda target, span: View(target, array, (), True, span)
    array = line.symbol()
    line.expect("[")
    index: tuple[Atom | Slice, ...] = line.several(line.item, "]")  # type: ignore[assignment]
    return lambda target, span: View(target, array, index, False, span)


def _alloc(p: _Parser, line: _Line) -> _Make:
    line.expect("(")
    shape = line.atoms(")")
    fill = line.atom() if line.has(" fill ") else None
    like = line.symbol() if line.has(" like ") else None
    return lambda target, span: Alloc(target, shape, fill, like, span)


def _ensure(p: _Parser, line: _Line) -> _Make:
    array = line.symbol()
    line.expect(" ")
    need = line.atom()
    return lambda target, span: Ensure(target, array, need, span)


def _refnew(p: _Parser, line: _Line) -> _Make:
    return lambda target, span: RefNew(target, span)


def _refget(p: _Parser, line: _Line) -> _Make:
    references = line.symbol()
    line.expect(" ")
    position = line.atom()
    return lambda target, span: RefGet(target, references, position, span)


_VALUES: dict[str, Callable[[_Parser, _Line], _Make]] = {
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
        return p.function()
    except ParseError as error:
        at = min(p.at, len(p.lines) - 1)
        raise ParseError(f"line {at + 1}: {error}: {p.lines[at] if p.lines else ''}") from None
