"""Gates `check_grad`: a jump or a kink nearby accuses no right gradient, and hides no wrong one that can be seen."""

import math
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.api.compare import Comparison


@aj.custom_vjp
def wrong(x):
    return math.exp(x)


wrong.defvjp(lambda x: (math.exp(x), (x,)), lambda res, ct: (1.001 * math.exp(res[0]) * ct,))


def kinked(x, at):
    return abs(x - at) + x * x


def jumped(x, at):
    return (1.0 if x < at else 3.0) + x * x


def barriers(x, width):
    s = 0.0
    for i in range(20):
        s += math.sin(x * i) if x < 1.0 + width * i else 2.0 + x
    return s


FAR = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
NEAR = [1e-7, 1e-9, 1e-12]


@pytest.mark.parametrize("f", [kinked, jumped])
@pytest.mark.parametrize("distance", FAR)
def test_a_kink_or_jump_farther_than_the_smallest_steps_passes(f: Any, distance: float) -> None:
    assert aj.check_grad(lambda x: f(x, 1.0 + distance), 1.0).reverse < 1e-6


@pytest.mark.parametrize("f", [kinked, jumped])
@pytest.mark.parametrize("distance", NEAR)
def test_a_kink_or_jump_nearer_than_that_is_not_held_against_the_gradient(f: Any, distance: float) -> None:
    with pytest.raises(aj.CheckError, match="do not settle"):
        aj.check_grad(lambda x: f(x, 1.0 + distance), 1.0)


def faded(x, width):
    return math.sqrt(x * x + width * width) + math.cos(3e3 * x)


def grown(x):
    s = 0.0
    for i in range(len(x)):
        s += abs(x[i]) ** 1.5 + 1e5 * x[i] if i else max(x[0], 0.0)
    return s


@pytest.mark.parametrize(
    "f", [lambda x: abs(x - 2.0), lambda x: x * x + max(x - 2.0, 2.0 - x), lambda x: min(x, 2.0)]
)
def test_a_kink_at_the_point_is_told(f: Any) -> None:
    with pytest.raises(aj.CheckError, match="kink"):
        aj.check_grad(f, 2.0)


def test_no_smooth_function_is_taken_for_one_with_a_kink() -> None:
    for width in (1.0, 1e-2, 1e-3):
        aj.check_grad(lambda x, width=width: faded(x, width), 0.0)
    aj.check_grad(lambda x: 1e6 + math.sin(x), 1.0)
    aj.check_grad(grown, np.array([0.5, 0.7, 1e-3]))
    aj.check_grad(lambda x: x * x + 1.0, np.float32(0.5))
    aj.check_grad(lambda x: np.sum(x) ** 2 / 3.0, np.zeros(3))


@pytest.mark.parametrize("width", [*FAR, 3e-3, 3e-4, 3e-5])
@pytest.mark.parametrize("part", [0.5, 1.0])
def test_many_jumps(width: float, part: float) -> None:
    assert aj.check_grad(lambda x: barriers(x, width), 1.0 - part * width).reverse < 1e-6


def scaled(x):
    return wrong(x[0]) * x[1]


def scaled_beside_a_kink(x):
    return wrong(x[0]) * x[1] + abs(x[0] - 2.00001)


def noise(x, size):
    return aj.stop_gradient(size * math.sin(1e11 * x[0]) + size * math.sin(1e10 * math.exp(x[1])))


@pytest.mark.parametrize(
    ("f", "slope"),
    [(scaled, 1.001 * math.exp(2.0)), (scaled_beside_a_kink, 1.001 * math.exp(2.0) - 1.0)],
)
def test_a_wrong_gradient_is_accused_with_its_own_component(f: Any, slope: float) -> None:
    x = np.array([2.0, 1.0])
    assert aj.grad(f)(x)[0] == pytest.approx(slope)
    with pytest.raises(aj.CheckError, match=r"differences say .* worst: x\[0\] is") as caught:
        aj.check_grad(f, x)
    assert f"x[0] is {slope:.9g}, differences say {slope - 0.001 * math.exp(2.0):.6g}"[:40] in str(
        caught.value
    )


@pytest.mark.parametrize("size", [1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8])
def test_a_wrong_gradient_does_not_hide_behind_noise(size: float) -> None:
    with pytest.raises(aj.CheckError):
        aj.check_grad(lambda x: scaled(x) + noise(x, size), np.array([2.0, 1.0]))


@pytest.mark.parametrize("size", [1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8])
def test_noise_is_not_held_against_the_gradient(size: float) -> None:
    report = aj.check_grad(lambda x: math.exp(x[0]) * x[1] + noise(x, size), np.array([2.0, 1.0]))
    assert report.reverse < 1e-3


def writes_too(x, y):
    y[0] = wrong(x)
    return x * x


