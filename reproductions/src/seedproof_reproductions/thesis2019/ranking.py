"""Answers of a model: probabilities of the candidates, and ranked lists of items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seedproof.metrics.items.relevance import RankedGains
from seedproof.typing import FloatArray, IntArray
from seedproof_reproductions.datasets.movielens import NO_ITEM
from seedproof_reproductions.thesis2019.data import Prepared
from seedproof_reproductions.thesis2019.models import Recommender
from seedproof_reproductions.thesis2019.settings import CANDIDATES, CATALOG

# Length of the lists that are kept, and of those that are judged, as published.
N_TOP, DEPTH = 20, 10
# Users that are scored at a time.
USERS = 32


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers for each user; the tested item is the first candidate.

    Args:
        candidates: Items, axes (users, candidates), NO_ITEM where there is none.
        probs: Axes (users, candidates, classes).
        top: By name of the part that is ranked, the items with the best log-odds of the last class,
            best first, axes (users, places); NO_ITEM after the end of a list.
    """

    candidates: IntArray
    probs: FloatArray
    top: Mapping[str, IntArray]

    def metrics(self, depth: int = DEPTH) -> dict[str, float]:
        """Return hit rate and NDCG of the tested items in each part."""
        metrics = {}
        for part, items in self.top.items():
            gains = RankedGains(items[np.newaxis], self.candidates[:, :1])
            metrics[f"hit_rate_{depth}_{part}"] = float(gains.hit_rate(depth).mean())
            metrics[f"ndcg_{depth}_{part}"] = float(gains.ndcg(depth).mean())
        return metrics


def log_odds(logits: Tensor) -> Tensor:
    """Return the log-odds of the last class, from logits with the outputs as the last axis."""
    if logits.shape[-1] == 1:
        return logits[..., 0]
    return logits[..., -1] - logits[..., :-1].logsumexp(-1)


def probabilities(logits: Tensor) -> Tensor:
    """Return the probabilities of the classes; a single output is the logit of the second."""
    if logits.shape[-1] == 1:
        return torch.cat([-logits, logits], dim=-1).sigmoid()
    return logits.softmax(-1)


def mean_logits(logits: Sequence[Tensor]) -> Tensor:
    """Return logits with the mean of the probabilities of several models."""
    if len(logits) == 1:
        return logits[0]
    return torch.stack([probabilities(of_model) for of_model in logits]).mean(0).log()


def top_items(scores: Tensor, items: Tensor, n_top: int = N_TOP) -> Tensor:
    """Return the items with the best scores, axes (users, places).

    Equal scores stay in the given order. NO_ITEM is in place of those with −inf.
    """
    ordered = scores.sort(descending=True, stable=True)
    best = items.expand_as(scores).gather(1, ordered.indices)
    return best.masked_fill_(ordered.values.isneginf(), NO_ITEM)[:, :n_top]


@torch.no_grad()
def answer(models: Sequence[Recommender], prepared: Prepared) -> Answers:
    """Score all items for all users by the mean of some models.

    The probabilities of the candidates are kept, and the best items.
    """
    candidates = torch.from_numpy(prepared.data.candidates)
    catalog = torch.arange(prepared.data.n_items)
    scorers = [model.scorer() for model in models]
    parts = []
    for users in torch.split(torch.arange(prepared.data.n_users), USERS):
        logits = mean_logits([score(users) for score in scorers])
        scores, tested = log_odds(logits), candidates[users]
        # Where one was dropped, any item does.
        items = tested.clamp(min=0)
        of_unseen = scores.masked_fill(prepared.histories.is_seen[users], float("-inf"))
        of_tested = scores.gather(1, items).masked_fill(tested == NO_ITEM, float("-inf"))
        rows = torch.arange(len(users)).unsqueeze(1)
        parts.append(
            (
                probabilities(logits[rows, items]),
                # The tested item comes last, so that equal scores count against it.
                top_items(of_tested.roll(-1, 1), tested.roll(-1, 1)),
                top_items(of_unseen, catalog),
            )
        )
    probs, of_candidates, of_catalog = (
        torch.cat(part).numpy() for part in zip(*parts, strict=True)
    )
    top = {CANDIDATES: of_candidates, CATALOG: of_catalog}
    return Answers(prepared.data.candidates, probs, top)
