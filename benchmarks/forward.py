"""The table of several derivatives at once: tangents and cotangents, Jacobians and Hessians beside JAX's, sparse
beside dense.

    python benchmarks/forward.py [--quick] [--json FILE]

One thread for adjit's programs; JAX takes what it finds. Calls of one row are timed in turns of a few milliseconds, and
the smallest mean of each counts. Every result is checked against JAX's or the dense one before anything is timed.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import adjit as aj
from adjit.api.pushes import COSTS, Program
from adjit.runtime.lanes import lanes_dtype
from adjit.runtime.widths import COSTS as SWEEPS

Times = dict[str, float]


def rosenbrock(x: np.ndarray) -> float:
    """The classical valley."""
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def rosenbrock_jax(x: Any) -> Any:
    """The same in whole arrays."""
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def burgers(u: np.ndarray) -> np.ndarray:
    """Fifty sweeps in place: each point reads the new value on its left."""
    v = u.copy()
    for _ in range(50):
        for i in range(1, len(v) - 1):
            v[i] = v[i] - 0.1 * v[i] * (v[i + 1] - v[i - 1]) + 0.05 * (v[i + 1] - 2.0 * v[i] + v[i - 1])
    return v


def burgers_jax(u: Any) -> Any:
    """A scan over the points of a sweep, which carries the new value on the left."""

    def sweep(v: Any, _: Any) -> tuple[Any, None]:
        def point(left: Any, pair: Any) -> tuple[Any, Any]:
            here, right = pair
            new = here - 0.1 * here * (right - left) + 0.05 * (right - 2.0 * here + left)
            return new, new

        _, inner = jax.lax.scan(point, v[0], (v[1:-1], v[2:]))
        return jnp.concatenate([v[:1], inner, v[-1:]]), None

    return jax.lax.scan(sweep, u, None, length=50)[0]


def kuramoto(x: np.ndarray) -> np.ndarray:
    """Every oscillator pulls every other one."""
    pull = np.empty(len(x))
    for i in range(len(x)):
        s = 0.0
        for j in range(len(x)):
            s += np.sin(x[j] - x[i])
        pull[i] = s
    return pull


def kuramoto_jax(x: Any) -> Any:
    """The same in whole arrays."""
    return jnp.sin(x[None, :] - x[:, None]).sum(1)


def diffusion(u: np.ndarray) -> np.ndarray:
    """A right-hand side with a branch: transport that depends on the sign of the flow."""
    rate = np.zeros(len(u))
    for i in range(1, len(u) - 1):
        rate[i] = u[i + 1] - 2.0 * u[i] + u[i - 1]
        if u[i] > 0.5:
            rate[i] -= u[i] * (u[i] - u[i - 1])
        else:
            rate[i] += 0.1 * u[i] * (u[i + 1] - u[i])
    return rate


def readings(p: np.ndarray) -> np.ndarray:
    """A chain that is stepped in time: a parameter for each link, sixteen readings."""
    n = len(p)
    u, out = np.zeros(n), np.zeros(16)
    for t in range(64):
        left = 0.0
        for i in range(n):
            u[i] = 0.9 * u[i] + 0.1 * np.tanh(p[i] * left + 0.5)
            left = u[i]
        out[t % 16] += u[n - 1] * u[t % n]
    return out


def readings_jax(p: Any) -> Any:
    """A scan over time of scans over the links."""

    def link(left: Any, pair: Any) -> tuple[Any, Any]:
        old, parameter = pair
        new = 0.9 * old + 0.1 * jnp.tanh(parameter * left + 0.5)
        return new, new

    def step(state: Any, t: Any) -> tuple[Any, None]:
        u, out = state
        u = jax.lax.scan(link, 0.0, (u, p))[1]
        return (u, out.at[t % 16].add(u[-1] * u[t % len(p)])), None

    start = jnp.zeros(len(p)), jnp.zeros(16)
    return jax.lax.scan(step, start, jnp.arange(64))[0][1]


TURN = 2e-3
"""Seconds that a call is repeated for in its turn, so that each finds its own memory warm, as in a loop."""


def smallest(calls: Mapping[str, Callable[[], Any]], seconds: float) -> Times:
    """Microseconds of each call, taken in turns for so long; the smallest mean of a turn counts."""
    counts: dict[str, int] = {}
    for name, call in calls.items():
        call()
        started = time.perf_counter()
        call()
        counts[name] = max(1, int(TURN / max(time.perf_counter() - started, 1e-7)))
    best = dict.fromkeys(calls, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in calls.items():
            started = time.perf_counter()
            for _ in range(counts[name]):
                call()
            best[name] = min(best[name], (time.perf_counter() - started) / counts[name])
    return {name: 1e6 * t for name, t in best.items()}


def chunks(n: int, seconds: float) -> Times:
    """Microseconds a tangent of a pass that carries so many."""
    x = np.random.default_rng(0).random(n)
    pushes = aj.jacfwd(rosenbrock).plan((x,)).pushes
    calls: dict[str, Callable[[], Any]] = {}
    for width in COSTS:
        program = Program(pushes.engine, pushes.specs, pushes.active, width, False)
        given = [s for block in pushes.blocks(program, [x]) for s in block.given]
        calls[str(width)] = partial(program.compiled.call, x, *given)
    return {name: t / int(name) for name, t in smallest(calls, seconds).items()}


def square(f: Callable[..., Any], form: Callable[..., Any], n: int, seconds: float) -> Times:
    """A Jacobian of n by n, n single tangents, JAX's Jacobian."""
    x = np.random.default_rng(1).random(n)
    ours, theirs, placed = aj.jacfwd(f), jax.jit(jax.jacfwd(form)), jnp.asarray(x)
    np.testing.assert_allclose(ours(x), theirs(placed), rtol=1e-9, atol=1e-12)
    unit = np.zeros(n)
    unit[n // 2] = 1.0
    found = smallest(
        {
            "jacfwd": lambda: ours(x),
            "one jvp": lambda: aj.jvp(f, (x,), (unit,)),
            "JAX": lambda: theirs(placed).block_until_ready(),
        },
        seconds,
    )
    return {"jacfwd": found["jacfwd"], f"{n} jvps": n * found["one jvp"], "JAX": found["JAX"]}


def sweeps(n: int, seconds: float) -> Times:
    """Microseconds a cotangent of a sweep that carries so many."""
    u = np.random.default_rng(6).random(n)
    _, pullback = aj.vjp(burgers, u)
    compiled, saved = pullback._plan.compiled, pullback._saved
    calls: dict[str, Callable[[], Any]] = {"1": lambda: compiled.pullback(*saved, np.zeros(n), np.ones(n))}
    for width in SWEEPS:
        if width > 1:
            lanes = (
                np.ones(n, lanes_dtype(np.dtype(float), width)),
                np.ones(n, lanes_dtype(np.dtype(float), width)),
            )
            calls[str(width)] = partial(_clear_and_sweep, compiled.lanes(width), saved, *lanes)
    return {name: t / int(name) for name, t in smallest(calls, seconds).items()}


def _clear_and_sweep(sweep: Callable[..., Any], saved: Any, shadow: Any, seed: Any) -> None:
    shadow["lanes"][...] = 0.0
    seed["lanes"][...] = 1.0
    sweep(*saved, shadow, seed)


def wide(n: int, seconds: float) -> Times:
    """A Jacobian of 16 by n by reverse mode, 16 single pullbacks with a record each, JAX's Jacobian."""
    p = np.random.default_rng(7).random(n)
    ours, theirs, placed = aj.jacrev(readings), jax.jit(jax.jacrev(readings_jax)), jnp.asarray(p)
    np.testing.assert_allclose(ours(p), theirs(placed), rtol=1e-9, atol=1e-12)
    unit = np.zeros(16)
    unit[5] = 1.0
    found = smallest(
        {
            "jacrev": lambda: ours(p),
            "one vjp": lambda: aj.vjp(readings, p)[1](unit),
            "JAX": lambda: theirs(placed).block_until_ready(),
        },
        seconds,
    )
    return {"jacrev": found["jacrev"], "16 vjps": 16 * found["one vjp"], "JAX": found["JAX"]}


def second(n: int, large: int, seconds: float) -> Times:
    """A Hessian of n by n and JAX's; at a large n the gradient and a product with the Hessian."""
    x, y = np.random.default_rng(2).random(n), np.random.default_rng(3).random(large)
    v = np.random.default_rng(4).random(large)
    ours, theirs, placed = aj.hessian(rosenbrock), jax.jit(jax.hessian(rosenbrock_jax)), jnp.asarray(x)
    np.testing.assert_allclose(ours(x), theirs(placed), rtol=1e-9, atol=1e-9)
    gradient = aj.grad(rosenbrock)
    return smallest(
        {
            "hessian": lambda: ours(x),
            "JAX's hessian": lambda: theirs(placed).block_until_ready(),
            "gradient": lambda: gradient(y),
            "hvp": lambda: aj.hvp(rosenbrock, y, v),
        },
        seconds,
    )


def sparse(n: int, seconds: float) -> Times:
    """The Jacobian of the diffusion, dense and sparse; how many colours."""
    u = np.random.default_rng(5).random(n)
    dense, thin = aj.jacobian(diffusion), aj.jacobian(diffusion, sparse=True)
    np.testing.assert_allclose(thin(u).toarray(), dense(u), rtol=1e-12)
    prepared = aj.prepare(partial(aj.jacobian, sparse=True), diffusion, u)
    found = smallest(
        {"dense": lambda: dense(u), "sparse": lambda: thin(u), "prepared": lambda: prepared(u)}, seconds
    )
    return found | {"colours": float(thin.prepare(u).how.count)}


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, for a look.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Where numbers go.")] = None,
) -> None:
    """Print the table and the bars."""
    jax.config.update("jax_enable_x64", True)
    seconds = 0.5 if quick else 4.0
    n = 1000 if quick else 10_000
    rows = {
        f"Rosenbrock {n}, a tangent of so many": chunks(n, seconds),
        "Burgers in place, 100 to 100": square(burgers, burgers_jax, 100, seconds),
        "Kuramoto, 100 to 100": square(kuramoto, kuramoto_jax, 100, seconds),
        "Burgers in place, a cotangent of so many": sweeps(100, seconds),
        "a chain of 100 links, 16 readings": wide(100, seconds),
        f"Rosenbrock 50; {n}": second(50, n, seconds),
        "diffusion with a branch, 1000": sparse(200 if quick else 1000, seconds),
    }
    console = Console(width=150)
    table = Table(title="adjit forward benchmark: microseconds")
    table.add_column("program")
    table.add_column("times")
    for name, times in rows.items():
        table.add_row(name, ", ".join(f"{key}: {t:.4g}" for key, t in times.items()))
    console.print(table)
    chunked, burgers_, kuramoto_, swept, chain, curved, thin = rows.values()
    bars = [
        ("a tangent alone over one of eight, at least 2.5", chunked["1"] / chunked["8"], 2.5),
        ("the same of sixteen", chunked["1"] / chunked["16"], 2.5),
        (
            "100 jvps over jacfwd (Burgers), at least 1/0.6",
            burgers_["100 jvps"] / burgers_["jacfwd"],
            1 / 0.6,
        ),
        ("JAX's jacfwd over ours (Burgers), at least 3", burgers_["JAX"] / burgers_["jacfwd"], 3.0),
        ("the same, Kuramoto (whole arrays suit JAX)", kuramoto_["JAX"] / kuramoto_["jacfwd"], 3.0),
        ("a cotangent alone over one of sixteen (Burgers), at least 2.5", swept["1"] / swept["16"], 2.5),
        ("16 vjps over jacrev (a chain), at least 4", chain["16 vjps"] / chain["jacrev"], 4.0),
        ("JAX's jacrev over ours (a chain), at least 2", chain["JAX"] / chain["jacrev"], 2.0),
        ("dense over sparse (prepared), at least 100", thin["dense"] / thin["prepared"], 100.0),
        ("colours, three", 3.0 / thin["colours"], 1.0),
        ("four gradients over an hvp, at least 1", 4 * curved["gradient"] / curved["hvp"], 1.0),
        ("JAX's hessian over ours, at least 3", curved["JAX's hessian"] / curved["hessian"], 3.0),
    ]
    verdicts = Table(title="bars")
    for column in ("bar", "measured", ""):
        verdicts.add_column(column)
    for name, measured, bar in bars:
        verdicts.add_row(name, f"{measured:.3g}", "met" if measured >= bar else "missed")
    console.print(verdicts)
    console.print(
        f"numba {version('numba')}, jax {version('jax')}, {platform.machine()}, {platform.python_version()}"
    )
    if json_file is not None:
        json_file.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    typer.run(main)
