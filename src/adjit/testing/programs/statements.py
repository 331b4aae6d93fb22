"""Random statements: what `simple` and `special` write, in loops and branches of every kind, with exits."""

from __future__ import annotations

from collections.abc import Callable

from adjit.testing.programs.complex_statements import ComplexStatements
from adjit.testing.programs.kinds import COMPOUND as COMPOUND
from adjit.testing.programs.narrow_integers import NarrowIntegers
from adjit.testing.programs.no_elements import NoElements
from adjit.testing.programs.nodes import Block, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.parallel import ParallelStatements
from adjit.testing.programs.range_values import RangeValues
from adjit.testing.programs.recurrences import Recurrences
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.small_integers import SmallIntegers

WEIGHTS: dict[str, float] = {
    "store": 10,
    "update": 6,
    "scalar": 8,
    "integer": 3,
    "index_store": 2,
    "view": 3,
    "swap": 2,
    "alias": 2,
    "choose": 2,
    "scratch": 3,
    "copy": 1,
    "call": 5,
    "closure": 2.5,
    "closure_store": 1,
    "tuple": 1,
    "swap_elements": 1,
    "inner_gradient": 0.8,
    "comprehension": 1,
    "matrix": 3,
    "advance": 1,
    "raise": 0.3,
    "branch": 5,
    "for": 8,
    "for_elements": 1.5,
    "while": 3,
    "exit": 3,
}


