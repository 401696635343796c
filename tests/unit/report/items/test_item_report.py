"""Reports of ranked lists and sets."""

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.measurement.measure import measure_shards
from seedproof.records.items import NO_ITEM
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.report.items import sentences
from seedproof.report.items.exposure import exposures
from seedproof.report.items.figures import item_figures
from seedproof.report.report import Report
from support.items import drawn_rankings, drawn_sets, item_shards

DRAWN = {"rankings": drawn_rankings, "sets": drawn_sets}


def measured(source, tmp_path, **options):
    return measure_shards(source, Location.of(tmp_path / "examples.parquet"), **options)


@pytest.mark.parametrize("kind", DRAWN)
def test_page_and_text_show_the_examples(kind, tmp_path):
    """From the measurement to the files; ids and items are text, never markup."""
    extras = pa.table({"text": [f"<em>{i}</em>" for i in range(60)]})
    source = DRAWN[kind](np.random.default_rng(0), extras=extras)
    report = Report(measured(source, tmp_path, slices=["text"]))

    report.save(tmp_path / "out", show=["text"])

    page = (tmp_path / "out" / "report.html").read_text()
    first = report.view(show=["text"]).items[0]
    assert next(items[0] for items in first.items if items) in page
    assert "&lt;em&gt;" in page
    assert "<em>" not in page
    assert first.example in report.text()
    assert (tmp_path / "out" / "summary.json").stat().st_size > 1000
    assert (tmp_path / "out" / "examples.parquet").is_file()


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("n_runs", [2, 4, 6])
def test_every_figure_is_drawn(kind, n_runs, tmp_path):
    report = Report(measured(DRAWN[kind](np.random.default_rng(1), n_runs=n_runs), tmp_path))

    report.save(tmp_path / "out")

    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<figure") == len(item_figures(report.measurement))
    assert report.text()


@pytest.mark.parametrize("kind", DRAWN)
def test_runs_without_right_items_have_no_quality(kind, tmp_path):
    shard = DRAWN[kind](np.random.default_rng(2)).shard(0)
    measurement = measured(item_shards(Kind(kind), shard.items, 30), tmp_path)

    codes = [message.code for message in sentences.limits(measurement)]

    assert "no-right-items" in codes
    assert "Quality" not in [sentence.topic for sentence in sentences.sentences(measurement)]
    assert Report(measurement).text()


def test_examples_whose_right_items_are_unknown_are_counted():
    """No right item is known to be right if the list is empty."""
    sets = [[["a"], ["b"], [], ["c"]], [["a"], [], [], ["c"]]]
    known = sp.measure(sets, labels=[["a"], None, [], ["c"]], kind="sets").measurement
    whole = sp.measure(sets, labels=[["a"], ["b"], [], ["c"]], kind="sets").measurement

    notes = [
        [note.fields for note in sentences.limits(x) if note.code == "right-items-unknown"]
        for x in (known, whole)
    ]

    assert notes == [[{"n_unknown": 1, "n_examples": 4}], []]


def test_equal_lists_say_so(tmp_path):
    items = np.repeat(np.arange(5)[np.newaxis, np.newaxis], 5, axis=0).repeat(20, axis=1)
    measurement = measured(item_shards(Kind.RANKINGS, items, 5), tmp_path)

    assert sentences.headline(measurement).code == "nothing-differs"
    assert Report(measurement).view().items == ()


def test_runs_that_favor_an_item_are_named(tmp_path):
    """Half of the runs show item 0 first to all examples, the others to none."""
    rng = np.random.default_rng(3)
    items = np.argsort(rng.random((6, 100, 20)), axis=2)[:, :, :3] + 1
    items[:3, :, 0] = 0

    measurement = measured(item_shards(Kind.RANKINGS, items, 30, depth=3), tmp_path)

    favored = next(exposure for exposure in exposures(measurement) if exposure.is_beyond)
    assert favored.item == "i0"
    assert favored.by_run == (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def test_independent_changes_favor_no_item(tmp_path):
    """Of 40 studies in which all examples change independently, few name an item."""
    rng = np.random.default_rng(4)
    n_alarms = 0
    for _ in range(40):
        items = np.argsort(rng.random((6, 50, 12)), axis=2)[:, :, :3]
        measurement = measured(item_shards(Kind.RANKINGS, items, 12, depth=3), tmp_path)
        n_alarms += any(exposure.is_beyond for exposure in exposures(measurement))

    assert n_alarms <= 6


def test_empty_sets_are_shown(tmp_path):
    items = np.full((5, 20, 2), NO_ITEM)
    items[:2, :, 0] = 1

    report = Report(measured(item_shards(Kind.SETS, items, 3), tmp_path))

    assert report["set_flips"].value == pytest.approx(0.6)
    assert "i1 (2)" in report.text()
