"""The gate end to end: exit codes, files, rules from a file, refusals."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import xmlschema

import seedproof as sp
from seedproof.api.gate import gate
from seedproof.errors import OptionError, UnknownNameError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import Kind, Layout
from seedproof.records.writer import RunWriter
from seedproof.testing.errors import WithFields

SCHEMA = Path(__file__).parent / "junit.xsd"
# Set to the schema of a CI system, such as Jenkins' junit-10.xsd, to check against that as well.
FURTHER_SCHEMA = "SEEDPROOF_JUNIT_SCHEMA"
N_RUNS, N_EXAMPLES = 10, 400
EXIT_CODES = {"pass": 0, "fail": 1, "investigate": 3}


def predictions(*, flips=0.05, n_runs=N_RUNS, n_examples=N_EXAMPLES, seed=0, noise=0):
    """Return the classes that each run predicts, and the labels; runs err independently."""
    labels = np.random.default_rng(seed).integers(0, 2, n_examples)
    wrong = np.random.default_rng(noise).random((n_runs, n_examples)) < flips
    return np.where(wrong, 1 - labels, labels), labels


def write_table(path, **options):
    """Write predictions as a long CSV file."""
    classes, labels = predictions(**options)
    runs, examples = np.divmod(np.arange(classes.size), classes.shape[1])
    columns = {"run": runs, "example": examples, "label": labels[examples]}
    table = pa.table({**columns, "prediction": classes[runs, examples]})
    pa.csv.write_csv(table, path)
    return path


def write_store(path, *, arms=("none",), torch="2.12.0", mixed=False, **options):
    """Write predictions as a store whose runs record their environment."""
    classes, labels = predictions(**options)
    layout = Layout(Kind.LABELS, ("0", "1"))
    place = Location.of(path)
    StudyManifest("a study", rows_per_group=layout.rows_per_group).write(place)
    for arm in arms:
        for index, of_run in enumerate(classes):
            version = "2.99.0" if mixed and index == 0 else torch
            facts = {"versions": {"torch": version}, "hardware": {"machine": "x86_64", "gpus": []}}
            run = RunManifest(
                f"{arm}{index}", str(index), arm=arm, seeds={"init": index}, facts=facts
            )
            with RunWriter(place, run, layout, rows_per_group=layout.rows_per_group) as writer:
                writer.write(pa.array(np.arange(len(labels))), labels, of_run)
    return path


@pytest.fixture
def table(tmp_path):
    """About 9.5 % of the predictions flip, and accuracy is about 95 %."""
    return write_table(tmp_path / "table.csv")


def validate(path):
    """Validate against our schema, and against a further one if it is named."""
    schemas = [SCHEMA, *filter(None, [os.environ.get(FURTHER_SCHEMA)])]
    for schema in schemas:
        xmlschema.XMLSchema(str(schema)).validate(str(path))


# ---------------------------------------------------------------------------- the three outcomes


@pytest.mark.parametrize(
    ("outcome", "rules"),
    [
        ("pass", ["--max", "flip_rate=0.2", "--min", "accuracy=0.9"]),
        ("fail", ["--max", "flip_rate=0.2", "--min", "accuracy=0.99", "--max", "ambiguity=0.4"]),
        ("investigate", ["--max", "flip_rate=0.095", "--min", "accuracy=0.9"]),
    ],
)
def test_each_outcome_ends_with_its_exit_code_and_valid_files(outcome, rules, table, seedproof):
    """Terminal, JUnit, Markdown and JSON agree."""
    files = ["--junit", "out/gate.xml", "--markdown", "out/gate.md"]

    code, out, err = seedproof("gate", table, *rules, *files)

    assert (code, err) == (EXIT_CODES[outcome], "")
    assert max(map(len, out.splitlines())) <= 80
    validate("out/gate.xml")
    n_failures = ET.parse("out/gate.xml").getroot().get("failures")  # noqa: S314 - our own
    assert (n_failures == "0") == (outcome == "pass")
    markdown = Path("out/gate.md").read_text(encoding="utf-8")
    assert out.splitlines()[0] in markdown
    assert shlex.join(["seedproof", "gate", str(table), *rules, *files]) in markdown.splitlines()
    code, out, err = seedproof("gate", table, *rules, "--json")
    assert (code, err) == (EXIT_CODES[outcome], "")
    content = json.loads(out)
    assert (content["outcome"], content["exit_code"]) == (outcome, code)


def test_process_ends_with_the_exit_code(table):
    """As a CI system sees it."""
    start = "from seedproof.cli.main import main; main()"
    for outcome, limit in (("pass", 0.2), ("fail", 0.01), ("investigate", 0.095)):
        words = [sys.executable, "-c", start, "gate", str(table), "--max", f"flip_rate={limit}"]

        done = subprocess.run(words, capture_output=True, text=True, check=False)

        assert (done.returncode, done.stderr) == (EXIT_CODES[outcome], "")


def test_schema_refuses_invalid_files(table, seedproof):
    """An error inside a test case, and two cases of one name."""
    seedproof("gate", table, "--max", "flip_rate=0.01", "--junit", "gate.xml")
    text = Path("gate.xml").read_text(encoding="utf-8")
    schema = xmlschema.XMLSchema(str(SCHEMA))

    schema.validate(text)
    case = text[text.index("    <testcase") : text.index("  </testsuite>")]
    for damaged in (
        text.replace("<failure ", "<error ").replace("</failure>", "</error>"),
        text.replace(case, case + case),
    ):
        assert damaged != text
        assert not schema.is_valid(damaged)


def test_hostile_file_names_are_quoted(seedproof, tmp_path):
    """They occur in the code block of the command only."""
    name = "a|b`c`<img src=x> ```.csv"
    write_table(tmp_path / name)

    code, _, err = seedproof(
        "gate", name, "--max", "flip_rate=0.2", "--junit", "g.xml", "--markdown", "g.md"
    )

    assert (code, err) == (0, "")
    validate("g.xml")
    before, fence, after = Path("g.md").read_text(encoding="utf-8").partition("````sh\n")
    assert fence
    assert "<img" not in before
    assert after.count("````") == 1


# -------------------------------------------------------------------------- what can be a target


def test_report_folder_is_judged_like_its_table(table, seedproof):
    """With the same output, if the number of runs was declared."""
    rules = ["--max", "flip_rate=0.2", "--declared-runs", str(N_RUNS)]
    seedproof("measure", table, "--out", "report")

    assert seedproof("gate", "report", *rules) == seedproof("gate", table, *rules)


def test_store_is_judged_by_arm_and_split(seedproof, refused, tmp_path):
    """A store with two arms needs the option."""
    write_store(tmp_path / "runs", arms=("none", "aswa"))

    error = refused("gate", "runs", "--max", "flip_rate=0.2")
    assert (error.code, error.fields["option"]) == ("SP115", "--arm")
    assert set(error.fields["known"]) == {"none", "aswa"}
    assert seedproof("gate", "runs", "--max", "flip_rate=0.2", "--arm", "aswa")[0] == 0


def test_several_tables_are_one_target(seedproof, tmp_path):
    """One file per run, as with measure."""
    classes, labels = predictions(n_runs=5)
    for index, of_run in enumerate(classes):
        columns = {"example": np.arange(len(labels)), "label": labels, "prediction": of_run}
        pa.csv.write_csv(pa.table(columns), tmp_path / f"seed-{index}.csv")

    names = [f"seed-{index}.csv" for index in range(5)]
    code, out, _ = seedproof("gate", *names, "--max", "flip_rate=0.5", "--json")

    assert code == 0
    assert json.loads(out)["n_runs"] == 5


def test_two_runs_are_never_enough(seedproof, tmp_path):
    """Another pair may differ, however wide the limit."""
    write_table(tmp_path / "two.csv", n_runs=2)

    code, out, _ = seedproof("gate", "two.csv", "--max", "flip_rate=0.9", "--json")

    assert code == 3
    (verdict,) = json.loads(out)["rules"]
    assert (verdict["outcome"], verdict["reason"]) == ("investigate", "too few runs")
    assert verdict["found"]["over"] == "examples"
    assert verdict["more_runs"] == 3


def test_options_without_effect_are_refused(table, seedproof, refused):
    """An arm of a table, a column of a report, a baseline without a rule."""
    seedproof("measure", table, "--out", "report")
    rule = ("--max", "flip_rate=0.2")
    for target, superfluous, fields in (
        (table, ("--arm", "none"), {"option": "arm", "kinds": ("table",)}),
        (table, ("--baseline-arm", "none"), {"keyword": "baseline_arm"}),
        ("report", ("--run", "seed"), {"option": "columns", "kinds": ("report",)}),
        (table, ("--baseline", "report"), {"keyword": "no_worse"}),
        (table, ("--no-worse", "flip_rate"), {"keyword": "baseline"}),
    ):
        assert seedproof("gate", target, *rule)[0] == 0
        error = refused("gate", target, *rule, *superfluous)
        assert error.code == "SP115"
        assert WithFields(**fields)(error), (superfluous, error.fields)


# --------------------------------------------------------------------------- against a baseline


@pytest.mark.parametrize("case", [(0.01, "", 0), (0.2, "", 1), (0.05, "=0.02", 3)])
@pytest.mark.parametrize("kind", ["table", "store", "report"])
def test_no_worse_has_all_three_outcomes(kind, case, seedproof, tmp_path):
    """A fifth of the flips, four times as many, and equally many, against 5 % errors per run."""
    flips, margin, code = case
    new, old = tmp_path / "new", tmp_path / "old"
    if kind == "store":
        write_store(new, flips=flips, noise=1)
        write_store(old)
    else:
        write_table(new.with_suffix(".csv"), flips=flips, noise=1)
        write_table(old.with_suffix(".csv"))
        new, old = new.with_suffix(".csv"), old.with_suffix(".csv")
    if kind == "report":
        seedproof("measure", old, "--out", "baseline")
        old = "baseline"

    words = ("gate", new, "--baseline", old, "--no-worse", f"flip_rate{margin}")
    result, out, err = seedproof(*words, "--junit", "gate.xml", "--json")

    assert (result, err) == (code, "")
    (verdict,) = json.loads(out)["rules"]
    assert verdict["rule"] == {
        "kind": "no-worse", "metric": "flip_rate", "limit": 0.02 if margin else 0.1,
    }  # fmt: skip
    validate("gate.xml")


def test_records_are_paired_and_reports_are_not(seedproof, tmp_path):
    """The interval of two stores of the same seeds is narrower than that of their reports."""
    for name, flips in (("new", 0.045), ("old", 0.05)):
        write_store(tmp_path / name, flips=flips)
        seedproof("measure", name, "--out", f"report-{name}")

    widths = []
    for prefix in ("", "report-"):
        words = ("--baseline", f"{prefix}old", "--no-worse", "flip_rate", "--json")
        effect = json.loads(seedproof("gate", f"{prefix}new", *words)[1])["rules"][0]["effect"]
        widths.append(effect["high"] / effect["low"])

    assert widths[0] < widths[1]


def test_other_examples_or_labels_cannot_be_compared(seedproof, refused, tmp_path):
    """Neither records nor reports, with any option."""
    write_table(tmp_path / "new.csv")
    write_table(tmp_path / "fewer.csv", n_examples=N_EXAMPLES - 1)
    write_table(tmp_path / "relabeled.csv", seed=1)
    for name in ("fewer", "relabeled"):
        seedproof("measure", f"{name}.csv", "--out", name)
        for baseline in (f"{name}.csv", name):
            error = refused(
                "gate", "new.csv", "--baseline", baseline, "--no-worse", "flip_rate",
                "--allow-different-environments",
            )  # fmt: skip

            assert error.code in {"SP107", "SP108"}


def test_arms_of_one_store_can_be_compared(seedproof, tmp_path):
    """The target's arm and the baseline's; equal arms must be allowed."""
    write_store(tmp_path / "runs", arms=("none", "aswa"))
    arms = ("--arm", "aswa", "--baseline", "runs", "--baseline-arm", "none")
    words = ("gate", "runs", *arms, "--no-worse", "flip_rate", "--json")

    code, out, _ = seedproof(*words)
    allowed_code, _, _ = seedproof(*words, "--allow", "identical-arms")

    assert (code, allowed_code) == (3, 0)
    assert [check["name"] for check in json.loads(out)["checks"]] == ["identical-arms"]
    effect = json.loads(out)["rules"][0]["effect"]
    # The same predictions under the same seeds.
    assert (effect["scale"], effect["value"]) == ("ratio", 1.0)
    assert (effect["low"], effect["high"]) == pytest.approx((1.0, 1.0))


def test_target_cannot_be_its_own_baseline(table, seedproof, refused, tmp_path):
    """A forgotten --baseline-arm, and the same file, report or files under another name."""
    write_store(tmp_path / "runs", arms=("none", "aswa"))
    write_store(tmp_path / "alone")
    seedproof("measure", table, "--out", "report")
    Path("link.csv").symlink_to(table)
    for is_store, *words in (
        (True, "runs", "--arm", "aswa", "--baseline", "runs"),
        (True, "runs", "--arm", "aswa", "--baseline", "./runs/", "--baseline-arm", "aswa"),
        (True, "runs", "--baseline", "runs"),
        (True, "alone", "--baseline", "alone", "--baseline-arm", "none"),
        (False, table, "--baseline", table),
        (False, table, "--baseline", "link.csv"),
        (False, "report", "--baseline", tmp_path / "report"),
    ):
        error = refused("gate", *words, "--no-worse", "flip_rate")

        assert error.code == "SP115"
        assert error.fields["keyword"] == ("baseline_arm" if is_store else "baseline")


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
@pytest.mark.parametrize("place", ["folder", "table.csv/gate.out"])
def test_path_that_cannot_be_written_is_refused(option, place, table, refused):
    """A folder, and a file in place of a folder; before anything is judged."""
    Path("folder").mkdir()
    before = table.read_bytes()

    error = refused("gate", table, "--max", "flip_rate=0.2", option, place)

    assert error.code == "SP115"
    assert (error.fields["option"], error.fields["path"]) == (option, place)
    assert table.read_bytes() == before


# --------------------------------------------------------------------------------- environments


def test_versions_that_differ_from_the_baseline_are_refused(seedproof, refused, tmp_path):
    """The error names them; if allowed, every output has a note."""
    write_store(tmp_path / "new", flips=0.01, torch="2.13.0")
    write_store(tmp_path / "old")
    words = ("gate", "new", "--baseline", "old", "--no-worse", "flip_rate")

    error = refused(*words)

    assert error.code == "SP601"
    assert "torch 2.12.0 v 2.13.0" in str(error.fields["differences"])
    files = ("--junit", "gate.xml", "--markdown", "gate.md", "--allow-different-environments")
    code, out, err = seedproof(*words, *files)
    assert (code, err) == (0, "")
    validate("gate.xml")
    as_json = seedproof(*words, *files, "--json")[1]
    written = [Path(name).read_text(encoding="utf-8") for name in ("gate.xml", "gate.md")]
    for text in (" ".join(out.split()), as_json, *written):
        assert "torch 2.12.0 v 2.13.0" in text


def test_runs_of_different_environments_are_refused_without_a_baseline(
    seedproof, refused, tmp_path
):
    """They are judged together."""
    write_store(tmp_path / "runs", mixed=True)

    error = refused("gate", "runs", "--max", "flip_rate=0.2")

    assert error.code == "SP601"
    assert {"2.12.0", "2.99.0"} <= set(str(error.fields["differences"]).split())
    allowed = ("--max", "flip_rate=0.2", "--allow-different-environments")
    assert seedproof("gate", "runs", *allowed)[0] == 0


def test_tables_have_no_environment(table, seedproof, tmp_path):
    """A table against a store has no differences."""
    write_store(tmp_path / "old")

    words = ("--baseline", "old", "--no-worse", "flip_rate", "--json")
    code, out, _ = seedproof("gate", table, *words)

    assert code in EXIT_CODES.values()
    assert json.loads(out)["notes"] == []


# ------------------------------------------------------------------------------ rules from a file


@pytest.mark.parametrize(
    ("name", "head"),
    [("pyproject.toml", "[tool.seedproof.gate]"), ("seedproof.toml", "[gate]")],
)
def test_rules_are_read_from_the_project_file(name, head, table, seedproof):
    """The command line adds to them and overrides them."""
    Path(name).write_text(
        f"{head}\nmax = {{flip_rate = 0.01, ambiguity = 0.9}}\nmin = {{accuracy = 0.9}}\n",
        encoding="utf-8",
    )

    assert seedproof("gate", table)[0] == 1
    words = ("--max", "flip_rate=0.2", "--max", "accuracy_sd=0.5", "--json")
    code, out, _ = seedproof("gate", table, *words)

    assert code == 0
    rules = {
        verdict["rule"]["metric"]: verdict["rule"]["limit"] for verdict in json.loads(out)["rules"]
    }
    assert rules == {"flip_rate": 0.2, "ambiguity": 0.9, "accuracy": 0.9, "accuracy_sd": 0.5}


def test_margins_are_read_from_a_list_or_a_table(table, seedproof, tmp_path):
    """A list has default margins."""
    write_table(tmp_path / "old.csv", noise=1)
    for text, margin in (('["flip_rate"]', 0.1), ("{flip_rate = 3}", 3.0)):
        Path("rules.toml").write_text(f"[gate]\nno-worse = {text}\n", encoding="utf-8")

        words = ("--baseline", "old.csv", "--config", "rules.toml", "--json")
        (verdict,) = json.loads(seedproof("gate", table, *words)[1])["rules"]

        assert verdict["rule"]["limit"] == margin


def test_seedproof_toml_overrides_pyproject(table, seedproof):
    """If it has rules."""
    Path("pyproject.toml").write_text(
        "[tool.seedproof.gate]\nmax = {flip_rate = 0.01}\n", encoding="utf-8"
    )
    Path("seedproof.toml").write_text("[other]\n", encoding="utf-8")
    assert seedproof("gate", table)[0] == 1

    Path("seedproof.toml").write_text("[gate]\nmax = {flip_rate = 0.5}\n", encoding="utf-8")
    assert seedproof("gate", table)[0] == 0


@pytest.mark.parametrize(
    ("content", "code", "fields"),
    [
        (
            "[gate]\nmaximum = {flip_rate = 0.1}\n",
            "SP115",
            {"key": "maximum", "known": ("max", "min", "no-worse", "allow")},
        ),
        ("[gate]\nmax = 0.1\n", "SP115", {"key": "max", "table": "[gate]"}),
        (
            "[gate]\nmax = {flip_rate = true}\n",
            "SP115",
            {"key": "max", "metric": "flip_rate", "limit": True},
        ),
        (
            "[gate]\nmax = {flip_rate = '5 %'}\n",
            "SP115",
            {"key": "max", "metric": "flip_rate", "limit": "5 %"},
        ),
        ("[gate]\nmax = {flips = 0.1}\n", "SP301", {"metric": "flips"}),
        ("[gate]\nno-worse = 3\n", "SP115", {"key": "no-worse", "path": "rules.toml"}),
        ("gate = 3\n", "SP115", {"table": "[gate]", "path": "rules.toml"}),
        ("[other]\n", "SP115", {"config": "rules.toml"}),
        ("[gate\n", "SP102", {"path": "rules.toml"}),
        ("", "SP115", {"config": "rules.toml"}),
    ],
    ids=[
        "key", "number", "boolean", "text", "metric", "margins", "no-table", "other-table",
        "no-toml", "empty",
    ],
)  # fmt: skip
def test_mistakes_in_a_file_are_named(content, code, fields, table, refused):
    """By the error's code and fields."""
    Path("rules.toml").write_text(content, encoding="utf-8")

    error = refused("gate", table, "--config", "rules.toml")

    assert error.code == code
    assert WithFields(**fields)(error), error.fields


