"""In-place recurrences: factorisations, solves, sweeps. JAX's forms here are steps of whole arrays; `masked` has the
transliterations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import masked
from array_program import ArrayProgram


def lu(A0):
    """Sum of squares of the LU factors, without pivoting, in place."""
    A = A0.copy()
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return np.sum(A * A)


def lu_jax(A):
    """A step takes its column and row out of the matrix: a masked outer product."""
    index = jnp.arange(A.shape[0])

    def eliminate(A, k):
        below = index > k
        column = jnp.where(below, A[:, k] / A[k, k], 0.0)
        row = jnp.where(below, A[k], 0.0)
        A = A.at[:, k].set(jnp.where(below, column, A[:, k]))
        return A - column[:, None] * row, None

    A, _ = lax.scan(eliminate, A, index)
    return jnp.sum(A * A)


def dominant(n: int) -> tuple[np.ndarray]:
    """A random matrix with a large diagonal."""
    return (np.random.default_rng(0).uniform(-1, 1, (n, n)) + n * np.eye(n),)


def cholesky(A0):
    """Sum of the factor's entries and squares, a row at a time, in place."""
    A = A0.copy()
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s / A[j, j]
        d = A[i, i]
        for k in range(i):
            d -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(d)
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            total += A[i, j] * (1.0 + A[i, j])
    return total


def _factor_total(L):
    return jnp.sum(jnp.where(jnp.tri(L.shape[0], dtype=bool), L * (1.0 + L), 0.0))


def cholesky_right(A):
    """Right-looking: each column leaves the rest by an outer product."""
    index = jnp.arange(A.shape[0])

    def eliminate(A, k):
        root = jnp.sqrt(A[k, k])
        column = jnp.where(index > k, A[:, k] / root, 0.0)
        A = A - column[:, None] * column
        return A, jnp.where(index == k, root, column)

    _, columns = lax.scan(eliminate, A, index)
    return _factor_total(columns.T)


def cholesky_left(A):
    """Left-looking: each column is a product with the columns before it, which are the rows of the carry."""
    index = jnp.arange(A.shape[0])

    def column(done, k):
        left = A[:, k] - done[:, k] @ done
        new = jnp.where(index >= k, left / jnp.sqrt(left[k]), 0.0)
        return done.at[k].set(new), None

    done, _ = lax.scan(column, jnp.zeros_like(A), index)
    return _factor_total(done.T)


def positive(n: int) -> tuple[np.ndarray]:
    """A symmetric positive definite matrix."""
    B = np.random.default_rng(0).uniform(-1, 1, (n, n))
    return (B @ B.T + n * np.eye(n),)


def seidel(A0, steps):
    """Sum of squares after Gauss-Seidel sweeps over nine points, in place."""
    A = A0.copy()
    n, m = A.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return np.sum(A * A)


def _seidel_by(solve_row):
    """A sweep as a scan over rows; `solve_row(first, s)` solves x[j] = (s[j] + x[j - 1]) / 9."""

    def three(row):
        return row[:-2] + row[1:-1] + row[2:]

    def loss(A, steps):
        def sweep(A, _):
            def relax(above, rows):
                row, below = rows
                known = three(above) + row[1:-1] + row[2:] + three(below)
                new = jnp.concatenate([row[:1], solve_row(row[0], known), row[-1:]])
                return new, new

            _, inner = lax.scan(relax, A[0], (A[1:-1], A[2:]))
            return jnp.concatenate([A[:1], inner, A[-1:]]), None

        A, _ = lax.scan(sweep, A, None, length=steps)
        return jnp.sum(A * A)

    return loss


def _row_in_turn(first, known):
    def next_one(x, s):
        x = (s + x) / 9.0
        return x, x

    return lax.scan(next_one, first, known, unroll=8)[1]


def _row_by_halves(first, known):
    known = known.at[0].add(first) / 9.0
    factors = jnp.full_like(known, 1.0 / 9.0)
    return lax.associative_scan(
        lambda one, two: (one[0] * two[0], one[1] * two[0] + two[1]), (factors, known)
    )[1]


