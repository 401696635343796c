"""The pass over explanations of a store: figures, noise, curves, and the least stable examples."""

import json
from functools import partial

import numpy as np
import pytest

from seedproof.engines.processes import ProcessEngine
from seedproof.errors import EmptyInputError
from seedproof.measurement.explanations import ExplanationMeasurement
from seedproof.measurement.explanations.illustrations import (
    OTHER_ANSWERS,
    OTHER_EXPLANATIONS,
    SAME_EXPLANATIONS,
)
from seedproof.measurement.explanations.measure import estimate_figure, measure_explanations
from seedproof.measurement.explanations.result import ExplanationSummary
from seedproof.metrics.explanations import Explanations, RaggedScores
from seedproof.metrics.statistic import MeanOverExamples
from seedproof.records import explanations
from seedproof.records.decoding import decode
from seedproof.records.explanation_shards import open_explanations
from seedproof.records.location import Location
from seedproof.testing.errors import WithFields
from support.explained import write_explained
from support.explanation_oracles import SLOW_FIGURES, slow_noise
from support.oracles import slow_two_way_interval

N_RUNS = 4


def make_scores(lengths, *, n_draws=1, seed=0):
    """Scores of each example, axes (runs, draws, tokens): runs differ, and draws a little."""
    rng = np.random.default_rng(seed)
    return [
        np.exp(
            rng.normal(0, 1, n)
            + rng.normal(0, 0.5, (N_RUNS, 1, n))
            + rng.normal(0, 0.1, (N_RUNS, n_draws, n))
        ).astype(np.float32)
        for n in lengths
    ]


@pytest.fixture
def make(tmp_path):
    """Write a store of explanations, and of predictions if there are any."""
    return partial(write_explained, Location.of(tmp_path / "store"))


def measured(store, **options):
    """Measure the explanations by the only method."""
    source = open_explanations(store, arm="none", split="test", method="lime")
    predictions = store.shards(arm="none", split="test") if store.splits() else None
    return measure_explanations(source, predictions=predictions, **options)


def slow_values(scores, name):
    """A figure between the first draws, per example."""
    return [SLOW_FIGURES[name](example[:, 0].astype(np.float64)) for example in scores]


def slow_means(scores, name):
    """A figure between the first draws, averaged over examples."""
    return np.mean(slow_values(scores, name))


def test_figures_are_means_over_examples(make):
    """Each equals the mean of its loop, for any lengths."""
    scores = make_scores([3, 8, 8, 1, 12, 30])
    result = measured(make(range(6), scores))

    assert (result.n_runs, result.n_examples, result.notes) == (N_RUNS, 6, ())
    for name, value in result.metrics.items():
        assert value.value == pytest.approx(slow_means(scores, name), rel=1e-9)
        assert value.low < value.value < value.high
        assert value.over == "runs × examples"


def test_interval_of_tau_is_made_on_the_scale_of_a_share():
    """(1 + τ)/2 has a logit where τ, which may be negative, has none."""
    rng = np.random.default_rng(5)
    data = np.abs(rng.normal(0, 1, (1, 30, 9)) + rng.normal(0, 1, (5, 30, 9)))

    def half(runs):
        taus = [SLOW_FIGURES["explanation_tau"](example) for example in runs.transpose(1, 0, 2)]
        return (1 + np.array(taus)) / 2

    family = Explanations(5)
    family.update(RaggedScores(data.reshape(5, -1), np.full(30, 9)))

    result = estimate_figure("explanation_tau", family.result()["explanation_tau"])

    low, high = slow_two_way_interval(half, data, scale="logit")
    assert (result.low, result.high) == pytest.approx((2 * low - 1, 2 * high - 1), rel=1e-8)


def test_negative_tau_has_an_interval():
    """Rankings that contradict each other."""
    statistic = MeanOverExamples(
        value=-0.2,
        n_examples=50,
        without=np.array([-0.1, -0.2, -0.3]),
        example_variance=1e-4,
        interaction_variance=0.0,
        scale="logit",
        largest=1.0,
    )

    result = estimate_figure("explanation_tau", statistic)

    assert result.value == -0.2
    assert -1 < result.low < -0.2 < result.high < 1


