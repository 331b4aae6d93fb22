"""Every function of `np.fft` that is there, with its arguments: functions of one array, linear in it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Transform = Callable[[np.ndarray], np.ndarray]


def signal(*shape: int, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    """Reproducible numbers of size one."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if dtype.startswith("complex") else x).astype(dtype)


R5, R6, R1 = signal(5), signal(6, seed=1), signal(1, seed=2)
C5, C6, C1, C2 = (signal(n, seed=n, dtype="complex128") for n in (5, 6, 1, 2))
R45, C345 = signal(4, 5, seed=3), signal(3, 4, 5, seed=4, dtype="complex128")
SINGLE = signal(6, seed=5, dtype="float32")
STRIDED, TURNED = signal(12, seed=6)[::2], signal(5, 4, seed=7, dtype="complex128").T

TRANSFORMS: list[tuple[str, Transform, tuple[np.ndarray, ...]]] = [
    ("fft", lambda x: np.fft.fft(x), (C5, C6, R5, R6, C1, R1, SINGLE, STRIDED, TURNED)),
    ("fft cut", lambda x: np.fft.fft(x, 4), (C5, R6)),
    ("fft padded", lambda x: np.fft.fft(x, n=9, norm="forward"), (C5, R6)),
    ("fft along", lambda x: np.fft.fft(x, None, 0, "ortho"), (R45, C345, TURNED)),
    ("fft of expression", lambda x: np.fft.fft(x[1:] * 2.0, n=len(x)), (R5, C5)),
    ("ifft", lambda x: np.fft.ifft(x), (C5, C6, R6, SINGLE)),
    ("ifft along", lambda x: np.fft.ifft(x, 6, axis=1, norm="ortho"), (R45, C345)),
    ("ifft forward", lambda x: np.fft.ifft(x, norm="forward"), (C5,)),
    ("rfft", lambda x: np.fft.rfft(x), (R5, R6, R1, R45, SINGLE, STRIDED)),
    ("rfft cut even", lambda x: np.fft.rfft(x, 4, norm="forward"), (R5, R6)),
    ("rfft cut odd", lambda x: np.fft.rfft(x, 3, norm="ortho"), (R5, R6)),
    ("rfft padded", lambda x: np.fft.rfft(x, n=2 * x.shape[0], axis=0), (R5, R45)),
    ("irfft", lambda x: np.fft.irfft(x), (C5, C6, C2, R5)),
    ("irfft odd", lambda x: np.fft.irfft(x, 2 * x.shape[-1] - 1, norm="ortho"), (C5, C6, C345)),
    ("irfft cut", lambda x: np.fft.irfft(x, n=4, axis=0, norm="forward"), (C5, TURNED)),
    ("irfft padded", lambda x: np.fft.irfft(x, 13), (C5, R5)),
    ("irfft of one", lambda x: np.fft.irfft(x, 1), (C1, C5)),
    ("hfft", lambda x: np.fft.hfft(x), (C5, R5)),
    ("hfft odd", lambda x: np.fft.hfft(x, 7, 0, "forward"), (C5, TURNED)),
    ("ihfft", lambda x: np.fft.ihfft(x), (R5, R6)),
    ("ihfft ortho", lambda x: np.fft.ihfft(x, n=4, norm="ortho"), (R5, R45)),
    ("fft2", lambda x: np.fft.fft2(x), (R45, C345)),
    ("ifft2", lambda x: np.fft.ifft2(x, s=(3, -1), axes=(0, 1)), (R45, C345)),
    ("fftn", lambda x: np.fft.fftn(x), (R45, C345)),
    ("fftn axes", lambda x: np.fft.fftn(x, axes=(0, -1), norm="ortho"), (C345,)),
    ("ifftn", lambda x: np.fft.ifftn(x, axes=(1,)), (C345,)),
    ("rfft2", lambda x: np.fft.rfft2(x), (R45,)),
    ("irfft2", lambda x: np.fft.irfft2(x, s=(4, 7)), (C345,)),
    ("rfftn", lambda x: np.fft.rfftn(x, axes=(1, 0), norm="forward"), (R45,)),
    ("irfftn", lambda x: np.fft.irfftn(x), (C345,)),
    ("fftshift", lambda x: np.fft.fftshift(x), (R5, C6, R45)),
    ("ifftshift", lambda x: np.fft.ifftshift(x), (R5, C6, R45)),
    ("fftshift axes", lambda x: np.fft.fftshift(x, axes=(0, 2)), (C345,)),
    ("ifftshift axis", lambda x: np.fft.ifftshift(x, -1), (R45,)),
]
CASES = [(f"{name}-{k}", f, x) for name, f, xs in TRANSFORMS for k, x in enumerate(xs)]

JAX: list[tuple[Transform, list[complex], list[complex], list[complex]]] = [
    (lambda x: np.fft.rfft(x), [1, 2, -1, 3], [1 + 1j, 2 - 1j, 3 + 2j], [6, -3, 2, -1]),
    (
        lambda x: np.fft.rfft(x, n=5),
        [1, 2, -1, 3],
        [1 + 1j, 2 - 1j, 3 + 2j],
        [6, -0.5845030060851547, -2.1808812905078327, 2.7989152792577277],
    ),
    (
        lambda x: np.fft.rfft(x, n=3),
        [1, 2, -1, 3],
        [1 + 1j, 2 - 1j],
        [3, -0.8660254037844386, 0.8660254037844386, 0],
    ),
    (lambda z: np.fft.irfft(z), [1 + 2j, 3 - 1j, 2 + 0.5j], [1, 2, 3, 5], [2.75, -1 - 1.5j, -0.75]),
    (
        lambda z: np.fft.irfft(z, n=5, norm="ortho"),
        [1 + 2j, 3 - 1j, 2 + 0.5j],
        [1, 2, 3, 5, -1],
        [
            4.47213595499958,
            -4.618033988749896 + 1.5004902008178524j,
            2.3819660112501055 + 3.278494953061481j,
        ],
    ),
    (lambda z: np.fft.irfft(z, n=2), [1 + 2j, 3 - 1j, 2 + 0.5j], [1, 2], [1.5, -0.5, 0]),
    (
        lambda z: np.fft.fft(z, n=2, norm="forward"),
        [1 + 2j, 3 - 1j, 2 + 0.5j],
        [1 + 1j, 2 - 1j],
        [1.5, -0.5 + 1j, 0],
    ),
    (
        lambda z: np.fft.ifft(z, n=4),
        [1 + 2j, 3 - 1j, 2 + 0.5j],
        [1 + 1j, 2 - 1j, 1j, 3],
        [1.5 + 0.25j, 0.5 - 0.25j, -1 + 0.75j],
    ),
    (lambda z: np.fft.hfft(z), [1 + 2j, 3 - 1j, 2 + 0.5j], [1, 2, 3, 5], [11, -4 + 6j, -3]),
    (lambda x: np.fft.ihfft(x), [1, 2, -1, 3], [1 + 1j, 2 - 1j, 3 + 2j], [1.5, -0.25, 0.5, -0.75]),
    (lambda x: np.fft.fft(x), [1, 2, -1, 3], [1 + 1j, 2 - 1j, 3 + 2j, 1j], [6, -4, 2, 0]),
]
"""Function, argument, cotangent of the value, and the cotangent that `jax.vjp` of JAX 0.10.2 gives (written once)."""
