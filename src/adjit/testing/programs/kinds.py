"""Which kinds of values a program has beside floats, integers and their arrays, and the arguments of these kinds."""

from __future__ import annotations

import numpy as np

from adjit.testing.programs.narrow_integers import NARROW_TYPES, size_of
from adjit.testing.programs.nodes import Argument
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Dice, Scope
from adjit.testing.programs.small_integers import SMALL_TYPES

KINDS: dict[str, dict[str, float]] = {
    "ranges": {"range_value": 9, "range_loop": 4, "range_length": 1.5},
    "keywords": {},
    "complex": {"complex_scalar": 6, "complex_store": 8, "complex_view": 4, "complex_loop": 6},
    "small": {
        "small_store": 7,
        "small_array": 2,
        "small_name": 3,
        "small_while": 2,
        "bool_store": 5,
        "flag": 2,
    },
    "limits": {"narrow_store": 8, "narrow_whole": 6, "narrow_read": 8},
    "recurrences": {"moving_names": 12, "moving_row": 7, "differences": 7, "sweep": 5},
    "empty": {"loose_view": 6, "loose_loop": 9, "loose_update": 2, "loose_size": 1},
}
"""Each kind with its statements."""

WITH_ARRAYS: dict[str, float] = {"shifted_update": 5.0, "shifted_fresh": 1.5}
"""Statements that programs of any kind have beside those of whole arrays."""

KEPT = (
    "range_value",
    "complex_store",
    "small_store",
    "bool_store",
    "narrow_store",
    "narrow_read",
    "moving_names",
    "moving_row",
    "sweep",
    "differences",
    "loose_view",
    "loose_loop",
    "shifted_update",
)
"""Statements that every program of their kind has at its disposal."""

COMPOUND = ("branch", "for", "for_elements", "while")
_OF_CALLEES = {
    "ranges": ["range", "range"],
    "complex": ["complex", "zvector"],
    "small": ["bytes", "bools"],
    "empty": ["loose", "loose"],
}
_DEFAULTS = {"float": "0.4", "int": "3", "complex": "0.2 + 0.5j"}


def roll(dice: Dice) -> tuple[str, ...]:
    """Some of the kinds, one at least."""
    found = tuple(kind for kind in KINDS if dice.chance(0.5))
    return found or (dice.pick(list(KINDS)),)


def beside(weights: dict[str, float], kinds: tuple[str, ...]) -> dict[str, float]:
    """The weights of all statements of a program of these kinds; the usual ones have half of theirs."""
    out = {k: w if k in COMPOUND else 0.5 * w for k, w in weights.items()}
    if "keywords" in kinds:
        out["call"], out["closure"] = 7.0, 5.0
    share = 5.0 / (1 + len(kinds))
    return out | {k: share * w for kind in kinds for k, w in KINDS[kind].items()}


def of_callees(kinds: tuple[str, ...]) -> list[str]:
    """Kinds of parameters that callees have beside the usual ones."""
    return [param for kind in kinds for param in _OF_CALLEES.get(kind, [])]


def defaults(dice: Dice, params: list[str], kinds: tuple[str, ...]) -> int:
    """Gives the last parameters defaults, in place; how many have one."""
    count = 0
    for k in reversed(range(len(params))):
        if kinds[k] not in _DEFAULTS or dice.chance(0.3):
            break
        params[k] += f"={_DEFAULTS[kinds[k]]}"
        count += 1
    return count


def group_of(scope: Scope, param: str) -> list[str] | None:
    """Where names of parameters of that kind are held, if only programs of many kinds have it."""
    groups = {
        "range": scope.ranges,
        "complex": scope.complexes,
        "zvector": scope.complex_arrays,
        "bytes": scope.smalls,
        "bools": scope.bools,
        "loose": scope.loose,
    }
    return groups.get(param)


def arguments(dice: Dice, kinds: tuple[str, ...], few: bool) -> tuple[Argument, ...]:
    """Arguments of these kinds; with `few`, of extents 0 to 2."""
    out: list[Argument] = []
    if "complex" in kinds:
        out += _complex(dice, few)
    if "small" in kinds:
        out += _small(dice, few)
    if "limits" in kinds:
        out += _narrow(dice, few)
    if "empty" in kinds:
        out += _empty(dice)
    return tuple(out)


def extent(dice: Dice, most: int, few: bool) -> int:
    """A number of elements: 1 to `most`, or 0 to 2."""
    return dice.pick([0, 0, 1, 1, 2]) if few else dice.number(1, most)