@pytest.mark.parametrize(
    ("words", "code", "fields"),
    [
        ([], "SP115", {}),
        (["--max", "flip_rate"], "SP115", {"option": "--max", "metric": "flip_rate"}),
        (["--max", "flip_rate=five"], "SP115", {"metric": "flip_rate", "limit": "five"}),
        (["--max", "flip_rate=5"], "SP115", {"metric": "flip_rate", "limit": 5.0}),
        (
            ["--max", "flip_rate=0.1", "--max", "flip_rate=0.2"],
            "SP115",
            {"option": "--max", "metric": "flip_rate"},
        ),
        (["--max", "flips=0.1"], "SP301", {"metric": "flips"}),
        (["--max", "accuracy=0.5"], "SP115", {"metric": "accuracy", "meant": "min"}),
        (["--min", "flip_rate=0.5"], "SP115", {"metric": "flip_rate", "meant": "max"}),
        (
            ["--max", "ece_corrected=0.1"],
            "SP115",
            {"metric": "ece_corrected", "needs": {"labels", "confidence"}},
        ),
        (["--max", "ece=0.1"], "SP115", {"metric": "ece", "remedy": "ece_corrected"}),
        (["--no-worse", "ece"], "SP115", {"metric": "ece", "remedy": "ece_corrected"}),
        (["--config", "none.toml"], "SP101", {"config": "none.toml"}),
    ],
    ids=[
        "no-rule", "no-limit", "no-number", "percent", "twice", "metric", "max", "min",
        "not-measured", "plain-ece", "no-worse-plain-ece", "no-file",
    ],
)  # fmt: skip
def test_mistakes_on_the_command_line_are_named(words, code, fields, table, refused):
    """By the error's code and fields."""
    error = refused("gate", table, *words)

    assert error.code == code
    assert WithFields(**fields)(error), error.fields


