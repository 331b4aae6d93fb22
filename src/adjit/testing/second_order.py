"""Checks of second derivatives: forward over reverse against differences of the gradient, and symmetry.

`jvp` of `value_and_grad` along t gives the value, the gradient g, <g, t> and H t in one program. Then for random u,
<u, H t> is the difference of <u, g(a + s t)> in s, and equals <t, H u>.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import adjit as aj
from adjit.testing.differences import richardson
from adjit.testing.first_order import SMOOTH, Leaves, require_gradients, reverse
from adjit.testing.programs.probe import Rejected
from adjit.testing.subject import CheckFailure, Subject, leaves, paired, require


def check_second_order(subject: Subject, gradient: Leaves, rng: np.random.Generator) -> None:
    """Everything that the module says, for random directions."""
    t, u = (subject.directions(rng, subject.wrt) for _ in range(2))
    slope, curved = hessian_along(subject, t, gradient)
    along = [paired(gradient[k], t[k]) for k in subject.wrt]
    scale = float(sum(np.sum(np.abs(a)) for a in along))
    near = subject.tolerance(1e-10) * (1e-3 + scale)
    total = float(sum(np.sum(a) for a in along))
    require(abs(slope - total) <= near, "second order", f"tangent of the value {slope!r}, gradient {total!r}")
    _, other = hessian_along(subject, u, gradient)
    left = [paired(u[k], curved[k]) for k in subject.wrt]
    right = [paired(t[k], other[k]) for k in subject.wrt]
    got, transposed = (float(sum(np.sum(x) for x in terms)) for terms in (left, right))
    scale = float(sum(np.sum(np.abs(x)) for x in (*left, *right)))
    report = f"<u, H t> {got!r}, <t, H u> {transposed!r}"
    require(abs(got - transposed) <= subject.tolerance(1e-9) * (1e-2 + scale), "symmetry", report)
    estimate, error = _difference(subject, t, u)
    if error < SMOOTH * (1 + scale):
        near = subject.tolerance(1e-6) * (1 + scale) + 20 * error
        report += f", differences {estimate!r} +- {error:.1e}"
        require(abs(got - estimate) <= near, "second order", report)


def hessian_along(subject: Subject, t: Leaves, gradient: Leaves) -> tuple[float, Leaves]:
    """Tangents of the value and of the gradient along t; the value and the gradient themselves are checked."""
    moving = subject.moving()
    placement = subject.place()
    given = [_tangent(subject, k, t) for k in range(len(subject.values))]
    tangents = subject.call_args(given, subject.function)
    function = aj.value_and_grad(subject.function, wrt=moving)
    with np.errstate(all="ignore"):
        (value, gradients), (slope, curved) = aj.jvp(
            function, tuple(subject.call_args(placement.args, subject.function)), tuple(tangents)
        )
    subject.same_run(value, placement, "jvp of value_and_grad")
    require_gradients(subject, gradients, gradient, "jvp of value_and_grad")
    found: Leaves = {}
    for (_, _, flat), tree in zip((p for p in subject.parameters() if p[0] in moving), curved, strict=True):
        found.update({k: leaf for k, leaf in zip(flat, leaves(tree), strict=True) if k in subject.wrt})
    if not all(np.isfinite(leaf).all() for leaf in found.values()):
        raise CheckFailure("not finite", f"second derivatives {found}")
    return float(slope), found


def _tangent(subject: Subject, k: int, t: Leaves) -> Any:
    if k not in subject.wrt:
        return None
    return np.asarray(t[k], subject.values[k].dtype) if k in subject.arrays else t[k]


def _difference(subject: Subject, t: Leaves, u: Leaves) -> tuple[float, float]:
    """d/ds <u, gradient(a + s t)>; only where no branch changes on the way."""
    still: Leaves = {k: np.zeros(np.shape(subject.values[k])) for k in subject.arrays}

    def line(s: float) -> float:
        subject.line(subject.shifted(s, t))  # Rejected where a branch goes another way
        values = [v if k in subject.wrt else subject.values[k] for k, v in enumerate(subject.shifted(s, t))]
        found = reverse(subject, still, values)
        return float(sum(np.sum(paired(u[k], found[k])) for k in subject.wrt))

    if subject.single:  # arguments cannot be moved by as little as differences want
        return 0.0, np.inf
    for step in (2e-3, 2e-4):
        try:
            return richardson(line, step, levels=3)
        except Rejected:
            continue
    return 0.0, np.inf
