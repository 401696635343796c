"""The verdicts in words: every form says the same, and no user's word breaks one."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from seedproof.comparison.effect import Effect
from seedproof.comparison.gate.judge import Baseline, Check, GateResult, judge
from seedproof.comparison.gate.rules import Rule
from seedproof.measurement.intervals import Estimate
from seedproof.report.gate import (
    advice,
    as_json,
    as_junit,
    as_markdown,
    as_text,
    headline,
    sentence,
)

BOTH = "runs × examples"
HOSTILE = '<b>|`x` "&amp;\x00\ud800\n| --- | @all </testcase> ]]> **[a](javascript:b)'


def plain(text):
    """With ordinary spaces."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def check(kind="max", metric="flip_rate", limit=0.05, found=None, n_runs=10, **further):
    """A rule that was judged."""
    rule = Rule(kind, metric, limit)
    found = found or Estimate(0.044, 0.038, 0.052, BOTH)
    return judge({metric: found}, [rule], n_runs=n_runs, **further).checks[0]


def compared(metric, effect, arm, base, **further):
    """A rule that was judged against a baseline."""
    baseline = Baseline({metric: Estimate(base)}, {metric: effect}, 10)
    limit = Rule.no_worse(metric).limit
    return check("no-worse", metric, limit, Estimate(arm), baseline=baseline, **further)


