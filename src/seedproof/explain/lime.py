"""LIME on token numbers: leave words out, see what changes, fit a linear model to it.

As `LimeTextExplainer` of the `lime` package does it with `bow=False`: words are told apart by
their position, and one that is left out is replaced by a token that stands for no word, so that
the others keep their places. What differs is that all samples of a text go through a model at
once and equal ones once, and that the samples follow from a seed and the text's id alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import index

import numpy as np
import torch
from torch import Tensor, nn

from seedproof.errors import OptionError
from seedproof.explain.base import Scores, TokenBatch, check_size, to_shares
from seedproof.explain.models import chosen_targets, probs_of, undisturbed
from seedproof.explain.surrogate import Surrogate
from seedproof.typing import BoolArray, FloatArray, is_count

DEFAULT_SURROGATE = Surrogate()


@dataclass(frozen=True, kw_only=True)
class Lime:
    """How a linear model, true near the text only, weighs each word (Ribeiro et al., 2016).

    The samples of a text depend on the seed, the draw and the text's id: not on the run, on other
    texts, or on what was explained before. So runs that are explained with one seed see the same
    samples, also in different processes, and what differs between them is not the explainer's
    noise. That noise is the distance between two draws of one run.

    Args:
        replacement: The token that stands where a word was left out, such as that of unknown words.
        seed: Where samples begin; give all runs the same.
        draw: Which repeat of the sampling, from 0.
        n_samples: How many samples a text, the whole text being the first.
        surrogate: The linear model.
        signed: Weights of words as they are; otherwise shares, which sum to 1 over the words.
        batch_size: How many samples go through a model at once; what fits into a cache is
            fastest on a CPU, more is faster on a GPU.

    Raises:
        OptionError: A value that is not allowed.
    """

    replacement: int
    seed: int
    draw: int = 0
    n_samples: int = 1000
    surrogate: Surrogate = DEFAULT_SURROGATE
    signed: bool = True
    batch_size: int = 256

    def __post_init__(self) -> None:
        check_size(self.batch_size)
        for name, least in (("replacement", 0), ("seed", 0), ("draw", 0), ("n_samples", 2)):
            value = getattr(self, name)
            if not is_count(value, least):
                raise OptionError(
                    "`{option}` is {number!r}. Give a whole number of at least {least}.",
                    option=name,
                    number=value,
                    least=least,
                )

    def __call__(self, model: nn.Module, texts: TokenBatch, /) -> Scores:
        """The weight of each word in the probability of the class."""
        return self.explain_runs([model], texts)[0]

    def explain_runs(self, models: Sequence[nn.Module], texts: TokenBatch) -> list[Scores]:
        """The same for several runs, whose samples are made once and whose models are fit at once.

        Args:
            models: One model a run.
            texts: What to explain.

        Returns:
            For each run one array a text: the same as run by run, except for rounding.
        """
        if len(models) == 0:
            return []
        scores: list[Scores] = [[np.empty(0)] * len(texts) for _ in models]
        for rows, one in texts.chunks(1):
            weights = self._explain_one(models, one)
            for run, weight in zip(scores, weights, strict=True):
                run[rows[0]] = weight
        return scores if self.signed else [to_shares(run) for run in scores]

    def samples(self, example: int | str, n_words: int) -> BoolArray:
        """Which words each sample of a text keeps; the first keeps all.

        How many are left out is uniform from 1 to all, and then which ones.

        Args:
            example: The text's id.
            n_words: How many words it has.

        Returns:
            Axes (samples, words).
        """
        rng = np.random.default_rng(_seed_of(self.seed, self.draw, example))
        n_left_out = rng.integers(1, n_words + 1, self.n_samples - 1)
        keys = rng.random((self.n_samples - 1, n_words))
        last = np.take_along_axis(np.sort(keys, axis=1), n_left_out[:, None] - 1, axis=1)
        return np.concatenate([np.ones((1, n_words), dtype=bool), keys > last])

    def _explain_one(self, models: Sequence[nn.Module], text: TokenBatch) -> FloatArray:
        """Axes (runs, words)."""
        kept = self.samples(text.ids[0], int(text.is_word.sum()))
        # Short texts, and samples that keep next to nothing, come again and again.
        different, places = np.unique(kept, axis=0, return_inverse=True)
        tokens = self._leave_out(text, different)
        whole = int(places.ravel()[0])
        values = [self._ask(model, tokens, text, whole) for model in models]
        return self.surrogate.fit(kept, np.stack(values, axis=1)[places.ravel()])

    def _leave_out(self, text: TokenBatch, kept: BoolArray) -> Tensor:
        tokens = text.tokens.repeat(len(kept), 1)
        is_out = torch.from_numpy(~kept).to(tokens.device)
        words = text.is_word[0].nonzero()[:, 0]
        tokens[:, words] = tokens[:, words].masked_fill(is_out, self.replacement)
        return tokens

    def _ask(self, model: nn.Module, tokens: Tensor, text: TokenBatch, whole: int) -> FloatArray:
        """The probability, in each sample, of the class that is explained."""
        with undisturbed(model), torch.no_grad():
            probs = torch.cat(
                [
                    probs_of(model, some, text.mask.expand(len(some), -1))
                    for some in torch.split(tokens, self.batch_size)
                ]
            )
            target = chosen_targets(probs[whole : whole + 1], text.targets)
            values: FloatArray = probs[:, int(target)].double().cpu().numpy()
        return values


def _seed_of(seed: int, draw: int, example: int | str) -> int:
    """A seed for one draw of one text; 7 and "7" are different ids."""
    # Numbers and strings of numpy are those of Python.
    key = str(example) if isinstance(example, str) else index(example)
    digest = sha256(repr((seed, draw, key)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:16], "big")
