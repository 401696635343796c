"""Studies that were replaced, and those that were not made in full."""

from collections.abc import Sequence

from seedproof_reproductions.figures import change
from seedproof_reproductions.findings2023 import reading
from seedproof_reproductions.findings2023.arms import ARMS
from seedproof_reproductions.findings2023.names import BASELINE, layout
from seedproof_reproductions.findings2023.page_data import ENSEMBLES, PROTOCOLS, Data, Settings
from seedproof_reproductions.findings2023.planned import plan
from seedproof_reproductions.findings2023.settings import WHOLE
from seedproof_reproductions.results import study_hours

CONTROLS = ENSEMBLES[-1]


def fine_tuned(settings: Settings) -> Data:
    """Return what was fine-tuned, and core-hours of the rest of the plan and of CLINC150.

    Averages of the weights cost nothing, since they are of the control's training.
    """
    planned, seconds = plan()["finetuned"], layout()["fine_tuning"]
    trained = next((setting for setting in settings if setting.track == "finetune"), None)
    dropped = [arm for arm in planned["arms"] if trained is None or arm not in trained.arms]
    hours = {
        arm: planned["seeds"] * (0 if ARMS[arm].average != "none" else seconds["student"]) / 3600
        for arm in planned["arms"]
    }
    hours[BASELINE] = planned["seeds"] * seconds["control"] / 3600
    sizes = WHOLE["clinc150"]["train"], WHOLE[planned["dataset"]]["train"]
    return {
        "seeds": "" if trained is None else trained.seeds,
        "teachers": [
            name for name, arms in PROTOCOLS.items() if trained and trained.first_of(arms)
        ],
        "has_ensemble": trained is not None and CONTROLS in trained.arms,
        "n_teachers": planned["seeds"],  # of the ensemble of the controls
        "dropped": dropped,
        "dropped_hours": sum(hours[arm] for arm in dropped),
        "other_hours": sum(hours.values()) * sizes[0] / sizes[1],
    }


def of_replaced(replaced: Settings, arms: Sequence[str], metric: str) -> list[Data]:
    """Return the change of a metric by the first of several arms in studies that were replaced."""
    return [
        {
            "arm": arm,
            "on": study.short_title,
            "seeds": study.seeds,
            "conditions": layout()["replaced"][study.content["name"]],
            "alone": change(study.effect(arm, f"effects.{metric}")),
            "of_all": change(study.effect(arm, f"of_all.{metric}")),
        }
        for study in replaced
        if (arm := study.first_of(arms)) is not None
    ]


def missing_costs(retrained: Settings) -> Data:
    """Return hours of new data and of other methods, from stored hours; None if not stored."""
    studies = reading.studies(retrained, "bootstrap", root=0)
    known = [hours for study in studies if (hours := study_hours(study.content)) is not None]
    n_arms = sum(len(study.arms) for study in studies)
    is_known = bool(known) and len(known) == len(studies)
    return {
        "data_hours": sum(known) if is_known else None,
        "arm_hours": sum(known) / n_arms if is_known else None,
    }
