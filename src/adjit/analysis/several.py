"""Numbers that are of one type on one path and of another on the next: `k = n if c else u[0]`, `min(n, u[0])`.

In a plain function k is then a Python integer or, say, a uint16, and what is computed of it wraps or does not. Such a
symbol has the facts of all its paths (`Fact.among`) and a type that holds them all. An operation is typed for each:

- All of one type: the operation is that. `s = 0`, then `s += u[i]` in a loop: s + u[i] is a uint16 in every turn.
- Weak integers that come of literals alone, and whose results fit: in the strong type (`s * 3` after that loop).
- Else in 64 bits, where the results of all types agree unless one of them wraps. That is tested, and raises, of
  integers of 8 and 16 bits where turns follow each other: work that runs at once cannot raise.
- Integers on one path and floats on another: in floats, as if they were such on every path, with the same test. A
  float that may be Python's or NumPy's is NumPy's where its type matters (beside float32), and may be either where
  truth values are made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from adjit.analysis.facts import Fact, Split, Typing, are_numpy_bools, parts, promote
from adjit.ir.core import Let
from adjit.ir.spellings import OF_BOOLS
from adjit.ir.types import BOOL, INT64, UINT64, Scalar

_MOST = 64
_PICKS = {"min": (None, "min", "builtins.min"), "max": (None, "max", "builtins.max")}


def merged(facts: Iterable[Fact]) -> Fact | None:
    """What is known of a number of which one of the facts holds; None of complex numbers.

    A literal beside int64 (`n = 0`, `n += x[i] > 0`) counts as one, Python's bool beside other numbers as an integer.
    """
    found = dict.fromkeys(p for f in facts for p in parts(f))
    if not all(isinstance(p.type, Scalar) for p in found):
        return None
    if all(p.type == BOOL for p in found):
        one = [Fact(BOOL, weak) for weak in sorted({p.weak for p in found})]
        return one[0] if len(one) == 1 else Fact(BOOL, among=tuple(one))
    found = dict.fromkeys(_TRUTH if p == Fact(BOOL, True) else p for p in found)
    if any(_is_float(p) for p in found):
        return _with_floats(list(found))
    weak = _weak([p for p in found if p.weak])
    types = sorted({p.type for p in found if not p.weak and isinstance(p.type, Scalar)}, key=str)
    numbers = [t for t in types if t != BOOL]
    if not types:
        return weak
    if len(types) == 1 and (weak is None or (types == [INT64] and weak.bounds is not None)):
        return Fact(types[0])
    if weak is not None and weak.type != INT64:
        return None
    common = Scalar(np.result_type(*(t.name for t in numbers or [INT64])).name)
    common = common if common.is_int else UINT64  # with signed ones: a `loose` fact
    if weak is not None and common != UINT64 and not fits(weak.bounds, common):
        common = INT64
    one = tuple(Fact(t) for t in types)
    return Fact(common, among=one if weak is None else (weak, *one))


_TRUTH = Fact(INT64, True, bounds=(0, 1))


def _is_float(fact: Fact) -> bool:
    return isinstance(fact.type, Scalar) and fact.type.differentiable


def _with_floats(found: list[Fact]) -> Fact | None:
    """Of floats, or of floats and integers: in the type that NumPy takes for both, as what it is on each path."""
    held = promote(tuple(found))
    if held is None or not isinstance(held.type, Scalar) or held.type.is_complex:
        return None
    weak = _weak([p for p in found if p.weak and not _is_float(p)])
    among = [] if weak is None else [weak]
    among += [p for p in found if not p.weak and not _is_float(p)]
    among += dict.fromkeys(replace(p, type=held.type) for p in found if _is_float(p))
    whole = Fact(held.type, all(p.weak for p in among), numpys=any(p.numpys for p in among))
    return replace(whole, among=tuple(among)) if len(among) > 1 else whole


def _weak(facts: list[Fact]) -> Fact | None:
    if len(facts) <= 1:
        return facts[0] if facts else None
    bounds = [f.bounds for f in facts if f.bounds is not None]
    known = len(bounds) == len(facts)
    hull = (min(b[0] for b in bounds), max(b[1] for b in bounds)) if known else None
    if len({f.type for f in facts}) == 1:
        return replace(facts[0], bounds=hull)
    return Fact(UINT64, True, among=() if all(map(_is_unsigned, facts)) else tuple(facts))  # may be `loose`


def fits(bounds: tuple[int, int] | None, type: Scalar) -> bool:
    """Whether all of a weak integer's values are the type's."""
    least, most = limits(type)
    return bounds is not None and least <= bounds[0] and bounds[1] <= most


def holds(type: Scalar, fact: Fact) -> bool:
    """Whether numbers of the type hold the number; Python's floats count as single ones beside those."""
    own = fact.type
    if not isinstance(own, Scalar) or own == type:
        return True
    ranks = [(t.is_int or t.is_float or t.is_complex) + t.differentiable + t.is_complex for t in (own, type)]
    if ranks[0] != ranks[1]:
        return ranks[0] < ranks[1]
    if fact.weak and type.is_int:
        return type.itemsize == 8 or fits(fact.bounds, type)
    return fact.weak or own.itemsize <= type.itemsize


