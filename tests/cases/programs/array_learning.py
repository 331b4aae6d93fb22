"""Learning and statistics in NumPy style: layers, losses, clustering, options."""

from __future__ import annotations

import math

import numpy as np

from ..record import ints, wave


def _sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm(x, w, u, b):
    """An LSTM over a sequence: gates are slices of one vector."""
    n = u.shape[1]
    h, c = np.zeros(n), np.zeros(n)
    for t in range(x.shape[0]):
        z = w @ x[t] + u @ h + b
        i, f, o = _sigmoid(z[:n]), _sigmoid(z[n : 2 * n]), _sigmoid(z[2 * n : 3 * n])
        c = f * c + i * np.tanh(z[3 * n :])
        h = o * np.tanh(c)
    return np.sum(h * h)


def mlp(x, w1, b1, w2, b2, labels):
    """Two layers, softmax and its loss."""
    h = np.maximum(x @ w1 + b1, 0.0)
    scores = h @ w2 + b2
    shifted = scores - np.max(scores, axis=1)[:, None]
    logp = shifted - np.log(np.sum(np.exp(shifted), axis=1))[:, None]
    total = 0.0
    for i in range(labels.shape[0]):
        total -= logp[i, labels[i]]
    return total / labels.shape[0] + 1e-3 * (np.sum(w1 * w1) + np.sum(w2 * w2))


def convolution(image, kernel, bias):
    """Convolution by shifted slices, ReLU, 2x2 max-pooling by strided ones."""
    n, m = image.shape[0] - kernel.shape[0] + 1, image.shape[1] - kernel.shape[1] + 1
    out = np.zeros((n, m)) + bias
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            out += kernel[i, j] * image[i : i + n, j : j + m]
    out = np.maximum(out, 0.0)
    even, odd = np.maximum(out[::2, ::2], out[::2, 1::2]), np.maximum(out[1::2, ::2], out[1::2, 1::2])
    return np.sum(np.maximum(even, odd) ** 2)


def conv_channels(images, weights):
    """NPBench's `conv2d`: a window of all channels times all filters, summed over three axes."""
    k = weights.shape[0]
    n, m = images.shape[1] - k + 1, images.shape[2] - k + 1
    out = np.empty((images.shape[0], n, m, weights.shape[3]))
    for i in range(n):
        for j in range(m):
            window = images[:, i : i + k, j : j + k, :]
            for f in range(weights.shape[3]):
                for b in range(images.shape[0]):
                    out[b, i, j, f] = np.sum(window[b] * weights[:, :, :, f])
    return np.sum(out * out)


def attention(q, k, v):
    """Softmax attention of one head with a causal mask."""
    n = q.shape[0]
    scores = q @ k.T / math.sqrt(q.shape[1])
    later = np.arange(n)[None, :] > np.arange(n)[:, None]
    scores[later] = -50.0
    weights = np.exp(scores - np.max(scores, axis=1)[:, None])
    weights /= np.sum(weights, axis=1)[:, None]
    out = weights @ v
    return np.sum(out * out)


def batch_norm(x, scale, offset):
    mean = np.sum(x, axis=0) / x.shape[0]
    var = np.sum((x - mean) ** 2, axis=0) / x.shape[0]
    y = (x - mean) / np.sqrt(var + 1e-3) * scale + offset
    return np.sum(y**3)


def layer_norm(x, scale):
    for i in range(x.shape[0]):
        row = x[i]
        row -= row.mean()
        row /= np.sqrt(row.var() + 1e-3)
    x *= scale
    return np.sum(x**3)


def k_means(points, centres):
    """Two steps: the nearest centre by argmin, means of masked points."""
    for _ in range(2):
        owner = np.empty(points.shape[0], np.int64)
        for i in range(points.shape[0]):
            owner[i] = np.argmin(np.sum((centres - points[i]) ** 2, axis=1))
        for c in range(centres.shape[0]):
            mine = owner == c
            if np.any(mine):
                centres[c] = np.sum(points[mine], axis=0) / np.sum(mine)
    return np.sum((points - centres[owner]) ** 2)


def histogram_weights(x, idx, w):
    """A scatter with repeated indices, as NumPy has it: the last one wins."""
    h = np.zeros(5)
    h[idx] += w * w
    h[idx] = h[idx] * x[idx]
    return np.sum(h * h) + np.sum(x[x > 0.8])


def logistic(x, y, w, rate, steps):
    """Gradient descent on a logistic loss, differentiated through."""
    for _ in range(steps):
        p = _sigmoid(x @ w)
        w = w - rate * (x.T @ (p - y)) / x.shape[0]
    p = _sigmoid(x @ w)
    return -np.mean(y * np.log(p) + (1.0 - y) * np.log(1.0 - p))


