"""PoCL of PyPI (3.0) on processors that are newer than it: a name of theirs that it knows.

Its LLVM calls a processor that it does not know "generic", which its compiler then refuses (`unknown target CPU
'generic'`); no option changes the name. Tests put a function of their own in the place of the one that says it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import platform
from collections.abc import Callable
from pathlib import Path

_kept: list[object] = []  # what the library calls must live as long as it does


def name_processor() -> None:
    """Make PoCL compile for the instructions of 2013 (AVX2) where it does not know the processor.

    Must be called before the first platform is asked for. Other PoCLs, processors and systems are left as they are.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64" or _kept:
        return
    spec = importlib.util.find_spec("pyopencl")
    found = (
        [] if spec is None or spec.origin is None else sorted(Path(spec.origin).parent.glob(".libs/libpocl*"))
    )
    if not found:
        return
    tell = getattr(ctypes.CDLL(str(found[0])), "pocl_get_llvm_cpu_name", None)
    if tell is None:
        return
    tell.restype = ctypes.c_char_p
    if tell() != b"generic":
        return
    libc = ctypes.CDLL(None)
    libc.strdup.restype = ctypes.c_void_p  # PoCL frees what it is told
    modern = "avx2" in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split()
    _replace(tell, lambda: libc.strdup(b"x86-64-v3" if modern else b"x86-64"))


def _replace(function: Callable[[], object], other: Callable[[], int]) -> None:
    """Calls of a C function that takes nothing and gives a pointer go to another one."""
    new = ctypes.CFUNCTYPE(ctypes.c_void_p)(other)
    _kept.append(new)
    place, target = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (function, new))
    page = mmap.PAGESIZE
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    readable_writable_executable = 7
    if protect(place // page * page, 2 * page, readable_writable_executable):
        raise OSError("no right to change the code of PoCL")
    jump = b"\x48\xb8" + target.to_bytes(8, "little") + b"\xff\xe0"  # mov rax, target; jmp rax
    ctypes.memmove(place, jump, len(jump))
