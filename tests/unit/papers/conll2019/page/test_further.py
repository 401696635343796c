from copy import deepcopy

from seedproof.papers.conll2019.page.further import further_arms
from seedproof.papers.conll2019.page.reading import SettingResults


def test_without_further_arms_there_is_no_section(sst):
    """The paper's three are told of elsewhere."""
    assert further_arms(sst) == ""


def test_further_arms_stand_beside_the_papers(own):
    """Only those whose verdict is "steadier" are listed as such; learning is beside it."""
    own["arms"]["ema"] = deepcopy(own["arms"]["aswa"])
    own["arms"]["ema"]["effects"]["flip_rate"] |= {"verdict": "no difference shown"}
    own["arms"]["aswa-code"] = deepcopy(own["arms"]["aswa"])
    del own["arms"]["aswa-code"]["scalars"]["seconds"]

    text = further_arms(SettingResults(own)).replace(",\xa0", ", ")

    assert "we also trained EMA and ASWA as coded." in text
    assert "- flip rate: ASWA, NASWA and ASWA as coded" in text
    assert "- attention: top words: no arm" in text
    assert (
        "| EMA | 83.0\xa0% [81.0, 85.0] | −0.20\xa0pts [−0.40, +0.10], no difference shown "
        "| 0.100 | 3.0 | 36 |" in text
    )
    assert "| 0.100 | 3.0 | – |" in text
