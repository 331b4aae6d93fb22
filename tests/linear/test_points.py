"""Gates: products and linear algebra at the edges: empty, one by one, singular, degenerate, complex, of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit as aj

from .programs import A, B, numbers

pytestmark = pytest.mark.usefixtures("uncompiled")


def product(a: Any, b: Any) -> Any:
    return np.sum((a @ b) ** 2)


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (0, 0, 0)])
def test_empty_and_small(shape: tuple[int, int, int]) -> None:
    n, k, m = shape
    a, b = numbers(n, k), numbers(k, m)
    da, db = aj.grad(product, wrt=(0, 1))(a, b)
    np.testing.assert_allclose(da, 2 * (a @ b) @ b.T)
    np.testing.assert_allclose(db, 2 * a.T @ (a @ b))


def test_shapes_that_do_not_fit_raise_numpys_error() -> None:
    with pytest.raises(ValueError, match="matmul"):
        aj.grad(product)(A, A)
    with pytest.raises(np.linalg.LinAlgError):
        aj.grad(lambda a: np.linalg.det(a))(A)


def test_singular_matrices() -> None:
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    assert np.linalg.det(a) == 0.0
    expected = np.array(
        [
            [np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) * (-1) ** (i + j) for j in range(3)]
            for i in range(3)
        ]
    )
    np.testing.assert_allclose(aj.grad(lambda a: np.linalg.det(a))(a), expected, atol=1e-13)
    np.testing.assert_allclose(aj.grad(lambda a: np.linalg.det(a))(np.zeros((1, 1))), [[1.0]])
    np.testing.assert_array_equal(aj.grad(lambda a: np.linalg.det(a))(np.zeros((3, 3))), np.zeros((3, 3)))
    for f in (lambda a: np.sum(np.linalg.inv(a)), lambda a: np.sum(np.linalg.solve(a, a))):
        with pytest.raises(np.linalg.LinAlgError):
            aj.grad(f)(a)


def test_second_derivative_of_a_determinant() -> None:
    a, v = numbers(3, 3, seed=30), numbers(3, 3, seed=31)
    gradient = aj.grad(lambda a: np.linalg.det(a))
    h = 1e-6
    expected = (gradient(a + h * v) - gradient(a - h * v)) / (2 * h)
    np.testing.assert_allclose(aj.jvp(gradient, (a,), (v,))[1], expected, rtol=1e-7, atol=1e-8)


def test_equal_eigenvalues() -> None:
    """What does not depend on the choice of the vectors is right: sums of functions of the values, V f(w) V^T."""

    def trace_of_cubes(a: Any) -> Any:
        return np.sum(np.linalg.eigvalsh(a) ** 3)

    def with_vectors(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum(w**3) + 0.0 * np.sum(v)

    eye = 2.0 * np.eye(3)
    np.testing.assert_allclose(aj.grad(trace_of_cubes)(eye), 12.0 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(aj.grad(with_vectors)(eye), 12.0 * np.eye(3), atol=1e-12)


def test_only_the_lower_triangle_is_read() -> None:
    s = numbers(3, 3, seed=32)
    spd = s @ s.T + np.eye(3)
    for f in (lambda a: np.sum(np.linalg.cholesky(a)), lambda a: np.linalg.eigvalsh(a)[0]):
        gradient = aj.grad(f)(spd)
        assert np.all(np.triu(gradient, 1) == 0.0)
        aj.check_grad(f, spd)


def test_complex() -> None:
    a = numbers(3, 3, seed=33) + 1j * numbers(3, 3, seed=34)
    b = numbers(3, 2, seed=35) + 1j * numbers(3, 2, seed=36)
    aj.check_grad(lambda a, b: np.sum(np.abs(a @ b) ** 2), a, b)
    aj.check_grad(lambda a, b: np.sum(np.abs(np.linalg.solve(a, b)) ** 2), a, b)
    aj.check_grad(lambda a: abs(np.linalg.det(a)), a)
    with pytest.raises(aj.UnsupportedError, match="complex"):
        aj.grad(lambda a: np.sum(np.abs(np.linalg.pinv(a))))(a)


def test_mixed_types_and_integers() -> None:
    counts = np.arange(12).reshape(3, 4)
    f = lambda a, v: np.sum((a @ v) ** 2)
    v = numbers(4, seed=37)
    np.testing.assert_allclose(aj.grad(f, wrt=1)(counts, v), 2 * counts.T @ (counts @ v))
    narrow = v.astype(np.float32)
    found = aj.grad(f, wrt=(0, 1))(A, narrow)
    assert [g.dtype for g in found] == [np.float64, np.float32]
    np.testing.assert_allclose(found[0], 2 * np.outer(A @ narrow, narrow), rtol=1e-6)
    whole = lambda a, b, x: x * (a @ b)[0, 0]
    assert aj.grad(whole, wrt=2)(counts, counts.T, 2.0) == float((counts @ counts.T)[0, 0])


def test_hessians() -> None:
    f = lambda x, a: np.sum(np.sin(a @ x))
    x = numbers(4, seed=38)
    expected = -A.T @ np.diag(np.sin(A @ x)) @ A
    tangents = [aj.jvp(aj.grad(f), (x, A), (e, None))[1] for e in np.eye(4)]
    np.testing.assert_allclose(np.stack(tangents), expected, rtol=1e-12, atol=1e-13)


def test_a_gradient_inside_a_program() -> None:
    def step(x: Any, a: Any) -> Any:
        g = aj.grad(lambda y: np.sum((a @ y) ** 2))(x)
        return np.sum((x - 0.1 * g) ** 3)

    aj.check_grad(step, numbers(4, seed=39), A)


def test_what_nobody_reads_costs_nothing() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(a @ b)

    source = aj.grad(f)(A, B) is not None and aj.grad(f).source(A, B)
    reverse = source[source.index("def f_reverse") :]
    assert reverse.count("np.dot") == 1, "an inactive operand got a product"
