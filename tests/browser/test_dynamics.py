"""Runs over their steps in a real browser: drawn, quiet and accessible."""

import numpy as np
import pytest

import seedproof as sp


def _train(run):
    """Examples near the border waver, and get another label from another run."""
    truth, rng = np.random.default_rng(0), np.random.default_rng(int(run.name))
    ids, labels = np.arange(80), truth.integers(0, 2, 80)
    margin, own = truth.normal(1.0, 1.5, 80), rng.normal(size=80)
    dynamics = sp.Dynamics(n_classes=2, ids=ids, labels=labels)
    for _ in range(30):
        right = 1 / (1 + np.exp(-margin - 0.7 * own - 0.7 * rng.normal(size=80)))
        probs = np.stack([right, 1 - right], axis=1)
        probs = np.where(labels[:, None] == 0, probs, probs[:, ::-1])
        dynamics.update(probs)
    run.log_predictions("dev", ids=ids, probs=probs, labels=labels)
    run.log_dynamics("dev", dynamics)


@pytest.fixture(scope="session")
def traced(tmp_path_factory):
    """Eight traced runs."""
    study = sp.Study("small", _train, seeds=8, store=tmp_path_factory.mktemp("store") / "store")
    study.run("serial", progress=False)
    return study.measure()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_dynamics_are_drawn_quietly_and_accessibly(traced, open_page, serious, width, scheme):
    """The chart is there, nothing is logged or requested or overflows, axe is content."""
    opened = open_page(traced, width=width, scheme=scheme)

    opened.unfold()
    page = opened.page
    assert opened.messages == []
    assert len(opened.requests) == 1  # the file itself
    section = page.locator("#dynamics")
    assert section.locator(".plot").locator("svg").count() == 1
    assert section.locator("details.row").count() == len(traced.dynamics.metrics) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == []
