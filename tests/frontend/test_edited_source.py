"""A program is never served for source that has changed: same file, same line, another constant somewhere.

Each text below is a module with a function `f` whose derivative depends on K. The key of `f` in the disk cache must
change with K, and must not change from process to process where nothing did.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TEXTS = {
    "literal": "def f(x): return x * K",
    "inner_line": "def f(x):\n    y = x\n    #K\n    return y",
    "global_number": "k = K\ndef f(x): return x * k",
    "tuple_item": "k = (1.0, K)\ndef f(x): return x * k[1]",
    "callee": "def h(x): return x * K\ndef f(x): return h(x)",
    "dispatcher": "import numba\n@numba.njit\ndef h(x): return x * K\ndef f(x): return h(x)",
    "dispatcher_option": "import numba\n@numba.njit(boundscheck=K > 3)\ndef h(x): return x\ndef f(x): return h(x)",
    "default": "def h(x, k=K): return x * k\ndef f(x): return h(x)",
    "keyword_default": "def h(x, *, k=K): return x * k\ndef f(x): return h(x)",
    "partial": "import functools\ndef h(k, x): return x * k\ng = functools.partial(h, K)\ndef f(x): return g(x)",
    "closure": "def make(k):\n    def f(x): return x * k\n    return f\nf = make(K)",
    "nested_function": "def f(x):\n    def h(y): return y * K\n    return h(x)",
    "class_attribute": "class C:\n    k = K\ndef f(x): return x * C.k",
    "inner_class": "class C:\n    class D:\n        k = K\ndef f(x): return x * C.D.k",
    "static_method": "class C:\n    @staticmethod\n    def h(x): return x * K\ndef f(x): return C.h(x)",
    "namedtuple_default": (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    a: float\n    b: float = K\n"
        "def f(x):\n    p = P(x)\n    return p.a * p.b"
    ),
    "other_module": "import one\ndef f(x): return x * one.k",
    "module_by_two_names": "import one\nimport two\ndef f(x): return one.a * two.g(x)",
    "custom_rule": (
        "import adjit as aj\n@aj.custom_vjp\ndef h(x): return x\ndef fwd(x): return x, ()\n"
        "def bwd(res, ct): return K * ct\nh.defvjp(fwd, bwd)\ndef f(x): return h(x)"
    ),
}
OTHERS = {"one": "a = 1.0\nk = K", "two": "import one\ndef g(x): return x * one.k"}

SCRIPT = """
import importlib, json, sys
from adjit.frontend.fingerprint import fingerprint
print(json.dumps({name: fingerprint(importlib.import_module(name).f) for name in sys.argv[1:]}))
"""


def keys(folder: Path, constant: str) -> dict[str, str | None]:
    """The keys that a new process makes of the functions, with K replaced."""
    for name, text in {**TEXTS, **OTHERS}.items():
        (folder / f"{name}.py").write_text(
            text.replace("#K", "\n" * int(float(constant))).replace("K", constant)
        )
    source = str(Path(__file__).resolve().parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT, *TEXTS],
        cwd=folder,
        env={"PYTHONPATH": f"{source}:{folder}", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str | None]]:
    folder = tmp_path_factory.mktemp("edited")
    return [keys(folder, constant) for constant in ("2.0", "2.0", "5.0")]


@pytest.mark.parametrize("name", TEXTS)
def test_key_follows_the_source(three: list[dict[str, str | None]], name: str) -> None:
    first, again, edited = (k[name] for k in three)
    assert first is not None
    assert first == again, "another process makes another key"
    assert first != edited, "an edited program has the old key"
