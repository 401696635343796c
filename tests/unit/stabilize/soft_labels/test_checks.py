"""Checks of probabilities, labels and rows."""

import numpy as np
import pytest
import torch

from seedproof.errors import OptionError, ProbabilityError, UnknownLabelError
from seedproof.stabilize.soft_labels import RunningMean, ensemble, mixed
from seedproof.stabilize.soft_labels.checks import as_labels, as_probs, as_rows
from seedproof.testing.errors import WithFields

OFF = [[0.498, 0.497]]  # sums to 0.995


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_has_a_larger_tolerance(dtype):
    """A row that sums to 0.995 is accepted in half precision only, as in records."""
    half = torch.tensor(OFF, dtype=dtype)
    # bfloat16 rounds 0.498 to 0.498047 and 0.497 to 0.496094.
    assert as_probs(half, n_examples=1, n_classes=2).sum().item() == pytest.approx(0.995, abs=2e-3)
    assert ensemble([half], power=1).shape == mixed([0], half, weight=1.0).shape == (1, 2)
    for values in (OFF, np.array(OFF, dtype=np.float32), half.double()):
        with pytest.raises(ProbabilityError, check=WithFields(tolerance=0.001)):
            as_probs(values, n_examples=1, n_classes=2)
        with pytest.raises(ProbabilityError, check=WithFields(tolerance=0.001)):
            RunningMean(1, 2).update(values)
        with pytest.raises(ProbabilityError):
            ensemble([values])
        with pytest.raises(ProbabilityError):
            mixed([0], values, weight=0.5)


def test_error_says_what_to_do():
    with pytest.raises(UnknownLabelError, check=WithFields(label=3, highest=2)):
        as_labels([3], n_classes=3)
    with pytest.raises(OptionError, check=WithFields(row=9, highest=8)):
        as_rows([9], n_examples=9)
