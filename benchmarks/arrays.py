"""The table of array programs: gradients beside JAX's, the compiled function beside plain Numba.

    python benchmarks/arrays.py [--quick] [--json FILE] [--only PROGRAM]

Two threads for everybody: JAX takes what it finds, and adjit gets the stencils as `@njit(parallel=True)`, whose array
statements run on threads. The column "njit" is the same source compiled by plain `@njit`, on one thread. Each program
runs in a process of its own: compiled, checked in value and gradient against JAX's forms, then timed in turns. The
smallest time of each counts, and of several JAX forms the fastest.

JAX has two kinds of forms of a recurrence, each with a column of its own: "scan+masks", the loop program transliterated
(`masked.py`), and "arrays", other algorithms for the same value, in steps of whole arrays (`recurrences.py`).
The bar of the recurrences' geometric mean holds against scan+masks, that of each program against the faster of the two.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import typer
from numba import njit
from numba.core.runtime import _nrt_python, rtsys
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import adjit as aj
import measure
import products
import recurrences
import stencils
from array_program import ArrayProgram, Form

PROGRAMS = {
    program.name: program
    for program in (*recurrences.PROGRAMS, *stencils.PROGRAMS, *products.PROGRAMS)
}  # fmt: skip
TOLERANCE = 1e-9
SCAN = "scan+masks"
GROUPS = {"recurrence": 1.0, "stencil": 2.0, "product": 1 / 1.2}
"""How many times ahead of JAX each program of a group must be."""
RECURRENCES_MEAN = 30.0
"""How many times ahead of JAX's scans with masks the recurrences must be."""
RATIO_EACH, RATIO_MEAN = 5.0, 3.0
NEVER_SLOWER = 1 / 1.1
STRETCH = 4.0


@dataclass
class Row:
    """One program's line; a property is `None` where a part of it was refused, wrong or crashed."""

    what: str
    group: str
    jit_bar: float
    form: str = ""
    """The fastest of JAX's forms in whole arrays."""
    wrong: list[str] = field(default_factory=list)
    """Why a number is missing."""
    wall: dict[str, float] = field(default_factory=dict)
    """Milliseconds of every call: `njit`, `jit`, `gradient` and JAX's forms."""
    processor: dict[str, float] = field(default_factory=dict)
    """Processor milliseconds, all threads together."""
    allocations: dict[str, int] = field(default_factory=dict)
    """Arrays that `njit` and `jit` allocate in one step."""
    statements: int = 0

    @property
    def njit(self) -> float | None:
        return self.wall.get("njit")

    @property
    def jit(self) -> float | None:
        return self.wall.get("jit")

    @property
    def gradient(self) -> float | None:
        return self.wall.get("gradient")

    @property
    def arrays(self) -> float | None:
        """JAX's fastest form in whole arrays."""
        return self.wall.get(self.form)

    @property
    def scan(self) -> float | None:
        """JAX's scan with masks."""
        return self.wall.get(SCAN)

    @property
    def jit_ahead(self) -> float | None:
        """Plain Numba's time over ours."""
        return _ratio(self.njit, self.jit)

    @property
    def over_primal(self) -> float | None:
        """Gradient over compiled primal."""
        return _ratio(self.gradient, self.jit)

    @property
    def ahead_of_arrays(self) -> float | None:
        """JAX's gradient over ours, whole arrays."""
        return _ratio(self.arrays, self.gradient)

    @property
    def ahead_of_scan(self) -> float | None:
        """JAX's gradient over ours, scan with masks."""
        return _ratio(self.scan, self.gradient)

    @property
    def ahead(self) -> float | None:
        """JAX's fastest gradient over ours."""
        known = [x for x in (self.ahead_of_arrays, self.ahead_of_scan) if x is not None]
        return min(known, default=None)


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one / other


def measured(name: str, quick: bool, seconds: float, ours: bool = True) -> Row:
    """Compile, check and time one program; without `ours`, only what others make of it."""
    jax.config.update("jax_enable_x64", True)
    program = PROGRAMS[name]
    size = program.quick if quick else program.full
    arguments = program.inputs(*size)
    row = Row(f"{name} {'x'.join(map(str, size))}", program.group, jit_bar=program.jit_bar)
    calls = _jax_calls(program, arguments)
    calls["njit"] = partial(njit(program.loss), *arguments)
    if ours:
        given = njit(parallel=True)(program.loss) if program.threads else program.loss
        calls["jit"] = partial(aj.jit(given), *arguments)
        calls["gradient"] = partial(aj.value_and_grad(given, wrt=program.wrt), *arguments)
    results: dict[str, Any] = {}
    for key, call in calls.items():
        try:
            results[key] = call()
        except aj.AdjitError as error:
            row.wrong.append(f"{key} is refused: {str(error).strip().splitlines()[0]}")
    for key in _wrong(results, program):
        row.wrong.append(f"{key} is wrong")
        del results[key]
    right = {key: calls[key] for key in results}
    times = measure.fastest(right, seconds)
    row.wall, row.processor = ({key: 1e3 * pair[i] for key, pair in times.items()} for i in (0, 1))
    row.form = min(program.forms, default="", key=lambda form: row.wall.get(form, math.inf))
    if program.statements and "jit" in right:
        row.statements = program.statements
        row.allocations = {key: _allocations(calls[key].func, arguments) for key in ("njit", "jit")}
    return row


