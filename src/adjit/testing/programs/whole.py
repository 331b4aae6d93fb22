"""Random expressions of whole arrays: elementwise, with operands that are sliced, transposed and stretched to fit.

`array(scope, shape, depth)` has exactly that shape; `loose` may be anything that NumPy stretches to it.
"""

from __future__ import annotations

from adjit.testing.programs.expressions import Expressions
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.shapes import ONE, Shape, place, slices

_UNARY = (
    "np.sin({0})",
    "np.cos({0})",
    "np.tanh({0})",
    "np.exp(-({0}) ** 2)",
    "np.sqrt(1.0 + ({0}) ** 2)",
    "np.arctan({0})",
    "({0}) ** 2",
    "-({0})",
    "0.5 * ({0})",
)
_BINARY = (
    "({0} + {1})",
    "({0} - {1})",
    "({0} * {1})",
    "({0} * {1})",
    "({0}) / (1.3 + ({1}) ** 2)",
    "({1} - 0.5 * {0})",
    "({1} * {0})",
)
_LIMITS = ("0.37", "0.81", "-0.23", "0.11")


class WholeExpressions(Expressions):
    """Writes expressions of whole arrays from the names in a scope; numbers may be reductions of them."""

    def shape_of(self, scope: Scope, name: str) -> Shape:
        """The shape of an array in scope."""
        known = scope.shapes.get(name)
        if known is not None:
            return known
        return (f"{name}.shape[0]", f"{name}.shape[1]") if name in scope.matrices else (f"len({name})",)

    def arrays(self, scope: Scope) -> list[str]:
        """The arrays of floats in scope."""
        flat = {*scope.vectors, *scope.matrices}
        return [*scope.vectors, *scope.matrices, *(name for name in scope.shapes if name not in flat)]

    def some_shape(self, scope: Scope) -> Shape | None:
        """The shape of an array in scope, often a part of it."""
        d = self.dice
        names = self.arrays(scope)
        if not names:
            return None
        shape = self.shape_of(scope, d.pick(names))
        part = tuple(n if isinstance(n, str) or d.chance(0.6) else d.number(1, n) for n in shape if n)
        return part[d.number(0, len(part) - 1) :] if part and d.chance(0.2) else part or None

    # --- operands

    def filled(self, text: str, scope: Scope) -> E:
        """A template with an integer in its hole, if it has one."""
        return E(text, (self.grouped(scope),)) if "{0}" in text else E(text)

    def part(self, scope: Scope, name: str, shape: Shape, stretch: bool) -> E | None:
        """A view of the array that has the shape; with `stretch` one that NumPy may stretch to it."""
        d = self.dice
        own = self.shape_of(scope, name)
        template, order = "{0}", list(range(len(own)))
        if len(own) == 2 and d.chance(0.25):
            template, order = "{0}.T", [1, 0]
        own = tuple(own[k] for k in order)
        new = [stretch and d.chance(0.15) for _ in shape]
        kept = [n for n, fresh in zip(shape, new, strict=True) if not fresh]
        if len(kept) > len(own):
            return None
        axes = sorted(d.rng.choice(len(own), len(kept), replace=False).tolist())
        items: dict[int, E] = {}
        for axis, extent in zip(axes, kept, strict=True):
            narrow = stretch and own[axis] != 0 and d.chance(0.15)
            text = ONE if narrow else slices(d, own[axis], extent)
            if text is None:
                return None
            items[axis] = self.filled(text, scope)
        for axis, length in enumerate(own):
            if axis not in items:
                if length == 0:
                    return None
                items[axis] = self.filled(place(d, length), scope)
        return self._indexed(template, name, [items[k] for k in range(len(own))], axes, new)

    def _indexed(self, template: str, name: str, items: list[E], axes: list[int], new: list[bool]) -> E:
        """The array with its index; new axes come before the kept ones that follow them."""
        out: list[E] = []
        at = 0
        for fresh in new:
            if fresh:
                out.append(E("None"))
                continue
            while at not in axes:
                out.append(items[at])
                at += 1
            out.append(items[at])
            at += 1
        out += items[at:]
        while len(out) > 1 and out[-1].text == ":" and self.dice.chance(0.5):
            out.pop()
        if all(item.text == ":" for item in out) and self.dice.chance(0.8):
            return E(template, (E(name),))
        holes = ", ".join("{%d}" % (k + 1) for k in range(len(out)))  # noqa: UP031
        return E(f"{template}[{holes}]", (E(name), *out))

    def operand(self, scope: Scope, shape: Shape, stretch: bool = False) -> E | None:
        """A part of some array in scope that has the shape, or may be stretched to it."""
        d = self.dice
        names = self.arrays(scope)
        same = [name for name in names if self.shape_of(scope, name) == shape]
        if same and d.chance(0.4):
            return E(d.pick(same))
        for _ in range(6):
            want = shape[d.number(0, len(shape)) :] if stretch and d.chance(0.25) else shape
            if not want:
                return E("{0}", (self.number(scope, 0),))
            found = self.part(scope, d.pick(names), want, stretch) if names else None
            if found is not None:
                return found
        return E(d.pick(same)) if same else None

    # --- expressions

    def loose(self, scope: Scope, shape: Shape, depth: int) -> E:
        """An expression that NumPy stretches to the shape: a number at the least."""
        if self.dice.chance(0.35):
            return self.number(scope, min(depth, 1))
        found = self.operand(scope, shape, True) if self.dice.chance(0.6) else self.array(scope, shape, depth)
        return found or self.atom(scope)

    def array(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        """An expression of exactly that shape; None if nothing in scope has it."""
        d = self.dice
        if depth <= 0 or d.chance(0.15):
            return self.operand(scope, shape) or self.constant(scope, shape)
        roll = d.number(0, 19)
        if roll < 6:
            return self.joined(d.pick(_BINARY), scope, shape, depth)
        if roll < 9:
            inner = self.array(scope, shape, depth - 1)
            return inner and E(d.pick(_UNARY), (inner,))
        if roll < 12:
            return self._compared(scope, shape, depth)
        if roll == 12 and len(scope.indices) > 0:
            return self._of_integers(scope, shape) or self.operand(scope, shape)
        return self.special(scope, shape, depth) or self.array(scope, shape, depth - 1)

    def special(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        """What is not elementwise (see `rearranged`)."""
        raise NotImplementedError

    def joined(
        self, template: str, scope: Scope, shape: Shape, depth: int, probed: str | None = None
    ) -> E | None:
        """Two operands: the first of the shape, the second stretched to it."""
        first = self.array(scope, shape, depth - 1)
        return first and E(template, (first, self.loose(scope, shape, depth - 1)), probed)

    def constant(self, scope: Scope, shape: Shape) -> E | None:
        """An array of one number."""
        if any(isinstance(n, str) for n in shape):
            return None
        return E(f"np.full({shape!r}, {{0}})", (self.number(scope, 0),))

    def _compared(self, scope: Scope, shape: Shape, depth: int) -> E | None:
        """What chooses between elements."""
        d = self.dice
        kind = d.number(0, 4)
        if kind == 0:
            inner = self.array(scope, shape, depth - 1)
            return inner and E("np.abs({0})", (inner,), "_probe.absolute({0})")
        if kind == 1:
            inner = self.array(scope, shape, depth - 1)
            return inner and E("np.clip({0}, -0.7, 0.9)", (inner,), "_probe.clip({0}, -0.7, 0.9)")
        if kind < 4:
            name = d.pick(["maximum", "minimum"])
            return self.joined(
                f"np.{name}({{0}}, {{1}})", scope, shape, depth, f"_probe.{name}({{0}}, {{1}})"
            )
        mask = self.mask(scope, shape)
        if mask is None:
            return None
        return E("np.where({0}, {1}, {2})", (mask, *(self.loose(scope, shape, depth - 1) for _ in range(2))))

    def mask(self, scope: Scope, shape: Shape) -> E | None:
        """An array of bools of that shape."""
        d = self.dice
        known = [name for name, own in scope.masks.items() if own == shape]
        if known and d.chance(0.4):
            return E(d.pick(["{0}", "{0}", "~{0}"]), (E(d.pick(known)),))
        a = self.operand(scope, shape)
        if a is None:
            return None
        b = self.operand(scope, shape, True) if d.chance(0.3) else None
        test = E("({0} > {1})", (a, b or E(d.pick(_LIMITS))), "_probe.greater({0}, {1})")
        if d.chance(0.2):
            other = self.operand(scope, shape)
            if other is not None:
                two = E("({0} < 0.6)", (other,), "(~_probe.greater({0}, 0.6))")
                return E(d.pick(["({0} & {1})", "({0} | {1})"]), (test, two))
        return test

    def _of_integers(self, scope: Scope, shape: Shape) -> E | None:
        """Integers as numbers."""
        same = [name for name in scope.indices if self.shape_of(scope, name) == shape]
        if not same:
            return None
        return E(
            self.dice.pick(["0.1 * {0}", "(0.3 * ({0} % 3))", "0.2 * {0}[::-1]"]), (E(self.dice.pick(same)),)
        )
