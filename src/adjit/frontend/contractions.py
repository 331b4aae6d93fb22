"""Sums of products over named axes: `np.einsum`, `np.tensordot`, `np.vecdot`.

np.einsum("ij,kj->ik", a, b)   ->   out = zeros(n, m); for i: for k: for j: out[i, k] += a[i, j] * b[k, j]

A product of two matrices, or of a matrix and a vector, is the library's. Others are one nest of loops, as NumPy's is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from string import ascii_letters

import numpy as np

from adjit.frontend import broadcasting, elements, folds, lanes, matrices
from adjit.frontend.arguments import Handler, bound
from adjit.frontend.context import Lowering
from adjit.frontend.values import Elements, Place, Static, TupleValue, Value
from adjit.ir.core import ZERO, Atom, const
from adjit.ir.types import INT64

Given = dict[str, Value]
_PRODUCTS = ((("a", "b"), ("b", "c")), (("a", "b"), ("b",)), (("a",), ("a", "b")))
"""Axes of two factors whose product is `a @ b`."""


def einsum(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.einsum(subscripts, *operands)`, the subscripts a literal; without `->` the axes that stand once stay."""
    lanes.refuse_given(lx, "einsum", kwargs, tuple(kwargs), node)
    text = args[0].value if args and isinstance(args[0], Static) else None
    if not isinstance(text, str):
        lx.refuse(node, "'np.einsum' with subscripts that are not a literal", 'write them: "ij,jk->ik"')
    left, arrow, output = text.replace(" ", "").partition("->")
    inputs = left.split(",")
    operands = args[1:]
    ranks = [elements.ndim_of(o) for o in operands]
    inputs, dots = _lettered(inputs, ranks)
    left = ",".join(inputs)
    if not arrow:
        output = "..." + "".join(sorted(c for c in set(left) - {",", *dots} if left.count(c) == 1))
    output = output.replace("...", dots)
    if not (left.replace(",", "") + output).isalpha() and (left.replace(",", "") + output):
        lx.refuse(node, f"'np.einsum' with the subscripts {text!r}", "give each axis a letter, or '...'")
    if ranks != [len(i) for i in inputs] or len(set(output)) < len(output) or set(output) - set(left):
        lx.refuse(
            node,
            f"'np.einsum' with the subscripts {text!r} of arrays of {ranks} dimensions",
            "give each array a group of as many letters as it has axes, and name only those behind the arrow",
        )
    return _contracted(lx, "np.einsum", operands, inputs, output, node)


def _lettered(inputs: Sequence[str], ranks: Sequence[int]) -> tuple[list[str], str]:
    """The subscripts with letters for '...', which stands for the axes that have none: the last ones of them all."""
    spare = [c for c in reversed(ascii_letters) if not any(c in i for i in inputs)]
    counts = [max(n - len(i) + 3, 0) for i, n in zip(inputs, ranks, strict=False) if "..." in i]
    dots = "".join(spare[: max(counts, default=0)])
    found: list[str] = []
    for k, i in enumerate(inputs):
        own = max(ranks[k] - len(i) + 3, 0) if k < len(ranks) else 0
        found.append(i.replace("...", dots[len(dots) - own :], 1))
    return found, dots


