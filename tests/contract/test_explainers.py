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

SETTINGS = {
    "attention": Attention(),
    "attention, one by one": Attention(batch_size=1),
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
    "lime, shares": Lime(replacement=0, seed=1, draw=1, n_samples=50, signed=False),
    "lime, in parts": Lime(replacement=2, seed=0, n_samples=50, batch_size=7),
    "lime, two words": Lime(replacement=0, seed=0, n_samples=50, surrogate=Surrogate(n_words=2)),
}
FOR_TRANSFORMERS = {
    "attention": TransformerAttention(),
    "attention of one head": TransformerAttention(layer=0, head=1, position=-1),
    "gradient": Gradients(),
    "integrated": Gradients("integrated-gradients", n_steps=4),
    "lime": Lime(replacement=0, seed=0, n_samples=30),
}


@pytest.mark.parametrize("explainer", SETTINGS.values(), ids=SETTINGS)
class TestReader(ExplainerContract):
    """On the small model."""

    def test_padding_is_never_passed_to_the_model(self, explainer, texts):
        """Texts are cut to their length."""
        model = SmallModel(sees_padding=True)

        assert are_close(explainer(model, texts), explainer(model, pad(texts, 1, 5)))

    def test_one_logit_is_explained_like_two_of_which_the_first_is_0(self, explainer, texts):
        single, double = SmallModel(n_outputs=1), SmallModel(n_outputs=2)
        own = {name: value for name, value in single.state_dict().items() if "output" not in name}
        double.load_state_dict(own, strict=False)
        with torch.no_grad():
            double.output.weight.copy_(torch.cat([0 * single.output.weight, single.output.weight]))
            double.output.bias.copy_(torch.cat([0 * single.output.bias, single.output.bias]))

        assert are_close(explainer(single, texts), explainer(double, texts))


@pytest.mark.parametrize("explainer", FOR_TRANSFORMERS.values(), ids=FOR_TRANSFORMERS)
class TestTransformer(ExplainerContract):
    """On a model of Hugging Face."""

    @pytest.fixture
    def model(self, small_bert):
        return small_bert(vocab_size=N_TOKENS, max_position_embeddings=40, num_labels=3)
