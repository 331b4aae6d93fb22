"""Small programs that `measure.in_process` runs: each prints one line of JSON.

tasks.py import                      seconds of `import adjit` after `import numba`
tasks.py first NAME                  seconds of the first gradient, and from the start of the process
tasks.py peak forward|gradient NAME SIZE...
                                     bytes by which one call raises the resident peak
tasks.py allocations                 bytes that a later call allocates: gradient, and autodiff

Seconds are the process's processor time.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import tracemalloc
from pathlib import Path


def task_import() -> dict[str, float]:
    """What `import adjit` adds to `import numba`, and with what it loads when `grad` is first used."""
    import numba  # noqa: F401

    started = time.process_time()
    import adjit

    imported = time.process_time() - started
    adjit.grad(task_first)
    return {"seconds": imported, "with_grad": time.process_time() - started}


def task_first(name: str) -> dict[str, float]:
    """The first gradient of this process."""
    import adjit as aj
    from programs import PROGRAMS

    program = PROGRAMS[name]
    arguments = program.inputs(*program.small)
    started = time.process_time()
    aj.grad(program.loss)(*arguments)
    now = time.process_time()
    return {"seconds": now - started, "from_start": now}


def task_peak(what: str, name: str, *size: str) -> dict[str, float]:
    """By how much one call, its results kept, raises the resident peak; a small call has compiled all."""
    import adjit as aj
    from programs import PROGRAMS

    program = PROGRAMS[name]
    call = program.loss if what == "forward" else aj.value_and_grad(program.loss)
    call(*program.inputs(*program.small))
    arguments = program.inputs(*map(int, size))
    before = _start_peak()
    _kept = call(*arguments)
    return {"bytes": _peak() - before}


def task_allocations() -> dict[str, float]:
    """Bytes at the peak of a later call, of a function without arrays of its own, as tracemalloc sees them."""
    import numpy as np

    import adjit as aj
    from programs import sum_of_squares

    x, dx = np.ones(100_000), np.zeros(100_000)
    gradient = aj.grad(sum_of_squares)
    annotated = aj.Duplicated(x, dx)
    calls = {
        "gradient": lambda: gradient(x),
        "autodiff": lambda: aj.autodiff(aj.Reverse, sum_of_squares, annotated),
    }
    found: dict[str, float] = {"result": x.nbytes}
    for key, call in calls.items():
        call()
        peaks: list[int] = []
        for _ in range(3):
            tracemalloc.start()
            call()
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        found[key] = min(peaks)
    return found


def _start_peak() -> int:
    """Forget the resident peak so far where the system can (Linux); the resident size now, in bytes."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")
    return _peak()


def _peak() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


TASKS = {"import": task_import, "first": task_first, "peak": task_peak, "allocations": task_allocations}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))
