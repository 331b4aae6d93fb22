"""Random parallel loops and kernels, race-free by construction.

A turn writes only its own elements, of arrays that nothing else in the loop reaches, and updates by `aj.atomic_add`
what the loop does not read. Names may share memory (views, calls), so what is written is a fresh array that has no
other name yet, or an argument of the program that is never rebound, and then what is read are others of these. The
plain form is the loop in order.

The index of a parallel loop is e0, e1, ...

What keeps turns apart (an own place, a guard of one colour) is text without parts: shrinking cannot take it away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.testing.programs.array_statements import ArrayStatements
from adjit.testing.programs.nodes import Block, Kernel, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Dice, Scope

PARALLEL_WEIGHTS: dict[str, float] = {"prange": 14, "colours": 2, "launch": 9, "steps": 3}

TURN_WEIGHTS: dict[str, float] = {
    "own": 8,
    "reduce": 4,
    "atomic": 3,
    "scalar": 6,
    "integer": 2,
    "branch": 4,
    "for": 4,
    "while": 1,
    "exit": 1.5,
    "little": 1.5,
    "comprehension": 0.3,
}
"""What a turn is made of."""


@dataclass
class Turn:
    """What one parallel loop may write beside its own places: sums by name, arrays that are updated atomically.

    loops: how many loops there are around its body, itself among them.
    """

    sums: tuple[tuple[str, str], ...]
    updated: tuple[str, ...]
    loops: int
    kernel: bool = False


class ParallelStatements(ArrayStatements):
    """Writes parallel loops and launches of kernels; `Statements` writes what is in a turn."""

    def __init__(self, dice: Dice, weights: dict[str, float], budget: int, prefix: str = ""):
        super().__init__(dice, weights, budget)
        self.kernels: list[Kernel] = []
        self.turn: Turn | None = None
        self.reduces = False
        self._prefix = prefix

    def body(self, scope: Scope, depth: int, length: int) -> tuple[Statement, ...]:
        """About `length` statements."""
        raise NotImplementedError

    # --- arrays that a loop may write and read

    def _fresh(self, like: str) -> tuple[str, list[Statement]]:
        """A new array as long as another one, which has no other name."""
        name = self.names.new("w")
        made = self.dice.pick([f"np.zeros(len({like}))", f"np.ones(len({like}))", f"{like}.copy()"])
        return name, [Line(E(f"{name} = {made}"))]

    def _operands(self, scope: Scope) -> tuple[str, list[Statement], Scope, str] | None:
        """An array to write, what makes it, the scope of what may be read beside it, and one that is as long."""
        d, inner = self.dice, self._readable(scope)
        if len(scope.steady) > 1 and d.chance(0.4):
            target = d.pick(scope.steady)
            inner.vectors = [v for v in scope.steady if v != target]
            inner.steady, inner.matrices = tuple(inner.vectors), []
            return target, [], inner, ""
        if not scope.vectors:
            return None
        like = d.pick(scope.vectors)
        target, made = self._fresh(like)
        return target, made, inner, like

    @staticmethod
    def _readable(scope: Scope) -> Scope:
        """The scope of a turn that may read all there is and assign nothing of it."""
        inner = scope.inner()
        inner.callees = [
            c for c in scope.callees if c.returns == "float" and set(c.params) <= {"float", "int"}
        ]
        inner.local_functions, inner.lists = [], list(scope.lists)
        inner.fixed |= {*scope.floats, *scope.ints}
        inner.shapes, inner.masks = {}, {}
        return inner

    def _sums(self, scope: Scope) -> tuple[list[Statement], tuple[tuple[str, str], ...]]:
        """Scalars that the loop reduces into, and how; what they start from."""
        d = self.dice
        out: list[Statement] = []
        sums: list[tuple[str, str]] = []
        for _ in range(d.pick([0, 0, 1, 1, 2])):
            kind = d.pick(["+", "+", "+", "*", "max", "min", "count"])
            name = self.names.new("k" if kind == "count" else "s")
            start = d.pick(
                {"+": ["0.0", "0.5"], "*": ["1.0", "-0.7"], "count": ["0", "1"]}.get(kind, ["0.13"])
            )
            out.append(Line(E(f"{name} = {start}")))
            sums.append((name, kind))
            self.reduces = self.reduces or kind in "+*"
        return out, tuple(sums)

    def _updated(self, scope: Scope) -> tuple[list[Statement], tuple[str, ...]]:
        """An array that the loop updates atomically."""
        if not scope.vectors or not self.dice.chance(0.35):
            return [], ()
        name, made = self._fresh(self.dice.pick(scope.vectors))
        return made, (name,)

    # --- turns

    def _inside(self, scope: Scope, depth: int, turn: Turn) -> tuple[Statement, ...]:
        """The body of a parallel loop."""
        outer, weights, budget = self.turn, self.weights, self.budget
        d = self.dice
        dropped = {k for k in TURN_WEIGHTS if k != "own" and d.chance(0.25)}
        self.turn, self.budget = turn, d.number(2, 6)
        self.weights = {k: w for k, w in TURN_WEIGHTS.items() if k not in dropped}
        try:
            ends = [*self._own(scope, depth), *self._reduce(scope, depth), *self._atomic(scope, depth)]
            return (*self.body(scope, depth, d.number(1, 4)), *ends)
        finally:
            self.turn, self.weights, self.budget = outer, weights, budget

    def _enter(self, inner: Scope, index: str, target: str, place: str, like: str) -> None:
        """What is known in a turn: its index, its own place, and the array that the index is in bounds of."""
        inner.ints.append(index)
        inner.fixed.add(index)
        inner.own.append(f"{target}[{place}]")
        inner.loops += 1
        inner.around, inner.close = (index, like), self.dice.chance(0.35)
        if like:
            inner.over[index] = like

    def _own(self, scope: Scope, depth: int) -> list[Statement]:
        """A store into a place of the turn's own."""
        d = self.dice
        if not scope.own:
            return []
        value = self.write.number(scope, 2)
        form = d.pick(
            [
                "{0} = {1}",
                "{0} = math.sin({1})",
                "{0} += {1}",
                "{0} = math.tanh({0} + {1})",
                "{0} *= math.cos({1})",
                "{0} = 0.5 * {0} - {1}",
            ]
        )
        return [Line(E(form, (E(d.pick(scope.own)), value)))]

    def _reduce(self, scope: Scope, depth: int) -> list[Statement]:
        """One step of a reduction."""
        d = self.dice
        if self.turn is None or not self.turn.sums:
            return []
        name, kind = d.pick(self.turn.sums)
        if kind == "count":
            return [Line(E(f"{name} += {d.pick(['1', '1', '2'])}"))]
        value = self.write.number(scope, 2)
        if kind == "+":
            return [Line(E(f"{name} {d.pick(['+=', '-='])} {{0}}", (value,)))]
        if kind == "*":
            return [Line(E(f"{name} *= math.cos({{0}})", (value,)))]
        args = d.pick([f"{name}, {{0}}", f"{{0}}, {name}"])
        return [Line(E(f"{name} = {kind}({args})", (value,), f"{name} = _probe.{kind}({args})"))]

    def _atomic(self, scope: Scope, depth: int) -> list[Statement]:
        """An update that turns may meet in."""
        d = self.dice
        if self.turn is None or not self.turn.updated:
            return []
        name = d.pick(self.turn.updated)
        at = self.write.index(scope, name, f"len({name})")
        value = self.write.number(scope, 2)
        plain = f"{name}[{{0}}] += {{1}}"
        return [Line(E(f"aj.atomic_add({name}, {{0}}, {{1}})", (at, value), plain, plain))]

    def _little(self, scope: Scope, depth: int) -> list[Statement]:
        """A small array of the turn's own."""
        d = self.dice
        name, i = self.names.new("w"), self.names.new("i")
        inner = scope.inner()
        inner.ints.append(i)
        size = d.number(1, 3)
        made = f"{name} = np.{d.pick(['zeros', 'empty'])}({size})"
        fill = Line(E(f"{name}[{i}] = {{0}}", (self.write.number(inner, 1),)))
        scope.vectors.append(name)
        scope.own += [f"{name}[0]", f"{name}[-1]"]
        return [Line(E(made)), Block(E(f"for {i} in range({size})"), (fill,), loop=True)]

    # --- loops

    def parallel(self, scope: Scope) -> list[Statement]:
        """A parallel loop or a launch, as the last statement of a program."""
        return self._launch(scope, 0) if self.dice.chance(0.25) else self._prange(scope, 0)

    def _after(self, scope: Scope, sums: tuple[tuple[str, str], ...], arrays: tuple[str, ...]) -> None:
        """What the loop made may be used from now on."""
        for name, kind in sums:
            (scope.ints if kind == "count" else scope.floats).append(name)
        scope.vectors += [name for name in arrays if name not in scope.vectors]

    def _prange(self, scope: Scope, depth: int) -> list[Statement]:
        """A parallel loop over the elements of an array, or over the rows of a matrix."""
        d = self.dice
        if scope.nested or self.turn is not None:
            return []
        if scope.matrices and d.chance(0.25):
            return self._rows(scope, depth)
        found = self._operands(scope)
        if found is None:
            return []
        target, made, inner, like = found
        i = self.names.new("e")
        span, place = d.pick(
            [
                (f"prange(len({target}))", i),
                (f"prange(len({target}))", i),
                (f"prange({target}.shape[0])", f"len({target}) - 1 - {i}"),
                (f"prange(1, len({target}))", i),
                (f"prange(1, len({target}))", f"{i} - 1"),
                (f"prange(len({target}) - 1)", i),
                (f"prange(len({target}) - 1)", f"{i} + 1"),
                (f"prange(1, len({target}) - 1)", i),
                (f"prange(len({target}) // 2)", f"2 * {i}"),
                (f"prange(len({target}) // 2)", f"2 * {i} + 1"),
            ]
        )
        self._enter(inner, i, target, place, like)
        return [*made, *self._loop(scope, inner, depth, span, i, (target,))]

    def _loop(
        self, scope: Scope, inner: Scope, depth: int, span: str, index: str, written: tuple[str, ...]
    ) -> list[Statement]:
        starts, sums = self._sums(scope)
        more, updated = self._updated(scope)
        body = self._inside(inner, depth + 1, Turn(sums, updated, inner.loops))
        self._after(scope, sums, (*written, *updated))
        plain = span.replace("prange(", "range(")
        header = E(f"for {index} in {span}", (), None, f"for {index} in {plain}")
        return [*starts, *more, Block(header, body, loop=True)]

    def _rows(self, scope: Scope, depth: int) -> list[Statement]:
        """A turn for each row of a fresh matrix, which may reach all of its row."""
        d = self.dice
        m, i, j = self.names.new("m"), self.names.new("e"), self.names.new("i")
        source = d.pick(scope.matrices)
        made: list[Statement] = [Line(E(f"{m} = {source}.copy()"))]
        inner = self._readable(scope)
        self._enter(inner, i, m, f"{i}, {i} % {m}.shape[1]", source)
        inner.own.append(f"{m}[{i}, -1]")
        cell = inner.inner()
        cell.ints.append(j)
        cell.fixed.add(j)
        place = E(f"{m}[{i}, {j}]")
        over = Block(
            E(f"for {j} in range({m}.shape[1])"),
            (Line(E(d.pick(["{0} = {1}", "{0} += {1}"]), (place, self.write.number(cell, 2)))),),
            loop=True,
        )
        out = self._loop(scope, inner, depth, f"prange({m}.shape[0])", i, ())
        loop = out[-1]
        assert isinstance(loop, Block)
        scope.matrices.append(m)
        return [*made, *out[:-1], replace(loop, body=(over, *loop.body))]

    def _colours(self, scope: Scope, depth: int) -> list[Statement]:
        """Half sweeps in place: a turn of one colour reads its neighbours, which are of the other."""
        d = self.dice
        if scope.nested or self.turn is not None or not scope.vectors:
            return []
        x, made = self._fresh(d.pick(scope.vectors))
        i, c, t = self.names.new("e"), self.names.new("i"), self.names.new("i")
        inner = scope.inner()
        inner.ints.append(i)
        term = self.write.atom(inner)
        update = d.pick(
            [
                f"{x}[{i}] = 0.3 * {x}[{i}] + 0.4 * math.sin({x}[{i} - 1] * {x}[{i} + 1]) + 0.2 * {{0}}",
                f"{x}[{i}] += 0.2 * ({x}[{i} - 1] - {x}[{i}] * {x}[{i} + 1]) * {{0}}",
            ]
        )
        guard = Block(E(f"if ({i} + {c}) % 2 == 0"), (Line(E(update, (term,))),), kept=True)
        span = f"prange(1, len({x}) - 1)"
        header = E(f"for {i} in {span}", (), None, f"for {i} in {span[1:]}")
        sweep = Block(E(f"for {c} in range(2)"), (Block(header, (guard,), loop=True),), loop=True)
        scope.vectors.append(x)
        if not d.chance(0.4):
            return [*made, sweep]
        return [*made, Block(E(f"for {t} in range({d.number(1, 3)})"), (sweep,), loop=True)]

    def _steps(self, scope: Scope, depth: int) -> list[Statement]:
        """A new state from the old one, turn by turn; the names change places."""
        d = self.dice
        if scope.nested or self.turn is not None or not scope.vectors:
            return []
        x, made = self._fresh(d.pick(scope.vectors))
        new, i, t = self.names.new("w"), self.names.new("e"), self.names.new("i")
        inner = self._readable(scope)
        inner.vectors = [*inner.vectors, x, x]
        self._enter(inner, i, new, i, x)
        body = self._inside(inner, depth + 2, Turn((), (), inner.loops))
        header = E(f"for {i} in prange(len({x}))", (), None, f"for {i} in range(len({x}))")
        swap = Line(E(f"{x}, {new} = {new}, {x}"))
        steps = Block(
            E(f"for {t} in range({d.number(1, 3)})"), (Block(header, body, loop=True), swap), loop=True
        )
        scope.vectors += [x, new]
        return [*made, Line(E(f"{new} = 0.5 * {x}")), steps]

    # --- kernels

    def _launch(self, scope: Scope, depth: int) -> list[Statement]:
        """A kernel of this launch's own, and the launch."""
        d = self.dice
        if scope.nested or self.turn is not None:
            return []
        found = self._operands(scope)
        if found is None:
            return []
        target, made, outside, like = found
        read = list(dict.fromkeys(d.pick(outside.vectors) for _ in range(d.number(1, 2)) if outside.vectors))
        floats = [d.pick(scope.floats)] if scope.floats and d.chance(0.6) else []
        more, updated = self._updated(scope)
        name = f"{self._prefix}{self.names.new('kernel')}"
        indices = [d.pick(scope.indices)] if scope.indices and d.chance(0.5) else []
        inside = Scope(
            floats=[f"z{k}" for k in range(len(floats))],
            vectors=[f"x{k}" for k in range(len(read))],
            indices=["at" for _ in indices],
        )
        inside.fixed |= set(inside.floats)
        near = f"x{read.index(like)}" if like in read else ""
        self._enter(inside, "i", "out", "i", near)
        params = ["out", *inside.vectors, *inside.floats, *inside.indices, *(["sums"] if updated else [])]
        body = self._inside(inside, 1, Turn((), ("sums",) if updated else (), 1, kernel=True))
        guard = (Block(E("if i >= len(out)"), (Line(E("return")),), kept=True),)
        given = ", ".join([target, *read, *floats, *indices, *updated])
        self.kernels.append(Kernel(name, tuple(params), guard + body))
        many = f"len({target}) + {d.number(0, 2)}"
        plain = f"for item in range({many}): {name}(item, {given})"
        self._after(scope, (), (target, *updated))
        return [*made, *more, Line(E(f"{name}({given}, ndrange={many})", (), plain, plain))]
