"""What a run predicts while it trains."""

from typing import TYPE_CHECKING

from seedproof.papers.findings2023.classifier import Classifier
from seedproof.papers.findings2023.data import Prepared
from seedproof.runs.dynamics import Dynamics

if TYPE_CHECKING:
    from torch import Tensor


class Trace:
    """What the models of a run say of the test split after a step: of several, their mean.

    Args:
        prepared: The test split.
        every: After every so many steps.
    """

    def __init__(self, prepared: Prepared, *, every: int = 1) -> None:
        self._test = prepared.test
        self._n_classes = prepared.data.n_classes
        self._every = every
        self._sums: dict[int, Tensor] = {}

    def after_step(self, step: int, model: Classifier) -> None:
        """Take what a model says after a step, if it is time."""
        if step % self._every == 0:
            said = model.predict(self._test.inputs)
            self._sums[step] = self._sums[step] + said if step in self._sums else said

    def dynamics(self) -> Dynamics:
        """What was predicted, counted."""
        utterances = self._test.utterances
        found = Dynamics(n_classes=self._n_classes, ids=utterances.ids, labels=utterances.labels)
        for _, sums in sorted(self._sums.items()):
            found.update(sums / sums.sum(dim=1, keepdim=True))
        return found
