"""Rules of the operations of whole arrays that a library computes: products, linear algebra, transforms, orders."""

from __future__ import annotations

import importlib
import inspect
from functools import cache

from adjit.rules.linear.base import Matrices as Matrices
from adjit.rules.linear.base import Pull as Pull
from adjit.rules.linear.base import Push as Push
from adjit.rules.linear.base import WholeRule as WholeRule

_MODULES = {
    "Products": "products",
    "Square systems": "solving",
    "Eigenvalues and singular values": "spectral",
    "Orthogonal factors, least squares": "least",
    "Fourier transforms": "fourier",
    "Orders and running sums": "orders",
}
"""The modules of the rules, by the title of the group."""


@cache
def groups() -> dict[str, tuple[WholeRule, ...]]:
    """Every rule, by the title of its group."""
    return {title: importlib.import_module(f"{__name__}.{name}").RULES for title, name in _MODULES.items()}


@cache
def _registry() -> dict[str, WholeRule]:
    return {rule.op: rule for rules in groups().values() for rule in rules}


@cache
def sources() -> dict[str, str]:
    """The source of the functions that the printed operations call, by name."""
    module = importlib.import_module(f"{__name__}.helpers")
    found = {name: inspect.getsource(f) for name, f in vars(module).items() if inspect.isfunction(f)}
    return {name: text.replace("  # type: ignore[no-untyped-def]", "") for name, text in found.items()}


def evaluate(op: str, outs: tuple[object, ...], args: tuple[object, ...]) -> None:
    """Compute the operation on NumPy arrays: what its text says."""
    import numpy as np

    names = {f"a{k}": a for k, a in enumerate(args)}
    results = {f"out{k}": a for k, a in enumerate(outs)}
    module = importlib.import_module(f"{__name__}.helpers")
    text = get(op).text.format(*names, **{name: name for name in results})
    exec(text, {**vars(module), "np": np, **names, **results})


def get(op: str) -> WholeRule:
    """The rule of an operation.

    Raises:
        KeyError: there is none.
    """
    return _registry()[op]
