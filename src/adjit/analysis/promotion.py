"""How operand types combine: Numba's rules for dispatchers, NumPy 2's for every other function.

Under NumPy 2 a Python number is *weak*: it takes the dtype of the strong value that it meets, so that
`0.5 * x[i]` is float32 with float32 `x`. Weak are literals, Python-number arguments, loop indices, extents,
what Python's own conversions and `math` give (`int(x)`, `math.sin(x)`), and what is computed only from these with
operators; what a NumPy function returns is strong, as `np.sqrt(2.0)` is a `np.float64`. One exception: `math` of a
float32 stays float32, which Python would compute in double precision, so that float32 code is that throughout.

An integer may be weak on one path and strong on another, or of two strong types: see `several`.
"""

from __future__ import annotations

from dataclasses import replace

from adjit.analysis import numba_types, several
from adjit.analysis.facts import Fact, Split, Typing, are_numpy_bools, promote
from adjit.analysis.numba_types import OPERATORS, callable_of, resolve, to_numba
from adjit.ir.core import Const, Let
from adjit.ir.spellings import (
    BOXED,
    CLIPPED,
    CONVERSIONS,
    ELEMENT,
    FLOAT_POWER,
    FLOATING,
    INDEX,
    MADE,
    OF_BOOLS,
    OPERATOR,
    OWN,
    WHOLE,
)
from adjit.ir.types import BOOL, COMPLEX128, FLOAT64, INT64, UINT64, UNKNOWN, Array, Scalar, Type

_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_PYTHON_NUMBERS = frozenset(f"{m}{n}" for m in ("", "builtins.") for n in ("int", "float", "bool", "complex"))
_CONVERSIONS = frozenset({"int", "float", "complex"})
_PYTHON_INTS = frozenset({"math.floor", "math.ceil", "math.trunc", "round", "builtins.round"})
_ALIASES = frozenset({"math.fmod", "math.cbrt"})
"""Functions that Numba lacks: printed as the operation's own."""


def spelling_of(let: Let) -> str | None:
    """The dotted name of the function that the statement calls; None for operators and adjit's own helpers."""
    if let.fn is not None and let.fn not in _ALIASES:
        return CLIPPED.get(let.fn, let.fn)
    if let.op in OPERATORS:
        return None
    from adjit import rules

    rule = rules.get(let.op)
    if not rule.spellings:
        return None
    return rule.default(any(isinstance(a.type, Scalar) and a.type.is_complex for a in let.args))


def _ask(let: Let, arguments: tuple[Type, ...]) -> Scalar | None:
    """Numba's type of the operation on these operands."""
    spelling = spelling_of(let)
    if spelling is None and let.op not in OPERATORS:
        return _first_float(arguments)
    function = OPERATORS[let.op] if spelling is None else callable_of(spelling)
    if function is None:
        return None
    if function in (min, max) and all(isinstance(t, Scalar) and not t.is_bool for t in arguments):
        common = numba_types.unify(*arguments)  # as Numba gives it, without compiling its overload (1.5 s)
        return common if isinstance(common, Scalar) and not common.is_complex else None
    got = resolve(function, tuple(to_numba(t) for t in arguments))
    type_ = None if got is None else numba_types.from_numba(got)
    return type_ if isinstance(type_, Scalar) else None


def _special(let: Let, facts: tuple[Fact, ...]) -> Scalar | None:
    """The type of an operation that is adjit's own, else None."""
    first = facts[0].type
    match let.op:
        case "cast":
            return let.target.type if isinstance(let.target.type, Scalar) else None
        case "dim":
            return INT64
        case "stop_gradient":
            return first if isinstance(first, Scalar) else None
        case "real" | "imag" if isinstance(first, Scalar) and not first.is_bool:
            return first.part
        case "angle" if let.fn == "numpy.angle" and isinstance(first, Scalar) and first.differentiable:
            return first.part
        case "select":
            got = numba_types.unify(facts[1].type, facts[2].type)
            return got if isinstance(got, Scalar) else None
        case _:
            return None


def _drops_imaginary(source: Type, target: Type) -> bool:
    """Whether a conversion is of a complex number to a real one, which no `float` takes."""
    kinds = [t for t in (source, target) if isinstance(t, Scalar)]
    return len(kinds) == 2 and kinds[0].is_complex and (kinds[1].is_float or kinds[1].is_int)


