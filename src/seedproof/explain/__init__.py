"""Attributions: a score for each word, by attention, gradients or LIME; shuffled attention.

An explainer is called with a model and a `TokenBatch`, and returns one array per text, with one
score per word. `seedproof.explain.models` states the requirements on a model.
"""

from seedproof._optional import require

require("torch", extra="explain", feature="seedproof.explain")

from seedproof.explain.attention import Attention, TransformerAttention
from seedproof.explain.base import Explainer, Scores, TokenBatch, to_shares
from seedproof.explain.gradients import Gradients
from seedproof.explain.lime import Lime
from seedproof.explain.models import TakesLengths
from seedproof.explain.permutation import AttentionPermutation, permute_attention

__all__ = [
    "Attention",
    "AttentionPermutation",
    "Explainer",
    "Gradients",
    "Lime",
    "Scores",
    "TakesLengths",
    "TokenBatch",
    "TransformerAttention",
    "permute_attention",
    "to_shares",
]
