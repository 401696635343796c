"""Logs of Inspect are believed only if they say that they are complete."""

import json
import warnings
import zipfile

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import DuplicateExampleError, UnreadableError
from seedproof.testing.errors import WithFields


def inspect_log(n_examples=4, n_epochs=3, **header):
    """Return a complete log; every sample of an odd example is right."""
    rows = [
        {
            "id": f"q{example}",
            "epoch": epoch,
            "scores": {"match": {"value": "C" if (example + epoch) % 2 else "I"}},
        }
        for epoch in range(1, n_epochs + 1)
        for example in range(n_examples)
    ]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "e",
            "task_id": "t",
            "created": "2026-11-16T10:00:00+00:00",
            "task": "quiz",
            "model": "m",
            "dataset": {"sample_ids": [f"q{example}" for example in range(n_examples)]},
            "config": {"epochs": n_epochs},
        },
        "samples": rows,
        **header,
    }


@pytest.fixture
def write(tmp_path):
    """Writes a log of Inspect; returns the folder."""

    def call(log, name="log.json"):
        (tmp_path / name).write_text(json.dumps(log))
        return tmp_path

    return call


def problems(report):
    """Return the texts of the checks of incomplete logs."""
    return [check.message for check in report.checks if check.name == "incomplete-log"]


def test_complete_log_has_no_finding(write):
    assert problems(sp.measure(write(inspect_log()))) == []


@pytest.mark.parametrize(
    ("header", "word"),
    [
        ({"status": "cancelled"}, "'cancelled'"),
        ({"status": "error"}, "'error'"),
        ({"status": "started"}, "'started'"),
        ({"invalidated": True}, "invalid"),
        ({"version": 3}, "version 3"),
        ({"results": {"total_samples": 40}}, "12 of 40"),
    ],
)
def test_what_a_log_says_of_itself_is_an_error_level_check(write, header, word):
    report = sp.measure(write(inspect_log(**header)))

    (problem,) = problems(report)
    assert word in problem
    assert report.checks[0].severity == "error"


def test_absent_status_is_not_success(write):
    log = inspect_log()
    del log["status"], log["version"]

    (problem,) = problems(sp.measure(write(log)))

    assert "'started'" in problem
    assert "version None" in problem


def test_fewer_samples_than_planned_are_counted(write):
    """Cancelled after 60 of 400 samples: 20 examples in 3 of 5 epochs, say."""
    log = inspect_log(n_examples=20, n_epochs=3)
    log["eval"]["dataset"]["sample_ids"] = list(range(80))
    log["eval"]["config"]["epochs"] = 5

    (problem,) = problems(sp.measure(write(log)))

    assert "60 of 400" in problem


def test_gate_stays_open_over_a_cancelled_log_unless_it_is_allowed(write):
    folder = write(inspect_log(status="cancelled"))
    rules = {"min": {"mean": 0.01}, "declared_runs": 3}

    assert sp.gate(folder, **rules).outcome == "investigate"
    assert sp.gate(folder, **rules, allow=["incomplete-log"]).outcome == "pass"


def test_cancelled_retry_does_not_replace_the_complete_log(write):
    write(inspect_log())
    retry = inspect_log(n_examples=1, status="cancelled")
    retry["eval"]["created"] = "2026-11-17T10:00:00+00:00"

    report = sp.measure(write(retry, "retry.json"))

    assert report.measurement.n_examples == 4
    assert problems(report) == []
    (note,) = (note for note in report.measurement.notes if note.code == "log-chosen")
    assert note.fields["file"] == "log.json"
    assert note.fields["others"] == ("retry.json (cancelled)",)


@pytest.mark.parametrize("order", [("a.json", "b.json"), ("b.json", "a.json")])
def test_last_complete_log_counts_by_real_time(write, order):
    """12:00 in Zurich is before 11:30 in London; as text it is after."""
    early, late = inspect_log(), inspect_log()
    early["eval"]["created"] = "2026-11-16T12:00:00+01:00"
    late["eval"]["created"] = "2026-11-16T11:30:00Z"
    for sample in late["samples"]:
        sample["scores"]["match"]["value"] = "C"
    write(early, order[0])

    assert sp.measure(write(late, order[1]))["mean"].value == 1.0


def test_of_incomplete_logs_the_one_with_most_samples_counts(write):
    write(inspect_log(status="cancelled"))
    retry = inspect_log(n_examples=1, status="cancelled")
    retry["eval"]["created"] = "2026-11-17T10:00:00+00:00"

    report = sp.measure(write(retry, "retry.json"))

    assert report.measurement.n_examples == 4
    assert len(problems(report)) == 1


def test_logs_of_other_models_with_the_same_task_id_are_kept(write):
    write(inspect_log())
    other = inspect_log()
    other["eval"]["model"] = "n"

    assert len(sp.measure_arms(write(other, "other.json"))) == 2


def test_log_without_samples_concerns_the_others(write):
    """A second model whose evaluation was cancelled at once has no arm, but a check."""
    write(inspect_log())
    other = inspect_log(status="cancelled", samples=[])
    other["eval"] |= {"model": "n", "task_id": "u"}

    (problem,) = problems(sp.measure(write(other, "other.json")))

    assert problem.count("other.json") == 1
    assert "0 of 12" in problem


