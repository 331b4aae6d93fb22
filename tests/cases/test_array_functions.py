"""NumPy's array functions: the value is NumPy's, derivatives in both modes are those of differences of the plain call.

Most run as plain Python; a few programs that call many functions are compiled and held to Numba's own value.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit.frontend import array_functions
from adjit.frontend.table import markdown

from .programs import array_edits, array_reductions
from .programs import array_functions as programs
from .programs.array_functions import IDX, A, X, Y, tell
from .record import lay_out

_PAGE = Path(__file__).parents[2] / "docs" / "numpy.md"


SAMPLES = programs.SAMPLES | array_reductions.SAMPLES | array_edits.SAMPLES


def _fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(copy.copy(a) for a in args)


@pytest.mark.parametrize("name", SAMPLES)
def test_value_and_derivatives(name: str, uncompiled: None) -> None:
    program, args = SAMPLES[name]
    value, _ = aj.vjp(program, *_fresh(args))
    np.testing.assert_allclose(value, program(*_fresh(args)), rtol=1e-14)
    aj.check_grad(program, *_fresh(args))


@pytest.mark.parametrize("layout", ["F", "A"])
@pytest.mark.parametrize(
    "name", ["concatenate axis", "roll axis", "sort", "cumsum", "diff", "triu", "gradient 2-D"]
)
def test_layouts(name: str, layout: str, uncompiled: None) -> None:
    program, args = SAMPLES[name]
    right = aj.grad(program, wrt=tuple(range(len(args))))(*_fresh(args))
    laid = tuple(lay_out(a, layout) for a in args)
    for got, want in zip(aj.grad(program, wrt=tuple(range(len(args))))(*laid), right, strict=True):
        assert np.array_equal(got, want)


@pytest.mark.parametrize(
    "name", ["concatenate ints", "roll", "sort", "cumsum", "clip method", "triu", "nansum"]
)
def test_float32(name: str, uncompiled: None) -> None:
    program, args = SAMPLES[name]
    wrt = tuple(range(len(args)))
    right = aj.grad(program, wrt=wrt)(*_fresh(args))
    small = tuple(a.astype(np.float32) for a in args)
    for got, want in zip(aj.grad(program, wrt=wrt)(*small), right, strict=True):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)


def write_in_place(x, a, y):
    x.sort()
    np.add.at(x, IDX, y)
    np.fill_diagonal(a, y[0])
    a[1] = np.roll(a[1], 1)
    np.copyto(y, np.clip(x, 0.0, 0.5))
    return tell(x) + tell(a) + tell(y)


def test_arguments_end_as_in_a_plain_run(uncompiled: None) -> None:
    ours, plain = _fresh((X, A, Y)), _fresh((X, A, Y))
    value, _ = aj.vjp(write_in_place, *ours)
    assert value == write_in_place(*plain)
    for a, b in zip(ours, plain, strict=True):
        assert np.array_equal(a, b)


EMPTY: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: tell(np.sort(x)),
    "roll": lambda x: tell(np.roll(x, 1)),
    "cumsum": lambda x: tell(np.cumsum(x)),
    "diff": lambda x: tell(np.diff(x)),
    "concatenate": lambda x: tell(np.concatenate((x, x))),
    "repeat": lambda x: tell(np.repeat(x, 2)),
    "unique": lambda x: tell(np.unique(x)),
    "bincount": lambda x: tell(np.bincount(IDX[:0], x, 2)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_of_nothing(name: str, uncompiled: None) -> None:
    value, gradient = aj.value_and_grad(EMPTY[name])(X[:0])
    assert value == 0.0 and gradient.shape == (0,)


RAISES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "shapes to join": (lambda a: tell(np.concatenate((a, a[:2]), axis=1)), (A,)),
    "shapes to stack": (lambda x: tell(np.stack((x, x[1:]))), (X,)),
    "uneven split": (lambda x: tell(np.split(x, 3)[1]), (X,)),
    "negative repeats": (lambda x: tell(np.repeat(x, -1)), (X,)),
    "weights that sum to 0": (lambda x: np.average(x, weights=x - x), (X,)),
    "nothing but NaN": (lambda x: x[np.nanargmin(x * np.nan)], (X,)),
    "points without values": (lambda x: np.interp(x[0], x, x[1:]), (X,)),
    "nothing to convolve": (lambda x: tell(np.convolve(x, x[:0])), (X,)),
    "too few for a slope": (lambda x: tell(np.gradient(x[:1])), (X,)),
    "negative bins": (lambda x: tell(np.bincount(IDX - 1, x)), (X,)),
    "falling edges": (lambda x: tell(np.histogram(x, np.array([1.0, 0.0]))[0] * x[:1]), (X,)),
    "up and down": (lambda x: tell(np.digitize(x, np.array([0.0, 2.0, 1.0])) * x), (X,)),
    "quantiles beyond 1": (lambda x: np.quantile(x, 1.5), (X,)),
    "an index outside": (lambda x: tell(np.take(x, IDX + 7)), (X,)),
}


@pytest.mark.parametrize("name", RAISES)
def test_raises_as_numpy_does(name: str, uncompiled: None) -> None:
    program, args = RAISES[name]
    try:
        program(*_fresh(args))
    except Exception as error:
        plain = type(error)
    with pytest.raises(plain):
        aj.value_and_grad(program)(*_fresh(args))


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "axis": (lambda a: tell(np.cumsum(a, axis=int(a[0, 0]))), "an axis that is not a constant"),
    "roots": (lambda a: np.roots(a[0])[0].real, "or by Newton steps in a loop"),
    "tolist": (lambda a: a.tolist()[0][0], "'tolist' is not supported"),
    "mode": (lambda a: tell(np.pad(a, 1, mode="linear_ramp")), "the mode of 'np.pad' 'linear_ramp'"),
    "kind": (lambda a: tell(np.histogram(a, density=a.shape[0] > 1)[0]), "'density' that is not a constant"),
    "keepdims": (lambda a: tell(a - a.mean(1, keepdims=a.shape[0] > 1)), "'keepdims' that is not a constant"),
    "keepdims of a norm": (
        lambda a: tell(np.linalg.norm(a, axis=1, keepdims=a.shape[0] > 1)),
        "'keepdims' that is not a constant",
    ),
    "subscripts": (lambda a: np.einsum("i%->", a), "give each axis a letter"),
    "one beside more": (lambda a: tell(np.einsum("ij,ik->jk", a[:1], a)), "a slice of at most one element"),
    "where": (lambda a: np.max(a, where=a > 0), "give 'initial', too"),
    "argument": (lambda a: np.sum(a, axes=0), "it takes: a, axis, dtype"),
    "name": (lambda a: np.summ(a), "did you mean 'sum'?"),
    "chain": (lambda a: np.sum(0 < a < 1), "(a < x) & (x < b)"),
    "and": (lambda a: np.sum(a[(a > 0) and (a < 1)]), "np.sum(x)"),
    "endpoint": (
        lambda a: tell(np.linspace(0.0, a[0, 0], 3, endpoint=a.shape[0] > 1)),
        "'endpoint' that is not",
    ),
    "full_matrices": (
        lambda a: tell(np.linalg.svd(a, full_matrices=a.shape[0] > 9)[1]),
        "'full_matrices' that is not a constant",
    ),
    "ranks": (lambda a: tell(np.concatenate((a, a[0]))), "different numbers of dimensions"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    program, message = REFUSED[name]
    with pytest.raises(aj.AdjitError, match=re.escape(message)):
        aj.grad(program)(A)


def test_shapes_of_contractions(uncompiled: None) -> None:
    for subscripts in ("ij,jk", "ij,ji->j"):
        with pytest.raises(ValueError, match=r"differ|do not fit"):
            aj.vjp(
                lambda a, how: np.einsum("ij,jk", a, a) if how == "ij,jk" else np.einsum("ij,ji->j", a, a),
                A,
                subscripts,
            )


def named_view(a):
    d = np.diagonal(a)
    a[0, 0] = 3.0
    return tell(d)


def test_a_copy_does_not_stand_for_a_view() -> None:
    with pytest.raises(
        aj.UnsupportedError, match=re.escape("'np.diagonal' gives a view, and what it shows is")
    ):
        aj.grad(named_view)(A)


def named_and_read(a):
    d = np.diag(a)
    w = np.lib.stride_tricks.sliding_window_view(a, (2, 2))
    b = np.broadcast_to(a[0], (3, 4))
    n = np.sum(d) * d
    a = a * 2.0
    return tell(n) + tell(d) + tell(w) + tell(b) + tell(a)


def test_a_copy_stands_for_a_view_that_shows_the_same(uncompiled: None) -> None:
    value, _ = aj.vjp(named_and_read, A)
    np.testing.assert_allclose(value, named_and_read(A), rtol=1e-14)
    aj.check_grad(named_and_read, A)


def flipped_view(x):
    y = np.flip(x)
    x[0] = 3.0
    return tell(y * x)


def test_a_flip_is_a_view(uncompiled: None) -> None:
    value, gradient = aj.value_and_grad(flipped_view)(X.copy())
    assert value == flipped_view(X.copy())
    assert gradient[0] == 0.0


def test_equal_elements_keep_their_order(uncompiled: None) -> None:
    ties = np.array([2.0, 1.0, 2.0, 1.0])
    gradient = aj.grad(lambda x: np.sum(np.sort(x) * np.arange(4.0)))(ties)
    assert gradient.tolist() == [2.0, 0.0, 3.0, 1.0]


@njit
def joined_and_moved(x, y, a):
    z = np.concatenate((np.roll(x, 2), np.flip(y)))
    m = np.vstack((np.cumsum(x), np.append(np.diff(x), x[0])))
    total = np.sum(z * z) + np.sum(m * m) + np.trapezoid(x, y)
    d = np.diag(a)
    return total + np.sum(d * d) + np.sum(np.clip(x, -0.2, 0.2))


@njit
def ordered_and_counted(x, y, a):
    s = np.sort(x)
    total = np.sum(s * np.arange(7)) + np.nansum(a) + np.average(x, weights=y)
    return total + np.sum(np.interp(x, np.sort(y), x)) + np.sum(np.bincount(IDX, weights=x) ** 2)


@pytest.mark.parametrize(
    "program", [joined_and_moved, pytest.param(ordered_and_counted, marks=pytest.mark.slow)]
)
def test_compiled_with_numbas_value(program: Any) -> None:
    args = (X, Y, A)
    value, gradient = aj.value_and_grad(program, wrt=(0, 1, 2))(*_fresh(args))
    np.testing.assert_allclose(value, program(*_fresh(args)), rtol=1e-15)
    rng = np.random.default_rng(0)
    direction = [rng.normal(size=a.shape) for a in args]
    step = 1e-6
    ends = [program(*(a + s * d for a, d in zip(args, direction, strict=True))) for s in (step, -step)]
    slope = sum(np.sum(g * d) for g, d in zip(gradient, direction, strict=True))
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


def test_every_function_has_a_sample() -> None:
    tests = Path(__file__).parents[1]
    files = (
        Path(programs.__file__),
        Path(__file__),
        *(tests / "fourier").glob("*.py"),
        tests / "frontend/test_parts.py",
        Path(array_edits.__file__),
    )
    called = {
        name
        for file in files
        for name in re.findall(r"(?:np|poly)\.(?:fft\.|lib\.stride_tricks\.)?(\w+)\(", file.read_text())
    }
    missing = [f.__name__ for f in array_functions.HANDLERS if f.__name__ not in called]  # type: ignore[attr-defined]
    assert missing == []


def test_the_page_is_up_to_date() -> None:
    assert _PAGE.read_text() == markdown(), "run: python -m adjit.frontend.table > docs/numpy.md"
