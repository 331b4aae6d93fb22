"""Random array expressions that are not elementwise: reductions, products, joins, gathers, sorts, other axes."""

from __future__ import annotations

from collections.abc import Callable

from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.shapes import Shape, size
from adjit.testing.programs.whole import WholeExpressions

_EXTREMES = {"max": "_probe.greatest", "min": "_probe.least"}


class Rearranged(WholeExpressions):
    """Writes every kind of array expression."""

    def special(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        """One of the kinds, if it can have the shape."""
        kinds: list[Callable[[Scope, Shape, int], E | None]] = [
            self._reduced,
            self._reduced,
            self._kept,
            self._product,
            self._product,
            self._accumulated,
            self._turned,
            self._gathered,
            self._gathered,
            self._sorted,
            self._concatenated,
            self._reshaped,
            self._outer,
            self._called,
        ]
        return self.dice.pick(kinds)(scope, shape, depth)

    def number(self, scope: Scope, depth: int) -> E:
        """A float expression; now and then of whole arrays."""
        if depth > 0 and self.dice.chance(0.15):
            found = self.total(scope)
            if found is not None:
                return found
        return super().number(scope, depth)

    def total(self, scope: Scope) -> E | None:
        """A number that is computed of whole arrays."""
        d = self.dice
        shape = self.some_shape(scope)
        if shape is None:
            return None
        kind = d.number(0, 6)
        if kind == 0:
            return self._inner(scope, shape[-1:])
        if kind == 1:
            return self._masked_sum(scope, shape)
        a = self.array(scope, shape, 1)
        if a is None:
            return None
        if kind == 2:
            name = d.pick(["max", "min"])
            whole = f"np.{name}({{0}})" if d.chance(0.6) else f"({{0}}).{name}()"
            return E(whole, (a,), f"{_EXTREMES[name]}({{0}})")
        forms = [
            "0.4 * np.sum({0})",
            "np.mean({0})",
            "0.4 * ({0}).sum()",
            "({0}).mean()",
            "0.3 * np.prod({0})",
        ]
        return E(d.pick(forms), (a,))

    def _inner(self, scope: Scope, shape: Shape) -> E | None:
        a, b = self.operand(scope, shape), self.operand(scope, shape)
        if a is None or b is None:
            return None
        return E(
            self.dice.pick(["0.3 * ({0} @ {1})", "0.3 * np.dot({0}, {1})", "0.3 * {0}.dot({1})"]), (a, b)
        )

    def _masked_sum(self, scope: Scope, shape: Shape) -> E | None:
        names = [name for name in self.arrays(scope) if self.shape_of(scope, name) == shape]
        mask = self.mask(scope, shape)
        if not names or mask is None:
            return None
        return E("0.3 * np.sum({0}[{1}] ** 2)", (E(self.dice.pick(names)), mask))

    # --- reductions

    def _reduction(self, a: E, axis: int, keep: bool) -> E:
        d = self.dice
        name = d.pick(["sum", "sum", "mean", "max", "min"])
        more = f"axis={axis}" + (", keepdims=True" if keep else "")
        # Numba has no `keepdims` of methods, NumPy has.
        text = f"np.{name}({{0}}, {more})" if d.chance(0.6) else f"({{0}}).{name}({more})"
        return E(text, (a,), f"{_EXTREMES[name]}({{0}}, {more})" if name in _EXTREMES else None)

    def _reduced(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        """A reduction of one axis more."""
        d = self.dice
        if len(shape) > 2:
            return None
        axis = d.number(0, len(shape))
        extent = d.pick([n for name in self.arrays(scope) for n in self.shape_of(scope, name)] or [2])
        whole = (*shape[:axis], extent, *shape[axis:])
        a = self.operand(scope, whole) if extent != 0 else None
        if a is None:
            return None
        if d.chance(0.3):
            a = E("({0} * {1})", (a, self.loose(scope, whole, 0)))
        return self._reduction(a, axis if d.chance(0.7) else axis - len(whole), False)

    def _kept(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        """An array beside its own reduction, stretched."""
        d = self.dice
        if 0 in shape:
            return None
        first, inner = self.array(scope, shape, depth - 1), self.operand(scope, shape)
        if first is None or inner is None:
            return None
        reduced = self._reduction(inner, d.number(0, len(shape) - 1), True)
        return E(d.pick(["({0} - {1})", "({0} * {1})", "({1} + {0})"]), (first, reduced))

    # --- products

    def _product(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        d = self.dice
        lengths = [n for name in self.arrays(scope) for n in self.shape_of(scope, name) if n != 0]
        if not lengths:
            return None
        k = d.pick(lengths)
        match shape:
            case (rows, columns):
                left, right = (rows, k), (k, columns)
            case (n,):
                left, right = ((k,), (k, n)) if d.chance(0.4) else ((n, k), (k,))
            case _:
                return None
        a, b = self.operand(scope, left), self.operand(scope, right)
        if a is None or b is None:
            return None
        return E(d.pick(["0.5 * ({0} @ {1})", "0.5 * ({0} @ {1})", "0.5 * np.dot({0}, {1})"]), (a, b))

    def _outer(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        if len(shape) != 2:
            return None
        a, b = (self.operand(scope, (n,)) for n in shape)
        if a is None or b is None:
            return None
        forms = [
            "np.outer({0}, {1})",
            "({0}[:, None] * {1})",
            "({0}[:, None] - {1}[None, :])",
            "np.add.outer({0}, {1})",
        ]
        return E(self.dice.pick(forms), (a, b))

    # --- along an axis

    def _accumulated(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        a = self.array(scope, shape, depth - 1)
        axis = f", axis={self.dice.number(0, len(shape) - 1)}" if len(shape) > 1 else ""
        return a and E(f"0.4 * np.cumsum({{0}}{axis})", (a,))

    def _sorted(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        a = self.array(scope, shape, depth - 1)
        axis = self.dice.number(0, len(shape) - 1)
        more = "" if axis == len(shape) - 1 else f", axis={axis}"
        return a and E(f"np.sort({{0}}{more})", (a,), f"_probe.sort({{0}}, {axis})")

    def _turned(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        """Other axes, another order."""
        d = self.dice
        kind = d.number(0, 3)
        if kind == 0 and len(shape) > 1:
            a = self.array(scope, shape[::-1], depth - 1)
            return a and E(d.pick(["({0}).T", "np.transpose({0})"]), (a,))
        a = self.array(scope, shape, depth - 1)
        if kind == 1:
            return a and E(f"np.roll({{0}}, {d.number(-2, 2)}, axis={d.number(0, len(shape) - 1)})", (a,))
        axis = f", axis={d.number(0, len(shape) - 1)}" if len(shape) > 1 or d.chance(0.3) else ""
        return a and E(f"np.flip({{0}}{axis})", (a,))

    # --- other shapes

    def _reshaped(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        d = self.dice
        total = size(shape)
        if not total:
            return None
        names = [n for n in self.arrays(scope) if size(self.shape_of(scope, n)) == total]
        if len(shape) == 1 and names and d.chance(0.6):
            return E(d.pick(["{0}.ravel()", "{0}.flatten()", "{0}.reshape(-1)"]), (E(d.pick(names)),))
        a = self.array(scope, (total,), depth - 1)
        if a is None:
            return None
        text = repr(shape) if d.chance(0.5) else repr((-1, *shape[1:]))
        return E(d.pick([f"np.reshape({{0}}, {text})", f"({{0}}).reshape({text})"]), (a,))

    def _concatenated(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        d = self.dice
        n = shape[0]
        if isinstance(n, str) or n < 2:
            return None
        if len(shape) > 1 and n in (2, 3) and d.chance(0.5):
            rows = [self.array(scope, shape[1:], depth - 1) for _ in range(n)]
            text = "np.stack(({}))".format(", ".join("{%d}" % k for k in range(n)))  # noqa: UP031
            return None if None in rows else E(text, tuple(row for row in rows if row is not None))
        k = d.number(1, n - 1)
        a, b = (self.array(scope, (m, *shape[1:]), depth - 1) for m in (k, n - k))
        return None if a is None or b is None else E("np.concatenate(({0}, {1}))", (a, b))

    # --- by index arrays, and by functions

    def places(self, scope: Scope, count: object, length: int) -> E | None:
        """An array of so many indices of an axis of that length."""
        d = self.dice
        known = [name for name in scope.indices if self.shape_of(scope, name) == (count,)]
        if known and d.chance(0.7):
            return E(f"{{0}} % {length}", (E(d.pick(known)),))
        if not isinstance(count, int) or not count:
            return None
        numbers = [d.number(-length, length - 1) for _ in range(count)]
        return E(f"np.array({numbers})")

    def _gathered(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        d = self.dice
        for name in d.rng.permutation(self.arrays(scope)).tolist():
            own = self.shape_of(scope, name)
            axis = d.number(0, len(shape) - 1)
            length = own[axis] if len(own) == len(shape) else 0
            if isinstance(length, str) or not length:
                continue
            if own[:axis] + own[axis + 1 :] == shape[:axis] + shape[axis + 1 :]:
                at = self.places(scope, shape[axis], length)
                return at and E("{0}[" + ":, " * axis + "{1}]", (E(name), at))
        return None

    def _called(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        """An array beside a call that may write it."""
        call = self.call(scope, depth)
        a = self.array(scope, shape, depth - 1)
        if call is None or a is None:
            return None
        return E(self.dice.pick(["({0} * {1})", "({1} * {0})", "({0} + {1})"]), (a, call))