_APART = {"select": 0, "ldexp": 1, "round_to": 1}
"""Operands that keep their own type: a condition, an exponent of 2, a number of digits."""

_SPECIAL = frozenset({"cast", "dim", "stop_gradient", "select", "real", "imag"})
_OPERATORS = frozenset({"add", "sub", "mul", "neg", "lt", "le", "gt", "ge", "eq", "ne"})

_MAY_LEAVE = frozenset(
    {
        "add",
        "sub",
        "mul",
        "neg",
        "abs",
        "pow",
        "floordiv",
        "mod",
        "lshift",
        "rshift",
        "invert",
        "gcd",
        "lcm",
        "sign",
    }
)
"""Operations on integers whose result may need more bits than the operands, or whose operand is a number of bits; and
the sign, which Numba has as -1 of unsigned integers of more than half of their range."""


def spelled_as(let: Let, arguments: tuple[Type, ...], result: Scalar) -> str | None:
    """The spelling of a conversion, None where Numba's function of that name gives another type.

    None for a NumPy function too that is an operator on operands of these types.
    """
    if let.fn in _ALIASES:
        return None
    if let.fn == OPERATOR:
        function = as_function(let)
        return spelled_as(function, arguments, result) if _ask(function, arguments) == result else None
    if let.op in _OPERATORS and let.fn is not None and let.fn.startswith("numpy."):
        return None if _ask(replace(let, fn=None), arguments) == result else let.fn
    if let.op != "cast" or let.fn not in _CONVERSIONS or _ask(let, arguments) == result:
        return let.fn
    return None


def _first_float(arguments: tuple[Type, ...]) -> Scalar | None:
    """The type of operations without a spelling of their own (`fdiv`, `szmul`, `digamma`): their float operand's."""
    return next((t for t in arguments if isinstance(t, Scalar) and t.differentiable), None)


_NOT_OF_BOOLS = frozenset({"sub", "neg", "pos", "abs", "sign"})


def meant(let: Let, facts: tuple[Fact, ...], numpy_rules: bool) -> Let:
    """The operation itself: of two of NumPy's bools `+` is `|` and `*` is `&`, and `~` of one is `not`."""
    if let.fn in CLIPPED:
        return replace(let, fn=CLIPPED[let.fn])
    if let.fn == FLOAT_POWER:
        return replace(let, fn=None)
    if numpy_rules and _is_unsigned_sign(let, facts):
        return replace(let, op="cast", fn="bool")
    if numpy_rules and let.op in OF_BOOLS and are_numpy_bools(facts):
        return replace(let, op=OF_BOOLS[let.op], fn=None)
    return let


def _is_unsigned_sign(let: Let, facts: tuple[Fact, ...]) -> bool:
    """Whether it is the sign of uint64, which Numba has as -1 from 2**63 on."""
    return let.op == "sign" and facts[0].type == UINT64 and not facts[0].among


def type_let(let: Let, facts: tuple[Fact, ...], numpy_rules: bool) -> Typing | None:
    """How the operation is typed, as `meant`, or None where Numba has no such operation, or NumPy none."""
    if let.fn == FLOAT_POWER:
        return _in_double(facts)
    if numpy_rules and _is_unsigned_sign(let, facts):
        return Typing((None,), BOOL, Fact(UINT64))
    written = let
    let = let if let.fn in CLIPPED else meant(let, facts, numpy_rules)
    if let.op != written.op:
        raw = _ask(let, tuple(f.type for f in facts))
        return None if raw is None else Typing((None,) * len(facts), raw, Fact(raw))
    if let.op == "cast" and let.fn in CONVERSIONS:
        return _found_conversion(let, facts[0])
    if let.fn == OPERATOR and not numpy_rules:
        typing = _type_operator(let, facts)
    else:
        typing = _type_let(as_function(let), facts, numpy_rules)
        if any(f.element for f in facts) and typing is not None:
            typing = _with_element(let, facts, typing)
    if numpy_rules and typing is not None and let.op == "pow":
        return _unsigned_power(typing)
    if typing is None or let.op not in _MAY_LEAVE or not _is_small(typing.raw):
        return typing
    if let.op == "sign" and not numpy_rules:
        return typing
    return _in_64_bits(let, facts, typing)


