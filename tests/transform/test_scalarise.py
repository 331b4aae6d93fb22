"""Array statements: what needs its values kept first, and what must not pay for it."""

import numpy as np
import pytest

import adjit as aj

V = np.linspace(0.3, 1.1, 6)


def kept(f, *args):
    """How many temporaries the generated primal makes to keep values."""
    return (
        aj.jit(f)
        .source(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in args))
        .count("kept = np.empty")
    )


def other(a, b):
    a[1:] = b[:-1] * b[1:]


def same_place(a, b):
    a[1:-1] = a[1:-1] * b[1:-1] + a[1:-1]


def shifted(a, b):
    a[1:] = a[:-1] * b[1:]


def backwards(a, b):
    a[:] = a[::-1] * b


def through_a_view(a, b):
    v = a[1:]
    v[:] = a[:-1] * b[1:]


def ping_pong(a, b):
    for _ in range(3):
        b[1:-1] = 0.5 * (a[2:] + a[:-2])
        a, b = b, a
    a[0] += b[1]


def ping_pong_by_branch(a, b):
    for k in range(4):
        b[1:-1] = 0.5 * (a[2:] + a[:-2])
        if k % 2 == 0:
            a, b = b, a
    a[0] += b[1]


def fresh_each_turn(a, b):
    for _ in range(3):
        c = np.zeros(len(a))
        c[1:] = a[:-1] * b[1:]
        a[:] = c


def perhaps_the_same(a, b):
    c = a if b[0] > 0.0 else b
    c[1:] = a[:-1] + b[1:]


def augmented(a, b):
    a[1:] += a[:-1] * b[1:]


@pytest.mark.parametrize(
    ("f", "count"),
    [
        (other, 0),
        (same_place, 0),
        (shifted, 1),
        (backwards, 1),
        (through_a_view, 1),
        (ping_pong, 0),
        (ping_pong_by_branch, 0),
        (fresh_each_turn, 0),
        (perhaps_the_same, 1),
        (augmented, 1),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_values_are_kept_only_where_a_store_may_change_them(f, count, monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    assert kept(f, V, V[::-1].copy()) == count
    a, b, c, d = V.copy(), V[::-1].copy(), V.copy(), V[::-1].copy()
    f(a, b)
    aj.jit(f)(c, d)
    assert a.tolist() == c.tolist()
    assert b.tolist() == d.tolist()

    def loss(a, b):
        f(a, b)
        return np.sum(a * a) + np.sum(b * a)

    aj.check_grad(loss, V.copy(), V[::-1].copy())


def transposed_onto_itself(a):
    a[:, :] = a.T * 2.0


def chained(a):
    a[1:, 0] = a[0, 1:] = a[1, 1:] * 2.0


def row_broadcast(a):
    a[:, :] = a[0]


@pytest.mark.parametrize("f", [transposed_onto_itself, chained, row_broadcast], ids=lambda f: f.__name__)
def test_matrices(f, monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    a = np.arange(16.0).reshape(4, 4)
    b = a.copy()
    f(a)
    aj.jit(f)(b)
    assert a.tolist() == b.tolist()


def next_row(a):
    for j in range(len(a) - 1):
        a[j, :] = a[j + 1, ::-1] * 0.5


def first_rows(a):
    a[0, 1:] = a[1, :-1] + a[2, 1:]


def row_by_row(a):
    for j in range(len(a) - 1, 0, -1):
        a[1:, j] = a[:-1, j - 1] * 0.5


def last_row(a):
    a[0, 1:] = a[-1, :-1]


def some_row(a):
    for j in range(len(a)):
        a[j, 1:] = a[(j * j) % len(a), :-1]


@pytest.mark.parametrize(
    ("f", "count"), [(next_row, 0), (first_rows, 0), (row_by_row, 0), (last_row, 1), (some_row, 1)]
)
def test_other_rows_need_not_be_kept(f, count, monkeypatch):
    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    a = np.arange(16.0).reshape(4, 4)
    b, one, c = a.copy(), np.arange(4.0).reshape(1, 4), np.arange(4.0).reshape(1, 4)
    assert kept(f, a) == count
    f(a)
    aj.jit(f)(b)
    assert a.tolist() == b.tolist()
    if f is last_row:  # the last row is the first
        f(one)
        aj.jit(f)(c)
        assert one.tolist() == c.tolist()
