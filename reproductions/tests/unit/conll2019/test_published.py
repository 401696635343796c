import pytest
from seedproof_reproductions.conll2019.published import (
    Accuracy,
    published,
    published_accuracy,
    sd_cut,
)


def test_a_cell_of_each_table():
    """Table 2, SST with ASWA; Table 3, tweets without."""
    assert published_accuracy("sst", "cnn", "aswa") == Accuracy(82.5, 0.39)
    assert published_accuracy("adr", "lstm", "none") == Accuracy(84.7, 1.79)


@pytest.mark.parametrize(
    "cell", [("snli", "cnn", "none"), ("sst", "cnn", "ema"), ("sst", "x", "none")]
)
def test_what_was_not_published_is_none(cell):
    """SNLI is in figures alone."""
    assert published_accuracy(*cell) is None


@pytest.mark.parametrize("encoder", ["cnn", "lstm"])
@pytest.mark.parametrize("arm", ["aswa", "naswa"])
def test_the_headline_follows_from_the_tables(encoder, arm):
    """The cuts that the claims state are the means over six data sets, to one digit."""
    claims = {claim["name"]: claim for claim in published()["claims"]}

    stated = claims[f"sd-cut-{encoder}"]["from_tables"][arm]

    assert round(sd_cut(encoder, arm), 1) == stated


def test_the_mean_sd_is_not_the_one_in_the_text():
    """Table 2 gives 1.32 points, and section 5.1 says 1.5."""
    sds = [row["none"][1] for row in published()["accuracy"]["cnn"].values()]
    claim = next(one for one in published()["claims"] if one["name"] == "sd-none-cnn")

    assert round(sum(sds) / len(sds), 2) == claim["from_tables"]["none"]
    assert claim["value"] == 1.5
