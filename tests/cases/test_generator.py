"""The random program generator makes fair tests: deterministic, valid for Numba, smooth, varied.

No adjit here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjit.testing.checks import load
from adjit.testing.complex_step import ComplexStep
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
    plain = load(program, tmp_path, decorated=False, reference=True)
    compiled = load(program, tmp_path, decorated=True, reference=True)
    values = tuple(argument.value for argument in program.arguments)
    first = Placement(values, tuple(argument.layout for argument in program.arguments))
    second = fresh(program)
    near = 1e-4 if any(getattr(v, "dtype", None) == np.float32 for v in values) else 1e-11
    got = compiled(*program.packed(first.args, compiled.py_func.__globals__))
    assert np.isclose(got, plain(*program.packed(second, plain.__globals__)), rtol=near, atol=near)
    assert first.intact()
    for a, b in zip(first.snapshot(), second, strict=True):
        np.testing.assert_allclose(a, b, rtol=near, atol=near)


def test_probed_and_plain_text_compute_the_same(tmp_path: Path) -> None:
    for program in SAMPLE:
        a, b = fresh(program), fresh(program)
        probed, plain = Probed(program), load(program, tmp_path, decorated=False, reference=True)
        value = plain(*program.packed(b, plain.__globals__))
        assert same_bits(float(probed(program.packed(a, probed.namespace))), float(value))
        assert same_bits(a, b)


def test_the_complex_step_agrees_with_differences() -> None:
    """Two ways to differentiate the plain program that share nothing with adjit, or with each other."""
    compared = 0
    for program in SAMPLE[:100]:
        probed = validate(program)
        rng = np.random.default_rng(program.seed)
        directions = {k: rng.uniform(-1, 1, np.shape(program.arguments[k].value)) for k in program.wrt}
        exact = ComplexStep(program, probed.base)(directions, {})
        try:
            value, error = richardson(_line(program, probed, directions))
        except Rejected:
            continue
        if error < 1e-9 * (1 + abs(value)):
            compared += 1
            assert np.isclose(exact, value, rtol=1e-7, atol=1e-7), program.source()
    assert compared > 70


def _line(program: Program, probed: Probed, directions: dict[int, Any]) -> Callable[[float], float]:
    def line(t: float) -> float:
        args = [a.astype(float) if getattr(a, "dtype", None) == np.float32 else a for a in fresh(program)]
        for k, d in directions.items():
            args[k] = args[k] + t * (d if isinstance(args[k], np.ndarray) else float(d))
        return probed(program.packed(args, probed.namespace))

    return line


def test_differences_converge() -> None:
    """At least 95 % of the programs can be held against differences sharper than 1e-7."""
    good = 0
    for program in SAMPLE:
        probed = validate(program)
        rng = np.random.default_rng(program.seed)
        directions = {k: rng.uniform(-1, 1, np.shape(program.arguments[k].value)) for k in program.wrt}
        line = _line(program, probed, directions)
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
    "inner gradient": r"aj\.grad\(f\d+",
    "inner value and gradient": r"aj\.value_and_grad\(f\d+",
    "gradient by an array": r"v\d+ = aj\.grad\(",
    "rule for cotangents": r"custom_vjp",
    "rule for tangents": r"custom_jvp",
    "rule of a function that writes": r"a\[0\] \* math\.cos\(\d\.\d \* x\)",
    "tuple argument": r"def f\(.*t_\d",
    "named tuple": r"= namedtuple\(",
    "list comprehension": r"l\d+ = \[",
    "bits": r"(>> 1|<< 1|& 3|\| 1|\^ )",
    "view and float returned": r"\n +v\d+, s\d+ = h",
    "fresh array each turn": r"\n +for i\d+ in .*\n +(w\d+) = np\.(?:empty|zeros)\(len\((\w+)\)\)[^@]*\n +\2 = \1\n",
    "transposed": r"\.T\n",
    "fresh matrix": r"np\.zeros\(\(",
    "exception": r"raise ValueError",
    "while-else or for-else": r"\n    +else:",
}


@pytest.mark.parametrize("feature", FEATURES)
def test_features_occur(feature: str) -> None:
    found = sum(bool(re.search(FEATURES[feature], program.source())) for program in SAMPLE)
    assert found >= 4, f"{feature}: in {found} of {len(SAMPLE)} programs"


def test_recursive_programs_come_on_request() -> None:
    recursive = [generate(seed, recursion=True) for seed in range(40)]
    calls = [p for p in recursive if re.search(r"def f[^@]*r0\(", p.source())]
    assert len(calls) > 8
    assert not any("r0(" in program.source() for program in SAMPLE)


def test_single_precision_and_layouts_occur() -> None:
    values = [a for program in SAMPLE for a in program.arguments if isinstance(a.value, np.ndarray)]
    assert {a.value.dtype.name for a in values} == {"float32", "float64", "int32", "int64"}
    assert {a.layout for a in values} == {"C", "F", "A"}


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


@pytest.mark.parametrize("layout", ["C", "F", "A", "N"])
def test_canaries_notice_a_neighbouring_write(layout: str) -> None:
    placed = Placed(np.arange(6.0).reshape(2, 3), layout)
    assert placed.intact() and np.array_equal(placed.array, np.arange(6.0).reshape(2, 3))
    assert placed.array.flags.c_contiguous == (layout == "C")
    assert (placed.array.strides[0] < 0) == (layout == "N")
    beyond = np.lib.stride_tricks.as_strided(placed.array, (2, 4))
    beyond[1, 3] = 0.0
    assert not placed.intact()
