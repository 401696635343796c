import pytest
from seedproof_reproductions.datasets import adr

from seedproof.errors import NotFoundError


def test_tweets_come_from_ones_own_copy(write_csv):
    """`adr/adr.csv` below the data folder; label 1 is an adverse reaction."""
    rows = [("this drug made me dizzy", 1, split) for split in ("train", "dev", "test")]
    write_csv("adr/adr.csv", [("text", "label", "exp_split"), *rows])

    data = adr.load()

    assert data.classes[data.test.labels[0]] == "reaction"
    assert data.test.tokens[0][-1] == "dizzy"


@pytest.mark.usefixtures("data_folder")
def test_without_a_copy_the_layout_is_told():
    """Nobody may pass tweets on, so there is nothing to fetch."""
    with pytest.raises(NotFoundError, match=r"adr/adr\.csv.*exp_split"):
        adr.load()
