"""Gates: what is printed means what the IR means, compiled and as plain Python, on random programs."""

from __future__ import annotations

import numpy as np
import pytest

from adjit.codegen.module import Module, Unit, render
from adjit.ir.core import Function
from adjit.ir.verify import verify
from adjit.runtime.compile import load
from tests.codegen.interpreter import run
from tests.codegen.programs import random_function


def _arguments() -> list[object]:
    rng = np.random.default_rng(7)
    return [rng.normal(size=8), rng.normal(size=8), 0.75, -0.5]


def _agree(f: Function, compiled: bool) -> None:
    expected, got = _arguments(), _arguments()
    want = run(f, *expected)
    text = render(Module((Unit(f),)), plain=not compiled)
    out = load(text, compiled=compiled)["f"](*got) or ()
    assert want == out, text
    for a, b in zip(expected[:2], got[:2], strict=True):
        np.testing.assert_array_equal(a, b, err_msg=text)


@pytest.mark.parametrize("block", range(20))
def test_plain_python(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        _agree(verify(random_function(seed)), compiled=False)


@pytest.mark.parametrize("seed", range(2000, 2015))
def test_compiled(seed: int) -> None:
    _agree(verify(random_function(seed)), compiled=True)
