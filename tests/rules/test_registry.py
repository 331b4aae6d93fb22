"""The registry: look-up by op and by callable, spellings that Numba really compiles, the generated page."""

from __future__ import annotations

import math
import string
from pathlib import Path

import numba
import numpy as np
import pytest

from adjit import rules
from adjit.rules import Rule
from adjit.rules import special_functions as special
from adjit.rules.table import markdown

_PAGE = Path(__file__).parents[2] / "docs" / "support.md"
_SPELLED = [rule for rule in rules.all_rules() if rule.spellings]
_FLOATING = [rule for rule in _SPELLED if all(isinstance(a, float) for a in rule.samples[0].args)]


def test_get_unknown_op_says_so() -> None:
    with pytest.raises(KeyError, match="no derivative rule for op 'frobnicate'"):
        rules.get("frobnicate")


def test_every_op_of_the_ir_is_there() -> None:
    operators = (
        "add sub mul div floordiv mod pow neg pos lshift rshift and_ or_ xor invert lt le gt ge eq ne not_"
    )
    for op in (operators + " fdiv szmul select cast dim stop_gradient").split():
        assert rules.get(op).op == op


def test_find_by_identity() -> None:
    assert rules.find(math.sin) is rules.find(np.sin) is rules.get("sin")
    assert rules.find(abs) is rules.get("abs")
    assert rules.find(np.where) is rules.get("select")
    assert rules.find(round, 1) is rules.get("rint")
    assert rules.find(round, 2) is rules.get("round_to")
    assert rules.find(len) is None
    assert rules.find(math.sin, 2) is None


def test_spelling_is_what_is_printed() -> None:
    assert rules.spelling(math.sin) == "math.sin"
    assert rules.spelling(np.sin) == "numpy.sin"
    assert rules.spelling(abs) == "abs"
    assert rules.spelling(math.fmod) is None
    with pytest.raises(KeyError, match="len"):
        rules.spelling(len)


@pytest.mark.parametrize("rule", rules.all_rules(), ids=lambda rule: rule.op)
def test_form_has_one_field_per_operand(rule: Rule) -> None:
    for fn in (None, *rule.spellings):
        fields = {field for _, field, _, _ in string.Formatter().parse(rule.form(fn)) if field}
        assert fields - {"type"} == {str(k) for k in range(rule.arity)}


@pytest.mark.parametrize("rule", rules.all_rules(), ids=lambda rule: rule.op)
def test_a_rule_can_be_tested(rule: Rule) -> None:
    assert rule.samples or rule.op == "dim"
    assert all(len(sample.args) == rule.arity for sample in rule.samples)
    assert rule.symbol or rule.template or rule.spellings


def _calls(rule: Rule, names: list[str]):
    """A function that gives a tuple: each spelling of the operation on the same operands."""
    operands = "abc"[: rule.arity]
    calls = ", ".join(rule.form(name).format(*"abc") for name in names)
    return eval(f"lambda {', '.join(operands)}: ({calls},)", {"math": math, "numpy": np})


@pytest.mark.parametrize("rule", _SPELLED, ids=lambda rule: rule.op)
def test_numba_compiles_each_spelling(rule: Rule) -> None:
    names = [
        name for name in rule.spellings if rules.resolve(name) is not None
    ]  # some are in newer NumPys only
    plain = _calls(rule, names)
    compiled = numba.njit(plain)
    for sample in rule.samples:
        assert compiled(*sample.args) == pytest.approx(plain(*sample.args), rel=1e-14), names


@pytest.mark.parametrize("rule", _FLOATING, ids=lambda rule: rule.op)
def test_numba_compiles_each_spelling_in_float32(rule: Rule) -> None:
    names = [name for name in rule.spellings if rules.resolve(name) is not None]
    args = tuple(np.float32(a) for a in rule.samples[0].args)
    want = [
        _calls(rule, [n])(*(map(float, args) if n.startswith("math.") else args))[0] for n in names
    ]  # math has double precision only
    assert numba.njit(_calls(rule, names))(*args) == pytest.approx(tuple(want), rel=1e-5), names


def test_helpers_come_with_their_source() -> None:
    text = rules.prelude(["sin", "polygamma", "digamma", "polygamma"])
    assert text.count("def ") == 4
    assert text.index("def positive_zeta") < text.index("def hurwitz_zeta") < text.index("def polygamma")
    names = {"math": math}
    exec(text, names)
    assert names["digamma"](1.0) == special.digamma(1.0)


def test_the_support_page_is_up_to_date() -> None:
    assert _PAGE.read_text() == markdown(), "run: python -m adjit.rules.table > docs/support.md"
