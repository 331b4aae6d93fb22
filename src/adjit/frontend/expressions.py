"""Expressions: from a syntax tree to a Value, in Python's evaluation order."""

from __future__ import annotations

import ast
import builtins
from types import ModuleType

import numpy as np

from adjit.frontend import (
    arrays,
    calls,
    comparisons,
    elements,
    growing,
    indexing,
    lists,
    matrices,
    parts,
    remedies,
    statements,
)
from adjit.frontend.context import DeadPath, Frame, Lowering
from adjit.frontend.fence import EXPRESSIONS
from adjit.frontend.frozen import DIFFERENT
from adjit.frontend.values import (
    FIRST_TURN,
    NONE,
    SPENT,
    Closure,
    Conflict,
    Elements,
    Growing,
    Method,
    Once,
    SliceValue,
    Static,
    TupleValue,
    Unbound,
    Value,
    is_array,
    same_static,
    two_names,
)
from adjit.ir.core import FALSE, ONE, TRUE, ZERO, Atom, Const, Sym, Undef, const
from adjit.ir.types import BOOL, COMPLEX128, FLOAT64, INT64, UINT64, Scalar

_SIGNS: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos"}

FOLDS = frozenset("sum prod mean var std min max all any argmin argmax".split())
"""Methods of arrays that take their owner an element at a time."""

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}


def evaluate(lx: Lowering, node: ast.expr) -> Value:
    """The value of an expression; its statements are appended to the open block."""
    with lx.at(node):
        return growing.settled(lx, elements.solid(lx, _evaluate(lx, node), node))


def held(lx: Lowering, node: ast.expr) -> Value:
    """As `evaluate`, for who hands the value on: a list that grows is itself."""
    with lx.at(node):
        return elements.solid(lx, _evaluate(lx, node), node)


def lazily(lx: Lowering, node: ast.expr) -> Value:
    """As `evaluate`, for who takes arrays an element at a time: neither views nor new arrays are made."""
    with lx.at(node):
        if isinstance(node, ast.Subscript):
            where = parts.place(lx, node)
            if where is not None:
                return parts.at(lx, where, node)
            return indexing.elements_at(lx, *indexing.place(lx, node), node)
        return growing.settled(lx, _evaluate(lx, node))


def _evaluate(lx: Lowering, node: ast.expr) -> Value:
    match node:
        case ast.Constant():
            return _constant(lx, node)
        case ast.Name():
            return lookup(lx, node.id, node)
        case ast.BinOp():
            return _binop(lx, node)
        case ast.UnaryOp():
            return unary(lx, node.op, lazily(lx, node.operand), node)
        case ast.BoolOp():
            return _boolop(lx, node, node.values)
        case ast.Compare():
            return comparisons.chain(lx, node, lazily(lx, node.left))
        case ast.IfExp():
            return _ifexp(lx, node)
        case ast.Call():
            return growing.born(lx, node, calls.call_node(lx, node))
        case ast.Attribute():
            lazy = node.attr in FOLDS or node.attr in parts.NAMES
            owner = (lazily if lazy else held)(lx, node.value)
            return attribute(lx, owner, node.attr, node)
        case ast.Subscript():
            where = parts.place(lx, node)
            if where is not None:
                return parts.at(lx, where, node)
            return growing.born(lx, node, indexing.load(lx, *indexing.place(lx, node), node))
        case ast.Tuple():
            return TupleValue(tuple(_elements(lx, node.elts)))
        case ast.List():
            items = [evaluate(lx, e) for e in node.elts]
            if not items or isinstance(items[0], TupleValue):
                return growing.made(lx, node, items)
            return growing.born(lx, node, lists.list_of(lx, items, node))
        case ast.ListComp():
            return growing.born(lx, node, lists.list_comprehension(lx, node))
        case ast.NamedExpr():
            value = held(lx, node.value)
            statements.bind(lx, node.target, value)
            return value
        case ast.Slice():
            return _slice(lx, node)
        case ast.Lambda():
            return statements.closure(lx, node)
        case _:
            known = EXPRESSIONS.get(type(node))
            reason, remedy = known or (f"a '{type(node).__name__}' expression is not supported", "")
            lx.refuse(node, reason, remedy)


def _elements(lx: Lowering, nodes: list[ast.expr]) -> list[Value]:
    found: list[Value] = []
    for e in nodes:
        if isinstance(e, ast.Starred):
            found += items_of(lx, evaluate(lx, e.value), e)
        else:
            found.append(held(lx, e))
    if len(nodes) != len(found):
        return found
    return [as_it_is(lx, e, v) for e, v in zip(nodes, found, strict=True)]


