"""A teacher that is killed and resumed gives the same soft labels as one that is not."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

PROGRAM = Path(__file__).with_name("soft_labels_teacher.py")


@pytest.mark.full
def test_killed_teacher_gives_the_same_soft_labels(tmp_path):
    """The bits are equal after kills in an update, in a snapshot, in a load, and at random."""
    subprocess.run([sys.executable, PROGRAM, tmp_path], check=True, timeout=300)

    targets, n_predicted = torch.load(tmp_path / "killed" / "targets.pt", weights_only=True)
    expected, expected_n_predicted = torch.load(
        tmp_path / "whole" / "targets.pt", weights_only=True
    )
    assert torch.equal(targets, expected)
    # 19 updates of 3000 examples each: an update that is repeated after a kill counts once.
    assert n_predicted == expected_n_predicted == 19 * 3000
