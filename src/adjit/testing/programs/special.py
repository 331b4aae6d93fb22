"""Random statements of rarer kinds: inner gradients, lists, matrices, fresh arrays turn by turn, exceptions."""

from __future__ import annotations

from adjit.testing.programs.nodes import Block, Either, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.simple import Simple

_INNER: tuple[tuple[str, str, str], ...] = (
    (
        "z",
        "return {q} * z * z + math.sin(z)",
        "return 2.0 * {q} * z + math.cos(z)",
    ),
    (
        "z",
        "r = 1.0\nfor j in range(3):\n    r = r * z + {q}\nreturn math.tanh(r)",
        "r = 1.0\nd = 0.0\nfor j in range(3):\n    d = d * z + r\n    r = r * z + {q}\n"
        "return d * (1.0 - math.tanh(r) ** 2)",
    ),
    (
        "z, t",
        "return z * math.exp(-t * t) * {q}",
        "return -2.0 * t * z * math.exp(-t * t) * {q}",
    ),
    (
        "w",
        "s = 0.0\nfor j in range(len(w)):\n    s += {q} * math.sin(w[j]) * w[0]\nreturn s",
        "d = np.zeros(len(w))\nfor j in range(len(w)):\n    d[j] += {q} * math.cos(w[j]) * w[0]\n"
        "    d[0] += {q} * math.sin(w[j])\nreturn d",
    ),
)
"""Parameters, body and derivative (with respect to the last parameter) of a function that is differentiated inside."""


class Special(Simple):
    """Writes statements that hold no others, rarer than those of `simple`."""

    def _inner_gradient(self, scope: Scope, depth: int) -> list[Statement]:
        """A nested function, and a gradient of it."""
        d = self.dice
        if scope.nested:
            return []
        kind = d.number(0, len(_INNER) - 1)
        params, body, slope = _INNER[kind]
        if params == "w" and not scope.vectors:
            return []
        held, name = self.names.new("q"), self.names.new("f")
        out: list[Statement] = [Line(E(f"{held} = {{0}}", (self.write.number(scope, 1),)))]
        program = [f"def {name}({params}):", *("    " + x for x in body.format(q=held).split("\n"))]
        plain = [f"def {name}_slope({params}):", *("    " + x for x in slope.format(q=held).split("\n"))]
        scope.fixed.add(held)
        scope.floats.append(held)
        if params == "w":
            array, made = d.pick(scope.vectors), self.names.new("v")
            scope.vectors.append(made)
            out.append(
                Either(
                    (*program, f"{made} = aj.grad({name})({array})"),
                    (*plain, f"{made} = {name}_slope({array})"),
                )
            )
            return out
        args = tuple(self.write.atom(scope) for _ in params.split(", "))
        holes = ", ".join("1.0 * {%d}" % k for k in range(len(args)))  # noqa: UP031
        wrt = ", wrt=1" if len(args) > 1 else ""
        made = self.names.new("s")
        scope.floats.append(made)
        if d.chance(0.4):
            value = self.names.new("s")
            scope.floats.append(value)
            plain += program
            text = f"{value}, {made} = aj.value_and_grad({name}{wrt})({holes})"
            stand_in = f"{value}, {made} = {name}({holes}), {name}_slope({holes})"
        else:
            text, stand_in = f"{made} = aj.grad({name}{wrt})({holes})", f"{made} = {name}_slope({holes})"
        return [*out, Either(tuple(program), tuple(plain)), Line(E(text, args, plain=stand_in))]

    def _comprehension(self, scope: Scope, depth: int) -> list[Statement]:
        """A list of numbers; its elements are read afterwards."""
        d = self.dice
        if scope.nested:
            return []
        name, inner = self.names.new("l"), scope.inner()
        if scope.steady and d.chance(0.5):
            z = self.names.new("z")
            inner.floats.append(z)
            line = E(f"{name} = [{{0}} for {z} in {d.pick(scope.steady)}]", (self.write.number(inner, 1),))
        else:
            counter = self.names.new("i")
            inner.ints.append(counter)
            line = E(
                f"{name} = [{{0}} for {counter} in range({d.number(1, 4)})]",
                (E("1.0 * {0}", (self.write.number(inner, 1),)),),
            )
        scope.lists.append(name)
        return [Line(line)]

    def _matrix(self, scope: Scope, depth: int) -> list[Statement]:
        """A view of a matrix, or a fresh one."""
        d = self.dice
        if scope.matrices and d.chance(0.7):
            form = d.pick(
                [
                    "{0}.T",
                    "{0}.T",
                    "{0}[::-1]",
                    "{0}[:, ::-1]",
                    "{0}[::2]",
                    "{0}[:, ::2]",
                    "{0}[:]",
                    "{0}[-1:, :]",
                ]
            )
            line = E(form, (E(d.pick(scope.matrices)),))
        else:
            line = E("np.zeros(({0} % 3 + 1, 2))", (self.write.grouped(scope),))
        name = self.names.new("m")
        scope.matrices.append(name)
        return [Line(E(f"{name} = {{0}}", (line,)))]

    def _advance(self, scope: Scope, depth: int) -> list[Statement]:
        """`x = x + dt * v` by hand: each turn of a loop makes a new array under the old name."""
        d = self.dice
        old = scope.assignable(scope.vectors)
        if not old or depth > 1:
            return []
        x, new, turn, i = d.pick(old), self.names.new("w"), self.names.new("i"), self.names.new("i")
        inner = scope.inner()
        inner.ints += [turn, i]
        inner.over[i] = x
        inner.loops += 2
        value = E("math.sin({0} + {1})", (E(f"{x}[{i}]"), self.write.number(inner, 1)))
        fill = Block(E(f"for {i} in range(len({x}))"), (Line(E(f"{new}[{i}] = {{0}}", (value,))),), loop=True)
        made = Line(E(f"{new} = np.{d.pick(['empty', 'zeros'])}(len({x}))"))
        turns = E("range({0} % 4)", (self.write.grouped(scope),))
        return [Block(E(f"for {turn} in {{0}}", (turns,)), (made, fill, Line(E(f"{x} = {new}"))), loop=True)]

    def _raise(self, scope: Scope, depth: int) -> list[Statement]:
        """An exception that these arguments do not raise."""
        if not scope.ints:
            return []
        test = E(self.dice.pick(["{0} > 1000", "{0} < -1000"]), (self.write.grouped(scope),))
        return [Block(E("if {0}", (test,)), (Line(E('raise ValueError("far out")')),))]