# ------------------------------------------------------------------------------------- noise


def test_every_figure_has_its_noise(make):
    """Draws of one run differ less than runs, and their figures equal the loop."""
    scores = make_scores([5, 9, 9, 14], n_draws=3)
    result = measured(make(range(4), scores))

    assert result.n_repeated == 4
    assert result.noise.keys() == result.metrics.keys()
    for name, value in result.noise.items():
        expected = np.mean([slow_noise(draws.astype(np.float64), name) for draws in scores])
        assert value.value == pytest.approx(expected, rel=1e-9)
    for name in ("explanation_kl", "explanation_js"):
        assert result.noise[name].high < result.metrics[name].low


def test_noise_of_one_draw_is_unknown(make):
    """It is None, not 0."""
    result = measured(make(range(2), make_scores([5, 9])))

    assert result.noise is None
    assert result.n_repeated == 0


def test_noise_may_cover_some_examples_only(make):
    """Two draws of a few examples are enough."""
    scores = [*make_scores([5, 6], n_draws=2), *make_scores([7], seed=1)]
    result = measured(make(range(3), scores))

    assert (result.n_examples, result.n_repeated) == (3, 2)
    repeated = [slow_noise(draws.astype(np.float64), "explanation_kl") for draws in scores[:2]]
    expected = np.mean(repeated)
    assert result.noise["explanation_kl"].value == pytest.approx(expected, rel=1e-9)


# ---------------------------------------------------------------------------------------- curves


def run_probs(mean):
    """Probabilities of all runs around given means of the second class, exact in their mean."""
    shift = np.array([-0.02, -0.01, 0.01, 0.02])[:, None]
    second = np.asarray(mean) + shift
    return np.stack([1 - second, second], axis=2).astype(np.float32)


def test_curves_bin_by_the_mean_probability_of_the_second_class(make):
    """Ten bins; examples without an explanation or a prediction are left out."""
    mean = [0.05, 0.33, 0.35, 0.95, 0.5, 0.62]
    scores = make_scores([4, 6, 7, 5, 8])
    # Example 5 is not explained, example 9 is not predicted.
    store = make([0, 1, 2, 3, 9], scores, probs=run_probs(mean), predicted=[0, 1, 2, 3, 5, 7])

    curves = measured(store).curves

    assert curves.classes == ("yes",)
    assert curves.counts.tolist() == [[1, 0, 0, 2, 0, 0, 0, 0, 0, 1]]
    kl = slow_values(scores, "explanation_kl")
    expected = np.array([kl[0], (kl[1] + kl[2]) / 2, kl[3]])
    np.testing.assert_allclose(curves.means["explanation_kl"][0][[0, 3, 9]], expected, rtol=1e-9)
    assert np.isnan(curves.means["explanation_kl"][0][1])
    errors = curves.errors["explanation_kl"][0]
    assert errors[3] == pytest.approx(np.std(kl[1:3], ddof=1) / np.sqrt(2), rel=1e-6)
    assert np.isnan(errors[0])


def test_three_classes_have_three_curves(make):
    """Each example is in one bin of each curve, as in Figure 9 of the paper."""
    probs = np.array([[[0.05, 0.23, 0.72], [0.95, 0.05, 0.0]]] * N_RUNS, dtype=np.float32)
    store = make(
        [1, 2], make_scores([4, 6]), probs=probs, predicted=[1, 2], classes=("a", "b", "c")
    )

    curves = measured(store).curves

    assert curves.classes == ("a", "b", "c")
    assert np.argwhere(curves.counts).tolist() == [[0, 0], [0, 9], [1, 0], [1, 2], [2, 0], [2, 7]]