class Statements(
    ParallelStatements, ComplexStatements, NoElements, RangeValues, Recurrences, SmallIntegers, NarrowIntegers
):
    """Writes the body of one function."""

    def body(self, scope: Scope, depth: int, length: int) -> tuple[Statement, ...]:
        """About `length` statements."""
        out: list[Statement] = []
        while len(out) < length and self.budget > 0:
            self.budget -= 1
            made = self.statement(scope, depth)
            out += made
            if made and isinstance(made[-1], Line) and made[-1].expression.text in ("break", "continue"):
                break
        return tuple(out)

    def statement(self, scope: Scope, depth: int) -> list[Statement]:
        """One random statement (with what it needs before it), or nothing."""
        weights = {k: w for k, w in self.weights.items() if depth < 3 or k not in COMPOUND}
        maker: Callable[[Scope, int], list[Statement]] = getattr(self, "_" + self.dice.weighted(weights))
        return maker(scope, depth)

    # --- control flow

    def _branch(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        condition = self.write.condition(scope)
        joined = self.names.new("s") if d.chance(0.25) else None
        sides = []
        for _ in range(2 if joined or d.chance(0.5) else 1):
            inner = scope.inner()
            body = self.body(inner, depth + 1, d.number(1, 2))
            if joined and not _leaves(body):
                body += (Line(E(f"{joined} = {{0}}", (self.write.number(inner, 1),))),)
            sides.append(body)
        if joined:
            scope.floats.append(joined)
        return [Block(E("if {0}", (condition,)), sides[0], sides[1] if len(sides) > 1 else ())]

    def _range(self, scope: Scope, counter: str) -> tuple[E, str | None]:
        d = self.dice
        roll = d.number(0, 11)
        if roll < 5 and scope.vectors:
            v = d.pick(scope.vectors)
            form = d.pick(
                [
                    "range(len({0}))",
                    "range({0}.shape[0])",
                    "range(1, len({0}))",
                    "range(len({0}) - 1, -1, -1)",
                ]
            )
            return E(form, (E(v),)), v
        if roll < 7 and scope.matrices:
            m = d.pick(scope.matrices)
            axis = d.number(0, 1)
            return E(f"range({m}.shape[{axis}])"), f"{m}.shape[1]" if axis else m
        if roll == 7:
            return E(
                "range({0} % 4, {1} % 7, 2)", (self.write.grouped(scope), self.write.grouped(scope))
            ), None
        if roll == 8:
            return E(
                "range({0} % 6, {1} % 3 - 1, -1)", (self.write.grouped(scope), self.write.grouped(scope))
            ), None
        if roll == 9:
            return E("range({0} % 3, {1} % 6)", (self.write.grouped(scope), self.write.grouped(scope))), None
        return E("range({0} % 5)", (self.write.grouped(scope),)), None

    def _for(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        counter = self.names.new("i")
        span, over = self._range(scope, counter)
        inner = scope.inner()
        inner.ints.append(counter)
        if over:
            inner.over[counter] = over
        inner.loops += 1
        body = self.body(inner, depth + 1, d.number(1, 4))
        if d.chance(0.08):
            body = (Line(E(f"{counter} = ({counter} * 2 + 1) % 3")), *body)
        orelse = self.body(scope.inner(), depth + 1, 1) if d.chance(0.08) else ()
        if span.text in ("range(len({0}))", "range({0}.shape[0])") and d.chance(0.3):
            scope.ints.append(counter)
        return [Block(E(f"for {counter} in {{0}}", (span,)), body, orelse, loop=True)]

    def _for_elements(self, scope: Scope, depth: int) -> list[Statement]:
        """A loop over elements, with enumerate or zip."""
        d = self.dice
        if not scope.steady:
            return []
        a, b = d.pick(scope.steady), d.pick(scope.steady)
        z, u, i = self.names.new("z"), self.names.new("z"), self.names.new("i")
        inner = scope.inner()
        inner.loops += 1
        inner.floats.append(z)
        form = d.number(0, 2)
        if form == 0:
            header = f"for {z} in {a}"
        elif form == 1:
            header = f"for {i}, {z} in enumerate({a})"
            inner.ints.append(i)
            inner.over[i] = a
        else:
            header = f"for {z}, {u} in zip({a}, {b})"
            inner.floats.append(u)
        return [Block(E(header), self.body(inner, depth + 1, d.number(1, 3)), loop=True)]

    def _while(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        counter = self.names.new("n")
        bound = E("{0} % 6", (self.write.grouped(scope),))
        inner = scope.inner()
        inner.ints.append(counter)
        inner.fixed.add(counter)
        inner.loops += 1
        condition = self.write.condition(scope)
        roll = d.number(0, 3)
        first: tuple[str, ...] = (f"{counter} += 1",)
        if roll == 0:
            header = E("while True")
            stop = Block(E(f"if {counter} >= {{0}}", (bound,)), (Line(E("break")),))
        else:
            stop = None
            header = E(f"while {counter} < {{0}}", (bound,))
            if roll == 1:
                header = E(f"while {counter} < {{0}} and {{1}}", (bound, condition))
        body = self.body(inner, depth + 1, d.number(1, 3))
        if stop is not None:
            first = (*first, f"if {counter} > 5:", "    break")
            body = (stop, *body)
        orelse = self.body(scope.inner(), depth + 1, 1) if d.chance(0.08) else ()
        scope.ints.append(counter)
        scope.fixed.add(counter)
        return [Block(header, body, orelse, (f"{counter} = 0",), first, loop=True)]

    def _exit(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        if self.turn is not None:
            ways = ["continue"] if scope.loops == self.turn.loops else ["break", "continue"]
            ways = ["return"] if self.turn.kernel and scope.loops == 1 else ways
            ways += ["return"] if self.turn.kernel else []
            return [Block(E("if {0}", (self.write.condition(scope),)), (Line(E(d.pick(ways))),))]
        if scope.loops == 0 and d.chance(0.8):
            return []
        condition = self.write.condition(scope)
        if scope.loops and d.chance(0.7):
            return [Block(E("if {0}", (condition,)), (Line(E(d.pick(["break", "continue"]))),))]
        return [Block(E("if {0}", (condition,)), (self.result(scope),))]

    def result(self, scope: Scope) -> Line:
        """A return statement of the function's kind."""
        if scope.returns == "none":
            return Line(E("return"))
        if scope.returns == "complex":
            return Line(E("return {0}", (self.write.complex_number(scope, 2),)))
        if scope.returns == "view":
            return Line(E("return {0}", (self.write.view(scope) or E("np.zeros(2)"),)))
        if scope.returns == "both":
            view = self.write.view(scope) or E("np.zeros(2)")
            return Line(E("return {0}, 1.0 * {1}", (view, self.write.number(scope, 2))))
        values = [self.write.number(scope, 2) for _ in range(2 if scope.returns == "pair" else 1)]
        return Line(E("return " + ", ".join(["0.5 * {0}", "1.0 * {1}"][: len(values)]), tuple(values)))


def _leaves(body: tuple[Statement, ...]) -> bool:
    last = body[-1] if body else None
    return isinstance(last, Line) and last.expression.text.split()[0] in ("break", "continue", "return")
