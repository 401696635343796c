"""Checks of the input are shown by every result: errors, then warnings, and notes as notes."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import seedproof as sp
from seedproof.errors import OptionError, UnreadableError
from seedproof.measurement.load import load_saved
from seedproof.predictions.checks import Check, of_arms
from seedproof.records.decoding import decode
from seedproof.records.location import Location
from seedproof.report.checks import alerts, finding, notes
from seedproof.report.gate_report import GateReport
from seedproof.report.text import check_lines
from seedproof.testing.errors import WithFields

HOSTILE = '<b>"&amp;\x00\x1b[31m\n`</li><script>alert(1)</script>'
ERROR = Check("duplicate-runs", "error", ("0", "1"), "Runs 0 and 1 agree.", "Run `doctor`.")
WARNING = Check("few-runs", "warning", (), "There are 3 runs.", "Use at least 5.")
NOTE = Check("outlier-run", "note", ("2",), "Run 2 is odd.", "Look at it.")
# In an order that is not the one in which they are shown.
CHECKS = (NOTE, WARNING, ERROR)


def _classes(seed=1, n_runs=6, n_examples=60):
    truth = np.random.default_rng(0).integers(0, 3, n_examples)
    is_wrong = np.random.default_rng(seed).random((n_runs, n_examples)) < 0.2
    return (truth + is_wrong) % 3


def _measured(checks):
    measurement = sp.measure(_classes()).measurement
    return sp.Report(replace(measurement, checks=checks))


def _compared(checks):
    comparison = sp.compare({"none": _classes(), "calm": _classes(2)}).comparison
    return sp.ComparisonReport(replace(comparison, checks=of_arms({"calm": checks})))


def _versions(checks):
    comparison = sp.compare_versions(_classes(), _classes(2)).comparison
    return sp.VersionReport(replace(comparison, checks=of_arms({"new": checks})))


def _judged(checks):
    result = sp.gate(_classes(), max={"flip_rate": 0.9}).result
    return GateReport(replace(result, checks=checks))


MAKERS = {
    "measure": _measured,
    "compare": _compared,
    "versions": _versions,
    "gate": _judged,
    "side-by-side": lambda checks: sp.SideBySide(
        {"none": _measured(()), "calm": _measured(checks)}
    ),
}
ARMS = {"compare": "calm", "versions": "new", "side-by-side": "calm"}


class Page(HTMLParser):
    """Tags of a page, and the texts of its items and paragraphs."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs).get("class")))
        if tag in {"li", "p"}:
            self.texts.append("")

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data


@pytest.fixture(params=MAKERS)
def name(request):
    """Every result that has checks."""
    return request.param


def test_checks_are_data_of_every_result(name):
    """Each has the name of its arm, where there are several."""
    result = MAKERS[name](CHECKS)

    assert {replace(check, arm=None) for check in result.checks} == set(CHECKS)
    assert {check.arm for check in result.checks} == {ARMS.get(name)}


def test_json_has_every_check(name):
    """Side by side, in the summary of its arm."""
    summary = json.loads(MAKERS[name](CHECKS).to_json())

    listed = summary["arms"]["calm"] if name == "side-by-side" else summary
    checks = [decode(Check, check) for check in listed["checks"]]
    assert {replace(check, arm=None) for check in checks} == set(CHECKS)


def test_terminal_shows_errors_before_warnings_and_notes_last(name):
    """In lines of at most 80 columns, before the first table."""
    lines = str(MAKERS[name](CHECKS)).splitlines()

    starts = [line.split()[:2] for line in lines if line]
    places = [starts.index(start) for start in (["error", ERROR.name], ["warning", WARNING.name])]
    note = next(i for i, line in enumerate(starts) if line[0] == "Note:")
    assert places == sorted(places)
    assert places[-1] < note
    assert max(map(len, lines)) <= 80
    shown = " ".join(" ".join(lines).split())
    for check in CHECKS:
        assert check.message in shown
        assert check.remedy in shown
    assert NOTE.name not in shown


def test_text_without_checks_has_no_further_line(name):
    """Empty lines come alone."""
    text = str(MAKERS[name](()))

    assert "\n\n\n" not in text
    assert "\n\n\n" not in str(MAKERS[name](CHECKS))


def test_page_has_a_box_with_errors_and_warnings(name):
    """Directly below the headline; without checks there is none."""
    page = Page(MAKERS[name](CHECKS).to_html())

    tags = [tag for tag, _ in page.tags]
    box = page.tags.index(("section", "checks"))
    assert tags.index("h1") < box == tags.index("section")
    classes = [kind for tag, kind in page.tags if tag == "li" and kind]
    assert classes[:2] == ["error", "warning"]
    assert any(ERROR.message in text and ERROR.name in text for text in page.texts)
    assert ("section", "checks") not in Page(MAKERS[name](()).to_html()).tags


