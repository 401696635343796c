"""One number per run, without examples: from the command inward."""

import json
import math
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import seedproof as sp
from seedproof.errors import (
    ColumnError,
    DtypeError,
    DuplicateExampleError,
    MissingValueError,
    OptionError,
    TooFewRunsError,
    UnknownNameError,
)
from seedproof.testing.errors import WithFields

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "scalars.py"
MEANS = {"ppo": 200.0, "sac": 240.0, "td3": 202.0}
N_RUNS = 10


def returns(arm: str, *, n_runs: int = N_RUNS) -> list[float]:
    """Return one number per run; runs of one seed share half of their variance."""
    shared = np.random.default_rng(0).normal(size=N_RUNS)
    own = np.random.default_rng(list(arm.encode())).normal(size=N_RUNS)
    return [MEANS[arm] + 10 * x for x in (shared + own)[:n_runs]]


@pytest.fixture
def rows() -> list[dict]:
    """Return a row per run of three arms, the last seed first."""
    return [
        {"arm": arm, "seed": seed, "return": value, "loss": 1 / value, "host": f"gpu{seed % 2}"}
        for arm in MEANS
        for seed, value in reversed(list(enumerate(returns(arm))))
    ]


@pytest.fixture
def table(tmp_path, rows) -> Path:
    """Return the rows as CSV."""
    path = tmp_path / "runs.csv"
    write_csv(path, rows)
    return path


def write_csv(path: Path, rows: list[dict]) -> None:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def printed(seedproof, *arguments) -> dict:
    code, out, err = seedproof(*arguments, "--json")
    assert code in {0, 1, 3}, err
    return json.loads(out)


def test_measure_gives_mean_and_spread_of_each_arm_and_metric(seedproof, table):
    summary = printed(seedproof, "measure", table)

    arms = {arm["name"]: arm for arm in summary["arms"]}
    assert list(arms) == list(MEANS)
    assert summary["metrics"] == ["return", "loss"]
    assert arms["sac"]["runs"] == [str(seed) for seed in range(N_RUNS)]
    for arm in MEANS:
        values = returns(arm)
        mean = math.fsum(values) / N_RUNS
        sd = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / (N_RUNS - 1))
        figures = arms[arm]["metrics"]
        assert figures["return"]["value"] == pytest.approx(mean)
        assert figures["return_sd"]["value"] == pytest.approx(sd)
        # Student's quantile for nine degrees of freedom, from a printed table.
        half_width = 2.262157 * sd / math.sqrt(N_RUNS)
        assert figures["return"]["low"] == pytest.approx(mean - half_width)
        assert figures["return"]["high"] == pytest.approx(mean + half_width)
        assert figures["return"]["over"] == "runs"
        assert figures["return_sd"]["low"] < sd < figures["return_sd"]["high"]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "frame"])
def test_every_kind_of_table_gives_the_same_numbers(tmp_path, rows, table, form):
    if form == "csv":
        target = table
    elif form == "jsonl":
        target = tmp_path / "runs.jsonl"
        target.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        target = pa.Table.from_pylist(rows)
        if form == "parquet":
            pq.write_table(target, tmp_path / "runs.parquet")
            target = tmp_path / "runs.parquet"

    report = sp.measure_scalars(target)

    assert {arm: report[arm]["return"].value for arm in report} == {
        arm: pytest.approx(np.mean(returns(arm))) for arm in MEANS
    }


def test_a_table_per_arm_is_compared_like_a_column_of_arms(seedproof, tmp_path, rows, table):
    paths = []
    for arm in MEANS:
        own = [{k: x for k, x in row.items() if k != "arm"} for row in rows if row["arm"] == arm]
        paths.append(tmp_path / f"{arm}.csv")
        write_csv(paths[-1], [{k: x for k, x in row.items() if k != "host"} for row in own])

    together = printed(seedproof, "compare", table)
    apart = printed(seedproof, "compare", *paths)

    assert apart["pairs"] == together["pairs"]


def test_arms_with_the_same_seeds_are_paired(seedproof, table, tmp_path, rows):
    summary = printed(seedproof, "compare", table, "--primary", "return", "--metrics", "return")
    effects = {pair["arm"]: pair["effects"]["return"] for pair in summary["pairs"]}

    assert all(pair["is_paired"] for pair in summary["pairs"])
    assert effects["sac"]["verdict"] == "better"
    assert effects["td3"]["verdict"] == "no difference shown"
    # The sd of the differences of pairs, and the level that two arms share.
    differences = np.subtract(returns("sac"), returns("ppo"))
    assert effects["sac"]["value"] == pytest.approx(differences.mean())
    error = differences.std(ddof=1) / math.sqrt(N_RUNS)
    half_width = (effects["sac"]["high"] - effects["sac"]["low"]) / 2
    assert 2.262 * error < half_width < 2.7 * error

    for row in rows:
        row["seed"] += 100 if row["arm"] == "sac" else 0
    write_csv(tmp_path / "other.csv", rows)
    unpaired = printed(seedproof, "compare", tmp_path / "other.csv")
    assert {pair["arm"]: pair["is_paired"] for pair in unpaired["pairs"]} == {
        "sac": False,
        "td3": True,
    }


