"""Calls of NumPy's array functions, a line each: a number of each result that tells its elements apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..record import wave

Sample = tuple[Callable[..., Any], tuple[Any, ...]]


def tell(z):
    """A sum in which every element has a weight of its own."""
    total = 0.0
    weight = 1.0
    for v in z.flat:
        total += v * v * weight
        weight += 1.0
    return total


X, Y = wave(7, seed=1) - 1.0, wave(7, seed=2)
A, B = wave(3, 4, seed=3) - 1.0, wave(2, 3, 4, seed=4)
XP, FP = np.sort(wave(6, seed=5)), wave(6, seed=6)
IDX = np.array([0, 2, 1, 0, 3, 3, 1])
HOLE = np.arange(7) == 2
HOLES = np.arange(12).reshape(3, 4) % 5 == 1


def einsums(a, b):
    total = tell(np.einsum("ij,kj->ik", a, a)) + tell(np.einsum("ij, jk", a, a.T)) + np.einsum("ij->", a) ** 2
    total += tell(np.einsum("kij,ij->k", b, a)) + tell(np.einsum("kij,ij,kl->jl", b, a, b[:, 0]))
    total += (
        np.einsum("ii", a[:, :3]) ** 2 + tell(np.einsum("ji", a) * a.T) + tell(np.einsum("ij,j->i", a, a[0]))
    )
    return total + tell(np.einsum("ij,ik->ijk", a[0][None], a)) + np.einsum("i,i", a[0], a[1])


def spaced(x):
    total = tell(np.linspace(x[0], x[1], 5, endpoint=False)) + tell(np.linspace(x[0], x[1], num=4))
    return (
        total + tell(np.logspace(x[0], x[1], 4)) + tell(np.logspace(x[0], 1.0, 3, endpoint=False, base=2.0))
    )


def chosen(a):
    m = a > 0
    total = np.sum(a, where=m, initial=0.5) ** 2 + tell(np.prod(a, axis=0, where=m, keepdims=True))
    total += (
        tell(a.mean(axis=1, where=a > -0.9)) + tell(a.sum(axis=0, initial=2.0)) + np.prod(a, initial=a[0, 0])
    )
    return (
        total + tell(np.any(m, axis=0, where=a < 0.5) * a) + tell(np.all(m, where=a > 0, axis=1)[:, None] * a)
    )


JOINED: dict[str, Sample] = {
    "concatenate": (lambda x, y: tell(np.concatenate((x, y * 2))), (X, Y)),
    "concatenate a list": (lambda x, y: tell(np.concatenate([x, y[1:], x * y])), (X, Y)),
    "concatenate axis": (lambda a: tell(np.concatenate((a, a[:, :2] * 3), axis=-1)), (A,)),
    "concatenate flat": (lambda a: tell(np.concatenate((a, a[:, :2]), axis=None)), (A,)),
    "concatenate ints": (lambda x: tell(np.concatenate((x, np.arange(3)))), (X,)),
    "hstack": (lambda a, x: tell(np.hstack((a, a))) + tell(np.hstack((x, 3.0, x[0]))), (A, X)),
    "vstack": (lambda x, y: tell(np.vstack((x, y))), (X, Y)),
    "dstack": (lambda x, y: tell(np.dstack((x, y))), (X, Y)),
    "column_stack": (lambda x, y: tell(np.column_stack((x, y))), (X, Y)),
    "stack": (lambda a: tell(np.stack([a, a**2], axis=1)), (A,)),
    "array of arrays": (lambda x, y: tell(np.array([[x, y], [y, x]])), (X, Y)),
    "append": (lambda x: tell(np.append(x, x[0])) + tell(np.append(x, [1.0, 2.0])), (X,)),
    "append axis": (lambda a: tell(np.append(a, a, axis=1)), (A,)),
    "repeat": (lambda x, a: tell(np.repeat(x, 3)) + tell(a.repeat(2, axis=0)), (X, A)),
    "repeat each": (lambda x: tell(np.repeat(x, np.array([1, 0, 2, 1, 1, 1, 3]))), (X,)),
    "tile": (lambda x, a: tell(np.tile(x, (2, 2))) + tell(np.tile(a, 2)), (X, A)),
    "broadcast_to": (lambda x: tell(np.broadcast_to(x, (3, 4)) * A), (X[:4],)),
    "broadcast_arrays": (lambda x, a: tell(np.broadcast_arrays(x, a)[0] * a), (X[:4], A)),
    "meshgrid": (lambda x, y: tell(np.meshgrid(x, y[:3])[0]) + tell(np.meshgrid(x, y[:3])[1]), (X, Y)),
    "meshgrid ij": (lambda x, y: tell(np.meshgrid(x, y, indexing="ij")[1]), (X, Y[:3])),
    "atleast": (lambda x, a: tell(np.atleast_2d(x) * 2) + tell(np.atleast_3d(a) * 2), (X, A)),
    "atleast_1d": (lambda x: tell(np.atleast_1d(x)) + tell(np.atleast_1d(x[0])), (X,)),
    "transpose": (lambda b: tell(np.transpose(b, (1, 2, 0))) + tell(np.swapaxes(b, 0, 2)), (B,)),
    "moveaxis": (lambda b: tell(np.moveaxis(b, 0, -1)) + tell(np.expand_dims(b, 1)), (B,)),
    "reshape": (lambda b: tell(np.reshape(b, (4, -1))) + tell(np.ravel(b) ** 2), (B,)),
    "squeeze": (lambda a: tell(np.squeeze(a[:1], axis=0)), (A,)),
    "squeeze all": (
        lambda a: tell(np.squeeze(a) * 2) + tell(a.sum(axis=0, keepdims=True).squeeze()),
        (A[:, None],),
    ),
    "full of rows": (lambda a: tell(np.full((5, 4), a[0])) + tell(np.full_like(a, a[:, :1] * 2)), (A,)),
    "ascontiguousarray": (lambda a: tell(np.ascontiguousarray(a.T)), (A,)),
    "pad": (lambda x: tell(np.pad(x, (2, 1), constant_values=3.0)), (X,)),
    "pad 2-D": (lambda a: tell(np.pad(a, ((1, 2), (0, 3)), "edge")), (A,)),
    "pad wrap": (lambda a: tell(np.pad(a, [(1, 1), (2, 2)], mode="wrap")), (A,)),
    "pad mirror": (lambda a: tell(np.pad(a, 2, "reflect")) + tell(np.pad(a, 2, "symmetric")), (A,)),
    "resize": (lambda a: tell(np.resize(a, (4, 5))), (A,)),
}

REARRANGED: dict[str, Sample] = {
    "flip": (lambda x, a: tell(np.flip(x)) + tell(np.flip(a, axis=1)) + tell(np.flip(a)), (X, A)),
    "fliplr": (lambda a: tell(np.fliplr(a)) + tell(np.flipud(a)), (A,)),
    "rot90": (lambda a: tell(np.rot90(a)) + tell(np.rot90(a, 2)) + tell(np.rot90(a, k=-1)), (A,)),
    "roll": (lambda x: tell(np.roll(x, 2)) + tell(np.roll(x, -9)), (X,)),
    "roll axis": (lambda b: tell(np.roll(b, 1, axis=1)) + tell(np.roll(b, 5)), (B,)),
    "roll axes": (lambda a: tell(np.roll(a, (1, 2), axis=(0, 1))), (A,)),
    "diag": (lambda x: tell(np.diag(x)) + tell(np.diag(x, -1)), (X,)),
    "diag of a matrix": (lambda a: tell(np.diag(a, 1) * 2) + tell(np.diag(a, -1).copy()), (A,)),
    "diagonal": (lambda a: tell(np.diagonal(a) * 2) + tell(a.diagonal() * 2), (A,)),
    "diagflat": (lambda a: tell(np.diagflat(a)), (A,)),
    "triu": (lambda a, b: tell(np.triu(a)) + tell(np.tril(b, -1)), (A, B)),
    "tri": (lambda a: tell(np.tri(3, 4, k=-1) * a), (A,)),
    "triu_indices": (lambda a: tell(a[np.triu_indices(3)]) + tell(a[np.tril_indices(3)]), (A,)),
    "indices_from": (lambda a: tell(a[np.tril_indices_from(a, k=1)] + a[np.tril_indices_from(a, 1)]), (A,)),
    "triu_indices_from": (lambda a: tell(a[np.triu_indices_from(a)]), (A,)),
    "take": (lambda x: tell(np.take(x, np.array([0, -1, 2]))), (X,)),
    "take axis": (lambda a: tell(a.take(np.array([0, -1, 2]), axis=1)) + np.take(a, 5) * 2.0, (A,)),
    "take_along_axis": (lambda a: tell(np.take_along_axis(a, np.argsort(a, axis=1), 1)), (A,)),
    "extract": (lambda x: tell(np.extract(x > 0, x * 2)), (X,)),
    "select": (lambda x: tell(np.select([x > 0.2, x > 0], [x * 2, x * x], 0.5)), (X,)),
    "trim_zeros": (lambda x: tell(np.trim_zeros(np.where(HOLE, x, 0.0))), (X,)),
    "delete": (lambda x: tell(np.delete(x, 2)) + tell(np.insert(x, -1, x[0] * 5)), (X,)),
    "split": (lambda x: tell(np.split(x, (2, 3))[1]) + tell(np.array_split(x, 3)[1]), (X,)),
    "hsplit": (lambda a: tell(np.hsplit(a, 2)[1]) + tell(np.vsplit(a, 3)[1]), (A,)),
    "dsplit": (lambda b: tell(np.dsplit(b, 2)[1]), (B,)),
    "ascontiguousarray": (lambda a: tell(np.ascontiguousarray(a.T) * 2) * np.ndim(a), (A,)),
}

ORDERED: dict[str, Sample] = {
    "sort": (lambda x, a: tell(np.sort(x)) + tell(np.sort(a, axis=0)) + tell(np.sort(a, axis=None)), (X, A)),
    "argsort": (lambda x: tell(x[np.argsort(x)]), (X,)),
    "partition": (lambda x: np.partition(x, 2)[2] ** 2 + x[np.argpartition(x, 3)[3]], (X,)),
    "median": (lambda x, a: np.median(x) ** 2 + np.median(x[:6]) + tell(np.median(a, axis=0)), (X, A)),
    "nanmedian": (lambda x: np.nanmedian(np.where(HOLE, np.nan, x)) ** 2, (X,)),
    "percentile": (lambda x: np.percentile(x, 30.0) ** 2 + np.quantile(x, 0.4), (X,)),
    "quantiles": (lambda x: tell(np.quantile(x, np.array([0.4, 0.0, 1.0]))), (X,)),
    "quantile axis": (lambda a: tell(np.quantile(a, 0.3, axis=1)), (A,)),
    "nanquantile": (lambda x: np.nanquantile(np.where(HOLE, np.nan, x), 0.3) ** 2, (X,)),
    "nanpercentile": (lambda x: np.nanpercentile(np.where(HOLE, np.nan, x), 30.0) ** 2, (X,)),
    "unique": (lambda x: tell(np.unique(x)), (X,)),
    "searchsorted": (lambda x: tell(np.searchsorted(np.sort(x), np.array([0.1, 0.2])) * x[:2]), (X,)),
    "digitize": (lambda x: tell(np.digitize(x, np.array([0.4, 0.1, 0.0])) * x), (X,)),
}

ALONG: dict[str, Sample] = {
    "cumsum": (lambda x, a: tell(np.cumsum(x)) + tell(a.cumsum()) + tell(np.cumsum(a, axis=0)), (X, A)),
    "cumsum of ints": (lambda x: tell(np.cumsum(np.arange(7)) * x) + tell(np.cumsum(x > 0) * x), (X,)),
    "cumprod": (lambda x, b: tell(np.cumprod(x)) + tell(np.cumprod(b, axis=1)), (X, B)),
    "cumprod with 0": (lambda x: tell(np.cumprod(x)), (np.array([1.0, 2.0, 0.0, 3.0]),)),
    "nancumsum": (lambda x: tell(np.nancumsum(np.where(HOLE, np.nan, x))), (X,)),
    "nancumprod": (lambda x: tell(np.nancumprod(np.where(HOLE, np.nan, x))), (X,)),
    "diff": (lambda x, a: tell(np.diff(x * x)) + tell(np.diff(x, 3)) + tell(np.diff(a, axis=0)), (X, A)),
    "diff of few": (lambda x: tell(np.diff(x, 3)) + tell(np.diff(x[:0])) + x[0], (X[:2],)),
    "ediff1d": (
        lambda a: tell(np.ediff1d(a)) + tell(np.ediff1d(a, to_begin=a[0, 0], to_end=[1.0, 2.0])),
        (A,),
    ),
    "spaced": (spaced, (Y,)),
    "trapezoid": (lambda x, y: np.trapezoid(x, dx=0.3) ** 2 + np.trapezoid(x, y) ** 2, (X, Y)),
    "trapezoid rows": (lambda a, y: tell(np.trapezoid(a, y)), (A, Y[:4])),
    "gradient": (lambda x, y: tell(np.gradient(x, 0.5)) + tell(np.gradient(x, np.cumsum(y))), (X, Y)),
    "gradient 2-D": (lambda a: tell(np.gradient(a, 0.1, 0.2)[0]) + tell(np.gradient(a, axis=1)), (A,)),
    "unwrap": (lambda x: tell(np.unwrap(x * 9)), (X,)),
}

STATISTICS: dict[str, Sample] = {
    "average": (lambda x, y: np.average(x) ** 2 + np.average(x, weights=y) ** 2, (X, Y)),
    "where and initial": (chosen, (A,)),
    "average axis": (lambda a, y: tell(np.average(a, axis=1, weights=y)), (A, Y[:4])),
    "nansum": (lambda a: np.nansum(np.where(HOLES, np.nan, a)) ** 2, (A,)),
    "nanprod": (lambda a: tell(np.nanprod(np.where(HOLES, np.nan, a), axis=0)), (A,)),
    "nanmean": (lambda a: tell(np.nanmean(np.where(HOLES, np.nan, a), axis=0)), (A,)),
    "nanvar": (lambda a: tell(np.nanvar(np.where(HOLES, np.nan, a), axis=1, ddof=1)), (A,)),
    "nanstd": (lambda a: np.nanstd(np.where(HOLES, np.nan, a)) ** 2, (A,)),
    "nanmax": (lambda a: tell(np.nanmax(np.where(HOLES, np.nan, a), axis=0, keepdims=True)), (A,)),
    "nanmin": (lambda a: np.nanmin(np.where(HOLES, np.nan, a)) ** 2, (A,)),
    "nanargmax": (lambda x: x[np.nanargmax(np.where(HOLE, np.nan, x))] + x[np.nanargmin(x)] ** 2, (X,)),
    "cov": (lambda a, x: tell(np.cov(a)) + np.cov(x) * 2 + tell(np.cov(a, rowvar=False, bias=True)), (A, X)),
    "corrcoef": (lambda x, y: np.corrcoef(x, y)[0, 1] ** 2, (X, Y)),
}


PRODUCTS: dict[str, Sample] = {
    "interp": (lambda x, xp, fp: tell(np.interp(x, xp, fp)) + np.interp(x[0], xp, fp), (Y, XP, FP)),
    "interp ends": (lambda x, xp, fp: tell(np.interp(x * 2, xp, fp, left=x[0], right=2.0)), (Y, XP, FP)),
    "interp at knots": (
        lambda x: tell(np.interp(x, np.arange(5.0), 2 * np.arange(5.0))),
        (np.array([1.0, 2.0]),),
    ),
    "polyval": (lambda p, x: tell(np.polyval(p, x)) + np.polyval(p, x[0]), (Y[:3], X)),
    "vander": (lambda x: tell(np.vander(x)) + tell(np.vander(x, 3, increasing=True)), (X[:4],)),
    "convolve": (lambda x, y: tell(np.convolve(x, y)) + tell(np.convolve(y, x, "same")), (X, Y[:4])),
    "convolve valid": (lambda x, y: tell(np.convolve(x, y, mode="valid")), (X, Y[:3])),
    "correlate": (lambda x, y: tell(np.correlate(x, y)) + tell(np.correlate(y, x, "full")), (X, Y[:3])),
    "cross": (lambda x, y: tell(np.cross(x, y)), (X[:3], Y[:3])),
    "cross rows": (lambda a, x: tell(np.cross(a, x)), (A[:, :3], X[:3])),
    "einsum": (einsums, (A, B)),
    "tensordot": (
        lambda a, b: tell(np.tensordot(b, a, axes=2)) + tell(np.tensordot(a, b, ((0, 1), (1, 2)))),
        (A, B),
    ),
    "tensordot of matrices": (lambda a: tell(np.tensordot(a, a.T, 1)) + np.tensordot(a, a), (A,)),
    "vecdot": (
        lambda a, x: tell(np.vecdot(a, x)) + tell(np.vecdot(a[:, None], a)) + np.vecdot(x, x),
        (A, X[:4]),
    ),
    "trace": (lambda a: np.trace(a, 1) ** 2 + np.trace(a, -2) ** 2 + a.trace(offset=2), (A,)),
    "kron": (lambda a, x: tell(np.kron(a, a[:2, :2])) + tell(np.kron(x, x[:2])), (A, X)),
}

COUNTED: dict[str, Sample] = {
    "nonzero": (lambda x, a: tell(x[np.nonzero(x > 0)]) + tell(a[np.where(a > 0)]), (X, A)),
    "flatnonzero": (lambda x: tell(x[np.flatnonzero(x > 0)]), (X,)),
    "argwhere": (lambda a: tell(np.argwhere(a > 0) * a[0, 0]), (A,)),
    "where": (lambda x, y: tell(np.where(x > 0, x, -2 * y)), (X, Y)),
    "bincount": (lambda x: tell(np.bincount(IDX) * x[:4]) + tell(np.bincount(IDX, x, 6)), (X,)),
    "histogram": (lambda x: tell(np.histogram(x, 5)[1]) + tell(np.histogram(x, 5)[0] * x[:5]), (X,)),
    "histogram range": (lambda x: tell(np.histogram(x, 4, (-1.0, 1.0))[0] * x[:4]), (X,)),
    "histogram weights": (lambda x: tell(np.histogram(IDX, np.array([0.0, 1.5, 3.0]), weights=x)[0]), (X,)),
    "isclose": (lambda x, y: tell(np.isclose(x, y, 0.5, 0.1) * x), (X, Y)),
    "allclose": (lambda x, y: x[0] if np.allclose(x, y) else y[0], (X, Y)),
    "array_equal": (
        lambda x, y: x[0] if np.array_equal(x, x) and not np.array_equal(x, y[1:]) else y[0],
        (X, Y),
    ),
    "isin": (lambda x: tell(np.isin(IDX, np.array([1, 3])) * x), (X,)),
    "clip": (lambda x, y: tell(np.clip(x, -0.5, 0.5)) + tell(np.clip(x, y - 1, None)), (X, Y)),
    "clip method": (lambda x: tell(x.clip(-0.5, 0.5)) + np.clip(x[0], -0.05, 0.05), (X,)),
    "round": (lambda x: tell(np.round(x, 1) * x) + tell(x.round(2) * x) + tell(np.around(x) * x), (X,)),
    "infinities": (lambda x: tell(np.isposinf(x) * x) + (1.0 if np.isneginf(x[0]) else x[0]), (X,)),
    "methods": (lambda a, x: tell(a.dot(x)) + a.trace() + a.item(1, 2) + tell(x.conj()), (A, X[:4])),
}


def added_at(x, y):
    z = x.copy()
    np.add.at(z, IDX, y)
    np.subtract.at(z, IDX, y[0])
    np.multiply.at(z, IDX, y)
    return tell(z)


def greatest_at(a, y):
    z = a.copy()
    np.maximum.at(z, (np.array([0, 0, 2]), np.array([1, 1, 3])), y[:3])
    return tell(z)


def copied(x, y):
    z = np.empty_like(x)
    np.copyto(z, y * 2)
    np.copyto(z, x, where=x > 0)
    np.putmask(z, y > 1, 3.0)
    return tell(z)


def put(x, y):
    z = x.copy()
    np.put(z, [0, 2], y[:2])
    z.put(3, y[4])
    return tell(z)


def put_along(a):
    z = a.copy()
    np.put_along_axis(z, np.argsort(a, axis=1)[:, :2], a[:, 1:3], 1)
    np.fill_diagonal(z, a[0, 1])
    return tell(z)


def sorted_in_place(a):
    z = a.copy()
    z.sort()
    z[0].sort()
    return tell(z)


def onto_themselves(a):
    """The source of an assignment is its target, elsewhere."""
    z = a.copy()
    z[0] = np.roll(z[0], 1)
    z[1] = np.flip(z[1])
    z[2, 1:] = np.diff(z[2])
    z[:2, :2] = np.tril(z[1:, 1:3])
    return tell(z)


def reduced(a, x):
    return (
        tell(np.add.reduce(a))
        + tell(np.multiply.reduce(a, axis=1))
        + np.maximum.reduce(x)
        + tell(np.add.accumulate(a))
        + tell(np.maximum.accumulate(x))
        + tell(np.subtract.outer(x, x))
    )


WRITTEN: dict[str, Sample] = {
    "ufunc.at": (added_at, (X, Y)),
    "maximum.at": (greatest_at, (A, Y)),
    "copyto": (copied, (X, Y)),
    "put": (put, (X, Y)),
    "put_along_axis": (put_along, (A,)),
    "sort in place": (sorted_in_place, (A,)),
    "onto themselves": (onto_themselves, (A,)),
    "ufunc.reduce": (reduced, (A, X)),
}

SAMPLES: dict[str, Sample] = JOINED | REARRANGED | ORDERED | ALONG | STATISTICS | PRODUCTS | COUNTED | WRITTEN
