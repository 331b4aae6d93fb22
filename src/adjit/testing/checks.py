"""Everything that must hold for a differentiated program, whatever it computes.

For arguments a, value v(a), final arrays a'(a) and random weights w, all in one scalar L = v + sum(w * a'):
`autodiff(Reverse)` seeded with w leaves dL/da in the shadows (this also covers "read-only arrays
accumulate");
`autodiff(Forward)` along t gives (dv, da'); so <dL/da, t> = dv + <w, da'>, and both equal a Richardson
difference.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from adjit.testing.differences import richardson
from adjit.testing.placing import Placement, same_bits
from adjit.testing.programs.nodes import Program
from adjit.testing.programs.probe import Rejected, validate

SMOOTH = 1e-7


class CheckFailure(AssertionError):
    """A check failed; `kind` says which, in a word."""

    def __init__(self, kind: str, report: str):
        self.kind = kind
        super().__init__(f"[{kind}] {report}")


class Subject:
    """A function with its arguments, and the plain run that adjit is held to."""

    def __init__(
        self,
        function: Callable[..., Any],
        values: Sequence[Any],
        layouts: Sequence[str] = (),
        reference: Callable[..., Any] | None = None,
        line: Callable[[Sequence[Any]], float] | None = None,
        dtype: str = "float64",
    ):
        self.function = function
        self.dtype = dtype
        # Rounded to dtype, held as float64: differences are always taken in float64.
        self.values = tuple(v.astype(dtype).astype(np.float64) if is_float_array(v) else v for v in values)
        self.layouts = tuple(layouts) or ("C",) * len(self.values)
        self.reference = reference or function
        self.line = line or (lambda args: float(getattr(function, "py_func", function)(*args)))
        self.wrt = tuple(k for k, v in enumerate(self.values) if _active(v))
        self.arrays = tuple(k for k in self.wrt if isinstance(self.values[k], np.ndarray))

    def place(self) -> Placement:
        """Fresh arguments."""
        return Placement(self.values, self.layouts, self.dtype)

    def tolerance(self, double: float) -> float:
        """`double`, or what single precision can be held to."""
        return double if self.dtype == "float64" else 2e-3

    def plain(self) -> tuple[Any, list[Any]]:
        """Value and final arguments of the plain run."""
        placement = self.place()
        with np.errstate(all="ignore"):
            value = self.reference(*placement.args)
        return value, placement.snapshot()


def check(program: Program, compiled: bool = False, dtype: str = "float64") -> None:
    """Check a random program; `compiled` selects Numba (else ADJIT_UNCOMPILED=1 must be in the environment).

    With float32, which needs `compiled`, the program is a dispatcher: Numba's types are the reference.

    Raises:
        CheckFailure: with a report.
        Rejected: if these inputs are no fair test.
    """
    if not compiled and os.environ.get("ADJIT_UNCOMPILED") != "1":
        raise RuntimeError("an uncompiled check needs ADJIT_UNCOMPILED=1 in the environment")
    probed = validate(program)
    with tempfile.TemporaryDirectory(prefix="adjit-fuzz-") as folder:
        # Half of the programs are dispatchers, half plain functions with plain callees.
        function = load(program, Path(folder), decorated=program.seed % 2 == 0 or dtype != "float64")
        reference = load(program, Path(folder), decorated=True) if compiled else None
        if not compiled:
            reference = getattr(function, "py_func", None) and load(program, Path(folder), decorated=False)
        values = [argument.value for argument in program.arguments]
        layouts = [argument.layout for argument in program.arguments]
        check_subject(Subject(function, values, layouts, reference, probed, dtype), program.seed)


def check_function(function: Callable[..., Any], args: Sequence[Any], layouts: Sequence[str] = ()) -> None:
    """Check any function on these arguments (the form that a saved failure is run in).

    The reference is plain Python in uncompiled mode, else the dispatcher itself, or Numba's compile of the function.
    """
    python = getattr(function, "py_func", function)
    compiled = njit(python) if python is function else function
    reference = python if os.environ.get("ADJIT_UNCOMPILED") == "1" else compiled
    dtype = next((v.dtype.name for v in args if is_float_array(v)), "float64")
    check_subject(Subject(function, args, layouts, reference, dtype=dtype), None)


def load(program: Program, folder: Path, decorated: bool) -> Callable[..., Any]:
    """The program's function, from a real file, so that its source can be read."""
    path = folder / f"fuzz_{program.seed}{'_njit' if decorated else ''}.py"
    path.write_text(program.source(njit=decorated))
    namespace: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace[program.name]