@pytest.mark.parametrize(
    ("explained", "predicted", "expected"),
    [
        ([10, 9, 2], ["10", "2", "9", "x"], [1, 1, 1]),
        (["10", "y"], [9, 10], [0, 1, 0]),
        (["a", "é"], ["B", "a", "é"], [0, 1, 1]),
    ],
    ids=["numbers-among-text", "text-among-numbers", "text"],
)
def test_ids_match_across_types(make, explained, predicted, expected):
    """Ids of explanations may all be integers where those of predictions are text."""
    mean = [0.05, 0.15, 0.25, 0.35][: len(predicted)]
    store = make(
        sorted(explained),
        make_scores([3] * len(explained)),
        probs=run_probs(mean),
        predicted=predicted,
        rows=1,
    )

    assert measured(store).curves.counts[0, : len(expected)].tolist() == expected


def test_curves_need_predicted_probabilities(make):
    """The predicted class alone has no bin."""
    classes = np.zeros((N_RUNS, 2), dtype=np.int32)
    store = make([1, 2], make_scores([4, 6]), probs=classes, predicted=[1, 2])

    assert measured(store).curves is None


def test_explanations_alone_are_measured(make):
    """Without predictions there is no curve, and no note either."""
    result = measured(make([1], make_scores([4])))

    assert (result.curves, result.notes) == (None, ())


# ----------------------------------------------------------------------------------- the examples


def test_least_stable_examples_have_the_scores_of_each_run(make):
    """Sorted by the divergence, with tokens and the scores of each run's first draw."""
    scores = make_scores([5, 9, 4], n_draws=2)
    result = measured(make([10, 20, 30], scores))

    js = slow_values(scores, "explanation_js")
    order = np.argsort(js)[::-1]
    assert result.unstable_examples.column("example").to_pylist() == [
        [10, 20, 30][i] for i in order
    ]
    top = result.unstable_examples.slice(0, 1).to_pylist()[0]
    assert top["tokens"] == [f"w{i}" for i in range([5, 9, 4][order[0]])]
    assert top["scores"] == scores[order[0]][:, 0].tolist()
    assert top["explanation_js"] == pytest.approx(js[order[0]], rel=1e-9)


def test_at_most_50_least_stable_examples_are_kept(make):
    """Over all shards."""
    scores = make_scores([6] * 120)
    result = measured(make(range(120), scores))

    js = np.array(slow_values(scores, "explanation_js"))
    assert result.unstable_examples.num_rows == 50
    assert result.unstable_examples.column("example").to_pylist() == np.argsort(-js)[:50].tolist()


def steady(n_tokens, *, spread):
    """Scores of one example that differ more between runs, the larger the spread."""
    rng = np.random.default_rng(n_tokens)
    noise = rng.normal(0, spread, (N_RUNS, 1, n_tokens))
    return np.exp(rng.normal(0, 1, n_tokens) + noise).astype(np.float32)


def test_illustrations_are_selected_by_rule(make):
    """Agreed and most different, split and most different, agreed and closest; none is short."""
    spreads = {10: 0.5, 11: 2.0, 12: 0.01, 13: 1.0, 14: 0.3, 15: 3.0}
    scores = [steady(6 + i % 7, spread=spread) for i, spread in spreads.items()]
    scores[-1] = scores[-1][:, :, :4]  # most different of all, but short
    probs = run_probs([0.9, 0.8, 0.7, 0.5, 0.5, 0.9])
    result = measured(make(list(spreads), scores, probs=probs))

    rows = {row["rule"]: row for row in result.illustrations.to_pylist()}

    assert {rule: row["example"] for rule, row in rows.items()} == {
        OTHER_EXPLANATIONS: "11",
        OTHER_ANSWERS: "13",
        SAME_EXPLANATIONS: "12",
    }
    split = rows[OTHER_ANSWERS]
    assert split["predictions"] == [0, 0, 1, 1]
    np.testing.assert_allclose(split["confidences"], [0.52, 0.51, 0.51, 0.52], rtol=1e-6)
    assert split["scores"] == scores[3][:, 0].tolist()
    assert split["tokens"] == [f"w{i}" for i in range(scores[3].shape[2])]


def test_no_example_is_shown_twice(make):
    """If runs agree on one example only, it is both the closest and the most different."""
    result = measured(make([1], [steady(6, spread=1.0)], probs=run_probs([0.9])))

    assert result.illustrations.column("rule").to_pylist() == [OTHER_EXPLANATIONS]


