"""Stores that add to what an element holds: `array[place] = load array[place] + terms`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from adjit.ir.core import Atom, Block, Let, Load, Store, Sym
from adjit.ir.visit import operands


@dataclass(frozen=True)
class Increment:
    """A load, and the store of its value and some terms, each with a sign.

    Nothing else reads the load, or the sums on the way to the store, and no store to the array (by this name: who asks
    sees to others) stands between the two. The terms are of the array's type.
    """

    load: Load
    store: Store
    terms: tuple[tuple[int, Atom], ...]


def readers(body: Block, read: Iterable[Atom]) -> Counter[Atom]:
    """How often each atom is read in straight-line code and where it ends."""
    return Counter((*(a for s in body for a in operands(s)), *read))


def increments(body: Block, read: Iterable[Atom]) -> list[Increment]:
    """Those of straight-line code; `read`: what is read where the code ends."""
    uses = readers(body, read)
    made = {s.target: s for s in body if isinstance(s, Let | Load)}
    at = {id(s): k for k, s in enumerate(body)}
    found: list[Increment] = []
    for store in body:
        one = _increment(store, made, uses) if isinstance(store, Store) else None
        if one is not None:
            between = body[at[id(one.load)] : at[id(one.store)]]
            if not any(isinstance(s, Store) and s.array == one.store.array for s in between):
                found.append(one)
    return found


def _increment(store: Store, made: dict[Sym, Let | Load], uses: Counter[Atom]) -> Increment | None:
    a: Atom = store.value
    if a.type != store.array.type.dtype or not a.type.differentiable:  # type: ignore[union-attr]
        return None
    terms: list[tuple[int, Atom]] = []
    while isinstance(a, Sym) and uses[a] == 1:
        stmt = made.get(a)
        if isinstance(stmt, Load):
            alike = all(t.type == stmt.target.type for _, t in terms)
            return (
                Increment(stmt, store, tuple(terms[::-1])) if terms and alike and _same(stmt, store) else None
            )
        if stmt is None or stmt.op not in ("add", "sub") or stmt.fn is not None:
            return None
        left, right = stmt.args
        ahead = made.get(right) if isinstance(right, Sym) else None
        if stmt.op == "add" and isinstance(ahead, Load) and _same(ahead, store):
            left, right = right, left
        terms.append((1 if stmt.op == "add" else -1, right))
        a = left
    return None


def _same(load: Load, store: Store) -> bool:
    return load.array == store.array and load.index == store.index
