"""One trial of some kinds of faults; benchmarks/faults.py has hundreds of all."""

import shutil

import pytest

from support import faults
from support.output_faults import OUTPUT_FAULTS, fail_write, fill_disk_of_report

needs_mounts = pytest.mark.skipif(not faults.can_mount(), reason="only root may mount disks")


@needs_mounts
def test_study_survives_a_full_disk(tmp_path):
    """After the first runs."""
    facts = faults.fill_disk("serial")(tmp_path, 7)

    assert facts["exit_code"] != 0


@needs_mounts
def test_ingest_survives_a_full_disk(tmp_path):
    facts = faults.fill_disk_of_ingest(tmp_path, 4)

    assert facts["exit_code"] == 2


@needs_mounts
@pytest.mark.parametrize("number", [0, 3, 19])
def test_report_survives_a_full_disk(tmp_path, number):
    """The old report or the new one is there, whole, and the next command succeeds."""
    facts = fill_disk_of_report(tmp_path, number)

    assert facts["exit_code"] == 2 or number
    assert facts["state"] == ("new" if facts["exit_code"] == 0 else "old")


@needs_mounts
@pytest.mark.full
def test_read_only_store_is_read_and_not_written(tmp_path):
    faults.use_read_only_store(tmp_path, 0)


def test_study_survives_the_loss_of_permissions(tmp_path):
    faults.lose_permission("serial")(tmp_path, 1)


def test_study_survives_a_clock_that_is_set_back(tmp_path):
    facts = faults.jump_in_time("serial")(tmp_path, 0)

    assert facts["seconds"] == -faults.DAY_SECONDS


@pytest.mark.full
def test_study_survives_the_deletion_of_its_store(tmp_path):
    faults.delete_store("serial")(tmp_path, 0)


@pytest.mark.full
@pytest.mark.parametrize("role", faults.ROLES["processes"])
def test_study_survives_a_kill(tmp_path, role):
    facts = faults.kill("processes", role)(tmp_path, 0)

    assert facts["victim"] == role


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("name", OUTPUT_FAULTS)
def test_results_survive_a_kill(name, number, tmp_path):
    """While drafts are written, and with a signal that is noticed."""
    OUTPUT_FAULTS[name](tmp_path, number)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("number", [2, 5, 9])
def test_results_survive_a_failing_write(number, tmp_path):
    fail_write(tmp_path, number)
