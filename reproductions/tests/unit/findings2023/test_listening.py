"""Soft labels of a teacher against the mean of what it said, kept whole."""

from dataclasses import replace

import pytest
import torch
from seedproof_reproductions.findings2023.arms import CONTROL, SoftLabels
from seedproof_reproductions.findings2023.costs import Cost
from seedproof_reproductions.findings2023.fitting import fit
from seedproof_reproductions.findings2023.listening import Listener
from seedproof_reproductions.findings2023.sources import Sources
from torch.nn import functional


@pytest.fixture
def teach(prepared):
    """Trains a teacher that is listened to.

    What it says of all utterances after each step is kept, and of each batch with its rows.
    """

    def teach(setting, soft):
        steps, batches, cost = [], [], Cost()
        listener = Listener(prepared, setting, CONTROL, soft, cost)

        def after_step(step, model):
            steps.append(model.predict(prepared.train.inputs))
            listener.after_step(step, model)

        def after_batch(step, rows, logits):
            batches.append((rows, logits.softmax(1)))
            listener.after_batch(step, rows, logits)

        sources = Sources.shared(0)
        fit(prepared, CONTROL, setting, sources, on_step=after_step, on_batch=after_batch)
        return listener.labels(), steps, batches, cost

    return teach


def raised(probs, power):
    """To a power, and normalized again."""
    return probs**power / (probs**power).sum(1, keepdim=True)


# Of 20 steps, the teacher counts from the 14th on: 200 of 295 are as large a share.
@pytest.mark.parametrize(("every", "heard"), [(1, range(14, 21)), (3, (14, 17, 20)), (10, (14,))])
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_tgtss_is_the_mean_of_what_a_teacher_said_raised_to_a_power(
    teach, setting, every, heard, power
):
    """Of all utterances after every so many steps, from the paper's start on."""
    soft = SoftLabels("tgtss", every=every, power=power)

    labels, steps, _, _ = teach(replace(setting, epochs=5), soft)

    mean = torch.stack([steps[step - 1] for step in heard]).double().mean(0)
    torch.testing.assert_close(labels, raised(mean, power).float())


@pytest.mark.parametrize(("every", "n_heard"), [(1, 7), (3, 3)])
def test_predictions_of_a_teacher_cost_a_pass_forward_each(teach, setting, every, n_heard):
    """Of 250 utterances, through 256 hidden units."""
    cost = teach(replace(setting, epochs=5), SoftLabels("tgtss", every=every))[-1]

    assert cost == Cost(forward=n_heard * 250 * 256 * (12 + 5))


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_free_tgtss_is_the_mean_of_what_a_teacher_said_of_its_batches(teach, setting, power):
    """Of 12 steps the last 5 count: one batch of the second epoch, and all of the third."""
    labels, _, batches, cost = teach(
        replace(setting, epochs=3), SoftLabels("tgtss-free", power=power)
    )

    sums, counts = torch.zeros(250, 5), torch.zeros(250, 1)
    for rows, probs in batches[-5:]:
        sums[rows] += probs
        counts[rows] += 1
    torch.testing.assert_close(labels, raised(sums / counts, power))
    assert set(counts.flatten().tolist()) == {1, 2}
    assert cost == Cost()


def test_utterances_that_were_not_heard_keep_their_gold_labels(teach, prepared, setting):
    """Of one epoch of four batches, the last two count."""
    labels, _, batches, _ = teach(replace(setting, epochs=1), SoftLabels("tgtss-free"))

    gold = functional.one_hot(prepared.train.labels, 5).float()
    unheard = torch.cat([rows for rows, _ in batches[:2]])
    heard = torch.cat([rows for rows, _ in batches[2:]])
    assert torch.equal(labels[unheard], gold[unheard])
    assert (labels[heard] < 1).all()
