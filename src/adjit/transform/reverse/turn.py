"""The forward sweep's last nest and the reverse sweep's first one as one nest, where one call runs both sweeps.

    forward: for i in range(n), in parallel: o = a[i] - c[i] * f[i]; total = total + o * o
    reverse: for i in range(n), in parallel: o = a[i] - c[i] * f[i]; t = seed * 2 * o; da[i] = t; df[i] = -t * c[i]
    ->  forward(.., da, df, seed): for i in range(n), in parallel: o = ..; total = total + o * o; t = ..; da[i] = t; ..

What both read is read once, and what the forward sweep had to hand on for that nest alone stays in registers. The first
of the nests only adds up (sums of free order), and what the second one makes of its seed and of arrays that are known
before does not wait for the sum. Each turn of the second stores to places of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.scatter import Nest
from adjit.ir.core import ONE, Alloc, Atom, Block, Const, Function, Let, Load, Loop, Stmt, Store, Sym, View
from adjit.ir.types import Scalar
from adjit.ir.visit import Rewriter, defined, free, from_outside, renamed, used
from adjit.transform.clean import clean
from adjit.transform.clear_outside import clears
from adjit.transform.common import common
from adjit.transform.unread import unread

_PURE = Let | View


@dataclass(frozen=True)
class Turned:
    """Both functions with one nest for two.

    early: parameters of the reverse function that the forward one takes too, after its own. taken: its parameters for
    what the forward one hands on, in the order of its results after the user's.
    """

    forward: Function
    backward: Function
    early: tuple[Sym, ...]
    taken: tuple[Sym, ...]


def turned(
    forward: Function, backward: Function, count: int, handed: dict[Sym, Atom], given: tuple[Sym, ...]
) -> Turned | None:
    """The two sweeps with one nest for the last and the first (see the module); None where they stay apart.

    Arguments:
    - count: how many results of `forward` are the user's.
    - handed: for parameters of `backward`, what `forward` passes on.
    - given: its parameters that the caller has: shadows and seeds.
    """
    at, k = _first_nest(backward.body), _last_nest(forward.body)
    if at is None or k is None:
        return None
    head = backward.body[: at + 1]
    needs = free(head)
    early = tuple(p for p in given if p in needs)
    known = {*forward.params, *early, *defined(forward.body[:k])}
    env: dict[Sym, Atom] = {p: a for p, a in handed.items() if p in needs}
    if not all(env.get(p, p) in known or isinstance(env.get(p), Const) for p in needs):
        return None
    moved = renamed(head, env)
    made = [s.target for s in head if isinstance(s, Alloc)]
    both = replace(
        forward,
        params=(*forward.params, *early),
        body=(*forward.body[:k], *moved[:-1], forward.body[k], moved[-1], *forward.body[k + 1 :]),
        results=(*forward.results, *(env[a] for a in made)),
    )
    one = _fused(clean(common(both), keep_raising=True))
    if one is None:
        return None
    one = common(_read_once(common(one)))
    after = (*(s for s in head if isinstance(s, _PURE)), *backward.body[at + 1 :])
    rest = clean(replace(backward, params=(*backward.params, *made), body=after))
    wanted = from_outside(rest)
    rest = replace(rest, params=tuple(sorted(wanted, key=lambda s: s.uid)))
    names = (*handed, *made)
    passed = {p: a for p, a in zip(names, one.results[count:], strict=True) if p in wanted}
    one = replace(one, results=(*one.results[:count], *passed.values()))
    one = clean(unread(clean(one, keep_raising=True)), keep_raising=True)
    return Turned(one, rest, early, tuple(passed))


def _last_nest(body: Block) -> int | None:
    """Where the nest stands that the forward sweep ends with, if it only adds up, in any order."""
    k = next((k for k in reversed(range(len(body))) if isinstance(body[k], Loop)), None)
    if k is None or not all(isinstance(s, Let) for s in body[k + 1 :]):
        return None
    nest = _parallel(body[k])
    return k if nest is not None and not any(isinstance(s, Store) for s in nest.body) else None


def _first_nest(body: Block) -> int | None:
    """Where the reverse sweep's first nest stands, if nothing is before it but arrays that are made and cleared."""
    for k, s in enumerate(body):
        if isinstance(s, Loop) and not clears(s):
            nest = _parallel(s)
            return k if nest is not None and not any(loop.params for loop in nest.loops) else None
        if not isinstance(s, _PURE | Alloc | Loop):
            return None
    return None


def _parallel(stmt: Stmt) -> Nest | None:
    plain = isinstance(stmt, Loop) and stmt.parallel and not stmt.at_once
    return Nest.of(stmt) if plain and isinstance(stmt, Loop) else None


