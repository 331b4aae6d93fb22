"""Random expressions: floats that stay O(1), integers, indices in bounds, conditions clear of kinks."""

from __future__ import annotations

from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.other_numbers import OtherNumbers
from adjit.testing.programs.scope import Callee, Dice, Scope

UNARY = (
    "math.sin({0})",
    "math.cos({0})",
    "math.tanh({0})",
    "math.exp(-({0}) ** 2)",
    "math.sqrt(1.0 + ({0}) ** 2)",
    "math.log(1.5 + ({0}) ** 2)",
    "math.atan({0})",
    "({0}) ** 2",
    "(1.2 + ({0}) ** 2) ** 0.7",
    "np.sin({0})",
    "np.exp(math.tanh({0}))",
    "-({0})",
)
BINARY = (
    "({0} + {1})",
    "({0} - {1})",
    "{0} * {1}",
    "{0} * {1}",
    "({0}) / (1.3 + ({1}) ** 2)",
    "(0.5 * {0} - 0.7 * {1})",
)
LITERALS = ("0.5", "1.25", "-0.7", "2", "0.1", "1.0", "3")


class Expressions(OtherNumbers):
    """Writes expressions from the names in a scope."""

    def __init__(self, dice: Dice):
        self.dice = dice

    # --- integers

    def small(self, scope: Scope) -> E:
        """A short integer expression, any sign."""
        d = self.dice
        if not scope.ints or d.chance(0.2):
            return E(str(d.pick([0, 1, 2, 2, 3, 3, 4])))
        name = E(d.pick(scope.ints))
        return d.pick(
            [
                name,
                name,
                E("({0} + 1)", (name,)),
                E("({0} - 2)", (name,)),
                E("({0} * 3 + 1)", (name,)),
                E("{0} // 2", (name,)),
                E("(-{0})", (name,)),
                E(
                    d.pick(
                        ["({0} & 3)", "({0} | 1)", "({0} ^ 2)", "({0} >> 1)", "(({0} & 3) << 1)", "(~{0})"]
                    ),
                    (name,),
                ),
            ]
        )

    def integer(self, scope: Scope) -> E:
        """An integer expression."""
        d = self.dice
        if scope.smalls and d.chance(0.2):
            return self.small_as_integer(scope)
        roll = d.number(0, 9)
        if roll < 4 or (roll < 7 and not scope.indices):
            return self.small(scope)
        if roll < 7:
            return self.element_of_index(scope)
        if roll == 7 and scope.vectors:
            return E("len({0})", (E(d.pick(scope.vectors)),))
        op = d.pick(
            [
                "({0} + {1})",
                "({0} - {1})",
                "({0} * {1})",
                "max({0}, {1})",
                "min({0}, {1})",
                "({0} ^ {1})",
                "({0} & {1})",
            ]
        )
        return E(op, (self.small(scope), self.small(scope)))

    def element_of_index(self, scope: Scope) -> E:
        """An element of an integer array."""
        name = self.dice.pick(scope.indices)
        return E("{0}[{1}]", (E(name), self.index(scope, name, "len({0})")))

    def index(self, scope: Scope, array: str, length: str) -> E:
        """An index into `array` that is in bounds; sometimes negative, sometimes a bare counter.

        `length` is the template of the length of the axis, which also names the axis in `scope.over`.
        """
        d = self.dice
        axis = length.format(array) if "shape[1]" in length else array
        own = [i for i, over in scope.over.items() if over == axis and i in scope.ints]
        if own and not scope.close and d.chance(0.6):
            return E(d.pick(["{0}", "{0}", "{0} - 1", "-1 - {0}", "-{0}"]), (E(d.pick(own)),))
        if scope.around[0] and (scope.close or d.chance(0.4)):
            return self.near(scope, axis, E(length, (E(array),)))
        roll = d.number(0, 9)
        if roll == 0:
            return E("-1")
        if roll == 1:
            return E("0")
        size = E(length, (E(array),))
        if roll == 2:
            return E("-1 - {0} % {1}", (self.grouped(scope), size))
        return E("{0} % {1}", (self.grouped(scope), size))

    def near(self, scope: Scope, axis: str, size: E) -> E:
        """An index near that of the turn of a parallel loop, or from the other end."""
        d, (i, like) = self.dice, scope.around
        c = d.number(1, 3)
        if scope.close:
            own = [i, i, f"{i} - 1", f"max({i} - {c}, 0)", f"({i} + {c}) % {{0}}"] if axis == like else []
            forms = [f"min({i} + {c}, {{0}} - 1)", f"min(max({i} - {c}, 0), {{0}} - 1)", *own]
            return E(d.pick(forms), (size,))
        clamped = [f"max({i} - {c}, 0)", f"{i} // 2", f"({i} if {i} % 2 == 0 else 0)"]
        forms = [f"min({i} + {c}, {{0}} - 1)", f"min(max({i} - {c}, 0), {{0}} - 1)", f"({i} + {c}) % {{0}}"]
        forms += [f"({i} - {c}) % {{0}}", f"{{0}} - 1 - {i}" if axis == like else f"{{0}} - 1 - {i} % {{0}}"]
        forms += clamped if axis == like else [f"{text} % {{0}}" for text in clamped]
        return E(d.pick(forms), (size,))

    def grouped(self, scope: Scope) -> E:
        """An integer expression in parentheses where it needs them."""
        inner = self.integer(scope)
        return inner if inner.text.isalnum() or inner.text.startswith("(") else E("({0})", (inner,))

    # --- floats

    def element(self, scope: Scope) -> E | None:
        """A place in a float array, or None if there is no array."""
        d = self.dice
        if scope.matrices and (not scope.vectors or d.chance(0.3)):
            m = d.pick(scope.matrices)
            return E(
                "{0}[{1}, {2}]",
                (E(m), self.index(scope, m, "{0}.shape[0]"), self.index(scope, m, "{0}.shape[1]")),
            )
        if not scope.vectors:
            return None
        v = d.pick(scope.vectors)
        return E("{0}[{1}]", (E(v), self.index(scope, v, d.pick(["len({0})", "{0}.shape[0]"]))))

    def atom(self, scope: Scope) -> E:
        """A name, an element, a literal or an integer used as a number."""
        d = self.dice
        if (scope.complexes or scope.complex_arrays) and d.chance(0.2):
            return self.made_real(scope)
        if (scope.smalls or scope.bools) and d.chance(0.15):
            return self.small_as_number(scope)
        if scope.own and d.chance(0.15):
            return E(d.pick(scope.own))
        roll = d.number(0, 11)
        if roll < 4 and scope.floats:
            return E(d.pick(scope.floats))
        if scope.lists and d.chance(0.2):
            name = d.pick(scope.lists)
            return E(f"{name}[{{0}} % len({name})]", (self.grouped(scope),))
        if roll < 10:
            return self.element(scope) or E("0.3")
        if roll == 10 and scope.ints:
            return E("0.1 * ({0} % 4)", (self.grouped(scope),))
        return E(d.pick(LITERALS))

    def number(self, scope: Scope, depth: int) -> E:
        """A float expression."""
        d = self.dice
        if depth <= 0 or d.chance(0.15):
            return self.atom(scope)
        roll = d.number(0, 19)
        if roll < 9:
            return E(d.pick(BINARY), (self.number(scope, depth - 1), self.number(scope, depth - 1)))
        if roll < 14:
            return E(d.pick(UNARY), (self.number(scope, depth - 1),))
        if roll == 14:
            name = d.pick(["max", "min"])
            parts = (self.number(scope, depth - 1), self.number(scope, depth - 1))
            return E(name + "({0}, {1})", parts, "_probe." + name + "({0}, {1})")
        if roll == 15:
            return E("abs({0})", (self.number(scope, depth - 1),), "_probe.abs({0})")
        if roll == 16:
            parts = (self.number(scope, depth - 1), self.condition(scope), self.number(scope, depth - 1))
            return E("({0} if {1} else {2})", parts)
        if roll < 19:
            return self.call(scope, depth) or self.atom(scope)
        return self.atom(scope)

    def call(self, scope: Scope, depth: int) -> E | None:
        """A call of a nested function or of a callee that returns a float."""
        d = self.dice
        if scope.local_functions and d.chance(0.5):
            name, arity = d.pick(scope.local_functions)
            if scope.keywords:
                return self.by_keyword(scope, name, arity, depth)
            holes = ", ".join("{%d}" % k for k in range(arity))  # noqa: UP031
            return E(f"{name}({holes})", tuple(self.number(scope, depth - 1) for _ in range(arity)))
        callees = [c for c in scope.callees if c.returns == "float" and not scope.nested]
        return self.call_of(d.pick(callees), scope) if callees else None

    def call_of(self, callee: Callee, scope: Scope) -> E | None:
        """A call of `callee` with what is in scope; None if something is missing."""
        parts = [self.argument(kind, scope) for kind in callee.params]
        if callee.params[-1] == "length" and parts[0] is not None:
            parts[-1] = E("len({0})", (parts[0],))
        if any(part is None for part in parts):
            return None
        given = tuple(part for part in parts if part is not None)
        if scope.keywords and callee.names:
            return E(f"{callee.name}({self._some_by_keyword(callee)})", given)
        holes = ", ".join("{%d}" % k for k in range(len(parts)))  # noqa: UP031
        return E(f"{callee.name}({holes})", given)

    def by_keyword(self, scope: Scope, name: str, arity: int, depth: int) -> E:
        """A call of a nested function; Numba, which has no keywords there, gets it by position.

        In another order only if no argument calls what writes: else the plain form would run in another order.
        """
        d = self.dice
        parts = tuple(self.number(scope, depth - 1) for _ in range(arity))
        names = ("z", "t")[:arity]
        left_out = name in scope.optional and d.chance(0.4)
        if left_out:
            parts, names = parts[:-1], names[:-1]
        holes = [f"{{{k}}}" for k in range(len(parts))]
        plain = f"{name}({', '.join(holes)})"
        called = [c.name for c in scope.callees] + [f for f, _ in scope.local_functions]
        calls = any(f"{c}(" in part.render("plain") for c in called for part in parts)
        first = d.number(0, len(parts))
        given = [f"{n}={hole}" for n, hole in zip(names[first:], holes[first:], strict=True)]
        if not calls:
            given = [given[k] for k in d.rng.permutation(len(given))]
        return E(f"{name}({', '.join([*holes[:first], *given])})", parts, plain=plain)

    def _some_by_keyword(self, callee: Callee) -> str:
        """The holes of a call, some with names, in any order; defaults are left out at times."""
        d = self.dice
        count = len(callee.names)
        first = d.number(0, count)
        keep = [k for k in range(first, count) if k < count - callee.optional or d.chance(0.6)]
        named = [f"{callee.names[keep[k]]}={{{keep[k]}}}" for k in d.rng.permutation(len(keep))]
        return ", ".join([*(f"{{{k}}}" for k in range(first)), *named])

    def argument(self, kind: str, scope: Scope) -> E | None:
        """An argument of a kind."""
        d = self.dice
        if kind == "vector":
            return (
                self.view(scope) if d.chance(0.4) else (E(d.pick(scope.vectors)) if scope.vectors else None)
            )
        if kind == "matrix":
            return E(d.pick(scope.matrices)) if scope.matrices else None
        if kind in ("complex", "zvector", "range", "bytes", "bools", "loose"):
            return self._other_argument(kind, scope)
        if kind in ("small", "zero", "length"):
            return self._bound(kind, scope)
        if kind == "ints":
            return E(d.pick(scope.indices)) if scope.indices else None
        return self.number(scope, 1) if kind == "float" else E("{0} % 5", (self.grouped(scope),))

    def _other_argument(self, kind: str, scope: Scope) -> E | None:
        """An argument of a kind that only programs of many kinds have."""
        d = self.dice
        if kind == "complex":
            return self.complex_number(scope, 1)
        if kind == "range":
            form = d.pick(["range({0} % 4)", "range({0} % 4, -1, -1)", "range(1, {0} % 6, 2)"])
            named = bool(scope.ranges) and d.chance(0.8)
            return E(d.pick(scope.ranges)) if named else E(form, (self.grouped(scope),))
        if kind == "loose" and (not scope.loose or d.chance(0.5)):
            form = d.pick(["{0}[{1} % (len({0}) + 1):]", "{0}[2:1]", "{0}[:{1} % 3]", "{0}"])
            return E(form, (E(d.pick(scope.vectors)), self.grouped(scope))) if scope.vectors else None
        held = {
            "zvector": scope.complex_arrays,
            "bytes": scope.smalls,
            "bools": scope.bools,
            "loose": scope.loose,
        }[kind]
        form = d.pick(["{0}", "{0}", "{0}[::-1]", "{0}[:]"])
        return E(form, (E(d.pick(held)),)) if held else None

    def _bound(self, kind: str, scope: Scope) -> E:
        """The last argument is a length: of the array that was just passed, of which `call_of` takes care."""
        return E("0") if kind == "zero" else E("{0} % 4", (self.grouped(scope),))

    def view(self, scope: Scope) -> E | None:
        """A non-empty one-dimensional view of something in scope."""
        d = self.dice
        if scope.matrices and (not scope.vectors or d.chance(0.35)):
            m = E(d.pick(scope.matrices))
            form = d.pick(
                ["{0}[{1} % {0}.shape[0]]", "{0}[{1} % {0}.shape[0], :]", "{0}[:, {1} % {0}.shape[1]]"]
            )
            return E(form, (m, self.grouped(scope)))
        if not scope.vectors:
            return None
        v = E(d.pick(scope.vectors))
        forms = [
            "[::-1]",
            "[::2]",
            "[{1} % len({0}):]",
            "[:{1} % len({0}) + 1]",
            "[-1:]",
            "[:]",
            "[len({0}) // 2:]",
            "[::-2]",
        ]
        return E("{0}" + d.pick(forms), (v, self.grouped(scope)))

    # --- conditions

    def condition(self, scope: Scope) -> E:
        """A condition on floats (probed) or integers, or a combination of two."""
        d = self.dice
        if d.chance(0.15):
            return E(
                d.pick(["({0} and {1})", "({0} or {1})", "(not {0} and {1})"]),
                (self.test(scope), self.test(scope)),
            )
        return self.test(scope)

    def test(self, scope: Scope) -> E:
        """A single comparison."""
        d = self.dice
        if (scope.smalls or scope.bools) and d.chance(0.2):
            return self.small_as_test(scope)
        roll = d.number(0, 9)
        if roll == 0 and scope.flags:
            return E(d.pick(scope.flags))
        if roll < 5:
            a, b = (
                self.number(scope, 1),
                self.atom(scope) if d.chance(0.3) else E(d.pick(["0.37", "0.81", "-0.23", "1.17"])),
            )
            if d.chance(0.5):
                return E("{0} > {1}", (a, b), "_probe.gt({0}, {1})")
            return E("{0} < {1}", (a, b), "(not _probe.gt({0}, {1}))")
        op = d.pick(["{0} % 2 == 0", "{0} % 3 != 1", "{0} < {1}", "{0} >= {1}"])
        return E(op, (self.grouped(scope), self.grouped(scope)))
