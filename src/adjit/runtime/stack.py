"""How much stack a thread surely has."""

from __future__ import annotations

_SMALL = 2**20  # the main thread's on Windows
_USUAL = 8 * 2**20
_SHARE = 0.8  # what callers below us have not taken


def stack_bytes() -> int:
    """Bytes of stack that recursion may take."""
    try:
        import resource
    except ImportError:
        return int(_SMALL * _SHARE)
    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    size = _USUAL if soft in (resource.RLIM_INFINITY, 0) else min(soft, _USUAL)
    return int(size * _SHARE)
