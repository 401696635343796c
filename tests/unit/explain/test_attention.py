import numpy as np
import pytest
import torch
from torch import nn

from seedproof.errors import InputError, OptionError, ShapeError
from seedproof.explain import Attention, TokenBatch, TransformerAttention
from seedproof.testing.errors import WithFields
from seedproof.testing.explainers import Explained, SmallModel, some_texts


class TokenAttention(nn.Module):
    """Its attention is a tenth of the token id."""

    def forward(self, tokens, mask):
        """Return logits and attention."""
        return Explained(torch.zeros(len(tokens), 2), tokens * mask / 10)


@pytest.fixture(scope="module")
def bert(small_bert):
    """Two layers of two heads, in evaluation mode."""
    return small_bert(vocab_size=20, max_position_embeddings=16).eval()


def test_attention_on_words_sums_to_one():
    """By hand: of .2 + .6 on words and .2 elsewhere, words have a quarter and three quarters."""
    tokens = torch.tensor([[1, 2, 6, 1, 0]])
    words = torch.tensor([[False, True, True, False, False]])

    (scores,) = Attention()(TokenAttention(), TokenBatch(tokens, tokens > 0, [0], words=words))

    np.testing.assert_allclose(scores, [0.25, 0.75], rtol=1e-6)  # float32


def test_attention_is_that_of_the_model():
    """In evaluation mode, that is, without dropout."""
    model, texts = SmallModel(), some_texts()

    scores = Attention()(model, texts)

    attention = model.eval()(texts.tokens, texts.mask).attention
    for score, weights, words in zip(scores, attention, texts.is_word, strict=True):
        expected = (weights[words] / weights[words].sum()).detach()
        np.testing.assert_allclose(score, expected, rtol=1e-4)  # float32, other batches


@pytest.mark.parametrize(
    ("layer", "head", "position"), [(-1, None, 0), (0, None, 0), (1, 1, 0), (-1, 0, -1)]
)
def test_attention_of_a_transformer_is_that_of_one_layer_from_one_position(
    bert, layer, head, position
):
    """The mean over heads unless one is chosen; without [CLS] and [SEP] it sums to 1."""
    tokens = torch.tensor([[1, 5, 9, 4, 2]])
    words = torch.tensor([[False, True, True, True, False]])
    texts = TokenBatch(tokens, tokens > 0, [0], words=words)

    (scores,) = TransformerAttention(layer=layer, head=head, position=position)(bert, texts)

    # By hand, from the input of the layer.
    states = bert(input_ids=tokens, output_hidden_states=True).hidden_states[layer % 2]
    attend = bert.bert.encoder.layer[layer].attention.self
    query, key = (
        part(states)[0].view(5, 2, 4).transpose(0, 1) for part in (attend.query, attend.key)
    )
    weights = (query @ key.transpose(1, 2) / 2).softmax(dim=-1)
    weights = weights.mean(dim=0) if head is None else weights[head]
    expected = weights[position, 1:4] / weights[position, 1:4].sum()
    np.testing.assert_allclose(scores, expected.detach(), rtol=1e-4)  # float32


def test_fast_kernel_is_restored(bert):
    """Also after an error."""
    before = bert.config._attn_implementation
    texts = some_texts()

    TransformerAttention()(bert, texts)
    with pytest.raises(OptionError):
        TransformerAttention(layer=9)(bert, texts)

    assert before == bert.config._attn_implementation == "sdpa"


def test_earlier_hooks_still_work(bert):
    """Only the hooks of transformers are removed."""
    called = []
    handle = bert.bert.register_forward_hook(lambda *_: called.append(1))

    TransformerAttention(batch_size=100)(bert, some_texts(1))
    TransformerAttention(batch_size=100)(bert, some_texts(1))

    assert called == [1, 1]
    handle.remove()


@pytest.mark.parametrize(
    ("name", "index", "n_parts"),
    [("layer", 2, 2), ("layer", -3, 2), ("head", 2, 2), ("position", 3, 3)],
)
def test_index_out_of_range_is_refused(bert, name, index, n_parts):
    """The error has the number of layers, heads or positions."""
    with pytest.raises(OptionError, check=WithFields(option=name, index=index, n_parts=n_parts)):
        TransformerAttention(**{name: index})(bert, some_texts(1))


def test_model_of_the_other_kind_is_refused(bert):
    """Each message names the right explainer."""
    with pytest.raises(InputError, check=WithFields(type_name="BertForSequenceClassification")):
        Attention()(bert, some_texts())
    with pytest.raises(InputError, check=WithFields(type_name="SmallModel")):
        TransformerAttention()(SmallModel(), some_texts())


def test_attention_of_another_shape_is_refused():
    """A matrix instead of one weight per position."""

    class Matrix(nn.Module):
        def forward(self, tokens, mask):
            return Explained(torch.zeros(len(tokens), 2), mask[:, :, None] & mask[:, None, :])

    with pytest.raises(ShapeError, check=WithFields(shape=(1, 3, 3), other_shape=(1, 3))):
        Attention()(Matrix(), some_texts(1))
