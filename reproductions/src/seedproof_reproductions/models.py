"""Text classifiers with attention: a CNN or BiLSTM encoder, additive or scaled-dot attention.

The models of Jain & Wallace (2019) and of the CoNLL 2019 paper, written from their
descriptions. They have no dropout, so `init` and `order` are the only sources of randomness.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from seedproof.typing import FloatArray
from seedproof_reproductions.datasets.texts import PADDING

if TYPE_CHECKING:
    from collections.abc import Iterable

KERNELS = (1, 3, 5, 7)
N_FILTERS = 32
LSTM_SIZE = 128


class Answer(NamedTuple):
    """Output of a model for a batch.

    Args:
        logits: Axes (examples, classes); one column where there are two classes.
        attention: Axes (examples, positions): sums to 1 over the words, 0 elsewhere.
    """

    logits: Tensor
    attention: Tensor

    def probs(self) -> Tensor:
        """Probabilities, axes (examples, classes)."""
        if self.logits.shape[1] > 1:
            return self.logits.softmax(-1)
        positive = self.logits[:, 0].sigmoid()
        return torch.stack([1 - positive, positive], dim=-1)


class CNNEncoder(nn.Module):
    """States from windows of one to seven words around each position."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.windows = nn.ModuleList(
            nn.Conv1d(n_inputs, N_FILTERS, width, padding=width // 2) for width in KERNELS
        )
        self.n_outputs = N_FILTERS * len(KERNELS)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return axes (examples, positions, outputs); padding is 0, as if nothing were there."""
        del lengths
        # As a picture one pixel high, whose channels come last in memory: on a CPU, torch is
        # twice as fast with it as with the same sums in one dimension.
        picture = words.transpose(1, 2).unsqueeze(2)
        seen = [
            functional.conv2d(
                picture,
                window.weight.unsqueeze(2).contiguous(memory_format=torch.channels_last),
                window.bias,
                padding=(0, window.kernel_size[0] // 2),
            )
            for window in cast("Iterable[nn.Conv1d]", self.windows)
        ]
        return torch.cat(seen, dim=1).relu().squeeze(2).transpose(1, 2)

    def summary(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return the largest of each output over the positions of a text."""
        is_padding = torch.arange(states.shape[1]) >= lengths.unsqueeze(-1)
        return states.masked_fill(is_padding.unsqueeze(-1), float("-inf")).amax(dim=1)


