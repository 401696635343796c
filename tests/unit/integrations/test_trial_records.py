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


def trials(text, scores=(), *, is_seeded=False):
    """Return trials such as "ppf", with scores from 0 to 1."""
    given = dict(enumerate(scores))
    return NewTrials(
        {
            number: TrialOutcome(
                letter == "p",
                {"score": ScoreSum(1, given[number])} if number in given else {},
                is_seeded,
            )
            for number, letter in enumerate(text)
        }
    )


def update(folder, text, *, code="a", scores=(), is_seeded=False, **options):
    """Add the trials of a test run, and return all of the test."""
    new = trials(text, scores, is_seeded=is_seeded)
    return TrialStore(folder, code).update({NAME: new}, **options)[NAME]


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
    new = NewTrials(trials("pf").outcomes, n_planned=3)

    evidence = TrialStore(tmp_path, None).update({NAME: new})[NAME].evidence

    assert (evidence.passed, evidence.n, evidence.copies.n) == (1, 2, 0)


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

    assert not pooled.is_repeated
    assert pooled.evidence.n == 48


@pytest.mark.parametrize(
    ("test_runs", "is_seeded", "distinct"),
    [
        (["pp"] * 3, False, (2, 2)),
        (["pp"] * 3, True, (6, 6)),  # of new seeds: chance
        (["pf", "fp", "pf"], False, (2, 4)),  # also if another test run is in between
        (["pf", "fp", "pf"], True, (3, 6)),
        (["pf", "pf", "pf"], True, (1, 2)),  # of a cache that ignores seeds, or chance
    ],
)
def test_possible_copies_are_counted_apart(tmp_path, test_runs, is_seeded, distinct):
    for text in test_runs:
        evidence = update(tmp_path, text, is_seeded=is_seeded).evidence

    assert evidence.n == 2 * len(test_runs)
    assert (evidence.distinct.passed, evidence.distinct.n) == distinct
    n_copies = sum(run.n for run in evidence.recent if run.is_copy)
    assert n_copies == evidence.copies.n == evidence.n - distinct[1]


@pytest.mark.parametrize("test_runs", [["pp", "ppff"], ["ppff", "pp"], ["pp", "pp", "ppff"]])
def test_a_part_of_the_planned_trials_may_be_copied(tmp_path, test_runs):
    """Of an interrupted test run, or of trials that were selected by name."""
    for text in test_runs:
        new = NewTrials(trials(text).outcomes, n_planned=4)
        evidence = TrialStore(tmp_path, "a").update({NAME: new})[NAME].evidence

    assert evidence.n == sum(map(len, test_runs))
    assert (evidence.distinct.passed, evidence.distinct.n) == (2, 4)


def test_a_part_of_seeded_trials_counts(tmp_path):
    new = NewTrials(trials("pp", is_seeded=True).outcomes, n_planned=4)

    evidence = TrialStore(tmp_path, "a").update({NAME: new})[NAME].evidence

    assert evidence.distinct.n == 2


def test_copies_of_scores_are_counted_apart(tmp_path):
    for scores in [(0.5, 0.25), (0.5, 0.75), (0.5, 0.25)]:
        evidence = update(tmp_path, "pp", scores=scores).evidence

    assert evidence.scores["score"] == ScoreSum(6, 2.75)
    assert evidence.distinct.scores["score"] == ScoreSum(4, 2.0)


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
    folder = tmp_path / "records"

    update(folder, "p", accept=True)

    assert (folder / ".gitignore").read_text().splitlines()[1:] == ["*", "!accepted.json"]


def test_folder_that_exists_is_not_ignored(tmp_path):
    """It may be that of the tests."""
    update(tmp_path, "p")

    assert not (tmp_path / ".gitignore").exists()
