"""Families of lists and sets: slow loops, public oracles, and the contract of accumulators."""

import pickle
from itertools import combinations

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, R, Success, nDCG
from seqeval.metrics import f1_score as entity_f1
from sklearn.metrics import f1_score, precision_score, recall_score

from seedproof.metrics.card import card, card_name
from seedproof.metrics.items import RANKING_FAMILIES, SET_FAMILIES
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.items.exposure import Exposure
from seedproof.metrics.items.family import Catalog, catalog_of
from seedproof.metrics.items.labels import LabelFlips
from seedproof.metrics.items.rankings import RankingQuality
from seedproof.metrics.items.runs import ItemEquality
from seedproof.metrics.items.sets import SetQuality
from seedproof.records.items import NO_ITEM, Relevance
from seedproof.stats.intervals import estimate
from support.items import packed

FAMILIES = [(family, "rankings") for family in RANKING_FAMILIES]
FAMILIES += [(family, "sets") for family in SET_FAMILIES if family is not ItemEquality]


def catalog(n_items=12, depth=5):
    return catalog_of(tuple(f"i{item}" for item in range(n_items)), depth)


def drawn(kind, *, seed=0, n_runs=4, n_examples=30, n_items=12, depth=5):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_examples, n_items))
    noisy = scores + rng.normal(size=(n_runs, *scores.shape))
    if kind == "sets":
        items, right = packed(noisy > 0.8), packed(scores > 0.8)
    else:
        items, right = np.argsort(-noisy, axis=2)[:, :, :8], np.argsort(-scores, axis=1)[:, :3]
    return ItemBatch(items, Relevance(right, np.ones(n_examples, dtype=bool)), depth)


def accumulated(family, *batches, n_runs=4, of=None):
    accumulator = family(n_runs, of or catalog())
    for batch in batches:
        accumulator.update(batch)
    return accumulator


def estimates_of(accumulator):
    return {name: estimate(value) for name, value in accumulator.result().items()}


@pytest.mark.parametrize(("family", "kind"), FAMILIES)
class TestContract:
    """The contract of all families."""

    def test_every_result_has_a_declared_card(self, family, kind):
        for name in accumulated(family, drawn(kind)).result():
            assert card_name(name) in family.figures
            assert card(name).summary

    def test_values_are_inside_their_intervals(self, family, kind):
        for figure in estimates_of(accumulated(family, drawn(kind))).values():
            assert np.isfinite(figure.value)
            if figure.low is not None:
                assert figure.low <= figure.value <= figure.high

    @pytest.mark.parametrize("n_runs", [2, 3, 9])
    def test_any_number_of_runs_works(self, family, kind, n_runs):
        batch = drawn(kind, n_runs=n_runs)

        assert all(
            np.isfinite(figure.value)
            for figure in estimates_of(accumulated(family, batch, n_runs=n_runs)).values()
        )

    def test_one_example_is_enough(self, family, kind):
        estimates = estimates_of(accumulated(family, drawn(kind, n_examples=1)))

        assert all(np.isfinite(figure.value) for figure in estimates.values())

    def test_equal_runs_are_equal(self, family, kind):
        batch = drawn(kind)
        same = ItemBatch(batch.items[[0, 0, 0, 0]], batch.relevance, batch.depth)

        for name, figure in estimates_of(accumulated(family, same)).items():
            if "_sd" in name or "flips" in name or "distance" in name:
                assert figure.value == pytest.approx(0.0, abs=1e-12)
            if "overlap" in name:
                assert figure.value == pytest.approx(1.0, abs=1e-12)

    def test_parts_add_up(self, family, kind):
        """However examples were divided; blocks are given, as in the measuring pass."""
        batch = drawn(kind)
        blocks = np.arange(batch.n_examples) % 64
        batch = ItemBatch(batch.items, batch.relevance, batch.depth, blocks)
        whole = accumulated(family, batch)

        first = accumulated(family, batch.rows(slice(0, 11)))
        first.merge(accumulated(family, batch.rows(slice(11, None))))

        for name, figure in estimates_of(first).items():
            expected = estimates_of(whole)[name]
            assert figure.value == pytest.approx(expected.value, abs=1e-12)
            assert figure.low == pytest.approx(expected.low, abs=1e-9)
        for name, values in first.detail().items():
            np.testing.assert_allclose(values, whole.detail()[name])

    def test_size_does_not_grow_with_the_number_of_examples(self, family, kind):
        batch = drawn(kind)
        few, many = (accumulated(family, *[batch] * n) for n in (5, 100))

        sizes = len(pickle.dumps(few)), len(pickle.dumps(many))

        assert sizes[1] == pytest.approx(sizes[0], rel=0.05)

    def test_columns_have_one_value_per_example(self, family, kind):
        for values in family(4, catalog()).update(drawn(kind, n_examples=13)).values():
            assert values.shape == (13,)


