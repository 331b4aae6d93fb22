"""Generated text -> callable functions.

The text is a file in the cache folder, named by its hash, written once and imported from there, so that
Numba keeps its machine code beside it and a second process starts warm. Without a folder it is executed in memory.
"""

from __future__ import annotations

import hashlib
import importlib.util
import linecache
import re
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from adjit.runtime.folder import cache_folder, write_once
from adjit.runtime.plain import adapt, plain_namespace

_lock = threading.RLock()
_loaded: dict[tuple[str, bool], dict[str, Any]] = {}
_texts: dict[str, str] = {}


def text_hash(text: str) -> str:
    """The name of a generated module."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def load(
    text: str, names: Iterable[str] = (), compiled: bool = True, place: str = ""
) -> dict[str, Callable[..., Any]]:
    """The functions of a generated module, by name.

    Arguments:
    - text: what `codegen.module.render` gave.
    - names: the functions wanted (all of the namespace if empty).
    - compiled: False runs the text as plain Python, for debugging and fuzzing.
    - place: the device that the text is for; its host functions run as plain Python.
    """
    with _lock:
        name = text_hash(text)
        if (name, compiled) not in _loaded:
            _texts[name] = text
            if place:
                _loaded[name, compiled] = _driver(name, text)
            else:
                _loaded[name, compiled] = _compiled(name, text) if compiled else _plain(name, text)
        namespace = _loaded[name, compiled]
    wanted = tuple(names)
    return {n: namespace[n] for n in wanted} if wanted else namespace


_LONG = 500
"""Lines of a module from which Numba's SSA pass, which recurses from block to block, may need more stack."""


def with_room(call: Callable[..., Any], lines: int) -> Callable[..., Any]:
    """`call`, whose first run (which compiles) may recurse deeper where the module is long."""
    if lines < _LONG:
        return call
    done = False

    def run(*args: Any) -> Any:
        nonlocal done
        if done:
            return call(*args)
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, 50 * lines))
        try:
            result = call(*args)
        finally:
            sys.setrecursionlimit(before)
        done = True
        return result

    return run


def load_stored(name: str, place: str = "") -> dict[str, Callable[..., Any]] | None:
    """The functions of a module that an earlier `load` or process wrote, by its hash; None if it is gone."""
    text = stored_text(name)
    return None if text is None else load(text, place=place)


def keep(text: str) -> str:
    """Keep the text, on disk if there is a folder; gives its hash."""
    name = text_hash(text)
    with _lock:
        _texts[name] = text
        _write(name, text)
    return name


def stored_text(name: str) -> str | None:
    """The text of a module, by its hash."""
    if name in _texts:
        return _texts[name]
    folder = cache_folder()
    if folder is None:
        return None
    try:
        text = _path(folder, name).read_text(encoding="utf-8")
    except OSError:
        return None
    return text if text_hash(text) == name else None


def _path(folder: Path, name: str) -> Path:
    return folder / f"adjit_{name}.py"


def _write(name: str, text: str) -> Path | None:
    """The file of the text, or None where there is no writable folder."""
    folder = cache_folder()
    if folder is None:
        return None
    path = _path(folder, name)
    try:
        write_once(path, text.encode())
    except OSError:
        return None
    return path


def _compiled(name: str, text: str) -> dict[str, Any]:
    path = _write(name, text)
    if path is None:
        return _in_memory(name, re.sub(r"^(@njit\(.*)cache=True", r"\1cache=False", text, flags=re.M))
    module_name = f"adjit_{name}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return vars(module)


def _in_memory(name: str, text: str) -> dict[str, Any]:
    module = ModuleType(f"adjit_{name}")
    sys.modules[module.__name__] = module
    return _execute(f"<adjit {name}>", text, vars(module))


def _plain(name: str, text: str) -> dict[str, Any]:
    """The text without Numba: decorators are identities, scalar types are NumPy's."""
    bare = re.sub(r"^(from numba.*|import math)$", "", text, flags=re.M)
    namespace = _execute(f"<adjit {name}, plain>", bare, plain_namespace())
    adapt(namespace)
    return namespace


def _driver(name: str, text: str) -> dict[str, Any]:
    """The host functions of a program on an OpenCL device, and what launches its kernels."""
    from adjit.runtime.opencl.launch import Source

    namespace = _execute(
        f"<adjit {name}, device>", text, {**plain_namespace(), "Source": Source, "fdiv": None}
    )
    adapt(namespace)
    return namespace


def _execute(file: str, text: str, namespace: dict[str, Any]) -> dict[str, Any]:
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), namespace)
    return namespace