# -------------------------------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (check(limit=0.06), "flip_rate 4.4 % [3.8, 5.2] is at most 6 %."),
        (check(limit=0.03), "flip_rate 4.4 % [3.8, 5.2] is not at most 3 %."),
        (check(), "flip_rate 4.4 % [3.8, 5.2] straddles its limit, at most 5 %."),
        (
            check("min", "accuracy", 0.82, Estimate(0.83, 0.825, 0.835, BOTH)),
            "accuracy 83.0 % [82.5, 83.5] is at least 82 %.",
        ),
        (
            check("max", "accuracy_sd", 0.01, Estimate(0.012), n_runs=4),
            "accuracy_sd 1.20 pts may or may not be at most 1 pt.",
        ),
        (
            check("max", "accuracy_sd", 0.011, Estimate(0.012), n_runs=4),
            "accuracy_sd 1.20 pts may or may not be at most 1.1 pts.",
        ),
        (
            check(limit=0.8, found=Estimate(0.358, 0.313, 0.408, "examples"), n_runs=2),
            ("flip_rate 35.8 % [31.3, 40.8] may or may not be at most 80 %; with two runs the "
            "interval is over examples only, so that nothing is known of other runs."),
        ),
        (
            compared("accuracy", Effect("accuracy", "difference", 0.1, 0.05, 0.15, "examples"),
                     0.8, 0.7, n_runs=2),
            ("accuracy 80.0 %, 10.00 pts [5.00, 15.00] from the baseline's 70.0 %, may be worse "
            "(margin 0.5 pts); with two runs on a side the interval is over examples only, so that "
            "nothing is known of other runs."),
        ),
        (
            check("max", "ambiguity", 0.3, Estimate(0.29)),
            "ambiguity 29.0 % is at most 30 %; it is judged by its value alone.",
        ),
        (
            compared("flip_rate", Effect("flip_rate", "ratio", 1.25, 1.2, 1.3, BOTH), 0.05, 0.04),
            ("flip_rate 5.0 %, 1.25 [1.20, 1.30] times the baseline's 4.0 %, is worse "
            "(margin 10 % of the baseline)."),
        ),
        (
            compared(
                "accuracy", Effect("accuracy", "difference", -0.001, -0.004, 0.002, BOTH), 0.83, 0.831
            ),
            ("accuracy 83.0 %, −0.10 pts [−0.40, 0.20] from the baseline's 83.1 %, is no worse "
            "(margin 0.5 pts)."),
        ),
        (
            compared("nll", Effect("nll", "difference", 0.004, -0.01, 0.02, BOTH), 0.4, 0.396),
            ("nll 0.400, 0.004 [−0.010, 0.020] from the baseline's 0.396, may be worse "
            "(margin 0.005)."),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_sentence_says_what_was_found_and_how_it_stands_to_the_limit(judged, words):
    """The limit as it was given, the figures as everywhere."""
    assert plain(sentence(judged)) == words


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (check(limit=0.06), ""),
        (check(limit=0.03), "Mend the training, or change the limit and say why."),
        (check(limit=0.0441), "It is too near the limit: more than 200 runs would be needed. "),
        (
            check(found=Estimate(0.0, 0.0, 0.06, "examples")),
            "No number of runs would settle it: there are too few examples.",
        ),
        (
            check("max", "accuracy_sd", 0.01, Estimate(0.012), n_runs=4),
            "Make at least 5 runs, better 10.",
        ),
        (
            check(limit=0.8, found=Estimate(0.358, 0.313, 0.408, "examples"), n_runs=2),
            "Make at least 3 runs, better 5.",
        ),
        (
            check("max", "accuracy_sd", 0.01, Estimate(0.012), n_runs=6),
            "It has no interval here, as where one run makes all of the spread: add runs.",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_advice_says_what_would_settle_it(judged, words):
    """Nothing where nothing is to be done."""
    assert plain(advice(judged)).startswith(words)
    assert bool(advice(judged)) == bool(words)


def test_advice_counts_runs():
    """About as many as `more_runs` says; on each side if two are compared."""
    judged = check()
    effect = Effect("flip_rate", "ratio", 1.0, 0.8, 1.2, BOTH)

    assert (
        advice(judged) == f"About {judged.more_runs} more runs would settle it, if the value stays."
    )
    assert "more runs on each side" in advice(compared("flip_rate", effect, 0.04, 0.04))


@given(
    ends=st.tuples(*[st.floats(0.0001, 0.9999)] * 3).map(sorted), limit=st.floats(0.0001, 0.9999)
)
def test_digits_show_on_which_side_of_the_limit_a_number_is(ends, limit):
    """4.96 against 5 is written 4.96 and not 5.0."""
    low, value, high = (round(one, 7) for one in ends)
    limit = round(limit, 6)  # as many digits as a limit is written with

    words = plain(sentence(check(limit=limit, found=Estimate(value, low, high, BOTH))))

    numbers = [float(text) for text in words.split("]")[0].replace("[", "").replace(",", "")
               .replace("%", "").split()[1:]]  # fmt: skip
    shown_limit = float(f"{100 * limit:.6g}")
    for number, exact in zip(numbers, (value, low, high), strict=True):
        if abs(exact - limit) > 1e-6:
            assert (number > shown_limit) == (exact > limit)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ([0.06], "Pass: the rule holds. Judged from 10 runs."),
        ([0.06, 0.07], "Pass: all 2 rules hold. Judged from 10 runs."),
        ([0.05], "Investigate: the rule is open. Judged from 10 runs."),
        ([0.03], "Fail: the rule is broken. Judged from 10 runs."),
        ([0.05, 0.06], "Investigate: of 2 rules, 1 is open; none is broken. Judged from 10 runs."),
        ([0.05, 0.03], "Fail: of 2 rules, 1 is broken and 1 is open. Judged from 10 runs."),
        ([0.03, 0.02], "Fail: of 2 rules, 2 are broken. Judged from 10 runs."),
    ],
)
def test_headline_counts(limits, words):
    """The verdict first."""
    result = GateResult(tuple(check(limit=limit) for limit in limits), 10)

    assert headline(result) == words


# ------------------------------------------------------------------------------------ the formats

RESULT = GateResult(
    (check(limit=0.06), check("max", "net_flip_rate"), check("min", "accuracy", 0.9)),
    10,
    ("The records were made in different environments: torch 2.12.0 v 2.13.0.",),
)


def test_text_fits_eighty_columns():
    """One block a rule, the verdict in front, notes at the end."""
    lines = plain(as_text(RESULT)).splitlines()

    assert max(map(len, lines)) <= 80
    starts = [line.split()[0] for line in lines if line[:1].isupper()]
    assert starts == ["Fail:", "PASS", "INVESTIGATE", "FAIL", "Note:"]


def test_json_holds_figures_and_sentences():
    """As plain data, with ordinary spaces."""
    content = json.loads(as_json(RESULT))

    assert (content["outcome"], content["exit_code"], content["n_runs"]) == ("fail", 1, 10)
    assert [one["outcome"] for one in content["checks"]] == ["pass", "investigate", "fail"]
    assert content["checks"][0]["rule"] == {"kind": "max", "metric": "flip_rate", "limit": 0.06}
    assert content["checks"][0]["found"]["high"] == 0.052
    assert content["checks"][0]["text"] == "flip_rate 4.4 % [3.8, 5.2] is at most 6 %."
    assert content["notes"] == list(RESULT.notes)


