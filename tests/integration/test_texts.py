"""Free texts instead of classes, from the command inward."""

import csv
import json
import re
import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import (
    ColumnError,
    DtypeError,
    LabelConflictError,
    OptionError,
    ShapeError,
    TooFewRunsError,
)
from seedproof.records.ingest import Ingest
from seedproof.records.location import Location
from seedproof.records.tables import TableOptions
from seedproof.testing.errors import WithFields

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "text_coverage.py"
N_QUESTIONS = 60
OPTIONS = ["--example", "id", "--answer", "text", "--reference", "gold"]
COLUMNS = sp.Columns(example="id", answer="text", reference="gold")


def written(answer, draw):
    """An answer as one of several people would write it."""
    return str(draw.choice([answer, answer.upper(), f" {answer}.", f"{answer}!"]))


def answers(n_runs, *, bonus=0.0, seed=0, repeat="run"):
    """Rows of runs that are right with a chance that depends on the question."""
    chances = np.random.default_rng(1).beta(2, 1, N_QUESTIONS)
    draw = np.random.default_rng([seed, n_runs])
    return [
        {
            "id": f"q{question:02}",
            repeat: run,
            "text": written(
                f"answer {question}"
                if draw.random() < chance + bonus
                else f"other {question} {draw.integers(3)}",
                draw,
            ),
            "gold": f"Answer {question}",
            "topic": "abc"[question % 3],
        }
        for question, chance in enumerate(chances)
        for run in range(n_runs)
    ]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path):
    return lines(tmp_path / "answers.jsonl", answers(6))


