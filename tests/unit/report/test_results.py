"""All results have one base: every method works for each of them."""

import copy
import doctest
import gc
import importlib
import json
import pickle
import pkgutil
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof import report as package
from seedproof.comparison.blame.compute import Blame
from seedproof.comparison.blame.variance_shares import Share, Shares
from seedproof.errors import ColumnError, UnknownNameError
from seedproof.report import result as base

N_EXAMPLES = 120
LABELS = np.arange(N_EXAMPLES) % 2


def _probs(noise, n_runs=5, seed=2):
    rng = np.random.default_rng(seed)
    logits = 2 * np.random.default_rng(0).normal(size=(1, N_EXAMPLES, 2))
    raised = np.exp(logits + noise * rng.normal(size=(n_runs, N_EXAMPLES, 2)))
    return raised / raised.sum(axis=2, keepdims=True)


def _blamed():
    first = {"init": Share(0.2, 0.1, 0.3), "order": Share(0.3, 0.2, 0.4)}
    total = {"init": Share(0.7, 0.6, 0.8), "order": Share(0.4, 0.3, 0.5)}
    shares = Shares(0.1, first, total, Share(0.5, 0.4, 0.6), "init")
    return sp.BlameReport(Blame(("init", "order"), 12, 6, N_EXAMPLES, shares, None))


MAKERS = {
    "Report": lambda: sp.measure(_probs(1.0), labels=LABELS),
    "ComparisonReport": lambda: sp.compare({"none": _probs(1.0), "calm": _probs(0.3)}),
    "VersionReport": lambda: sp.compare_versions(_probs(1.0), _probs(0.3, seed=3)),
    "GateReport": lambda: sp.gate(_probs(1.0), max={"flip_rate": 0.01, "ambiguity": 0.9}),
    "Plan": lambda: sp.plan(sd=0.012, detect=0.005),
    "SideBySide": lambda: sp.SideBySide(
        {"none": sp.measure(_probs(1.0)), "calm": sp.measure(_probs(0.3))}
    ),
    "BlameReport": _blamed,
}
MAPPINGS = ("Report", "VersionReport", "SideBySide")
WITH_EXAMPLES = ("Report", "ComparisonReport", "VersionReport")


@pytest.fixture(scope="module")
def results():
    """One result of each kind."""
    return {name: make() for name, make in MAKERS.items()}


@pytest.fixture(scope="module", params=MAKERS)
def result(request, results):
    """Every kind of result."""
    return results[request.param]


def test_every_result_is_one_and_is_exported(results):
    """The class that a verb returns has the same name in the package."""
    for name, found in results.items():
        assert type(found) is getattr(sp, name)
        assert isinstance(found, sp.Result)


def test_texts_say_the_same(result, capsys):
    """`print`, `text` and `show` have the same lines; the short form is one short line."""
    assert str(result) == result.text()
    result.show()
    assert capsys.readouterr().out.split() == str(result).split()
    assert len(repr(result)) < 150
    assert repr(result).startswith(f"<{type(result).__name__}")


def test_json_is_the_summary(result):
    """The text holds what `summary` returns."""
    assert json.loads(result.to_json()) == json.loads(json.dumps(result.summary()))


