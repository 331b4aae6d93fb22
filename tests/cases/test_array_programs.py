"""Realistic programs on whole arrays: value, final state, gradients, second derivatives, layouts (`testing.checks`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from adjit.testing.checks import Subject, check_subject

from .programs import array_edges, array_learning, array_linear, array_physics, array_spectral

MODULES = (array_edges, array_physics, array_linear, array_learning, array_spectral)
PROGRAMS = [p for m in MODULES for p in m.PROGRAMS]
NAMES = [f.__name__ for f, _ in PROGRAMS]


@pytest.mark.parametrize(("number", "program", "args"), [(k, *p) for k, p in enumerate(PROGRAMS)], ids=NAMES)
def test_array_program(
    number: int, program: Callable[..., Any], args: tuple[Any, ...], uncompiled: None
) -> None:
    """NumPy adds and multiplies in an order of its own, so values are compared to rounding."""
    check_subject(Subject(program, args, exact=False), number)
