"""Arms of numbers: repeated trials, retrained runs, errors against targets."""

import json

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import LabelConflictError, OptionError, TooFewRunsError
from seedproof.stats.distributions import student_quantile
from seedproof.stats.intervals import PLAIN
from seedproof.stats.looks import AT_TRIAL_LOOK

N_TASKS = 60


def outcomes(shift=0.0, n_trials=3, seed=0):
    """Draw pass or fail of each trial, with tasks of the same difficulty for all seeds."""
    difficulty = np.random.default_rng(99).normal(0, 1.5, N_TASKS)
    rng = np.random.default_rng(seed)
    return (rng.random((n_trials, N_TASKS)) < 1 / (1 + np.exp(-difficulty - shift))).astype(float)


def regression(n_runs=6, shift=0.0, noise=1.0, seed=0):
    """Return numbers of several runs and their targets."""
    targets = np.random.default_rng(98).normal(20, 5, 300)
    rng = np.random.default_rng(seed)
    return targets + shift + rng.normal(0, noise, (n_runs, 300)), targets


@pytest.fixture
def tables(tmp_path):
    """Two tables of trials, the second with a better model."""
    paths = []
    for name, numbers in (("old", outcomes(seed=1)), ("new", outcomes(1.5, seed=2))):
        rows = [
            f"{task},{trial},{reward:g}"
            for trial, of_trial in enumerate(numbers)
            for task, reward in enumerate(of_trial)
        ]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["task,trial,reward", *rows]) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


COLUMNS = ["--example", "task", "--trial", "trial", "--value", "reward"]