def as_it_is(lx: Lowering, node: ast.expr, value: Value) -> Value:
    """A list that has a name, after what stands beside it was evaluated and may have changed it."""
    return held(lx, node) if isinstance(node, ast.Name) and isinstance(value, Growing) else value


def _constant(lx: Lowering, node: ast.Constant) -> Value:
    value = node.value
    if value is None:
        return NONE
    if isinstance(value, int | float | complex):
        return lx.constant(value, node)
    return Static(value)


def _slice(lx: Lowering, node: ast.Slice) -> SliceValue:
    parts: list[Atom | None] = []
    for part in (node.lower, node.upper, node.step):
        value = NONE if part is None else evaluate(lx, part)
        parts.append(None if same_static(value, NONE) else number(lx, value, node))
    return SliceValue(*parts)


# names


def lookup(lx: Lowering, name: str, node: ast.AST) -> Value:
    """What a name stands for here, by Python's scoping."""
    value = _find(lx, lx.frame, name, node)
    if isinstance(value, Conflict):
        a, b = value.kinds
        if "nothing" in value.kinds:
            lx.refuse(
                node,
                f"'{name}' is {a if b == 'nothing' else b} on one path and not bound on another",
                "use it in the branch or loop that makes it",
            )
        lx.refuse(node, f"'{name}' is {a} on one path and {b} on another", two_names(value))
    return value


def _find(lx: Lowering, frame: Frame, name: str, node: ast.AST) -> Value:
    scope = frame
    while True:
        if name in scope.scope.names:
            value = scope.env.names.get(name)
            if value is FIRST_TURN:
                raise DeadPath
            if value is None or isinstance(value, Unbound):
                lx.refuse(node, f"'{name}' is read before it is assigned", "assign it first")
            if isinstance(value, Once):
                if value is SPENT or value.loops != lx.loops:
                    reason = f"the iterator '{name}' is run over more than once, and goes on where it stopped"
                    lx.refuse(node, reason, "make it anew for each loop")
                scope.env.names[name] = SPENT
                return value.value
            return value
        if scope.lexical is None:
            break
        scope = scope.lexical
    if scope.fixed.get(name) is DIFFERENT:
        lx.refuse(
            node,
            f"'{name}' had different values when Numba compiled '{scope.name}' for different types",
            "pass it as an argument",
        )
    if name in scope.fixed:
        return lx.wrap(scope.fixed[name], name, node)
    if name in scope.cells:
        try:
            obj = scope.cells[name].cell_contents
        except ValueError:
            lx.refuse(node, f"'{name}' is read before it is assigned", "assign it first")
        return lx.wrap(obj, name, node)
    if name in scope.globals:
        return lx.wrap(scope.globals[name], name, node)
    if hasattr(builtins, name):
        return lx.wrap(getattr(builtins, name), name, node)
    known = [*scope.scope.names, *frame.scope.names, *scope.cells, *scope.globals]
    lx.refuse(node, *remedies.undefined(name, known))


def attribute(lx: Lowering, owner: Value, name: str, node: ast.AST) -> Value:
    """`owner.name`."""
    if isinstance(owner, Elements):
        return (
            parts.part(lx, owner, name, node) if name in parts.NAMES else arrays.method(lx, owner, name, node)
        )
    if isinstance(owner, Sym | Undef) and is_array(owner):
        growing.method(lx, owner, name)
        return arrays.attribute(lx, owner, name, node)
    if isinstance(owner, Sym | Const | Undef):
        return _number_attribute(lx, owner, name, node)
    if isinstance(owner, Growing):
        if name not in growing.METHODS:
            lx.refuse(node, *remedies.list_attribute(name))
        return Method(owner, name)
    if isinstance(owner, TupleValue):
        fields = getattr(owner.cls, "_fields", ())
        if name in fields:
            return owner.items[fields.index(name)]
        lx.refuse(node, *remedies.tuple_attribute(owner, name, node))
    if isinstance(owner, Static):
        if isinstance(owner.value, Static | str | bytes | list | dict | set):
            lx.refuse(
                node,
                f"the method '{name}' of {lx.kind(owner)} is not supported",
                "leave it out of differentiated code",
            )
        try:
            value = getattr(owner.value, name)
        except Exception:
            lx.refuse(node, f"{lx.kind(owner)} has no attribute '{name}'", remedies.near(owner.value, name))
        if isinstance(owner.value, np.dtype) and name != "type":
            lx.refuse(
                node, f"the dtype's attribute '{name}' is not supported", "write the dtype out: np.float64"
            )
        if not isinstance(owner.value, ModuleType | type | np.dtype) and not callable(owner.value):
            if not isinstance(value, int | float | complex | np.generic | np.ndarray) and not callable(value):
                lx.refuse(
                    node,
                    f"the attribute '{name}' of {lx.kind(owner)} is not supported",
                    "assign it to a name before the call, and use that",
                )
        base = getattr(owner.value, "__name__", type(owner.value).__name__)
        return lx.wrap(value, f"{base}.{name}", node)
    lx.refuse(
        node,
        f"the attribute '{name}' of {lx.kind(owner)} is not supported",
        remedies.in_place_of_range(owner, "use numbers, arrays, tuples and NamedTuples"),
    )


