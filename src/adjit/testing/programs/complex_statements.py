"""Random statements of complex numbers: scalars, stores and updates through views, arrays under other names."""

from __future__ import annotations

from adjit.testing.programs.nodes import Block, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.simple import Simple

_UPDATES = (
    "{0} = {1}",
    "{0} = {1}",
    "{0} += {1}",
    "{0} -= 0.3 * {1}",
    "{0} *= {1}",
    "{0} = {0}.conjugate() * {1}",
    "{0} /= 2.5 + 0.2 * {1}",
)
_VIEWS = ("[::-1]", "[::2]", "[{1} % len({0}):]", "[:{1} % len({0}) + 1]", "[-1:]", "[:]", ".copy()")


class ComplexStatements(Simple):
    """Writes statements of complex numbers."""

    def _complex_scalar(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        value = self.write.complex_number(scope, 2)
        old = scope.assignable(scope.complexes)
        if old and d.chance(0.6):
            return [Line(E(d.pick([*_UPDATES, "{0} = 0.5 * {0} + {1}"]), (E(d.pick(old)), value)))]
        name = self.names.new("d")
        scope.complexes.append(name)
        return [Line(E(f"{name} = {{0}}", (value if d.chance(0.85) else E("0j"),)))]

    def _complex_store(self, scope: Scope, depth: int) -> list[Statement]:
        place = self.write.complex_element(scope)
        if place is None:
            return []
        if self.dice.chance(0.15):
            return [Line(E("{0} = {1}", (place, self.write.number(scope, 1))))]
        return [Line(E(self.dice.pick(_UPDATES), (place, self.write.complex_number(scope, 2))))]

    def _complex_view(self, scope: Scope, depth: int) -> list[Statement]:
        """A view, a copy, a choice or a fresh array; sometimes two names are swapped."""
        d, group = self.dice, scope.complex_arrays
        old = scope.assignable(group)
        if len(old) > 1 and d.chance(0.2):
            a, b = d.pick(old), d.pick(old)
            return [Line(E(f"{a}, {b} = {b}, {a}"))] if a != b else []
        name = d.pick(old) if old and d.chance(0.25) else self.names.new("y")
        if group and d.chance(0.65):
            value = E("{0}" + d.pick(_VIEWS), (E(d.pick(group)), self.write.grouped(scope)))
        elif group and d.chance(0.4):
            value = E(
                "({0} if {1} else {2})", (E(d.pick(group)), self.write.condition(scope), E(d.pick(group)))
            )
        else:
            kind = d.pick(["np.zeros", "np.ones"])
            value = E(f"{kind}({{0}} % 3 + 1, dtype=np.complex128)", (self.write.grouped(scope),))
        if name not in group:
            group.append(name)
        return [Line(E(f"{name} = {{0}}", (value,)))]

    def _complex_loop(self, scope: Scope, depth: int) -> list[Statement]:
        """A sum over an array that is written on the way, element by element or by number."""
        d = self.dice
        if not scope.complex_arrays or depth > 1:
            return []
        array, total = d.pick(scope.complex_arrays), self.names.new("d")
        start = Line(E(f"{total} = {{0}}", (self.write.complex_atom(scope),)))
        scope.complexes.append(total)
        inner = scope.inner()
        inner.loops += 1
        if d.chance(0.3):
            item, held = self.names.new("d"), self.names.new("y")
            inner.complexes.append(item)
            made = Line(E(f"{held} = {array}[::{d.pick([1, -1, 2])}]"))
            scope.complex_arrays.append(held)
            scope.fixed.add(held)
            inner = scope.inner()
            inner.complexes.append(item)
            inner.loops += 1
            head, before = f"for {item} in {held}", [start, made]
        else:
            counter = self.names.new("i")
            inner.ints.append(counter)
            inner.over[counter] = array
            head, before = f"for {counter} in range(len({array}))", [start]
        step = Line(E(f"{total} = 0.6 * {total} + {{0}}", (self.write.complex_number(inner, 1),)))
        return [*before, Block(E(head), (*self.body(inner, depth + 1, d.number(1, 2)), step), loop=True)]
