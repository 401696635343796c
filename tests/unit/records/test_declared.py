"""A store records the declared number of runs once."""

import re

import pytest

from seedproof.errors import DamagedStoreError, OptionError
from seedproof.records.declared import declare_runs, declared_runs, has_grown, planned_runs
from seedproof.records.location import Location
from seedproof.records.manifest import StudyManifest
from seedproof.seeds import SeedPlan
from seedproof.testing.errors import WithFields


@pytest.fixture
def store(tmp_path):
    """A store whose plan has five seeds."""
    place = Location.of(tmp_path)
    StudyManifest("study", plan={"seeds": SeedPlan.all(5).as_json(), "arms": ["none"]}).write(place)
    return place


def test_a_store_without_the_file_declares_nothing(store):
    """As all stores of earlier versions."""
    assert declared_runs(store) is None
    assert not has_grown(store)


def test_the_number_is_recorded_once(store):
    """The same number again is fine; another one is refused, larger or smaller."""
    declare_runs(store, 5)
    declare_runs(store, 5)

    for other in (10, 3):
        with pytest.raises(OptionError, check=WithFields(n_runs=other, recorded=5)):
            declare_runs(store, other)
    assert declared_runs(store) == 5


def test_the_number_may_change_before_the_first_run(store):
    """Nothing was looked at yet."""
    declare_runs(store, 3, is_begun=False)
    declare_runs(store, 5, is_begun=False)

    assert declared_runs(store) == 5


def test_a_larger_plan_has_grown(store):
    """Seeds that were added after the declaration."""
    declare_runs(store, 5)
    assert (planned_runs(store), has_grown(store)) == (5, False)

    plan = {"seeds": SeedPlan.all(10).as_json(), "arms": ["none"]}
    StudyManifest("study", plan=plan).replace(store)

    assert (planned_runs(store), has_grown(store)) == (10, True)


def test_a_study_that_grows_until_it_is_decided_has_always_grown(store):
    """It declares 0 runs."""
    declare_runs(store, 0)

    assert declared_runs(store) == 0
    assert has_grown(store)


def test_a_changed_file_is_refused(store, tmp_path):
    """Its digest differs."""
    declare_runs(store, 5)
    path = tmp_path / "declared.json"
    text = path.read_text()
    path.write_text(re.sub(r"(?<![.\d\w])5(?![.\d\w])", "9", text, count=1))
    assert path.read_text() != text

    with pytest.raises(DamagedStoreError):
        declared_runs(store)