def _jax_calls(program: ArrayProgram, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """JAX's forms, compiled with whole numbers as constants, their arrays in place, blocking."""
    static = [i for i, value in enumerate(arguments) if isinstance(value, int)]
    placed = [value if i in static else jax.device_put(value) for i, value in enumerate(arguments)]

    def call(form: Form) -> Any:
        f = jax.jit(jax.value_and_grad(form, argnums=program.wrt), static_argnums=static)
        return lambda: jax.block_until_ready(f(*placed))

    return {name: call(form) for name, form in _forms(program).items()}


def _forms(program: ArrayProgram) -> dict[str, Form]:
    """Every JAX form by name."""
    return program.forms | ({} if program.scan is None else {SCAN: program.scan})


def _wrong(results: dict[str, Any], program: ArrayProgram) -> list[str]:
    """What does not agree with plain Numba's value, and with the first JAX form's gradient."""
    value, gradient = results["njit"], results[next(iter(_forms(program)))][1]

    def agree(one: Any, other: Any) -> bool:
        scale = np.max(np.abs(other))
        return bool(np.max(np.abs(np.asarray(one) - np.asarray(other))) <= TOLERANCE * scale)

    def right(key: str) -> bool:
        if key in ("njit", "jit"):
            return agree(results[key], value)
        found = results[key][1] if isinstance(results[key][1], tuple) else (results[key][1],)
        pairs = zip(found, gradient, strict=True)
        return agree(results[key][0], value) and all(agree(*pair) for pair in pairs)

    return [key for key in results if not right(key)]


def _allocations(f: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    """Arrays that Numba's code allocates in one step (in the whole call, where no last argument counts steps)."""

    def made(*values: Any) -> int:
        before = rtsys.get_allocation_stats().alloc
        f(*values)
        return rtsys.get_allocation_stats().alloc - before

    _nrt_python.memsys_enable_stats()
    if not isinstance(arguments[-1], int):
        return made(*arguments) - len(arguments)  # each array argument counts as one
    return made(*arguments[:-1], 2) - made(*arguments[:-1], 1)


@dataclass(frozen=True)
class Bar:
    """One bar and what was measured."""

    what: str
    measured: str
    met: bool
    misses: str = ""


def bars(rows: list[Row]) -> list[Bar]:
    """The bars of the table; a program without a number misses its bar."""
    of = {group: [row for row in rows if row.group == group] for group in GROUPS}
    found = [
        _each(
            f"{group}: JAX's gradient over ours, each", members, lambda row: row.ahead, at_least=GROUPS[group]
        )
        for group, members in of.items()
        if members
    ]
    if of["stencil"]:
        found.append(_each("stencil, stretch", of["stencil"], lambda row: row.ahead, at_least=STRETCH))
    if of["recurrence"]:
        mean = _mean([row.ahead_of_scan for row in of["recurrence"]])
        what = f"recurrence: JAX's {SCAN} over ours, geometric mean at least {RECURRENCES_MEAN:g}"
        found.append(Bar(what, f"{mean:.3g}", mean >= RECURRENCES_MEAN))
    fast = [row for row in rows if row.jit_bar > 1.0]
    if fast:
        found.append(
            _each("njit over aj.jit, slices", fast, lambda row: row.jit_ahead, at_least=fast[0].jit_bar)
        )
    found.append(_each("njit over aj.jit, each", rows, lambda row: row.jit_ahead, at_least=NEVER_SLOWER))
    found.append(_each("gradient over aj.jit, each", rows, lambda row: row.over_primal, at_most=RATIO_EACH))
    mean = _mean([row.over_primal for row in rows])
    found.append(
        Bar(f"gradient over aj.jit: geometric mean at most {RATIO_MEAN:g}", f"{mean:.3g}", mean <= RATIO_MEAN)
    )
    counted = [row for row in rows if row.allocations]
    over = [row for row in counted if row.allocations["jit"] > row.statements]
    if counted:
        most = max(row.allocations["jit"] / row.statements for row in counted)
        misses = ", ".join(f"{row.what} {row.allocations['jit']} of {row.statements}" for row in over)
        found.append(Bar("arrays allocated a statement, at most 1", f"{most:.3g}", not over, misses))
    return found


def _each(
    what: str,
    rows: list[Row],
    number: Callable[[Row], float | None],
    at_least: float = 0.0,
    at_most: float = math.inf,
) -> Bar:
    numbers = {row.what: number(row) for row in rows}
    missed = {what: x for what, x in numbers.items() if x is None or not at_least <= x <= at_most}
    known = [x for x in numbers.values() if x is not None]
    limit = f"at least {at_least:.3g}" if at_least else f"at most {at_most:g}"
    worst = (min if at_least else max)(known, default=math.nan)
    misses = ", ".join(f"{what} {'none' if x is None else f'{x:.3g}'}" for what, x in missed.items())
    return Bar(f"{what} {limit}", f"{worst:.3g}", not missed, misses)


def _mean(numbers: list[float | None]) -> float:
    """The geometric mean; NaN, which meets no bar, if a program has no number."""
    return math.nan if None in numbers else math.exp(sum(math.log(x) for x in numbers if x) / len(numbers))


def table(rows: list[Row]) -> Table:
    """The rows as people read them: green within the bar, red over it."""
    shown = Table(title="adjit array benchmark: milliseconds, two threads, float64")
    shown.add_column("program")
    titles = (
        "njit",
        "aj.jit",
        "x",
        "gradient",
        "/ aj.jit",
        f"JAX {SCAN}",
        "x ahead",
        "JAX arrays",
        "x ahead",
    )
    for title in titles:
        shown.add_column(title, justify="right")
    for title in ("JAX's form", "arrays a step: njit, aj.jit", "note"):
        shown.add_column(title, style="dim")
    for row in rows:
        made = (
            f"{row.allocations['njit']}, {row.allocations['jit']} of {row.statements}"
            if row.allocations
            else ""
        )
        shown.add_row(
            row.what,
            _number(row.njit),
            _number(row.jit),
            _number(row.jit_ahead, at_least=row.jit_bar),
            _number(row.gradient),
            _number(row.over_primal, at_most=RATIO_EACH),
            *_beside(
                row.scan, row.ahead_of_scan, GROUPS[row.group], SCAN in row.wall or row.group == "recurrence"
            ),
            *_beside(row.arrays, row.ahead_of_arrays, GROUPS[row.group], bool(row.form)),
            row.form,
            made,
            "; ".join(row.wrong),
        )
    return shown


def _beside(jax: float | None, ahead: float | None, bar: float, there: bool) -> tuple[str, str]:
    """JAX's time and how far ahead of it ours is; nothing where JAX has no such form."""
    return (_number(jax), _number(ahead, at_least=bar)) if there else ("", "")


def _number(x: float | None, at_least: float = 0.0, at_most: float = math.inf) -> str:
    if x is None:
        return "[red]none[/]"
    if at_least == 0.0 and at_most == math.inf:
        return f"{x:.3g}"
    return f"[{'green' if at_least <= x <= at_most else 'red'}]{x:.3g}[/]"


def bar_table(found: list[Bar]) -> Table:
    """Each bar, met or missed, and by whom."""
    shown = Table(title="bars")
    for title in ("bar", "measured", "", "missed by"):
        shown.add_column(title)
    for bar in found:
        shown.add_row(bar.what, bar.measured, "[green]met[/]" if bar.met else "[red]missed[/]", bar.misses)
    return shown


def in_its_own_process(name: str, quick: bool, seconds: float) -> Row:
    """`measured` in a fresh process, so that a crash costs our columns of one row."""

    def run(ours: bool) -> Row:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(measured, name, quick, seconds, ours).result()

    try:
        return run(ours=True)
    except BrokenProcessPool:
        row = run(ours=False)
        row.wrong.append("adjit's code crashed the process")
        return row


def two_threads() -> None:
    """What this process and its children may use: JAX takes its number of threads from the processors it may run on."""
    os.environ |= {f"{library}_NUM_THREADS": "2" for library in ("NUMBA", "OMP", "OPENBLAS", "MKL")}
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes.")] = False,
    json_file: Annotated[Path, typer.Option("--json", help="Where the numbers go.")] = Path(
        "build/arrays.json"
    ),
    only: Annotated[str | None, typer.Option(help="One program, and nothing else.")] = None,
    seconds: Annotated[float, typer.Option(help="For how long a program is timed.")] = 10.0,
) -> None:
    """Measure, print the tables, write the JSON."""
    two_threads()
    console = Console(width=None if sys.stdout.isatty() else 210)
    rows: list[Row] = []
    with Progress(console=console, transient=True) as progress:
        names = [only] if only else list(PROGRAMS)
        task = progress.add_task("measuring", total=len(names))
        for name in names:
            progress.update(task, description=name)
            rows.append(in_its_own_process(name, quick, min(seconds, 1.0) if quick else seconds))
            progress.advance(task)
    found = bars(rows)
    console.print(table(rows))
    console.print(bar_table(found))
    versions = {name: version(name) for name in ("adjit", "numba", "numpy", "jax")}
    machine = {"machine": platform.processor() or platform.machine(), "python": platform.python_version()}
    json_file.parent.mkdir(parents=True, exist_ok=True)
    written = {
        "rows": [asdict(row) for row in rows],
        "bars": [asdict(bar) for bar in found],
        **machine,
        **versions,
    }
    json_file.write_text(json.dumps(written, indent=2))
    console.print(f"written: {json_file}")


if __name__ == "__main__":
    typer.run(main)
