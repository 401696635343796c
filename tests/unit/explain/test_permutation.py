from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
import torch

from seedproof.errors import DtypeError, EmptyInputError, InputError, OptionError, ShapeError
from seedproof.explain import AttentionPermutation, TokenBatch, permute_attention
from seedproof.testing.errors import WithFields
from seedproof.testing.explainers import (
    SmallModel,
    are_close,
    global_state,
    pad,
    some_texts,
    take,
    traces,
)
from seedproof.testing.trainings import fill

ARRAYS = ("probs", "probability_change", "probability_floor", "logit_change", "logit_floor")


class Pooled:
    """Logits from values pooled by attention; keeps the weights that it was called with."""

    def __init__(self, n_examples=12, n_positions=7, n_classes=3):
        draw = torch.Generator().manual_seed(0)
        self.values = torch.randn(n_examples, n_positions, 5, generator=draw)
        self.head = torch.randn(5, n_classes, generator=draw)
        lengths = torch.arange(n_examples) % (n_positions - 1) + 2
        self.mask = torch.arange(n_positions) < lengths[:, None]
        scores = torch.randn(n_examples, n_positions, generator=draw)
        self.attention = scores.masked_fill(~self.mask, -torch.inf).softmax(dim=1)
        self.calls = []

    def __call__(self, weights, rows):
        """Return logits, axes (rows, classes)."""
        self.calls.append((weights.clone(), rows.clone()))
        return 3 * torch.einsum("rp,rpd->rd", weights, self.values[rows]).tanh() @ self.head

    def permute(self, **options):
        """Shuffle its own attention."""
        return permute_attention(self, self.attention, self.mask, **options)


def is_equal(first, second):
    """Return whether all arrays of two results have the same bits."""
    return all(np.array_equal(getattr(first, x), getattr(second, x)) for x in ARRAYS)


@pytest.mark.parametrize("batch_size", [1, 7, 4096])
def test_constant_attention_changes_nothing(batch_size):
    """Exactly, although sums may be rounded differently in other batches."""
    model = Pooled()
    equal = model.mask / model.mask.sum(dim=1, keepdim=True)

    permuted = permute_attention(model, equal, model.mask, n_shuffles=9, batch_size=batch_size)

    for name in ARRAYS[1:]:
        np.testing.assert_array_equal(getattr(permuted, name), np.zeros(12))


def test_weights_move_among_real_positions_only():
    """Padding keeps its weight, and the others are the same weights in another order."""
    model = Pooled()
    padding = torch.full_like(model.attention, 0.3)
    attention = torch.where(model.mask, model.attention, padding)

    permute_attention(model, attention, model.mask, n_shuffles=5)

    (_, _), *shuffled = model.calls
    n_moved = 0
    for weights, rows in shuffled:
        own, is_real = attention[rows], model.mask[rows]
        assert torch.equal(weights[~is_real], own[~is_real])
        for row, before, real in zip(weights, own, is_real, strict=True):
            assert torch.equal(row[real].sort().values, before[real].sort().values)
            n_moved += not torch.equal(row, before)
    assert n_moved > 40  # of 60


def test_shuffles_equal_a_loop():
    """Probabilities, changes and floors from one pair of outputs at a time."""
    model = Pooled()
    permuted = model.permute(n_shuffles=6)
    (weights, _), *calls = model.calls
    shuffled = torch.cat([some for some, _ in calls]).view(12, 6, 7)

    for i in range(12):
        row = torch.tensor([i])

        def probs(weights, row=row):
            logits = model(weights[None], row)[0].double()
            return (logits.exp() / logits.exp().sum()).numpy()

        def odds(p):
            return np.log(p / (1 - p))

        before, after = probs(weights[i]), [probs(some) for some in shuffled[i]]
        first, target = before.max(), before.argmax()
        pairs = [(a.max(), b[a.argmax()]) for a, b in permutations(after, 2)]
        expected = (
            np.mean([abs(p[target] - first) for p in after]),
            np.mean([abs(b - a) for a, b in pairs]),
            np.mean([abs(odds(p[target]) - odds(first)) for p in after]),
            np.mean([abs(odds(b) - odds(a)) for a, b in pairs]),
        )
        own = [getattr(permuted, name)[i] for name in ARRAYS[1:]]
        np.testing.assert_allclose(permuted.probs[i], before, rtol=1e-5)  # float32 logits
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("batch_size", [1, 5, 40])
def test_batches_do_not_matter(batch_size):
    """Except for rounding; also if the shuffles of an example do not fit into one."""
    whole = Pooled().permute(n_shuffles=8)

    in_parts = Pooled().permute(n_shuffles=8, batch_size=batch_size)

    for name in ARRAYS:
        expected = getattr(whole, name)
        np.testing.assert_allclose(getattr(in_parts, name), expected, rtol=1e-4, atol=1e-6)


