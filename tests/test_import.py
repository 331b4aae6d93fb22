"""Gates that `import adjit` costs next to nothing beside Numba, and that its names are what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import adjit as aj

SOURCE = str(Path(aj.__file__).resolve().parents[1])


def python(program: str) -> str:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env={"PYTHONPATH": SOURCE}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_loads_nothing_else() -> None:
    assert (
        python(
            "import sys, adjit; print([m for m in sys.modules if m.startswith(('adjit.', 'numba', 'numpy'))])"
        )
        == "[]"
    )


def test_import_is_quick() -> None:
    """At most 0.05 s: the best of five fresh processes (it takes about 2 ms)."""
    program = "import numba, time; t = time.perf_counter(); import adjit; print(time.perf_counter() - t)"
    assert min(float(python(program)) for _ in range(5)) < 0.05


@pytest.mark.parametrize("name", aj.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(aj, name) is not None
    assert name in dir(aj)


def test_unknown_names_are_said() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'gard'"):
        _ = aj.gard  # type: ignore[attr-defined]


def test_errors_are_python_errors_too() -> None:
    bases = {
        aj.UnsupportedError: NotImplementedError,
        aj.ArgumentError: ValueError,
        aj.MemoryLimitError: MemoryError,
        aj.DeviceError: RuntimeError,
        aj.CheckError: AssertionError,
    }
    for error, base in bases.items():
        assert issubclass(error, base)
        assert issubclass(error, aj.AdjitError)
    assert issubclass(aj.MissingRuleError, aj.AdjitError)
