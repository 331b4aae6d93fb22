"""Elements of device arrays that a loop over time reads and writes in host code: sources, probes, numbers that steer it."""

from __future__ import annotations

import numpy as np
import pytest

import adjit as aj

from .modes import every_mode
from .places import to_device


@pytest.fixture(autouse=True)
def _uncompiled(uncompiled):
    """What runs on the CPU for comparison runs as plain Python."""


X, S = np.linspace(0.3, 1.7, 8), np.linspace(0.2, 0.9, 4)
U = np.linspace(-1.0, 1.2, 42).reshape(7, 6)


def source(x, s):
    v = x * 1.0
    for t in range(len(s)):
        v[2] += s[t] * x[1]
        v[1:-1] = v[1:-1] + 0.1 * (v[2:] - 2 * v[1:-1] + v[:-2]) * v[1:-1]
    return np.sum(v * v)


def probe(x, s):
    v = x * 1.0
    out = np.zeros(len(s))
    for t in range(len(s)):
        v[2] = s[t] * v[2]
        v *= 1.1
        out[t] = v[3] * v[2]
    return np.sum(out * out * x[0])


def several_elements(x, s, k):
    v = x * 1.0
    for t in range(len(s)):
        v[k] += s[t] * x[k]
        v[k + 1] *= v[k]
        v *= v
        v[t] = 0.5
    return np.sum(v)


def traces(u, s):
    v = u * 1.0
    found = np.zeros((len(s), 2))
    for t in range(len(s)):
        v[3, 4] += s[t] ** 2
        v[1:-1, 1:-1] += 0.1 * (v[2:, 1:-1] + v[:-2, 1:-1]) * v[1:-1, 1:-1]
        found[t, 0] = v[2, 2]
        found[t, 1] = v[5, 3]
    return np.sum(found**2)


def steered(x, s):
    """The host looks at what an element is."""
    v = x * 1.0
    for t in range(len(s)):
        a = s[t] * v[0]
        if a > 0.25:
            v[1] += a
        v *= 1.0 + 0.1 * a
    return np.sum(v * v)


CASES = {
    source: (X, S),
    probe: (X, S),
    several_elements: (X, S, 3),
    traces: (U, S),
    steered: (X, S),
}


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_every_mode(f):
    every_mode(f, CASES[f], (0, 1))


def test_a_loop_over_elements_beside_stays_refused():
    def mixed(x, s):
        v = x * 1.0
        for t in range(len(s)):
            v *= s[t]
            for i in range(1, len(v)):
                v[i] += v[i - 1] * v[i]
        return np.sum(v)

    with pytest.raises(
        aj.UnsupportedError, match="this loop over elements of device arrays is no kernel"
    ) as error:
        aj.grad(mixed)(*to_device((X, S)))
    assert "for i in range(1, len(v)):" in str(error.value)
