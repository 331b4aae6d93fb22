"""What functions that operators make have in common: what is differentiated, and by what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjit.api.plan import Leaves
from adjit.api.source import Operator, Options, source_of
from adjit.api.wrt import Wrt, find, paths, select
from adjit.ir.structure import Spec
from adjit.runtime.captures import Same


class Derivative(Operator):
    """A function made from another one by an operator; it may be transformed again.

    f: the function as it was given, a partial or `aj.pure` still around it. base: the function inside of all
    that. wrt: as given. paths: `wrt` as paths from parameter names of `base`. kind: the operator's name.
    pure: whether f is under `aj.pure`. options: what `aj.options` said. As an argument of another operator it has
    base's parameters, so that what partials bind is an argument as well.
    """

    def __init__(self, f: Callable[..., Any], wrt: Wrt, kind: str, has_aux: bool = False):
        self.source_ = source_of(f)
        self.paths = paths(wrt, self.source_.signature)
        self.wrt, self.kind, self.has_aux = wrt, kind, has_aux
        self._bind = self.source_.signature.bind
        self._wrap(f)

    @property
    def base(self) -> Callable[..., Any]:
        """The function that is differentiated, nothing around it."""
        return self.source_.base

    @property
    def options(self) -> Options:
        return self.source_.options

    @property
    def pure(self) -> bool:
        return self.source_.pure

    def places(self, specs: tuple[Spec, ...]) -> tuple[tuple[bool, ...], tuple[tuple[Spec, int], ...], bool]:
        """Active leaves, the parts of the arguments that are differentiated by, whether there is just one."""
        of = Leaves(self.source_, specs)
        selection = select(self.paths, of)
        return selection.active, tuple(find(p, of) for p in self.paths), not isinstance(self.wrt, tuple)

    def structure_key(self) -> tuple[Any, ...]:
        signature = self.source_.signature
        bound = (*map(Same, signature.prefix), *((k, Same(v)) for k, v in sorted(signature.keywords.items())))
        return type(self), self.kind, self.wrt, self.paths, self.has_aux, self.source_.key, bound

    def captured_functions(self) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        return (), (self.base,)

    def __repr__(self) -> str:
        aux = ", has_aux=True" if self.has_aux else ""
        return f"adjit.{self.kind}({self.source_.name}, wrt={self.wrt!r}{aux})"
