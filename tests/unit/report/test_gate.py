"""Verdicts as text: every format has the same content, and no user text breaks one."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import get_args
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from seedproof.comparison.gate.judge import GateResult, Reason
from seedproof.comparison.gate.rules import Rule
from seedproof.messages import Message, recorded
from seedproof.predictions.checks import Check
from seedproof.records.decoding import decode
from seedproof.report.gate import (
    NearLimit,
    as_junit,
    as_markdown,
    as_text,
    headline,
    sentence,
    summary,
)
from seedproof.report.gate_advice import ADVICE, advice, studies
from seedproof.report.numbers import TOO_WIDE
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate
from support.gates import baseline_of, judge_figures

BOTH = "runs × examples"
SUITE = "seedproof gate"
RUNS = ["n_runs", "judged_runs", "next_look", "declared_runs"]
HOSTILE = '<b>|`x` "&amp;\x00\ud800\n| --- | @all </testcase> ]]> **[a](javascript:b)'


NO_EFFECT = Effect("flip_rate", "ratio", None)


def _plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def check(kind="max", metric="flip_rate", limit=0.05, value=None, n_runs=10, **further):
    """Judge a rule."""
    rule = Rule(kind, metric, limit)
    value = value or Estimate(0.044, 0.038, 0.052, BOTH)
    return judge_figures({metric: value}, [rule], n_runs=n_runs, **further).rules[0]


def compared(metric, effect, arm, base, **further):
    """Judge a rule against a baseline."""
    baseline = baseline_of(metric, Estimate(base), effect, 10)
    limit = Rule.no_worse(metric).limit
    return check("no-worse", metric, limit, Estimate(arm), baseline=baseline, **further)


@pytest.mark.parametrize(
    ("judged", "code", "value", "limit"),
    [
        (check(limit=0.06), "within-limit", "4.4 % [3.8, 5.2]", "6 %"),
        (check(limit=0.03), "beyond-limit", "4.4 % [3.8, 5.2]", "3 %"),
        (check(), "limit-straddled", "4.4 % [3.8, 5.2]", "5 %"),
        (
            check("min", "accuracy", 0.82, Estimate(0.83, 0.825, 0.835, BOTH)),
            "within-limit", "83.0 % [82.5, 83.5]", "82 %",
        ),
        (
            check("max", "accuracy_sd", 0.01, Estimate(0.012), n_runs=4),
            "not-judged", "1.20 pts", "1 pt",
        ),
        (
            check("max", "accuracy_sd", 0.011, Estimate(0.012), n_runs=6),
            "limit-open", "1.20 pts", "1.1 pts",
        ),
        (check("max", "ambiguity", 0.3, Estimate(0.29)), "within-limit", "29.0 %", "30 %"),
    ],
    ids=["within", "beyond", "straddled", "minimum", "one-point", "points", "by-value"],
)  # fmt: skip
def test_sentence_has_the_value_and_the_limit(judged, code, value, limit):
    """The limit is written as it was given."""
    message = sentence(judged)

    assert (message.code, message.fields["metric"]) == (code, judged.rule.metric)
    assert _plain(str(message.fields["value"])) == value
    assert message.fields["limit"].code == judged.rule.kind
    assert _plain(message.fields["limit"].fields["written"]) == limit
    assert not message.fields["over_examples_only"]
    assert message.fields["by_value"] == (judged.rule.metric == "ambiguity")


@pytest.mark.parametrize(
    ("judged", "code", "shown", "margin"),
    [
        (
            compared("flip_rate", Effect("flip_rate", "ratio", 1.25, 1.2, 1.3, BOTH), 0.05, 0.04),
            "worse", ("5.0 %", "1.25 [1.20, 1.30]", "4.0 %"), "10 %",
        ),
        (
            compared(
                "accuracy", Effect("accuracy", "difference", -0.001, -0.004, 0.002, BOTH), 0.83, 0.831
            ),
            "no-worse", ("83.0 %", "−0.10 pts [−0.40, 0.20]", "83.1 %"), "0.5 pts",
        ),
        (
            compared("nll", Effect("nll", "difference", 0.004, -0.01, 0.02, BOTH), 0.4, 0.396),
            "maybe-worse", ("0.400", "0.004 [−0.010, 0.020]", "0.396"), "0.005",
        ),
    ],
    ids=["ratio", "points", "nats"],
)  # fmt: skip
def test_sentence_on_a_baseline_has_the_change(judged, code, shown, margin):
    """Both values, the change with its interval, and the margin."""
    message = sentence(judged)

    assert (message.code, message.fields["limit"].code) == (code, "margin")
    fields = message.fields["value"].fields
    assert tuple(_plain(str(fields[name])) for name in ("own", "change", "baseline")) == shown
    assert _plain(message.fields["limit"].fields["margin"]) == margin


def test_ratio_to_a_baseline_of_zero_has_no_change():
    """The sentence has both values only."""
    effect = Effect("flip_rate", "ratio", None, 0.5, float("inf"), "examples")

    value = sentence(compared("flip_rate", effect, 0.04, 0.0)).fields["value"]

    assert value.code == "no-change"
    assert [value.fields[name].value for name in ("own", "baseline")] == [0.04, 0.0]


@pytest.mark.parametrize(
    "judged",
    [
        check(limit=0.8, value=Estimate(0.358, 0.313, 0.408, "examples"), n_runs=2),
        compared(
            "accuracy",
            Effect("accuracy", "difference", 0.1, 0.05, 0.15, "examples"),
            0.8,
            0.7,
            n_runs=2,
        ),
    ],
    ids=["alone", "compared"],
)
def test_interval_of_two_runs_covers_examples_only(judged):
    """The sentence reports that."""
    message = sentence(judged)

    assert message.code == "not-judged"
    assert message.fields["over_examples_only"]


@pytest.mark.parametrize(
    ("judged", "code"),
    [
        (check(limit=0.06), None),
        (check(limit=0.03), "fail"),
        (check(limit=0.0441), "next-look"),
        (check(value=Estimate(0.0, 0.0, 0.06, "examples")), "too-few-examples"),
        (
            check(value=Estimate(0.04, 0.0, 0.06, "judges × examples")),
            "too-few-judges-or-examples",
        ),
        (check("max", "accuracy_sd", 0.01, Estimate(0.012), n_runs=6), "no-interval"),
        (check("max", "accuracy_sd", 0.01, Estimate(0.0), n_runs=6), "no-spread"),
        (compared("flip_rate", NO_EFFECT, 0.0, 0.0), "no-ratio"),
        (
            compared("accuracy_sd", replace(NO_EFFECT, metric="accuracy_sd"), 0.0, 0.1),
            "no-interval",
        ),
    ],
    ids=[
        "pass",
        "fail",
        "next-look",
        "examples",
        "judges",
        "interval",
        "zero",
        "zeros",
        "one zero",
    ],
)
def test_advice_depends_on_the_reason(judged, code):
    """There is none if the rule holds."""
    message = advice(judged)

    assert (None if message is None else message.code) == code


@pytest.mark.parametrize(
    ("judged", "missing"),
    [
        (check("max", "accuracy_sd", 0.01, Estimate(0.012), n_runs=4), 1),
        (check(limit=0.8, value=Estimate(0.358, 0.313, 0.408, "examples"), n_runs=2), 3),
    ],
    ids=["spread", "mean"],
)
def test_advice_on_too_few_runs_has_numbers(judged, missing):
    """Those that a verdict needs, and those that are missing."""
    message = advice(judged)

    assert message.code == "too-few-runs"
    assert (message.fields["next_look"], message.fields["more_runs"]) == (5, missing)


@pytest.mark.parametrize(("n_runs", "is_pair"), [(2, True), (3, False)])
def test_only_an_interval_of_two_runs_covers_nothing_but_examples(n_runs, is_pair):
    """Without a flip, the bound of any number of runs is over examples."""
    never = Estimate(0.0, 0.0, 0.03, "examples")

    assert sentence(check(value=never, n_runs=n_runs)).fields["over_examples_only"] == is_pair


@pytest.mark.parametrize(("limit", "is_written"), [(2.0, False), (0.001, True)])
def test_interval_that_is_too_wide_is_written_only_if_it_decides(limit, is_written):
    """From 0.01 to 50 it shows nothing about a limit of 2."""
    text = str(NearLimit(Estimate(0.3, 0.01, 50.0, "runs"), "nats", limit))

    assert ("50" in text) == is_written
    assert (TOO_WIDE in text) != is_written


def test_advice_has_the_next_look():
    """On each side if two are compared."""
    judged = check()
    effect = Effect("flip_rate", "ratio", 1.0, 0.8, 1.2, "runs")
    on_each_side = advice(compared("flip_rate", effect, 0.04, 0.04))

    assert advice(judged).code == on_each_side.code == "next-look"
    assert (advice(judged).fields["next_look"], advice(judged).fields["more_runs"]) == (20, 10)
    assert not advice(judged).fields["each_side"]
    assert on_each_side.fields["each_side"]


def test_every_reason_of_an_open_rule_has_advice():
    """Except those that decide a rule."""
    assert set(ADVICE) == set(get_args(Reason)) - {"interval", "value"}


@pytest.mark.parametrize("chance", [0.0, 0.04, 0.5, 0.94, 0.96, 1.0])
def test_chance_is_a_number_of_studies(chance):
    """Never none and never all of them."""
    numbers = [int(number) for number in re.findall(r"\d+", studies(chance))]

    assert numbers == {0.0: [1, 10], 0.04: [1, 10], 0.5: [5, 10], 0.94: [9, 10]}.get(chance, [])


def test_json_has_the_interval_that_decided_and_the_forecast():
    """A growing study of 12 runs is judged at 10, by a wider interval."""
    rule = Rule("max", "flip_rate", 0.05)
    value = Estimate(0.044, 0.038, 0.052, BOTH)

    content = summary(judge_figures({"flip_rate": value}, [rule], n_runs=12, declared=0))

    assert [content[name] for name in RUNS] == [12, 10, 20, None]
    (judged,) = content["rules"]
    assert judged["found"]["high"] == 0.052 < judged["deciding"]["high"]
    assert judged["found"]["low"] == 0.038 > judged["deciding"]["low"]
    assert 0.0 < judged["chance"] < 1.0
    assert judged["more_runs"] == 8


@given(
    ends=st.tuples(*[st.floats(0.0001, 0.9999)] * 3).map(sorted), limit=st.floats(0.0001, 0.9999)
)
def test_digits_show_on_which_side_of_the_limit_a_number_is(ends, limit):
    """4.96 against 5 is written 4.96 and not 5.0."""
    low, value, high = (round(end, 7) for end in ends)
    high = min(high, 100 * value)  # a wider interval is not written
    limit = round(limit, 6)  # as many digits as a limit is written with

    text = _plain(str(NearLimit(Estimate(value, low, high, BOTH), "percent", limit)))

    numbers = [float(number) for number in re.findall(r"[\d.e-]+", text)]
    shown_limit = float(f"{100 * limit:.6g}")
    for number, exact in zip(numbers, (value, low, high), strict=True):
        if abs(exact - limit) > 1e-6:
            assert (number > shown_limit) == (exact > limit)


@pytest.mark.parametrize(
    ("limits", "code", "n_failed", "n_open"),
    [
        ([0.06], "pass", 0, 0),
        ([0.06, 0.07], "pass", 0, 0),
        ([0.05], "investigate", 0, 1),
        ([0.03], "fail", 1, 0),
        ([0.05, 0.06], "investigate", 0, 1),
        ([0.05, 0.03], "fail", 1, 1),
        ([0.03, 0.02], "fail", 2, 0),
    ],
)
def test_headline_counts_failed_and_open_rules(limits, code, n_failed, n_open):
    """Its code is the verdict."""
    message = headline(GateResult(tuple(check(limit=limit) for limit in limits)))

    assert message.code == code
    assert message.fields == {
        "n_rules": len(limits),
        "n_failed": n_failed,
        "n_open": n_open,
        "n_runs": 10,
        "judged_runs": 10,
    }


RESULT = GateResult(
    (check(limit=0.06), check("max", "net_flip_rate"), check("min", "accuracy", 0.9)),
    (Message("different-environments", "The environments differ: {package}.", package="torch"),),
)


def test_text_fits_eighty_columns():
    """One block per rule, which starts with the verdict; notes at the end."""
    lines = _plain(as_text(RESULT)).splitlines()

    assert max(map(len, lines)) <= 80
    starts = [line.split()[0] for line in lines if line[:1].isupper()]
    assert starts == ["Fail:", "PASS", "INVESTIGATE", "FAIL", "Note:"]


def test_json_has_figures_and_sentences():
    """As plain data, with ordinary spaces."""
    content = json.loads(json.dumps(summary(RESULT), allow_nan=False))

    assert (content["outcome"], content["exit_code"], content["n_runs"]) == ("fail", 1, 10)
    assert [entry["outcome"] for entry in content["rules"]] == ["pass", "investigate", "fail"]
    assert content["rules"][0]["rule"] == {"kind": "max", "metric": "flip_rate", "limit": 0.06}
    assert content["rules"][0]["found"]["high"] == 0.052
    texts = [_plain(str(sentence(judged))) for judged in RESULT.rules]
    assert [entry["text"] for entry in content["rules"]] == texts
    assert content["rules"][0]["advice"] == ""
    assert content["rules"][2]["advice"] == _plain(str(advice(RESULT.rules[2])))
    assert content["notes"] == list(map(str, RESULT.notes))


def test_json_has_no_infinity():
    """A ratio to a baseline without flips has no upper end."""
    effect = Effect("flip_rate", "ratio", None, 0.5, float("inf"), "examples")

    content = summary(GateResult((compared("flip_rate", effect, 0.04, 0.0),)))

    assert content["rules"][0]["effect"]["low"] == 0.5
    assert content["rules"][0]["effect"]["high"] is None


def test_junit_has_a_case_for_each_rule_under_a_name_without_its_limit():
    """So that CI follows a rule when its limit changes."""
    suite = ET.fromstring(as_junit(RESULT)).find("testsuite")  # noqa: S314 - our own

    assert suite.get("name") == SUITE
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "0")
    names = [tuple(case.get("name").split()) for case in suite.iter("testcase")]
    assert names == [("max", "flip_rate"), ("max", "net_flip_rate"), ("min", "accuracy")]
    kinds = [failure.get("type") for failure in suite.iter("failure")]
    assert kinds == ["investigate", "fail"]
    notes = [p.get("value") for p in suite.iter("property") if p.get("name") == "note"]
    assert notes == list(map(str, RESULT.notes))


class Page(HTMLParser):
    """Tags and cells of Markdown as GitHub renders it: with tables, and HTML let through."""

    def __init__(self, markdown):
        super().__init__()
        self.tags, self.rows = [], []
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1] and "pre" not in self.tags:
            self.rows[-1][-1] += data.strip("\n")


def test_markdown_begins_with_the_verdict_and_ends_with_the_command():
    """Between them is one row per rule."""
    command = "seedproof gate runs --max flip_rate=0.06"
    text = as_markdown(RESULT, command=command)

    assert text.startswith(f"**❌ {headline(RESULT)}**")
    assert text.endswith(f"```sh\n{command}\n```\n")
    page = Page(text)
    assert [row[0] for row in page.rows] == ["verdict", "✅ pass", "🔍 investigate", "❌ fail"]
    assert _plain(page.rows[1][2]) == "4.4 % [3.8, 5.2]"
    assert str(RESULT.notes[0]) in text


def hostile(words):
    """Verdicts with user text as metric, note and check."""
    rules = [Rule("max", words, limit) for limit in (0.06, 0.05, 0.03)]
    metrics = {words: Estimate(0.044, 0.038, 0.052, BOTH)}
    checks = tuple(
        Check(words, severity, (words,), words, words, words) for severity in ("warning", "note")
    )
    return judge_figures(metrics, rules, n_runs=10, notes=(recorded(words),), checks=checks)


@given(words=st.text(min_size=1) | st.sampled_from([HOSTILE, "|", "`", "a|b`c`"]))
def test_user_text_does_not_break_the_xml(words):
    """The document parses and has its three cases."""
    root = ET.fromstring(as_junit(hostile(words)))  # noqa: S314 - our own

    assert len(root.findall("testsuite/testcase")) == 3
    assert len(root.findall("testsuite/testcase/failure")) == 2


@given(
    words=st.text(min_size=1)
    | st.sampled_from([HOSTILE, "|", "`", "a|b`c`", "<img src=x>", "\\|"]),
    command=st.text() | st.sampled_from([HOSTILE, "```\n<script>", "~~~", "````"]),
)
def test_user_text_does_not_leave_its_cell_or_become_html(words, command):
    """Four rows of six cells, no foreign tag, the command in one block."""
    page = Page(as_markdown(hostile(words), command=command))

    assert [len(row) for row in page.rows] == [6] * 4
    known = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "pre", "code", "em"}
    assert set(page.tags) <= known
    assert page.tags.count("pre") == 1


@given(words=st.text(min_size=1))
def test_user_text_does_not_control_the_terminal(words):
    """Line ends and control codes are escaped."""
    text = as_text(hostile(words))

    assert all(sign.isprintable() or sign in "\n\N{NO-BREAK SPACE}" for sign in text)
    assert len([line for line in text.splitlines() if line.startswith(("PASS", "FAIL"))]) == 2


def test_verdict_is_immutable():
    """It is a frozen dataclass."""
    with pytest.raises(AttributeError):
        check().outcome = "pass"


# ------------------------------------------------------------------------------ checks of the input

# A reason, as the JSON has it.
UNTRUSTED = "untrusted input"
COPIES = Check("duplicate-runs", "error", ("0", "1"), "Runs 0 and 1 agree.", "Run the doctor.")
CHECKS = (
    Check("few-runs", "warning", (), "There are 4 runs.", "Use 5."),
    COPIES,
    Check("outlier-run", "note", (), "Run 3 is odd.", "Look at it."),
    Check("duplicate-runs", "error", ("2", "3"), "Runs 2 and 3 agree.", "Look again.", "baseline"),
)


def checked(*allowed):
    """Judge a rule that holds, of an input with checks."""
    metrics = {"flip_rate": Estimate(0.044, 0.038, 0.052, BOTH)}
    rules = [Rule("max", "flip_rate", 0.06)]
    return judge_figures(metrics, rules, n_runs=10, checks=CHECKS, allowed=allowed)


def cases_of(result):
    """Return the outcome of each test case by its name: the type of its failure, or pass."""
    cases = ET.fromstring(as_junit(result)).iter("testcase")  # noqa: S314 - our own
    failures = {case.get("name"): case.find("failure") for case in cases}
    return {name: "pass" if x is None else x.get("type") for name, x in failures.items()}


def test_junit_has_a_case_for_each_name_of_an_error():
    """Warnings and notes are properties; an allowed error passes."""
    suite = ET.fromstring(as_junit(checked())).find("testsuite")  # noqa: S314 - our own

    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    rule = "max flip_rate"
    assert cases_of(checked()) == {"check.duplicate-runs": "investigate", rule: "investigate"}
    assert cases_of(checked("duplicate-runs")) == {"check.duplicate-runs": "pass", rule: "pass"}
    facts = [fact.get("name") for fact in suite.iter("property")]
    assert facts == ["outcome", *RUNS, "warning", "note"]


@pytest.mark.parametrize("allowed", [(), ("duplicate-runs",), ("few-runs", "duplicate-runs")])
def test_every_output_records_what_is_allowed(allowed):
    """Also if the check reports nothing."""
    result = checked(*allowed)
    suite = ET.fromstring(as_junit(result)).find("testsuite")  # noqa: S314 - our own

    recorded_facts = [fact.get("value") for fact in suite.iter("property")
                      if fact.get("name") == "allowed"]  # fmt: skip
    assert tuple(recorded_facts) == allowed
    assert tuple(summary(result)["allowed"]) == allowed
    for text in (as_text(result), as_markdown(result)):
        notes = [line for line in text.replace("\\", "").splitlines() if line.startswith("Note:")]
        assert all(name in notes[0] for name in allowed)
        assert text.count("(allowed)") == sum(check.name in allowed for check in CHECKS)


def test_text_has_checks_and_no_rule_if_the_input_cannot_be_trusted():
    """Errors first; with everything allowed the rule follows."""
    starts = [line.split()[0] for line in as_text(checked()).splitlines() if line[:1].strip()]
    allowed = as_text(checked("duplicate-runs")).splitlines()

    assert starts == ["Investigate:", "error", "error", "warning", "Note:"]
    starts = [line.split()[0] for line in allowed if line[:1].strip()]
    assert starts == ["Pass:", "error", "error", "warning", "PASS", "Note:", "Note:"]


def test_markdown_has_a_paragraph_for_each_error_and_warning():
    """Before the table, whose rules are open."""
    text = as_markdown(checked())

    page = Page(text)
    assert [row[0] for row in page.rows] == ["verdict", "🔍 investigate"]
    before = text.partition("| verdict")[0]
    assert [line.split("**")[1] for line in before.splitlines()[1:] if line] == [
        "error", "error", "warning",
    ]  # fmt: skip


def test_json_has_rules_checks_and_format():
    content = json.loads(json.dumps(summary(checked()), allow_nan=False))

    assert content["format"] == 3
    assert [entry["reason"] for entry in content["rules"]] == [UNTRUSTED]
    assert tuple(decode(Check, check) for check in content["checks"]) == CHECKS