# ---------------------------------------------------------------------------------------- Python


def test_a_report_is_judged_in_python():
    """Without a file."""
    classes, labels = predictions()
    report = sp.measure(classes, labels=labels)

    result = gate(report, max={"flip_rate": 0.2}, min={"accuracy": 0.9})

    assert (result.outcome, result.exit_code) == ("pass", 0)
    assert [verdict.outcome for verdict in result.rules] == ["pass", "pass"]
    before = sp.measure(predictions(noise=1)[0], labels=labels)
    assert gate(report, no_worse=["flip_rate"], baseline=before).outcome == "investigate"


@pytest.mark.parametrize("target", ["a report", "arrays"])
def test_object_in_memory_cannot_be_its_own_baseline(target):
    """Equal arrays may be of two trainings, but not the same object."""
    classes, labels = predictions()
    given = classes if target == "arrays" else sp.measure(classes, labels=labels)

    with pytest.raises(OptionError):
        gate(given, no_worse=["flip_rate"], baseline=given)


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"max": {"flip_rate": "x"}}, {"limit": "x", "metric": "flip_rate", "keyword": "max"}),
        ({"max": 0.2}, {"keyword": "max", "type_name": "float"}),
        ({"min": 0}, {"keyword": "min", "type_name": "int"}),
        ({"no_worse": "flip_rate"}, {"keyword": "no_worse"}),
        ({"no_worse": 3}, {"keyword": "no_worse"}),
        ({"no_worse": [["flip_rate"]]}, {"keyword": "no_worse"}),
        ({"no_worse": ["flip_rate"]}, {"keyword": "baseline"}),
        ({"max": {"flip_rate": 0.2}, "arm": "none"}, {"option": "arm", "kinds": ("table",)}),
        ({"max": {"flip_rate": 0.2}, "baseline_arm": "none"}, {"keyword": "baseline_arm"}),
        ({}, {}),
    ],
    ids=[
        "limit", "max", "min", "text", "number", "lists", "no-baseline", "arm", "baseline-arm",
        "no-rule",
    ],
)  # fmt: skip
def test_mistakes_in_python_name_the_keyword(options, fields, table):
    """As a field of the error, which has one line."""
    with pytest.raises(OptionError, check=WithFields(**fields)) as caught:
        gate(table, **options)

    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------------------ checks of the input

