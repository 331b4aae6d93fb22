"""How a parallel loop can be split into parts whose turns meet nowhere, or why it cannot (see `parts`)."""

from __future__ import annotations

from dataclasses import dataclass

from adjit.analysis.alias import Alias
from adjit.analysis.carried import Carried, Count, Reduction, Same
from adjit.analysis.certain_races import doubtful_store
from adjit.analysis.meetings import Meetings, Reach, Rows, Updated
from adjit.analysis.recorded import Recorded, is_over_limit, recorded
from adjit.analysis.slices import Slices
from adjit.analysis.steps import Steps, steps
from adjit.ir.core import Atom, Block, Call, Const, Custom, Derive, Loop, Raise, RefAppend, RefNew
from adjit.ir.types import INT64
from adjit.ir.visit import walk
from adjit.transform.copies import Copies, copies_of

_IN_ORDER: dict[type, str] = {
    Call: "calls a function that calls itself",
    Custom: "has a derivative rule inside",
    Derive: "takes a gradient inside",
    Raise: "may raise",
    RefAppend: "keeps arrays in a list",
    RefNew: "keeps arrays in a list",
}


@dataclass(frozen=True)
class Pushed:
    """A cursor or a record that the turns add to (see `transform.segments`)."""


Kind = Same | Reduction | Count | Pushed | Steps


class CannotSplitError(Exception):
    """The reason why a loop stays in order."""


@dataclass(frozen=True)
class Split:
    """How a loop is split. copies: arrays of which each part has its own. near: how turns come near each other.

    records: what turns add to, each a number of values that depends on data. rows: where turns are apart if their rows
    follow each other. ahead: what computes the values of kind `Steps` in a turn, and nothing else.
    """

    kinds: tuple[Kind, ...]
    records: tuple[Recorded, ...]
    updated: tuple[Updated, ...]
    copies: tuple[Copies, ...]
    near: tuple[Reach, ...]
    rows: tuple[Rows, ...]
    ahead: Block

    @property
    def steps(self) -> bool:
        """Whether turns look at running products, minima or maxima."""
        return any(isinstance(kind, Steps) for kind in self.kinds)


def split_of(loop: Loop, meetings: Meetings, slices: Slices, alias: Alias) -> Split:
    """How the loop is split. Raises CannotSplitError."""
    if loop.index is None or loop.index.type != INT64 or loop.stop is not None:
        raise CannotSplitError("its end or its index is not that of a plain range")
    if not isinstance(loop.step, Const):
        raise CannotSplitError("its step is not a constant")
    for s in walk(loop.body):
        reason = _IN_ORDER.get(type(s))
        if reason is not None and not is_over_limit(s):
            raise CannotSplitError(f"it {reason}")
    doubtful = doubtful_store(loop, alias)
    if doubtful is not None:
        raise CannotSplitError(f"turns write the same elements of `{doubtful.array.name}`")
    carried = Carried(loop)
    known: list[Kind | None] = [carried.of(k) for k in range(len(loop.params))]
    ahead = _stepwise(loop, known, slices)
    others = [k for k, kind in enumerate(known) if kind is None]
    records = recorded(loop, carried, others) if others else []
    if records is None:
        names = ", ".join(f"`{loop.params[k].name}`" for k in others)
        raise CannotSplitError(f"each turn needs {names} of the one before")
    kinds = [Pushed() if kind is None else kind for kind in known]
    updated = meetings.of(loop)
    if updated is None:
        raise CannotSplitError("turns may update one array by two names")
    copies: list[Copies] = []
    near: list[Reach] = []
    rows: list[Rows] = []
    for one in updated:
        if one.apart:
            continue
        if one.reach is not None:
            near.append(one.reach)
            continue
        if one.rows is not None:
            rows.append(one.rows)
            continue
        own = copies_of(loop, one, alias)
        if own is None:
            raise CannotSplitError(f"turns may meet in `{one.array.name}`, which is also read there")
        copies.append(own)
    return Split(
        tuple(kinds),
        tuple(records),
        tuple(updated),
        tuple(copies),
        tuple(near),
        tuple(dict.fromkeys(rows)),
        ahead,
    )


def _stepwise(loop: Loop, known: list[Kind | None], slices: Slices) -> Block:
    """Learn which values are running products, minima or maxima that the turns look at; what computes them alone."""
    fixed = {p for p, kind in zip(loop.params, known, strict=True) if isinstance(kind, Same | Count)}
    wanted: list[Atom] = []
    for k, kind in enumerate(tuple(known)):
        found = steps(loop, k, slices) if kind is None else None
        if found is None:
            continue
        if all(p in fixed or p == loop.params[k] or p not in found.needs for p in loop.params):
            known[k] = found
            wanted.append(loop.nexts[k])
    together = slices.of(wanted)
    return () if together is None else together[0]
