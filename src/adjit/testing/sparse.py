"""Checks of derived sparsity patterns: no point has an entry that the pattern lacks; compressed matrices are right.

A pattern that is proven is held to the Jacobian at other floats too, which may take other branches; one that is not, at
these alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import adjit as aj
from adjit.api.sparse.jacobian import SparseJacobian
from adjit.errors import UnsupportedError
from adjit.testing.subject import Subject, leaves, require

_POINTS = 2


def check_sparsity(subject: Subject, rng: np.random.Generator) -> None:
    """The pattern of what the function returns and leaves in its arrays, by all that it may be differentiated by.

    What patterns refuse (functions that call themselves) passes.
    """
    try:
        _check(subject, rng)
    except UnsupportedError as error:
        if "the sparsity of" not in str(error):
            raise


def _check(subject: Subject, rng: np.random.Generator) -> None:
    f = aj.pure(subject.function)
    moving = subject.moving()
    args = subject.call_args(subject.place().args, subject.function)
    sparse = SparseJacobian(f, wrt=moving)
    pattern = sparse.prepare(*args).pattern
    inside = pattern.matrix().toarray()
    dense = jacobian(f, args, moving)
    _hold(inside, dense, "at the arguments", pattern)
    found = sparse(*args).toarray()
    near = subject.tolerance(1e-11) * (1 + np.abs(np.nan_to_num(dense)))
    require(bool((np.abs(np.nan_to_num(found - dense)) <= near).all()), "compressed", f"{found}\n{dense}")
    for _ in range(_POINTS if pattern.proven else 0):
        other = subject.shifted(1.0, {k: rng.normal(size=np.shape(subject.values[k])) for k in subject.wrt})
        args = subject.call_args(subject.place(_typed(other, subject)).args, subject.function)
        try:
            with np.errstate(all="ignore"):
                dense = jacobian(f, args, moving)
        except (ArithmeticError, IndexError, ValueError, MemoryError, RecursionError):
            continue  # at these floats the program raises
        _hold(inside, dense, "at other floats", pattern)


def _typed(flat: Sequence[Any], subject: Subject) -> list[Any]:
    values = zip(flat, subject.values, strict=True)
    return [v.astype(w.dtype) if isinstance(w, np.ndarray) else v for v, w in values]


def _hold(inside: Any, dense: Any, where: str, pattern: Any) -> None:
    missing = np.argwhere((np.nan_to_num(dense) != 0) & ~inside)
    text = f"{where}: entries {missing[:5].tolist()} are missing; reasons {pattern.reasons}"
    require(not len(missing), "sparsity", f"{text}\n{inside.astype(int)}\n{dense}")


def jacobian(f: Any, args: Sequence[Any], moving: Sequence[int]) -> Any:
    """The dense Jacobian, (outputs, inputs), by a tangent for each input."""
    columns: list[Any] = []
    for k in moving:
        for j, leaf in enumerate(leaves(args[k])):
            if not (isinstance(leaf, float) or getattr(leaf, "dtype", np.dtype("i")).kind == "f"):
                continue
            for place in np.ndindex(np.shape(leaf)):
                unit = np.zeros(np.shape(leaf), getattr(leaf, "dtype", np.float64))
                unit[place] = 1
                moved = iter(range(len(leaves(args[k]))))
                direction = _tree(
                    args[k], lambda _, m=moved, j=j, u=unit: _given(u) if next(m) == j else None
                )
                tangents = [direction if n == k else None for n in range(len(args))]
                out = aj.jvp(f, tuple(args), tuple(tangents))[1]
                columns.append(np.concatenate([np.ravel(t) for t in leaves((out,)) if t is not None]))
    return np.array(columns).T


def _given(unit: Any) -> Any:
    return unit if unit.ndim else unit[()].item()


def _tree(tree: Any, leaf: Any) -> Any:
    if not isinstance(tree, tuple):
        return leaf(tree)
    items = [_tree(t, leaf) for t in tree]
    return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
