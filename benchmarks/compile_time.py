"""How long the first call of a gradient takes for long functions, cut into pieces and whole, beside the plain function.

    python benchmarks/compile_time.py [--sizes 50,100,200,300] [--kinds simulation,straight] [--whole]

Each number is the processor time of a fresh process with an empty disk cache. `--whole` also measures functions that
are not cut (what adjit did before), which takes minutes at 300 statements. The time of a step says what pieces cost
when run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

STEPS = 200


def arguments(kind: str, steps: int) -> tuple[Any, ...]:
    """Small arrays, so that what a call of a piece costs can be seen."""
    import numpy as np

    draw = np.random.default_rng(0)
    if kind == "straight":
        return 0.5 * draw.random(8), steps
    return draw.random(16), draw.random(16), draw.random((16, 16)), 0.01, steps


def one(kind: str, statements: int, what: str) -> dict[str, float]:
    """Seconds of the first call (`plain`, `cut` or `whole`), and microseconds of a step afterwards."""
    import numba

    import adjit as aj
    import long_programs
    from adjit.codegen import outline

    if what == "whole":
        outline.LONG = sys.maxsize
    plain = numba.njit(getattr(long_programs, kind)(statements))
    active = (0,) if kind == "straight" else (0, 1, 2)
    call = plain if what == "plain" else aj.value_and_grad(plain, wrt=active)
    started = time.process_time()
    call(*arguments(kind, 1))
    first = time.process_time() - started
    inputs, taken = arguments(kind, STEPS), []
    for _ in range(20):
        started = time.perf_counter()
        call(*inputs)
        taken.append(time.perf_counter() - started)
    return {"first": first, "step": 1e6 * min(taken) / STEPS}


def measured(kind: str, statements: int, what: str) -> dict[str, float]:
    """`one` in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"ADJIT_CACHE_DIR": folder, "NUMBA_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).resolve()), "--one", f"{kind},{statements},{what}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(
    sizes: Annotated[str, typer.Option(help="Statements, separated by commas.")] = "50,100,200,300",
    kinds: Annotated[str, typer.Option(help="Kinds of programs.")] = "simulation,straight",
    whole: Annotated[bool, typer.Option("--whole", help="Also without cutting.")] = False,
    one_: Annotated[str, typer.Option("--one", hidden=True)] = "",
) -> None:
    """Measure and print the table."""
    if one_:
        kind, statements, what = one_.split(",")
        print(json.dumps(one(kind, int(statements), what)))
        return
    columns = ("plain", "whole", "cut") if whole else ("plain", "cut")
    table = Table(title="first call in s, later step in us")
    for title in ("program", "statements", *columns):
        table.add_column(title, justify="right")
    for kind in kinds.split(","):
        for size in sizes.split(","):
            rows = [measured(kind, int(size), what) for what in columns]
            cells = [f"{row['first']:.1f} s, {row['step']:.2f} us" for row in rows]
            table.add_row(kind, size, *cells)
            print(kind, size, *cells, file=sys.stderr, flush=True)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
