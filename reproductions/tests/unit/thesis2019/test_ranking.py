import math
from operator import itemgetter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import seedproof as sp
from seedproof_reproductions.datasets.movielens import NO_ITEM
from seedproof_reproductions.thesis2019.data import prepare
from seedproof_reproductions.thesis2019.models import GMF
from seedproof_reproductions.thesis2019.ranking import (
    CANDIDATES,
    CATALOG,
    answer,
    log_odds,
    mean_logits,
    probabilities,
    top_items,
)
from seedproof_reproductions.thesis2019.settings import Setting

# Few values, so that there are ties; −inf is a candidate that was dropped.
SCORES = st.sampled_from([-math.inf, 0.0, 0.5, 1.0, 2.0])
MADE = "made_movielens", "single_thread"


def metrics_by_loops(scores, depth):
    """Hit rate and NDCG of the first item of each row; of equal scores it is the last."""
    hits = gains = 0.0
    for first, *others in scores:
        rank = 1 + sum(other >= first for other in others)
        if rank <= depth:
            hits += 1
            gains += 1 / math.log2(rank + 1)
    return hits / len(scores), gains / len(scores)


@given(
    st.lists(st.tuples(SCORES, st.integers(0, 99)), min_size=3, max_size=9, unique_by=itemgetter(1))
)
def test_top_items_equal_a_sort(row):
    """Equal scores are in the given order; a short list ends with NO_ITEM."""
    scores, items = map(torch.tensor, zip(*row, strict=True))

    (best,) = top_items(scores.view(1, -1), items, n_top=3).tolist()

    wanted = sorted((pair for pair in row if pair[0] > -math.inf), key=lambda pair: -pair[0])[:3]
    assert best == [item for _, item in wanted] + [NO_ITEM] * (3 - len(wanted))


@pytest.mark.parametrize("logits", [[[0.7]], [[-1.0, 0.5]], [[0.3, -0.2, 1.1]]])
def test_log_odds_are_those_of_the_last_probability(logits):
    """A single output is the same as two whose first is 0."""
    logits = torch.tensor(logits, dtype=torch.double)

    (probs,) = probabilities(logits).tolist()

    assert sum(probs) == pytest.approx(1)
    odds = probs[-1] / (1 - probs[-1])
    assert float(log_odds(logits)) == pytest.approx(math.log(odds))
    if logits.shape[1] == 1:
        assert probabilities(torch.tensor([[0.0, 0.7]]))[0].tolist() == pytest.approx(probs)


def test_mean_logits_have_the_mean_probabilities():
    """Of 0.2 and 0.6 the mean is 0.4; logits of a single model stay."""
    single, two = torch.tensor([[math.log(1 / 4)]]), torch.tensor([[math.log(3 / 2)]])

    assert mean_logits([single]) is single
    assert probabilities(mean_logits([single, two])).tolist() == [pytest.approx([0.6, 0.4])]


def drawn_model(prepared, seed):
    """GMF with weights that are large enough for different scores, some of which are equal."""
    model = GMF(prepared.histories, 4, 2)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in model.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator).round(decimals=1))
        model.features[0].items[::3] = 0
    return model


@pytest.mark.usefixtures(*MADE)
def test_answers_are_of_the_candidates_and_of_items_that_are_not_rated():
    """By one pass of the models per user, and a sort in Python."""
    prepared = prepare(Setting(model="gmf"))
    models = [drawn_model(prepared, seed) for seed in (1, 2)]

    answers = answer(models, prepared)

    for user in (0, 1, 33, 59):
        with torch.no_grad():
            logits = [model(torch.full((120,), user), torch.arange(120)) for model in models]
        probs = np.mean([of_model.softmax(1).numpy() for of_model in logits], axis=0)
        # Batches of other sizes move the last digits.
        scores = probs[:, 1].round(5).tolist()
        first, *others = (item for item in prepared.data.candidates[user] if item != NO_ITEM)
        unrated = set(range(120)) - set(prepared.histories.of(user).tolist())
        for part, items in ((CANDIDATES, [*others, first]), (CATALOG, unrated)):
            best = sorted(items, key=lambda item: -scores[item])[:20]
            shown = answers.top[part][user].tolist()
            assert len(set(shown)) == 20
            assert [scores[item] for item in shown] == [scores[item] for item in best]
        tested = prepared.data.candidates[user]
        is_real = tested != NO_ITEM
        given_probs = answers.probs[user][is_real]
        np.testing.assert_allclose(given_probs, probs[tested[is_real]], rtol=1e-4)


@pytest.mark.usefixtures(*MADE)
@pytest.mark.parametrize("depth", [1, 5, 10])
def test_metrics_equal_independent_loops_and_those_of_the_library(depth):
    """Equal scores count against the tested item."""
    prepared = prepare(Setting(model="gmf"))
    model = drawn_model(prepared, 1)

    answers = answer([model], prepared)

    metrics, candidates = answers.metrics(depth), prepared.data.candidates
    scores = np.log(answers.probs[:, :, 1] / answers.probs[:, :, 0])
    hits, gains = metrics_by_loops(np.where(candidates == NO_ITEM, -np.inf, scores), depth)
    assert metrics[f"hit_rate_{depth}_candidates"] == pytest.approx(hits)
    assert metrics[f"ndcg_{depth}_candidates"] == pytest.approx(gains)
    for part, items in answers.top.items():
        # Two equal runs: a single one is not measured.
        measured = sp.measure(np.stack([items] * 2), relevant=candidates[:, :1], depth=depth)
        for name in ("hit_rate", "ndcg"):
            ours = metrics[f"{name}_{depth}_{part}"]
            assert measured[f"{name}@{depth}"].value == pytest.approx(ours)
