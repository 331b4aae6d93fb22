"""The reverse sweep of a function as code, to be run any number of times on one forward sweep.

y = f(x)   ->   y, saved = forward(x);   at each use: dx = zeros; reverse(saved, dx, dy) -> dx
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from adjit.analysis.alias import Alias, written_params
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import Atom, Function, Sym, const
from adjit.ir.types import Array
from adjit.ir.visit import renamed, substitute
from adjit.transform.inlined import copied
from adjit.transform.reverse import Wish, reverse


@dataclass(frozen=True)
class Pullback:
    """What the reverse sweep of one forward sweep needs.

    function: primal's `kept` params, `saved`, shadows, seeds -> adjoints. held: atoms for the first two.
    inputs: what is differentiated by, as it stands in the program. written: seeds that the sweep writes.
    """

    function: Function
    held: tuple[Atom, ...]
    inputs: tuple[Atom, ...]
    seeds: tuple[Sym, ...]
    written: frozenset[Sym]

    def zero(self, b: Builder, k: int, like: Atom) -> Atom:
        """A seed of zeros for the head number k, whose value is `like`."""
        type = self.seeds[k].type
        if not isinstance(type, Array):
            return const_of(0.0, type)
        assert isinstance(like, Sym)
        return b.alloc_like("seed", like, const_of(0.0, type.dtype))

    def pull(self, b: Builder, seeds: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """One cotangent per input; arrays are new."""
        shadows: list[Sym] = []
        for p in self.inputs:
            if isinstance(p.type, Array):
                assert isinstance(p, Sym)
                shadows.append(b.alloc_like(f"d{p.name}", p, const_of(0.0, p.type.dtype)))
        given = [
            copied(b, s) if own in self.written and isinstance(s, Sym) else s
            for own, s in zip(self.seeds, seeds, strict=True)
        ]
        params = self.function.params
        env: dict[Sym, Atom] = dict(zip(params, (*self.held, *shadows, *given), strict=True))
        b.extend(renamed(self.function.body, env))
        scalars = iter(self.function.results)
        arrays = iter(shadows)
        read: Callable[[Atom], Atom] = lambda a: env.get(a, a) if isinstance(a, Sym) else a  # noqa: E731
        return tuple(next(arrays) if isinstance(p.type, Array) else read(next(scalars)) for p in self.inputs)


def pullback(
    b: Builder, function: Function, args: tuple[Atom, ...], inputs: tuple[Sym, ...], heads: tuple[int, ...]
) -> tuple[tuple[Atom, ...], Pullback, tuple[Function, ...]]:
    """Run the forward sweep where the builder stands.

    inputs: parameters that are differentiated by; heads: results that get a cotangent. Returns: the results there, the
    pullback, and the functions that both sweeps call.
    """
    rev = reverse(function, Wish(inputs, heads, split=True))
    forward = substitute(rev.forward.body, {rev.limit: const(2**62)})
    env: dict[Sym, Atom] = dict(zip(function.params, args, strict=True))
    b.extend(renamed(forward, env))
    read: Callable[[Atom], Atom] = lambda a: env.get(a, a) if isinstance(a, Sym) else a  # noqa: E731
    count = len(function.results)
    values = tuple(map(read, rev.forward.results[:count]))
    there = tuple(map(read, inputs))
    backward = replace(rev.backward, params=(*rev.kept, *rev.saved, *rev.shadows, *rev.seeds))
    written = frozenset(written_params(backward, Alias(backward)))
    made = Pullback(
        backward,
        tuple(map(read, rev.passed)),
        there,
        rev.seeds,
        written,
    )
    return values, made, (*rev.forward.functions, *rev.backward.functions)
