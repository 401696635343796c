"""What a run predicts while it trains."""

from typing import TYPE_CHECKING

from seedproof.runs.dynamics import Dynamics
from seedproof_reproductions.findings2023.classifier import Classifier
from seedproof_reproductions.findings2023.data import Prepared

if TYPE_CHECKING:
    from torch import Tensor


class Trace:
    """What the models of a run say of the test split after a step: of several, their mean.

    Args:
        prepared: The test split.
        every: After every so many steps.
        n_models: How many models there are, which are trained one after the other.
    """

    def __init__(self, prepared: Prepared, *, every: int = 1, n_models: int = 1) -> None:
        self._test = prepared.test
        self._every = every
        self._n_models = n_models
        self._sums: dict[int, Tensor] = {}
        self._dynamics = Dynamics(
            n_classes=prepared.data.n_classes,
            ids=prepared.test.utterances.ids,
            labels=prepared.test.utterances.labels,
        )

    def after_step(self, step: int, model: Classifier) -> None:
        """Take what a model says after a step, if it is time."""
        if step % self._every:
            return
        said = model.predict(self._test.inputs)
        if self._n_models == 1:
            self._dynamics.update(said)
        else:
            self._sums[step] = self._sums[step] + said if step in self._sums else said

    def dynamics(self) -> Dynamics:
        """What was predicted, counted."""
        for step in sorted(self._sums):
            sums = self._sums.pop(step)
            self._dynamics.update(sums / sums.sum(dim=1, keepdim=True))
        return self._dynamics