def _fused(function: Function) -> Function | None:
    """The function with its last two loops in one."""
    body = function.body
    at = [k for k, s in enumerate(body) if isinstance(s, Loop)][-2:]
    if len(at) < 2:
        return None
    first, second = body[at[0]], body[at[1]]
    assert isinstance(first, Loop)
    assert isinstance(second, Loop)
    between = body[at[0] + 1 : at[1]]
    waits = used((*between, second)) & set(first.results)
    if waits or not all(isinstance(s, _PURE) for s in between):
        return None
    nests = _parallel(first), _parallel(second)
    affine, alias = Affine.of(function), Alias(function)
    if nests[0] is None or nests[1] is None or not _independent(nests[0], nests[1], affine, alias):
        return None
    one = _merged(first, second, affine, {})
    if one is None:
        return None
    return replace(function, body=(*body[: at[0]], *between, one, *body[at[1] + 1 :]))


def _independent(first: Nest, second: Nest, affine: Affine, alias: Alias) -> bool:
    """Whether each turn of the second nest stores to places of its own, in arrays that the first does not read."""
    indices = {loop.index for loop in second.loops}
    stores = [s for s in second.body if isinstance(s, Store)]
    places: dict[Sym, list[tuple[Sym | None, int]]] = {}
    for s in stores:
        place = [affine.split(i) for i in s.index]
        bases = [base for base, _ in place if base in indices]
        if len(bases) != len(indices) or set(bases) != indices or places.setdefault(s.array, place) != place:
            return False
    for load in (s for s in (*first.body, *second.body) if isinstance(s, Load)):
        of_first = load in first.body
        for array, place in places.items():
            if load.array == array and not of_first and [affine.split(i) for i in load.index] == place:
                continue
            if not alias.roots(load.array).isdisjoint(alias.roots(array)):
                return False
    arrays = list(places)
    return all(
        alias.roots(a).isdisjoint(alias.roots(b)) for k, a in enumerate(arrays) for b in arrays[k + 1 :]
    ) and not any(_may_raise(s) for s in second.body)


def _may_raise(s: Stmt) -> bool:
    """Whether an adjoint operation raises in primal code, where integers are divided by what may be zero."""
    match s:
        case Let(op="floordiv" | "mod", args=(_, by)):
            return not isinstance(by, Const)
        case Let(op="div", target=target):
            return not (isinstance(target.type, Scalar) and target.type.is_float)
        case _:
            return False


def _merged(first: Loop, second: Loop, affine: Affine, env: dict[Sym, Atom]) -> Loop | None:
    """One loop over both bodies; `env` holds the second one's indices."""
    if not _same_turns(first, second, affine):
        return None
    assert first.index is not None
    assert second.index is not None
    env[second.index] = first.index
    inner = first.body[-1], second.body[-1]
    loops = [isinstance(s, Loop) for s in inner]
    if not any(loops):
        return replace(first, body=(*first.body, *_quiet(Rewriter(env).block(second.body))))
    if not all(loops):
        return None
    lets = Rewriter(env)
    before = lets.block(second.body[:-1])
    one = _merged(inner[0], inner[1], affine, dict(lets.env))  # type: ignore[arg-type]
    return None if one is None else replace(first, body=(*first.body[:-1], *_quiet(before), one))


def _quiet(block: Block) -> Block:
    """Adjoint statements as primal code has them: divisions do not raise."""
    return tuple(replace(s, op="fdiv", fn=None) if isinstance(s, Let) and s.op == "div" else s for s in block)


def _read_once(function: Function) -> Function:
    once = _ReadOnce()
    return replace(function, body=once.block(function.body), results=once.atoms(function.results))


class _ReadOnce(Rewriter):
    """Elements that a block has read are not read again as long as there are only numbers after it."""

    def block(self, block: Block) -> Block:
        known: dict[tuple[Sym, tuple[Atom, ...]], Sym] = {}
        out: list[Stmt] = []
        for stmt in block:
            made = self.rebuild(stmt)
            if isinstance(made, Load):
                before = known.setdefault((made.array, made.index), made.target)
                if before != made.target:
                    self.env[made.target] = before
                    continue
            elif not isinstance(made, Let):
                known.clear()
            out.append(made)
        return tuple(out)


def _same_turns(first: Loop, second: Loop, affine: Affine) -> bool:
    """Whether both count through the same numbers, the second one perhaps backwards."""
    ends = (first.lo, first.hi, second.lo, second.hi)
    if first.step != ONE or not isinstance(second.step, Const) or any(e is None for e in ends):
        return False
    lo, hi, to_lo, to_hi = (affine.split(e) for e in ends if e is not None)
    if second.step.integer == -1:
        to_lo, to_hi = (to_hi[0], to_hi[1] + 1), (to_lo[0], to_lo[1] + 1)
    elif second.step != ONE:
        return False
    return lo == to_lo and hi == to_hi