def test_names_of_runs_pair_arms_only_on_request(seedproof, tmp_path, rows):
    named = [{"run": row.pop("seed"), **row} for row in rows]
    write_csv(tmp_path / "runs.csv", named)

    plain = printed(seedproof, "compare", tmp_path / "runs.csv")
    paired = printed(seedproof, "compare", tmp_path / "runs.csv", "--paired")

    assert not any(pair["is_paired"] for pair in plain["pairs"])
    assert all(pair["is_paired"] for pair in paired["pairs"])


def test_direction_is_that_of_the_name_unless_it_is_given(seedproof, table):
    by_name = printed(seedproof, "compare", table, "--primary", "loss")
    given = printed(seedproof, "compare", table, "--primary", "loss", "--lower", "return")

    assert by_name["better"] == {"return": "higher", "loss": "lower"}
    assert by_name["pairs"][0]["effects"]["loss"]["verdict"] == "better"
    assert given["better"] == {"return": "lower", "loss": "higher"}
    assert given["pairs"][0]["effects"]["loss"]["verdict"] == "worse"


def test_baseline_margin_and_all_pairs(seedproof, table):
    summary = printed(
        *(seedproof, "compare", table, "--baseline", "td3", "--all-pairs"),
        *("--margin", "return=60", "--metrics", "return"),
    )

    pairs = {(pair["arm"], pair["against"]): pair["effects"]["return"] for pair in summary["pairs"]}
    assert list(pairs) == [("ppo", "td3"), ("sac", "td3"), ("sac", "ppo")]
    assert pairs["ppo", "td3"]["verdict"] == "equivalent"
    assert pairs["sac", "td3"]["verdict"] == "better"


def test_growing_comparisons_are_judged_at_looks(seedproof, tmp_path, rows):
    fewer = [row for row in rows if row["seed"] < 8]
    write_csv(tmp_path / "runs.csv", fewer)

    fixed = printed(seedproof, "compare", tmp_path / "runs.csv")
    looks = printed(seedproof, "compare", tmp_path / "runs.csv", "--sequential")
    declared = printed(seedproof, "compare", tmp_path / "runs.csv", "--declared-runs", "5")

    assert (fixed["runs"]["n_runs"], looks["runs"]["n_runs"]) == (8, 5)
    assert looks["arms"][0]["runs"] == ["0", "1", "2", "3", "4"]
    assert looks["confidence"] > fixed["confidence"]
    assert declared["runs"]["n_runs"] == 5
    assert declared["confidence"] == fixed["confidence"]


@pytest.mark.parametrize(
    ("rules", "exit_code"),
    [
        (["--min", "return=180"], 0),
        (["--min", "return=240"], 1),
        (["--min", "return=200"], 3),
        (["--max", "return_sd=100"], 0),
        (["--no-worse", "return=60", "--baseline", "sac"], 0),
        (["--no-worse", "return=1", "--baseline", "sac"], 1),
        (["--no-worse", "loss=0.01", "--baseline", "sac"], 0),
        (["--no-worse", "loss=0", "--baseline", "sac"], 1),
        (["--no-worse", "loss_sd", "--baseline", "sac"], 3),
    ],
)
def test_gate_judges_limits_and_baselines(seedproof, table, rules, exit_code):
    code, _, err = seedproof("gate", table, "--arm", "ppo", *rules, "--declared-runs", "10")

    assert code == exit_code, err


def test_gate_compares_with_another_table(seedproof, tmp_path, table, rows):
    write_csv(tmp_path / "new.csv", [row for row in rows if row["arm"] == "sac"])
    rule = ["--no-worse", "return=5", "--baseline", table]

    passed, _, _ = seedproof("gate", tmp_path / "new.csv", *rule, "--baseline-arm", "ppo")
    ambiguous, _, _ = seedproof("gate", tmp_path / "new.csv", *rule)

    assert (passed, ambiguous) == (0, 2)
    assert isinstance(seedproof.error, OptionError)
    assert seedproof.error.fields["arms"] == tuple(MEANS)


def test_gate_allows_limits_below_0_and_above_1():
    table = pa.table({"seed": range(5), "accuracy": [91.2, 91.4, 91.1, 91.5, 91.3]})
    losses = pa.table({"seed": range(5), "elbo": [-3.1, -3.3, -3.2, -3.0, -3.25]})

    assert sp.gate(table, min={"accuracy": 90.0}, declared_runs=5).outcome == "pass"
    assert sp.gate(losses, max={"elbo": -2.0}, declared_runs=5).outcome == "pass"
    assert sp.gate(losses, max={"elbo": -4.0}, declared_runs=5).outcome == "fail"


