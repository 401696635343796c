"""Soft labels of each kind by hand, and the randomness of their teachers."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from seedproof_reproductions.findings2023.arms import ARMS, CONTROL, Arm, SoftLabels
from seedproof_reproductions.findings2023.fitting import Cost, fit
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.teaching import soft_targets

# Of a head with 256 hidden units; a training goes forward, and backward for twice as much.
WEIGHTS, TRAINED = 256 * (12 + 5), 3


@pytest.fixture
def targets_of(make_run, prepared, setting):
    """The soft labels of a run under one of the seeds; what they cost is added."""

    def targets_of(arm, index=0, cost=None, **changed):
        changed = replace(setting, **changed)
        return soft_targets(make_run(index), prepared, changed, arm, cost or Cost())

    return targets_of


@pytest.fixture
def teach(prepared, setting):
    """Predictions of a teacher for training utterances: after each step, of each batch, and last."""

    def teach(sources, arm=CONTROL, **changed):
        steps, batches, inputs = [], [], prepared.train.inputs

        def after_step(_, model, rows, logits):
            steps.append(model.predict(inputs))
            batches.append((rows, logits.softmax(1)))

        trained = fit(prepared, arm, replace(setting, **changed), sources, on_step=after_step)
        return steps, batches, trained.predict(inputs, "none")

    return teach


def raised(probs, power=0.5):
    """To the exponent of the paper, and normalized again."""
    return probs**power / (probs**power).sum(1, keepdim=True)


@pytest.mark.parametrize(
    ("name", "gold", "other"),
    [("label-smoothing-0.1", 0.92, 0.02), ("label-smoothing-0.5", 0.6, 0.1)],
)
def test_label_smoothing_spreads_a_share_over_all_classes(targets_of, prepared, name, gold, other):
    """The gold class of five gets its share, too; the control has gold labels."""
    is_gold = functional.one_hot(prepared.train.labels, 5).bool()

    torch.testing.assert_close(targets_of(ARMS[name]), torch.where(is_gold, gold, other))
    assert targets_of(CONTROL) is None


def test_knn_takes_half_of_each_label_from_the_ten_nearest(targets_of, prepared):
    """An utterance is its own nearest neighbor."""
    gold = functional.one_hot(prepared.train.labels, 5).float()
    inputs = prepared.train.inputs.double()
    nearest = (inputs[:, None] - inputs[None]).square().sum(2).argsort(dim=1)[:, :10]

    targets = targets_of(ARMS["knn"])

    torch.testing.assert_close(targets, 0.5 * gold + 0.5 * gold[nearest].mean(1))
    assert not torch.equal(targets, gold)


def test_ensemble_is_the_root_of_the_mean_of_its_teachers(targets_of, teach, make_run):
    """Shared teachers have their own sources; the run trains fresh ones one after another."""
    shared = Arm(SoftLabels("ensemble", n_teachers=3, teacher="shared"))
    fresh = replace(ARMS["ensemble-10"], soft=replace(ARMS["ensemble-10"].soft, n_teachers=3))
    run = make_run(1)

    of_shared = sum(teach(Sources.shared(index))[-1] for index in (1, 2, 3)) / 3
    of_fresh = sum(teach(Sources.of(run, fresh))[-1] for _ in range(3)) / 3

    torch.testing.assert_close(targets_of(shared), raised(of_shared))
    torch.testing.assert_close(targets_of(fresh, 1), raised(of_fresh))


@pytest.mark.parametrize("draw", [0, 1, 2])
def test_shared_teacher_depends_only_on_its_draw(targets_of, teach, draw):
    """A deployed model has no exponent; of the eight steps of TGTSS, the last four count."""
    suffix = f"-draw-{draw + 1}" if draw else ""
    steps, _, final = teach(Sources.shared(1, draw))

    for index in (0, 1):
        torch.testing.assert_close(targets_of(ARMS[f"deployed-shared{suffix}"], index), final)
        tgtss = targets_of(ARMS[f"tgtss-shared{suffix}"], index)
        torch.testing.assert_close(tgtss, raised(torch.stack(steps[4:]).mean(0)))


def test_fresh_teacher_is_trained_like_its_student(targets_of, make_run, teach):
    """Except for soft labels, and with the sources of its run."""
    levers = Arm(width=32, decay=True, zero_last=True, epochs=2, weight_decay=0.1)
    arm = replace(levers, soft=SoftLabels("tgtss"))
    steps, *_ = teach(Sources.of(make_run(1), arm), levers)

    # Of sixteen steps, those from the 11th on count.
    torch.testing.assert_close(targets_of(arm, 1), raised(torch.stack(steps[10:]).mean(0)))
    assert not torch.equal(targets_of(arm, 0), targets_of(arm, 1))


# Of 20 steps, the teacher counts from the 14th on: 200 of 295 are as large a share.
@pytest.mark.parametrize(("every", "counted"), [(1, range(14, 21)), (3, (14, 17, 20)), (10, (14,))])
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_tgtss_is_the_mean_of_a_teachers_predictions_raised_to_a_power(
    teach, targets_of, every, counted, power
):
    """Of all utterances after every so many steps, each of which costs a pass through the head."""
    arm, cost = Arm(SoftLabels("tgtss", every=every, power=power, teacher="shared")), Cost()
    steps, *_ = teach(Sources.shared(1), epochs=5)

    labels = targets_of(arm, cost=cost, epochs=5)

    mean = torch.stack([steps[step - 1] for step in counted]).double().mean(0)
    torch.testing.assert_close(labels, raised(mean, power).float())
    assert cost == Cost((5 * TRAINED + len(counted)) * 250 * WEIGHTS)


@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize("n_epochs", [1, 3])
def test_free_tgtss_is_the_mean_of_a_teachers_batches(teach, targets_of, prepared, power, n_epochs):
    """Utterances without predictions keep their gold labels; batches add no cost."""
    # The last half of one epoch; or one batch of the second epoch, and the third.
    n_counted, n_seen = {1: (2, {0, 1}), 3: (5, {1, 2})}[n_epochs]
    arm, cost = Arm(SoftLabels("tgtss-free", power=power, teacher="shared")), Cost()
    _, batches, _ = teach(Sources.shared(1), epochs=n_epochs)

    labels = targets_of(arm, cost=cost, epochs=n_epochs)

    sums, counts = torch.zeros(250, 5), torch.zeros(250, 1)
    for rows, probs in batches[-n_counted:]:
        sums[rows] += probs
        counts[rows] += 1
    gold = functional.one_hot(prepared.train.labels, 5).float()
    means = raised(sums / counts.clamp(min=1), power)
    torch.testing.assert_close(labels, torch.where(counts > 0, means, gold))
    assert set(counts.flatten().tolist()) == n_seen
    assert cost == Cost(n_epochs * TRAINED * 250 * WEIGHTS)
