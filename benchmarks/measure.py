"""Ways to measure: interleaved times, memory peaks and first calls in processes of their own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
_BYTECODE = tempfile.TemporaryDirectory()


def interleaved(
    calls: Mapping[str, Callable[[], Any]], rounds: int, advance: Callable[[], None]
) -> dict[str, float]:
    """Median seconds of each call, taken in turns so that all meet the same weather.

    The clock is the thread's processor time: another process on the machine does not count.
    """
    for call in calls.values():
        call()
        advance()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.thread_time()
            call()
            seconds[name].append(time.thread_time() - started)
            advance()
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def each(call: Callable[[], Any], repeats: int = 2000) -> float:
    """Seconds of one of many short calls: the smallest of ten batches."""
    call()
    batches: list[float] = []
    for _ in range(10):
        started = time.perf_counter()
        for _ in range(repeats // 10):
            call()
        batches.append((time.perf_counter() - started) / (repeats // 10))
    return min(batches)


def in_process(task: str, *arguments: str | int, cache: Path) -> dict[str, float]:
    """Run `tasks.py task arguments` in a fresh process whose disk cache is `cache`; what it printed, and its wall time.

    Modules load from bytecode, as an installed package's do. Arrays get pages of their own, which go back to the system
    when they are freed, so that the resident size says what is alive.
    Raises: RuntimeError with the process's error output if it fails.
    """
    environment = os.environ | {
        "ADJIT_CACHE_DIR": str(cache),
        "NUMBA_NUM_THREADS": "1",
        "PYTHONPYCACHEPREFIX": _BYTECODE.name,
        "MALLOC_MMAP_THRESHOLD_": "65536",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, str(HERE / "tasks.py"), task, *map(str, arguments)]
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed:\n{done.stderr[-2000:]}")
    return {"wall": wall} | json.loads(done.stdout.splitlines()[-1])


def fastest(calls: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, tuple[float, float]]:
    """Smallest wall and processor seconds of each call, taken in turns for about `seconds`.

    The wall counts where a call has several threads. In a turn each is called twice: the first call brings its data
    back into the caches that the others have filled.
    """
    for call in calls.values():
        call()
    best = {name: (float("inf"), float("inf")) for name in calls}
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        rounds += 1
        for name, call in calls.items():
            for _ in range(2):
                wall, processor = time.perf_counter(), time.process_time()
                call()
                taken = time.perf_counter() - wall, time.process_time() - processor
                best[name] = min(best[name][0], taken[0]), min(best[name][1], taken[1])
    return best
