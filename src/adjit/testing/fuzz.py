"""Random programs against every check: one after the other, each failure shrunk and written as a runnable file.

Uncompiled (the default) runs the generated source as plain Python, which starts about a hundred times faster than a
compile.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adjit.testing.checks import CheckFailure, Refused, check
from adjit.testing.programs import Program, Rejected, generate
from adjit.testing.shrink import shrink

LONGEST_COMPILED = 700
"""Longer programs take Numba up to a minute for each operator; they are left to the uncompiled runs.

Of programs with parallel loops or values of other kinds, few of which are as short, twice as long ones are compiled."""

SHRUNK = 3
"""So many failures of a kind are shrunk and saved in each process; one refusal of a kind."""


@dataclass(frozen=True)
class Settings:
    """What a run checks. `step` is the distance of its seeds (several processes share them out).

    life: so many seeds does a process check before a new one takes over (0: `lifetime` says); Numba never frees what
    it compiled, some 12 MB a program.
    """

    seed: int = 0
    step: int = 1
    count: int | None = None
    seconds: float = 60.0
    compiled: bool = False
    boundscheck: bool = False
    dtype: str = "float64"
    recursion: bool = False
    small: bool = False
    arrays: bool = False
    parallel: bool = False
    nested: bool = False
    kinds: bool = False
    folder: Path = Path("fuzz-failures")
    shrink_seconds: float = 20.0
    limit: int = 120
    life: int = 0

    @property
    def lifetime(self) -> int:
        """How many seeds a process checks."""
        return self.life or (100 if self.compiled else 20_000)

    def program(self, seed: int) -> Program:
        """The random program of that number."""
        return generate(
            seed,
            recursion=self.recursion,
            small=self.small,
            arrays=self.arrays,
            parallel=self.parallel,
            nested=self.nested,
            kinds=self.kinds,
        )

    @property
    def seeds(self) -> Iterator[int]:
        """The seeds, in order."""
        last = sys.maxsize if self.count is None else self.seed + self.count * self.step
        return iter(range(self.seed, last, self.step))


@dataclass(frozen=True)
class Outcome:
    """What came of one program: `kind` is "passed", "rejected" (no fair test), "refused" or the kind of failure.

    label: what outcomes are counted by: the kind, or the first line of a refusal. file: where it was written.
    """

    seed: int
    kind: str
    report: str = ""
    file: Path | None = None

    @property
    def failed(self) -> bool:
        """Whether this is a fault of adjit's."""
        return self.kind not in ("passed", "rejected", "refused")

    @property
    def label(self) -> str:
        """What it is counted by."""
        return (self.report.splitlines() or [""])[0][:90] if self.kind == "refused" else self.kind


def verdict(program: Program, settings: Settings) -> Outcome:
    """Check one program."""
    try:
        with _alarm(settings.limit):
            check(program, settings.compiled, settings.dtype, settings.boundscheck)
    except Rejected as rejected:
        return Outcome(program.seed, "rejected", str(rejected))
    except CheckFailure as failure:
        return Outcome(program.seed, failure.kind, str(failure))
    except Refused as error:
        return Outcome(program.seed, "refused", str(error))
    except Exception as error:  # any other exception is a fault of adjit's, and is what we are looking for
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        if place.filename.startswith("<"):  # generated source: every program has its own
            where = "generated source"
        report = f"{where}: {error}\n{traceback.format_exc(limit=-6)}"
        return Outcome(program.seed, f"crash {type(error).__name__} in {where}", report)
    return Outcome(program.seed, "passed")


@contextmanager
def _alarm(seconds: int) -> Generator[None]:
    """A TimeoutError after `seconds` of processor time, where the platform has such alarms."""
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def ring(signum: int, frame: Any) -> None:
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcomes(settings: Settings) -> Iterator[Outcome]:
    """Check programs until the time is up or the seeds are; the first failures of each kind are shrunk and saved."""
    with uncompiled(not settings.compiled):
        yield from _outcomes(settings)


