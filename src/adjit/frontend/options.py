"""One program has one set of compiler options: what those of the functions inlined into it come to.

* `error_model`: each division belongs to the model of the function it is written in; a function that sets none has its
  caller's, as Numba compiles it for that call. Those in parallel loops have NumPy's, as in Numba. Where both models
  meet, the program has NumPy's, and the divisions of Python's model are guarded (`transform.guard`).
* `fastmath`: the outermost function's flags, less what a callee that sets its own does not allow. A callee's own flags
  add nothing: computing exactly is among what they allow.
* `boundscheck`: checked everywhere if any function asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from adjit.ir.core import Atom, Sym

KEYS = ("error_model", "fastmath", "parallel", "boundscheck")
DIVISIONS = frozenset({"div", "floordiv", "mod", "pow"})


def options_of(dispatcher: object | None) -> dict[str, object]:
    """The options of a dispatcher that change what it computes; empty for a plain function."""
    given = getattr(dispatcher, "targetoptions", None)
    return {k: given[k] for k in KEYS if k in given} if isinstance(given, dict) else {}


@dataclass(slots=True)
class Options:
    """What is seen of options while a program is lowered."""

    divisions: dict[str, set[Sym]] = field(default_factory=dict)
    fastmath: list[object] = field(default_factory=list)
    boundscheck: bool = False
    located: bool = False  # `aj.options(f, boundscheck=True)`, whose errors name work items

    def enter(self, dispatcher: object | None) -> None:
        """A function is inlined (or is the program itself)."""
        given = options_of(dispatcher)
        self.boundscheck = self.boundscheck or given.get("boundscheck") is True
        if "fastmath" in given:
            self.fastmath.append(given["fastmath"])

    def divide(self, op: str, model: str, target: Atom) -> None:
        """An operation that the error model concerns."""
        if op in DIVISIONS and isinstance(target, Sym):
            self.divisions.setdefault(model, set()).add(target)

    def combined(self, dispatcher: object | None) -> tuple[dict[str, object], frozenset[Sym]]:
        """The program's options, and the divisions to be guarded."""
        own = options_of(dispatcher)
        guarded: frozenset[Sym] = frozenset()
        if any(m != own.get("error_model", "python") for m in self.divisions):
            own["error_model"] = "numpy"
            guarded = frozenset(self.divisions.get("python", ()))
        if own.get("fastmath"):
            for flags in self.fastmath:
                own["fastmath"] = _both(own["fastmath"], flags)
        own["boundscheck"] = self.boundscheck
        own["located"] = self.located
        return own, guarded


def _both(a: object, b: object) -> object:
    """The fastmath flags that both allow; True is all of them."""
    if a is True or b is True:
        return a if b is True else b
    if not isinstance(a, set | frozenset) or not isinstance(b, set | frozenset):
        return False
    return frozenset(a) & frozenset(b) or False
