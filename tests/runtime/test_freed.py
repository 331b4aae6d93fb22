"""Gates: what was made for a function goes when the function does, and what is kept for others is bounded."""

from __future__ import annotations

import builtins
import gc
import linecache
import math
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.api import engine, source
from adjit.frontend import liveness, read_source
from adjit.runtime import cache, captures, compile

_TEXT = """
def f(x):
    s = {k}.5
    for i in range(len(x)):
        s = math.sin(s * x[i])
    return s
"""


def made(k: int) -> Callable[..., Any]:
    """A function of a file of its own."""
    name, text = f"<freed {k}>", _TEXT.format(k=k)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"math": math, "__name__": f"freed_{k}"}
    exec(builtins.compile(text, name, "exec"), space)
    return space["f"]


class Traces:
    """Weak references to what is made for functions."""

    def __init__(self) -> None:
        self.loaded: list[weakref.ref[Any]] = []
        self.trees: list[weakref.ref[Any]] = []
        self.scopes: list[weakref.ref[Any]] = []
        self.files: set[str] = set()

    def differentiate(self, f: Any) -> Any:
        """The gradient function of f, called once."""
        before, files = set(compile._loaded.values()), set(linecache.cache)
        gradient = aj.grad(f)
        gradient(np.array([0.3, 0.4]))
        node = read_source.read_source(f).node
        self.loaded += [weakref.ref(o) for o in set(compile._loaded.values()) - before]
        self.files |= {name for name in set(linecache.cache) - files if name.startswith("<adjit ")}
        self.trees.append(weakref.ref(node))
        self.scopes.append(weakref.ref(next(iter(liveness.scope_of(node).loops))))
        return gradient

    @property
    def alive(self) -> tuple[int, int, int]:
        """How many of each still live."""
        gc.collect()
        count = [sum(r() is not None for r in refs) for refs in (self.loaded, self.trees, self.scopes)]
        return count[0], count[1], count[2]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Only the newest two programs are kept; the call stands for as many functions as the small caches hold."""
    monkeypatch.setattr(engine, "_KEPT", 2)

    def others() -> None:
        captures.watch_of.cache_clear()
        source._plain.cache_clear()
        read_source._parse.cache_clear()

    return others


@pytest.mark.usefixtures("uncompiled")
def test_programs_of_dropped_functions_are_freed(few: Callable[[], None]) -> None:
    traces = Traces()
    held = traces.differentiate(made(0)), made(0)
    for k in range(1, 9):
        traces.differentiate(made(k))
    assert len(traces.files) == 9
    few()
    assert traces.alive == (3, 3, 3)  # the one that is held, and the newest two
    assert traces.loaded[0]() is not None
    assert len(traces.files & set(linecache.cache)) == 3
    del held


@pytest.mark.parametrize("disk", [False, True])
def test_compiled_modules_are_known_while_they_live(disk: bool, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))
    if not disk:
        monkeypatch.setenv("ADJIT_NO_CACHE", "1")
    text = f'"""A module, disk={disk}."""\n\nfrom numba import njit\n\n\n@njit(cache=True)\ndef thrice(x):\n    return 3.0 * x\n'
    name = f"adjit_{compile.text_hash(text)}"
    thrice = compile.load(text)["thrice"]
    gc.collect()
    assert name in sys.modules
    assert compile.load(text)["thrice"] is thrice
    del thrice  # never called: what Numba has compiled it keeps for good
    gc.collect()
    assert name not in sys.modules
    assert compile.load(text)["thrice"](2.0) == 6.0


def test_texts_and_entries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJIT_NO_CACHE", "1")
    monkeypatch.setattr(compile, "_KEPT", 3)
    monkeypatch.setattr(cache, "_KEPT", 3)
    names = [cache.store(f"freed {k}", f"text = {k}", {"k": k}) for k in range(6)]
    assert [compile.stored_text(n) is not None for n in names] == [False] * 3 + [True] * 3
    assert [cache.lookup(f"freed {k}") is not None for k in range(6)] == [False] * 3 + [True] * 3
