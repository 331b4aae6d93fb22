"""The report of `aj.explain`: facts by line of the user's source, as an object, text, for terminals, for notebooks."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from adjit.ir.core import Span
from adjit.transform.facts import KINDS, Active, Fact, Kept, Recorded, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

F = TypeVar("F", bound=Fact)

MODES = {
    "joint": "value and gradient in one call",
    "split": "value, and a pullback",
    "forward": "value and tangent",
    "primal": "compiled, not differentiated",
}


@dataclass(frozen=True)
class Line:
    """A line of the user's source. active: the names on it that carry derivatives; facts: what else is said of it."""

    file: str
    number: int
    text: str
    active: tuple[str, ...] | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Report:
    """What a derivative does, line by line; `print` it.

    name: the function. mode: "joint", "split", "forward" or "primal". facts: everything that is said; `of(kind)`
    selects. lines: the source of all functions of the program, with the facts at each line.
    """

    name: str
    mode: str
    place: Span
    active: tuple[str, ...]
    facts: tuple[Fact, ...]
    spans: tuple[Span, ...]

    def of(self, kind: type[F]) -> tuple[F, ...]:
        """The facts of one kind (see `adjit.transform.facts`), by line."""
        return tuple(f for f in sorted(self.facts, key=_place) if type(f) is kind)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The source of all functions of the program."""
        at: dict[tuple[str, int], list[Fact]] = {}
        for fact in self.facts:
            at.setdefault((fact.span.file, fact.span.line), []).append(fact)
        found: list[Line] = []
        for file, first, last in _functions((self.place, *self.spans)):
            for number in range(first, last + 1):
                here = at.get((file, number), [])
                names = [n for f in here if isinstance(f, Active) for n in f.names]
                active = tuple(names) if any(isinstance(f, Active) for f in here) else None
                text = linecache.getline(file, number).rstrip()
                found.append(
                    Line(file, number, text, active, tuple(f for f in here if not isinstance(f, Active)))
                )
        return tuple(found)

    @property
    def record_bytes(self) -> int | None:
        """Bytes that all records take at most; None where that depends on data."""
        sizes = [f.total for f in self.facts if isinstance(f, Recorded)]
        return None if any(s is None for s in sizes) else sum(s for s in sizes if s is not None)

    def summary(self) -> Iterator[str]:
        """What is said above the source."""
        where = f"{os.path.basename(self.place.file)}:{self.place.line}"
        yield f"{self.name} ({where}): {MODES[self.mode]}"
        if self.mode == "primal":
            return
        yield f"with respect to: {', '.join(self.active) or 'nothing'}"
        if self.mode == "forward":
            return
        size = self.record_bytes
        if not any(isinstance(f, Recorded) for f in self.facts):
            yield "records: none"
        else:
            known = [f.total or 0 for f in self.facts if isinstance(f, Recorded)]
            least = f"{size_text(sum(known))} and what depends on data"
            yield f"records: {least if size is None else size_text(size)}"
        kept = [f.size for f in self.facts if isinstance(f, Kept)]
        if kept:
            known = [s for s in kept if s is not None]
            more = "" if len(known) == len(kept) else " and what depends on data"
            yield f"arrays kept or copied: {size_text(sum(known))}{more}"

    def sections(self) -> Iterator[tuple[str, tuple[Fact, ...]]]:
        """Headings, and the facts below each; those that have nothing to say are left out."""
        for kind in KINDS:
            facts = self.of(kind)
            if facts:
                yield kind.topic, facts

    def __str__(self) -> str:
        out = [*self.summary(), ""]
        file = None
        for line in self.lines:
            if line.file != file:
                file = line.file
                out.append(f"{file}  (* carries derivatives)")
            out.append(f"{line.number:5d} {' ' if line.active is None else '*'} {line.text}".rstrip())
            indent = " " * (8 + len(line.text) - len(line.text.lstrip()))
            out += [f"{indent}| {fact.text}" for fact in line.facts]
        for topic, facts in self.sections():
            out += ["", topic, *(f"  line {f.span.line}: {f.text}" for f in facts)]
        return "\n".join(out) + "\n"

    def __rich__(self) -> RenderableType:
        from adjit.api.report_rich import rich_report

        return rich_report(self)

    def html(self) -> str:
        """The report as HTML."""
        from adjit.api.report_rich import html

        return html(self)

    _repr_html_ = html


def _place(fact: Fact) -> tuple[str, int]:
    return fact.span.file, fact.span.line


def _functions(spans: Sequence[Span]) -> list[tuple[str, int, int]]:
    """File, first and last line of every function that holds one of the places, in the order of the files."""
    files: dict[str, dict[int, None]] = {}
    for span in spans:
        if span.line > 0:
            files.setdefault(span.file, {})[span.line] = None
    found: list[tuple[str, int, int]] = []
    for file, lines in files.items():
        ranges = list(_ranges(file))
        chosen = {_around(ranges, line) for line in lines}
        outer = [r for r in chosen if not any(o != r and o[0] <= r[0] and r[1] <= o[1] for o in chosen)]
        found += [(file, *r) for r in sorted(outer)]
    return found


def _ranges(file: str) -> Iterable[tuple[int, int]]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:  # an edited file
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node.lineno, node.end_lineno or node.lineno


def _around(ranges: Sequence[tuple[int, int]], line: int) -> tuple[int, int]:
    inside = [r for r in ranges if r[0] <= line <= r[1]]
    return min(inside, key=lambda r: r[1] - r[0]) if inside else (line, line)
