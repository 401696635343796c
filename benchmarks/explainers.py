"""What LIME costs over the forward passes that it cannot avoid, and how it agrees with `lime`.

    SEEDPROOF_DATA=DIR python benchmarks/explainers.py [--sentences 50] [--runs 10] [--samples 1000]

Sentences of SST, and as many of the papers' CNNs (100 numbers a word) as there are runs. Three
figures, in one process, in one thread:

(a) our LIME for all sentences and runs, against the bare forward passes over the same perturbed
    inputs, in batches of the same size; the sides take turns, and medians are compared;
(b) the same against a loop over the `lime` package, measured on a few sentences of one run and
    scaled up;
(c) in how many sentences the three words with the largest weights are those of `lime`, among the
    sentences where `lime` finds the same three under two seeds; and, as the most that can be
    expected, in how many a third seed of `lime` finds them. One CNN is trained for this, and
    samples are as many as `lime` takes by default.

Needs `pip install lime`.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from lime.lime_text import LimeTextExplainer
from torch import Tensor, nn

from seedproof.explain import Lime, TakesLengths, TokenBatch
from seedproof.explain.models import probs_of
from seedproof.training.rng import seed_everything, untouched
from seedproof.typing import FloatArray
from seedproof_reproductions.datasets.catalog import load
from seedproof_reproductions.datasets.texts import UNKNOWN, Texts, Vocabulary
from seedproof_reproductions.models import Classifier, Shape

MASKED = "<left-out>"  # no word of SST, so it is read as an unknown one
N_TOP = 3


def a_model(vocabulary: Vocabulary, seed: int) -> nn.Module:
    """A CNN of the paper, untrained."""
    vectors = np.random.default_rng(seed).normal(scale=0.3, size=(len(vocabulary), 100))
    with untouched():
        seed_everything(np.random.SeedSequence(seed))
        return TakesLengths(Classifier(Shape(), vectors)).eval()


def encode(texts: Texts, vocabulary: Vocabulary) -> TokenBatch:
    """Sentences as numbers, whose marks at both ends are no words."""
    tokens, lengths = map(torch.from_numpy, vocabulary.encode_all(texts.tokens))
    places = torch.arange(tokens.shape[1])
    return TokenBatch(
        tokens.long(),
        places < lengths[:, None],
        texts.ids.tolist(),
        words=(places > 0) & (places < lengths[:, None] - 1),
        targets=torch.ones(len(texts), dtype=torch.long),
    )


def train(model: nn.Module, texts: Texts, vocabulary: Vocabulary, n_epochs: int) -> None:
    """Enough of a training that words matter."""
    batch, labels = encode(texts, vocabulary), torch.from_numpy(texts.labels).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    generator = torch.Generator().manual_seed(0)
    for _ in range(n_epochs):
        for rows in torch.randperm(len(labels), generator=generator).split(32):
            mask = batch.mask[rows]
            width = int(mask.sum(dim=1).max())
            logits = model(batch.tokens[rows, :width], mask[:, :width]).logits[:, 0]
            nn.functional.binary_cross_entropy_with_logits(logits, labels[rows]).backward()
            optimizer.step()
            optimizer.zero_grad()


def perturbed(lime: Lime, batch: TokenBatch) -> list[tuple[Tensor, Tensor]]:
    """What the models are asked, made before the clock starts: all samples, also equal ones."""
    inputs = []
    for _, one in batch.chunks(1):
        kept = torch.from_numpy(lime.samples(one.ids[0], int(one.is_word.sum())))
        tokens = one.tokens.repeat(len(kept), 1)
        tokens[:, one.is_word[0]] = tokens[:, one.is_word[0]].masked_fill(~kept, lime.replacement)
        inputs.append((tokens, one.mask.repeat(len(kept), 1)))
    return inputs


def pass_forward(
    models: Sequence[nn.Module], inputs: list[tuple[Tensor, Tensor]], size: int
) -> None:
    """The bare forward passes."""
    with torch.no_grad():
        for tokens, mask in inputs:
            for model in models:
                for some, real in zip(tokens.split(size), mask.split(size), strict=True):
                    probs_of(model, some, real)


def by_lime(
    model: nn.Module, words: Sequence[str], vocabulary: Vocabulary, n_samples: int, seed: int
) -> FloatArray:
    """The weight of each word according to the package, by position (`bow=False`)."""
    explainer = LimeTextExplainer(
        bow=False,
        mask_string=MASKED,
        split_expression=lambda text: text.split(" "),
        feature_selection="none",
        random_state=seed,
    )

    def classify(texts: list[str]) -> FloatArray:
        numbers, _ = vocabulary.encode_all([text.split(" ") for text in texts])
        tokens = torch.from_numpy(numbers).long()
        with torch.no_grad():
            probs = probs_of(model, tokens, torch.ones_like(tokens).bool())
        return np.asarray(probs.double())

    found = explainer.explain_instance(
        " ".join(words), classify, num_features=len(words), num_samples=n_samples
    )
    weights = np.zeros(len(words))
    for place, weight in found.local_exp[1]:
        weights[place] = weight
    return weights


def seconds(work: Callable[[], object]) -> float:
    """How long something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def top(weights: FloatArray) -> frozenset[int]:
    """The places of the words with the largest weights."""
    return frozenset(np.argsort(-np.abs(weights), kind="stable")[:N_TOP].tolist())


