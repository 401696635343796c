"""`seedproof compare --match-rates` and `sp.compare(..., match_rates=True)`, end to end."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import seedproof as sp
from seedproof.errors import ClassesError, MissingExampleError, OptionError

N_RUNS, N_EXAMPLES = 8, 120
CLASSES = ("negative", "positive")
ARMS = {"none": 2.0, "calm": 0.0}
# Metrics of probabilities.
OF_PROBABILITIES = {
    "probability_sd",
    "predictive_kl",
    "predictive_js",
    "ece",
    "ece_corrected",
    "mce",
    "nll",
    "brier",
}


def second_of(arm):
    """Return the probability of the second class by run: the threshold of "none" drifts.

    Multiples of 1/1024 are exact as float32 and as decimals, so that every way in has the same bits.
    """
    rng = np.random.default_rng(list(ARMS).index(arm))
    logits = 2 * np.random.default_rng(7).standard_normal(N_EXAMPLES)
    noisy = logits + 0.5 * rng.standard_normal((N_RUNS, N_EXAMPLES))
    drifted = noisy + ARMS[arm] * np.linspace(-1, 1, N_RUNS)[:, np.newaxis]
    return np.round(1024 / (1 + np.exp(-drifted))) / 1024


def labels():
    """Return the gold class of each example."""
    return (np.random.default_rng(7).standard_normal(N_EXAMPLES) > 0).astype(int)


def table_of(arm, classes=CLASSES):
    """Return one long table of all runs, in random order."""
    second = second_of(arm)
    run, example = np.divmod(np.random.default_rng(3).permutation(second.size), N_EXAMPLES)
    return pa.table(
        {
            "run": run,
            "example": example,
            "label": np.array(classes)[labels()[example]],
            f"p_{classes[0]}": 1 - second[run, example],
            f"p_{classes[1]}": second[run, example],
        }
    )


def expected_answers(arm):
    """Return the names of matched answers by sorted lists."""
    second = second_of(arm)
    n_second = int((second > 0.5).sum() / N_RUNS + 0.5)
    answers = np.full(second.shape, CLASSES[0], dtype="<U8")
    for run in range(N_RUNS):
        order = sorted(range(N_EXAMPLES), key=lambda place, run=run: (-second[run][place], place))
        answers[run, order[:n_second]] = CLASSES[1]
    return answers


def train(run):
    """Log the predictions of a run, without training."""
    second = second_of(run.arm)[int(run.name)]
    run.log_predictions(
        "test",
        ids=np.arange(N_EXAMPLES),
        probs=np.stack([1 - second, second], axis=1),
        labels=labels(),
        classes=CLASSES,
    )


def make_store(folder):
    """Return a study of both arms."""
    study = sp.Study("drift", train, seeds=N_RUNS, arms=list(ARMS), store=folder / "runs")
    study.run(engine="serial", progress=False)
    return study


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    """Return the two arms in every form that `compare` takes."""
    folder = tmp_path_factory.mktemp("targets")
    files = {"csv": [], "npz": [], "array": []}
    for arm in ARMS:
        pa_csv.write_csv(table_of(arm), folder / f"{arm}.csv")
        files["csv"].append(folder / f"{arm}.csv")
        probs = np.stack([1 - second_of(arm), second_of(arm)], axis=2)
        np.savez(folder / f"{arm}.npz", probs=probs, labels=labels(), classes=np.array(CLASSES))
        files["npz"].append(folder / f"{arm}.npz")
        files["array"].append(probs)
    return {
        **files,
        "dataframe": [table_of(arm) for arm in ARMS],
        "mapping": {arm: table_of(arm) for arm in ARMS},
        "store": make_store(folder).store,
    }


# -------------------------------------------------------------------------------- what is compared


@pytest.mark.parametrize("kind", ["csv", "npz", "array", "dataframe", "mapping", "store"])
def test_matched_answers_are_compared_for_any_target(targets, kind):
    """Every metric of each arm is that of answers matched by sorted lists."""
    result = sp.compare(targets[kind], match_rates=True)

    gold = None if kind == "array" else np.array(CLASSES)[labels()]
    for arm, compared in zip(ARMS, (result.baseline, *result.arms), strict=True):
        alone = sp.measure(expected_answers(arm), labels=gold)
        metrics = compared.measurement.metrics
        assert set(metrics) == set(alone.measurement.metrics)
        for name, estimate in metrics.items():
            assert estimate.value == pytest.approx(alone[name].value, abs=1e-12), name


@pytest.mark.parametrize("kind", ["csv", "npz", "dataframe"])
def test_effects_are_those_of_comparing_matched_answers(targets, kind):
    """Values, intervals and verdicts of each metric as if it were the only one.

    Without matching, accuracy is judged together with the flip rate.
    """
    gold = np.array(CLASSES)[labels()]
    run, example = np.divmod(np.arange(N_RUNS * N_EXAMPLES), N_EXAMPLES)
    tables = [
        pa.table(
            {
                "run": run,
                "example": example,
                "label": gold[example],
                "prediction": expected_answers(arm)[run, example],
            }
        )
        for arm in ARMS
    ]

    (arm,) = sp.compare(targets[kind], match_rates=True).arms

    (expected,) = sp.compare(tables).arms
    assert set(arm.effects) == set(expected.effects)
    for name, contrast in arm.contrasts.items():
        effect, other = contrast.effect(), expected.contrasts[name].effect()
        # Follow the rate, which is estimated: no verdict.
        if name in {"accuracy", "balanced_accuracy", "macro_f1"}:
            judged = arm.effects[name]
            assert (judged.verdict, judged.low, judged.high) == ("not tested", None, None)
            assert judged.value == pytest.approx(other.value, rel=1e-9, abs=1e-12)
            continue
        assert (effect.verdict, effect.over) == (other.verdict, other.over)
        assert [effect.value, effect.low, effect.high] == [
            end if end is None else pytest.approx(end, rel=1e-9, abs=1e-12)  # sums in another order
            for end in (other.value, other.low, other.high)
        ]


def test_drift_is_a_difference_unless_rates_are_matched(targets):
    """The arms rank examples alike, and differ only in the drift of thresholds."""
    plain, matched = (sp.compare(targets["csv"], match_rates=match) for match in (False, True))

    assert plain.effect("calm", "flip_rate").verdict == "steadier"
    assert matched.effect("calm", "flip_rate").verdict == "no difference shown"


def test_metrics_of_probabilities_and_explanations_are_left_out(make_explained_store):
    """Thresholds do not change them."""
    rng = np.random.default_rng(0)
    tokens = [["a", "b", "c"]] * 30
    arms = {}
    for arm in ARMS:
        second = rng.random((3, 30))
        scores = {"lime": [rng.random((3, 1, 3)) for _ in tokens]}
        arms[arm] = (np.stack([1 - second, second], axis=2), scores)
    store = make_explained_store(arms, tokens=tokens, labels=rng.integers(0, 2, 30))

    plain, matched = (sp.compare(store, match_rates=match) for match in (False, True))

    for with_all, arm in zip(
        (plain.baseline, *plain.arms), (matched.baseline, *matched.arms), strict=True
    ):
        assert set(with_all.measurement.metrics) >= OF_PROBABILITIES
        assert OF_PROBABILITIES.isdisjoint(arm.measurement.metrics)
        assert with_all.measurement.explanations
        assert not arm.measurement.explanations
    assert set(matched.arms[0].effects) == set(matched.baseline.measurement.metrics)
    assert not matched.arms[0].explanations


def test_runs_of_a_store_stay_paired_and_columns_are_carried(targets):
    """With their costs; further columns are shown with examples."""
    of_store = sp.compare(targets["store"], match_rates=True)
    texts = [
        table_of(arm).append_column(
            "text", pa.array([f"text {e}" for e in table_of(arm)["example"]])
        )
        for arm in ARMS
    ]

    of_tables = sp.compare(texts, match_rates=True, paired=True)

    assert of_store.arms[0].is_paired
    assert "seconds" in of_store.arms[0].costs
    assert of_tables.arms[0].is_paired
    shown = of_tables.view(show=["text"]).moved[0]
    assert all(
        example.shown == (f"text {example.example}",)
        for example in (*shown.settled, *shown.unsettled)
    )
    assert shown.settled or shown.unsettled


def test_a_study_matches_rates(tmp_path):
    """`Study.compare` has the option."""
    study = make_store(tmp_path)

    assert (
        study.compare(match_rates=True).to_json()
        == sp.compare(study.store, match_rates=True).to_json()
    )


# -------------------------------------------------------------------------------- what is reported


def test_summary_has_the_rates_only_if_they_are_matched(targets):
    """Per arm, the range over runs before and the rate after."""
    plain, matched = (
        sp.compare(targets["store"], match_rates=match).summary() for match in (False, True)
    )

    assert "match_rates" not in plain
    assert matched["match_rates"] is True
    for arm, before, after in zip(
        ARMS,
        (plain["baseline"], *plain["arms"]),
        (matched["baseline"], *matched["arms"]),
        strict=True,
    ):
        shares = (second_of(arm) > 0.5).mean(axis=1)
        assert "matched_rate" not in before
        assert after["matched_rate"] == {
            "answer": "positive",
            "lowest_before": pytest.approx(shares.min()),
            "highest_before": pytest.approx(shares.max()),
            "after": pytest.approx((expected_answers(arm) == "positive").mean()),
        }


def test_terminal_page_and_json_have_the_matched_rates(targets, seedproof, tmp_path):
    """The files of the command equal those of Python."""
    expected = sp.compare(targets["store"], match_rates=True)
    rates = {arm.name: arm.matched_rate for arm in (expected.baseline, *expected.arms)}

    code, out, _ = seedproof(
        "compare", targets["store"], "--match-rates", "--out", tmp_path / "out"
    )

    assert code == 0
    written = (tmp_path / "out" / "comparison.json").read_text(encoding="utf-8")
    page = (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
    assert written == expected.to_json()
    (note,) = [note for note in json.loads(written)["notes"] if "positive" in note]
    text = " ".join(out.split())
    for place in (note.replace("\N{NO-BREAK SPACE}", " "), text.replace("\N{NO-BREAK SPACE}", " ")):
        for arm, rate in rates.items():
            assert arm in place
            for share in (rate.lowest_before, rate.highest_before, rate.after):
                assert f"{100 * share:.1f} %" in place
    assert note.split(";")[-1] in page
    assert max(map(len, out.splitlines())) <= 80


def test_json_on_the_command_line_is_that_of_python(targets, seedproof):
    """From tables, with the options of tables."""
    code, out, _ = seedproof("compare", *targets["csv"], "--match-rates", "--paired", "--json")

    assert code == 0
    assert out == sp.compare(targets["csv"], match_rates=True, paired=True).to_json()


def test_input_with_probabilities_has_no_note_on_missing_ones(targets):
    """The metrics are missing because of matching."""
    plain = sp.compare([expected_answers(arm) for arm in ARMS]).view()
    matched = sp.compare(targets["array"], match_rates=True).view()

    assert len(matched.notes) == len(plain.notes) + 1  # two on matching, one less on the input


# --------------------------------------------------------------------------------------- refusals


def test_reports_have_no_probabilities_to_match(targets, tmp_path):
    """Neither as objects nor as folders."""
    reports = [sp.measure(table) for table in targets["dataframe"]]
    folders = [tmp_path / arm for arm in ARMS]
    for report, folder in zip(reports, folders, strict=True):
        report.save(folder)

    for given in (reports, folders):
        with pytest.raises(OptionError) as caught:
            sp.compare(given, match_rates=True)
        assert caught.value.code == "SP115"


PROBS = np.full((2, 4, 2), 0.5)


@pytest.mark.parametrize(
    ("targets", "error"),
    [
        ([PROBS, np.array([[0, 1, 1, 0], [0, 0, 1, 1]])], OptionError),
        ([np.full((2, 4, 3), 1 / 3)] * 2, ClassesError),
        (
            [
                table_of("none").drop("label"),
                table_of("calm", classes=("false", "true")).drop("label"),
            ],
            ClassesError,
        ),
        ([PROBS, np.full((2, 3, 2), 0.5)], MissingExampleError),
    ],
    ids=["no-probabilities", "three-classes", "other-classes", "other-examples"],
)
def test_arms_that_cannot_be_matched_are_refused(targets, error):
    """With the error of the first problem."""
    with pytest.raises(error) as caught:
        sp.compare(targets, match_rates=True)

    assert type(caught.value) is error


def test_top_classes_are_refused(tmp_path):
    """Probabilities of the other classes are unknown."""

    def log(run):
        second = second_of(run.arm)[int(run.name)]
        run.log_predictions(
            "test",
            ids=np.arange(N_EXAMPLES),
            top_classes=np.tile([0, 1], (N_EXAMPLES, 1)),
            top_probs=np.stack([1 - second, second], axis=1),
            classes=("a", "b", "c"),
        )

    sp.Study("top", log, seeds=2, arms=list(ARMS), store=tmp_path / "runs").run(
        engine="serial", progress=False
    )

    with pytest.raises(OptionError):
        sp.compare(tmp_path / "runs", match_rates=True)


def test_command_refuses_two_versions(targets, seedproof):
    """One line with the error's code, and exit code 2."""
    old, new = targets["csv"]

    code, out, err = seedproof("compare", "--old", old, "--new", new, "--match-rates")

    assert (code, out) == (2, "")
    assert err.startswith("error SP115: ")
    assert len(err.strip().splitlines()) == 1
