"""The compiled form of a race check."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjit.analysis.alias import Alias, written_params
from adjit.codegen.module import Module, Unit, render
from adjit.ir.structure import Spec
from adjit.runtime.compile import load
from adjit.transform.primal import primal_of
from adjit.transform.races import STATE_SIZE, Site, race_checked


@dataclass(frozen=True)
class RaceCheck:
    """A program that notes its accesses. call: takes leaves, captured arrays and `state`.

    written, captured, copied: as those of a compiled program (`runtime.program.Compiled`). arrays: what is written.
    """

    call: Callable[..., Any]
    captures: tuple[Any, ...]
    captured: tuple[str, ...]
    written: tuple[bool, ...]
    sites: tuple[Site, ...]
    arrays: tuple[str, ...]
    copied: tuple[bool, ...] = ()

    def state(self) -> np.ndarray[Any, Any]:
        """What the program leaves its findings in."""
        return np.zeros(STATE_SIZE, dtype=np.int64)


def build(f: Any, specs: tuple[Spec, ...]) -> RaceCheck:
    """The instrumented form of f, compiled. Raises UnsupportedError, MissingRuleError."""
    primal = primal_of(f, specs)
    params, written = primal.function.params, written_params(primal.function, Alias(primal.function))
    checked = race_checked(primal.function)
    unit = Unit(checked.function, primal.error_model, primal.fastmath, True)
    text = render(Module((unit,), (), f"{primal.function.name}: a check of races"))
    namespace = load(text, compiled=os.environ.get("ADJIT_UNCOMPILED") != "1")
    return RaceCheck(
        namespace[checked.function.name],
        primal.captures,
        tuple(p.name for p in params[len(params) - len(primal.captures) :]),
        tuple(p in written for p in params),
        checked.sites,
        checked.arrays,
    )
