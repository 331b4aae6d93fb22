"""Sparse Jacobians and Hessians as users call them, compiled: values, checks, what is kept between calls, errors."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from scipy.optimize import rosen, rosen_hess

import adjit as aj
from adjit.api.sparse.jacobian import SparseJacobian


def diffusion(u):
    n = len(u)
    out = np.zeros(n)
    for i in range(1, n - 1):
        flux = u[i + 1] - u[i]
        if flux > 0:
            out[i] = flux * flux - (u[i] - u[i - 1])
        else:
            out[i] = u[i - 1] * u[i]
    return out


def rosenbrock(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return s


def five_points(u):
    n, m = u.shape
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j] ** 3
    return out


def picked(x, where):
    y = np.zeros(len(where))
    for i in range(len(where)):
        y[i] = x[where[i]] ** 2
    return y


def at_float_index(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[int(abs(x[i]) * 3) % len(x)] * x[i]
    return y


def test_diffusion_with_a_branch_takes_three_colours():
    sparse = SparseJacobian(diffusion)
    x = np.random.default_rng(0).normal(size=1000)
    found = sparse(x)
    prepared = sparse.prepare(x)
    assert (prepared.how.mode, prepared.how.count, prepared.pattern.proven) == ("forward", 3, True)
    assert isinstance(found, sp.csr_array) and found.nnz == 3 * 998
    assert found.has_sorted_indices and found.indices.dtype == np.int32
    assert np.array_equal(found.toarray(), aj.jacfwd(diffusion)(x))
    assert sparse.prepare(-x) is prepared, "other floats take the same pattern"


def test_a_long_diagonal_pattern_takes_few_runs(monkeypatch: pytest.MonkeyPatch):
    from adjit.api.sparse import dependence

    runs = []
    words = dependence.Dependence.words
    monkeypatch.setattr(dependence.Dependence, "words", lambda *a: runs.append(1) or words(*a))
    pattern = aj.sparsity(diffusion, np.ones(200_000))
    assert len(runs) <= 7
    band = sp.diags_array([np.ones(199_999)] * 2 + [np.ones(200_000)], offsets=[-1, 1, 0]).tolil()
    band[[0, -1]] = 0
    assert (pattern != band.astype(bool).tocsr()).nnz == 0


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 130, 700])
def test_every_number_of_inputs(n: int):
    x = np.linspace(-1, 1, n)
    inside = aj.sparsity(diffusion, x).toarray()
    right = np.eye(n, dtype=bool) | np.eye(n, k=1, dtype=bool) | np.eye(n, k=-1, dtype=bool)
    right[:1], right[-1:] = False, False
    assert np.array_equal(inside, right)
    assert np.array_equal(
        SparseJacobian(diffusion)(x).toarray(), aj.jacfwd(diffusion)(x) if n else np.zeros((0, 0))
    )


def test_dense_patterns_are_found_too():
    def dense(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * x[i]
        return s * x

    x = np.linspace(0.5, 1, 150)
    found = SparseJacobian(dense)(x)
    assert np.allclose(found.toarray(), aj.jacfwd(dense)(x), rtol=1e-13)


def test_two_dimensions():
    x = np.random.default_rng(1).normal(size=(30, 20))
    sparse = SparseJacobian(five_points)
    assert np.array_equal(sparse(x).toarray(), aj.jacfwd(five_points)(x).reshape(600, 600))
    assert sparse.prepare(x).how.count <= 7
    f_order = np.asfortranarray(x)
    assert np.array_equal(sparse(f_order).toarray(), sparse(x).toarray())


def test_few_rows_take_reverse_mode():
    sparse = SparseJacobian(rosenbrock)
    x = np.linspace(-1, 2, 200)
    found = sparse(x)
    assert sparse.prepare(x).how.mode == "reverse"
    assert found.shape == (1, 200)
    assert np.allclose(found.toarray()[0], aj.grad(rosenbrock)(x), rtol=1e-13)


def test_hessian():
    x = np.linspace(-1, 2, 200)
    hessian = SparseJacobian(aj.grad(rosenbrock), symmetric=True)
    found = hessian(x)
    assert hessian.prepare(x).how.count <= 3
    assert hessian.prepare(x).pattern.proven
    assert np.allclose(found.toarray(), rosen_hess(x), rtol=1e-12)
    assert (found != found.T).nnz == 0
    assert rosen(x) == pytest.approx(rosenbrock(x))


def test_operators_make_sparse_matrices():
    x = np.linspace(-1, 2, 30)
    assert np.array_equal(aj.jacobian(diffusion, sparse=True)(x).toarray(), aj.jacfwd(diffusion)(x))
    band = np.eye(30) + np.eye(30, k=1) + np.eye(30, k=-1)
    assert np.array_equal(aj.jacobian(diffusion, sparse=band)(x).toarray(), aj.jacfwd(diffusion)(x))
    for sparse in (True, band):
        assert np.allclose(aj.hessian(rosenbrock, sparse=sparse)(x).toarray(), rosen_hess(x), rtol=1e-12)
    with pytest.raises(aj.CheckError):
        aj.hessian(rosenbrock, sparse=np.eye(30))(x)

    def of_two(a, b):
        s = 0.0
        for i in range(1, len(a)):
            s += a[i] * b * b * a[i - 1] + a[i] ** 3
        return s

    a = np.linspace(1, 2, 6)
    found = aj.hessian(of_two, wrt=("b", 0), sparse=True)(a, 1.5).toarray()
    blocks = aj.hessian(of_two, wrt=("b", 0))(a, 1.5)
    right = np.block(
        [
            [np.reshape(blocks[0][0], (1, 1)), np.reshape(blocks[0][1], (1, 6))],
            [np.reshape(blocks[1][0], (6, 1)), blocks[1][1]],
        ]
    )
    assert np.allclose(found, right, rtol=1e-13)


def test_star_colouring_of_a_random_graph_recovers_every_entry():
    from adjit.api.sparse.compression import compression
    from adjit.api.sparse.pattern import given_pattern

    rng = np.random.default_rng(2)
    for n, density in ((5, 0.5), (40, 0.1), (60, 0.05), (60, 0.4)):
        m = sp.random_array((n, n), density=density, rng=rng)
        m = (m + m.T).tocsr()
        pattern = given_pattern(m)
        how = compression(pattern, True)
        products = m @ (how.colours[:, None] == np.arange(how.count))
        assert np.allclose(products.reshape(-1)[how.places(pattern, (how.count, 1))], m.data, rtol=1e-12)
        straight = compression(pattern, False)
        assert how.count <= straight.count or straight.mode == "reverse"


def test_columns_of_one_colour_meet_in_no_row():
    from adjit.api.sparse.colouring import grouped
    from adjit.api.sparse.pattern import given_pattern

    rng = np.random.default_rng(4)
    for shape, density in (((30, 50), 0.05), ((50, 30), 0.2), ((1, 20), 1.0), ((20, 1), 1.0), ((4, 4), 0.0)):
        m = sp.random_array(shape, density=density, rng=rng, format="csr")
        pattern = given_pattern(m)
        colours, count = grouped(pattern.rows, pattern.transposed())
        meeting = (m != 0).astype(int) @ (colours[:, None] == np.arange(count)).astype(int)
        assert meeting.max(initial=0) <= 1
        assert count >= np.diff(m.indptr).max(initial=0)


def test_what_is_kept_follows_integers_and_shapes():
    sparse = SparseJacobian(picked)
    x = np.arange(1.0, 7.0)
    where = np.array([1, 3, 3])
    for place in (0, 5):
        where[0] = place
        assert np.array_equal(sparse(x, where).toarray(), aj.jacfwd(picked)(x, where))
    longer = np.arange(6)
    assert np.array_equal(sparse(x, longer).toarray(), aj.jacfwd(picked)(x, longer))


def test_what_is_kept_follows_captured_values():
    step, where = 1, np.array([0, 1, 2])

    def f(x):
        y = np.zeros(3)
        for i in range(3):
            y[i] = x[i + step] * x[where[i]]
        return y

    sparse = SparseJacobian(f)
    x = np.arange(1.0, 7.0)
    assert np.array_equal(sparse(x).toarray(), aj.jacfwd(f)(x))
    step = 2
    assert np.array_equal(sparse(x).toarray(), aj.jacfwd(f)(x))
    where[:] = [5, 5, 0]
    assert np.array_equal(sparse(x).toarray(), aj.jacfwd(f)(x))


def test_a_pattern_that_floats_choose_is_found_anew():
    sparse = SparseJacobian(at_float_index)
    rng = np.random.default_rng(5)
    x = rng.normal(size=12)
    pattern = sparse.prepare(x).pattern
    assert not pattern.proven
    assert "an index that is computed from floats, in line" in pattern.reasons[0]
    for _ in range(5):
        x = rng.normal(size=12)
        assert np.array_equal(sparse(x).toarray(), aj.jacfwd(at_float_index)(x))


class State(NamedTuple):
    u: Any
    k: int
    scale: float


def trees(s, other, flag):
    left = s.u[s.k :] * s.scale
    if flag:
        left = left * other[0][0]
    return left, other[1] * s.u[0], other[0]


def test_trees_of_arguments_and_results():
    rng = np.random.default_rng(6)
    s, other = State(rng.normal(size=5), 2, 1.5), (rng.normal(size=2), 0.5)
    sparse = SparseJacobian(trees, wrt=("other", "s.u"))
    found = sparse(s, other, True)
    assert found.shape == (3 + 1 + 2, 2 + 1 + 5)
    right = np.zeros(found.shape)
    right[:3, 0] = s.u[2:] * 1.5
    right[:3, 5:] = np.eye(3) * 1.5 * other[0][0]
    right[3, 2], right[3, 3] = s.u[0], 0.5
    right[4:, :2] = np.eye(2)
    assert np.allclose(found.toarray(), right)
    bound = partial(trees, flag=True)
    assert np.allclose(SparseJacobian(bound, wrt=("other", "s.u"))(s, other).toarray(), right)


def sweep(u, b):
    for i in range(1, len(u) - 1):
        u[i] = u[i - 1] * b[i] + u[i + 1]


def test_in_place_functions():
    u, b = np.linspace(1, 2, 6), np.linspace(-1, 1, 6)
    pure = SparseJacobian(aj.pure(sweep), wrt=(0, 1))
    before = u.copy()
    found = pure(u, b)
    assert np.array_equal(u, before)
    right = np.concatenate([aj.jacfwd(aj.pure(sweep), w)(u, b)[0] for w in (0, 1)], axis=1)
    assert np.array_equal(found.toarray(), right)
    with pytest.raises(aj.ArgumentError, match=r"aj\.pure"):
        aj.sparsity(sweep, u, b)

    def mutates(u, b):
        sweep(u, b)
        return u[1:3] * 2.0

    value, matrix = SparseJacobian(mutates).value_and_matrix(u, b)
    sweep(before, b)
    assert np.array_equal(u, before) and np.array_equal(value, before[1:3] * 2.0)
    assert matrix.shape == (2, 6)


def test_float32():
    x = np.linspace(-1, 1, 40, dtype=np.float32)
    found = SparseJacobian(diffusion)(x)
    dense = aj.jacfwd(diffusion)(x)
    assert found.dtype == dense.dtype
    assert np.array_equal(found.toarray(), dense)


def test_the_check_knows_of_arguments_in_single_precision(uncompiled: None):
    @njit
    def f(a, b):
        if a[1] > 0:
            a = a[-1:]
        return 2 + 0.5 * a[len(a) // 2] + b[-1]

    a, b = np.array([-1.456443428993225, 0.8650969862937927], np.float32), np.array([-0.14821561986226772])
    found = aj.jacobian(f, wrt=(0, 1), sparse=True)(a, b)
    assert found.toarray().tolist() == [[0.0, 0.5, 1.0]]


def test_a_given_pattern_is_taken_as_it_is():
    x = np.random.default_rng(7).normal(size=30)
    dense = aj.jacfwd(diffusion)(x)
    band = np.eye(30) + np.eye(30, k=1) + np.eye(30, k=-1)
    for pattern in (band, sp.coo_array(band), sp.csr_matrix(band.astype(bool)), band.tolist()):
        found = SparseJacobian(diffusion, pattern=pattern)(x)
        assert found.nnz == 88
        assert np.array_equal(found.toarray(), dense)
    stored_zeros = sp.csr_array((np.zeros(88), np.nonzero(band)), shape=(30, 30))
    assert np.array_equal(SparseJacobian(diffusion, pattern=stored_zeros)(x).toarray(), dense)


@pytest.mark.parametrize("missing", [(1, 0), (17, 17), (28, 29)])
def test_a_given_pattern_without_an_entry_is_found_out(missing: tuple[int, int]):
    x = np.linspace(0.0, 3.0, 30) ** 2
    band = np.eye(30) + np.eye(30, k=1) + np.eye(30, k=-1)
    band[missing] = 0
    with pytest.raises(aj.CheckError, match=rf"rows? (\d+, )*{missing[0]}\b") as caught:
        SparseJacobian(diffusion, pattern=band)(x)
    assert "sparse=True" in str(caught.value)


def test_arguments_are_as_they_were_after_a_check_that_failed():
    u, b = np.linspace(1, 2, 6), np.linspace(-1, 1, 6)

    def mutates(u, b):
        sweep(u, b)
        return u * 2.0

    before = u.copy()
    with pytest.raises(aj.CheckError):
        SparseJacobian(mutates, pattern=np.eye(6))(u, b)
    assert np.array_equal(u, before)


def test_wrong_shapes_and_kinds():
    x = np.ones(5)
    with pytest.raises(aj.ArgumentError, match=r"shape \(4, 5\).*\(5, 5\)"):
        SparseJacobian(diffusion, pattern=np.ones((4, 5)))(x)
    with pytest.raises(aj.ArgumentError, match="must be a matrix"):
        SparseJacobian(diffusion, pattern="csr")
    with pytest.raises(aj.ArgumentError, match="which has no derivative"):
        aj.sparsity(picked, x, np.array([1, 2]), wrt=1)
    with pytest.raises(aj.ArgumentError, match="complex"):
        aj.sparsity(lambda z: z * z, x.astype(complex))
    with pytest.raises(aj.ArgumentError, match=r"carries a derivative|returns"):
        aj.sparsity(lambda x: len(x), x)


def test_functions_that_call_themselves_are_refused():
    def power(x, n):
        if n == 0:
            return x * 0.0 + 1.0
        return x * power(x, n - 1)

    with pytest.raises(aj.UnsupportedError, match="calls itself"):
        aj.sparsity(power, np.ones(3), 2)
    given = SparseJacobian(power, pattern=np.eye(3))
    assert np.allclose(given(np.full(3, 2.0), 2).toarray(), np.eye(3) * 4)


def test_a_sparse_matrix_is_not_differentiated():
    sparse, x = aj.jacobian(diffusion, sparse=True), np.ones(4)
    for attempt in (
        lambda: aj.jvp(sparse, (x,), (x,)),
        lambda: aj.jacfwd(sparse)(x),
        lambda: aj.sparsity(sparse, x),
        lambda: aj.jit(sparse)(x),
    ):
        with pytest.raises(aj.UnsupportedError, match="a sparse matrix cannot be differentiated"):
            attempt()
    nested = aj.sparsity(aj.jacfwd(lambda x: x**3), x)
    assert nested.proven and nested.shape == (16, 4) and nested.nnz == 16


def test_scipy_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(aj.ArgumentError, match="pip install scipy"):
        aj.sparsity(diffusion, np.ones(5))


def test_the_caller_may_change_what_comes_back():
    sparse = SparseJacobian(diffusion)
    x = np.random.default_rng(8).normal(size=20)
    first = sparse(x)
    first.data[:] = 0
    first.eliminate_zeros()
    assert np.array_equal(sparse(x).toarray(), aj.jacfwd(diffusion)(x))
    pattern = sparse.prepare(x).pattern.matrix()
    pattern.data[:] = False
    pattern.eliminate_zeros()
    assert sparse.prepare(x).pattern.matrix().nnz == 54


def test_nan_and_infinity_do_not_fail_a_check():
    def f(x):
        y = np.zeros(len(x))
        for i in range(1, len(x)):
            y[i] = np.log(x[i]) * x[i - 1]
        return y

    x = np.array([1.0, 2.0, np.nan, 3.0, np.inf, 1.0])
    pattern = np.eye(6) + np.eye(6, k=-1)
    found = SparseJacobian(f, pattern=pattern)(x).toarray()
    assert np.array_equal(found, aj.jacfwd(f)(x), equal_nan=True)
