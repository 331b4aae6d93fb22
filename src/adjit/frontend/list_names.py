"""The names of lists that grow.

A `Growing` is a list as it is at one point of the program. What changes it gives all names of it a new one, as if each
was assigned (`changed`). Two names of one list stay so where paths meet and from turn to turn of a loop. Lists that may
be the same have owners in common; where it is not known whether a name stands for the list that is changed, the change
is refused. A function that is called works with names of its own for the lists it is given, and hands back what it
has made of each (`lent`, `handed_back`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

from adjit.frontend.context import RESULT, Env, Frame, Lowering
from adjit.frontend.values import EnumerateValue, Growing, ReversedValue, TupleValue, Value, ZipValue
from adjit.ir.core import Sym

LENT = "$list:"
"""Before a parameter's name: the list that it was given."""
_ONE_NAME = "give each list one name, or take a copy: items.copy()"


def changed(lx: Lowering, old: Growing, new: Growing, node: ast.AST) -> None:
    """All names of a list stand for what it has become."""
    names = lx.env.names
    lx.changes.append(old.owners)
    for name, value in names.items():
        names[name] = _swapped(value, old, new)
    for name, value in names.items():
        for other in lists_in(value):
            if other is new or name in (RESULT, "$value") or not other.owners & old.owners:
                continue
            if not (name.startswith(LENT) and other.owners == old.owners and len(old.owners) == 1):
                _refuse_names(lx, node)
            names[name] = new  # on the other paths the function has returned
    _refuse_outer(lx, old, node)


def _refuse_names(lx: Lowering, node: ast.AST) -> NoReturn:
    lx.refuse(node, "a list that may have another name changes its length", _ONE_NAME)


def _refuse_outer(lx: Lowering, old: Growing, node: ast.AST) -> None:
    """A nested function changes no list of the functions around it other than as its parameter."""
    frame, outer = lx.frame, lx.frame.lexical
    read = None  # of a comprehension: all names are those of the function around it
    if isinstance(frame.code, ast.AST):
        read = {n.id for n in ast.walk(frame.code) if isinstance(n, ast.Name)} - frame.scope.names
    while outer is not None:
        held = [value for name, value in outer.env.names.items() if read is None or name in read]
        if any(other.owners & old.owners for value in held for other in lists_in(value)):
            reason = "a list of the function around this one changes its length here"
            remedy = "write the loop" if read is None else "give the nested function the list as an argument"
            lx.refuse(node, reason, remedy)
        outer = outer.lexical


def _swapped(value: Value, old: Growing, new: Growing) -> Value:
    if value is old:
        return new
    if isinstance(value, TupleValue) and any(other is old for other in lists_in(value)):
        return TupleValue(tuple(_swapped(v, old, new) for v in value.items), value.cls)
    return value


def refuse_shown(lx: Lowering, value: Value, node: ast.AST) -> None:
    """What shows a list as it was is not kept: the list may change."""
    if isinstance(value, Sym) and value in lx.seen:
        remedy = "give each list one name, set by 'name = items', or take a copy: list(items)"
        lx.refuse(node, "a list that changes its length is kept in this way", remedy)
    if isinstance(value, EnumerateValue | ReversedValue):
        refuse_shown(lx, value.item, node)
    if isinstance(value, ZipValue | TupleValue):
        for v in value.items:
            refuse_shown(lx, v, node)


def lists_in(value: Value) -> Iterator[Growing]:
    """The lists that a value holds."""
    if isinstance(value, Growing):
        yield value
    elif isinstance(value, TupleValue):
        for v in value.items:
            yield from lists_in(v)


def lent(names: dict[str, Value]) -> dict[str, Value]:
    """The parameters of a function that is called, with names of the lists that it is given."""
    held = {name: list(lists_in(value)) for name, value in names.items()}
    return {**names, **{f"{LENT}{name}:{k}": v for name, vs in held.items() for k, v in enumerate(vs)}}


def handed_back(lx: Lowering, frame: Frame, given: dict[str, Value], node: ast.AST) -> None:
    """What a function that was called has made of the lists that it was given."""
    done: set[Value] = set()
    for name, old in given.items():
        new = frame.env.names.get(name)
        if (
            name.startswith(LENT)
            and isinstance(old, Growing)
            and isinstance(new, Growing)
            and new is not old
            and old not in done
        ):
            done.add(old)
            changed(lx, old, new, node)


def refuse_changed(
    lx: Lowering, source: Value, changes: Sequence[frozenset[object]], node: ast.For | ast.While
) -> None:
    """A list changes its length while a loop runs over it."""
    if any(owners & _owners(lx, source) for owners in changes):
        reason = "a list changes its length while a loop runs over it"
        lx.refuse(node, reason, "count instead: i = 0; while i < len(items): ...; i += 1")


def _owners(lx: Lowering, source: Value) -> frozenset[object]:
    match source:
        case Growing():
            return source.owners
        case Sym():
            return lx.seen.get(source, frozenset())
        case EnumerateValue() | ReversedValue():
            return _owners(lx, source.item)
        case ZipValue():
            return frozenset().union(*(_owners(lx, v) for v in source.items))
        case _:
            return frozenset()


class Carried:
    """The lists that a loop carries, found by lowering a turn: those of which it changes the length."""

    def __init__(self, before: Env):
        self.before = before
        self.changed: dict[str, None] = {}
        self.apart: set[str] = set()  # names of one list before the loop, and of two at the end of a turn
        self.extra: dict[str, frozenset[object]] = {}
        self.going_on = before  # the names with which the next turn begins

    def owned(self, name: str, template: Growing) -> Growing:
        """The list at the start of a turn."""
        return replace(template, owners=template.owners | self.extra.get(name, frozenset()))

    def again(self, slots: list[tuple[str, Value, list[str]]], end: Env) -> bool:
        """Whether the turn showed something that is to be known at its start."""
        if end.dead:
            return False
        before = (len(self.changed), len(self.apart), sum(map(len, self.extra.values())))
        carried = {name for name, _, aliases in slots for name in (name, *aliases)}
        for name, old in self.before.names.items():
            if name not in carried and any(True for _ in lists_in(old)):
                new = end.names.get(name)
                if new is not None and new is not old and any(True for _ in lists_in(new)):
                    if _grown(old, new):
                        self.changed[name] = None
        for name, _, aliases in slots:
            self.apart.update(a for a in aliases if end.names.get(a) is not end.names.get(name))
        lists = [(name, v, self.going_on.names.get(name)) for name, v, _ in slots if isinstance(v, Growing)]
        found = [(name, v, e) for name, v, e in lists if isinstance(e, Growing)]
        for k, (name, start, last) in enumerate(found):
            if not last.owners <= start.owners and name not in self.extra:
                self.extra[name] = frozenset({object()})
            for other, start2, last2 in found[:k]:
                if last.owners & last2.owners and not start.owners & start2.owners:
                    both = frozenset({object()})
                    for n in (name, other):
                        self.extra[n] = self.extra.get(n, frozenset()) | both
        return before != (len(self.changed), len(self.apart), sum(map(len, self.extra.values())))


def _grown(old: Value, new: Value) -> bool:
    """Whether a name stands for the list that it did, after a change."""
    return any(a.owners & b.owners for a in lists_in(old) for b in lists_in(new))
