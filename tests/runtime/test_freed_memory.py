"""Work arrays of one call are the memory of the next: no page faults where the C library can be told so."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import resource
import numpy as np
import adjit as aj

def loss(x):
    y = x * x
    y[1:] *= y[:-1].copy()
    return np.sum(y * x)

x = np.linspace(0.1, 1.0, 300_000)
gradient = aj.grad(loss)
for _ in range(3):
    gradient(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    gradient(x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 10)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's allocator")
def test_no_page_faults_after_the_first_calls(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_TUNABLES", "ADJIT_UNC"))
    }
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 100  # one of its arrays has 586 pages
