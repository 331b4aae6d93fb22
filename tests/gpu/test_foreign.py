"""Arrays of torch and JAX on CUDA devices: taken without copies, and results are of the same library."""

from __future__ import annotations

import numpy as np
import pytest

import adjit as aj
from tests.kernels.programs import scale, square

from .places import CUDA

if not CUDA:
    pytest.skip("arrays of CUDA devices", allow_module_level=True)

import cupy as cp

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """Nothing is kept on disk."""


def norm(x, c):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = c * x[i] * x[i]
    return np.sum(y * x)


X = np.array([1.0, -2.0, 3.0])


def on(x):
    return torch.tensor(x, device="cuda")


def test_torch_gradients():
    x = on(X)
    value, (gx, gc) = aj.value_and_grad(norm, wrt=(0, 1))(x, 2.0)
    assert isinstance(gx, torch.Tensor) and gx.is_cuda and gx.dtype is torch.float64
    np.testing.assert_allclose(value, 2.0 * np.sum(X**3))
    np.testing.assert_allclose(gx.cpu(), 6.0 * X**2)
    np.testing.assert_allclose(gc, np.sum(X**3))
    grad = aj.grad(norm)(x.clone().requires_grad_(), 2.0)
    np.testing.assert_allclose(grad.cpu(), 6.0 * X**2)


def test_torch_tensors_are_written_in_place():
    x, y = on(X), torch.zeros(3, dtype=torch.float64, device="cuda")
    scale(y, 2.0, x, ndrange=3)
    np.testing.assert_allclose(y.cpu(), 2.0 * X)
    u, du = on(X), torch.ones(3, dtype=torch.float64, device="cuda")
    aj.autodiff(aj.Reverse, square, aj.Duplicated(u, du), ndrange=3)
    np.testing.assert_allclose(u.cpu(), X**2)
    np.testing.assert_allclose(du.cpu(), 2.0 * X)


def test_torch_pullbacks_and_tangents():
    x = on(X)

    def made(x):
        return x * x

    value, pullback = aj.vjp(made, x)
    assert isinstance(value, torch.Tensor)
    (back,) = pullback(torch.ones_like(x))
    assert isinstance(back, torch.Tensor)
    np.testing.assert_allclose(back.cpu(), 2.0 * X)
    value, tangent = aj.jvp(made, (x,), (torch.ones_like(x),))
    np.testing.assert_allclose(tangent.cpu(), 2.0 * X)


def test_torch_streams():
    x = torch.full((1 << 20,), 1.0, dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(50):
            x += 1.0
        square(x, ndrange=len(x))
        x -= 1.0
    stream.synchronize()
    assert float(x.min()) == float(x.max()) == 51.0**2 - 1.0
    square(x, ndrange=len(x), stream=stream)
    stream.synchronize()
    assert float(x.min()) == 2600.0**2


def test_jax_arrays():
    jax.config.update("jax_enable_x64", True)
    x = jax.numpy.asarray(X)
    value, grad = aj.value_and_grad(norm)(x, 2.0)
    assert isinstance(grad, jax.Array)
    np.testing.assert_allclose(np.asarray(grad), 6.0 * X**2)
    with pytest.raises(aj.ArgumentError, match="'u' is read-only"):
        square(x, ndrange=3)
    written = jax.tree.leaves(aj.pure(square)(x, ndrange=3))
    assert isinstance(written[0], jax.Array)
    np.testing.assert_allclose(np.asarray(written[0]), X**2)
    np.testing.assert_allclose(np.asarray(x), X)


def test_anything_with_the_cuda_array_interface():
    class Wrapped:
        def __init__(self, a):
            self.__cuda_array_interface__ = a.__cuda_array_interface__
            self.kept = a

    x = cp.asarray(X)
    grad = aj.grad(norm)(Wrapped(x), 2.0)
    assert isinstance(grad, cp.ndarray)
    np.testing.assert_allclose(grad.get(), 6.0 * X**2)


def test_several_derivatives_at_once():
    def squares(x):
        return x * x

    jax.config.update("jax_enable_x64", True)
    for x, own in ((on(X), torch.Tensor), (jax.numpy.asarray(X), jax.Array)):
        for op in (aj.jacfwd, aj.jacrev):
            found = op(squares)(x)
            assert isinstance(found, own)
            np.testing.assert_allclose(np.asarray(found.tolist()), np.diag(2.0 * X))
        matrix = aj.jacobian(squares, sparse=True)(x)
        np.testing.assert_allclose(matrix.toarray().get(), np.diag(2.0 * X))
        hessian = aj.hessian(norm)(x, 2.0)
        np.testing.assert_allclose(np.asarray(hessian.tolist()), np.diag(12.0 * X))
    eye = torch.eye(3, dtype=torch.float64, device="cuda")
    _, tangents = aj.jvp(squares, (on(X),), (aj.Batch(eye),))
    assert isinstance(tangents, torch.Tensor)
    np.testing.assert_allclose(tangents.cpu(), np.diag(2.0 * X))
    _, pullback = aj.vjp(squares, on(X))
    np.testing.assert_allclose(pullback(aj.Batch(eye))[0].cpu(), np.diag(2.0 * X))


def test_what_does_not_fit():
    with pytest.raises(aj.ArgumentError, match="dtype float16"):
        aj.grad(norm)(on(X).half(), 2.0)
    with pytest.raises(aj.DeviceError, match="'y' is a NumPy array"):
        scale(np.zeros(3), 2.0, on(X), ndrange=3)
    with pytest.raises(aj.DeviceError, match="check_grad of device arrays"):
        aj.check_grad(norm, on(X), 2.0)
    with pytest.raises(aj.ArgumentError, match=r"torch.Tensor, which adjit does not take"):
        aj.grad(norm)(torch.tensor(X), 2.0)
