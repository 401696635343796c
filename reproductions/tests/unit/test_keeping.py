import json

import pytest
from seedproof_reproductions.keeping import as_text, shared_versions, stored_results, write_results

from seedproof.errors import OptionError, UnreadableError

RECIPE = "seedproof_reproductions.conll2019"
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


def test_each_list_and_effect_has_a_line():
    """Nested lists have one for each of the innermost; the text says the same."""
    text = as_text(RESULTS)

    lines = [line.strip() for line in text.splitlines()]
    assert json.loads(text) == RESULTS
    assert '"runs": ["0", "1"],' in lines
    assert '"flip_rate": {"scale": "ratio", "value": 0.5, "low": null}' in lines
    assert "[1, 2]," in lines
    assert text.endswith("}\n")


def test_what_is_written_is_read_again(tmp_path):
    """By name, whatever the order of the files; other files are left alone."""
    for name in ("b", "a"):
        path = write_results(RESULTS | {"name": name}, tmp_path / "results")
        assert path.name == f"{name}.json"
    (tmp_path / "results" / "note.txt").write_text("no results")

    found = stored_results(RECIPE, tmp_path / "results", version=3)

    assert [one["name"] for one in found] == ["a", "b"]
    assert found[0] == RESULTS | {"name": "a"}


def test_results_of_another_version_are_refused(tmp_path):
    """The message names the file, and what to do."""
    write_results(RESULTS, tmp_path)

    with pytest.raises(OptionError, match=r"made.json has the format 3 .* reads 4. Make it again"):
        stored_results(RECIPE, tmp_path, version=4)


def test_results_of_another_paper_are_refused_as_such(tmp_path):
    """Whatever their format is: both papers count their own."""
    write_results(RESULTS | {"paper": "findings2023"}, tmp_path)

    with pytest.raises(OptionError, match=r"made.json .* another paper, findings2023, not of conl"):
        stored_results(RECIPE, tmp_path, version=4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b"[1]", "holds none of a recipe"),
        (b'{"format": 3, "paper": "conll2019"}', "holds none of a recipe"),
    ],
)
def test_a_file_without_results_is_told_of(tmp_path, content, message):
    """By its name, beside good ones."""
    write_results(RESULTS, tmp_path)
    (tmp_path / "package.json").write_bytes(content)

    with pytest.raises(UnreadableError, match=f"package.json .*{message}.*[Mm]ove it away"):
        stored_results(RECIPE, tmp_path, version=3)


def test_a_folder_that_is_not_there_has_no_results(tmp_path):
    """And is no error."""
    assert stored_results(RECIPE, tmp_path / "none", version=3) == []


def test_without_a_folder_the_packages_own_are_read():
    """The recipe that is named decides."""
    assert {one["paper"] for one in stored_results(RECIPE, version=2)} == {"conll2019"}


def test_versions_that_differ_are_left_out():
    """And so is one that somebody does not know, and what changes no result."""
    first = {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6", "pip": "9"}
    second = {"python": "3.11.7", "torch": "2.12.0", "pip": "9"}

    assert shared_versions([first, first]) == {
        "python": "3.11.7",
        "torch": "2.13.0",
        "numpy": "2.4.6",
    }
    assert shared_versions([first, second]) == {"python": "3.11.7"}
    assert shared_versions(iter([second, first])) == {"python": "3.11.7"}
    assert shared_versions([]) == {}
