"""CLINC150: which of 150 intents has a request? Larson et al., 2019."""

import json
from typing import Any

import numpy as np

from seedproof.papers.datasets.cache import Source, fetch, local_file
from seedproof.papers.datasets.intents import IntentData, Utterances

LOCAL = "clinc150/data_full.json"
PUBLIC = Source(
    "https://raw.githubusercontent.com/clinc/oos-eval/"
    "828f8093932c8fe6ca7936c3d2e52903b1c523de/data/data_full.json",
    "sha256:36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0",
)


def load() -> IntentData:
    """CLINC150 as published; requests that are out of scope are left out, as in the paper.

    Returns:
        15,000 utterances to train on, 3,000 to choose by and 4,500 to test on.
    """
    path = local_file(LOCAL) or fetch(PUBLIC, folder="clinc150")
    content: dict[str, Any] = json.loads(path.read_bytes())
    classes = tuple(sorted({intent for _, intent in content["train"]}))
    place = {intent: index for index, intent in enumerate(classes)}
    # Ids are unique over all splits: the position in the file, one split after the other.
    splits, start = {}, 0
    for split in ("train", "val", "test"):
        rows = content[split]
        splits[split] = Utterances(
            ids=np.arange(start, start + len(rows)),
            texts=tuple(text for text, _ in rows),
            labels=np.array([place[intent] for _, intent in rows]),
        )
        start += len(rows)
    return IntentData("clinc150", classes, splits["train"], splits["val"], splits["test"])
