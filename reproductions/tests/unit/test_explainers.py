"""The contract of explainers on the models of the papers."""

import numpy as np
import pytest

from seedproof.explain import Attention, Gradients, Lime, TakesLengths
from seedproof.runs.rng import seed_everything, untouched
from seedproof.testing.explainers import N_TOKENS, ExplainerContract
from seedproof_reproductions.models import Classifier, Shape

EXPLAINERS = {
    "attention": Attention(),
    "gradient, cut": Gradients(cut_attention=True),
    "lime": Lime(replacement=0, seed=0, n_samples=50),
}


@pytest.mark.parametrize("explainer", EXPLAINERS.values(), ids=EXPLAINERS)
@pytest.mark.parametrize(("encoder", "attention"), [("cnn", "additive"), ("lstm", "dot")])
class TestPapers(ExplainerContract):
    """Models that take lengths instead of a mask."""

    @pytest.fixture
    def model(self, encoder, attention):
        """With two classes, which share one logit."""
        vectors = np.random.default_rng(0).normal(size=(N_TOKENS, 5))
        with untouched():
            seed_everything(np.random.SeedSequence(0))
            return TakesLengths(Classifier(Shape(encoder, attention), vectors))
