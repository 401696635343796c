"""Runs of a small study, for tests of training and the doctor."""

from collections.abc import Callable
from typing import Any

import pytest

from seedproof.records.location import Location
from seedproof.seeds import SeedPlan
from seedproof.training.run import Run
from seedproof.training.spec import StudySpec


@pytest.fixture
def make_run(tmp_path) -> Callable[..., Run]:
    """Return a function that makes a run of a small study, with or without a store."""

    def make(
        index: int = 0, *, kept: bool = True, plan: SeedPlan | None = None, **settings: Any
    ) -> Run:
        study = StudySpec("small", "train.py", plan or SeedPlan.all(index + 1), **settings)
        spec = study.runs()[index]
        folder = Location.of(tmp_path / "store" / "runs" / spec.run_id)
        return Run(spec, folder if kept else None)

    return make
