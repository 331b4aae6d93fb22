"""What refusals say where the cause is not where the refusal is: near names, rows taken for elements, wrappers."""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Iterable
from types import FunctionType

import numpy as np
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc

from adjit.frontend.values import RangeValue, TupleValue, Value, is_array, kind

Words = tuple[str, str]
"""A reason and a remedy."""


def operands(node: ast.AST) -> list[ast.expr]:
    """The operands of a binary operation, as they are written."""
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.AugAssign():
            return [node.target, node.value]
        case _:
            return []


def which(nodes: list[ast.expr], value: Value) -> str:
    """Which expression is a whole array; it may look like an element, `x[i]` of an `x` with more axes."""
    if not nodes or not is_array(value):
        return ""
    more = ", as its array has more axes than it has indices" if isinstance(nodes[0], ast.Subscript) else ""
    return f": '{ast.unparse(nodes[0])}' is {kind(value)}{more}"


def undefined(name: str, known: Iterable[str]) -> Words:
    """A name that nothing binds."""
    near = difflib.get_close_matches(name, [k for k in known if k != name], 1, 0.75)
    remedy = "import it, assign it before the call, or make it a parameter"
    return f"the name '{name}' is not defined", f"did you mean '{near[0]}'? Else {remedy}" if near else remedy


def tuple_attribute(owner: TupleValue, name: str, node: ast.AST) -> Words:
    """An attribute that a tuple does not have, or not here; arrays may."""
    what = ast.unparse(node.value) if isinstance(node, ast.Attribute) else "this"
    if name in ("_replace", "_asdict", "count", "index"):
        remedy = "build the tuple anew" if name.startswith("_") else "compare its items"
        return f"the tuple method '{name}' is not supported", remedy
    if hasattr(owner.cls, name):
        return f"the method '{name}' of {kind(owner)} is not supported", "make it a function"
    if hasattr(np.ndarray, name):
        remedy = "pass an array, such as np.asarray(x), or use len(x) and its items"
        return f"'{what}' is a tuple, which has no '{name}': arrays have", remedy
    fields = getattr(owner.cls, "_fields", ())
    remedy = f"its fields are: {', '.join(fields)}" if fields else "index it"
    return f"'{what}' is {kind(owner)}, which has no attribute '{name}'", remedy


FIXED = "allocate an array with np.empty, fill it in a loop and count its items"
_SHORTER = "its length is fixed: take a part of it (items[:-1]), or count the items that are in use"
_METHODS = {
    **dict.fromkeys(("append", "extend", "insert"), FIXED),
    **dict.fromkeys(("pop", "remove", "clear"), _SHORTER),
    "sort": "sort an array of it: np.sort(np.array(items))",
    "reverse": "take items[::-1]",
    "index": "write the loop",
    "count": "write the loop",
}


def list_attribute(name: str) -> Words:
    """An attribute of a list, which has no method here but `copy`."""
    if name in _METHODS:
        return f"the list method '{name}' is not supported", _METHODS[name]
    if hasattr(np.ndarray, name):
        return f"a list has no attribute '{name}': arrays have", "make it an array: np.array(items)"
    near = difflib.get_close_matches(name, dir(list), 1, 0.75)
    return f"a list has no attribute '{name}'", f"did you mean '{near[0]}'?" if near else "index it"


def array_attribute(name: str) -> Words | None:
    """An attribute that no array has, or one that is no method; None for methods."""
    found = getattr(np.ndarray, name, None)
    if found is None:
        near = difflib.get_close_matches(name, dir(np.ndarray), 1, 0.75)
        remedy = f"did you mean '{near[0]}'?" if near else "fields of one's own need a NamedTuple"
        remedy = "write x.conj().T" if name == "H" else remedy
        return f"an array has no attribute '{name}'", remedy
    if not callable(found):
        return f"the attribute '{name}' of an array is not supported", "use its shape, ndim, size, dtype or T"
    return None


