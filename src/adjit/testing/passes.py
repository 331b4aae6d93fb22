"""Watches every pass of the compiler: what comes out is legal IR, and its text reads back as the same text.

A pass is found by its annotation: any function of `frontend`, `analysis` or `transform` that returns a `Function`, or
a dataclass that holds some. A new pass is watched without being listed.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from typing import Any

from adjit.ir.core import Function, Sym
from adjit.ir.parser import parse
from adjit.ir.printer import text_and_opaque, to_text
from adjit.ir.verify import verify
from adjit.ir.visit import defined, used

_LAYERS = ("adjit.frontend", "adjit.analysis", "adjit.transform")
_APART = ("adjit.testing", "adjit.cli", "adjit.runtime.cuda", "adjit.runtime.opencl")
"""What names no pass; device libraries need not be installed."""


class PassFault(AssertionError):
    """A pass made something that is not legal, or that does not survive printing and parsing."""


def functions_of(result: Any) -> list[Function]:
    """The IR functions in what a pass returned."""
    if isinstance(result, Function):
        return [result]
    if isinstance(result, tuple):
        return [f for item in result for f in functions_of(item)]
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        found = (getattr(result, field.name) for field in dataclasses.fields(result))
        return [f for f in found if isinstance(f, Function)]
    return []


@functools.cache
def passes() -> tuple[Callable[..., Any], ...]:
    """Every pass."""
    modules = [importlib.import_module(name) for layer in _LAYERS for name in _modules(layer)]
    named = [(m, f) for m in modules for f in vars(m).values() if inspect.isfunction(f)]
    own = [inspect.unwrap(f) for m, f in named if f.__module__ == m.__name__]
    return tuple(f for f in own if _gives_functions(f))


def _modules(layer: str) -> list[str]:
    package = importlib.import_module(layer)
    inside = pkgutil.walk_packages(package.__path__, f"{layer}.", onerror=lambda name: None)
    return [layer, *(found.name for found in inside)]


def _gives_functions(f: Callable[..., Any]) -> bool:
    """Whether the annotation says so. Raises NameError for one that does not resolve, or it would go unwatched."""
    kind = _annotated(f)
    if kind is Function or getattr(kind, "__args__", (None,))[0] is Function:
        return True
    return dataclasses.is_dataclass(kind) and any(
        f.type in (Function, "Function") for f in dataclasses.fields(kind)
    )


def _annotated(f: Callable[..., Any]) -> Any:
    """What a function is annotated to return, evaluated where it stands; None if it has no annotation."""
    text = f.__annotations__.get("return")
    return eval(text, f.__globals__) if isinstance(text, str) else text


def closed(function: Function) -> Function:
    """The function, with what it reads from outside as parameters if it has none yet: a reverse sweep in the making
    learns its parameters last."""
    if function.params:
        return function
    outside = used(function.body) | {a for a in function.results if isinstance(a, Sym)}
    return dataclasses.replace(function, params=tuple(outside - defined(function.body)))


def check_legal(function: Function, who: str, typed: bool = True) -> None:
    """Raise PassFault if the verifier objects."""
    try:
        verify(function, typed)
    except AssertionError as error:
        raise PassFault(f"{who}: {error}\n{to_text(function)}") from error


def check_round_trip(
    function: Function, who: str, seen: set[str] | None = None, complete: bool = True
) -> None:
    """Raise PassFault unless the function's text reads back as the same text; texts in `seen` are known to."""
    text, opaque = text_and_opaque(function, complete)
    if seen is not None:
        if text in seen:
            return
        seen.add(text)
    try:
        again = to_text(parse(text, opaque), complete)
    except Exception as error:
        raise PassFault(f"{who}: its text cannot be read: {error}\n{text}") from error
    if again != text:
        raise PassFault(f"{who}: its text reads back as\n{again}\nand not as\n{text}")


@contextmanager
def watched(round_trip: bool = True) -> Generator[list[str]]:
    """Within it, what every pass returns is verified, and printed and parsed back too if asked.

    Gives the names of the passes that ran, in order.
    """
    ran: list[str] = []
    checked: set[Hashable] = set()
    texts: set[str] = set()
    kept: list[Function] = []  # as long as they live, their ids are their own

    def look(f: Callable[..., Any], result: Any) -> None:
        who = f"{f.__module__}.{f.__name__}"
        ran.append(who)
        typed = not f.__module__.startswith("adjit.frontend")
        for function in functions_of(result):
            parts = (function.params, function.body, function.results, function.functions)
            key = (typed, *map(id, parts))
            if key in checked:
                continue
            checked.add(key)
            kept.append(function)
            function = closed(function)
            check_legal(function, who, typed)
            if round_trip:
                check_round_trip(function, who, texts)

    with wrapped(passes(), lambda f: _looked_at(f, look)):
        yield ran


def _looked_at(f: Callable[..., Any], look: Callable[[Callable[..., Any], Any], None]) -> Callable[..., Any]:
    @functools.wraps(f)
    def watching(*args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)
        look(f, result)
        return result

    return watching


Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


@contextmanager
def wrapped(functions: tuple[Callable[..., Any], ...], wrap: Wrap) -> Generator[None]:
    """Within it, every module of adjit that has one of these functions by name sees `wrap` of it in its place.

    All modules are imported before: one that was imported within it would keep the wrapper for good.
    """
    places = _places(functions)
    before = [getattr(module, name) for module, name, _ in places]
    made = {f: wrap(current) for (_, _, f), current in zip(places, before, strict=True)}
    for module, name, f in places:
        setattr(module, name, made[f])
    try:
        yield
    finally:
        for (module, name, _), current in zip(places, before, strict=True):
            setattr(module, name, current)


@functools.cache
def _places(functions: tuple[Callable[..., Any], ...]) -> list[tuple[Any, str, Callable[..., Any]]]:
    """Every module and name under which one of the functions is known."""
    titles = [t for t in _modules("adjit") if not t.startswith(_APART)]
    modules = [importlib.import_module(title) for title in ("adjit", *titles)]
    found = [(module, name, f) for module in modules for name, f in vars(module).items()]
    known = [(module, name, inspect.unwrap(f)) for module, name, f in found if inspect.isfunction(f)]
    return [(module, name, f) for module, name, f in known if f in functions]
