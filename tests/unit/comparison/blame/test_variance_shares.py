"""Shares by hand and against a slow loop, and when they are resolved."""

import numpy as np
import pytest
from scipy.stats import t as student

from seedproof.comparison.blame.variance_shares import Share, shares_of
from seedproof.seeds import SeedPlan
from seedproof.seeds.seed_design import SeedDesign


def seeds_of(n_blocks, sources=("init", "order")):
    """Seeds of each run of a plan in blocks."""
    return [run.seeds for run in SeedPlan.blocks(n_blocks, sources).assignments()]


def between(distances):
    """The matrix of distances of some pairs of runs."""
    size = 1 + max(max(pair) for pair in distances)
    matrix = np.zeros((size, size))
    for (row, column), value in distances.items():
        matrix[row, column] = matrix[column, row] = value
    return matrix


def random_matrix(n_blocks, rng):
    """Distances of four runs per block, smaller for runs that share a seed."""
    matrix = rng.uniform(0.1, 0.3, (4 * n_blocks, 4 * n_blocks))
    for start in range(0, 4 * n_blocks, 4):
        for row in (0, 2):
            matrix[start + row, start + row + 1] += 0.2
    return np.triu(matrix, 1) + np.triu(matrix, 1).T


def clear_matrix(n_blocks, rng):
    """Distances whose shares are all well inside of 0 and 1."""
    matrix = rng.uniform(0.45, 0.55, (4 * n_blocks, 4 * n_blocks))
    for start in range(0, 4 * n_blocks, 4):
        for row, column in ((0, 2), (1, 3), (0, 3), (1, 2)):
            matrix[start + row, start + column] = rng.uniform(0.28, 0.36)
    return np.triu(matrix, 1) + np.triu(matrix, 1).T


# Runs A, B, init of A, order of A: two pairs share nothing, init, order.
ONE_BLOCK = {(0, 1): 0.4, (2, 3): 0.2, (0, 2): 0.1, (1, 3): 0.2, (0, 3): 0.23, (1, 2): 0.25}


def test_shares_by_hand():
    """δ is .3 for nothing, .15 for init, .24 for order: S = .5 and .2, T = .8 and .5, rest .3."""
    shares = shares_of(between(ONE_BLOCK), SeedDesign(seeds_of(1)))

    assert shares.apart == pytest.approx(0.3)
    assert shares.first["init"].value == pytest.approx(0.5)
    assert shares.first["order"].value == pytest.approx(0.2)
    assert shares.total["init"].value == pytest.approx(0.8)
    assert shares.total["order"].value == pytest.approx(0.5)
    assert shares.interaction.value == pytest.approx(0.3)