CHECK = {"severity": "error", "runs": ["0"], "message": "Odd.", "remedy": "Look.", "arm": None}
COPIES, STUCK = ({**CHECK, "name": name} for name in ("duplicate-runs", "constant-run"))


def save_report(seedproof, folder, checks, **options):
    """Write a report folder whose summary has these checks."""
    write_table(Path(f"{folder}.csv"), **options)
    seedproof("measure", f"{folder}.csv", "--out", folder)
    path = Path(folder) / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(summary | {"checks": checks}), encoding="utf-8")


@pytest.mark.parametrize("limit", [0.2, 0.01])
def test_error_in_a_saved_report_keeps_the_gate_from_judging(limit, seedproof):
    """It neither passes nor fails, and every file says why."""
    save_report(seedproof, "report", [COPIES])
    files = ["--junit", "gate.xml", "--markdown", "gate.md"]

    code, out, err = seedproof("gate", "report", "--max", f"flip_rate={limit}", *files)

    assert (code, err) == (3, "")
    assert out.split("\n\n")[1].split()[:2] == ["error", "duplicate-runs"]
    validate("gate.xml")
    cases = ET.parse("gate.xml").iter("testcase")  # noqa: S314 - our own
    assert "check.duplicate-runs" in [case.get("name") for case in cases]
    assert "`duplicate-runs`" in Path("gate.md").read_text(encoding="utf-8")
    content = json.loads(seedproof("gate", "report", "--max", f"flip_rate={limit}", "--json")[1])
    assert (content["outcome"], content["exit_code"]) == ("investigate", 3)
    assert content["checks"] == [COPIES]


