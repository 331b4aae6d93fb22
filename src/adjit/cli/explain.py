"""`adjit explain file.py:f`: what the derivative of a function does, line by line."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import adjit as aj
from adjit.errors import ArgumentError

_EXAMPLE = "example"


def explain(
    function: Annotated[str, typer.Argument(help="file.py:name, such as model.py:loss.")],
    args: Annotated[
        str | None,
        typer.Option(
            "--args",
            help="The arguments, a Python expression with the file's names, np, math and aj: "
            "'np.ones(9), 0.1'. Without it, example() of the file gives them.",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report to this file, as HTML.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Print without colours.")] = False,
) -> None:
    """Say what the gradient of a function does: what it records, computes again, runs in parallel. Runs nothing.

    The function may be one that aj.grad, aj.value_and_grad, aj.jit or aj.pure made. For keywords give dict(...) as the
    last of the arguments: 'y, x, dict(ndrange=9)'.
    """
    path, _, name = function.rpartition(":")
    if not path or not name:
        raise ArgumentError(f"'{function}' is not file.py:name", "name a file and a function: model.py:loss")
    module = _module(Path(path))
    f = getattr(module, name, None)
    if not callable(f):
        raise ArgumentError(f"{path} has no function '{name}'", _known(module))
    given, keywords = _arguments(module, args)
    report = aj.explain(f, *given, **keywords)
    if html is not None:
        html.write_text(report.html(), encoding="utf-8")
    elif plain:
        typer.echo(str(report), nl=False)
    else:
        Console().print(report)


def _module(path: Path) -> ModuleType:
    """The file, run as a module that is not the main one."""
    if not path.is_file():
        raise ArgumentError(
            f"there is no file {path}", "give a path from here: adjit explain folder/file.py:f"
        )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path} is not a Python file", "name a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _known(module: ModuleType) -> str:
    names = [
        n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__
    ]
    return f"it has: {', '.join(names)}" if names else "it defines no function"


def _arguments(module: ModuleType, text: str | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments and keywords, from an expression or from the file's `example()`."""
    if text is None:
        example: Callable[[], Any] | None = getattr(module, _EXAMPLE, None)
        if not callable(example):
            raise ArgumentError(
                "no arguments are given",
                "write --args 'np.ones(9), 0.1', or a function example() that returns them",
            )
        found = example()
    else:
        try:
            found = eval(text, {"np": np, "math": math, "aj": aj, **vars(module)})
        except Exception as error:
            reason = f"--args {text!r}: {type(error).__name__}: {error}"
            raise ArgumentError(reason, "give a Python expression, such as 'np.ones(9), 0.1'") from error
    values = found if type(found) is tuple else (found,)
    return (values[:-1], values[-1]) if values and isinstance(values[-1], dict) else (values, {})
