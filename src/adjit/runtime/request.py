"""What is asked of the compiler for one signature of a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjit.ir.structure import Spec, leaves


@dataclass(frozen=True)
class Request:
    """What is to be compiled. One spec per parameter of f; `active` has one flag per leaf.

    kind: "joint" (forward and reverse in one call), "split" (forward, and a pullback), "forward" (tangents), "primal",
    "sparsity" (which inputs each output depends on).
    width: cotangents or tangents carried at once. packed: (forward) whether those of an array may lie side by side
    in one array (`runtime.lanes`) where the program allows it. aux: the result is (out, aux), and only out is seeded.
    final: (joint) the shadows of written arrays hold cotangents of their final values when they come in.
    value: (joint, forward) whether the result is wanted; without it what only it needs is not computed.
    """

    f: Any
    specs: tuple[Spec, ...]
    kind: str
    active: tuple[bool, ...]
    width: int = 1
    packed: bool = False
    pure: bool = False
    aux: bool = False
    final: bool = True
    value: bool = True
    boundscheck: bool = False
    deterministic: bool | None = None
    memory: int | None = None
    debug_nans: bool = False

    @property
    def place(self) -> str:
        """Where the arrays are: "" for the host's memory."""
        return next((leaf.place for s in self.specs for leaf in leaves(s) if leaf.place), "")
