"""Soft labels of each kind by hand, and whose randomness their teachers have."""

from dataclasses import replace

import pytest
import torch
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL, Arm, SoftLabels
from seedproof_reproductions.findings2023.costs import Cost
from seedproof_reproductions.findings2023.fitting import fit
from seedproof_reproductions.findings2023.sources import Sources
from seedproof_reproductions.findings2023.teaching import soft_targets
from torch.nn import functional


@pytest.fixture
def targets_of(make_run, prepared, setting):
    """What a run under one of the seeds learns instead of gold labels."""

    def targets_of(arm, index=0):
        return soft_targets(make_run(index), prepared, setting, arm, Cost())

    return targets_of


@pytest.fixture
def taught(prepared, setting):
    """What a teacher says of the training split in the end."""

    def taught(sources):
        found = fit(prepared, CONTROL, setting, sources)
        return found.predict(prepared.train.inputs, "none")

    return taught


def root(probs):
    """The exponent of the paper, 1/2, and normalized again."""
    return probs.sqrt() / probs.sqrt().sum(1, keepdim=True)


def test_the_control_learns_gold_labels(targets_of):
    """It has no others."""
    assert targets_of(CONTROL) is None


@pytest.mark.parametrize(
    ("name", "gold", "other"),
    [("label-smoothing-0.1", 0.92, 0.02), ("label-smoothing-0.5", 0.6, 0.1)],
)
def test_label_smoothing_spreads_a_part_over_all_five_classes(
    targets_of, prepared, name, gold, other
):
    """The gold one gets its share of it."""
    is_gold = functional.one_hot(prepared.train.labels, 5).bool()

    torch.testing.assert_close(targets_of(ARMS[name]), torch.where(is_gold, gold, other))


def test_knn_spreads_half_over_the_labels_of_the_ten_nearest(targets_of, prepared):
    """An utterance is its own nearest."""
    gold = functional.one_hot(prepared.train.labels, 5).float()
    inputs = prepared.train.inputs.double()
    nearest = (inputs[:, None] - inputs[None]).square().sum(2).argsort(dim=1)[:, :10]

    targets = targets_of(ARMS["knn"])

    torch.testing.assert_close(targets, 0.5 * gold + 0.5 * gold[nearest].mean(1))
    assert not torch.equal(targets, gold)


def test_a_shared_ensemble_is_the_root_of_the_mean_of_its_teachers(targets_of, taught):
    """Each has sources of its own, which are no run's."""
    arm = Arm(SoftLabels("ensemble", n_teachers=3, teacher="shared"))

    mean = sum(taught(Sources.shared(index)) for index in (1, 2, 3)) / 3

    torch.testing.assert_close(targets_of(arm), root(mean))


def test_a_fresh_ensemble_is_trained_from_the_sources_of_its_run(targets_of, taught, make_run):
    """One teacher after the other, so that no two are the same."""
    arm = replace(ARMS["ensemble-10"], soft=replace(ARMS["ensemble-10"].soft, n_teachers=3))
    run = make_run(1)

    mean = sum(taught(Sources.of(run, arm)) for _ in range(3)) / 3

    torch.testing.assert_close(targets_of(arm, 1), root(mean))


@pytest.mark.parametrize(
    ("name", "draw"),
    [("deployed-shared", 0), ("deployed-shared-draw-2", 1), ("deployed-shared-draw-3", 2)],
)
def test_a_deployed_model_teaches_what_it_says(targets_of, taught, name, draw):
    """Without an exponent; another draw is another model, and the same one in every run."""
    expected = taught(Sources.shared(1, draw))

    for index in (0, 1):
        torch.testing.assert_close(targets_of(ARMS[name], index), expected)


# Of eight steps, the last four count.
@pytest.mark.parametrize(
    ("name", "draw"), [("tgtss-shared", 0), ("tgtss-shared-draw-2", 1), ("tgtss-shared-draw-3", 2)]
)
def test_a_shared_teacher_is_that_of_its_draw(targets_of, prepared, setting, name, draw):
    """In every run."""
    said = []
    fit(
        prepared,
        CONTROL,
        setting,
        Sources.shared(1, draw),
        on_step=lambda _, model: said.append(model.predict(prepared.train.inputs)),
    )

    expected = root(torch.stack(said[4:]).mean(0))

    for index in (0, 1):
        torch.testing.assert_close(targets_of(ARMS[name], index), expected)


def test_a_fresh_teacher_has_the_levers_of_its_student(targets_of, make_run, prepared, setting):
    """But for soft labels; and the sources of its run."""
    levers = Arm(width=32, decay=True, zero_last=True, epochs=2, weight_decay=0.1)
    arm, said = replace(levers, soft=SoftLabels("tgtss")), []
    fit(
        prepared,
        levers,
        setting,
        Sources.of(make_run(1), arm),
        on_step=lambda _, model: said.append(model.predict(prepared.train.inputs)),
    )

    # Of sixteen steps, those from the 11th on count.
    torch.testing.assert_close(targets_of(arm, 1), root(torch.stack(said[10:]).mean(0)))


def test_a_shared_teacher_costs_each_run_as_much_as_a_fresh_one(make_run, prepared, setting):
    """Though it is trained once."""
    costs = []
    for index, name in enumerate(("tgtss", "tgtss-shared", "tgtss-shared")):
        costs.append(Cost())
        soft_targets(make_run(index), prepared, setting, ARMS[name], costs[-1])

    assert costs[0] == costs[1] == costs[2]
    assert costs[0].backward > 0
