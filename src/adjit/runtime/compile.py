"""Generated text -> callable functions.

The text is a file in the cache folder, named by its hash, written once and imported from there, so that
Numba keeps its machine code beside it and a second process starts warm. Without a folder it is executed in memory.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import linecache
import math
import re
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher

from adjit.runtime.folder import cache_folder, write_once
from adjit.runtime.freed import keep_freed_memory
from adjit.runtime.places import CUDA
from adjit.runtime.plain import adapt, plain_namespace
from adjit.runtime.plain_arithmetic import with_ieee_arithmetic
from adjit.runtime.traced import traceable

_lock = threading.RLock()
_KEPT = 512


class _Owner:
    """Is held by the namespace of a loaded module, and so by each of its functions; what else was made goes with it."""

    def __init__(self, namespace: dict[str, Any], file: str):
        self.namespace = namespace
        namespace["__adjit_owner__"] = self
        weakref.finalize(self, _forget, file, namespace["__name__"])


def _forget(file: str, module: str) -> None:
    linecache.cache.pop(file, None)
    sys.modules.pop(module, None)


_loaded: weakref.WeakValueDictionary[tuple[str, bool], _Owner] = weakref.WeakValueDictionary()
"""The modules of which a function still lives."""

_texts: OrderedDict[str, str] = OrderedDict()
"""The newest texts."""


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
        owner = _loaded.get((name, compiled))
        if owner is None:
            _remember(name, text)
            if place:
                owner = _Owner(*_driver(name, text, place))
            else:
                owner = _Owner(*(_compiled if compiled else _plain)(name, text))
            _loaded[name, compiled] = owner
        namespace = owner.namespace
    wanted = tuple(names)
    return {n: namespace[n] for n in wanted} if wanted else namespace


def _remember(name: str, text: str) -> None:
    _texts[name] = text
    _texts.move_to_end(name)
    while len(_texts) > _KEPT:
        _texts.popitem(last=False)


def only_called_by_others(namespace: dict[str, Any], entries: Iterable[str]) -> None:
    """Compile a module's functions, but for the entries, without what calls them from Python.

    Nothing is called from C. Without those wrappers a small program compiles in four fifths of the time.
    """
    entries, module = frozenset(entries), namespace["__name__"]
    for name, function in namespace.items():
        if isinstance(function, Dispatcher) and function.__module__ == module and not function.overloads:
            function.targetoptions["no_cfunc_wrapper"] = True
            function.targetoptions["no_cpython_wrapper"] = name not in entries


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


def keep(text: str) -> str:
    """Keep the text, on disk if there is a folder; gives its hash."""
    name = text_hash(text)
    with _lock:
        _remember(name, text)
        _write(name, text)
    return name


def stored_text(name: str) -> str | None:
    """The text of a module, by its hash."""
    text = _texts.get(name)
    if text is not None:
        return text
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


Loaded = tuple[dict[str, Any], str]
"""The namespace of a module, and the name of its file."""


def _compiled(name: str, text: str) -> Loaded:
    keep_freed_memory()
    path = _write(name, text)
    if path is None:
        return _in_memory(name, re.sub(r"^(@njit\(.*)cache=True", r"\1cache=False", text, flags=re.M))
    spec = importlib.util.spec_from_file_location(f"adjit_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    _announce(module)
    spec.loader.exec_module(module)
    return vars(module), str(path)


def _in_memory(name: str, text: str) -> Loaded:
    module = ModuleType(f"adjit_{name}")
    _announce(module)
    return _execute(f"<adjit {name}>", text, vars(module))


def _announce(module: ModuleType) -> None:
    """Let Numba, which asks `sys.modules` for a function's module, find one of this name. It is not the module
    itself, which would then never be freed."""
    known = ModuleType(module.__name__)
    known.__file__ = getattr(module, "__file__", None)
    sys.modules[module.__name__] = known


def _plain(name: str, text: str) -> Loaded:
    """The text without Numba: decorators are identities, scalar types are NumPy's."""
    bare = re.sub(r"^(from (?:numba|adjit).*|import math)$", "", text, flags=re.M)
    space = plain_namespace() | {"__name__": f"adjit_{name}_plain"}
    file = f"<adjit {name}, plain>"
    namespace, file = _execute(file, bare, space, with_ieee_arithmetic(bare, file))
    adapt(namespace)
    return namespace, file


def _driver(name: str, text: str, place: str) -> Loaded:
    """The host functions of a program on a device, and what launches its kernels."""
    if place == CUDA:
        from adjit.runtime.cuda.launch import Source
    else:
        from adjit.runtime.opencl.launch import Source

    space = plain_namespace() | {"__name__": f"adjit_{name}_device", "Source": Source, "fdiv": None}
    space |= {"inf": math.inf, "nan": math.nan}
    namespace, file = _execute(f"<adjit {name}, device>", text, space)
    adapt(namespace)
    traceable(namespace)
    return namespace, file


def _execute(file: str, text: str, namespace: dict[str, Any], parsed: ast.Module | None = None) -> Loaded:
    """Run a text, or what was made of it, as a module."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(parsed or text, file, "exec"), namespace)
    return namespace, file
