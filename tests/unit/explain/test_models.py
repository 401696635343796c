import numpy as np
import pytest
import torch
from torch import nn

from seedproof.errors import InputError, OptionError, ShapeError
from seedproof.explain.models import (
    chosen_targets,
    log_odds,
    logits_of,
    module_of,
    probs_of,
    replaced_output,
    undisturbed,
)
from seedproof.testing.errors import WithFields
from seedproof.testing.explainers import SmallModel

TOKENS = torch.tensor([[1, 2, 3]])
MASK = torch.ones_like(TOKENS).bool()


class Constant(nn.Module):
    """A model with the same logits for every text."""

    def __init__(self, *logits):
        super().__init__()
        self.logits = torch.tensor([logits])

    def forward(self, tokens, mask):
        """Return the same logits for every text."""
        del mask
        return self.logits.expand(len(tokens), *self.logits.shape[1:])


def test_log_odds_are_those_of_the_probability():
    """For any class of many: ln(p/(1−p))."""
    logits = torch.tensor([[0.3, -1.2, 2.0], [1.0, 1.0, 1.0]], dtype=torch.float64)
    targets = torch.tensor([2, 0])
    p = logits.softmax(dim=1)[[0, 1], [2, 0]]

    torch.testing.assert_close(log_odds(logits, targets), (p / (1 - p)).log())


def test_log_odds_of_one_column_are_the_logit_itself():
    """With the other sign for the class 0."""
    odds = log_odds(torch.tensor([[1.5], [1.5]]), torch.tensor([1, 0]))

    assert odds.tolist() == [1.5, -1.5]


def test_log_odds_do_not_saturate():
    """At 60 to −60 the probability is 1 in float32; its gradient would be 0, that of the odds 1."""
    logits = torch.tensor([[60.0, -60.0]], requires_grad=True)

    log_odds(logits, torch.tensor([0])).sum().backward()

    assert logits.grad.tolist() == [[1.0, -1.0]]


def test_one_logit_gives_two_probabilities():
    """That of class 1 is the sigmoid, and a small one of class 0 is not rounded to 0."""
    probs = probs_of(Constant(40.0), TOKENS, MASK)

    assert probs[0, 1] == 1
    np.testing.assert_allclose(probs[0, 0], np.exp(-40.0), rtol=1e-6)  # float32


def test_targets_are_the_given_ones_or_the_most_probable():
    """One class per text."""
    probs = torch.tensor([[0.2, 0.8], [0.9, 0.1]])

    assert chosen_targets(probs, None).tolist() == [1, 0]
    assert chosen_targets(probs, torch.tensor([0, 1])).tolist() == [0, 1]


@pytest.mark.parametrize("target", [-1, 2])
def test_target_out_of_range_is_refused(target):
    """Also a negative index."""
    with pytest.raises(OptionError, check=WithFields(class_idx=target, highest=1)):
        chosen_targets(torch.tensor([[0.2, 0.8]]), torch.tensor([target]))


def test_logits_with_other_axes_are_refused():
    """One number per text must be a column."""
    with pytest.raises(ShapeError, check=WithFields(shape=(1,), n_texts=1)):
        logits_of(lambda *_: torch.tensor([0.5]), TOKENS, MASK)


def test_missing_module_is_named():
    """With its purpose and the model."""
    with pytest.raises(
        InputError, check=WithFields(purpose="Cutting", module="score", type_name="Constant")
    ):
        module_of(Constant(1.0), "score", "Cutting")


def test_modes_of_all_modules_are_restored():
    """Also if they differ, and after an exception."""
    model = SmallModel()
    model.score.eval()
    before = [module.training for module in model.modules()]

    def look():
        with undisturbed(model):
            assert not any(module.training for module in model.modules())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        look()

    assert [module.training for module in model.modules()] == before


@pytest.mark.parametrize("n_calls", [0, 2])
def test_module_that_is_not_called_once_is_refused(n_calls):
    """The hook is removed afterwards."""
    part = nn.Identity()

    def use():
        with replaced_output(part, lambda output: 2 * output, "part"):
            for _ in range(n_calls):
                assert part(torch.ones(1)) == 2

    with pytest.raises(InputError, check=WithFields(module="part", n_calls=n_calls)):
        use()

    assert part(torch.ones(1)) == 1
