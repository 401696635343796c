"""Runs over their steps in a real browser."""

import numpy as np
import pytest

import seedproof as sp


def _train(run):
    """Predictions near the decision boundary change between steps and between runs."""
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
def test_page_with_dynamics_is_sound(traced, open_page, assert_sound, width, scheme):
    """The chart is drawn, and every metric has a row."""
    opened = open_page(traced, width=width, scheme=scheme)

    opened.unfold()
    section = opened.page.locator("#dynamics")
    assert section.locator(".plot").locator("svg").count() == 1
    assert section.locator("details.row").count() == len(traced.dynamics.metrics) == 1
    assert_sound(opened)
