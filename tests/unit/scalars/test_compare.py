"""Contrasts of single numbers per run agree with textbook formulas on drawn cases."""

import math

import numpy as np
import pytest
from scipy import stats

from seedproof.comparison.arms.compared_runs import runs_to_compare
from seedproof.scalars.compare import aligned, compare, directions, pair_of
from seedproof.scalars.runs import ScalarArm, Scalars
from seedproof.stats.intervals import PLAIN, Level

N_CASES = 500


def arm(name: str, values: list[float], seeds: list[int] | None = None) -> ScalarArm:
    runs = tuple(map(str, range(len(values))))
    of_runs = None if seeds is None else tuple(map(str, seeds))
    return ScalarArm(name, runs, {"return": np.array(values, dtype=float)}, of_runs)


def effect(base: ScalarArm, other: ScalarArm, metric: str = "return", level: Level = PLAIN):
    arms = aligned({base.name: base, other.name: other})
    pair = pair_of(arms, other.name, base.name, directions(["return"], None))
    return pair.contrasts[metric].effect(level)


@pytest.mark.parametrize("is_paired", [False, True])
def test_differences_are_those_of_a_slow_loop(is_paired):
    """Student's interval of paired differences, or Welch's of unpaired arms."""
    rng = np.random.default_rng(0)
    for _ in range(N_CASES):
        n_base, n_arm = rng.integers(5, 15, 2)
        n_arm = n_base if is_paired else n_arm
        base, other = rng.normal(3, 1, n_base).tolist(), rng.normal(3, 2, n_arm).tolist()
        seeds = rng.permutation(n_base)
        # The other arm has the same seeds in another order.
        order = rng.permutation(n_base) if is_paired else None
        arms = (
            arm("base", base, seeds.tolist() if is_paired else None),
            arm("other", other, None if order is None else seeds[order].tolist()),
        )

        shown = effect(*arms)

        if order is not None:
            places = [order.tolist().index(run) for run in range(n_base)]
            result = stats.ttest_rel([other[place] for place in places], base)
        else:
            result = stats.ttest_ind(other, base, equal_var=False)
        low, high = result.confidence_interval(0.95)
        assert shown.value == pytest.approx(math.fsum(other) / n_arm - math.fsum(base) / n_base)
        assert (shown.low, shown.high) == (pytest.approx(low), pytest.approx(high))
        verdict = "no difference shown" if low <= 0 <= high else "better" if low > 0 else "worse"
        assert shown.verdict == verdict


def test_lower_is_better_turns_the_verdict_alone():
    base, other = arm("base", [1, 2, 3, 2, 1]), arm("other", [11, 12, 13, 12, 11])
    arms = {"base": base, "other": other}

    higher, lower = (
        pair_of(arms, "other", "base", {"return": better}).contrasts["return"].effect()
        for better in ("higher", "lower")
    )

    assert (higher.verdict, lower.verdict) == ("better", "worse")
    assert (higher.low, higher.high) == (lower.low, lower.high)


@pytest.mark.parametrize(("n_runs", "has_interval"), [(2, False), (3, True), (4, True)])
def test_few_runs_have_figures_and_no_verdict(n_runs, has_interval):
    base, other = [1.0, 1.1, 0.9, 1.05][:n_runs], [9.0, 9.1, 8.9, 9.05][:n_runs]

    shown = effect(arm("base", base), arm("other", other))

    assert shown.value == pytest.approx(np.mean(other) - np.mean(base))
    assert (shown.low is not None) == has_interval
    assert shown.verdict == "too few runs"


def test_arms_that_do_not_vary_are_not_tested():
    shown = effect(arm("base", [1.0] * 5), arm("other", [2.0] * 5))

    assert (shown.value, shown.low, shown.verdict) == (1.0, None, "not tested")


def test_spreads_are_compared_by_their_ratio():
    rng = np.random.default_rng(1)
    base, other = rng.normal(0, 10, 20), rng.normal(50, 1, 20)

    shown = effect(arm("base", base), arm("other", other), "return_sd")

    assert shown.metric == "return_sd"
    assert shown.value == pytest.approx(other.std(ddof=1) / base.std(ddof=1))
    assert shown.verdict == "steadier"


def test_no_margin_means_that_nothing_is_equivalent():
    rng = np.random.default_rng(2)
    scalars = Scalars({name: arm(name, rng.normal(0, 1, 20)) for name in ("base", "other")})
    runs = runs_to_compare([20, 20])

    plain = compare(scalars, runs).effects("other")["return"]
    within = compare(scalars, runs, margins={"return": 5.0}).effects("other")["return"]

    assert (plain.verdict, plain.margin) == ("no difference shown", None)
    assert (within.verdict, within.margin) == ("equivalent", 5.0)


def test_several_arms_are_judged_simultaneously():
    rng = np.random.default_rng(3)
    arms = {name: arm(name, rng.normal(0, 1, 12)) for name in "abcd"}

    two = compare(Scalars({name: arms[name] for name in "ab"}), runs_to_compare([12] * 2))
    four = compare(Scalars(arms), runs_to_compare([12] * 4))

    widths = [x.high - x.low for x in (c.effects("b")["return"] for c in (two, four))]
    assert widths[0] < widths[1]
    assert two.confidence == pytest.approx(0.95)
    assert 0.95 < four.confidence < 1 - 0.05 / 3 + 1e-9


@pytest.mark.parametrize(
    ("metric", "better"),
    [
        ("return", "higher"),
        ("loss", "lower"),
        ("val/loss", "lower"),
        ("eval_RMSE", "lower"),
        ("lossless_share", "higher"),
        ("accuracy", "higher"),
    ],
)
def test_names_show_the_direction(metric, better):
    assert directions([metric], None) == {metric: better}
    assert directions([metric], [metric]) == {metric: "lower"}
    assert directions([metric], []) == {metric: "higher"}
