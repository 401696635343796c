"""Reports with hostile texts and extreme sizes: always written, and texts stay texts."""

import json
import os
import unicodedata
from dataclasses import asdict
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import seedproof as sp
from seedproof.errors import ColumnError
from seedproof.report.figures import build_figures
from seedproof.report.figures.base import MAX_NAMED_RUNS
from seedproof.testing.errors import WithFields

HOSTILE = (
    "<script>alert(1)</script>", "</script>", "</SCRIPT >", "<!--", "-->", "<!--<script>", "]]>",
    "<![CDATA[", "{{ 7 * 7 }}", "{% raw %}", "${x}", "`", "&lt;", "&", "&amp;amp;", "\\", "\\u003c",
    '"', "'", '" onload="alert(1)', "' onload='alert(1)", "<img src=x onerror=alert(1)>",
    "javascript:alert(1)", "\u2028", "\u2029", "\0", "a\0b", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07",
    "\x9b31m", "\x07", "\x08", "\r", "\n", "a\r\nb", "\t", "\x7f", "\x85", "\u200b", "\u200d",
    "\u202eevil", "\u2066x", "\ufeff", "\ufffe", "\uffff", "\U0010ffff", "\U000e0001", "é", "e\u0301",
    "مرحبا", "שלום", "日本語のとても長い文字列" * 3, "👩‍🔬", "🏳️‍🌈", "Z̷̡̛a̸l̵g̶o" * 5, "x" * 300, "w " * 200,
    "宽" * 100, "", " ", "null", "undefined", "NaN", "__proto__", "constructor", "toString", "[red]", "[/]",
    "[link=x]", ":smile:", "datum.x", "datum['x']", "a.b", "a[0]", "var(--x)", "var(--bg)", "</style>",
    "</title>", "%s", "%(x)s", "{0}", "=1+1", "0", "1", "1.0", "-1", "other",
)  # fmt: skip
# These once crashed the process, broke a chart or became an expression.
EXPLOSIVE = (
    "z\0",
    "z\x1b[31m",
    "\uffff",
    "\u2028",
    "constructor",
    "var(--x)",
    'z\\"+1+"',
    "z\\x1b",
)
IS_FULL = os.environ.get("SEEDPROOF_FULL") == "1"
WORDS = st.sampled_from(HOSTILE) | st.text(max_size=8)
# Scripts of every page.
N_SCRIPTS = 3


