"""Names in code of what the paper compares, and what people read in their place."""

from collections.abc import Mapping
from typing import Any

from seedproof_reproductions.packaged import read_toml

BASELINE = "none"
# Ends of the names of studies that belong to another: its models explained, at each other's epochs,
# and trained in blocks.
EXPLAINED, CROSSED, BLOCKS = "-explained", "-crossed", "-blocks"
# End of the names of arms at the last epoch.
AT_LAST = "-at-last"
# The paper's two averages. It says that the second is steadier than the first.
PAPER_ARMS = ("aswa", "naswa")
KL, JACCARD, OVERLAP = "explanation_kl", "explanation_jaccard_20", "explanation_overlap"
# Figures of runs whose threshold was moved.
MATCHED = ("accuracy", "accuracy_sd", "accuracy_sd_independent", "flip_rate")
# Its intervals are not paired by seed, as planned.
UNPAIRED = ("accuracy_sd",)
# The scalar that runs log.
ACCURACY_OF_RUN = "test_accuracy"
JACCARD_10 = "explanation_jaccard_10"


def layout() -> Mapping[str, Any]:
    """Return the content of `page.toml`: titles, rows and columns of tables."""
    return read_toml(__package__, "page.toml")


DATASETS, ENCODERS, ATTENTIONS, OPTIMIZERS, ARMS, METHODS = (
    dict[str, str](layout()["titles"][kind])
    for kind in ("datasets", "encoders", "attentions", "optimizers", "arms", "methods")
)
