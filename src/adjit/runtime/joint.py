"""The function that runs both sweeps of a joint program: the second for each cotangent, or for several in lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjit.codegen.module import Glue, Step
from adjit.codegen.names import RESERVED, Names
from adjit.ir.core import Function, Sym
from adjit.ir.types import Array
from adjit.transform.reverse import Reversed


def joint_glue(
    function: Function, rev: Reversed, active: Sequence[Sym], count: int, width: int, lanes: int
) -> Glue:
    """Arguments, `width` shadows of each active array, as many seeds of each seeded result, the memory limit -> `count`
    results, as many adjoints of each active number.

    lanes: how many cotangents each reverse sweep takes; with more than one the shadows are copied in and out.
    """
    return _Joint(function, rev, active, width, lanes).glue(count)


class _Joint:
    def __init__(self, function: Function, rev: Reversed, active: Sequence[Sym], width: int, lanes: int):
        self._rev, self._width, self._lanes = rev, width, lanes
        self._name = f"{function.name}_joint"
        self._backward = rev.backward.name if lanes == 1 else f"{rev.backward.name}_{lanes}"
        self._names = names = _Names(frozenset({self._name, rev.forward.name, self._backward}))
        self._arguments = tuple(names(p) for p in function.params)
        self._saved = tuple(names(s) for s in rev.saved)
        self._arrays = [p for p in active if isinstance(p.type, Array)]
        self._numbers = [p for p in active if not isinstance(p.type, Array)]
        self._of_array = [self._each(f"d{names(p)}", width == 1) for p in self._arrays]
        self._of_seed = [self._each(names(s)) for s in rev.seeds]
        self._of_number = [self._each(f"d{names(p)}") for p in self._numbers]
        self._steps: list[Step | str] = []

    def _each(self, name: str, bare: bool = False) -> list[str]:
        """A name for each cotangent."""
        return [self._names.fresh(name if bare else f"{name}_{w}") for w in range(self._width)]

    def glue(self, count: int) -> Glue:
        """The function."""
        results = tuple(self._names.fresh(f"result_{k}") for k in range(count))
        limit = self._names.fresh("memory_limit")
        forward = self._rev.forward.name
        groups = (*self._of_array, *self._of_seed)
        names = dict(zip((*self._rev.shadows, *self._rev.seeds), groups, strict=True))
        early = [names[s][0] for s in self._rev.early]
        self._steps.append(Step((*results, *self._saved), forward, (*self._arguments, limit, *early)))
        for first in range(0, self._width, self._lanes):
            if self._lanes == 1:
                self._sweep(first)
            else:
                self._sweep_lanes(range(first, min(first + self._lanes, self._width)))
        flat = [[n for group in groups for n in group] for groups in (self._of_array, self._of_seed)]
        adjoints = [n for group in self._of_number for n in group]
        params = (*self._arguments, *flat[0], *flat[1], limit)
        return Glue(self._name, params, tuple(self._steps), (*results, *adjoints))

    def _back(self, targets: Sequence[str], cotangents: Sequence[str]) -> None:
        kept = tuple(map(self._names, self._rev.kept))
        self._steps.append(Step(tuple(targets), self._backward, (*kept, *self._saved, *cotangents)))

    def _sweep(self, w: int) -> None:
        targets = [group[w] for group in self._of_number]
        self._back(targets, [group[w] for group in (*self._of_array, *self._of_seed)])

    def _sweep_lanes(self, several: range) -> None:
        shadows = [self._packed(p, g, several) for p, g in zip(self._arrays, self._of_array, strict=True)]
        pairs = zip(self._rev.seeds, self._of_seed, strict=True)
        seeds = [self._packed(s, group, several) for s, group in pairs]
        found = [self._names.fresh(f"{group[0]}_lanes") for group in self._of_number]
        self._back(found, [*shadows, *seeds])
        for k, w in enumerate(several):
            for group, lanes in zip(self._of_array, shadows, strict=True):
                self._steps.append(f"{group[w]}[...] = lane({lanes}, {k})")
            for group, lanes in zip(self._of_number, found, strict=True):
                self._steps.append(f"{group[w]} = lane({lanes}, {k})[0]")

    def _packed(self, of: Sym, group: Sequence[str], several: range) -> str:
        """An array of lanes that holds what the arrays, or the numbers, of a group do."""
        name = self._names.fresh(f"{group[0]}_lanes")
        shape, place, tail = "1", "[0]", ""
        if isinstance(of.type, Array):
            fortran = of.type.layout == "F" and of.type.ndim > 1
            shape, place = f"{group[0]}.shape", "[...]"
            shape, tail = (f"{shape}[::-1]", ".T") if fortran else (shape, "")
        dtype = replace(of.type.dtype if isinstance(of.type, Array) else of.type, lanes=self._lanes)
        self._steps.append(f"{name} = np.zeros({shape}, {dtype}){tail}")
        for k, w in enumerate(several):
            self._steps.append(f"lane({name}, {k}){place} = {group[w]}")
        return name


class _Names(Names):
    """Unique names for the glue function's variables; `functions`: those that it calls."""

    def __init__(self, functions: frozenset[str]) -> None:
        super().__init__(RESERVED | functions)
        self._names: dict[Sym, str] = {}

    def __call__(self, s: Sym) -> str:
        if s not in self._names:
            self._names[s] = self.fresh(f"{s.name}_{len(self._names)}")
        return self._names[s]
