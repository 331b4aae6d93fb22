"""Replays of graphs without a GPU: with a stand-in for CuPy in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent / "stand_in"


def test_replays_with_other_arrays_and_numbers_and_without_memory():
    path = os.pathsep.join([str(HERE), *sys.path])
    environment = os.environ | {"PYTHONPATH": path}
    ran = subprocess.run([sys.executable, HERE / "run.py"], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "all right"
