"""Gates: `adjit fuzz` counts what it checks, writes a runnable file for what fails, and survives a process that dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from adjit.cli.app import app
from adjit.cli.fuzz import Tally
from adjit.testing import fuzz
from adjit.testing.fuzz import Outcome, Settings, outcomes, save
from adjit.testing.programs import Program, generate
from adjit.testing.programs.nodes import Argument, Expression, Function, Line
from adjit.testing.workers import Workers


def test_a_short_run(tmp_path: Path) -> None:
    options = ["fuzz", "--count", "2", "--jobs", "2", "--minutes", "5", "--folder", str(tmp_path)]
    result = CliRunner().invoke(app, options)
    assert result.exit_code == 0, result.output
    assert "2 programs checked" in result.output and "0 failed" in result.output


def _program(*lines: str) -> Program:
    body = tuple(Line(Expression(line)) for line in lines)
    arguments = (Argument("a", np.array([0.5, 0.7])), Argument("x", 0.3))
    return Program((Function("f", ("a", "x"), body),), arguments, 3)


WRONG = _program("a[1] = 0.25", "a[0] = math.sin(a[1] * x)", "return a[0] * x")


def test_a_failure_is_shrunk_and_runs_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    settings = Settings(count=1, folder=tmp_path, shrink_seconds=5)

    def check(program: Program, *_: object) -> None:
        if "math.sin" in program.source():
            raise fuzz.CheckFailure("dot", "a sine")

    monkeypatch.setattr(fuzz, "generate", lambda seed, **options: WRONG)
    monkeypatch.setattr(fuzz, "check", check)
    (found,) = outcomes(settings)
    assert (found.kind, found.failed, found.file) == ("dot", True, tmp_path / "dot_3.py")
    text = found.file.read_text()
    assert "math.sin" in text and "0.25" not in text
    ran = subprocess.run([sys.executable, found.file], capture_output=True, text=True, env=dict(os.environ))
    assert ran.returncode == 0, ran.stderr  # the checks themselves find nothing wrong with a sine


@pytest.mark.parametrize(
    "want", ["namedtuple", "aj.grad(", "custom_jvp", "float32", "compiled", "np.cumsum("]
)
def test_files_of_every_kind_of_program_run(want: str, tmp_path: Path) -> None:
    """What only adjit understands comes with its stand-in, named tuples with their class."""
    settings = Settings(folder=tmp_path, compiled=want == "compiled")
    made = (generate(seed, arrays=want == "np.cumsum(") for seed in range(400))
    texts = ((p, save(p, "any", "", settings)) for p in made if len(p.source()) < 700)
    path = next(path for _, path in texts if want == "compiled" or want in path.read_text())
    compile(path.read_text(), str(path), "exec")
    namespace: dict[str, object] = {"__name__": "saved"}
    exec(path.read_text(), namespace)
    assert {"f", "ARGUMENTS", "LAYOUTS"} <= namespace.keys()
    assert ("PLAIN" in namespace) == ("aj" in namespace)
    assert ("ADJIT_UNCOMPILED" in path.read_text()) != settings.compiled


def test_errors_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    import adjit as aj

    errors = [
        (fuzz.Refused("no"), "refused", False),
        (aj.ArgumentError("shares memory"), "crash ArgumentError in test_fuzz.py", True),
        (KeyError("x"), "crash KeyError in test_fuzz.py", True),
        (fuzz.Rejected("too close"), "rejected", False),
    ]
    for error, kind, failed in errors:

        def check(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(fuzz, "check", check)
        found = fuzz.verdict(WRONG, Settings())
        assert found.kind.startswith(kind) and found.failed == failed


def test_a_hang_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzz, "check", check)
    assert fuzz.verdict(WRONG, Settings(limit=1)).kind.startswith("crash TimeoutError")


def _dies(settings: Settings, out: Any) -> None:
    out.send((settings.seed, None))
    if settings.seed < 2:
        os._exit(7)
    out.send((settings.seed + 1, Outcome(settings.seed, "passed")))
    out.send(("done", None))


def _breaks_off(settings: Settings, out: Any) -> None:
    """Dies in the middle of a message; the next process has nothing left to do."""
    if settings.count:
        os.write(out.fileno(), b"\x00\x00\x01\x00half")
        os._exit(9)
    out.send(("done", None))


def test_a_process_that_dies_is_a_failure_and_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjit.testing.workers.work", _dies)
    found = list(Workers(Settings(count=3, seconds=900.0, folder=tmp_path), 1))
    assert [outcome.kind for outcome in found] == ["process died with 7", "process died with 7", "passed"]
    assert found[0].failed and found[0].file is not None and found[0].file.exists()


def test_a_process_that_dies_while_it_speaks_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjit.testing.workers.work", _breaks_off)
    found = list(Workers(Settings(count=1, seconds=900.0, folder=tmp_path), 1))
    assert [outcome.kind for outcome in found] == ["process died with 9"]


def test_the_tally_counts() -> None:
    tally = Tally()
    for kind in ("passed", "passed", "rejected", "refused", "dot"):
        tally.add(Outcome(1, kind, "first line\nsecond"))
    assert (tally.passed, tally.rejected, tally.checked) == (2, 1, 4)
    assert tally.refused == {"first line": 1} and tally.failed == {"dot": 1}
    assert "1 refused, 1 failed" in tally.line


def test_a_process_that_has_checked_enough_is_replaced(tmp_path: Path) -> None:
    """Numba never frees what it compiled: no process checks more than its share."""
    settings = Settings(seed=40, step=2, count=5, seconds=900.0, small=True, life=2, folder=tmp_path)
    workers = Workers(settings, 1)
    started: list[int] = []
    start = workers._start

    def counted(own: Settings) -> object:
        started.append(own.seed)
        return start(own)

    workers._start = counted  # type: ignore[method-assign, assignment]
    found = list(workers)
    assert [outcome.seed for outcome in found] == [40, 42, 44, 46, 48]
    assert started == [40, 44, 48]
