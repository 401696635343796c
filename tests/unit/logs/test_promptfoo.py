"""Results of promptfoo, compared with what they say of their own numbers."""

import json

import pytest

import seedproof as sp
from seedproof.errors import DuplicateExampleError, UnreadableError
from seedproof.testing.errors import WithFields


def results(n_tests=4, n_repeats=3, **parts):
    """Return complete results of one provider."""
    rows = [
        {
            "id": f"row-{test_idx}",
            "testIdx": test_idx,
            "promptIdx": 0,
            "provider": {"id": "m"},
            "promptId": "p",
            "testCase": {"description": f"q{test_idx % n_tests}"},
            "score": float(test_idx % 2),
            "success": bool(test_idx % 2),
            "failureReason": 0,
        }
        for test_idx in range(n_tests * n_repeats)
    ]
    stats = {"successes": n_tests * n_repeats, "failures": 0, "errors": 0}
    return {
        "evalId": "e",
        "results": {"version": 3, "results": rows, "stats": stats},
        "runtimeOptions": {"repeat": n_repeats},
    } | parts


@pytest.fixture
def write(tmp_path):
    """Writes results, and rows as JSON lines if they are given; returns the folder."""

    def call(content, lines=None):
        (tmp_path / "results.json").write_text(json.dumps(content))
        if lines is not None:
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            (tmp_path / "results.jsonl").write_text(text)
        return tmp_path

    return call


def problems(report):
    """Return the texts of the checks of incomplete logs."""
    return [check.message for check in report.checks if check.name == "incomplete-log"]


def test_complete_results_have_no_finding(write):
    report = sp.measure(write(results()))

    assert problems(report) == []
    assert len(report.measurement.runs) == 3


def test_fewer_rows_than_counted_are_named(write):
    content = results()
    content["results"]["stats"]["failures"] = 8

    (problem,) = problems(sp.measure(write(content)))

    assert "12 of 20" in problem


def test_missing_repeats_are_named(write):
    """Cancelled in the third repeat: its statistics count what was done."""
    content = results()
    del content["results"]["results"][10:], content["results"]["stats"]

    (problem,) = problems(sp.measure(write(content)))

    assert "10 of 12" in problem


def test_number_of_repeats_of_a_test_overrules_that_of_all(write):
    content = results(n_repeats=2)
    for row in content["results"]["results"]:
        row["testCase"]["options"] = {"repeat": 2}
    content["runtimeOptions"]["repeat"] = 5

    assert problems(sp.measure(write(content))) == []


@pytest.mark.parametrize("version", [2, 4, None])
def test_other_formats_are_named(write, version):
    content = results()
    content["results"]["version"] = version

    (problem,) = problems(sp.measure(write(content)))

    assert f"version {version}" in problem


def test_same_rows_as_json_and_as_lines_count_once_with_a_note(write):
    content = results()

    report = sp.measure(write(content, content["results"]["results"]))

    assert len(report.measurement.runs) == 3
    (note,) = (n for n in report.measurement.notes if n.code == "rows-repeated")
    assert note.fields["n_rows"] == 12


def test_row_that_differs_between_files_is_refused_with_what_differs(write):
    content = results()
    rows = json.loads(json.dumps(content["results"]["results"]))
    rows[1]["score"] = 0.25

    with pytest.raises(
        DuplicateExampleError,
        check=WithFields(
            example="row-1", columns=("score",), files=("results.json", "results.jsonl")
        ),
    ):
        sp.measure(write(content, rows))


def test_row_that_is_twice_in_a_file_is_refused(write):
    content = results()
    content["results"]["results"].append(content["results"]["results"][3])

    with pytest.raises(DuplicateExampleError, check=WithFields(example="row-3")):
        sp.measure(write(content))


@pytest.mark.parametrize("error", ["", "\n", None])
def test_error_without_words_is_a_failed_sample(write, error):
    content = results()
    content["results"]["results"][0] |= {"failureReason": 2, "error": error}

    report = sp.measure(write(content))

    assert report.measurement.n_examples == 3
    (check,) = (check for check in report.checks if check.name == "failed-samples")
    assert check.message.startswith("1 of 12")


@pytest.mark.parametrize(
    "change",
    [{"testIdx": None}, {"provider": "m"}, {"score": 10**400}, {"vars": [1]}, {"testCase": 3}],
)
def test_wrong_row_is_refused(write, change):
    content = results()
    content["results"]["results"][0] |= change

    with pytest.raises(UnreadableError):
        sp.measure(write(content))


@pytest.mark.parametrize(
    "part", [{"results": []}, {"results": {"results": {}}}, {"runtimeOptions": 3}]
)
def test_wrong_results_are_refused(write, part):
    """A file without rows still has the words by which it is recognized."""
    with pytest.raises(UnreadableError):
        sp.measure(write(results(**part)))