def grid(n: int, steps: int) -> tuple[np.ndarray, int]:
    """A random square and a number of steps."""
    return np.random.default_rng(0).uniform(0, 1, (n, n)), steps


def triangular_solve(L, b):
    """Sum of squares of the solution of L x = b."""
    n = b.shape[0]
    x = np.zeros(n)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * x[j]
        x[i] = s / L[i, i]
    return np.sum(x * x)


def triangular_rows(L, b):
    """A row at a time: what is not solved yet is zero, and needs no mask."""

    def solve(x, row):
        i, Li, bi = row
        return x.at[i].set((bi - Li @ x) / Li[i]), None

    x, _ = lax.scan(solve, jnp.zeros_like(b), (jnp.arange(b.shape[0]), L, b))
    return jnp.sum(x * x)


def triangular_columns(L, b):
    """A column at a time leaves the right-hand side; what is above the diagonal is masked."""
    index = jnp.arange(b.shape[0])

    def solve(b, column):
        i, Li = column
        xi = b[i] / Li[i]
        return b - xi * jnp.where(index > i, Li, 0.0), xi

    _, x = lax.scan(solve, b, (index, L.T))
    return jnp.sum(x * x)


def lower(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A well conditioned triangle and a right-hand side."""
    rng = np.random.default_rng(0)
    return np.tril(rng.uniform(-1, 1, (n, n))) / n + np.eye(n), rng.uniform(-1, 1, n)


def gram_schmidt(A0, W):
    """Modified Gram-Schmidt on the rows, in place: the orthonormal rows weighed, and the squares of R."""
    A = A0.copy()
    n, m = A.shape
    total = 0.0
    for k in range(n):
        s = 0.0
        for i in range(m):
            s += A[k, i] * A[k, i]
        norm = np.sqrt(s)
        total += s
        for i in range(m):
            A[k, i] /= norm
        for j in range(k + 1, n):
            r = 0.0
            for i in range(m):
                r += A[k, i] * A[j, i]
            total += r * r
            for i in range(m):
                A[j, i] -= r * A[k, i]
    return total + np.sum(A * W)


def gram_schmidt_jax(A, W):
    """A step makes one row and takes it out of all later ones, by a masked product and an outer product."""
    index = jnp.arange(A.shape[0])

    def orthogonalise(carry, k):
        A, total = carry
        s = A[k] @ A[k]
        q = A[k] / jnp.sqrt(s)
        r = jnp.where(index > k, A @ q, 0.0)
        return (A - r[:, None] * q, total + s + r @ r), q

    (_, total), Q = lax.scan(orthogonalise, (A, 0.0), index)
    return total + jnp.sum(Q * W)


def rows(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows of length m, and weights."""
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (n, m)), rng.uniform(-1, 1, (n, m))


