"""What a teacher says while it trains, made into soft labels."""

from torch import Tensor
from torch.nn import functional

from seedproof.stabilize.soft_labels import Tgtss
from seedproof_reproductions.findings2023.arms import Arm, SoftLabels
from seedproof_reproductions.findings2023.classifier import Classifier
from seedproof_reproductions.findings2023.costs import Cost
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.fitting import steps_of
from seedproof_reproductions.findings2023.settings import Setting


class Listener:
    """Hears what a teacher says while it trains, and makes soft labels of it.

    Args:
        prepared: What it trains on.
        setting: From which step on it counts.
        arm: How the teacher is trained.
        soft: Whether all utterances are predicted every so often, or its batches are heard.
        cost: Predictions are added.
    """

    def __init__(
        self, prepared: Prepared, setting: Setting, arm: Arm, soft: SoftLabels, cost: Cost
    ) -> None:
        self._train = prepared.train
        self._cost = cost
        self._is_free = soft.kind == "tgtss-free"
        self._tgtss = Tgtss(
            len(prepared.train),
            prepared.data.n_classes,
            start=setting.teacher_start(steps_of(prepared, arm, setting)),
            every=1 if self._is_free else soft.every,
            power=soft.power,
        )

    def after_step(self, step: int, model: Classifier) -> None:
        """Ask for predictions of all utterances, if it is time."""
        if not self._is_free and self._tgtss.is_due(step):
            self._tgtss.observe(model.predict(self._train.inputs), step=step)
            self._cost.add_prediction(model, len(self._train))

    def after_batch(self, step: int, rows: Tensor, logits: Tensor) -> None:
        """Take what the batch said anyway."""
        if self._is_free and self._tgtss.is_due(step):
            self._tgtss.observe(functional.softmax(logits, dim=1), step=step, rows=rows)

    def labels(self) -> Tensor:
        """What was heard; gold labels for what was not."""
        return self._tgtss.targets(gold=self._train.labels).float()
