"""The tree of a random program, and how it becomes text.

    Program    = functions (callees first, the program itself last) and arguments
    Function   = def name(params): body
    Statement  = Line(expression) | Block(header, body, orelse)
    Expression = template with {0}, {1}, ... and its parts

Everything renders in three forms that compute the same numbers: the *program* that adjit is given; *plain* Python that
Numba compiles, with stand-ins for what only adjit understands (inner gradients, custom rules); and *probed*, which is
plain with each float comparison going through an object that records its outcome and its margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

HEAD = "import math\n\nimport numpy as np\nfrom numba import njit\n"
WITH_COMPLEX = HEAD.replace("import math", "import cmath\nimport math")
Form = Literal["program", "plain", "probed"]


@dataclass(frozen=True)
class Expression:
    """`text` with its parts put in; `probed` and `plain` replace `text` in those forms (probed in both if no plain)."""

    text: str
    parts: tuple[Expression, ...] = ()
    probed: str | None = None
    plain: str | None = None

    def render(self, form: Form) -> str:
        """The expression as Python text."""
        template = self.text
        if form != "program" and self.plain is not None:
            template = self.plain
        if form == "probed" and self.probed is not None:
            template = self.probed
        return template.format(*(part.render(form) for part in self.parts)) if self.parts else template


@dataclass(frozen=True)
class Line:
    """A simple statement."""

    expression: Expression

    def render(self, form: Form, depth: int) -> list[str]:
        """The statement as indented lines."""
        return ["    " * depth + self.expression.render(form)]


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
    kept: bool = False
    """Whether shrinking leaves the block around its body (a guard that keeps turns of a parallel loop apart)."""

    def render(self, form: Form, depth: int) -> list[str]:
        """The statement as indented lines."""
        pad, inner = "    " * depth, "    " * (depth + 1)
        lines = [pad + line for line in self.before]
        lines.append(f"{pad}{self.header.render(form)}:")
        lines += [inner + "_probe.tick()"] if form == "probed" and self.loop else []
        lines += [inner + line for line in self.first]
        lines += _body(self.body, form, depth + 1) if self.body or not self.first else []
        if self.orelse:
            lines.append(pad + "else:")
            lines += _body(self.orelse, form, depth + 1)
        return lines


@dataclass(frozen=True)
class Either:
    """Lines that differ between the program and what stands in for it elsewhere."""

    program: tuple[str, ...]
    plain: tuple[str, ...]

    def render(self, form: Form, depth: int) -> list[str]:
        """The statement as indented lines."""
        return ["    " * depth + line for line in (self.program if form == "program" else self.plain)]


Statement = Line | Block | Either


@dataclass(frozen=True)
class Function:
    """A function of the program's module."""

    name: str
    params: tuple[str, ...]
    body: tuple[Statement, ...]

    def render(self, njit: bool, form: Form, first: Sequence[str] = (), params: Sequence[str] = ()) -> str:
        """The definition as text, decorated if asked; `first` are lines ahead of its body."""
        lines = ["@njit"] if njit else []
        lines.append(f"def {self.name}({', '.join(params or self.params)}):")
        lines += ["    " + line for line in first]
        return "\n".join(lines + _body(self.body, form, 1)) + "\n"


@dataclass(frozen=True)
class Kernel(Function):
    """A kernel of one axis; elsewhere it is a function of the item's number, `i`, and the rest."""

    def render(self, njit: bool, form: Form, first: Sequence[str] = (), params: Sequence[str] = ()) -> str:
        """The definition as text: a kernel is never decorated otherwise."""
        if form == "program":
            return "@aj.kernel\n" + super().render(False, form, ("i = aj.index()", *first), params)
        return super().render(njit, form, first, ("i", *(params or self.params)))


@dataclass(frozen=True)
class Given:
    """A function with a derivative rule, written out; elsewhere it is just the function."""

    name: str
    params: tuple[str, ...]
    program: str
    plain: str
    body: tuple[Statement, ...] = ()
    self_njit: bool = False
    """Whether the program's own form is a dispatcher where the others are."""

    def render(self, njit: bool, form: Form) -> str:
        """The definition as text."""
        decorator = "@njit\n" if njit and (form != "program" or self.self_njit) else ""
        return decorator + (self.program if form == "program" else self.plain)


@dataclass(frozen=True)
class Argument:
    """An argument of the program.

    Its value as float64/int64 template, and the layout that it is passed in.
    """

    name: str
    value: np.ndarray | float | int | bool | complex
    layout: str = "C"

    @property
    def active(self) -> bool:
        """Whether it carries a derivative."""
        if isinstance(self.value, np.ndarray):
            return self.value.dtype.kind in "fc"
        return isinstance(self.value, float | complex)


