"""Gates: turns that are said never to meet never do, by enumeration; and the common forms are recognised."""

from __future__ import annotations

import itertools
import random

import pytest

from adjit.analysis.alias import Affine
from adjit.analysis.strided import Strided
from adjit.ir.core import Load, Loop, Store
from adjit.ir.parser import parse
from adjit.ir.visit import walk

HEAD = "function f(n: int64, m: int64, v: array(float64, 1d, C)):\n"


def _never(text: str) -> bool:
    """Whether the turns of the first loop are proven to meet nowhere."""
    function = parse(HEAD + text + "  return\n")
    loop = next(s for s in walk(function.body) if isinstance(s, Loop))
    accesses = [s for s in walk(loop.body) if isinstance(s, Load | Store)]
    return Strided(loop, Affine.of(function)).never_meet(accesses)


def _text(
    range_: tuple[str, str, int], forms: list[tuple[str, str, str]], inner: tuple[str, str, int]
) -> str:
    """A loop whose inner loop stores at the first place `a * i + b * j + c`, and loads from the others."""
    lines = [f"  for i: int64 in range({range_[0]}, {range_[1]}, {range_[2]}:int64):"]
    lines.append(f"    for j: int64 in range({inner[0]}, {inner[1]}, {inner[2]}:int64):")
    for k, (a, b, c) in enumerate(forms):
        lines.append(f"      p{k}: int64 = mul(i, {a})")
        lines.append(f"      q{k}: int64 = mul(j, {b})")
        lines.append(f"      r{k}: int64 = add(p{k}, q{k})")
        lines.append(f"      s{k}: int64 = add(r{k}, {c})")
        lines.append(
            f"      store v[s{k}] = 1.0:float64" if k == 0 else f"      x{k}: float64 = load v[s{k}]"
        )
    return "\n".join(lines) + "\n"


def _value(a: str, n: int, m: int) -> int:
    return {"n": n, "m": m}[a] if a in "nm" else int(a.split(":")[0])


def _meet(range_, forms, inner, n: int, m: int) -> bool:
    """Whether two turns do meet, with an array of 60 elements, in which negative places count from the end."""
    turns = []
    for i in range(_value(range_[0], n, m), _value(range_[1], n, m), range_[2]):
        stored, touched = set(), set()
        for j in range(_value(inner[0], n, m), _value(inner[1], n, m), inner[2]):
            for k, (a, b, c) in enumerate(forms):
                place = _value(a, n, m) * i + _value(b, n, m) * j + _value(c, n, m)
                if -60 <= place < 60:
                    (stored if k == 0 else touched).add(place % 60)
        turns.append((stored, stored | touched))
    return any(a[0] & b[1] for a, b in itertools.permutations(turns, 2))


def test_random_forms_are_never_wrongly_apart() -> None:
    rng = random.Random(7)
    number = lambda low, high: f"{rng.randint(low, high)}:int64"
    proven = 0
    for _ in range(1500):
        step = rng.choice([1, 1, 2, -1])
        ends = ("0:int64", rng.choice(["n", number(1, 6)]))
        range_ = (*(ends if step > 0 else (ends[1], "0:int64")), step)
        inner_step = rng.choice([1, 1, 2, -1])
        ends = ("0:int64", rng.choice(["m", number(1, 4)]))
        inner = (*(ends if inner_step > 0 else (ends[1], "-1:int64")), inner_step)
        slope = rng.choice(["m", number(-1, 6), number(1, 6)])
        across = rng.choice([number(-1, 2), number(0, 1), "m"])
        forms = [(slope, across, number(0, 4))]
        for _ in range(rng.choice([0, 1, 2])):
            forms.append((rng.choice([slope, slope, number(1, 4)]), across, number(0, 4)))
        if _never(_text(range_, forms, inner)):
            proven += 1
            for n, m in itertools.product(range(-2, 6), range(-2, 6)):
                assert not _meet(range_, forms, inner, n, m), _text(range_, forms, inner)
    assert proven > 150


@pytest.mark.parametrize(
    ("range_", "forms", "inner", "want"),
    [
        (("0:int64", "n", 1), [("m", "1:int64", "0:int64")], ("0:int64", "m", 1), True),
        (("0:int64", "n", 1), [("m", "1:int64", "1:int64")], ("0:int64", "m", 1), True),
        (("0:int64", "n", 1), [("m", "1:int64", "0:int64")] * 2, ("0:int64", "m", 1), True),
        (("0:int64", "n", 1), [("m", "1:int64", "0:int64"), ("m", "1:int64", "1:int64")], ("0:int64", "m", 1), False),
        (("0:int64", "n", 1), [("3:int64", "1:int64", "0:int64")], ("0:int64", "3:int64", 1), True),
        (("0:int64", "n", 1), [("3:int64", "1:int64", "0:int64")], ("0:int64", "4:int64", 1), False),
        (("0:int64", "n", 2), [("1:int64", "0:int64", "0:int64"), ("1:int64", "0:int64", "1:int64")], ("0:int64", "m", 1), True),
        (("0:int64", "n", 1), [("n", "0:int64", "0:int64")], ("0:int64", "m", 1), True),
        (("0:int64", "n", 1), [("m", "0:int64", "0:int64")], ("0:int64", "2:int64", 1), False),
    ],
)  # fmt: skip
def test_forms(range_, forms, inner, want: bool) -> None:
    assert _never(_text(range_, forms, inner)) is want
