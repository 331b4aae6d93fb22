"""The random program generator makes fair tests: deterministic, valid for Numba, smooth, varied.

No adjit here.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from adjit.testing.checks import load
from adjit.testing.differences import richardson
from adjit.testing.placing import Placed, Placement, same_bits
from adjit.testing.programs import Program, Rejected, generate
from adjit.testing.programs.nodes import Argument, Block, Expression, Function, Line
from adjit.testing.programs.probe import Probed, fresh, validate
from adjit.testing.shrink import shrink

SAMPLE = [generate(seed) for seed in range(400)]


def test_same_seed_same_program() -> None:
    assert [generate(seed).source() for seed in range(20)] == [program.source() for program in SAMPLE[:20]]


@pytest.mark.parametrize("seed", range(50))
def test_numba_runs_it_as_python_does(seed: int, tmp_path: Path) -> None:
    program = SAMPLE[seed]
    plain = load(program, tmp_path, decorated=False)
    compiled = load(program, tmp_path, decorated=True)
    values = tuple(argument.value for argument in program.arguments)
    first = Placement(values, tuple(argument.layout for argument in program.arguments))
    second = fresh(program)
    assert np.isclose(compiled(*first.args), plain(*second), rtol=1e-11, atol=1e-11)
    assert first.intact()
    for a, b in zip(first.snapshot(), second, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def test_probed_and_plain_text_compute_the_same(tmp_path: Path) -> None:
    for program in SAMPLE:
        a, b = fresh(program), fresh(program)
        assert same_bits(float(Probed(program)(a)), float(load(program, tmp_path, decorated=False)(*b)))
        assert same_bits(a, b)


def test_differences_converge() -> None:
    """At least 95 % of the programs can be held against differences sharper than 1e-7."""
    good = 0
    for program in SAMPLE:
        probed = validate(program)
        rng = np.random.default_rng(program.seed)
        directions = {k: rng.uniform(-1, 1, np.shape(program.arguments[k].value)) for k in program.wrt}

        def line(t: float, program=program, probed=probed, directions=directions) -> float:
            args = fresh(program)
            for k, d in directions.items():
                args[k] = args[k] + t * (d if isinstance(args[k], np.ndarray) else float(d))
            return probed(args)

        for step in (4e-3, 4e-4):
            try:
                value, error = richardson(line, step)
            except Rejected:
                continue
            good += error < 1e-7 * (1 + abs(value))
            break
    assert good >= 0.95 * len(SAMPLE), f"{good} of {len(SAMPLE)}"


FEATURES = {
    "nested loops": r"\n        for .*\n(?:.*\n)*?            for ",
    "while": r"while n\d+ < ",
    "while True": r"while True",
    "break": r"break",
    "continue": r"continue",
    "early return": r"\n        +return .*\n[^@]*\n    return",
    "for-else": r"\n    +else:",
    "swap by name": r"\n +(\w+), (\w+) = \2, \1\n",
    "strided view": r"\[::2\]",
    "reversed view": r"\[::-1\]",
    "row": r"M\[.* % M\.shape\[0\]\]",
    "column": r"\[:, ",
    "scratch": r"np\.(empty|zeros)",
    "index array": r"\[\(?[pr]\[",
    "mutated index array": r"\n +[pr]\[.*\] (\+=|=) ",
    "callee": r"def h0",
    "callee of a view": r"h0\(.*\[::",
    "pair": r"\n +s\d+, s\d+ = h",
    "nested function": r"\n    def g0",
    "lambda": r"= lambda ",
    "name chosen": r"\n +v\d+ = \w+ if ",
    "int of a float": r"int\(2\.0",
    "min or max": r"(min|max)\(",
    "ternary": r"\(.* if .* else ",
    "tuple of arrays": r"\n +t\d+ = \(",
    "elements": r"for z\d+ in ",
    "zip": r"in zip\(",
    "callee returns a view": r"\n +return [\w]+\[.*:.*\]\n\n\n",
    "copy": r"\.copy\(\)",
    "in-place update": r"\] (\+|\*|-|/)= ",
}


@pytest.mark.parametrize("feature", FEATURES)
def test_features_occur(feature: str) -> None:
    found = sum(bool(re.search(FEATURES[feature], program.source())) for program in SAMPLE)
    assert found >= 4, f"{feature}: in {found} of {len(SAMPLE)} programs"


def test_programs_are_varied() -> None:
    sources = Counter(program.source() for program in SAMPLE)
    assert len(sources) == len(SAMPLE)


def _tiny(*lines: str) -> Program:
    body = tuple(Line(Expression(line)) for line in lines)
    return Program(
        (Function("f", ("a", "x"), body),), (Argument("a", np.array([0.5, 0.7])), Argument("x", 0.3)), 0
    )


@pytest.mark.parametrize(
    "line",
    [
        "return a[5]",
        "return nothing",
        "return 1 / (x - x)",
        "return _probe.max(a[0], a[0])",
        "return 1e9 * x",
    ],
)
def test_unfair_programs_are_rejected(line: str) -> None:
    with pytest.raises(Rejected):
        validate(_tiny(line))


def test_endless_loops_are_rejected() -> None:
    loop = Block(Expression("while True"), (Line(Expression("x = x * 0.5")),), loop=True)
    program = _tiny("return x")
    with pytest.raises(Rejected):
        validate(program.with_functions((Function("f", ("a", "x"), (loop, *program.functions[0].body)),)))


def test_shrinking_keeps_the_culprit_and_little_else() -> None:
    program = next(p for p in SAMPLE if re.search(r"\] /= ", p.source()) and len(p.source()) > 900)
    smaller = shrink(program, lambda p: "] /= " in p.source(), seconds=10)
    assert "] /= " in smaller.source()
    assert len(smaller.source()) < 0.5 * len(program.source())


@pytest.mark.parametrize("layout", ["C", "F", "A"])
def test_canaries_notice_a_neighbouring_write(layout: str) -> None:
    placed = Placed(np.arange(6.0).reshape(2, 3), layout)
    assert placed.intact() and np.array_equal(placed.array, np.arange(6.0).reshape(2, 3))
    assert placed.array.flags.c_contiguous == (layout == "C")
    before = placed.array.__array_interface__["data"][0]
    beyond = np.lib.stride_tricks.as_strided(placed.array, (2, 4))
    beyond[1, 3] = 0.0
    assert before == placed.array.__array_interface__["data"][0]
    assert not placed.intact()
