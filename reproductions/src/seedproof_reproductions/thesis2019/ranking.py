"""Answers of a model: probabilities of the candidates, and ranked lists of items."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seedproof.typing import FloatArray, IntArray
from seedproof_reproductions.datasets.movielens import NO_ITEM
from seedproof_reproductions.thesis2019.data import Prepared
from seedproof_reproductions.thesis2019.models import Recommender

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
        scores: Log-odds of the last class, which items are ranked by, axes (users, candidates);
            −inf where there is no candidate.
        top_candidates: Best candidates, best first, axes (users, places).
        top_unseen: Best of all items that the user has not rated in training, likewise.
    """

    candidates: IntArray
    probs: FloatArray
    scores: FloatArray
    top_candidates: IntArray
    top_unseen: IntArray

    def metrics(self, depth: int = DEPTH) -> dict[str, float]:
        """Return hit rate and NDCG of the tested items, and their hit rate among all items."""
        place = places_of_first(self.scores)
        is_hit = place < depth
        gains = np.where(is_hit, 1 / np.log2(place + 2), 0.0)
        is_listed = (self.top_unseen[:, :depth] == self.candidates[:, :1]).any(axis=1)
        return {
            f"hit_rate_{depth}": float(is_hit.mean()),
            f"ndcg_{depth}": float(gains.mean()),
            f"hit_rate_{depth}_unseen": float(is_listed.mean()),
        }


def places_of_first(scores: FloatArray) -> IntArray:
    """Return the place of the first score of each row, from 0; equal scores come before it."""
    places: IntArray = (scores[:, 1:] >= scores[:, :1]).sum(axis=1)
    return places


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


def top_items(scores: Tensor, is_allowed: Tensor, n_top: int = N_TOP) -> Tensor:
    """Return the allowed items with the best scores, axes (users, places).

    Equal scores are in the order of the items' numbers; NO_ITEM follows where there are no more.
    """
    ordered = scores.masked_fill(~is_allowed, float("-inf")).sort(descending=True, stable=True)
    return ordered.indices.masked_fill(ordered.values.isneginf(), NO_ITEM)[:, :n_top]


@torch.no_grad()
def answer(model: Recommender, prepared: Prepared) -> Answers:
    """Score all items for all users, and keep the candidates and the best."""
    candidates = torch.from_numpy(prepared.data.candidates)
    score = model.scorer()
    parts = []
    for users in torch.split(torch.arange(prepared.data.n_users), USERS):
        logits, tested = score(users), candidates[users]
        scores = log_odds(logits)
        is_candidate = torch.zeros_like(scores, dtype=torch.bool)
        # Those that were dropped repeat the first.
        items = torch.where(tested == NO_ITEM, tested[:, :1], tested)
        is_candidate.scatter_(1, items, value=True)
        rows = torch.arange(len(users)).unsqueeze(1)
        parts.append(
            (
                probabilities(logits[rows, items]),
                scores.gather(1, items).masked_fill(tested == NO_ITEM, float("-inf")),
                top_items(scores, is_candidate),
                top_items(scores, ~prepared.histories.is_seen[users]),
            )
        )
    arrays = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
    return Answers(prepared.data.candidates, *arrays)
