"""Random programs with ranges as values, keyword calls, complex numbers, small integers, recurrences, arrays without elements."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from adjit.testing.fuzz import Settings, outcomes, save, verdict
from adjit.testing.programs import Program, generate

from .test_random_programs import assert_right

WRITTEN = {
    "a range chosen in an expression": r"e\d+ = range\(.*\) if .* else ",
    "a range with a name": r"\be\d+ = range",
    "a loop over a range with a name": r"for .* in (enumerate\()?(e\d+|r_\d)\)?:",
    "a range handed on": r"def h\d\(.*r_\d",
    "a keyword call of a function": r"\b[hr]\d\(.*\b(\w_\d|lo|n)=",
    "a keyword call of a nested function": r"\bg\d\(.*\b[zt]=",
    "a parameter with a default": r"def \w+\(.*=",
    "a store to a complex array": r"\b(Z|W|y\d+|z_\d)\[.*\] [-+*/]?= ",
    "a complex scalar": r"\bd\d+ [-+*/]?= ",
    "a loop over a complex array": r"for \w+ in (range\(len\((Z|W|y\d+)|y\d)",
    "a store to small integers": r"\b(u|o|b\d+|b_\d)\[.*\] ([-+&|^]|//|>>)?= ",
    "a store to bools": r"\b(B|B\d+|b_\d)\[.*\] [&|^]?= ",
    "a loop over what may have no element": r"for .* in .*\b(E\d*|F|l_\d)\b",
    "a store to small integers that wrap": r"\b(G|H|q\d+)\[.*\] ([-+*^]=|= .* [-+*] )",
    "a whole array of small integers that wrap": r"\bq\d+ = .*\b(G|H|q\d+)\b",
    "a cast of small integers": r"\b(G|H|q\d+)\.astype",
    "a mask of small integers": r"\bB\d+ = (G|H|q\d+) ",
    "names that move in a recurrence": r"for \w+ in range\(1, min\(len\(",
    "a row that moves in a recurrence": r"\bk\d+ = .*% \w+\.shape\[0\]",
    "a matrix swept in place": r"\bt\d+\[i\d+, j\d+\] = 0\.4 \* t",
    "differences of neighbours": r"in range\(len\(t\d+\) - \d\)",
    "a slice that may have no extent": r"(\(len\(\w+\) \+ 1\)|\[2:1|\[:0|\[len\(\w+\)):?.*\]",
}
"""What at least one program in forty has, as text."""


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [generate(seed, kinds=True) for seed in range(240)]


@pytest.mark.parametrize("block", range(2))
def test_uncompiled(block: int, tmp_path: Path, uncompiled: None) -> None:
    settings = Settings(
        seed=6 * block, count=6, kinds=True, small=True, seconds=600, folder=tmp_path, shrink_seconds=0
    )
    assert_right(list(outcomes(settings)))


def test_compiled() -> None:
    settings = Settings(compiled=True, kinds=True, limit=300)
    sample = (generate(seed, kinds=True, small=True) for seed in range(40))
    shortest = min((p for p in sample if len(p.kinds) > 2), key=lambda p: len(p.source()))
    assert_right([verdict(shortest, settings)])


@pytest.mark.parametrize("what", WRITTEN)
def test_every_kind_is_written(what: str, programs: list[Program]) -> None:
    found = sum(bool(re.search(WRITTEN[what], program.source())) for program in programs)
    assert found >= len(programs) / 40, found


def test_every_kind_of_argument_is_passed(programs: list[Program]) -> None:
    values = [a.value for program in programs for a in program.arguments]
    named = {a.name: a for program in programs for a in program.arguments}
    assert named.keys() >= set("abcMZEFuBGH")
    types = {str(v.dtype) for v in values if isinstance(v, np.ndarray)}
    assert types >= {"complex64", "complex128", "int8", "int16", "uint8", "uint16", "int32", "bool"}
    assert any(isinstance(v, complex) for v in values)
    for extent in (0, 1):
        few = [p for p in programs if any(extent in np.shape(a.value) for a in p.arguments)]
        assert len(few) > len(programs) / 10
    for kind in ("ranges", "keywords", "complex", "small", "limits", "recurrences", "empty"):
        assert sum(kind in program.kinds for program in programs) > len(programs) / 3


def test_small_integers_are_at_the_limits_of_their_types(programs: list[Program]) -> None:
    held = [a.value for program in programs for a in program.arguments if a.name in ("G", "H")]
    for dtype in ("int8", "int16", "int32", "uint8", "uint16", "uint32"):
        limits = np.iinfo(dtype)
        assert {limits.min, limits.max} <= {int(v) for a in held if a.dtype == dtype for v in a}


@pytest.mark.parametrize("arrays", [False, True])
def test_ordinary_arguments_have_no_element_or_few(arrays: bool) -> None:
    """A fifth of the programs; in a tenth at the least arrays of one, two and three axes have none."""
    programs = [generate(seed, kinds=True, arrays=arrays, small=True) for seed in range(150)]
    shapes = [
        [np.shape(a.value) for a in p.arguments if a.name in "abcMNT" and np.ndim(a.value) > 0]
        for p in programs
    ]
    few = [own for own in shapes if own and max(n for shape in own for n in shape) <= 2]
    assert 0.1 < len(few) / len(programs) < 0.4
    none = [own for own in shapes if any(0 in shape for shape in own)]
    assert len(none) > len(programs) / 15, len(none)
    for axes in (1, 2, 3)[: 3 if arrays else 2]:
        assert any(0 in shape and len(shape) == axes for own in none for shape in own)
    if arrays:
        moved = [p for p in programs if re.search(r"(\w+)\[.*:-?\d*.*\] [-+*]?= .*\b\1\[.*:", p.source())]
        assert len(moved) > len(programs) / 4


def test_arrays_and_kinds_together(tmp_path: Path, uncompiled: None) -> None:
    settings = Settings(
        seed=11, count=5, kinds=True, arrays=True, small=True, seconds=600, folder=tmp_path, shrink_seconds=0
    )
    assert_right(list(outcomes(settings)))


def test_the_plain_form_calls_nested_functions_by_position(programs: list[Program]) -> None:
    """Numba has no keywords there; so the reference differs from the program."""
    called = [p for p in programs if re.search(r"\bg\d\([^()]*\b[zt]=", p.source())]
    assert called
    assert not [p for p in called if re.search(r"(?<!def )\bg\d\([^()]*\b[zt]=", p.source(reference=True))]


def test_a_saved_program_keeps_its_arguments(programs: list[Program], tmp_path: Path) -> None:
    """Extents of arrays without elements, complex numbers and bools come back."""
    for program in programs[:40]:
        namespace: dict[str, object] = {"__name__": "saved"}
        exec(save(program, "kind", "report", Settings(folder=tmp_path)).read_text(), namespace)
        flat = [
            leaf for tree in namespace["ARGUMENTS"] for leaf in (tree if isinstance(tree, tuple) else [tree])
        ]
        for value, argument in zip(flat, program.arguments, strict=True):
            assert np.shape(value) == np.shape(argument.value)
            assert np.asarray(value).dtype == np.asarray(argument.value).dtype


def test_parallel_loops_are_programs_of_their_own() -> None:
    with pytest.raises(ValueError, match="both parallel loops and"):
        generate(0, kinds=True, parallel=True)
