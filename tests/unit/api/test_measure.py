"""The report object, as it is used in a notebook."""

import json

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import DtypeError, NotFoundError, OptionError, UnknownNameError
from seedproof.testing.errors import WithFields


@pytest.fixture
def report():
    """Three runs over four examples."""
    return sp.measure([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]], labels=[0, 1, 1, 1])


def test_a_figure_by_name(report):
    """One of three pairs agrees on example 2: (2/3) / 4."""
    assert report["flip_rate"].value == pytest.approx(1 / 6)
    assert report["flip_rate"].over == "runs × examples"


def test_an_unknown_figure_lists_the_known_ones(report):
    """With all names."""
    with pytest.raises(
        UnknownNameError,
        check=WithFields(metric="fliprate", known=tuple(report.metrics), places=()),
    ):
        _ = report["fliprate"]


def test_examples_have_one_row_each(report):
    """The table is in the order of the ids, with class names."""
    table = report.examples

    assert table.column("example").to_pylist() == [0, 1, 2, 3]
    assert table.column("consensus").to_pylist() == ["0", "1", "1", "0"]
    assert table.column("correct_share").to_pylist() == pytest.approx([1, 1, 2 / 3, 0])


def test_saved_files_equal_the_report(report, tmp_path):
    """`save` writes the summary and the examples."""
    report.save(tmp_path / "out")

    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary == json.loads(report.to_json())
    assert summary["n_runs"] == 3
    assert (tmp_path / "out" / "examples.parquet").stat().st_size > 0


def test_text_fits_eighty_columns(report):
    """For a narrow terminal."""
    assert max(map(len, str(report).splitlines())) <= 80
    assert "flip_rate" in str(report)


def test_repr_is_one_line(report):
    """So that a list of reports is readable."""
    assert "\n" not in repr(report)
    assert str(report["flip_rate"]) in repr(report)


def test_flip_matrix_is_symmetric(report):
    """Run 1 differs from the others on one example of four."""
    expected = np.array([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]])

    np.testing.assert_array_equal(report.flip_matrix, expected)


def test_input_that_is_not_data_is_refused():
    """A dict is neither an array nor a table."""
    with pytest.raises(DtypeError, check=WithFields(type_name="dict")):
        sp.measure({"probs": 1})


def test_array_options_do_not_apply_to_files(tmp_path):
    """Labels of a table are a column."""
    (tmp_path / "x.csv").write_text("run,example,prediction\n", encoding="utf-8")

    with pytest.raises(OptionError, check=WithFields(option="labels", type_name="list")):
        sp.measure(str(tmp_path / "x.csv"), labels=[0, 1])


def test_missing_target_is_reported_before_its_options():
    """A mistyped path is not a table."""
    with pytest.raises(NotFoundError, check=WithFields(path="runs/typo")):
        sp.measure("runs/typo", arm="none")
