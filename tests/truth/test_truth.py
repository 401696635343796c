"""The corpus of truth: the product gives the figures of every cell, and oracles give many of them.

`python tests/truth/regenerate.py` writes the data anew and prints what changed.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

from truth import oracles, product, regenerate
from truth.cells import (
    DATA,
    Cell,
    Change,
    Truth,
    all_cells,
    changes,
    is_oracle,
    is_same,
    main_figures,
    read,
    write,
)
from truth.inputs import KINDS, case_of

HERE = Path(__file__).parent
CELLS = all_cells()
case_of = cache(case_of)


@cache
def truth_of(kind: str) -> dict[str, Truth]:
    return read(kind)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_product_gives_the_figures(cell):
    """Every value, interval, effect, verdict and check, or the code of the refusal."""
    stored = truth_of(cell.kind)[str(cell)].figures

    figures = product.figures_of(cell.verb, case_of(cell.kind, cell.variant))

    assert changes(stored, figures) == []


@pytest.mark.parametrize(
    "cell", [x for x in CELLS if truth_of(x.kind).get(str(x), Truth({})).oracle], ids=str
)
def test_oracles_give_the_figures(cell):
    """The data agree with loops, scipy and scikit-learn: wherever the mark says so."""
    truth = truth_of(cell.kind)[str(cell)]

    expected = oracles.figures_of(cell.verb, case_of(cell.kind, cell.variant))

    assert regenerate.disagreements(truth.figures, expected) == []
    assert {name: sorted(x) for name, x in expected.items() if x} == truth.oracle


@pytest.mark.parametrize("variant", ["plain", "clusters", "trials"])
@pytest.mark.parametrize("kind", ["probs", "numbers", "passes", "rankings", "sets", "texts"])
def test_arms_have_the_same_figures_alone_and_compared(kind, variant):
    """A comparison stores effects alone: its arms have the figures of a measurement."""
    case = case_of(kind, variant)
    if truth_of(kind)[f"{kind}/measure/{variant}"].is_refused:
        return
    alone = product.measured_arms(case)

    compared = product.compared_arms(case)

    assert {
        name: x for name, x in compared.items() if changes({name: alone[name]}, {name: x})
    } == {}


def test_every_kind_verb_and_variant_is_there():
    """Each cell has figures, or the code of a refusal, and nothing else is stored."""
    stored = {name: truth for kind in KINDS for name, truth in truth_of(kind).items()}

    assert stored.keys() == {str(cell) for cell in CELLS}
    assert all(truth.figures for truth in stored.values())


def test_at_least_a_third_of_the_cells_are_of_an_oracle():
    answered = [x for x in CELLS if not truth_of(x.kind)[str(x)].is_refused]

    n_oracle = sum(is_oracle(x, truth_of(x.kind)[str(x)]) for x in answered)

    assert n_oracle >= len(answered) / 3


def test_data_are_small():
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 1_500_000


@pytest.mark.parametrize("path", sorted(HERE.glob("*.py")), ids=lambda path: path.name)
def test_only_one_file_calls_the_product(path):
    """When the product is rebuilt, `product.py` is all of the corpus that may change."""
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
    }

    assert ("seedproof" in imported) == (path.name == "product.py")


def _imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


@pytest.fixture
def cell():
    return Cell("labels", "measure", "plain")


@pytest.fixture
def figures(cell):
    return truth_of(cell.kind)[str(cell)].figures


def test_a_change_of_a_millionth_is_seen(cell, figures):
    """A high end that is wrong by 1e-6 fails; one that is wrong by rounding does not."""
    (name, *_) = main_figures(cell)
    high = figures[name]["high"]

    wrong = {**figures, name: {**figures[name], "high": high * (1 + 1e-6)}}
    rounded = {**figures, name: {**figures[name], "high": high * (1 + 1e-12)}}

    assert changes(figures, wrong) == [Change(name, "high", high, high * (1 + 1e-6))]
    assert changes(figures, rounded) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda figure: figure.pop("low"),
        lambda figure: figure.update(over="runs"),
        lambda figure: figure.update(low=None),
        lambda figure: figure.update(further=1),
        lambda figure: figure.update(value=float("nan")),
    ],
)
def test_a_field_that_is_missing_new_or_other_is_seen(cell, figures, change):
    (name, *_) = main_figures(cell)
    other = {**figures, name: dict(figures[name])}

    change(other[name])

    assert len(changes(figures, other)) == 1


def test_a_figure_that_is_gone_is_seen(figures):
    assert changes(figures, {name: x for name, x in figures.items() if "accuracy_sd" not in name})


def test_words_and_numbers_are_never_the_same():
    assert not is_same(1, second=True)
    assert not is_same(1, "1")
    assert not is_same(None, 0)
    assert is_same(float("inf"), float("inf"))


def test_regenerating_prints_what_changed_and_writes_it(tmp_path, monkeypatch, capsys, cell):
    truth = truth_of(cell.kind)[str(cell)]
    (name, *_) = main_figures(cell)
    before = {**truth.figures, "metrics.discrepancy": {"value": 0.5}}
    for kind in KINDS:
        write(kind, {str(cell): Truth(before, truth.oracle)} if kind == cell.kind else {}, tmp_path)
    monkeypatch.setattr(regenerate, "all_cells", lambda: [cell])

    assert regenerate.main([], tmp_path) == 1
    printed = capsys.readouterr().out
    after = truth.figures["metrics.discrepancy"]["value"]
    assert str(Change("metrics.discrepancy", "value", 0.5, after)) in printed
    assert read(cell.kind, tmp_path) == {str(cell): truth}
    assert regenerate.main([], tmp_path) == 0
    assert name in read(cell.kind, tmp_path)[str(cell)].figures


def test_regenerating_never_writes_what_an_oracle_contradicts(tmp_path, monkeypatch, capsys, cell):
    truth = truth_of(cell.kind)[str(cell)]
    (name, *_) = main_figures(cell)
    wrong = {**truth.figures, name: {**truth.figures[name], "high": 0.7}}
    for kind in KINDS:
        write(kind, {str(cell): truth} if kind == cell.kind else {}, tmp_path)
    monkeypatch.setattr(regenerate, "all_cells", lambda: [cell])
    monkeypatch.setattr(product, "figures_of", lambda *_: wrong)

    assert regenerate.main([], tmp_path) == 1
    assert f"{name} high" in capsys.readouterr().out
    assert read(cell.kind, tmp_path) == {str(cell): truth}
