"""The table of GPU programs: times on a CUDA device through CuPy, beside JAX's on the same device.

    python benchmarks/gpu.py [--quick] [--json FILE] [--only TEXT]

Smallest wall times of calls that end with the device idle; host costs are means over many calls that are not waited
for. Gradients are held to central differences along one direction, and to a second run bit for bit.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import adjit as aj
import gpu_programs as programs


@dataclass
class Row:
    """One measurement. unit: of time and bars; note: what else was seen."""

    name: str
    time: float
    bar: float | None = None
    stretch: float | None = None
    jax: float | None = None
    unit: str = "ms"
    note: str = ""


class Bench:
    """The rows of a run."""

    def __init__(self, quick: bool, only: str):
        import cupy as cp

        self.cp, self.quick, self._only = cp, quick, only
        self.rows: list[Row] = []

    def wants(self, name: str) -> bool:
        return self._only.lower() in name.lower()

    def ms(self, call: Callable[[], Any], rounds: int = 10) -> float:
        """Milliseconds of a call, the device idle before and after."""
        for _ in range(4):
            call()
        wait, best = self.cp.cuda.Device().synchronize, float("inf")
        for _ in range(2 if self.quick else rounds):
            wait()
            started = time.perf_counter()
            call()
            wait()
            best = min(best, time.perf_counter() - started)
        return best * 1e3

    def jax_ms(self, call: Callable[..., Any], *args: Any) -> float | None:
        """The same for a jitted function of JAX; None where JAX has no GPU."""
        import jax

        if jax.default_backend() != "gpu":
            return None
        jax.block_until_ready(call(*args))
        return self.ms(lambda: jax.block_until_ready(call(*args)))

    def host_us(self, call: Callable[[], Any], calls: int = 2000) -> float:
        """Microseconds of the host, the device not waited for."""
        for _ in range(100):
            call()
        best = float("inf")
        for _ in range(5):
            self.cp.cuda.Device().synchronize()
            started = time.perf_counter()
            for _ in range(calls // 5):
                call()
            best = min(best, (time.perf_counter() - started) / (calls // 5))
        return best * 1e6

    def difference(self, f: Callable[..., Any], x: Any, gradient: Any, step: float, *args: Any) -> float:
        """Relative error of the gradient against a central difference along one direction."""
        cp = self.cp
        d = cp.asarray(np.random.default_rng(9).uniform(-1, 1, x.shape), x.dtype)
        high, low = (float(f(x + s * d, *args)) for s in (step, -step))
        want, got = (high - low) / (2 * step), float(cp.sum((gradient * d).astype(np.float64)))
        return abs(want - got) / abs(want)


def red_black(b: Bench) -> None:
    """Sweeps in place; the gradient includes the value, and leaves u swept."""
    for n in (32, 1024) if b.quick else (32, 128, 512, 1024, 2048, 4096):
        name = f"red-black n={n}, K=100: gradient"
        if b.wants(name):
            b.rows.append(_red_black(b, n, name))


def _red_black(b: Bench, n: int, name: str) -> Row:
    import jax.numpy as jnp

    gradient, sweeps = aj.value_and_grad(programs.red_black, wrt=(0, 1)), aj.jit(programs.sweeps_only)
    loss = aj.jit(programs.red_black)
    rng, h = np.random.default_rng(n), 0.1
    u0, rhs = (b.cp.asarray(rng.uniform(-1, 1, (n, n))) for _ in range(2))
    u = u0.copy()
    forward = b.ms(lambda: sweeps(u, rhs, h, 100))
    taken = b.ms(lambda: gradient(u, rhs, h, 100))
    _, (du, df) = gradient(u0.copy(), rhs, h, 100)
    again = gradient(u0.copy(), rhs, h, 100)
    bits = bool((again[1][0] == du).all() and (again[1][1] == df).all())
    error = b.difference(lambda x: loss(x.copy(), rhs, h, 100), u0, du, 1e-4)
    jax = b.jax_ms(programs.jax_red_black(n, 100, h), jnp.asarray(u0.get()), jnp.asarray(rhs.get()))
    bar, stretch = {32: (0.7, 0.5), 1024: (5.0, 3.0)}.get(n, (None, None))
    note = f"forward {forward:.3f}, bits repeat: {'yes' if bits else 'NO'}, differences {error:.0e}"
    return Row(name, taken, bar, stretch, jax, note=note)


def bandwidth(b: Bench) -> None:
    """Bytes of state that a half sweep must move (u read and written once, f once), over what a copy moves."""
    cp, n = b.cp, 2048 if b.quick else 8192
    name = f"red-black n={n}: half sweep, share of a copy's bandwidth"
    if not b.wants(name):
        return
    u, rhs = cp.random.rand(n, n), cp.random.rand(n, n)
    source = cp.ones(3 * n * n)
    target = cp.empty_like(source)
    copied = 2 * source.nbytes / (b.ms(lambda: cp.copyto(target, source)) * 1e-3)
    fwd = aj.jit(programs.sweeps_only)
    took = b.ms(lambda: fwd(u, rhs, 0.1, 10)) * 1e-3 / 20
    moved = (2 * u.nbytes + rhs.nbytes) / took
    note = f"{moved / 1e12:.2f} of {copied / 1e12:.2f} TB/s"
    b.rows.append(Row(name, 100 * moved / copied, 70, unit="% (at least)", note=note))


def total_variation(b: Bench) -> None:
    """An image in float32, by prange loops."""
    import jax.numpy as jnp

    cp, n = b.cp, 2048 if b.quick else 16384
    eps, x = np.float32(1e-6), b.cp.random.rand(n, n, dtype=np.float32)
    value, grad = aj.jit(programs.total_variation), aj.grad(programs.total_variation)
    jax_value, jax_grad = programs.jax_total_variation()
    given = jnp.asarray(x.get())
    if b.wants("TV value"):
        b.rows.append(
            Row(f"TV value {n}^2", b.ms(lambda: value(x, eps)), 0.5, 0.3, b.jax_ms(jax_value, given))
        )
    if b.wants("TV gradient"):
        small = cp.random.rand(64, 64).astype(np.float32)
        wide = small.astype(np.float64)
        error = float(abs(grad(small, eps) - aj.grad(programs.total_variation)(wide, 1e-6)).max())
        bits = bool((grad(x, eps) == grad(x, eps)).all())
        note = f"bits repeat: {'yes' if bits else 'NO'}, off float64 by {error:.0e}"
        taken = b.ms(lambda: grad(x, eps))
        b.rows.append(Row(f"TV gradient {n}^2", taken, 1.2, 0.6, b.jax_ms(jax_grad, given), note=note))


def particles(b: Bench) -> None:
    """Smoothed particles in float32, the cell list given."""
    before = None
    for n in (10_000, 100_000) if b.quick else (1_000_000, 10_000_000):
        name = f"SPH N={n:.0e}: density gradient"
        if b.wants(name):
            b.rows.append(_particles(b, n, name, before))
            before = b.rows[-1].time


def _particles(b: Bench, n: int, name: str, before: float | None) -> Row:
    grad = aj.grad(programs.density_loss)

    def placed(given: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(b.cp.asarray(a) if isinstance(a, np.ndarray) else a for a in given)

    given = placed(programs.particles(n))
    taken = b.ms(lambda: grad(*given))
    few = programs.particles(2000)
    wide = [np.float64(a) if isinstance(a, np.floating) else a for a in few]
    want = grad(few[0].astype(np.float64), *wide[1:])
    error = float(abs(grad(*placed(few)).get() - want).max() / abs(want).max())
    finite = bool(b.cp.isfinite(grad(*given)).all())
    linear = "" if before is None else f", {taken / before:.1f} times the row above"
    note = f"finite: {'yes' if finite else 'NO'}, off float64 by {error:.0e}{linear}"
    bars = (1.2, 0.8) if n == 1_000_000 else (None, None)
    return Row(name, taken, *bars, note=note)


@aj.kernel
def _touch(u, c):
    i = aj.index()
    u[i] = u[i] * c


def _many(u):
    for _ in range(500):
        _touch(u, 1.0, ndrange=len(u))


def launches(b: Bench) -> None:
    """What a launch costs the host: in a program that is not a graph, and from plain Python."""
    from adjit.runtime.cuda import program

    u = b.cp.zeros(64)
    if b.wants("launch in a program"):
        kept, program.FEWEST = program.FEWEST, 10**9
        many = aj.jit(_many)
        b.rows.append(
            Row("launch in a program, no graph", b.host_us(lambda: many(u), 50) / 500, 8, 5, unit="us")
        )
        program.FEWEST = kept
    if b.wants("launch from Python"):
        taken = b.host_us(lambda: _touch(u, 1.0, ndrange=64))
        b.rows.append(
            Row("launch from Python", taken, unit="us", note="every check of the arguments included")
        )


def derivatives_at_once(b: Bench) -> None:
    """Sparse Jacobians of large arrays (JAX has none), dense ones beside JAX's `jacfwd`."""
    import jax
    import jax.numpy as jnp

    n = 10**5 if b.quick else 10**6
    side = int(n**0.5)
    for name, f, shape in (
        ("x**2", programs.squares, (n,)),
        ("five points", programs.neighbours, (side, side)),
    ):
        if b.wants(f"sparse jacobian {name}"):
            b.rows.append(_sparse(b, f"sparse jacobian {name}, n={n:.0e}", f, b.cp.random.rand(*shape)))
    if b.wants("gradient of sum"):
        x, grad = b.cp.random.rand(n), aj.grad(lambda x: np.sum(x))
        jax_ms = b.jax_ms(jax.jit(jax.grad(jnp.sum)), jnp.asarray(x.get()))
        b.rows.append(Row(f"gradient of sum, n={n:.0e}", b.ms(lambda: grad(x)), jax=jax_ms))
    for name, f, of_jax, most in (
        ("x**2", programs.squares, lambda x: x**2, 8192),
        ("all pairs", programs.all_pairs, programs.jax_all_pairs, 1024),
    ):
        for m in (256, 1024, 8192):
            if m <= (1024 if b.quick else most) and b.wants(f"jacfwd {name}, n={m}"):
                b.rows.append(_dense(b, f"jacfwd {name}, n={m}", f, of_jax, b.cp.random.rand(m)))


