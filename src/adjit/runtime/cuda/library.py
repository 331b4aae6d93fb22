"""CuPy, and what of it is used here. It ships no types, and need not be installed where the code is checked."""

from __future__ import annotations

import importlib
from typing import Any

cp: Any = importlib.import_module("cupy")
memory: Any = importlib.import_module("cupy.cuda.memory")
runtime: Any = importlib.import_module("cupy_backends.cuda.api.runtime")
driver: Any = importlib.import_module("cupy_backends.cuda.api.driver")


def cupyx_sparse() -> Any:
    """CuPy's sparse matrices."""
    return importlib.import_module("cupyx.scipy.sparse")
