import pytest
from seedproof_reproductions.findings2023 import recipe


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        (recipe.ARMS_OF_TRACK["head"], "some arms train 16 heads or 10 teachers"),
        (("none", "heads-4"), "some arms train 4 heads"),
        # Its 200 teachers are trained once, for all runs.
        (("none", "ensemble-shared", "label-smoothing-0.1"), ""),
    ],
)
def test_what_makes_arms_slow_is_that_of_the_arms_asked_for(arms, said):
    """The most heads, and the most teachers that each run trains for itself."""
    assert recipe._slow(arms, "serial") == said


def test_a_process_for_each_run_trains_shared_teachers_in_each():
    """They are remembered by the process alone."""
    assert recipe._slow(("none", "ensemble-shared"), "processes") == (
        "some arms train 200 teachers (--engine serial trains those that runs share once)"
    )