def _sparse(b: Bench, name: str, f: Callable[..., Any], x: Any) -> Row:
    jacobian = aj.jacobian(f, sparse=True)
    started = time.perf_counter()
    matrix = jacobian(x)
    b.cp.cuda.Device().synchronize()
    first = time.perf_counter() - started
    return Row(name, b.ms(lambda: jacobian(x)), note=f"{matrix.nnz} entries, first call {first:.1f} s")


def _dense(b: Bench, name: str, f: Callable[..., Any], of_jax: Callable[..., Any], x: Any) -> Row:
    import jax
    import jax.numpy as jnp

    jacobian, prepared = aj.jacfwd(f), aj.prepare(aj.jacfwd, f, x)
    given, jax_jacobian = jnp.asarray(x.get()), jax.jit(jax.jacfwd(of_jax))
    error = float(abs(jacobian(x).get() - np.asarray(jax_jacobian(given))).max())
    note = f"off JAX's by {error:.0e}; prepared {b.ms(lambda: prepared(x)):.3g}"
    return Row(name, b.ms(lambda: jacobian(x)), jax=b.jax_ms(jax_jacobian, given), note=note)


def table(rows: list[Row]) -> Table:
    """The rows, with bars and whether they were met."""
    shown = Table("program", "time", "bar", "stretch", "met", "JAX", "note")
    for r in rows:
        least = r.unit.startswith("%")
        met = "" if r.bar is None else "yes" if (r.time >= r.bar if least else r.time <= r.bar) else "MISSED"
        numbers = [f"{x:.3g}" if x is not None else "" for x in (r.bar, r.stretch, r.jax)]
        shown.add_row(r.name, f"{r.time:.3g} {r.unit}", *numbers[:2], met, numbers[2], r.note)
    return shown


def main(
    quick: Annotated[bool, typer.Option(help="Small sizes, few rounds.")] = False,
    only: Annotated[str, typer.Option(help="Rows whose name has this text.")] = "",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the rows there as well.")] = None,
) -> None:
    """Measure and print the table."""
    import jax

    jax.config.update("jax_enable_x64", True)
    bench = Bench(quick, only)
    cp = bench.cp
    card = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    versions = f"CuPy {cp.__version__}, CUDA {cp.cuda.runtime.runtimeGetVersion()}, JAX {jax.__version__}"
    console = Console(width=190)
    console.print(f"{card}; {versions}; Python {platform.python_version()}, NumPy {np.__version__}")
    for part in (red_black, bandwidth, total_variation, particles, launches, derivatives_at_once):
        try:
            part(bench)
        except Exception as error:
            console.print(f"{part.__name__}: {type(error).__name__}: {error}")
    console.print(table(bench.rows))
    if json_file is not None:
        json_file.write_text(json.dumps([asdict(r) for r in bench.rows], indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
