"""Operations on several numbers side by side, as generated text calls them (the functions are in `runtime.lanes`)."""

from __future__ import annotations

import re

from adjit.ir.core import Atom, Let
from adjit.ir.types import Scalar

_VERSION = 2
"""Stands in generated text: raised whenever `runtime.lanes` compiles to something else, so that no machine code on
disk outlives that."""

ON_LANES = {
    "add": "vadd", "sub": "vsub", "mul": "vmul", "szmul": "vscale", "fdiv": "vdiv", "neg": "vneg",
    "select": "vwhere", "cast": "vfloat",
}  # fmt: skip
"""What is printed for an operation on lanes (see `runtime.lanes`)."""


def has_lanes(a: Atom) -> bool:
    """Whether a value is several numbers side by side."""
    return isinstance(a.type, Scalar) and a.type.lanes > 1


def in_lanes(stmt: Let) -> bool:
    """Whether an operation works on lanes."""
    return any(map(has_lanes, (stmt.target, *stmt.args)))


CALLED = frozenset(
    {
        *ON_LANES.values(),
        "lane",
        "lanes_at",
        "put_lane",
        "put_lanes",
        "put_row",
        "spread",
        "vfloat32",
        "vfloat64",
    }
)
"""The functions of `runtime.lanes`."""


def lanes_imports(text: str, called: set[str], listed: set[str]) -> list[str]:
    """What the text uses of `runtime.lanes`, and the dtypes of its arrays of lanes; `listed`: those in lists."""
    dtypes = sorted({*listed, *re.findall(r"\bfloat(?:32|64)x\d+\b", text)})
    names = sorted(called & CALLED)
    if not names and not dtypes:
        return []
    lines = [
        "",
        f"from adjit.runtime.lanes import {', '.join(['lanes_dtype', *names])}  # code {_VERSION}",
        "",
    ]
    for name in dtypes:
        number, _, width = name.partition("x")
        lines.append(f"{name} = lanes_dtype(np.dtype(np.{number}), {width})")
    return lines
