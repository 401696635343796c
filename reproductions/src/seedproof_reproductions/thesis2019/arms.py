"""Arms of the studies: ways to train the same model under the same seeds."""

from dataclasses import dataclass

from seedproof_reproductions.known import check_known

BASELINE = "none"


@dataclass(frozen=True)
class Arm:
    """One way to train a model.

    Args:
        average: Name of an average of weights.
        is_balanced: Whether all classes have the same weight in the loss.
        shares_pretraining: Whether all runs begin with the same pretrained vectors.
        shares_init: Whether all runs begin with the same weights, and the same pretrained vectors.
        n_models: Number of models that are trained and answer together, by their mean probability.
    """

    average: str = "none"
    is_balanced: bool = False
    shares_pretraining: bool = False
    shares_init: bool = False
    n_models: int = 1


ARMS = {
    BASELINE: Arm(),
    "class-balanced": Arm(is_balanced=True),
    "shared-pretraining": Arm(shares_pretraining=True),
    "fixed-init": Arm(shares_pretraining=True, shares_init=True),
    "ema": Arm(average="ema"),
    "switch-ema": Arm(average="switch-ema"),
    "mean-4": Arm(n_models=4),
}


def arm_of(name: str) -> Arm:
    """Return an arm by its name; an unknown one is an `UnknownNameError`."""
    check_known("arm", name, ARMS)
    return ARMS[name]
