"""A gradient function as one primal, so that operators apply to operators.

f(x, s) -> y     ->   f_gradient(x, s): dx = zeros; y, saved = forward; ds = reverse(saved, dx, 1) -> y, dx, ds
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from adjit.errors import ArgumentError
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import Atom, Block, Function, Sym, const
from adjit.ir.structure import Leaf, NoneSpec, Spec, TupleSpec, leaves
from adjit.ir.types import Array, Scalar
from adjit.ir.visit import reachable, renamed, substitute
from adjit.transform.reverse import Wish, reverse


def gradient_of(function: Function, inputs: tuple[Sym, ...], head: int) -> Function:
    """The primal's results, then the gradient of one of them, by each input.

    Raises: ArgumentError if that result is no real scalar.
    """
    type = function.results[head].type
    if not isinstance(type, Scalar) or not type.is_float:
        raise ArgumentError(
            f"a gradient needs a function that returns a real scalar, {function.name}() does not",
            "return a scalar",
            function.span,
        )
    rev = reverse(function, Wish(inputs, (head,)))
    b = Builder(function.span)
    env: dict[Sym, Atom] = {}
    shadows: dict[Sym, Sym] = {}
    for s, p in zip(rev.shadows, (p for p in inputs if isinstance(p.type, Array)), strict=True):
        assert isinstance(p.type, Array)
        env[s] = shadows[p] = b.alloc_like(s.name, p, const_of(0.0, p.type.dtype))
    forward = substitute(rev.forward.body, {rev.limit: const(2**62)})
    env.update(zip(rev.saved, rev.passed, strict=True))
    (seed,) = rev.seeds
    env[seed] = const_of(1.0, seed.type)
    backward: Block = renamed(rev.backward.body, env)
    adjoints = iter(env.get(a, a) if isinstance(a, Sym) else a for a in rev.backward.results)
    gradients: list[Atom] = [shadows[p] if isinstance(p.type, Array) else next(adjoints) for p in inputs]
    whole = replace(
        function,
        name=f"{function.name}_gradient",
        body=(*b.block(), *forward, *backward),
        results=(*rev.forward.results[: len(function.results)], *gradients),
    )
    callees = {f.name: f for f in (*rev.forward.functions, *rev.backward.functions)}
    return replace(whole, functions=reachable(whole, callees.values()))


def gradient_function(
    function: Function, out: Spec, active: tuple[bool, ...], aux: bool
) -> tuple[Function, dict[int, Atom]]:
    """The primal and the gradient of its first result in one function.

    Returns: a function whose results are the primal's, and the gradient's atom for each active leaf.
    Raises: ArgumentError if the result is no real scalar.
    """
    head = out.items[0] if aux and isinstance(out, TupleSpec) else out
    if not isinstance(head, Leaf):
        raise ArgumentError(
            f"a gradient needs a function that returns a real scalar, {function.name}() does not",
            "return a scalar",
            function.span,
        )
    chosen = {k: p for k, (p, on) in enumerate(zip(function.params, active, strict=False)) if on}
    whole = gradient_of(function, tuple(chosen.values()), 0)
    count = len(function.results)
    gradients = dict(zip(chosen, whole.results[count:], strict=True))
    return replace(whole, results=whole.results[:count]), gradients


def tree_of(spec: Spec, leaf: Callable[[int, Leaf], Spec], at: int = 0) -> tuple[Spec, int]:
    """The structure with `leaf(number, leaf)` in place of its leaves, which are numbered from `at` on; the next one."""
    match spec:
        case Leaf():
            return leaf(at, spec), at + 1
        case TupleSpec():
            items: list[Spec] = []
            for item in spec.items:
                built, at = tree_of(item, leaf, at)
                items.append(built)
            return replace(spec, items=tuple(items)), at
        case _:
            return NoneSpec(), at


def by_places(places: tuple[tuple[Spec, int], ...], single: bool, leaf: Callable[[int, Leaf], Spec]) -> Spec:
    """The trees of some parts of the arguments, with `leaf` in place of their leaves."""
    trees = tuple(tree_of(spec, leaf, start)[0] for spec, start in places)
    return trees[0] if single else TupleSpec(trees)


def gradient_results(
    places: tuple[tuple[Spec, int], ...], single: bool, gradients: dict[int, Atom]
) -> tuple[tuple[Atom, ...], Spec]:
    """Flat results and structure of the gradients of some parts of the arguments."""
    flat: list[Atom] = []

    def leaf(at: int, spec: Leaf) -> Spec:
        if at not in gradients:
            return NoneSpec()
        flat.append(gradients[at])
        return Leaf(gradients[at].type, spec.weak)

    tree = by_places(places, single, leaf)
    return tuple(flat), tree


def out_of_gradient(
    kind: str, aux: bool, value: Spec, values: tuple[Atom, ...], tree: Spec, flat: tuple[Atom, ...]
) -> tuple[Spec, tuple[Atom, ...]]:
    """Structure and flat results of what `grad` or `value_and_grad` returns."""
    if kind == "value_and_grad":
        return TupleSpec((value, tree)), (*values, *flat)
    if aux:
        assert isinstance(value, TupleSpec)
        skip = sum(1 for _ in leaves(value.items[0]))
        return TupleSpec((tree, value.items[1])), (*flat, *values[skip:])
    return tree, flat
