"""Reports with explanations, and helpers for charts and pages."""

from html.parser import HTMLParser

import numpy as np
import pytest

import seedproof as sp
from seedproof.report import charts
from seedproof.report.document import digest, today, versions


@pytest.fixture(scope="session")
def check_spec():
    """Raise an error if the chart of a figure does not match the schema of Vega-Lite."""
    import altair as alt

    def checked(figure):
        content = charts.spec(figure)
        del content["autosize"]  # altair does not know charts that fit one side only
        alt.LayerChart.from_dict(content)

    return checked


@pytest.fixture(scope="session")
def drawn_texts():
    """Predictions and scores of runs, with noise between runs and between draws."""

    def made(noise, *, n_runs=8, n_examples=60, methods=("attention",), repeat=0.1, seed=1):
        truth = np.random.default_rng(0)
        logits = truth.normal(0, 2, n_examples)
        labels = (logits + truth.logistic(size=n_examples) > 0).astype(int)
        tokens = [[f"w{i}" for i in range(n)] for n in truth.integers(5, 20, n_examples)]
        weights = [truth.normal(0, 1, len(words)) for words in tokens]
        rng = np.random.default_rng(seed)
        second = 1 / (1 + np.exp(-logits - noise * rng.normal(size=(n_runs, n_examples))))
        explanations = {}
        for method in methods:
            n_draws = 2 if method == "lime" else 1
            explanations[method] = [
                np.exp(
                    text
                    + noise * rng.normal(size=(n_runs, 1, len(text)))
                    + repeat * (n_draws - 1) * rng.normal(size=(n_runs, n_draws, len(text)))
                )
                for text in weights
            ]
        return (np.stack([1 - second, second], axis=2), explanations), tokens, labels

    return made


@pytest.fixture(scope="session")
def three_methods(make_explained_store, drawn_texts):
    """Eight runs, sixty texts, explained by attention and gradient, and twice by LIME."""
    arm, tokens, labels = drawn_texts(0.8, methods=("attention", "gradient", "lime"))
    return sp.measure(make_explained_store({"none": arm}, tokens=tokens, labels=labels))


@pytest.fixture(scope="session")
def hand_made(make_explained_store):
    """Two runs, three texts of five words and one top word each, by hand.

    The top words of the two runs are the same for the first text and differ for the others. The
    runs agree on the answers of the first two texts.
    """
    tokens = [["good", "b", "c", "d", "e"], ["f", "g", "h", "i", "j"], ["k", "l", "m", "n", "o"]]
    sharp, other = [0.6, 0.1, 0.1, 0.1, 0.1], [0.1, 0.1, -0.6, 0.1, 0.1]
    scores = [np.array([[first], [second]]) for first, second in
              ((sharp, sharp), (sharp, other), (sharp, other))]  # fmt: skip
    probs = np.array([[0.9, 0.8, 0.3], [0.95, 0.85, 0.6]])
    arm = (np.stack([1 - probs, probs], axis=2), {"my-scores": scores})
    return sp.measure(make_explained_store({"none": arm}, tokens=tokens, labels=[1, 1, 1]))


# Elements within a line.
INLINE = frozenset({"a", "b", "br", "code", "i", "input", "label", "span"})
UNSEEN = frozenset({"script", "style"})


class VisibleText(HTMLParser):
    """The text of a page as it opens, one line per block; folded details stay folded."""

    def __init__(self):
        super().__init__()
        self.lines, self.open = [""], []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        if tag in UNSEEN | {"details", "summary"}:
            self.open.append(tag)
        if tag not in INLINE:
            self.lines.append("")

    def handle_endtag(self, tag):
        if self.open[-1:] == [tag]:
            self.open.pop()
        if tag not in INLINE:
            self.lines.append("")

    def handle_data(self, data):
        if self.open[-1:] in ([], ["summary"]):
            self.lines[-1] += data


@pytest.fixture(scope="session")
def visible():
    """The visible text of a page, with versions and the digest of its JSON replaced."""

    def text(page, json_text):
        parser = VisibleText()
        parser.feed(page)
        lines = [" ".join(line.split()) for line in parser.lines]
        shown = "\n".join(line for line in lines if line)
        varying = {versions(): "VERSIONS", digest(json_text): "DIGEST", today(): "DATE"}
        for value, name in varying.items():
            shown = shown.replace(value, name)
        return f"{shown}\n"

    return text
