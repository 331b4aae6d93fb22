"""With ADJIT_TEST_GRAPHS=1 every program on a CUDA device runs as a graph from its first call on."""

from __future__ import annotations

import os

import pytest

from .places import CUDA


@pytest.fixture(autouse=True)
def _graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    if CUDA and os.environ.get("ADJIT_TEST_GRAPHS") == "1":
        from adjit.runtime.cuda import program

        monkeypatch.setattr(program, "FEWEST", 0)
