"""Where the randomness of one model comes from."""

from dataclasses import dataclass

import numpy as np
import torch

from seedproof.runs.rng import torch_generator
from seedproof.runs.run import Run
from seedproof_reproductions.findings2023.arms import Arm

# What all runs share where an arm says so: any number that is no run's.
SHARED_SEED = 20230704


@dataclass(frozen=True)
class Sources:
    """Where the randomness of one model comes from: a generator for each source."""

    init: torch.Generator
    order: torch.Generator
    dropout: torch.Generator

    @classmethod
    def of(cls, run: Run, arm: Arm) -> "Sources":
        """Those of a run, which go on: a second model of the run draws other numbers.

        Args:
            run: The run.
            arm: Whether the first weights are the same in all runs, and which.

        Returns:
            Its sources.
        """
        init = cls.shared(0, arm.draw).init if arm.fixed_init else run.torch_generator("init")
        return cls(init, run.torch_generator("order"), run.torch_generator("dropout"))

    @classmethod
    def shared(cls, index: int, draw: int = 0) -> "Sources":
        """Those of a model that all runs share, such as a common teacher.

        Args:
            index: Which of several.
            draw: Which draw of all of them.

        Returns:
            The same numbers at every call.
        """
        children = np.random.SeedSequence([SHARED_SEED, draw, index]).spawn(3)
        return cls(*(torch_generator(child, "cpu") for child in children))

    @property
    def generators(self) -> tuple[torch.Generator, ...]:
        """All of them."""
        return self.init, self.order, self.dropout

    @property
    def state(self) -> tuple[bytes, ...]:
        """Where the generators stand: models that begin at the same state are the same model."""
        return tuple(one.get_state().numpy().tobytes() for one in self.generators)

    def copy(self) -> "Sources":
        """Generators of their own that stand where these do."""
        return Sources(*(one.clone_state() for one in self.generators))

    def go_on_from(self, other: "Sources") -> None:
        """Put the generators where others stand."""
        for mine, theirs in zip(self.generators, other.generators, strict=True):
            mine.set_state(theirs.get_state())
