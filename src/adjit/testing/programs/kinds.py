"""Which kinds of values a program has beside floats, integers and their arrays, and the arguments of these kinds."""

from __future__ import annotations

import numpy as np

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
    "empty": {"loose_view": 6, "loose_loop": 9, "loose_update": 2, "loose_size": 1},
}
"""Each kind with its statements."""

KEPT = ("range_value", "complex_store", "small_store", "bool_store", "loose_view", "loose_loop")
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


def arguments(dice: Dice, kinds: tuple[str, ...]) -> tuple[Argument, ...]:
    """Arguments of these kinds."""
    out: list[Argument] = []
    if "complex" in kinds:
        out += _complex(dice)
    if "small" in kinds:
        out += _small(dice)
    if "empty" in kinds:
        out += _empty(dice)
    return tuple(out)


def _complex(dice: Dice) -> list[Argument]:
    rng, out = dice.rng, list[Argument]()
    dtype = "complex64" if dice.chance(0.08) else "complex128"
    for name in dice.pick(["Z", "Z", "ZW", ""]):
        n = dice.number(1, 5)
        values = (rng.uniform(-1.2, 1.2, n) + 1j * rng.uniform(-1.2, 1.2, n)).astype(dtype)
        out.append(Argument(name, values, dice.pick(["C", "C", "A"])))
    for name in dice.pick(["d", "d", "de", ""]):
        out.append(Argument(name, complex(rng.uniform(-1.2, 1.2), rng.uniform(-1.2, 1.2))))
    return out


def _small(dice: Dice) -> list[Argument]:
    rng, out = dice.rng, list[Argument]()
    for name in dice.pick(["u", "u", "uo", ""]):
        values = rng.integers(0, 6, dice.number(1, 5)).astype(dice.pick(SMALL_TYPES))
        out.append(Argument(name, values, dice.pick(["C", "C", "A"])))
    if dice.chance(0.7):
        values = rng.random(dice.number(1, 5)) < 0.5
        out.append(Argument("B", values, dice.pick(["C", "C", "A"])))
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
    if isinstance(value, np.ndarray):
        kind = value.dtype.kind
        loose = scope.loose if value.ndim == 1 else scope.loose_matrices
        group = {"c": scope.complex_arrays, "b": scope.bools}.get(kind)
        group = scope.smalls if name in ("u", "o") else loose if name in ("E", "F") else group
    else:
        group = scope.complexes if isinstance(value, complex) else None
    if not kinds or group is None:
        return False
    group.append(name)
    return True


def summed(scope: Scope) -> list[E]:
    """Terms of a program's result, of what it has of these kinds."""
    parts = [E("0.4 * {0}.real - 0.3 * {0}.imag", (E(name),)) for name in scope.complexes[-2:]]
    parts += [E("0.3 * {0}[-1].real + 0.2 * {0}[0].imag", (E(name),)) for name in scope.complex_arrays[-2:]]
    parts += [E("0.1 * {0}[-1]", (E(name),)) for name in scope.smalls[:2]]
    parts += [E("(0.5 if {0}[0] else 0.2)", (E(name),)) for name in scope.bools[:1]]
    parts += [E("({0}[-1] if len({0}) > 0 else 0.3)", (E(name),)) for name in scope.loose[-2:]]
    parts += [E("0.1 * len({0})", (E(name),)) for name in scope.ranges[-1:]]
    return parts


__all__ = [
    "KEPT",
    "KINDS",
    "arguments",
    "beside",
    "defaults",
    "group_of",
    "of_callees",
    "roll",
    "summed",
    "take",
]
