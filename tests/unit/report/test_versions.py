"""What is said about two versions: each sentence has its condition."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from seedproof.comparison.versions.compare import compare_versions
from seedproof.comparison.versions.result import Exchange
from seedproof.errors import ColumnError, OptionError, UnknownNameError
from seedproof.measurement.intervals import Estimate
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location
from seedproof.report.versions import VersionReport, _votes

N_EXAMPLES = 300


@pytest.fixture
def report(tmp_path):
    """Compares versions of so many runs, of which the new one answers some examples otherwise."""

    def make(n_old, n_new, n_changed=0, *, labeled=True):
        rng = np.random.default_rng(1)
        hard = rng.random(N_EXAMPLES) < 0.2
        pooled = ((rng.random((n_old + n_new, N_EXAMPLES)) < 0.3) & hard).astype(int)
        pooled[n_old:, :n_changed] = 1
        pooled[:n_old, :n_changed] = 0
        gold = np.zeros(N_EXAMPLES, dtype=int) if labeled else None
        sides = [
            ArrayShards(one, labels=gold, classes=["no", "[yes]"], alone=True)
            for one in (pooled[:n_old], pooled[n_old:])
        ]
        place = Location.of(tmp_path / "examples.parquet")
        return VersionReport(compare_versions(*sides, place))

    return make


def _words(report):
    return " ".join(str(report).split())


def test_a_change_beyond_the_seed_is_said_with_its_size_and_p_value(report):
    """30 of 300 examples change in every run: named as such, and listed with their votes."""
    text = _words(report(6, 6, 30))

    assert "are beyond the seed (p = .002)" in text  # 2 of 924 ways to deal 12 runs
    assert "were right and are wrong now, more than the seed explains" in text
    assert "On 30 examples the seed does not explain the change" in text
    assert "no (6) [yes] (6)" in text  # a user's class is never taken for markup


def test_no_change_is_said_in_weaker_words(report):
    """Nothing changed: the sentence claims none, and no example is named."""
    text = _words(report(6, 6))

    assert "That is not shown to be more than another seed would change (" in text
    assert "are wrong now, not shown to be more than another seed would give" in text
    assert "On no single example is the change shown to be more than the seed's" in text
    assert "no more than" not in text
    assert "are beyond the seed" not in text


def test_runs_too_few_for_a_single_example_are_said_to_be(report):
    """5 and 5 runs have p = 2/252 at best, which one example among many never makes good."""
    text = _words(report(5, 5))

    assert "No single example can be named" in text
    assert "runs of each version one would be enough" in text


def test_two_runs_of_each_give_no_verdict(report):
    """Intervals over examples alone cannot tell the seed from the version."""
    text = _words(report(2, 2, 30))

    assert "so few runs cannot tell whether that is more than another seed would" in text
    assert "so few runs cannot tell luck from progress" in text
    assert "With two runs of the old version intervals are over examples only" in text


def test_a_single_old_run_is_pointed_out(report):
    """The baseline is the new version's, and what that supposes is said."""
    text = _words(report(1, 6))

    assert "1 old run · 6 new runs" in text
    assert "two retrains of the new one already change" in text
    assert "The old version has one run: what another seed changes is taken from the new" in text


def test_without_labels_right_and_wrong_are_left_out(report):
    """Flips need no labels; the note says what is missing."""
    text = _words(report(4, 4, labeled=False))

    assert "ccuracy" not in text
    assert "No labels were given" in text


def test_saving_writes_three_files(report, tmp_path):
    """The text ends with the command; a folder that is a file is refused."""
    found = report(3, 3)

    found.save(tmp_path / "out", command="seedproof compare --old a --new b")

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "examples.parquet",
        "versions.json",
        "versions.txt",
    ]
    text = (tmp_path / "out" / "versions.txt").read_text(encoding="utf-8")
    assert text.endswith("Made by: seedproof compare --old a --new b\n")
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(OptionError, match="cannot be written to"):
        found.save(tmp_path / "taken")