def measured(seedproof, *arguments):
    code, out, err = seedproof("measure", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def values_of(summary):
    return {name: figure["value"] for name, figure in summary["metrics"].items()}


def expected(rows, repeat="run"):
    """Figures by loops over normalized texts."""
    by_question = {}
    for row in sorted(rows, key=lambda row: (row["id"], row[repeat])):
        form = " ".join("".join(c if c.isalnum() else " " for c in row["text"]).lower().split())
        by_question.setdefault(row["id"], []).append((form, form == row["gold"].lower()))
    flips, distinct, right = [], [], []
    for given in by_question.values():
        forms = [form for form, _ in given]
        pairs = [(a, b) for i, a in enumerate(forms) for b in forms[:i]]
        flips.append(np.mean([a != b for a, b in pairs]))
        distinct.append(len(set(forms)))
        right.append(np.mean([is_right for _, is_right in given]))
    return {
        "flip_rate": np.mean(flips),
        "ambiguity": np.mean([n > 1 for n in distinct]),
        "distinct_answers": np.mean(distinct),
        "accuracy": np.mean(right),
    }


def test_figures_equal_loops_over_normalized_texts(seedproof, table):
    summary = measured(seedproof, table, *OPTIONS)

    assert (summary["kind"], summary["n_runs"], summary["n_labeled"]) == ("texts", 6, N_QUESTIONS)
    values = values_of(summary)
    for name, value in expected(answers(6)).items():
        assert values[name] == pytest.approx(value), name
    assert summary["classes"] == []
    for name in ("flip_rate", "distinct_answers", "distinct_answers@5", "label_entropy"):
        figure = summary["metrics"][name]
        assert figure["low"] < figure["value"] < figure["high"]
        assert figure["over"] == "runs × examples"


def test_texts_stay_out_of_every_file_unless_they_are_shown(seedproof, table, tmp_path):
    """Answers may be private."""
    place = tmp_path / "report"
    code, out, err = seedproof("measure", table, *OPTIONS, "--out", place)
    assert code == 0, err
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "other" not in out + (place / "summary.json").read_text(encoding="utf-8")
    assert not [name for name in pq.read_schema(place / "examples.parquet").names if "text" in name]
    assert "other 1" not in page

    seedproof("measure", table, *OPTIONS, "--out", place, "--show", "text")

    shown = (place / "report.html").read_text(encoding="utf-8")
    assert "<ins>" in shown
    assert "other 1" in shown.lower()


def test_trials_rest_on_examples(seedproof, tmp_path):
    rows = answers(4, repeat="attempt")
    path = lines(tmp_path / "trials.jsonl", rows)

    summary = measured(seedproof, path, *OPTIONS, "--trial", "attempt")

    assert summary["repeats"] == "trials"
    over = {name: figure["over"] for name, figure in summary["metrics"].items() if figure["low"]}
    assert set(over.values()) == {"examples"}
    assert "accuracy_sd" not in summary["metrics"]
    assert summary["checks"] == []  # any number of trials is enough
    values = values_of(summary)
    for name, value in expected(rows, "attempt").items():
        assert values[name] == pytest.approx(value), name


def test_column_of_runs_may_be_one_of_trials(seedproof, table):
    assert measured(seedproof, table, *OPTIONS, "--trial", "run")["repeats"] == "trials"


def test_clusters_and_slices_are_those_of_classes(seedproof, table):
    """Three clusters give other intervals, and slices the same figures on some questions."""
    plain = measured(seedproof, table, *OPTIONS)
    summary = measured(seedproof, table, *OPTIONS, "--cluster", "topic", "--slice", "topic")

    assert values_of(summary) == values_of(plain)
    assert summary["metrics"]["flip_rate"]["over"] == "runs × clusters"
    of_a = next(group for group in summary["slices"]["topic"] if group["name"] == "a")
    rows = [row for row in answers(6) if row["topic"] == "a"]
    for name in ("flip_rate", "accuracy"):
        assert of_a["metrics"][name]["value"] == pytest.approx(expected(rows)[name])


def test_differences_that_are_kept_count(seedproof, table):
    """Case and punctuation alone make most answers different."""
    usual = values_of(measured(seedproof, table, *OPTIONS))
    kept = values_of(measured(seedproof, table, *OPTIONS, "--distinguish", "case,punctuation"))

    assert kept["flip_rate"] > usual["flip_rate"]
    assert kept["accuracy"] < usual["accuracy"]
    code, _, err = seedproof("measure", table, *OPTIONS, "--distinguish", "accents")
    assert code == 2
    assert "accents" in err


@pytest.mark.parametrize("column", ["equivalent", "correct"])
def test_other_columns_may_decide_which_answers_are_the_same_or_right(seedproof, tmp_path, column):
    """Meanings, or marks of a judge, in place of references give what references did."""
    rows = answers(6)
    for row in rows:
        is_right = row["text"].strip(" .!").lower() == row["gold"].lower()
        meaning = row["gold"] if is_right else row["text"].strip(" .!").lower()
        row.update({"equivalent": meaning} if column == "equivalent" else {"correct": is_right})
        row["text"] += f" (as {row['run']} says)" if column == "equivalent" else ""
    path = lines(tmp_path / "decided.jsonl", rows)
    reference = ["--reference", "gold"] if column == "equivalent" else []

    summary = measured(seedproof, path, "--example", "id", "--answer", "text", *reference)

    values = values_of(summary)
    for name, value in expected(answers(6)).items():
        assert values[name] == pytest.approx(value), name


def test_references_may_be_lists(seedproof, tmp_path):
    """As JSON in a cell of CSV, and as lists in JSONL."""
    given = [("NYC", ["New York", "NYC"]), ("rome", ["Rome"]), ("Lyon", ["Paris"])]
    rows = [
        {"run": run, "example": place, "answer": answer, "reference": right}
        for run in range(2)
        for place, (answer, right) in enumerate(given)
    ]
    path = tmp_path / "cells.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"reference": json.dumps(row["reference"])} for row in rows)

    for table in (path, lines(tmp_path / "cells.jsonl", rows)):
        assert values_of(measured(seedproof, table))["accuracy"] == pytest.approx(2 / 3)


def test_one_file_or_one_column_per_run_is_the_same(seedproof, table, tmp_path):
    rows = answers(6)
    folder = tmp_path / "runs"
    folder.mkdir()
    for run in range(6):
        own = [{k: v for k, v in row.items() if k != "run"} for row in rows if row["run"] == run]
        lines(folder / f"{run}.jsonl", own)
    wide = {}
    for row in rows:
        kept = wide.setdefault(row["id"], {"id": row["id"], "gold": row["gold"]})
        kept[f"out_{row['run']}"] = row["text"]
    columns = lines(tmp_path / "wide.jsonl", list(wide.values()))

    whole = measured(seedproof, table, *OPTIONS)["metrics"]

    assert measured(seedproof, folder, *OPTIONS)["metrics"] == whole
    by_column = ["--example", "id", "--answer", "out_", "--reference", "gold"]
    assert measured(seedproof, columns, *by_column)["metrics"] == whole


def test_arrays_and_frames_are_the_same(seedproof, table):
    rows = answers(6)
    summary = measured(seedproof, table, *OPTIONS)
    frame = pa.Table.from_pylist(rows)
    of_runs = [[row["text"] for row in rows if row["run"] == run] for run in range(6)]
    gold = [row["gold"] for row in rows if row["run"] == 0]
    ids = [row["id"] for row in rows if row["run"] == 0]

    columns = sp.Columns(example="id", answer="text", reference="gold")
    of_frame = sp.measure(frame, columns=columns)
    of_arrays = sp.measure(of_runs[::-1], references=gold, ids=ids)

    assert json.loads(of_frame.to_json())["metrics"] == summary["metrics"]
    assert of_arrays["flip_rate"].value == pytest.approx(summary["metrics"]["flip_rate"]["value"])
    assert sp.Predictions.load(of_runs, texts=True).kind == "texts"


def test_same_bytes_on_processes(table):
    how = {"columns": sp.Columns(example="id", answer="text", reference="gold")}

    alone = sp.measure(str(table), **how)
    parallel = sp.measure(str(table), engine="processes", workers=2, **how)

    assert parallel.to_json() == alone.to_json()


def test_distinct_texts_lead_to_a_column_of_meanings(seedproof, tmp_path):
    rows = [row | {"text": f"{row['text']} {i}"} for i, row in enumerate(answers(6))]
    path = lines(tmp_path / "long.jsonl", rows)

    checks = measured(seedproof, path, *OPTIONS)["checks"]

    assert [check["name"] for check in checks] == ["distinct-answers"]
    assert "--equivalent" in checks[0]["remedy"]
    meant = [row | {"meaning": row["text"].split()[0].lower()} for row in rows]
    path = lines(tmp_path / "meant.jsonl", meant)
    assert measured(seedproof, path, *OPTIONS, "--equivalent", "meaning")["checks"] == []


def test_copies_and_strangers_are_reported(seedproof, tmp_path):
    rows = answers(6)
    first = {row["id"]: row["text"] for row in rows if row["run"] == 0}
    copies = [row | {"text": first[row["id"]]} for row in rows]
    strange = [row | ({"text": "?? timeout"} if row["run"] == 3 else {}) for row in rows]

    for given, name in ((copies, "duplicate-runs"), (strange, "outlier-run")):
        path = lines(tmp_path / f"{name}.jsonl", given)
        checks = measured(seedproof, path, *OPTIONS)["checks"]
        assert [(check["name"], check["severity"]) for check in checks] == [(name, "error")]


def test_free_text_as_classes_leads_to_answers(seedproof, table):
    summary = measured(seedproof, table, "--example", "id", "--prediction", "text")

    check = next(check for check in summary["checks"] if check["name"] == "not-categorical")
    assert "--answer" in check["remedy"]


@pytest.mark.parametrize("repeat", ["run", "attempt"])
def test_arms_are_compared_by_accuracy_and_stability(seedproof, tmp_path, repeat):
    n = 6 if repeat == "run" else 4
    old = lines(tmp_path / "old.jsonl", answers(n, repeat=repeat))
    new = lines(tmp_path / "new.jsonl", answers(n, bonus=0.25, seed=1, repeat=repeat))
    options = [*OPTIONS, *(["--trial", repeat] if repeat == "attempt" else [])]

    code, out, err = seedproof("compare", old, new, *options, "--json")

    assert code == 0, err
    summary = json.loads(out)
    effects = summary["arms"][0]["effects"]
    assert summary["primary"] == "accuracy"
    assert effects["accuracy"]["verdict"] == "better"
    assert effects["flip_rate"]["verdict"] == "steadier"

    reports = [tmp_path / "old", tmp_path / "new"]
    for path, place in zip((old, new), reports, strict=True):
        seedproof("measure", path, *options, "--out", place)
    code, out, err = seedproof("compare", *reports, "--json")

    assert code == 0, err
    of_reports = json.loads(out)["arms"][0]["effects"]
    assert of_reports.keys() == effects.keys()
    assert of_reports["accuracy"]["verdict"] == "better"


def test_equal_arms_show_no_difference(seedproof, tmp_path):
    old = lines(tmp_path / "old.jsonl", answers(6))
    new = lines(tmp_path / "new.jsonl", answers(9, seed=5))

    code, out, err = seedproof("compare", old, new, *OPTIONS, "--json")

    assert code == 0, err
    effects = json.loads(out)["arms"][0]["effects"]
    assert {effects[name]["verdict"] for name in ("accuracy", "flip_rate")} <= {
        "no difference shown",
        "equivalent",
    }
    # The number of distinct answers grows with the runs; that of five runs does not.
    assert "distinct_answers" not in effects
    assert "distinct_answers@5" in effects


def test_versions_have_the_same_code_for_the_same_answer(seedproof, tmp_path):
    """An answer that both versions give does not count as a change."""
    old = [{"run": r, "example": e, "answer": "same"} for r in range(5) for e in range(30)]
    new = [
        {"run": r, "example": e, "answer": "Same!" if e else f"new {r % 2}"}
        for r in range(5)
        for e in range(30)
    ]
    paths = [lines(tmp_path / f"{name}.jsonl", x) for name, x in (("old", old), ("new", new))]

    code, out, err = seedproof("compare", "--old", paths[0], "--new", paths[1], "--json")

    assert code == 0, err
    summary = json.loads(out)
    assert summary["kind"] == "texts"
    assert summary["whole"]["figures"]["flip_rate"]["value"] == pytest.approx(1 / 30)
    assert summary["n_labeled"] == 0


def test_trials_are_not_called_runs(tmp_path):
    """Nor seeds, when two versions are compared and when a comparison is planned."""
    columns = sp.Columns(example="id", answer="text", reference="gold")
    old, new = (
        lines(tmp_path / f"{seed}.jsonl", answers(5, repeat="trial", seed=seed)) for seed in (0, 1)
    )

    versions = sp.compare_versions(old, new, columns=columns)
    plan = sp.plan(pilot=old, columns=columns, detect=0.3)

    for text in (versions.text(), plan.text()):
        assert "trials" in text
        assert not re.search(r"\b(run|seed)(-to-run|s)?\b", text)


def test_lines_with_answers_of_two_kinds_are_refused(tmp_path):
    rows = [{"run": r, "example": e, "answer": "a"} for r in range(2) for e in range(3)]
    rows += [{"run": r, "example": 9, "prediction": "b"} for r in range(2)]

    with pytest.raises(ColumnError):
        sp.measure(str(lines(tmp_path / "mixed.jsonl", rows)))


def leveled(n_runs=4, n_trials=3):
    """Rows of runs that were asked several times."""
    return [
        row | {"run": run}
        for run in range(n_runs)
        for row in answers(n_trials, seed=run, repeat="trial", bonus=0.1 * run)
    ]


def test_runs_with_trials_are_measured_by_run(seedproof, tmp_path):
    """Pairs are trials of one run; a table and a store of it give the same figures."""
    rows, store = leveled(), tmp_path / "store"
    table = lines(tmp_path / "answers.jsonl", rows)
    summary = measured(seedproof, table, *OPTIONS, "--cluster", "topic")
    code, _, err = seedproof("ingest", table, *OPTIONS, "--out", store)
    assert code == 0, err

    assert measured(seedproof, store, "--cluster", "topic")["metrics"] == summary["metrics"]
    assert (summary["levels"], summary["n_runs"]) == ({"run": 4, "trial": 3}, 4)
    by_run = [expected([row for row in rows if row["run"] == run], "trial") for run in range(4)]
    for name in ("flip_rate", "distinct_answers", "accuracy"):
        value = np.mean([of_run[name] for of_run in by_run])
        assert summary["metrics"][name]["value"] == pytest.approx(value), name
    spread = np.std([of_run["accuracy"] for of_run in by_run], ddof=1)
    assert summary["metrics"]["accuracy_sd"]["value"] == pytest.approx(spread)
    assert "discrepancy" not in summary["metrics"]


def test_slices_of_runs_with_trials_are_those_of_their_examples(seedproof, tmp_path):
    rows = leveled()
    summary = measured(seedproof, lines(tmp_path / "all.jsonl", rows), *OPTIONS, "--slice", "topic")

    for group in summary["slices"]["topic"]:
        own = [row for row in rows if row["topic"] == group["name"]]
        alone = measured(seedproof, lines(tmp_path / "own.jsonl", own), *OPTIONS)
        for name in ("flip_rate", "accuracy"):
            value = alone["metrics"][name]["value"]
            assert group["metrics"][name]["value"] == pytest.approx(value), name


def test_page_of_runs_with_trials_is_complete(seedproof, tmp_path):
    table = lines(tmp_path / "answers.jsonl", leveled())

    code, out, err = seedproof(
        "measure", table, *OPTIONS, "--slice", "topic", "--show", "text", "--out", tmp_path / "out"
    )

    assert code == 0, err
    assert "topic" in out
    assert "<ins>" in (tmp_path / "out" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    "words", [["old.jsonl", "new.jsonl"], ["--old", "old.jsonl", "--new", "new.jsonl"]]
)
def test_comparisons_do_not_show_texts(words, refused, tmp_path):
    for name, seed in (("old", 0), ("new", 1)):
        lines(tmp_path / f"{name}.jsonl", answers(5, seed=seed))

    error = refused("compare", *words, *OPTIONS, "--show", "text")

    assert isinstance(error, ColumnError)


def test_versions_of_runs_with_trials_are_refused(tmp_path):
    tables = [lines(tmp_path / f"{name}.jsonl", leveled()) for name in ("old", "new")]

    with pytest.raises(OptionError, check=WithFields(option="trial")):
        sp.compare_versions(*tables, columns=COLUMNS)


def with_gaps(rows):
    """Rows of which one has no answer, and one example no reference."""
    rows[3]["text"] = None
    return [row | {"gold": None} if row["id"] == "q05" else row for row in rows]


def as_judged(rows):
    """Rows with marks in place of references, of which one is missing."""
    rows = [row | {"ok": int("answer" in row["text"].lower())} for row in rows]
    rows[4]["ok"] = None
    return [{name: cell for name, cell in row.items() if name != "gold"} for row in rows]


def as_meant(rows):
    """Rows with the meaning of most answers."""
    return [row | {"same": row["text"].lower().strip(" .!")[:7] or None} for row in rows]


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (with_gaps, OPTIONS),
        (as_judged, [*OPTIONS[:4], "--correct", "ok"]),
        (as_meant, [*OPTIONS, "--equivalent", "same"]),
    ],
    ids=["gaps", "judged", "meant"],
)
@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv"])
def test_stores_give_the_figures_of_their_tables(seedproof, tmp_path, suffix, change, options):
    """Also with several row groups, by cluster and slice."""
    rows, table = change(answers(5)), tmp_path / f"answers.{suffix}"
    if suffix == "jsonl":
        lines(table, rows)
    elif suffix == "csv":
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), table)
    store, further = tmp_path / "store", ["--cluster", "topic", "--slice", "topic"]

    code, _, err = seedproof("ingest", table, *options, "--out", store)

    assert code == 0, err
    of_table = measured(seedproof, table, *options, *further)
    of_store = measured(seedproof, store, *further)
    assert sorted(of_store.pop("notes")) == sorted(of_table.pop("notes"))
    assert of_store == of_table


