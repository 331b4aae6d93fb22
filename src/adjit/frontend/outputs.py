"""The argument `out` of a ufunc: its values are stored in an array that is there, and the call's value is that array.

np.add(a, b, out=c)      ->    at once: for i in range(n): c[i] = a[i] + b[i]

As in NumPy, the values are computed as if c were another array than a and b, in the type that a and b have together,
and converted as they are stored.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from adjit.frontend import calls, elements, stores
from adjit.frontend.context import Lowering
from adjit.frontend.values import NONE, Static, TupleValue, Value, is_array, same_static
from adjit.ir.core import Sym
from adjit.ir.types import BOOL, Scalar


def is_output(function: Value, position: int) -> bool:
    """Whether the argument at this position is an array that the function writes."""
    obj = function.value if isinstance(function, Static) else None
    return isinstance(obj, np.ufunc) and position >= obj.nin


def into(lx: Lowering, f: np.ufunc, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`f(*operands, out=array)`, also with the array after the operands."""
    name = f"np.{f.__name__}"
    more, out = list(args[f.nin :]), kwargs.get("out", NONE)
    rest = sorted(kwargs.keys() - {"out"})
    if rest:
        remedy = "take np.where, and store what it gives" if rest == ["where"] else "leave it out"
        lx.refuse(node, f"the argument '{rest[0]}' of '{name}' is not supported", remedy)
    if len(more) > 1 or (more and "out" in kwargs):
        lx.refuse(
            node, f"'{name}' is given {len(more) + ('out' in kwargs)} arrays for its values", "give one"
        )
    out = more[0] if more else out
    if isinstance(out, TupleValue) and len(out.items) == 1:
        out = out.items[0]
    operands = [elements.apart(a) for a in args[: f.nin]]
    return stored(lx, calls.call(lx, Static(f), operands, {}, node), out, name, node)


def stored(lx: Lowering, value: Value, out: Value, name: str, node: ast.AST) -> Value:
    """The value; where there is an array `out`, that array, after the value is stored in it."""
    if same_static(out, NONE):
        return value
    if not isinstance(out, Sym) or not is_array(out) or out in lx.lists:
        what = lx.kind(out)
        lx.refuse(node, f"'{name}' with {what} as 'out'", "pass an array")
    target = elements.whole(lx, out)
    if elements.ndim_of(value) > len(target.shape):
        lx.refuse(
            node, f"{lx.kind(value)} is stored in {lx.kind(out)} by 'out'", "it must not have more axes"
        )
    _refuse_cast(lx, name, elements.dtype_of(value), target.dtype, node)
    stores.assign(lx, target, value, node)
    return out


def _refuse_cast(lx: Lowering, name: str, given: Scalar, into: Scalar, node: ast.AST) -> None:
    """NumPy converts within a kind: floats to shorter floats, but neither to integers (complex ones Numba refuses)."""
    if not into.known or into.differentiable or given in (into, BOOL):
        return
    what = f"numbers of {given}" if given.known else "numbers of a type that is not known yet"
    lx.refuse(
        node, f"'{name}' stores {what} in an array of {into}", "store them by out[...] = values.astype(...)"
    )
