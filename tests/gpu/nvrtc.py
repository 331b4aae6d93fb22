"""NVIDIA's run-time compiler, through ctypes: it needs no driver and no GPU (PyPI: nvidia-cuda-nvrtc-cu12)."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.metadata import files
from typing import Any


@cache
def _library() -> Any:
    path = next(f for f in files("nvidia-cuda-nvrtc-cu12") or () if f.name.startswith("libnvrtc.so"))
    return ctypes.CDLL(str(path.locate()))


def compile_cuda(text: str, *options: str, arch: str = "compute_90") -> str:
    """The PTX of a CUDA C++ text. Raises AssertionError with the compiler's log."""
    nvrtc = _library()
    program = ctypes.c_void_p()
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    assert made == 0
    given = [f"--gpu-architecture={arch}".encode(), b"--std=c++17", *(o.encode() for o in options)]
    status = nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
    assert status == 0, f"{_text(nvrtc, 'ProgramLog', program)}\n{text}"
    ptx = _text(nvrtc, "PTX", program)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx


def _text(nvrtc: Any, what: str, program: Any) -> str:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()
