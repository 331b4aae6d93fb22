"""From a Python function and example arguments to typed IR, and IR run on copies of arguments."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adjit.analysis.types import infer
from adjit.frontend import lower
from adjit.ir.core import Function, Sym
from adjit.ir.verify import verify
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
