"""Logs that other tools wrote, measured without options; figures from loops over the raw files."""

import gzip
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from zipfile import ZipFile

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import (
    ColumnError,
    LabelConflictError,
    MissingValueError,
    OptionError,
    TooFewRunsError,
    UnknownNameError,
    UnreadableError,
)
from seedproof.logs import log_files
from seedproof.testing.errors import WithFields

LOGS = Path(__file__).parents[2] / "examples" / "logs"
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "json_lines.py"


def complete(scores: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return the examples that have a score in every trial."""
    n_trials = max(map(len, scores.values()))
    return {example: values for example, values in scores.items() if len(values) == n_trials}


def check_figures(report: sp.Report, scores: dict[str, list[float]]) -> None:
    """Compare mean and spread with loops."""
    kept = complete(scores)
    assert report.measurement.n_examples == len(kept)
    assert report["mean"].value == pytest.approx(fmean(map(fmean, kept.values())))
    variances = [np.var(values, ddof=1) for values in kept.values()]
    assert report["example_sd"].value == pytest.approx(fmean(variances) ** 0.5)


def inspect_scores(folder: Path, task: str, scorer: str) -> dict[str, list[float]]:
    (file,) = (file for file in folder.glob("*.json") if task in file.name)
    scores = defaultdict(list)
    for sample in json.loads(file.read_text())["samples"]:
        value = sample["scores"].get(scorer, {}).get("value")
        if value is not None:
            number = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}.get(value) if task == "quiz" else None
            scores[str(sample["id"])].append(value["tone"] if number is None else number)
    return scores


@pytest.mark.parametrize(("task", "scorer"), [("quiz", "right"), ("essay", "rubric")])
def test_inspect_json(task, scorer):
    report = sp.measure(LOGS / "inspect" / "json", task=task)
    check_figures(report, inspect_scores(LOGS / "inspect" / "json", task, scorer))


def test_inspect_archives_agree_with_their_own_means():
    """The accuracy of an archive's header is over the same samples."""
    reports = sp.measure_arms(LOGS / "inspect" / "eval")
    assert list(reports) == ["essay", "quiz"]
    assert reports["quiz"]["mean"].value == pytest.approx(0.5416666666666666)
    assert [check.name for check in reports["essay"].checks] == ["failed-samples"]
    assert reports["essay"].measurement.n_examples == 3


def test_tasks_are_not_called_arms():
    """A log of one model on several tasks offers no comparison of these."""
    reports = sp.measure_arms(LOGS / "inspect" / "eval")

    assert f"{len(reports)} tasks" in repr(reports)
    assert "arms" not in repr(reports)
    with pytest.raises(UnknownNameError, check=WithFields(noun="task")):
        reports["other"]


def test_failed_samples_can_be_scored():
    reports = sp.measure_arms(LOGS / "inspect" / "eval", failed_as=0.0)
    assert reports["essay"].measurement.n_examples == 4


def test_inspect_retry_replaces_the_first_log(tmp_path):
    """Of logs with one task id, only the newest counts."""
    (source,) = (LOGS / "inspect" / "json").glob("*quiz*")
    log = json.loads(source.read_text())
    (tmp_path / "first.json").write_text(json.dumps(log))
    log["eval"]["created"] = "2030-01-01T00:00:00+00:00"
    for sample in log["samples"]:
        sample["scores"]["right"]["value"] = "C"
    (tmp_path / "second.json").write_text(json.dumps(log))
    report = sp.measure(tmp_path)
    assert report["mean"].value == 1.0
    assert len(report.measurement.runs) == 3


def test_repeated_evaluations_are_further_trials(tmp_path):
    (source,) = (LOGS / "inspect" / "json").glob("*quiz*")
    log = json.loads(source.read_text())
    for name in ("one", "two"):
        log["eval"]["task_id"] = name
        (tmp_path / f"{name}.json").write_text(json.dumps(log))
    assert len(sp.measure(tmp_path).measurement.runs) == 6


def test_other_settings_are_another_arm(tmp_path):
    (source,) = (LOGS / "inspect" / "json").glob("*quiz*")
    log = json.loads(source.read_text())
    for temperature in (0.0, 1.0):
        log["eval"] |= {"task_id": str(temperature), "model_args": {"temperature": temperature}}
        (tmp_path / f"{temperature}.json").write_text(json.dumps(log))
    comparison = sp.compare(str(tmp_path))
    assert [arm.name for arm in comparison.arms] == [f"{log['eval']['model']} temperature=1.0"]


def test_older_archives_are_deflated(tmp_path):
    (source,) = (LOGS / "inspect" / "json").glob("*quiz*")
    log = json.loads(source.read_text())
    with ZipFile(tmp_path / "old.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({**log, "samples": None}))
        archive.writestr("summaries.json", json.dumps(log["samples"]))
    report = sp.measure(tmp_path / "old.eval")
    check_figures(report, inspect_scores(LOGS / "inspect" / "json", "quiz", "right"))


def test_archive_without_samples(tmp_path):
    with ZipFile(tmp_path / "started.eval", "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(UnreadableError):
        sp.measure(tmp_path / "started.eval")


def lm_eval_scores(task: str, metric: str, which: str | None = None) -> dict[str, list[float]]:
    scores = defaultdict(list)
    for file in (LOGS / "lm_eval").rglob(f"samples_{task}_*.jsonl"):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            if which in {None, row["filter"]}:
                scores[str(row["doc_id"])].append(row[metric])
    return scores


def test_lm_eval():
    reports = sp.measure_arms(LOGS / "lm_eval")
    assert list(reports) == ["yesno_gen", "yesno_mc"]
    assert reports["yesno_mc"].measurement.runs == ("seed 1", "seed 2", "seed 3")
    assert reports["yesno_mc"]["mean"].value == fmean(
        map(fmean, lm_eval_scores("yesno_mc", "acc").values())
    )
    first = lm_eval_scores("yesno_gen", "exact_match", "first")
    assert reports["yesno_gen"]["mean"].value == fmean(map(fmean, first.values()))
    other = sp.Columns(value="exact_match,majority")
    majority = sp.measure(LOGS / "lm_eval", task="yesno_gen", columns=other)
    by_filter = lm_eval_scores("yesno_gen", "exact_match", "majority")
    assert majority["mean"].value == fmean(map(fmean, by_filter.values()))


def test_lm_eval_of_other_data(tmp_path):
    """A number that stands for two documents is an error."""
    folder = shutil.copytree(LOGS / "lm_eval", tmp_path / "logs")
    file = next(folder.rglob("samples_yesno_mc_*.jsonl"))
    row, *others = file.read_text().splitlines()
    changed = json.dumps(json.loads(row) | {"doc_hash": "another"})
    file.write_text("\n".join([changed, *others]))
    with pytest.raises(LabelConflictError):
        sp.measure(folder, task="yesno_mc")


def promptfoo_scores(provider: str) -> dict[str, list[float]]:
    rows = json.loads((LOGS / "promptfoo" / "results.json").read_text())["results"]["results"]
    scores = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["testIdx"]):
        if row["provider"]["label"] == provider and row["failureReason"] != 2:
            test = row["testCase"]
            scores[test.get("metadata", {}).get("id", test.get("description"))].append(row["score"])
    return scores


@pytest.mark.parametrize("name", ["results.json", "results.jsonl", "."])
def test_promptfoo(name):
    """The folder has the same rows twice, and each is read once."""
    reports = sp.measure_arms(LOGS / "promptfoo" / name)
    for provider, report in reports.items():
        check_figures(report, promptfoo_scores(provider))
    assert list(reports) == ["random-a", "random-b"]


def test_promptfoo_compared_on_the_examples_of_both():
    comparison = sp.compare(str(LOGS / "promptfoo" / "results.json"))
    assert [arm.name for arm in comparison.arms] == ["random-b"]
    assert {check.name for check in comparison.checks} == {"failed-samples"}


def test_cached_repeats(tmp_path):
    rows = [json.loads(x) for x in (LOGS / "promptfoo" / "results.jsonl").read_text().splitlines()]
    for row in rows[:4]:
        row["response"] = {"output": "yes", "cached": True}
    file = tmp_path / "results.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    checks = [check for report in sp.measure_arms(file).values() for check in report.checks]
    assert "cached-repeats" in {check.name for check in checks if check.severity == "error"}


def test_json_paths():
    columns = sp.Columns(example="item.uid", trial="meta.run.seed", value="result.grades.style")
    nested = LOGS / "jsonl" / "nested.jsonl"
    scores = defaultdict(list)
    for line in nested.read_text().splitlines():
        row = json.loads(line)
        if row["result"]["grades"] is not None:
            scores[row["item"]["uid"]].append(row["result"]["grades"]["style"])
    report = sp.measure(nested, columns=columns, slices=["item.tags[0]"], common_examples=True)
    check_figures(report, scores)


def test_each_item_of_a_list_is_a_trial():
    file = LOGS / "jsonl" / "lists.jsonl"
    rows = map(json.loads, file.read_text().splitlines())
    scores = {row["id"]: [float(x["ok"]) for x in row["samples"]] for row in rows}
    columns = sp.Columns(value="samples[*].ok")
    report = sp.measure(file, columns=columns, common_examples=True)
    assert report.measurement.n_examples == len(complete(scores))
    assert report["mean"].value == fmean(map(fmean, complete(scores).values()))


def test_missing_score_is_named_or_dropped():
    columns = sp.Columns(example="item.uid", trial="meta.run.seed", value="result.grades.exact")
    nested = LOGS / "jsonl" / "nested.jsonl"
    with pytest.raises(MissingValueError):
        sp.measure(nested, columns=columns)
    assert sp.measure(nested, columns=columns, common_examples=True).measurement.n_examples == 3


def test_wrong_path_names_the_known_ones():
    with pytest.raises(ColumnError) as info:
        sp.measure(LOGS / "jsonl" / "nested.jsonl", columns=sp.Columns(value="result.grade"))
    assert "result.grades.style" in info.value.fields["listed"]


def test_lines_without_ids():
    files = [str(LOGS / "jsonl" / f"run{index}.jsonl") for index in range(3)]
    report = sp.measure(files, labels="gold")
    rows = [[json.loads(x) for x in Path(file).read_text().splitlines()] for file in files]
    right = [fmean(row["prediction"] == row["gold"] for row in of_file) for of_file in rows]
    assert report["accuracy"].value == pytest.approx(fmean(right))


def test_paths_in_packed_files(tmp_path):
    packed = tmp_path / "nested.jsonl.gz"
    packed.write_bytes(gzip.compress((LOGS / "jsonl" / "nested.jsonl").read_bytes()))
    columns = sp.Columns(example="item.uid", trial="meta.run.seed", value="result.grades.style")
    assert sp.measure(packed, columns=columns, common_examples=True).measurement.n_examples == 3


def test_hydra_sweep():
    report = sp.measure(LOGS / "hydra" / "by_number")
    assert report.measurement.runs == ("1", "2", "3")
    assert sp.measure(LOGS / "hydra" / "by_override").measurement.runs == ("1", "2")


def test_hydra_arms_and_failed_jobs(tmp_path):
    for index, (width, seed) in enumerate([(8, 1), (8, 2), (16, 1), (16, 2), (16, 3)]):
        job = tmp_path / str(index)
        shutil.copytree(LOGS / "hydra" / "by_number" / "0", job)
        (job / ".hydra" / "overrides.yaml").write_text(f"- model.width={width}\n- seed={seed}\n")
    (tmp_path / "4" / "predictions.csv").unlink()
    reports = sp.measure_arms(tmp_path)
    assert list(reports) == ["model.width=8", "model.width=16"]
    assert "missing-runs" in {check.name for check in reports["model.width=16"].checks}
    assert [arm.name for arm in sp.compare(str(tmp_path)).arms] == ["model.width=16"]
    with pytest.raises(OptionError):
        sp.measure(tmp_path)


def test_named_tool():
    with pytest.raises(UnreadableError):
        sp.measure(LOGS / "promptfoo" / "results.json", tool="inspect")
    with pytest.raises(OptionError):
        sp.measure(LOGS / "promptfoo" / "results.json", tool="unknown")
    assert log_files([str(LOGS / "jsonl" / "flat.jsonl")]) is None


def test_paths_are_read_in_pieces(monkeypatch):
    """Pieces give the same table as one."""
    monkeypatch.setattr("seedproof.logs.paths.CHUNK_BYTES", 100)
    columns = sp.Columns(example="item.uid", trial="meta.run.seed", value="result.grades.style")
    nested = LOGS / "jsonl" / "nested.jsonl"
    pieces = sp.measure(nested, columns=columns, common_examples=True).summary()
    monkeypatch.undo()
    assert pieces == sp.measure(nested, columns=columns, common_examples=True).summary()


def test_types_that_change_between_pieces(tmp_path, monkeypatch):
    """Nothing before whole numbers, and these before fractions, are read as one file would be."""
    rows = [
        {"item": {"id": f"x{index // 2}"}, "trial": index % 2}
        | {"score": {"value": None if index < 2 else index if index < 30 else index + 0.5}}
        for index in range(40)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n\n".join(map(json.dumps, rows)) + "\n")
    monkeypatch.setattr("seedproof.logs.paths.CHUNK_BYTES", 150)
    monkeypatch.setattr("seedproof.logs.paths.SAMPLE_BYTES", 60)
    columns = sp.Columns(example="item.id", value="score.value")
    report = sp.measure(file, columns=columns, common_examples=True)
    assert report.measurement.n_examples == 19
    values = [row["score"]["value"] for row in rows[2:]]
    assert report["mean"].value == pytest.approx(fmean(values))


def test_ids_that_look_like_times_are_texts(tmp_path):
    """`2026-01-01` and `2026-01-01T00:00:00` are two examples."""
    ids = ["2026-01-01", "2026-01-01T00:00:00", "2026-01-02"]
    for name, row in (("paths", '{{"doc": {{"id": "{}"}}, "trial": {}, "value": {}}}'),
                      ("columns", '{{"id": "{}", "trial": {}, "value": {}}}')):  # fmt: skip
        file = tmp_path / f"{name}.jsonl"
        lines = [
            row.format(x, trial, (trial + i) % 2) for trial in (0, 1) for i, x in enumerate(ids)
        ]
        file.write_text("\n".join(lines))
        columns = sp.Columns(example="doc.id") if name == "paths" else None
        assert sp.Predictions.load(file, columns=columns).ids.to_pylist() == ids


def test_ids_of_several_types_are_read(tmp_path):
    """Arrow refuses such a column, so that another reader takes over."""
    file = tmp_path / "scores.jsonl"
    rows = [
        {"run": run, "example": example, "value": run / 4}
        for run in range(3)
        for example in (1, "b")
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")

    assert sp.measure(file)["mean"].value == pytest.approx(0.25)


def test_long_lines_are_read(tmp_path):
    """A line that is longer than a block is a row."""
    file = tmp_path / "long.jsonl"
    rows = [
        {"doc": {"id": i // 2}, "trial": i % 2, "value": i, "text": "x" * 3_000_000 * (i == 3)}
        for i in range(8)
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    loaded = sp.Predictions.load(file, columns=sp.Columns(example="doc.id"))
    assert (loaded.n_examples, len(loaded.runs)) == (4, 2)


def test_benchmark_of_json_lines(tmp_path):
    command = [sys.executable, str(BENCHMARK), "--samples", "2000", "--rounds", "1"]
    printed = subprocess.check_output([*command, "--folder", str(tmp_path)], text=True, timeout=300)
    assert [line.split(" | ")[0] for line in printed.splitlines()[2:]] == ["| paths", "| columns"]


def wandb_tables() -> list[list[dict]]:
    tables = [json.loads(x.read_text()) for x in (LOGS / "wandb").rglob("*.table.json")]
    return [[dict(zip(x["columns"], row, strict=True)) for row in x["data"]] for x in tables]


def test_runs_of_wandb():
    report = sp.measure(LOGS / "wandb")
    assert report.measurement.runs == ("1", "2", "3", "4", "5")
    right = [fmean(row["prediction"] == row["label"] for row in rows) for rows in wandb_tables()]
    assert report["accuracy"].value == pytest.approx(fmean(right))


def test_tables_of_wandb_by_pattern():
    report = sp.measure(str(LOGS / "wandb" / "**" / "predictions_*.table.json"))
    assert report["accuracy"].value == sp.measure(LOGS / "wandb")["accuracy"].value


def test_killed_run_of_wandb_is_missing(tmp_path):
    """Without its last record, which is the exit code, a run has not finished."""
    folder = shutil.copytree(LOGS / "wandb", tmp_path / "wandb")
    file = next(folder.rglob("*.wandb"))
    file.write_bytes(file.read_bytes()[:-10])
    report = sp.measure(folder)
    assert len(report.measurement.runs) == 4
    assert "missing-runs" in {check.name for check in report.checks}


def test_damaged_run_of_wandb(tmp_path):
    folder = shutil.copytree(LOGS / "wandb", tmp_path / "wandb")
    file = next(folder.rglob("*.wandb"))
    content = bytearray(file.read_bytes())
    content[100] ^= 255
    file.write_bytes(bytes(content))
    with pytest.raises(UnreadableError):
        sp.measure(folder)
    file.write_bytes(b"nothing")
    with pytest.raises(UnreadableError):
        sp.measure(folder)


def test_jobs_of_two_sweeps_with_one_number_and_seed_are_both_read(tmp_path):
    """A sweep that was started twice: the folder above both has every job."""
    for sweep in ("10-00", "11-00"):
        shutil.copytree(LOGS / "hydra" / "by_number", tmp_path / sweep)
    assert len(sp.measure(tmp_path).measurement.runs) == 6


def test_arm_without_any_predictions_is_refused_by_its_jobs(tmp_path):
    """Both jobs of one arm crashed."""
    for index, width in enumerate([8, 8, 16, 16]):
        job = tmp_path / str(index)
        shutil.copytree(LOGS / "hydra" / "by_number" / "0", job)
        overrides = f"- model.width={width}\n- seed={index}\n"
        (job / ".hydra" / "overrides.yaml").write_text(overrides)
        if width == 16:
            (job / "predictions.csv").unlink()
    with pytest.raises(TooFewRunsError, check=WithFields(runs=("2", "3"))):
        sp.measure_arms(tmp_path)
