"""`check_races`: run a program with every access of its parallel loops noted, and say where work items meet."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjit.api.engine import Engine, engine_of
from adjit.api.plan import Guard, Leaves
from adjit.api.source import source_of
from adjit.errors import ArgumentError, CheckError
from adjit.frontend.kernel_function import KernelFunction
from adjit.ir.structure import Spec
from adjit.runtime.arguments import writable
from adjit.runtime.places import refuse_devices

_REMEDY = (
    "let each work item write elements of its own, or add with aj.atomic_add (aj.atomic_min, aj.atomic_max)"
)


class RaceReport(NamedTuple):
    """What `check_races` looked at where it found no race: work items that ran, arrays that they write."""

    items: int
    arrays: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(self.arrays) or "none"
        return f"check_races passed: {self.items} work items, arrays written: {names}"


def check_races(f: Callable[..., Any], ndrange: Any, *args: Any, **kwargs: Any) -> RaceReport:
    """Run f on copies of its arguments and look for work items that meet in an element.

    Arguments: f: a kernel, with its `ndrange`; or a function with `prange` loops or launches, with None. Two work
    items of one launch, or turns of one loop, may both read an element, or both update it (`atomic_add`); they may
    not touch it where one of them writes it. Arrays that a work item makes are its own.
    Returns: a report that says how many work items ran.
    Raises: ArgumentError where a call would be refused, since an array that is written shares memory with another
    argument; CheckError that names the array, the index, both work items and the lines of both accesses: of the first
    meeting in the order of a sequential run.
    """
    source = source_of(f)
    is_kernel = isinstance(source.base, KernelFunction)
    if ndrange is not None and not is_kernel:
        raise ArgumentError(
            f"check_races: {source.name}() is no kernel, and has no ndrange", "give None for it"
        )
    refuse_devices("check_races", (*args, *kwargs.values()))
    values = source.signature.bind(args, {**kwargs, "ndrange": ndrange} if is_kernel else kwargs)
    plan = engine_of(source, "races", _Plan).plan(values)
    state = plan.run(values)
    if state[1]:
        raise _race(plan.program.sites, state)
    return RaceReport(int(state[0]), plan.program.arrays)


class _Plan:
    """A compiled check and how to call it."""

    def __init__(self, engine: Engine[_Plan], specs: tuple[Spec, ...], _: Any):
        from adjit.runtime.races import build

        specs = tuple(map(writable, specs))
        self.program = build(engine.source.base, specs)
        tree = Leaves(engine.source, specs)
        self._leaves, self._guard = tree.of, Guard(tree, self.program)

    def run(self, values: tuple[Any, ...]) -> np.ndarray[Any, Any]:
        """Run it on copies. Gives what it found."""
        given = self._leaves(values)
        if self._guard.needed:
            self._guard.check(given)
        leaves = [*given, *self.program.captures]
        state = self.program.state()
        self.program.call(*(v.copy(order="K") if isinstance(v, np.ndarray) else v for v in leaves), state)
        return state


def _race(sites: Sequence[Any], state: np.ndarray[Any, Any]) -> CheckError:
    from adjit.transform.races import AXES, INDEX

    mine, theirs = sites[state[2]], sites[state[3]]
    axes = [tuple(map(int, state[k : k + 3])) for k in range(AXES, INDEX - 1, 3)]
    axes = [a for a in axes if a[1] != 0]
    here, there = _item(int(state[4]), axes), _item(int(state[5]), axes)
    place = ", ".join(str(int(k)) for k in state[INDEX : INDEX + mine.ndim])
    what = f"'{mine.array}[{place}]'"
    return CheckError(
        f"work items {there} and {here} meet in {what}: {there} {theirs.does} it in {_line(theirs, mine)}, "
        f"{here} {mine.does} it in line {mine.span.line}",
        _REMEDY,
        mine.span,
    )


def _line(site: Any, beside: Any) -> str:
    line = f"line {site.span.line}"
    return line if site.span.file == beside.span.file else f"{line} of {os.path.basename(site.span.file)}"


def _item(linear: int, axes: Sequence[tuple[int, ...]]) -> str:
    """A work item's index from its number; axes: first value, step and count of each."""
    index: list[int] = []
    for lo, step, count in reversed(axes):
        index.append(lo + step * (linear % count))
        linear //= count
    return str(index[0]) if len(index) == 1 else str(tuple(reversed(index)))
