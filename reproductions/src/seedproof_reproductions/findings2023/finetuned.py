"""MiniLM and a head, trained end to end."""

import numpy as np
import torch
from torch import Tensor

from seedproof.runs.rng import GlobalStream
from seedproof_reproductions.findings2023.classifier import Classifier
from seedproof_reproductions.findings2023.head import Head
from seedproof_reproductions.findings2023.sources import Sources
from seedproof_reproductions.minilm import PADDING, load_encoder, mean_state

# Utterances of like length that go through the encoder together: less padding, the same result.
TRAINED_TOGETHER, PREDICTED_TOGETHER = 64, 256


class FineTuned(Classifier):
    """Tokens to logits: the pretrained encoder, the mean of its states, and a head.

    The encoder computes in bfloat16 with weights in float32, as is usual now; the head in float32.

    Args:
        head: What follows the encoder.
        encoder_multiplied: Multiplications of the encoder for one utterance, on average.
        sources: Where the encoder's dropped units come from.
    """

    def __init__(self, head: Head, *, encoder_multiplied: float, sources: Sources) -> None:
        super().__init__()
        self.encoder = load_encoder()
        self.head = head
        self._encoder_multiplied = encoder_multiplied
        # The encoder's own dropout knows no generator but torch's global one.
        seed = torch.randint(2**62, (), generator=sources.dropout)
        self._dropped = GlobalStream(np.random.SeedSequence(int(seed)))

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits of each utterance, given the numbers of its tokens."""
        order = (inputs != PADDING).sum(dim=1).argsort(stable=True)
        together = TRAINED_TOGETHER if self.training else PREDICTED_TOGETHER
        with self._dropped.followed(), torch.autocast("cpu", torch.bfloat16):
            states = [
                mean_state(self.encoder, inputs[rows]) for rows in torch.split(order, together)
            ]
        logits: Tensor = self.head(torch.cat(states)[order.argsort()])
        return logits

    @property
    def n_multiplied(self) -> float:
        """Multiplications that one utterance takes on its way forward, on average."""
        return self._encoder_multiplied + self.head.n_multiplied
