"""`adjit fuzz`: random programs against every check."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from adjit.testing.fuzz import Outcome, Settings
from adjit.testing.workers import Workers


class Tally:
    """What a run has seen."""

    def __init__(self) -> None:
        self.passed, self.rejected = 0, 0
        self.refused: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.files: list[Path] = []
        self._started = time.monotonic()

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        if outcome.file is not None:
            self.files.append(outcome.file)
        if outcome.kind == "passed":
            self.passed += 1
        elif outcome.kind == "rejected":
            self.rejected += 1
        else:
            (self.failed if outcome.failed else self.refused)[outcome.label] += 1

    @property
    def checked(self) -> int:
        """Programs that were a fair test."""
        return self.passed + self.refused.total() + self.failed.total()

    @property
    def line(self) -> str:
        """One line of progress."""
        rate = 60 * self.checked / max(time.monotonic() - self._started, 1e-9)
        return (
            f"{rate:.0f} programs/min, {self.passed} passed, {self.refused.total()} refused, "
            f"{self.failed.total()} failed"
        )


def fuzz(
    minutes: Annotated[float, typer.Option(min=0.0, help="How long to run.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Number of the first program.")] = 0,
    count: Annotated[int | None, typer.Option(min=1, help="Stop after so many programs.")] = None,
    compiled: Annotated[bool, typer.Option("--compiled", help="Compile with Numba (slow).")] = False,
    boundscheck: Annotated[
        bool, typer.Option("--boundscheck", help="Compile with bounds checks; implies --compiled.")
    ] = False,
    float32: Annotated[
        bool, typer.Option("--float32", help="Arrays in single precision; implies --compiled.")
    ] = False,
    recursion: Annotated[
        bool, typer.Option("--recursion", help="Programs may call functions that call themselves.")
    ] = False,
    arrays: Annotated[
        bool, typer.Option("--arrays", help="Programs have statements of whole arrays.")
    ] = False,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="Programs have parallel loops and launch kernels.")
    ] = False,
    nested: Annotated[
        bool, typer.Option("--nested", help="Programs take derivatives inside, by every operator.")
    ] = False,
    kinds: Annotated[
        bool,
        typer.Option(
            "--kinds",
            help="Ranges as values, keyword calls, complex numbers, small integers, arrays without elements.",
        ),
    ] = False,
    small: Annotated[bool, typer.Option("--small", help="Programs of half as many statements.")] = False,
    folder: Annotated[Path, typer.Option(help="Where failures are written.")] = Path("fuzz-failures"),
    jobs: Annotated[int, typer.Option(min=1, help="Processes side by side.")] = 1,
) -> None:
    """Check random programs: values, gradients, second derivatives, layouts, every pass.

    Each failure is shrunk and written to the folder as a file that runs its checks. Exits with 1 if there was one.
    """
    if kinds and parallel:
        raise typer.BadParameter("--kinds and --parallel are programs of their own: give one of them")
    settings = Settings(
        seed=seed,
        count=count,
        seconds=60 * minutes,
        compiled=compiled or boundscheck or float32,
        boundscheck=boundscheck,
        dtype="float32" if float32 else "float64",
        recursion=recursion,
        small=small,
        arrays=arrays,
        parallel=parallel,
        nested=nested,
        kinds=kinds,
        folder=folder,
    )
    console, tally = Console(), Tally()
    columns = (SpinnerColumn(), BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    started = time.monotonic()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(tally.line, total=settings.seconds)
        for outcome in Workers(settings, jobs):
            tally.add(outcome)
            _show(progress, task, outcome, tally, min(time.monotonic() - started, settings.seconds))
    _summary(console, tally)
    if tally.failed:
        raise typer.Exit(1)


def _show(progress: Progress, task: TaskID, outcome: Outcome, tally: Tally, elapsed: float) -> None:
    if outcome.file is not None:
        progress.console.print(
            f"{outcome.kind}: {outcome.file}", markup=False, highlight=False, soft_wrap=True
        )
    progress.update(task, completed=elapsed, description=tally.line)


def _summary(console: Console, tally: Tally) -> None:
    console.print(
        f"{tally.checked} programs checked: {tally.line}; {tally.rejected} were no fair test.",
        highlight=False,
    )
    for title, counts in (("Failed", tally.failed), ("Refused", tally.refused)):
        if counts:
            table = Table("programs", "what", title=title, title_justify="left")
            for what, times in counts.most_common():
                table.add_row(str(times), what)
            console.print(table)
