"""The recurrences as a JAX user transliterates the loop programs: scans with static bounds, triangles by masks.

What a loop carries is the carry of a `lax.scan`; a range that depends on an outer index runs over all of its axis, and
what is outside is masked. Innermost loops whose turns are independent, or that only sum, are whole rows. Rows that a
loop takes in turn are the inputs of the scan, which is kinder to JAX than indices into the carry: its adjoint of `A[i]`
in a scan is a dense array a turn.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax


def lu(A):
    """for k: for i: one row, masked below and right of (k, k)."""
    index = jnp.arange(A.shape[0])

    def step(A, k):
        pivot = A[k]

        def row(_, given):
            i, Ai = given
            factor = Ai[k] / pivot[k]
            new = jnp.where(index > k, Ai - factor * pivot, Ai).at[k].set(factor)
            return None, jnp.where(i > k, new, Ai)

        return lax.scan(row, None, (index, A))[1], None

    A, _ = lax.scan(step, A, index)
    return jnp.sum(A * A)


def cholesky(A):
    """for i: for j: a product of row i with row j, masked left of j; entries from i on are masked."""
    index = jnp.arange(A.shape[0])

    def factor_row(A, i):
        def entry(row, given):
            j, Aj = given
            s = row[j] - jnp.sum(jnp.where(index < j, row * Aj, 0.0))
            divisor = jnp.where(j < i, Aj[j], 1.0)
            return jnp.where(j < i, row.at[j].set(s / divisor), row), None

        row, _ = lax.scan(entry, A[i], (index, A))
        d = row[i] - jnp.sum(jnp.where(index < i, row * row, 0.0))
        return A.at[i].set(row.at[i].set(jnp.sqrt(d))), None

    A, _ = lax.scan(factor_row, A, index)
    return jnp.sum(jnp.where(jnp.tri(A.shape[0], dtype=bool), A * (1.0 + A), 0.0))


def seidel(A, steps):
    """for t: for i: for j: one element of the row, nine neighbours."""
    m = A.shape[1]

    def sweep(A, _):
        def relax(above, rows):
            row, below = rows

            def element(row, j):
                near = above[j - 1] + above[j] + above[j + 1] + row[j - 1] + row[j] + row[j + 1]
                return row.at[j].set((near + below[j - 1] + below[j] + below[j + 1]) / 9.0), None

            row, _ = lax.scan(element, row, jnp.arange(1, m - 1))
            return row, row

        _, inner = lax.scan(relax, A[0], (A[1:-1], A[2:]))
        return jnp.concatenate([A[:1], inner, A[-1:]]), None

    A, _ = lax.scan(sweep, A, None, length=steps)
    return jnp.sum(A * A)


def triangular_solve(L, b):
    """for i: a product of row i with the solution, masked from i on."""
    index = jnp.arange(b.shape[0])

    def solve(x, row):
        i, Li, bi = row
        s = bi - jnp.sum(jnp.where(index < i, Li * x, 0.0))
        return x.at[i].set(s / Li[i]), None

    x, _ = lax.scan(solve, jnp.zeros_like(b), (index, L, b))
    return jnp.sum(x * x)


def gram_schmidt(A, W):
    """for k: for j: one row, masked up to k."""
    index = jnp.arange(A.shape[0])

    def orthogonalise(carry, k):
        A, total = carry
        s = jnp.sum(A[k] * A[k])
        q = A[k] / jnp.sqrt(s)
        A = A.at[k].set(q)

        def row(total, given):
            j, Aj = given
            r = jnp.where(j > k, jnp.sum(q * Aj), 0.0)
            return total + r * r, Aj - r * q

        total, A = lax.scan(row, total + s, (index, A))
        return (A, total), None

    (A, total), _ = lax.scan(orthogonalise, (A, 0.0), index)
    return total + jnp.sum(A * W)


def csr_product(values, x, starts, columns, row_of, padded):
    """for i: the entries of row i, masked after its last."""
    longest = padded.shape[1]
    last = values.shape[0] - 1

    def row(_, bounds):
        start, stop = bounds
        k = start + jnp.arange(longest)
        at = jnp.minimum(k, last)
        return None, jnp.sum(jnp.where(k < stop, values[at] * x[columns[at]], 0.0))

    _, y = lax.scan(row, None, (starts[:-1], starts[1:]))
    return jnp.sum(y * y)


def adi(u, steps):
    """for t: for j: one line of each array at a time, set in place."""
    n = u.shape[0]
    mul1, mul2 = 2.0 * n * n / steps, 1.0 * n * n / steps
    a, d = -mul1 / 2.0, -mul2 / 2.0
    b, e = 1.0 + mul1, 1.0 + mul2
    up, down = jnp.arange(1, n - 1), jnp.arange(n - 2, 0, -1)

    def step(carry, _):
        u, v, p, q = carry

        def eliminate_columns(pq, j):
            p, q = pq
            pivot = a * p[j - 1] + b
            known = -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - d * u[j, 2:]
            q = q.at[j, 1:-1].set((known - a * q[j - 1, 1:-1]) / pivot)
            return (p.at[j].set(-a / pivot), q), None

        def eliminate_rows(pq, j):
            p, q = pq
            pivot = d * p[j - 1] + e
            known = -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - a * v[2:, j]
            q = q.at[1:-1, j].set((known - d * q[1:-1, j - 1]) / pivot)
            return (p.at[j].set(-d / pivot), q), None

        (p, q), _ = lax.scan(eliminate_columns, (p.at[0].set(0.0), q.at[0, 1:-1].set(1.0)), up)
        v = v.at[0, 1:-1].set(1.0).at[-1, 1:-1].set(1.0)
        v, _ = lax.scan(lambda v, j: (v.at[j, 1:-1].set(p[j] * v[j + 1, 1:-1] + q[j, 1:-1]), None), v, down)
        (p, q), _ = lax.scan(eliminate_rows, (p.at[0].set(0.0), q.at[1:-1, 0].set(1.0)), up)
        u = u.at[1:-1, 0].set(1.0).at[1:-1, -1].set(1.0)
        u, _ = lax.scan(lambda u, j: (u.at[1:-1, j].set(p[j] * u[1:-1, j + 1] + q[1:-1, j]), None), u, down)
        return (u, v, p, q), None

    start = u, jnp.zeros_like(u), jnp.zeros(n), jnp.zeros_like(u)
    (u, *_), _ = lax.scan(step, start, None, length=steps)
    return jnp.sum(u * u)


def durbin(r):
    """for k: vectors of all n entries, masked from k on."""
    n = r.shape[0]
    index = jnp.arange(n)

    def extend(carry, k):
        y, alpha, beta = carry
        beta = beta * (1.0 - alpha * alpha)
        inside = index < k
        back = jnp.where(inside, k - 1 - index, 0)
        s = r[k] + jnp.sum(jnp.where(inside, r[back] * y, 0.0))
        alpha = -s / beta
        y = jnp.where(inside, y + alpha * y[back], y).at[k].set(alpha)
        return (y, alpha, beta), None

    start = jnp.zeros(n).at[0].set(-r[0]), -r[0], jnp.ones(())
    (y, _, _), _ = lax.scan(extend, start, jnp.arange(1, n))
    return jnp.sum(y * y)
