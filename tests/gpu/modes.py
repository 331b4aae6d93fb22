"""One program in every mode on the device, against the same program on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjit as aj

from .places import copies, same, to_device


def directions(args: tuple[Any, ...], wrt: tuple[int, ...]) -> tuple[Any, ...]:
    """Tangents of the arguments in `wrt`, None for the others."""
    rng = np.random.default_rng(5)
    found: list[Any] = [None] * len(args)
    for k in wrt:
        a = args[k]
        found[k] = (
            rng.uniform(-1, 1, a.shape).astype(a.dtype)
            if isinstance(a, np.ndarray)
            else float(rng.uniform(-1, 1))
        )
    return tuple(found)


def every_mode(
    f: Callable[..., Any], args: tuple[Any, ...], wrt: tuple[int, ...] = (0,), rtol: float = 1e-12
) -> None:
    """Values, final states, gradients, pullbacks, tangents and second derivatives of a program that returns a number."""
    tolerance = {"rtol": rtol, "atol": rtol}
    plain, given = copies(args), to_device(args)
    same(aj.jit(f)(*given), aj.jit(f)(*plain), **tolerance)
    same(given, plain, **tolerance)
    given, plain = to_device(args), copies(args)
    want = aj.value_and_grad(f, wrt=wrt)(*plain)
    same(aj.value_and_grad(f, wrt=wrt)(*given), want, **tolerance)
    same(given, plain, **tolerance)
    value, pullback = aj.vjp(f, *to_device(args))
    same(value, want[0], **tolerance)
    for ct in (1.0, 1.0):  # a pullback may be called again
        pulled = pullback(ct)
        same(tuple(pulled[k] for k in wrt), want[1], **tolerance)
    tangents = directions(args, wrt)
    same(aj.jvp(f, to_device(args), to_device(tangents)), aj.jvp(f, copies(args), tangents), **tolerance)
    second(f, args, wrt, **tolerance)


def second(f: Callable[..., Any], args: tuple[Any, ...], wrt: tuple[int, ...], **tolerance: float) -> None:
    """Forward over reverse."""
    tangents, gradient = directions(args, wrt), aj.grad(f, wrt=wrt)
    got = aj.jvp(gradient, to_device(args), to_device(tangents))
    same(got, aj.jvp(gradient, copies(args), tangents), **tolerance)
