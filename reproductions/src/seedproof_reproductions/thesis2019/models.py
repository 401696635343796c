"""The recommenders: GMF, NCF and NeuMF (He et al., 2017), FISM (Kabbur et al., 2013), DeepICF.

Written from the descriptions in the papers and in the thesis. All predict logits of a user and an
item; FISM and DeepICF know a user by the items that the user has rated. They have no dropout.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from seedproof_reproductions.thesis2019.attention import (
    PooledHistory,
    beta_softmax,
    hidden_units,
)
from seedproof_reproductions.thesis2019.data import Histories

# As in the models' papers.
INIT_SD = 0.01
ALPHA = BETA = 0.8
N_UNITS = 8

# From users to logits of all items: axes (users, items, outputs).
Scorer: TypeAlias = Callable[[Tensor], Tensor]


class Recommender(nn.Module, ABC):
    """A model from users and items to logits, axes (examples, outputs)."""

    # Whether the examples of a user must follow each other, and batches have whole users.
    reads_histories: ClassVar[bool] = False

    def __init__(self, histories: Histories) -> None:
        super().__init__()
        self.histories = histories

    @abstractmethod
    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """Return the logits of each pair of a user and an item."""

    def scorer(self) -> Scorer:
        """Return a function that scores all items for some users, with the present weights."""
        items = torch.arange(self.histories.n_items)

        def score(users: Tensor) -> Tensor:
            pairs = users.repeat_interleave(len(items)), items.repeat(len(users))
            logits: Tensor = self(*pairs)
            return logits.view(len(users), len(items), -1)

        return score


def _vectors(n_rows: int, n_factors: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(n_rows, n_factors) * INIT_SD)


def _tower(*sizes: int) -> nn.Sequential:
    """Return layers of these sizes, with a ReLU after each."""
    layers = [
        layer
        for n_inputs, n_units in pairwise(sizes)
        for layer in (nn.Linear(n_inputs, n_units), nn.ReLU())
    ]
    return nn.Sequential(*layers)


class _Product(nn.Module):
    """Product of the vectors of user and item."""

    def __init__(self, histories: Histories, n_factors: int) -> None:
        super().__init__()
        self.users = _vectors(histories.n_users, n_factors)
        self.items = _vectors(histories.n_items, n_factors)
        self.n_features = n_factors

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        return functional.embedding(users, self.users) * functional.embedding(items, self.items)


class _Tower(nn.Module):
    """Layers on the vectors of user and item, one after the other."""

    def __init__(self, histories: Histories, n_factors: int) -> None:
        super().__init__()
        self.users = _vectors(histories.n_users, 2 * n_factors)
        self.items = _vectors(histories.n_items, 2 * n_factors)
        self.layers = _tower(4 * n_factors, 2 * n_factors, n_factors)
        self.n_features = n_factors

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        vectors = functional.embedding(users, self.users), functional.embedding(items, self.items)
        features: Tensor = self.layers(torch.cat(vectors, dim=1))
        return features


class PairModel(Recommender):
    """GMF, NCF or NeuMF: a linear layer on the features of a user and an item."""

    parts: ClassVar[tuple[type[_Product | _Tower], ...]]

    def __init__(self, histories: Histories, n_factors: int, n_outputs: int) -> None:
        super().__init__(histories)
        self.features = nn.ModuleList(part(histories, n_factors) for part in self.parts)
        self.output = nn.Linear(n_factors * len(self.parts), n_outputs)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:  # noqa: D102 - in the base
        features = [part(users, items) for part in self.features]
        logits: Tensor = self.output(torch.cat(features, dim=1))
        return logits


class GMF(PairModel):
    """Generalized matrix factorization: a weighted product of the vectors of user and item."""

    parts = (_Product,)


class NCF(PairModel):
    """Neural collaborative filtering: layers on the vectors of user and item."""

    parts = (_Tower,)


class NeuMF(PairModel):
    """GMF and NCF together, each with vectors of its own."""

    parts = (_Product, _Tower)


class FISM(Recommender):
    """Factored item similarity: the sum of a history's vectors times the target's vector.

    The sum is divided by the history's length to the power of α. It is what DeepICF begins with:
    its attention has about equal weights at first.
    """

    reads_histories = True

    def __init__(self, histories: Histories, n_factors: int) -> None:
        super().__init__(histories)
        self.history = _vectors(histories.n_items, n_factors)
        self.targets = _vectors(histories.n_items, n_factors)
        self.bias = nn.Parameter(torch.zeros(histories.n_items, 1))

    def forward(self, users: Tensor, items: Tensor) -> Tensor:  # noqa: D102 - in the base
        known, counts = torch.unique_consecutive(users, return_counts=True)
        sizes = self.histories.sizes[known]
        sums = functional.embedding_bag(
            self.histories.items[self.histories.rows_of(known)],
            self.history,
            sizes.cumsum(0) - sizes,
            mode="sum",
        )
        is_own = (self.histories.places(users, items) >= 0).unsqueeze(1)
        others = sums.repeat_interleave(counts, dim=0) - is_own * functional.embedding(
            items, self.history
        )
        n_others = sizes.repeat_interleave(counts).unsqueeze(1) - is_own.long()
        products = others * functional.embedding(items, self.targets)
        logits = products.sum(1, keepdim=True) / n_others**ALPHA
        return logits + functional.embedding(items, self.bias)


class DeepICF(Recommender):
    """Deep item-based collaborative filtering with attention (Xue et al., 2018).

    Batch normalization, which the authors' code has, is left out.
    """

    reads_histories = True

    def __init__(self, histories: Histories, n_factors: int, n_outputs: int) -> None:
        super().__init__(histories)
        self.history = _vectors(histories.n_items, n_factors)
        self.targets = _vectors(histories.n_items, n_factors)
        self.bias = nn.Parameter(torch.zeros(histories.n_items, 1))
        self.attention = nn.Linear(n_factors, N_UNITS)
        self.mix = nn.Parameter(torch.randn(N_UNITS) * N_UNITS**-0.5)
        self.layers = _tower(n_factors, 2 * n_factors, n_factors)
        self.output = nn.Linear(n_factors, n_outputs)

    @torch.no_grad()
    def start_from(self, pretrained: FISM) -> None:
        """Begin with the vectors and biases of another model."""
        for mine, other in (
            (self.history, pretrained.history),
            (self.targets, pretrained.targets),
            (self.bias, pretrained.bias),
        ):
            mine.copy_(other)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:  # noqa: D102 - in the base
        known, counts = torch.unique_consecutive(users, return_counts=True)
        sizes = self.histories.sizes[known]
        history = self.histories.items[self.histories.rows_of(known)]
        pooled: Tensor = PooledHistory.apply(  # type: ignore[no-untyped-call] # torch's
            _with_ones(functional.embedding(history, self.history)),
            _with_ones(functional.embedding(items, self.targets)),
            self._attention_weight(),
            self.mix,
            self.histories.places(users, items),
            list(zip(sizes.tolist(), counts.tolist(), strict=True)),
            BETA,
        )
        return self._logits(pooled[:, :-1], functional.embedding(items, self.bias))

    def _attention_weight(self) -> Tensor:
        """Return the weights of the attention, with its bias as the last factor."""
        return torch.cat([self.attention.weight, self.attention.bias.unsqueeze(1)], dim=1)

    def score_pooled(self, sums: Tensor, items: Tensor) -> Tensor:
        """Return the logits of weighted sums of histories, and the items that they are for."""
        pooled = sums * functional.embedding(items, self.targets)
        return self._logits(pooled, functional.embedding(items, self.bias))

    def _logits(self, pooled: Tensor, bias: Tensor) -> Tensor:
        logits: Tensor = self.output(self.layers(pooled))
        # The class that is looked for is the last.
        return torch.cat([logits[..., :-1], logits[..., -1:] + bias], dim=-1)

    def scorer(self) -> Scorer:
        """Return a function that scores all items for some users, with the present weights.

        The attention's scores depend on two items and on no user, so they are computed once.
        Items are not excluded from their own history: scores of items that a user has rated differ
        from those of `forward`.
        """
        scores, history = self.attention_scores(), _with_ones(self.history)
        largest = scores.amax(0)
        weights = (scores - largest).exp_()
        scale = ((1 - BETA) * largest).exp_().unsqueeze(1) * self.targets

        def pool(user: int) -> Tensor:
            items = self.histories.of(user)
            # The last factor is 1, so that it has the sum of the weights.
            sums = weights[items].T @ history[items]
            return sums[:, :-1] / sums[:, -1:] ** BETA * scale

        def score(users: Tensor) -> Tensor:
            return self._logits(torch.stack([pool(user) for user in users.tolist()]), self.bias)

        return score

    @torch.no_grad()
    def attention_scores(self) -> Tensor:
        """Return f of all pairs of items: axes (history, targets)."""
        weight, history = self._attention_weight(), _with_ones(self.history)
        scores = [
            self.mix @ hidden_units(history, weight.unsqueeze(1) * targets)
            for targets in torch.split(_with_ones(self.targets), 16)
        ]
        return torch.cat(scores).view(len(self.targets), -1).T.contiguous()

    @torch.no_grad()
    def attend(self, users: Tensor, items: Tensor) -> list[Tensor]:
        """Return the attention of each item over the history of its user."""
        scores = self.attention_scores()
        pairs = zip(users.tolist(), items.tolist(), strict=True)
        return [beta_softmax(scores[self.histories.of(user), item], BETA) for user, item in pairs]


def _with_ones(vectors: Tensor) -> Tensor:
    return functional.pad(vectors, (0, 1), value=1.0)


MODELS: dict[str, type[PairModel | DeepICF]] = {
    "gmf": GMF,
    "ncf": NCF,
    "neumf": NeuMF,
    "deepicf": DeepICF,
}
