"""Invariants of all metrics."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.metrics import FAMILIES, Batch
from seedproof.metrics.accuracy import Accuracy, accuracy, correctness_variance
from seedproof.metrics.block_statistic import BinnedGaps, BlockJackknife
from seedproof.metrics.calibration import Calibration
from seedproof.metrics.confidence import probability_sd
from seedproof.metrics.divergence import predictive_js, predictive_kl, smooth
from seedproof.metrics.entropy import Entropy, label_entropy, label_entropy_corrected
from seedproof.metrics.flips import Flips, flip_rate
from seedproof.metrics.scores import Scores, brier, nll
from seedproof.metrics.statistic import (
    ExcessSpread,
    MeanOverExamples,
    MeanOverPairs,
    RootOfMean,
    ValueOnly,
    mean_over_runs,
)
from seedproof.stats.intervals import estimate
from seedproof.testing.strategies import batches, class_counts, predictions, probabilities
from support import oracles

# Totals of integers: these are the same to the last bit.
EXACT = ("flip_rate", "accuracy", "ambiguity", "discrepancy", "high_entropy_share")

each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)


def batches_for(family, **limits):
    """Batches with all that a family needs, and sometimes more."""
    kinds = ["some", "all"] if "labels" in family.needs else ["none", "some", "all"]
    with_probs = True if family.needs - {"labels"} else None
    drawn = [batches(known=kind, with_probs=with_probs, **limits) for kind in kinds]
    return st.one_of(drawn).map(select)


def select(batch, *, runs=None, examples=None):
    """Some runs and examples of a batch, in the given order."""
    runs = np.arange(batch.n_runs) if runs is None else np.asarray(runs)
    examples = np.arange(batch.n_examples) if examples is None else np.asarray(examples, dtype=int)
    return Batch(
        batch.predictions[runs][:, examples],
        n_classes=batch.n_classes,
        labels=None if batch.labels is None else batch.labels[examples],
        probs=None if batch.probs is None else batch.probs[runs][:, examples],
        # Where an example is in the whole does not depend on its batch.
        blocks=np.arange(batch.n_examples)[examples] % 5
        if batch.blocks is None
        else batch.blocks[examples],
    )


def feed(accumulator, *parts):
    """The accumulator after some batches."""
    for part in parts:
        accumulator.update(part)
    return accumulator


def measured(family, *parts):
    """A new accumulator after some batches."""
    return feed(family(parts[0].n_runs, parts[0].n_classes), *parts)


def cut(draw_data, batch, n_parts):
    """A batch in so many parts, some of them empty."""
    places = st.lists(st.integers(0, batch.n_examples), min_size=n_parts - 1, max_size=n_parts - 1)
    edges = [0, *sorted(draw_data.draw(places)), batch.n_examples]
    return [select(batch, examples=range(start, end)) for start, end in pairwise(edges)]


def numbers_of(statistic):
    """All that an interval is made from; what belongs to runs is sorted."""
    if isinstance(statistic, ValueOnly):
        return {"value": statistic.value}
    if isinstance(statistic, RootOfMean):
        return numbers_of(statistic.mean) | {"divisor": statistic.divisor}
    if isinstance(statistic, BinnedGaps | BlockJackknife):
        return {
            "values": np.sort(statistic.by_run),
            "drawn": statistic.blocks.example_covariance(statistic.blocks),
            "unseen": statistic.unseen_variance,
            "residual_bias": statistic.residual_bias,
        }
    if isinstance(statistic, MeanOverPairs):
        return {"rows": np.sort(statistic.matrix.sum(axis=1)), "floor": statistic.floor}
    if isinstance(statistic, MeanOverExamples):
        left_out = () if statistic.without is None else np.sort(statistic.without)
        return {
            "value": statistic.value,
            "n_examples": statistic.n_examples,
            "without": left_out,
            "example_variance": statistic.example_variance,
            "interaction_variance": statistic.interaction_variance,
            "bias_left": statistic.bias_left,
        }
    known = statistic.known if isinstance(statistic, ExcessSpread) else 0.0
    return {"values": np.sort(statistic.values), "known": known}


def assert_same(accumulator, other):
    """Two accumulators have the same results: counts exactly, sums to 1e-12.

    The absolute part of the tolerance is for differences of sums of order one, where the digits
    that cancel cannot be had back; for the spread without a run, a root of such a difference, it
    is 1e-10, as the kernel promises.
    """
    results, expected = accumulator.result(), other.result()
    assert results.keys() == expected.keys()
    for name, statistic in results.items():
        if name in EXACT:
            assert estimate(statistic).value == estimate(expected[name]).value, name
        of_expected = numbers_of(expected[name])
        for part, numbers in numbers_of(statistic).items():
            loose = name == "probability_sd" and part in ("without", "interaction_variance")
            np.testing.assert_allclose(
                numbers,
                of_expected[part],
                rtol=1e-12,
                atol=1e-10 if loose else 1e-12,
                err_msg=f"{name}: {part}",
            )


@each_family
@given(data=st.data())
def test_order_of_runs_has_no_effect(family, data):
    """Seeds have no order."""
    batch = data.draw(batches_for(family))
    order = data.draw(st.permutations(range(batch.n_runs)))

    assert_same(measured(family, select(batch, runs=order)), measured(family, batch))


@each_family
@given(data=st.data())
def test_order_of_examples_has_no_effect(family, data):
    """A shuffled file is the same study."""
    batch = data.draw(batches_for(family))
    order = data.draw(st.permutations(range(batch.n_examples)))

    assert_same(measured(family, select(batch, examples=order)), measured(family, batch))


@each_family
@given(data=st.data())
def test_batching_has_no_effect(family, data):
    """Splitting the same records differently never changes a figure."""
    batch = data.draw(batches_for(family))
    parts = cut(data, batch, 3)

    assert_same(measured(family, *parts), measured(family, batch))


@each_family
@given(data=st.data())
def test_merging_is_associative(family, data):
    """(a + b) + c is a + (b + c), so shards may be folded as they come together."""
    first, second, third = cut(data, data.draw(batches_for(family)), 3)

    left = measured(family, first)
    left.merge(measured(family, second))
    left.merge(measured(family, third))
    right = measured(family, second)
    right.merge(measured(family, third))
    whole = measured(family, first)
    whole.merge(right)

    assert_same(left, whole)
    assert_same(left, measured(family, first, second, third))


@each_family
@given(data=st.data())
def test_renaming_classes_has_no_effect(family, data):
    """The numbering of classes is arbitrary.

    The consensus is the smallest class among equals, a choice that a name has to decide: where
    probabilities are followed without a label, only examples with one most frequent class count.
    """
    batch = data.draw(batches_for(family))
    if family.figures == ("probability_sd",):
        votes = (batch.predictions[:, :, None] == np.arange(batch.n_classes)).sum(axis=0)
        clear = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
        clear[0] = True
        batch = select(batch, examples=np.flatnonzero(clear))
        labels = np.full(batch.n_examples, -1) if batch.labels is None else batch.labels.copy()
        labels[0] = max(labels[0], 0)
        batch = Batch(batch.predictions, batch.n_classes, labels=labels, probs=batch.probs)
    new_name = np.array(data.draw(st.permutations(range(batch.n_classes))))
    renamed = Batch(
        new_name[batch.predictions],
        n_classes=batch.n_classes,
        labels=None
        if batch.labels is None
        else np.where(batch.labels < 0, batch.labels, new_name[batch.labels]),
        probs=None if batch.probs is None else batch.probs[:, :, np.argsort(new_name)],
        blocks=batch.blocks,
    )

    assert_same(measured(family, renamed), measured(family, batch))


@each_family
@given(data=st.data())
def test_pickling_midway_has_no_effect(family, data):
    """An accumulator from another process continues exactly as before."""
    first, second = cut(data, data.draw(batches_for(family)), 2)

    halfway = pickle.loads(pickle.dumps(measured(family, first)))  # noqa: S301 - our own bytes

    results = feed(halfway, second).result()
    for name, expected in measured(family, first, second).result().items():
        for part, numbers in numbers_of(expected).items():
            np.testing.assert_array_equal(numbers_of(results[name])[part], numbers)


def agreement(predicted, n_classes):
    """Agreement of these runs."""
    return Batch(predicted, n_classes=n_classes).agreement


def mean_nll(probs, labels):
    """Loss of each example, averaged over runs."""
    gold = np.take_along_axis(probs, labels[None, :, None], axis=2)[:, :, 0]
    return mean_over_runs(nll(gold.astype(np.float64)))


# Kernels by name: the attribute of a batch that they take, and the kernel.
KERNELS = {
    "flip_rate": ("predictions", lambda x, batch: flip_rate(agreement(x, batch.n_classes))),
    "label_entropy": ("predictions", lambda x, batch: label_entropy(agreement(x, batch.n_classes))),
    "label_entropy_corrected": (
        "predictions",
        lambda x, batch: label_entropy_corrected(agreement(x, batch.n_classes)),
    ),
    "accuracy": ("correct", lambda x, _: accuracy(x)),
    "correctness_variance": ("correct", lambda x, _: correctness_variance(x)),
    # The class that is followed stays the same when a run is left out.
    "probability_sd": ("reference_probs", lambda x, _: probability_sd(x)),
    "predictive_kl": ("probs", lambda x, _: predictive_kl(smooth(x))),
    "predictive_js": ("probs", lambda x, _: predictive_js(smooth(x))),
    "nll": ("probs", lambda x, batch: mean_nll(x, batch.labels)),
    "brier": ("probs", lambda x, batch: mean_over_runs(brier(x, batch.labels))),
}


@pytest.mark.parametrize("name", KERNELS)
@given(batch=batches(known="all", with_probs=True, min_runs=3))
def test_leaving_a_run_out_is_deleting_it(name, batch):
    """A kernel without one run equals the kernel of the other runs."""
    attribute, kernel = KERNELS[name]
    data = getattr(batch, attribute)

    values = kernel(data, batch)

    for run_idx, others in enumerate(oracles.slow_deletions(data)):
        left_out = values.without[run_idx] / values.without_denominator
        np.testing.assert_allclose(left_out, kernel(others, batch).values, rtol=0, atol=1e-10)


@given(predicted=class_counts().flatmap(lambda n_classes: predictions(n_classes=n_classes)))
def test_flips_equal_the_loop_over_pairs(predicted):
    """For any predictions."""
    result = measured(Flips, Batch(predicted, n_classes=6)).result()

    flips = oracles.slow_flip_rate(predicted).mean()
    net = oracles.slow_net_flip_rate(predicted)
    assert result["flip_rate"].value == pytest.approx(flips, abs=1e-13)
    assert estimate(result["net_flip_rate"]).value == pytest.approx(net, abs=1e-13)
    assert result["ambiguity"].value == oracles.slow_ambiguity(predicted)
    assert result["discrepancy"].value == oracles.slow_discrepancy(predicted)


@given(probs=class_counts().flatmap(lambda n_classes: probabilities(n_classes=n_classes)))
def test_divergences_equal_the_loops(probs):
    """The mean over ordered pairs to 1e-9, with zeros, certainty and 32 bits."""
    smoothed = smooth(probs)

    divergences = predictive_kl(smoothed).values, predictive_js(smoothed).values

    np.testing.assert_allclose(divergences[0], oracles.slow_predictive_kl(probs), atol=1e-9)
    np.testing.assert_allclose(divergences[1], oracles.slow_predictive_js(probs), atol=1e-9)


@given(batch=batches(known="all", with_probs=True))
def test_calibration_equals_the_loops(batch):
    """Also for confidences on the edge of a bin, which small fractions often are."""
    family = measured(Calibration, batch)
    by_run, result = family.detail(), family.result()
    confidence = batch.probs.max(axis=2).astype(np.float64)

    assert result["ece"].value == pytest.approx(by_run["ece_by_run"].mean(), abs=1e-15)
    for run_idx, right in enumerate(batch.predictions == batch.labels):
        ece, mce = oracles.slow_calibration_errors(confidence[run_idx], right)
        assert by_run["ece_by_run"][run_idx] == pytest.approx(ece, abs=1e-13)
        assert by_run["mce_by_run"][run_idx] == pytest.approx(mce, abs=1e-13)
        debiased = oracles.slow_debiased_error(confidence[run_idx], right)
        assert result["ece_corrected"].by_run[run_idx] == pytest.approx(debiased, abs=1e-12)


@given(batch=batches(known="all", with_probs=True))
def test_scores_equal_the_loops(batch):
    """Also for certain answers, right and wrong."""
    by_run = measured(Scores, batch).detail()

    losses = oracles.slow_nll(batch.probs, batch.labels).mean(axis=1)
    np.testing.assert_allclose(by_run["nll_by_run"], losses, atol=1e-12)
    scores = oracles.slow_brier(batch.probs, batch.labels).mean(axis=1)
    np.testing.assert_allclose(by_run["brier_by_run"], scores, atol=1e-12)


@given(batch=batches(with_probs=True))
def test_spreads_equal_the_loop(batch):
    """Also where one run makes all of the spread."""
    values = probability_sd(batch.reference_probs).values

    expected = oracles.slow_probability_sd(batch.reference_probs)
    np.testing.assert_allclose(values, expected, atol=1e-14)
    assert (values <= np.sqrt(0.5) + 1e-15).all()


@given(batch=batches())
def test_flips_are_in_order(batch):
    """Net flips ≤ flips ≤ the worst pair ≤ what any run touches ≤ all."""
    result = {
        name: estimate(value).value for name, value in measured(Flips, batch).result().items()
    }

    # Two different means of the same counts: rounding.
    assert 0 <= result["net_flip_rate"] <= result["flip_rate"] * (1 + 1e-12)
    assert result["flip_rate"] <= result["discrepancy"] * (1 + 1e-12)
    assert result["discrepancy"] <= result["ambiguity"] <= 1


@given(batch=batches())
def test_entropies_equal_the_loops(batch):
    """Plug-in and jackknife, by counting and by deleting."""
    result = measured(Entropy, batch).result()

    plain = oracles.slow_label_entropy(batch.predictions).mean()
    corrected = oracles.slow_label_entropy_corrected(batch.predictions).mean()
    assert result["label_entropy"].value == pytest.approx(plain, abs=1e-13)
    assert result["label_entropy_corrected"].value == pytest.approx(corrected, abs=1e-12)
    assert 0 <= plain <= np.log(min(batch.n_runs, batch.n_classes)) + 1e-12


@given(batch=batches(known="all"))
def test_two_classes_tie_the_independent_sd_to_flips(batch):
    """√(flip rate / 2n) with two classes, and never more with others."""
    independent = measured(Accuracy, batch).result()["accuracy_sd_independent"]
    flips = measured(Flips, batch).result()["flip_rate"].value

    variance = estimate(independent).value ** 2
    limit = flips / (2 * batch.n_examples)
    if batch.n_classes == 2:
        assert variance == pytest.approx(limit, abs=1e-14)
    else:
        assert variance <= limit + 1e-14


@each_family
@given(data=st.data())
def test_a_value_lies_in_its_interval(family, data):
    """People expect it, for every figure of any study."""
    batch = data.draw(batches_for(family))

    for name, statistic in measured(family, batch).result().items():
        figure = estimate(statistic)
        assert np.isfinite(figure.value), name
        if figure.low is not None:
            assert 0 <= figure.low <= figure.value <= figure.high, name


@each_family
@given(data=st.data())
def test_no_interval_is_narrower_than_over_the_examples_alone(family, data):
    """Few runs may agree by chance, and the examples are a sample all the same."""
    batch = data.draw(batches_for(family))

    for name, statistic in measured(family, batch).result().items():
        mean = statistic.mean if isinstance(statistic, RootOfMean) else statistic
        if not isinstance(mean, MeanOverExamples) or mean.n_examples == 1:
            continue
        figure, alone = estimate(mean), estimate(replace(mean, without=None))
        if figure.low is not None:
            assert figure.low < figure.high, name
        # If all examples have the same value, their bound is not from a variance.
        if mean.example_variance > 1e-12:
            assert figure.low <= alone.low < alone.high <= figure.high, name
