"""The plain interval where the number of runs is declared or unknown, planned looks otherwise."""

import pytest

from seedproof.comparison.arms.compared_runs import ComparedRuns, runs_to_compare
from seedproof.stats.intervals import PLAIN
from seedproof.stats.looks import AT_LOOK


@pytest.mark.parametrize(
    ("n_runs", "declared", "is_sequential", "expected", "level"),
    [
        ((12, 14), None, False, (12, None), PLAIN),
        ((12, 14), None, True, (10, 20), AT_LOOK),
        ((10, 10), 10, False, (10, None), PLAIN),
        ((9, 10), 10, False, (9, None), PLAIN),
        ((13, 13), 10, False, (10, 20), PLAIN),
        ((20, 25), 10, False, (20, 40), AT_LOOK),
        ((3, 3), None, True, (3, 5), AT_LOOK),
        ((100, 100), None, True, (80, None), AT_LOOK),
        ((7, 7), 3, False, (5, 10), AT_LOOK),
    ],
)
def test_look_depends_on_the_arm_with_fewest_runs(n_runs, declared, is_sequential, expected, level):
    runs = runs_to_compare(n_runs, declared, is_sequential=is_sequential)

    assert (runs.n_runs, runs.next_look) == expected
    assert runs.level == level
    assert (runs.n_available, runs.declared) == (min(n_runs), declared)
    assert ComparedRuns(**runs.summary()) == runs
