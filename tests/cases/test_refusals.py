"""What cannot be differentiated is refused.

An AdjitError with file, line and caret, and nothing touched (cases D).
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit as aj
from adjit.errors import AdjitError, ArgumentError, MemoryLimitError, MissingRuleError, UnsupportedError

from . import refused

X = np.array([0.7, 1.3, 2.1])

OPERATORS: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "grad": lambda f, x: aj.grad(f)(x),
    "vjp": lambda f, x: aj.vjp(f, x),
    "jvp": lambda f, x: aj.jvp(f, (x,), (np.ones_like(x),)),
    "autodiff": lambda f, x: aj.autodiff(aj.Reverse, f, aj.Duplicated(x, np.zeros_like(x))),
}


def _refusal(call: Callable[[], Any], *arrays: np.ndarray, kind: type[AdjitError] = AdjitError) -> AdjitError:
    """The error that `call` raises; asserts that the arrays are untouched."""
    before = [array.tobytes() for array in arrays]
    with pytest.raises(kind) as caught:
        call()
    assert [array.tobytes() for array in arrays] == before, "a refused call touched its arguments"
    assert str(caught.value).strip()
    return caught.value


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("program", "line", "word"), refused.PROGRAMS, ids=[p[0].__name__ for p in refused.PROGRAMS]
)
def test_programs_are_refused_with_line_and_caret(operator: str, program: Any, line: str, word: str) -> None:
    x = X.copy()
    error = _refusal(lambda: OPERATORS[operator](program, x), x)
    text = str(error)
    assert "refused.py" in text, "no file"
    assert line in text, f"the offending line is not shown: {text}"
    assert "^" in text, "no caret"
    assert word.lower() in text.lower(), f"{word!r} is not named: {text}"


@pytest.mark.parametrize("program", [refused.calls_c, refused.calls_the_system])
def test_unknown_calls_say_how_to_give_a_rule(program: Any) -> None:
    x = X.copy()
    error = _refusal(lambda: aj.grad(program)(x), x)
    assert isinstance(error, (MissingRuleError, UnsupportedError))
    assert "custom_vjp" in str(error) or "custom_jvp" in str(error) or "rule" in str(error)


def test_object_mode_is_refused() -> None:
    x = X.copy()
    _refusal(lambda: aj.grad(refused.object_mode)(x), x)


def returns_array(x):
    y = np.empty(2)
    y[0] = x[0]
    y[1] = x[1]
    return y


def returns_pair(x):
    return x[0], x[1]


def returns_nothing(x):
    x[0] = x[0] * x[1]


def returns_int(x):
    return len(x)


def square_sum(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s


def doubles(x, y):
    for i in range(len(x)):
        y[i] = x[i] * y[i]
    return y[0] + y[-1]


def power(x, n):
    s = 1.0
    for _ in range(n):
        s *= x
    return s


@pytest.mark.parametrize("program", [returns_array, returns_pair, returns_nothing, returns_int])
@pytest.mark.parametrize("wrap", [lambda f: f, njit], ids=["plain", "njit"])
def test_grad_needs_a_scalar(program: Any, wrap: Any) -> None:
    x = X.copy()
    error = _refusal(lambda: aj.grad(wrap(program))(x), x)
    assert isinstance(error, (ArgumentError, UnsupportedError))


def test_vjp_of_a_function_that_returns_nothing_advises_pure() -> None:
    x = X.copy()
    assert "pure" in str(_refusal(lambda: aj.vjp(returns_nothing, x), x))
    assert "pure" in str(_refusal(lambda: aj.jvp(returns_nothing, (x,), (np.ones(3),)), x))


@pytest.mark.parametrize("wrt", [1, "n", (0, 1)])
def test_integer_wrt_is_refused_by_name(wrt: Any) -> None:
    assert "n" in str(_refusal(lambda: aj.grad(power, wrt=wrt)(1.5, 3), kind=ArgumentError))


def test_integer_array_wrt_is_refused() -> None:
    x = np.array([1, 2, 3])
    assert "x" in str(_refusal(lambda: aj.grad(square_sum)(x), x, kind=ArgumentError))


@pytest.mark.parametrize("wrt", [2, -3, "z", "x.y"])
def test_wrt_that_does_not_exist_is_refused(wrt: Any) -> None:
    _refusal(lambda: aj.grad(power, wrt=wrt)(1.5, 3), kind=ArgumentError)


SHADOWS = {
    "shape": lambda x: np.zeros(4),
    "dimensions": lambda x: np.zeros((3, 1)),
    "dtype": lambda x: np.zeros(3, np.float32),
    "integer": lambda x: np.zeros(3, np.int64),
    "layout": lambda x: np.zeros(6)[::2],
    "overlap": lambda x: x,
    "list": lambda x: [0.0, 0.0, 0.0],
    "none": lambda x: None,
    "scalar": lambda x: 0.0,
}


@pytest.mark.parametrize("fault", SHADOWS)
@pytest.mark.parametrize("mode", ["Reverse", "Forward"])
def test_shadows_that_do_not_fit_are_refused(fault: str, mode: str) -> None:
    x = X.copy()
    dx = SHADOWS[fault](x)
    error = _refusal(
        lambda: aj.autodiff(getattr(aj, mode), square_sum, aj.Duplicated(x, dx)), x, kind=ArgumentError
    )
    assert "x" in str(error)


def test_partly_overlapping_shadow_is_refused() -> None:
    buffer = np.arange(5.0)
    x, dx = buffer[:3], buffer[2:]
    _refusal(lambda: aj.autodiff(aj.Reverse, square_sum, aj.Duplicated(x, dx)), buffer, kind=ArgumentError)


def test_interleaved_shadow_is_accepted() -> None:
    buffer = np.zeros(6)
    x, dx = buffer[::2], buffer[1::2]
    x[:] = X
    aj.autodiff(aj.Reverse, square_sum, aj.Duplicated(x, dx))
    np.testing.assert_allclose(dx, 2 * X, rtol=1e-14)


@pytest.mark.parametrize("operator", ["grad", "vjp", "autodiff"])
def test_written_array_that_shares_memory_is_refused_by_name(operator: str) -> None:
    buffer = np.arange(1.0, 6.0)
    x, y = buffer[:3], buffer[2:]
    calls = {
        "grad": lambda: aj.grad(doubles)(x, y),
        "vjp": lambda: aj.vjp(doubles, x, y),
        "autodiff": lambda: aj.autodiff(
            aj.Reverse, doubles, aj.Duplicated(x, np.zeros(3)), aj.Duplicated(y, np.zeros(3))
        ),
    }
    error = _refusal(calls[operator], buffer, kind=ArgumentError)
    assert "y" in str(error)


def test_the_same_array_twice_is_refused_where_it_is_written_only() -> None:
    x = X.copy()
    _refusal(lambda: aj.grad(doubles)(x, x), x, kind=ArgumentError)


def test_interleaved_arguments_are_accepted() -> None:
    buffer = np.arange(1.0, 7.0)
    x, y = buffer[::2], buffer[1::2]
    gradient = aj.grad(doubles, wrt=(0, 1))(x, y)
    np.testing.assert_allclose(gradient[0], [2, 0, 6])
    np.testing.assert_allclose(gradient[1], [1, 0, 5])


def test_shadow_that_overlaps_another_argument_is_refused() -> None:
    x, y = X.copy(), X.copy()
    shadows = aj.Duplicated(x, y), aj.Duplicated(y, np.zeros(3))
    _refusal(lambda: aj.autodiff(aj.Reverse, doubles, *shadows), x, y, kind=ArgumentError)
    dx = np.zeros(3)
    _refusal(
        lambda: aj.autodiff(aj.Reverse, doubles, aj.Duplicated(x, dx), aj.Duplicated(y, dx)),
        x,
        y,
        kind=ArgumentError,
    )


def test_read_only_array_that_is_written_is_refused() -> None:
    x, y = X.copy(), X.copy()
    y.flags.writeable = False
    text = str(_refusal(lambda: aj.grad(doubles)(x, y), x, y))
    assert "y[i] = x[i] * y[i]\n" + " " * 12 + "^^^^\n" in text, "the store is not shown"


def test_masked_array_is_not_said_to_lose_its_mask() -> None:
    x = np.ma.array(X, mask=[False, True, False])
    text = str(_refusal(lambda: aj.grad(square_sum)(x), kind=ArgumentError))
    assert "x.filled(" in text and "drops the mask" in text
    assert aj.grad(square_sum)(x.filled(0.0))[1] == 0.0


def test_read_only_array_that_is_read_is_fine() -> None:
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_allclose(aj.grad(square_sum)(x), 2 * X)


@pytest.mark.parametrize(
    "argument", [[1.0, 2.0], {"a": 1.0}, "text", object()], ids=["list", "dict", "str", "object"]
)
def test_arguments_of_other_kinds_are_refused(argument: Any) -> None:
    _refusal(lambda: aj.grad(square_sum)(argument), kind=ArgumentError)


def test_bare_arrays_in_autodiff_are_refused() -> None:
    x = X.copy()
    _refusal(lambda: aj.autodiff(aj.Reverse, square_sum, x), x, kind=ArgumentError)
    _refusal(lambda: aj.autodiff(aj.Reverse, power, 1.5, 3), kind=ArgumentError)


def test_a_complex_result_of_grad_is_refused() -> None:
    x = np.array([1 + 1j, 2.0])
    _refusal(lambda: aj.grad(square_sum)(x), x)


def test_returned_arrays_are_refused_by_autodiff() -> None:
    x = X.copy()
    error = _refusal(lambda: aj.autodiff(aj.Reverse, returns_array, aj.Duplicated(x, np.zeros(3))), x)
    assert "vjp" in str(error)


def wrong_number(x):
    return x[0]


def test_wrong_number_of_arguments_is_a_type_error_and_refused() -> None:
    with pytest.raises(ArgumentError) as caught:
        aj.grad(wrong_number)()
    assert isinstance(caught.value, TypeError)
    with pytest.raises(ArgumentError):
        aj.grad(wrong_number)(X, X)


def chain(x, n):
    s = x
    for _ in range(n):
        s = math.sin(s) * x
    return s


def chain_in_place(x, n):
    for k in range(n):
        x[k % 2] = math.sin(x[0]) * x[1]
    return x[0]


@pytest.mark.parametrize("wrap", [lambda f: f, njit], ids=["plain", "njit"])
def test_record_beyond_the_limit_is_refused_before(wrap: Any) -> None:
    function = aj.options(wrap(chain), memory=100_000)
    error = _refusal(lambda: aj.grad(function)(0.5, 10**6), kind=MemoryLimitError)
    text = str(error)
    assert "test_refusals.py" in text and "^" in text, text
    assert "math.sin" in text or "range(n)" in text, text
    assert "MiB" in text or "MB" in text, "the size is not stated"
    assert "memory=" in text or "checkpoint" in text, "no way out is named"
    assert np.isfinite(aj.grad(function)(0.5, 100))


def test_record_beyond_the_limit_leaves_arrays_untouched() -> None:
    x = np.array([0.4, 0.9])
    function = aj.options(chain_in_place, memory=100_000)
    error = _refusal(lambda: aj.grad(function)(x, 10**6), x, kind=MemoryLimitError)
    assert "x[k % 2] = math.sin(x[0]) * x[1]" in str(error) or "for k in range(n):" in str(error)


def test_astronomical_record_is_refused_at_once() -> None:
    """10**13 turns need 80 TB; the forward run alone would take a day, so the refusal must come first."""
    here = str(Path(__file__).parent.parent)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import adjit as aj\n"
        "from adjit.errors import MemoryLimitError\n"
        "from cases.test_refusals import chain\n"
        "try:\n    aj.grad(chain)(0.5, 10**13)\n"
        "except MemoryLimitError as error:\n    print('refused', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, here], capture_output=True, text=True, timeout=60, check=False
    )
    assert "refused" in done.stdout, done.stderr[-2000:]
