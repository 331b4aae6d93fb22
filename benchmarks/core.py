"""The speed table: what a gradient costs beside the plain function, in time and memory.

    python benchmarks/core.py [--quick] [--enzyme DIR] [--json FILE] [--only PROGRAM]

Times are ratios within one run, medians of interleaved calls. Hand-written adjoints (hand.py) stand beside ours, and
real Enzyme on C programs if `--enzyme` names a folder with its toolchain.
"""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import adjit as aj
import enzyme as real_enzyme
import hand
import measure
from programs import PROGRAMS, Program, sum_of_squares

ROUNDS = 7
MB = 1e6


@dataclass
class Row:
    """One line of the table; `None` where a column has nothing to say."""

    what: str
    unit: str
    adjit: float
    bar: float | None = None
    stretch: float | None = None
    hand: float | None = None
    enzyme: float | None = None
    note: str = ""


def ratios(program: Program, size: tuple[int, ...], advance: Any) -> Row:
    """Gradient over forward, ours and by hand."""
    arguments = program.inputs(*size)
    gradient = aj.value_and_grad(program.loss)
    calls = {
        "forward": lambda: program.loss(*arguments),
        "adjit": lambda: gradient(*arguments),
        "hand": lambda: hand.GENERATED[program.name](*arguments),
        "best": lambda: hand.BEST[program.name](*arguments),
    }
    seconds = measure.interleaved(calls, ROUNDS, advance)
    ratio = {name: taken / seconds["forward"] for name, taken in seconds.items()}
    return Row(
        f"{program.name} {'x'.join(map(str, size))}: gradient / forward", "", ratio["adjit"],
        program.bar, program.stretch, min(ratio["hand"], ratio["best"]),
        note=f"forward {1e3 * seconds['forward']:.4g} ms",
    )  # fmt: skip


def memory(cache: Path, quick: bool) -> Iterator[Row]:
    """Records and peaks, each call in a process of its own."""

    def extra(name: str, *size: int) -> float:
        gradient = measure.in_process("peak", "gradient", name, *size, cache=cache)["bytes"]
        return gradient - measure.in_process("peak", "forward", name, *size, cache=cache)["bytes"]

    n, T = 1000, 4000 if quick else 10_000
    yield Row(
        f"burgers {n}x{T}: record", "doubles an update", extra("burgers", n, T) / (8 * (n - 1) * T), 1.0, 1.0
    )
    N = 10_000 if quick else 100_000
    yield Row(
        f"particles {N}: peak over forward's", "MB", extra("particles", N) / MB, 10 * N / 1e5, 7 * N / 1e5
    )
    n = 256 if quick else 512
    for K in (10, 100) if quick else (10, 100, 1000):
        used = measure.in_process("peak", "gradient", "lexicographic", n, K, cache=cache)["bytes"]
        yield Row(
            f"lexicographic {n}x{K}: peak of the gradient", "n x n arrays", used / (8 * n * n), 3.0, 3.0
        )