def limits(type: Scalar) -> tuple[int, int]:
    """The least and the greatest integer of the type."""
    info = np.iinfo(type.name)
    return int(info.min), int(info.max)


def held(fact: Fact, type: Scalar) -> Fact | None:
    """The number as an array of the type holds it; None where it may be another one there."""
    whole = _is_int(fact) and type.is_int
    return replace(fact, type=type) if fact.type == type or (whole and (fact.among or fact.weak)) else None


def boxed(fact: Fact) -> Fact:
    """A number of a dispatcher as Python gets it: its own, but for single precision, which stays that."""
    if not isinstance(fact.type, Scalar) or fact.type.name in ("float32", "complex64"):
        return replace(fact, among=())
    if fact.type.is_int:
        return Fact(UINT64 if fact.type == UINT64 else INT64, True)
    return Fact(fact.type, True)


def unbounded(fact: Fact) -> Fact:
    """The same, of a weak integer that may have any value."""
    if fact.among:
        return merged(map(unbounded, fact.among)) or fact
    return replace(fact, bounds=None) if fact.bounds is not None else fact


def widened(old: Fact, new: Fact) -> Fact:
    """The fact of a carried value, whose bounds must not grow with every look at the loop."""
    before, after = ({p.bounds for p in parts(f) if p.weak} for f in (old, new))
    return unbounded(new) if before and before != after else new


def loose(fact: Fact) -> bool:
    """Whether no type holds all that it may be: an integer that may be negative, or a uint64."""
    return fact.type == UINT64 and any(not _is_unsigned(p) for p in fact.among)


def _is_unsigned(fact: Fact) -> bool:
    if fact.weak:
        return fits(fact.bounds, UINT64)
    return isinstance(fact.type, Scalar) and (fact.type.is_unsigned or fact.type == BOOL)


def ambiguous(fact: Fact) -> bool:
    """Whether an array made of such numbers has another dtype on another path. A literal beside floats is one."""
    floats = any(map(_is_float, fact.among))
    return len({p.type for p in fact.among if not (floats and p.bounds is not None)}) > 1


def bounds_of(op: str, facts: tuple[Fact, ...]) -> tuple[int, int] | None:
    """The bounds of the result, where those of all operands are known."""
    known = [f.bounds for f in facts if f.bounds is not None]
    if len(known) != len(facts):
        return None
    match op, known:
        case "pos", [a]:
            found = a
        case "neg", [(a, b)]:
            found = (-b, -a)
        case "add", [(a, b), (c, d)]:
            found = (a + c, b + d)
        case "sub", [(a, b), (c, d)]:
            found = (a - d, b - c)
        case "mul", [(a, b), (c, d)]:
            ends = (a * c, a * d, b * c, b * d)
            found = (min(ends), max(ends))
        case _:
            return None
    return found if _inside(found, limits(INT64)) else None