class Page(HTMLParser):
    """Elements, attributes and scripts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.scripts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        """An element begins."""
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        """Text, of a script if one is open."""
        if self.cdata_elem == "script":
            self.scripts[-1] += data


def check_page(report: sp.Report, show: list[str]) -> None:
    """Accepts a page whose words are all text, and whose data are those of the view."""
    page = report.to_html(show=show)
    page.encode()
    seen = Page(page)
    assert len(seen.scripts) == seen.tags.count("script") == N_SCRIPTS
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert not {"img", "iframe", "object", "embed", "link", "base", "form"} & set(seen.tags)
    raw = seen.scripts[0]
    assert not set(raw) & set("<>&\u2028\u2029\0")
    shown = json.loads(raw)["examples"]
    expected = [asdict(example) for example in report.view(show=show).unstable]
    for example in expected:
        if len(example["probs"]) > MAX_NAMED_RUNS:  # one mark per hundredth
            example["probs"] = sorted({round(p, 2) for p in example["probs"]})
    assert shown == json.loads(json.dumps(expected))


def check_texts(report: sp.Report) -> None:
    """Accepts text that steers no terminal, in 80 columns, and a short form without scripts."""
    text = str(report)
    text.encode()
    assert not {"Cc", "Cf", "Cs"} & {unicodedata.category(sign) for sign in text.replace("\n", "")}
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    repr(report).encode()
    short = Page(report._repr_html_())
    assert "script" not in short.tags
    assert not [name for name in short.attributes if name.startswith("on")]


def check_pictures(report: sp.Report, file_format: str = "svg") -> None:
    """Accepts figures that can all be drawn; drawings are well-formed."""
    for figure in build_figures(report.measurement):
        picture = report.figure(figure.name).to_bytes(file_format)
        if file_format == "svg":
            ET.fromstring(picture)  # noqa: S314 - drawn by us
        else:
            assert picture.startswith((b"\x89PNG", b"%PDF"))


# ---------------------------------------------------------------------------------- hostile words


@st.composite
def word_tables(draw: st.DrawFn) -> tuple[pa.Table, str, dict[str, list[str]]]:
    """A table whose names and texts are hostile, and which of its columns to show."""
    n_runs, n_examples, n_classes = (draw(st.integers(2, top)) for top in (4, 4, 4))
    runs, examples, classes = (
        draw(st.lists(WORDS.filter(bool), min_size=n, max_size=n, unique=True))
        for n in (n_runs, n_examples, n_classes)
    )
    shown = draw(WORDS.filter(lambda name: name.strip() and "\0" not in name))
    texts = [draw(WORDS) for _ in examples]
    rows = [(run, i) for run in range(n_runs) for i in range(n_examples)]
    columns = {"run": [runs[run] for run, _ in rows], "example": [examples[i] for _, i in rows]}
    answers = draw(st.lists(st.integers(0, n_classes - 1), min_size=len(rows), max_size=len(rows)))
    # Two runs differ, or there would be nothing to show.
    answers[0], answers[n_examples] = 0, 1
    if draw(st.booleans()) and all("\0" not in name for name in classes):
        for c, name in enumerate(classes):
            columns[f"p_{name}"] = [0.7 if c == a else 0.3 / (n_classes - 1) for a in answers]
    else:
        columns["prediction"] = [classes[a] for a in answers]
    if draw(st.booleans()):
        columns["label"] = [classes[i % 2] for _, i in rows]
    words = {"runs": runs, "examples": examples, "classes": classes, "texts": texts}
    return pa.table(columns | {shown: [texts[i] for _, i in rows]}), shown, words


def test_hostile_words_stay_words(watched, fresh, sized):
    """Ids, classes, runs, texts and column names of any characters: nothing is run or lost."""
    chosen = sized(ci=10, full=150)
    n_shown = 0

    @chosen
    @given(made=word_tables(), data=st.data())
    def attempt(made, data):
        nonlocal n_shown
        table, shown, words = made
        with watched():
            try:
                report = sp.measure(table)
            except ColumnError:  # the name is one of ours, or there twice
                return
            name = shown if shown in report.measurement.extras() else f"extra.{shown}"
            show = [name] if name in report.measurement.extras() else []
            check_page(report, show)
            check_texts(report)
            if not data.draw(st.integers(0, 2)):
                check_pictures(report)
            if not data.draw(st.integers(0, 2)):
                folder = fresh()
                report.save(folder, show=show, command=shown)
                assert len(list(folder.iterdir())) == 3
            unstable = report.view(show=show).unstable
            assert {row.example for row in unstable} <= set(words["examples"])
            assert {vote for row in unstable for vote, _ in row.votes} <= {
                *words["classes"],
                "other",
            }
            assert {text for row in unstable for text in row.shown.values()} <= {*words["texts"]}
            assert set(report.measurement.runs) == set(words["runs"])
            n_shown += bool(show)
            del report, unstable

    attempt()
    assert n_shown > 0.5 * chosen.max_examples


@pytest.mark.parametrize("place", [0, 1])
def test_hostile_names_of_everything(place, watched):
    """All hostile words as ids, classes and runs at once, and each as one of two classes."""
    rng = np.random.default_rng(place)
    # Two forms of one letter are one id.
    distinct = [x for x in HOSTILE if unicodedata.is_normalized("NFC", x)]
    names = rng.permutation(np.array(distinct, dtype=object)).tolist()
    n = len(names)
    probs = rng.dirichlet([0.1] * n, (n, n))
    with watched():
        report = sp.measure(probs, labels=names, ids=names, classes=names, runs=names)

        check_page(report, [])
        check_texts(report)
        check_pictures(report)

        assert {row.example for row in report.view().unstable} == set(names)
        del report


@pytest.mark.parametrize("word", EXPLOSIVE)
def test_hostile_class_of_two(word, watched):
    """With two classes their names are in titles, from which Vega-Lite makes expressions."""
    probs = np.array([[[0.7, 0.3], [0.2, 0.8]], [[0.4, 0.6], [0.1, 0.9]]])
    names = ["!", word]  # in this order
    with watched():
        report = sp.measure(probs, labels=names, ids=names, classes=names, runs=names)

        check_page(report, [])
        check_texts(report)
        check_pictures(report)

        del report


@pytest.mark.parametrize("half", ["\ud800", "a\udfffb", "\udc80\ud83d"])
@pytest.mark.parametrize("role", ["ids", "classes", "runs", "labels"])
def test_half_a_character_is_refused(half, role):
    """A lone surrogate is not text: it cannot be written into a file or a page."""
    given_with = {role: [half, "b"]} | ({"classes": [half, "b"]} if role == "labels" else {})

    with pytest.raises(sp.SeedproofError, check=WithFields(name=half)) as refused:
        sp.measure([[0, 1], [1, 1]], **given_with)

    assert str(refused.value).isprintable()


def test_hostile_names_of_files_stay_words():
    """The command that made a page stands in it as text, whatever the file is called."""
    report = sp.measure([[0, 1], [1, 1]])

    page = Page(report.to_html(command=" ".join(["seedproof measure", *HOSTILE])))

    assert page.tags.count("script") == N_SCRIPTS
    assert not [name for name in page.attributes if name.startswith("on")]


# -------------------------------------------------------------------------------- edges of size


def _labeled(n_runs: int, n_examples: int, n_classes: int, seed: int = 0) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([0.3] * n_classes, (n_runs, n_examples))
    labels = rng.integers(0, n_classes, n_examples)
    labels[0] = probs[0, 0].argmax()  # at least one label is predicted
    return {"probs": probs, "labels": labels}


def _sized(**changes: object) -> dict[str, object]:
    return _labeled(6, 12, 3) | changes


SURE = np.tile(np.eye(3)[np.arange(12) % 3], (6, 1, 1))
EDGES = {
    "two runs, one example": _labeled(2, 1, 2),
    "two runs, two examples, two classes": _labeled(2, 2, 2),
    "three runs, one example": _labeled(3, 1, 3),
    "two hundred runs": _labeled(200, 3, 2),
    "two hundred runs, many classes": _labeled(200, 2, 150),
    "a thousand classes": _labeled(4, 6, 1000),
    "more examples than are drawn": _labeled(3, 2600, 2),
    "all runs identical": _sized(probs=np.tile(_labeled(1, 12, 3)["probs"], (6, 1, 1))),
    "all right": _sized(probs=SURE, labels=np.arange(12) % 3),
    "all wrong": _sized(probs=SURE, labels=(np.arange(12) + 1) % 3),
    "all wrong but never sure": _sized(probs=SURE * 0.4 + 0.2, labels=(np.arange(12) + 1) % 3),
    "all alike": _sized(probs=np.full((6, 12, 3), 1 / 3), labels=np.zeros(12, dtype=int)),
    "one label": _sized(labels=[_sized()["labels"][0], *[None] * 11]),
    "no label": _sized(labels=None),
    "one class of all": _sized(probs=np.tile([1.0, 0.0, 0.0], (6, 12, 1)), labels=[0] * 12),
}


@pytest.mark.parametrize("kind", ["probs", "predictions"])
@pytest.mark.parametrize("edge", EDGES)
def test_every_size_has_a_report(edge, kind, watched):
    """Page, text, short form and every picture: few or many of anything, all alike, all wrong."""
    values, labels = EDGES[edge]["probs"], EDGES[edge]["labels"]
    answers = values if kind == "probs" else values.argmax(axis=2)
    classes = [str(i) for i in range(values.shape[2])]
    with watched():
        report = sp.measure(answers, labels=labels, classes=classes)

        check_page(report, [])
        check_texts(report)
        # Without probabilities there are fewer figures, and no other ones.
        if kind == "probs" or IS_FULL:
            check_pictures(report)

        json.loads(report.to_json())
        del report


@pytest.mark.parametrize("file_format", ["png", "pdf"])
def test_every_picture_can_be_printed(file_format, watched):
    """In the formats that papers take, with a name that no font has."""
    with watched():
        report = sp.measure(
            EDGES["one label"]["probs"],
            labels=EDGES["one label"]["labels"],
            classes=["<&>", "\0", "宽"],
        )

        check_pictures(report, file_format)

        del report
