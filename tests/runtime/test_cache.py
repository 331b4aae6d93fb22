"""Gates: a second process starts warm, two processes and two threads at once are safe, damage is a miss."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections import OrderedDict
from pathlib import Path

import pytest

from adjit.runtime import cache, compile, folder

_TEXT = '''"""A module."""

from numba import njit


@njit(cache=True)
def twice(x):
    return (2.0 * x,)
'''

_SCRIPT = """
import sys
from adjit.runtime import cache, compile
cache.environment = lambda: "one and the same"  # adjit's own files may change while this test runs
text = open(sys.argv[1]).read()
key = cache.program_key("twice", "float64")
found = cache.lookup(key)
if found is None:
    cache.store(key, text, {"names": ("twice",)})
    twice = compile.load(text, ("twice",))["twice"]
else:
    twice = compile.load(compile.stored_text(found[0]), found[1]["names"])["twice"]
assert twice(3.0) == (6.0,)
hits = sum(twice.stats.cache_hits.values())
print("hit" if found else "miss", hits)
"""


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of this test's own."""
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADJIT_NO_CACHE", raising=False)
    monkeypatch.setattr(compile, "_loaded", weakref.WeakValueDictionary())
    monkeypatch.setattr(compile, "_texts", OrderedDict())
    cache.forget()
    return tmp_path


def _process(where: Path) -> subprocess.Popen[str]:
    (where / "text.py").write_text(_TEXT)
    source = str(Path(cache.__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": source}
    command = [sys.executable, "-c", _SCRIPT, str(where / "text.py")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def _said(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out.strip()


def test_second_process_is_warm(cold: Path) -> None:
    assert _said(_process(cold)) == "miss 0"
    assert _said(_process(cold)) == "hit 1"


def test_two_processes_at_once(cold: Path) -> None:
    both = [_process(cold), _process(cold)]
    assert all(_said(p).split()[0] in ("hit", "miss") for p in both)
    assert _said(_process(cold)) == "hit 1"


def test_two_threads(cold: Path) -> None:
    got: list[object] = []
    threads = [threading.Thread(target=lambda: got.append(compile.load(_TEXT)["twice"])) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 4
    assert len({id(f) for f in got}) == 1


def test_file_is_never_rewritten(cold: Path) -> None:
    compile.load(_TEXT)
    place = folder.cache_folder()
    assert place is not None
    (path,) = place.glob("adjit_*.py")
    before = path.stat().st_mtime_ns
    folder.write_once(path, _TEXT.encode())
    assert path.stat().st_mtime_ns == before


def test_disk_off(cold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJIT_NO_CACHE", "1")
    assert folder.cache_folder() is None
    cache.store("k", _TEXT, {"a": 1})
    assert compile.load(_TEXT, ("twice",))["twice"](2.0) == (4.0,)
    assert cache.lookup("k") == (compile.text_hash(_TEXT), {"a": 1})
    assert not (cold / "cache").exists()


def test_unwritable_folder_falls_back(cold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = cold / "file"
    blocked.write_text("")
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(blocked))
    assert folder.cache_folder() is None
    assert compile.load(_TEXT, ("twice",))["twice"](2.0) == (4.0,)


def test_damaged_entry_is_a_miss(cold: Path) -> None:
    cache.store("k", _TEXT, {})
    cache.forget()
    place = folder.cache_folder()
    assert place is not None
    entry = place / "programs" / "k.pickle"
    entry.write_bytes(entry.read_bytes()[:-9])
    assert cache.lookup("k") is None


def test_lost_text_is_a_miss(cold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("k", _TEXT, {})
    cache.forget()
    monkeypatch.setattr(compile, "_texts", OrderedDict())
    place = folder.cache_folder()
    assert place is not None
    for path in place.glob("adjit_*.py"):
        path.unlink()
    assert cache.lookup("k") is None


def test_meta_must_pickle(cold: Path) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        cache.store("k", _TEXT, {"f": lambda: 0})
