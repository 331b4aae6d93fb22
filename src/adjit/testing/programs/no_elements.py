"""Random statements of arrays that may have no element: slices without extent, loops of no turn, guards, updates."""

from __future__ import annotations

from adjit.testing.programs.nodes import Block, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.simple import Simple

_SLICES = (
    "{0}[{1} % (len({0}) + 1):]",
    "{0}[:{1} % (len({0}) + 1)]",
    "{0}[len({0}):]",
    "{0}[2:1]",
    "{0}[:0]",
    "{0}[{1} % 3:{2} % 3]",
    "{0}[{1} % (len({0}) + 1)::-1]",
    "{0}[::-1]",
    "{0}[1:-1]",
)

_SHIFTS = (
    (":-1", "1:"),
    ("1:", ":-1"),
    (":-2", "2:"),
    ("2:", ":-2"),
    ("1:-1", "2:"),
    ("1:-1", ":-2"),
    ("::-1", ":"),
    ("1:", "-2::-1"),
    (":0:-1", ":-1"),
    (":0:-1", "1:"),
)
"""Pairs of slices of one extent, whatever the array's."""


class NoElements(Simple):
    """Writes statements of arrays of any extent, none or one too."""

    def _loose_view(self, scope: Scope, depth: int) -> list[Statement]:
        """A slice that may have no extent, or a fresh array of as many."""
        d = self.dice
        holders = scope.vectors + scope.loose
        old = scope.assignable(scope.loose)
        name = d.pick(old) if old and d.chance(0.3) else self.names.new("E")
        numbers = self.write.grouped(scope), self.write.grouped(scope)
        if holders and d.chance(0.75):
            value = E(d.pick(_SLICES), (E(d.pick(holders)), *numbers))
        elif holders and d.chance(0.3):
            value = E(
                "({0} if {1} else {2})", (E(d.pick(holders)), self.write.condition(scope), E(d.pick(holders)))
            )
        else:
            value = E(d.pick(["np.zeros({0} % 3)", "np.ones({0} % 2)", "np.zeros(0)"]), numbers)
        if name not in scope.loose:
            scope.loose.append(name)
        return [Line(E(f"{name} = {{0}}", (value,)))]

    def _loose_loop(self, scope: Scope, depth: int) -> list[Statement]:
        """A loop over the places or the elements of such an array, or what a guard lets through."""
        d = self.dice
        if depth > 2 or not (scope.loose or scope.loose_matrices):
            return []
        if scope.loose_matrices and (not scope.loose or d.chance(0.3)):
            return self._loose_rows(scope, depth)
        name = d.pick(scope.loose)
        inner = scope.inner()
        inner.loose.remove(name)
        inner.vectors.append(name)
        if d.chance(0.3):
            head = d.pick(["if len({0}) > 0", "if {0}.size", "if {0}.shape[0] != 0"])
            orelse = self.body(scope.inner(), depth + 1, 1) if d.chance(0.3) else ()
            return [Block(E(head, (E(name),)), self.body(inner, depth + 1, d.number(1, 2)), orelse)]
        inner.loops += 1
        counter, z = self.names.new("i"), self.names.new("z")
        if name in scope.fixed and d.chance(0.5):
            inner.floats.append(z)
            head = f"for {z} in {name}"
            if d.chance(0.5):
                inner.ints.append(counter)
                inner.over[counter] = name
                head = f"for {counter}, {z} in enumerate({name})"
        else:
            inner.ints.append(counter)
            inner.over[counter] = name
            head = f"for {counter} in " + d.pick([f"range(len({name}))", f"range(len({name}) - 1, -1, -1)"])
        orelse = self.body(scope.inner(), depth + 1, 1) if d.chance(0.1) else ()
        return [Block(E(head), self.body(inner, depth + 1, d.number(1, 3)), orelse, loop=True)]

    def _loose_rows(self, scope: Scope, depth: int) -> list[Statement]:
        name = self.dice.pick(scope.loose_matrices)
        i, j = self.names.new("i"), self.names.new("i")
        inner = scope.inner()
        inner.ints += [i, j]
        inner.over |= {i: name, j: f"{name}.shape[1]"}
        inner.loose_matrices.remove(name)
        inner.matrices.append(name)
        inner.loops += 2
        body = self.body(inner, min(depth + 2, 3), self.dice.number(1, 2))
        rows = Block(E(f"for {j} in range({name}.shape[1])"), body, loop=True)
        return [Block(E(f"for {i} in range(len({name}))"), (rows,), loop=True)]

    def _loose_update(self, scope: Scope, depth: int) -> list[Statement]:
        """Every element of such an array at once."""
        holders = scope.loose + scope.loose_matrices
        if not holders:
            return []
        op = self.dice.pick(["{0} *= {1}", "{0} += {1}", "{0}[:] = {1}", "{0}[1:] -= {1}"])
        return [Line(E(op, (E(self.dice.pick(holders)), self.write.number(scope, 1))))]

    def _shifted_update(self, scope: Scope, depth: int) -> list[Statement]:
        """A part of an array from another part of it, of whatever extent: `x[:-1] += np.sin(x[1:])`."""
        made = self._shifted(scope)
        return [made[0]] if made else []

    def _shifted_fresh(self, scope: Scope, depth: int) -> list[Statement]:
        """The same into a fresh array of the same shape."""
        name = self.names.new("t")
        made = self._shifted(scope, name)
        if made is None:
            return []
        line, of = made
        if of in scope.shapes:
            scope.shapes[name] = scope.shapes[of]
        return [Line(E(f"{name} = np.{self.dice.pick(['zeros', 'ones'])}({of}.shape)")), line]

    def _shifted(self, scope: Scope, target: str | None = None) -> tuple[Line, str] | None:
        """The store, and the array that it reads."""
        d = self.dice
        ranks = dict.fromkeys(scope.vectors + scope.loose, 1) | dict.fromkeys(scope.matrices, 2)
        ranks |= dict.fromkeys(scope.loose_matrices, 2) | {a: len(n) for a, n in scope.shapes.items()}
        if not ranks:
            return None
        name = d.pick(list(ranks))
        pairs = [d.pick(_SHIFTS) if k == 0 or d.chance(0.6) else (":", ":") for k in range(ranks[name])]
        d.rng.shuffle(pairs)
        left, right = (", ".join(p[side] for p in pairs) for side in (0, 1))
        value = d.pick(
            ["np.sin({0})", "0.5 * {0}", "{0}", "np.cos({0})", "({0} - 0.3 * {1})", "0.6 * {0} * {1}"]
        )
        parts = E(f"{name}[{right}]"), E(f"{name}[{left}]")
        op = d.pick(["+=", "+=", "-=", "*=", "="])
        return Line(E(f"{target or name}[{left}] {op} {value}", parts)), name

    def _loose_size(self, scope: Scope, depth: int) -> list[Statement]:
        """The extent of such an array as an integer."""
        if not scope.loose:
            return []
        name = self.names.new("k")
        scope.ints.append(name)
        return [Line(E(f"{name} = len({self.dice.pick(scope.loose)})"))]
