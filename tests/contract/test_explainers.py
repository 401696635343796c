"""The explainer contract, for the explainers of this package."""

import pytest
import torch

from seedproof.explain import Attention, Gradients, Lime, TransformerAttention
from seedproof.explain.surrogate import Surrogate
from seedproof.testing.explainers import (
    N_TOKENS,
    ExplainerContract,
    SmallModel,
    are_close,
    pad,
)

FOR_SMALL_MODEL = {
    "attention": Attention(),
    "attention, in batches of one": Attention(batch_size=1),
    "gradient": Gradients(),
    "gradient, cut": Gradients(cut_attention=True),
    "gradient, signed": Gradients(signed=True, batch_size=2),
    "gradient x input": Gradients("gradient-x-input"),
    "gradient x input, cut": Gradients("gradient-x-input", cut_attention=True),
    "integrated": Gradients("integrated-gradients", n_steps=8),
    "integrated, from a token": Gradients(
        "integrated-gradients", n_steps=8, baseline=3, batch_size=4
    ),
    "lime": Lime(replacement=0, seed=0, n_samples=50),
    "lime, unsigned": Lime(replacement=0, seed=1, draw=1, n_samples=50, signed=False),
    "lime, in batches": Lime(replacement=2, seed=0, n_samples=50, batch_size=7),
    "lime, two words": Lime(replacement=0, seed=0, n_samples=50, surrogate=Surrogate(n_words=2)),
}
FOR_TRANSFORMERS = {
    "attention": TransformerAttention(),
    "attention of one head": TransformerAttention(layer=0, head=1, position=-1),
    "gradient": Gradients(),
    "integrated": Gradients("integrated-gradients", n_steps=4),
    "lime": Lime(replacement=0, seed=0, n_samples=30),
}


@pytest.mark.parametrize("explainer", FOR_SMALL_MODEL.values(), ids=FOR_SMALL_MODEL)
class TestSmallModel(ExplainerContract):
    """Explainers on the small attention model of the contract."""

    def test_padding_is_never_passed_to_the_model(self, explainer, texts):
        """Even if a model would read padding, padding does not change the scores."""
        model = SmallModel(sees_padding=True)

        assert are_close(explainer(model, texts), explainer(model, pad(texts, 1, 5)))

    def test_one_logit_is_explained_like_two_of_which_the_first_is_0(self, explainer, texts):
        single, double = SmallModel(n_outputs=1), SmallModel(n_outputs=2)
        shared_weights = {
            name: value for name, value in single.state_dict().items() if "output" not in name
        }
        double.load_state_dict(shared_weights, strict=False)
        with torch.no_grad():
            double.output.weight.copy_(torch.cat([0 * single.output.weight, single.output.weight]))
            double.output.bias.copy_(torch.cat([0 * single.output.bias, single.output.bias]))

        assert are_close(explainer(single, texts), explainer(double, texts))


@pytest.mark.parametrize("explainer", FOR_TRANSFORMERS.values(), ids=FOR_TRANSFORMERS)
class TestTransformer(ExplainerContract):
    """Explainers on a small BERT model of Hugging Face."""

    @pytest.fixture
    def model(self, small_bert):
        return small_bert(vocab_size=N_TOKENS, max_position_embeddings=40, num_labels=3)