def _number_attribute(lx: Lowering, owner: Atom, name: str, node: ast.AST) -> Value:
    if name in ("real", "imag"):
        return calls.apply_rule(lx, getattr(np, name), (owner,), node)
    if name in ("conjugate", "conj"):
        return Method(owner, "conjugate")
    if name == "dtype" and isinstance(owner.type, Scalar) and owner.type.known and isinstance(owner, Sym):
        return Static(np.dtype(owner.type.name))
    lx.refuse(
        node,
        f"the attribute '{name}' of a number is not supported",
        "leave '.item()' out" if name == "item" else "a number has real, imag, dtype and conjugate()",
    )


def items_of(lx: Lowering, value: Value, node: ast.AST) -> list[Value]:
    """The items of something that is unpacked: a tuple, or a local list or array of known length."""
    if isinstance(value, TupleValue):
        return list(value.items)
    if isinstance(value, Sym) and value in lx.lengths:
        return [indexing.load(lx, value, const(k), node) for k in range(lx.lengths[value])]
    if is_array(value):
        lx.refuse(node, "an array is unpacked", "index it")
    lx.refuse(node, f"{lx.kind(value)} is unpacked", "unpack a tuple, or index it")


# operators


def number(lx: Lowering, value: Value, node: ast.AST) -> Atom:
    """The value as a scalar atom, or a refusal."""
    if isinstance(value, Sym | Const | Undef):
        if isinstance(value.type, Scalar):
            return value
        if value.type.ndim == 0 and isinstance(value, Sym):  # type: ignore[union-attr]
            return lx.builder.load(value, ())
        if lx.is_list(value):
            lx.refuse(
                node, "a list is used where a number is needed", "index it, or take its length: len(items)"
            )
        lx.refuse(node, "a whole array is used where a number is needed", remedies.number_of(node))
    if isinstance(value, Elements):
        if not value.shape:
            return value.at(())
        lx.refuse(node, "a whole array is used where a number is needed", remedies.number_of(node))
    remedy = remedies.in_place_of_range(value, "pass a number")
    lx.refuse(node, f"{lx.kind(value)} is used where a number is needed", remedy)


