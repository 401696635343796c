import pytest

from seedproof_reproductions.claims import read_claims
from seedproof_reproductions.conll2019.published import Accuracy, published, published_accuracy

CLAIMS = {claim.name: claim for claim in read_claims("seedproof_reproductions.conll2019")}


def test_a_cell_of_each_table():
    """Table 2, SST with ASWA; Table 3, tweets without; SNLI is in figures alone."""
    assert published_accuracy("sst", "cnn", "aswa") == Accuracy(82.5, 0.39)
    assert published_accuracy("adr", "lstm", "none") == Accuracy(84.7, 1.79)
    assert published_accuracy("snli", "cnn", "none") is None
    assert published_accuracy("sst", "cnn", "ema") is None


@pytest.mark.parametrize("encoder", ["cnn", "lstm"])
@pytest.mark.parametrize("arm", ["aswa", "naswa"])
def test_stated_cuts_follow_from_the_tables(encoder, arm):
    """They are the means over six data sets, to one digit."""
    rows = published()["accuracy"][encoder].values()
    cuts = [100 * (1 - row[arm][1] / row["none"][1]) for row in rows]

    assert round(sum(cuts) / len(cuts), 1) == CLAIMS[f"sd-cut-{encoder}"].more["tables"][arm]


def test_the_mean_sd_is_not_the_one_in_the_text():
    """Table 2 gives 1.32 points, and section 5.1 says 1.5."""
    sds = [row["none"][1] for row in published()["accuracy"]["cnn"].values()]

    assert round(sum(sds) / len(sds), 2) == CLAIMS["sd-none-cnn"].more["tables"]["none"]
    assert CLAIMS["sd-none-cnn"].published == (1.5,)
