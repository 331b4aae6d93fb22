"""The table of parallel programs: gradients on one thread and two, beside their forward and JAX's gradients.

    python benchmarks/parallel.py [--quick] [--json FILE] [--only TEXT]

Gradients are taken in place (`aj.autodiff`), so that no call pays for new arrays; they come with the value. JAX's
(`jax.grad`) come without it, in new arrays, and so do those of `aj.grad` ("alone", on two threads), which JAX's are
compared with. Smallest wall times of calls in turns. A gradient must have the same bits on one thread, on two, and
when it is called again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numba
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import adjit as aj
import measure
from arrays import two_threads
from parallel_programs import PROGRAMS, ParallelProgram

LAUNCH = 2.0
"""Microseconds of a launch of 32 x 32 items at most."""


@dataclass
class Row:
    """One program's times in milliseconds, by what ran and on how many threads."""

    name: str
    times: dict[str, float] = field(default_factory=dict)
    same_bits: bool = True
    right: bool | None = None
    bars: dict[str, tuple[float, float, bool]] = field(default_factory=dict)
    """Measured, bar, met."""


def measured(program: ParallelProgram, quick: bool, seconds: float) -> Row:
    """Compile, check and time one program."""
    arguments = program.inputs(np.random.default_rng(0), quick)
    shadows = {k: np.zeros_like(arguments[k]) for k in program.wrt}
    forward = aj.jit(program.f)

    def fresh() -> tuple[Any, ...]:
        return tuple(a.copy() if k in program.wrt else a for k, a in enumerate(arguments))

    state = fresh()

    def reset() -> None:
        for k in program.wrt:
            state[k][...] = arguments[k]

    def gradient() -> Any:
        given: list[Any] = [aj.Const(a) for a in state]
        for k, shadow in shadows.items():
            shadow[...] = 0.0
            given[k] = aj.Duplicated(state[k], shadow)
        return aj.autodiff(aj.Reverse, program.f, *given)

    row = Row(program.name)
    bits: list[bytes] = []
    for threads in (1, 2, 2):
        numba.set_num_threads(threads)
        reset()
        gradient()
        bits.append(b"".join(s.tobytes() for s in shadows.values()))
    row.same_bits = len(set(bits)) == 1
    calls: dict[str, Callable[[], Any]] = {}

    def on(threads: int, call: Callable[[], Any]) -> Any:
        numba.set_num_threads(threads)
        return call()

    for threads in (1, 2):
        calls[f"forward, {threads}"] = partial(on, threads, lambda: forward(*state))
        calls[f"gradient, {threads}"] = partial(on, threads, gradient)
    if program.jax is not None:
        alone = aj.grad(program.f, wrt=program.wrt)
        calls["alone, 2"] = partial(on, 2, lambda: alone(*state))
        calls["JAX gradient"] = _jax(program, arguments)
        right = calls["JAX gradient"]()
        pairs = zip(shadows.values(), right, strict=True)
        loose = 1e-3 if arguments[0].dtype == np.float32 else 1e-9
        row.right = all(np.max(np.abs(a - b)) <= loose * max(1.0, float(np.max(np.abs(b)))) for a, b in pairs)
    row.times = {name: 1e3 * pair[0] for name, pair in measure.fastest(calls, seconds).items()}
    _hold(program, row, arguments)
    return row


def _jax(program: ParallelProgram, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    static = [k for k, a in enumerate(arguments) if isinstance(a, int)]
    assert program.jax is not None
    f = jax.jit(jax.grad(program.jax, argnums=program.wrt), static_argnums=static)
    placed = [a if k in static else jax.device_put(a) for k, a in enumerate(arguments)]
    return lambda: [np.asarray(a) for a in jax.block_until_ready(f(*placed))]


def _hold(program: ParallelProgram, row: Row, arguments: tuple[Any, ...]) -> None:
    t = row.times
    forward, gradient = min(t["forward, 1"], t["forward, 2"]), min(t["gradient, 1"], t["gradient, 2"])
    if program.ratio is not None:
        ratio = gradient / forward
        row.bars["gradient / forward"] = (ratio, program.ratio, ratio <= program.ratio)
    if program.scaling is not None:
        scaling = t["gradient, 1"] / t["gradient, 2"]
        row.bars["one thread / two"] = (scaling, program.scaling, scaling >= program.scaling)
    if program.ahead is not None:
        ahead = t["JAX gradient"] / t["alone, 2"]
        row.bars["JAX / ours"] = (ahead, program.ahead, ahead >= program.ahead)
    if " 32," in program.name:
        launch = 1e3 * forward / (2 * arguments[-1])
        row.bars["us a launch"] = (launch, LAUNCH, launch <= LAUNCH)


def table(rows: list[Row]) -> Table:
    """The rows as people read them: green within the bar, red over it."""
    shown = Table(title="adjit parallel benchmark: milliseconds, threads after the comma")
    shown.add_column("program")
    names = ("forward, 1", "forward, 2", "gradient, 1", "gradient, 2", "alone, 2", "JAX gradient")
    for name in (*names, "bars (measured, bar)", "bits", "as JAX"):
        shown.add_column(name, justify="left" if name.startswith("bars") else "right")
    for row in rows:
        bars = ", ".join(
            f"[{'green' if met else 'red'}]{what} {x:.3g} ({bar:g})[/]"
            for what, (x, bar, met) in row.bars.items()
        )
        shown.add_row(
            row.name,
            *(f"{row.times[name]:.3g}" if name in row.times else "" for name in names),
            bars,
            "same" if row.same_bits else "[red]differ[/]",
            {None: "", True: "yes", False: "[red]no[/]"}[row.right],
        )
    return shown


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes.")] = False,
    json_file: Annotated[Path, typer.Option("--json", help="Where the numbers go.")] = Path(
        "build/parallel.json"
    ),
    only: Annotated[str, typer.Option(help="Programs with this in their name.")] = "",
    seconds: Annotated[float, typer.Option(help="For how long a program is timed.")] = 8.0,
) -> None:
    """Measure, print the table, write the JSON."""
    two_threads()
    console = Console(width=170)
    rows = [
        measured(program, quick, min(seconds, 1.0) if quick else seconds)
        for program in PROGRAMS
        if only in program.name
    ]
    console.print(table(rows))
    json_file.parent.mkdir(parents=True, exist_ok=True)
    json_file.write_text(json.dumps([asdict(row) for row in rows], indent=2))
    console.print(f"written: {json_file}")


if __name__ == "__main__":
    typer.run(main)
