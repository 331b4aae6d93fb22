"""`python -m adjit` is the command."""

from __future__ import annotations

import subprocess
import sys


def test_python_m_adjit() -> None:
    words = [sys.executable, "-m", "adjit", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.startswith("adjit "), done.stderr
