"""Losses on soft labels, compared with torch and with explicit formulas."""

import math

import pytest
import torch
from torch.nn import functional

from seedproof.errors import OptionError, ShapeError
from seedproof.stabilize import codistillation_loss, smoothed, soft_cross_entropy
from seedproof.testing.errors import WithFields

GENERATOR = torch.Generator().manual_seed(0)
LOGITS = torch.randn((12, 5), generator=GENERATOR, dtype=torch.float64)
PEER = torch.randn((12, 5), generator=GENERATOR, dtype=torch.float64)
OTHER = torch.randn((12, 5), generator=GENERATOR, dtype=torch.float64)
TARGETS = torch.rand((12, 5), generator=GENERATOR, dtype=torch.float64)
TARGETS = TARGETS / TARGETS.sum(dim=1, keepdim=True)
LABELS = torch.randint(0, 5, (12,), generator=GENERATOR)


def gradient(loss, logits):
    return torch.autograd.grad(loss, logits)[0]


def test_hand_computed_case():
    """−(¾ ln ⅔ + ¼ ln ⅓), where the odds are 2 : 1."""
    logits = torch.tensor([[math.log(2.0), 0.0]], dtype=torch.float64)

    loss = soft_cross_entropy(logits, torch.tensor([[0.75, 0.25]]))

    assert loss.item() == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(3.0), abs=1e-15)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_loss_equals_that_of_torch_for_soft_targets(reduction):
    """Loss and gradient; 1e-14 because sums may have another order."""
    logits = LOGITS.clone().requires_grad_()
    ours = soft_cross_entropy(logits, TARGETS, reduction=reduction)
    torchs = functional.cross_entropy(logits, TARGETS, reduction=reduction)

    torch.testing.assert_close(ours, torchs, rtol=0, atol=1e-14)
    torch.testing.assert_close(
        gradient(ours.sum(), logits), gradient(torchs.sum(), logits), rtol=0, atol=1e-14
    )


def test_one_hot_targets_give_the_cross_entropy_of_the_labels():
    """Bit for bit: all other terms are 0."""
    one_hot = functional.one_hot(LABELS, 5).double()

    ours = soft_cross_entropy(LOGITS, one_hot, reduction="none")

    assert torch.equal(ours, functional.cross_entropy(LOGITS, LABELS, reduction="none"))


def test_label_smoothing_equals_that_of_torch():
    """1e-14 as above."""
    for alpha in (0.0, 0.1, 0.5, 1.0):
        ours = soft_cross_entropy(LOGITS, smoothed(LABELS, n_classes=5, alpha=alpha))

        torchs = functional.cross_entropy(LOGITS, LABELS, label_smoothing=alpha)
        torch.testing.assert_close(ours, torchs, rtol=0, atol=1e-14)


def test_minimum_is_the_entropy_of_the_targets():
    """There the gradient is 0; 1e-15 is rounding."""
    logits = TARGETS.log().requires_grad_()

    loss = soft_cross_entropy(logits, TARGETS)

    assert loss.item() == pytest.approx(torch.special.entr(TARGETS).sum(dim=1).mean().item())
    assert gradient(loss, logits).abs().max() < 1e-15


def test_masked_classes_add_nothing():
    """A logit of −∞ with a target of 0 changes neither loss nor gradient."""
    logits = torch.tensor([[1.0, 2.0, -math.inf]], requires_grad=True)
    without = torch.tensor([[1.0, 2.0]], requires_grad=True)

    loss = soft_cross_entropy(logits, torch.tensor([[0.4, 0.6, 0.0]]))
    expected = soft_cross_entropy(without, torch.tensor([[0.4, 0.6]]))

    assert loss.item() == expected.item()
    assert torch.equal(gradient(loss, logits)[:, :2], gradient(expected, without))
    assert gradient(soft_cross_entropy(logits, torch.tensor([[0.4, 0.6, 0.0]])), logits)[0, 2] == 0


def test_half_precision_is_computed_in_32_bits():
    logits = LOGITS.bfloat16()

    loss = soft_cross_entropy(logits, TARGETS)

    assert loss.dtype == torch.float32
    assert torch.equal(loss, soft_cross_entropy(logits.float(), TARGETS.float()))