def test_tables_of_trials_are_compared(seedproof, tables, tmp_path):
    code, out, err = seedproof("compare", *tables, *COLUMNS, "--json", "--out", tmp_path / "out")

    assert code == 0, err
    summary = json.loads(out)
    effect = summary["arms"][0]["effects"]["mean"]
    assert summary["primary"] == "mean"
    assert summary["repeats"] == "trials"
    assert (effect["verdict"], effect["over"]) == ("better", "examples")
    assert "pass^3" in (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")


def test_lower_is_better_turns_the_verdict(seedproof, tables):
    _, out, _ = seedproof("compare", *tables, *COLUMNS, "--lower-is-better", "--json")

    assert json.loads(out)["arms"][0]["effects"]["mean"]["verdict"] == "worse"


@pytest.mark.parametrize("n_trials", [1, 2, 5])
def test_interval_of_trials_is_that_of_paired_differences(n_trials):
    """Student's interval of the differences per task.

    Half a task in each direction is added, or half a step of one trial as far as tasks differ by
    the noise of trials; with fewer than three that is unknown, and all may be noise.
    """
    old, new = outcomes(n_trials=n_trials, seed=3), outcomes(0.5, n_trials=n_trials, seed=4)

    effect = sp.compare({"old": old, "new": new}, trials=True).effect("new", "mean")

    differences = new.mean(axis=0) - old.mean(axis=0)
    drawn = differences.var(ddof=1) / N_TASKS
    share = 1.0
    if n_trials > 2:
        noise = sum(x.var(axis=0, ddof=1).sum() / n_trials for x in (old, new)) / N_TASKS**2
        share = min(noise / drawn, 1.0)
    unseen = (1 - share + share / n_trials**2) / N_TASKS**2
    error = np.sqrt(drawn + unseen)
    assert effect.value == pytest.approx(differences.mean())
    half_width = student_quantile(N_TASKS - 1, 0.975) * error
    assert (effect.high - effect.low) / 2 == pytest.approx(half_width)
    assert effect.verdict in {"better", "no difference shown"}


def test_few_runs_have_no_verdict_and_few_trials_do():
    arms = {"old": outcomes(seed=1), "new": outcomes(2.0, seed=2)}

    assert sp.compare(arms).effect("new", "mean").verdict == "too few runs"
    assert sp.compare(arms, trials=True).effect("new", "mean").verdict == "better"


def test_one_run_of_each_arm_is_refused_and_one_trial_is_not():
    arms = {"old": outcomes(n_trials=1), "new": outcomes(2.0, n_trials=1, seed=1)}

    with pytest.raises(TooFewRunsError):
        sp.compare(arms)
    report = sp.compare(arms, trials=True)
    assert report.effect("new", "mean").is_shown
    assert "flip_rate" not in report.effects("new")  # one trial disagrees with no other
    assert "trial" in report.text()


def test_errors_decide_if_there_are_targets():
    (old, targets), (new, _) = regression(noise=2.0), regression(seed=1)

    report = sp.compare({"old": old, "new": new}, targets=targets)

    effect = report.effect("new", "mae")
    errors = [np.abs(numbers - targets).mean() for numbers in (old, new)]
    assert report.comparison.primary == "mae"
    assert effect.value == pytest.approx(errors[1] / errors[0])
    assert effect.verdict == report.effect("new", "rmse").verdict == "better"


def test_mean_of_predictions_has_no_direction():
    (old, targets), (new, _) = regression(), regression(shift=1.0, seed=1)

    effects = sp.compare({"old": old, "new": new}, targets=targets).effects("new")

    assert effects["mean"].verdict == effects["bias"].verdict == "higher"
    assert sp.compare({"old": old, "new": new}).effect("new", "mean").verdict == "better"


def test_equivalence_of_numbers_of_any_size_needs_a_margin():
    numbers, _ = regression(n_runs=10)
    other, _ = regression(n_runs=10, seed=1)
    arms = {"old": numbers, "new": other}

    assert sp.compare(arms).effect("new", "mean").verdict == "no difference shown"
    with_margin = sp.compare(arms, margins={"mean": 1.0})
    assert with_margin.effect("new", "mean").verdict == "equivalent"


def test_shares_have_the_usual_margin():
    rng = np.random.default_rng(0)
    shared = rng.random(4000)
    arms = {name: shared + 0.01 * rng.random((10, 4000)) for name in ("old", "new")}
    assert sp.compare(arms).effect("new", "mean").margin is None
    arms = {name: numbers / 2 for name, numbers in arms.items()}

    effect = sp.compare(arms).effect("new", "mean")

    assert effect.verdict == "equivalent"
    assert effect.margin == pytest.approx(0.005)


def test_arms_without_a_difference_on_few_tasks_are_not_called_equivalent():
    """Three tasks fail once, so that no trial is a copy of another."""
    arms = {"old": 1 - np.eye(3, 50), "new": 1 - np.eye(3, 50)}

    effect = sp.compare(arms, trials=True).effect("new", "mean")

    assert effect.verdict == "no difference shown"
    assert effect.low < -0.01 < 0.01 < effect.high


def test_numbers_and_classes_are_not_compared():
    numbers = sp.Predictions.from_arrays(outcomes(), trials=True)
    classes = sp.Predictions.from_arrays(outcomes().astype(int))

    with pytest.raises(OptionError):
        sp.compare({"numbers": numbers, "classes": classes})


def test_arms_that_are_read_in_different_ways_are_refused():
    trials = sp.Predictions.from_arrays(outcomes(), trials=True)
    runs = sp.Predictions.from_arrays(outcomes(seed=1), tolerance=0.1)

    with pytest.raises(OptionError):
        sp.compare({"trials": trials, "runs": runs})


@pytest.mark.parametrize("changed", [0.5, np.nan])
def test_different_targets_are_refused(changed):
    numbers, targets = regression()
    other = targets.copy()
    other[7] = changed

    arms = {
        "old": sp.Predictions.from_arrays(numbers, targets=targets),
        "new": sp.Predictions.from_arrays(numbers + 1, targets=other),
    }
    with pytest.raises(LabelConflictError):
        sp.compare(arms)


def test_a_reference_arm_is_refused():
    with pytest.raises(OptionError):
        sp.compare({"old": outcomes(), "new": outcomes(seed=1)}, gold="new", trials=True)


def test_all_pairs_and_clusters_and_shards(monkeypatch):
    arms = {name: outcomes(seed=seed) for seed, name in enumerate("abc")}
    options = {"trials": True, "clusters": np.arange(N_TASKS) // 4, "all_pairs": True}
    whole = sp.compare(arms, **options)
    monkeypatch.setattr("seedproof.records.schema.MAX_GROUP_ROWS", 7)

    in_parts = sp.compare(arms, **options)

    for first, second in (("b", "a"), ("c", "b")):
        effect = whole.contrast(first, second)["mean"]
        again = in_parts.contrast(first, second)["mean"]
        assert effect.over == "clusters"
        assert (again.low, again.high) == pytest.approx((effect.low, effect.high), rel=1e-9)


def test_identical_arms_are_reported():
    numbers, _ = regression()

    report = sp.compare({"old": numbers, "new": numbers})

    assert "identical-arms" in {check.name for check in report.checks}


def test_examples_that_change_most_are_listed_with_all_numbers():
    old = np.tile([0.0, 1.0, 0.0, 1.0], (3, 5))
    new = old.copy()
    new[:, 0], new[:2, 1] = 1.0, 0.0

    arm = sp.compare({"old": old, "new": new}, trials=True).arm("new")

    assert arm.risen["example"].to_pylist() == [0]
    assert arm.fallen["example"].to_pylist() == [1]
    assert arm.fallen["numbers_after"].to_pylist() == [[0.0, 0.0, 1.0]]
    assert arm.fallen["change"].to_pylist() == pytest.approx([-2 / 3])


def test_columns_of_the_user_can_be_shown():
    table = pa.table(
        {
            "trial": np.repeat([0, 1], N_TASKS),
            "example": np.tile(np.arange(N_TASKS), 2),
            "value": outcomes(n_trials=2).ravel(),
            "question": [f"question {i}" for i in range(N_TASKS)] * 2,
        }
    )
    flipped = table.set_column(2, "value", pa.array(1 - table["value"].to_numpy()))

    report = sp.compare({"old": table, "new": flipped})

    (first, *_) = report.arm("new").risen["example"].to_pylist()
    assert f"question {first}" in report.text(show=["question"])


def test_trials_that_are_added_have_wider_intervals():
    """The part from their noise most of all: tasks are drawn once."""
    arms = {"old": outcomes(seed=1), "new": outcomes(seed=2)}
    fixed, growing = (
        sp.compare(arms, trials=True, sequential=sequential).effect("new", "mean")
        for sequential in (False, True)
    )

    tails = PLAIN.tail, AT_TRIAL_LOOK.example_tail, AT_TRIAL_LOOK.tail
    plain, of_drawn, of_noise = (student_quantile(N_TASKS - 1, 1 - tail) for tail in tails)
    widths = [(effect.high - effect.low) / 2 for effect in (fixed, growing)]
    noise = sum(numbers.var(axis=0, ddof=1).sum() / 3 for numbers in arms.values()) / N_TASKS**2
    drawn = (widths[0] / plain) ** 2
    noise = min(noise, drawn)
    expected = of_drawn**2 * (drawn - noise) + of_noise**2 * noise
    assert widths[1] ** 2 == pytest.approx(expected)


def test_more_trials_than_declared_are_taken_as_added():
    arms = {"old": outcomes(seed=1), "new": outcomes(seed=2)}

    declared, added = (
        sp.compare(arms, trials=True, declared_runs=n).effect("new", "mean") for n in (3, 2)
    )

    assert added.high - added.low > declared.high - declared.low


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_table_with_a_column_of_arms_is_compared(seedproof, tmp_path, suffix):
    rows = [
        {"arm": name, "trial": trial, "task": task, "reward": reward}
        for name, numbers in (("old", outcomes(seed=1)), ("new", outcomes(1.5, seed=2)))
        for trial, of_trial in enumerate(numbers)
        for task, reward in enumerate(of_trial)
    ]
    path = tmp_path / f"both.{suffix}"
    if suffix == "csv":
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    else:
        lines = list(map(json.dumps, rows))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    code, out, err = seedproof("compare", path, *COLUMNS, "--baseline", "old", "--json")

    assert code == 0, err
    apart = sp.compare({"old": outcomes(seed=1), "new": outcomes(1.5, seed=2)}, trials=True)
    (arm,) = json.loads(out)["arms"]
    assert arm["name"] == "new"
    assert arm["effects"]["mean"]["low"] == pytest.approx(apart.effect("new", "mean").low)


# ------------------------------------------------------------------------------- saved reports


def saved(arms, folder, **options):
    """Return folders of the reports of several arms."""
    for name, numbers in arms.items():
        sp.measure(numbers, **options).save(folder / name)
    return [folder / name for name in arms]


@pytest.mark.parametrize("lower", [False, True])
def test_saved_reports_of_trials_are_compared(lower, tmp_path, seedproof):
    """Tasks are not paired, so that the interval is wider than that of the records."""
    arms = {"old": outcomes(seed=1), "new": outcomes(2.0, seed=2)}
    folders = saved(arms, tmp_path, trials=True)

    code, out, _ = seedproof(
        "compare", *folders, "--json", *(["--lower-is-better"] if lower else [])
    )

    effects = json.loads(out)["arms"][0]["effects"]
    effect = sp.compare(arms, trials=True, lower_is_better=lower).effect("new", "mean")
    assert code == 0
    assert effects["mean"]["verdict"] == effect.verdict == ("worse" if lower else "better")
    assert effects["mean"]["value"] == pytest.approx(effect.value)
    assert effects["mean"]["high"] - effects["mean"]["low"] > effect.high - effect.low
    assert effects["mean"]["over"] == "examples"
    assert "pass^3" in effects


def test_saved_reports_of_few_retrained_runs_get_no_verdict(tmp_path):
    arms = {"old": regression(4)[0], "new": regression(4, shift=9.0, seed=1)[0]}

    report = sp.compare(saved(arms, tmp_path))

    assert report.effect("new", "mean").verdict == "too few runs"
    assert "variance_run" not in {x.metric for x in report.effects("new").values() if x.low}


def test_saved_reports_with_targets_are_compared_by_their_errors(tmp_path):
    old, targets = regression(6, noise=2.0)
    new, _ = regression(6, noise=1.0, seed=1)

    report = sp.compare(saved({"old": old, "new": new}, tmp_path, targets=targets))

    assert report.effect("new", "mae").verdict == "better"
    assert report.effect("new", "mean").verdict in {"no difference shown", "higher", "lower"}
    report.save(tmp_path / "out")
    assert (tmp_path / "out" / "comparison.html").is_file()


def test_reports_of_numbers_and_of_classes_are_refused(tmp_path):
    numbers = saved({"numbers": outcomes()}, tmp_path, trials=True)
    classes = saved({"classes": outcomes().astype(int)}, tmp_path)

    with pytest.raises(OptionError):
        sp.compare([*numbers, *classes])


def test_reports_of_examples_with_other_weights_are_refused(tmp_path):
    tasks = pa.array(range(N_TASKS))
    table = pa.table({"id": tasks, "w": np.arange(N_TASKS) + 1.0, "seed_0": outcomes()[0]})
    table = table.append_column("seed_1", pa.array(outcomes()[1]))
    columns = sp.Columns(example="id", value="seed_")
    for name, options in (("even", {}), ("weighted", {"weight": "w"})):
        sp.measure(table, columns=columns, **options).save(tmp_path / name)

    with pytest.raises(OptionError, check=lambda error: error.fields["option"] == "weight"):
        sp.compare([tmp_path / "even", tmp_path / "weighted"])
