"""What a run computes, counted in multiplications: seconds are noisy, and machines differ."""

from collections.abc import Sequence
from dataclasses import dataclass

from seedproof_reproductions.findings2023.arms import CONTROL
from seedproof_reproductions.findings2023.classifier import Classifier
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.fitting import Trained
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.minilm import multiplications


@dataclass
class Cost:
    """What the trained models of a run and their teachers compute.

    Args:
        forward: Multiplications on the way forward.
        backward: On the way back, which takes twice as many.
    """

    forward: float = 0.0
    backward: float = 0.0

    def add(self, other: "Cost") -> None:
        """Add what something else took."""
        self.forward += other.forward
        self.backward += other.backward

    def add_training(self, trained: Trained, n_models: int = 1) -> None:
        """Add a training: every utterance of every batch, forward and back."""
        passed = trained.n_seen * n_models * trained.model.n_multiplied
        self.forward += passed
        self.backward += 2 * passed

    def add_prediction(self, model: Classifier, n_utterances: int) -> None:
        """Add predictions of some utterances."""
        self.forward += model.n_multiplied * n_utterances

    @property
    def total(self) -> float:
        """All of them."""
        return self.forward + self.backward


def cost_scalars(
    prepared: Prepared, setting: Setting, cost: Cost, models: Sequence[Classifier]
) -> dict[str, float]:
    """What training and serving take, with the encoder.

    Args:
        prepared: How long the utterances are.
        setting: On the track `head`, an encoder that is not trained reads each utterance once.
        cost: What was trained.
        models: What is served.

    Returns:
        `forward_passes` and `serving_multiplier`, which count in passes of one utterance through
        the control's model; on the track `head` also the multiplications of heads and encoder.
    """
    encoding = multiplications(prepared.train.n_tokens)
    once = encoding / len(prepared.train)
    head = CONTROL.width * (prepared.n_features + prepared.data.n_classes)
    served = sum(model.n_multiplied for model in models)
    if setting.track == "finetune":
        control = once + head
        return {"forward_passes": cost.total / control, "serving_multiplier": served / control}
    asked = multiplications(prepared.test.n_tokens) / len(prepared.test)
    return {
        "head_multiplications": cost.total,
        "encoder_multiplications": encoding,
        "forward_passes": (encoding + cost.total) / (once + head),
        "serving_multiplier": (asked + served) / (asked + head),
    }