def test_classes_are_on_the_last_axis():
    loss = soft_cross_entropy(LOGITS.reshape(3, 4, 5), TARGETS.reshape(3, 4, 5), reduction="none")

    expected = soft_cross_entropy(LOGITS, TARGETS, reduction="none")
    assert torch.equal(loss, expected.reshape(3, 4))


def test_no_gradient_goes_to_the_targets():
    teacher = LOGITS.clone().requires_grad_()
    student = PEER.clone().requires_grad_()

    soft_cross_entropy(student, teacher.softmax(dim=1)).backward()

    assert teacher.grad is None
    assert student.grad is not None


def kl(first, second):
    p, q = first.softmax(dim=1), second.softmax(dim=1)
    return (p * (p.log() - q.log())).sum(dim=1)


def test_codistillation_is_gold_plus_divergence_from_the_peer():
    """KL(peer ‖ own); 1e-14 because it is computed as a difference."""
    loss = codistillation_loss(LOGITS, PEER, LABELS, weight=0.7, reduction="none")

    gold = functional.cross_entropy(LOGITS, LABELS, reduction="none")
    torch.testing.assert_close(loss, gold + 0.7 * kl(PEER, LOGITS), rtol=0, atol=1e-14)
    assert not torch.allclose(loss, gold + 0.7 * kl(LOGITS, PEER))


def test_several_peers_count_by_the_mean_of_their_probabilities():
    loss = codistillation_loss(LOGITS, [PEER, OTHER], LABELS, reduction="none")

    mean = (PEER.softmax(dim=1) + OTHER.softmax(dim=1)) / 2
    gold = functional.cross_entropy(LOGITS, LABELS, reduction="none")
    torch.testing.assert_close(loss, gold + kl(mean.log(), LOGITS), rtol=0, atol=1e-14)


def test_peers_are_detached():
    own, peer = LOGITS.clone().requires_grad_(), PEER.clone().requires_grad_()

    codistillation_loss(own, peer, LABELS).backward()

    assert peer.grad is None
    assert own.grad is not None


def test_agreeing_models_are_trained_as_if_alone():
    """The divergence and its gradient are 0; 1e-15 is rounding."""
    own = LOGITS.clone().requires_grad_()

    loss = codistillation_loss(own, LOGITS, LABELS, weight=5.0)

    alone = functional.cross_entropy(own, LABELS)
    assert loss.item() == pytest.approx(alone.item(), abs=1e-14)
    torch.testing.assert_close(gradient(loss, own), gradient(alone, own), rtol=0, atol=1e-15)


def test_weight_zero_ignores_the_peers():
    loss = codistillation_loss(LOGITS, PEER, LABELS, weight=0.0)

    assert loss.item() == pytest.approx(functional.cross_entropy(LOGITS, LABELS).item(), abs=1e-15)


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "fields"),
    [
        ((LABELS,), {}, ShapeError, {"shape": (12, 5), "targets_shape": (12,)}),
        ((TARGETS,), {"reduction": "average"}, OptionError, {"reduction": "average"}),
        ((PEER, LABELS), {"weight": -0.1}, OptionError, {"weight": -0.1}),
        ((PEER, LABELS), {"weight": math.nan}, OptionError, {"weight": math.nan}),
        (([], LABELS), {}, OptionError, {"n_peers": 0}),
        ((PEER[:3], LABELS), {}, ShapeError, {"shape": (12, 5), "peer_shapes": [(3, 5)]}),
        ((PEER, LABELS[:3]), {}, ShapeError, {"shape": (3,), "logits_shape": (12, 5)}),
        ((PEER, LOGITS), {}, ShapeError, {"shape": (12, 5), "logits_shape": (12, 5)}),
    ],
)
def test_bad_arguments_are_refused(arguments, settings, error, fields):
    loss = soft_cross_entropy if len(arguments) == 1 else codistillation_loss
    with pytest.raises(error, check=WithFields(**fields)):
        loss(LOGITS, *arguments, **settings)