def test_allowed_errors_are_recorded_and_the_rules_judged(seedproof):
    """By options, which may be repeated, and by a file."""
    save_report(seedproof, "report", [COPIES, STUCK])
    rule = ("gate", "report", "--max", "flip_rate=0.2", "--junit", "gate.xml")
    each = ["--allow", "duplicate-runs", "--allow", "constant-run"]

    assert seedproof(*rule, *each[:2])[0] == 3
    assert seedproof(*rule, *each)[0] == 0
    validate("gate.xml")
    Path("seedproof.toml").write_text('[gate]\nallow = ["constant-run"]\n', encoding="utf-8")
    assert seedproof(*rule)[0] == 3
    code, out, _ = seedproof(*rule, *each[:2], "--json")
    assert (code, json.loads(out)["allowed"]) == (0, ["constant-run", "duplicate-runs"])
    assert seedproof(*rule[:3], "flip_rate=0.01", *each[:2])[0] == 1


def test_error_in_the_baseline_counts(table, seedproof):
    save_report(seedproof, "old", [COPIES], noise=1)
    words = ("gate", table, "--baseline", "old", "--no-worse", "flip_rate=3")

    code, out, _ = seedproof(*words, "--json")

    assert code == 3
    assert {check["arm"] for check in json.loads(out)["checks"]} == {"baseline"}
    assert seedproof(*words, "--allow", "duplicate-runs")[0] == 0