def test_shuffles_depend_on_the_seed_and_the_id():
    """Not on the other examples, and not on a global generator."""
    model = Pooled()
    before = torch.random.get_rng_state()

    first, again, other = (model.permute(seed=seed, n_shuffles=5) for seed in (3, 3, 4))
    some = permute_attention(
        lambda weights, rows: model(weights, rows + 4),
        model.attention[4:],
        model.mask[4:],
        ids=range(4, 12),
        seed=3,
        n_shuffles=5,
    )

    assert is_equal(first, again)
    assert not np.array_equal(first.logit_change, other.logit_change)
    np.testing.assert_allclose(some.logit_change, first.logit_change[4:], rtol=1e-4)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_first_shuffles_stay_the_same_with_more():
    """So that more shuffles refine a result."""
    few, many = Pooled(), Pooled()

    few.permute(n_shuffles=3)
    many.permute(n_shuffles=10)

    first, second = (torch.cat([some for some, _ in x.calls[1:]]) for x in (few, many))
    assert torch.equal(first.view(12, 3, 7), second.view(12, 10, 7)[:, :3])


def test_weights_at_random_positions_change_as_much_as_the_floor():
    """Over 3,000 examples, changes exceed their floors by less than three standard errors."""
    model = Pooled(n_examples=3000)

    permuted = model.permute(n_shuffles=10)

    for change, floor in (
        (permuted.probability_change, permuted.probability_floor),
        (permuted.logit_change, permuted.logit_floor),
    ):
        excess = change - floor
        assert abs(excess.mean()) < 3 * excess.std() / np.sqrt(3000)
        assert floor.mean() > 0.01


def test_heads_are_shuffled_alike():
    """Further axes follow the same order."""
    model = Pooled()
    heads = model.attention[:, None].repeat(1, 2, 1)

    def output(weights, rows):
        assert torch.equal(weights[:, 0], weights[:, 1])
        return model(weights[:, 1], rows)

    permuted = permute_attention(output, heads, model.mask, n_shuffles=5)

    assert is_equal(permuted, model.permute(n_shuffles=5))


def test_one_column_stands_for_two_classes():
    """A logit x equals the two logits 0 and x."""
    model = Pooled(n_classes=1)

    def two_columns(weights, rows):
        second = model(weights, rows)
        return torch.cat([torch.zeros_like(second), second], dim=1)

    single, double = (
        permute_attention(output, model.attention, model.mask, n_shuffles=5)
        for output in (model, two_columns)
    )

    for name in ARRAYS:
        expected = getattr(double, name)
        np.testing.assert_allclose(getattr(single, name), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "error", "fields"),
    [
        ({"mask": torch.ones(12, 6, dtype=torch.bool)}, ShapeError, {"shape": (12, 7)}),
        ({"mask": torch.ones(12, 7)}, DtypeError, {"argument": "mask"}),
        ({"mask": torch.zeros(12, 7, dtype=torch.bool)}, EmptyInputError, {}),
        ({"n_shuffles": 1}, OptionError, {"option": "n_shuffles"}),
        ({"seed": -1}, OptionError, {"option": "seed"}),
        ({"batch_size": 0}, OptionError, {"batch_size": 0}),
        ({"ids": [1, 2]}, ShapeError, {"n_ids": 2}),
        ({"output": lambda weights, _: weights[:, 0]}, ShapeError, {"n_rows": 12}),
    ],
)
def test_bad_input_is_refused(changes, error, fields):
    """With the value that is wrong."""
    model = Pooled()
    given = {"output": model, "attention": model.attention, "mask": model.mask} | changes

    with pytest.raises(error, check=WithFields(**fields)):
        permute_attention(**given)