def test_unknown_names_are_refused(report):
    """A figure or a column that is not there: the message lists those that are."""
    found = report(3, 3)

    with pytest.raises(UnknownNameError, match="Known: flip_rate"):
        found["churn"]
    with pytest.raises(ColumnError, match="Carried along: none"):
        found.text(show=["text"])


def _with_whole(found, *, p_value, **changes):
    """The same comparison with another verdict on the whole."""
    whole = replace(found.comparison.whole, **changes)
    exchange = Exchange(p_value, found.comparison.exchange.least)
    return VersionReport(replace(found.comparison, whole=whole, exchange=exchange))


def test_a_change_of_unknown_size_is_not_given_as_one(report):
    """The exact test shows a change but the interval holds 0: the sentence says both."""
    found = report(6, 6)
    beyond = Estimate(0.021, -0.01, 0.052, "runs × examples")
    figures = {**found.comparison.whole.figures, "flip_rate_beyond": beyond}

    text = _words(_with_whole(found, p_value=0.003, figures=figures))

    said = "more than another seed would (p = .003), but how much is not known: 2.1 points [−1.0, 5.2]."
    assert said in text
    assert "are beyond the seed" not in text


def test_a_class_that_changes_is_named_where_the_whole_is_not_shown_to(report):
    """A star in a table below never contradicts the first sentence; many are counted."""
    found = report(6, 6)
    starred = [replace(found.comparison.by_class[0], name=n, is_beyond=True) for n in "12345"]

    def said(n_starred):
        some = replace(found.comparison, by_class=tuple(starred[:n_starred]))
        return _words(_with_whole(VersionReport(some), p_value=0.4, is_beyond=False))

    assert "p = .400), but shown for class 1." in said(1)
    assert "p = .400), but shown for class 1 and class 2." in said(2)
    assert "but shown for class 1, class 2, class 3 and 2 more." in said(5)
    assert "but shown" not in said(0)


def test_differences_are_in_points_and_rates_in_percent(report):
    """Three figures beyond the seed and the change of accuracy: no other line is of points."""
    lines = [line for line in report(6, 6, 30).text().splitlines() if "runs × examples" in line]

    in_points = [line.strip() for line in lines if "\N{NO-BREAK SPACE}pts" in line]
    assert [line.split("  ")[0] for line in in_points] == [
        *["beyond the seed"] * 3,
        "change of accuracy",
    ]
    assert all("\N{NO-BREAK SPACE}%" in line for line in lines if line.strip() not in in_points)


COLUMN = "a long title of a column"


class _WithExtras:
    """A source of one shard, which carries further columns."""

    def __init__(self, source, extras):
        self._source, self._extras = source, extras

    def __getattr__(self, name):
        return getattr(self._source, name)

    def shard(self, index):
        """The shard, with the columns."""
        return replace(self._source.shard(index), extras=self._extras)


@pytest.fixture
def sliced(tmp_path):
    """Compares versions with a slice for every few examples, of the names that are given."""

    def make(names, n_runs=6, n_changed=0, classes=("no", "yes"), each=20):
        rng = np.random.default_rng(2)
        n_examples = each * len(names)
        pooled = (rng.random((2 * n_runs, n_examples)) < 0.1).astype(int)
        pooled[n_runs:, :n_changed] = 1
        pooled[:n_runs, :n_changed] = 0
        extras = pa.table({COLUMN: np.repeat(names, each)})
        gold = np.zeros(n_examples, dtype=int)
        sides = [
            _WithExtras(ArrayShards(one, labels=gold, classes=list(classes)), extras)
            for one in (pooled[:n_runs], pooled[n_runs:])
        ]
        place = Location.of(tmp_path / "examples.parquet")
        return VersionReport(compare_versions(*sides, place, slices=[COLUMN]))

    return make


def _rows(found):
    """The lines of the table of slices, its head first."""
    lines = found.text().splitlines()
    start = next(i for i, line in enumerate(lines) if " examples  changed " in line)
    return lines[start : start + 1 + min(len(found.comparison.slices[COLUMN]), 10)]


