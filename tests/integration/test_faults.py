"""A few trials of each kind of fault; benchmarks/faults.py has hundreds."""

import pytest

from support import faults

needs_mounts = pytest.mark.skipif(not faults.can_mount(), reason="only root may mount disks")


@pytest.mark.parametrize("role", ["worker", "guardian"])
def test_study_survives_a_kill(tmp_path, role):
    """Kills of coordinators are in test_study_kill.py."""
    facts = faults.kill("processes", role)(tmp_path, 0)

    assert facts["victim"] == role


@needs_mounts
@pytest.mark.parametrize("number", [0, 7])
def test_study_survives_a_full_disk(tmp_path, number):
    """Full at once, and after some runs."""
    facts = faults.fill_disk("serial")(tmp_path, number)

    assert facts["exit_code"] != 0


@needs_mounts
def test_ingest_survives_a_full_disk(tmp_path):
    facts = faults.fill_disk_of_ingest(tmp_path, 4)

    assert facts["exit_code"] == 2


@needs_mounts
def test_read_only_store_is_read_and_not_written(tmp_path):
    faults.use_read_only_store(tmp_path, 0)


def test_study_survives_the_loss_of_permissions(tmp_path):
    faults.lose_permission(tmp_path, 1)


@pytest.mark.skipif(faults.faketime() is None, reason="libfaketime is not installed")
def test_study_survives_a_jump_of_the_clock(tmp_path):
    """A day back; benchmarks/faults.py also jumps forward."""
    faults.jump_in_time(tmp_path, 0)


def test_study_survives_the_deletion_of_its_store(tmp_path):
    faults.delete_store(tmp_path, 0)