def test_two_words_are_exchanged_in_half_of_the_shuffles():
    """By hand, from the logits with exchanged scores."""
    model = SmallModel().eval()
    tokens = torch.tensor([[3, 9]])
    texts = TokenBatch(tokens, tokens > 0, ["a"])
    with torch.no_grad():
        states = model.windows(model.embedding(tokens).transpose(1, 2)).transpose(1, 2).tanh()
        attention = model.score(states).squeeze(-1).softmax(dim=1)
        own, exchanged = (
            model.output((weights.unsqueeze(-1) * states).sum(dim=1)).softmax(dim=1)[0]
            for weights in (attention, attention.flip(1))
        )
    target = int(own.argmax())
    assert target == int(exchanged.argmax())
    moved = abs(float(exchanged[target] - own[target]))

    permuted = AttentionPermutation(n_shuffles=1000)(model, texts)

    share = permuted.probability_change[0] / moved
    assert share == pytest.approx(0.5, abs=0.05)  # three standard errors
    # Pairs of one of each, among all pairs of shuffles.
    expected = 2 * share * (1 - share) * 1000 / 999 * moved
    assert permuted.probability_floor[0] == pytest.approx(expected, rel=1e-4)


@pytest.fixture
def bert(small_bert):
    """Two layers of two heads, with weights that matter."""
    model = small_bert(vocab_size=20, max_position_embeddings=16)
    fill(model, 1)
    return model


@pytest.mark.parametrize("kind", ["own", "transformer"])
def test_model_and_generators_are_left_unchanged(kind, bert):
    """Hooks, modes, weights, kernels and global state."""
    model = SmallModel() if kind == "own" else bert
    kernel = getattr(getattr(model, "config", None), "_attn_implementation", None)
    before, state = traces(model), global_state()

    AttentionPermutation(n_shuffles=3)(model, some_texts())

    assert traces(model) == before
    assert str(global_state()) == str(state)
    assert getattr(getattr(model, "config", None), "_attn_implementation", None) == kernel


@pytest.mark.parametrize("kind", ["own", "transformer"])
def test_texts_do_not_depend_on_each_other(kind, bert):
    """Neither on their order nor on padding."""
    model = SmallModel() if kind == "own" else bert
    texts, permutation = some_texts(), AttentionPermutation(n_shuffles=4)

    whole = permutation(model, texts)
    some = permutation(model, pad(take(texts, [5, 1]), 1, 2))

    assert whole.logit_change[1] > 0
    for name in ARRAYS:
        assert are_close([getattr(whole, name)[[5, 1]]], [getattr(some, name)])


def test_equal_words_of_a_transformer_may_be_shuffled(bert):
    """If all words have the same vector, it does not matter which has which weight."""
    with torch.no_grad():
        bert.bert.embeddings.position_embeddings.weight.zero_()
    tokens = torch.tensor([[1, 5, 5, 5, 5, 2], [1, 5, 9, 4, 7, 2]])
    words = torch.tensor([[False, True, True, True, True, False]] * 2)
    texts = TokenBatch(tokens, tokens > 0, [0, 1], words=words)

    same, different = AttentionPermutation(n_shuffles=8)(bert, texts).logit_change

    assert same < 1e-6
    assert different > 1e-3


def test_layers_of_a_transformer_before_the_one_that_is_shuffled_stay_as_they_are(bert):
    """Shuffling all that a head attends to differs by layer, head and position."""
    texts = some_texts()
    changes = [
        AttentionPermutation(n_shuffles=4, layer=layer, head=head, position=position)(
            bert, texts
        ).logit_change
        for layer, head, position in [(0, None, 0), (1, None, 0), (1, 0, 0), (1, 1, 0), (0, 0, -1)]
    ]

    for first, second in combinations(changes, 2):
        assert not np.allclose(first, second)
    np.testing.assert_array_equal(
        changes[1], AttentionPermutation(n_shuffles=4, layer=-1)(bert, texts).logit_change
    )


def test_state_that_no_classifier_reads_may_be_shuffled(bert):
    """In the last layer, only the first position matters to the logits."""
    permuted = AttentionPermutation(n_shuffles=4, position=1)(bert, some_texts())

    np.testing.assert_allclose(permuted.logit_change, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("option", "index"), [("layer", 2), ("head", 2), ("head", -3), ("position", 9)]
)
def test_unknown_part_of_a_transformer_is_refused(bert, option, index):
    """With the allowed range."""
    with pytest.raises(OptionError, check=WithFields(option=option, index=index)):
        AttentionPermutation(**{option: index})(bert, take(some_texts(), [1]))


def test_model_without_scores_is_refused():
    """The message names the missing module."""
    model = SmallModel()
    scores = model.score
    del model.score
    model.scores = scores

    with pytest.raises(InputError, check=WithFields(module="score")):
        AttentionPermutation()(model, replace(some_texts()))
