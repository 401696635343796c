"""Progress of a study: events as data, and lines for a log file."""

from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from seedproof.engines.serial import as_failure
from seedproof.seeds import SeedPlan
from seedproof.training.progress import Board, Duration, Failures, Lines, Spread
from seedproof.training.resume import FINISHED, WAITING, RunState
from seedproof.training.spec import StudySpec

RUNS = StudySpec("small", "train.py", SeedPlan.all(3), arms=("none", "ema")).runs()
FIRST = RUNS[0]


def states(status=WAITING, **facts):
    """Return the state of each run: the first as given, all others waiting."""
    first = RunState(RUNS[0], 0, status, **facts)
    return [first, *(RunState(run, index, WAITING) for index, run in enumerate(RUNS) if index)]


def trained(value, seconds=2.0):
    """Return what a finished run reports."""
    return SimpleNamespace(status="finished", seconds=seconds, scalars={"loss": value})


def test_board_counts_the_states_of_runs():
    """A run that failed before is waiting again."""
    board = Board("small", states("killed"), None)
    assert set(board.status.values()) == {WAITING}

    board.finished(RUNS[1], trained(0.5))
    board.failed(RUNS[2], as_failure(ValueError("no luck")))

    assert (board.n_done, board.status[RUNS[2].run_id]) == (1, "failed")


def test_failure_is_kept_as_data():
    """Run, arm and reason."""
    board = Board("small", states(), None)

    board.failed(FIRST, as_failure(ValueError("no luck")))

    (message,) = board.failures
    assert message.code == "run-failed"
    assert (message.fields["run"], message.fields["arm"]) == (FIRST.name, FIRST.arm)
    assert message.fields["status"] == "failed"
    assert message.fields["reason"].fields["error_type"] == "ValueError"


def test_spread_is_over_the_finished_runs_of_an_arm():
    """Mean and sd; one run has no sd, and without runs there is no spread."""
    board = Board("small", states(FINISHED, scalars={"loss": 1.0}), "loss")
    same_arm = [run for run in RUNS[1:] if run.arm == FIRST.arm]
    other_arm = next(run.arm for run in RUNS if run.arm != FIRST.arm)

    assert board.spread(FIRST.arm) == Spread(1.0)
    board.finished(same_arm[0], trained(3.0))

    assert board.spread(FIRST.arm) == Spread(2.0, pytest.approx(2**0.5))
    assert board.spread(other_arm) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (90, "1 min 30 s"), (3660, "1 h 01 min")],
)
def test_duration_is_read_in_hours_minutes_and_seconds(seconds, text):
    """Rounded to whole seconds."""
    assert str(Duration(seconds)) == text


def lines_of(kind, *, follow=None, runs=None):
    """Return a board that writes lines, and its output."""
    out = StringIO()
    console = Console(file=out, width=200)
    return kind("small", states() if runs is None else runs, follow, console), out


def test_failures_are_printed_without_progress():
    """One line, without control characters."""
    board, out = lines_of(Failures)

    board.finished(RUNS[1], trained(0.5))
    board.failed(FIRST, as_failure(ValueError("no\x1bluck")))

    (line,) = out.getvalue().splitlines()
    assert line.isprintable()
    assert "ValueError" in line


def test_lines_are_one_per_event():
    """The first line counts the runs that were finished before."""
    board, out = lines_of(Lines, follow="loss", runs=states(FINISHED, scalars={"loss": 1.0}))
    assert len(out.getvalue().splitlines()) == 1

    board.finished(RUNS[1], trained(0.5))
    board.failed(RUNS[2], as_failure(ValueError("no luck")))

    assert len(out.getvalue().splitlines()) == 3
    assert str(board.spread(RUNS[1].arm)) in out.getvalue()
