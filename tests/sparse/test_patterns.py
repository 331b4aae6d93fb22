"""Derived patterns: no entry of any point is missing, none is there without need, and what is proven is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.api.sparse.jacobian import SparseJacobian
from tests.sparse.programs import PROGRAMS, Program

POINTS = 60


def points(program: Program) -> list[Any]:
    rng = np.random.default_rng(3)
    drawn = [rng.normal(size=program.n) * scale for scale in (1.0, 0.5, 2.0) for _ in range(POINTS // 3)]
    drawn[:0] = [np.full(program.n, 0.3), -np.arange(1.0, program.n + 1), np.arange(1.0, program.n + 1) / 4]
    return [abs(x) for x in drawn] if program.positive else drawn


def args_of(program: Program) -> tuple[Any, ...]:
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in program.args)


def dense(f: Any, x: Any, *args: Any) -> Any:
    columns = []
    for unit in np.eye(len(x)):
        out = aj.jvp(f, (x.copy(), *args), (unit, *(None for _ in args)))[1]
        parts = out if isinstance(out, tuple) else (out,)
        columns.append(np.concatenate([np.ravel(p) for p in parts if p is not None]))
    return np.array(columns).T


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_pattern_holds_every_entry(program: Program, uncompiled: None) -> None:
    f = program.f
    seen: Any = None
    first: Any = None
    for k, x in enumerate(points(program)):
        if k < 6 or not program.proven:  # one that is proven is the same everywhere
            pattern = aj.sparsity(f, x.copy(), *args_of(program))
        assert pattern.proven == program.proven, pattern.reasons
        assert pattern.proven == (not pattern.reasons)
        inside = pattern.toarray()
        entries = dense(f, x, *args_of(program)) != 0
        assert inside.shape == entries.shape
        if program.proven:
            first = inside if first is None else first
            assert np.array_equal(inside, first), "a proven pattern does not depend on floats"
        assert not (entries & ~inside).any(), f"missing at {x}"
        seen = entries if seen is None else seen | entries
    if program.tight:
        assert np.array_equal(seen, inside), f"never there:\n{(inside & ~seen).astype(int)}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_compressed_is_dense(program: Program, uncompiled: None) -> None:
    sparse = SparseJacobian(program.f)
    for x in points(program)[:4]:
        given, plain = x.copy(), x.copy()
        found = sparse(given, *args_of(program))
        right = dense(program.f, x, *args_of(program))
        assert found.shape == right.shape
        assert np.allclose(found.toarray(), right, rtol=1e-12, atol=1e-12)
        getattr(program.f, "py_func", program.f)(plain, *args_of(program))
        assert np.array_equal(given, plain)