def csr_product(values, x, starts, columns, row_of, padded):
    """Sum of squares of A x, A compressed by rows. The last two arguments are other spellings of `starts`, for JAX."""
    y = np.zeros(starts.shape[0] - 1)
    for i in range(y.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return np.sum(y * y)


def csr_segments(values, x, starts, columns, row_of, padded):
    """Sums of sorted segments."""
    terms = values * x[columns]
    y = jax.ops.segment_sum(terms, row_of, num_segments=starts.shape[0] - 1, indices_are_sorted=True)
    return jnp.sum(y * y)


def csr_padded(values, x, starts, columns, row_of, padded):
    """Rows of one length: `padded` holds each row's positions, and the number of values where it has none."""
    terms = (values * x[columns]).at[padded].get(mode="fill", fill_value=0.0)
    y = jnp.sum(terms, axis=1)
    return jnp.sum(y * y)


def sparse(n: int, longest: int) -> tuple[np.ndarray, ...]:
    """n rows of up to `longest` entries in random columns."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, longest + 1, n)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    count = int(starts[-1])
    place = starts[:-1, None] + np.arange(longest)
    padded = np.where(np.arange(longest) < lengths[:, None], place, count)
    values, x = rng.uniform(-1, 1, count), rng.uniform(-1, 1, n)
    return values, x, starts, rng.integers(0, n, count), np.repeat(np.arange(n), lengths), padded


def thomas(a, b, c, d):
    """Sum of squares of the solution of a tridiagonal system."""
    n = d.shape[0]
    cp = np.empty(n)
    x = np.empty(n)
    cp[0] = c[0] / b[0]
    x[0] = d[0] / b[0]
    for i in range(1, n):
        pivot = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / pivot
        x[i] = (d[i] - a[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= cp[i] * x[i + 1]
    return np.sum(x * x)


def _thomas(unroll: int):
    def loss(a, b, c, d):
        def eliminate(before, row):
            cp, dp = before
            ai, bi, ci, di = row
            pivot = bi - ai * cp
            now = ci / pivot, (di - ai * dp) / pivot
            return now, now

        def substitute(x, row):
            cp, dp = row
            x = dp - cp * x
            return x, x

        zero = jnp.zeros(())
        _, kept = lax.scan(eliminate, (zero, zero), (a.at[0].set(0.0), b, c, d), unroll=unroll)
        _, x = lax.scan(substitute, zero, kept, reverse=True, unroll=unroll)
        return jnp.sum(x * x)

    return loss


def tridiagonal(n: int) -> tuple[np.ndarray, ...]:
    """A dominant tridiagonal system."""
    rng = np.random.default_rng(0)
    a, c, d = rng.uniform(-1, 1, (3, n))
    return a, 4.0 + rng.uniform(0, 1, n), c, d


def adi(u0, steps):
    """Alternating directions on a square: tridiagonal solves along columns, then along rows, all lines at once."""
    n = u0.shape[0]
    u = u0.copy()
    v = np.zeros((n, n))
    p = np.zeros(n)
    q = np.zeros((n, n))
    mul1, mul2 = 2.0 * n * n / steps, 1.0 * n * n / steps
    a, d = -mul1 / 2.0, -mul2 / 2.0
    b, e = 1.0 + mul1, 1.0 + mul2
    for _ in range(steps):
        p[0] = 0.0
        q[0, 1:-1] = 1.0
        for j in range(1, n - 1):
            pivot = a * p[j - 1] + b
            p[j] = -a / pivot
            known = -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - d * u[j, 2:]
            q[j, 1:-1] = (known - a * q[j - 1, 1:-1]) / pivot
        v[0, 1:-1] = 1.0
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[j] * v[j + 1, 1:-1] + q[j, 1:-1]
        p[0] = 0.0
        q[1:-1, 0] = 1.0
        for j in range(1, n - 1):
            pivot = d * p[j - 1] + e
            p[j] = -d / pivot
            known = -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - a * v[2:, j]
            q[1:-1, j] = (known - d * q[1:-1, j - 1]) / pivot
        u[1:-1, 0] = 1.0
        u[1:-1, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[j] * u[1:-1, j + 1] + q[1:-1, j]
    return np.sum(u * u)


def adi_jax(u, steps):
    """All lines of a direction at once: scans along the line over vectors across it."""
    n = u.shape[0]
    mul1, mul2 = 2.0 * n * n / steps, 1.0 * n * n / steps
    a, d = -mul1 / 2.0, -mul2 / 2.0
    b, e = 1.0 + mul1, 1.0 + mul2

    def lines(known, off, diagonal):
        """Solve along axis 0; the lines start and end at 1."""

        def eliminate(before, s):
            p, q = before
            pivot = off * p + diagonal
            now = -off / pivot, (s - off * q) / pivot
            return now, now

        def substitute(x, pq):
            x = pq[0] * x + pq[1]
            return x, x

        ones = jnp.ones(n - 2)
        _, kept = lax.scan(eliminate, (jnp.zeros(()), ones), known)
        return lax.scan(substitute, ones, kept, reverse=True)[1]

    def step(carry, _):
        u, v = carry
        known = -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:]
        inner = lines(known, a, b)
        v = v.at[0, 1:-1].set(1.0).at[-1, 1:-1].set(1.0).at[1:-1, 1:-1].set(inner)
        known = -a * v[:-2, 1:-1] + (1.0 + 2.0 * a) * v[1:-1, 1:-1] - a * v[2:, 1:-1]
        inner = lines(known.T, d, e).T
        u = u.at[1:-1, 0].set(1.0).at[1:-1, -1].set(1.0).at[1:-1, 1:-1].set(inner)
        return (u, v), None

    (u, _), _ = lax.scan(step, (u, jnp.zeros_like(u)), None, length=steps)
    return jnp.sum(u * u)


def durbin(r):
    """Levinson-Durbin: sum of squares of the solution of a Toeplitz system of Yule and Walker."""
    n = r.shape[0]
    y = np.zeros(n)
    z = np.zeros(n)
    alpha, beta = -r[0], 1.0
    y[0] = alpha
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        s = r[k]
        for i in range(k):
            s += r[k - 1 - i] * y[i]
        alpha = -s / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - 1 - i]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return np.sum(y * y)


def durbin_jax(r):
    """A window into the flipped vector padded with zeros is the reversed part: no mask is needed."""
    n = r.shape[0]

    def turned(x, k):
        """x[k - 1], ..., x[0], then zeros."""
        return lax.dynamic_slice(jnp.concatenate([x[::-1], jnp.zeros(n)]), (n - k,), (n,))

    def extend(carry, k):
        y, alpha, beta = carry
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + turned(r, k) @ y) / beta
        y = (y + alpha * turned(y, k)).at[k].set(alpha)
        return (y, alpha, beta), None

    start = jnp.zeros(n).at[0].set(-r[0]), -r[0], jnp.ones(())
    (y, _, _), _ = lax.scan(extend, start, jnp.arange(1, n))
    return jnp.sum(y * y)


def autocorrelation(n: int) -> tuple[np.ndarray]:
    """A decaying correlation."""
    return (0.5 / (1.0 + np.arange(n)) ** 2,)


PROGRAMS = [
    ArrayProgram("LU", "recurrence", lu, {"outer products": lu_jax}, dominant, (0,), (200,), (40,), scan=masked.lu),
    ArrayProgram(
        "Cholesky", "recurrence", cholesky, {"right-looking": cholesky_right, "left-looking": cholesky_left},
        positive, (0,), (200,), (40,), scan=masked.cholesky,
    ),
    ArrayProgram(
        "Seidel, 9 points", "recurrence", seidel,
        {"scan": _seidel_by(_row_in_turn), "associative scan": _seidel_by(_row_by_halves)},
        grid, (0,), (128, 10), (24, 3), scan=masked.seidel,
    ),
    ArrayProgram(
        "triangular solve", "recurrence", triangular_solve,
        {"rows": triangular_rows, "columns": triangular_columns}, lower, (0, 1), (1200,), (100,),
        scan=masked.triangular_solve,
    ),
    ArrayProgram(
        "Gram-Schmidt", "recurrence", gram_schmidt, {"outer products": gram_schmidt_jax},
        rows, (0,), (100, 200), (20, 30), scan=masked.gram_schmidt,
    ),
    ArrayProgram(
        "CSR product", "recurrence", csr_product, {"segments": csr_segments, "padded rows": csr_padded},
        sparse, (0, 1), (60_000, 20), (2000, 10), scan=masked.csr_product,
    ),
    ArrayProgram(
        "Thomas", "recurrence", thomas, {"unrolled by 8": _thomas(8)},
        tridiagonal, (0, 1, 2, 3), (50_000,), (2000,), scan=_thomas(1),
    ),
    ArrayProgram(
        "ADI", "recurrence", adi, {"scans of lines": adi_jax}, grid, (0,), (128, 5), (24, 2), scan=masked.adi
    ),
    ArrayProgram(
        "Levinson-Durbin", "recurrence", durbin, {"windows": durbin_jax}, autocorrelation, (0,), (1000,), (100,),
        scan=masked.durbin,
    ),
]  # fmt: skip
