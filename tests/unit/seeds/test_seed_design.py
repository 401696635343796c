"""The seeds that runs share."""

from itertools import combinations

import numpy as np
import pytest

from seedproof.seeds import SeedPlan
from seedproof.seeds.seed_design import NOTHING, SeedDesign, note_on_shared_seeds


def seeds_of(plan):
    """Seeds of the runs of a plan."""
    return [run.seeds for run in plan.assignments()]


def design_of(plan):
    """Design of the runs of a plan."""
    return SeedDesign(seeds_of(plan))


def test_sources_that_never_vary_do_not_count():
    """Blocks of init and order hold dropout, data and explainer."""
    assert design_of(SeedPlan.blocks(2, ["order", "init"])).sources == ("init", "order")


def test_blocks_are_found_from_the_seeds_alone():
    """Three blocks of four runs, in any order of the runs."""
    plan = SeedPlan.blocks(3, ["init", "order"])
    seeds = seeds_of(plan)
    mixed = np.random.default_rng(0).permutation(12)

    assert design_of(plan).blocks == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))
    result = SeedDesign([seeds[idx] for idx in mixed]).blocks
    assert {tuple(set(mixed[list(runs)] // 4)) for runs in result} == {(0,), (1,), (2,)}


def test_runs_that_share_through_others_are_one_block():
    """0 and 1 share a, 1 and 2 share b, 0 and 2 share nothing; run 3 is alone and left out."""
    design = SeedDesign([{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}, {"a": 9, "b": 9}])

    assert design.blocks == ((0, 1, 2),)
    assert set(design.pairs) == {frozenset("a"), frozenset("b"), NOTHING}


@pytest.mark.parametrize(
    "plan", [SeedPlan.one_at_a_time(3), SeedPlan.factorial({"init": 2, "order": 3})]
)
def test_runs_around_a_base_and_grids_are_a_single_block(plan):
    """Every two of them share something, directly or through another run."""
    n_runs = len(plan.assignments())

    assert design_of(plan).blocks == (tuple(range(n_runs)),)


def test_runs_that_share_nothing_make_no_block():
    """As in a plan in which every source varies in every run."""
    assert design_of(SeedPlan.all(4)).blocks == ()


def test_pairs_of_a_block_of_three_sources():
    """A–B share nothing, A–X shares X, B–X all but X, X–Y all but both, which is the third."""
    pairs = design_of(SeedPlan.blocks(1)).pairs

    counts = {",".join(sorted(shared)): len(pairs[shared].blocks) for shared in pairs}
    assert counts == {
        "": 1,
        "init": 2,
        "order": 2,
        "dropout": 2,
        "dropout,init": 1,
        "dropout,order": 1,
        "init,order": 1,
    }


def test_distance_is_the_mean_over_pairs_that_share_exactly_this():
    """Against a loop over all pairs, with every block deleted in turn."""
    plan = SeedPlan.blocks(3, ["init", "order"])
    design = design_of(plan)
    matrix = np.random.default_rng(1).random((12, 12))
    matrix += matrix.T

    def slow(shared, left_out):
        return np.mean(
            [
                matrix[pair]
                for pair in combinations(range(12), 2)
                if pair[0] // 4 == pair[1] // 4 != left_out and design.shared(*pair) == shared
            ]
        )

    for shared in (NOTHING, frozenset({"init"}), frozenset({"order"})):
        expected = [slow(shared, left_out) for left_out in (None, 0, 1, 2)]
        np.testing.assert_allclose(design.distance(matrix, shared), expected, rtol=1e-14)
    assert design.distance(matrix, frozenset({"init", "order"})) is None


def test_mean_of_pairs_in_one_block_is_unknown_with_that_block_left_out():
    """Only the first block has runs that share b alone."""
    design = SeedDesign(
        [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 3}, {"a": 5, "b": 5}, {"a": 5, "b": 6}]
    )

    result = design.distance(np.ones((5, 5)), frozenset("b"))

    np.testing.assert_array_equal(result, [1.0, np.nan, 1.0])


def test_pooled_runs_that_share_seeds_give_a_note():
    """Runs in which one source varies alone are independent draws of it."""
    note = note_on_shared_seeds(seeds_of(SeedPlan.blocks(2)))

    assert (note.code, note.fields) == ("shared-seeds", {"sources": ("init", "order", "dropout")})
    for plan in (SeedPlan.all(5), SeedPlan.one_at_a_time(5, ["init"])):
        assert note_on_shared_seeds(seeds_of(plan)) is None
    assert note_on_shared_seeds([{}, {}]) is None