def test_examples_without_right_items_have_no_quality():
    batch = drawn("rankings", n_examples=20)
    is_known = np.arange(20) % 2 == 0
    known = Relevance(batch.relevance.items, is_known)

    some = accumulated(RankingQuality, ItemBatch(batch.items, known, 5))

    of_known = accumulated(RankingQuality, batch.rows(np.flatnonzero(is_known)))
    assert estimates_of(some) == estimates_of(of_known)
    column = RankingQuality(4, catalog()).update(ItemBatch(batch.items, known, 5))["ndcg"]
    np.testing.assert_array_equal(np.isnan(column), ~is_known)


def test_qualities_of_lists_equal_public_implementations():
    """Those of ir-measures on all examples of a run."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        batch = drawn("rankings", seed=int(rng.integers(1e6)), n_runs=2, n_examples=20)
        qualities = accumulated(RankingQuality, batch, n_runs=2).detail()
        right = [
            ir_measures.Qrel(str(i), str(item), 1)
            for i, items in enumerate(batch.relevance.items)
            for item in items
        ]
        for run, lists in enumerate(batch.items):
            scored = [
                ir_measures.ScoredDoc(str(i), str(item), -rank)
                for i, items in enumerate(lists)
                for rank, item in enumerate(items)
            ]
            expected = ir_measures.calc_aggregate([nDCG @ 5, R @ 5, RR, Success @ 5], right, scored)

            assert qualities["ndcg@5_by_run"][run] == pytest.approx(expected[nDCG @ 5])
            assert qualities["recall@5_by_run"][run] == pytest.approx(expected[R @ 5])
            assert qualities["mrr_by_run"][run] == pytest.approx(expected[RR])
            assert qualities["hit_rate@5_by_run"][run] == pytest.approx(expected[Success @ 5])


def indicators(items, n_items):
    is_given = np.zeros((len(items), n_items + 1), dtype=int)
    np.put_along_axis(is_given, items, 1, axis=1)  # NO_ITEM is the last column
    return is_given[:, :n_items]


def test_qualities_of_sets_equal_scikit_learn():
    rng = np.random.default_rng(5)
    scores = {
        "precision": (precision_score, "micro"),
        "recall": (recall_score, "micro"),
        "micro_f1": (f1_score, "micro"),
        "macro_f1": (f1_score, "macro"),
    }
    for _ in range(12):
        n_items = int(rng.integers(2, 9))
        batch = drawn("sets", seed=int(rng.integers(1e6)), n_runs=2, n_items=n_items)
        detail = accumulated(SetQuality, batch, n_runs=2, of=catalog(n_items)).detail()
        gold = indicators(batch.relevance.items, n_items)
        for run, items in enumerate(batch.items):
            given = indicators(items, n_items)
            # Labels that are neither right nor given do not count.
            used = (gold.any(axis=0) | given.any(axis=0)).nonzero()[0]
            for name, (score, average) in scores.items():
                expected = score(gold[:, used], given[:, used], average=average, zero_division=0.0)
                assert detail[f"{name}_by_run"][run] == pytest.approx(expected)


def test_qualities_of_spans_equal_seqeval():
    """Items are spans, labels their types."""
    rng = np.random.default_rng(6)
    for _ in range(50):
        tags = rng.choice(["O", "B-PER", "B-LOC", "I-PER", "I-LOC"], (3, 6, 9)).tolist()
        spans = [[_spans(document) for document in run] for run in tags]
        names = sorted({span for run in spans for document in run for span in document})
        if not names:
            continue
        place = {name: index for index, name in enumerate(names)}
        is_given = np.zeros((3, 6, len(names)), dtype=bool)
        for run, document in np.ndindex(3, 6):
            is_given[run, document, [place[span] for span in spans[run][document]]] = True
        known = Relevance(packed(is_given[2]), np.ones(6, dtype=bool))
        batch = ItemBatch(packed(is_given[:2]), known)

        detail = accumulated(SetQuality, batch, n_runs=2, of=catalog_of(tuple(names), 10)).detail()

        for run in range(2):
            for average in ("micro", "macro"):
                expected = entity_f1(tags[2], tags[run], average=average, zero_division=0)
                by_run = detail[f"{average}_f1_by_run"][run]
                assert by_run == pytest.approx(expected)


def _spans(tags):
    """Spans of a document in the convention of CoNLL, where I- may begin a span."""
    spans, start, kind = [], 0, None
    for place, tag in enumerate([*tags, "O"]):
        continues = kind is not None and tag == f"I-{kind}"
        if not continues:
            if kind is not None:
                spans.append(f"{start}:{place}:{kind}")
            start, kind = place, None if tag == "O" else tag[2:]
    return spans


def test_label_flips_equal_a_loop_over_pairs():
    """With all runs, and with each one left out; in blocks of any kind."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        n_runs, n_items = int(rng.integers(2, 6)), int(rng.integers(1, 5))
        batch = drawn("sets", seed=int(rng.integers(1e6)), n_runs=n_runs, n_items=n_items)
        flips = accumulated(LabelFlips, batch, n_runs=n_runs, of=catalog(n_items))
        given = np.stack([indicators(items, n_items) for items in batch.items])

        for label in flips.given():
            statistic = flips.share(slice(int(label), int(label) + 1))

            of_label = given[:, :, label]
            assert statistic.value == pytest.approx(_label_flips(of_label, range(n_runs)))
            assert statistic.n_examples == of_label.any(axis=0).sum()
            for run in range(n_runs if n_runs > 2 else 0):
                kept = [other for other in range(n_runs) if other != run]
                assert statistic.without[run] == pytest.approx(_label_flips(of_label, kept))


