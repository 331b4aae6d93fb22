"""Prints atoms, operations and indices as Python expressions with the fewest parentheses."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from adjit import rules
from adjit.codegen.lanes import ON_LANES, has_lanes, in_lanes
from adjit.codegen.nesting import Plan
from adjit.ir.core import Atom, Const, Let, Load, Slice, Stmt, Sym, Undef
from adjit.ir.types import BOOL, FLOAT64, INT64, Array, RefList, Scalar, Type

_BINARY = {
    "or_": ("|", 5), "xor": ("^", 6), "and_": ("&", 7), "lshift": ("<<", 8), "rshift": (">>", 8),
    "add": ("+", 9), "sub": ("-", 9), "mul": ("*", 10), "div": ("/", 10), "floordiv": ("//", 10),
    "mod": ("%", 10),
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_UNARY = {"neg": "-", "pos": "+", "invert": "~"}
_LOGIC = {"or": 1, "and": 2}
_AUGMENTED = {"add": "+", "sub": "-", "mul": "*", "div": "/", "fdiv": "/"}
_NOT, _COMPARE, _SUM, _SIGN, _POWER, _ATOM = 3, 4, 9, 11, 12, 14
_HELPERS = {"szmul": "szmul", "select": "choose"}
_PYTHON_CASTS = {"int": "int", "float": "float", "bool": "bool"}

PLAIN = "plain"
"""In the place of an error model: text that runs without Numba."""

Printed = tuple[str, int]


def dtype_name(dtype: Scalar) -> str:
    """The dtype as an argument of np.empty; lanes have a name of the module's."""
    if dtype.lanes > 1:
        return str(dtype)
    return "np.bool_" if dtype.is_bool else f"np.{dtype.name}"


def array_name(type: Array) -> str:
    """The name, in a generated module, of the Numba type of an array (see `module.render`)."""
    lock = "_readonly" if type.readonly else ""
    return f"{type.dtype}_{type.ndim}d_{type.layout}{lock}"


def literal(value: complex, type: Scalar) -> Printed:
    """A constant of that type, and its precedence."""
    if type.lanes > 1:
        return f"spread({literal(value, type.single)[0]}, {type.lanes})", _ATOM
    if type.is_bool:
        return str(bool(value)), _ATOM
    if type.is_complex:
        body = _complex_literal(complex(value))
        return (body if type.name == "complex128" else f"{type.name}({body})"), _ATOM
    assert not isinstance(value, complex)
    if type.is_int:
        body = str(int(value))
    elif math.isnan(value):
        body = "nan"
    elif math.isinf(value):
        body = "inf" if value > 0 else "-inf"
    else:
        body = repr(float(value))
    if type.name in ("int64", "float64"):
        return body, _SIGN if body.startswith("-") else _ATOM
    return f"{type.name}({body})", _ATOM


def _complex_literal(value: complex) -> str:
    """A complex number; by its parts where its `repr` is no expression that gives it (inf, nan, -0.0)."""
    parts = (value.real, value.imag)
    if all(math.isfinite(p) and (p != 0 or math.copysign(1.0, p) > 0) for p in parts):
        return repr(value)
    return f"complex({', '.join(literal(p, FLOAT64)[0] for p in parts)})"


def zero(type: Type) -> str:
    """Some value of that type, for names that would else be unbound."""
    match type:
        case Scalar():
            return literal(0, type)[0]
        case RefList():
            return f"List.empty_list({array_name(type.element)})"
        case Array():
            if type.ndim == 0:
                return f"np.empty((), {dtype_name(type.dtype)})"
            shape = "0" if type.ndim == 1 else f"({', '.join(['0'] * type.ndim)})"
            made = f"np.empty({shape}, {dtype_name(type.dtype)})"
            if type.layout == "F" and type.ndim > 1:
                return f"{made}.T"
            return made if type.layout != "A" else f"{made}[{', '.join(['::2'] * type.ndim)}]"


def _is_complex(a: Atom) -> bool:
    return isinstance(a.type, Scalar) and a.type.is_complex


