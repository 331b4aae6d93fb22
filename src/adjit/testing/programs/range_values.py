"""Random statements of ranges as values: chosen by branches, named, remade in loops, run through once or more."""

from __future__ import annotations

from adjit.testing.programs.nodes import Block, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.simple import Simple

_OVER = (
    "range(len({0}))",
    "range(1, len({0}))",
    "range(0, len({0}), 2)",
    "range(len({0}) - 1, -1, -1)",
    "range(len({0}) - 1, 0, -2)",
    "range(len({0}) // 2)",
    "range({1} % len({0}), len({0}))",
)
_FREE = (
    "range({0} % 5)",
    "range({0} % 3, {1} % 6)",
    "range({0} % 6, {1} % 3 - 1, -1)",
    "range({0} % 4, {1} % 7, 2)",
    "range(0)",
)


class RangeValues(Simple):
    """Writes names of ranges, and loops over them."""

    def _some_range(self, scope: Scope, over: str) -> E:
        """A range over the places of an array, or any; sometimes one that has a name."""
        d = self.dice
        if over:
            return E(d.pick(_OVER), (E(over), self.write.grouped(scope)))
        if scope.ranges and d.chance(0.3):
            return E(d.pick(scope.ranges))
        return E(d.pick(_FREE), (self.write.grouped(scope), self.write.grouped(scope)))

    def _range_value(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        old = scope.assignable(scope.ranges)
        if len(old) > 1 and d.chance(0.1):
            a, b = d.pick(old), d.pick(old)
            scope.over.pop(a, None)
            scope.over.pop(b, None)
            return [Line(E(f"{a}, {b} = {b}, {a}"))] if a != b else []
        over = d.pick(scope.vectors) if scope.vectors and d.chance(0.6) else ""
        anew = bool(old) and d.chance(0.4)
        name = d.pick(old) if anew else self.names.new("e")
        first, second = self._some_range(scope, over), self._some_range(scope, over)
        condition = self.write.condition(scope)
        made = Line(E(f"{name} = {{0}}", (first,)))
        other = Line(E(f"{name} = {{0}}", (second,)))
        form = d.pick([0, 0, 1, 1, 2, 3])
        lines: list[Statement]
        if form == 0:
            lines = [Line(E(f"{name} = {{0}} if {{1}} else {{2}}", (first, condition, second)))]
        elif form == 1:
            lines = [Block(E("if {0}", (condition,)), (made,), (other,))]
        elif form == 2:
            lines = [made, Block(E("if {0}", (condition,)), (other,))]
        else:
            lines = [made]
        if anew or not over:
            scope.over.pop(name, None)
        else:
            scope.over[name] = over
        if name not in scope.ranges:
            scope.ranges.append(name)
        if d.chance(0.7) and depth < 3:
            lines += self._range_loop(scope, depth)
        return lines

    def _range_loop(self, scope: Scope, depth: int) -> list[Statement]:
        """A loop, or two, over a range that has a name; its body may bind the name again."""
        d = self.dice
        if not scope.ranges or depth > 2:
            return []
        out: list[Statement] = []
        name = d.pick(scope.ranges[-2:])
        for _ in range(2 if d.chance(0.25) else 1):
            counter = self.names.new("i")
            inner = scope.inner()
            inner.ints.append(counter)
            if name in scope.over:
                inner.over[counter] = scope.over[name]
            inner.loops += 1
            head = f"for {counter} in {name}"
            if d.chance(0.15):
                turn = self.names.new("i")
                inner.ints.append(turn)
                head = f"for {turn}, {counter} in enumerate({name})"
            body = self.body(inner, depth + 1, d.number(1, 3))
            if d.chance(0.25):
                free = self._some_range(inner, "")
                body = (*body, Line(E(f"{name} = {{0}}", (free,))))
                scope.over.pop(name, None)
            orelse = self.body(scope.inner(), depth + 1, 1) if d.chance(0.1) else ()
            out.append(Block(E(head), body, orelse, loop=True))
        return out

    def _range_length(self, scope: Scope, depth: int) -> list[Statement]:
        """How many turns a range has, as an integer; or another name of it."""
        if not scope.ranges:
            return []
        given = self.dice.pick(scope.ranges)
        if self.dice.chance(0.4):
            name = self.names.new("e")
            scope.ranges.append(name)
            return [Line(E(f"{name} = {given}"))]
        name = self.names.new("k")
        scope.ints.append(name)
        return [Line(E(f"{name} = len({given})"))]