def as_function(let: Let) -> Let:
    """An operator on whole arrays as the NumPy function that it is there."""
    return replace(let, fn=f"numpy.{WHOLE[let.op]}") if let.fn == OPERATOR else let


def _type_operator(let: Let, facts: tuple[Fact, ...]) -> Typing | None:
    """An operator in an expression of whole arrays in Numba: the numbers have the types of numbers."""
    raw = _ask(replace(let, fn=None), tuple(f.type for f in facts))
    if raw is None or raw == UNKNOWN:
        return _type_let(as_function(let), facts, False)
    return _with_element(let, facts, Typing((None,) * len(facts), raw, Fact(raw)))


def _with_element(let: Let, facts: tuple[Fact, ...], typing: Typing) -> Typing:
    """The typing, with the element type that an array of the results has."""
    own = _ask(as_function(let), tuple(f.element or f.type for f in facts))
    if own is None or own == typing.result.type:
        return typing
    return replace(typing, result=replace(typing.result, element=own))


def _found_conversion(let: Let, fact: Fact) -> Typing | None:
    type_ = fact.type
    if not isinstance(type_, Scalar):
        return None
    if let.fn == INDEX:
        return Typing((None,), INT64, Fact(INT64))
    if let.fn == FLOATING:
        return Typing((None,), FLOAT64, Fact(FLOAT64)) if type_.is_integral else Typing((None,), type_, fact)
    if let.fn == BOXED:
        boxed = several.boxed(fact)
        assert isinstance(boxed.type, Scalar)
        return Typing((None,), boxed.type, boxed)
    if let.fn == MADE or (let.fn == OWN and type_.is_integral):
        return Typing((None,), type_, _own(fact))
    if let.fn == OWN:
        return Typing((None,), type_, fact)
    if let.fn == ELEMENT:
        if fact.among:
            return Typing((None,), type_, fact)
        type_ = fact.element or type_
    elif type_.is_bool or _is_small(type_):
        type_ = UINT64 if type_.is_unsigned else INT64
    return Typing((None,), type_, Fact(type_, fact.weak and type_ == fact.type))


def _own(fact: Fact) -> Fact:
    """The same number as NumPy's."""
    several_ = several.merged(Fact(p.type) for p in fact.among) if fact.among else None
    return Fact(fact.type) if several_ is None else replace(several_, type=fact.type)


def _is_small(type: Scalar) -> bool:
    return type.is_int and type.itemsize < 8


def _unsigned_power(typing: Typing) -> Typing:
    """A power of small integers, or of uint64, in unsigned arithmetic, whose lowest bits are right however large it is.

    Numba tells LLVM that products of signed integers do not overflow.
    """
    result = typing.result.type
    if (
        any(s.wraps for s in typing.splits)
        or not isinstance(result, Scalar)
        or not (_is_small(result) or result == UINT64)
    ):
        return typing
    return Typing((UINT64, UINT64), UINT64, typing.result, typing.splits)


def _in_64_bits(let: Let, facts: tuple[Fact, ...], typing: Typing) -> Typing:
    """The operation on 64 bits, its result cut to the small type afterwards.

    Numba tells LLVM that an operation on signed integers of any size stays in its type. What NumPy wraps would be
    wrong in what uses it: the square of an int8 would be taken as not negative, and `12 * 12` as 144.
    """
    wide = UINT64 if typing.raw.is_unsigned else INT64
    if _ask(replace(let, fn=None), tuple(f.type for f in facts)) == wide and let.op in _OPERATORS:
        return Typing((None,) * len(facts), wide, typing.result, typing.splits)
    casts = tuple(None if f.type == wide else wide for f in facts)
    if _ask(let, (wide,) * len(facts)) != wide:
        return typing
    return Typing(casts, wide, typing.result, typing.splits)


