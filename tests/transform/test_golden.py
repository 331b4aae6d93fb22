"""Each pass on a small program: the IR before and after it, as text, compared with a golden file.

A pass that changes is seen here first. `pytest tests/transform --update-golden` writes the files anew; read them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from adjit.ir.core import Function
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.transform.ascend import ascend
from adjit.transform.bounds import bounds_checked
from adjit.transform.carry import carry
from adjit.transform.choose import choose
from adjit.transform.clean import clean
from adjit.transform.common import common
from adjit.transform.contract import contract
from adjit.transform.defer import defer_stores
from adjit.transform.expand import expand
from adjit.transform.forward import forward
from adjit.transform.gather import gather
from adjit.transform.hoist import hoist
from adjit.transform.interchange import interchange
from adjit.transform.lift import lift
from adjit.transform.prepare import count_turns, forward_views
from adjit.transform.pure import pure
from adjit.transform.races import race_checked
from adjit.transform.reverse import Reversed, Wish, reverse
from adjit.transform.reverse.growing import growing
from adjit.transform.reverse.references import references
from adjit.transform.scalarise import scalarise
from adjit.transform.signs import signs
from adjit.transform.sink import sink
from adjit.transform.steady import steady
from adjit.transform.stride import stride
from adjit.transform.through import through
from adjit.transform.unread import unread

from . import programs as p
from .typed import Pass, active, structure, typed

Golden = Callable[[str, str], None]
X, M = np.ones(4), np.ones((4, 4))


def as_references(function: Function) -> Function:
    head, rewritten = references(function, (), growing(function))
    return replace(rewritten, body=(*head, *rewritten.body))


def reversed_(function: Function) -> Reversed:
    seeded = tuple(k for k, a in enumerate(function.results) if a.type.differentiable)
    return reverse(function, Wish(active(function), seeded, final=not function.results))


PASSES: list[tuple[str, Pass, Any, tuple[Any, ...]]] = [
    ("clean", lambda f: clean(forward_views(f)), p.columns, (M,)),
    ("count_turns", count_turns, p.settles, (2.0,)),
    ("forward_views", forward_views, p.columns, (M,)),
    ("hoist", hoist, p.triangle, (X, 2)),
    ("stride", stride, p.red_black, (M, 1)),
    ("common", common, p.repeats, (2.0, 3.0)),
    ("choose", choose, p.clipped, (X, 0.5)),
    ("defer_stores", defer_stores, p.pushes, (X, 0.5)),
    ("carry", carry, p.prefix, (X,)),
    ("through", through, p.shifted, (M,)),
    ("gather", lambda f: clean(gather(clean(f))[0]), p.pushed, (M, M.copy())),
    ("ascend", ascend, p.downwards, (M, X)),
    ("signs", signs, p.scattered, (X, X, np.array([0, 2, 3]), np.array([0, 1, 0]))),
    ("interchange", interchange, p.across, (np.asfortranarray(M), np.asfortranarray(M))),
    ("contract", lambda f: contract(scalarise(f)), p.differences, (X, X)),
    ("unread", unread, p.cleared, (X,)),
    ("steady", steady, p.weighs, (M, X, 0.5)),
    ("lift", lift, p.eliminates, (M,)),
    ("references", as_references, p.ping_pong, (X, X, 3)),
    ("expand", expand, p.product_rule, (3.0,)),
    ("expand_jvp", expand, p.slope_inside, (3.0, 1.0)),
    ("expand_vjp", expand, p.pulled_inside, (3.0,)),
]

DERIVATIVES: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("square_sum", p.square_sum, (X,)),
    ("product", p.product, (X,)),
    ("burgers", p.burgers, (X, 3)),
    ("gauss_seidel", p.gauss_seidel, (X, X)),
    ("branches", p.branches, (X,)),
    ("while", p.settles, (2.0,)),
    ("ping_pong", p.ping_pong, (X, X, 3)),
    ("scratch", p.scratch, (X,)),
    ("custom", p.through_rules, (0.3,)),
]


def sections(program: Any, **texts: str) -> str:
    """One golden file: the program, then each text under its title."""
    source = inspect.getsource(program)
    whole = "\n".join(f"--- {title}\n{text}" for title, text in {"program": source, **texts}.items())
    return re.sub(r"(raise MemoryError\('record', \S+), \d+\)", r"\1, LINE)", whole)


@pytest.mark.parametrize(("name", "transform", "program", "args"), PASSES, ids=[c[0] for c in PASSES])
def test_pass(golden: Golden, name: str, transform: Pass, program: Any, args: tuple[Any, ...]) -> None:
    before = typed(program, *args)
    after = transform(before)
    verify(after)
    assert to_text(after) != to_text(before), "this program does not show the pass"
    golden(name, sections(program, before=to_text(before), after=to_text(after)))


@pytest.mark.parametrize(("name", "transform", "program", "args"), PASSES, ids=[c[0] for c in PASSES])
def test_pass_settles(name: str, transform: Pass, program: Any, args: tuple[Any, ...]) -> None:
    """A second run finds nothing more to do."""
    if transform in (count_turns, as_references):
        pytest.skip("adds counters each time")
    once = transform(typed(program, *args))
    assert to_text(transform(once)) == to_text(once)


def test_sink(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the adjoint of a branch."""
    seen: list[tuple[Function, Function]] = []

    def spy(function: Function) -> Function:
        seen.append((function, sink(function)))
        return seen[-1][1]

    monkeypatch.setattr("adjit.transform.reverse.sink", spy)
    reversed_(typed(p.in_reach, X, X, 0.5))
    before, after = seen[-1]
    assert to_text(before) != to_text(after)
    golden("sink", sections(p.in_reach, before=to_text(before), after=to_text(after)))


