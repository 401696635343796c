"""Classes and slices of a report: the sentence that names the worst, and the tables."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.groups import N_ON_PAGE, findings, group_tables
from seedproof.report.text import N_GROUPS

N_EXAMPLES = 900


def _report(n_runs=8, *, n_classes=3, unstable=0.6, labels=True, n_values=0):
    """Runs that differ more on the examples of class 1 than on all others."""
    rng = np.random.default_rng(0)
    gold = np.arange(N_EXAMPLES) % n_classes
    is_drawn = rng.random((n_runs, N_EXAMPLES)) < np.where(gold == 1, unstable, 0.1)
    predictions = np.where(is_drawn, rng.integers(n_classes, size=is_drawn.shape), gold)
    sources = [f"source_{i // n_classes % max(n_values, 1)}" for i in range(N_EXAMPLES)]
    return sp.measure(
        predictions,
        labels=gold if labels else None,
        classes=["cat", "dog", "fox", *(f"class {i}" for i in range(3, n_classes))],
        slices={"source": sources} if n_values else None,
    )


def _messages(report):
    return {topic: message for topic, (message,) in findings(report.measurement).items()}


def test_least_stable_class_is_named_with_its_interval():
    report = _report()

    message = _messages(report)["Classes"]

    assert message.code == "least-stable"
    assert message.fields["name"] == "dog"
    assert message.fields["value"].estimate == report.by_class[1].metrics["flip_rate"]
    assert message.fields["overall"].value == report["flip_rate"].value


def test_no_class_is_named_if_none_is_shown_to_be_less_stable():
    """One of them always has the highest flip rate."""
    assert _messages(_report(unstable=0.1))["Classes"].code == "none-less-stable"


def test_few_runs_name_no_class():
    """A slice that was requested gets the reason."""
    messages = _messages(_report(4, n_values=5))

    (message,) = messages.values()
    assert message.code == "too-few-runs-to-judge"
    assert message.fields["what"].fields["column"] == "source"


@pytest.mark.parametrize(("labels", "code"), [(True, "class"), (False, "majority-class")])
def test_sentence_says_which_classes_are_meant(labels, code):
    message = _messages(_report(labels=labels))["Classes"]

    assert message.fields["what"].code == code


def test_runs_that_agree_get_no_sentence():
    assert findings(sp.measure(np.zeros((6, 40), dtype=int)).measurement) == {}


def test_tables_have_the_least_stable_first():
    """Classes that are shown to be less stable, then by flip rate."""
    report = _report(n_classes=40, n_values=3)

    classes, source = group_tables(report.measurement)
    rates = {group.name: -group.metrics["flip_rate"].value for group in report.by_class}

    names = [row[0] for row in classes.rows]
    assert names[0] == "dog"
    assert names[1:] == sorted(rates, key=rates.get)[1:N_ON_PAGE]
    assert len(classes.notes()) == len(classes.notes(N_GROUPS)) == 2
    assert len(source.rows) == 3
    assert len(source.notes()) == 1


def _n_rows(text, names):
    """Number of lines that begin with one of these names and end with an interval."""
    lines = [line for line in text.splitlines() if line.rstrip(" *").endswith("]")]
    return sum(line.startswith(tuple(f"{name} " for name in names)) for line in lines)


def test_terminal_shows_slices_and_on_request_classes():
    """At most ten rows each."""
    report = _report(n_classes=40, n_values=3)
    classes = [group.name for group in report.by_class]

    assert _n_rows(report.text(), ["source_0", "source_1", "source_2"]) == 3
    assert _n_rows(report.text(), classes) == 0
    assert _n_rows(report.text(all_metrics=True), classes) == N_GROUPS


def test_page_has_a_section_per_kind_of_group():
    page = _report(n_values=4).to_html()

    assert page.count('id="groups-') == 2


def test_estimates_of_groups_print_in_their_unit():
    group = _report().by_class[0]

    assert {estimate.unit for estimate in group.metrics.values()} == {"percent"}
