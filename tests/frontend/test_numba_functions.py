"""Every NumPy function that Numba compiles is differentiated here, or refused by its name with what to write instead."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
import pytest
from numba.core.registry import cpu_target

import adjit as aj
from adjit import rules
from adjit.frontend import known, remedies
from adjit.frontend.values import Static

_HOMES = {
    "np": np,
    "np.linalg": np.linalg,
    "np.fft": np.fft,
    "np.random": np.random,
    "np.lib.stride_tricks": np.lib.stride_tricks,
    "np.polynomial.polynomial": np.polynomial.polynomial,
    "np.polynomial.polyutils": np.polynomial.polyutils,
}


def _name(function: object) -> str | None:
    """What the function is called in a program, if it has a public name."""
    for home, module in _HOMES.items():
        for name in dir(module):
            if not name.startswith("_") and getattr(module, name, None) is function:
                return f"{home}.{name}"
    return None


def registered() -> dict[str, Callable[..., Any]]:
    """The NumPy functions that Numba knows, by name; types are conversions, and not among them."""
    context = cpu_target.typing_context
    context.refresh()
    cpu_target.target_context.refresh()
    found: dict[str, Callable[..., Any]] = {}
    for function in [*context._globals, *context._functions]:
        of_numpy = isinstance(function, np.ufunc) or str(getattr(function, "__module__", "")).startswith(
            "numpy"
        )
        drawn = isinstance(function, MethodType) or hasattr(getattr(function, "__self__", None), "random")
        if (of_numpy or drawn) and callable(function) and not isinstance(function, type):
            name = _name(function)
            if name is not None:
                found[name] = function
    return found


def _supported(function: Callable[..., Any]) -> bool:
    return (
        known.find(function) is not None
        or known.syntax(Static(function)) is not None
        or rules.find(function) is not None
    )


FUNCTIONS = registered()
MISSING = sorted(name for name, f in FUNCTIONS.items() if not _supported(f))


def test_there_are_many() -> None:
    assert len(FUNCTIONS) > 250
    assert {"np.sum", "np.linalg.svd", "np.random.normal", "np.take"} <= FUNCTIONS.keys()


def test_what_is_refused_has_a_remedy_of_its_own() -> None:
    without = [
        name
        for name in MISSING
        if not name.startswith("np.random.") and f"numpy{name[2:]}" not in remedies.INSTEAD
    ]
    assert without == []


@pytest.mark.parametrize("name", MISSING)
def test_refused_by_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"import numpy as np\n\n\ndef f(x):\n    y = {name}(x)\n    return x[0] + np.sum(y)\n")
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    with pytest.raises(aj.AdjitError) as caught:
        aj.grad(program.f)(np.ones(3))
    text = str(caught.value)
    assert name.rpartition(".")[2] in text.partition("\n")[0]
    assert "program.py" in text and f"{name}(x)" in text and "^^^" in text
    remedy = "draw them outside" if ".random." in name else remedies.INSTEAD[f"numpy{name[2:]}"]
    assert remedy in text
