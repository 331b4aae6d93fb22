"""Checks of first derivatives: reverse against forward, differences and the complex step; operators agree.

For arguments a, value v(a), final arrays a'(a) and random weights w, all in one scalar L = v + sum(w * a'):
`autodiff(Reverse)` seeded with w leaves dL/da in the shadows, which also shows that `Duplicated` accumulates (of an
array that is only read, w + dv/da); `autodiff(Forward)` along t gives (dv, da'); so <dL/da, t> = dv + <w, da'>, and
both equal a Richardson difference and the complex step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import adjit as aj
from adjit.testing.differences import richardson
from adjit.testing.placing import Placement, same_bits
from adjit.testing.programs.probe import Rejected
from adjit.testing.subject import CheckFailure, Subject, leaves, paired, require

SMOOTH = 1e-7
Leaves = dict[int, Any]


def check_first_order(subject: Subject, rng: np.random.Generator) -> Leaves:
    """Reverse, forward and independent slopes of L agree; gives the gradient of the value alone."""
    weights = subject.directions(rng, subject.arrays)
    tangents = subject.directions(rng, subject.wrt)
    gradient = reverse(subject, weights)
    terms = [np.sum(np.abs(gradient[k] * tangents[k])) for k in subject.wrt]
    along = float(sum(np.sum(paired(gradient[k], tangents[k])) for k in subject.wrt))
    scale = float(sum(terms))
    if subject.forward:
        ahead, size = forward(subject, tangents, weights)
        scale += size
        near = subject.tolerance(1e-10) * (1e-3 + scale)
        require(abs(along - ahead) <= near, "dot", f"reverse {along!r}, forward {ahead!r}")
    require_slope(subject, along, tangents, weights, scale, gradient)
    return reverse(subject, {k: np.zeros(np.shape(subject.values[k])) for k in subject.arrays})


def check_forward_alone(subject: Subject, rng: np.random.Generator) -> None:
    """Where reverse mode refuses a program, forward mode may take it, and is then right."""
    weights, tangents = subject.directions(rng, subject.arrays), subject.directions(rng, subject.wrt)
    ahead, scale = forward(subject, tangents, weights)
    require_slope(subject, ahead, tangents, weights, scale, None)


def require_slope(
    subject: Subject, along: float, tangents: Leaves, weights: Leaves, scale: float, gradient: Leaves | None
) -> None:
    """The derivative along the tangents is what differences and the complex step say."""
    detail = f"\n  gradient {gradient}"
    if subject.slope is not None:
        other = subject.slope(tangents, weights)
        near = subject.tolerance(1e-10) * (1e-3 + scale)
        if not abs(along - other) <= near:
            raise CheckFailure("complex step", f"adjit {along!r}, complex step {other!r}{detail}")
    estimate, error = difference(subject, tangents, weights)
    if error < SMOOTH * (1 + scale):
        near = subject.tolerance(1e-6) * (1 + scale) + 20 * error
        if not abs(along - estimate) <= near:
            raise CheckFailure(
                "differences", f"adjit {along!r}, differences {estimate!r} +- {error:.1e}{detail}"
            )


def reverse(subject: Subject, weights: Leaves, values: Sequence[Any] | None = None) -> Leaves:
    """`autodiff(Reverse)` with the weights in the shadows: adjoints of the active leaves.

    At the subject's own arguments it runs twice, and everything that must hold of a run is checked.
    """
    placed = [weights.get(k) for k in range(len(subject.values))]
    seeds = tuple(None if w is None else np.asarray(w, subject.values[k].dtype) for k, w in enumerate(placed))

    def once() -> Leaves:
        placement, shadows = subject.place(values), Placement(seeds, subject.layouts)
        annotated = annotated_arguments(subject, placement.args, shadows.args, {})
        with np.errstate(all="ignore"):
            result = aj.autodiff(aj.Reverse, subject.function, *annotated)
        if values is None:
            subject.same_run(result.value, placement, "autodiff(Reverse)")
            require(shadows.intact(), "canary", "autodiff(Reverse) wrote outside a shadow")
        left, given = shadows.snapshot(), flat_gradients(subject, result.gradients)
        return {k: left[k] if k in weights else given[k] for k in subject.wrt}

    first = once()
    if values is None:
        second = once()
        if not same_bits(list(first.values()), list(second.values())):
            raise CheckFailure("repeat", f"{first} then {second}")
        for k, gradient in first.items():
            if not np.isfinite(gradient).all():
                raise CheckFailure("not finite", f"gradient {k} is {gradient}")
    return first


def forward(subject: Subject, tangents: Leaves, weights: Leaves) -> tuple[float, float]:
    """Derivative of L along the tangents by `autodiff(Forward)`, and the sum of its absolute terms."""
    moving = tuple(
        np.asarray(tangents[k], subject.values[k].dtype) if k in subject.arrays else None
        for k in range(len(subject.values))
    )
    placement, shadows = subject.place(), Placement(moving, subject.layouts)
    numbers = {k: tangents[k] for k in subject.wrt if k not in subject.arrays}
    annotated = annotated_arguments(subject, placement.args, shadows.args, numbers)
    with np.errstate(all="ignore"):
        value, tangent = aj.autodiff(aj.Forward, subject.function, *annotated)
    subject.same_run(value, placement, "autodiff(Forward)")
    require(shadows.intact(), "canary", "autodiff(Forward) wrote outside a shadow")
    final = shadows.snapshot()
    terms = [paired(weights[k], final[k]) for k in subject.arrays]
    size = abs(float(tangent)) + float(sum(np.sum(np.abs(t)) for t in terms))
    return float(tangent) + float(sum(np.sum(t) for t in terms)), size


def difference(subject: Subject, tangents: Leaves, weights: Leaves) -> tuple[float, float]:
    """Derivative of L along the tangents by Richardson differences, and their own error estimate."""

    def line(t: float) -> float:
        args = subject.shifted(t, tangents)
        value = subject.line(args)
        return float(value) + sum(float(np.sum(paired(w, args[k]))) for k, w in weights.items())

    for step in (4e-3, 4e-4):
        try:
            return richardson(line, step)
        except Rejected:
            continue
    return 0.0, np.inf


def check_value_and_grad(subject: Subject, gradient: Leaves) -> None:
    """`value_and_grad` agrees with `autodiff`, and with itself; `grad`, which computes no value, agrees with it."""
    function = aj.value_and_grad(subject.function, wrt=subject.moving())
    placement = subject.place()
    value, gradients = function(*subject.call_args(placement.args, subject.function))
    subject.same_run(value, placement, "value_and_grad")
    require_gradients(subject, gradients, gradient, "value_and_grad")
    first, others = subject.by_keyword(subject.call_args(subject.place().args, subject.function))
    again = function(*first, **others)
    if not same_bits(again[1], gradients):
        raise CheckFailure("repeat", f"value_and_grad {gradients} then {again[1]}")
    placement = subject.place()
    alone = aj.grad(subject.function, wrt=subject.moving())
    found = alone(*subject.call_args(placement.args, subject.function))
    subject.same_run(subject.plain()[0], placement, "grad")
    if not same_bits(found, gradients):
        raise CheckFailure("operators differ", f"grad {found}, value_and_grad {gradients}")


def require_gradients(subject: Subject, gradients: Any, right: Leaves, who: str) -> None:
    """A tuple with one gradient per moving parameter holds the right leaves, and None beside them."""
    moving = subject.moving()
    for (_, _, flat), tree in zip(
        (p for p in subject.parameters() if p[0] in moving), gradients, strict=True
    ):
        for k, g in zip(flat, leaves(tree), strict=True):
            if k in subject.wrt:
                if not subject.close(g, right[k]):
                    raise CheckFailure("operators differ", f"leaf {k}: {who} {g}, autodiff {right[k]}")
            else:
                require(g is None, "operators differ", f"leaf {k} carries no derivative, {who} says {g}")


def check_vjp(subject: Subject, gradient: Leaves) -> None:
    """A pullback agrees with `autodiff`, whatever becomes of the arguments, and with itself."""
    placement = subject.place()
    value, pullback = aj.vjp(subject.function, *subject.call_args(placement.args, subject.function))
    subject.same_run(value, placement, "vjp")
    for argument in placement.args:
        if isinstance(argument, np.ndarray):
            argument[...] = 3
    cotangents = pullback(1.0)
    moving = subject.moving()
    require_gradients(subject, tuple(cotangents[k] for k in moving), gradient, "pullback")
    require(same_bits(pullback(1.0), cotangents), "repeat", "a pullback called twice gives other bits")
    quiet = all(leaf is None for k, ct in enumerate(cotangents) if k not in moving for leaf in leaves(ct))
    require(quiet, "operators differ", f"cotangents of integers are not None: {cotangents}")


def annotated_arguments(
    subject: Subject, args: Sequence[Any], shadows: Sequence[Any], numbers: Leaves
) -> list[Any]:
    """The annotated arguments of `autodiff`; numbers in `numbers` are Duplicated, other active ones Active."""
    out: list[Any] = []
    whole = subject.call_args(args, subject.function)
    given = {k: shadows[k] if k in subject.arrays else numbers.get(k) for k in range(len(args))}
    trees = subject.call_args([given[k] for k in range(len(args))], subject.function)
    for (_, _, flat), argument, shadow in zip(subject.parameters(), whole, trees, strict=True):
        active = [k for k in flat if k in subject.wrt]
        if not active:
            out.append(aj.Const(argument))
        elif all(given[k] is None for k in active):
            out.append(aj.Active(argument))
        else:
            out.append(aj.Duplicated(argument, shadow))
    return out


def flat_gradients(subject: Subject, gradients: Sequence[Any]) -> Leaves:
    """Gradients of arguments, as `autodiff` gives them, by the numbers of their leaves."""
    found: Leaves = {}
    for (_, _, flat), tree in zip(subject.parameters(), gradients, strict=True):
        parts = leaves(tree) if isinstance(tree, tuple) else [tree] * len(flat)
        found.update(zip(flat, parts, strict=True))
    return found
