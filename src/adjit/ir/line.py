"""One line of the IR's text, read from left to right: names, types, atoms, and lists of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache

from adjit.ir.core import Atom, Const, Slice, Sym, Undef
from adjit.ir.types import Array, RefList, Scalar, Type

_NAME = r"[^\s,:()\[\]=<>'\"?]+"
_TYPE = r"\?|reflist\(array\([^()]*\)\)|array\([^()]*\)|[a-z]+\d*(?:x\d+)?"
_NUMBER = r"True|False|-?inf|nan|-?\d[\d.]*(?:e[+-]?\d+)?|\([^()]*j\)|-?[\d.]+(?:e[+-]?\d+)?j|-?(?:nan|inf)j"
_ATOM = re.compile(rf"(?P<number>{_NUMBER}):(?P<type>{_TYPE})|undef\((?P<undef>{_TYPE})\)|(?P<name>{_NAME})")
DEFINED = re.compile(rf"({_NAME}): ({_TYPE})")
DEFINITION = re.compile(rf"({_NAME}): ({_TYPE}) = (.*)")


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
        several = re.fullmatch(r"(\w*\d)x(\d+)", text)  # not the x of complex128
        return Scalar(text) if several is None else Scalar(several[1], int(several[2]))
    dtype, rank, layout, *lock = text[6:-1].split(", ")
    number = parse_type(dtype)
    assert isinstance(number, Scalar)
    return Array(number, int(rank[:-1]), layout, lock == ["readonly"])


def _number(text: str, type: Type) -> Const:
    assert isinstance(type, Scalar)
    value = complex(text) if "j" in text else float(text) if text.lstrip("-") in ("inf", "nan") else None
    return Const(ast.literal_eval(text) if value is None else value, type)


class Line:
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
        found = self.match(DEFINED)
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