def test_tables_larger_than_memory_are_sorted_on_disk(monkeypatch, table):
    columns = sp.Columns(example="id", answer="text", reference="gold")
    in_memory = sp.measure(table, columns=columns, distinguish=["case"])
    monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**9)
    monkeypatch.setattr("seedproof.records.schema.TEXT_GROUP_ROWS", 7)

    predictions = sp.Predictions.load(table, columns=columns, distinguish=["case"])
    on_disk = sp.measure(predictions)

    assert predictions.source.n_shards == 9
    for name, value in values_of(json.loads(in_memory.to_json())).items():
        assert on_disk[name].value == pytest.approx(value, rel=1e-12), name


def test_one_column_per_run_is_sorted_on_disk(monkeypatch, tmp_path):
    rows = [{"id": e, "seed_0": "a", "seed_1": "A" if e else None, "gold": "a"} for e in range(9)]
    table = lines(tmp_path / "wide.jsonl", rows)
    columns = sp.Columns(example="id", answer="seed_", reference="gold")
    in_memory = values_of(json.loads(sp.measure(table, columns=columns).to_json()))
    monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**9)

    on_disk = values_of(json.loads(sp.measure(table, columns=columns).to_json()))

    assert on_disk == in_memory
    assert on_disk["flip_rate"] == pytest.approx(1 / 9)


