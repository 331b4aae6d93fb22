"""Random programs with parallel loops and kernels: no turn depends on another, parts really run, every check holds."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.testing.checks import fine_parts, load
from adjit.testing.fuzz import Settings, outcomes, verdict
from adjit.testing.programs import Program, generate
from adjit.testing.programs.probe import fresh

from .test_random_programs import assert_right

SAMPLE = 6


def program(seed: int) -> Program:
    return generate(seed, small=True, parallel=True)


@pytest.mark.parametrize("block", range(2))
def test_uncompiled(block: int, tmp_path: Path, uncompiled: None) -> None:
    settings = Settings(
        seed=SAMPLE * block,
        count=SAMPLE,
        parallel=True,
        small=True,
        seconds=600,
        folder=tmp_path,
        shrink_seconds=0,
    )
    assert_right(list(outcomes(settings)))


def test_compiled() -> None:
    settings = Settings(compiled=True, parallel=True, limit=300)
    shortest = min((program(seed) for seed in range(20)), key=lambda p: len(p.source()))
    assert_right([verdict(shortest, settings)])


@pytest.mark.parametrize("block", range(4))
def test_no_turn_depends_on_another(block: int) -> None:
    """The plain form gives the same numbers with the turns of its parallel loops in any order."""
    for seed in range(20 * block, 20 * block + 20):
        drawn = program(seed)
        order = random.Random(seed)
        value, final = _run(drawn, _turns(drawn, "range"), {})
        loops = _turns(drawn, "mixed")
        for _ in range(2):
            other, end = _run(drawn, loops, {"mixed": lambda *a: order.sample(range(*a), len(range(*a)))})
            assert other == pytest.approx(value, rel=1e-9), drawn.source()
            for a, b in zip(end, final, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=drawn.source())


def _turns(drawn: Program, loop: str) -> str:
    """The plain form with `loop` in place of the range of each parallel loop and launch."""
    plain = re.sub(r"for (e\d+) in range\(", rf"for \1 in {loop}(", drawn.source(reference=True))
    return plain.replace("for item in range(", f"for item in {loop}(")


def _run(drawn: Program, text: str, names: dict[str, Any]) -> tuple[float, list[Any]]:
    space = dict(names)
    exec(text, space)
    args = fresh(drawn)
    return space[drawn.name](*drawn.packed(args, space)), [a for a in args if isinstance(a, np.ndarray)]


def test_every_kind_is_written() -> None:
    text = "".join(program(seed).source() for seed in range(150))
    wanted = "prange(len( prange(1, .shape[0]) aj.atomic_add( ndrange= aj.index() continue return\n max(s min(s += 1 % 2 == 0: // 2]"
    missing = [part for part in wanted.split(" ") if part not in text]
    assert not missing


def test_loops_run_in_parts(tmp_path: Path, uncompiled: None) -> None:
    """The sample would be no test of the parts if its loops ran in order."""
    parallel, in_parts, copied, near = 0, 0, 0, 0
    with fine_parts():
        for seed in range(14):
            drawn = program(seed)
            f = load(drawn, tmp_path, decorated=False)
            args = drawn.packed(fresh(drawn), f.__globals__)
            try:
                source = aj.value_and_grad(f, wrt=_moving(drawn)).source(*args)
            except aj.UnsupportedError:
                continue
            parallel += "prange(" in drawn.source() or "ndrange=" in drawn.source()
            in_parts += "run_parts(" in source
            copied += "_of_parts = np.zeros((" in source
            near += "phase" in source
    assert in_parts > 0.6 * parallel > 7, (parallel, in_parts)
    assert copied > 2
    assert near


def _moving(drawn: Program) -> tuple[int, ...]:
    """Positions of the parameters with a float in them."""
    at, found = 0, []
    for k, (_, count) in enumerate(drawn.structure):
        if any(a.active for a in drawn.arguments[at : at + count]):
            found.append(k)
        at += count
    return tuple(found)
