"""Shares of the flips from runs, and runs that are refused."""

import json

import numpy as np
import pytest

from seedproof.comparison.blame.compute import blame_runs
from seedproof.errors import InputError
from seedproof.records.arrays import ArrayShards
from seedproof.seeds import SOURCES, SeedPlan
from seedproof.testing.errors import WithFields

# The sources that are advised if the runs suggest none.
USUAL = ("init", "order", "dropout")


def seeds_of(plan):
    """Seeds of each run of a plan."""
    return [run.seeds for run in plan.assignments()]


def drawn(plan, n_examples=60, seed=0):
    """Probabilities of two classes whose logits are a sum of what each source draws."""
    logits = []
    for run in plan.assignments():
        effects = [
            np.random.default_rng([seed, value]).normal(size=n_examples)
            for value in run.seeds.values()
        ]
        logits.append(np.sum(effects, axis=0))
    positive = 1 / (1 + np.exp(-np.array(logits)))
    return np.stack([1 - positive, positive], axis=2)


def test_predictions_without_probabilities_have_no_logits():
    """Only flips are shared out."""
    plan = SeedPlan.blocks(5, ["init", "order"])
    predictions = drawn(plan).argmax(axis=2)

    result = blame_runs(ArrayShards(predictions), seeds_of(plan))

    assert result.logits is None
    assert json.loads(result.to_json())["logits"] is None
    assert (result.n_runs, result.n_blocks, result.n_examples) == (20, 5, 60)


def test_additive_logits_interact_only_after_the_class_is_taken():
    """Two equal sources: half of the logit's variance each; a third of the flips, 1/3 together.

    δ_∅ = arccos(0)/π = 1/2 and δ_X = arccos(1/2)/π = 1/3, so S = 1/3 and T = 2/3.
    """
    plan = SeedPlan.blocks(10, ["init", "order"])
    logits = [
        np.sum([np.random.default_rng(run.seeds[x]).normal(size=4000) for x in plan.levels], axis=0)
        for run in plan.assignments()
    ]
    positive = 1 / (1 + np.exp(-np.array(logits)))
    probs = np.stack([1 - positive, positive], axis=2)

    result = blame_runs(ArrayShards(probs), seeds_of(plan))

    # 40,000 independent pairs per share: four standard errors of about 0.005.
    for source in ("init", "order"):
        assert result.flips.first[source].value == pytest.approx(1 / 3, abs=0.02)
        assert result.flips.total[source].value == pytest.approx(2 / 3, abs=0.02)
        assert result.logits.first[source].value == pytest.approx(1 / 2, abs=0.02)
        assert result.logits.total[source].value == pytest.approx(1 / 2, abs=0.02)
    assert result.flips.interaction.low > 0.25
    # Four runs with additive logits are the corners of a parallelogram: no interaction at all.
    assert result.logits.interaction.value == pytest.approx(0.0, abs=1e-12)


def test_the_order_of_the_runs_does_not_matter():
    """Shares come from seeds, not from names or places."""
    plan = SeedPlan.blocks(5)
    probs, seeds = drawn(plan), seeds_of(plan)
    mixed = np.random.default_rng(7).permutation(len(seeds))

    flips = blame_runs(ArrayShards(probs), seeds).flips
    again = blame_runs(ArrayShards(probs[mixed]), [seeds[idx] for idx in mixed]).flips

    for name in flips.first:
        assert again.first[name].value == pytest.approx(flips.first[name].value)
        assert again.total[name].low == pytest.approx(flips.total[name].low)


def test_a_grid_gives_values_without_intervals():
    """All its runs are a single block."""
    plan = SeedPlan.factorial({"init": 3, "order": 3})

    result = blame_runs(ArrayShards(drawn(plan)), seeds_of(plan))

    assert result.n_blocks == 1
    assert result.flips.interaction.low is None
    assert 0.0 < result.flips.first["init"].value < 1.0


@pytest.mark.parametrize(
    ("plan", "fields", "advised"),
    [
        (SeedPlan.all(4), {"sources": SOURCES, "n_blocks": 0}, USUAL),
        (SeedPlan.one_at_a_time(4, ["data"]), {"source": "data", "sources": ("data",)}, USUAL),
        (SeedPlan.one_at_a_time(3, ["init", "order", "data"]), {"sources": ("init", "order", "data"), "n_blocks": 1}, ("init", "order", "data")),
    ],
    ids=["all", "one-source", "one-at-a-time"],
)  # fmt: skip
def test_runs_that_cannot_separate_sources_are_refused_with_a_command(plan, fields, advised):
    """The remedy is the command that makes such runs."""
    with pytest.raises(InputError, check=WithFields(**fields)) as refused:
        blame_runs(ArrayShards(drawn(plan)), seeds_of(plan))

    remedy = refused.value.fields["remedy"]
    assert (remedy.code, remedy.fields["sources"]) == ("runs-for-blame", advised)
    assert f"--blame {remedy.fields['n_blocks']} --vary {','.join(advised)} " in str(refused.value)


def test_runs_without_seeds_are_refused():
    """As the runs of a table."""
    with pytest.raises(InputError, check=WithFields(sources=())):
        blame_runs(ArrayShards([[0, 1], [1, 1]]), [{}, {}])


def test_runs_that_never_flip_are_refused():
    """There are no flips to explain."""
    plan = SeedPlan.blocks(5)

    with pytest.raises(InputError, check=WithFields(n_flips=0)):
        blame_runs(ArrayShards(np.tile([0, 1, 1], (25, 1))), seeds_of(plan))
