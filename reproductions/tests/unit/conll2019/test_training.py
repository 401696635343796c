from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from seedproof_reproductions.conll2019 import training
from seedproof_reproductions.conll2019.data import prepare
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.conll2019.training import (
    Checkpoint,
    dev_score,
    evaluate,
    loss_of,
    roc_auc,
    train_model,
)
from seedproof_reproductions.models import Answer
from sklearn.metrics import roc_auc_score

from seedproof.runs.run import Run
from seedproof.runs.spec import StudySpec
from seedproof.seeds import SeedPlan
from seedproof.testing.trainings import one_thread

SETTING = Setting(epochs=3)


@pytest.fixture(autouse=True)
def _one_thread():
    """What is small waits for other threads longer than it works."""
    with one_thread():
        yield


@pytest.fixture
def prepared(made_sst):
    """Sentences that are easy to learn."""
    del made_sst
    return prepare(SETTING)


def run_of(arm, seed=0):
    """A run of some arm that writes nothing."""
    spec = StudySpec("made", "train", SeedPlan.all(2), arms=(arm,))
    return Run(spec.runs()[seed])


def weights_of(trained):
    """All weights in one vector."""
    return torch.cat([w.flatten() for w in trained.model.state_dict().values()])


@given(
    scores=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9]), min_size=4, max_size=30),
    data=st.data(),
)
def test_roc_auc_is_that_of_scikit_learn(scores, data):
    """With ties, too; both sum ranks, so a few units of the last place may differ."""
    labels = data.draw(
        st.lists(st.integers(0, 1), min_size=len(scores), max_size=len(scores)).filter(
            lambda found: 0 < sum(found) < len(found)
        )
    )

    ours = roc_auc(np.array(scores), np.array(labels))

    assert ours == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


def test_roc_auc_of_one_class_is_chance():
    """There is no pair to put in order."""
    assert roc_auc(np.array([0.1, 0.9]), np.array([1, 1])) == 0.5


def test_the_loss_is_the_cross_entropy():
    """−ln of the probability that the gold class has, on average."""
    answer = Answer(torch.tensor([[0.5], [-1.0]]), torch.empty(0))
    many = Answer(torch.tensor([[0.5, 0.0, 1.0], [2.0, 0.0, 0.0]]), torch.empty(0))

    for found, labels in ((answer, torch.tensor([1, 0])), (many, torch.tensor([2, 0]))):
        gold = found.probs()[torch.arange(2), labels]
        # Single precision.
        assert float(loss_of(found, labels)) == pytest.approx(float(-gold.log().mean()), rel=1e-6)


def test_the_first_of_equal_checkpoints_stays():
    """A later epoch must be better, not as good; and the copy is a copy."""
    model = torch.nn.Linear(1, 1)
    best = Checkpoint()

    best.offer(0.5, 1, model)
    kept = {name: w.clone() for name, w in model.state_dict().items()}
    with torch.no_grad():
        model.weight += 1
    best.offer(0.5, 2, model)
    best.offer(0.4, 3, model)

    assert (best.score, best.epoch) == (0.5, 1)
    assert all(torch.equal(best.weights[name], kept[name]) for name in kept)


def test_evaluation_is_in_the_order_of_the_split(prepared, monkeypatch):
    """Sorting by length is undone: each example has its own answer, and all its tokens."""
    monkeypatch.setattr(training, "EVALUATION_BATCH", 7)
    model = train_model(prepared, replace(SETTING, epochs=1), run_of("none")).model

    found = evaluate(model, prepared.test)

    rows = torch.arange(len(prepared.test))
    with torch.no_grad():
        answer = model(*prepared.test.inputs(rows))
    # Other batches pad differently, which moves the last digits.
    np.testing.assert_allclose(found.probs, answer.probs(), rtol=1e-5, atol=1e-6)
    for tokens, weights in zip(prepared.test.texts.tokens, found.attention, strict=True):
        assert len(weights) == len(tokens)
        assert weights.sum() == pytest.approx(1, abs=1e-5)
    assert found.loss == pytest.approx(float(loss_of(answer, prepared.test.labels)), rel=1e-5)


def test_a_seed_decides_everything(prepared):
    """The same run gives the same bits; another seed gives others."""
    one, two, other = (train_model(prepared, SETTING, run_of("none", seed)) for seed in (0, 0, 1))

    assert torch.equal(weights_of(one), weights_of(two))
    assert (one.dev_score, one.epoch, one.last_loss) == (two.dev_score, two.epoch, two.last_loss)
    assert not torch.equal(weights_of(one), weights_of(other))


def test_embeddings_begin_alike_and_are_trained(prepared):
    """Words that occur move away from where all seeds begin; padding does not."""
    trained = train_model(prepared, SETTING, run_of("none")).model.embedding.weight.detach()

    moved = (trained - torch.from_numpy(prepared.vectors)).abs().sum(-1)

    assert (moved[prepared.train.numbers.unique().long()[1:]] > 0).all()
    assert moved[0] == 0


@pytest.mark.parametrize("arm", ["none", "aswa", "aswa-code", "naswa", "naswa-code", "ema", "lawa"])
def test_what_is_chosen_is_what_dev_judged(prepared, arm, monkeypatch):
    """The model at the end has the score of the chosen epoch, the best of all that count."""
    scores = []

    def kept(evaluation, split):
        scores.append(dev_score(evaluation, split))
        return scores[-1]

    monkeypatch.setattr(training, "dev_score", kept)
    trained = train_model(prepared, SETTING, run_of(arm))

    first = 2 if arm.endswith("-code") else 1
    assert len(scores) == SETTING.epochs + 1 - first
    assert trained.dev_score == max(scores)
    assert trained.epoch == first + scores.index(max(scores))
    again = dev_score(evaluate(trained.model, prepared.dev), prepared.dev)
    assert again == trained.dev_score


def test_an_average_is_judged_in_place_of_the_last_weights(prepared):
    """With one epoch there is no choice: EMA leaves other weights than none, after equal steps."""
    setting = replace(SETTING, epochs=1)
    plain, averaged = (train_model(prepared, setting, run_of(arm)) for arm in ("none", "ema"))

    assert plain.last_loss == averaged.last_loss
    assert not torch.equal(weights_of(plain), weights_of(averaged))


def test_an_easy_task_is_learned(prepared):
    """Two words of each sentence tell its label: three epochs give nearly all."""
    trained = train_model(prepared, SETTING, run_of("none"))

    assert evaluate(trained.model, prepared.test).accuracy(prepared.test.labels) > 0.9
