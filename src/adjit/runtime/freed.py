"""Freed work arrays stay with the process for the next call.

A gradient allocates its records and cotangents anew in each call. glibc takes an array of 128 KB or more from the
system and gives it back when it is freed, until a larger block has been freed once: then it keeps arrays up to that
size. Without that, the next call's first touch of each page is a fault, 1.5 to 2 us for 4 KB on a virtual machine:
horizontal diffusion (arrays of 2 MB) takes 10.9 ms in place of 2.9. So one block of the greatest size for which glibc
adapts (32 MB), never touched, is made and freed before the first compiled program runs. Up to 64 MB of freed memory at
the end of the heap then stay with the process. `MALLOC_MMAP_THRESHOLD_` in the environment fixes glibc's thresholds,
and with that this has no effect; nor has it any on other C libraries.
"""

from __future__ import annotations

import numpy as np

_LARGEST = 32 * 1024 * 1024 - 8192
"""Bytes: with its header and rounded up to pages not more than glibc's greatest adaptable threshold."""

_adapted = False


def keep_freed_memory() -> None:
    """Make and drop one large block, once in a process (see the module)."""
    global _adapted
    if not _adapted:
        _adapted = True
        np.empty(_LARGEST, np.uint8)