def compare_speed(
    models: Sequence[nn.Module], texts: Texts, vocabulary: Vocabulary, n_samples: int, rounds: int
) -> None:
    """Figures (a) and (b)."""
    lime = Lime(replacement=UNKNOWN, seed=0, n_samples=n_samples)
    batch = encode(texts, vocabulary)
    inputs = perturbed(lime, batch)
    pass_forward(models[:1], inputs[:5], lime.batch_size)
    ours, bare = [], []
    for _ in range(rounds):
        bare.append(seconds(lambda: pass_forward(models, inputs, lime.batch_size)))
        ours.append(seconds(lambda: lime.explain_runs(models, batch)))
    own, limit = statistics.median(ours), statistics.median(bare)
    print(
        f"(a) LIME {own:.2f} s, bare forward passes {limit:.2f} s: {own / limit:.2f} times them",
        flush=True,
    )
    some = texts.tokens[:: max(1, len(texts) // 10)]
    theirs = seconds(
        lambda: [by_lime(models[0], words, vocabulary, n_samples, 0) for words in some]
    )
    # Sentences differ in length, so scale by words.
    share = sum(map(len, some)) / sum(map(len, texts.tokens)) / len(models)
    whole = theirs / share
    print(
        f"(b) `lime`: {theirs:.2f} s for {len(some)} sentences of one run, "
        f"{whole:.0f} s scaled up to all: {whole / own:.1f} times as long as ours"
    )


def compare_words(model: nn.Module, texts: Texts, vocabulary: Vocabulary, n_samples: int) -> None:
    """Figure (c)."""
    ours = Lime(replacement=UNKNOWN, seed=0, n_samples=n_samples)(model, encode(texts, vocabulary))
    n_ours = n_third = n_sure = 0
    for words, weights in zip(texts.tokens, ours, strict=True):
        first, second, third = (
            top(by_lime(model, words, vocabulary, n_samples, seed)) for seed in (1, 2, 3)
        )
        if first == second:
            n_sure += 1
            n_ours += first == top(weights)
            n_third += first == third
    print(
        f"(c) of {len(texts)} sentences with {n_samples} samples, `lime` finds the same {N_TOP} "
        f"words under two seeds in {n_sure}; of these we find them in {n_ours} "
        f"({100 * n_ours / max(1, n_sure):.1f} %), and a third seed of `lime` in {n_third} "
        f"({100 * n_third / max(1, n_sure):.1f} %)",
        flush=True,
    )


def main() -> None:
    """Compare speed, then words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("speed", "words"), help="only this one")
    parser.add_argument("--sentences", type=int, default=50)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compared", type=int, default=100, help="sentences for (c)")
    parser.add_argument("--compared-samples", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=3)
    choice = parser.parse_args()
    torch.set_num_threads(1)
    data = load("sst")
    vocabulary = Vocabulary.of_training(data)
    if choice.part != "words":
        texts = data.test.sample(choice.sentences, rng=np.random.default_rng(0))
        models = [a_model(vocabulary, seed) for seed in range(choice.runs)]
        n_words = statistics.mean(map(len, texts.tokens))
        print(f"{len(texts)} sentences of {n_words:.1f} words on average × {len(models)} runs")
        compare_speed(models, texts, vocabulary, choice.samples, choice.rounds)
    if choice.part != "speed":
        model = a_model(vocabulary, 0)
        train(model, data.train, vocabulary, choice.epochs)
        texts = data.test.sample(choice.compared, rng=np.random.default_rng(1))
        compare_words(model, texts, vocabulary, choice.compared_samples)


if __name__ == "__main__":
    main()