def test_only_known_checks_can_be_allowed(table, refused):
    """In options, in a file and in Python."""
    rule = ("gate", table, "--max", "flip_rate=0.2")

    error = refused(*rule, "--allow", "duplicate-run")
    assert (error.code, error.fields["known"][0]) == ("SP301", "duplicate-runs")
    for text, code in (('["copies"]', "SP301"), ('"few-runs"', "SP115"), ("[1]", "SP115")):
        Path("seedproof.toml").write_text(f"[gate]\nallow = {text}\n", encoding="utf-8")
        assert refused(*rule).code == code
    with pytest.raises(UnknownNameError, check=WithFields(check="copies")):
        gate(predictions()[0], max={"flip_rate": 0.2}, allow=["copies"])


def test_checks_of_a_report_in_memory_count():
    report = sp.measure(predictions()[0])
    checks = (sp.Check("duplicate-runs", "error", ("0",), "Odd.", "Look."),)
    doubtful = sp.Report(replace(report.measurement, checks=checks))

    verdict = gate(doubtful, max={"flip_rate": 0.2})

    assert (verdict.outcome, bool(verdict), verdict.checks) == ("investigate", False, checks)
    assert gate(doubtful, max={"flip_rate": 0.2}, allow=("duplicate-runs",)).allowed == (
        "duplicate-runs",
    )
