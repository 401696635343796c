"""Names in code of what the paper compares, and what people read in their place."""

from seedproof_reproductions.packaged import read_toml

BASELINE = "none"
# The paper's two averages. It says that the second is steadier than the first.
PAPER_ARMS = ("aswa", "naswa")
KL, JACCARD, OVERLAP = "explanation_kl", "explanation_jaccard_20", "explanation_overlap"
JACCARD_10 = "explanation_jaccard_10"
DATASETS, ENCODERS, ATTENTIONS, ARMS, METHODS = (
    dict[str, str](read_toml(__package__, "page.toml")["titles"][kind])
    for kind in ("datasets", "encoders", "attentions", "arms", "methods")
)