def test_json_has_no_infinity():
    """A ratio to a baseline without flips has no upper end."""
    effect = Effect("flip_rate", "ratio", None, 0.5, float("inf"), "examples")

    content = json.loads(as_json(GateResult((compared("flip_rate", effect, 0.04, 0.0),), 10)))

    assert content["checks"][0]["effect"]["low"] == 0.5
    assert content["checks"][0]["effect"]["high"] is None


def test_junit_has_a_case_for_each_rule_under_a_name_without_its_limit():
    """So that CI follows a rule when its limit changes."""
    suite = ET.fromstring(as_junit(RESULT)).find("testsuite")  # noqa: S314 - our own

    assert suite.get("name") == "seedproof gate"
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "0")
    names = [case.get("name") for case in suite.iter("testcase")]
    assert names == ["max flip_rate", "max net_flip_rate", "min accuracy"]
    kinds = [failure.get("type") for failure in suite.iter("failure")]
    assert kinds == ["investigate", "fail"]
    notes = [p.get("value") for p in suite.iter("property") if p.get("name") == "note"]
    assert notes == list(RESULT.notes)


def rendered(markdown):
    """GitHub's Markdown as HTML: tables, and HTML let through, as an attacker would like it."""
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)


class Page(HTMLParser):
    """Tags and cells of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.rows, self.code = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002, D102
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_data(self, data):  # noqa: D102
        if self.tags[-1:] == ["code"] and "pre" in self.tags[-2:]:
            self.code += data
        elif self.rows and self.rows[-1] and "pre" not in self.tags:
            self.rows[-1][-1] += data.strip("\n")


def test_markdown_begins_with_the_verdict_and_ends_with_the_command():
    """Between them one row a rule."""
    text = as_markdown(RESULT, command="seedproof gate runs --max flip_rate=0.06")

    assert text.startswith("**❌ Fail: of 3 rules, 1 is broken and 1 is open.")
    assert text.endswith("```sh\nseedproof gate runs --max flip_rate=0.06\n```\n")
    page = Page(rendered(text))
    assert [row[0] for row in page.rows] == ["verdict", "✅ pass", "🔍 investigate", "❌ fail"]
    assert plain(page.rows[1][2]) == "4.4 % [3.8, 5.2]"
    assert "torch 2.12.0 v 2.13.0" in text


# ---------------------------------------------------------------------------------- hostile words


def hostile(words):
    """Verdicts in which a metric and a note are somebody's own words."""
    rules = [Rule("max", words, limit) for limit in (0.06, 0.05, 0.03)]
    found = {words: Estimate(0.044, 0.038, 0.052, BOTH)}
    return judge(found, rules, n_runs=10, notes=(words,))


@given(words=st.text(min_size=1) | st.sampled_from([HOSTILE, "|", "`", "a|b`c`"]))
def test_no_word_breaks_the_xml(words):
    """The document parses and has its three cases."""
    root = ET.fromstring(as_junit(hostile(words)))  # noqa: S314 - our own

    assert len(root.findall("testsuite/testcase")) == 3
    assert len(root.findall("testsuite/testcase/failure")) == 2


@given(
    words=st.text(min_size=1)
    | st.sampled_from([HOSTILE, "|", "`", "a|b`c`", "<img src=x>", "\\|"]),
    command=st.text() | st.sampled_from([HOSTILE, "```\n<script>", "~~~", "````"]),
)
def test_no_word_leaves_its_cell_or_becomes_html(words, command):
    """Four rows of five cells, no tag of the attacker's, the command in one block."""
    page = Page(rendered(as_markdown(hostile(words), command=command)))

    assert [len(row) for row in page.rows] == [5] * 4
    known = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "pre", "code", "em"}
    assert set(page.tags) <= known
    assert page.tags.count("pre") == 1


@given(words=st.text(min_size=1))
def test_no_word_steers_the_terminal(words):
    """Line ends and control codes are written out."""
    text = as_text(hostile(words))

    assert all(sign.isprintable() or sign in "\n\N{NO-BREAK SPACE}" for sign in text)
    assert len([line for line in text.splitlines() if line.startswith(("PASS", "FAIL"))]) == 2


def test_a_check_is_plain_data():
    """Frozen, so that nobody changes a verdict."""
    with pytest.raises(AttributeError):
        check().outcome = "pass"
    assert isinstance(check(), Check)