def test_duplicate_sample_is_refused_with_what_differs(write):
    log = inspect_log()
    copied = json.loads(json.dumps(log["samples"][0]))
    copied["scores"]["match"]["value"] = "I"
    log["samples"].append(copied)

    with pytest.raises(
        DuplicateExampleError,
        check=WithFields(example="q0", trial="1", columns=("score match",), files=("log.json",)),
    ):
        sp.measure(write(log))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"id": None}, "samples[0].id"),
        ({"id": True}, "samples[0].id"),
        ({"epoch": "1"}, "samples[0].epoch"),
        ({"scores": [1]}, "samples[0].scores"),
        ({"scores": {"match": {"value": 10**400}}}, "too large"),
        ({"scores": {"match": {"value": 1e100}}}, "too large"),
        ({"scores": {"match": {"value": float("-inf")}}}, "too large"),
    ],
)
def test_wrong_sample_is_named(write, change, word):
    log = inspect_log()
    log["samples"][0] |= change

    with pytest.raises(UnreadableError) as refused:
        sp.measure(write(log))

    assert word in refused.value.fields["reason"]


@pytest.mark.parametrize("error", ["", "\n", {"message": ""}, {}, 3])
def test_error_without_words_is_an_error(write, error):
    log = inspect_log()
    log["samples"][0]["error"] = error

    report = sp.measure(write(log))

    assert report.measurement.n_examples == 3
    assert [check.name for check in report.checks] == ["failed-samples"]


@pytest.mark.parametrize("created", ["yesterday", "", "2026-13-01"])
def test_creation_that_is_no_time_is_refused(write, created):
    log = inspect_log()
    log["eval"]["created"] = created

    with pytest.raises(UnreadableError):
        sp.measure(write(log))


def test_facts_with_names_of_columns_do_not_replace_them(write):
    log = inspect_log()
    for sample in log["samples"]:
        sample["metadata"] = {"run": 1, "log_run": 2, "item": "x", "p_a": 0.5, "size": 2**70}

    report = sp.measure(write(log), slices=["log_log_run", "log_item"])

    assert report.measurement.n_examples == 4
    assert report["mean"].value == 0.5


def test_facts_that_differ_between_trials_are_no_column(write):
    """The last of them would be as wrong as the first."""
    log = inspect_log()
    for number, sample in enumerate(log["samples"]):
        sample["metadata"] = {"attempt": number}

    (note,) = (n for n in sp.measure(write(log)).measurement.notes if "attempt" in str(n))

    assert note.code


def test_left_out_samples_are_counted_although_failed_ones_are_scored(write):
    """One sample failed; another has no score, and its example is left out."""
    log = inspect_log()
    log["samples"][0]["error"] = "timeout"
    del log["samples"][1]["scores"]

    report = sp.measure(write(log), failed_as=0.0)

    (check,) = (check for check in report.checks if check.name == "failed-samples")
    assert "scored 0" in check.message
    assert "1, with 3 samples" in check.message


def archive(path, members, *, kind=zipfile.ZIP_DEFLATED):
    """Write a log as an archive."""
    with zipfile.ZipFile(path, "w", kind) as file:
        for name, content in members:
            file.writestr(name, json.dumps(content))
    return path


def members_of(log):
    """Return the members of the archive of a log."""
    return [
        ("header.json", {key: x for key, x in log.items() if key != "samples"}),
        ("summaries.json", log["samples"]),
    ]


def test_archive_of_a_killed_evaluation_is_read_from_its_journal(tmp_path):
    """Without a header nothing says that it finished."""
    head, (_, rows) = members_of(inspect_log())
    journal = [("_journal/start.json", head[1]), ("_journal/summaries/1.json", rows[:8])]

    report = sp.measure(archive(tmp_path / "log.eval", journal))

    (problem,) = problems(report)
    assert "'started'" in problem
    assert "8 of 12" in problem


def test_member_that_is_there_twice_is_refused(tmp_path):
    members = members_of(inspect_log())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of the duplicate
        archive(tmp_path / "log.eval", [*members, members[-1]])

    with pytest.raises(UnreadableError):
        sp.measure(tmp_path / "log.eval")


def test_encrypted_member_is_refused(tmp_path):
    """The flag is in the directory and in the header of the member."""
    path = archive(tmp_path / "log.eval", members_of(inspect_log()))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)

    with pytest.raises(UnreadableError) as refused:
        sp.measure(path)
    assert "encrypted" in refused.value.fields["reason"]


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_member_of_an_unknown_method_is_refused(tmp_path, kind):
    path = archive(tmp_path / "log.eval", members_of(inspect_log()), kind=kind)

    with pytest.raises(UnreadableError):
        sp.measure(path)


def test_changed_byte_of_a_stored_member_is_found(tmp_path):
    """The checksum: a changed grade is as good JSON as the true one."""
    path = archive(tmp_path / "log.eval", members_of(inspect_log()), kind=zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b'"I"', b'"C"', 1))

    with pytest.raises(UnreadableError):
        sp.measure(path)


def test_empty_archive_next_to_logs_is_not_left_out(write):
    folder = write(inspect_log())
    (folder / "killed.eval").touch()

    with pytest.raises(UnreadableError, check=WithFields(file="killed.eval")):
        sp.measure(folder)


def test_large_archive_is_read(tmp_path):
    """More than the 64 MB that files of our own may have."""
    log = inspect_log(n_examples=40, n_epochs=2)
    for number, sample in enumerate(log["samples"]):
        sample["input"] = np.random.default_rng(number).bytes(2**19).hex()
    path = archive(tmp_path / "log.eval", members_of(log))
    assert zipfile.ZipFile(path).getinfo("summaries.json").file_size > 2**26

    assert sp.measure(path).measurement.n_examples == 40


def test_archive_that_is_made_to_fill_the_memory_is_refused(tmp_path):
    log = inspect_log()
    log["samples"][0]["input"] = " " * 2**27

    with pytest.raises(UnreadableError):
        sp.measure(archive(tmp_path / "log.eval", members_of(log)))