def test_conflicting_references_of_a_large_table_are_refused(monkeypatch, tmp_path):
    rows = answers(3)
    rows[4]["gold"] = "another"
    monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**9)

    with pytest.raises(LabelConflictError, check=WithFields(example="q01")):
        sp.measure(
            lines(tmp_path / "answers.jsonl", rows),
            columns=sp.Columns(example="id", answer="text", reference="gold"),
        )


def logged(run):
    """Log the texts of one run in two batches, in any order."""
    rng = np.random.default_rng([7, int(run.name)])
    texts = [None if e == 3 else str(rng.choice(["Yes", "yes.", "no"])) for e in range(20)]
    right = [None if e == 5 else ["yes", "ja"] if e % 2 else "No" for e in range(20)]
    for ids in (range(10, 20), range(10)):
        run.log_predictions(
            "test",
            ids=list(ids),
            texts=[texts[e] for e in ids],
            references=[right[e] for e in ids],
        )
    logged.texts.append(texts)


def test_runs_log_texts(tmp_path):
    """A store has the figures of the same texts as arrays."""
    logged.texts = []
    sp.Study("texts", logged, seeds=3, store=tmp_path / "store").run(
        engine="serial", progress=False
    )
    right = [None if e == 5 else ["yes", "ja"] if e % 2 else "No" for e in range(20)]

    of_store = sp.measure(tmp_path / "store", distinguish=["punctuation"])

    of_arrays = sp.measure(logged.texts, texts=True, references=right, distinguish=["punctuation"])
    assert of_store.measurement.n_labeled == 19
    for name, figure in of_arrays.items():
        assert of_store[name] == figure, name
    assert "yes." in sp.Predictions.load(tmp_path / "store").source.shard(0).texts.texts