def test_notebook_shows_each_error_in_a_line(name):
    """Warnings are on the page."""
    page = Page(MAKERS[name](CHECKS)._repr_html_())

    with_error = [text for text in page.texts if ERROR.message in text]
    assert len(with_error) == 1
    assert ERROR.name in with_error[0]
    assert not any(WARNING.message in text for text in page.texts)


def test_names_of_runs_stay_text(name):
    """On the page, in a notebook, and in a terminal."""
    check = replace(ERROR, name=HOSTILE, message=HOSTILE, remedy=HOSTILE)
    result = MAKERS[name]((check,))
    usual = MAKERS[name]((ERROR,))

    for page, other in (
        (result.to_html(), usual.to_html()),
        (result._repr_html_(), usual._repr_html_()),
    ):
        tags = [tag for tag, _ in Page(page).tags]
        assert tags.count("script") == [tag for tag, _ in Page(other).tags].count("script")
        assert set(tags) == {tag for tag, _ in Page(other).tags}
    assert all(sign.isprintable() or sign in "\n\N{NO-BREAK SPACE}" for sign in str(result))


def test_severity_has_a_color_in_a_terminal():
    """Red for errors and yellow for warnings."""
    console = Console(width=80, color_system="standard", force_terminal=True)
    for result in (_measured(CHECKS), _judged(CHECKS)):
        with console.capture() as capture:
            console.print(result)

        assert "\x1b[1;31merror" in capture.get()
        assert "\x1b[1;33mwarning" in capture.get()


def test_messages_are_aligned_behind_the_longest_severity():
    lines = "\n".join(check_lines((ERROR, WARNING), 30, allowed=[ERROR.name])).splitlines()

    assert {line[:9].strip() for line in lines} == {"error", "warning", ""}
    assert all(line[9] != " " for line in lines)
    assert sum("(allowed)" in line for line in lines) == 1


@given(st.lists(st.sampled_from(CHECKS)))
def test_no_check_is_lost_and_none_is_repeated(checks):
    """Alerts and notes together are all of them."""
    shown = [finding(check) for check in alerts(checks)]

    assert len(shown) + len(notes(checks)) == len(set(checks))
    assert shown == sorted(shown, key=[ERROR.message, WARNING.message].index)


def test_check_that_arms_share_is_shown_once_with_their_names():
    checks = of_arms({"none": [WARNING, ERROR], "calm": [WARNING]})

    error, warning = alerts(checks)

    assert error == replace(ERROR, arm="none")
    assert replace(warning, arm=None) == WARNING
    assert all(arm in warning.arm for arm in ("none", "calm"))


def test_checks_of_a_study_are_in_the_summary_of_each_arm():
    """Such as an arm without a run, which has no summary of its own."""
    missing = Check("missing-runs", "error", (), "No run.", "Finish it.", "lost")
    arms = sp.SideBySide({"calm": _measured((WARNING,)), "none": _measured(())}, checks=[missing])

    listed = {arm: summary["checks"] for arm, summary in arms.summary()["arms"].items()}

    assert listed == {
        "calm": [missing.summary(), WARNING.summary()],
        "none": [missing.summary()],
    }
    assert arms.checks == (missing, replace(WARNING, arm="calm"))


def test_saved_report_keeps_its_checks(tmp_path):
    """They are compared with those of other reports under the name of their arm."""
    _measured(CHECKS).save(tmp_path / "report")
    _measured(()).save(tmp_path / "other")

    loaded = load_saved(Location.of(tmp_path / "report"))
    compared = sp.compare({"other": str(tmp_path / "other"), "report": str(tmp_path / "report")})

    assert loaded.checks == CHECKS
    assert set(compared.checks) == set(of_arms({"report": CHECKS}))


@pytest.mark.parametrize(
    ("checks", "is_read"),
    [
        (None, True),  # of an older version
        ([], True),
        ([ERROR.summary() | {"further": 1}], True),
        ([ERROR.summary() | {"severity": "fatal"}], False),
        ([{"name": "few-runs"}], False),
        ([1], False),
        (1, False),
    ],
)
def test_damaged_checks_of_a_saved_report_are_refused(checks, is_read, tmp_path):
    _measured(()).save(tmp_path)
    path = tmp_path / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    del summary["checks"]
    further = {} if checks is None else {"checks": checks}
    path.write_text(json.dumps(summary | further), encoding="utf-8")

    if is_read:
        assert len(load_saved(Location.of(tmp_path)).checks) == len(checks or [])
    else:
        with pytest.raises(UnreadableError):
            load_saved(Location.of(tmp_path))


def test_severity_must_be_known():
    with pytest.raises(OptionError, check=WithFields(severity="fatal")):
        Check("few-runs", "fatal", (), "", "")
