"""Cost of LIME relative to its forward passes, and agreement with the package `lime`.

    SEEDPROOF_DATA=DIR python benchmarks/explainers.py [--sentences 50] [--runs 10] [--samples 1000]

Explain sentences of SST with one CNN of the papers per run (100 numbers per word). The script
prints three figures, from one process and one thread:

(a) the time of our LIME for all sentences and runs, relative to the bare forward passes over the
    same perturbed inputs in batches of the same size. Both take turns, and medians are compared.
(b) the time of a loop over the package `lime`, relative to ours. It is measured on a few sentences
    of one run and scaled up.
(c) the share of sentences in which our three words with the largest weights are those of `lime`,
    among the sentences in which `lime` finds the same three words with two seeds. The upper limit
    is the share in which a third seed of `lime` finds them. One CNN is trained for this, and the
    number of samples is the default of `lime`.

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

MASKED = "<left-out>"  # not a word of SST, so it is read as unknown
N_TOP = 3


def build_model(vocabulary: Vocabulary, seed: int) -> nn.Module:
    """Return an untrained CNN of the paper."""
    vectors = np.random.default_rng(seed).normal(scale=0.3, size=(len(vocabulary), 100))
    with untouched():
        seed_everything(np.random.SeedSequence(seed))
        return TakesLengths(Classifier(Shape(), vectors)).eval()


def encode(texts: Texts, vocabulary: Vocabulary) -> TokenBatch:
    """Encode sentences; the marks at both ends do not count as words."""
    tokens, lengths = map(torch.from_numpy, vocabulary.encode_all(texts.tokens))
    positions = torch.arange(tokens.shape[1])
    return TokenBatch(
        tokens.long(),
        positions < lengths[:, None],
        texts.ids.tolist(),
        words=(positions > 0) & (positions < lengths[:, None] - 1),
        targets=torch.ones(len(texts), dtype=torch.long),
    )


def train(model: nn.Module, texts: Texts, vocabulary: Vocabulary, n_epochs: int) -> None:
    """Train long enough that the words affect the predictions."""
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
    """Return the perturbed inputs of all samples, including duplicates, before timing starts."""
    inputs = []
    for _, example in batch.chunks(1):
        kept = torch.from_numpy(lime.samples(example.ids[0], int(example.is_word.sum())))
        is_word = example.is_word[0]
        tokens = example.tokens.repeat(len(kept), 1)
        tokens[:, is_word] = tokens[:, is_word].masked_fill(~kept, lime.replacement)
        inputs.append((tokens, example.mask.repeat(len(kept), 1)))
    return inputs


def pass_forward(
    models: Sequence[nn.Module], inputs: list[tuple[Tensor, Tensor]], size: int
) -> None:
    """Run the forward passes alone."""
    with torch.no_grad():
        for tokens, mask in inputs:
            for model in models:
                for tokens_part, mask_part in zip(
                    tokens.split(size), mask.split(size), strict=True
                ):
                    probs_of(model, tokens_part, mask_part)


def by_lime(
    model: nn.Module, words: Sequence[str], vocabulary: Vocabulary, n_samples: int, seed: int
) -> FloatArray:
    """Return the weight of each word by position, from the package `lime` (`bow=False`)."""
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

    explanation = explainer.explain_instance(
        " ".join(words), classify, num_features=len(words), num_samples=n_samples
    )
    weights = np.zeros(len(words))
    for position, weight in explanation.local_exp[1]:
        weights[position] = weight
    return weights


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def top(weights: FloatArray) -> frozenset[int]:
    """Return the positions of the words with the largest weights."""
    return frozenset(np.argsort(-np.abs(weights), kind="stable")[:N_TOP].tolist())


def compare_speed(
    models: Sequence[nn.Module], texts: Texts, vocabulary: Vocabulary, n_samples: int, rounds: int
) -> None:
    """Print figures (a) and (b)."""
    lime = Lime(replacement=UNKNOWN, seed=0, n_samples=n_samples)
    batch = encode(texts, vocabulary)
    inputs = perturbed(lime, batch)
    pass_forward(models[:1], inputs[:5], lime.batch_size)
    ours, bare = [], []
    for _ in range(rounds):
        bare.append(seconds(lambda: pass_forward(models, inputs, lime.batch_size)))
        ours.append(seconds(lambda: lime.explain_runs(models, batch)))
    our_median, bare_median = statistics.median(ours), statistics.median(bare)
    print(
        f"(a) LIME {our_median:.2f} s, bare forward passes {bare_median:.2f} s: "
        f"ratio {our_median / bare_median:.2f}",
        flush=True,
    )
    few = texts.tokens[:: max(1, len(texts) // 10)]
    few_seconds = seconds(
        lambda: [by_lime(models[0], words, vocabulary, n_samples, 0) for words in few]
    )
    # Sentences differ in length, so scale by words.
    share = sum(map(len, few)) / sum(map(len, texts.tokens)) / len(models)
    all_seconds = few_seconds / share
    print(
        f"(b) `lime`: {few_seconds:.2f} s for {len(few)} sentences of one run, "
        f"{all_seconds:.0f} s scaled up to all: "
        f"{all_seconds / our_median:.1f} times as long as ours"
    )


def compare_words(model: nn.Module, texts: Texts, vocabulary: Vocabulary, n_samples: int) -> None:
    """Print figure (c)."""
    ours = Lime(replacement=UNKNOWN, seed=0, n_samples=n_samples)(model, encode(texts, vocabulary))
    n_ours = n_third = n_stable = 0
    for words, weights in zip(texts.tokens, ours, strict=True):
        first, second, third = (
            top(by_lime(model, words, vocabulary, n_samples, seed)) for seed in (1, 2, 3)
        )
        if first == second:
            n_stable += 1
            n_ours += first == top(weights)
            n_third += first == third
    print(
        f"(c) {len(texts)} sentences, {n_samples} samples: `lime` finds the same {N_TOP} words "
        f"with two seeds in {n_stable} sentences. In these, seedproof finds the same words in "
        f"{n_ours} ({100 * n_ours / max(1, n_stable):.1f} %), and a third seed of `lime` in "
        f"{n_third} ({100 * n_third / max(1, n_stable):.1f} %).",
        flush=True,
    )


def main() -> None:
    """Compare the speed, then the words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("speed", "words"), help="run only this part")
    parser.add_argument("--sentences", type=int, default=50)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compared", type=int, default=100, help="sentences for (c)")
    parser.add_argument("--compared-samples", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = load("sst")
    vocabulary = Vocabulary.of_training(data)
    if options.part != "words":
        texts = data.test.sample(options.sentences, rng=np.random.default_rng(0))
        models = [build_model(vocabulary, seed) for seed in range(options.runs)]
        n_words = statistics.mean(map(len, texts.tokens))
        print(f"{len(texts)} sentences of {n_words:.1f} words on average × {len(models)} runs")
        compare_speed(models, texts, vocabulary, options.samples, options.rounds)
    if options.part != "speed":
        model = build_model(vocabulary, 0)
        train(model, data.train, vocabulary, options.epochs)
        texts = data.test.sample(options.compared, rng=np.random.default_rng(1))
        compare_words(model, texts, vocabulary, options.compared_samples)


if __name__ == "__main__":
    main()