def test_bounds(golden: Golden) -> None:
    before = typed(p.row_sums, M, X)
    after = bounds_checked(before)
    verify(after)
    text = re.sub(re.escape(p.__file__) + r":\d+", "programs.py:LINE", to_text(after))
    golden("bounds", sections(p.row_sums, before=to_text(before), after=text))


def test_races(golden: Golden) -> None:
    before = typed(p.alternating, X, X, 3)
    checked = race_checked(before)
    verify(checked.function)
    golden("races", sections(p.alternating, before=to_text(before), after=to_text(checked.function)))


def test_pure(golden: Golden) -> None:
    before = typed(p.doubles, X, X)
    made = pure(before, structure(p.doubles, before, X, X))
    after = made["function"]
    verify(after)
    golden("pure", sections(p.doubles, before=to_text(before), after=to_text(after)))


@pytest.mark.parametrize(("name", "program", "args"), DERIVATIVES, ids=[c[0] for c in DERIVATIVES])
def test_reverse(golden: Golden, name: str, program: Any, args: tuple[Any, ...]) -> None:
    rev = reversed_(typed(program, *args))
    verify(rev.forward)
    verify(rev.backward)
    sweeps = {"augmented": to_text(rev.forward), "reverse": to_text(rev.backward)}
    records = f"{rev.records}\n"
    golden(f"reverse_{name}", sections(program, records=records, **sweeps))


FORWARD = [*DERIVATIVES[:-1], ("custom", p.through_a_tangent_rule, (0.3,))]


@pytest.mark.parametrize(("name", "program", "args"), FORWARD, ids=[c[0] for c in FORWARD])
def test_forward(golden: Golden, name: str, program: Any, args: tuple[Any, ...]) -> None:
    function = typed(program, *args)
    pushed = forward(function, active(function)).function
    verify(pushed)
    golden(f"forward_{name}", sections(program, tangents=to_text(pushed)))


def test_reverse_in_split_mode(golden: Golden) -> None:
    """The pullback works on copies of its own."""
    function = typed(p.doubles, X, X)
    rev = reverse(function, Wish(active(function), (0,), split=True))
    verify(rev.forward)
    verify(rev.backward)
    golden(
        "reverse_split", sections(p.doubles, augmented=to_text(rev.forward), reverse=to_text(rev.backward))
    )
