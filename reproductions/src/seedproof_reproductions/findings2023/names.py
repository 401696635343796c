"""Names in code of what is compared, and what people read in their place."""

from seedproof_reproductions.findings2023.arms import ARMS

# The arm that all others are compared with.
BASELINE = "none"
DATASETS = {"clinc150": "CLINC150", "massive": "MASSIVE"}
TRACKS = {"head": "head", "finetune": "fine-tuned"}
# What all runs of an arm have in common, so that less is left to their seeds.
IN_COMMON = {
    "teacher": "the teacher",
    "init": "the first weights",
    "both": "teacher and first weights",
}


def title_of(arm: str) -> str:
    """What people read in place of an arm's name.

    Args:
        arm: Name in code, such as `tgtss-shared-draw-2`.

    Returns:
        Such as "TGTSS (shared teacher) draw 2"; an unknown name as it is.
    """
    return ARMS[arm].title if arm in ARMS else arm