def test_components_of_several_outputs_say_that_they_are_weighted() -> None:
    with pytest.raises(aj.CheckError, match=r"worst \(outputs weighted at random\): x is"):
        aj.check_grad(writes_too, 1.5, np.zeros(1))


def test_a_slope_of_nothing_beside_larger_steps() -> None:
    """A product with two zeros: differences leave 1e-19 of what their largest step gives."""

    def product(x):
        s = 1.0
        for i in range(len(x)):
            s *= x[i]
        return s

    aj.check_grad(product, np.array([1.0, 0.0, 2.0, 0.0, 3.0]))


@pytest.mark.usefixtures("uncompiled")
def test_values_with_a_large_constant():
    """Differences of rounded values may agree by chance, and say nothing where the rounding is as large as they are."""
    for large in (1e6, 1e7):
        assert aj.check_grad(lambda x, c: c + x * x, 0.3, large).reverse < 1e-2
    with pytest.raises(aj.CheckError, match="do not settle"):
        aj.check_grad(lambda x: 1e13 + x * x, 0.3)
    assert aj.check_grad(lambda x: 1e13 + 0.0 * x, 0.3).reverse == 0.0


def roots(x, scale):
    s = 0.0
    for i in range(len(x)):
        s += scale * math.sqrt(x[i])
    return s


def refusing(x):
    if x < 0.0:
        raise ValueError("negative")
    return x**1.5


def test_the_edge_of_a_domain_is_told(uncompiled: None) -> None:
    """Where the smaller steps stay inside, they decide; else the component is named that comes to where f raises."""
    assert aj.check_grad(roots, np.array([1.0, 1e-4]), 2.0).reverse < 1e-8
    with pytest.raises(
        aj.CheckError, match=r"domain of roots\(\): with x\[1\] changed by .*math domain error\n.*farther"
    ):
        aj.check_grad(roots, np.array([1.0, 0.0]), 2.0)
    with pytest.raises(aj.CheckError, match="with x changed by -4e-06 it raises ValueError: negative"):
        aj.check_grad(refusing, 0.0)
    with pytest.raises(aj.CheckError, match="domain"):
        aj.check_grad(
            lambda x: math.acos(x), 1.0
        )  # its derivative is infinite, which no difference agrees with
    with pytest.raises(ValueError, match="math domain error"):  # the plain call's own
        aj.check_grad(lambda x: math.sqrt(x), -1.0)
    with pytest.raises(aj.CheckError, match="with x changed by -4e-06 its result 0 is nan"):
        aj.check_grad(lambda x: np.sqrt(x), 0.0)


def of_minus_eight(x):
    return (-8.0) ** x


def put_into(y, p):
    y[0] = math.exp(p**0.5)


def test_a_power_that_leaves_the_real_numbers(uncompiled: None) -> None:
    """Python's power of a negative float is complex; compiled code's is NaN."""
    with pytest.raises(
        aj.CheckError, match=r"with x changed by -4e-06 it leaves the real.* result 0 is .*j\)\n.*farther"
    ):
        aj.check_grad(lambda x: x**0.5, 0.0)
    for x in (2.0, -1.0):
        with pytest.raises(
            aj.CheckError, match=r"domain of of_minus_eight\(\): with x changed .*it leaves the real"
        ):
            aj.check_grad(of_minus_eight, x)
    with pytest.raises(
        aj.CheckError, match="p changed by -4e-06 it raises TypeError: must be real number, not complex"
    ):
        aj.check_grad(put_into, np.zeros(1), 0.0)
    with pytest.raises(
        aj.CheckError, match=r"leaves the real numbers here: result 0 .*\n.*powers of negative"
    ):
        aj.check_grad(of_minus_eight, 2.5)
    assert aj.check_grad(lambda x: x**0.5, 1e-4).reverse < 1e-8  # the smaller steps stay inside
    assert aj.check_grad(lambda z: abs(z**0.5), 1j).reverse < 1e-8


def with_a_large_constant(x, scale):
    return 1e13 + scale * x[0] * x[0]


@pytest.mark.parametrize(
    ("f", "said"), [(roots, r"with x\[3210\] changed by"), (with_a_large_constant, "do not settle")]
)
def test_an_edge_is_looked_for_by_halves(uncompiled: None, f: Any, said: str) -> None:
    """And not at all where nothing raised: a call for each component takes long."""
    x = np.full(5000, 0.3)
    x[3210] = 0.0
    comparison, calls = Comparison(f, (x, 2.0), {}), 0

    def counted(args: tuple[Any, ...]) -> Any:
        nonlocal calls
        calls += 1
        return f(*args)

    comparison._plain_call = counted  # type: ignore[method-assign]
    with pytest.raises(aj.CheckError, match=said):
        comparison.run()
    assert 0 < calls < 1500
