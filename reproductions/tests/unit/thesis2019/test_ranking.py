import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seedproof_reproductions.datasets.movielens import NO_ITEM
from seedproof_reproductions.thesis2019.data import prepare
from seedproof_reproductions.thesis2019.models import GMF
from seedproof_reproductions.thesis2019.ranking import (
    Answers,
    answer,
    log_odds,
    probabilities,
    top_items,
)
from seedproof_reproductions.thesis2019.settings import Setting

# Few values, so that there are ties; −inf is a candidate that was dropped.
SCORES = st.sampled_from([-math.inf, 0.0, 0.5, 1.0, 2.0])


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
    rows=st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0]), *[SCORES] * 6), min_size=1, max_size=8
    ),
    depth=st.integers(1, 7),
)
def test_metrics_equal_independent_loops(rows, depth):
    """Ties count against the tested item, so that a constant score hits nothing."""
    scores, n_users = np.array(rows), len(rows)
    items = np.tile(np.arange(7), (n_users, 1))
    unseen = np.tile([5, 0, 3], (n_users, 1))

    metrics = Answers(items, np.empty(0), scores, items, unseen).metrics(depth)

    hits, gains = metrics_by_loops(rows, depth)
    assert metrics[f"hit_rate_{depth}"] == pytest.approx(hits)
    assert metrics[f"ndcg_{depth}"] == pytest.approx(gains)
    # Item 0 is second in the list of all items.
    assert metrics[f"hit_rate_{depth}_unseen"] == float(depth >= 2)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.booleans()), min_size=3, max_size=9))
def test_top_items_equal_a_sort_of_those_that_are_allowed(row):
    """Equal scores are in the order of the items; a short list ends with NO_ITEM."""
    scores, is_allowed = map(torch.tensor, zip(*row, strict=True))

    (items,) = top_items(scores.view(1, -1), is_allowed.view(1, -1), n_top=3).tolist()

    allowed = [item for item, (_, is_in) in enumerate(row) if is_in]
    best = sorted(allowed, key=lambda item: (-row[item][0], item))[:3]
    assert items == best + [NO_ITEM] * (3 - len(best))


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


@pytest.mark.usefixtures("made_movielens", "single_thread")
def test_answers_are_of_the_candidates_and_of_items_that_are_not_rated():
    """By one pass of the model per user, and a sort in Python."""
    prepared = prepare(Setting(model="gmf"))
    with torch.no_grad():
        model = GMF(prepared.histories, 4, 2)
        for weights in model.parameters():
            weights.copy_(torch.randn(weights.shape, generator=torch.Generator().manual_seed(1)))

        answers = answer(model, prepared)

        for user in (0, 1, 33, 59):
            logits = model(torch.full((120,), user), torch.arange(120))
            scores = (logits[:, 1] - logits[:, 0]).tolist()
            tested = [item for item in prepared.data.candidates[user] if item != NO_ITEM]
            unrated = set(range(120)) - set(prepared.histories.of(user).tolist())
            for items, shown in (
                (tested, answers.top_candidates[user]), (unrated, answers.top_unseen[user])
            ):  # fmt: skip
                assert shown.tolist() == sorted(items, key=lambda item: -scores[item])[:20]
            is_real = prepared.data.candidates[user] != NO_ITEM
            # Batches of other sizes move the last digits.
            given_scores = answers.scores[user]
            np.testing.assert_allclose(
                given_scores[is_real], [scores[i] for i in tested], rtol=1e-4
            )
            probs = logits.softmax(1)[tested]
            np.testing.assert_allclose(answers.probs[user][is_real], probs, rtol=1e-4)
    # One candidate of user 0 was dropped: the tested item does not compete with itself.
    assert (answers.scores[0] == -math.inf).sum() == 1
    assert (answers.scores[1:] == -math.inf).sum() == 0
