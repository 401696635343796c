"""Averaging against longer training: both arms at both epochs, as a study of its own.

Without an average, dev chooses an early epoch; with one, a late epoch. So a comparison of the two
chosen models changes two things. Trainings keep what they predict after every epoch. Here the runs
with the same seeds are crossed: each trajectory at the epoch that dev chose for itself and at the
epoch that dev chose for the other.
"""

import os
from dataclasses import dataclass

from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.training.run import Run
from seedproof.training.study import Study
from seedproof_reproductions.conll2019.data import prepare
from seedproof_reproductions.conll2019.names import AT_LAST, BASELINE, CROSSED, PAPER_ARMS
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.conll2019.training import load_epoch, trained_run
from seedproof_reproductions.runs import study_of

SPLIT = "test"
LAST = "last"
# For each arm, the arm whose training is shown, and the arm for which dev chose the epoch, or the
# last epoch.
EPOCHS_OF = {
    "none": ("none", "none"),
    "none-at-aswa": ("none", "aswa"),
    "aswa-at-none": ("aswa", "none"),
    "aswa": ("aswa", "aswa"),
    f"none{AT_LAST}": ("none", LAST),
    f"none-decayed{AT_LAST}": ("none-decayed", LAST),
}


@dataclass(frozen=True)
class Crossing:
    """Logs what a training predicted after an epoch; it can be sent to another process.

    Args:
        source: The store of the study that trained the models, on this machine.
    """

    source: str

    def __call__(self, run: Run) -> None:
        """Log the predictions and the attention of the trajectory and epoch of a run's arm."""
        setting = Setting.from_arguments(run.arguments)
        prepared, (trajectory, chosen) = prepare(setting), EPOCHS_OF[run.arm]
        trained, number = trained_run(self.source, run, trajectory), setting.epochs
        if chosen != LAST:
            number = int(trained_run(self.source, run, chosen).scalars["epoch_chosen"])
        epoch = load_epoch(self.source, trained, number)
        texts, classes = prepared.test.texts, prepared.data.classes
        run.log_predictions(
            SPLIT, ids=texts.ids, probs=epoch.probs, labels=texts.labels, classes=classes
        )
        run.log_explanations(
            SPLIT, "attention", ids=texts.ids, tokens=texts.tokens, scores=epoch.attention
        )
        run.log_scalar("epoch", number)


def crossed_study(
    setting: Setting, *, source: str, store: str | os.PathLike[str], seeds: int
) -> Study:
    """Return the study that crosses the trainings of another, as far as it has their arms."""
    # Runs say so if none or ASWA is missing; the decayed rate is not needed.
    known = {BASELINE, *PAPER_ARMS[:1], *Store(Location.of(source)).arms()}
    arms = tuple(arm for arm, (trajectory, _) in EPOCHS_OF.items() if trajectory in known)
    return study_of(setting, Crossing(source), store=store, seeds=seeds, arms=arms, suffix=CROSSED)
