"""Gates: the printed function is the user's function, bit for bit, compiled and as plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from adjit.analysis.types import infer
from adjit.codegen.module import Module, Unit, render
from adjit.ir.verify import verify
from adjit.runtime.compile import load
from tests.codegen.plain_programs import PROGRAMS
from tests.codegen.round_trip import assert_same, lowered


@pytest.mark.parametrize(("f", "arguments"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
@pytest.mark.parametrize("compiled", [True, False])
def test_value_and_state(f: Any, arguments: Any, compiled: bool) -> None:
    program = verify(infer(lowered(njit(f), arguments()).function))
    text = render(Module((Unit(program),)), plain=not compiled)
    got_args, want_args = arguments(), arguments()
    want = njit(f)(*want_args)
    got = load(text, compiled=compiled)[program.name](*got_args)
    if compiled:
        assert_same(got, want, text)
    else:
        np.testing.assert_allclose(np.hstack(got), np.hstack(want if isinstance(want, tuple) else (want,)))
    assert_same(got_args, want_args, text)
