"""digamma, polygamma and spherical Bessel functions against SciPy and exact values."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from scipy import special as scipy_special

from adjit import rules
from adjit.rules import special_functions as special

_names: dict[str, object] = {"math": math, "njit": numba.njit}
exec(rules.prelude(["digamma", "polygamma", "spherical_bessel"]).replace("def ", "@njit\ndef "), _names)
digamma, polygamma = _names["digamma"], _names["polygamma"]
spherical_bessel = _names["spherical_bessel"]

_EULER = 0.5772156649015328606
_POSITIVE = np.concatenate([np.geomspace(1e-8, 1e6, 400), np.linspace(1.0, 2.0, 101)])
_NEGATIVE = -np.geomspace(1e-3, 1e3, 400)


def test_digamma_exact_values() -> None:
    """DLMF 5.4.12, 5.4.13, and its positive root."""
    assert digamma(1.0) == pytest.approx(-_EULER, rel=1e-15)
    assert digamma(0.5) == pytest.approx(-_EULER - 2 * math.log(2.0), rel=1e-15)
    assert digamma(1.4616321449683622) == pytest.approx(-9.2412655217294275e-17, rel=1e-13)


def test_digamma() -> None:
    got = [digamma(x) for x in _POSITIVE]
    np.testing.assert_allclose(got, scipy_special.digamma(_POSITIVE), rtol=1e-13)
    got = [digamma(x) for x in _NEGATIVE]
    np.testing.assert_allclose(got, scipy_special.digamma(_NEGATIVE), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("x", [0.0, -1.0, -7.0])
def test_poles(x: float) -> None:
    assert math.isnan(digamma(x))
    assert polygamma(1, x) == math.inf


def test_limits() -> None:
    assert digamma(math.inf) == math.inf
    assert math.isnan(digamma(math.nan))
    assert polygamma(1, 1e-170) == polygamma(1, -1e-170) == math.inf
    assert polygamma(2, 1e-170) == -math.inf
    assert polygamma(1, 1e300) == pytest.approx(1e-300)
    assert polygamma(1, -1e5 - 0.5) == pytest.approx(math.pi**2, rel=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_polygamma(n: int) -> None:
    got = [polygamma(n, x) for x in _POSITIVE]
    np.testing.assert_allclose(got, scipy_special.polygamma(n, _POSITIVE), rtol=1e-13)


def test_polygamma_reflects() -> None:
    """psi'(1 - x) + psi'(x) = (pi / sin(pi x))**2 (DLMF 5.15.6, n = 1)."""
    for x in (-0.3, -1.7, -12.25, -300.4):
        total = polygamma(1, 1.0 - x) + polygamma(1, x)
        assert total == pytest.approx((math.pi / math.sin(math.pi * x)) ** 2, rel=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_spherical_bessel(n: int) -> None:
    z = np.concatenate([np.geomspace(1e-4, 1e2, 300), -np.geomspace(1e-4, 10.0, 50)])
    want = scipy_special.spherical_jn(n, np.abs(z)) * np.where(z < 0, (-1.0) ** n, 1.0)
    got = np.array([spherical_bessel(n, v) for v in z])
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=3e-16)
    assert spherical_bessel(n, 0.0) == (1.0 if n == 0 else 0.0)


def test_plain_python_gives_the_same() -> None:
    for x in (0.3, 1.5, 42.0, -2.5):
        assert special.digamma(x) == pytest.approx(digamma(x), rel=1e-15)
        assert special.polygamma(2, x) == pytest.approx(polygamma(2, x), rel=1e-15)
