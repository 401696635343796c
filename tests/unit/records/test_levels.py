"""Levels of repetition: what repeats, given their names."""

from seedproof.records.levels import settings_of


def test_single_run_with_several_trials_is_one_model_with_trials():
    settings = settings_of(["run", "trial"], [("a", "0"), ("a", "1"), ("a", "2")])

    assert settings.are_trials
    assert settings.levels is None


def test_judges_of_a_single_run_stay_inside_its_trials():
    repeats = [("a", trial, judge) for trial in "01" for judge in "xyz"]

    settings = settings_of(["run", "trial", "judge"], repeats)

    assert settings.are_trials
    assert settings.levels is not None
    assert settings.levels.names == ("trial", "judge")
    assert settings.levels.codes == ((0, 0, 0, 1, 1, 1), (0, 1, 2, 0, 1, 2))


def test_several_runs_are_models_of_their_own():
    settings = settings_of(["run", "trial"], [(run, trial) for run in "ab" for trial in "01"])

    assert not settings.are_trials
    assert settings.levels is not None
