"""Arms beside each other: nothing of a figure is cut off, however many there are."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import seedproof as sp
from seedproof.report.side_by_side import SideBySide

ARMS = ("none", "label-smoothing", "tgtss-shared", "linear", "heads-16", "wide-decay-zero-smooth")


@pytest.fixture(scope="module")
def arms():
    """Six arms of four runs."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=80)
    answers = {
        arm: np.where(rng.random((4, 80)) < 0.8, labels, rng.integers(3, size=(4, 80)))
        for arm in ARMS
    }
    return SideBySide({arm: sp.measure(one, labels=labels) for arm, one in answers.items()})


def shown(arms, width):
    """The lines of a terminal."""
    console = Console(width=width, record=True, file=StringIO())
    console.print(arms)
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [80, 120, 400])
def test_arms_that_have_no_room_go_below(arms, width):
    """Every interval is whole, every arm is there once, in its order; a wide terminal has one row."""
    lines = shown(arms, width)

    headers = [line.split()[1:] for line in lines if line.startswith("metric")]
    assert [arm for header in headers for arm in header] == list(ARMS)
    assert len(headers) == {80: 2, 120: 2, 400: 1}[width]
    assert all("…" not in line and len(line) <= width for line in lines)
    flips = arms["heads-16"].view().rows[0]
    assert any(flips.interval in line for line in lines)
