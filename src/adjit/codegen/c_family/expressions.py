"""Prints atoms, operations and elements of arrays as C expressions with the fewest parentheses.

Operands are cast to the type that the operation computes in wherever C would choose another one, so that float32 stays
float32 and integers are as wide as Numba has them. Sums and products of integers wrap around; where they are made of
places, extents and small constants only, which cannot overflow, they are written plainly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from adjit.codegen.c_family.dialect import Dialect
from adjit.codegen.c_family.functions import ANY_FORMS, FLOAT_FORMS, INT_FORMS, TESTS
from adjit.codegen.c_family.helpers import called, wants_wide
from adjit.codegen.c_family.memory import Memory
from adjit.codegen.c_family.scalars import ATOM, UNARY, c_type, literal, unsigned_type
from adjit.codegen.nesting import Plan
from adjit.errors import UnsupportedError
from adjit.ir.core import Atom, Const, Let, Load, Stmt, Store, Sym, Undef
from adjit.ir.types import BOOL, FLOAT32, FLOAT64, INT64, UINT64, Scalar

Printed = tuple[str, int]

_ARITHMETIC = {"add": ("+", 11), "sub": ("-", 11), "mul": ("*", 12), "div": ("/", 12), "fdiv": ("/", 12)}
_BITS = {"or_": ("|", 5), "xor": ("^", 6), "and_": ("&", 7)}
_COMPARISONS = {
    "lt": ("<", 9), "le": ("<=", 9), "gt": (">", 9), "ge": (">=", 9), "eq": ("==", 8), "ne": ("!=", 8),
}  # fmt: skip
_WRAPPING = {"add": "plus", "sub": "minus", "mul": "times"}
_LOGIC = {"or": ("||", 3), "and": ("&&", 4)}
_CHOICE, _CAST = 2, UNARY
_SMALL = 2**31


class Expressions:
    """Prints expressions of one kernel.

    name: the variable of a symbol. memory: what an array symbol refers to. nonnegative: whether an index is proven
    not to be negative. places: integers that are places or extents, and cannot make a sum overflow. counts: numbers
    of work items, positive.
    """

    def __init__(
        self,
        dialect: Dialect,
        plan: Plan,
        name: Callable[[Sym], str],
        memory: Callable[[Sym], Memory],
        nonnegative: Callable[[Atom], bool],
        places: set[Sym],
        counts: frozenset[Sym] = frozenset(),
    ):
        self.counts = counts
        self.dialect, self.plan, self.name, self.memory = dialect, plan, name, memory
        self.nonnegative, self.places = nonnegative, places
        self.helpers: dict[tuple[str, Scalar], None] = {}

    # atoms

    def text(self, a: Atom, least: int = 0) -> str:
        """The atom, in parentheses where its precedence is below `least`."""
        return _enclosed(self.printed(a), least)

    def printed(self, a: Atom) -> Printed:
        match a:
            case Const():
                return literal(a.value, a.type)
            case Undef():
                assert isinstance(a.type, Scalar)
                return literal(0, a.type)
            case Sym():
                inner = self.plan.nested.get(a)
                return (self.name(a), ATOM) if inner is None else self.statement(inner)

    def typed(self, a: Atom, type: Scalar, least: int = 0) -> str:
        """The atom as a number of that type."""
        return _enclosed(self._typed(a, type), least)

    def _typed(self, a: Atom, type: Scalar) -> Printed:
        own = a.type
        assert isinstance(own, Scalar)
        if own == type:
            return self.printed(a)
        if isinstance(a, Const) and type.is_float and not own.is_complex:
            return literal(float(a.value), type)  # type: ignore[arg-type]
        return self._cast(a, type)

    def _cast(self, a: Atom, type: Scalar) -> Printed:
        if type == a.type:
            return self.printed(a)
        if type.is_bool:
            return f"{self.text(a, 9)} != 0", 8
        return f"({c_type(type)}){self.text(a, _CAST)}", _CAST

    # operations

    def statement(self, stmt: Stmt) -> Printed:
        """What a statement that is one expression computes."""
        if isinstance(stmt, Load):
            return self.loaded(stmt)
        if isinstance(stmt, Let):
            return self.operation(stmt)
        target = self.plan.target(stmt)
        assert target is not None
        short = self.plan.shorts[target]
        symbol, level = _LOGIC[short.word]
        inner = level + 1 if short.word == "or" else level  # compilers warn of `a || b && c`
        return f"{self.text(short.cond, inner)} {symbol} {self.text(short.value, inner)}", level

    def loaded(self, load: Load) -> Printed:
        """The element of an array; a byte that is a bool as one."""
        text = self.element(load.array, load.index)
        return (f"{text} != 0", 8) if load.target.type == BOOL else (text, ATOM)

    def operation(self, let: Let) -> Printed:
        op, args, type = let.op, let.args, let.target.type
        assert isinstance(type, Scalar)
        match op:
            case "add" | "sub" | "mul" | "div" | "fdiv":
                return self._arithmetic(op, let, type)
            case "neg" if type.is_int and not self.tame(args[0]):
                return self._call("minus", type, "0", self.typed(args[0], type))
            case "neg":
                inner = self.typed(args[0], type, UNARY)
                return f"-{inner}" if not inner.startswith("-") else f"-({inner})", UNARY
            case "pos" | "nonneg" | "stop_gradient" | "conj" | "real":
                return self._typed(args[0], type)
            case "cast":
                return self._cast(args[0], type)
            case "select":
                cond, a, b = (
                    self.text(args[0], 3),
                    self.typed(args[1], type, 3),
                    self.typed(args[2], type, _CHOICE),
                )
                return f"{cond} ? {a} : {b}", _CHOICE
            case "dim":
                array, axis = args
                assert isinstance(array, Sym) and isinstance(axis, Const)
                return self.memory(array).extents[axis.integer], ATOM
            case _ if op in _COMPARISONS:
                return self._comparison(op, args)
            case "not_" | "logical_not":
                return f"!{self.typed(args[0], BOOL, UNARY)}", UNARY
            case "logical_and" | "logical_or" | "logical_xor":
                symbol, level = {"and": ("&&", 4), "or": ("||", 3), "xor": ("!=", 8)}[
                    op.removeprefix("logical_")
                ]
                a, b = (self.typed(x, BOOL, level + 1) for x in args)
                return f"{a} {symbol} {b}", level
            case "invert":
                return f"{'!' if type.is_bool else '~'}{self.typed(args[0], type, UNARY)}", UNARY
            case _ if op in _BITS:
                symbol, level = _BITS[op]
                return (
                    f"{self.typed(args[0], type, level)} {symbol} {self.typed(args[1], type, level + 1)}",
                    level,
                )
            case "lshift":
                shifted = f"({unsigned_type(type)}){self.text(args[0], _CAST)} << {self.text(args[1], 11)}"
                return f"({c_type(type)})({shifted})", _CAST
            case "rshift":
                return f"{self.typed(args[0], type, 10)} >> {self.text(args[1], 11)}", 10
            case _:
                return self._function(let, type)

    def _arithmetic(self, op: str, let: Let, type: Scalar) -> Printed:
        a, b = let.args
        if type.is_bool:
            raise unsupported(let)
        if type.is_int and not (self.tame(a) and self.tame(b)):
            return self._call(_WRAPPING[op], type, self.typed(a, type), self.typed(b, type))
        symbol, level = _ARITHMETIC[op]
        right = self.typed(b, type, level + 1)
        right = f"({right})" if right.startswith("-") else right
        return f"{self.typed(a, type, level)} {symbol} {right}", level

    def tame(self, a: Atom) -> bool:
        """Whether the integer is a place, an extent, a small constant, or a sum or product of such."""
        if isinstance(a, Const):
            return -_SMALL < a.integer < _SMALL
        if not isinstance(a, Sym) or a.type != INT64:
            return False
        return a in self.places

    def _comparison(self, op: str, args: tuple[Atom, ...]) -> Printed:
        symbol, level = _COMPARISONS[op]
        types = [a.type for a in args]
        assert all(isinstance(t, Scalar) for t in types)
        common = _common(types[0], types[1])  # type: ignore[arg-type]
        if common is None:
            return self._signed_beside_unsigned(op, args)
        a, b = self.typed(args[0], common, level + 1), self.typed(args[1], common, level + 1)
        return f"{a} {symbol} {b}", level

    def _signed_beside_unsigned(self, op: str, args: tuple[Atom, ...]) -> Printed:
        """A comparison of int64 and uint64 by their values."""
        turned = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
        a, b = args
        if a.type == UINT64:
            a, b, op = b, a, turned.get(op, op)
        symbol, _ = _COMPARISONS[op]
        signed, unsigned = self.typed(a, INT64, 10), self.typed(b, UINT64, 10)
        if op in ("lt", "le", "ne"):
            return f"{signed} < 0 || (uint64){self.typed(a, INT64, _CAST)} {symbol} {unsigned}", 3
        return f"{signed} >= 0 && (uint64){self.typed(a, INT64, _CAST)} {symbol} {unsigned}", 4

    def _function(self, let: Let, type: Scalar) -> Printed:
        op, args = let.op, let.args
        if op == "pow":
            return self._power(let, type)
        if op == "reciprocal" and type.is_float:
            return f"1 / {self.typed(args[0], type, UNARY)}", 12
        if op == "ldexp" and type.is_float:
            return f"ldexp({self.typed(args[0], type)}, (int){self.text(args[1], _CAST)})", ATOM
        if op in TESTS:
            own = args[0].type
            assert isinstance(own, Scalar)
            if not own.is_float:
                return ("true" if op == "isfinite" else "false"), ATOM
            return f"{TESTS[op].format(self.text(args[0]))} != 0", 8
        if (
            op == "mod" and type == INT64 and _power_of_two(args[1])
        ):  # of negative numbers too, as Python has it
            return f"{self.typed(args[0], INT64, 7)} & {args[1].integer - 1}", 7
        if op in ("mod", "floordiv") and type == INT64 and self._counts(args):
            return f"{self.text(args[0], 12)} {'%' if op == 'mod' else '/'} {self.text(args[1], UNARY)}", 12
        inside = self._inside(let, type)
        forms = ANY_FORMS | (FLOAT_FORMS if inside.is_float else INT_FORMS)
        form = forms.get(op)
        if form is None:
            raise unsupported(let)
        values = [self.typed(a, inside) for a in args]
        if form.endswith(":"):
            made = self._call(form[:-1], inside, *values)
        else:
            values = values if form.endswith(")") and "*" not in form else [f"({v})" for v in values]
            made = form.format(*values, T=c_type(inside)), (ATOM if "*" not in form else 12)
        return made if inside == type else (f"({c_type(type)}){_enclosed(made, _CAST)}", _CAST)

    def _counts(self, args: tuple[Atom, ...]) -> bool:
        """Whether C divides as Python does: a number that is not negative by a positive one."""
        a, b = args
        whole = b in self.counts or (isinstance(b, Const) and b.type == INT64 and b.integer > 0)
        return whole and a.type == INT64 and self.nonnegative(a)

    def _inside(self, let: Let, type: Scalar) -> Scalar:
        """The type that a function computes in: the result's, or the operand's where that is cut off to an integer."""
        if type.is_int:
            for a in let.args:
                if isinstance(a.type, Scalar) and a.type.is_float:
                    return a.type
        return type

    def _power(self, let: Let, type: Scalar) -> Printed:
        base, exponent = let.args
        assert isinstance(exponent.type, Scalar)
        if type.is_int and exponent.type.is_integral:
            return self._call("ipow", type, self.typed(base, type), self.typed(exponent, INT64))
        if type.is_float and exponent.type.is_integral and let.fn in (None, "pow"):
            return self._call("powi", type, self.typed(base, type), self.typed(exponent, INT64))
        if type.is_float:
            return f"pow({self.typed(base, type)}, {self.typed(exponent, type)})", ATOM
        raise unsupported(let)

    def _call(self, name: str, type: Scalar, *args: str) -> Printed:
        self.helpers[name, type] = None
        return f"{called(name, type)}({', '.join(args)})", ATOM

    # memory

    def element(self, array: Sym, index: tuple[Atom, ...]) -> str:
        """array[index]"""
        memory = self.memory(array)
        return f"{memory.base}[{self.offset(memory, index)}]"

    def offset(self, memory: Memory, index: tuple[Atom, ...]) -> str:
        """The place of an element, in elements from the base."""
        terms = [self._term(memory, k, a) for k, a in enumerate(index)]
        return " + ".join(t for t in terms if t != "0") or "0"

    def _term(self, memory: Memory, axis: int, a: Atom) -> str:
        stride = memory.strides[axis]
        text = self.place(a, memory.extents[axis])
        if stride == "1" or text == "0":
            return text
        return f"{text} * {stride}"

    def place(self, a: Atom, extent: str) -> str:
        """An index as a number of type `index`; one that may be negative counts from the end."""
        if isinstance(a, Const):
            return str(a.integer) if a.integer >= 0 else f"({extent} - {-a.integer})"
        assert isinstance(a.type, Scalar)
        if a.type.is_unsigned or a.type.is_bool or self.nonnegative(a):
            return f"(index){self.text(a, _CAST)}"
        text, _ = self._call("wrapped", INT64, self.typed(a, INT64), extent)
        return f"(index){text}"

    def update(self, array: Sym, index: tuple[Atom, ...], op: str, value: Atom) -> str:
        """An atomic update of an element by another number."""
        type = array.type.dtype  # type: ignore[union-attr]
        assert isinstance(type, Scalar)
        place = f"&{self.element(array, index)}"
        text, _ = self._call(f"atomic_{op}", type, place, self.typed(value, type))
        return text

    def pair(self, a: Store, b: Store) -> str:
        """Atomic sums to two elements side by side."""
        low, high = (a, b) if a.index[-1].integer < b.index[-1].integer else (b, a)  # type: ignore[union-attr]
        place = f"&{self.element(low.array, low.index)}"
        values = (self.typed(s.value, FLOAT32) for s in (low, high))
        return self._call("atomic_add_pair", FLOAT32, place, *values)[0]

    @property
    def wide_atomics(self) -> bool:
        """Whether atomic operations on 64 bits are used."""
        return any(name.startswith("atomic_") and wants_wide(type) for name, type in self.helpers)


def unsupported(let: Let) -> UnsupportedError:
    """The refusal of an operation that kernels on devices do not have."""
    name = (let.fn or let.op).removeprefix("builtins.").replace("numpy.", "np.")
    return UnsupportedError(
        f"'{name}' of {', '.join(str(a.type) for a in let.args)} in a kernel on a device",
        "compute it before the launch and pass it in an array, or run the program on NumPy arrays",
        let.span,
    )


def _enclosed(printed: Printed, least: int) -> str:
    text, precedence = printed
    return text if precedence >= least else f"({text})"


def _common(a: Scalar, b: Scalar) -> Scalar | None:
    """The type in which two numbers are compared; None for int64 beside uint64."""
    if a == b:
        return a
    if a.is_float or b.is_float:
        small = all(t == FLOAT32 or (t.is_integral and t.itemsize <= 2) for t in (a, b))
        return FLOAT32 if small else FLOAT64
    if UINT64 in (a, b):
        other = b if a == UINT64 else a
        return UINT64 if other.is_unsigned or other.is_bool else None
    return INT64


def _power_of_two(a: Atom) -> TypeGuard[Const]:
    """Whether the atom is a constant whose only bit is one of the lower ones."""
    return (
        isinstance(a, Const)
        and a.type == INT64
        and 0 < a.integer < 2**31
        and a.integer & (a.integer - 1) == 0
    )