def _cdf(x):
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    tail = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail *= 0.3989422804 * np.exp(-0.5 * x * x)
    return np.where(x > 0.0, 1.0 - tail, tail)


def black_scholes(spot, strike, years, rate, volatility):
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / (volatility * np.sqrt(years))
    d2 = d1 - volatility * np.sqrt(years)
    discount = strike * np.exp(-rate * years)
    call = spot * _cdf(d1) - discount * _cdf(d2)
    put = call - spot + discount
    return np.sum(call * put)


def stick_breaking(v):
    """Weights of a Dirichlet process."""
    w = np.empty(v.shape[0] + 1)
    left = 1.0
    s = _sigmoid(v)
    for k in range(v.shape[0]):
        w[k] = s[k] * left
        left *= 1.0 - s[k]
    w[-1] = left
    return -np.sum(w * np.log(w))


def gaussian_mixture(x, mean, scale, share):
    """Log-likelihood by a stable log-sum-exp over the components."""
    z = (x[:, None] - mean) / scale
    terms = np.log(share / np.sum(share)) - 0.5 * z * z - np.log(scale)
    top = terms.max(axis=1)
    return np.sum(top + np.log(np.sum(np.exp(terms - top[:, None]), axis=1)))


def adam(w, target, steps):
    """Adam on a quartic, in place, with its two moments."""
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t in range(1, steps + 1):
        g = (w - target) ** 3
        m *= 0.9
        m += 0.1 * g
        v[:] = 0.99 * v + 0.01 * g * g
        w -= 0.1 * (m / (1.0 - 0.9**t)) / (np.sqrt(v / (1.0 - 0.99**t)) + 1e-3)
    return np.sum((w - target) ** 2)


def softmax_regression(x, w, labels):
    scores = x @ w
    scores -= scores.max(axis=1)[:, None]
    p = np.exp(scores)
    p /= p.sum(axis=1)[:, None]
    picked = p[np.arange(x.shape[0]), labels]
    return -np.mean(np.log(picked))


def kernel_ridge(x, alpha, gamma):
    """A Gaussian kernel from squared norms and products."""
    sq = np.sum(x * x, axis=1)
    d = sq[:, None] + sq[None, :] - 2.0 * (x @ x.T)
    k = np.exp(-gamma * d)
    return alpha @ (k @ alpha)


def policy_value(reward, transition, policy, turns):
    """Value iteration with a soft maximum over actions."""
    v = np.zeros(reward.shape[0])
    for _ in range(turns):
        q = np.empty_like(reward)
        for a in range(reward.shape[1]):
            q[:, a] = reward[:, a] + 0.9 * transition[a] @ v
        top = np.max(q, axis=1)
        v = top + np.log(np.sum(np.exp(q - top[:, None]), axis=1))
    return policy @ v


PROGRAMS = [
    (lstm, (wave(3, 2), wave(8, 2) - 1.0, wave(8, 2, seed=1) - 1.0, wave(8, seed=2) - 1.0)),
    (mlp, (wave(3, 2), wave(2, 4, seed=1) - 1.0, wave(4), wave(4, 3) - 1.0, wave(3), ints(0, 2, 1))),
    (convolution, (wave(6, 6), wave(3, 3) - 1.0, 0.1)),
    (conv_channels, (wave(1, 3, 4, 2), wave(2, 2, 2, 2))),
    (attention, (wave(4, 3), wave(4, 3, seed=1), wave(4, 2))),
    (batch_norm, (wave(4, 3), wave(3), wave(3, seed=1))),
    (layer_norm, (wave(3, 4), wave(4))),
    (k_means, (wave(6, 2), wave(2, 2, seed=1))),
    (histogram_weights, (wave(5), ints(0, 3, 3, -1, 0), wave(5, seed=1))),
    (logistic, (wave(4, 3) - 1.0, np.array([0.0, 1.0, 1.0, 0.0]), wave(3), 0.5, 3)),
    (black_scholes, (wave(4), wave(4, seed=1), wave(4, seed=2), 0.05, 0.3)),
    (stick_breaking, (wave(4) - 1.0,)),
    (gaussian_mixture, (wave(4), wave(3), wave(3, seed=1), wave(3, seed=2))),
    (adam, (wave(4), wave(4, seed=3), 3)),
    (softmax_regression, (wave(4, 3), wave(3, 3, seed=1), ints(0, 2, 1, 1))),
    (kernel_ridge, (wave(4, 2), wave(4), 0.7)),
    (policy_value, (wave(3, 2), wave(2, 3, 3) / 3.0, wave(3), 3)),
]