def test_page_and_files(result, tmp_path):
    """`save` writes the page and the summary; the page names its charts and loads nothing."""
    page = result.to_html(tmp_path / "page.html", command="seedproof x")
    result.save(tmp_path / "out", command="seedproof x")

    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    saved = {path.suffix: path for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert saved[".html"].read_text(encoding="utf-8") == page
    assert saved[".json"].read_text(encoding="utf-8") == result.to_json()
    assert "Content-Security-Policy" in page
    assert all(f'id="c-{name}"' in page for name in result.figure_names)


def test_table(result):
    """One row each, with a pandas data frame where pandas is installed."""
    frame = result.to_frame()

    assert len(frame) > 0
    assert list(frame.columns) == list(type(result)._columns)
    assert "value" not in frame or frame["value"].dtype == float


def test_table_without_pandas(result, monkeypatch):
    """The same columns as a pyarrow table."""
    monkeypatch.setattr(base, "find_spec", lambda _: None)

    table = result.to_frame()

    assert isinstance(table, pa.Table)
    assert table.column_names == list(type(result)._columns)


def test_every_chart_can_be_shown_and_saved(result, tmp_path):
    """In a notebook as SVG, in a file by its extension; without a name, the first choice."""
    names = result.figure_names

    assert names
    for name in names:
        chart = result.figure(name)
        assert chart._repr_svg_().startswith("<svg")
        chart.save(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert chart.to_dict()["config"]["background"] == "#ffffff"
    assert result.figure().name in names
    with pytest.raises(UnknownNameError):
        result.figure("no such chart")


def test_notebooks_get_headline_key_figures_and_one_chart(result):
    """Small, and without scripts."""
    short = result._repr_html_()

    assert short.count("<svg") == 1
    assert "<script" not in short
    assert len(short.encode()) < 200_000
    for key in result._overview(()).key_figures:
        assert key.title in short


def test_the_short_form_reads_no_examples():
    """A notebook shows a report of millions of examples at once, or one whose table is gone."""
    report = MAKERS["Report"]()
    for file in report._scratch.path.iterdir():
        file.unlink()

    assert report.view().headline in report._repr_html_()


def test_columns_that_are_not_there_are_refused(result):
    """The same error whatever is asked for."""
    for ask in (result.text, result.to_html):
        with pytest.raises(ColumnError):
            ask(show=["no such column"])


def test_results_are_compared_by_identity(results):
    """Two reports of the same figures are two reports, and each can be a key."""
    assert len({*results.values()}) == len(MAKERS)
    for result in results.values():
        assert result == result  # noqa: PLR0124 - that is what is tested
        assert result != MAKERS["Plan"]()


@pytest.mark.parametrize("name", MAPPINGS)
def test_mappings_are_whole(results, name):
    """Items, values, get and membership agree, and an unknown name has a default."""
    found = results[name]

    assert isinstance(found, Mapping)
    assert list(found) == list(found.keys()) == [key for key, _ in found.items()]
    assert len(found) == len(list(found.values())) == len(dict(found))
    first = next(iter(found))
    assert first in found
    assert found.get(first) == found[first]
    assert found.get("nothing") is None
    assert found.get("nothing", 3) == 3
    assert "nothing" not in found
    with pytest.raises(UnknownNameError):
        found["nothing"]


def test_an_estimate_prints_as_in_the_table(results):
    """Value, unit, interval and what it is over, as the row of the report has them."""
    for row in results["Report"].view().rows:
        printed = str(results["Report"][row.name])
        over = f"over {row.over}" if row.over else ""
        assert printed.split() == f"{row.value} {row.interval} {over}".split()


def test_an_estimate_with_a_unit_equals_the_plain_one(results):
    """Whoever compares or hashes figures sees no difference."""
    report = results["Report"]
    plain, written = report.measurement.metrics["flip_rate"], report["flip_rate"]

    assert written == plain
    assert plain == written
    assert len({written, plain}) == 1
    assert written != 0.5
    assert copy.deepcopy(written) == written


def test_effects_map_metrics(results):
    """All of an arm, the same as one by one; the baseline has none."""
    report = results["ComparisonReport"]
    effects = report.effects("calm")

    assert all(report.effect("calm", metric) == effect for metric, effect in effects.items())
    assert dict(report.effects("none")) == {}
    with pytest.raises(UnknownNameError):
        report.effects("loud")
    with pytest.raises(UnknownNameError):
        report.effects("calm", method="lime")


@pytest.mark.parametrize("name", WITH_EXAMPLES)
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))],  # noqa: S301
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_keep_the_examples(name, copied):
    """They are there after the original is gone, and gone with the last copy."""
    report = MAKERS[name]()
    examples, folder = report.examples, report._scratch.path
    second = copied(copied(report))
    del report
    gc.collect()

    assert second.examples.equals(examples)
    assert second.to_json() == copied(second).to_json()
    last = second._scratch.path
    del second
    gc.collect()
    assert not last.exists()
    assert not folder.exists()


def test_a_pickle_outlives_its_report():
    """It carries the table, so that it can be sent to another machine."""
    report = MAKERS["Report"]()
    examples, packed = report.examples, pickle.dumps(report)
    del report
    gc.collect()

    again = pickle.loads(packed)  # noqa: S301 - made above

    assert again.examples.equals(examples)


def test_examples_outside_of_the_folder_stay_where_they_are(tmp_path):
    """A report that was loaded from a folder refers to it, and so do its copies."""
    MAKERS["Report"]().save(tmp_path)
    saved = sp.compare([str(tmp_path), str(tmp_path)])

    again = pickle.loads(pickle.dumps(saved))  # noqa: S301 - made above

    tables = [one.baseline.measurement.example_table for one in (saved, again)]
    assert tables[0] == tables[1]


def test_one_file_has_one_accuracy_in_every_verb():
    """15.07 right answers of 20 in each run: a tie of the last digit is rounded alike."""
    rng = np.random.default_rng(51)
    n_runs, n_examples = 10, 200
    gold = np.zeros(n_examples, dtype=int)
    runs = np.ones((n_runs, n_examples), dtype=int)
    runs.ravel()[rng.permutation(n_runs * n_examples)[:1507]] = 0
    table = pa.Table.from_pylist(
        [
            {"run": run, "example": i, "prediction": int(runs[run, i]), "label": int(gold[i])}
            for run in range(n_runs)
            for i in range(n_examples)
        ]
    )
    measured = str(sp.measure(table)["accuracy"])
    value, _, _ = measured.partition(" [")

    texts = [
        sp.compare({"a": table, "b": table}).text(),
        sp.compare_versions(table, table).text(),
        sp.gate(table, min={"accuracy": 0.5}).text(),
        sp.measure(table).text(),
    ]

    assert all(value in text.replace("\N{NO-BREAK SPACE}", " ") for text in texts)
    assert str(sp.compare_versions(table, table)["accuracy_old"]).startswith(measured[:4])


@pytest.mark.parametrize(
    "module",
    [info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")],
)
def test_examples_in_docstrings_are_true(module, tmp_path, monkeypatch):
    """What a docstring shows is what comes out."""
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(
        importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE
    )

    assert found.failed == 0
