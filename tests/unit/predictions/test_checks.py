"""Findings about the input: copies, runs that are no evidence, names that do not fit."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.predictions.checks import CHECK_NAMES

RNG = np.random.default_rng(0)


def answers(n_runs=6, n_examples=600, n_classes=3, *, flips=0.2, seed=0):
    """Return runs that follow a common opinion, each with mistakes of its own."""
    rng = np.random.default_rng(seed)
    opinion = rng.integers(0, n_classes, n_examples)
    drawn = rng.integers(0, n_classes, (n_runs, n_examples))
    return np.where(rng.random((n_runs, n_examples)) < flips, drawn, opinion)


def probabilities(n_runs=6, n_examples=300, n_classes=3, *, noise=0.5, seed=0):
    """Return probabilities of runs with a common opinion."""
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(n_examples, n_classes))
    logits = logits + noise * rng.normal(size=(n_runs, n_examples, n_classes))
    odds = np.exp(logits)
    return (odds / odds.sum(axis=2, keepdims=True)).astype(np.float32)


def checks(values, **options):
    """Return severity and runs of each check by its name."""
    loaded = sp.Predictions.from_arrays(values, **options)
    assert all(check.name in CHECK_NAMES for check in loaded.checks)
    return {check.name: (check.severity, check.runs) for check in loaded.checks}


def test_healthy_runs_have_no_finding():
    values = answers()

    assert checks(values, labels=values[0]) == {}
    assert checks(probabilities()) == {}


@pytest.mark.parametrize("values", [answers(), probabilities()], ids=["answers", "probabilities"])
def test_copies_of_one_run_are_an_error(values):
    copies = np.repeat(values[:1], 10, axis=0)

    assert checks(copies) == {"duplicate-runs": ("error", tuple(map(str, range(10))))}


@pytest.mark.parametrize("values", [answers(), probabilities()], ids=["answers", "probabilities"])
def test_copy_among_other_runs_is_named(values):
    values = values.copy()
    values[4] = values[1]

    assert checks(values) == {"duplicate-runs": ("error", ("1", "4"))}


def test_two_sets_of_copies_are_named_separately():
    values = probabilities()
    loaded = sp.Predictions.from_arrays(values[[0, 1, 0, 1, 2, 3]])

    assert [check.runs for check in loaded.checks] == [("0", "2"), ("1", "3")]


def test_equal_answers_with_other_probabilities_are_not_copies():
    """A very stable classifier."""
    values = probabilities(noise=0.001)
    assert (values.argmax(axis=2) == values[0].argmax(axis=1)).all()

    assert checks(values) == {}


def test_equal_answers_by_accident_are_not_copies():
    """Two runs may have nearly the same threshold: nothing else differs between them."""
    scores = np.sort(RNG.random(500))
    values = (scores > np.array([0.3, 0.3, 0.5, 0.7, 0.9])[:, np.newaxis]).astype(int)

    assert checks(values) == {}


def test_copies_are_found_in_top_classes(tmp_path):
    """Where only the most probable classes were kept."""

    def train(run: sp.Run) -> None:
        probs = probabilities(1, 40, 12)[0]
        top = np.argsort(-probs, axis=1)[:, :3]
        run.log_predictions(
            "test",
            top_classes=top,
            top_probs=np.take_along_axis(probs, top, axis=1),
            classes=[str(k) for k in range(12)],
        )

    study = sp.Study("top", train, seeds=5, store=tmp_path / "runs")
    study.run(engine="serial")

    assert [check.name for check in study.measure().checks] == ["duplicate-runs"]


def test_run_with_one_answer_is_named():
    values = answers()
    values[2] = 1

    assert checks(values) == {"constant-run": ("error", ("2",))}


def test_several_runs_with_one_answer_are_all_named():
    values = answers()
    values[[2, 5]] = 1
    loaded = sp.Predictions.from_arrays(values)

    assert [check.runs for check in loaded.checks if check.name == "constant-run"] == [
        ("2",),
        ("5",),
    ]


def test_run_that_misses_a_rare_answer_is_healthy():
    values = np.zeros((6, 1000), dtype=int)
    for run in range(5):
        values[run, RNG.integers(0, 1000, 4)] = 1

    assert "constant-run" not in checks(values)


@pytest.mark.parametrize("n_runs", [3, 8])
def test_shuffled_run_is_named(n_runs):
    values = answers(n_runs)
    values[1] = np.random.default_rng(1).permutation(values[1])

    assert checks(values)["outlier-run"] == ("error", ("1",))


def test_runs_at_chance_are_not_outliers():
    """None of them is farther from the others than the rest."""
    assert "outlier-run" not in checks(RNG.integers(0, 2, (6, 500)))


def test_few_runs_are_a_warning():
    values = answers(VERDICT_FROM)

    assert checks(values) == {}
    assert checks(values[1:]) == {"few-runs": ("warning", ())}


def test_more_runs_than_examples_may_be_transposed():
    values = answers(6, 40)

    assert checks(values.T)["transposed"] == ("warning", ())
    assert "transposed" not in checks(values.T, labels=np.zeros(6, dtype=int))
    assert "transposed" not in checks(values.T, runs=[f"run {i}" for i in range(40)])


def test_class_that_no_label_has_is_a_warning():
    names = np.array(["cat", "dog", "fox"])[answers()]
    labels = np.where(names[0] == "fox", "dog", names[0])

    assert checks(names, labels=labels) == {"unexpected-classes": ("warning", ())}
    assert checks(names, labels=names[0]) == {}


@pytest.mark.parametrize("variant", ["Cat", "cat ", " CAT"])
def test_names_that_differ_by_case_or_spaces_are_a_warning(variant):
    names = np.array(["cat", "dog", variant])[answers()]

    assert checks(names) == {"unexpected-classes": ("warning", ())}


def test_rounded_numbers_are_not_categorical():
    truth = RNG.normal(size=600) * 10
    values = np.round(truth + RNG.normal(size=(6, 600))).astype(int)

    assert checks(values) == {"not-categorical": ("warning", ())}


def test_many_numbered_classes_are_categorical():
    assert checks(answers(n_classes=64)) == {}


def test_free_text_is_not_categorical():
    values = [[f"answer {RNG.integers(10**6)} of run {run}" for _ in range(40)] for run in range(5)]

    assert checks(np.array(values)) == {"not-categorical": ("warning", ())}


def test_errors_come_first():
    values = answers(4)
    values[2] = 1

    assert list(checks(values)) == ["constant-run", "few-runs"]


def test_arms_that_predict_the_same_are_an_error():
    values = answers()
    report = sp.compare({"none": values, "ignored": values.copy(), "other": answers(seed=1)})

    (check,) = [check for check in report.checks if check.name == "identical-arms"]
    assert check.severity == "error"
    assert "ignored" in check.message
    assert "other" not in check.message


def test_arms_that_hardly_ever_change_may_be_equal():
    """They have nothing that could differ; single arms have a finding of their own."""
    values = np.zeros((6, 200), dtype=int)
    values[0, :3] = 1

    report = sp.compare({"none": values, "other": values.copy()})

    assert "identical-arms" not in {check.name for check in report.checks}


def test_measuring_fewer_metrics_finds_the_same(tmp_path):
    """Although probabilities are not read for them."""

    def train(run: sp.Run) -> None:
        run.log_predictions("test", probs=probabilities(1)[0])

    study = sp.Study("copies", train, seeds=5, store=tmp_path / "runs")
    study.run(engine="serial")

    everything, flips = study.measure(), sp.measure(tmp_path / "runs", metrics=["flip_rate"])

    assert everything.checks == flips.checks == sp.Predictions.from_store(tmp_path / "runs").checks
    assert [check.name for check in flips.checks] == ["duplicate-runs"]


def test_arm_without_a_split_does_not_hide_the_others(tmp_path):
    """One arm logs a further split, and all runs of the other are copies."""

    def train(run: sp.Run) -> None:
        seed = 0 if run.arm == "copied" else run.seed
        run.log_predictions("test", predictions=answers(1, seed=seed)[0])
        if run.arm == "more":
            run.log_predictions("dev", predictions=answers(1, seed=run.seed)[0])

    study = sp.Study("splits", train, seeds=5, arms=["more", "copied"], store=tmp_path / "runs")
    study.run(engine="serial", progress=False)

    assert [(check.name, check.arm) for check in study.checks] == [("duplicate-runs", "copied")]
