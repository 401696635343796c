import pytest

from seedproof_reproductions.claims import read_claims
from seedproof_reproductions.conll2019.published import published as published2019
from seedproof_reproductions.findings2023.reading import published as published2023

CLAIMS = {claim.name: claim for claim in read_claims("seedproof_reproductions.conll2019")}


@pytest.mark.parametrize("encoder", ["cnn", "lstm"])
@pytest.mark.parametrize("arm", ["aswa", "naswa"])
def test_reductions_stated_in_conll2019_follow_from_its_tables(encoder, arm):
    """They are the means over six data sets, to one digit."""
    rows = published2019()["accuracy"][encoder].values()
    cuts = [100 * (1 - row[arm][1] / row["none"][1]) for row in rows]

    assert round(sum(cuts) / len(cuts), 1) == CLAIMS[f"sd-cut-{encoder}"].more["tables"][arm]


@pytest.mark.parametrize("dataset", ["clinc150", "massive"])
def test_ensemble_shares_in_findings2023_follow_from_the_reductions(dataset):
    """To the percent that the paper prints."""
    rows = published2023()["table3"][dataset]
    shares = {name: row["share"] for name, row in rows.items() if "share" in row}

    assert set(shares) == {"l2", "swa", "label-smoothing", "tgtss"}
    for name, share in shares.items():
        assert round(100 * rows[name]["cut"] / rows["ensemble"]["cut"]) == share
