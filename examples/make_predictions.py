"""Train a small text classifier with ten seeds and write the predictions of each run.

The runs differ only in their seed, which determines the initial weights and the order of the
training examples. `seedproof measure` reads the result, `predictions.csv`. It contains row numbers,
gold labels and probabilities, but no text.

Usage: SEEDPROOF_DATA=<folder> python examples/make_predictions.py
"""

import csv
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

PAD = 0  # the id of padding; words start at 1
Batch = tuple[Tensor, Tensor]  # words and labels


@dataclass(frozen=True)
class Recipe:
    """Settings of all runs; filters, optimizer and batches as in the CoNLL 2019 paper."""

    kernels: tuple[int, ...] = (1, 3, 5, 7)
    n_filters: int = 32
    attention_size: int = 64
    lr: float = 1e-3
    weight_decay: float = 1e-5
    batch_size: int = 32
    n_epochs: int = 10  # the paper uses 20; here the best dev epoch is always among the first 4


@dataclass(frozen=True)
class Split:
    """Padded word ids, axes (examples, words), and labels: 0 negative, 1 positive."""

    words: Tensor
    labels: Tensor

    def batch(self, rows: Tensor) -> Batch:
        """Return words and labels of the given rows, without columns that are all padding."""
        words = self.words[rows]
        return words[:, (words != PAD).any(dim=0)], self.labels[rows]


@dataclass(frozen=True)
class Corpus:
    """Three splits and the word vectors; words without a vector have a row of NaN."""

    train: Split
    dev: Split
    test: Split
    vectors: Tensor


class Classifier(nn.Module):
    """Convolutions over words, pooled by additive attention, then one logit."""

    def __init__(self, vectors: Tensor, recipe: Recipe) -> None:
        """Start from the word vectors; draw other weights from the global generator of torch."""
        super().__init__()
        # Words without a vector get random values with the standard deviation of the others.
        start = torch.randn(vectors.shape) * vectors[~vectors.isnan()].std()
        start = torch.where(vectors.isnan(), start, vectors)
        start[PAD] = 0.0
        self.embed = nn.Embedding.from_pretrained(start, freeze=False, padding_idx=PAD)
        self.convolve = nn.ModuleList(
            nn.Conv1d(vectors.shape[1], recipe.n_filters, kernel, padding=kernel // 2)
            for kernel in recipe.kernels
        )
        width, size = recipe.n_filters * len(recipe.kernels), recipe.attention_size
        self.attend = nn.Sequential(
            nn.Linear(width, size), nn.Tanh(), nn.Linear(size, 1, bias=False)
        )
        self.classify = nn.Linear(width, 1)

    def forward(self, words: Tensor) -> Tensor:
        """Return the logits of `positive`, one per row of word ids."""
        embedded = self.embed(words).mT
        hidden = torch.cat([layer(embedded) for layer in self.convolve], dim=1).relu().mT
        scores = self.attend(hidden).squeeze(2).masked_fill(words == PAD, -torch.inf)
        pooled = (scores.softmax(dim=1).unsqueeze(2) * hidden).sum(dim=1)
        return self.classify(pooled).squeeze(1)


def data_folder() -> Path:
    """Return the folder in `SEEDPROOF_DATA`; exit with a hint if it is not set."""
    folder = os.environ.get("SEEDPROOF_DATA")
    if folder is None:
        sys.exit(
            "SEEDPROOF_DATA is not set. Set it to the folder with sst/sst_dataset.csv "
            "and word_vectors/glove6b_100d_subset_f16.npz."
        )
    return Path(folder)


def load_corpus(folder: Path) -> Corpus:
    """Load binary SST as word ids, with the GloVe vectors of its words."""
    with (folder / "sst" / "sst_dataset.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    vocabulary = sorted({word for row in rows for word in row["text"].split()})
    ids = {word: idx for idx, word in enumerate(vocabulary, start=PAD + 1)}

    def split(name: str) -> Split:
        chosen = [row for row in rows if row["exp_split"] == name]
        texts = [torch.tensor([ids[word] for word in row["text"].split()]) for row in chosen]
        words = nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=PAD)
        return Split(words, torch.tensor([float(row["label"]) for row in chosen]))

    return Corpus(split("train"), split("dev"), split("test"), load_vectors(folder, ids))


def load_vectors(folder: Path, ids: dict[str, int]) -> Tensor:
    """Load word vectors in the order of the ids; NaN for words without a vector."""
    with np.load(folder / "word_vectors" / "glove6b_100d_subset_f16.npz") as stored:
        known = bytes(stored["words"]).decode().split("\n")
        glove = stored["vectors"].astype(np.float32)
    vectors = np.full((len(ids) + 1, glove.shape[1]), np.nan, dtype=np.float32)
    for word, vector in zip(known, glove, strict=True):
        if word in ids:
            vectors[ids[word]] = vector
    return torch.from_numpy(vectors)


def roc_auc(probs: np.ndarray, labels: np.ndarray) -> float:
    """Return the area under the ROC curve; ties count as half."""
    negative, positive = np.sort(probs[labels == 0]), probs[labels == 1]
    below, up_to = (np.searchsorted(negative, positive, side) for side in ("left", "right"))
    return float((below + up_to).mean() / (2 * len(negative)))


@torch.no_grad()
def predict(model: Classifier, split: Split) -> np.ndarray:
    """Return the probability of `positive` for each example of the split."""
    batches = torch.arange(len(split.labels)).split(256)
    return torch.cat([model(split.batch(rows)[0]).sigmoid() for rows in batches]).numpy()


def train_epoch(model: Classifier, optimizer: torch.optim.Adam, batches: Iterable[Batch]) -> None:
    """Train the model for one epoch."""
    for words, labels in batches:
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(words), labels).backward()
        optimizer.step()