@pytest.mark.parametrize("name", ["a name that goes on and on and on ", "很长的名字" * 6])
def test_long_names_give_way_to_figures_and_stars(sliced, name):
    """80 columns: each row ends with both shares of flips, and the star of the first one stays."""
    found = sliced([f"{name}{i}" for i in range(3)], n_changed=20)

    head, *rows = _rows(found)

    assert re.search(r"examples  changed  no change  beyond the seed +r→w +w→r$", head)
    assert all(re.search(r"\[\S+, \S+\]( \*)? +\S+\s% +\S+\s%$", row) for row in rows)
    assert ["] *" in row for row in rows] == [True, False, False]
    assert re.match(r"[^…]+…[^…]*0  ", rows[0])  # the end of the name is kept


def test_long_classes_give_way_to_the_counts_of_votes(sliced):
    """All 6 runs say one thing before and another one now: both counts are there."""
    classes = ["the first of two classes with long names", "the second of two such classes"]
    text = sliced(["one", "two"], n_changed=20, classes=classes).text()

    row = re.compile(r"^\d+ +the first…ng names \(6\)  the secon… classes \(6\)  ", re.MULTILINE)
    assert len(row.findall(text)) == 10


def test_votes_for_many_classes_are_added_up():
    """What does not fit is counted, never cut."""
    names = ["politics", "business", "technology"]

    assert _votes([0, 0, 0, 1, 2], names) == "pol…cs (3), others (2)"
    assert _votes([0, 0, 0, 1, 2], ["a", "b", "c"]) == "a (3), b (1), c (1)"


def test_the_interval_in_a_table_is_the_one_that_the_star_judges(sliced):
    """Wider than that of the slice alone, printed, and said to hold for all rows."""
    found = sliced(["one", "two", "three"], n_changed=20)
    part = next(p for p in found.comparison.slices[COLUMN] if p.name == "one")

    low, high = (
        f"{100 * end:.1f}".replace("-", "−") for end in (part.beyond.low, part.beyond.high)
    )

    assert f"[{low}, {high}] *" in _rows(found)[1]
    assert part.beyond.low < part.figures["flip_rate_beyond"].low
    assert "intervals hold for all 3 rows together; * above 0." in _words(found)
    assert "intervals hold for all 3 rows together; * above 0." in _words(sliced(["a", "b", "c"]))


def test_slices_of_two_runs_are_not_judged(sliced):
    """An interval over examples alone earns no star, and the line says so."""
    found = sliced(["one", "two"], n_runs=2, n_changed=20)

    said = "intervals hold for both rows together, but over examples only, so that no row is judged"
    assert said in _words(found)
    assert "] *" not in found.text()


def test_what_is_left_out_is_counted_and_is_in_the_file(sliced):
    """12 slices and 20 examples, of which 10 each are shown; the file has all of them."""
    found = sliced([f"s{i}" for i in range(12)], n_changed=20)
    summary = json.loads(found.to_json())

    assert "10 of 12 shown; all are in versions.json" in _words(found)
    assert len(summary["slices"][COLUMN]) == 12
    assert found.comparison.discoveries.n_found == len(summary["unexplained"]) == 20
    assert "10 of 20 shown; all are in versions.json" in _words(found)
    assert "shown; all" not in _words(sliced(["one", "two"]))


def test_more_examples_than_the_file_keeps_are_in_the_table_of_all(sliced):
    """600 change; 500 are in the JSON, and the p-values of the table give all."""
    found = sliced(["one", "two"], n_changed=600, each=400)
    p_values = found.comparison.examples()["p_value"].to_numpy()

    assert "10 of 600 shown; the surest 500 are in versions.json, and all in examples" in _words(
        found
    )
    assert (p_values <= found.summary()["discoveries"]["threshold"]).sum() == 600


def test_right_and_wrong_are_spelled_out_where_they_are_shown(report, sliced):
    """The arrows have a line of their own; without labels there are neither."""
    legend = "r→w: right before, wrong now. w→r: wrong before, right now."

    assert legend in _words(sliced(["one", "two"]))
    assert legend not in _words(report(4, 4, labeled=False))
