"""Which of the functions on one line is meant is read from the places of its instructions, or the function is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from adjit.frontend.read_source import read_source

# The compiler leaves out branches that are never taken, so that instructions do not fill the body.
FOLDED = (lambda a: a[0] if None else 2.0 * a[0]), (lambda a: a[0] if None else 2.0 * a[1])
INNER = (lambda k: lambda a: k * a[0] if True else 1.0)(4.0)
OUTER = lambda a: (lambda b: 3.0 * b)(a[0]) if True else (lambda: 1.0)()
LINES = (
    lambda a: (
        a[0] if None else
        2.0 * a[0]
    )
), lambda a: a[0] + 1.0  # fmt: skip


def test_lambdas_of_one_line() -> None:
    texts = [read_source(f).text for f in (*FOLDED, INNER, OUTER)]
    assert texts == [
        "lambda a: a[0] if None else 2.0 * a[0]",
        "lambda a: a[0] if None else 2.0 * a[1]",
        "lambda a: k * a[0] if True else 1.0",
        "lambda a: (lambda b: 3.0 * b)(a[0]) if True else (lambda: 1.0)()",
    ]
    assert [len(read_source(f).text.splitlines()) for f in LINES] == [4, 1]


def test_lambdas_that_cannot_be_told_apart(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import adjit as aj\n"
        "f, g = (lambda x: 2.0 * x), (lambda x: 3.0 * x)\n"
        "h = lambda x: 4.0 * x\n"
        "assert aj.grad(h)(1.0) == 4.0\n"
        "try:\n    aj.grad(f)(1.0)\n"
        "except aj.UnsupportedError as error:\n    print(error)\n"
    )
    words = [sys.executable, "-X", "no_debug_ranges", str(program)]
    environment = {**os.environ, "ADJIT_UNCOMPILED": "1"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert "cannot be told from another function on its line" in done.stdout, done.stderr
    assert "give it a line of its own" in done.stdout