def test_intervals_are_those_of_deleting_a_block_at_a_time():
    """Against shares of the runs that are left, with Student's t of one less than the blocks."""
    matrix, seeds = clear_matrix(6, np.random.default_rng(3)), seeds_of(6)
    whole = shares_of(matrix, SeedDesign(seeds))

    left = [[run for run in range(24) if run // 4 != block] for block in range(6)]
    parts = [shares_of(matrix[np.ix_(r, r)], SeedDesign([seeds[i] for i in r])) for r in left]

    for pick in (
        lambda shares: shares.first["init"],
        lambda shares: shares.first["order"],
        lambda shares: shares.total["init"],
        lambda shares: shares.interaction,
    ):
        values = np.array([pick(part).value for part in parts])
        error = np.sqrt(5 / 6 * np.sum((values - values.mean()) ** 2))
        half_width = student.ppf(0.975, 5) * error
        share = pick(whole)
        assert share.low == pytest.approx(share.value - half_width)
        assert share.high == pytest.approx(share.value + half_width)


def test_fewer_than_five_blocks_have_no_interval_and_resolve_nothing():
    """Four blocks give only values; five give intervals."""
    rng = np.random.default_rng(4)
    four = shares_of(random_matrix(4, rng), SeedDesign(seeds_of(4)))
    five = shares_of(random_matrix(5, rng), SeedDesign(seeds_of(5)))

    assert (four.interaction.low, four.interaction.high) == (None, None)
    assert not four.interaction.is_resolved
    assert four.most is None
    assert five.interaction.low < five.interaction.value < five.interaction.high


@pytest.mark.parametrize(
    ("share", "is_resolved"),
    [(Share(0.5), False), (Share(0.5, 0.25, 0.75), True), (Share(0.5, 0.2, 0.75), False)],
)
def test_a_share_is_resolved_up_to_a_quarter_either_way(share, is_resolved):
    """±0.25 is the widest interval that is useful."""
    assert share.is_resolved is is_resolved
    assert share.summary()["is_resolved"] is is_resolved


def test_a_source_without_effect_has_a_share_of_0():
    """Runs of the same init always agree: init causes all flips, exactly."""
    blocks = {(0, 1): 0.4, (2, 3): 0.4, (0, 2): 0.0, (1, 3): 0.0, (0, 3): 0.4, (1, 2): 0.4}
    whole = {(o + 4 * b, p + 4 * b): v for b in range(5) for (o, p), v in blocks.items()}

    shares = shares_of(between(whole), SeedDesign(seeds_of(5)))

    assert shares.first == {"init": Share(1.0, 1.0, 1.0), "order": Share(0.0, 0.0, 0.0)}
    assert shares.total == {"init": Share(1.0, 1.0, 1.0), "order": Share(0.0, 0.0, 0.0)}
    assert shares.interaction == Share(0.0, 0.0, 0.0)
    assert shares.most == "init"


def test_equal_sources_have_no_leader():
    """Neither causes more flips than the other."""
    rng = np.random.default_rng(5)

    assert shares_of(random_matrix(10, rng), SeedDesign(seeds_of(10))).most is None


def of_noisy_blocks(distances, *, sd, seed=6):
    """Shares of five blocks with these distances, give or take some noise."""
    rng = np.random.default_rng(seed)
    whole = {
        (o + 4 * b, p + 4 * b): v + rng.normal(0, sd)
        for b in range(5)
        for (o, p), v in distances.items()
    }
    return shares_of(between(whole), SeedDesign(seeds_of(5)))


def test_estimates_below_0_are_cut_and_keep_their_upper_half():
    """Runs that share init differ more than independent runs, by chance: δ is .45 against .3."""
    shares = of_noisy_blocks(dict(ONE_BLOCK) | {(0, 2): 0.5, (1, 3): 0.4}, sd=0.01)

    share = shares.first["init"]
    assert (share.value, share.low) == (0.0, 0.0)
    assert 0.0 < share.high < 0.25  # the half width of the estimate of −.5
    assert share.may_be_none
    assert not shares.first["order"].may_be_none


@pytest.mark.parametrize("seed", range(5))
def test_shares_and_their_ends_are_between_0_and_1(seed):
    """However noisy the distances are, and however far estimates are beyond."""
    shares = of_noisy_blocks(ONE_BLOCK, sd=0.2, seed=seed)

    known = [*shares.first.values(), *shares.total.values(), shares.interaction]
    ends = [x for share in known for x in (share.low, share.value, share.high)]
    assert all(0.0 <= x <= 1.0 for x in ends)
    assert all(share.low <= share.value <= share.high for share in known)
    assert all(share.low < share.high for share in known)


def test_runs_that_never_differ_have_no_shares():
    """There are no flips to share."""
    assert shares_of(np.zeros((20, 20)), SeedDesign(seeds_of(5))) is None


def test_a_plan_without_some_pairs_gives_the_other_shares():
    """Without the runs "order of A", and with three sources, no two runs share all but order."""
    plan = SeedPlan.blocks(6, ["init", "order", "data"])
    runs = [run.seeds for run in plan.assignments() if "order of A" not in run.name]
    matrix = np.full((len(runs), len(runs)), 0.2)

    shares = shares_of(matrix, SeedDesign(runs))

    assert shares.total["order"] is None
    assert shares.total["init"].value == 1.0
    assert shares.most is None
    assert shares.summary()["total"]["order"] is None


def test_a_share_prints_with_its_interval():
    """And says what the interval is over."""
    text = "0.50 [0.25, 0.75] over blocks"

    assert str(Share(0.5, 0.25, 0.754)) == text
    assert str(Share(0.5)) == "0.50"