@dataclass(frozen=True)
class Program:
    """A random program with its arguments; `name` is the function to differentiate."""

    functions: tuple[Function | Given, ...]
    arguments: tuple[Argument, ...]
    seed: int
    description: str = ""
    name: str = field(default="f")
    structure: tuple[tuple[str, int], ...] = ()
    """Per parameter ("", 1) for a bare argument, ("tuple", n) or ("P", n) for a (named) tuple of the next n."""
    arrays: bool = False
    """Whether it has statements of whole arrays, of which NumPy's own run is the reference, not Numba's."""
    parallel: bool = False
    """Whether it has parallel loops, which its plain form runs in order."""
    reduces: bool = False
    """Whether parallel loops sum or multiply, in another order than the plain form."""
    kinds: tuple[str, ...] = ()
    """What it has of "ranges", "keywords", "complex", "small" (integers and bools), "limits" (of their types),
    "recurrences" and "empty" (arrays)."""

    @property
    def wrt(self) -> tuple[int, ...]:
        """Positions of the float arguments."""
        return tuple(k for k, argument in enumerate(self.arguments) if argument.active)

    @property
    def exact(self) -> bool:
        """Whether the plain form computes the same bits.

        A stand-in's derivative has its own rounding; NumPy sums and multiplies arrays in an order of its own; Python,
        NumPy and Numba each divide complex numbers in a way of their own.
        """
        return not (self.arrays or self.reduces or "complex" in self.kinds) and "aj." not in "".join(
            f.render(False, "program") for f in self.functions if isinstance(f, Function)
        )

    def decorated(self, dtype: str = "float64") -> bool:
        """Whether adjit is given dispatchers: half of the programs, by seed, but none that launches kernels."""
        kernels = any(isinstance(f, Kernel) for f in self.functions)
        return not kernels and (self.seed % 2 == 0 or dtype != "float64")

    @property
    def threaded(self) -> bool:
        """Whether its dispatchers have `parallel=True`: with array statements every other one, by seed."""
        return self.parallel or (self.arrays and self.seed % 4 == 0)

    @property
    def forward(self) -> bool:
        """Whether every rule in it has a forward mode."""
        return not any(isinstance(f, Given) and "custom_vjp" in f.program for f in self.functions)

    def source(self, njit: bool = False, probe: bool = False, reference: bool = False) -> str:
        """The module's text."""
        form: Form = "probed" if probe else "plain" if reference else "program"
        texts = [f.render(njit, form) for f in self.functions[:-1]]
        main = self.functions[-1]
        assert isinstance(main, Function)
        params, first = self._unpacking()
        texts.append(main.render(njit, form, first, params))
        head = WITH_COMPLEX if "complex" in self.kinds else HEAD
        if self.parallel:
            head = head.replace("import njit", "import njit, prange")
        if self.threaded and form == "program":
            texts = [text.replace("@njit\n", "@njit(parallel=True)\n") for text in texts]
        if any("aj." in text for text in texts):
            head += "\nimport adjit as aj\n"
        classes = [line for cls, line in self._classes().items() if cls != "tuple"]
        if classes:
            head = "from collections import namedtuple\n" + head + "\n" + "".join(classes)
        return "\n\n".join([head, *texts])

    def _groups(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Name of the parameter, class ("" for a bare argument) and names of its parts."""
        at, groups = 0, []
        for k, (cls, count) in enumerate(self.structure or (("", 1),) * len(self.arguments)):
            names = tuple(a.name for a in self.arguments[at : at + count])
            groups.append((f"{'' if not cls else 't_'}{names[0] if not cls else k}", cls, names))
            at += count
        return groups

    def _classes(self) -> dict[str, str]:
        named = {cls: names for _, cls, names in self._groups() if cls}
        return {cls: f'{cls} = namedtuple("{cls}", "{" ".join(names)}")\n' for cls, names in named.items()}

    def _unpacking(self) -> tuple[tuple[str, ...], list[str]]:
        """Parameters of the program, and the lines that take tuples apart."""
        first: list[str] = []
        for name, cls, parts in self._groups():
            if cls == "tuple":
                first.append(f"{', '.join(parts)}{',' if len(parts) == 1 else ''} = {name}")
            elif cls:
                first += [f"{part} = {name}.{part}" for part in parts]
        return tuple(name for name, _, _ in self._groups()), first

    def packed(self, flat: Sequence[Any], namespace: dict[str, Any]) -> list[Any]:
        """Flat values as the program's arguments; `namespace` is the module's, which has the classes."""
        if not self.structure:
            return list(flat)
        out: list[Any] = []
        items = iter(flat)
        for _, cls, parts in self._groups():
            values = [next(items) for _ in parts]
            out.append(values[0] if not cls else tuple(values) if cls == "tuple" else namespace[cls](*values))
        return out

    def with_functions(self, functions: tuple[Function | Given, ...]) -> Program:
        """The same program with other functions."""
        return replace(self, functions=functions)


def _body(statements: tuple[Statement, ...], form: Form, depth: int) -> list[str]:
    lines = [line for statement in statements for line in statement.render(form, depth)]
    return lines or ["    " * depth + "pass"]
