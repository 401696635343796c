"""Clinical notes of MIMIC-III: diabetes, and acute against chronic anemia. Johnson et al., 2016.

The notes need a data use agreement. Your own copies are `mimic/diabetes.csv` and
`mimic/anemia.csv` below `SEEDPROOF_DATA`, with the columns `text`, `label` and `exp_split`.
"""

from seedproof_reproductions.datasets.cache import own_file
from seedproof_reproductions.datasets.own_copy import LAYOUT, read_own
from seedproof_reproductions.datasets.texts import TextData

# Notes have about 2,000 tokens; the longest would decide how long a batch takes.
MAX_TOKENS = 4000


def load_diabetes() -> TextData:
    """Notes, labeled 1 if the patient has diabetes; from your own copy.

    Returns:
        Its splits.
    """
    return _load("diabetes", ("none", "diabetes"))


def load_anemia() -> TextData:
    """Notes of patients with anemia, labeled 1 if it is chronic; from your own copy.

    Returns:
        Its splits.
    """
    return _load("anemia", ("acute", "chronic"))


def _load(name: str, classes: tuple[str, str]) -> TextData:
    path = own_file(f"mimic/{name}.csv", what="MIMIC-III", layout=LAYOUT)
    return read_own(path, name=name, classes=classes, max_tokens=MAX_TOKENS)
