"""Gates the cache key: it changes with everything that the lowering depends on, and with nothing else."""

from __future__ import annotations

import functools
import types

import numba as nb
import numpy as np

from adjit.frontend import fingerprint, lower
from adjit.ir.structure import Leaf
from adjit.ir.types import FLOAT64

SCALE = 2.0
ARRAY = np.ones(3)
config = types.ModuleType("config")
config.RATE = 0.5


def callee(x):
    return x * SCALE + config.RATE


def f(x):
    return callee(x) + ARRAY[0]


def make(c):
    return lambda x: x * c


def test_same_key_for_the_same_thing():
    assert fingerprint(f) == fingerprint(f)
    assert hash(fingerprint(f)) == hash(fingerprint(f))
    assert fingerprint(make(2.0)) == fingerprint(make(2.0))


def test_closure_values_count():
    assert fingerprint(make(2.0)) != fingerprint(make(3.0))
    assert fingerprint(make(2)) != fingerprint(make(2.0))
    assert fingerprint(make(np.float64(2))) != fingerprint(make(2.0))
    assert fingerprint(make(0.0)) != fingerprint(make(-0.0))


def test_globals_of_callees_and_modules_count(monkeypatch):
    before = fingerprint(f)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    between = fingerprint(f)
    assert between != before
    monkeypatch.setattr(config, "RATE", 0.75)
    after = fingerprint(f)
    assert after != between
    monkeypatch.setitem(globals(), "ARRAY", np.zeros(3))
    assert fingerprint(f) == after  # contents are run-time arguments
    monkeypatch.setitem(globals(), "ARRAY", np.ones(3, np.float32))
    assert fingerprint(f) != after


def test_options_and_partials_count():
    assert fingerprint(nb.njit(callee)) != fingerprint(nb.njit(fastmath=True)(callee))
    assert fingerprint(functools.partial(f, 1.0)) != fingerprint(functools.partial(f, 2.0))


def test_dependencies_name_what_was_used():
    low = lower(f, (Leaf(FLOAT64),))
    text = repr(low.dependencies)
    assert "callee" in text
    assert "SCALE" in text
    assert "RATE" in text
    assert low.captures == (ARRAY,) or low.captures[0] is ARRAY


def test_a_dispatcher_freezes_its_arrays():
    low = lower(nb.njit(f), (Leaf(FLOAT64),))
    assert low.captures[0] is not ARRAY
    assert not low.captures[0].flags.writeable
    assert lower(nb.njit(f), (Leaf(FLOAT64),)).captures[0] is low.captures[0]
