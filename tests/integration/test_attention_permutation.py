"""Shuffled attention from training to verdict: logged by the runs of a study, and compared."""

import pytest
import torch

import seedproof as sp


def train(run):
    """Make a model whose attention is sharp or flat; log its output, and what shuffling changes."""
    from seedproof.explain import AttentionPermutation
    from seedproof.testing.explainers import SmallModel, some_texts

    texts = some_texts(60)
    model = SmallModel(seed=run.seed)
    with torch.no_grad():
        model.score.weight.mul_({"sharp": 3.0, "flat": 0.1}[run.arm])
    permuted = AttentionPermutation(n_shuffles=10)(model, texts)
    run.log_predictions("test", ids=texts.ids, probs=permuted.probs)
    run.log_predictions("shuffled", ids=texts.ids, values=permuted.logit_change)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store of two arms with five seeds."""
    folder = tmp_path_factory.mktemp("attention") / "store"
    study = sp.Study("attention", train, seeds=5, arms=["sharp", "flat"], store=folder)
    study.run("serial", progress=False)
    return folder


def test_changes_are_measured_over_runs_and_examples(store):
    """As any other numbers, with an interval."""
    mean = sp.measure(store, split="shuffled", arm="sharp")["mean"]

    assert mean.low > 0.1
    assert mean.over == "runs × examples"


def test_arms_are_paired_by_their_seeds(store):
    """Flat attention changes less when it is shuffled."""
    report = sp.compare(store, split="shuffled", baseline="sharp", primary="mean")

    effect = report.effect("flat", "mean")
    assert effect.high < 0
    assert effect.is_shown
