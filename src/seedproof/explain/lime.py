"""LIME on token ids: leave out words, and fit a linear model to the change of the prediction.

Like `LimeTextExplainer` of the `lime` package with `bow=False`: words are distinguished by their
position, and a word that is left out is replaced by a neutral token, so that the others keep their
places. Unlike it, all samples of a text go through a model at once and equal ones only once, and
the samples depend on a seed and the text's id alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from seedproof.errors import OptionError
from seedproof.explain.base import Scores, TokenBatch, check_size, seed_of, to_shares
from seedproof.explain.models import chosen_targets, probs_of, undisturbed
from seedproof.explain.surrogate import Surrogate
from seedproof.typing import BoolArray, FloatArray, is_count

DEFAULT_SURROGATE = Surrogate()


@dataclass(frozen=True, kw_only=True)
class Lime:
    """Weights of a local linear model of the prediction (Ribeiro et al., 2016).

    The samples of a text depend on the seed, the draw and the text's id: not on the run, on other
    texts, or on earlier explanations. So runs that are explained with one seed see the same
    samples, also in different processes, and differences between them are not the explainer's
    noise. That noise is the distance between two draws of one run.

    Args:
        replacement: Token in place of a word that is left out, such as that of unknown words.
        seed: Seed of the samples; give all runs the same.
        draw: Index of the repeat of the sampling.
        n_samples: Number of samples per text, the whole text being the first.
        surrogate: The linear model.
        signed: Return signed weights; otherwise shares, which sum to 1 over the words.
        batch_size: Number of samples per forward pass; the size of the cache is fastest on a CPU,
            more is faster on a GPU.

    Raises:
        OptionError: A value is not allowed.
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
                    "`{option}` is {number!r}. Pass an integer of at least {least}.",
                    option=name,
                    number=value,
                    least=least,
                )

    def __call__(self, model: nn.Module, texts: TokenBatch, /) -> Scores:
        """Return the weight of each word in the probability of the class."""
        return self.explain_runs([model], texts)[0]

    def explain_runs(self, models: Sequence[nn.Module], texts: TokenBatch) -> list[Scores]:
        """Explain several runs with the same samples, and fit all linear models at once.

        Args:
            models: One model per run.
            texts: Texts to explain.

        Returns:
            One array per run and text: the same as run by run, except for rounding.
        """
        if len(models) == 0:
            return []
        scores: list[Scores] = [[np.empty(0)] * len(texts) for _ in models]
        for (row,), text in texts.chunks(1):
            for run, weight in zip(scores, self._explain_text(models, text), strict=True):
                run[row] = weight
        return scores if self.signed else [to_shares(run) for run in scores]

    def samples(self, example: int | str, n_words: int) -> BoolArray:
        """Draw the words that each sample of a text keeps; the first keeps all.

        The number of words that are left out is uniform from 1 to all, and then their choice.

        Args:
            example: Id of the text.
            n_words: Number of its words.

        Returns:
            True for words that are kept, axes (samples, words).
        """
        rng = np.random.default_rng(seed_of(self.seed, self.draw, example))
        n_left_out = rng.integers(1, n_words + 1, self.n_samples - 1)
        keys = rng.random((self.n_samples - 1, n_words))
        last = np.take_along_axis(np.sort(keys, axis=1), n_left_out[:, None] - 1, axis=1)
        return np.concatenate([np.ones((1, n_words), dtype=bool), keys > last])

    def _explain_text(self, models: Sequence[nn.Module], text: TokenBatch) -> FloatArray:
        """Return weights, axes (runs, words)."""
        kept = self.samples(text.ids[0], int(text.is_word.sum()))
        # Samples of short texts, and those that keep few words, repeat often.
        different, places = np.unique(kept, axis=0, return_inverse=True)
        tokens = text.tokens.repeat(len(different), 1)
        is_out = torch.from_numpy(~different).to(tokens.device)
        words = text.is_word[0].nonzero()[:, 0]
        tokens[:, words] = tokens[:, words].masked_fill(is_out, self.replacement)
        whole = int(places.ravel()[0])
        values = [self._target_probs(model, tokens, text, whole) for model in models]
        return self.surrogate.fit(kept, np.stack(values, axis=1)[places.ravel()])

    def _target_probs(
        self, model: nn.Module, tokens: Tensor, text: TokenBatch, whole: int
    ) -> FloatArray:
        """Return the probability of the explained class in each sample."""
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