def _type_let(let: Let, facts: tuple[Fact, ...], numpy_rules: bool) -> Typing | None:
    if numpy_rules and (let.op == "complex" or (let.fn or "").startswith("cmath.")):
        return _type_in_python(let, facts)
    if numpy_rules and let.op == "stop_gradient" and isinstance(facts[0].type, Scalar):
        return Typing((None,), facts[0].type, facts[0])
    if numpy_rules and let.op not in ("cast", "dim"):
        return several.typed(let, facts, _type_weakly)
    if let.op == "cast" and _drops_imaginary(facts[0].type, let.target.type):
        return None
    if let.op in _SPECIAL and (numpy_rules or let.fn not in _CONVERSIONS):
        raw = _special(let, facts)
    else:
        raw = _ask(let, tuple(f.type for f in facts))  # in Numba float(x) of a float32 is that float32
    if raw is None or raw == UNKNOWN:
        return None
    weak = numpy_rules and (let.op == "dim" or let.fn in _PYTHON_NUMBERS)
    return Typing((None,) * len(facts), raw, Fact(raw, weak))


def _type_weakly(let: Let, facts: tuple[Fact, ...]) -> Typing | None:
    """NumPy 2's typing: operands are cast to the common type, small integers stay small."""
    if let.op in _NOT_OF_BOOLS and are_numpy_bools(facts):
        return None
    if let.op == "invert" and facts[0] == Fact(BOOL, True):
        return Typing((INT64,), INT64, Fact(INT64, True))
    if let.op == "fmod" and all(isinstance(f.type, Scalar) and f.type.is_integral for f in facts):
        python = not _of_numpy(let)
        kept = Fact(FLOAT64) if python else promote(facts)  # Numba's of integers is a floor modulo
        return None if kept is None else Typing((FLOAT64, FLOAT64), FLOAT64, replace(kept, weak=python))
    if let.op in _COMPARISONS and all(isinstance(f.type, Scalar) and f.type.is_integral for f in facts):
        raw = _ask(let, tuple(f.type for f in facts))  # of the numbers as they are, whatever their types
        return None if raw is None else Typing((None, None), raw, _truth(let, facts))
    common = promote(tuple(f for k, f in enumerate(facts) if _APART.get(let.op) != k))
    if let.op == "sign" and common is not None and isinstance(common.type, Scalar) and common.type.is_complex:
        return None  # NumPy 2's is z/abs(z); Numba has NumPy 1's
    casts = tuple(_operand_cast(let, k, f, common) for k, f in enumerate(facts))
    splits: tuple[Split, ...] = ()
    if common is not None and common.weak and {f.type for f in facts} == {INT64, UINT64} and let.op != "div":
        whole = INT64 if common.type == INT64 else UINT64
        casts = tuple(None if f.type == whole else whole for f in facts)
        splits = several.must_fit(facts, INT64) if common.type == INT64 else ()
    if let.op == "pow" and common is not None and common.weak and _whole_inverse(let, common):
        casts, common = (FLOAT64, None), Fact(FLOAT64, True)
    cast_facts = tuple(f if c is None else Fact(c) for f, c in zip(facts, casts, strict=True))
    if let.op in _SPECIAL:
        raw = _special(let, cast_facts)
    else:
        raw = _ask(let, tuple(f.type for f in cast_facts))
    if raw is None or (raw.is_int and common is not None and misfit(let, facts, common)):
        return None
    if raw.is_bool:
        return Typing(casts, raw, _truth(let, facts))
    if let.fn in _PYTHON_INTS and raw.is_int:
        small = isinstance(facts[0].type, Scalar) and facts[0].type.itemsize < 8
        return Typing(casts, raw, Fact(INT64 if small else raw, True))
    if common is None:
        return Typing(casts, raw, Fact(raw))
    if common.weak and not _of_numpy(let):
        bounds = several.bounds_of(let.op, facts)
        weak = Fact(raw, True, bounds=bounds, numpys=common.numpys and not raw.is_int)
        return Typing(casts, raw, weak, splits)
    if (let.fn or "").startswith("math.") and raw == FLOAT64:
        return Typing(casts, raw, Fact(raw, True))
    assert isinstance(common.type, Scalar)
    narrow = raw.is_int and common.type.is_int and not common.weak
    splits = several.must_fit(facts, common.type) if narrow and not _takes_all(let) else ()
    return Typing(casts, raw, Fact(common.type if narrow else raw), splits)


_EXTREMES = frozenset({"max", "min", "maximum", "minimum", "fmax", "fmin"})


def _takes_all(let: Let) -> bool:
    """Whether Python's integers need not be of the type of the result: they are chosen by their values, or wrap."""
    return let.op == "select" or (let.op in _EXTREMES and (not _of_numpy(let) or let.fn in CLIPPED))


