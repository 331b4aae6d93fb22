"""The tree of a random program, and how it becomes text.

    Program    = functions (callees first, the program itself last) and arguments
    Function   = def name(params): body
    Statement  = Line(expression) | Block(header, body, orelse)
    Expression = template with {0}, {1}, ... and its parts

Everything renders twice: as the plain program, and *probed*, with each float comparison going through an
object that records its outcome and its margin. The two texts compute the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

HEAD = "import math\n\nimport numpy as np\nfrom numba import njit\n"


@dataclass(frozen=True)
class Expression:
    """`text` with its parts put in; `probed` replaces `text` in the probed rendering."""

    text: str
    parts: tuple[Expression, ...] = ()
    probed: str | None = None

    def render(self, probe: bool) -> str:
        """The expression as Python text."""
        template = self.probed if probe and self.probed is not None else self.text
        return template.format(*(part.render(probe) for part in self.parts)) if self.parts else template


@dataclass(frozen=True)
class Line:
    """A simple statement."""

    expression: Expression

    def render(self, probe: bool, depth: int) -> list[str]:
        """The statement as indented lines."""
        return ["    " * depth + self.expression.render(probe)]


@dataclass(frozen=True)
class Block:
    """A compound statement. `before` are lines ahead of it and `first` lines at the start of its body: both
    stay with the block (a while loop's counter), so that a shrunk program still terminates."""

    header: Expression
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()
    before: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    loop: bool = False

    def render(self, probe: bool, depth: int) -> list[str]:
        """The statement as indented lines."""
        pad, inner = "    " * depth, "    " * (depth + 1)
        lines = [pad + line for line in self.before]
        lines.append(f"{pad}{self.header.render(probe)}:")
        lines += [inner + "_probe.tick()"] if probe and self.loop else []
        lines += [inner + line for line in self.first]
        lines += _body(self.body, probe, depth + 1) if self.body or not self.first else []
        if self.orelse:
            lines.append(pad + "else:")
            lines += _body(self.orelse, probe, depth + 1)
        return lines


Statement = Line | Block


@dataclass(frozen=True)
class Function:
    """A function of the program's module."""

    name: str
    params: tuple[str, ...]
    body: tuple[Statement, ...]

    def render(self, njit: bool, probe: bool) -> str:
        """The definition as text, decorated if asked."""
        lines = ["@njit"] if njit else []
        lines.append(f"def {self.name}({', '.join(self.params)}):")
        return "\n".join(lines + _body(self.body, probe, 1)) + "\n"


@dataclass(frozen=True)
class Argument:
    """An argument of the program.

    Its value as float64/int64 template, and the layout that it is passed in.
    """

    name: str
    value: np.ndarray | float | int | bool
    layout: str = "C"

    @property
    def active(self) -> bool:
        """Whether it carries a derivative."""
        if isinstance(self.value, np.ndarray):
            return self.value.dtype.kind == "f"
        return isinstance(self.value, float)


@dataclass(frozen=True)
class Program:
    """A random program with its arguments; `name` is the function to differentiate."""

    functions: tuple[Function, ...]
    arguments: tuple[Argument, ...]
    seed: int
    description: str = ""
    name: str = field(default="f")

    @property
    def wrt(self) -> tuple[int, ...]:
        """Positions of the float arguments."""
        return tuple(k for k, argument in enumerate(self.arguments) if argument.active)

    def source(self, njit: bool = False, probe: bool = False) -> str:
        """The module's text."""
        return "\n\n".join([HEAD, *(function.render(njit, probe) for function in self.functions)])

    def with_functions(self, functions: tuple[Function, ...]) -> Program:
        """The same program with other functions."""
        return replace(self, functions=functions)


def _body(statements: tuple[Statement, ...], probe: bool, depth: int) -> list[str]:
    lines = [line for statement in statements for line in statement.render(probe, depth)]
    return lines or ["    " * depth + "pass"]