class Expressions:
    """Prints expressions of one function."""

    def __init__(
        self,
        plan: Plan,
        name: Callable[[Sym], str],
        unsigned: Callable[[Atom], bool],
        error_model: str,
        helpers: bool = False,
    ):
        """`helpers`: choices print as calls of the module's `szmul` and `choose` (see `module`)."""
        self.plan, self.name, self.unsigned, self.error_model = plan, name, unsigned, error_model
        self.helpers = helpers
        self.ops: set[str] = set()

    def text(self, a: Atom, least: int = 0) -> str:
        """The atom, in parentheses where its precedence is below `least`."""
        body, precedence = self.printed(a)
        return body if precedence >= least else f"({body})"

    def printed(self, a: Atom) -> Printed:
        match a:
            case Const():
                return literal(a.value, a.type)
            case Undef():
                return zero(a.type), _ATOM
            case Sym():
                inner = self.plan.nested.get(a)
                return (self.name(a), _ATOM) if inner is None else self.statement(inner)

    def statement(self, stmt: Stmt) -> Printed:
        """What a statement that is one expression computes."""
        if isinstance(stmt, Load):
            if stmt.target.type.lanes > 1:  # type: ignore[union-attr]
                return f"lanes_at({self.name(stmt.array)}, {self.place(stmt.index)})", _ATOM
            return self.element(stmt.array, stmt.index), _ATOM
        if isinstance(stmt, Let):
            return self.operation(stmt)
        target = self.plan.target(stmt)
        assert target is not None
        short = self.plan.shorts[target]
        level = _LOGIC[short.word]
        return f"{self.text(short.cond, level)} {short.word} {self.text(short.value, level)}", level

    def operation(self, let: Let) -> Printed:
        op, args = let.op, let.args
        if in_lanes(let):
            return self._on_lanes(let), _ATOM
        if let.fn is None and op in _BINARY:
            symbol, level = _BINARY[op]
            return f"{self.text(args[0], level)} {symbol} {self.text(args[1], level + 1)}", level
        if let.fn is None and op in _COMPARISONS:
            level = _COMPARE + 1
            return f"{self.text(args[0], level)} {_COMPARISONS[op]} {self.text(args[1], level)}", _COMPARE
        if let.fn is None and op in _UNARY:
            return f"{_UNARY[op]}{self.text(args[0], _SIGN)}", _SIGN
        if let.fn is None and op == "not_":
            return f"not {self.text(args[0], _NOT)}", _NOT
        if let.fn is None and op == "pow":
            return f"{self.text(args[0], _POWER + 1)} ** {self.text(args[1], _SIGN)}", _POWER
        return self._call(let)

    def _on_lanes(self, let: Let) -> str:
        """A call; numbers beside lanes stay numbers."""
        assert isinstance(let.target.type, Scalar)
        if let.op == "cast" and not has_lanes(let.args[0]):
            return f"spread({self.text(let.args[0])}, {let.target.type.lanes})"
        name = ON_LANES[let.op] + (let.target.type.name.removeprefix("float") if let.op == "cast" else "")
        texts = [
            literal(a.value, a.type.single)[0] if isinstance(a, Const) else self.text(a) for a in let.args
        ]
        return f"{name}({', '.join(texts)})"

    def place(self, index: tuple[Atom | Slice, ...]) -> str:
        """An index as a tuple."""
        return f"({self.subscript(index)}{',' if len(index) == 1 else ''})" if index else "()"

    def _call(self, let: Let) -> Printed:
        args = let.args
        match let.op:
            case "dim" if isinstance(args[0].type, RefList):
                return f"len({self.text(args[0])})", _ATOM
            case "dim":
                return f"{self.text(args[0])}.shape[{self.text(args[1])}]", _ATOM
            case "cast":
                return f"{self._cast_name(let)}({self.text(args[0])})", _ATOM
            case "stop_gradient":
                return self.printed(args[0])
            case "fdiv" if let.fn is None and _is_complex(let.target):
                return (
                    f"np.divide({self.text(args[0])}, {self.text(args[1])})",
                    _ATOM,
                )  # `/` raises in any error model
            case "fdiv" if let.fn is None:
                if self.error_model == "numpy":
                    return f"{self.text(args[0], 10)} / {self.text(args[1], 11)}", 10
                return f"fdiv({self.text(args[0])}, {self.text(args[1])})", _ATOM
            case "add" if let.fn == "plus":
                return f"plus({self.text(args[0])}, {self.text(args[1])})", _ATOM
            case "and_" if let.fn == "rarely":
                return f"rarely({self.text(args[0])}, {self.text(args[1])})", _ATOM
            case "szmul" if let.fn == "scaled":
                return f"scaled({self.text(args[0])}, {self.text(args[1])})", _ATOM
            case "szmul" | "select" if self.helpers and let.fn is None:
                return f"{_HELPERS[let.op]}({', '.join(self.text(a) for a in args)})", _ATOM
            case _:
                self.ops.add(let.op)
                return self._template(let)

    def _template(self, let: Let) -> Printed:
        form = rules.get(let.op).form(let.fn, any(map(_is_complex, let.args)))
        form = re.sub(r"^numpy\.", "np.", form).removeprefix("builtins.")
        call = re.fullmatch(r"[\w.]+\(\{0\}(, \{\d\})*\)", form) is not None
        least = 0 if call else _ATOM
        return form.format(*(self.text(a, least) for a in let.args)), _ATOM

    def _cast_name(self, let: Let) -> str:
        target = let.target.type
        assert isinstance(target, Scalar)
        if let.fn is not None:
            spelled = let.fn.removeprefix("builtins.")
            return _PYTHON_CASTS.get(spelled) or re.sub(r"^numpy\.", "np.", spelled)
        return "bool" if target.is_bool else target.name

    def subscript(self, items: tuple[Atom | Slice, ...]) -> str:
        """The inside of the brackets; `()` for the element of a 0-d array."""
        if not items:
            return "()"
        return ", ".join(self._item(i) for i in items)

    def _item(self, item: Atom | Slice) -> str:
        if isinstance(item, Slice):
            start, stop = ("" if a is None else self.text(a, 1) for a in (item.start, item.stop))
            step = "" if item.step is None else f":{self.text(item.step, 1)}"
            return f"{start}:{stop}{step}"
        if not self.unsigned(item):
            return self.text(item)
        return f"{'as_index' if self.error_model == PLAIN else 'uint64'}({self.text(item)})"

    def element(self, array: Sym, index: tuple[Atom | Slice, ...]) -> str:
        """array[index]"""
        return f"{self.name(array)}[{self.subscript(index)}]"

    def assignment(self, place: str, value: Atom) -> str:
        """`place = value`, as `place += rest` where the value begins with the place."""
        inner = self.plan.nested.get(value) if isinstance(value, Sym) else None
        return self.assigned(place, inner) if inner is not None else f"{place} = {self.initial(value)}"

    def initial(self, value: Atom) -> str:
        """The value of a variable. In a function that was cut, a literal gets its type: Numba would
        compile what it is passed to for the literal, and again for the variable's other values.
        """
        text = self.text(value)
        bare = self.helpers and not isinstance(value, Sym) and value.type in (INT64, BOOL)
        return f"{'bool' if value.type == BOOL else 'int64'}({text})" if bare else text

    def assigned(self, place: str, stmt: Stmt) -> str:
        """`place = what the statement computes`."""
        body, _ = self.statement(stmt)
        if isinstance(stmt, Let) and stmt.fn is None and len(stmt.args) == 2 and not in_lanes(stmt):
            short = _AUGMENTED.get(stmt.op)
            plain = self.error_model == "numpy" and not _is_complex(stmt.target)
            if short == "/" and stmt.op == "fdiv" and not plain:
                short = None
            if short is not None and self.text(stmt.args[0]) == place:
                return f"{place} {short}= {self.text(stmt.args[1])}"
        return f"{place} = {body}"
