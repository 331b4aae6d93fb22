"""Gates: programs on disk serve a second process, never an edited source; threads may build at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import adjit as aj

SCRIPT = """
import sys
import adjit as aj
from adjit.runtime import cache, program
cache.environment = lambda: "one and the same"  # adjit's own files may change while this test runs
import user
built = []
lowered = program.primal_of
program.primal_of = lambda *a: (built.append(1), lowered(*a))[1]
value, gradient = aj.value_and_grad(user.f)(3.0)
print(value, gradient, len(built))
"""


def run(folder: Path, constant: str) -> list[str]:
    """(value, gradient, programs built) from a new process, for f with this constant at the same place."""
    (folder / "user.py").write_text(f"K = 1.0\n\n\ndef f(x):\n    return x * x * {constant}\n")
    source = str(Path(aj.__file__).resolve().parents[1])
    environment = {
        **os.environ,
        "PYTHONPATH": f"{source}{os.pathsep}{folder}",
        "ADJIT_CACHE_DIR": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.pop("ADJIT_UNCOMPILED", None)
    environment.pop("ADJIT_NO_CACHE", None)
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_programs_on_disk(tmp_path: Path) -> None:
    assert run(tmp_path, "2.0") == ["18.0", "12.0", "1"]
    assert run(tmp_path, "2.0") == ["18.0", "12.0", "0"], "a second process builds nothing"
    assert run(tmp_path, "5.0") == ["45.0", "30.0", "1"], "an edited source is another program"
    assert run(tmp_path, "2.0") == ["18.0", "12.0", "0"]


class Physics:
    """Constants as users keep them."""

    a = 1.0
    b = 2.0


def inner(x):
    return x * Physics.b


def outer(x):
    return Physics.a * inner(x)


def test_rebound_attribute_of_a_class_read_by_two_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert aj.grad(outer)(1.0) == 2.0
    monkeypatch.setattr(Physics, "b", 5.0)
    assert aj.grad(outer)(1.0) == 5.0
    monkeypatch.setattr(Physics, "a", 3.0)
    assert aj.grad(outer)(1.0) == 15.0


def power(x, n):
    s = 1.0
    for _ in range(n):
        s *= x
    return s


def square_sum(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


def test_threads_build_at_once() -> None:
    """The same program in four threads, another one in four more; each right."""
    x = np.arange(5.0)
    together = threading.Barrier(8)
    got: dict[int, object] = {}

    def work(k: int) -> None:
        together.wait()
        got[k] = aj.grad(power)(2.0, 3 + k // 2) if k % 2 else aj.grad(square_sum)(x)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(8):
        want = (3 + k // 2) * 2.0 ** (2 + k // 2) if k % 2 else 2 * x
        np.testing.assert_array_equal(got[k], want)


def test_threads_run_one_program_at_once() -> None:
    """Each call has its own records and shadows."""
    g = aj.value_and_grad(square_sum)
    g(np.ones(2))
    wrong: list[int] = []

    def work(k: int) -> None:
        x = np.full(100, float(k))
        for _ in range(200):
            value, gradient = g(x)
            if value != 100.0 * k * k or not np.all(gradient == 2.0 * k):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
