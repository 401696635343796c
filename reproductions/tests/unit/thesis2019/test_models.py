import math

import pytest
import torch

from seedproof_reproductions.thesis2019 import attention
from seedproof_reproductions.thesis2019.attention import PooledHistory, beta_softmax
from seedproof_reproductions.thesis2019.data import prepare
from seedproof_reproductions.thesis2019.models import ALPHA, BETA, FISM, MODELS, DeepICF
from seedproof_reproductions.thesis2019.settings import Setting

pytestmark = pytest.mark.usefixtures("single_thread")
# Two users: 5 items and 4 targets, 7 items and 5 targets.
SIZES, PLACES = [(5, 4), (7, 5)], torch.tensor([0, -1, 4, -1, -1, 6, 2, -1, 0])


@pytest.fixture
def histories(made_movielens):
    """Histories of sixty users."""
    del made_movielens
    return prepare(Setting()).histories


@pytest.fixture
def drawn():
    """Makes tensors of random numbers in double precision, the same in each test."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.double)

    return drawn


@pytest.fixture
def model(histories, drawn):
    """DeepICF with weights that are large enough for unequal attention."""
    made = DeepICF(histories, 4, 2).double()
    with torch.no_grad():
        for weights in made.parameters():
            weights.copy_(drawn(*weights.shape))
    return made


def pooled_plainly(history, targets, weight, mix):
    """The pooled vectors, item by item and target by target, by the formula of the thesis."""
    rows, first, start = [], 0, 0
    for n_history, n_targets in SIZES:
        for t in range(start, start + n_targets):
            others = [i for i in range(n_history) if i != PLACES[t]]
            vectors = torch.stack([history[first + i] for i in others])
            scores = torch.stack([mix @ torch.relu(weight @ (x * targets[t])) for x in vectors])
            weights = scores.exp() / scores.exp().sum() ** BETA
            rows.append((weights @ vectors) * targets[t])
        first, start = first + n_history, start + n_targets
    return torch.stack(rows)


def test_beta_softmax_by_hand():
    """Of exp(f) = 1, 3 and 4 the sum is 8; a masked score has no weight and changes no other."""
    scores = torch.tensor([0.0, math.log(3), -math.inf, math.log(4)], dtype=torch.double)

    weights = beta_softmax(scores, BETA)

    assert weights.tolist() == pytest.approx([1 / 8**0.8, 3 / 8**0.8, 0, 4 / 8**0.8])
    assert float(weights.sum()) == pytest.approx(8**0.2)
    # Scores whose exponential overflows.
    assert beta_softmax(scores + 1000, 1.0).tolist() == pytest.approx([1 / 8, 3 / 8, 0, 1 / 2])


@pytest.mark.parametrize("chunk", [1, 40, 400_000])
def test_pooled_history_and_its_gradients_equal_the_plain_formula(drawn, monkeypatch, chunk):
    """In chunks of one target, of a few, and of all targets of a user."""
    monkeypatch.setattr(attention, "CHUNK", chunk)
    inputs = [x.requires_grad_() for x in (drawn(12, 5), drawn(9, 5), drawn(3, 5), drawn(3))]
    direction = drawn(9, 5)

    ours, plain = PooledHistory.apply(*inputs, PLACES, SIZES, BETA), pooled_plainly(*inputs)

    torch.testing.assert_close(ours, plain)
    gradients = (torch.autograd.grad(of, inputs, direction) for of in (ours, plain))
    for gradient, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(gradient, wanted)


def test_own_place_of_a_target_has_no_effect(model, histories):
    """The logit of a rated item does not depend on its vector in the history."""
    user = torch.zeros(1, dtype=torch.long)
    own, other = histories.of(0)[3:5]
    before = model(user, own.view(1))

    with torch.no_grad():
        model.history[own] += 1
    after = model(user, own.view(1))
    with torch.no_grad():
        model.history[other] += 1

    assert torch.equal(before, after)
    assert not torch.allclose(after, model(user, own.view(1)))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_scorer_equals_the_model_on_items_that_are_not_rated(histories, drawn, name, n_outputs):
    model = MODELS[name](histories, 4, n_outputs).double()
    with torch.no_grad():
        for weights in model.parameters():
            weights.copy_(drawn(*weights.shape))
        users = torch.tensor([5, 0, 17])
        scores = model.scorer()(users)
        pairs = users.repeat_interleave(120), torch.arange(120).repeat(3)
        logits = model(*pairs).view(3, 120, n_outputs)

    is_unrated = ~histories.is_seen[users]
    assert scores.shape == (3, 120, n_outputs)
    torch.testing.assert_close(scores[is_unrated], logits[is_unrated])


@torch.no_grad()
def test_attention_is_that_of_the_prediction(model, histories):
    """Weights sum to Σ exp(f) to the power of 1 − β, and give the model's logits."""
    users = torch.tensor([3, 8])
    items = torch.stack([(~histories.is_seen[user]).nonzero()[0, 0] for user in users])

    weights = model.attend(users, items)

    for user, item, given in zip(users.tolist(), items.tolist(), weights, strict=True):
        pairs = model.history[histories.of(user)] * model.targets[item]
        wanted = model.attention(pairs).relu() @ model.mix
        assert float(given.sum()) == pytest.approx(float(wanted.exp().sum()) ** (1 - BETA))
        logits = model.output(model.layers(given @ pairs)) + torch.tensor([0, 1]) * model.bias[item]
        torch.testing.assert_close(logits, model(torch.tensor([user]), torch.tensor([item]))[0])


@torch.no_grad()
def test_fism_equals_a_loop_over_the_history(histories, drawn):
    model = FISM(histories, 4).double()
    for weights in model.parameters():
        weights.copy_(drawn(*weights.shape))
    own, new = int(histories.of(9)[2]), int((~histories.is_seen[9]).nonzero()[0])
    users, items = torch.tensor([9, 9, 4]), torch.tensor([own, new, 7])

    logits = model(users, items)

    for user, item, logit in zip(users.tolist(), items.tolist(), logits, strict=True):
        others = [j for j in histories.of(user).tolist() if j != item]
        total = sum(float(model.history[j] @ model.targets[item]) for j in others)
        assert float(logit) == pytest.approx(total / len(others) ** ALPHA + float(model.bias[item]))


def test_deepicf_begins_with_the_vectors_of_fism(model, histories):
    fism = FISM(histories, 4)

    model.start_from(fism)

    for name in ("history", "targets", "bias"):
        torch.testing.assert_close(getattr(model, name).float(), getattr(fism, name))
