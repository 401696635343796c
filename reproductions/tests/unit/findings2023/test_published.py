import pytest

from seedproof_reproductions.findings2023.published import published, published_cut, published_row

DATASETS = ("clinc150", "massive")


def test_a_cell_of_each_table():
    """As printed: SWA in Table 3, label smoothing in Table 4, L2 in Table 5, TGTSS in Table 6."""
    assert published_row("massive", "swa") == {"accuracy": [91.0, 0.5], "cut": 17.6, "share": 51}
    assert published_cut("table3", "clinc150", "tgtss") == 26.7
    assert published_cut("table4", "clinc150", "label-smoothing") == 40.5
    assert published_cut("table5", "massive", "l2") == 3.8
    assert published_cut("table6", "massive", "tgtss") == 31.5


@pytest.mark.parametrize("table", ["table3", "table4", "table5", "table6"])
def test_what_was_not_published_is_none(table):
    """There is no EMA, and the control is cut by nothing."""
    assert published_cut(table, "massive", "ema") is None
    assert published_cut(table, "massive", "control") is None
    assert published_cut(table, "sst", "tgtss") is None


@pytest.mark.parametrize("dataset", DATASETS)
def test_shares_of_the_ensemble_follow_from_the_cuts(dataset):
    """To the percent that the paper prints."""
    rows = published()["table3"][dataset]
    shares = {name: row["share"] for name, row in rows.items() if "share" in row}

    assert set(shares) == {"l2", "swa", "label-smoothing", "tgtss"}
    for name, share in shares.items():
        assert round(100 * rows[name]["cut"] / rows["ensemble"]["cut"]) == share
