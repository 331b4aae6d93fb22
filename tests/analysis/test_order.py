"""The dependence test against every pair of turns: random nests of loops with bounds that depend on outer indices."""

import random

import numpy as np
import pytest

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.dependence import may_overwrite_later
from adjit.analysis.order import Order
from adjit.analysis.ranges import ranges_of
from adjit.analysis.regions import Regions
from adjit.analysis.types import infer
from adjit.frontend import lower
from adjit.ir.core import Load, Store
from adjit.ir.structure import Leaf
from adjit.ir.types import FLOAT64, INT64, Array
from adjit.ir.visit import walk

BOUNDS = ["0", "1", "k", "k + 1", "k - 1", "n", "n - 1", "n - k", "i", "i + 1"]
INDICES = ["k", "i", "j", "k + 1", "i + 1", "j + 1", "n - 1 - k", "n - 1 - i", "2 * k", "i + j", "k - 1", "0"]
N = 6


def program(rng):
    """Source of a nest, with the places where it loads and stores."""
    lo, hi = rng.choice(BOUNDS[:8]), rng.choice(BOUNDS[:8])
    lo2, hi2 = rng.choice(BOUNDS), rng.choice(BOUNDS)
    step = rng.choice(["", "", ", -1"])
    first = rng.choice(["n", "1, n", "n - 1, -1, -1"])
    load = f"{rng.choice(INDICES)}, {rng.choice(INDICES)}"
    store = f"{rng.choice(INDICES)}, {rng.choice(INDICES)}"
    lines = [
        "def f(a, n):",
        f"    for k in range({first}):",
        f"        for i in range({lo}, {hi}):",
        f"            for j in range({lo2}, {hi2}{step}):",
        f"                t = a[{load}]",
        f"                a[{store}] = t * t",
    ]
    return "\n".join(lines) + "\n", load, store


def meets(source, load, store):
    """Whether some store after some load hits the loaded element; None where an index leaves the array."""
    events = []
    text = source.replace(f"t = a[{load}]", f"events.append((0, ({load})))")
    text = text.replace(f"a[{store}] = t * t", f"events.append((1, ({store})))")
    scope = {"events": events}
    exec(text, scope)
    scope["f"](None, N)
    if any(not -N - 8 <= x < N + 8 for _, at in events for x in at):
        return None
    size = 2 * N + 16
    loaded = set()
    for stored, at in events:
        place = tuple(x % size for x in at)
        if stored and place in loaded:
            return True
        if not stored:
            loaded.add(place)
    return False


def test_what_is_said_never_to_be_overwritten_is_not(tmp_path):
    rng = random.Random(1)
    said = 0
    for number in range(400):
        source, load, store = program(rng)
        path = tmp_path / f"nest_{number}.py"
        path.write_text(source)
        scope = {"np": np}
        exec(compile(source, str(path), "exec"), scope)
        low = lower(scope["f"], (Leaf(Array(FLOAT64, 2, "C")), Leaf(INT64, True)))
        function = infer(low.function)
        stmts = list(walk(function.body))
        (loaded,) = [s for s in stmts if isinstance(s, Load)]
        (stored,) = [s for s in stmts if isinstance(s, Store)]
        regions, ranges, alias = Regions(function), ranges_of(function), Alias(function)
        affine = Affine(regions.definition, ranges.bounds)
        if not may_overwrite_later(regions, alias, affine, Order(regions, ranges), loaded, stored):
            said += 1
            assert meets(source, load, store) in (False, None), source
    assert said > 20


@pytest.mark.parametrize(
    ("load", "store", "bounds"),
    [("i, k", "i, j", "k + 1, n"), ("k, j", "i, j", "k + 1, n"), ("k, k", "i, j", "k + 1, n")],
)
def test_eliminations_keep_their_pivots(load, store, bounds, tmp_path):
    path = tmp_path / "f.py"
    source = (
        f"def f(a, n):\n    for k in range(n):\n        for i in range({bounds}):\n            for j in range({bounds}):\n"
        f"                t = a[{load}]\n                a[{store}] = t * t\n"
    )
    path.write_text(source)
    scope = {}
    exec(compile(source, str(path), "exec"), scope)
    function = infer(lower(scope["f"], (Leaf(Array(FLOAT64, 2, "C")), Leaf(INT64, True))).function)
    stmts = list(walk(function.body))
    (loaded,) = [s for s in stmts if isinstance(s, Load)]
    (stored,) = [s for s in stmts if isinstance(s, Store)]
    regions, ranges = Regions(function), ranges_of(function)
    affine = Affine(regions.definition, ranges.bounds)
    assert not may_overwrite_later(regions, Alias(function), affine, Order(regions, ranges), loaded, stored)
