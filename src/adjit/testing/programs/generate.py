"""`generate(seed)`: a whole random program with its arguments, tried until it is a fair test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjit.testing.programs.array_statements import ARRAY_WEIGHTS
from adjit.testing.programs.given import (
    KEYWORD_RECURSIVE,
    RECURSIVE,
    RULES,
    keyword_recursive,
    recursive,
    rule,
)
from adjit.testing.programs.inner import INNER_WEIGHTS
from adjit.testing.programs.kinds import (
    KEPT,
    WITH_ARRAYS,
    beside,
    defaults,
    extent,
    group_of,
    of_callees,
    roll,
    summed,
    take,
)
from adjit.testing.programs.kinds import arguments as arguments_of_kinds
from adjit.testing.programs.nodes import Argument, Function, Given, Line, Program
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.parallel import PARALLEL_WEIGHTS
from adjit.testing.programs.probe import Rejected, validate
from adjit.testing.programs.scope import Callee, Dice, Scope
from adjit.testing.programs.statements import COMPOUND, WEIGHTS, Statements

LAYOUTS = ("C", "C", "F", "A")
WEIGHTS_BESIDE_ARRAYS = {k: w if k in COMPOUND else 0.35 * w for k, w in WEIGHTS.items()}
FEW = 0.2
"""The share of programs of other kinds whose arguments have extents of 0 to 2."""
LARGE = 0.15
"""The share of large programs among those that are not asked to be small."""


@dataclass(frozen=True)
class Size:
    """Least and most statements of the program, and lines of its outermost block; the most in a callee."""

    statements: tuple[int, int]
    lines: tuple[int, int]
    callee: int
    callee_lines: int


SMALL = Size((2, 6), (1, 4), 2, 2)
USUAL = Size((4, 12), (2, 7), 4, 2)
BIG = Size((6, 24), (2, 7), 10, 3)
SMALL_WITH_KINDS = Size((4, 8), (3, 5), 2, 2)
USUAL_WITH_KINDS = Size((5, 12), (3, 7), 4, 2)
SMALL_WITH_ARRAYS = Size((4, 10), (3, 6), 4, 2)
USUAL_WITH_ARRAYS = Size((6, 18), (4, 9), 6, 3)
"""Not every array statement finds operands that fit; what finds none is left out."""


def generate(
    seed: int,
    attempts: int = 200,
    recursion: bool = False,
    small: bool = False,
    arrays: bool = False,
    parallel: bool = False,
    nested: bool = False,
    kinds: bool = False,
) -> Program:
    """The random program number `seed`; the same seed gives the same program.

    recursion: whether it may call functions that call themselves.
    small: whether it has half as many statements as usual.
    arrays: whether it has statements of whole arrays.
    parallel: whether it has parallel loops and launches of kernels.
    nested: whether it takes derivatives by every operator.
    kinds: whether it has ranges as values, calls by keyword, complex numbers, small integers and bools, arrays
        without elements: about half of these kinds each; not together with parallel loops.

    Raises:
        Rejected: if no attempt gave a fair test (does not happen in practice).
        ValueError: if it is to have both other kinds and parallel loops.
    """
    if kinds and parallel:
        raise ValueError("no program has both parallel loops and values of other kinds")
    for attempt in range(attempts):
        program = _attempt(seed, attempt, recursion, small, arrays, parallel, nested, kinds)
        try:
            validate(program)
        except Rejected:
            continue
        return program
    raise Rejected(f"seed {seed}: {attempts} attempts, none fair")


def _attempt(
    seed: int,
    attempt: int,
    recursion: bool,
    small: bool,
    arrays: bool,
    parallel: bool,
    nested: bool,
    many: bool,
) -> Program:
    kind = recursion + 2 * arrays + 4 * parallel + 8 * nested + 16 * many
    dice = Dice((seed, attempt, kind) if kind else (seed, attempt))
    all_weights = WEIGHTS_BESIDE_ARRAYS | ARRAY_WEIGHTS if arrays else WEIGHTS
    if parallel:
        all_weights = {k: 0.5 * w for k, w in all_weights.items()} | PARALLEL_WEIGHTS
    if nested:
        all_weights = all_weights | INNER_WEIGHTS
    kinds = roll(dice) if many else ()
    few = many and Dice((seed, kind)).chance(FEW)
    if few:
        kinds = tuple(dict.fromkeys((*kinds, "empty")))
    if kinds:
        all_weights = beside(all_weights, kinds) | (WITH_ARRAYS if arrays else {})
    # Swarm testing: each program uses its own subset of the statements, so that each sees company it rarely
    # has.
    dropped = [
        k
        for k in all_weights
        if k not in ("store", "scalar", "for", "whole_store", "prange", "inner_derivative", *KEPT)
        and dice.chance(0.3)
    ]
    weights = {k: w * dice.pick([0.5, 1.0, 1.0, 4.0]) for k, w in all_weights.items() if k not in dropped}
    callees: list[Callee] = []
    functions: list[Function | Given] = []
    # What goes wrong nearly always goes wrong in a small program too, and many are checked in the time of a large one.
    large = dice.chance(LARGE)
    size = SMALL if small else BIG if large else USUAL
    if kinds and (small or not large):
        size = SMALL_WITH_KINDS if small else USUAL_WITH_KINDS
    if arrays and (small or not large):
        size = SMALL_WITH_ARRAYS if small else USUAL_WITH_ARRAYS
    if dice.chance(0.15):
        number = dice.number(0, len(RULES) - 1)
        callee, given = rule(number, dice.number(0, 2), "c0")
        callees, functions = [callee], [given]
        weights["call"] = 4.0
    if recursion and dice.chance(0.7):
        callee, given = recursive(dice.number(0, len(RECURSIVE) - 1), dice.number(0, 2), "r0")
        callees, functions = [*callees, callee], [*functions, given]
        weights["call"] = 6.0
    if "keywords" in kinds:
        weights["call"] = max(weights.get("call", 0.0), 8.0)
        if dice.chance(0.25):
            callee, given = keyword_recursive(
                dice.number(0, len(KEYWORD_RECURSIVE) - 1), dice.number(0, 2), "r1"
            )
            callees, functions = [*callees, callee], [*functions, given]
    reduces = False
    for number in range(dice.pick([1, 1, 2] if kinds else [0, 1, 1, 2])):
        callee, writer, function = _callee(dice, weights, f"h{number}", callees, size, kinds)
        callees.append(callee)
        functions += [*writer.kernels, function]
        reduces = reduces or writer.reduces
    arguments = _shaped_arguments(dice, few) if arrays else _arguments(dice, 12 if parallel else 6, few)
    arguments += arguments_of_kinds(dice, kinds, few)
    writer, main = _main(dice, weights, callees, arguments, size, kinds, few)
    functions += [*writer.kernels, main]
    reduces = reduces or writer.reduces
    uses = "uses " + ", ".join(sorted(weights))
    structure = _structure(dice, arguments)
    return Program(
        tuple(functions),
        arguments,
        seed,
        uses,
        structure=structure,
        arrays=arrays,
        parallel=parallel,
        reduces=reduces,
        kinds=kinds,
    )


def _structure(dice: Dice, arguments: tuple[Argument, ...]) -> tuple[tuple[str, int], ...]:
    """Sometimes neighbouring arguments come in a tuple: arrays and integers, or numbers only.

    (`autodiff(Reverse)` has nowhere to put the adjoint of a number beside arrays.)
    """
    bare = tuple(("", 1) for _ in arguments)
    if not dice.chance(0.15):
        return bare
    kinds = ["float" if isinstance(a.value, float | complex) else "other" for a in arguments]
    first = dice.number(0, len(arguments) - 1)
    last = first + 1
    while last < len(arguments) and kinds[last] == kinds[first] and last - first < 3:
        last += 1
    return (*bare[:first], (dice.pick(["tuple", "P"]), last - first), *bare[last:])


def _callee(
    dice: Dice,
    weights: dict[str, float],
    name: str,
    callees: list[Callee],
    size: Size,
    many: tuple[str, ...] = (),
) -> tuple[Callee, Statements, Function]:
    kinds = tuple(
        dice.pick(["vector", "vector", "float", "int", "matrix", "ints"]) for _ in range(dice.number(1, 3))
    )
    returns = dice.pick(["float", "float", "pair", "none", "view", "both", "both"])
    others = of_callees(many)
    if others and dice.chance(0.7):
        kinds = tuple(dice.pick([*others, kind]) for kind in kinds)
    if "complex" in many and dice.chance(0.25):
        returns = "complex"
    scope = Scope(callees=list(callees), returns=returns, keywords="keywords" in many)
    params = []
    for kind in kinds:
        param = f"{kind[0]}_{len(params)}"
        params.append(param)
        _names_of(scope, kind).append(param)
    writer = Statements(dice, weights, budget=size.callee, prefix=f"{name}_")
    body = writer.body(scope, 1, dice.number(1, size.callee_lines))
    if returns != "none":
        body += (writer.result(scope),)
    names = tuple(params) if scope.keywords else ()
    optional = defaults(dice, params, kinds) if scope.keywords else 0
    callee = Callee(name, kinds, returns, names, optional)
    return callee, writer, Function(name, tuple(params), body)


def _names_of(scope: Scope, kind: str) -> list[str]:
    other = group_of(scope, kind)
    if other is not None:
        return other
    groups = {"vector": scope.vectors, "matrix": scope.matrices, "ints": scope.indices, "float": scope.floats}
    return groups.get(kind, scope.ints)


def _arguments(dice: Dice, longest: int, few: bool) -> tuple[Argument, ...]:
    rng = dice.rng
    size = extent(dice, longest, few)
    out: list[Argument] = []
    single = dice.chance(0.08)
    for k in range(dice.number(1, 3)):
        length = size if dice.chance(0.7) else extent(dice, 7, few)
        dtype = "float32" if single and dice.chance(0.6) else "float64"
        values = rng.uniform(-1.5, 1.5, length).astype(dtype)
        out.append(Argument("abc"[k], values, dice.pick(["C", "C", "A"])))
    if dice.chance(0.4):
        shape = (extent(dice, 4, few), extent(dice, 4, few))
        out.append(Argument("M", rng.uniform(-1.5, 1.5, shape), dice.pick(LAYOUTS)))
    for k in range(dice.number(0, 2)):
        out.append(Argument("xy"[k], float(rng.uniform(-1.5, 1.5))))
    for k in range(dice.number(0, 2)):
        indices = rng.integers(-3, 8, extent(dice, 6, few)).astype(dice.pick(["int64", "int64", "int32"]))
        out.append(Argument("pr"[k], indices, dice.pick(["C", "A"])))
    for k in range(dice.number(0, 2)):
        out.append(Argument("nl"[k], dice.pick([0, 1, 2, 3, 4, 4, 6])))
    if dice.chance(0.2):
        out.append(Argument("flag", bool(dice.chance(0.5))))
    return tuple(out)


def _shaped_arguments(dice: Dice, few: bool) -> tuple[Argument, ...]:
    """Arguments for array statements: a few extents that many arrays have in common."""
    rng = dice.rng
    rows, columns, third = (dice.pick([0, 0, 1, 1, 2] if few else [1, 2, 3, 3, 4, 4, 5]) for _ in range(3))
    single = dice.chance(0.1)
    shapes = {"a": (rows,), "b": (dice.pick([rows, rows, columns]),)}
    shapes |= {"M": (rows, columns)} if dice.chance(0.75) else {}
    shapes |= {"N": dice.pick([(rows, columns), (columns, rows), (rows, rows)])} if dice.chance(0.5) else {}
    shapes |= {"c": (third,)} if dice.chance(0.4) else {}
    shapes |= {"T": (third, rows, columns)} if dice.chance(0.25) else {}
    out: list[Argument] = []
    for name, shape in shapes.items():
        dtype = "float32" if single and dice.chance(0.5) else "float64"
        values = rng.uniform(-1.5, 1.5, shape).astype(dtype)
        out.append(Argument(name, values, dice.pick(["C", "C", "A"] if len(shape) == 1 else LAYOUTS)))
    if dice.chance(0.7):
        out.append(Argument("x", float(rng.uniform(-1.5, 1.5))))
    for name in dice.pick(["", "p", "p", "pr"]):
        indices = rng.integers(-3, 8, dice.pick([rows, columns, extent(dice, 6, few)]))
        out.append(
            Argument(name, indices.astype(dice.pick(["int64", "int64", "int32"])), dice.pick(["C", "A"]))
        )
    if dice.chance(0.5):
        out.append(Argument("n", dice.pick([0, 1, 2, 3, 4])))
    return tuple(out)


def _main(
    dice: Dice,
    weights: dict[str, float],
    callees: list[Callee],
    arguments: tuple[Argument, ...],
    size: Size,
    kinds: tuple[str, ...],
    few: bool,
) -> tuple[Statements, Function]:
    scope = Scope(callees=list(callees), keywords="keywords" in kinds)
    for argument in arguments:
        value = argument.value
        if take(scope, argument, kinds):
            continue
        if isinstance(value, bool):
            scope.flags.append(argument.name)
        elif isinstance(value, np.ndarray):
            group = (
                scope.indices
                if value.dtype.kind == "i"
                else scope.vectors
                if value.ndim == 1
                else scope.matrices
                if value.ndim == 2
                else list[str]()
            )
            group.append(argument.name)
        else:
            (scope.floats if isinstance(value, float) else scope.ints).append(argument.name)
    if not ARRAY_WEIGHTS.keys().isdisjoint(weights):
        arrays = {a.name: a.value.shape for a in arguments if isinstance(a.value, np.ndarray)}
        known = scope.vectors + scope.matrices + scope.loose + scope.loose_matrices + ["T"]
        scope.shapes = {name: shape for name, shape in arrays.items() if name in known}
        scope.stretched = tuple(name for name, shape in arrays.items() if 1 in shape)
    parallel = not PARALLEL_WEIGHTS.keys().isdisjoint(weights)
    scope.steady = tuple(v for v in scope.vectors if dice.chance(0.6 if parallel else 0.4))
    scope.fixed |= set(scope.steady)
    scope.fixed |= {name for name in scope.loose if dice.chance(0.6)}
    writer = Statements(dice, weights, budget=dice.number(*size.statements))
    body = writer.body(scope, 0, dice.number(*size.lines))
    if parallel:
        body = (*body, *writer.parallel(scope))
    return writer, Function("f", tuple(a.name for a in arguments), (*body, _total(dice, writer, scope, few)))


def _total(dice: Dice, writer: Statements, scope: Scope, few: bool) -> Line:
    parts = [writer.write.number(scope, 2)]
    for name in scope.floats[-2:]:
        parts.append(E("{0}", (E(name),)))
    for name in scope.vectors[:2] + scope.vectors[-1:]:
        parts.append(E(dice.pick(["{0}[0]", "{0}[-1]", "0.5 * {0}[len({0}) // 2]"]), (E(name),)))
    if not PARALLEL_WEIGHTS.keys().isdisjoint(writer.weights):
        parts += [E("0.4 * {0}[-1, 0]", (E(name),)) for name in scope.matrices[-1:]]
        parts += [E("0.3 * {0}[len({0}) // 3]", (E(name),)) for name in scope.vectors[-3:]]
        parts += [E("0.1 * {0}", (E(name),)) for name in scope.ints[-1:]]
    for name, arity in scope.local_functions:  # Numba refuses a closure that is never called
        plain = f"{name}({', '.join(['0.3'] * arity)})"
        parts.append(
            E(
                f"{name}({', '.join(['t=0.3', 'z=0.3'][2 - arity :])})" if scope.keywords else plain,
                plain=plain,
            )
        )
    for name in dict.fromkeys([*list(scope.shapes)[:1], *list(scope.shapes)[-2:]]):
        parts.append(E("0.3 * np.sum({0} * np.cos({0}))", (E(name),)))
    parts += summed(scope, few)
    text = " + ".join("{%d}" % k for k in range(len(parts)))  # noqa: UP031
    return Line(E("return " + text, tuple(parts)))
