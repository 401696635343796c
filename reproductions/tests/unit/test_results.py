import json

import numpy as np
import pytest

from seedproof.comparison.effect import Effect
from seedproof.errors import OptionError, UnreadableError
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.results import (
    as_text,
    plain_array,
    plain_effects,
    plain_figures,
    read_results,
    shared_versions,
    short,
    write_results,
)

RESULTS = {
    "format": 3,
    "paper": "conll2019",
    "name": "made",
    "setting": {"dataset": "sst"},
    "arms": {"none": {"n_runs": 2}},
    "runs": ["0", "1"],
    "effects": {"flip_rate": {"scale": "ratio", "value": 0.5, "low": None}},
    "nested": {"counts": [[1, 2], [3, 4]]},
}


def test_numbers_have_six_digits_and_counts_stay_whole():
    """What is not finite is None, so that JSON can hold it."""
    assert short(0.123456789) == 0.123457
    assert short(1234567.0) == 1234570.0
    assert short(float("inf")) is short(float("nan")) is short(None) is None
    assert plain_array(np.array([[0.1, np.nan], [1 / 3, 2.0]])) == [[0.1, None], [0.333333, 2.0]]
    assert all(isinstance(count, int) for count in plain_array(np.array([3, 4])))


def test_figures_and_effects_can_be_made_again():
    """A figure without an interval has its value alone; an effect loses its note."""
    figures = plain_figures({"a": Estimate(0.5, 0.4, 0.6, "runs"), "b": Estimate(0.5)})
    flips = Effect("flip_rate", "ratio", 0.5, 0.25, 0.75, "runs × examples", 1.5, "steadier")
    effects = plain_effects({"flip_rate": flips, "mce": Effect("mce", "difference", 0.5, note="x")})

    assert figures == {"a": [0.5, 0.4, 0.6], "b": [0.5]}
    assert Effect("flip_rate", **effects["flip_rate"]) == flips
    assert Effect("mce", **effects["mce"]) == Effect("mce", "difference", 0.5)


def test_text_has_one_line_per_list_and_effect():
    """Nested lists have one for each of the innermost; the text says the same."""
    text = as_text(RESULTS)

    lines = [line.strip() for line in text.splitlines()]
    assert json.loads(text) == RESULTS
    assert '"runs": ["0", "1"],' in lines
    assert '"flip_rate": {"scale": "ratio", "value": 0.5, "low": null}' in lines
    assert "[1, 2]," in lines


def test_written_results_are_read_by_name(tmp_path):
    """Other files are left alone; a folder that is missing has none."""
    for name in ("b", "a"):
        path = write_results(RESULTS | {"name": name}, tmp_path / "results")
        assert path.name == f"{name}.json"
    (tmp_path / "results" / "note.txt").write_text("no results")

    results = read_results("conll2019", tmp_path / "results", version=3)

    assert results == [RESULTS | {"name": "a"}, RESULTS | {"name": "b"}]
    assert read_results("conll2019", tmp_path / "none", version=3) == []


@pytest.mark.parametrize(("paper", "version"), [("conll2019", 4), ("findings2023", 3)])
def test_results_of_another_version_or_paper_are_refused(tmp_path, paper, version):
    """Both papers count their own versions."""
    write_results(RESULTS, tmp_path)
    with pytest.raises(OptionError):
        read_results(paper, tmp_path, version=version)


@pytest.mark.parametrize(
    "content", [b"{", b"\xff\xfe", b"[1]", b'{"format": 3, "paper": "conll2019"}']
)
def test_a_file_without_results_is_refused_by_its_name(tmp_path, content):
    """Even if others are good."""
    write_results(RESULTS, tmp_path)
    (tmp_path / "package.json").write_bytes(content)
    with pytest.raises(UnreadableError) as raised:
        read_results("conll2019", tmp_path, version=3)
    assert "package.json" in str(raised.value)


def test_the_packages_own_results_are_read_and_named_by_their_setting():
    """If no folder is given; explained ones have a suffix."""
    from seedproof_reproductions.conll2019 import results as conll2019
    from seedproof_reproductions.findings2023 import results as findings2023

    for recipe, derived in ((conll2019, "min_count"), (findings2023, "learning_rate")):
        stored = recipe.stored_results()
        assert stored
        for results in stored:
            given = {name: v for name, v in results["setting"].items() if name != derived}
            assert results["name"].removesuffix("-explained") == recipe.Setting(**given).name


def test_versions_that_differ_or_do_not_matter_are_left_out():
    """And so is one that is not known everywhere."""
    first = {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6", "pip": "9"}
    second = {"python": "3.11.7", "torch": "2.12.0", "pip": "9"}

    assert shared_versions([first, first]) == {
        name: first[name] for name in ("python", "torch", "numpy")
    }
    assert shared_versions([first, second]) == {"python": "3.11.7"}
    assert shared_versions(iter([second, first])) == {"python": "3.11.7"}
    assert shared_versions([]) == {}
