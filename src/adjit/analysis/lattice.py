"""The turns of a loop in a nest: all numbers of a range, or those of one residue class that other indices may move.

    for i in range(n): for j in range((c - i) % 2, n, 2): ...        j = c - i (mod 2), 0 <= j < n

A guard such as `(i + j) % 2 == c` has become such a start and step (`transform.stride`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adjit.analysis.ranges import Form
from adjit.ir.core import Atom, Const, Let, Loop, Sym
from adjit.ir.types import INT64


@dataclass(frozen=True)
class Head:
    """first + before <= index < last + after, and index = residue (mod modulus)."""

    index: Sym
    first: Atom
    before: int
    last: Atom
    after: int
    modulus: int
    residue: Form

    @staticmethod
    def of(loop: Loop, table: Mapping[Sym, Let]) -> Head | None:
        """The turns of a counted loop. table: definitions inside the nest. None: not of that form."""
        step = loop.step
        if loop.stop is not None or loop.index is None or loop.index.type != INT64:
            return None
        if not isinstance(step, Const) or not isinstance(step.value, int) or step.value == 0:
            return None
        assert loop.lo is not None
        assert loop.hi is not None
        up, modulus = step.value > 0, abs(step.value)
        edge, residue = loop.lo, Form(0)
        if modulus > 1:
            edge, residue = _edge(loop.lo, up, modulus, table), _residue(loop.lo, modulus, table)
        ends = (edge, 0, loop.hi, 0) if up else (loop.hi, 1, edge, 1)
        return Head(loop.index, *ends, modulus, residue)


def _edge(lo: Atom, up: bool, modulus: int, table: Mapping[Sym, Let]) -> Atom:
    """The number from which `lo` is the next of its class: a, for a + g % m upwards, a - g % m downwards."""
    let = table.get(lo) if isinstance(lo, Sym) else None
    if let is not None and let.op == ("add" if up else "sub") and let.fn is None:
        pairs = [let.args, let.args[::-1]] if up else [let.args]
        for a, g in pairs:
            inner = table.get(g) if isinstance(g, Sym) else None
            if inner is not None and inner.op == "mod" and inner.fn is None and _is(inner.args[1], modulus):
                return a
    inner = let if let is not None and let.op == "mod" and let.fn is None else None
    if up and inner is not None and _is(inner.args[1], modulus):
        return Const(0, INT64)
    return lo


def _is(a: Atom, value: int) -> bool:
    return isinstance(a, Const) and a.value == value and a.type == INT64


def _residue(a: Atom, modulus: int, table: Mapping[Sym, Let]) -> Form:
    """A linear form that is equal to `a`, modulo the modulus."""
    if isinstance(a, Const):
        return Form(a.integer % modulus)
    assert isinstance(a, Sym)
    let = table.get(a)
    if let is None or let.fn is not None or any(x.type != INT64 for x in (a, *let.args)):
        return Form(0, {a: 1})
    if let.op in ("add", "sub"):
        x, y = (_residue(arg, modulus, table) for arg in let.args)
        return _reduced(x.plus(y, 1 if let.op == "add" else -1), modulus)
    if let.op == "neg":
        return _reduced(Form(0).plus(_residue(let.args[0], modulus, table), -1), modulus)
    if let.op in ("pos", "nonneg"):
        return _residue(let.args[0], modulus, table)
    if let.op == "mod" and isinstance(let.args[1], Const):
        by = let.args[1].integer
        if by != 0 and by % modulus == 0:
            return _residue(let.args[0], modulus, table)
    if let.op == "mul":
        for x, k in (let.args, let.args[::-1]):
            if isinstance(k, Const):
                return _reduced(Form(0).plus(_residue(x, modulus, table), k.integer), modulus)
    return Form(0, {a: 1})


def _reduced(form: Form, modulus: int) -> Form:
    """The same class, with factors from 0 to modulus - 1."""
    terms = {s: k % modulus for s, k in form.terms.items() if k % modulus}
    return Form(form.constant % modulus, terms)
