"""Where generated programs live on disk, and what they depend on."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tempfile
from functools import cache
from importlib import metadata
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np


def disk_enabled() -> bool:
    """Whether programs may be kept on disk (`ADJIT_NO_CACHE=1` turns it off)."""
    return os.environ.get("ADJIT_NO_CACHE", "0") in ("", "0")


def cache_folder() -> Path | None:
    """The folder of generated programs, made if need be; None where it is turned off or not writable."""
    if not disk_enabled():
        return None
    folder = Path(os.environ.get("ADJIT_CACHE_DIR") or _user_cache()) / _release()
    return folder if _writable(folder) else None


@cache
def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "adjit" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "adjit"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adjit"


def _release() -> str:
    return f"{adjit_version()}-numba{numba.__version__}-py{platform.python_version()}"


@cache
def adjit_version() -> str:
    """The installed version, "0" in a bare checkout."""
    try:
        return metadata.version("adjit")
    except metadata.PackageNotFoundError:
        return "0"


@cache
def environment() -> str:
    """Everything outside a program that its generated text and machine code depend on.

    The compiler's own files are part of it (by size and time), so that a development checkout never
    serves what an older state of it generated.
    """
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        stat = path.stat()
        digest.update(f"{path.relative_to(root)}:{stat.st_size}:{stat.st_mtime_ns};".encode())
    versions = (adjit_version(), numba.__version__, np.__version__, platform.python_version())
    machine = (platform.machine(), llvm.get_host_cpu_name(), sys.platform)
    return repr((versions, machine, digest.hexdigest()))


def write_once(path: Path, content: bytes) -> None:
    """Make the file in one step: other processes see nothing or all of it.

    A file that is there with this content is left alone (Numba stamps its time).

    Raises: OSError where the folder cannot be written.
    """
    try:
        if path.read_bytes() == content:
            return
    except FileNotFoundError:
        pass
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:16]}-", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        if path.suffix == ".py":
            _publish(temporary, path)
        else:
            os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _publish(temporary: str, path: Path) -> None:
    """Give the finished file its name; the first of several processes wins, and its time stamp stays."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        if path.read_bytes() != Path(temporary).read_bytes():
            os.replace(temporary, path)
    except OSError:
        os.replace(temporary, path)
