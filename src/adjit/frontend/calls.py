"""Calls: what is called decides; functions with a rule become a Let, functions with source are inlined."""

from __future__ import annotations

import ast
import builtins
import functools
import math
from collections.abc import Callable, Sequence
from types import BuiltinMethodType, FunctionType, MethodType
from typing import NoReturn

import numpy as np
from numba.core import types as nb_types
from numba.np.ufunc.dufunc import DUFunc
from numba.stencils.stencil import StencilFunc

from adjit import rules
from adjit.errors import MissingRuleError
from adjit.frontend import (
    array_functions,
    arrays,
    creation,
    custom,
    derivatives,
    derive,
    elements,
    expressions,
    folds,
    growing,
    inline,
    kernels,
    known,
    layers,
    outputs,
    pullbacks,
    remedies,
    vectorized,
)
from adjit.frontend.context import Lowering
from adjit.frontend.kernel_function import KernelFunction
from adjit.frontend.values import (
    Closure,
    Constant,
    DerivativeOf,
    Elements,
    Growing,
    Method,
    Partial,
    PullbackOf,
    Static,
    TupleValue,
    Value,
    is_array,
    is_scalar,
)
from adjit.ir.core import ZERO, Atom, Const, Sym, Undef
from adjit.ir.spellings import FLOAT_POWER, OWN
from adjit.ir.types import BOOL, FLOAT64, INT64, UNKNOWN, Array, Scalar
from adjit.rules.custom import CustomFunction

BOOL_OPS = frozenset({"isnan", "isinf", "isfinite", "lt", "le", "gt", "ge", "eq", "ne", "not_", "signbit"})
CASTS: dict[object, tuple[Scalar, str]] = {
    float: (FLOAT64, "float"),
    int: (INT64, "int"),
    bool: (BOOL, "bool"),
    complex: (Scalar("complex128"), "complex"),
}


_INTEGERS = (np.argmax, np.argmin, np.searchsorted, np.digitize, np.where)
"""Functions whose integers are made of Python's by what they are lowered to."""


def call_node(lx: Lowering, node: ast.Call) -> Value:
    """A call expression: the function, then the arguments, left to right."""
    function = expressions.evaluate(lx, node.func)
    special = known.syntax(function)
    if special is not None:
        return special(lx, node)
    args: list[Value] = []
    of_elements = known.takes_elements(function)
    for arg in node.args:
        if outputs.is_output(function, len(args)):
            of_elements = False  # it is written
        if isinstance(arg, ast.Starred):
            args += expressions.items_of(lx, expressions.evaluate(lx, arg.value), arg)
        elif isinstance(arg, ast.List | ast.Tuple) and array_functions.takes_lists(function):
            args.append(creation.nested(lx, arg))
        elif of_elements:
            mark = lx.builder.mark()
            value = expressions.lazily(lx, arg)
            args = [*(elements.settle(lx, a, mark, node) for a in args), value]
        else:
            args.append(expressions.held(lx, arg))
    kwargs: dict[str, Value] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            lx.refuse(keyword.value, "'**' in a call is not supported", "name the keywords")
        nested = isinstance(keyword.value, ast.List | ast.Tuple) and array_functions.takes_lists(function)
        kwargs[keyword.arg] = (creation.nested if nested else expressions.held)(lx, keyword.value)
    if len(args) == len(node.args):
        args = [expressions.as_it_is(lx, e, v) for e, v in zip(node.args, args, strict=True)]
    if isinstance(function, Method) and isinstance(function.owner, Growing):
        function = expressions.evaluate(lx, node.func)  # its arguments may have changed the list
    return call(lx, function, args, kwargs, node)


