"""`seedproof compare` in a process of its own, and `sp.compare` on all kinds of targets."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import LabelConflictError, MissingExampleError, OptionError, TooFewRunsError
from seedproof.testing.errors import WithFields

N_RUNS, N_EXAMPLES = 8, 200


def draw_runs(noise, *, seed):
    """Return probabilities of runs that add noise to the same logits, and the gold labels."""
    logits = 2 * np.random.default_rng(0).standard_normal((N_EXAMPLES, 3))
    rng = np.random.default_rng(seed)
    noisy = logits + noise * rng.standard_normal((N_RUNS, N_EXAMPLES, 3))
    exponentials = np.exp(noisy)
    return exponentials / exponentials.sum(axis=2, keepdims=True), logits.argmax(axis=1)


def write_table(path, noise, *, seed, n_examples=N_EXAMPLES):
    """Write a table with a row per run and example."""
    probs, labels = draw_runs(noise, seed=seed)
    run, example = np.divmod(np.arange(N_RUNS * n_examples), n_examples)
    table = {"run": run, "example": example, "label": labels[example].astype(str)}
    table |= {f"p_{k}": probs[run, example, k] for k in range(3)}
    pq.write_table(pa.table(table), path)
    return path


def train(run):
    """Log drawn predictions instead of training: arm "calm" has less noise than arm "none"."""
    probs, labels = draw_runs(1.0 if run.arm == "none" else 0.3, seed=run.seeds["init"])
    run.log_predictions("test", ids=np.arange(N_EXAMPLES), probs=probs[0], labels=labels)
    run.log_scalar("forward_passes", 2.0 if run.arm == "none" else 6.0)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return the store of a study of two arms, eight seeds each."""
    path = tmp_path_factory.mktemp("compare") / "runs"
    sp.Study("two-arms", train, seeds=N_RUNS, arms=["none", "calm"], store=path).run(
        engine="serial", progress=False
    )
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Return tables of a baseline and of a steadier arm."""
    folder = tmp_path_factory.mktemp("tables")
    return [
        write_table(folder / "base.parquet", 1.0, seed=1),
        write_table(folder / "calm.parquet", 0.3, seed=2),
    ]


@pytest.fixture
def paths(store, tables):
    """Return paths by the names that stand for them in command lines."""
    return {"store": store, "base": tables[0], "calm": tables[1]}


def seedproof(*arguments):
    """Run the command line in another process."""
    return subprocess.run(
        [sys.executable, "-c", "from seedproof.cli.main import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_arms_of_a_store_are_paired_by_their_seeds(store):
    """The costs of an arm are read along with its predictions."""
    comparison = sp.compare(store)

    arm = comparison.arm("calm")
    assert comparison.baseline.name == "none"
    assert arm.is_paired
    assert comparison.effect("calm", "flip_rate").verdict == "steadier"
    assert arm.costs["forward_passes"] == 6.0
    assert "seconds" in arm.costs


def test_tables_are_unpaired_by_default(tables):
    """The first is the baseline; runs with the same name do not necessarily share a seed."""
    plain, paired = sp.compare(tables), sp.compare(tables, paired=True)

    assert (plain.baseline.name, plain.arms[0].name) == ("base", "calm")
    assert (plain.arms[0].is_paired, paired.arms[0].is_paired) == (False, True)
    assert plain.effect("calm", "flip_rate").value == paired.effect("calm", "flip_rate").value
    assert plain.effect("calm", "flip_rate").verdict == "steadier"


def test_reports_and_their_folders_are_compared_by_their_figures(tables, tmp_path):
    """The ratio is the same; the interval is wider, with a note."""
    reports = [sp.measure(table) for table in tables]
    for report, name in zip(reports, ("one", "two"), strict=True):
        report.save(tmp_path / name)

    of_reports = sp.compare(reports)
    of_folders = sp.compare([tmp_path / "one", tmp_path / "two"])
    of_records = sp.compare(tables)

    from_report = of_reports.arms[0].effects["flip_rate"]
    from_records = of_records.arms[0].effects["flip_rate"]
    assert from_report == of_folders.arms[0].effects["flip_rate"]
    assert from_report.value == pytest.approx(from_records.value)
    assert from_report.low < from_records.low < from_records.high < from_report.high
    assert of_reports.comparison.notes[0].code == "made-from-reports"
    assert of_folders.arms[0].name == "two"


def test_command_prints_text_or_json_and_writes_files(store, tmp_path):
    """Text has at most 80 columns, and the printed JSON is the same as that of the file."""
    text = seedproof("compare", store, "--baseline", "none", "--out", tmp_path / "out")
    as_json = seedproof("compare", store, "--json")

    assert text.returncode == 0, text.stderr
    assert "steadier" in text.stdout
    assert max(map(len, text.stdout.splitlines())) <= 80
    assert (tmp_path / "out" / "comparison.html").stat().st_size > 100_000
    written = (tmp_path / "out" / "comparison.json").read_text(encoding="utf-8")
    assert as_json.stdout == written
    effect = json.loads(written)["arms"][0]["effects"]["flip_rate"]
    assert effect["verdict"] == "steadier"


def test_a_study_compares_its_arms(store):
    """`Study.compare` compares the arms in the store of the study."""
    study = sp.Study("two-arms", train, seeds=N_RUNS, arms=["none", "calm"], store=store)

    assert study.compare(baseline="none").effect("calm", "accuracy").scale == "difference"


def test_two_versions_are_compared(tables):
    """The deployed version may be a single run."""
    comparison = sp.compare_versions(*tables)

    assert comparison["flip_rate"].value > comparison["flip_rate_new"].value
    table = pq.read_table(tables[0])
    single_run = table.filter(pa.compute.equal(table["run"], 0))
    assert sp.compare_versions(single_run, tables[1])["flip_rate"].value > 0


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        ([], "SP115", {"n_targets": 0}),
        (["{store}", "--baseline", "missing"], "SP115", {"baseline": "missing", "known": ("none", "calm")}),
        (["{store}", "--gold", "missing"], "SP115", {"gold": "missing", "known": ("calm",)}),
        (["{base}"], "SP115", {"n_targets": 1}),
        (["nowhere"], "SP101", {"target": "nowhere"}),
        (["nowhere", "nowhere"], "SP115", {"targets": ("nowhere", "nowhere")}),
        (["{base}", "{calm}", "--split", "test"], "SP115", {"option": "split", "kinds": ("table", "table")}),
        (["{store}", "--paired"], "SP115", {"option": "paired"}),
        (["--old", "{base}"], "SP115", {"option": "--new"}),
        (["{base}", "--old", "{base}", "--new", "{calm}"], "SP115", {"options": ("--old", "--new")}),
        (["{base}", "missing.csv"], "SP101", {"path": "missing.csv"}),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_compared_are_refused(paths, arguments, code, fields, refused):
    """The error has the code and the fields that explain it."""
    error = refused("compare", *(argument.format(**paths) for argument in arguments))

    assert error.code == code
    assert WithFields(**fields)(error), error.fields


def test_arms_with_different_examples_are_refused(tables, tmp_path):
    """The error names both arms, and the number of examples of the first."""
    short = write_table(tmp_path / "short.parquet", 1.0, seed=3, n_examples=150)

    with pytest.raises(
        MissingExampleError, check=WithFields(name="base", n_first=200, other_name="short")
    ):
        sp.compare([tables[0], short])


def test_a_store_with_one_arm_is_refused(tmp_path):
    """There is no baseline to compare it with."""
    sp.Study("one-arm", train, seeds=2, store=tmp_path / "runs").run(
        engine="serial", progress=False
    )

    with pytest.raises(TooFewRunsError):
        sp.compare(tmp_path / "runs")


@pytest.mark.parametrize(
    "options",
    [{"arm": "none"}, {"split": "test"}, {"paired": True}, {"columns": sp.Columns(run="seed")}],
    ids=str,
)
def test_options_of_records_are_refused_for_reports(tables, options):
    """They would have no effect on saved figures."""
    reports = [sp.measure(table) for table in tables]

    with pytest.raises(OptionError):
        sp.compare(reports, **options)


@pytest.mark.parametrize("columns", ["seed", {"run": "seed"}], ids=str)
def test_columns_of_another_type_are_refused(tables, columns):
    """All functions that compare or check tables require `sp.Columns`."""
    for call in (
        lambda: sp.compare(tables, columns=columns),
        lambda: sp.compare_versions(*tables, columns=columns),
        lambda: sp.gate(tables[0], max={"flip_rate": 0.1}, columns=columns),
    ):
        with pytest.raises(OptionError):
            call()


def test_pairing_runs_of_different_names_is_refused(tables, tmp_path):
    """`paired=True` would have no effect, as no two runs could be paired."""
    renamed = pq.read_table(tables[1])
    names = pa.compute.add(renamed["run"], 100)
    pq.write_table(renamed.set_column(0, "run", names), tmp_path / "renamed.parquet")

    with pytest.raises(OptionError, check=WithFields(name="base")):
        sp.compare([tables[0], tmp_path / "renamed.parquet"], paired=True)


def test_runs_that_share_seeds_give_a_note(tmp_path):
    """Such runs are not independent, so the intervals are too narrow."""
    plan = sp.SeedPlan.blocks(2, ("init", "order"))
    sp.Study("blocks", train, seeds=plan, arms=["none", "calm"], store=tmp_path / "runs").run(
        engine="serial", progress=False
    )

    notes = sp.compare(tmp_path / "runs").comparison.notes
    assert "shared-seeds" in {note.code for note in notes}


def test_reports_cannot_be_compared_with_records(tables, tmp_path):
    """A single report cannot be compared, either."""
    sp.measure(tables[0]).save(tmp_path / "report")

    with pytest.raises(OptionError):
        sp.compare([tmp_path / "report", tables[1]])
    with pytest.raises(OptionError):
        sp.compare([tmp_path / "report"])


def test_arms_may_be_given_by_name(tables):
    """A mapping from names to arrays or tables sets the names of the arms."""
    result = sp.compare({"before": draw_runs(1.0, seed=1)[0], "after": draw_runs(0.3, seed=2)[0]})

    assert result.effect("after", "flip_rate").verdict == "steadier"
    assert result.baseline.name == "before"
    assert sp.compare({"one": tables[0], "two": tables[1]}).arms[0].name == "two"


def test_labels_of_a_single_arm_are_refused(tables):
    """Figures of a labeled arm use gold labels, those of an unlabeled one the consensus."""
    unlabeled = pq.read_table(tables[1]).drop_columns("label")

    with pytest.raises(
        LabelConflictError, check=WithFields(first="baseline", n_labeled=200, side="arm 1")
    ):
        sp.compare([pq.read_table(tables[0]), unlabeled])


def test_comparison_of_reports_has_a_page(tables, tmp_path):
    """The page is written even though reports have no votes and no examples."""
    for table, name in zip(tables, ("one", "two"), strict=True):
        sp.measure(table).save(tmp_path / name)

    sp.compare([tmp_path / "one", tmp_path / "two"]).save(tmp_path / "out")

    assert (tmp_path / "out" / "comparison.html").stat().st_size > 100_000
