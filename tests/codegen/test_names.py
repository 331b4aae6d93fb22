"""Gates: no name of the user's program changes what a generated module means, and every name of the prelude is reserved."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.codegen import module as modules
from adjit.codegen.names import PRELUDE, Names, is_reserved
from adjit.rules import linear, special_functions


def uint64(x: Any, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += math.exp(x[k]) * total + np.float64(x[k])
    return total


def of_parameters(result: float, memory_limit: float, dot_add: Any, float64_1d_C: Any) -> float:
    for k in range(len(dot_add)):
        dot_add[k] = result * dot_add[k] * float64_1d_C[k] if dot_add[k] < math.inf else memory_limit
    return result * result * memory_limit * dot_add[0]


def fdiv(x: float, n: int) -> float:
    return x if n <= 0 else x * fdiv(x, n - 1) / 2.0


def of_callees(x: float, n: int) -> float:
    def inf(y: float) -> float:
        return y * y / 3.0

    return inf(x) * fdiv(x, n) if x < math.inf else math.nan


def _bound_at_top(tree: ast.Module) -> list[str]:
    found: list[str] = []
    for node in tree.body:
        match node:
            case ast.Import() | ast.ImportFrom():
                found += [a.asname or a.name for a in node.names]
            case ast.FunctionDef():
                found.append(node.name)
            case ast.Assign():
                found += [t.id for t in node.targets if isinstance(t, ast.Name)]
            case _:
                pass
    return found


def _check_meaning(text: str) -> None:
    """Each global is bound once, none is hidden by a local or a builtin's name."""
    tree = ast.parse(text)
    top = _bound_at_top(tree)
    assert len(top) == len(set(top)), sorted(top)
    for f in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        params = [a.arg for a in f.args.args]
        names = [n for n in ast.walk(f) if isinstance(n, ast.Name)]
        local = {*params, *(n.id for n in names if isinstance(n.ctx, ast.Store))}
        assert len(set(params)) == len(params), (f.name, params)
        assert local.isdisjoint({*top, *dir(builtins)}), (f.name, local & {*top, *dir(builtins)})
    assert set(top).isdisjoint(dir(builtins))


def test_every_name_of_the_prelude_is_reserved() -> None:
    texts = (*modules._HELPERS.values(), *linear.sources().values())
    found = {name for text in texts for name in _bound_at_top(ast.parse(text.replace("{options}", "")))}
    found |= {name for name, f in vars(special_functions).items() if inspect.isfunction(f)}
    found |= modules._SCALARS
    assert found <= PRELUDE
    assert is_reserved("float64_2d_A_readonly") and not is_reserved("float64_2d")
    assert Names().fresh("uint8_1d_C") == "uint8_1d_C_1"


def test_names_of_the_user_hide_nothing() -> None:
    x = np.array([0.3, 0.2])
    _check_meaning(aj.grad(uint64).source(x, 2))
    _check_meaning(aj.grad(of_parameters, wrt=(0, 1, 2, 3)).source(1.5, 2.0, x, x.copy()))
    _check_meaning(aj.grad(of_callees).source(0.5, 2))


def result_first(result: float) -> float:
    return result * result * result


def x_0(x: float) -> float:
    return x * x * x


def inf(x: Any) -> float:
    least = np.inf
    for k in range(len(x)):
        least = min(least, x[k] * x[k])
    return least


def plus(a: float, b: float) -> float:
    return a - b


def dot_add(a: float, b: float) -> float:
    return a * b


def of_helpers(x: Any) -> float:
    return plus(x[0], x[1]) * dot_add(x[0], 2.0)


def test_callees_named_like_helpers_bring_no_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names stand in the comments of the generated text."""
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    assert aj.grad(of_helpers)(np.array([0.5, 0.25])).tolist() == [1.5, -1.0]


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first parameter called `result` was overwritten by the result before the reverse sweep read it."""
    assert aj.grad(result_first)(2.0) == 12.0
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    assert aj.grad(x_0)(2.0) == 12.0
    assert aj.grad(inf)(np.array([1.5, 2.0])).tolist() == [3.0, 0.0]