def check_subject(subject: Subject, seed: int | None) -> None:
    """All checks, most telling first; without a seed every operator is held to them."""
    if not subject.wrt:
        raise Rejected("nothing to differentiate")
    rng = np.random.default_rng(seed or 0)
    weights = {k: _rounded(rng.uniform(-1, 1, subject.values[k].shape), subject) for k in subject.arrays}
    tangents = {k: _rounded(rng.uniform(-1, 1, np.shape(subject.values[k])), subject) for k in subject.wrt}
    reverse = _reverse(subject, weights)
    forward, terms = _forward(subject, tangents, weights)
    along = [np.sum(reverse[k] * tangents[k]) for k in subject.wrt]
    scale = sum(float(np.sum(np.abs(reverse[k] * tangents[k]))) for k in subject.wrt) + terms
    report = f"reverse {sum(along)!r}, forward {forward!r}"
    estimate, error = _difference(subject, tangents, weights)
    if error < SMOOTH * (1 + scale):
        report += f", differences {estimate!r} +- {error:.1e}"
        near = subject.tolerance(1e-6) * (1 + scale) + 20 * error
        _require(abs(sum(along) - estimate) <= near, "reverse", report + _detail(subject, weights, reverse))
        _require(abs(forward - estimate) <= near, "forward", report)
    _require(abs(sum(along) - forward) <= subject.tolerance(1e-10) * (1e-3 + scale), "dot", report)
    zero = _reverse(subject, {k: np.zeros(subject.values[k].shape) for k in subject.arrays})
    # Each operator builds the program anew, which is what a check costs: a seed sees one of the two.
    if seed is None or seed % 4 < 2:
        _value_and_grad(subject, zero)
    if seed is None or seed % 4 >= 2:
        _vjp(subject, zero)


def _reverse(subject: Subject, weights: dict[int, np.ndarray]) -> dict[int, Any]:
    import adjit as aj

    def once() -> tuple[Any, dict[int, Any]]:
        placement = subject.place()
        seeds = tuple(weights.get(k) for k in range(len(subject.values)))
        shadows = Placement(seeds, subject.layouts, subject.dtype)
        annotated = [
            _annotate(aj, subject, k, placement.args[k], shadows.args[k]) for k in range(len(subject.values))
        ]
        with np.errstate(all="ignore"):
            result = aj.autodiff(aj.Reverse, subject.function, *annotated)
        _same_run(subject, result.value, placement, "autodiff(Reverse)")
        _require(shadows.intact(), "canary", "autodiff(Reverse) wrote outside a shadow")
        left = shadows.snapshot()
        return result.value, {k: left[k] if k in weights else result.gradients[k] for k in subject.wrt}

    first, second = once(), once()
    _require(same_bits(list(first[1].values()), list(second[1].values())), "repeat", f"{first} then {second}")
    for k, gradient in first[1].items():
        _require(bool(np.all(np.isfinite(gradient))), "not finite", f"gradient {k} is {gradient}")
    return first[1]


def _forward(
    subject: Subject, tangents: dict[int, np.ndarray], weights: dict[int, np.ndarray]
) -> tuple[float, float]:
    import adjit as aj

    placement = subject.place()
    moving = tuple(tangents[k] if k in subject.arrays else None for k in range(len(subject.values)))
    shadows = Placement(moving, subject.layouts, subject.dtype)
    annotated = []
    for k, argument in enumerate(placement.args):
        if k in subject.arrays:
            annotated.append(aj.Duplicated(argument, shadows.args[k]))
        elif k in subject.wrt:
            annotated.append(aj.Duplicated(argument, float(tangents[k])))
        else:
            annotated.append(aj.Const(argument))
    with np.errstate(all="ignore"):
        value, tangent = aj.autodiff(aj.Forward, subject.function, *annotated)
    _same_run(subject, value, placement, "autodiff(Forward)")
    _require(shadows.intact(), "canary", "autodiff(Forward) wrote outside a shadow")
    final = shadows.snapshot()
    terms = [weights[k] * final[k] for k in subject.arrays]
    return float(tangent) + float(sum(map(np.sum, terms))), abs(float(tangent)) + sum(
        float(np.sum(np.abs(t))) for t in terms
    )


