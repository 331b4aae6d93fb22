"""`adjit demo`: run one of the demonstration programs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from adjit.cli.demos import gauss_seidel, particles


class Device(StrEnum):
    """Where a demonstration runs."""

    cpu = "cpu"
    cuda = "cuda"
    opencl = "opencl"


class Name(StrEnum):
    """The demonstration programs."""

    particles = "particles"
    gauss_seidel = "gauss-seidel"


def demo(
    program: Annotated[Name, typer.Argument(help="Which program to differentiate.")],
    n: Annotated[
        int | None,
        typer.Option(min=1, help="Particles [default: 1000], or grid points per edge [default: 64]."),
    ] = None,
    sweeps: Annotated[int, typer.Option(min=1, help="Gauss-Seidel sweeps.")] = 100,
    device: Annotated[
        Device, typer.Option(help="Where it runs: cuda takes CuPy, opencl pyopencl.")
    ] = Device.cpu,
) -> None:
    """Differentiate a program, check the gradient against finite differences, and time it."""
    if program is Name.particles:
        particles.main(n or 1000, device.value)
    else:
        gauss_seidel.main(n or 64, sweeps, device.value)
