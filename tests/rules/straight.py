"""Straight-line IR for the tests of rules: built from one operation, differentiated, evaluated, compiled.

A `Program` is a list of `Let`s over parameters. `derivative` is forward mode in its plainest form, so it
checks the slopes and, applied again, that the slopes' own operations have the right slopes.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy

from adjit import rules
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import Atom, Const, Let, Sym
from adjit.ir.types import BOOL, FLOAT64, INT64, Scalar
from adjit.rules import special_functions as special
from adjit.rules.base import Point, Rule

_HELPERS = {name: getattr(special, name) for rule in rules.all_rules() for name in rule.helpers}
_NAMES = {"cmath": cmath, "math": math, "numpy": numpy, **_HELPERS}

_WIDENING = ("sinc", "nan_to_num")


@dataclass(frozen=True)
class Program:
    """`result` after `body`, a function of `params`."""

    params: tuple[Sym, ...]
    body: tuple[Let, ...]
    result: Atom


def call(rule: Rule, args: tuple[float | Const, ...], dtype: Scalar) -> Program:
    """The operation itself on parameters of the samples' types; a `Const` stays one.

    Helpers take and give float64, and so do a few functions of Numba whatever they take.
    """
    builder = Builder()
    operand = FLOAT64 if rule.helpers else dtype
    atoms = [a if isinstance(a, Const) else Sym(f"x{k}", _type(a, operand)) for k, a in enumerate(args)]
    if rule.op == "cast":
        out: Atom = builder.let("cast", *atoms, type=dtype)
    elif rule.op in _WIDENING:
        out = builder.let(rule.op, *atoms, type=FLOAT64 if dtype.is_float else dtype)
    else:
        out = builder.op(rule.op, *atoms)
    return Program(tuple(a for a in atoms if isinstance(a, Sym)), builder.block(), out)


def _type(value: float, dtype: Scalar) -> Scalar:
    if isinstance(value, bool):
        return BOOL
    return INT64 if isinstance(value, int) else dtype


def derivative(program: Program, wrt: int, direction: complex = 1.0) -> Program:
    """d result / d params[wrt] along a direction, by forward accumulation with strong zeros."""
    builder = Builder(simplify=True)
    seed = program.params[wrt]
    tangents: dict[Sym, Atom] = {seed: const_of(direction, seed.type)}
    for let in program.body:
        builder.append(let)
        tangent = _tangent(builder, let, tangents)
        if tangent is not None:
            tangents[let.target] = tangent
    result = program.result
    zero = const_of(0.0, result.type)
    return Program(program.params, builder.block(), tangents.get(result, zero))


def _tangent(builder: Builder, let: Let, tangents: dict[Sym, Atom]) -> Atom | None:
    if not let.target.type.differentiable:
        return None
    types = tuple(a.type for a in let.args)
    point = Point(lambda: builder, lambda k: let.args[k], lambda: let.target, let.target.type, types)
    return rules.get(let.op).push(point, tuple(tangents.get(a) for a in let.args))


def evaluate(program: Program, args: tuple[float, ...]) -> float:
    """The result, with NumPy scalars of the declared types."""
    env = {s: _scalar(s.type)(a) for s, a in zip(program.params, args, strict=True)}

    def value(atom: Atom) -> object:
        return _scalar(atom.type)(atom.value) if isinstance(atom, Const) else env[atom]

    with numpy.errstate(all="ignore"):
        for let in program.body:
            env[let.target] = _scalar(let.target.type)(_apply(let, *map(value, let.args)))
    return value(program.result)


def _scalar(type: Scalar) -> Callable[[object], object]:
    return numpy.dtype(type.name).type


def _apply(let: Let, *args: object) -> object:
    """The operation; nan where `math` raises."""
    try:
        return _python(let)(*args)
    except (ValueError, OverflowError):
        return math.nan


_compiled: dict[tuple[str, int], Callable[..., object]] = {}


def _python(let: Let) -> Callable[..., object]:
    if let.op == "cast":
        return lambda x: x
    is_complex = any(a.type.is_complex for a in let.args)
    form, arity = rules.get(let.op).form(let.fn, is_complex), len(let.args)
    if (form, arity) not in _compiled:
        names = [f"a{k}" for k in range(arity)]
        _compiled[form, arity] = eval(f"lambda {', '.join(names)}: {form.format(*names)}", dict(_NAMES))
    return _compiled[form, arity]


def source(program: Program, results: tuple[Atom, ...]) -> str:
    """The program as Python text."""
    lines = [f"def program({', '.join(map(_name, program.params))}):"]
    for let in program.body:
        is_complex = any(a.type.is_complex for a in let.args)
        text = (
            rules.get(let.op)
            .form(let.fn, is_complex)
            .format(*map(_name, let.args), type=f"numpy.{let.target.type}")
        )
        lines.append(f"    {_name(let.target)} = {text}")
    lines.append(f"    return ({', '.join(map(_name, results))},)")
    return "\n".join(lines)


def _name(atom: Atom) -> str:
    if isinstance(atom, Sym):
        return f"{atom.name}_{atom.uid}"
    if atom.type.name in ("float64", "int64", "bool"):
        return repr(atom.value)
    return f"numpy.{atom.type}({atom.value!r})"


def compiled(program: Program, every: bool = False) -> Callable[..., tuple[float, ...]]:
    """The program through Numba with NumPy's error model; it returns a tuple, of all values if `every`."""
    results = tuple(let.target for let in program.body) if every else (program.result,)
    names: dict[str, object] = {"math": math, "numpy": numpy, "njit": numba.njit}
    helpers = rules.prelude(let.op for let in program.body)
    exec(helpers.replace("def ", "@njit(error_model='numpy')\ndef "), names)
    exec(source(program, results), names)
    return numba.njit(error_model="numpy")(names["program"])
