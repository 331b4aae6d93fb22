"""`python -m adjit.testing.fuzz --minutes 2 --seed 0 [--compiled]`: random programs against every check.

Each failure is shrunk and written as a runnable file. Uncompiled (the default) runs the generated source as
plain Python, about a hundred times faster to start than a compile.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adjit.testing.programs import Program, Rejected, generate

# Longer programs take Numba up to a minute for each operator; they are left to the uncompiled runs.
LONGEST_COMPILED = 900


@dataclass
class Tally:
    """What a fuzzing run has seen."""

    passed: int = 0
    rejected: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    files: list[Path] = field(default_factory=list)

    def line(self, started: float) -> str:
        """One line of progress."""
        rate = (self.passed + sum(self.failed.values()) + sum(self.refused.values())) / max(
            time.monotonic() - started, 1e-9
        )
        failed = ", ".join(f"{kind}: {count}" for kind, count in self.failed.most_common())
        refused = sum(self.refused.values())
        return f"{self.passed} passed, {refused} refused, failed {{{failed}}}, {rate * 60:.0f}/min"


def verdict(program: Program, compiled: bool, dtype: str = "float64", seconds: int = 120) -> tuple[str, str]:
    """("passed" | "rejected" | "refused" | kind of failure, report)."""
    from adjit.errors import AdjitError
    from adjit.testing.checks import CheckFailure, check

    try:
        with _alarm(seconds):
            check(program, compiled, dtype)
    except Rejected as rejected:
        return "rejected", str(rejected)
    except CheckFailure as failure:
        return failure.kind, str(failure)
    except AdjitError as error:
        return "refused", str(error)
    except Exception as error:  # any other exception is a bug of adjit's, and is what we are looking for
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return f"crash {type(error).__name__}", f"{where}: {error}\n{traceback.format_exc(limit=-6)}"
    return "passed", ""


@contextmanager
def _alarm(seconds: int) -> Generator[None]:
    """A TimeoutError after `seconds`, where the platform has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(signum: int, frame: Any) -> None:
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def save(
    program: Program, kind: str, report: str, folder: Path, compiled: bool, dtype: str = "float64"
) -> Path:
    """Write a failing program as a file that runs its checks."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind.replace(' ', '_')}_{program.seed}.py"
    decorated = program.seed % 2 == 0 or dtype != "float64"
    values = ", ".join(_literal(argument.value, dtype) for argument in program.arguments)
    layouts = ", ".join(repr(argument.layout) for argument in program.arguments)
    quoted = report.replace("\\", "\\\\").replace('"""', "'''")
    environment = "" if compiled else '    os.environ["ADJIT_UNCOMPILED"] = "1"\n'
    path.write_text(
        f'"""Seed {program.seed}, {kind}.\n\n{quoted}\n"""\n\n'
        + ("" if compiled else "import os\n")
        + program.source(njit=decorated)
        + f"\n\nARGUMENTS = ({values},)\nLAYOUTS = ({layouts},)\n"
        + f'\nif __name__ == "__main__":\n{environment}'
        + "    from adjit.testing.checks import check_function\n\n"
        + f"    check_function({program.name}, ARGUMENTS, LAYOUTS)\n"
    )
    return path


def _literal(value: Any, dtype: str) -> str:
    if isinstance(value, np.ndarray):
        value = value.astype(dtype) if value.dtype.kind == "f" else value
        return f"np.array({value.tolist()!r}, np.{value.dtype})"
    return repr(value)


def fuzz(
    seeds: Iterator[int],
    seconds: float,
    compiled: bool,
    folder: Path,
    dtype: str = "float64",
    shrink_seconds: float = 20.0,
) -> Tally:
    """Check programs until the time is up; the first few failures of each kind are shrunk and saved."""
    from adjit.testing.shrink import shrink

    tally, started, shown = Tally(), time.monotonic(), 0.0
    for seed in seeds:
        if time.monotonic() - started > seconds:
            break
        program = generate(seed)
        if compiled and len(program.source()) > LONGEST_COMPILED:
            continue
        kind, report = verdict(program, compiled, dtype)
        if kind == "passed":
            tally.passed += 1
        elif kind == "rejected":
            tally.rejected += 1
        else:
            counter = tally.refused if kind == "refused" else tally.failed
            label = report.splitlines()[0][:90] if kind == "refused" else kind
            counter[label] += 1
            if counter[label] <= (1 if kind == "refused" else 5):
                smaller = shrink(
                    program,
                    lambda p, k=kind, w=label: _same(verdict(p, compiled, dtype), k, w),
                    shrink_seconds,
                )
                tally.files.append(
                    save(
                        smaller, kind, verdict(smaller, compiled, dtype)[1] or report, folder, compiled, dtype
                    )
                )
                print(f"\n{kind}: {tally.files[-1]}", flush=True)
        if time.monotonic() - shown > 5:
            shown = time.monotonic()
            print(tally.line(started), flush=True)
    print(tally.line(started), flush=True)
    return tally


def _same(outcome: tuple[str, str], kind: str, label: str) -> bool:
    """Whether a shrunk program fails the same way (for refusals: with the same first line)."""
    return outcome[0] == kind and (kind != "refused" or outcome[1].splitlines()[0][:90] == label)


def main(argv: list[str] | None = None) -> int:
    """The command line; exit status 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="adjit fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--step", type=int, default=1, help="distance of seeds, for several processes side by side"
    )
    parser.add_argument("--count", type=int, default=10**9, help="stop after so many programs")
    parser.add_argument("--compiled", action="store_true", help="compile with Numba")
    parser.add_argument(
        "--float32", action="store_true", help="arrays in single precision; implies --compiled"
    )
    parser.add_argument("--folder", type=Path, default=Path("fuzz-failures"))
    options = parser.parse_args(argv)
    options.compiled |= options.float32
    if not options.compiled:
        os.environ["ADJIT_UNCOMPILED"] = "1"
    seeds = iter(range(options.seed, options.seed + options.step * options.count, options.step))
    dtype = "float32" if options.float32 else "float64"
    tally = fuzz(seeds, options.minutes * 60, options.compiled, options.folder, dtype)
    for what, count in tally.refused.most_common():
        print(f"refused {count} times: {what}")
    for path in tally.files:
        print(path)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
