"""Clusters in every verb: copies of examples in clusters are worth one example each."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seedproof as sp
from seedproof.measurement.load import load_saved
from seedproof.records.location import Location
from seedproof.report import sentences
from seedproof.report.comparison import sentences as comparison_sentences
from seedproof.report.versions import sentences as version_sentences

N_RUNS, N_CLUSTERS, SIZE = 6, 60, 5
RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, N_CLUSTERS)
MARGINS = RNG.normal(1, 1.5, N_CLUSTERS)
COPIES = np.repeat(np.arange(N_CLUSTERS), SIZE)


def answers(n_runs: int, noise: float, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(0, noise, (n_runs, N_CLUSTERS))
    return np.where(MARGINS + drawn > 0, LABELS, (LABELS + 1) % 3).astype(np.int32)


OLD, NEW = answers(N_RUNS, 1.0, seed=1), answers(N_RUNS, 0.6, seed=2)


def single(runs: np.ndarray) -> sp.Predictions:
    """Each example once, as a cluster of its own."""
    alone = np.arange(N_CLUSTERS)
    kind = {"kind": alone % 2}
    return sp.Predictions.from_arrays(runs, labels=LABELS, clusters=alone, slices=kind)


def copied(runs: np.ndarray, *, clusters: np.ndarray | None = COPIES) -> sp.Predictions:
    """Several copies of each example, in one cluster."""
    kind = {"kind": COPIES % 2}
    return sp.Predictions.from_arrays(
        runs[:, COPIES], labels=LABELS[COPIES], clusters=clusters, slices=kind
    )


# The extrapolation adds a quarter of a pair of answers to those seen, which copies multiply.
ROUNDING = {"label_entropy_corrected": 0.02}


def assert_equal_ends(first, second, name):
    pairs = [(getattr(first, end), getattr(second, end)) for end in ("value", "low", "high")]
    for end, wanted in pairs:
        rounding = ROUNDING.get(name, 1e-9)
        expected = wanted if wanted is None else pytest.approx(wanted, rel=rounding)
        assert end == expected, name


# Its interval is of the number of examples.
DEPENDS_ON_NUMBER = {"accuracy_sd_independent", "accuracy_sd_excess", "net_flip_rate"}


def test_measure_does_not_gain_from_copies():
    once, often = sp.measure(single(OLD)), sp.measure(copied(OLD))

    for name in set(once.measurement.metrics) - DEPENDS_ON_NUMBER:
        assert_equal_ends(once[name], often[name], name)
    assert often["flip_rate"].over == often["accuracy"].over == "runs × clusters"
    as_if_independent = sp.measure(copied(OLD, clusters=None))["accuracy"]
    assert as_if_independent.low > often["accuracy"].low


@pytest.mark.parametrize("n_new", [N_RUNS, 4])
def test_compare_does_not_gain_from_copies(n_new):
    """Also with different numbers of runs, where entropies are rarefied."""
    new = answers(n_new, 0.6, seed=2)
    once = sp.compare({"old": single(OLD), "new": single(new)}).effects("new")
    # The clusters of one arm suffice.
    arms = {"old": copied(OLD, clusters=None), "new": copied(new)}
    often = sp.compare(arms).effects("new")

    for name in set(once) - DEPENDS_ON_NUMBER:
        assert_equal_ends(once[name], often[name], name)
    assert {often[name].over for name in ("flip_rate", "label_entropy")} == {"runs × clusters"}


@pytest.mark.parametrize("n_new", [N_RUNS, 1])
def test_versions_do_not_gain_from_copies(n_new):
    once, often = (sp.compare_versions(x(OLD), x(NEW[:n_new])) for x in (single, copied))

    of_single, of_copies = once.comparison, often.comparison
    for name in of_single.whole.figures:
        assert_equal_ends(of_single[name], of_copies[name], name)
    for groups in ("by_class", "slices"):
        of_both = [getattr(x, groups) for x in (of_single, of_copies)]
        if groups == "slices":
            of_both = [x["kind"] for x in of_both]
        for first, second in zip(*of_both, strict=True):
            assert_equal_ends(first.beyond, second.beyond, first.name)
    assert "tests-without-clusters" in [note.code for note in of_copies.notes]
    assert of_copies.summary()["clusters"]["n_clusters"] == N_CLUSTERS


def test_gate_and_plan_do_not_gain_from_copies():
    def outcome(predictions):
        return sp.gate(predictions, min={"accuracy": 0.6}).outcome

    def can_show(predictions):
        return sp.plan(pilot=predictions, detect_flip_ratio=0.7).reaches[-1].detectable

    assert outcome(single(OLD)) == outcome(copied(OLD))
    detectable = can_show(copied(OLD))
    assert detectable == pytest.approx(can_show(single(OLD)), rel=1e-6)
    assert detectable > 1.1 * can_show(copied(OLD, clusters=None))


def test_range_of_a_plan_does_not_gain_from_copies():
    """The choice of clusters is as uncertain as that of as many examples."""

    def ranges(predictions):
        plan = sp.plan(pilot=predictions, detect=0.3, detect_flip_ratio=0.7)
        needed, reach = plan.answers[0], plan.reaches[-1]
        return (needed.n_seeds, needed.high), (reach.low, reach.detectable, reach.high)

    seeds, ratios = ranges(copied(OLD))

    assert (seeds, pytest.approx(ratios)) == ranges(single(OLD))
    assert seeds[0] < seeds[1]
    assert ratios[0] < ratios[1] < ratios[2]
    seeds_alone, ratios_alone = ranges(copied(OLD, clusters=None))
    assert seeds_alone[1] < seeds[1]
    assert ratios_alone[2] < ratios[2]


def test_two_runs_give_intervals_over_clusters_alone():
    report = sp.measure(copied(OLD[:2]))

    assert report["flip_rate"].over == "clusters"


def test_one_cluster_gives_intervals_over_runs_alone():
    report = sp.measure(copied(OLD, clusters=np.zeros(len(COPIES))))

    assert report["flip_rate"].over == "runs"


def test_answers_that_never_differ_are_bounded_by_the_number_of_clusters():
    report = sp.measure(copied(np.tile(LABELS, (4, 1)).astype(np.int32)))

    assert report["flip_rate"].high == pytest.approx(1 - 0.025 ** (1 / N_CLUSTERS))
    assert report["flip_rate"].over == "clusters"


@pytest.fixture
def tables(tmp_path):
    """Two tables with a column of clusters."""
    paths = []
    for name, runs in (("old", OLD), ("new", NEW)):
        table = {
            "run": np.repeat(np.arange(N_RUNS), len(COPIES)),
            "example": np.tile(np.arange(len(COPIES)), N_RUNS),
            "label": np.tile(LABELS[COPIES], N_RUNS),
            "prediction": runs[:, COPIES].ravel(),
            "text": np.tile(COPIES, N_RUNS),
        }
        paths.append(tmp_path / f"{name}.csv")
        pyarrow.csv.write_csv(pa.table(table), paths[-1])
    return [str(path) for path in paths]


def test_every_verb_takes_clusters_on_the_command_line(tables, seedproof):
    old, new = tables
    shared = ["--cluster", "text", "--json"]

    def printed(*arguments):
        return json.loads(seedproof(*arguments, *shared)[1])

    measured = printed("measure", old)
    assert measured["clusters"] == {"column": "text", "n_clusters": N_CLUSTERS, "is_exact": True}
    assert measured["metrics"]["accuracy"]["over"] == "runs × clusters"
    assert printed("compare", old, new)["arms"][0]["effects"]["accuracy"]["over"] == (
        "runs × clusters"
    )
    versions = printed("compare", "--old", old, "--new", new)
    assert versions["whole"]["figures"]["accuracy_new"]["over"] == "runs × clusters"
    assert printed("gate", old, "--max", "flip_rate=0.9")["outcome"] == "pass"
    planned = printed("plan", "--pilot", old, "--detect-flip-ratio", "0.5")
    assert planned["pilot"]["n_clusters"] == N_CLUSTERS


def test_titles_have_the_number_of_clusters():
    """The first line of the terminal and of the page."""
    measured, compared = sp.measure(copied(OLD)), sp.compare([copied(OLD), copied(NEW)])
    versions = sp.compare_versions(copied(OLD), copied(NEW))

    titles = (
        sentences.title(measured.measurement),
        comparison_sentences.title(compared.comparison),
        version_sentences.title(versions.comparison),
    )

    assert {str(N_CLUSTERS) in title.fields["clusters"] for title in titles} == {True}


def test_saved_report_keeps_its_clusters(tables, tmp_path):
    report = sp.measure(tables[0], clusters="text")
    report.save(tmp_path / "saved")

    loaded = load_saved(Location.of(tmp_path / "saved"))

    assert loaded.clusters == report.measurement.clusters


def test_engines_give_the_same_bytes_with_more_clusters_than_are_kept():
    """Several shards, and clusters that are spread over all of them."""
    n_examples = 300_000
    rng = np.random.default_rng(3)
    runs = (rng.random(n_examples) + 0.2 * rng.random((3, n_examples)) > 0.6).astype(np.int32)
    given = sp.Predictions.from_arrays(runs, clusters=np.arange(n_examples) % 5000)
    assert given.source.n_shards > 1

    here = sp.measure(given, metrics=["flip_rate"])
    there = sp.measure(given, metrics=["flip_rate"], engine="processes", workers=2)

    assert here.to_json() == there.to_json()
    assert here.measurement.clusters.is_exact is False
