"""Random recurrences: turns that read what the turn before stored, in rows and names that move, and differences."""

from __future__ import annotations

from adjit.testing.programs.nodes import Block, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.simple import Simple

_ROUNDS = ("({0} + 1) % {1}", "({0} + 2) % {1}", "{1} - 1 - {0}", "{0}")


class Recurrences(Simple):
    """Writes loops whose turns depend on each other."""

    def _moving_names(self, scope: Scope, depth: int) -> list[Statement]:
        """Two arrays of which each turn writes one, and which change names in some turns."""
        d = self.dice
        old = scope.assignable(scope.vectors)
        if len(old) < 2 or depth > 2:
            return []
        a, b = d.pick(old), d.pick(old)
        if a == b:
            return []
        i, inner = self.names.new("i"), scope.inner()
        read = d.pick([f"{a}[{i} - 1]", f"{a}[{i} - 1]", f"{b}[{i} - 1]", f"{b}[{i}]"])
        value = E(f"0.4 * {read} + {{0}}", (self.write.number(inner, 1),))
        body: list[Statement] = [Line(E(f"{a}[{i}] = {{0}}", (value,)))]
        swap = Line(E(f"{a}, {b} = {b}, {a}"))
        body.append(Block(E(f"if {i} % 3 == 1"), (swap,)) if d.chance(0.3) else swap)
        return [
            self._again(Block(E(f"for {i} in range(1, min(len({a}), len({b})))"), tuple(body), loop=True))
        ]

    def _moving_row(self, scope: Scope, depth: int) -> list[Statement]:
        """A matrix of which each turn writes a place of one row; the row may be another in the next turn."""
        d = self.dice
        if not scope.matrices or depth > 2:
            return []
        m, p, i = d.pick(scope.matrices), self.names.new("k"), self.names.new("i")
        inner = scope.inner()
        read = d.pick([f"{m}[{p}, {i} - 1]", f"{m}[{p}, {i} - 1]", f"{m}[0, {i} - 1]", f"{m}[{p}, {i}]"])
        value = E(f"0.4 * {read} + {{0}}", (self.write.number(inner, 1),))
        store = Line(E(f"{m}[{p}, {i}] = {{0}}", (value,)))
        move = Line(E(f"{p} = " + d.pick(_ROUNDS).format(p, f"{m}.shape[0]")))
        loop = Block(E(f"for {i} in range(1, {m}.shape[1])"), (store, move), loop=True)
        start = Line(E(f"{p} = {{0}} % {m}.shape[0]", (self.write.grouped(scope),)))
        return [start, self._again(loop)]

    def _differences(self, scope: Scope, depth: int) -> list[Statement]:
        """The sum of what neighbours differ by, in a fresh array that may be shorter than their distance."""
        d = self.dice
        holders = scope.vectors + scope.loose
        if not holders:
            return []
        of, t, s, i = d.pick(holders), self.names.new("t"), self.names.new("s"), self.names.new("i")
        step = d.number(1, 3)
        terms = [f"({t}[{i} + {step}] - {t}[{i}]) ** 2", f"{t}[{i}] * {t}[{i} + {step}]"]
        if step > 1:
            terms.append(f"({t}[{i} + {step}] - 2.0 * {t}[{i} + 1] + {t}[{i}]) ** 2")
        term = Line(E(f"{s} += {d.pick(terms)}"))
        scope.floats.append(s)
        return [
            Line(E(f"{t} = {d.pick(['np.sin', 'np.cos', '0.5 *'])}" + (f"({of})"))),
            Line(E(f"{s} = 0.1")),
            Block(E(f"for {i} in range(len({t}) - {step})"), (term,), loop=True),
        ]

    def _sweep(self, scope: Scope, depth: int) -> list[Statement]:
        """A fresh matrix that is swept in place, along its rows or from column to column, and what its turns add up."""
        d = self.dice
        if depth > 1:
            return []
        t, s, i, j = (self.names.new(letter) for letter in "tsij")
        rows, columns = d.pick([(9, 15), (6, 13), (11, 5)])
        made = E(f"0.3 * np.cos(1.0 * {i} + 0.7 * {j}) + 0.1 * {{0}}", (self.write.atom(scope),))
        down, right = d.chance(0.7), d.chance(0.7)
        outer, inner = d.pick([(i, j), (i, j), (j, i)])
        heads = {
            i: f"range(1, {rows - 1})" if down else f"range({rows - 2}, 0, -1)",
            j: f"range(1, {columns - 1})" if right else f"range({columns - 2}, 0, -1)",
        }
        before = f"{t}[{i}, {j} - 1]" if right else f"{t}[{i}, {j} + 1]"
        own = [f"{t}[{i}, {j}]", before, f"np.sin({t}[{i}, {j}])"]
        near = (
            own
            if outer == j
            else [f"{t}[{i} {a}, {j} {b}]" for a in ("- 1", "+ 1") for b in ("- 1", "+ 0", "+ 1")]
        )
        terms = f"0.4 * {before} + 0.2 * {d.pick(near)} * {d.pick([*own, '1.0'])} - 0.1 * {d.pick(near)}"
        body = [Line(E(f"{t}[{i}, {j}] = {terms}"))]
        if d.chance(0.4):
            body.append(Line(E(f"{s} {d.pick(['+= 0.1 *', '= 0.9 * ' + s + ' + 0.1 *'])} {t}[{i}, {j}]")))
        around = [Line(E(f"{s} += 0.01 * {t}[0, 0]"))] if d.chance(0.2) else []
        sweep = Block(
            E(f"for {outer} in {heads[outer]}"),
            (*around, Block(E(f"for {inner} in {heads[inner]}"), tuple(body), loop=True)),
            loop=True,
        )
        fill = Block(
            E(f"for {j} in range({columns})"), (Line(E(f"{t}[{i}, {j}] = {{0}}", (made,))),), loop=True
        )
        at = d.pick(["-2, -2", "1, -2", "-2, 1"])
        first: list[Statement] = [
            Line(E(f"{t} = np.zeros(({rows}, {columns}))")),
            Block(E(f"for {i} in range({rows})"), (fill,), loop=True),
            Line(E(f"{s} = 0.1")),
            self._again(sweep),
            Line(E(f"{s} += {t}[{at}]")),
        ]
        scope.floats.append(s)
        return first

    def _again(self, loop: Block) -> Statement:
        """The loop, or the loop in one of a few turns."""
        if not self.dice.chance(0.4):
            return loop
        return Block(E(f"for {self.names.new('i')} in range({self.dice.number(1, 3)})"), (loop,), loop=True)
