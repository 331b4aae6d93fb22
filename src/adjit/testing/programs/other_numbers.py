"""Random expressions of complex numbers, small integers and bools, and floats and integers made of them."""

from __future__ import annotations

from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Dice, Scope

_MODULUS = ("abs({0})", "_probe.modulus({0})")
_PARTS = (
    ("({0}).real", None),
    ("({0}).imag", None),
    ("np.real({0})", None),
    ("np.imag({0})", None),
    _MODULUS,
    ("np.abs({0})", "_probe.modulus({0})"),
    ("({0} * ({0}).conjugate()).real", None),
)
_ONE = (
    ("({0}).conjugate()", None),
    ("np.conj({0})", None),
    ("1j * {0}", None),
    ("(-({0}))", None),
    ("(({0}) ** 2)", None),
    ("({0}) / (1.0 + abs({0}))", "({0}) / (1.0 + _probe.modulus({0}))"),
    ("cmath.exp(0.3 * {0})", None),
    ("np.exp(-0.2 * {0})", None),
    ("cmath.cos(0.4 * {0})", None),
    ("np.sin(0.4 * {0})", None),
)
_TWO = (
    ("({0} + {1})", None),
    ("({0} - {1})", None),
    ("{0} * {1}", None),
    ("{0} * {1}", None),
    ("({0}) / (1.3 + abs({1}))", "({0}) / (1.3 + _probe.modulus({1}))"),
    ("({0}) / ({1} + 3.5)", None),
)
_OF_FLOATS = ("cmath.exp(1j * {0})", "np.exp(1j * {0})", "complex({0}, {1})", "({0} + 1j * {1})")
_WITH_FLOAT = ("{0} * {1}", "({0} + {1})", "({1} - {0})", "({0}) / (1.3 + ({1}) ** 2)")
_LITERALS = ("(0.3 - 0.7j)", "1j", "(1.1 + 0.2j)")


class OtherNumbers:
    """Writes expressions from the complex numbers, small integers and bools in a scope."""

    dice: Dice

    def number(self, scope: Scope, depth: int) -> E:
        """A float expression."""
        raise NotImplementedError

    def grouped(self, scope: Scope) -> E:
        """An integer expression in parentheses where it needs them."""
        raise NotImplementedError

    def index(self, scope: Scope, array: str, length: str) -> E:
        """An index into `array` that is in bounds."""
        raise NotImplementedError

    def condition(self, scope: Scope) -> E:
        """A condition."""
        raise NotImplementedError

    # --- complex numbers

    def made_real(self, scope: Scope, depth: int = 0) -> E:
        """A real number made of a complex one."""
        text, probed = self.dice.pick(_PARTS)
        return E(text, (self.complex_number(scope, depth),), probed)

    def complex_number(self, scope: Scope, depth: int) -> E:
        """A complex expression."""
        d = self.dice
        if depth <= 0 or d.chance(0.15):
            return self.complex_atom(scope)
        roll = d.number(0, 9)
        if roll < 3:
            text, probed = d.pick(_TWO)
            return E(
                text, (self.complex_number(scope, depth - 1), self.complex_number(scope, depth - 1)), probed
            )
        if roll < 6:
            text, probed = d.pick(_ONE)
            return E(text, (self.complex_number(scope, depth - 1),), probed)
        if roll == 6:
            return E(d.pick(_OF_FLOATS), (self.number(scope, depth - 1), self.number(scope, depth - 1)))
        if roll < 9:
            return E(d.pick(_WITH_FLOAT), (self.complex_number(scope, depth - 1), self.number(scope, 0)))
        sides = (self.complex_number(scope, depth - 1), self.condition(scope), self.complex_atom(scope))
        return E("({0} if {1} else {2})", sides)

    def complex_atom(self, scope: Scope) -> E:
        """A name, an element or a literal."""
        d = self.dice
        if scope.complexes and d.chance(0.5):
            return E(d.pick(scope.complexes))
        place = self.complex_element(scope)
        return place if place is not None and d.chance(0.9) else E(d.pick(_LITERALS))

    def complex_element(self, scope: Scope) -> E | None:
        """A place in a complex array."""
        if not scope.complex_arrays:
            return None
        name = self.dice.pick(scope.complex_arrays)
        return E("{0}[{1}]", (E(name), self.index(scope, name, "len({0})")))

    # --- small integers and bools

    def small_element(self, scope: Scope) -> E:
        """An element of an array of small integers: 0 to 7."""
        name = self.dice.pick(scope.smalls)
        return E("{0}[{1}]", (E(name), self.index(scope, name, "len({0})")))

    def bool_element(self, scope: Scope) -> E:
        """An element of an array of bools."""
        name = self.dice.pick(scope.bools)
        return E("{0}[{1}]", (E(name), self.index(scope, name, "len({0})")))

    def small_as_number(self, scope: Scope) -> E:
        """A small integer or a bool in float arithmetic."""
        d = self.dice
        if scope.bools and (not scope.smalls or d.chance(0.4)):
            return E(
                d.pick(["0.6 * {0}", "({0} - 0.5)", "(0.4 if {0} else 1.1)"]), (self.bool_element(scope),)
            )
        return E(
            d.pick(["0.2 * {0}", "({0} - 2.5)", "1.0 * ({0} % 3)", "0.1 * {0} * {0}", "{0} / 4"]),
            (self.small_element(scope),),
        )

    def small_as_integer(self, scope: Scope) -> E:
        """A small integer as an index, a bound or an operand."""
        return E(self.dice.pick(["int({0})", "{0}", "{0}"]), (self.small_element(scope),))

    def small_as_test(self, scope: Scope) -> E:
        """A bool, or the truth of a small integer."""
        d = self.dice
        if scope.bools and (not scope.smalls or d.chance(0.6)):
            return E(d.pick(["{0}", "{0}", "not {0}"]), (self.bool_element(scope),))
        form = d.pick(["{0} > 2", "{0}", "{0} == {1} % 4", "{0} & 1"])
        return E(form, (self.small_element(scope), self.grouped(scope)))
