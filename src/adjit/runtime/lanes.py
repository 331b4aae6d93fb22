"""Tangents side by side in memory: the arrays that packed programs take."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def lanes_dtype(dtype: np.dtype[Any], width: int) -> np.dtype[Any]:
    """The dtype of an array whose elements are `width` numbers, in its field "lanes"."""
    return np.dtype([("lanes", dtype, (width,))])