def test_copies_of_a_run_keep_the_gate_from_judging(rows):
    copies = [{**row, "seed": seed} for seed in range(5) for row in rows[:1]]

    report = sp.gate(pa.Table.from_pylist(copies), min={"return": 1.0}, declared_runs=5)

    assert report.outcome == "investigate"
    assert [check.name for check in report.checks] == ["duplicate-runs"]


def test_plan_uses_the_spread_of_a_pilot(seedproof, table):
    options = ["--pilot", table, "--arm", "ppo", "--metric", "return", "--detect", "20"]

    summary = printed(seedproof, "plan", *options)

    assert summary["sd"] == pytest.approx(np.std(returns("ppo"), ddof=1))
    expected = sp.plan(sd=summary["sd"], detect=20.0).answers[0].n_seeds
    assert summary["answers"][0]["n_seeds"] == expected
    assert {reach["kind"] for reach in summary["reaches"]} == {"mean", "sd"}


def test_scalars_of_a_store_are_measured_and_judged(seedproof, tmp_path):
    def train(run: sp.Run) -> None:
        run.log_scalar("return", {"none": 1.0, "ours": 9.0}[run.arm] + run.rng("init").normal())
        run.log_predictions("test", predictions=[0, 1, 1, 0])

    store = tmp_path / "runs"
    sp.Study("scalars", train, seeds=5, arms=["none", "ours"], store=store).run(engine="serial")

    measured = printed(seedproof, "measure", store, "--metrics", "return")
    compared = printed(seedproof, "compare", store, "--primary", "return")
    code, _, _ = seedproof("gate", store, "--arm", "ours", "--min", "return=5")

    assert [arm["name"] for arm in measured["arms"]] == ["none", "ours"]
    assert compared["pairs"][0]["is_paired"]
    assert compared["pairs"][0]["effects"]["return"]["verdict"] == "better"
    assert code == 0
    assert sp.measure_scalars(store)["ours"]["return"].value > 5


def test_store_with_scalars_alone_says_how_to_name_them(seedproof, tmp_path):
    def train(run: sp.Run) -> None:
        run.log_scalar("loss", {"none": 1.0, "ours": 0.1}[run.arm] + run.rng("init").random())

    store = tmp_path / "runs"
    sp.Study("scalars", train, seeds=5, arms=["none", "ours"], store=store).run(engine="serial")

    codes = [seedproof(verb, store)[0] for verb in ("measure", "compare")]
    assert codes == [2, 2]
    assert seedproof.error.fields["scalars"] == ("loss",)

    compared = printed(seedproof, "compare", store, "--metrics", "loss")

    assert compared["primary"] == "loss"


def test_margin_of_a_metric_of_any_size_must_be_given(seedproof, table):
    gate = ("gate", table, "--arm", "ppo", "--baseline", "sac", "--declared-runs", "10")

    code, _, _ = seedproof(*gate, "--no-worse", "loss")
    assert (code, seedproof.error.fields["metric"]) == (2, "loss")

    report = sp.gate(table, arm="ppo", baseline="sac", no_worse={"loss": 0.1}, declared_runs=10)
    named = sp.gate(
        table, arm="ppo", baseline="sac", no_worse={"loss": 0.1}, lower=["loss"], declared_runs=10
    )

    assert [note.code for note in report.result.notes] == ["assumed-direction"]
    assert named.result.notes == ()


def test_out_writes_page_and_summary(seedproof, table, tmp_path):
    for verb in ("measure", "compare"):
        code, out, err = seedproof(verb, table, "--out", tmp_path / verb, "--title", "Walker")

        assert code == 0, err
        assert max(map(len, out.splitlines())) <= 80
        summary = json.loads((tmp_path / verb / "scalars.json").read_text(encoding="utf-8"))
        assert summary["metrics"] == ["return", "loss"]
        page = (tmp_path / verb / "scalars.html").read_text(encoding="utf-8")
        assert "Walker" in page
        assert "http" not in page.split("<body")[1].split("<script")[0]


def test_charts_show_every_run(table):
    report = sp.measure_scalars(table)

    picture = report.figure("metric_1").to_bytes("svg")

    assert report.figure_names == ("metric_1", "metric_2")
    assert picture.count(b'aria-roledescription="tick"') == len(MEANS) * N_RUNS


