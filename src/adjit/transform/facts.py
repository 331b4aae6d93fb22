"""What a transform did, as facts that a person can check: `aj.explain` is made of them.

Each fact has its place in the user's source. `text` says it in words; the fields say it to programs. Sizes are in
bytes, None where they do not follow from the arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adjit.ir.core import Span
from adjit.ir.notes import APART, COPIED, NEAR


def size_text(size: float) -> str:
    """Bytes in words."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return _bytes(int(size))


def _bytes(n: int) -> str:
    return "1 byte" if n == 1 else f"{n} bytes"


@dataclass(frozen=True, slots=True)
class Fact:
    """Base of facts. topic: the heading under which a report lists its kind."""

    topic: ClassVar[str] = ""
    span: Span

    @property
    def text(self) -> str:
        """The fact in words, without its place."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Active(Fact):
    """Names on a line that carry derivatives from the inputs to the result."""

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"active: {', '.join(self.names)}" if self.names else "active"


@dataclass(frozen=True, slots=True)
class Recorded(Fact):
    """A number that the forward sweep writes down for the reverse sweep.

    size: of one. times: how often, None where that depends on data; `most`: at most so often (it is in a branch).
    needed: the line whose derivative wants it.
    """

    topic = "Recorded"
    name: str
    why: str
    size: int
    times: int | None
    most: bool
    needed: Span | None

    @property
    def total(self) -> int | None:
        """Bytes in all."""
        return None if self.times is None else self.size * self.times

    @property
    def text(self) -> str:
        if self.total is None:
            amount = f"{_bytes(self.size)} each time, as often as the line runs"
        elif self.times == 1:
            amount = size_text(self.size)
        else:
            amount = f"{_bytes(self.size)} x {self.times} = {size_text(self.total)}"
        return f"{self.name} is recorded ({'at most ' if self.most else ''}{amount}): {self.why}{self._for()}"

    def _for(self) -> str:
        if self.needed is None or self.needed.line < 1:
            return ""
        return f"; needed by the derivative of line {self.needed.line}"


@dataclass(frozen=True, slots=True)
class RolledBack(Recorded):
    """The element that a store overwrites, which the reverse sweep puts back."""

    topic = "Rolled back"


@dataclass(frozen=True, slots=True)
class Kept(Fact):
    """An array that is kept, or copied, for the reverse sweep."""

    topic = "Kept for the reverse sweep"
    name: str
    size: int | None
    copied: bool

    @property
    def text(self) -> str:
        size = "" if self.size is None else f" ({size_text(self.size)})"
        if self.copied:
            return f"{self.name} is copied{size}: the reverse sweep rolls it back or reads it, and others may see it"
        return f"{self.name} is kept{size}: the reverse sweep reads it"


@dataclass(frozen=True, slots=True)
class Recomputed(Fact):
    """Values that the reverse sweep computes again. loaded: elements that it loads again, unchanged since."""

    topic = "Recomputed"
    names: tuple[str, ...]
    loaded: tuple[str, ...]

    @property
    def text(self) -> str:
        parts = [f"computed again: {', '.join(self.names)}"] if self.names else []
        return "; ".join([*parts, *([f"loaded again: {', '.join(self.loaded)}"] if self.loaded else [])])


@dataclass(frozen=True, slots=True)
class Shadow(Fact):
    """A buffer that got a shadow although none was asked for."""

    topic = "Internal shadows"
    name: str
    size: int | None

    @property
    def text(self) -> str:
        size = "" if self.size is None else f" ({size_text(self.size)})"
        return f"{self.name} gets a shadow of its own{size}: it holds active values on the way to the result"


@dataclass(frozen=True, slots=True)
class Promoted(Fact):
    """A float of single precision that meets one of double precision."""

    topic = "Promoted to double precision"
    name: str
    before: str
    after: str

    @property
    def text(self) -> str:
        return f"{self.name} goes from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class Access:
    """An array that turns of a parallel loop update, and how. memory: of the copies."""

    array: str
    how: str
    memory: int | None = None

    @property
    def text(self) -> str:
        """The choice in words."""
        words = {
            APART: "plain add",
            NEAR: "plain add, every second part at once",
            COPIED: "a copy for each part",
        }
        memory = "" if self.memory is None else f" ({size_text(self.memory)} in all)"
        return f"{self.array}: {words.get(self.how, self.how)}{memory}"


@dataclass(frozen=True, slots=True)
class Parallel(Fact):
    """A parallel loop of the program, as one sweep runs it.

    parts: in how many parts, None where that depends on data. reason: why it runs in order, if it does.
    """

    topic = "Parallel loops"
    sweep: str
    parts: int | None
    reason: str
    accesses: tuple[Access, ...]

    @property
    def text(self) -> str:
        where = f"{self.sweep}: " if self.sweep else ""
        if self.reason:
            return f"{where}runs in order, since {self.reason}"
        parts = (
            "parts, up to 64"
            if self.parts is None
            else "1 part"
            if self.parts == 1
            else f"{self.parts} parts"
        )
        said = "; ".join(a.text for a in self.accesses)
        return f"{where}runs in {parts}{f'; {said}' if said else ''}"


@dataclass(frozen=True, slots=True)
class Trusted(Fact):
    """A store of a parallel loop, where nothing shows that each turn has elements of its own."""

    topic = "Taken at your word"
    array: str

    @property
    def text(self) -> str:
        return (
            f"it is taken at your word that no turn touches an element of {self.array} that another one writes: "
            "derivatives rely on it, and aj.check_races tests it on a run"
        )


@dataclass(frozen=True, slots=True)
class PulledSum(Fact):
    """Sums into an array that a loop nest pulled instead of pushing."""

    topic = "Pulled sums"
    sweep: str
    array: str

    @property
    def text(self) -> str:
        where = f"{self.sweep}: " if self.sweep else ""
        return (
            f"{where}sums into {self.array} are pulled (gather): each place adds up what its neighbours give"
        )


@dataclass(frozen=True, slots=True)
class ZeroSlope(Fact):
    """An operation whose derivative is zero wherever it has one."""

    topic = "Zero derivative"
    operation: str

    @property
    def text(self) -> str:
        return f"no derivative passes through {self.operation}"


@dataclass(frozen=True, slots=True)
class Ruled(Fact):
    """A call that is differentiated by a rule of the user's."""

    topic = "Rules of your own"
    name: str
    rule: str

    @property
    def text(self) -> str:
        return f"{self.name}() is differentiated by its {self.rule}"


KINDS: tuple[type[Fact], ...] = (
    Recorded,
    RolledBack,
    Kept,
    Recomputed,
    Shadow,
    Promoted,
    Parallel,
    Trusted,
    PulledSum,
    ZeroSlope,
    Ruled,
)
"""In the order of a report's sections."""
