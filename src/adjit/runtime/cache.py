"""The map from a program's key to its generated text, in memory and on disk.

The key is made from what the program depends on, without building or typing any IR; on a hit the text is
loaded by its hash and nothing is compiled.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from adjit.runtime.compile import keep, stored_text
from adjit.runtime.folder import cache_folder, environment, write_once

Meta = dict[str, Any]

_lock = threading.Lock()
_KEPT = 512
_memory: OrderedDict[str, tuple[str, Meta]] = OrderedDict()


def program_key(*parts: object) -> str:
    """The key of a program: its parts (source fingerprint, signature, transform, options, ...) by `repr`.

    Versions of adjit, Numba, NumPy and Python, adjit's own source and the processor are added.
    """
    return hashlib.sha256(repr((parts, environment())).encode()).hexdigest()


def lookup(key: str) -> tuple[str, Meta] | None:
    """(hash of the text, meta), or None. The text itself is `compile.stored_text(hash)`."""
    found = _memory.get(key)
    if found is not None:
        return found
    found = _read(key)
    if found is None or stored_text(found[0]) is None:
        return None
    _remember(key, found)
    return found


def store(key: str, text: str, meta: Meta) -> str:
    """Remember a program; gives the hash of its text. Disk faults are no faults: the entry stays in memory.

    Raises: pickle.PicklingError (or TypeError) where `meta` does not pickle.
    """
    content = pickle.dumps(meta)
    name = keep(text)
    _remember(key, (name, meta))
    path = _path(key)
    if path is not None:
        try:
            path.parent.mkdir(exist_ok=True)
            write_once(path, pickle.dumps((key, name, content)))
        except OSError:
            return name
    return name


def _remember(key: str, found: tuple[str, Meta]) -> None:
    """Keep an entry in memory, and the newest others."""
    with _lock:
        _memory[key] = found
        while len(_memory) > _KEPT:
            _memory.popitem(last=False)


def forget() -> None:
    """Empty the map in memory (tests)."""
    with _lock:
        _memory.clear()


def _path(key: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / "programs" / f"{key}.pickle"


def _read(key: str) -> tuple[str, Meta] | None:
    """The entry on disk; None where there is none or it is damaged."""
    path = _path(key)
    if path is None:
        return None
    try:
        stored_key, name, content = pickle.loads(path.read_bytes())
        meta = pickle.loads(content)
    except Exception:  # a damaged pickle raises anything; the entry is then made anew
        return None
    return (name, meta) if stored_key == key else None