def train_run(seed: int, folder: Path, recipe: Recipe) -> np.ndarray:
    """Train; return test probabilities of `positive` at the epoch with the best dev ROC-AUC."""
    torch.set_num_threads(1)  # results depend on the number of threads
    torch.use_deterministic_algorithms(mode=True)
    # The layers of torch can draw their weights only from the global generator.
    torch.manual_seed(seed)  # noqa: TID251
    rng = np.random.default_rng(seed)  # the order of the training examples
    corpus = load_corpus(folder)
    model = Classifier(corpus.vectors, recipe)
    optimizer = torch.optim.Adam(
        model.parameters(), recipe.lr, weight_decay=recipe.weight_decay, amsgrad=True, fused=True
    )
    n_train, best_auc, best_probs = len(corpus.train.labels), -1.0, np.empty(0)
    for _ in range(recipe.n_epochs):
        order = torch.from_numpy(rng.permutation(n_train)).split(recipe.batch_size)
        train_epoch(model, optimizer, map(corpus.train.batch, order))
        auc = roc_auc(predict(model, corpus.dev), corpus.dev.labels.numpy())
        if auc > best_auc:
            best_auc, best_probs = auc, predict(model, corpus.test)
    return best_probs


def write_predictions(path: Path, probs_of_run: dict[int, np.ndarray], labels: Tensor) -> None:
    """Write one row per run and example; the two rounded probabilities sum to 1."""
    names = ["positive" if label else "negative" for label in labels.tolist()]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "example", "label", "p_negative", "p_positive"])
        for run, probs in sorted(probs_of_run.items()):
            for example, (name, prob) in enumerate(zip(names, probs.tolist(), strict=True)):
                positive = round(prob, 5)  # before the complement, so that the sum is 1
                writer.writerow([run, example, name, f"{1 - positive:.5f}", f"{positive:.5f}"])


def main() -> None:
    """Train ten runs, two at a time, and write `predictions.csv` next to this file."""
    folder, recipe, seeds = data_folder(), Recipe(), range(10)
    with ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn")) as pool:
        training = {seed: pool.submit(train_run, seed, folder, recipe) for seed in seeds}
        probs_of_run = {seed: run.result() for seed, run in training.items()}
    labels = load_corpus(folder).test.labels
    write_predictions(Path(__file__).with_name("predictions.csv"), probs_of_run, labels)


if __name__ == "__main__":
    main()