_RENAMED = {
    "trapz": "np.trapezoid", "in1d": "np.isin", "row_stack": "np.vstack", "product": "np.prod",
    "cumproduct": "np.cumprod", "alltrue": "np.all", "sometrue": "np.any", "float_": "np.float64",
    "complex_": "np.complex128", "Inf": "np.inf", "Infinity": "np.inf", "NaN": "np.nan", "float": "np.float64",
    "int": "np.int64", "bool8": "np.bool_",
}  # fmt: skip
"""What older NumPy had under another name."""


def near(owner: object, name: str) -> str:
    """What a module's attribute that is not there may have been meant to be."""
    if owner is np and name in _RENAMED:
        return f"NumPy 2 calls it {_RENAMED[name]}"
    found = difflib.get_close_matches(name, dir(owner), 1, 0.75)
    return f"did you mean '{found[0]}'?" if found else "this version of the library may lack it"


def number_of(node: ast.AST) -> str:
    """What to write where a whole array stands for a number: a test, a chain of comparisons, anything else."""
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return "write (a < x) & (x < b) for each element, or reduce it: np.all(x < b)"
    if isinstance(node, ast.Compare | ast.BoolOp):
        return "write '&' and '|' for each element, or reduce it: np.all(x > 0), np.any(x > 0)"
    return "index it, or reduce it: np.sum(x)"


def in_place_of_range(value: Value, remedy: str) -> str:
    """What to write where a range is anything but run over; `remedy` for other values."""
    if not isinstance(value, RangeValue):
        return remedy
    return "keep its bounds in names, and use these: start + k * step is its k-th number, len(r) how many there are"


def outside(k: complex, count: int, node: ast.AST) -> Words:
    """A constant index outside of a tuple, which may be the shape of an array with too few axes."""
    owner = node.value if isinstance(node, ast.Subscript) else None
    if isinstance(owner, ast.Attribute) and owner.attr == "shape":
        remedy = "pass a number, x.item(), or an array" if count == 0 else "pass an array of more dimensions"
        array = ast.unparse(owner.value)
        return f"'{array}' is an array of {count} dimensions: it has no shape[{k}]", remedy
    return f"the index {k} is outside of a tuple of {count}", "use an index inside of it"


def in_place_of(obj: object, node: ast.AST, name: str) -> str:
    """What to write in place of a call that has no rule."""
    if isinstance(obj, DUFunc | GUFunc):
        made = "guvectorize" if isinstance(obj, GUFunc) else "vectorize"
        return f"decorate the function with njit instead of {made}, and call it for each element"
    if isinstance(getattr(obj, "__wrapped__", None), FunctionType) and not library(obj):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else name
        return f"call the function inside: {called}.__wrapped__"
    if name.startswith("adjit."):
        return (
            "inside of a function operators that give derivatives work (aj.grad, aj.jvp, aj.vjp, aj.jacobian, "
            "aj.hessian); call others outside of it"
        )
    if name in INSTEAD:
        return INSTEAD[name]
    if not hasattr(obj, "__name__"):
        return f"call a function of the numbers and arrays that {type(obj).__name__}.__call__ reads"
    if name.startswith("itertools."):
        return "write the loops"
    if name.startswith("operator."):
        return "write the operator, or a lambda"
    return "write it in plain Python, or give a rule: wrap the call in a function with @aj.custom_vjp"


def in_place_of_class(cls: type) -> str:
    """What to write in place of an object of a class."""
    home = (cls.__module__ or "").partition(".")[0]
    if cls is map or cls is filter:
        return "write the loop, or a list comprehension: [f(v) for v in x]"
    if home == "itertools":
        return "write the loops"
    if home == "numba" and cls.__name__ in ("List", "Dict"):
        return "use an array"
    return "use a NamedTuple, tuples or arrays"


def of_container(value: object) -> str:
    """What to write in place of a container from outside that is indexed."""
    if isinstance(value, dict):
        return "take what is needed out of it before the call, as names of their own or a NamedTuple"
    return "make it a tuple or a NumPy array" if isinstance(value, list) else "use a tuple or a NumPy array"


def home(obj: object, name: str) -> str:
    """The module in which users find an object of that name: the outermost that has it."""
    own = getattr(obj, "__module__", None) or ""
    if isinstance(obj, np.ufunc):
        own = next((m for m in _UFUNCS if getattr(sys.modules.get(m), name, None) is obj), own)
    if own.startswith("adjit."):
        return "adjit"
    parts = own.split(".")
    outer = [".".join(parts[:k]) for k in range(1, len(parts))]
    found = (m for m in (*outer, own.removeprefix("_")) if getattr(sys.modules.get(m), name, None) is obj)
    return next(found, own)