def _difference(
    subject: Subject, tangents: dict[int, np.ndarray], weights: dict[int, np.ndarray]
) -> tuple[float, float]:
    def line(t: float) -> float:
        args = [v.copy() if isinstance(v, np.ndarray) else v for v in subject.values]
        for k, direction in tangents.items():
            args[k] = (
                args[k] + t * direction if isinstance(args[k], np.ndarray) else args[k] + t * float(direction)
            )
        value = subject.line(args)
        return float(value) + sum(float(np.sum(w * args[k])) for k, w in weights.items())

    for step in (4e-3, 4e-4):
        try:
            return richardson(line, step)
        except Rejected:
            continue
    return 0.0, np.inf


def _value_and_grad(subject: Subject, zero: dict[int, Any]) -> None:
    import adjit as aj

    function = aj.value_and_grad(subject.function, wrt=subject.wrt)
    placement = subject.place()
    value, gradients = function(*placement.args)
    _same_run(subject, value, placement, "value_and_grad")
    for k, g in zip(subject.wrt, gradients, strict=True):
        near = np.allclose(g, zero[k], rtol=subject.tolerance(1e-10), atol=subject.tolerance(1e-12))
        _require(bool(near), "grad", f"argument {k}: value_and_grad {g}, autodiff {zero[k]}")
    again = function(*subject.place().args)
    _require(same_bits(again[1], gradients), "repeat", f"value_and_grad {gradients} then {again[1]}")


def _vjp(subject: Subject, zero: dict[int, Any]) -> None:
    import adjit as aj

    placement = subject.place()
    value, pullback = aj.vjp(subject.function, *placement.args)
    _same_run(subject, value, placement, "vjp")
    for argument in placement.args:
        if isinstance(argument, np.ndarray):
            argument[...] = 3
    cotangents = pullback(1.0)
    for k in subject.wrt:
        near = np.allclose(
            cotangents[k], zero[k], rtol=subject.tolerance(1e-10), atol=subject.tolerance(1e-12)
        )
        _require(bool(near), "vjp", f"argument {k}: pullback {cotangents[k]}, autodiff {zero[k]}")
    _require(same_bits(pullback(1.0), cotangents), "repeat", "a pullback called twice gives other bits")
    quiet = all(ct is None for k, ct in enumerate(cotangents) if k not in subject.wrt)
    _require(quiet, "vjp", f"cotangents of integers are not None: {cotangents}")


def _annotate(aj: Any, subject: Subject, k: int, argument: Any, shadow: Any) -> Any:
    if k not in subject.wrt:
        return aj.Const(argument)
    return aj.Duplicated(argument, shadow) if k in subject.arrays else aj.Active(argument)


def _same_run(subject: Subject, value: Any, placement: Placement, who: str) -> None:
    want, final = subject.plain()
    _require(same_bits(value, want), "value", f"{who}: {value!r}, plain run {want!r}")
    for k, (got, right) in enumerate(zip(placement.snapshot(), final, strict=True)):
        _require(
            same_bits(got, right), "final state", f"{who}: argument {k} ends as {got!r}, plain run {right!r}"
        )
    _require(placement.intact(), "canary", f"{who} wrote outside an argument")


def _detail(subject: Subject, weights: dict[int, np.ndarray], reverse: dict[int, Any]) -> str:
    """The gradient entry by entry beside differences, for the report of a failure."""
    rows = []
    for k in subject.wrt:
        for index in np.ndindex(np.shape(subject.values[k])):
            unit = {j: np.zeros(np.shape(subject.values[j])) for j in subject.wrt}
            unit[k] = np.array(unit[k])
            unit[k][index] = 1
            estimate, error = _difference(subject, unit, weights)
            got = float(np.asarray(reverse[k])[index])
            if error < 1e-5 and abs(got - estimate) > 1e-6 * (1 + abs(estimate)):
                rows.append(f"\n  argument {k}{list(index)}: got {got!r}, differences {estimate!r}")
    return "".join(rows) + (f"\n  weights {weights}" if rows else "")


def _active(value: Any) -> bool:
    return isinstance(value, float) or is_float_array(value)


def is_float_array(value: Any) -> bool:
    """Whether `value` is an array that carries derivatives."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _rounded(values: np.ndarray, subject: Subject) -> np.ndarray:
    return np.asarray(values, subject.dtype).astype(np.float64)


def _require(condition: bool, kind: str, report: str) -> None:
    if not condition:
        raise CheckFailure(kind, report)
