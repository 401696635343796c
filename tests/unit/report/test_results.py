"""Every method of the common base works for every result."""

import copy
import gc
import json
import pickle
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
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
    return sp.BlameReport(Blame(("init", "order"), 12, 6, N_EXAMPLES, shares))


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
    "VarianceReport": lambda: sp.blame(np.random.default_rng(0).normal(size=(5, 50))),
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


def test_every_result_has_the_base_and_is_exported(results):
    """The class that a verb returns has the same name in the package."""
    for name, result in results.items():
        assert type(result) is getattr(sp, name)
        assert isinstance(result, sp.Result)


def test_print_text_and_show_are_the_same(result, capsys):
    """The `repr` is one short line."""
    assert str(result) == result.text()
    result.show()
    assert capsys.readouterr().out.split() == str(result).split()
    assert len(repr(result)) < 150
    assert repr(result).startswith(f"<{type(result).__name__}")


def test_json_is_the_summary(result):
    """The text holds what `summary` returns."""
    assert json.loads(result.to_json()) == json.loads(json.dumps(result.summary()))


def test_save_writes_the_page_and_the_summary(result, tmp_path):
    """The page has all charts and a policy that lets it load nothing."""
    page = result.to_html(tmp_path / "page.html", command="seedproof x")
    result.save(tmp_path / "out", command="seedproof x")

    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    saved = {path.suffix: path for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert saved[".html"].read_text(encoding="utf-8") == page
    assert saved[".json"].read_text(encoding="utf-8") == result.to_json()
    assert "Content-Security-Policy" in page
    assert all(f'id="c-{name}"' in page for name in result.figure_names)


def test_table_is_a_data_frame(result):
    """If pandas is installed."""
    frame = result.to_frame()

    assert len(frame) > 0
    assert list(frame.columns) == list(type(result)._columns)
    assert "value" not in frame or frame["value"].dtype == float


def test_table_without_pandas_is_a_pyarrow_table(result, monkeypatch):
    """It has the same columns."""
    monkeypatch.setattr(base, "find_spec", lambda _: None)

    table = result.to_frame()

    assert isinstance(table, pa.Table)
    assert table.column_names == list(type(result)._columns)


def test_every_chart_can_be_shown_and_saved(result, tmp_path):
    """In a notebook as SVG, in a file by its extension. If the name is omitted, there is a default."""
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


def test_short_form_has_key_figures_and_one_chart(result):
    """A notebook shows it: small, and without scripts."""
    short = result._repr_html_()

    assert short.count("<svg") == 1
    assert "<script" not in short
    assert len(short.encode()) < 200_000
    for key in result._overview(()).key_figures:
        assert key.title in short


def test_short_form_does_not_read_the_examples():
    """A notebook shows a report of millions of examples at once."""
    report = MAKERS["Report"]()
    for file in report._scratch.path.iterdir():
        file.unlink()

    assert report.view().headline in report._repr_html_()


def test_unknown_column_is_refused(result):
    """Text and page raise the same error."""
    for method in (result.text, result.to_html):
        with pytest.raises(ColumnError):
            method(show=["no such column"])


def test_results_are_compared_by_identity(results):
    """Two reports with equal content are different, and each can be a key."""
    assert len({*results.values()}) == len(MAKERS)
    for result in results.values():
        assert result == result  # noqa: PLR0124 - that is what is tested
        assert result != MAKERS["Plan"]()


@pytest.mark.parametrize("name", MAPPINGS)
def test_result_is_a_complete_mapping(results, name):
    """Items, values, get and membership agree, and an unknown name has a default."""
    result = results[name]

    assert isinstance(result, Mapping)
    assert list(result) == list(result.keys()) == [key for key, _ in result.items()]
    assert len(result) == len(list(result.values())) == len(dict(result))
    first = next(iter(result))
    assert first in result
    assert result.get(first) == result[first]
    assert result.get("nothing") is None
    assert result.get("nothing", 3) == 3
    assert "nothing" not in result
    with pytest.raises(UnknownNameError):
        result["nothing"]


def test_estimate_prints_as_in_the_table(results):
    """Value, unit, interval and what it is over."""
    for row in results["Report"].view().rows:
        printed = str(results["Report"][row.name])
        over = f"over {row.over}" if row.over else ""
        assert printed.split() == f"{row.value} {row.interval} {over}".split()


def test_estimate_with_a_unit_equals_the_plain_one(results):
    """They have the same hash, too."""
    report = results["Report"]
    plain, written = report.measurement.metrics["flip_rate"], report["flip_rate"]

    assert written == plain
    assert plain == written
    assert len({written, plain}) == 1
    assert written != 0.5
    assert copy.deepcopy(written) == written


def test_effects_of_an_arm_are_by_metric(results):
    """The baseline has none."""
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
    [copy.copy, copy.deepcopy, lambda report: pickle.loads(pickle.dumps(report))],  # noqa: S301
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_keep_the_examples(name, copied):
    """They outlive the original and are deleted with the last copy."""
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


def test_pickle_outlives_its_report():
    """It contains the table, so that it can be sent to another machine."""
    report = MAKERS["Report"]()
    examples, packed = report.examples, pickle.dumps(report)
    del report
    gc.collect()

    again = pickle.loads(packed)  # noqa: S301 - made above

    assert again.examples.equals(examples)


def test_examples_of_a_saved_report_are_not_copied(tmp_path):
    """A report that was loaded from a folder refers to that folder, and so do its copies."""
    MAKERS["Report"]().save(tmp_path)
    saved = sp.compare([str(tmp_path), str(tmp_path)])

    again = pickle.loads(pickle.dumps(saved))  # noqa: S301 - made above

    tables = [report.baseline.measurement.example_table for report in (saved, again)]
    assert tables[0] == tables[1]


def test_every_verb_rounds_an_accuracy_alike():
    """1507 of 2000 answers are right: 75.35 % is a tie of the last digit."""
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
