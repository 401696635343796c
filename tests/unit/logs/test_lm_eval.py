"""Samples of the LM Evaluation Harness, compared with what its results say of them."""

import json

import pytest

import seedproof as sp
from seedproof.errors import DuplicateExampleError, UnreadableError
from seedproof.testing.errors import WithFields

TIMES = tuple(f"2026-11-16T1{hour}-00-00.000001" for hour in range(3))


def row(document, **changes):
    """Return the line of a document."""
    score = {"acc": float(document % 2)}
    plain = {"doc_id": document, "doc_hash": f"h{document}", "filtered_resps": []}
    return plain | {"filter": "none", "metrics": ["acc"], "doc": {"topic": "a"}} | score | changes


@pytest.fixture
def write(tmp_path):
    """Writes three calls with four documents each; returns the folder."""

    def call(rows=None, *, others=None, results=None, n_planned=4):
        for seed, time in enumerate(TIMES):
            lines = others or [row(document) for document in range(4)]
            if seed == 0 and rows is not None:
                lines = rows
            content = "".join(f"{json.dumps(line)}\n" for line in lines)
            (tmp_path / f"samples_quiz_{time}.jsonl").write_text(content)
            facts = {
                "config": {"random_seed": seed},
                "model_name": "m",
                "lm_eval_version": "0.4.13",
                "n-samples": {"quiz": {"original": 9, "effective": n_planned}},
            } | (results or {})
            (tmp_path / f"results_{time}.json").write_text(json.dumps(facts))
        return tmp_path

    return call


def problems(report):
    """Return the texts of the checks of incomplete logs."""
    return [check.message for check in report.checks if check.name == "incomplete-log"]


def test_complete_calls_have_no_finding(write):
    report = sp.measure(write())

    assert problems(report) == []
    assert report.measurement.runs == ("seed 0", "seed 1", "seed 2")


def test_fewer_documents_than_planned_are_counted(write):
    (problem,) = problems(sp.measure(write(n_planned=10)))

    assert problem.count("4 of 10") == 3


def test_cut_file_is_named_with_its_number_of_samples(write):
    (problem,) = problems(sp.measure(write([row(0), row(1), row(2)])))

    assert TIMES[0] in problem
    assert TIMES[1] not in problem
    assert "3 of 4" in problem


def test_filter_without_all_documents_is_found(write):
    """Each filter has a row of its own; the file was cut off in the second."""
    rows = [row(d, filter=name) for name in ("first", "last") for d in range(4)]

    (problem,) = problems(sp.measure(write(rows[:-1], others=rows)))

    assert "3 of 4" in problem


def test_empty_file_is_named(write):
    (problem,) = problems(sp.measure(write([])))

    assert "0 of 4" in problem


@pytest.mark.parametrize("version", ["0.5.0", "1.0", "0.40.1"])
def test_other_versions_are_named(write, version):
    (problem,) = problems(sp.measure(write(results={"lm_eval_version": version})))

    assert version in problem


def test_samples_without_results_have_a_note(write):
    folder = write()
    for time in TIMES:
        (folder / f"results_{time}.json").unlink()

    codes = [note.code for note in sp.measure(folder).measurement.notes]

    assert codes.count("results-missing") == 3


def test_duplicate_document_is_refused_with_what_differs(write):
    rows = [*(row(document) for document in range(4)), row(2, acc=1.0)]

    with pytest.raises(
        DuplicateExampleError, check=WithFields(example="2", filter="none", columns=("acc",))
    ):
        sp.measure(write(rows))


def test_copies_of_a_file_are_refused_with_their_names(write):
    """The same call in two folders is not two trials."""
    folder = write()
    copies = folder / "copies"
    copies.mkdir()
    for name in (f"samples_quiz_{TIMES[0]}.jsonl", f"results_{TIMES[0]}.json"):
        (copies / name).write_bytes((folder / name).read_bytes())

    with pytest.raises(DuplicateExampleError):
        sp.measure(folder)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"doc_id": None}, "doc_id"),
        ({"metrics": "acc"}, "metrics"),
        ({"acc": 10**400}, "acc"),
        ({"acc": float("inf")}, "acc"),
        ({"filter": None}, "filter"),
    ],
)
def test_wrong_line_is_named(write, change, word):
    with pytest.raises(UnreadableError, check=WithFields(line=3)) as refused:
        sp.measure(write([row(0), row(1), row(2, **change), row(3)]))

    assert word in refused.value.fields["reason"]


@pytest.mark.parametrize("results", [{"config": []}, {"n-samples": {"quiz": 3}}, {"model_name": 1}])
def test_wrong_results_are_refused(write, results):
    with pytest.raises(UnreadableError, check=WithFields(file=f"results_{TIMES[0]}.json")):
        sp.measure(write(results=results))


def test_documents_longer_than_the_start_of_a_file_are_recognized(write):
    rows = [row(document, doc={"text": "x" * 2_000_000}) for document in range(4)]

    assert sp.measure(write(rows)).measurement.n_examples == 4
