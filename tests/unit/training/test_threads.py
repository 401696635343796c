"""Numerical libraries keep to the threads of a run, and are then restored."""

import os
from contextlib import suppress

import pytest
import torch
from threadpoolctl import threadpool_info

from seedproof.engines.base import THREAD_VARIABLES
from seedproof.training.threads import limited_to


def pools():
    """Return the threads of each loaded library, such as BLAS and OpenMP."""
    return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}


@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_library_is_limited(n_threads):
    """Torch, BLAS and OpenMP if they are loaded, and the environment for later ones."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with limited_to(n_threads):
            assert torch.get_num_threads() == n_threads
            assert set(pools().values()) == {n_threads}
            assert {os.environ[name] for name in THREAD_VARIABLES} == {str(n_threads)}
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("fails", [False, True])
def test_number_of_threads_is_restored(fails, monkeypatch):
    """Also values of the caller, and also after an exception."""
    first, *others = THREAD_VARIABLES
    monkeypatch.setenv(first, "7")
    for name in others:
        monkeypatch.delenv(name, raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        kept = pools()
        with suppress(ZeroDivisionError), limited_to(1):
            os.environ.pop(others[0])
            if fails:
                raise ZeroDivisionError

        assert torch.get_num_threads() == 3
        assert pools() == kept
        assert os.environ[first] == "7"
        assert not set(others) & set(os.environ)
    finally:
        torch.set_num_threads(before)


def test_limits_may_be_nested():
    """The inner block restores the outer limit."""
    with limited_to(2):
        with limited_to(1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        assert set(pools().values()) == {2}
        assert os.environ["OMP_NUM_THREADS"] == "2"
