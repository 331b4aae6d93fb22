"""Launches of kernels as nests of parallel loops, and `index` in their bodies.

k(u, c, ndrange=(n, m))   ->   for i in prange(n): for j in prange(m): body(u, c), where index(2) is (i, j)
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from adjit.errors import DeviceError
from adjit.frontend import expressions, inline
from adjit.frontend.context import Lowering
from adjit.frontend.kernel_function import LAUNCH, KernelFunction
from adjit.frontend.plain import launches
from adjit.frontend.values import NONE, Static, TupleValue, Value, is_scalar, same_static
from adjit.ir.core import ZERO, Atom, Const, If
from adjit.ir.types import BOOL

MOST = 3
"""Axes that a launch can have."""

_NESTS = (launches.launch_1, launches.launch_2, launches.launch_3)


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """What each work item of a launch runs."""

    kernel: KernelFunction
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


def launch(
    lx: Lowering,
    kernel: KernelFunction,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST,
    checked: bool = False,
) -> Value:
    """`kernel(*args, **kwargs, ndrange=...)`. checked: it is known that no extent is negative."""
    name = kernel.body.__name__
    if lx.items:
        inside = lx.items[-1][0]
        remedy = f"call the function inside: {name}.body(...), or launch it after '{inside}' has ended"
        lx.refuse(node, f"the kernel '{name}' is launched inside of the kernel '{inside}'", remedy)
    if lx.frame.frozen is not None:
        remedy = "leave off njit: a function that launches kernels is plain, and aj.jit compiles it with them"
        lx.refuse(node, f"the kernel '{name}' is launched by '{lx.frame.name}', which is under njit", remedy)
    given = {k: v for k, v in kwargs.items() if k not in LAUNCH}
    extents = _extents(lx, name, kwargs.get("ndrange"), node)
    if not same_static(kwargs.get("stream", NONE), NONE):
        raise DeviceError(
            f"the kernel '{name}' is launched on a stream, and its arrays are NumPy's",
            "leave it out: on the CPU there are no streams",
            lx.span(node),
        )
    if not checked:
        for n in extents:
            _check_extent(lx, name, n, node)
    item = Static(Item(kernel, tuple(args), given))
    return inline.call_library(lx, _NESTS[len(extents) - 1], [*extents, item], node)


def _extents(lx: Lowering, name: str, ndrange: Value | None, node: ast.AST) -> list[Atom]:
    if ndrange is None:
        lx.refuse(
            node, f"the kernel '{name}' is called without ndrange", f"launch it: {name}(..., ndrange=n)"
        )
    items = ndrange.items if isinstance(ndrange, TupleValue) else (ndrange,)
    remedy = "give an int, or a tuple of one to three ints"
    if not 1 <= len(items) <= MOST:
        lx.refuse(node, f"the ndrange of the kernel '{name}' has {len(items)} extents", remedy)
    found: list[Atom] = []
    for item in items:
        if not is_scalar(item):
            lx.refuse(node, f"the ndrange of the kernel '{name}' holds {lx.kind(item)}", remedy)
        n = expressions.number(lx, item, node)
        if n.type == BOOL or (isinstance(n, Const) and type(n.value) is not int):
            what = repr(n.value) if isinstance(n, Const) else "a bool"
            lx.refuse(node, f"the ndrange of the kernel '{name}' holds {what}", remedy)
        if lx.integers.negative(n):
            lx.refuse(node, f"the ndrange of the kernel '{name}' is negative", "give extents from 0 on")
        found.append(n)
    return found


def _check_extent(lx: Lowering, name: str, n: Atom, node: ast.AST) -> None:
    """Raise ValueError where an extent is negative, unless it is known that it is not."""
    if lx.integers.negative(n) is False:
        return
    message = f"the ndrange of the kernel '{name}' is negative"
    with lx.at(node):
        cond = lx.let("lt", n, ZERO, type=BOOL, name="negative")
    lx.builder.append(If(cond, (lx.failure(message, node),), (), span=lx.span(node)))


def run_item(lx: Lowering, item: Item, index: list[Value], node: ast.AST) -> Value:
    """The kernel's body at one index."""
    body = item.kernel.body
    lx.items.append((body.__name__, tuple(index)))
    try:
        value = inline.call_function(lx, body, None, item.args, item.kwargs, node)
    finally:
        lx.items.pop()
    if not same_static(value, NONE):
        remedy = "store it in an array that is an argument; a kernel ends with a bare 'return'"
        lx.refuse(node, f"the kernel '{body.__name__}' returns {lx.kind(value)}", remedy)
    return NONE


def index(lx: Lowering, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """`index()`: the work item's place, an int; `index(n)`: a tuple of n."""
    if not lx.items:
        remedy = "call it in a function with @aj.kernel, or in one that a kernel calls"
        lx.refuse(node, "'aj.index' outside of a kernel", remedy)
    name, place = lx.items[-1]
    given = [*args, *kwargs.values()]
    if len(given) > 1 or any(k != "n" for k in kwargs):
        lx.refuse(node, "'aj.index' takes one argument", "write aj.index(), aj.index(2) or aj.index(3)")
    rank = given[0] if given else None
    if rank is not None and not (isinstance(rank, Const) and rank.value in (1, 2, 3)):
        lx.refuse(node, "'aj.index' of something else than 1, 2 or 3", "write aj.index(2)")
    wanted = 1 if rank is None else rank.integer
    if wanted != len(place):
        asked = "aj.index()" if rank is None else f"aj.index({wanted})"
        has = f"{len(place)} extent{'s' if len(place) > 1 else ''}"
        lx.refuse(
            node,
            f"the kernel '{name}' asks for {asked}, and its ndrange has {has}",
            f"launch it with ndrange={_example(wanted)}, or take {_asking(len(place))}",
        )
    return place[0] if rank is None else TupleValue(place)


def _example(rank: int) -> str:
    return "n" if rank == 1 else f"({', '.join('nmk'[:rank])})"


def _asking(rank: int) -> str:
    return "i = aj.index()" if rank == 1 else f"{', '.join('ijk'[:rank])} = aj.index({rank})"
