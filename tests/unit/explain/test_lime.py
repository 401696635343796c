import numpy as np
import pytest
import torch
from torch import nn

from seedproof.errors import OptionError
from seedproof.explain import Lime, TokenBatch
from seedproof.explain.surrogate import Surrogate
from seedproof.testing.errors import WithFields
from seedproof.testing.explainers import SmallModel, are_close, some_texts

UNKNOWN = 0


class Additive(nn.Module):
    """The probability of class 1 is .5 plus the sum of the worths of its words."""

    def __init__(self):
        super().__init__()
        self.worth = torch.tensor([0.0, 0.1, -0.2, 0.05, 0.0])
        self.seen = []

    def forward(self, tokens, mask):
        """Return two logits with exactly that probability."""
        self.seen.append(tokens.clone())
        p = 0.5 + (self.worth[tokens] * mask).sum(dim=1)
        return torch.stack([1 - p, p], dim=1).log()


def a_text(*tokens, words=None, target=1):
    """One text without padding."""
    numbers = torch.tensor([tokens])
    return TokenBatch(
        numbers,
        torch.ones_like(numbers).bool(),
        ["only"],
        words=words,
        targets=torch.tensor([target]),
    )


def test_linear_model_is_recovered():
    """Up to the shrinkage by a ridge of 1 in 4000 samples."""
    text = a_text(1, 2, 3, 4)

    (scores,) = Lime(replacement=UNKNOWN, seed=0, n_samples=4000)(Additive(), text)

    np.testing.assert_allclose(scores, [0.1, -0.2, 0.05, 0.0], atol=1e-3)


def test_repeated_words_are_distinguished_by_position():
    """As with `bow=False`: each may be left out alone."""

    class First(nn.Module):
        def forward(self, tokens, mask):
            del mask
            p = 0.2 + 0.6 * (tokens[:, :1] == 1)
            return (p / (1 - p)).log()

    (scores,) = Lime(replacement=UNKNOWN, seed=0, n_samples=2000)(First(), a_text(1, 1, 1, 1))

    assert scores[0] > 0.55
    assert np.abs(scores[1:]).max() < 0.01


def test_only_words_are_replaced():
    """Others keep their places, and equal samples are computed once."""
    model = Additive()
    words = torch.tensor([[False, True, True, False]])

    Lime(replacement=4, seed=0, n_samples=100)(model, a_text(1, 2, 3, 1, words=words))

    (seen,) = model.seen
    assert {tuple(row) for row in seen.tolist()} == {
        (1, 2, 3, 1),
        (1, 4, 3, 1),
        (1, 2, 4, 1),
        (1, 4, 4, 1),
    }
    assert len(seen) == 4


def test_predicted_class_is_explained_by_default():
    """The other class of two has opposite signs."""
    lime = Lime(replacement=UNKNOWN, seed=0, n_samples=200)
    text = a_text(2, 2, 3)  # .5 − .4 + .05: class 0
    predicted = TokenBatch(text.tokens, text.mask, text.ids)

    (own,) = lime(Additive(), predicted)
    (other,) = lime(Additive(), text)

    assert own[0] > 0
    np.testing.assert_allclose(own, -other, atol=1e-6)  # float32


def test_samples_depend_on_seed_draw_and_id_only():
    """7 and "7" are different ids."""
    lime = Lime(replacement=UNKNOWN, seed=3)
    samples = lime.samples(7, 10)

    np.testing.assert_array_equal(samples, Lime(replacement=5, seed=3).samples(np.int64(7), 10))
    np.testing.assert_array_equal(lime.samples("x", 10), lime.samples(np.str_("x"), 10))
    for other in (
        lime.samples("7", 10),
        lime.samples(8, 10),
        Lime(replacement=UNKNOWN, seed=4).samples(7, 10),
        Lime(replacement=UNKNOWN, seed=3, draw=1).samples(7, 10),
    ):
        assert (samples != other).any()


def test_samples_are_distributed_as_in_lime():
    """The first keeps all; the number of words left out is uniform, and all words are equal."""
    samples = Lime(replacement=UNKNOWN, seed=0, n_samples=20_001).samples("x", 8)

    assert samples[0].all()
    n_left_out = (~samples[1:]).sum(axis=1)
    shares = np.bincount(n_left_out, minlength=9) / 20_000
    # Five standard deviations of a share of 1/8, and of a word's share of 9/16, in 20,000 draws.
    np.testing.assert_allclose(shares, [0] + [1 / 8] * 8, atol=0.012)
    np.testing.assert_allclose((~samples[1:]).mean(axis=0), 9 / 16, atol=0.018)


def test_explaining_several_runs_equals_explaining_each():
    """Each for its own predicted class; no runs give no scores."""
    lime = Lime(replacement=UNKNOWN, seed=0, n_samples=200, surrogate=Surrogate(n_words=2))
    models = [SmallModel(seed=seed) for seed in range(4)]
    texts = some_texts()

    together = lime.explain_runs(models, texts)

    for model, scores in zip(models, together, strict=True):
        assert are_close(scores, lime(model, texts))
    assert not are_close(together[0], together[1])
    assert lime.explain_runs([], texts) == []


def test_noise_between_draws_falls_with_the_number_of_samples():
    """Two draws of one run."""
    texts = some_texts()

    def noise(n_samples):
        first, second = (
            Lime(replacement=UNKNOWN, seed=0, draw=draw, n_samples=n_samples)(SmallModel(), texts)
            for draw in (0, 1)
        )
        return max(np.abs(a - b).max() for a, b in zip(first, second, strict=True))

    assert noise(2000) < noise(40) / 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("replacement", -1),
        ("seed", -1),
        ("seed", None),
        ("draw", 0.5),
        ("n_samples", 1),
        ("batch_size", 0),
    ],
)
def test_bad_option_is_refused(name, value):
    """The error has its name and value."""
    fields = {name: value} if name == "batch_size" else {"option": name, "number": value}

    with pytest.raises(OptionError, check=WithFields(**fields)):
        Lime(**({"replacement": UNKNOWN, "seed": 0} | {name: value}))
