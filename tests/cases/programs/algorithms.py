"""Sorting, dynamic programming, histograms: branches and integers everywhere (cases A 14, 20)."""

from __future__ import annotations

import math

import numpy as np

from ..record import Case, ints, vec, wave


def insertion_sort_half(x):
    n = len(x)
    for i in range(1, n):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    s = 0.0
    for i in range(n // 2):
        s += x[i]
    return s


def bubble_sort_weighted(x, w):
    n = len(x)
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
                swapped = True
    s = 0.0
    for i in range(n):
        s += x[i] * w[i]
    return s


def counting_sort_then_gather(x, cell, start, order):
    cells = len(start) - 1
    for i in range(len(start)):
        start[i] = 0
    for i in range(len(cell)):
        start[cell[i] + 1] += 1
    for c in range(cells):
        start[c + 1] += start[c]
    cursor = start.copy()
    for i in range(len(cell)):
        order[cursor[cell[i]]] = i
        cursor[cell[i]] += 1
    gathered = np.empty_like(x)
    for i in range(len(x)):
        gathered[i] = x[order[i]]
    s = 0.0
    for c in range(cells):
        for k in range(start[c], start[c + 1]):
            for m in range(start[c], start[c + 1]):
                s += gathered[k] * gathered[m] * (c + 1)
    return s


def histogram_of_data(x, w, edges):
    bins = np.zeros(4)
    for i in range(len(x)):
        k = int(x[i] * edges)
        if k < 0:
            k = 0
        elif k > 3:
            k = 3
        bins[k] += w[i] * x[i]
    s = 0.0
    for k in range(4):
        s += bins[k] * bins[k]
    return s


def edit_distance(cost, a, b, table):
    n, m = len(a), len(b)
    for i in range(n + 1):
        table[i, 0] = i * cost[0]
    for j in range(m + 1):
        table[0, j] = j * cost[1]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            change = table[i - 1, j - 1] + (0.0 if a[i - 1] == b[j - 1] else cost[2])
            table[i, j] = min(change, min(table[i - 1, j] + cost[0], table[i, j - 1] + cost[1]))
    return table[n, m]


def viterbi(start, move, emit, obs):
    states = len(start)
    score = start.copy()
    new = np.empty(states)
    for i in range(states):
        score[i] += emit[i, obs[0]]
    for t in range(1, len(obs)):
        for j in range(states):
            best = score[0] + move[0, j]
            for i in range(1, states):
                best = max(best, score[i] + move[i, j])
            new[j] = best + emit[j, obs[t]]
        for j in range(states):
            score[j] = new[j]
    best = score[0]
    for j in range(1, states):
        if score[j] > best:
            best = score[j]
    return best


def log_sum_exp_forward(start, move, obs):
    states = len(start)
    alpha = np.empty(states)
    other = np.empty(states)
    for i in range(states):
        alpha[i] = start[i]
    for t in range(len(obs)):
        for j in range(states):
            top = -1e300
            for i in range(states):
                top = max(top, alpha[i] + move[i, j])
            s = 0.0
            for i in range(states):
                s += math.exp(alpha[i] + move[i, j] - top)
            other[j] = top + math.log(s) + 0.1 * obs[t] * start[j]
        alpha, other = other, alpha
    total = 0.0
    for i in range(states):
        total += alpha[i]
    return total


def neighbours_within(x, y, h):
    n = len(x)
    s = 0.0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            dx = x[i] - x[j]
            dy = y[i] - y[j]
            r2 = dx * dx + dy * dy
            if r2 < h * h:
                q = math.sqrt(r2) / h
                s += (1 - q) ** 3 * (1 + 3 * q)
    return s


def binary_search_interpolation(knots, values, at):
    s = 0.0
    for k in range(len(at)):
        lo = 0
        hi = len(knots) - 1
        while hi - lo > 1:
            mid = (lo + hi) // 2
            if knots[mid] > at[k]:
                hi = mid
            else:
                lo = mid
        t = (at[k] - knots[lo]) / (knots[hi] - knots[lo])
        s += (1 - t) * values[lo] + t * values[hi]
    return s


def linked_list_walk(nxt, x, head):
    s = 0.0
    node = head
    while node != -1:
        s = s * 0.5 + x[node] * x[node]
        follow = nxt[node]
        nxt[node] = -1
        node = follow
    return s


def heap_sift(x):
    n = len(x)
    for end in range(n - 1, 0, -1):
        for start in range((end - 1) // 2, -1, -1):
            child = 2 * start + 1
            if child + 1 <= end and x[child + 1] > x[child]:
                child += 1
            if x[child] > x[start]:
                x[child], x[start] = x[start], x[child]
        x[0], x[end] = x[end], x[0]
    s = 0.0
    for i in range(n):
        s += (i + 1) * x[i]
    return s


def collatz_steered(x, n):
    s = x[0]
    while n != 1:
        if n % 2 == 0:
            n //= 2
            s = s * x[n % len(x)]
        else:
            n = 3 * n + 1
            s = s + x[n % len(x)] ** 2
        s = math.sin(s)
    return s


def _half_gradient(x):
    out = np.zeros_like(x)
    out[np.argsort(x)[: len(x) // 2]] = 1
    return (out,)


def _sorted_weights(x, w):
    out = np.empty_like(x)
    order = np.argsort(x)
    out[order] = w
    return out, x[order]


def _cells_gradient(x, cell, start, order):
    return (np.array([2 * (c + 1) * x[cell == c].sum() for c in cell]),)


_order = vec(0.9, 0.2, 1.4, 0.5, 1.1)
CASES = [
    Case("insertion_sort_half", insertion_sort_half, (_order,), gradient=_half_gradient, origin="A14"),
    Case("bubble_sort_weighted", bubble_sort_weighted, (_order, wave(5)), (0, 1), _sorted_weights, "A14"),
    Case("heap_sift", heap_sift, (_order,), origin="A14"),
    Case(
        "counting_sort_then_gather",
        counting_sort_then_gather,
        (wave(5), ints(1, 0, 2, 1, 1), ints(7, 7, 7, 7), ints(0, 0, 0, 0, 0)),
        gradient=_cells_gradient,
        origin="A20, seed 000",
        core=True,
    ),
    Case(
        "histogram_of_data",
        histogram_of_data,
        (vec(0.1, 0.35, 0.6, 1.4, 0.3), wave(5), 4),
        (0, 1),
        origin="A20",
    ),
    Case(
        "edit_distance",
        edit_distance,
        (vec(1.0, 1.3, 1.9), ints(1, 2, 3, 1), ints(2, 3, 3), np.zeros((5, 4))),
        origin="A14: min chooses the operand",
    ),
    Case(
        "viterbi",
        viterbi,
        (wave(2), wave(2, 2, seed=1), wave(2, 3, seed=2), ints(0, 2, 1, 1)),
        (0, 1, 2),
        origin="A14",
    ),
    Case(
        "log_sum_exp_forward",
        log_sum_exp_forward,
        (wave(2), wave(2, 2, seed=1), ints(1, 2, 1)),
        (0, 1),
        origin="A14",
    ),
    Case(
        "neighbours_within", neighbours_within, (wave(5), wave(5, seed=1), 0.8), (0, 1, 2), origin="seed 000"
    ),
    Case(
        "binary_search_interpolation",
        binary_search_interpolation,
        (vec(0, 0.5, 1.1, 2), wave(4), vec(0.2, 0.7, 1.5)),
        (0, 1, 2),
        origin="A12",
    ),
    Case("linked_list_walk", linked_list_walk, (ints(2, -1, 3, 1), wave(4), 0), (1,), origin="A12"),
    Case("collatz_steered", collatz_steered, (wave(3), 6), origin="A12: while steered by integers"),
]