def test_examples_on_which_all_runs_agree_have_their_own_means(make):
    """Over these examples alone."""
    scores = make_scores([5, 6, 7])
    result = measured(make([1, 2, 3], scores, probs=run_probs([0.9, 0.5, 0.2])))

    assert result.n_agreed == 2
    for name, value in result.agreed.items():
        assert value == pytest.approx(slow_means([scores[0], scores[2]], name), rel=1e-9)


def test_summary_restores_the_same_figures(make):
    """Examples are not saved."""
    store = make(
        [1, 2], make_scores([5, 6], n_draws=2), probs=run_probs([0.9, 0.5]), predicted=[1, 2]
    )
    result = measured(store)
    plain = json.loads(json.dumps(result.summary(), allow_nan=False))

    again = ExplanationMeasurement.from_summary(
        "lime", decode(ExplanationSummary, plain, allow_unknown=True)
    )

    assert json.dumps(again.summary()) == json.dumps(result.summary())
    assert again.illustrations.num_rows == again.unstable_examples.num_rows == 0


# ------------------------------------------------------------------------------------- the pass


def test_shards_and_workers_do_not_change_figures(make, monkeypatch):
    """Many small row groups, in other processes: the same bytes."""
    monkeypatch.setattr(explanations, "ROWS_PER_GROUP", 3)
    scores = make_scores([4, 6, 2, 9, 9, 1, 5], n_draws=2)
    mean = np.linspace(0.05, 0.95, 7)
    store = make(range(7), scores, probs=run_probs(mean), predicted=range(7))
    seen = []

    here = measured(store, progress=lambda done, total: seen.append((done, total)))
    there = measured(store, engine=ProcessEngine(workers=2))

    assert there.summary() == here.summary()
    assert there.unstable_examples.equals(here.unstable_examples)
    assert seen == [(i, 5) for i in range(1, 6)]
    for name in here.metrics:
        assert here.metrics[name].value == pytest.approx(slow_means(scores, name), rel=1e-9)


def test_summary_has_no_text_of_examples(make):
    """Unknown values are null."""
    store = make([1, 2], make_scores([4, 6]), probs=run_probs([0.1, 0.9]), predicted=[1, 2])

    text = json.dumps(measured(store).summary(), allow_nan=False)

    assert "w0" not in text
    plain = json.loads(text)
    assert (plain["n_runs"], plain["noise"]) == (N_RUNS, None)
    assert plain["curves"]["means"]["explanation_kl"][0][5] is None
    assert plain["metrics"]["explanation_kl"]["over"] == "runs × examples"


def test_two_runs_have_an_interval_over_examples(make):
    """Of two runs none can be left out."""
    scores = [runs[:2] for runs in make_scores([4, 6, 8, 5])]

    result = measured(make(range(4), scores))

    assert result.metrics["explanation_kl"].over == "examples"


def test_examples_without_a_token_are_counted_and_left_out(make):
    """An empty text cannot be explained."""
    result = measured(make([1, 2, 3], make_scores([0, 4, 0])))

    assert result.n_examples == 1
    assert [note.code for note in result.notes] == ["examples-without-tokens"]
    assert result.notes[0].fields["n_examples"] == 2


@pytest.mark.parametrize("explained", [[1, 2, 8, 9], [1, 2, 9]], ids=["two", "one"])
def test_explained_examples_without_a_prediction_are_counted(make, explained):
    """They count in the distances, but not where a prediction is needed."""
    scores = make_scores([4] * len(explained))

    result = measured(make(explained, scores, probs=run_probs([0.9, 0.2]), predicted=[1, 2]))

    assert (result.n_examples, result.n_agreed) == (len(explained), 2)
    assert [note.code for note in result.notes] == ["explained-without-prediction"]
    assert result.notes[0].fields["n_examples"] == len(explained) - 2


def test_explanations_without_tokens_are_refused(make):
    """There is nothing to measure."""
    with pytest.raises(EmptyInputError, check=WithFields(method="lime")):
        measured(make([1], make_scores([0])))
