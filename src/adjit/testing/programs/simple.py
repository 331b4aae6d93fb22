"""Random simple statements: stores, scalars, integers, names of arrays, calls and nested functions."""

from __future__ import annotations

from adjit.testing.programs.expressions import Expressions
from adjit.testing.programs.nodes import Block, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Dice, Names, Scope


class Simple:
    """Writes the statements that hold no others; `statements.Statements` adds control flow."""

    def __init__(self, dice: Dice, weights: dict[str, float], budget: int):
        self.dice, self.weights, self.budget = dice, weights, budget
        self.names = Names()
        self.write = Expressions(dice)

    def body(self, scope: Scope, depth: int, length: int) -> tuple[Statement, ...]:
        """About `length` statements."""
        raise NotImplementedError

    # --- simple statements

    def _store(self, scope: Scope, depth: int) -> list[Statement]:
        place = self.write.element(scope)
        if place is None:
            return []
        value = self.write.number(scope, 2)
        return [
            Line(
                E(
                    self.dice.pick(["{0} = {1}", "{0} = math.tanh({1})", "{0} = math.sin({1})"]),
                    (place, value),
                )
            )
        ]

    def _update(self, scope: Scope, depth: int) -> list[Statement]:
        place = self.write.element(scope)
        if place is None:
            return []
        op = self.dice.pick(
            [
                "{0} += {1}",
                "{0} -= 0.3 * {1}",
                "{0} *= math.cos({1})",
                "{0} *= {1}",
                "{0} /= 1.2 + ({1}) ** 2",
            ]
        )
        return [Line(E(op, (place, self.write.number(scope, 1))))]

    def _scalar(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        value = self.write.number(scope, 2)
        old = scope.assignable(scope.floats)
        if old and d.chance(0.65):
            op = d.pick(
                [
                    "{0} = {1}",
                    "{0} += {1}",
                    "{0} = 0.6 * {0} + {1}",
                    "{0} = math.tanh({0} + {1})",
                    "{0} *= math.cos({1})",
                ]
            )
            return [Line(E(op, (E(d.pick(old)), value)))]
        if len(old) > 1 and d.chance(0.15):
            a, b = d.pick(old), d.pick(old)
            return [Line(E(f"{a}, {b} = {b}, {{0}}", (value,)))] if a != b else []
        name = self.names.new("s")
        line = Line(E(f"{name} = {{0}}", (value if d.chance(0.8) else E(d.pick(["0.0", "1.0", "0", "1"])),)))
        scope.floats.append(name)
        return [line]

    def _integer(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        old = scope.assignable([i for i in scope.ints if i not in scope.over])
        if d.chance(0.15):
            value = E(
                "int(2.0 + 2 * math.sin({0}))",
                (self.write.atom(scope),),
                "_probe.int(2.0 + 2 * math.sin({0}))",
            )
        else:
            value = E("{0} % 6", (self.write.grouped(scope),))
        if old and d.chance(0.6):
            return [Line(E(d.pick(["{0} = {1}", "{0} = ({0} + {1}) % 7"]), (E(d.pick(old)), value)))]
        name = self.names.new("k")
        line = Line(E(f"{name} = {{0}}", (value,)))
        scope.ints.append(name)
        return [line]

    def _index_store(self, scope: Scope, depth: int) -> list[Statement]:
        if not scope.indices:
            return []
        place = self.write.element_of_index(scope)
        op = self.dice.pick(["{0} = {1} % 5", "{0} += {1} % 3", "{0} = (2 * {0} + {1}) % 7"])
        return [Line(E(op, (place, self.write.grouped(scope))))]

    def _swap_elements(self, scope: Scope, depth: int) -> list[Statement]:
        a, b = self.write.element(scope), self.write.element(scope)
        return [Line(E("{0}, {1} = {1}, {0}", (a, b)))] if a and b else []

    # --- names of arrays

    def _view(self, scope: Scope, depth: int) -> list[Statement]:
        view = self.write.view(scope)
        if view is None:
            return []
        old = scope.assignable(scope.vectors)
        if old and self.dice.chance(0.25):
            return [Line(E(f"{self.dice.pick(old)} = {{0}}", (view,)))]
        name = self.names.new("v")
        scope.vectors.append(name)
        return [Line(E(f"{name} = {{0}}", (view,)))]

    def _swap(self, scope: Scope, depth: int) -> list[Statement]:
        old = scope.assignable(self.dice.pick([scope.vectors, scope.vectors, scope.matrices]))
        if len(old) < 2:
            return []
        a, b = self.dice.pick(old), self.dice.pick(old)
        if a == b:
            return []
        c = self.dice.pick(old)
        if c not in (a, b) and self.dice.chance(0.3):
            return [Line(E(f"{a}, {b}, {c} = {b}, {c}, {a}"))]
        return [Line(E(f"{a}, {b} = {b}, {a}"))]

    def _alias(self, scope: Scope, depth: int) -> list[Statement]:
        group = self.dice.pick([scope.vectors, scope.vectors, scope.matrices])
        if not group:
            return []
        old = scope.assignable(group)
        if old and len(group) > 1 and self.dice.chance(0.3):
            return [Line(E(f"{self.dice.pick(old)} = {self.dice.pick(group)}"))]
        name = self.names.new("v" if group is scope.vectors else "m")
        line = Line(E(f"{name} = {self.dice.pick(group)}"))
        group.append(name)
        return [line]

    def _choose(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        if len(scope.vectors) < 2:
            return []
        a, b = d.pick(scope.vectors), d.pick(scope.vectors)
        condition = self.write.condition(scope)
        name = self.names.new("v")
        if d.chance(0.5):
            line: Statement = Line(E(f"{name} = {a} if {{0}} else {b}", (condition,)))
        else:
            line = Block(E("if {0}", (condition,)), (Line(E(f"{name} = {a}")),), (Line(E(f"{name} = {b}")),))
        scope.vectors.append(name)
        return [line]

    def _scratch(self, scope: Scope, depth: int) -> list[Statement]:
        d = self.dice
        old = [v for v in scope.assignable(scope.vectors) if v.startswith("w")]
        name = d.pick(old) if old and d.chance(0.3) else self.names.new("w")
        size = E(d.pick(["3", "{0} % 4 + 1", "{0} % 4 + 1"]), (self.write.grouped(scope),))
        if scope.vectors and d.chance(0.5):
            size = E("len({0})", (E(d.pick(scope.vectors)),))
        out: list[Statement] = []
        if d.chance(0.5):
            out.append(Line(E(f"{name} = np.{d.pick(['zeros', 'zeros', 'ones'])}({{0}})", (size,))))
        else:
            counter = self.names.new("i")
            inner = scope.inner()
            inner.ints.append(counter)
            inner.over[counter] = name
            inner.vectors = [v for v in inner.vectors if v != name]  # np.empty holds whatever was there
            out.append(Line(E(f"{name} = np.empty({{0}})", (size,), f"{name} = np.full({{0}}, np.nan)")))
            fill = Line(E(f"{name}[{counter}] = {{0}}", (self.write.number(inner, 1),)))
            out.append(Block(E(f"for {counter} in range(len({name}))"), (fill,), loop=True))
        if name not in scope.vectors:
            scope.vectors.append(name)
        return out

    def _copy(self, scope: Scope, depth: int) -> list[Statement]:
        group = self.dice.pick([scope.vectors, scope.matrices])
        if not group:
            return []
        name = self.names.new("v" if group is scope.vectors else "m")
        line = Line(E(f"{name} = {self.dice.pick(group)}.copy()"))
        group.append(name)
        return [line]

    def _tuple(self, scope: Scope, depth: int) -> list[Statement]:
        if len(scope.vectors) < 2:
            return []
        a, b = self.dice.pick(scope.vectors), self.dice.pick(scope.vectors)
        name = self.names.new("t")
        made = Line(E(f"{name} = ({a}, {b})"))
        if self.dice.chance(0.4):
            c, d = self.names.new("v"), self.names.new("v")
            scope.vectors += [c, d]
            return [made, Line(E(f"{c}, {d} = {name}"))]
        members = [f"{name}[0]", f"{name}[1]"]
        scope.vectors += members
        scope.fixed |= set(members)
        return [made]

    # --- functions

    def _call(self, scope: Scope, depth: int) -> list[Statement]:
        if not scope.callees:
            return []
        callee = self.dice.pick(scope.callees)
        call = self.write.call_of(callee, scope)
        if call is None:
            return []
        if callee.returns == "none":
            return [Line(call)]
        if callee.returns == "float":
            old = scope.assignable(scope.floats)
            if old and self.dice.chance(0.5):
                return [Line(E(f"{self.dice.pick(old)} += {{0}}", (call,)))]
            name = self.names.new("s")
            scope.floats.append(name)
            return [Line(E(f"{name} = {{0}}", (call,)))]
        if callee.returns == "complex":
            name = self.names.new("d")
            scope.complexes.append(name)
            return [Line(E(f"{name} = {{0}}", (call,)))]
        if callee.returns == "both":
            view, value = self.names.new("v"), self.names.new("s")
            scope.vectors.append(view)
            scope.floats.append(value)
            return [Line(E(f"{view}, {value} = {{0}}", (call,)))]
        if callee.returns == "view":
            name = self.names.new("v")
            scope.vectors.append(name)
            return [Line(E(f"{name} = {{0}}", (call,)))]
        a, b = self.names.new("s"), self.names.new("s")
        scope.floats += [a, b]
        return [Line(E(f"{a}, {b} = {{0}}", (call,)))]

    def _closure_store(self, scope: Scope, depth: int) -> list[Statement]:
        """A nested function that stores into an array of the function around it."""
        if depth > 0 or scope.nested or not scope.vectors:
            return []
        array, name = self.dice.pick(scope.vectors), self.names.new("g")
        inside = Scope(floats=["z"], vectors=[array], nested=True)
        place = self.write.element(inside) or E(f"{array}[0]")
        body = (
            Line(E("{0} = {1}", (place, self.write.number(inside, 1)))),
            Line(E("return {0}", (self.write.number(inside, 1),))),
        )
        scope.fixed.add(array)
        scope.local_functions.append((name, 1))
        return [Block(E(f"def {name}(z)"), body)]

    def _closure(self, scope: Scope, depth: int) -> list[Statement]:
        if depth > 0 or scope.nested or not scope.floats:
            return []
        held, name = self.names.new("q"), self.names.new("g")
        arity = self.dice.number(1, 2)
        params = ["z", "t"][:arity]
        if scope.keywords and self.dice.chance(0.4):
            scope.optional.add(name)
        captured = [v for v in scope.vectors if self.dice.chance(0.4)]
        inside = Scope(floats=[*params, held], ints=[], vectors=captured, nested=True)
        body = self.write.number(inside, 2)
        out: list[Statement] = [Line(E(f"{held} = {{0}}", (self.write.number(scope, 1),)))]
        if name in scope.optional:
            params[-1] += "=0.7"
        if self.dice.chance(0.3):
            out.append(Line(E(f"{name} = lambda {', '.join(params)}: {{0}}", (body,))))
        else:
            out.append(Block(E(f"def {name}({', '.join(params)})"), (Line(E("return {0}", (body,))),)))
        scope.floats.append(held)
        scope.fixed |= {held, *captured}
        scope.local_functions.append((name, arity))
        return out
