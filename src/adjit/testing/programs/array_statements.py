"""Random statements of whole arrays: stores to slices, names of new arrays and of views, masks, scatters."""

from __future__ import annotations

from adjit.testing.programs.inner import Inner
from adjit.testing.programs.nodes import Block, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.rearranged import Rearranged
from adjit.testing.programs.scope import Dice, Scope
from adjit.testing.programs.shapes import Extent, Shape, place, slices

ARRAY_WEIGHTS: dict[str, float] = {
    "whole_store": 10,
    "whole_update": 7,
    "whole_new": 5,
    "whole_again": 4,
    "whole_view": 4,
    "whole_chain": 1,
    "whole_pair": 1,
    "whole_swap": 1.5,
    "whole_choose": 1.5,
    "mask": 2,
    "masked": 3,
    "scatter": 4,
    "whole_integers": 1.5,
}
_BOUNDED = ("{0}", "{0}", "np.tanh({0})", "0.5 * np.sin({0})", "0.4 * ({0})")


class ArrayStatements(Inner):
    """Writes statements of whole arrays that hold no others, beside those of loop programs."""

    def __init__(self, dice: Dice, weights: dict[str, float], budget: int):
        super().__init__(dice, weights, budget)
        self.whole = Rearranged(dice)
        if not ARRAY_WEIGHTS.keys().isdisjoint(weights):
            self.write = self.whole

    def _value(self, scope: Scope, shape: Shape, exact: bool = False) -> E | None:
        """What is stored into a place of that shape, or what is bound to a name."""
        w, d = self.write, self.dice
        value = w.array(scope, shape, 2) if exact or d.chance(0.75) else w.loose(scope, shape, 1)
        return value and E(d.pick(_BOUNDED), (value,))

    def _target(self, scope: Scope) -> tuple[E, Shape, str] | None:
        """A place to store, its shape, and the array that it is a part of."""
        d, w = self.dice, self.whole
        names = [name for name in w.arrays(scope) if "[" not in name or d.chance(0.5)]
        if not names:
            return None
        name = d.pick(names)
        items: list[E] = []
        shape: list[Extent] = []
        for length in w.shape_of(scope, name):
            if length != 0 and d.chance(0.2):
                items.append(w.filled(place(d, length), scope))
                continue
            extent = self._extent(length)
            text = slices(d, length, extent)
            assert text is not None
            items.append(w.filled(text, scope))
            shape.append(extent)
        if not shape:
            items[0], shape = E(":"), [w.shape_of(scope, name)[0]]
        holes = ", ".join("{%d}" % (k + 1) for k in range(len(items)))  # noqa: UP031
        return E(f"{{0}}[{holes}]", (E(name), *items)), tuple(shape), name

    def _extent(self, length: Extent) -> Extent:
        d = self.dice
        if isinstance(length, str):
            return f"{length} - 1" if d.chance(0.4) else length
        if not length or d.chance(0.35):
            return length
        return 0 if d.chance(0.06) else d.number(1, length)

    # --- stores

    def _whole_store(self, scope: Scope, depth: int) -> list[Statement]:
        target = self._target(scope)
        value = target and self._value(scope, target[1])
        return [Line(E("{0} = {1}", (target[0], value)))] if target and value else []

    def _whole_update(self, scope: Scope, depth: int) -> list[Statement]:
        d, w = self.dice, self.whole
        target = self._target(scope)
        if d.chance(0.3):
            names = [name for name in w.arrays(scope) if name not in scope.fixed and "[" not in name]
            if not names:
                return []
            name = d.pick(names)
            target = E(name), w.shape_of(scope, name), name
        value = target and self._value(scope, target[1])
        op = d.pick(["+=", "+=", "-=", "*=", "*="])
        return [Line(E(f"{{0}} {op} {{1}}", (target[0], value)))] if target and value else []

    def _whole_chain(self, scope: Scope, depth: int) -> list[Statement]:
        """`a[1:3] = b[:2] = value`."""
        w = self.whole
        first = self._target(scope)
        if first is None:
            return []
        other = w.part(scope, self.dice.pick(w.arrays(scope)), first[1], False)
        value = self._value(scope, first[1])
        if other is None or value is None or "[" not in other.text:
            return []
        return [Line(E("{0} = {1} = {2}", (first[0], other, value)))]

    def _whole_pair(self, scope: Scope, depth: int) -> list[Statement]:
        """`a[1:3], b[0] = value, number`: both values come before the stores."""
        first, target = self._target(scope), self.whole.element(scope)
        value = first and self._value(scope, first[1], exact=True)
        if first is None or target is None or value is None:
            return []
        return [Line(E("{0}, {1} = {2}, {3}", (first[0], target, value, self.whole.number(scope, 1))))]

    # --- names

    def _known(self, scope: Scope, name: str, shape: Shape) -> None:
        """A new name of an array, for the statements after this one."""
        if all(isinstance(n, int) for n in shape):
            scope.shapes[name] = shape
        if len(shape) < 3 and 0 not in shape:
            (scope.vectors if len(shape) == 1 else scope.matrices).append(name)

    def _whole_new(self, scope: Scope, depth: int) -> list[Statement]:
        shape = self.whole.some_shape(scope)
        value = self._value(scope, shape, exact=True) if shape else None
        if not shape or not value:
            return []
        name = self.names.new("w")
        self._known(scope, name, shape)
        return [Line(E(f"{name} = {{0}}", (value,), f"{name} = _probe.fresh({{0}})"))]

    def _rebindable(self, scope: Scope) -> list[str]:
        return [name for name in scope.shapes if name not in scope.fixed and name not in scope.stretched]

    def _whole_again(self, scope: Scope, depth: int) -> list[Statement]:
        """A name bound again, to an array of the same shape."""
        names = self._rebindable(scope)
        if not names:
            return []
        name = self.dice.pick(names)
        shape = scope.shapes[name]
        value = self._value(scope, shape, exact=True) if shape else None
        return [Line(E(f"{name} = {{0}}", (value,), f"{name} = _probe.fresh({{0}})"))] if value else []

    def _whole_view(self, scope: Scope, depth: int) -> list[Statement]:
        d, w = self.dice, self.whole
        shape = w.some_shape(scope)
        view = w.operand(scope, shape) if shape else None
        if not shape or not view:
            return []
        old = [name for name in self._rebindable(scope) if scope.shapes[name] == shape]
        if old and d.chance(0.25):
            return [Line(E(f"{d.pick(old)} = {{0}}", (view,)))]
        name = self.names.new("w")
        self._known(scope, name, shape)
        return [Line(E(f"{name} = {{0}}", (view,)))]

    def _alike(self, scope: Scope) -> tuple[str, str] | None:
        """Two arrays of one shape."""
        names = self._rebindable(scope)
        if not names:
            return None
        a = self.dice.pick(names)
        others = [b for b in names if b != a and scope.shapes[b] == scope.shapes[a]]
        return (a, self.dice.pick(others)) if others else None

    def _whole_swap(self, scope: Scope, depth: int) -> list[Statement]:
        pair = self._alike(scope)
        return [Line(E(f"{pair[0]}, {pair[1]} = {pair[1]}, {pair[0]}"))] if pair else []

    def _whole_choose(self, scope: Scope, depth: int) -> list[Statement]:
        pair = self._alike(scope)
        if pair is None:
            return []
        a, b = pair
        condition, name = self.whole.condition(scope), self.names.new("w")
        self._known(scope, name, scope.shapes[a])
        if self.dice.chance(0.5):
            return [Line(E(f"{name} = {a} if {{0}} else {b}", (condition,)))]
        return [Block(E("if {0}", (condition,)), (Line(E(f"{name} = {a}")),), (Line(E(f"{name} = {b}")),))]

    # --- masks and index arrays

    def _mask(self, scope: Scope, depth: int) -> list[Statement]:
        shape = self.whole.some_shape(scope)
        mask = self.whole.mask(scope, shape) if shape else None
        if not shape or not mask:
            return []
        name = self.names.new("m")
        scope.masks[name] = shape
        return [Line(E(f"{name} = {{0}}", (mask,)))]

    def _masked(self, scope: Scope, depth: int) -> list[Statement]:
        """A store through a mask: of a number, or of the same elements of another array."""
        d, w = self.dice, self.whole
        names = w.arrays(scope)
        if not names:
            return []
        name = d.pick(names)
        shape = w.shape_of(scope, name)
        mask = w.mask(scope, shape[:1] if d.chance(0.2) else shape)
        if mask is None:
            return []
        op = d.pick(["=", "=", "+=", "*="])
        others = [other for other in names if w.shape_of(scope, other) == shape]
        if d.chance(0.4):
            value = E("0.7 * np.sin({0}[{1}])", (E(d.pick(others)), mask))
            return [Line(E(f"{{0}}[{{1}}] {op} {{2}}", (E(name), mask, value)))]
        return [Line(E(f"{{0}}[{{1}}] {op} {{2}}", (E(name), mask, w.number(scope, 1))))]

    def _scatter(self, scope: Scope, depth: int) -> list[Statement]:
        """A store to places, which may occur more than once: the last one stays, `np.add.at` adds all."""
        d, w = self.dice, self.whole
        names = [
            n
            for n in w.arrays(scope)
            if isinstance(w.shape_of(scope, n)[0], int) and 0 not in w.shape_of(scope, n)
        ]
        if not names:
            return []
        name = d.pick(names)
        length, *rest = w.shape_of(scope, name)
        count = (
            w.shape_of(scope, d.pick(scope.indices))[0] if scope.indices and d.chance(0.8) else d.number(1, 4)
        )
        assert isinstance(length, int)
        at = w.places(scope, count, length)
        value = at and self._value(scope, (count, *rest))
        if at is None or value is None:
            return []
        form = d.pick(["{0}[{1}] = {2}", "{0}[{1}] += {2}", "{0}[{1}] *= {2}", "np.add.at({0}, {1}, {2})"])
        return [Line(E(form, (E(name), at, value)))]

    def _whole_integers(self, scope: Scope, depth: int) -> list[Statement]:
        if not scope.indices:
            return []
        forms = [
            "{0}[1:] = {0}[:-1]",
            "{0} += 1",
            "{0}[::-1] = (2 * {0} + 1) % 5",
            "{0}[:] = {0}[::-1]",
            "{0} *= 2",
        ]
        names = [name for name in scope.indices if name not in scope.fixed]
        return [Line(E(self.dice.pick(forms), (E(self.dice.pick(names)),)))] if names else []
