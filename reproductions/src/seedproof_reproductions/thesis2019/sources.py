"""The sources of randomness of a run: init, order, negatives and pretraining."""

from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
import torch

from seedproof.training.rng import GlobalStream, torch_generator
from seedproof.training.run import Run
from seedproof_reproductions.thesis2019.arms import Arm

# Seed of what all runs of an arm share: any number that is not a run's.
SHARED_SEED = 20190903
# Names of the sources in a seed plan. No model has dropout, so that its seed is free.
INIT, ORDER, NEGATIVES, PRETRAINING = "init", "order", "data", "dropout"


class Sources(NamedTuple):
    """The randomness of one model: a stream per source."""

    init: AbstractContextManager[None]  # global generators follow it inside
    order: torch.Generator
    negatives: torch.Generator

    @classmethod
    def of(cls, run: Run, arm: Arm, member: int = 0) -> "Sources":
        """Return those of a run's model; the first of several has those of a single one."""
        if member > 0:
            return cls.from_seed(run.seed, member)
        init = cls.from_seed(SHARED_SEED).init if arm.shares_init else run.seeded(INIT)
        return cls(init, run.torch_generator(ORDER), run.torch_generator(NEGATIVES))

    @classmethod
    def of_pretraining(cls, run: Run, arm: Arm, member: int = 0) -> "Sources":
        """Return those of the model that a run's vectors come from: its own, or the shared one."""
        if arm.shares_pretraining:
            return cls.from_seed(SHARED_SEED)
        return cls.from_seed(run.seeds[PRETRAINING], member)

    @classmethod
    def from_seed(cls, *seeds: int) -> "Sources":
        """Return three streams of one seed, or of several together."""
        init, order, negatives = np.random.SeedSequence(seeds).spawn(3)
        return cls(
            GlobalStream(init).followed(),
            torch_generator(order, "cpu"),
            torch_generator(negatives, "cpu"),
        )
