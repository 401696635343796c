"""Vectors of users and items: are the nearest neighbors of two seeds the same?"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from sklearn.manifold import TSNE
from torch import Tensor

import seedproof as sp
from seedproof.metrics.neighbors import nearest_neighbors
from seedproof.typing import FloatArray, IntArray
from seedproof_reproductions.ratios import Ratio
from seedproof_reproductions.results import plain_array, plain_figure
from seedproof_reproductions.thesis2019.models import DeepICF, PairModel

N_NEIGHBORS = 10
# Users on a map, and the runs that have one.
N_SHOWN, N_MAPS = 600, 2
# Users from this age on are marked, as in the thesis.
OLD = 56


def vectors_of(model: PairModel | DeepICF) -> dict[str, FloatArray]:
    """Return the vectors of users and items by a name, axes (users or items, factors)."""
    if isinstance(model, DeepICF):
        vectors: dict[str, Tensor] = {"rated items": model.history, "target items": model.targets}
    else:
        # NeuMF has two vectors of each.
        vectors = {
            name: torch.cat([getattr(part, name) for part in model.features], dim=1)
            for name in ("users", "items")
        }
    return {name: of_all.detach().numpy() for name, of_all in vectors.items()}


def vector_figures(
    models: Mapping[str, PairModel | DeepICF], ages: IntArray | None, *, has_map: bool
) -> dict[str, Any]:
    """Return the agreement of neighbors between runs, by name of the vectors.

    Args:
        models: The model of each run.
        ages: Age group of each user; None if unknown.
        has_map: True to add maps of the users of two runs.

    Returns:
        Figures of each kind of vectors; those of users also have their age groups and maps.
    """
    by_run = [vectors_of(model) for model in models.values()]
    figures: dict[str, Any] = {}
    for name in by_run[0]:
        vectors = [of_run[name] for of_run in by_run]
        shared = sp.neighbor_agreement(vectors, k=N_NEIGHBORS)
        figures[name] = {"agreement": plain_figure(shared.agreement), "chance": shared.chance}
        if name == "users" and ages is not None:
            figures[name] |= _same_age(vectors, ages)
            if has_map:
                figures[name]["map"] = _map(vectors[:N_MAPS], ages)
    return figures


def _same_age(vectors: list[FloatArray], ages: IntArray) -> dict[str, Any]:
    """Return the share of a user's neighbors in the same age group, and the excess over chance."""
    neighbors = np.stack([nearest_neighbors(of_run, N_NEIGHBORS) for of_run in vectors])
    shares = (ages[neighbors] == ages[:, np.newaxis]).mean(axis=2)
    sizes = np.bincount(ages)[ages]
    by_chance = np.broadcast_to((sizes - 1) / (len(ages) - 1), shares.shape)
    every = np.ones(shares.shape, dtype=np.bool_)
    share, chance = Ratio.mean(shares, every), Ratio.mean(by_chance, every)
    return {
        "same_age": plain_figure(share.estimate()),
        "same_age_excess": plain_figure((share - chance).estimate()),
    }


def _map(vectors: list[FloatArray], ages: IntArray) -> dict[str, Any]:
    """Return maps of some users in random order, by t-SNE, and which of them are old."""
    rng = np.random.default_rng(0)
    shown = rng.permutation(len(ages))[:N_SHOWN]
    maps = [TSNE(random_state=0).fit_transform(of_run[shown]) for of_run in vectors]
    return {
        "is_old": "".join("1" if age >= OLD else "0" for age in ages[shown]),
        "places": [plain_array(np.round(points, 1).astype(np.float64).T) for points in maps],
    }
