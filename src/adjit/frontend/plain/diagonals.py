"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any


def down(k: Any) -> Any:
    """How many rows below the first the diagonal `k` begins."""
    return -k if k < 0 else 0


def matrix_count(n: Any, k: Any) -> Any:
    """The extent of a square matrix with n elements on its diagonal `k`."""
    return n + abs(k)


def diagonal_count(rows: Any, columns: Any, k: Any) -> Any:
    """How many elements a diagonal has."""
    if k < 0:
        rows += k
    else:
        columns -= k
    return max(min(rows, columns), 0)


def put_diagonal(made: Any, items: Any, k: Any) -> None:
    """The items are the diagonal `k` of `made`."""
    for i in range(len(items)):
        made[i + down(k), i + down(-k)] = items[i]


def put_ones(made: Any, k: Any) -> None:
    """Ones at and below the diagonal `k`."""
    for i in range(made.shape[0]):
        for j in range(min(max(i + k + 1, 0), made.shape[1])):
            made[i, j] = 1


def inside(i: Any, j: Any, k: Any, upper: Any) -> Any:
    """Whether an element is in the upper (or lower) triangle."""
    return j - i >= k if upper else j - i <= k


def triangle_count(rows: Any, columns: Any, k: Any, upper: Any) -> Any:
    """How many elements a triangle has."""
    n = 0
    for i in range(rows):
        for j in range(columns):
            if inside(i, j, k, upper):
                n += 1
    return n


def put_triangle(first: Any, second: Any, rows: Any, columns: Any, k: Any, upper: Any) -> None:
    """The indices of a triangle."""
    n = 0
    for i in range(rows):
        for j in range(columns):
            if inside(i, j, k, upper):
                first[n] = i
                second[n] = j
                n += 1


def fill_diagonal(a: Any, value: Any) -> None:
    """`np.fill_diagonal(a, value)`."""
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = value


def fill_diagonal_with(a: Any, values: Any) -> None:
    """`np.fill_diagonal(a, values)`."""
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = values[i % len(values)]
