"""Random programs against every check: a fixed sample, the same each time. `make fuzz` runs as many as time allows."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import adjit as aj
from adjit.testing.complex_step import ComplexProbe
from adjit.testing.fuzz import Outcome, Settings, outcomes, verdict
from adjit.testing.programs import Probe, generate


def assert_right(found: list[Outcome]) -> None:
    bad = [f"seed {o.seed}: {o.kind}\n{o.report}" for o in found if o.failed]
    bad += [f"seed {o.seed}: {o.report}" for o in found if o.kind == "refused" and not o.report.count("^")]
    assert not bad, "\n\n".join(bad)
    kinds = Counter(outcome.kind for outcome in found)
    assert kinds["passed"] >= 0.75 * len(found), kinds  # a block may have more refusals than most


@pytest.mark.parametrize("block", range(16))
def test_uncompiled(block: int, tmp_path: Path, uncompiled: None) -> None:
    settings = Settings(seed=20 * block, count=20, seconds=600, folder=tmp_path, shrink_seconds=0)
    assert_right(list(outcomes(settings)))


@pytest.mark.parametrize("block", range(2))
def test_derivatives_inside(block: int, tmp_path: Path, uncompiled: None) -> None:
    settings = Settings(
        seed=12 * block, count=12, nested=True, small=True, seconds=600, folder=tmp_path, shrink_seconds=0
    )
    assert_right(list(outcomes(settings)))


def test_every_operator_is_called_inside() -> None:
    text = "".join(generate(seed, nested=True, small=True).source() for seed in range(60))
    names = "grad jvp vjp jacfwd jacrev jacobian hessian laplacian hvp".split()
    assert not [name for name in names if f"aj.{name}(" not in text]


@pytest.mark.parametrize("block", range(2))
def test_whole_arrays(block: int, tmp_path: Path, uncompiled: None) -> None:
    settings = Settings(
        seed=6 * block, count=6, arrays=True, small=True, seconds=600, folder=tmp_path, shrink_seconds=0
    )
    assert_right(list(outcomes(settings)))


def test_every_kind_of_array_statement_is_written() -> None:
    text = "".join(generate(seed, arrays=True).source() for seed in range(80))
    wanted = "@ np.add.at( np.cumsum( np.sort( .T axis= keepdims=True np.where( np.outer( np.concatenate( np.stack("
    wanted += " .reshape( np.flip( [None ::-2 np.array([ np.max("
    assert not [part for part in wanted.split() if part not in text]


def test_what_compares_arrays_is_noted() -> None:
    """A program goes the same way at complex steps, and another way is seen."""
    probe, steps = Probe(), ComplexProbe()
    a = np.array([[0.3, -0.2, 0.7], [0.1, 0.9, -0.4]])
    for p, x in ((probe, a), (steps, a + 1e-25j)):
        assert np.allclose(p.greatest(x, axis=1, keepdims=True), np.max(a, axis=1, keepdims=True))
        assert np.allclose(p.least(x), np.min(a))
        assert np.allclose(p.sort(x, 0), np.sort(a, 0))
        assert np.allclose(p.clip(x, -0.3, 0.5), np.clip(a, -0.3, 0.5))
        assert np.allclose(p.absolute(x), np.abs(a))
    assert probe.trace == steps.trace
    assert probe.margin == steps.margin == pytest.approx(0.1)
    other = Probe()
    other.greater(-a, 0.0)
    assert other.trace[0] not in probe.trace
    assert np.iscomplexobj(steps.fresh(a)) and probe.fresh(a) is a


@pytest.mark.parametrize("boundscheck", [False, True])
def test_compiled(boundscheck: bool) -> None:
    """The shortest of a sample: Numba takes seconds for each operator."""
    settings = Settings(compiled=True, boundscheck=boundscheck, limit=300)
    sample = [generate(seed) for seed in range(7000 + boundscheck, 7060, 2)]
    shortest = sorted(sample, key=lambda program: len(program.source()))[:3]
    assert_right([verdict(program, settings) for program in shortest])


def test_second_order_through_a_rule_for_tangents(uncompiled: None) -> None:
    @aj.custom_jvp
    def wave(x):
        return math.sin(x)

    wave.defjvp(lambda primals, tangents: (math.sin(primals[0]), math.cos(primals[0]) * tangents[0]))
    _, (_, curve) = aj.jvp(aj.value_and_grad(lambda x: wave(x) * x), (0.3,), (1.0,))
    assert curve == pytest.approx(2 * math.cos(0.3) - 0.3 * math.sin(0.3))