def tensordot(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.tensordot(a, b, axes=2)`; the axes are constants."""
    given = bound(lx, "np.tensordot", ("a", "b", "axes"), 2)(args, kwargs, node)
    ranks = [elements.ndim_of(given[k]) for k in ("a", "b")]
    axes = given.get("axes", const(2))
    if isinstance(axes, TupleValue) and len(axes.items) == 2:
        pairs = [i.items if isinstance(i, TupleValue) else (i,) for i in axes.items]
        sides = [[lanes.axis_in(lx, a, n, node) for a in p] for p, n in zip(pairs, ranks, strict=True)]
    else:
        count = lanes.constant(lx, axes, "'axes' of 'np.tensordot'", node)
        sides = [list(range(ranks[0] - count, ranks[0])), list(range(count))]
    if len(sides[0]) != len(sides[1]) or any(
        not 0 <= a < n for s, n in zip(sides, ranks, strict=True) for a in s
    ):
        lx.refuse(
            node, "'np.tensordot' over other axes of one array than of the other", "give as many of each"
        )
    first = [f"a{k}" for k in range(ranks[0])]
    second = [f"b{k}" for k in range(ranks[1])]
    for p, q in zip(*sides, strict=True):
        second[q] = first[p]
    output = [*(a for a in first if a not in second), *(b for b in second if b not in first)]
    return _contracted(lx, "np.tensordot", [given["a"], given["b"]], [first, second], output, node)


def vecdot(lx: Lowering, args: list[Value], kwargs: Given, node: ast.AST) -> Value:
    """`np.vecdot(x1, x2)`: products along the last axis, of the conjugate of the first."""
    given = bound(lx, "np.vecdot", ("x1", "x2"), 2)(args, kwargs, node)
    first, second = (given[k] for k in ("x1", "x2"))
    if not (elements.ndim_of(first) and elements.ndim_of(second)):
        lx.refuse(node, "'np.vecdot' of a number", "write '*'")
    if elements.dtype_of(first).is_complex or not elements.dtype_of(first).known:
        first = folds.of_each(lx, np.conjugate, first, node)
    n, m = (elements.elements_of(lx, v, node).shape[-1] for v in (first, second))
    broadcasting.check_equal(lx, n, m, "vecdot: the last axes differ", node)
    products = elements.apply(lx, "mul", (first, second), node, elements.UFUNCS["mul"])
    return folds.total(lx, products, frozenset((len(products.shape) - 1,)), node, widens=False)


def _contracted(
    lx: Lowering,
    name: str,
    operands: Sequence[Value],
    inputs: Sequence[Sequence[str]],
    output: Sequence[str],
    node: ast.AST,
) -> Value:
    """The sum over the axes that are not in the output, each axis called by a name."""
    for o in operands:
        dtype = elements.dtype_of(o)
        if dtype.known and not dtype.differentiable and dtype != INT64:
            lx.refuse(node, f"'{name}' of an array of {dtype.name}", "convert it: .astype(np.int64)")
    if _is_product(inputs, output):
        return matrices.matmul(lx, operands[0], operands[1], node)
    with lx.at(node):
        sources = [lanes.readable(lx, o, node) for o in operands]
        extents = _extents(lx, sources, inputs, node)
        names = [*output, *(n for n in extents if n not in output)]
        wide = [_spread(lx, s, own, names, extents) for s, own in zip(sources, inputs, strict=True)]
        total = wide[0]
        for factor in wide[1:]:
            total = elements.apply(lx, "mul", (total, factor), node, elements.UFUNCS["mul"])
        if len(names) > len(output):
            return folds.total(lx, total, frozenset(range(len(output), len(names))), node, widens=False)
        seen = sources[0].part if len(sources) == 1 else None
        return Elements(total.shape, total.at, total.dtype, shows=None if seen is None else (seen[0], name))


def _is_product(inputs: Sequence[Sequence[str]], output: Sequence[str]) -> bool:
    """Whether the library has the product, of the arrays as they are."""
    letters: dict[str, str] = {}
    for own in inputs:
        for n in own:
            letters.setdefault(n, "abcdefgh"[min(len(letters), 7)])
    shape = tuple(tuple(letters[n] for n in own) for own in inputs)
    kept = tuple(
        n for n in dict.fromkeys(c for own in shape for c in own) if sum(own.count(n) for own in shape) == 1
    )
    return shape in _PRODUCTS and tuple(letters[n] for n in output) == kept


def _extents(
    lx: Lowering, sources: Sequence[Elements], inputs: Sequence[Sequence[str]], node: ast.AST
) -> dict[str, Atom]:
    """The extent of each axis; one that is known to be one is stretched, others must be equal."""
    found: dict[str, Atom] = {}
    for source, own in zip(sources, inputs, strict=True):
        for n, extent in zip(own, source.shape, strict=True):
            known = found.setdefault(n, extent)
            if lx.integers.same(known, extent) or lx.is_one(extent):
                continue
            if lx.is_one(known):
                found[n] = extent
            else:
                if lx.integers.at_most_one(extent) or lx.integers.at_most_one(known):
                    reason = "a slice of at most one element beside a longer axis of a contraction"
                    lx.refuse(node, reason, "index it by a number, or by None: a[i][None]")
                broadcasting.check_equal(lx, extent, known, "einsum: extents of one axis differ", node)
    return found


def _spread(
    lx: Lowering, source: Elements, own: Sequence[str], names: Sequence[str], extents: dict[str, Atom]
) -> Elements:
    """The operand over all axes."""
    one = [
        not lx.integers.same(e, extents[n]) and lx.is_one(e) for n, e in zip(own, source.shape, strict=True)
    ]

    def at(places: tuple[Place, ...]) -> Atom:
        by = dict(zip(names, places, strict=True))
        return source.at(tuple(Place(ZERO) if o else by[n] for n, o in zip(own, one, strict=True)))

    part = source.part  # says that elements are not computed anew: they lie in memory
    return Elements(tuple(extents[n] for n in names), at, source.dtype, part)


HANDLERS: dict[object, Handler] = {np.einsum: einsum, np.tensordot: tensordot, np.vecdot: vecdot}
LAZY = tuple(HANDLERS)
LISTS = (np.tensordot,)
