"""Programs whose time is the products': a network and two chained products."""

from __future__ import annotations

from itertools import pairwise

import jax.numpy as jnp
import numpy as np

from array_program import ArrayProgram


def network(W1, b1, W2, b2, W3, b3, x, target):
    """Squared error of three dense layers, two of them rectified."""
    one = np.maximum(x @ W1 + b1, 0.0)
    two = np.maximum(one @ W2 + b2, 0.0)
    error = two @ W3 + b3 - target
    return np.sum(error * error)


def network_jax(W1, b1, W2, b2, W3, b3, x, target):
    """The same."""
    one = jnp.maximum(x @ W1 + b1, 0.0)
    two = jnp.maximum(one @ W2 + b2, 0.0)
    error = two @ W3 + b3 - target
    return jnp.sum(error * error)


def layers(batch: int, width: int) -> tuple[np.ndarray, ...]:
    """Weights, offsets, a batch and its targets; ten outputs."""
    rng = np.random.default_rng(0)
    sizes = (width, width, width, 10)
    weights = [rng.normal(0, width**-0.5, shape) for shape in pairwise(sizes)]
    offsets = [rng.normal(0, 0.1, size) for size in sizes[1:]]
    pairs = [array for pair in zip(weights, offsets, strict=True) for array in pair]
    return *pairs, rng.normal(0, 1, (batch, width)), rng.normal(0, 1, (batch, 10))


def chained(A, B, C):
    """Sum of squares of A B C."""
    D = A @ B @ C
    return np.sum(D * D)


def chained_jax(A, B, C):
    """The same."""
    D = A @ B @ C
    return jnp.sum(D * D)


def three(n: int) -> tuple[np.ndarray, ...]:
    """Three random squares."""
    return tuple(np.random.default_rng(0).uniform(-1, 1, (3, n, n)))


PROGRAMS = [
    ArrayProgram(
        "MLP, 3 layers", "product", network, {"the same": network_jax}, layers, tuple(range(6)), (128, 256), (16, 32)
    ),
    ArrayProgram("chained products", "product", chained, {"the same": chained_jax}, three, (0, 1, 2), (320,), (48,)),
]  # fmt: skip
