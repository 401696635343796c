"""MASSIVE, English: which of 18 domains has a request? FitzGerald et al., 2022."""

import json

import numpy as np

from seedproof.papers.datasets.cache import Source, fetch, local_file
from seedproof.papers.datasets.intents import IntentData, Utterances

_FOLDER = (
    "https://raw.githubusercontent.com/muaaznoor/IntentClassificationLSTM/"
    "75c796d911419c8fd4ba52c77cb7d8edcd4a5dfa/data"
)
PUBLIC = {
    "train": Source(
        f"{_FOLDER}/train.jsonl",
        "sha256:5d7acab7dd4ec9f8253dec8571eafd75fa8fc4ef64ad401ef2ac6907d277e1a8",
    ),
    "validation": Source(
        f"{_FOLDER}/validation.jsonl",
        "sha256:616da8f9a9c33e72ae57f64bac4804f87b92f71712ef7f348f576032f7bf9c6d",
    ),
    "test": Source(
        f"{_FOLDER}/test.jsonl",
        "sha256:946947a0e8de7f120bc643b2892f54638673b9fe97b627a67305ca5f2d93c3c2",
    ),
}


def load() -> IntentData:
    """The English part, as published; the domain is the first word of the intent's name.

    Returns:
        11,514 utterances to train on, 2,033 to choose by and 2,974 to test on.
    """
    rows = {split: _read(split) for split in PUBLIC}
    domains = {split: [_domain(row) for row in found] for split, found in rows.items()}
    classes = tuple(sorted(set(domains["train"])))
    place = {domain: index for index, domain in enumerate(classes)}
    train, dev, test = (
        Utterances(
            ids=np.array([int(row["id"]) for row in found]),
            texts=tuple(row["text"] for row in found),
            labels=np.array([place[domain] for domain in domains[split]]),
        )
        for split, found in rows.items()
    )
    return IntentData("massive", classes, train, dev, test)


def _read(split: str) -> list[dict[str, str]]:
    path = local_file(f"massive/{split}.jsonl") or fetch(PUBLIC[split], folder="massive")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _domain(row: dict[str, str]) -> str:
    return row["label_text"].split("_")[0]
