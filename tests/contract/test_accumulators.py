"""The contract of all families of metrics."""

import pickle

import numpy as np
import pytest

from seedproof.metrics import FAMILIES, METRIC_NAMES, Batch
from seedproof.metrics.card import card
from seedproof.records.probabilities import UNLABELED, TopProbs
from seedproof.stats.intervals import Estimate, estimate

# Figures that say how good runs are; all others say how far they are apart.
LEVELS = {
    *("accuracy", "balanced_accuracy", "macro_f1"),
    *("ece", "ece_corrected", "mce", "nll", "brier"),
}


def study(needs=frozenset({"labels", "probs"}), *, seed=0, n_runs=4, n_examples=20, n_classes=3):
    """Return a batch with the needed data only."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(n_classes), size=(n_runs, n_examples))
    labels = rng.integers(0, n_classes, n_examples) if "labels" in needs else None
    if "probs" in needs:
        return Batch.from_probs(probs, labels)
    if needs & {"confidence", "truncated"}:
        classes = np.argsort(-probs, axis=2)[:, :, :2].astype(np.int32)
        top = TopProbs(classes, np.take_along_axis(probs, classes, axis=2))
        return Batch.from_top(top, n_classes, labels)
    return Batch(probs.argmax(axis=2), n_classes=n_classes, labels=labels)


def accumulated(family, *batches, n_runs=4, n_classes=3):
    accumulator = family(n_runs, n_classes)
    for batch in batches:
        accumulator.update(batch)
    return accumulator


def values_of(family, batch):
    """Return the values of a family for each example."""
    return family(batch.n_runs, batch.n_classes).update(batch)


def estimates_of(accumulator):
    return {name: estimate(value) for name, value in accumulator.result().items()}


@pytest.mark.parametrize("family", FAMILIES)
class TestAccumulator:
    """The contract, for each family."""

    def test_figures_have_unique_lowercase_names(self, family):
        assert family.figures
        assert len(set(family.figures)) == len(family.figures)
        assert all(name.isidentifier() and name.islower() for name in family.figures)

    def test_every_figure_has_a_card(self, family):
        for name in family.figures:
            assert card(name).name == name

    def test_needs_and_memory_are_declared(self, family):
        assert family.needs <= {"labels", "confidence", "probs", "truncated"}
        assert family.memory
        assert "examples" not in family.memory

    def test_result_has_exactly_the_declared_figures_in_order(self, family):
        assert tuple(accumulated(family, study()).result()) == family.figures

    def test_every_figure_has_an_estimate(self, family):
        """A finite value, inside its interval if it has one."""
        for figure in estimates_of(accumulated(family, study())).values():
            assert isinstance(figure, Estimate)
            assert np.isfinite(figure.value)
            assert (figure.low is None) == (figure.high is None) == (figure.over is None)
            if figure.low is not None:
                assert figure.low <= figure.value <= figure.high

    def test_declared_needs_suffice(self, family):
        batch = study(family.needs)

        assert tuple(accumulated(family, batch).result()) == family.figures
        values_of(family, batch)

    @pytest.mark.parametrize("n_classes", [2, 7])
    @pytest.mark.parametrize("n_runs", [2, 3, 12])
    def test_two_or_more_runs_and_classes_work(self, family, n_runs, n_classes):
        batch = study(n_runs=n_runs, n_classes=n_classes)

        accumulator = accumulated(family, batch, n_runs=n_runs, n_classes=n_classes)

        assert all(np.isfinite(figure.value) for figure in estimates_of(accumulator).values())

    def test_one_example_is_enough(self, family):
        estimates = estimates_of(accumulated(family, study(n_examples=1)))

        assert all(np.isfinite(value.value) for value in estimates.values())

    def test_columns_have_one_value_per_example(self, family):
        for values in values_of(family, study(n_examples=13)).values():
            assert values.shape == (13,)

    @pytest.mark.parametrize(
        "needs",
        [frozenset({"probs", "confidence"}), frozenset({"probs", "confidence", "labels"})],
    )
    def test_columns_do_not_depend_on_the_batch(self, family, needs):
        if not family.needs <= needs:
            pytest.skip("this family needs something else")
        batch = study(needs)
        labels = batch.labels
        halves = [
            Batch.from_probs(batch.probs[:, rows], None if labels is None else labels[rows])
            for rows in (slice(0, 7), slice(7, 20))
        ]

        whole = values_of(family, batch)

        for name, values in whole.items():
            parts = np.concatenate([values_of(family, half)[name] for half in halves])
            np.testing.assert_array_equal(parts, values)

    def test_detail_has_small_numeric_arrays(self, family):
        for values in accumulated(family, study()).detail().values():
            assert isinstance(values, np.ndarray)
            assert values.dtype.kind in "if"
            assert values.size < 10_000

    def test_size_does_not_grow_with_the_number_of_examples(self, family):
        batch = study()
        few = accumulated(family, *[batch] * 10)
        many = accumulated(family, *[batch] * 1000)

        sizes = len(pickle.dumps(few)), len(pickle.dumps(many))

        # Longer integers take a few bytes more.
        assert sizes[1] == pytest.approx(sizes[0], rel=0.03)

    def test_pickled_copy_is_the_same(self, family):
        accumulator = accumulated(family, study(seed=1), study(seed=2))

        copy = pickle.loads(pickle.dumps(accumulator))  # noqa: S301 - our own bytes

        assert estimates_of(copy) == estimates_of(accumulator)

    def test_merging_an_empty_part_changes_nothing(self, family):
        """From either side, to the last bit."""
        expected = estimates_of(accumulated(family, study()))

        after, before = accumulated(family, study()), family(4, 3)
        after.merge(family(4, 3))
        before.merge(accumulated(family, study()))

        assert estimates_of(after) == expected
        assert estimates_of(before) == expected

    def test_merging_does_not_change_the_other_part(self, family):
        part = accumulated(family, study(seed=1))
        expected = estimates_of(part)
        whole = family(4, 3)

        whole.merge(part)
        whole.update(study(seed=2))

        assert estimates_of(part) == expected

    @pytest.mark.parametrize("n_runs", [2, 3, 7, 10])
    def test_identical_runs_have_no_spread(self, family, n_runs):
        """Exactly 0, although the mean of 0.1 three times is not 0.1."""
        single = study(n_runs=1, n_examples=50)
        batch = Batch.from_probs(np.repeat(single.probs, n_runs, axis=0), single.labels)

        estimates = estimates_of(accumulated(family, batch, n_runs=n_runs))

        spreads = {value.value for name, value in estimates.items() if name not in LEVELS}
        assert spreads <= {0.0}

    def test_unlabeled_examples_do_not_count(self, family):
        if "labels" not in family.needs:
            pytest.skip("this family needs no labels")
        batch = study()
        labels = np.where(np.arange(20) % 3 == 0, UNLABELED, batch.labels)
        known, unknown = labels != UNLABELED, np.full(20, UNLABELED)

        accumulator = accumulated(family, Batch.from_probs(batch.probs, labels))
        before = estimates_of(accumulator)
        accumulator.update(Batch.from_probs(batch.probs, unknown))

        assert estimates_of(accumulator) == before
        some = estimates_of(
            accumulated(family, Batch.from_probs(batch.probs[:, known], labels[known]))
        )
        # The same numbers in arrays of another layout: sums may round differently.
        for name, value in some.items():
            assert before[name].value == pytest.approx(value.value, rel=1e-12)

    def test_reading_results_does_not_change_them(self, family):
        accumulator = accumulated(family, study(seed=1))

        accumulator.result()
        accumulator.detail()
        accumulator.update(study(seed=2))

        assert estimates_of(accumulator) == estimates_of(
            accumulated(family, study(seed=1), study(seed=2))
        )

    def test_updating_does_not_change_the_batch(self, family):
        batch, fresh = study(), study()

        accumulated(family, batch)
        values_of(family, batch)

        np.testing.assert_array_equal(batch.predictions, fresh.predictions)
        np.testing.assert_array_equal(batch.probs, fresh.probs)
        np.testing.assert_array_equal(batch.labels, fresh.labels)


@pytest.mark.parametrize("family", [family for family in FAMILIES if "probs" in family.needs])
def test_families_that_need_probabilities_refuse_predictions_alone(family):
    with pytest.raises(ValueError):
        accumulated(family, study(frozenset({"labels"})))


def test_no_figure_belongs_to_two_families():
    assert len(set(METRIC_NAMES)) == len(METRIC_NAMES)


@pytest.mark.parametrize("part", ["detail", "columns"])
def test_no_two_families_share_the_name_of_an_array(part):
    """All arrays end up in one mapping."""
    batch = study()
    names = [
        name
        for family in FAMILIES
        for name in (
            accumulated(family, batch).detail() if part == "detail" else values_of(family, batch)
        )
    ]

    assert len(set(names)) == len(names)
