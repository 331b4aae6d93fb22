"""Memory that is not initialised is never read: generated programs whose `np.empty` is full of rubbish stay right."""

from __future__ import annotations

import weakref
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from adjit.runtime import compile, plain

from .catalogue import selected
from .modes import run
from .record import Case, Combination

FIRST = {case.name: (case, how) for case, how in reversed(list(selected())) if case.differences}.values()


class Rubbish(ModuleType):
    """NumPy, but what is empty is full."""

    made = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, *args: Any, **keywords: Any) -> Any:
        return self._filled(np.empty(*args, **keywords))

    def empty_like(self, *args: Any, **keywords: Any) -> Any:
        return self._filled(np.empty_like(*args, **keywords))

    def _filled(self, array: Any) -> Any:
        Rubbish.made += 1
        array[...] = 7.7e77 if array.dtype == np.float64 else 77
        return array


@pytest.fixture
def rubbish(monkeypatch: pytest.MonkeyPatch, uncompiled: None) -> None:
    monkeypatch.setattr(plain, "_NUMPY", Rubbish("numpy"))
    monkeypatch.setattr(compile, "_loaded", weakref.WeakValueDictionary())


@pytest.mark.usefixtures("rubbish")
@pytest.mark.parametrize(("case", "how"), FIRST, ids=[case.name for case, _ in FIRST])
def test_nothing_reads_it(case: Case, how: Combination) -> None:
    run(case, how)


@pytest.mark.usefixtures("rubbish")
def test_the_rubbish_is_there() -> None:
    before = Rubbish.made
    case, how = next(pair for pair in FIRST if pair[0].name == "nonlinear_stencil")
    run(case, how)
    assert Rubbish.made > before