def integer(lx: Lowering, op: str, a: Atom, b: Atom) -> Atom:
    """Index arithmetic made by the compiler itself; constants fold, neutral operands vanish."""
    if isinstance(a, Const) and isinstance(b, Const):
        x, y = int(a.value.real), int(b.value.real)
        folded = {"add": x + y, "sub": x - y, "mul": x * y}
        if op == "floordiv" and y != 0:
            return const(x // y)
        if op == "mod" and y != 0:
            return const(x % y)
        if op in folded:
            return const(folded[op])
    if (op == "add" and a == ZERO) or (op == "mul" and a == ONE):
        return b
    if (op in ("add", "sub") and b == ZERO) or (op in ("mul", "floordiv") and b == ONE):
        return a
    return lx.let(op, a, b)


def _binop(lx: Lowering, node: ast.BinOp) -> Value:
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and len(node.left.elts) == 1:
        fill = evaluate(lx, node.left.elts[0])
        times = number(lx, evaluate(lx, node.right), node.right)
        return growing.born(lx, node, lists.repeated(lx, fill, times, node))
    left = lazily(lx, node.left)
    mark = lx.builder.mark()
    right = lazily(lx, node.right)
    return binary(lx, node.op, elements.settle(lx, left, mark, node.left), right, node)


def binary(
    lx: Lowering, op: ast.operator, a: Value, b: Value, node: ast.AST, name: str | None = None
) -> Value:
    """`a op b`."""
    key = BINARY.get(type(op))
    if isinstance(a, TupleValue) or isinstance(b, TupleValue):
        return _tuple_binary(lx, key, a, b, node)
    if key in ("add", "mul") and (lx.is_list(a) or lx.is_list(b)):
        remedy = "join arrays by np.concatenate, repeat them by np.tile"
        lx.refuse(node, "lists are joined or repeated", remedy)
    if elements.is_whole(a) or elements.is_whole(b):
        return elements.binary(lx, key, a, b, node) if key else matrices.matmul(lx, a, b, node)
    if key is None:
        lx.refuse(node, f"'@' of {lx.kind(a)} and {lx.kind(b)}", "write '*' for numbers")
    x, y = number(lx, a, node), number(lx, b, node)
    value = _fold(key, x, y)
    of_int64 = all(a.type == INT64 for a in (x, y)) and value is not None and -(2**63) <= value < 2**63
    if value is not None and (lx.frame.plain or of_int64):
        return lx.constant(value, node)
    target = lx.let(key, x, y, name=name)
    lx.options.divide(key, "numpy" if lx.parallel_loops else lx.frame.error_model, target)
    return target


def _tuple_binary(lx: Lowering, key: str | None, a: Value, b: Value, node: ast.AST) -> Value:
    if key == "add" and isinstance(a, TupleValue) and isinstance(b, TupleValue):
        return TupleValue((*a.items, *b.items))
    if key == "mul" and isinstance(a, TupleValue) and isinstance(b, Const) and b.type == INT64:
        return TupleValue(a.items * max(0, int(b.value.real)))
    lx.refuse(node, "arithmetic on a tuple", "compute on its items")


def _fold(key: str, x: Atom, y: Atom) -> int | None:
    """Integer literals fold, so that indices computed from constants are constants."""
    if not (isinstance(x, Const) and isinstance(y, Const) and {x.type, y.type} <= {INT64, UINT64}):
        return None
    p, q = x.integer, y.integer
    if key == "add":
        return p + q
    if key == "sub":
        return p - q
    if key == "mul":
        return p * q
    if key == "floordiv" and q != 0:
        return p // q
    if key == "mod" and q != 0:
        return p % q
    if key == "pow" and q >= 0:
        return p ** (q if abs(p) < 2 else min(q, 65))
    return None


def unary(lx: Lowering, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
    """`op value`."""
    if isinstance(op, ast.Not):
        return lx.negate(truth(lx, value, node), "not")
    if elements.is_whole(value):
        return elements.unary(lx, _SIGNS.get(type(op), "invert"), value, node)
    x = number(lx, value, node)
    if isinstance(op, ast.USub):
        if isinstance(x, Const) and x.type in (INT64, FLOAT64, COMPLEX128) and x.value != -(2**63):
            return Const(-x.value, x.type)
        if isinstance(x, Const) and x.value == 2**63:
            return Const(-(2**63), INT64)
        return lx.let("neg", x)
    if isinstance(op, ast.UAdd):
        return x if isinstance(x, Const) and x.type != BOOL else lx.let("pos", x)
    return lx.let("invert", x)


def truth(lx: Lowering, value: Value, node: ast.AST) -> Atom:
    """bool(value): a Const where it is known when the program is built."""
    match value:
        case Const():
            return TRUE if value.value else FALSE
        case TupleValue():
            return TRUE if value.items else FALSE
        case Static(value=None):
            return FALSE
        case Static(value=str() as text):
            return TRUE if text else FALSE
        case Static() | Closure():
            return TRUE
        case Growing():
            return lx.let("ne", value.count, ZERO, type=BOOL)
        case Sym() if value in lx.lists:
            return lx.let("ne", indexing.extent(lx, value, 0), ZERO, type=BOOL)
        case _:
            x = number(lx, value, node)
            return x if x.type == BOOL else lx.let("cast", x, type=BOOL, fn="bool")


def _boolop(lx: Lowering, node: ast.BoolOp, values: list[ast.expr]) -> Value:
    first = evaluate(lx, values[0])
    if len(values) == 1:
        return first
    test = truth(lx, first, values[0])
    conjunction = isinstance(node.op, ast.And)
    if isinstance(test, Const):
        return _boolop(lx, node, values[1:]) if bool(test.value) == conjunction else first

    def rest() -> Value:
        return _boolop(lx, node, values[1:])

    short: Value = first if first is not test else (FALSE if conjunction else TRUE)
    if conjunction:
        return lx.branch(test, rest, lambda: short, node)
    return lx.branch(test, lambda: short, rest, node)


def _ifexp(lx: Lowering, node: ast.IfExp) -> Value:
    test = truth(lx, evaluate(lx, node.test), node.test)
    if isinstance(test, Const):
        return held(lx, node.body if test.value else node.orelse)
    return lx.branch(test, lambda: held(lx, node.body), lambda: held(lx, node.orelse), node)
