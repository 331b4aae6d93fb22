"""Random statements of small integers (8 to 32 bits) and bools: stores that stay in range, counters, masks, flags."""

from __future__ import annotations

from adjit.testing.programs.nodes import Block, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.simple import Simple

SMALL_TYPES = ("int8", "int16", "int32", "uint8", "uint16")


class SmallIntegers(Simple):
    """Writes statements that store small integers (always 0 to 7) and bools."""

    def _small_store(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        if not scope.smalls:
            return self._small_array(scope, depth)
        place = self.write.small_element(scope)
        roll = d.number(0, 9)
        if roll == 0:
            return [Line(E("{0}, {1} = {1}, {0}", (place, self.write.small_element(scope))))]
        if roll == 1:
            value = E(
                "int(2.0 + 2 * math.sin({0}))",
                (self.write.atom(scope),),
                "_probe.int(2.0 + 2 * math.sin({0}))",
            )
            return [Line(E("{0} = {1}", (place, value)))]
        if roll == 2 and scope.bools:
            return [
                Line(
                    E(d.pick(["{0} = {1}", "{0} = ({0} + {1}) % 6"]), (place, self.write.bool_element(scope)))
                )
            ]
        if roll < 5:
            up = d.pick(["{0} += 1", "{0} += 2", "{0} = {0} + 1"])
            return [Block(E("if {0} < 5", (place,)), (Line(E(up, (place,))),))]
        op = d.pick(
            [
                "{0} = {1} % 5",
                "{0} = ({0} + {1} % 5) % 7",
                "{0} &= 3",
                "{0} |= 1",
                "{0} ^= 1",
                "{0} >>= 1",
                "{0} //= 2",
            ]
        )
        return [Line(E(op, (place, self.write.grouped(scope))))]

    def _small_array(self, scope: Scope, depth: int) -> list[Statement]:
        """A fresh array of small integers, a view or a copy of one."""
        d = self.dice
        name = self.names.new("b")
        if scope.smalls and d.chance(0.5):
            form = d.pick(["{0}[::-1]", "{0}[{1} % len({0}):]", "{0}[:]", "{0}.copy()"])
            value = E(form, (E(d.pick(scope.smalls)), self.write.grouped(scope)))
        else:
            make = d.pick(["zeros", "ones"])
            value = E(
                f"np.{make}({{0}} % 3 + 1, dtype=np.{d.pick(SMALL_TYPES)})", (self.write.grouped(scope),)
            )
        scope.smalls.append(name)
        return [Line(E(f"{name} = {{0}}", (value,)))]

    def _small_name(self, scope: Scope, depth: int) -> list[Statement]:
        """A name for an element, which later statements read."""
        if not scope.smalls:
            return []
        name = self.names.new("k")
        line = Line(E(f"{name} = {{0}} % 6", (self.write.small_as_integer(scope),)))
        scope.ints.append(name)
        return [line]

    def _small_while(self, scope: Scope, depth: int) -> list[Statement]:
        """A loop that an element counts."""
        if not scope.smalls or depth > 2:
            return []
        inner = scope.inner()
        inner.loops += 1
        place = f"{self.dice.pick(scope.smalls)}[{self.dice.pick(['0', '-1'])}]"
        body = self.body(inner, depth + 1, self.dice.number(1, 2))
        return [
            Block(E(f"while {place} < {self.dice.number(2, 5)}"), body, first=(f"{place} += 1",), loop=True)
        ]

    def _bool_store(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        if not scope.bools or d.chance(0.15):
            name = self.names.new("B")
            size = E("len({0})", (E(d.pick(scope.vectors)),)) if scope.vectors else E("3")
            scope.bools.append(name)
            return [Line(E(f"{name} = np.{d.pick(['zeros', 'ones'])}({{0}}, dtype=np.bool_)", (size,)))]
        place = self.write.bool_element(scope)
        if d.chance(0.3):
            op = d.pick(["{0} = not {1}", "{0} ^= {1}", "{0} |= {1}", "{0} = {0} and {1}", "{0} &= {1}"])
            return [Line(E(op, (place, self.write.bool_element(scope))))]
        return [Line(E("{0} = {1}", (place, self.write.condition(scope))))]

    def _flag(self, scope: Scope, depth: int) -> list[Statement]:
        """A bool under a name."""
        name = self.names.new("o")
        line = Line(E(f"{name} = {{0}}", (self.write.condition(scope),)))
        scope.flags.append(name)
        return [line]