def test_gaps_between_runs_of_a_store_are_dropped_on_request(tmp_path):
    """Marks of the same answer are counted over all runs, whichever examples they have."""
    marks = {0: [1, 1, 0, None], 1: [1, 0, 0], 2: [0, 0, 0, 1]}
    rows = [
        {"run": r, "id": e, "text": "a", "ok": mark}
        for r, of_run in marks.items()
        for e, mark in enumerate(of_run)
    ]
    columns = sp.Columns(example="id", answer="text", correct="ok")
    table = lines(tmp_path / "answers.jsonl", rows)
    in_memory = sp.measure(table, columns=columns, common_examples=True)
    ingest = Ingest(TableOptions(columns, may_differ=True), scratch=tmp_path)
    ingest.run([table], Location.of(tmp_path / "store"))

    of_store = sp.measure(tmp_path / "store", common_examples=True)

    assert of_store["accuracy"].value == in_memory["accuracy"].value == pytest.approx(1 / 3)
    assert of_store.measurement.n_labeled == in_memory.measurement.n_labeled == 3


def test_gate_plan_and_decide_take_texts(seedproof, tmp_path):
    old = lines(tmp_path / "old.jsonl", answers(10))
    new = lines(tmp_path / "new.jsonl", answers(10, bonus=0.3, seed=1))

    code, _, err = seedproof(
        "gate", new, *OPTIONS, "--max", "distinct_answers=4", "--min", "accuracy=0.5"
    )
    assert code == 0, err
    seedproof("measure", old, *OPTIONS, "--out", tmp_path / "old")
    for baseline in (old, tmp_path / "old"):
        rule = ("--no-worse", "accuracy", "--baseline", baseline)
        code, _, err = seedproof("gate", new, *OPTIONS, *rule)
        assert code == 0, err
    code, out, err = seedproof("plan", "--pilot", old, *OPTIONS, "--detect", "0.2", "--json")
    assert code == 0, err
    code, out, err = seedproof("decide", old, new, *OPTIONS, "--ledger", tmp_path / "loop.jsonl")
    assert code == 0, err
    assert "Keep" in out


