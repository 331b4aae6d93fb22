"""Whether a compressed matrix is the Jacobian: its product with a random vector against the tangent in that direction.

An entry that the pattern lacks is missing there, and spoils those that share its colour. A random vector shows it, but
for vectors of measure zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SHOWN = 8


def disagreeing(
    matrix: Any, vector: np.ndarray[Any, Any], tangent: np.ndarray[Any, Any], single: bool
) -> np.ndarray[Any, Any]:
    """The rows in which `matrix @ vector` is not the tangent, to rounding relative to the sum of their terms.

    single: whether the program computes in single precision somewhere.
    """
    eps = np.finfo(np.float32 if single else tangent.dtype).eps
    with np.errstate(invalid="ignore", over="ignore"):
        product = matrix @ vector
        terms = abs(matrix) @ abs(vector)
        sizes = np.maximum(terms, abs(tangent))
        finite = sizes[np.isfinite(sizes)]
        least = 32 * eps * finite.max(initial=0.0)
        near = abs(product - tangent) <= np.sqrt(eps) * sizes + least
        lost = ~np.isfinite(product) & ~np.isfinite(tangent)
    return np.flatnonzero(~(near | lost))


def named(rows: np.ndarray[Any, Any]) -> str:
    """The rows as a message says them."""
    shown = ", ".join(str(r) for r in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return f"{'row' if len(rows) == 1 else 'rows'} {shown}{more}"
