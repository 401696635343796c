from seedproof.papers.conll2019.page.made import how_made
from seedproof.papers.conll2019.page.reading import SettingResults


def test_commands_say_what_is_not_usual(sst, make):
    """Everything else is what the command line does by itself."""
    other = SettingResults(make("i", dataset="imdb", n_train=6000, n_test=2000, epochs=8))

    lines = how_made([sst, other]).splitlines()

    assert lines[4] == (
        "seedproof reproduce conll2019 --dataset sst --arms none,aswa,naswa --seeds 10 --explain"
    )
    assert lines[5] == (
        "seedproof reproduce conll2019 --dataset imdb --epochs 8 --n-train 6000 --n-test 2000 "
        "--arms none,aswa,naswa --seeds 10"
    )


def test_hours_are_added_up_and_versions_shared(own, make):
    """Three arms of ten runs of 36 seconds are 0.3 hours; a version that differs is left out."""
    own["versions"]["torch"] = "2.14.0"

    text = how_made([SettingResults(own), SettingResults(make("x", encoder="lstm"))])

    assert "took 0.6 hours of training, with python 3.11.7." in text
