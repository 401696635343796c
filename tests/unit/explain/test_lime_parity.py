"""Parity of LIME with the `lime` package, on sentences of SST and a classifier trained on them."""

import csv
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from lime.lime_base import LimeBase
from lime.lime_text import LimeTextExplainer
from torch import nn

from seedproof.explain import Lime, TokenBatch
from seedproof.explain.models import probs_of
from seedproof.testing.trainings import one_thread
from seedproof.training.rng import seed_everything, untouched

UNKNOWN, START, END = 1, 2, 3
N_TOP = 3
LEFT_OUT = "<left-out>"  # not a word of SST, so it is an unknown one


@pytest.fixture(scope="module")
def sentences():
    """The words and the label of each sentence, by split."""
    folder = os.environ.get("SEEDPROOF_DATA")
    if folder is None:
        pytest.skip("SEEDPROOF_DATA is not set: it names the folder with the data sets")
    path = Path(folder) / "sst" / "sst_dataset.csv"
    if not path.is_file():
        pytest.skip("SST is not among the data sets")
    splits = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            words = row["text"].split(" ")
            splits.setdefault(row["exp_split"], []).append((words, int(row["label"])))
    return splits


@pytest.fixture(scope="module")
def numbers(sentences):
    """The token id of each word of the training set."""
    known = sorted({word for words, _ in sentences["train"] for word in words})
    return {word: place for place, word in enumerate(known, start=END + 1)}


def encode(texts, numbers):
    """Token ids with start and end tokens, padded with 0, and the mask."""
    rows = [[START, *(numbers.get(word, UNKNOWN) for word in words), END] for words in texts]
    tokens = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    return tokens, tokens > 0


class Small(nn.Module):
    """Embeddings, a convolution over three words, and max pooling."""

    def __init__(self, n_tokens):
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, 16, padding_idx=0)
        self.windows = nn.Conv1d(16, 16, 3, padding=1)
        self.output = nn.Linear(16, 1)

    def forward(self, tokens, mask):
        """Return one logit per text."""
        states = self.windows(self.embedding(tokens).transpose(1, 2)).tanh()
        return self.output(states.masked_fill(~mask[:, None], -2.0).amax(dim=2))


@pytest.fixture(scope="module")
def model(sentences, numbers):
    """A small classifier after three epochs."""
    with untouched():
        seed_everything(np.random.SeedSequence(0))
        model = Small(len(numbers) + END + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, fused=True)
    generator = torch.Generator().manual_seed(0)
    tokens, mask = encode([words for words, _ in sentences["train"]], numbers)
    labels = torch.tensor([float(label) for _, label in sentences["train"]])
    with one_thread():
        for _ in range(3):
            for rows in torch.randperm(len(labels), generator=generator).split(64):
                logits = model(tokens[rows], mask[rows])[:, 0]
                nn.functional.binary_cross_entropy_with_logits(logits, labels[rows]).backward()
                optimizer.step()
                optimizer.zero_grad()
    return model.eval()


def test_classifier_is_better_than_chance(model, sentences, numbers):
    """Otherwise its explanations would be noise."""
    tokens, mask = encode([words for words, _ in sentences["test"]], numbers)
    labels = torch.tensor([label for _, label in sentences["test"]])

    with torch.no_grad():
        predicted = model(tokens, mask)[:, 0] > 0

    assert (predicted == labels.bool()).float().mean() > 0.7


@pytest.fixture(scope="module")
def texts(sentences):
    """Some test sentences of 6 words or more."""
    long = [words for words, _ in sentences["test"] if len(words) > 5]
    chosen = np.random.default_rng(0).choice(len(long), 20, replace=False)
    return [long[place] for place in chosen]


def a_batch(texts, numbers):
    """Return the input of explainers; class 1 is explained, as in `lime`."""
    tokens, mask = encode(texts, numbers)
    targets = torch.ones(len(texts), dtype=torch.long)
    return TokenBatch(
        tokens,
        mask,
        range(len(texts)),
        words=mask & (tokens != START) & (tokens != END),
        targets=targets,
    )


class RecordingBase(LimeBase):
    """Keeps its samples."""

    def explain_instance_with_data(self, data, labels, distances, *rest, **options):
        """Keep samples, predictions and distances."""
        self.recorded = data, labels, distances
        return super().explain_instance_with_data(data, labels, distances, *rest, **options)


def by_lime(model, words, numbers, *, seed, n_samples):
    """The weights of the words by `lime`, by position, and its samples."""
    explainer = LimeTextExplainer(
        bow=False,
        mask_string=LEFT_OUT,
        split_expression=lambda text: text.split(" "),
        feature_selection="none",
        random_state=seed,
    )
    explainer.base = RecordingBase(explainer.base.kernel_fn, random_state=seed)

    def classify(texts):
        tokens, mask = encode([text.split(" ") for text in texts], numbers)
        with torch.no_grad():
            return np.asarray(probs_of(model, tokens, mask).double())

    explanation = explainer.explain_instance(
        " ".join(words), classify, num_features=len(words), num_samples=n_samples
    )
    weights = np.zeros(len(words))
    for place, weight in explanation.local_exp[1]:
        weights[place] = weight
    return weights, explainer.base.recorded


@dataclass(frozen=True, kw_only=True)
class SameSamples(Lime):
    """Lime with given samples."""

    drawn: dict = field(default_factory=dict)

    def samples(self, example, n_words):
        """Return the given samples."""
        assert self.drawn[example].shape[1] == n_words
        return self.drawn[example]


def test_same_samples_give_the_same_weights_as_lime(model, texts, numbers):
    """To 1e-6: token ids instead of strings, equal samples once, and a closed form."""
    expected, drawn = [], {}
    for place, words in enumerate(texts[:10]):
        weights, (kept, _, _) = by_lime(model, words, numbers, seed=place, n_samples=300)
        expected.append(weights)
        drawn[place] = kept.astype(bool)

    lime = SameSamples(replacement=UNKNOWN, seed=0, n_samples=300, drawn=drawn)
    scores = lime(model, a_batch(texts[:10], numbers))

    for weights, of_lime in zip(scores, expected, strict=True):
        np.testing.assert_allclose(weights, of_lime, atol=1e-6)  # forward passes in float32
        assert np.abs(weights).max() > 1e-3  # so the tolerance is small


def test_distances_equal_lime(model, texts, numbers):
    """100 times the cosine distance, also where no word is kept."""
    _, (kept, _, distances) = by_lime(model, texts[0], numbers, seed=0, n_samples=300)

    assert (kept.sum(axis=1) == 0).any()
    np.testing.assert_allclose(distances, 100 * (1 - np.sqrt(kept.mean(axis=1))), atol=1e-9)


@pytest.mark.full
def test_top_words_equal_lime(model, texts, numbers):
    """In at least 90 % of the sentences where `lime` has the same three with two seeds.

    With many samples the noise is small: this tests that both rank the same words, not how often
    two draws agree, which `benchmarks/explainers.py` measures.
    """

    def top(weights):
        return frozenset(np.argsort(-np.abs(weights))[:N_TOP].tolist())

    ours = Lime(replacement=UNKNOWN, seed=0, n_samples=20_000)(model, a_batch(texts, numbers))
    n_sure = n_agree = 0
    for words, weights in zip(texts, ours, strict=True):
        first, second = (
            top(by_lime(model, words, numbers, seed=seed, n_samples=2000)[0]) for seed in (1, 2)
        )
        n_sure += first == second
        n_agree += first == second == top(weights)

    assert n_sure >= 10
    assert n_agree >= 0.9 * n_sure