def _label_flips(given, runs):
    apart = either = 0
    for first, second in combinations(runs, 2):
        apart += int((given[first] != given[second]).sum())
        either += int((given[first] | given[second]).sum())
    return apart / either if either else 0.0


def test_independent_spread_of_f1_is_that_of_independent_sets():
    """Resampling each example's set independently of all others gives the spread it predicts."""
    rng = np.random.default_rng(8)
    batch = drawn("sets", n_runs=40, n_examples=400)
    known = accumulated(SetQuality, batch, n_runs=40).result()["micro_f1_sd_independent"].value
    mixed = rng.permuted(np.broadcast_to(np.arange(40)[:, None], (40, 400)), axis=0)
    shuffled = batch.items[mixed, np.arange(400)]

    by_run = accumulated(SetQuality, ItemBatch(shuffled, batch.relevance), n_runs=40).detail()[
        "micro_f1_by_run"
    ]

    assert by_run.std(ddof=1) == pytest.approx(known, rel=0.3)  # of 40 runs


def test_exposure_counts_the_first_items_of_each_run():
    batch = drawn("rankings", n_examples=50)
    exposure = accumulated(Exposure, batch)
    shown = np.stack([np.bincount(x.ravel(), minlength=12) for x in batch.items[:, :, :5]])
    per_example = (batch.items[:, :, :5, np.newaxis] == np.arange(12)).any(axis=2)
    independent = per_example.var(axis=0, ddof=1).sum(axis=0)
    excess = shown.var(axis=0, ddof=1) - independent
    expected = [item for item in np.argsort(-excess, kind="stable") if excess[item] > 0]

    assert exposure.listed().tolist() == expected
    detail = exposure.detail()
    np.testing.assert_allclose(detail["exposure_by_run"], shown[:, expected] / 50)
    np.testing.assert_allclose(
        detail["exposure_sd_independent"], np.sqrt(independent[expected]) / 50
    )


def test_item_that_a_run_favors_is_listed_first():
    """One run shows item 0 to everyone."""
    batch = drawn("rankings", n_examples=200, n_runs=4)
    items = batch.items.copy()
    others = np.where(items[0] == 0, items[0][:, :1], items[0])
    items[0] = others
    items[0, :, 0] = 0

    assert accumulated(Exposure, ItemBatch(items, depth=5)).listed()[0] == 0


def test_many_items_have_no_exposure():
    exposure = Exposure(4, Catalog(10**8, 5))

    assert not exposure.is_kept
    exposure.update(drawn("rankings"))
    assert exposure.detail() == {}


def test_labels_of_spans_are_their_types():
    spans = catalog_of(("0:2:PER", "3:5:LOC", "7:8:PER"), 10)

    assert spans.labels == ("LOC", "PER")
    assert spans.to_labels(np.array([0, 1, 2])).tolist() == [1, 0, 1]
    assert catalog_of(("0:2:PER", "other"), 10).labels == ("0:2:PER", "other")


def test_empty_sets_are_counted():
    items = np.full((2, 3, 1), NO_ITEM)
    items[1, :, 0] = [0, 1, 0]

    sums = accumulated(ItemEquality, ItemBatch(items), n_runs=2).run_sums()

    assert sums.n_empty.tolist() == [3, 0]
    assert sums.n_varied.tolist() == [0, 1]
    assert sums.differ.tolist() == [[False, True], [True, False]]