class LSTMEncoder(nn.Module):
    """States of each position, read from both sides."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        # Two LSTMs of one direction, because packed texts take torch twice as long on a CPU.
        self.ahead = nn.LSTM(n_inputs, LSTM_SIZE, batch_first=True)
        self.back = nn.LSTM(n_inputs, LSTM_SIZE, batch_first=True)
        self.n_outputs = 2 * LSTM_SIZE

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return axes (examples, positions, outputs); padding comes last in both directions."""
        ahead, _ = self.ahead(words)
        back, _ = self.back(_reversed(words, lengths))
        return torch.cat([ahead, _reversed(back, lengths)], dim=-1)

    def summary(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return the forward state of the last position and the backward state of the first."""
        rows = torch.arange(len(states))
        ahead = states[rows, lengths - 1, :LSTM_SIZE]
        return torch.cat([ahead, states[:, 0, LSTM_SIZE:]], dim=-1)


class AdditiveScore(nn.Module):
    """Additive attention scores: vᵀtanh(Wh), or vᵀtanh(Wh + Uq) with a second text."""

    def __init__(self, n_inputs: int, n_query: int = 0) -> None:
        super().__init__()
        self.states = nn.Linear(n_inputs, n_inputs // 2)
        self.query = nn.Linear(n_query, n_inputs // 2, bias=False) if n_query else None
        self.weigh = nn.Linear(n_inputs // 2, 1, bias=False)

    def forward(self, states: Tensor, query: Tensor | None = None) -> Tensor:
        """Return scores, axes (examples, positions)."""
        mixed = self.states(states)
        if self.query is not None and query is not None:
            mixed = mixed + self.query(query).unsqueeze(1)
        scores: Tensor = self.weigh(mixed.tanh()).squeeze(-1)
        return scores


class DotScore(nn.Module):
    """Scaled-dot attention scores: Wh/√m, or (Uq)ᵀh/√m with a second text."""

    def __init__(self, n_inputs: int, n_query: int = 0) -> None:
        super().__init__()
        self.weigh = nn.Linear(n_inputs, 1, bias=False) if n_query == 0 else None
        self.query = nn.Linear(n_query, n_inputs, bias=False) if n_query else None
        self.scale = 1 / math.sqrt(n_inputs)

    def forward(self, states: Tensor, query: Tensor | None = None) -> Tensor:
        """Return scores, axes (examples, positions)."""
        if self.query is not None and query is not None:
            with_query: Tensor = (states @ self.query(query).unsqueeze(-1)).squeeze(-1)
            return with_query * self.scale
        if self.weigh is None:
            raise TypeError("This attention was made for pairs of texts: give the query.")
        scores: Tensor = self.weigh(states).squeeze(-1) * self.scale
        return scores


ENCODERS: dict[str, type[CNNEncoder | LSTMEncoder]] = {"cnn": CNNEncoder, "lstm": LSTMEncoder}
ATTENTIONS = {"additive": AdditiveScore, "dot": DotScore}


@dataclass(frozen=True)
class Shape:
    """Architecture of a model.

    Args:
        encoder: `cnn` or `lstm`.
        attention: `additive` or `dot`.
        n_classes: How many classes; two share one logit.
        is_pair: Whether examples are pairs of texts, of which the first is attended to.
    """

    encoder: str = "cnn"
    attention: str = "additive"
    n_classes: int = 2
    is_pair: bool = False


class Classifier(nn.Module):
    """Embedding, encoder, attention, and a linear layer; for pairs, a hidden layer joins both.

    Embeddings begin with pretrained vectors and are trained like everything else.
    """

    def __init__(self, shape: Shape, vectors: FloatArray) -> None:
        super().__init__()
        n_dimensions = vectors.shape[1]
        self.shape = shape
        # The constructor, which has types, would draw weights and so advance the generator.
        self.embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
            torch.tensor(vectors, dtype=torch.float32), freeze=False, padding_idx=PADDING
        )
        self.encoder = ENCODERS[shape.encoder](n_dimensions)
        size = self.encoder.n_outputs
        self.query_encoder = ENCODERS[shape.encoder](n_dimensions) if shape.is_pair else None
        self.score = ATTENTIONS[shape.attention](size, size if shape.is_pair else 0)
        self.join = nn.Linear(2 * size, size) if shape.is_pair else None
        self.output = nn.Linear(size, 1 if shape.n_classes == 2 else shape.n_classes)

    def forward(self, numbers: Tensor, lengths: Tensor, *query: Tensor) -> Answer:
        """Predict texts, given as the numbers of their words with marks at both ends.

        The query of a pair is given alike: its numbers and lengths.
        """
        embedded = (self.embedding(query[0]), query[1]) if query else ()
        return self.from_embedded(self.embedding(numbers), lengths, *embedded)

    def from_embedded(self, words: Tensor, lengths: Tensor, *query_words: Tensor) -> Answer:
        """Predict texts, given as vectors: for gradients with respect to them."""
        states = self.encoder(words, lengths)
        query = self._summary(*query_words)
        scores = self.score(states, query)
        scores = scores.masked_fill(~is_word(scores, lengths), float("-inf"))
        attention = scores.softmax(-1)
        context = (attention.unsqueeze(1) @ states).squeeze(1)
        if self.join is not None and query is not None:
            context = self.join(torch.cat([context, query], dim=-1)).tanh()
        return Answer(self.output(context), attention)

    def _summary(self, *query: Tensor) -> Tensor | None:
        if self.query_encoder is None:
            return None
        if not query:
            raise TypeError("This model was made for pairs of texts: give both.")
        summary: Tensor = self.query_encoder.summary(self.query_encoder(*query), query[1])
        return summary


def is_word(scores: Tensor, lengths: Tensor) -> Tensor:
    """Return which positions can be attended to: neither padding nor the marks at both ends."""
    places = torch.arange(scores.shape[1])
    return (places > 0) & (places < (lengths - 1).unsqueeze(-1))


def _reversed(values: Tensor, lengths: Tensor) -> Tensor:
    """Reverse texts; padding stays where it is."""
    places = torch.arange(values.shape[1])
    ends = lengths.unsqueeze(-1)
    origin = torch.where(places < ends, ends - 1 - places, places)
    return values.gather(1, origin.unsqueeze(-1).expand_as(values))
