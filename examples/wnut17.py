"""Train a small tagger on WNUT 2017 with ten seeds, and measure how often its entities change.

Usage: SEEDPROOF_DATA=<folder> python examples/wnut17.py

The folder must hold `wnut17/`: 3,394 sentences for training and 1,287 for testing, with names of
persons, places and others as BIO tags (Derczynski et al., WNUT 2017); and `word_vectors/`, GloVe 6B
of 100 dimensions. The tagger is a recurrent network over words, their endings and their letter
case. It needs torch.
"""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

import seedproof as sp

FILES = {"train": "wnut17train.conll", "test": "emerging.test.annotated"}
EPOCHS, BATCH, N_ENDINGS, IGNORED = 12, 32, 512, -100
DATA = Path(os.environ.get("SEEDPROOF_DATA", "data"))


class Sentence(NamedTuple):
    """Words of a sentence and their BIO tags."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


@cache
def load(split: str) -> list[Sentence]:
    """Return the sentences of a split."""
    text = (DATA / "wnut17" / FILES[split]).read_text(encoding="utf-8")
    sentences = []
    for block in text.replace("\r", "").replace("\n\t\n", "\n\n").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line.strip()]
        if rows:
            words, tags = zip(*(row[:2] for row in rows), strict=True)
            sentences.append(Sentence(words, tags))
    return sentences


@cache
def vectors() -> tuple[dict[str, int], Tensor]:
    """Return the row of each word, and GloVe's vectors; row 0 is for unknown words."""
    with np.load(DATA / "word_vectors" / "glove6b_100d_subset_f16.npz") as arrays:
        words = bytes(arrays["words"]).decode().split("\n")
        rows = torch.from_numpy(arrays["vectors"].astype(np.float32))
    return {word: row for row, word in enumerate(words, start=1)}, torch.cat([rows[:1] * 0, rows])


@cache
def tag_names() -> tuple[str, ...]:
    """Return all tags."""
    return tuple(sorted({tag for sentence in load("train") for tag in sentence.tags}))


def inputs(sentence: Sentence) -> Tensor:
    """Return the row, the hashed ending and the letter case of each word: (words, 3)."""
    rows, _ = vectors()
    return torch.tensor(
        [
            (
                rows.get(word.lower(), 0),
                crc32(word[-3:].lower().encode()) % N_ENDINGS,
                2 * word[:1].isupper() + word.isupper(),
            )
            for word in sentence.words
        ]
    )


class Tagger(nn.Module):
    """A recurrent network in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors()[1])
        self.endings = nn.Embedding(N_ENDINGS, 24)
        self.case = nn.Embedding(4, 8)
        self.inner = nn.LSTM(132, 96, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(0.4)
        self.tags = nn.Linear(192, len(tag_names()))

    def forward(self, features: Tensor) -> Tensor:
        """Return scores of the tags: (sentences, words, tags)."""
        parts = self.words, self.endings, self.case
        embedded = torch.cat([part(features[..., i]) for i, part in enumerate(parts)], dim=-1)
        states, _ = self.inner(self.dropout(embedded))
        return self.tags(self.dropout(states))


def spans(tags: Sequence[str]) -> list[str]:
    """Return the entities of a sentence, such as "3:5:person": start, end and type.

    >>> spans(["O", "B-person", "I-person", "B-group"])
    ['1:3:person', '3:4:group']
    """
    entities, start = [], None
    for end, tag in enumerate([*tags, "O"]):
        if start is not None and tag != f"I-{tags[start][2:]}":
            entities.append(f"{start}:{end}:{tags[start][2:]}")
            start = None
        if start is None and tag != "O":
            start = end
    return entities


def train(run: sp.Run) -> None:
    """Train one tagger."""
    numbers = {tag: number for number, tag in enumerate(tag_names())}
    examples = [
        (inputs(sentence), torch.tensor([numbers[tag] for tag in sentence.tags]))
        for sentence in load("train")
    ]
    with run.seeded("init"):
        tagger = Tagger()
    optimizer = torch.optim.Adam(tagger.parameters(), lr=2e-3)
    order = run.torch_generator("order")
    with run.seeded("dropout"):
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(examples), generator=order).split(BATCH):
                features, gold = zip(*(examples[row] for row in rows), strict=True)
                scores = tagger(pad_sequence(features, batch_first=True))
                gold = pad_sequence(gold, batch_first=True, padding_value=IGNORED)
                optimizer.zero_grad()
                nn.functional.cross_entropy(
                    scores.flatten(0, 1), gold.flatten(), ignore_index=IGNORED
                ).backward()
                optimizer.step()
    tagger.eval()
    with torch.no_grad():
        predicted = [tagger(inputs(sentence)[None])[0].argmax(-1) for sentence in load("test")]
    tags = [[tag_names()[number] for number in numbers] for numbers in predicted]
    right = [spans(sentence.tags) for sentence in load("test")]
    run.log_predictions("test", sets=[spans(of_sentence) for of_sentence in tags], labels=right)


def main() -> None:
    """Train ten taggers and print how much depends on the seed."""
    study = sp.Study("wnut17", train, seeds=10, store="runs-wnut17")
    study.run("serial", progress=False)
    report = study.measure()
    for name in ("set_flips", "jaccard_distance", "micro_f1", "micro_f1_sd"):
        print(f"{name:<18} {report[name]}")
    report.save("report-wnut17")


if __name__ == "__main__":
    main()
