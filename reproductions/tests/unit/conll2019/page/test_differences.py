from seedproof_reproductions.conll2019.page.differences import differences
from seedproof_reproductions.conll2019.page.reading import SettingResults


def test_sizes_and_epochs_are_beside_the_papers(make):
    """IMDB had 25,000 texts and 20 epochs there; SST all 6,355 in both."""
    settings = [
        SettingResults(make()),
        SettingResults(make("i", dataset="imdb", n_train=6000, epochs=8, min_count=10)),
    ]

    text = differences(settings)

    assert "| SST, CNN | 6,355 (6,355) | 821 | 1,725 (1,305) | 20 (20) | 10 (10) |" in text
    assert (
        "| IMDB, CNN | 6,000 (25,000) | 821 | 1,725 (4,356) | 8 (20) | 10 (10) | words seen 10"
        in text
    )
    assert "The models of IMDB learn from a part" in text


def test_only_data_that_was_used_is_told_of(make):
    """And what nobody may pass on."""
    text = differences([SettingResults(make("a", dataset="agnews", n_train=12000))])

    assert "**AG News.**" in text
    assert "**SNLI.**" not in text
    assert "ADR tweets, Diabetes and Anemia may not be passed on" in text


def test_how_models_were_explained_is_told_where_they_were(sst, make):
    """From the settings of the second study."""
    assert "It explains 200 of 1,725 test texts from 1,000 perturbed copies of each, 2 times" in (
        differences([sst])
    )
    assert "LIME" not in differences([SettingResults(make())])


def test_a_part_of_the_test_is_called_a_part(make):
    """Of SST 200 sentences were drawn; of AG News a part, too; of SNLI fewer than at hand."""
    settings = [
        make(n_test=200),
        make("a", dataset="agnews", n_test=500),
        make("s", dataset="snli", n_train=400),
    ]
    settings[0]["sizes"]["test"] = 200

    text = differences([SettingResults(one) for one in settings])

    assert "Tested on 200 sentences alone, drawn from those that the authors' file" in text
    assert "gives 200" not in text
    assert "the test is a part, too." in text
    assert "400 of 549,367 pairs were trained on." in text


def test_of_one_data_set_the_whole_is_told(make):
    """A smoke run beside the real one changes nothing of what the file gives."""
    smoke = make("x", encoder="lstm", n_test=200)
    smoke["sizes"]["test"] = 200

    text = differences([SettingResults(make()), SettingResults(smoke)])

    assert "gives 1,725 test sentences" in text


def test_other_vectors_are_named(make):
    """By their path, as it was given."""
    text = differences([SettingResults(make(vectors="crawl.vec"))])

    assert "**Word vectors.** crawl.vec, in place of fastText, 300 dimensions." in text


def test_sizes_are_those_that_were_used(own, make):
    """Whatever the setting asked for: a file may have had fewer."""
    snli = make("s", dataset="snli")
    snli["sizes"]["train"] = 17_999
    own["sizes"] = {"train": 6000, "dev": 800, "test": 1700}

    text = differences([SettingResults(own), SettingResults(snli)])

    assert "| SST, CNN | 6,000 (6,355) | 800 | 1,700 (1,305) |" in text
    assert "gives 1,700 test sentences" in text
    assert "**SNLI.** 17,999 of 549,367 pairs" in text
    assert "The models of SST and SNLI learn from a part" in text
