"""One trial, unequal numbers of trials, and judges who grade every answer, as users pass them."""

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import seedproof as sp
from seedproof.errors import DuplicateExampleError, InputError, OptionError, TooFewRunsError
from seedproof.measurement.load import load_saved
from seedproof.records.location import Location
from seedproof.report.comparison.numeric import title
from seedproof.report.gate_advice import advice
from seedproof.report.numeric import figures
from seedproof.report.numeric.figures import numeric_figures
from seedproof.report.numeric.sentences import limits, sentences
from seedproof.testing.errors import WithFields

COLUMNS = sp.Columns(example="task", value="score")
N_TASKS = 60
RATES = np.random.default_rng(0).beta(2, 1, N_TASKS)


def table(rows, names=("task", "trial", "score")):
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def tasks_with(counts, *, seed=0, extra=()):
    """Outcomes of tasks with so many trials each."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"t{task:02}", trial, float(rng.random() < RATES[task]))
        for task, n in enumerate(counts)
        for trial in range(n)
    ]
    return table([*rows, *extra])


def unequal(seed=0):
    counts = np.random.default_rng(9).integers(2, 6, N_TASKS)
    return tasks_with(counts, seed=seed), counts


def graded(n_trials, *, strictness=0.4, seed=0, own=False):
    """Grades by three judges, who may have other names in each trial."""
    rng = np.random.default_rng(seed)
    strict = [strictness, 0.0, -strictness]
    rows = []
    for task in range(40):
        skill = rng.normal(6, 1)
        for trial in range(n_trials):
            answer = skill + 0.8 * rng.standard_normal()
            rows += [
                (
                    task,
                    trial,
                    f"{trial if own else ''}j{j}",
                    answer + strict[j] + rng.normal(0, 0.9),
                )
                for j in range(3)
            ]
    return table(rows, ("task", "trial", "judge", "score"))


@pytest.mark.parametrize("kind", ["array", "table", "run and trial", "file"])
def test_one_trial_has_a_mean_and_no_flips(kind, tmp_path):
    """The interval is over tasks; figures that need a second trial are left out."""
    scores = tasks_with([1] * N_TASKS)
    options = {"columns": COLUMNS}
    if kind == "array":
        options, scores = {"trials": True}, np.array([scores["score"].to_pylist()])
    if kind == "run and trial":
        scores = scores.append_column("run", pa.array(["gpt"] * N_TASKS))
    if kind == "file":
        pa.csv.write_csv(scores, tmp_path / "one.csv")
        scores = tmp_path / "one.csv"

    report = sp.measure(scores, **options)

    mean = report["mean"]
    assert mean.over == "examples"
    assert 0.15 < mean.high - mean.low < 0.35  # 2 · 1.96 · √(.67 · .33 / 60) is .24
    assert set(report) == {"mean", "pass^1", "pass@1"}
    messages = [m for sentence in sentences(report.measurement) for m in sentence.messages]
    assert "flips-need-repeats" in [message.code for message in messages]
    assert "1 trial ·" in str(report)


def test_one_trial_is_compared_and_gated_and_not_blamed(tmp_path):
    scores = sp.Predictions.from_arrays([[1.0, 0.0] * 40], trials=True)
    always = sp.Predictions.from_arrays([[1.0, 1.0] * 40], trials=True)

    assert sp.compare({"a": scores, "b": always}).effect("b", "mean").verdict == "better"
    assert sp.gate(scores, min={"mean": 0.3}, declared_runs=1).outcome == "pass"
    sp.measure(scores).save(tmp_path / "saved")
    assert sp.gate(tmp_path / "saved", min={"mean": 0.3}, declared_runs=1).outcome == "pass"
    with pytest.raises(TooFewRunsError):
        sp.blame(scores)
    with pytest.raises(TooFewRunsError):
        sp.plan(pilot=sp.measure(scores), detect=0.1)


def test_one_run_is_still_refused():
    """Runs are models of their own: one shows nothing about others."""
    with pytest.raises(TooFewRunsError):
        sp.measure(np.array([[1.0, 0.0, 1.0]]), tolerance=0.1)


def test_tasks_count_once_however_many_trials_they_have():
    rows, counts = unequal()
    report = sp.measure(rows, columns=COLUMNS)

    scores = np.array(rows["score"].to_pylist())
    means = [part.mean() for part in np.split(scores, np.cumsum(counts)[:-1])]
    mean = report["mean"]
    assert mean.value == pytest.approx(np.mean(means))
    assert mean.low < np.mean(means) < mean.high
    assert mean.high - mean.low == pytest.approx(
        2 * 2.0 * np.std(means, ddof=1) / N_TASKS**0.5, rel=0.1
    )
    assert report.measurement.detail["trial_counts"].tolist() == np.bincount(counts).tolist()
    assert "2 to 5 trials" in str(report)
    assert [note.code for note in limits(report.measurement)].count("unequal-trials") == 1


@pytest.mark.parametrize("most_points", [10, 100])
def test_a_task_with_a_single_trial_has_no_spread(most_points, monkeypatch, tmp_path):
    """Its spread is unknown, and not 0: null in files, and absent from tables and charts."""
    monkeypatch.setattr(figures, "MAX_POINTS", most_points)
    rng = np.random.default_rng(3)
    counts = [1] * 20 + [3] * 20
    rows = [(f"t{task:02}", i, rng.normal()) for task, n in enumerate(counts) for i in range(n)]
    report = sp.measure(table(rows), columns=COLUMNS)

    report.save(tmp_path)
    report.to_html(tmp_path / "page.html")
    str(report)

    saved = pa.parquet.read_table(tmp_path / "examples.parquet")
    scores = np.array([score for *_, score in rows])
    parts = np.split(scores, np.cumsum(counts)[:-1])
    for name, expected in (
        ("sd", [None if len(x) == 1 else np.std(x, ddof=1) for x in parts]),
        ("mean_difference", [None if len(x) == 1 else np.ptp(x) * 2 / 3 for x in parts]),
    ):
        column = saved.column(name).to_pylist()
        assert column[:20] == expected[:20] == [None] * 20
        assert column[20:] == pytest.approx(expected[20:])
    unstable = load_saved(Location.of(tmp_path)).unstable_examples.column("sd")
    assert unstable.null_count == 20
    assert unstable[:20].null_count == 0
    drawn = next(x for x in numeric_figures(report.measurement) if x.name == "value_map")
    assert sum(row.get("count", 1) for row in drawn.rows) == 20


@pytest.mark.parametrize("options", [{}, {"clusters": "group"}, {"weight": "weight"}])
def test_powers_are_over_tasks_with_enough_trials(options):
    rows, counts = unequal()
    task = [int(name[1:]) for name in rows["task"].to_pylist()]
    rows = rows.append_column("group", pa.array([str(i // 2) for i in task]))
    rows = rows.append_column("weight", pa.array([1.0 + i % 2 for i in task]))

    report = sp.measure(rows, columns=COLUMNS, **options)

    parts = np.split(np.array(rows["score"].to_pylist()), np.cumsum(counts)[:-1])
    kept = [i for i, n in enumerate(counts) if n == 5]
    weights = [1.0 + i % 2 if "weight" in options else 1.0 for i in kept]
    expected = np.average([parts[i].all() for i in kept], weights=weights)
    estimate = report["pass^5"]
    assert estimate.value == pytest.approx(expected)
    assert estimate.low < expected < estimate.high


def test_same_trials_in_other_places_have_the_same_figures():
    """Trials of one model are exchangeable: names of their own for each attempt change nothing."""
    rows, _ = unequal()
    anew = rows.set_column(1, "trial", pa.array([f"try-{i:03}" for i in range(len(rows))]))

    first, second = (sp.measure(x, columns=COLUMNS) for x in (rows, anew))

    assert {n: first[n] for n in first} == {n: second[n] for n in second}


def test_arms_with_unequal_trials_are_paired_by_task():
    (old, _), (new, _) = unequal(1), unequal(2)
    result = sp.compare({"old": old, "new": new}, columns=COLUMNS)

    effect = result.effect("new", "mean")
    alone = [sp.measure(x, columns=COLUMNS)["mean"] for x in (old, new)]
    assert effect.value == pytest.approx(alone[1].value - alone[0].value)
    apart = np.hypot(*[(x.high - x.low) / 2 for x in alone])
    assert 0.0 < (effect.high - effect.low) / 2 < apart
    assert "pass^5" not in result.effects("new")  # it leaves out tasks with fewer
    assert title(result.comparison).fields["n_runs"] == "2–5"


@pytest.mark.parametrize(
    ("metric", "least"),
    [("flip_rate", 1), ("pass^5", 1), ("pass^5", 2), ("flaky_share", 1), ("flaky_share", 2)],
)
def test_metrics_of_unequal_trials_that_do_not_compare_arms_say_why(metric, least):
    """A count of flaky tasks depends on their trials; others leave tasks out."""
    counts = np.r_[np.full(10, least), np.full(N_TASKS - 10, 5)]
    old, new = (tasks_with(counts, seed=seed) for seed in (1, 2))
    compare = partial(sp.compare, {"old": old, "new": new}, columns=COLUMNS, primary=metric)
    gate = partial(sp.gate, new, baseline=old, columns=COLUMNS, no_worse={metric: 0.1})
    for call in (compare, gate):
        with pytest.raises(OptionError, check=WithFields(metric=metric)) as caught:
            call()
        listed = caught.value.fields["metrics"]
        assert "mean" in listed
        assert not {metric, "solid_share"} & set(listed)


def test_no_worse_refuses_a_metric_that_says_the_same_as_another():
    old, new = (tasks_with([4] * N_TASKS, seed=seed) for seed in (1, 2))

    with pytest.raises(OptionError, check=WithFields(metric="pass^1")):
        sp.gate(new, baseline=old, columns=COLUMNS, no_worse={"pass^1": 0.1})


def test_reports_of_trials_have_no_verdict_on_counts(tmp_path):
    """Nor have records: the share of flaky tasks depends on the number of trials."""
    for name, seed in (("old", 1), ("new", 2)):
        sp.measure(tasks_with([4] * N_TASKS, seed=seed), columns=COLUMNS).save(tmp_path / name)

    effects = sp.compare({x: tmp_path / x for x in ("old", "new")}).effects("new")

    assert effects["flaky_share"].verdict == "not tested"
    assert effects["flip_rate"].low is not None


def test_verbs_that_need_equal_trials_refuse_by_name():
    rows, _ = unequal()
    report = sp.measure(rows, columns=COLUMNS)
    for refused in (
        lambda: sp.blame(rows, columns=COLUMNS),
        lambda: sp.compare_versions(rows, rows, columns=COLUMNS),
        lambda: sp.plan(pilot=report, detect=0.1),
    ):
        with pytest.raises(OptionError):
            refused()
    assert sp.gate(rows, columns=COLUMNS, min={"mean": 0.4}, declared_runs=5).outcome == "pass"


def test_a_trial_that_is_there_twice_is_refused():
    with pytest.raises(DuplicateExampleError):
        sp.measure(tasks_with([2, 3, 2], extra=[("t00", 0, 1.0)]), columns=COLUMNS)


def test_tasks_retried_until_they_pass_are_an_error_for_measure_and_gate():
    rng = np.random.default_rng(3)
    rows = []
    for task in range(200):
        for trial in range(4):
            rows.append((task, trial, float(rng.random() < 0.6)))
            if rows[-1][2]:
                break

    report = sp.measure(table(rows), columns=COLUMNS)

    (check,) = report.checks
    assert (check.name, check.severity) == ("trials-depend-on-outcomes", "error")
    assert sp.gate(table(rows), columns=COLUMNS, min={"mean": 0.1}).outcome != "pass"


@pytest.mark.parametrize("n_trials", [1, 3])
def test_same_judges_are_one_set_of_figures(n_trials):
    """Interval, standard error, parts and advice are of judges drawn once."""
    rows = graded(n_trials)

    mean = sp.measure(rows, columns=COLUMNS)["mean"]
    blame = sp.blame(rows, columns=COLUMNS).result

    assert (mean.over, blame.mean) == ("judges × examples", mean)
    half_width = (mean.high - mean.low) / 2
    assert 1.9 < half_width / blame.standard_error < 4.4  # between both quantiles
    parts = {part.metric: part for part in blame.parts}
    assert parts["variance_judge"].units == ("judge",)
    assert parts["variance_judge"].of_mean == max(part.of_mean for part in blame.parts)
    assert blame.more[0].unit == "judge"
    assert blame.has_same_judges


@pytest.mark.parametrize(("own", "code"), [(False, "judges"), (True, "trials")])
def test_gate_asks_for_what_limits_the_interval(own, code):
    """Of judges who grade every answer, more trials hardly help."""
    (verdict,) = sp.gate(graded(3, own=own), columns=COLUMNS, min={"mean": 6.0}).result.rules

    assert advice(verdict).code == f"too-few-{code}-or-examples"


def test_judges_of_their_own_stay_inside_trials():
    rows = graded(3, own=True)

    assert sp.measure(rows, columns=COLUMNS)["mean"].over == "examples"
    assert not sp.blame(rows, columns=COLUMNS).result.has_same_judges


def test_plans_do_not_cover_judges():
    """More trials and examples leave their part."""
    with pytest.raises(OptionError):
        sp.plan(pilot=sp.measure(graded(3), columns=COLUMNS), detect=0.1)


def test_versions_say_that_they_are_for_these_judges():
    report = sp.compare_versions(graded(3), graded(3, seed=1), columns=COLUMNS)

    assert "for-these-judges" in [note.code for note in report.comparison.notes]


def test_runs_with_the_same_judges_have_an_interval_over_all_three():
    rng = np.random.default_rng(1)
    rows = [
        (f"r{run}", task, f"j{judge}", task + 0.3 * run + judge + rng.normal())
        for run in range(5)
        for task in range(30)
        for judge in range(3)
    ]
    rows = table(rows, ("run", "task", "judge", "score"))

    assert sp.measure(rows, columns=COLUMNS)["mean"].over == "runs × judges × examples"
    units = {part.units for part in sp.blame(rows, columns=COLUMNS).result.parts}
    assert {("run",), ("judge",), ("run", "judge")} <= units
    deeper = pa.concat_tables(
        [rows.append_column("trial", pa.array([trial] * len(rows))) for trial in range(2)]
    )
    with pytest.raises(InputError):
        sp.blame(deeper, columns=COLUMNS)
