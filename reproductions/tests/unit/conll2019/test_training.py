from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from torch.nn.utils import parameters_to_vector
from torch.optim import SGD, Adagrad

from seedproof.errors import OptionError
from seedproof_reproductions.conll2019 import training
from seedproof_reproductions.conll2019.data import encode, prepare
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.conll2019.training import (
    dev_score,
    evaluate,
    loss_of,
    make_optimizer,
    train_model,
)
from seedproof_reproductions.datasets.texts import Texts, Vocabulary
from seedproof_reproductions.models import Answer, Classifier

pytestmark = pytest.mark.usefixtures("single_thread")
SETTING = Setting(epochs=3)


@pytest.fixture
def prepared(made_sst):
    """Sentences that are easy to learn."""
    del made_sst
    return prepare(SETTING)


def test_batch_is_as_wide_as_its_longest_text():
    """Rows are in the order of the positions; second texts are padded separately."""
    tokens, queries = (("a",), ("a", "b", "b"), ("b", "a")), (("b",), ("b",), tuple("aaaa"))
    split = encode(Texts(np.arange(3), tokens, np.arange(3), queries), Vocabulary(["a", "b"]))

    numbers, lengths, queries, query_lengths = split.inputs(torch.tensor([2, 0]))

    assert numbers.tolist() == [[2, 5, 4, 3], [2, 4, 3, 0]]
    assert lengths.tolist() == [4, 3]
    assert queries.shape == (2, 6)
    assert query_lengths.tolist() == [6, 3]


@given(
    scores=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9]), min_size=4, max_size=30), data=st.data()
)
def test_roc_auc_equals_that_of_scikit_learn(scores, data):
    """Including ties; both sum ranks, so the last bits may differ."""
    labels = data.draw(st.lists(st.integers(0, 1), min_size=len(scores), max_size=len(scores)))

    ours = training.roc_auc(np.array(scores), np.array(labels))

    # One class has no pairs to order.
    is_both = 0 < sum(labels) < len(labels)
    assert ours == pytest.approx(roc_auc_score(labels, scores) if is_both else 0.5, abs=1e-12)


def test_loss_is_the_cross_entropy():
    """The mean of −ln of the probability of the gold class."""
    two = Answer(torch.tensor([[0.5], [-1.0]]), torch.empty(0))
    three = Answer(torch.tensor([[0.5, 0.0, 1.0], [2.0, 0.0, 0.0]]), torch.empty(0))

    for answer, labels in ((two, torch.tensor([1, 0])), (three, torch.tensor([2, 0]))):
        gold = answer.probs()[torch.arange(2), labels]
        # Single precision.
        assert float(loss_of(answer, labels)) == pytest.approx(float(-gold.log().mean()), rel=1e-6)


def test_evaluation_is_in_the_order_of_the_split(prepared, make_run, monkeypatch):
    """Examples are sorted by length for evaluation, and restored to their order with all tokens."""
    monkeypatch.setattr(training, "EVALUATION_BATCH", 7)
    model = train_model(prepared, replace(SETTING, epochs=1), make_run()).model

    evaluation = evaluate(model, prepared.test)

    with torch.no_grad():
        answer = model(*prepared.test.inputs(torch.arange(len(prepared.test))))
    # Other batches pad differently, which moves the last digits.
    np.testing.assert_allclose(evaluation.probs, answer.probs(), rtol=1e-5, atol=1e-6)
    for tokens, weights in zip(prepared.test.texts.tokens, evaluation.attention, strict=True):
        assert len(weights) == len(tokens)
        assert weights.sum() == pytest.approx(1, abs=1e-5)
    assert evaluation.loss == pytest.approx(float(loss_of(answer, prepared.test.labels)), rel=1e-5)


def test_same_seed_gives_the_same_bits(prepared, make_run):
    """Another seed gives other bits, and the easy task is learned."""
    first, again, other = (train_model(prepared, SETTING, make_run(s)) for s in (0, 0, 1))

    weights = [parameters_to_vector(run.model.parameters()) for run in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert (first.dev_score, first.last_loss) == (again.dev_score, again.last_loss)
    assert evaluate(first.model, prepared.test).accuracy(prepared.test.labels) > 0.9
    # Words that occur move away from where all seeds begin; padding does not.
    embedding = first.model.embedding.weight.detach()
    moved = (embedding - torch.from_numpy(prepared.vectors)).abs().sum(-1)
    assert (moved[prepared.train.numbers.unique().long()[1:]] > 0).all()
    assert moved[0] == 0


@pytest.mark.parametrize("arm", ["none", "aswa", "aswa-code", "naswa", "naswa-code", "ema", "lawa"])
def test_selected_model_has_the_best_dev_score(prepared, make_run, arm, monkeypatch):
    """It has the score of the chosen epoch, the best of all that count."""
    scores = []

    def kept(evaluation, split):
        # The second is the best.
        scores.append(dev_score(evaluation, split) + (len(scores) == 1))
        return scores[-1]

    monkeypatch.setattr(training, "dev_score", kept)
    trained = train_model(prepared, SETTING, make_run(arm=arm))

    first = 2 if arm.endswith("-code") else 1
    assert len(scores) == SETTING.epochs + 1 - first
    assert trained.dev_score == max(scores)
    assert trained.epoch == first + scores.index(max(scores))
    assert dev_score(evaluate(trained.model, prepared.dev), prepared.dev) + 1 == trained.dev_score


@pytest.mark.parametrize(("optimizer", "kind"), [("sgd", SGD), ("adagrad", Adagrad)])
def test_other_optimizers_learn(prepared, make_run, optimizer, kind):
    """The paper names two others; each has a usual rate, which a setting may replace."""
    setting = replace(SETTING, optimizer=optimizer)
    model = Classifier(prepared.shape, prepared.vectors)

    trained = train_model(prepared, setting, make_run(arm="aswa"))

    assert isinstance(make_optimizer(model, setting), kind)
    assert trained.dev_score > 0.6
    slow = make_optimizer(model, replace(setting, learning_rate=1e-5))
    assert slow.param_groups[0]["lr"] == 1e-5
    assert Setting.from_arguments(setting.as_arguments()) == setting
    with pytest.raises(OptionError):
        replace(setting, optimizer="other")
