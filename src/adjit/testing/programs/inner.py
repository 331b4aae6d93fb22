"""Random derivatives inside of a program, by every operator, beside derivatives written by hand."""

from __future__ import annotations

from dataclasses import dataclass

from adjit.testing.programs.nodes import Either, Line, Statement
from adjit.testing.programs.nodes import Expression as E
from adjit.testing.programs.scope import Scope
from adjit.testing.programs.special import Special

INNER_WEIGHTS = {"inner_derivative": 9.0}


@dataclass(frozen=True)
class _Inner:
    """A function of `params` that is differentiated by the last of them, with its derivatives.

    first: the slope (of an array the gradient). second: the second derivative; of an array `w` the Hessian times `w`.
    """

    params: str
    body: str
    first: str
    second: str


_NUMBERS = (
    _Inner(
        "z, t",
        "return z * math.exp(-t * t) * {q}",
        "return -2.0 * t * z * math.exp(-t * t) * {q}",
        "return (4.0 * t * t - 2.0) * z * math.exp(-t * t) * {q}",
    ),
    _Inner(
        "z, t",
        "r = {q}\nfor j in range(3):\n    r = r * t + z\nreturn r",
        "return 3.0 * {q} * t * t + z * (2.0 * t + 1.0)",
        "return 6.0 * {q} * t + 2.0 * z",
    ),
    _Inner(
        "z, t",
        "a = np.zeros(2)\na[0] = t * {q}\na[1] = a[0] * z\na[0] *= a[1]\nreturn a[0]",
        "return 2.0 * {q} * {q} * z * t",
        "return 2.0 * {q} * {q} * z",
    ),
    _Inner(
        "z, t",
        "k = 0\nr = z\nwhile k < 2:\n    r = math.sin(r) + t * {q}\n    k += 1\nreturn r",
        "u = math.sin(z) + t * {q}\nreturn {q} * (math.cos(u) + 1.0)",
        "u = math.sin(z) + t * {q}\nreturn -{q} * {q} * math.sin(u)",
    ),
)

_ARRAY = _Inner(
    "w",
    "s = 0.0\nfor j in range(len(w)):\n    s += {q} * math.sin(w[j]) * w[0]\nreturn s",
    "d = np.zeros(len(w))\nfor j in range(len(w)):\n    d[j] += {q} * math.cos(w[j]) * w[0]\n"
    "    d[0] += {q} * math.sin(w[j])\nreturn d",
    "d = np.zeros(len(w))\nfor j in range(len(w)):\n"
    "    d[j] += {q} * (math.cos(w[j]) * w[0] - math.sin(w[j]) * w[0] * w[j])\n"
    "    d[0] += {q} * math.cos(w[j]) * w[j]\nreturn d",
)

_BY_NUMBER = (
    ("aj.jvp({f}, ({a}), (None, 1.0))[1]", "first"),
    ("aj.jvp({f}, ({a}), (None, {c}))[1]", "scaled"),
    ("aj.vjp({f}, {a})[1]({c})[1]", "scaled"),
    ("aj.jacfwd({f}, wrt=1)({a})", "first"),
    ("aj.jacrev({f}, wrt='t')({a})", "first"),
    ("aj.hessian({f}, wrt=1)({a})", "second"),
    ("aj.laplacian({f}, wrt=1)({a})", "second"),
    ("aj.hvp({f}, ({a}), {c}, wrt=1)", "scaled second"),
    ("aj.grad(lambda t: aj.jvp({f}, ({z}, t), (None, 1.0))[1])({t})", "second"),
    ("aj.jvp(lambda t: aj.grad({f}, wrt=1)({z}, t), ({t},), (1.0,))[1]", "second"),
)
_BY_ARRAY = (
    ("aj.vjp({f}, {w})[1](1.0)[0]", "first"),
    ("aj.jacfwd({f})({w})", "first"),
    ("aj.jacrev({f})({w})", "first"),
    ("aj.jacobian({f})({w})", "first"),
    ("aj.hvp({f}, ({w},), {w})", "second"),
    ("aj.jvp(aj.grad({f}), ({w},), ({w},))[1]", "second"),
    ("aj.hessian({f})({w}) @ {w}", "second"),
)
"""The program's text, and which derivative stands in for it."""


class Inner(Special):
    """Writes derivatives of nested functions."""

    def _inner_derivative(self, scope: Scope, depth: int) -> list[Statement]:
        """A nested function, and a derivative of it."""
        if scope.nested:
            return []
        held, name = self.names.new("q"), self.names.new("f")
        number = self.write.number(scope, 1)
        of_array = bool(scope.vectors) and self.dice.chance(0.35)
        given = _ARRAY if of_array else self.dice.pick(_NUMBERS)
        out: list[Statement] = [Line(E(f"{held} = 1.0 * {{0}}", (number,)))]
        scope.fixed.add(held)
        scope.floats.append(held)
        forms = {"": given.body, "_first": given.first, "_second": given.second}
        texts = {
            suffix: (
                f"def {name}{suffix}({given.params}):",
                *("    " + line for line in body.format(q=held).split("\n")),
            )
            for suffix, body in forms.items()
        }
        plain = texts["_first"] + texts["_second"]
        made = self.array(scope, name) if of_array else self.number(scope, name)
        return [*out, Either(texts[""], plain), made]

    def number(self, scope: Scope, name: str) -> Statement:
        """A derivative by a number."""
        text, form = self.dice.pick(_BY_NUMBER)
        atoms = (self.write.atom(scope), self.write.atom(scope), self.write.atom(scope))
        z, t, c = "1.0 * {0}", "1.0 * {1}", "1.0 * {2}"
        shown = text.format(f=name, a=f"{z}, {t}", z=z, t=t, c=c)
        factor = f"{c} * " if form.startswith("scaled") else ""
        which = "second" if form.endswith("second") else "first"
        made = self.names.new("s")
        scope.floats.append(made)
        stands_in = f"{made} = {factor}{name}_{which}({z}, {t})"
        return Line(E(f"{made} = {shown}", atoms, plain=stands_in))

    def array(self, scope: Scope, name: str) -> Statement:
        """A derivative by an array."""
        text, form = self.dice.pick(_BY_ARRAY)
        array, made = self.dice.pick(scope.vectors), self.names.new("v")
        scope.vectors.append(made)
        shown = text.format(f=name, w=array)
        return Either((f"{made} = {shown}",), (f"{made} = {name}_{form}({array})",))
