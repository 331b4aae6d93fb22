"""Real Enzyme beside ours: builds and times the C programs of a folder that has its toolchain set up.

The folder has `setup.sh`, `build.sh`, `common.h` and the programs gs.c, sph.c and burgers.c; `setup.sh` must have been
run (into `~/.cache/enzyme`, or wherever ENZYME_HOME points).
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 3


@dataclass(frozen=True)
class _Build:
    source: str
    defines: str
    environment: dict[str, str]


_BUILDS = {
    "lexicographic": _Build("gs.c", "-DZLOOP", {}),
    "red-black": _Build("gs.c", "-DZLOOP -DRB", {}),
    "particles": _Build("sph.c", "", {}),
    "burgers": _Build("burgers.c", "", {"PRE": "-O3"}),
}
# Our update has no division; the C program's has one.
_EDITS = {"burgers.c": ("dt*u[i]*(u[i]-u[i-1])/dx", "(dt/dx)*u[i]*(u[i]-u[i-1])")}


def measure(folder: Path, sizes: dict[str, int], advance: Callable[[], None]) -> dict[str, dict[str, float]]:
    """Per program: `ratio` of Enzyme's gradient to the C forward, both in seconds, `extra` in bytes.

    Raises: RuntimeError with the compiler's words if a program does not build; FileNotFoundError without a toolchain.
    """
    home = Path(os.environ.get("ENZYME_HOME", Path.home() / ".cache" / "enzyme"))
    if not (home / "env.sh").exists():
        raise FileNotFoundError(
            f"no Enzyme toolchain in {home}: run {folder / 'setup.sh'}, or set ENZYME_HOME"
        )
    with tempfile.TemporaryDirectory() as work:
        place = Path(work)
        for file in (*folder.glob("*.c"), *folder.glob("*.h"), *folder.glob("*.sh")):
            shutil.copy(file, place)
        for name, (old, new) in _EDITS.items():
            (place / name).write_text((place / name).read_text().replace(old, new))
        found: dict[str, dict[str, float]] = {}
        for name, size in sizes.items():
            found[name] = _one(place, home, name, size)
            advance()
        return found


def _one(place: Path, home: Path, name: str, size: int) -> dict[str, float]:
    build = _BUILDS[name]
    environment = os.environ | {"ENZYME_HOME": str(home)} | build.environment
    done = subprocess.run(
        ["bash", "build.sh", build.source, name, build.defines],
        cwd=place, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{build.source} did not build:\n{done.stderr[-2000:]}")
    seconds: dict[str, list[float]] = {"fwd": [], "enz": []}
    peaks: dict[str, float] = {}
    for _ in range(ROUNDS):
        for mode, binary in (("fwd", "plain"), ("enz", "enz")):
            line = subprocess.check_output([f"./{name}.{binary}", mode, str(size)], cwd=place, text=True)
            seconds[mode].append(float(re.search(r"median_ms (\S+)", line)[1]) / 1e3)
            peaks[mode] = float(re.search(r"peakMB (\S+)", line)[1]) * 2**20
    forward, gradient = (statistics.median(seconds[mode]) for mode in ("fwd", "enz"))
    return {
        "ratio": gradient / forward,
        "forward": forward,
        "gradient": gradient,
        "extra": peaks["enz"] - peaks["fwd"],
    }
