import pytest
from seedproof_reproductions.datasets import mimic

from seedproof.errors import NotFoundError


@pytest.mark.parametrize(
    ("name", "load"), [("diabetes", mimic.load_diabetes), ("anemia", mimic.load_anemia)]
)
def test_notes_come_from_ones_own_copy_and_are_cut(write_csv, name, load):
    """`mimic/<name>.csv` below the data folder; notes end after 4,000 tokens."""
    rows = [("word " * 5000, 1, split) for split in ("train", "dev", "test")]
    write_csv(f"mimic/{name}.csv", [("text", "label", "exp_split"), *rows])

    data = load()

    assert data.name == name
    assert len(data.test.tokens[0]) == 4000


@pytest.mark.usefixtures("data_folder")
def test_without_a_copy_the_layout_is_told():
    """The notes need an agreement, so there is nothing to fetch."""
    with pytest.raises(NotFoundError, match=r"MIMIC-III.*mimic/anemia\.csv"):
        mimic.load_anemia()