@contextmanager
def uncompiled(on: bool) -> Generator[None]:
    """Within it generated source runs as plain Python, in processes that are started too."""
    before = os.environ.get("ADJIT_UNCOMPILED")
    if on:
        os.environ["ADJIT_UNCOMPILED"] = "1"
    try:
        yield
    finally:
        if on and before is None:
            os.environ.pop("ADJIT_UNCOMPILED", None)


def _outcomes(settings: Settings) -> Iterator[Outcome]:
    started, seen = time.monotonic(), dict[str, int]()
    for seed in settings.seeds:
        if time.monotonic() - started > settings.seconds:
            return
        program = settings.program(seed)
        if settings.compiled and len(program.source()) > LONGEST_COMPILED * (
            1 + (settings.parallel or settings.kinds)
        ):
            yield Outcome(seed, "rejected", "too long to compile")
            continue
        found = verdict(program, settings)
        if found.kind not in ("passed", "rejected"):
            seen[found.label] = seen.get(found.label, 0) + 1
            if seen[found.label] <= (SHRUNK if found.failed else 1):
                found = shrunk(program, found, settings)
        yield found


def shrunk(program: Program, found: Outcome, settings: Settings) -> Outcome:
    """The outcome with its smallest program written to the folder."""

    def same(smaller: Program) -> bool:
        other = verdict(smaller, settings)
        return other.kind == found.kind and (found.failed or other.label == found.label)

    smaller = shrink(program, same, settings.shrink_seconds)
    report = verdict(smaller, settings).report or found.report
    return Outcome(found.seed, found.kind, report, save(smaller, found.kind, report, settings))


def save(program: Program, kind: str, report: str, settings: Settings) -> Path:
    """Write a program as a file that runs its checks."""
    settings.folder.mkdir(parents=True, exist_ok=True)
    path = settings.folder / f"{re.sub(r'[^A-Za-z0-9.]+', '_', kind)}_{program.seed}.py"
    decorated = program.decorated(settings.dtype)
    flat = [_literal(argument.value, settings.dtype) for argument in program.arguments]
    values = ", ".join(_literals(program, flat))
    layouts = ", ".join(repr(argument.layout) for argument in program.arguments)
    quoted = report.replace("\\", "\\\\").replace('"""', "'''")
    environment = "" if settings.compiled else '    os.environ["ADJIT_UNCOMPILED"] = "1"\n'
    text, plain = program.source(njit=decorated), program.source(njit=settings.compiled, reference=True)
    extra = "" if program.exact else ", exact=False"
    stand_in = ""
    if "aj." in text:
        extra, stand_in = f", PLAIN, exact={program.exact}", f'\nPLAIN = """\n{plain}"""\n'
    path.write_text(
        f'"""Seed {program.seed}, {kind}.\n\n{quoted}\n"""\n\n'
        + ("" if settings.compiled else "import os\n")
        + text
        + stand_in
        + f"\n\nARGUMENTS = ({values},)\nLAYOUTS = ({layouts},)\n"
        + f'\nif __name__ == "__main__":\n{environment}'
        + "    from adjit.testing.checks import check_function\n\n"
        + f"    check_function({program.name}, ARGUMENTS, LAYOUTS{extra})\n"
    )
    return path


def _literals(program: Program, flat: list[str]) -> list[str]:
    """The arguments as text, (named) tuples put together."""
    items, out = iter(flat), list[str]()
    for cls, count in program.structure or (("", 1),) * len(flat):
        parts = list(itertools.islice(items, count))
        inside = ", ".join(parts) + ("," if cls == "tuple" else "")
        out.append(parts[0] if not cls else f"({inside})" if cls == "tuple" else f"{cls}({inside})")
    return out


def _literal(value: Any, dtype: str) -> str:
    if isinstance(value, np.ndarray):
        value = value.astype(dtype) if value.dtype.kind == "f" and dtype != "float64" else value
        empty = "" if value.size else f".reshape({value.shape})"
        return f"np.array({value.tolist()!r}, np.{value.dtype}){empty}"
    return repr(value)
