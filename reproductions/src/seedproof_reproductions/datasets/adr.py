"""Tweets about drugs: does one mention an adverse reaction? Nikfarjam et al., 2015.

Tweets may not be passed on. Your own copy is `adr/adr.csv` below `SEEDPROOF_DATA`, with the
columns `text`, `label` (1 for an adverse reaction) and `exp_split`.
"""

from seedproof_reproductions.datasets.cache import own_file
from seedproof_reproductions.datasets.own_copy import LAYOUT, read_own
from seedproof_reproductions.datasets.texts import TextData

LOCAL = "adr/adr.csv"


def load() -> TextData:
    """ADR tweets, from your own copy.

    Returns:
        Its splits.
    """
    path = own_file(LOCAL, what="The ADR tweets", layout=LAYOUT)
    return read_own(path, name="adr", classes=("none", "reaction"))