def misfit(let: Let, facts: tuple[Fact, ...], common: Fact) -> str | None:
    """Why the type in which NumPy computes does not hold a Python integer among the operands; None where it may."""
    type_ = common.type
    if common.weak or not isinstance(type_, Scalar) or not type_.is_int or let.op == "select":
        return None  # `np.where` wraps
    if let.op in _EXTREMES and _takes_all(let):  # in 64 bits
        loose = type_ == UINT64 and any(
            f.weak and f.type == INT64 and not several.fits(f.bounds, UINT64) for f in facts
        )
        return "a Python integer may be negative, which uint64 does not hold" if loose else None
    known = (f.bounds for f in facts if f.weak and f.bounds is not None)
    wrong = next((a for a, b in known if a == b and not several.fits((a, b), type_)), None)
    return None if wrong is None else f"{wrong} is out of bounds for {type_}: NumPy raises OverflowError"


def _of_numpy(let: Let) -> bool:
    """Whether it is a call of a NumPy function."""
    return (let.fn or "").startswith(("numpy.", "np.")) or let.fn in CLIPPED


def _truth(let: Let, facts: tuple[Fact, ...]) -> Fact:
    """A truth value: Python's own bool of `not`, and where no operand is a number of NumPy's."""
    of_python = let.op == "not_" or all(f.weak and not f.numpys for f in facts)
    return Fact(BOOL, of_python and not _of_numpy(let))


def _whole_inverse(let: Let, common: Fact) -> bool:
    """Whether Python makes a float of a power of integers, by the literal that is the exponent."""
    n = let.args[1]
    whole = isinstance(common.type, Scalar) and common.type.is_int
    return whole and let.fn in (None, "pow") and isinstance(n, Const) and n.type.is_int and n.integer < 0


def _type_in_python(let: Let, facts: tuple[Fact, ...]) -> Typing | None:
    """Python's complex numbers: they are made in double precision of real parts, `cmath` takes and gives them; weak."""
    wanted = FLOAT64 if let.op in ("complex", "rect") else COMPLEX128
    if not all(isinstance(f.type, Scalar) and (f.type.part == f.type or wanted == COMPLEX128) for f in facts):
        return None
    casts = tuple(None if f.type == wanted else wanted for f in facts)
    raw = _ask(let, (wanted,) * len(facts))
    return None if raw is None else Typing(casts, raw, Fact(raw, True))


def _in_double(facts: tuple[Fact, ...]) -> Typing | None:
    """A power in double precision."""
    if not all(isinstance(f.type, Scalar) for f in facts):
        return None
    wanted = COMPLEX128 if any(isinstance(f.type, Scalar) and f.type.is_complex for f in facts) else FLOAT64
    casts = tuple(None if f.type == wanted else wanted for f in facts)
    return Typing(casts, wanted, Fact(wanted))


def _operand_cast(let: Let, k: int, fact: Fact, common: Fact | None) -> Scalar | None:
    """The type that operand k is cast to before the operation, or None."""
    if let.op == "div" and common is not None and isinstance(common.type, Scalar) and common.type.is_integral:
        return (
            FLOAT64 if let.fn is not None else None
        )  # NumPy's is float64, Numba's of small integers float32
    if common is None or common.weak or not isinstance(common.type, Scalar) or fact.type == common.type:
        return None
    if not isinstance(fact.type, Scalar) or fact.type.is_bool:
        return None
    if not common.type.differentiable and common.type != UINT64:  # Numba makes int64 with uint64 a float
        return None
    if _APART.get(let.op) == k:
        return None
    if let.op == "pow" and k == 1 and fact.weak and fact.type.is_int:
        return None
    return common.type


def join(facts: tuple[Fact, ...], numpy_rules: bool) -> Fact | None:
    """The type of a symbol into which several values flow; None where Numba cannot unify them."""
    if len(set(facts)) == 1:
        return facts[0]
    if numpy_rules and all(isinstance(f.type, Scalar) for f in facts):
        return several.merged(facts) or promote(facts)
    open_ = [f for f in facts if isinstance(f.type, Array) and not f.type.dtype.known]
    closed = [f for f in facts if f not in open_]
    if open_:
        return closed[0] if closed else open_[0]
    got = numba_types.unify(*(f.type for f in facts))
    return None if got is None else Fact(got)
