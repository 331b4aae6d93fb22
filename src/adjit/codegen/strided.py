"""Loops that store to every second or every k-th place: one turn after the other.

    for j in range(c, n, 2): u[j] = 0.5 * u[j]   ->   for j in range(c, n, 2): one_by_one(); u[j] = 0.5 * u[j]

Where the processor can store a vector to scattered places, LLVM takes it for a good way to do so and vectorises such
loops. It is one store a number all the same, and much slower than stores one by one: a sweep over one colour of a grid
that reads and clears a cotangent and adds to another took 545 us with vectors, 165 without. `one_by_one` is no
instruction; LLVM vectorises no loop that calls it, and unrolls it as before. Where a turn computes much, its
arithmetic in vectors outweighs the stores.
"""

from __future__ import annotations

from collections import defaultdict

from adjit.ir.core import Atom, Const, Function, Let, Load, Loop, Store, Sym
from adjit.ir.types import INT64, Array, Scalar
from adjit.ir.visit import walk

ONE_BY_ONE = '''@intrinsic
def one_by_one(context):
    """Nothing, but LLVM does not vectorise the loop that it stands in, where it would store to scattered places."""

    def mark(target, builder, signature, args):
        if binding.get_host_cpu_features().get("avx512f"):
            place, word = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [place, place, place, word, place])
            note = builder.module.declare_intrinsic("llvm.var.annotation", [place, place], kind)
            builder.call(note, [place(None), place(None), place(None), word(0), place(None)])
        return target.get_dummy_value()

    return types.none(), mark
'''
_OPERATIONS = 8
"""Operations for each such store up to which a loop is faster one by one (measured: from 2.2 times to as fast)."""
_CHEAP = {
    "add": 1,
    "sub": 1,
    "mul": 1,
    "neg": 1,
    "pos": 0,
    "abs": 1,
    "min": 1,
    "max": 1,
    "select": 1,
    "szmul": 2,
}
_COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "not_", "xor"})


def strided(function: Function) -> frozenset[int]:
    """The `id` of each loop that is to run one turn after the other (see the module)."""
    return frozenset(id(s) for s in walk(function.body) if isinstance(s, Loop) and _is_strided(s))


def _is_strided(loop: Loop) -> bool:
    counted = loop.index is not None and loop.stop is None and isinstance(loop.step, Const)
    if not counted or any(p.type != INT64 for p in loop.params):
        return False
    operations = 0
    for s in loop.body:
        if isinstance(s, Let):
            cost = _cost(s)
            if cost is None:
                return False
            operations += cost
        elif not isinstance(s, Load | Store):
            return False
    scattered = _scattered(loop)
    return 0 < scattered and operations <= _OPERATIONS * scattered


def _cost(let: Let) -> int | None:
    """Operations on numbers; None for what has an instruction of many cycles, or none."""
    kind = let.target.type
    if not isinstance(kind, Scalar) or kind.lanes != 1:
        return None
    if kind.is_integral and not kind.is_bool:
        return 0
    if let.op in _COMPARED:
        return 1
    return _CHEAP.get(let.op) if kind.is_float else None


def _scattered(loop: Loop) -> int:
    """How many stores leave gaps between the places of one turn and the next; 0 if that is not known of one of them."""
    slopes = _slopes(loop)
    groups: defaultdict[tuple[Sym, int], int] = defaultdict(int)
    for s in loop.body:
        if not isinstance(s, Store):
            continue
        distance = _distance(s, slopes)
        if distance is None:
            return 0
        groups[s.array, distance] += 1
    return sum(n for (_, distance), n in groups.items() if 1 < distance and n < distance)


def _distance(store: Store, slopes: dict[Atom, int | None]) -> int | None:
    """How many elements lie between the places of a turn and the next; None if it is not known before."""
    array = store.array.type
    if not isinstance(array, Array) or not array.dtype.is_float or array.dtype.lanes != 1:
        return None
    if array.layout not in ("C", "F") or not store.index:
        return None
    steps = [0 if isinstance(a, Const) else slopes.get(a, 0) for a in store.index]
    steps = steps if array.layout == "C" else steps[::-1]
    return None if steps[-1] is None or any(k != 0 for k in steps[:-1]) else abs(steps[-1])


def _slopes(loop: Loop) -> dict[Atom, int | None]:
    """By how much each integer of a turn is greater than in the turn before; None: not known. Others do not change."""
    assert isinstance(loop.step, Const)
    assert loop.index is not None
    slopes: dict[Atom, int | None] = {loop.index: loop.step.integer}
    slopes |= dict.fromkeys(loop.params)
    for s in loop.body:
        if isinstance(s, Load):
            slopes[s.target] = None
        elif isinstance(s, Let):
            slopes[s.target] = _slope(s, slopes)
    return slopes


def _slope(let: Let, slopes: dict[Atom, int | None]) -> int | None:
    found = [slopes.get(a, 0) for a in let.args]
    if all(k == 0 for k in found):
        return 0
    if None in found:
        return None
    known = [k or 0 for k in found]
    match let.op:
        case "add":
            return known[0] + known[1]
        case "sub":
            return known[0] - known[1]
        case "mul" if isinstance(let.args[1], Const):
            return known[0] * let.args[1].integer
        case "mul" if isinstance(let.args[0], Const):
            return known[1] * let.args[0].integer
        case "cast" if let.target.type == INT64:
            return known[0]
        case _:
            return None