def _inside(found: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= found[0] and found[1] <= outer[1]


def typed(
    let: Let, facts: tuple[Fact, ...], one: Callable[[Let, tuple[Fact, ...]], Typing | None]
) -> Typing | None:
    """How the operation is typed on operands that may be of several types each; `one` types one choice."""
    if let.fn in _PICKS.get(let.op, ()):
        picked = merged(facts)
        if picked is not None and (picked.among or any(f.among for f in facts)):
            return _picking(facts, picked)
    if not any(f.among for f in facts):
        return one(let, facts)
    choices = list(product(*map(parts, facts))) if prod(len(parts(f)) for f in facts) <= _MOST else []
    if let.op in OF_BOOLS and let.op != "mul" and any(map(are_numpy_bools, choices)):
        return None
    typings = [one(let, choice) for choice in choices]
    found = [t for t in typings if t is not None]
    if not found or len(found) != len(choices) or any(map(loose, facts)):
        return None
    if any(f.among and _is_float(f) for f in facts):
        return _in_floats(let, facts, choices, found, one)
    results = dict.fromkeys(t.result for t in found)
    together = merged(results)
    if together is None or together.type == BOOL or _is_float(together):
        bools = {t.result.type == BOOL for t in found}
        result = together or promote(tuple(results))
        return None if len(bools) > 1 or result is None else _of_no_integers(facts, choices, found, result)
    strong = {r.type for r in results if not r.weak}
    if len(results) > 1 and strong != {together.type}:
        return _exactly(let, facts, choices, found, together, one)
    whole = one(let, tuple(Fact(f.type) if f.among else f for f in facts))
    if whole is None or not whole.raw.is_int:
        return None
    return replace(whole, result=together, splits=tuple(dict.fromkeys(s for t in found for s in t.splits)))


def _in_floats(
    let: Let,
    facts: tuple[Fact, ...],
    choices: list[tuple[Fact, ...]],
    found: list[Typing],
    one: Callable[[Let, tuple[Fact, ...]], Typing | None],
) -> Typing | None:
    """The operation on floats, where some are integers on one path, and tests that no type of those wraps."""
    whole = one(let, tuple(replace(f, among=()) for f in facts))
    together = merged(t.result for t in found)
    if whole is None or together is None:
        return whole
    bools = {t.result.type == BOOL for t in found}
    if len(bools) > 1 or whole.raw.is_int != (isinstance(together.type, Scalar) and together.type.is_int):
        return None
    among = tuple(replace(p, type=whole.result.type) if _is_float(p) else p for p in together.among)
    result = replace(together, type=whole.result.type, among=among)
    return replace(whole, result=result, splits=_splits(facts, choices, found))


def _needed(typing: Typing, facts: tuple[Fact, ...]) -> tuple[Scalar, ...]:
    """The types in which the operation takes its operands."""
    return tuple(
        c if c is not None else f.type  # type: ignore[misc]
        for c, f in zip(typing.casts, facts, strict=True)
    )


def _as(facts: tuple[Fact, ...], needed: tuple[Scalar, ...], raw: Scalar, result: Fact) -> Typing:
    casts = tuple(None if n == f.type else n for n, f in zip(needed, facts, strict=True))
    return Typing(casts, raw, result)


def _picking(facts: tuple[Fact, ...], picked: Fact) -> Typing | None:
    """Python's `min` and `max` give one of the operands, as it is."""
    assert isinstance(picked.type, Scalar)
    if loose(picked):
        return None
    return _as(facts, (picked.type,) * len(facts), picked.type, picked)


def _of_no_integers(
    facts: tuple[Fact, ...], choices: list[tuple[Fact, ...]], found: list[Typing], result: Fact
) -> Typing | None:
    """A comparison or a function of floats: in the widest type of its results, on integers as wide as they are."""
    k = next((k for k, t in enumerate(found) if t.result.type == result.type), None)
    if k is None:
        return None
    needed = _needed(found[k], choices[k])
    taken = (f.type if f.among and n.is_integral else n for f, n in zip(facts, needed, strict=True))
    return _as(facts, tuple(taken), found[k].raw, result)  # type: ignore[arg-type]


def _exactly(
    let: Let,
    facts: tuple[Fact, ...],
    choices: list[tuple[Fact, ...]],
    found: list[Typing],
    together: Fact,
    one: Callable[[Let, tuple[Fact, ...]], Typing | None],
) -> Typing | None:
    """The operation on Python's integers, and tests that no type of a result wraps."""
    whole = tuple(Fact(INT64, True) if _is_int(f) else f for f in facts)
    typing = one(let, whole)
    if typing is None or typing.raw != INT64 or UINT64 in (together.type, *(f.type for f in facts)):
        return None
    result = _as(facts, _needed(typing, whole), INT64, together)
    return replace(result, splits=_splits(facts, choices, found))


def _splits(
    facts: tuple[Fact, ...], choices: list[tuple[Fact, ...]], found: list[Typing]
) -> tuple[Split, ...]:
    """Where the operation must raise: a choice has a result of few bits that does not hold what the others give."""
    splits = dict[Split, None]()
    for t, choice in zip(found, choices, strict=True):
        type_ = t.result.type
        if t.result.weak or not isinstance(type_, Scalar) or not type_.is_int or type_.itemsize >= 4:
            continue
        fit = tuple(c.weak and not fits(c.bounds, type_) for c in choice)
        splits[Split(type_, fit, tuple(map(_test, facts, choice)), True)] = None
    return tuple(splits)


def must_fit(facts: tuple[Fact, ...], type: Scalar) -> tuple[Split, ...]:
    """Where NumPy raises: Python's integers that are not the type's, of 8 or 16 bits; of 64 bits those of uint64."""
    fit = tuple(f.weak and _is_int(f) and not fits(f.bounds, type) for f in facts)
    if type == INT64:
        fit = tuple(f.type == UINT64 for f in facts)
    tested = any(fit) and (type.itemsize < 4 or type == INT64)
    return (Split(type, fit, (None,) * len(facts), False),) if tested else ()


def _is_int(fact: Fact) -> bool:
    return isinstance(fact.type, Scalar) and fact.type.is_int


def _test(fact: Fact, part: Fact) -> tuple[int, int] | None:
    """The range in which an operand lies if this part of it holds; None where any value may."""
    if not fact.among or not isinstance(part.type, Scalar):
        return None
    if part.weak:
        return part.bounds or (limits(INT64) if _is_float(fact) else None)
    if part.type == BOOL:
        return (0, 1)
    return limits(part.type) if part.type.itemsize < 8 or _is_float(fact) else None