def _complex(dice: Dice, few: bool) -> list[Argument]:
    rng, out = dice.rng, list[Argument]()
    dtype = "complex64" if dice.chance(0.08) else "complex128"
    for name in dice.pick(["Z", "Z", "ZW", ""]):
        n = extent(dice, 5, few)
        values = (rng.uniform(-1.2, 1.2, n) + 1j * rng.uniform(-1.2, 1.2, n)).astype(dtype)
        out.append(Argument(name, values, dice.pick(["C", "C", "A"])))
    for name in dice.pick(["d", "d", "de", ""]):
        out.append(Argument(name, complex(rng.uniform(-1.2, 1.2), rng.uniform(-1.2, 1.2))))
    return out


def _small(dice: Dice, few: bool) -> list[Argument]:
    rng, out = dice.rng, list[Argument]()
    for name in dice.pick(["u", "u", "uo", ""]):
        values = rng.integers(0, 6, extent(dice, 5, few)).astype(dice.pick(SMALL_TYPES))
        out.append(Argument(name, values, dice.pick(["C", "C", "A"])))
    if dice.chance(0.7):
        values = rng.random(extent(dice, 5, few)) < 0.5
        out.append(Argument("B", values, dice.pick(["C", "C", "A"])))
    return out


def _narrow(dice: Dice, few: bool) -> list[Argument]:
    """Small integers of any size, many of them the largest or the least of their type."""
    rng, out = dice.rng, list[Argument]()
    n, dtype = extent(dice, 4, few), dice.pick(NARROW_TYPES)
    for name in dice.pick(["G", "GH", "GH"]):
        dtype = dtype if dice.chance(0.6) else dice.pick(NARROW_TYPES)
        limits = np.iinfo(dtype)
        ends = rng.choice([limits.min, limits.min + 1, limits.max - 1, limits.max], n)
        values = np.where(rng.random(n) < 0.6, ends, rng.integers(limits.min, limits.max, n)).astype(dtype)
        out.append(Argument(name, values, dice.pick(["C", "C", "A"])))
    return out


def _empty(dice: Dice) -> list[Argument]:
    rng, out = dice.rng, list[Argument]()
    if dice.chance(0.85):
        values = rng.uniform(-1.2, 1.2, dice.pick([0, 0, 0, 1, 1, 2]))
        out.append(Argument("E", values, dice.pick(["C", "C", "A"])))
    if dice.chance(0.3):
        shape = dice.pick([(0, 2), (2, 0), (0, 0), (1, 0), (1, 1), (1, 3)])
        out.append(Argument("F", rng.uniform(-1.2, 1.2, shape), dice.pick(["C", "C", "F", "A"])))
    return out


def take(scope: Scope, argument: Argument, kinds: tuple[str, ...]) -> bool:
    """Puts the name of an argument of these kinds where it belongs; False if it is of none."""
    value, name = argument.value, argument.name
    if name in ("G", "H") and isinstance(value, np.ndarray):
        scope.narrow[name] = str(value.dtype)
        return True
    if isinstance(value, np.ndarray):
        kind = value.dtype.kind
        loose = scope.loose if value.ndim == 1 else scope.loose_matrices
        group = {"c": scope.complex_arrays, "b": scope.bools}.get(kind)
        none = value.dtype.kind == "f" and value.size == 0 and value.ndim < 3
        group = scope.smalls if name in ("u", "o") else loose if name in ("E", "F") or none else group
    else:
        group = scope.complexes if isinstance(value, complex) else None
    if not kinds or group is None:
        return False
    group.append(name)
    return True


def _one(text: str, few: bool) -> str:
    """A term of an array's elements; another number where it has none."""
    return f"({text} if len({{0}}) > 0 else 0.3)" if few else text


def summed(scope: Scope, few: bool) -> list[E]:
    """Terms of a program's result, of what it has of these kinds."""
    parts = [E("0.4 * {0}.real - 0.3 * {0}.imag", (E(name),)) for name in scope.complexes[-2:]]
    parts += [
        E(_one("0.3 * {0}[-1].real + 0.2 * {0}[0].imag", few), (E(name),))
        for name in scope.complex_arrays[-2:]
    ]
    parts += [E(_one("0.1 * {0}[-1]", few), (E(name),)) for name in scope.smalls[:2]]
    parts += [E(_one("(0.5 if {0}[0] else 0.2)", few), (E(name),)) for name in scope.bools[:1]]
    ends = [*scope.narrow.items()]
    parts += [
        E(_one(f"0.3 * (float({{0}}[-1]) / {size_of(dtype)})", few), (E(name),))
        for name, dtype in [*ends[:1], *ends[1:][-2:]]
    ]
    parts += [E("({0}[-1] if len({0}) > 0 else 0.3)", (E(name),)) for name in scope.loose[-2:]]
    parts += [E("0.1 * len({0})", (E(name),)) for name in scope.ranges[-1:]]
    return parts


__all__ = [
    "KEPT",
    "KINDS",
    "WITH_ARRAYS",
    "arguments",
    "beside",
    "defaults",
    "extent",
    "group_of",
    "of_callees",
    "roll",
    "summed",
    "take",
]
