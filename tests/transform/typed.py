"""From a Python function and example arguments to typed IR, and IR run on copies of arguments."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adjit.analysis.types import infer
from adjit.frontend import lower
from adjit.ir.core import Function, Loop, Sym
from adjit.ir.printer import to_text
from adjit.ir.verify import verify
from adjit.ir.visit import walk
from adjit.runtime.arguments import spec_of
from adjit.testing.interpret import interpret
from adjit.transform.lowered import typed_out

Pass = Callable[[Function], Function]


def typed(f: Callable[..., Any], *args: Any) -> Function:
    """The typed IR of a call, by Numba's rules."""
    function = infer(lower(f, tuple(spec_of(a) for a in args)).function)
    verify(function)
    return function


def program_of(file: Path, text: str) -> Callable[..., Any]:
    """`program`, as the text defines it, written to a file."""
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def structure(f: Callable[..., Any], function: Function, *args: Any) -> Any:
    """The structure of the call's result."""
    return typed_out(lower(f, tuple(spec_of(a) for a in args)).out, function)


def active(function: Function) -> tuple[Sym, ...]:
    """The float parameters."""
    return tuple(p for p in function.params if p.type.differentiable)


def _copy(a: Any) -> Any:
    if isinstance(a, list):
        return [_copy(item) for item in a]
    return a.copy(order="K") if isinstance(a, np.ndarray) else a


def run(function: Function, args: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
    """Results, and the arguments afterwards; the arguments themselves are not touched."""
    own = [_copy(a) for a in args]
    with np.errstate(all="ignore"):
        results = interpret(function, tuple(own), strict=False)
    return results, own


def loops(function: Function) -> int:
    """How many loops a function has."""
    return sum(isinstance(s, Loop) for s in walk(function.body))


def has_more_loops(before: Function, after: Function, args: Sequence[Any]) -> bool:
    """Whether a pass has written more loops; results and arguments must be the same to the bit."""
    verify(after)
    for one, other in zip(run(before, args), run(after, args), strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=to_text(after))
    return loops(after) > loops(before)
