"""Random statements of small integers up to the limits of their types, whose arithmetic wraps around.

Only what NumPy, Numba and adjit agree about: sums, differences and products of elements that go into an array of the
same type, since every way of computing them is the same modulo two to the number of bits; whole arrays one operation at
a time, each under a name; casts, masks; and elements as floats or as integers by `int`.
"""

from __future__ import annotations

import numpy as np

from adjit.testing.programs.nodes import Block, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.simple import Simple

NARROW_TYPES = ("int8", "int16", "int32", "uint8", "uint16", "uint32")

_WHOLE = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "np.add({0}, {1})", "np.multiply({0}, {1})", "{0} ^ {1}")
_RING = {"+": "add", "-": "sub", "*": "mul"}


def size_of(dtype: str) -> str:
    """A float as large as the type's largest value, as text."""
    return repr(float(np.iinfo(dtype).max) + 1.0)


class NarrowIntegers(Simple):
    """Writes statements of arrays of small integers that may hold any value of their type, all of one extent."""

    def _one(self, scope: Scope, name: str) -> E:
        """An element."""
        form = self.dice.pick(["{0}[0]", "{0}[-1]", "{0}[{1} % len({0})]", "{0}[{1} % len({0})]"])
        return E(form, (E(name), self.write.grouped(scope)))

    def _of_type(self, scope: Scope, dtype: str) -> list[str]:
        return [name for name, own in scope.narrow.items() if own == dtype]

    def _narrow_store(self, scope: Scope, depth: int) -> list[Statement]:
        """An element from elements of the same type, by operations that wrap around."""
        d = self.dice
        if not scope.narrow:
            return []
        name = d.pick(list(scope.narrow))
        dtype = scope.narrow[name]
        place, other = self._one(scope, name), self._one(scope, d.pick(self._of_type(scope, dtype)))
        if d.chance(0.15):
            return [Line(E("{0}, {1} = {1}, {0}", (place, other)))]
        if d.chance(0.2):
            op = d.pick(["{0} = {1}", "{0} ^= {1}", "{0} |= {1}", "{0} = {1} // 3", "{0} = {1} >> 1"])
            return [Line(E(op, (place, other)))]
        op = d.pick(list(_RING))
        right = other if d.chance(0.5) else E(str(d.pick([1, 2, 3, 77, 120])))
        if d.chance(0.5):
            probed = f"{{0}} = _probe.wrapped('{_RING[op]}', {{0}}, {{1}})"
            return [Line(E(f"{{0}} {op}= {{1}}", (place, right), probed, f"{{0}} {op}= {{1}}"))]
        left = self._one(scope, d.pick(self._of_type(scope, dtype)))
        probed = f"{{0}} = _probe.wrapped('{_RING[op]}', {{1}}, {{2}})"
        return [
            Line(E(f"{{0}} = {{1}} {op} {{2}}", (place, left, right), probed, f"{{0}} = {{1}} {op} {{2}}"))
        ]

    def _narrow_whole(self, scope: Scope, depth: int) -> list[Statement]:
        """A new array of one operation of whole arrays, a cast, or one of the largest or least value."""
        d = self.dice
        if not scope.narrow:
            return []
        a, b = (d.pick(list(scope.narrow)) for _ in range(2))
        name = self.names.new("q")
        made = str(np.promote_types(scope.narrow[a], scope.narrow[b]))
        if d.chance(0.25):
            made = d.pick(NARROW_TYPES)
            value = E(f"{a}.astype(np.{made})")
        elif d.chance(0.15):
            made = scope.narrow[a]
            limits = np.iinfo(made)
            value = E(f"np.full(len({a}), {d.pick([limits.max, limits.max, limits.min])}, dtype=np.{made})")
        elif made not in NARROW_TYPES:  # int64
            return []
        elif scope.narrow[a] == scope.narrow[b] and d.chance(0.3):
            op = d.pick(["+=", "-=", "*=", "^="])
            return [Line(E(f"{a} {op} {{0}}", (E(b),)))] if a not in scope.fixed else []
        elif d.chance(0.15):
            made, value = scope.narrow[a], E(d.pick(["{0}[::-1]", "{0}.copy()"]), (E(a),))
        else:
            value = E(d.pick(_WHOLE), (E(a), E(b)))
        scope.narrow[name] = made
        return [Line(E(f"{name} = {{0}}", (value,)))]

    def _narrow_read(self, scope: Scope, depth: int) -> list[Statement]:
        """An element as a factor, an integer or a condition; a whole array as floats; a mask of it."""
        d = self.dice
        if not scope.narrow:
            return []
        name = d.pick(list(scope.narrow))
        roll, scale = d.number(0, 4), size_of(scope.narrow[name])
        one = self._one(scope, name)
        if roll == 0:
            number = self.names.new("k")
            line = Line(E(f"{number} = int({{0}}) % 5", (one,)))
            scope.ints.append(number)
            return [line]
        if roll == 1:
            inner = scope.inner()
            test = E(d.pick(["{0} > 90", "{0} < 3", "{0} > {1}"]), (one, self._one(scope, name)))
            return [Block(E("if {0}", (test,)), self.body(inner, depth + 1, 1))] if depth < 3 else []
        if roll == 2:
            mask = self.names.new("B")
            other = d.pick([name, *scope.narrow])
            line = Line(E(f"{mask} = " + d.pick([f"{name} > {other}", f"{name} > 90", f"{name} != {other}"])))
            scope.bools.append(mask)
            return [line]
        if roll == 3:
            floats = self.names.new("v")
            scope.loose.append(floats)
            return [Line(E(f"{floats} = {name} / {scale}"))]
        z = self.names.new("z")
        line = Line(E(f"{z} = float({{0}}) / {scale}", (one,)))
        scope.floats.append(z)
        return [line]