def first_calls(names: list[str]) -> Iterator[Row]:
    """The first gradient of a fresh process: with an empty disk cache, then with that process's cache."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            cold = measure.in_process("first", name, cache=Path(folder))
            note = f"wall {cold['wall']:.2f} s from the start of the process"
            yield Row(f"{name}: first gradient, cold", "s", cold["seconds"], 6.0, 3.0, note=note)
            runs = (measure.in_process("first", name, cache=Path(folder)) for _ in range(3))
            warm = min(runs, key=lambda run: run["from_start"])
            note = f"the call itself {warm['seconds']:.2f} s, wall {warm['wall']:.2f} s"
            what = f"{name}: first gradient, second process, from its start"
            yield Row(what, "s", warm["from_start"], 1.5, 1.0, note=note)


def import_time(cache: Path) -> Row:
    """What `import adjit` adds."""
    runs = [measure.in_process("import", cache=cache) for _ in range(5)]
    seconds, with_grad = (min(run[key] for run in runs) for key in ("seconds", "with_grad"))
    note = f"{with_grad:.3f} s with what aj.grad loads"
    return Row("import adjit over import numba", "s", seconds, 0.15, 0.05, note=note)


def calls(cache: Path) -> Iterator[Row]:
    """What a call costs beside the computing: dispatch and allocation."""
    x, dx = np.ones(10), np.zeros(10)
    gradient = aj.grad(sum_of_squares)
    yield Row("call of a gradient on 10 elements", "us", 1e6 * measure.each(lambda: gradient(x)), 20.0)
    annotated = aj.Duplicated(x, dx)
    in_place = measure.each(lambda: aj.autodiff(aj.Reverse, sum_of_squares, annotated))
    yield Row("call of autodiff on 10 elements", "us", 1e6 * in_place, 20.0)
    used = measure.in_process("allocations", cache=cache)
    over = (used["gradient"] - used["result"]) / 1e3
    yield Row("later gradient call: allocates over its result", "kB", over, 4.0)
    yield Row("later autodiff call: allocates", "kB", used["autodiff"] / 1e3, 4.0)


def table(rows: list[Row]) -> Table:
    """The rows as people read them: green within the bar, red over it."""
    shown = Table(title="adjit core benchmark")
    shown.add_column("what")
    for title in ("adjit", "bar", "stretch", "hand (Numba)", "Enzyme (C)"):
        shown.add_column(title, justify="right")
    shown.add_column("note", style="dim")
    for row in rows:
        colour = "green" if row.bar is None or row.adjit <= row.bar * 1.005 else "red"
        ours = f"[{colour}]{row.adjit:.3g}[/] {row.unit}".strip()
        others = [
            "" if value is None else f"{value:.3g}" for value in (row.bar, row.stretch, row.hand, row.enzyme)
        ]
        shown.add_row(row.what, ours, *others, row.note)
    return shown


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: a minute in place of ten.")] = False,
    enzyme: Annotated[
        Path | None, typer.Option(help="Folder with real Enzyme's programs and toolchain.")
    ] = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where the numbers go.")] = Path(
        "build/core.json"
    ),
    only: Annotated[str | None, typer.Option(help="One program's ratio, and nothing else.")] = None,
) -> None:
    """Measure, print the table, write the JSON."""
    console = Console()
    programs = [PROGRAMS[only]] if only else list(PROGRAMS.values())
    sizes = {program.name: program.quick if quick else program.full for program in programs}
    rows: list[Row] = []
    with Progress(console=console, transient=True) as progress, tempfile.TemporaryDirectory() as folder:
        steps = len(programs) * 4 * (ROUNDS + 1) + (len(programs) if enzyme else 0) + (0 if only else 18)
        task = progress.add_task("measuring", total=steps)

        def advance() -> None:
            progress.advance(task)

        for program in programs:
            progress.update(task, description=program.name)
            rows.append(ratios(program, sizes[program.name], advance))
        if enzyme:
            progress.update(task, description="real Enzyme")
            found = real_enzyme.measure(enzyme, {name: size[0] for name, size in sizes.items()}, advance)
            for row, program in zip(rows, programs, strict=True):
                row.enzyme = found[program.name]["ratio"]
        if not only:
            progress.update(task, description="memory, first calls, dispatch")
            cache = Path(folder)
            measure.in_process("import", cache=cache)  # writes the bytecode that the others load
            for more in (
                memory(cache, quick),
                first_calls(list(sizes)),
                iter([import_time(cache)]),
                calls(cache),
            ):
                for row in more:
                    rows.append(row)
                    advance()
    console.print(table(rows))
    versions = {name: version(name) for name in ("adjit", "numba", "numpy")}
    json_file.parent.mkdir(parents=True, exist_ok=True)
    machine = {"machine": platform.processor() or platform.machine(), "python": platform.python_version()}
    json_file.write_text(json.dumps({"rows": [asdict(row) for row in rows], **machine, **versions}, indent=2))
    console.print(f"written: {json_file}")


if __name__ == "__main__":
    typer.run(main)
