"""Models that evaluate for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside, no part of a model trains; afterwards each part does what it did before.

    Args:
        model: Parts of it may be frozen, and evaluate all the time.

    Yields:
        Nothing.
    """
    modes = {module: module.training for module in model.modules()}
    for module in modes:
        module.training = False
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
