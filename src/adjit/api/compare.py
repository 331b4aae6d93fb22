"""What `check_grad` does: values, directional derivatives and single components against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from adjit.api.check import CheckReport
from adjit.api.float_leaves import cast, copied, copies, directed, float_names, floats, matched, moved
from adjit.api.grad import value_and_grad
from adjit.api.jit import Compiled, Primal, jit
from adjit.api.jvp import jvp
from adjit.api.pure import pure
from adjit.api.source import source_of
from adjit.api.vjp import vjp
from adjit.errors import AdjitError, ArgumentError, CheckError, MissingRuleError, UnsupportedError
from adjit.runtime.arguments import spec_of
from adjit.runtime.differences import STEPS, Differences, Estimate

_DIRECTIONS = 3
_TOLERANCE = {"float64": 1e-6, "complex128": 1e-6, "float32": 5e-3, "complex64": 5e-3}
_COMPONENTS = 64
_SETTLED = 1e-2
_OUTSIDE = (ArithmeticError, ValueError, LookupError, AssertionError, TypeError)
"""What a function raises at numbers that it is not defined for: TypeError where a complex number meets `math`."""

_Place = tuple[int, tuple[int, ...], complex]
"""A component: of which float leaf, where in it, 1 or 1j for the imaginary axis."""


class _Left(ArithmeticError):
    """What a function gives at these numbers is complex or NaN; at its arguments it is not."""


class Comparison:
    """One function at one set of arguments. Nothing here touches the arguments themselves."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.f, self.args, self.kwargs = f, args, kwargs
        self.source = source_of(f)
        signature = self.source.signature
        self.names = []
        for k in range(len(args)):
            parameter, item = signature.parameter(k)
            name = signature.names[parameter]
            self.names.append(name if item is None else f"{name}.{item}")
        for a, name in zip(args, self.names, strict=True):
            spec_of(a, name)
        self.at = [v for v in floats(args)]
        if not self.at:
            raise ArgumentError(
                "check_grad: no argument is a float or a float array", "pass one (2.0, not 2)"
            )
        kinds = {np.asarray(v).dtype.name for v in self.at}
        self.tolerance = max(_TOLERANCE[k] for k in kinds)
        self.wide = not (
            isinstance(self.source.base, Dispatcher) and not getattr(self.source.base, "_can_compile", True)
        )
        self.rng = np.random.default_rng(0)
        self.own: list[Any] = []  # what the plain call gives at the arguments themselves
        self.outside = False  # whether differences came to where f raises, or gives what is no real number
        self.edge = ""  # what they met there

    def run(self) -> CheckReport:
        value_error = self._values()
        self.own = self._outputs(self.args)
        weights = [self._drawn(v) for v in self.own]
        if self.scalar:
            weights[0] = np.ones(())  # so that its cotangents are those of the gradient
        reverse = self._reverse(weights)
        joint = self._joint() if self.scalar else None
        errors: dict[str, float] = {"reverse": 0.0, "joint": 0.0, "forward": 0.0}
        forward_known = True
        for _ in range(_DIRECTIONS):
            direction = [self._drawn(v) * _size(v) for v in self.at]
            slopes = self._differences(direction, weights)
            self._compare("reverse", reverse, direction, slopes, weights, errors)
            if joint is not None:
                self._compare("joint", joint, direction, slopes, weights, errors)
            forward_known = forward_known and self._forward(direction, weights, slopes, errors)
            self._refuse_kink(slopes)
        return CheckReport(
            value_error,
            errors["reverse"],
            errors["joint"] if joint is not None else None,
            errors["forward"] if forward_known else None,
            _DIRECTIONS,
        )

    def _refuse_kink(self, slopes: Differences) -> None:
        """At a kink with equal and opposite sides, `abs(x)`, central differences agree with a rule that says 0."""
        for component in range(2 if self.scalar else 1):
            sides = slopes.kink(component)
            if sides is not None:
                raise CheckError(
                    f"{self.source.name}() has a kink here: its slope along a direction is {sides[0]:.6g} on one "
                    f"side and {sides[1]:.6g} on the other",
                    "check it at other arguments",
                )

    def _drawn(self, like: Any) -> Any:
        """Normal numbers of the shape of `like`, complex where it is."""
        drawn = self.rng.standard_normal(np.shape(like))
        return drawn + 1j * self.rng.standard_normal(np.shape(like)) if np.iscomplexobj(like) else drawn

    def _values(self) -> float:
        """Compare value and final states with the plain call's; find out what f writes."""
        plain, compiled = copies(self.args), copies(self.args)
        plan = jit(self.f).plan(*plain, **copied(self.kwargs))
        plan.refuse_shared(self.source.signature.bind(self.args, self.kwargs))  # copies of them share nothing
        value = self._plain_call(plain)
        found = jit(self.f)(*compiled, **copied(self.kwargs))
        worst = 0.0
        expected = [*floats((value,)), *floats(plain)]
        for k, (a, b) in enumerate(zip(expected, [*floats((found,)), *floats(compiled)], strict=True)):
            if np.iscomplexobj(a) and not np.iscomplexobj(b):
                raise CheckError(
                    f"{self.source.name}() leaves the real numbers here: result {k} of the plain call is {a}, of "
                    f"compiled code {b}",
                    "check it where it is real (Python's powers of negative numbers are complex), or pass complex ones",
                )
            gap = _gap(np.asarray(a), np.asarray(b))
            if not gap <= self.tolerance:
                raise CheckError(
                    f"{self.source.name}(): result {k} is {b}, the plain call's {a}", "please report this"
                )
            worst = max(worst, gap)
        self.scalar = isinstance(value, float | np.floating)
        self.returns = value is not None
        self.writes = [k for k, w in enumerate(self._written(plan)) if w]
        return worst

    def _plain_call(self, args: tuple[Any, ...]) -> Any:
        f = self.f
        while isinstance(f, Primal) and not f.layer_pure:
            f = f.f
        return f(*args, **copied(self.kwargs))

    def _written(self, plan: Compiled) -> list[bool]:
        """Per float leaf of the positional arguments: whether f's source may write it."""
        known = dict(zip(plan.tree.names, plan.compiled.written, strict=True))
        return [bool(known[name]) for name in self._names()]

    def _outputs(self, args: tuple[Any, ...], wide: bool = False) -> list[Any]:
        """Float leaves of the value, then final states of written arrays; args are copied."""
        own = copies(args, wide)
        value = self._plain_call(own)
        after = list(floats(own))
        return [*floats((value,)), *(after[k] for k in self.writes)]

    def _differences(self, direction: Sequence[Any], weights: Sequence[Any]) -> Differences:
        """Slopes along a direction: of the weighted outputs, and of the first output; NaN outside of f's domain."""

        def phi(h: float) -> np.ndarray[Any, Any]:
            try:
                out = self._moved_outputs(direction, h)
            except _OUTSIDE as error:
                if isinstance(error, AdjitError):
                    raise
                self.outside = True
                return np.full(2, np.nan)
            return np.array([_dot(weights, out), float(out[0]) if self.scalar else 0.0])

        return Differences(phi)

    def _moved_outputs(self, direction: Sequence[Any], h: float) -> list[Any]:
        numbers = iter([cast(v, self.wide) + h * d for v, d in zip(self.at, direction, strict=True)])
        out = self._outputs(tuple(moved(a, numbers) for a in self.args), self.wide)
        for k, (own, new) in enumerate(zip(self.own, out, strict=True)):
            if np.iscomplexobj(new) and not np.iscomplexobj(own):
                raise _Left(f"it leaves the real numbers: its result {k} is {new}")
            if np.any(np.isnan(new)) and not np.any(np.isnan(own)):
                raise _Left(f"its result {k} {'has a nan' if np.ndim(new) else 'is nan'}")
        return out

    def _function(self) -> Callable[..., Any]:
        return pure(self.f) if self.writes else self.f

    def _reverse(self, weights: Sequence[Any]) -> list[Any]:
        value, pullback = vjp(self._function(), *copies(self.args), **copied(self.kwargs))
        given = iter(weights)
        return matched(pullback(directed(value, given)), self.args)

    def _joint(self) -> list[Any]:
        wrt = tuple(n for a, n in zip(self.args, self.names, strict=True) if any(True for _ in floats((a,))))
        _, found = value_and_grad(self.f, wrt)(*copies(self.args), **copied(self.kwargs))
        parts = iter(found)
        full = [next(parts) if any(True for _ in floats((a,))) else None for a in self.args]
        return matched(full, self.args)

    def _forward(self, direction: Any, weights: Any, slopes: Differences, errors: dict[str, float]) -> bool:
        if self.kwargs:
            return False
        given = iter(direction)
        tangents = tuple(directed(a, given) for a in copies(self.args))
        try:
            _, tangent = jvp(self._function(), copies(self.args), tangents)
        except (UnsupportedError, MissingRuleError):
            return False
        found = list(floats((tangent,)))
        scale = sum(float(np.sum(abs(w * t))) for w, t in zip(weights, found, strict=True))
        self._judge("forward", _dot(weights, found), slopes, scale, errors)
        return True

    def _compare(
        self, kind: str, gradient: Any, direction: Any, slopes: Differences, weights: Any, errors: Any
    ) -> None:
        scale = sum(float(np.sum(abs(g * d))) for g, d in zip(gradient, direction, strict=True))
        try:
            self._judge(kind, _dot(gradient, direction), slopes, scale, errors)
        except CheckError as error:
            worst = "" if self.edge else self._worst(kind, gradient, weights)
            raise CheckError(f"{error.reason}{worst}", error.remedy) from None

    def _judge(self, kind: str, found: float, slopes: Differences, scale: float, errors: Any) -> None:
        """Compare one directional derivative with differences.

        It passes if it is what differences settle at: those with the largest steps, or else the most exact of those
        that agree with the smallest steps that settle at all. It is wrong only if tables of different steps settle
        at one other slope (see `_refuted`); all else may be a jump or a kink nearby.
        """
        component = 1 if kind == "joint" else 0
        scale = scale if np.isfinite(scale) else 0.0
        settled: list[tuple[int, Estimate]] = []
        for table in range(len(STEPS)):
            estimate = slopes.central(table, component)
            size = max(scale, abs(estimate.slope), np.finfo(float).tiny)
            noise = estimate.noise if estimate.slope or found else 0.0
            if not np.isfinite(estimate.slope) or not max(estimate.error, noise) <= _SETTLED * max(
                size, abs(slopes.coarse(table, component))
            ):
                continue
            settled.append((table, estimate))
            if table == 0 and estimate.near(found, self.tolerance * size):
                break
        if not settled:
            raise self._unsettled(slopes, component)
        last = settled[-1][1]
        size = max(scale, abs(last.slope), np.finfo(float).tiny)
        agreeing = [e for _, e in settled if e.agrees(last, self.tolerance * size)]
        best = min(agreeing, key=lambda e: e.error)
        if best.near(found, self.tolerance * size):
            errors[kind] = max(errors[kind], abs(found - best.slope) / size)
            return
        if last.near(found, self.tolerance * size) or not _refuted(found, best, slopes, component, settled):
            raise self._unsettled(slopes, component)
        raise CheckError(
            f"{kind} derivative of {self.source.name}() is {found:.9g}, differences say {best.slope:.9g}"
        )

    def _unsettled(self, slopes: Differences, component: int) -> CheckError:
        self.edge = self._edge()
        if self.edge:
            return CheckError(
                f"differences leave the domain of {self.source.name}(): {self.edge}",
                "check it at other arguments, farther from the edge of its domain",
            )
        tables = [(h, slopes.central(t, component)) for t, h in enumerate(STEPS)]
        found = ", ".join(f"{e.slope:.6g} with error {e.error:.1g} for steps up to {h:g}" for h, e in tables)
        return CheckError(
            f"differences of {self.source.name}() do not settle ({found})",
            "it may have a kink or a jump here, or not be finite; check it at other arguments",
        )

    def _worst(self, kind: str, gradient: Sequence[Any], weights: Sequence[Any]) -> str:
        """The component that disagrees most, among all of a small input or some of a large one."""
        places = self._places()
        if len(places) > _COMPONENTS:
            places = [places[j] for j in self.rng.choice(len(places), _COMPONENTS, replace=False)]
        column, worst = (1 if kind == "joint" else 0), (0.0, "")
        for k, i, unit in places:
            slopes = self._differences(self._along([(k, i, unit)]), weights)
            slope = _best(slopes, column).slope / _size(self.at[k])
            found = float((np.asarray(gradient[k])[i] * unit).real)
            gap = abs(found - slope) if np.isfinite(found) else np.inf
            if gap > worst[0]:
                worst = gap, f"{self._said(k, i, unit)} is {found:.9g}, differences say {slope:.9g}"
        weighted = (
            "" if kind == "joint" or (self.scalar and len(weights) == 1) else " (outputs weighted at random)"
        )
        return f"; worst{weighted}: {worst[1]}" if worst[1] else ""

    def _edge(self) -> str:
        """A component by which the smallest steps leave f's domain, and how it shows; "" where none was found."""
        for h in (STEPS[-1], -STEPS[-1]) if self.outside else ():
            places = self._places()
            while len(places) > _COMPONENTS:
                first, second = places[: len(places) // 2], places[len(places) // 2 :]
                places = first if self._raised(first, h) else second
            for place in places:
                error = self._raised([place], h)
                if error is not None:
                    what = f"{self._said(*place)} changed by {h * _size(self.at[place[0]]):.0e}"
                    told = "" if isinstance(error, _Left) else f"it raises {type(error).__name__}: "
                    return f"with {what} {told}{error}"
        return ""

    def _raised(self, places: Sequence[_Place], h: float) -> Exception | None:
        """What f raises where these components are changed, or what was told of its results."""
        try:
            self._moved_outputs(self._along(places), h)
        except _OUTSIDE as error:
            if isinstance(error, AdjitError):
                raise
            return error
        return None

    def _places(self) -> list[_Place]:
        """Every component."""
        return [
            (k, i, unit)
            for k, v in enumerate(self.at)
            for i in np.ndindex(np.shape(v))
            for unit in ((1.0, 1j) if np.iscomplexobj(v) else (1.0,))
        ]

    def _along(self, places: Sequence[_Place]) -> list[Any]:
        """The direction of these components."""
        direction = [np.zeros(np.shape(v), complex if np.iscomplexobj(v) else float) for v in self.at]
        for k, i, unit in places:
            direction[k][i] = unit * _size(self.at[k])
        return direction

    def _said(self, k: int, i: tuple[int, ...], unit: complex) -> str:
        index = f"[{', '.join(map(str, i))}]" if i else ""
        return f"{self._names()[k]}{index}{' along the imaginary axis' if unit == 1j else ''}"

    def _names(self) -> list[str]:
        """The names of the float leaves of the positional arguments."""
        return [n for a, name in zip(self.args, self.names, strict=True) for n in float_names(a, name)]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The sum of products, its real part: as cotangents and tangents are paired."""
    return float(sum(np.sum(np.asarray(x) * np.asarray(y)).real for x, y in zip(a, b, strict=True)))


def _refuted(
    found: float, best: Estimate, slopes: Differences, component: int, settled: Sequence[tuple[int, Estimate]]
) -> bool:
    """Whether two tables of different steps say the same other slope, and left and right sides as well.

    All of this far more exactly than by how much the found one is off.
    """
    little = abs(found - best.slope) / 20 if np.isfinite(found) else np.inf
    exact = [(t, e) for t, e in settled if e.error <= little][-2:]
    if len(exact) < 2 or not abs(exact[0][1].slope - exact[1][1].slope) <= little:
        return False
    for table, _ in reversed(settled):
        left, right = slopes.sides(table, component)
        if left.error + right.error <= little:
            return abs(left.slope - right.slope) <= little
    return False


def _best(slopes: Differences, component: int) -> Estimate:
    """The first table that is exact to six digits, else the one with the smallest error."""
    best = Estimate(np.nan, np.inf)
    for table in range(len(STEPS)):
        estimate = slopes.central(table, component)
        if estimate.error <= 1e-6 * abs(estimate.slope):
            return estimate
        best = estimate if estimate.error <= best.error else best
    return best


def _size(v: Any) -> float:
    """How large a step is natural: the root mean square, 1 for zeros."""
    array = abs(np.asarray(v)).astype(np.float64)
    return float(np.sqrt(np.mean(array * array))) or 1.0 if array.size else 1.0


def _gap(a: Any, b: Any) -> float:
    """Largest relative difference; NaN and infinities must agree."""
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        return np.inf
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    gaps = abs(a[finite] - b[finite])
    return float(gaps.max() / max(abs(a[finite]).max(), np.finfo(float).tiny)) if gaps.size else 0.0
