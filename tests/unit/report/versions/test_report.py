"""Report of two versions: each sentence has its condition."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import seedproof as sp
from seedproof.comparison.versions.result import PermutationTest
from seedproof.errors import ColumnError, UnknownNameError
from seedproof.report.versions import VersionReport
from seedproof.report.versions.sentences import (
    Points,
    PValue,
    headline,
    left_out_examples,
    legend,
    limits,
    sentences,
    steadier,
    title,
)
from seedproof.report.versions.view import DIFFERENCES, GROUP_HEAD, TITLES, _votes
from seedproof.stats.intervals import Estimate
from seedproof.testing.errors import WithFields

N_EXAMPLES = 300
COLUMN = "a long title of a column"


def report(n_old, n_new, n_changed=0, *, labeled=True):
    """Compare versions of given numbers of runs; the new one changes `n_changed` examples."""
    rng = np.random.default_rng(1)
    hard = rng.random(N_EXAMPLES) < 0.2
    pooled = ((rng.random((n_old + n_new, N_EXAMPLES)) < 0.3) & hard).astype(int)
    pooled[:n_old, :n_changed], pooled[n_old:, :n_changed] = 0, 1
    options = {"labels": np.zeros(N_EXAMPLES, dtype=int)} if labeled else {}
    return sp.compare_versions(pooled[:n_old], pooled[n_old:], classes=["no", "[yes]"], **options)


def noisy(*shares, n_runs=8):
    """Compare versions whose runs flip a share of the hard examples at random."""
    rng = np.random.default_rng(4)
    hard = rng.random(N_EXAMPLES) < 0.4
    sides = [((rng.random((n_runs, N_EXAMPLES)) < share) & hard).astype(int) for share in shares]
    return sp.compare_versions(*sides)


def sliced(names, n_runs=6, n_changed=0, classes=("no", "yes"), each=20):
    """Compare versions with a slice of `each` examples per name."""
    rng = np.random.default_rng(2)
    pooled = (rng.random((2 * n_runs, each * len(names))) < 0.1).astype(int)
    pooled[:n_runs, :n_changed], pooled[n_runs:, :n_changed] = 0, 1
    return sp.compare_versions(
        pooled[:n_runs],
        pooled[n_runs:],
        labels=np.zeros(each * len(names), dtype=int),
        classes=list(classes),
        slices={COLUMN: np.repeat(names, each)},
    )


def _sentences(report):
    """On the change, stability, directions, accuracy and single examples."""
    return sentences(report.comparison)


def _codes(messages):
    return [message.code for message in messages]


def test_text(snapshot):
    """The text in a terminal."""
    snapshot("versions.txt", f"{report(6, 6, 30)}\n")


def test_change_beyond_the_seed_has_its_size_and_p_value():
    """30 of 300 examples change in every run, and are listed with their votes.

    Accuracy is judged as well: its fall comes first.
    """
    result = report(6, 6, 30)
    accuracy, change, _, directions, examples = _sentences(result)

    assert change.code == "change-beyond-seed"
    assert change.fields["p_value"].value == pytest.approx(2 / 924)  # ways to assign 12 runs
    assert change.fields["beyond"].estimate == result["flip_rate_beyond"]
    assert change.fields["flip_rate"].estimate == result["flip_rate"]
    assert directions.fields["negative_beyond"].code == "more-than-seed"
    assert directions.fields["negative"].estimate == result["negative_flip_rate"]
    assert accuracy.code == "accuracy-worse"
    assert (examples.code, examples.fields["n_found"]) == ("examples-changed", 30)
    votes = ["no (6)", "[yes] (6)"]  # a user's class is never taken for markup
    assert " ".join(votes) in " ".join(str(result).split())


@pytest.mark.parametrize(
    ("value", "text"), [(0.0021, ".002"), (0.4, ".400"), (0.0001, ".001"), (1.0, "1.000")]
)
def test_p_values_have_three_digits(value, text):
    """Smaller ones are written as "< .001"."""
    assert str(PValue(value)).endswith(text)
    assert ("<" in str(PValue(value))) == (value < 0.001)


def test_no_change_has_a_weaker_sentence():
    """No change is claimed, and no example is named."""
    change, _, directions, accuracy, examples = _sentences(report(6, 6))

    assert change.code == "change-not-shown"
    assert change.fields["shown_for"] == ""
    assert directions.fields["negative_beyond"].code == "not-shown-to-exceed-seed"
    assert directions.fields["positive_beyond"].code == "not-shown-to-exceed-seed"
    assert accuracy.code == "accuracy-open"
    assert examples.code == "no-example-changed"


def test_too_few_runs_for_single_examples_are_reported():
    """5 and 5 runs have p = 2/252 at best, too large for one example among many."""
    result = report(5, 5)
    examples = _sentences(result)[-1]

    assert examples.code == "too-few-runs-for-examples"
    discoveries = result.comparison.discoveries
    assert examples.fields["n_needed"] == discoveries.n_needed > 1
    assert examples.fields["runs_needed"] == discoveries.runs_needed > 5


def test_two_runs_of_each_version_have_no_verdict():
    """Intervals over examples only cannot distinguish the seed from the version."""
    result = report(2, 2, 30)
    change, steady, directions, accuracy, _ = _sentences(result)

    assert (change.code, accuracy.code) == ("change-of-few-runs", "accuracy-of-few-runs")
    assert steady.code == "steadiness-of-few-runs"
    assert directions.fields["negative_beyond"] == ""
    notes = limits(result.comparison)
    assert _codes(notes) == ["two-runs", "two-runs"]
    assert [note.fields["version"] for note in notes] == ["old", "new"]


@pytest.mark.parametrize(("n_old", "n_new"), [(4, 4), (3, 3), (1, 4), (4, 1)])
def test_versions_with_fewer_than_five_runs_have_figures_and_no_verdict(n_old, n_new):
    """30 of 300 examples change in every run, and p is below 0.05 with 4 and 4."""
    result = report(n_old, n_new, 30)
    change, steady, directions, accuracy, examples = _sentences(result)

    assert (change.code, accuracy.code) == ("change-of-few-runs", "accuracy-of-few-runs")
    assert steady.code in {"steadiness-of-few-runs", "steadiness-unknown"}
    assert directions.fields["negative_beyond"] == ""
    assert examples.code == "examples-of-few-runs"
    assert headline(result.comparison).code == "few-runs"
    summary = result.summary()
    assert (summary["is_judged"], summary["is_beyond"]) == (False, False)
    assert not any(part["is_beyond"] for part in (summary["whole"], *summary["by_class"]))
    assert (summary["discoveries"]["n_found"], summary["unexplained"]) == (0, [])
    assert result["flip_rate_beyond"].low is not None


@pytest.mark.parametrize(("n_old", "n_new"), [(5, 1), (5, 3), (1, 5)])
def test_five_runs_of_one_version_are_enough_for_a_verdict(n_old, n_new):
    """They show what another seed changes, and 120 of 300 examples are far more."""
    result = report(n_old, n_new, 120)

    assert result.comparison.is_beyond
    assert headline(result.comparison).fields["quality"].code == "accuracy-fell"
    assert headline(result.comparison).fields["change"].code == "more-changes"


@pytest.mark.parametrize(
    ("old", "new", "code", "verdict"),
    [
        (0.5, 0.05, "new-version-steadier", "steadier"),
        (0.05, 0.5, "new-version-less-steady", "less steady"),
        (0.3, 0.3, "steadiness-not-shown", "no difference shown"),
        (0.0, 0.0, "steadiness-untrusted", "not tested"),  # copies of a run
    ],
)
def test_steadier_version_is_named_only_if_it_is_shown(old, new, code, verdict):
    """The interval of the ratio of the flip rates must exclude 1."""
    result = noisy(old, new)

    assert result.steadiness.verdict == verdict
    message = steadier(result.comparison)
    assert (message.code, message.fields["effect"]) == (code, result.steadiness)
    assert message in _sentences(result)
    assert result.summary()["steadiness"]["verdict"] == verdict


def test_headline_has_stability_and_change():
    """In one sentence, after the change of accuracy if there is one."""
    worse = report(6, 6, 30).comparison

    assert headline(noisy(0.5, 0.05).comparison).code == "more-changes-and-steadier"
    assert headline(noisy(0.3, 0.3).comparison).code == "no-change-shown"
    assert headline(worse).code == "quality-and-change"
    assert headline(worse).fields["change"].code == "more-changes"
    assert headline(report(2, 2, 30).comparison).code == "few-runs"


def test_sentences_name_seeds_if_both_versions_recorded_them():
    """Without them, only runs are known to differ."""
    comparison = report(6, 6, 0).comparison

    by_seed = replace(comparison, repeats="seeds")

    assert (headline(comparison).fields["repeat"], comparison.summary()["repeats"]) == (
        "run",
        "runs",
    )
    assert (headline(by_seed).fields["repeat"], by_seed.summary()["repeats"]) == ("seed", "seeds")


@pytest.mark.parametrize("n_new", [6, 2])
def test_steadiness_equals_the_effect_of_compare(n_new):
    """Both verbs have the same ratio, interval, power and verdict."""
    rng = np.random.default_rng(4)
    hard = rng.random(N_EXAMPLES) < 0.4
    old, new = (((rng.random((6, N_EXAMPLES)) < share) & hard).astype(int) for share in (0.5, 0.2))

    effect = sp.compare_versions(old, new[:n_new]).steadiness
    compared = sp.compare({"old": old, "new": new[:n_new]}).effect("new", "flip_rate")

    assert (effect.verdict, effect.over) == (compared.verdict, compared.over)
    assert (effect.value, effect.low, effect.high) == pytest.approx(
        (compared.value, compared.low, compared.high)
    )
    assert effect.detectable == pytest.approx(compared.detectable)


def test_single_old_run_has_no_stability_and_a_note():
    """The effect of another seed is estimated from the new version."""
    result = report(1, 6)
    (note,) = limits(result.comparison)

    assert result.steadiness is None
    assert result.summary()["steadiness"] is None
    message = steadier(result.comparison)
    assert (message.code, message.fields) == (
        "steadiness-unknown",
        {"version": "old", "unit": "run"},
    )
    assert title(result.comparison).fields["old"].fields["n_runs"] == 1
    assert _sentences(result)[0].fields["baseline_from"] == "new"
    assert (note.code, note.fields) == (
        "one-run",
        {"version": "old", "unit": "run", "other": "new", "repeat": "run"},
    )


def test_figures_print_as_in_the_table():
    """Rates in percent, differences in points, both with the digits of the table."""
    result = report(6, 6, 30)
    lines = [" ".join(line.split()) for line in result.text().splitlines()]

    for name, estimate in result.items():
        printed = str(estimate).replace(" over ", " ")
        title = TITLES[name].strip().format(unit="run")
        assert any(line.endswith(f"{title} {printed}") for line in lines)
        assert (" pts" in printed) == (name in DIFFERENCES)
    assert len(DIFFERENCES) == 4


def test_without_labels_right_and_wrong_are_left_out():
    """Flips need no labels; a note reports what is missing."""
    result = report(4, 4, labeled=False)

    assert len(_sentences(result)) == 3
    assert not [line for line in result.text().splitlines() if TITLES["accuracy_old"] in line]
    assert "no-labels" in _codes(limits(result.comparison))


def test_saving_writes_four_files(tmp_path):
    """The text ends with the command."""
    result = report(3, 3)

    command = "seedproof compare --old a --new b"
    result.save(tmp_path / "out", command=command)

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "examples.parquet",
        "versions.html",
        "versions.json",
        "versions.txt",
    ]
    text = (tmp_path / "out" / "versions.txt").read_text(encoding="utf-8")
    assert text.startswith(result.text())
    assert text.endswith(f"{command}\n")


def test_unknown_names_are_refused():
    """A figure or a column."""
    result = report(3, 3)

    with pytest.raises(UnknownNameError, check=WithFields(figure="churn")):
        result["churn"]
    with pytest.raises(ColumnError, check=WithFields(column="text", known=())):
        result.text(show=["text"])


def _with_whole(result, *, p_value, **changes):
    """The same comparison with another verdict on the whole."""
    whole = replace(result.comparison.whole, **changes)
    permutation_test = PermutationTest(p_value, result.comparison.permutation_test.least)
    return VersionReport(replace(result.comparison, whole=whole, permutation_test=permutation_test))


def test_change_of_unknown_size_has_its_own_sentence():
    """The exact test shows a change, but the interval includes 0."""
    result = report(6, 6)
    beyond = Estimate(0.021, -0.01, 0.052, "runs × examples")
    figures = {**result.comparison.whole.figures, "flip_rate_beyond": beyond}

    change = _sentences(_with_whole(result, p_value=0.003, figures=figures))[0]

    assert change.code == "change-of-unknown-size"
    assert change.fields["beyond"].estimate == beyond
    assert change.fields["p_value"].value == 0.003


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.021, -0.01, 0.052, "runs × examples"), "2.1 [−1.0, 5.2]"),
        (Estimate(-0.000001), "0.0"),
    ],
)
def test_differences_have_one_digit_and_zero_has_no_sign(estimate, text):
    """In points, as a share in percent."""
    numbers = re.findall(r"[\d.−]+", str(Points(estimate)))

    assert numbers == re.findall(r"[\d.−]+", text)


@pytest.mark.parametrize(
    ("n_starred", "names", "n_more"),
    [(1, ("1",), 0), (2, ("1", "2"), 0), (5, ("1", "2", "3"), 2)],
)
def test_changed_classes_are_named_if_the_whole_is_not_shown_to_change(n_starred, names, n_more):
    """The stars of the table do not contradict the first sentence; many are counted."""
    result = report(6, 6)
    part = result.comparison.by_class[0]
    starred = tuple(replace(part, name=n, is_beyond=True) for n in "12345"[:n_starred])
    some = VersionReport(replace(result.comparison, by_class=starred))

    change = _sentences(_with_whole(some, p_value=0.4, is_beyond=False))[0]

    assert change.code == "change-not-shown"
    shown_for = change.fields["shown_for"]
    assert shown_for.code == "change-shown-for-parts"
    assert (shown_for.fields["names"], shown_for.fields["n_more"]) == (names, n_more)


def _rows(result):
    """The table of slices, its head first."""
    lines = result.text().splitlines()
    start = next(i for i, line in enumerate(lines) if re.search("  +".join(GROUP_HEAD), line))
    return lines[start : start + 1 + min(len(result.comparison.slices[COLUMN]), 10)]


@pytest.mark.parametrize("name", ["a name that goes on and on and on ", "很长的名字" * 6])
def test_long_names_are_cut_and_figures_and_stars_are_not(name):
    """In 80 columns each row ends with both shares of flips, and the first one has its star."""
    result = sliced([f"{name}{i}" for i in range(3)], n_changed=20)

    head, *rows = _rows(result)

    assert head.endswith(GROUP_HEAD[-1])
    assert all(re.search(r"\[\S+, \S+\]( \*)? +\S+\s% +\S+\s%$", row) for row in rows)
    assert ["] *" in row for row in rows] == [True, False, False]
    assert re.match(r"[^…]+…[^…]*0  ", rows[0])  # the end of the name is kept


def test_long_classes_are_cut_and_counts_of_votes_are_not():
    """All 6 runs give one answer before and another one now."""
    classes = ["the first of two classes with long names", "the second of two such classes"]
    text = sliced(["one", "two"], n_changed=20, classes=classes).text()

    row = r"^\d+ +the first…ng names \(6\)  the secon… classes \(6\)  "
    assert len(re.findall(row, text, re.MULTILINE)) == 10


def test_votes_for_many_classes_are_added_up():
    """Votes that do not fit are counted together."""
    names = ["politics", "business", "technology"]

    assert _votes([0, 0, 0, 1, 2], names, is_short=True) == "pol…cs (3), others (2)"
    assert _votes([0, 0, 0, 1, 2], ["a", "b", "c"], is_short=True) == "a (3), b (1), c (1)"


def test_star_is_judged_by_the_printed_interval():
    """It holds for all rows together, so it is wider than that of the slice alone."""
    result = sliced(["one", "two", "three"], n_changed=20)
    part = next(p for p in result.comparison.slices[COLUMN] if p.name == "one")

    low, high = (
        f"{100 * end:.1f}".replace("-", "−") for end in (part.beyond.low, part.beyond.high)
    )

    assert f"[{low}, {high}] *" in _rows(result)[1]
    assert part.beyond.low < part.figures["flip_rate_beyond"].low
    judged = legend(result.comparison, result.comparison.slices[COLUMN])[0]
    assert (judged.code, judged.fields) == ("rows-judged", {"n_parts": 3})
    assert str(judged) in " ".join(result.text().split())


def test_slices_of_two_runs_are_not_judged():
    """An interval over examples only gets no star, and a note reports it."""
    result = sliced(["one", "two"], n_runs=2, n_changed=20)

    judged = legend(result.comparison, result.comparison.slices[COLUMN])[0]
    assert (judged.code, judged.fields) == ("rows-not-judged", {"n_parts": 2})
    assert "] *" not in result.text()


def test_rows_that_are_left_out_are_counted_and_in_the_file():
    """10 of 12 slices and 10 of 20 examples are shown; the file has all."""
    result = sliced([f"s{i}" for i in range(12)], n_changed=20)
    summary = json.loads(result.to_json())

    left_out = legend(result.comparison, result.comparison.slices[COLUMN])[0]
    assert (left_out.code, left_out.fields) == ("parts-left-out", {"n_shown": 10, "n_parts": 12})
    assert len(summary["slices"][COLUMN]) == 12
    assert result.comparison.discoveries.n_found == len(summary["unexplained"]) == 20
    examples = left_out_examples(result.comparison)
    assert examples.fields == {"n_shown": 10, "n_found": 20, "n_kept": 20}
    text = " ".join(result.text().split())
    assert str(left_out) in text
    assert str(examples) in text
    few = sliced(["one", "two"]).comparison
    assert left_out_examples(few) is None
    assert "parts-left-out" not in _codes(legend(few, few.slices[COLUMN]))


def test_examples_beyond_the_json_are_in_the_table_of_examples():
    """600 change; 500 are in the JSON, and p-values in the table identify all."""
    result = sliced(["one", "two"], n_changed=600, each=400)
    p_values = result.comparison.examples()["p_value"].to_numpy()

    left_out = left_out_examples(result.comparison)
    assert left_out.fields == {"n_shown": 10, "n_found": 600, "n_kept": 500}
    assert (p_values <= result.summary()["discoveries"]["threshold"]).sum() == 600


def test_legend_explains_right_and_wrong_if_there_are_labels():
    """Without labels there are no such columns."""
    labeled = sliced(["one", "two"]).comparison
    unlabeled = report(4, 4, labeled=False)

    assert "right-and-wrong" in _codes(legend(labeled, labeled.slices[COLUMN]))
    parts = (unlabeled.comparison.whole,)
    assert "right-and-wrong" not in _codes(legend(unlabeled.comparison, parts))
    assert GROUP_HEAD[-1] not in unlabeled.text()