_UFUNCS = ("numpy", "scipy.special")
"""Where ufuncs may be from, which do not say it."""


def library(obj: object) -> bool:
    """Functions of libraries whose Python source is not meant to be differentiated."""
    home = (getattr(obj, "__module__", None) or "").partition(".")[0]
    return home in ("numpy", "scipy", "numba", "adjit", "math", "random", "builtins")


STENCIL = "write the stencil as a loop, or with slices: x[:-2] + x[2:]"
INSTEAD = {
    "scipy.special.erf": "call math.erf of each element",
    "scipy.special.erfc": "call math.erfc of each element",
    "scipy.special.gamma": "call math.gamma of each element",
    "scipy.special.gammaln": "call math.lgamma of each element",
    "scipy.special.loggamma": "call math.lgamma of each element",
    "scipy.special.betaln": "write math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)",
    "scipy.special.beta": "write math.gamma(a) * math.gamma(b) / math.gamma(a + b)",
    "scipy.special.ndtr": "write 0.5 * math.erfc(-x / math.sqrt(2.0))",
    "scipy.special.expit": "write 1.0 / (1.0 + np.exp(-x))",
    "scipy.special.logit": "write np.log(x / (1.0 - x))",
    "scipy.special.log_expit": "write -np.logaddexp(0.0, -x)",
    "scipy.special.exp10": "write 10.0 ** x",
    "scipy.special.exp2": "call np.exp2",
    "scipy.special.expm1": "call np.expm1",
    "scipy.special.log1p": "call np.log1p",
    "scipy.special.cbrt": "call np.cbrt",
    "scipy.special.xlogy": "write x * np.log(y), and 0.0 where x is 0",
    "scipy.special.entr": "write -x * np.log(x), and 0.0 where x is 0",
    "scipy.special.rel_entr": "write x * np.log(x / y), and 0.0 where x is 0",
    "scipy.special.logsumexp": "write m + np.log(np.sum(np.exp(x - m))), of m = np.max(x)",
    "scipy.special.softmax": "write np.exp(x - m) / np.sum(np.exp(x - m)), of m = np.max(x)",
    "sorted": "sort an array: np.sort(x)",
    "math.prod": "call np.prod of an array",
    "math.fsum": "call np.sum of an array",
    "math.dist": "write math.sqrt(np.sum((p - q) ** 2))",
    "functools.reduce": "write the loop",
    "numpy.asfortranarray": "leave it out: values do not depend on the layout",
    "numpy.apply_along_axis": "write the loop over the other axes",
    "numpy.vectorize": "write the loop",
    "numpy.piecewise": "take np.where or np.select",
    "numpy.choose": "take np.select, or index the stacked arrays",
    "numpy.compress": "take a[condition]",
    "numpy.place": "take a[mask] = values",
    "numpy.histogram2d": "take np.digitize and np.add.at",
    "numpy.histogramdd": "take np.digitize and np.add.at",
    "numpy.polyfit": "solve the least squares of np.vander(x, n)",
    "numpy.frombuffer": "pass the array that the buffer holds",
    "numpy.fromiter": "fill an array in a loop",
    "numpy.isnat": "dates have no derivative: leave it out",
    "numpy.poly": "multiply (x - root) in a loop",
    "numpy.linalg.eig": "take np.linalg.eigh of a symmetric matrix, or give a rule: @aj.custom_vjp",
    "numpy.linalg.eigvals": "take np.linalg.eigvalsh of a symmetric matrix, or give a rule by @aj.custom_vjp",
    "numpy.lib.stride_tricks.as_strided": "index the array",
    "numpy.polynomial.polyutils.trimseq": "take np.trim_zeros(c, 'b')",
    "numpy.polynomial.polyutils.as_series": "take np.atleast_1d(c) * 1.0",
    "numpy.roots": "find the roots outside, or by Newton steps in a loop",
}
"""What to write for functions of NumPy that are refused."""
