"""Quantiles and logits against those of scipy."""

import numpy as np
import pytest
from scipy import special

from seedproof.stats.distributions import (
    MANY,
    beta_quantile,
    chi_square_quantile,
    expit,
    gamma_quantile,
    logit,
    normal_quantile,
    student_quantile,
)

SHARES = (0.55, 0.8, 0.9, 0.975, 0.9975, 1 - 0.025 / 1000)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("df", [1, 1.3, 2, 2.5, 4, 9, 19, 29.7, 99, 999, MANY, MANY + 0.5, 1e6])
def test_student_quantile_is_that_of_scipy(df, share):
    """From two runs to a million, whole or Satterthwaite's fractions."""
    # Logarithms of Γ cancel to 1e-13 of themselves at 1,000 degrees of freedom.
    assert student_quantile(df, share) == pytest.approx(special.stdtrit(df, share), rel=1e-12)


@pytest.mark.parametrize("share", [1e-9, 1e-4, 0.025, 0.05, 0.5, 0.6, 0.975, 1 - 1e-5])
@pytest.mark.parametrize("df", [1, 2, 3, 4, 9.5, 49, 999])
def test_chi_square_quantile_is_that_of_scipy(df, share):
    """From two runs to a thousand, in both tails."""
    quantile = chi_square_quantile(df, share)

    assert special.chdtr(df, quantile) == pytest.approx(share, rel=1e-12)
    assert special.chdtrc(df, quantile) == pytest.approx(1 - share, rel=1e-9)


@pytest.mark.parametrize("share", [1e-5, 0.0025, 0.025, 0.3, 0.5, 0.975, 0.9975])
@pytest.mark.parametrize("a", [0.1, 0.98, 1, 2, 33.3, 298.5, 1e5])
@pytest.mark.parametrize("b", [0.4, 1, 1.7, 33.3, 5e4])
def test_beta_quantile_is_that_of_scipy(a, b, share):
    """From fewer than one answer to many, in both tails."""
    # Logarithms of Γ cancel to 1e-12 of themselves at 1e5 answers.
    assert beta_quantile(a, b, share) == pytest.approx(special.betaincinv(a, b, share), rel=1e-9)


def test_beta_quantile_of_many_answers_is_that_of_scipy():
    """A few failures of millions, and as many failures as passes."""
    for a, b in ((1e7, 6.0), (3e6, 40.0), (1e7, 1e7)):
        for share in (0.025, 0.975):
            expected = special.betaincinv(a, b, share)
            gap = abs(expected - a / (a + b))
            assert beta_quantile(a, b, share) == pytest.approx(expected, abs=1e-5 * gap)


@pytest.mark.parametrize("shape", [0.2, 1.0, 3.7, 400.0])
def test_gamma_quantile_is_that_of_scipy(shape):
    """Its scale is 1."""
    for share in (0.0025, 0.025, 0.5, 0.975):
        expected = special.gammaincinv(shape, share)
        assert gamma_quantile(shape, share) == pytest.approx(expected, rel=1e-9)


def test_student_quantile_of_one_degree_is_a_tangent():
    """With one degree of freedom it is Cauchy's distribution, which has a closed form."""
    expected = np.tan(np.pi * (0.975 - 0.5))

    assert student_quantile(1, 0.975) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("share", [0.1, 0.5, *SHARES])
def test_normal_quantile_is_that_of_scipy(share):
    """On either side of the middle."""
    assert normal_quantile(share) == pytest.approx(special.ndtri(share), rel=1e-15)


def test_logit_and_expit_are_those_of_scipy():
    """Over the whole range, with infinite ends and without warnings."""
    shares, values = np.linspace(0.0, 1.0, 1001), np.linspace(-800.0, 800.0, 1001)

    # Where a logit is 0, only the absolute error of its two logarithms is left.
    np.testing.assert_allclose(logit(shares), special.logit(shares), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(expit(values), special.expit(values), rtol=1e-12, atol=1e-300)
