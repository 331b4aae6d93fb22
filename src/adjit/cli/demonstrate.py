"""What a demonstration measures and prints: value, gradient, finite differences, times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import adjit as aj
from adjit.cli.place import PLACES, Place

DIFFERENCES = 10
ROUNDS = 15


@dataclass(frozen=True)
class Program:
    """A scalar loss with arguments to try it on; it is differentiated with respect to the first, a float64 array."""

    title: str
    loss: Callable[..., float]
    arguments: tuple[Any, ...]
    step: float
    """Step of the central finite differences (unit of the first argument)."""
    device: str = "cpu"
    """Where it runs: "cpu", "cuda" or "opencl". On a device the loss is a plain function."""


@dataclass(frozen=True)
class Measured:
    """What a demonstration found; times in seconds, medians of interleaved calls. On the CPU those of the processor."""

    loss: float
    gradient_norm: float
    worst_difference: float
    """Largest relative error of the gradient against central differences, over ten entries."""
    forward_time: float
    gradient_time: float
    first_gradient_time: float
    """The first call, which compiles or loads from the cache."""


def demonstrate(program: Program, console: Console | None = None) -> Measured:
    """Measure a program with a progress display, and print the table.

    Raises: whatever `adjit` or the loss raises.
    """
    console = console or Console()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(program.title, total=2 + DIFFERENCES + ROUNDS)
        measured = measure(program, lambda: progress.advance(task))
    console.print(_table(program, measured))
    return measured


def measure(program: Program, advance: Callable[[], None] = lambda: None) -> Measured:
    """Everything that a demonstration prints; `advance` is called after each of its steps."""
    place = PLACES[program.device]()
    loss_of = program.loss if place.compiled else aj.jit(program.loss)
    gradient_of = aj.value_and_grad(program.loss)
    x = program.arguments[0]
    given = tuple(map(place.put, program.arguments))

    loss_of(*given)
    advance()
    started = time.perf_counter()
    loss, gradient = gradient_of(*given)
    gradient = place.get(gradient)
    first = time.perf_counter() - started
    advance()

    def moved_loss(place_in_x: tuple[Any, ...], step: float) -> float:
        moved = x.copy()
        moved[place_in_x] += step
        return float(loss_of(place.put(moved), *given[1:]))

    worst = 0.0
    for index in np.random.default_rng(1).choice(x.size, min(DIFFERENCES, x.size), replace=False):
        at = np.unravel_index(index, x.shape)
        expected = (moved_loss(at, program.step) - moved_loss(at, -program.step)) / (2 * program.step)
        worst = max(worst, abs(gradient[at] - expected) / max(abs(expected), np.finfo(float).tiny))
        advance()

    forward: list[float] = []
    reverse: list[float] = []
    for _ in range(ROUNDS):
        forward.append(_seconds(loss_of, given, place))
        reverse.append(_seconds(gradient_of, given, place))
        advance()
    return Measured(
        loss=float(loss),
        gradient_norm=float(np.linalg.norm(gradient)),
        worst_difference=float(worst),
        forward_time=statistics.median(forward),
        gradient_time=statistics.median(reverse),
        first_gradient_time=first,
    )


def _seconds(function: Callable[..., Any], arguments: tuple[Any, ...], place: Place) -> float:
    """The time of one call."""
    started = place.clock()
    function(*arguments)
    return place.clock() - started


def _table(program: Program, measured: Measured) -> Table:
    table = Table(title=program.title, title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("loss", f"{measured.loss:.10g}")
    table.add_row("gradient norm", f"{measured.gradient_norm:.10g}")
    table.add_row(
        f"worst relative error of {DIFFERENCES} finite differences", f"{measured.worst_difference:.1e}"
    )
    table.add_row("first gradient (compile or load)", f"{measured.first_gradient_time:.2f} s")
    table.add_row("forward", f"{1e3 * measured.forward_time:.3f} ms")
    table.add_row("gradient", f"{1e3 * measured.gradient_time:.3f} ms")
    table.add_row("gradient / forward", f"{measured.gradient_time / measured.forward_time:.2f}")
    return table