def changed(rows: list[dict], **cells: object) -> list[dict]:
    """Return rows of which the first has other cells."""
    return [{**rows[0], **cells}, *rows[1:]]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda rows: changed(rows, **{"return": "diverged"}), (DtypeError, {"text": "diverged"})),
        (lambda rows: changed(rows, **{"return": ""}), (MissingValueError, {"run": "9"})),
        (
            lambda rows: changed(rows, **{"return": "nan"}),
            (MissingValueError, {"metric": "return"}),
        ),
        (lambda rows: changed(rows, **{"return": "inf"}), (DtypeError, {"column": "return"})),
        (lambda rows: changed(rows, **{"return": "1e200"}), (DtypeError, {"column": "return"})),
        (lambda rows: changed(rows, seed=8), (DuplicateExampleError, {"run": "8", "arm": "ppo"})),
        (lambda rows: rows[N_RUNS - 1 :], (TooFewRunsError, {"arm": "ppo", "n_runs": 1})),
    ],
)
def test_unusable_tables_are_refused_by_name(seedproof, table, rows, change, expected):
    write_csv(table, change(rows))

    code, _, _ = seedproof("measure", table)

    error, fields = expected
    assert code == 2
    assert type(seedproof.error) is error
    assert fields.items() <= seedproof.error.fields.items()


@pytest.mark.parametrize(
    ("arguments", "error", "nearest"),
    [
        (["measure", "--metrics", "retrun"], UnknownNameError, "return"),
        (["compare", "--primary", "retrun"], UnknownNameError, "return"),
        (["compare", "--baseline", "pop"], UnknownNameError, "ppo"),
        (["compare", "--lower", "los"], UnknownNameError, "loss"),
        (["compare", "--margin", "los=1"], UnknownNameError, "loss"),
        (["measure", "--arm", "sca"], UnknownNameError, "sac"),
        (["gate", "--arm", "ppo", "--min", "retrun=1"], UnknownNameError, "return"),
        (
            ["gate", "--arm", "ppo", "--no-worse", "loss", "--baseline", "sca"],
            UnknownNameError,
            "sac",
        ),
        (["measure", "--metrics", "host"], DtypeError, None),
        (["measure", "--split", "test"], OptionError, None),
        (["measure", "--pairs", "--out", "x"], OptionError, None),
        (["compare", "--match-rates"], OptionError, None),
        (["compare", "--lower-is-better"], OptionError, None),
        (["gate", "--min", "return=1"], OptionError, None),
    ],
)
def test_wrong_names_and_options_are_refused(seedproof, table, arguments, error, nearest):
    verb, *others = arguments

    code, _, _ = seedproof(verb, table, *others)

    assert code == 2
    assert type(seedproof.error) is error
    assert seedproof.error.fields.get("nearest") == nearest


def test_python_names_the_function_for_single_numbers(table):
    for call in (sp.measure, sp.compare):
        with pytest.raises(OptionError, check=WithFields(function=f"sp.{call.__name__}_scalars")):
            call(str(table))


def test_tables_with_examples_are_read_as_before(seedproof, tmp_path):
    """A table of scores without ids is not taken for one number per run."""
    scores = [{"run": r, "sample_id": e, "score": r + e} for r, e in product(range(3), range(4))]
    write_csv(tmp_path / "scores.csv", scores)

    code, _, _ = seedproof("measure", tmp_path / "scores.csv")

    assert code == 2
    assert isinstance(seedproof.error, ColumnError)


def test_benchmark_prints_both_tables():
    printed = subprocess.check_output(
        [sys.executable, str(BENCHMARK), "--studies", "3"], text=True, timeout=120
    )

    lines = [line for line in printed.splitlines() if line.startswith("| ")]
    assert len(lines) == 2 + 6 + 16


@pytest.mark.parametrize(
    ("returns", "n_copies", "is_named"),
    [
        ([9.0, 9.1, 9.2, 9.3, 9.4, 14.0], 1, True),
        ([9.0, 9.1, 9.2, 9.3, 9.4, 9.5], 1, False),  # no tail
        ([2.0, 2.1, 2.2, 2.3, 2.4, 7.0], 1, False),  # no verdict
        ([9.0, 9.1, 9.2, 9.3, 9.4, 14.0], 2, False),  # more than ten runs
    ],
)
def test_a_verdict_on_few_skewed_runs_names_their_skewness(returns, n_copies, is_named):
    """By hand: third moments add up, and that of the symmetric arm is 0."""
    base = [1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    table = {
        "run": list(range(12 * n_copies)),
        "arm": (["sac"] * 6 + ["ppo"] * 6) * n_copies,
        "return": [x + 0.01 * copy for copy in range(n_copies) for x in (*base, *returns)],
    }
    report = sp.compare_scalars(pa.table(table))

    remarks = [note for note in report.notes() if "skewness" in note]

    assert len(remarks) == is_named
    if is_named:
        variances = np.var(returns, ddof=1), np.var(base, ddof=1)
        third = variances[0] ** 1.5 * stats.skew(returns, bias=False)
        expected = third / sum(variances) ** 1.5
        assert f"{expected:+.1f}" in remarks[0]
