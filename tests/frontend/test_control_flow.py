"""Gates structured SSA: random control flow does in IR what it does in Python, and nothing is refused.

A program that reads an unbound name in Python is not compared.
"""

from __future__ import annotations

import linecache

import numpy as np
import pytest

from adjit.errors import UnsupportedError
from adjit.frontend import lower
from adjit.ir.structure import Leaf
from adjit.ir.types import INT64, Array
from adjit.ir.verify import verify
from adjit.testing.interpret import interpret

from .control_programs import Writer


def run(seed):
    """("same" | "unbound", the source)."""
    source = Writer(seed).source()
    name = f"<control {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope = {}
    exec(compile(source, name, "exec"), scope)
    low = None
    for n in (0, 1, 3):
        x, y = np.array([3, -1, 2, 5]), np.array([3, -1, 2, 5])
        try:
            want, wrong = scope["f"](x, n), None
        except UnboundLocalError:
            continue
        except NameError:
            continue
        except ValueError as error:
            want, wrong = None, error
        if low is None:
            try:
                low = lower(scope["f"], (Leaf(Array(INT64, 1, "C")), Leaf(INT64)))
            except UnsupportedError as error:  # a path that Python does not take reads what is not bound
                if "read before" not in error.reason and "not defined" not in error.reason:
                    raise
                return None, source
            verify(low.function, typed=False)
        try:
            got, mistake = interpret(low.function, (y, n)), None
        except ValueError as error:
            got, mistake = None, error
        assert repr(wrong) == repr(mistake), source
        assert want is None or tuple(want) == got, f"{source}\nn={n}: {want} {got}"
        assert wrong is not None or (x == y).all(), source
    return low, source


@pytest.mark.parametrize(
    "chunk", [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, 20))]
)
def test_random_control_flow(chunk):
    done = 0
    for seed in range(chunk * 100, chunk * 100 + 100):
        low, _ = run(seed)
        done += low is not None
    assert done > 50