def call(
    lx: Lowering, function: Value, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """The value of `function(*args, **kwargs)`."""
    if isinstance(function, DerivativeOf | PullbackOf):
        args = [growing.settled(lx, a) for a in args]
        kwargs = {k: growing.settled(lx, v) for k, v in kwargs.items()}
    match function:
        case Closure():
            return inline.call_closure(lx, function, args, kwargs, node)
        case Partial():
            return call(lx, function.function, [*function.args, *args], {**function.keywords, **kwargs}, node)
        case DerivativeOf():
            return derivatives.call_derivative(lx, function, args, kwargs, node)
        case PullbackOf():
            return pullbacks.call_pullback(lx, function, args, kwargs, node)
        case Method():
            return _method(lx, function, list(args), kwargs, node)
        case Static():
            return _object(lx, function.value, list(args), kwargs, node)
        case _:
            lx.refuse(node, f"{lx.kind(function)} is called", "call a function")


def _method(
    lx: Lowering, method: Method, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    owner = method.owner
    args = [growing.settled(lx, a) if isinstance(owner, Sym) else a for a in args]
    if isinstance(owner, Growing):
        return growing.call(lx, owner, method.name, args, node)
    if isinstance(owner, Elements) or (is_array(owner) and method.name in expressions.FOLDS):
        value = folds.method(lx, owner, method.name, args, kwargs, node)
        return numpys_own(lx, value) if method.name in ("argmax", "argmin") else value
    if isinstance(owner, Sym) and is_array(owner) and method.name in array_functions.METHODS:
        return array_functions.METHODS[method.name](lx, [owner, *args], kwargs, node)
    if isinstance(owner, Sym) and is_array(owner):
        return arrays.call_method(lx, owner, method.name, args, kwargs, node)
    if isinstance(owner, Sym | Const) and method.name == "conjugate":
        return apply_rule(lx, np.conjugate, (owner,), node)
    lx.refuse(
        node,
        f"the method '{method.name}' of {lx.kind(owner)} is not supported",
        "pass it an array, or call NumPy's function of that name",
    )


def _object(lx: Lowering, obj: object, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if not (isinstance(getattr(obj, "py_func", obj), FunctionType) and known.find(obj) is None):
        args = [growing.settled(lx, a) for a in args]
        kwargs = {k: growing.settled(lx, v) for k, v in kwargs.items()}
    given = getattr(obj, "__adjit_custom__", obj)
    if isinstance(given, CustomFunction):
        return custom.call_custom(lx, given, args, kwargs, node)
    if isinstance(obj, KernelFunction):
        return kernels.launch(lx, obj, args, kwargs, node)
    if isinstance(obj, kernels.Item):
        return kernels.run_item(lx, obj, args, node)
    if layers.is_layer(obj):
        return layers.call_layer(lx, obj, args, kwargs, node)
    derived = derive.operator(lx, obj, args, kwargs, node)
    if derived is not None:
        return derived
    handler = known.find(obj)
    if handler is not None:
        value = handler(lx, args, kwargs, node)
        return numpys_own(lx, value) if any(obj is f for f in _INTEGERS) else value
    if isinstance(obj, functools.partial):
        wrapped = tuple(lx.wrap(a, "partial", node) for a in obj.args)
        keywords = {k: lx.wrap(v, k, node) for k, v in obj.keywords.items()}
        return call(lx, lx.wrap(obj.func, "partial", node), [*wrapped, *args], {**keywords, **kwargs}, node)
    cast = _cast_target(lx, obj, node)
    if cast is not None:
        return _cast(lx, cast, args, kwargs, node)
    if isinstance(obj, type):
        return _construct(lx, obj, args, kwargs, node)
    if callable(obj) and _hashable(obj) and rules.find(obj) is not None:
        if isinstance(obj, np.ufunc) and (len(args) > obj.nin or "out" in kwargs):
            return outputs.into(lx, obj, args, kwargs, node)
        if kwargs:
            lx.refuse(
                node, f"keywords of '{name_of(obj)}' are not supported", "pass its arguments by position"
            )
        if any(elements.is_whole(a) for a in args):
            return of_elements(lx, obj, args, node)
        return apply_rule(lx, obj, tuple(expressions.number(lx, a, node) for a in args), node)
    if isinstance(obj, DUFunc):
        return vectorized.call_vectorized(lx, obj, args, kwargs, node)
    inner = getattr(obj, "py_func", None)
    if isinstance(inner, FunctionType):
        return inline.call_function(lx, inner, obj, args, kwargs, node)
    if isinstance(obj, FunctionType) and not remedies.library(obj):
        return inline.call_function(lx, obj, None, args, kwargs, node)
    _missing(lx, obj, node)


def _hashable(obj: object) -> bool:
    try:
        hash(obj)
    except TypeError:
        return False
    return True


def name_of(obj: object) -> str:
    """The dotted name of a callable, for messages."""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if name is None:
        return f"an object of type {type(obj).__name__}"
    if "<locals>" in name:
        return name.rpartition("<locals>.")[2]
    module = remedies.home(obj, name)
    return name if module in ("", "builtins", "__main__") else f"{module}.{name}"


def _missing(lx: Lowering, obj: object, node: ast.AST) -> NoReturn:
    if isinstance(obj, MethodType | BuiltinMethodType) and isinstance(obj.__self__, np.random.RandomState):
        lx.refuse(
            node,
            f"random numbers are drawn by '{name_of(obj)}'",
            "draw them outside and pass them in an array",
        )
    if isinstance(obj, MethodType):
        lx.refuse(
            node,
            f"the bound method '{name_of(obj)}' is called",
            "call a function with the fields as arguments",
        )
    if not callable(obj):
        lx.refuse(node, f"{lx.kind(Static(obj))} is called", "call a function")
    if isinstance(obj, StencilFunc):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else "this"
        lx.refuse(node, f"'{called}' is made by numba.stencil", remedies.STENCIL)
    raise MissingRuleError(
        f"the call of '{name_of(obj)}' has no known derivative",
        remedies.in_place_of(obj, node, name_of(obj)),
        lx.span(node),
    )


# rules


def home_of(obj: object) -> str:
    """The package that an object comes from."""
    return (getattr(obj, "__module__", None) or "").partition(".")[0]


def of_elements(lx: Lowering, obj: Callable[..., object], args: list[Value], node: ast.AST) -> Value:
    """A function with a derivative rule, of each element of whole arrays."""
    rule = rules.find(obj, len(args))
    if rule is None:
        lx.refuse(
            node,
            f"'{name_of(obj)}' with {len(args)} arguments is not supported",
            "pass as many arguments as its rule has",
        )
    if not (obj is builtins.abs or isinstance(obj, np.ufunc) or home_of(obj) == "numpy"):
        whole = next(k for k, a in enumerate(args) if elements.is_whole(a))
        given = node.args[whole : whole + 1] if isinstance(node, ast.Call) else []
        if lx.is_list(args[whole]):
            lx.refuse(node, f"'{name_of(obj)}' of a list", "apply it to each number: [f(v) for v in items]")
        reason = f"'{name_of(obj)}' of a whole array{remedies.which(given, args[whole])}"
        lx.refuse(node, reason, "take NumPy's function of that name")
    fn = elements.UFUNCS.get(rule.op) if rule.symbol is not None else rules.spelling(obj)
    if obj is builtins.abs:
        fn = "numpy.abs"
    if obj is np.float_power:
        fn = FLOAT_POWER
    if rule.op == "select" and elements.dtype_of(args[0]) != BOOL:
        args = [elements.binary(lx, "ne", args[0], ZERO, node), *args[1:]]
    return elements.apply(lx, rule.op, args, node, fn, fuses=isinstance(obj, np.ufunc))


_NARROW = frozenset({"add", "sub", "mul", "neg", "lshift", "rshift", "and_", "or_", "xor", "invert"})
"""Operators that are of 64 bits in Numba, where NumPy's functions of their names have the type of small integers."""


def apply_rule(lx: Lowering, obj: Callable[..., object], args: tuple[Atom, ...], node: ast.AST) -> Value:
    """A function with a derivative rule, of scalars."""
    rule = rules.find(obj, len(args))
    if rule is None:
        lx.refuse(
            node,
            f"'{name_of(obj)}' with {len(args)} arguments is not supported",
            "pass as many arguments as its rule has",
        )
    narrow = isinstance(obj, np.ufunc) and rule.op in _NARROW and not lx.frame.plain
    fn = rules.spelling(obj) if rule.symbol is None or obj is math.pow or narrow else None
    if obj is np.float_power:
        fn = FLOAT_POWER
    if fn is None and home_of(obj) == "math":
        fn = f"math.{rule.op}"  # an alias
    with lx.at(node):
        value = lx.let(rule.op, *args, type=BOOL if rule.op in BOOL_OPS else UNKNOWN, fn=fn)
        return numpys_own(lx, value) if isinstance(obj, np.ufunc) and fn is None else value


def numpys_own(lx: Lowering, value: Value) -> Value:
    """What a NumPy function gives: an integer or a bool is NumPy's, also of Python's numbers."""
    if not lx.frame.plain or not isinstance(value, Sym) or not is_scalar(value):
        return value
    return lx.let("cast", value, type=BOOL if value.type == BOOL else UNKNOWN, fn=OWN)


# conversions


def _cast_target(lx: Lowering, obj: object, node: ast.AST) -> tuple[Scalar, str] | None:
    """The scalar type that a callable converts to, and its spelling."""
    if isinstance(obj, type) and obj in CASTS:
        return CASTS[obj]
    if isinstance(obj, type) and issubclass(obj, np.generic):
        dtype = lx.dtype(np.dtype(obj), node)
        return dtype, "numpy.bool_" if dtype == BOOL else f"numpy.{dtype.name}"
    if isinstance(obj, nb_types.Number | nb_types.Boolean):
        dtype = creation.dtype_of(lx, Static(obj), node)
        return dtype, "numpy.bool_" if dtype == BOOL else f"numpy.{dtype.name}"
    return None


def _cast(
    lx: Lowering, cast: tuple[Scalar, str], args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    dtype, fn = cast
    if kwargs:
        lx.refuse(node, f"keywords of '{fn}' are not supported", "pass its argument by position")
    if not args:
        return creation.zero_of(dtype, 0)
    if fn == "complex" and len(args) == 2:
        with lx.at(node):
            return lx.let("complex", *(expressions.number(lx, a, node) for a in args))
    if len(args) != 1:
        lx.refuse(node, f"'{fn}' takes one argument", "pass one number or array")
    if isinstance(args[0], Static) and isinstance(args[0].value, str):
        if fn == "float" and args[0].value.strip().lower().lstrip("+-") in ("inf", "infinity", "nan"):
            return Const(float(args[0].value), FLOAT64)
        lx.refuse(node, f"'{fn}' of a string", "pass a number")
    if fn == "bool":
        return expressions.truth(lx, args[0], node)
    x = expressions.number(lx, args[0], node)
    return convert(lx, x, dtype, fn, node)


def convert(lx: Lowering, x: Atom, dtype: Scalar, fn: str | None, node: ast.AST) -> Atom:
    """`fn(x)`, a conversion."""
    if isinstance(x, Const) and fn in ("int", "float"):
        if fn == "float" and x.type in (INT64, FLOAT64, BOOL) and isinstance(x.value, int | float):
            return Const(float(x.value), FLOAT64)
        if fn == "int" and x.type in (INT64, BOOL) and isinstance(x.value, int):
            return Const(int(x.value), INT64)
    with lx.at(node):
        return lx.let("cast", x, type=dtype, fn=fn)


# NamedTuples


def _construct(lx: Lowering, cls: type, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    fields = getattr(cls, "_fields", None)
    if cls is str:
        lx.refuse(node, "a string is made", "leave text out of differentiated code")
    if home_of(cls) == "adjit" and cls.__name__ == "Const" and len(args) == 1 and not kwargs:
        return Constant(args[0])
    if home_of(cls) == "adjit":  # aj.Active(x), for a call of aj.autodiff
        _missing(lx, cls, node)
    if not (issubclass(cls, tuple) and isinstance(fields, tuple)):
        lx.refuse(node, f"an object of class '{name_of(cls)}' is made", remedies.in_place_of_class(cls))
    values = dict(zip(fields, args, strict=False))
    for key, value in kwargs.items():
        if key not in fields or key in values:
            lx.refuse(node, f"'{cls.__name__}' has no free field '{key}'", "give each field once")
        values[key] = value
    for key, value in getattr(cls, "_field_defaults", {}).items():
        if key not in values:
            values[key] = lx.wrap(value, key, node)
    if len(args) > len(fields) or len(values) != len(fields):
        lx.refuse(node, f"'{cls.__name__}' takes {len(fields)} fields", "give each field once")
    return TupleValue(tuple(values[f] for f in fields), cls)


# explicit signatures


def explicit_signature(
    lx: Lowering, dispatcher: object, names: dict[str, Value], node: ast.AST
) -> object | None:
    """The signature that a dispatcher was declared with, if it was."""
    if dispatcher is None or getattr(dispatcher, "_can_compile", True):
        return None
    signatures = [o.signature for o in getattr(dispatcher, "overloads", {}).values()]
    if len(signatures) == 1:
        return signatures[0]
    given = [v.type if isinstance(v, Sym | Const | Undef) else None for v in names.values()]
    exact = [s for s in signatures if [_ir_type(t) for t in s.args] == given]
    if len(exact) != 1:
        name = getattr(dispatcher, "__name__", "a function")
        lx.refuse(node, f"'{name}' has several explicit signatures", "leave the signatures out")
    return exact[0]


def _ir_type(t: object) -> Scalar | Array | None:
    if isinstance(t, nb_types.Boolean):
        return BOOL
    if isinstance(t, nb_types.Number):
        return Scalar(str(t))
    if isinstance(t, nb_types.Array):
        dtype = _ir_type(t.dtype)
        return Array(dtype, t.ndim, t.layout, not t.mutable) if isinstance(dtype, Scalar) else None
    return None


def cast_arguments(lx: Lowering, signature: object, names: dict[str, Value]) -> dict[str, Value]:
    """Arguments converted to the declared types."""
    types = getattr(signature, "args", ())
    out = dict(names)
    for (key, value), t in zip(names.items(), types, strict=False):
        out[key] = _declared(lx, value, t)
    return out


def cast_result(lx: Lowering, signature: object, value: Value, node: ast.AST) -> Value:
    """The returned value converted to the declared type."""
    with lx.at(node):
        return _declared(lx, value, getattr(signature, "return_type", None))


def _declared(lx: Lowering, value: Value, t: object) -> Value:
    if isinstance(value, TupleValue) and isinstance(t, nb_types.BaseTuple):
        parts = zip(value.items, getattr(t, "types", ()), strict=False)
        return TupleValue(tuple(_declared(lx, v, p) for v, p in parts), value.cls)
    dtype = _ir_type(t)
    if isinstance(dtype, Scalar) and isinstance(value, Sym | Const) and isinstance(value.type, Scalar):
        if value.type == dtype and isinstance(value, Sym):
            return value
        return lx.let("cast", value, type=dtype, fn="numpy.bool_" if dtype == BOOL else f"numpy.{dtype.name}")
    return value
