"""Records of repeated tests: pooled for the same code, and never for other code."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from seedproof.errors import DamagedStoreError
from seedproof.integrations.trial_records import (
    MOST_STATES,
    NewTrials,
    ScoreSum,
    TrialOutcome,
    TrialStore,
)

NAME = "test_answer"


def trials(text, scores=()):
    """Return trials such as "ppf", with scores from 0 to 1."""
    given = dict(enumerate(scores))
    return NewTrials(
        {
            number: TrialOutcome(
                letter == "p", {"score": ScoreSum(1, given[number])} if number in given else {}
            )
            for number, letter in enumerate(text)
        }
    )


def update(folder, text, *, code="a", scores=(), **options):
    """Add the trials of a test run, and return all of the test."""
    return TrialStore(folder, code).update({NAME: trials(text, scores)}, **options)[NAME]


def test_trials_of_the_same_code_add_up(tmp_path):
    update(tmp_path, "ppf", scores=(0.5, 0.25, 0.0))

    pooled = update(tmp_path, "pf", scores=(1.0, 1.0))

    assert (pooled.evidence.passed, pooled.evidence.n, pooled.evidence.test_runs) == (3, 5, 2)
    assert pooled.evidence.scores["score"] == ScoreSum(5, 2.75)
    assert not pooled.has_other_code


def test_trials_of_other_code_are_not_counted(tmp_path):
    update(tmp_path, "ppp")

    other = update(tmp_path, "ff", code="b")
    again = update(tmp_path, "pf")

    assert (other.evidence.passed, other.evidence.n, other.has_other_code) == (0, 2, True)
    assert (again.evidence.passed, again.evidence.n, again.has_other_code) == (4, 5, False)


def test_nothing_is_pooled_if_the_code_is_not_known(tmp_path):
    update(tmp_path, "ppp", code=None)

    pooled = update(tmp_path, "pf", code=None)

    assert (pooled.evidence.passed, pooled.evidence.n) == (1, 2)


def test_only_the_latest_states_are_kept(tmp_path):
    for number in range(MOST_STATES + 1):
        update(tmp_path, "p", code=str(number))

    assert update(tmp_path, "p", code="1").evidence.n == 2
    assert update(tmp_path, "p", code="0").evidence.n == 1


def test_accepted_trials_stay_until_others_are_accepted(tmp_path):
    assert update(tmp_path, "pppp", accept=True).accepted is None
    TrialStore(tmp_path, "a").update({"test_other": trials("f")}, accept=True)

    pooled = update(tmp_path, "ff", code="b")

    assert (pooled.accepted.passed, pooled.accepted.n) == (4, 4)
    assert update(tmp_path, "f", code="b", accept=True).accepted.n == 4
    assert update(tmp_path, "f", code="b").accepted.n == 3


def test_equal_scores_of_each_trial_are_a_repeat_and_not_counted(tmp_path):
    scores = (0.11, 0.52, 0.93, 0.34, 0.75, 0.26)
    update(tmp_path, "pppppp", scores=scores)

    pooled = update(tmp_path, "pppppp", scores=scores)

    assert pooled.is_repeated
    assert pooled.evidence.n == 6
    assert not update(tmp_path, "pppppp", scores=scores[::-1]).is_repeated


def test_equal_outcomes_are_a_repeat_once_chance_cannot_explain_them(tmp_path):
    """One failure of four trials is at the same place in one of 6 cases, or more."""
    repeated = [update(tmp_path, "ppfp").is_repeated for _ in range(8)]

    assert repeated == [False] * 5 + [True] * 3


def test_tests_that_always_pass_are_no_repeats(tmp_path):
    for _ in range(12):
        pooled = update(tmp_path, "pppp")

    assert pooled.evidence.n == 48


def test_test_runs_at_the_same_time_lose_nothing(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: update(tmp_path, text), ["p", "pp", "ppp", "pppp"] * 3))

    assert update(tmp_path, "p").evidence.n == 31


def test_edited_records_are_refused(tmp_path):
    update(tmp_path, "ppf")
    file = tmp_path / "trials.json"

    file.write_text(file.read_text().replace('"passed": 2', '"passed": 3'))

    with pytest.raises(DamagedStoreError):
        update(tmp_path, "p")


def test_git_ignores_all_but_accepted_records(tmp_path):
    update(tmp_path, "p", accept=True)

    assert (tmp_path / ".gitignore").read_text().splitlines()[1:] == ["*", "!accepted.json"]
