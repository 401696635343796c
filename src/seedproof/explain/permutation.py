"""Permutation of attention: does the output depend on which position gets which weight?

After Jain and Wallace (2019), "Attention is not Explanation".
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seedproof.errors import DtypeError, EmptyInputError, InputError, OptionError, ShapeError
from seedproof.explain.attention import at, plain_attention
from seedproof.explain.base import TokenBatch, check_size, seed_of
from seedproof.explain.models import (
    ReplaceOutput,
    is_transformer,
    log_odds,
    logits_of,
    module_of,
    probs_from,
    replaced_output,
    undisturbed,
)
from seedproof.records.permutation import CHANGES, PermutedAttention
from seedproof.typing import FloatArray, IntArray, is_count

# Takes weights, axes (rows, …, positions), and the example of each row; returns logits.
Output: TypeAlias = Callable[[Tensor, Tensor], Tensor]
SOFTMAX = (nn.functional.softmax, torch.softmax, Tensor.softmax)


def permute_attention(
    output: Output,
    attention: Tensor,
    mask: Tensor,
    *,
    n_shuffles: int = 100,
    seed: int = 0,
    ids: Sequence[int | str] | None = None,
    batch_size: int = 1024,
) -> PermutedAttention:
    """Shuffle the attention weights of each example, and measure how far the output moves.

    Weights are exchanged among real positions of the same example only. Shuffles depend on the seed
    and on the id of the example, so use the same ones for all runs.

    Args:
        output: Called with weights, axes (rows, positions), and the position of each row's example
            among all examples. Returns logits, axes (rows, classes); two classes may share a
            column.
        attention: The weights, axes (examples, positions). Axes between these two, such as heads,
            are shuffled alike.
        mask: True for the positions to shuffle, axes (examples, positions).
        n_shuffles: Number of shuffles per example.
        seed: Seed of the shuffles.
        ids: Id of each example, the same in every run. If omitted, its position.
        batch_size: Largest number of rows per call of `output`.

    Returns:
        Probabilities, changes and floors of each example.

    Raises:
        ShapeError: The axes do not fit each other.
        DtypeError: The mask is not of booleans.
        EmptyInputError: There are no examples, or one has no position to shuffle.
        OptionError: A number is too small.

    Examples:
        >>> import torch
        >>> from seedproof.explain import permute_attention
        >>> values = torch.tensor([[3.0, 0.0, -3.0], [1.0, 1.0, 1.0]])
        >>> def output(weights, rows):
        ...     return (weights * values[rows]).sum(dim=1, keepdim=True)
        >>> attention = torch.tensor([[0.8, 0.1, 0.1], [0.8, 0.1, 0.1]])
        >>> mask = torch.ones(2, 3, dtype=torch.bool)
        >>> permuted = permute_attention(output, attention, mask)
        >>> (permuted.probability_change > 0.01).tolist()
        [True, False]
    """
    _check(attention, mask, n_shuffles, seed, batch_size)
    names = range(len(mask)) if ids is None else ids
    if len(names) != len(mask):
        raise ShapeError(
            "There are {n_examples} examples and {n_ids} ids. Pass one id per example.",
            n_examples=len(mask),
            n_ids=len(names),
        )
    with torch.no_grad():
        rows = torch.arange(len(mask), device=attention.device)
        logits = _logits(output, attention, rows, batch_size)
        moved = []
        for some in torch.split(rows, max(batch_size // n_shuffles, 1)):
            order = _orders([names[row] for row in some.tolist()], mask[some], n_shuffles, seed)
            repeated = some.repeat_interleave(n_shuffles)
            own = attention[repeated]
            index = order.view(len(own), *([1] * (own.ndim - 2)), -1).expand_as(own)
            shuffled = own.gather(-1, index)
            after = _logits(output, shuffled, repeated, batch_size)
            # Rounding may depend on the batch: equal weights must change nothing at all.
            is_same = (shuffled == own).flatten(1).all(dim=1)
            after[is_same] = logits[repeated[is_same]]
            moved.append(_changes(logits[some], after.view(len(some), n_shuffles, -1)))
    changes, floors = np.concatenate(moved, axis=1)
    return PermutedAttention(
        probs=probs_from(logits).cpu().numpy(),
        probability_change=changes[:, 0],
        probability_floor=floors[:, 0],
        logit_change=changes[:, 1],
        logit_floor=floors[:, 1],
        n_shuffles=n_shuffles,
    )


def _changes(logits: Tensor, after: Tensor) -> FloatArray:
    """Return mean changes by shuffles, and differences between two: (2, examples, scales).

    Logits have the axes (examples, classes) and (examples, shuffles, classes). The class that is
    followed is that of the first output of each pair: it tends to be high there by choice alone, so
    the floor must have this choice as well.
    """
    n_examples, n, _ = after.shape
    predicted, by_shuffle = probs_from(logits).argmax(dim=1), probs_from(after).argmax(dim=2)
    changes, floors = torch.zeros(2, n_examples, 2, dtype=torch.float64, device=logits.device)
    for target in {*predicted.tolist(), *by_shuffle.flatten().tolist()}:
        before, shuffled = _followed(logits, target), _followed(after, target)
        moved = shuffled - before.unsqueeze(1)
        is_own = (predicted == target).unsqueeze(1)
        changes += is_own * moved.abs().mean(dim=1)
        apart = (moved.unsqueeze(1) - moved.unsqueeze(2)).abs().sum(dim=2) / (n * (n - 1))
        floors += ((by_shuffle == target).unsqueeze(2) * apart).sum(dim=1)
    return torch.stack([changes, floors]).cpu().numpy()


def _orders(ids: Sequence[int | str], mask: Tensor, n_shuffles: int, seed: int) -> Tensor:
    """Return positions in a random order among the real ones: (examples, shuffles, positions)."""
    n_examples, n_positions = mask.shape
    orders: IntArray = np.empty((n_examples, n_shuffles, n_positions), dtype=np.int64)
    orders[:] = np.arange(n_positions)
    for order, name, is_real in zip(orders, ids, mask.cpu().numpy(), strict=True):
        rng = np.random.default_rng(seed_of(seed, 0, name))
        order[:, is_real] = rng.permuted(order[:, is_real], axis=1)
    return torch.from_numpy(orders).to(mask.device)


def _logits(output: Output, weights: Tensor, rows: Tensor, batch_size: int) -> Tensor:
    """Return the logits of all rows in double precision, in batches."""
    batches = zip(torch.split(weights, batch_size), torch.split(rows, batch_size), strict=True)
    logits = []
    for some, of_examples in batches:
        part = output(some, of_examples)
        if part.ndim != 2 or len(part) != len(some):
            raise ShapeError(
                "The output has the shape {shape!s} for {n_rows} rows. Return logits with the axes "
                "(rows, classes).",
                shape=tuple(part.shape),
                n_rows=len(some),
            )
        logits.append(part.double())
    return torch.cat(logits)


def _followed(logits: Tensor, target: int) -> Tensor:
    """Return probability and log odds of one class, on a last axis in place of the classes."""
    targets = torch.full(logits.shape[:-1], target, device=logits.device)
    odds = log_odds(logits, targets)
    return torch.stack([odds.sigmoid(), odds], dim=-1)


def _check(attention: Tensor, mask: Tensor, n_shuffles: int, seed: int, batch_size: int) -> None:
    shape = tuple(attention.shape)
    if len(shape) < 2 or (shape[0], shape[-1]) != tuple(mask.shape):
        raise ShapeError(
            "Attention has the shape {shape!s} and `mask` has {other_shape!s}. Give both the axes "
            "(examples, positions).",
            shape=shape,
            other_shape=tuple(mask.shape),
        )
    if mask.dtype != torch.bool:
        raise DtypeError(
            "`{argument}` is {dtype}. Pass booleans: `{argument}.bool()`.",
            argument="mask",
            dtype=mask.dtype,
        )
    if not bool(mask.any(dim=1).all()) or len(mask) == 0:
        raise EmptyInputError(
            "Some example has no position to shuffle, or the input is empty. Leave such examples "
            "out."
        )
    check_size(batch_size)
    for name, value, least in (("n_shuffles", n_shuffles, 2), ("seed", seed, 0)):
        if not is_count(value, least):
            raise OptionError(
                "`{option}` is {number!r}. Pass an integer of at least {least}.",
                option=name,
                number=value,
                least=least,
            )


@dataclass(frozen=True, kw_only=True)
class AttentionPermutation:
    """Shuffles of the attention weights of a text model, among the words of each text.

    Weights on other positions, such as [CLS] and [SEP], stay where they are. A model that is not
    from Hugging Face needs the module `score`, on whose output alone its attention depends.

    Args:
        n_shuffles: Number of shuffles per text.
        seed: Seed of the shuffles: use the same for all runs.
        layer: Index of the layer of a transformer; −1 is the last.
        head: Index of its head. If omitted, all heads are shuffled alike.
        position: Index of the token that attends; 0 is the one whose state most classifiers read,
            −1 the last token.
        batch_size: Number of texts per forward pass.
    """

    n_shuffles: int = 100
    seed: int = 0
    layer: int = -1
    head: int | None = None
    position: int = 0
    batch_size: int = 256

    def __call__(self, model: nn.Module, texts: TokenBatch, /) -> PermutedAttention:
        """Return how far the output for each text moves, in the order of the texts."""
        check_size(self.batch_size)
        order: list[int] = []
        parts: list[PermutedAttention] = []
        is_hugging = is_transformer(model)
        with (
            undisturbed(model),
            plain_attention(model) if is_hugging else nullcontext(),
            torch.no_grad(),
        ):
            for rows, some in texts.chunks(self.batch_size):
                replaced = self._in_transformer if is_hugging else self._in_scores
                attention, output = replaced(model, some)
                order += rows
                parts.append(
                    permute_attention(
                        output,
                        attention,
                        some.is_word,
                        n_shuffles=self.n_shuffles,
                        seed=self.seed,
                        ids=some.ids,
                        batch_size=self.batch_size,
                    )
                )
        return _joined(parts, np.argsort(order))

    def _in_scores(self, model: nn.Module, texts: TokenBatch) -> tuple[Tensor, Output]:
        """Return the scores before the softmax, and the logits for others in their place."""
        score = module_of(model, "score", "Shuffling the attention")
        outputs: list[Tensor] = []

        def keep(own: Tensor) -> Tensor:
            outputs.append(own)
            return own

        with replaced_output(score, keep, "score"):
            logits_of(model, texts.tokens, texts.mask)
        (scores,) = outputs
        if scores.numel() != texts.tokens.numel():
            raise ShapeError(
                "The module `score` returned the shape {shape!s} for tokens of shape "
                "{other_shape!s}. It must return one score per token.",
                shape=tuple(scores.shape),
                other_shape=tuple(texts.tokens.shape),
            )

        def output(shuffled: Tensor, rows: Tensor) -> Tensor:
            def replace(own: Tensor) -> Tensor:
                return shuffled.view_as(own)

            with replaced_output(score, replace, "score"):
                return logits_of(model, texts.tokens[rows], texts.mask[rows])

        return scores.view_as(texts.tokens), output

    def _in_transformer(self, model: nn.Module, texts: TokenBatch) -> tuple[Tensor, Output]:
        """Return weights of one layer, axes (texts, heads, positions), and logits for others."""
        heads = slice(None) if self.head is None else [self.head]
        with _AttentionWeights() as layers:
            logits_of(model, texts.tokens, texts.mask)
        if not layers.weights:
            raise InputError(
                "{type_name} computes no attention weights that could be shuffled.",
                type_name=type(model).__name__,
            )
        weights = at(tuple(layers.weights), self.layer, "layer")
        at(weights.unbind(dim=1), self.head or 0, "head")
        at(weights.unbind(dim=2), self.position, "position")
        layer = range(len(layers.weights))[self.layer]

        def output(shuffled: Tensor, rows: Tensor) -> Tensor:
            def replace(own: Tensor) -> Tensor:
                changed = own.clone()
                changed[:, heads, self.position] = shuffled.to(own.dtype)
                return changed

            with _AttentionWeights(layer, replace):
                return logits_of(model, texts.tokens[rows], texts.mask[rows])

        return weights[:, heads, self.position], output


class _AttentionWeights(TorchFunctionMode):
    """The attention weights of each layer of a transformer; those of one layer may be replaced.

    With plain attention, each layer calls softmax once on the axes (texts, heads, from, to).
    """

    def __init__(self, layer: int | None = None, replace: ReplaceOutput | None = None) -> None:
        super().__init__()
        self.weights: list[Tensor] = []
        self._layer, self._replace = layer, replace

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call a function of torch; keep or replace weights."""
        del types
        answer = func(*args, **(kwargs or {}))
        if func not in SOFTMAX or answer.ndim != 4:
            return answer
        self.weights.append(answer)
        if self._replace is not None and len(self.weights) - 1 == self._layer:
            return self._replace(answer)
        return answer


def _joined(parts: Sequence[PermutedAttention], order: IntArray) -> PermutedAttention:
    """Return the examples of all parts, in another order."""
    names = ("probs", *CHANGES)
    arrays = {x: np.concatenate([getattr(part, x) for part in parts])[order] for x in names}
    return PermutedAttention(**arrays, n_shuffles=parts[0].n_shuffles)