@pytest.mark.parametrize(
    ("change", "options", "error"),
    [
        ({}, {"columns": sp.Columns(example="id", answer="txt")}, ColumnError),
        ({"gold": "run"}, {}, LabelConflictError),
        ({"correct": "topic"}, {}, DtypeError),
        ({}, {"metrics": ["ece"]}, OptionError),
        ({}, {"tolerance": 0.1, "keep": ["x"]}, OptionError),
    ],
)
def test_wrong_tables_are_refused(change, options, error):
    """Columns take the values of another one, as if they were mixed up."""
    rows = [row | {name: row[other] for name, other in change.items()} for row in answers(3)]
    usual = {"columns": sp.Columns(example="id", answer="text", reference="gold")}

    with pytest.raises(error):
        sp.measure(pa.Table.from_pylist(rows), **{**usual, **options})


def test_wrong_arrays_are_refused():
    with pytest.raises(ShapeError):
        sp.measure([["a", "b"], ["a", "b"]], references=["a"])
    with pytest.raises(ShapeError):
        sp.measure([["a", "b"], ["a"]], texts=True)
    with pytest.raises(ShapeError):
        sp.measure([["a", "b"], ["a", "b"]], equivalent=[["x"], ["y"]])
    with pytest.raises(TooFewRunsError):
        sp.measure([["a", "b"]], texts=True)


@pytest.mark.parametrize("run_sd", [0.0, 0.3])
def test_intervals_cover_the_truth_in_most_studies(run_sd):
    """The benchmark has thousands of studies, and more designs; this fails if they are far off."""
    benchmark = runpy.run_path(str(BENCHMARK))
    design = benchmark["Design"](5, 60, run_sd=run_sd, cluster_size=4)

    shares = benchmark["coverage"](design, 40, 0)

    assert shares.keys() >= {"flip_rate", "distinct_answers", "accuracy"}
    assert min(shares.values()) >= 0.8  # 0.95 less four standard errors
