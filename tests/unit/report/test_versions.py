"""What is said about two versions: each sentence has its condition."""

import numpy as np
import pytest

from seedproof.comparison.versions.compare import compare_versions
from seedproof.errors import ColumnError, OptionError, UnknownNameError
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location
from seedproof.report.versions import VersionReport

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

    assert "no more than another seed would: none beyond the seed is shown" in text
    assert "are beyond the seed" not in text
    assert "There is no example whose change the seed does not explain" in text


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
