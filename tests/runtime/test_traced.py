"""Numbers that remember how they were computed: a run again with other inputs is the run, or is known not to be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adjit.runtime.traced import LiftedMath, Number, Trace, Unrepeatable, lifted, same


def value(numbers, number):
    return numbers[number.index]


def test_arithmetic_is_done_again():
    trace = Trace([2.0, 3.0])
    x, y = trace.inputs
    made = (1.0 + x * y - y / x) ** 2 % 7.0 + abs(-x) // 0.5
    assert isinstance(made, Number)

    def plain(x, y):
        return (1.0 + x * y - y / x) ** 2 % 7.0 + abs(-x) // 0.5

    assert made.value == plain(2.0, 3.0)
    again = trace.again([-1.5, 0.25])
    assert again is not None and value(again, made) == plain(-1.5, 0.25)


def test_numbers_of_numpy_keep_their_type():
    trace = Trace([np.float32(0.1)])
    (x,) = trace.inputs
    made = np.float32(3.0) * x + x * np.float32(2.0)
    again = trace.again([np.float32(0.7)])
    assert again is not None
    assert same(value(again, made), np.float32(3.0) * np.float32(0.7) + np.float32(0.7) * np.float32(2.0))


def test_what_is_looked_at_must_come_out_the_same():
    trace = Trace([1.0, 5.0])
    x, y = trace.inputs
    assert x < y
    made = x + 1.0 if x > 0.0 else y
    assert value(trace.again([4.0, 4.5]), made) == 5.0
    assert trace.again([5.0, 4.5]) is None
    assert trace.again([-1.0, 4.5]) is None
    assert int(x * 2.0) == 2
    assert trace.again([1.0, 9.0]) is not None
    assert trace.again([1.25, 9.0]) is None


def test_a_test_stands_before_what_comes_after_it():
    trace = Trace([2.0])
    (x,) = trace.inputs
    made = 1.0 / x if x != 0.0 else 0.0
    assert value(trace.again([4.0]), made) == 0.25
    assert trace.again([0.0]) is None  # without the division


def test_functions_trace_where_they_are_given_a_number():
    trace = Trace([0.5])
    (x,) = trace.inputs
    functions = LiftedMath(math)
    made = lifted(max)(functions.sin(x), functions.exp(0.0) * 0.1)
    assert functions.sin(0.5) == math.sin(0.5)
    assert value(trace.again([0.25]), made) == math.sin(0.25)
    with pytest.raises(TypeError):
        np.sin(x)  # nothing is taken from a number without a trace


def test_numbers_of_the_device_come_late():
    trace = Trace([3.0])
    (x,) = trace.inputs
    total = trace.made(late=True)
    made = 0.0 + total * x
    chosen = lifted(lambda c, a, b: a if c else b)(total > 1.0, made, x)
    for look in (bool, float, int):
        with pytest.raises(Unrepeatable):
            look(total)
    with pytest.raises(Unrepeatable):
        1 if made > 2.0 else 0
    values = trace.again([10.0])
    assert values is not None and value(values, made) is None
    values[total.index] = 2.0
    trace.finish(values)
    assert value(values, made) == 20.0 and value(values, chosen) == 20.0


def test_signs_of_zero_and_nan_are_told_apart():
    assert same(0.0, 0.0) and not same(0.0, -0.0) and same(math.nan, math.nan)
    assert not same(1, 1.0) and not same(1.0, np.float64(1.0)) and not same(True, 1)
