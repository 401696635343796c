"""Temporal guided temperature scaled smoothing: soft labels from the steps of one training."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from seedproof.errors import MissingExampleError, OptionError, ShapeError
from seedproof.stabilize.soft_labels.checks import as_labels, as_rows
from seedproof.stabilize.soft_labels.running_mean import RunningMean
from seedproof.stabilize.soft_labels.targets import one_hot, raised
from seedproof.typing import is_count


@dataclass(frozen=True)
class TgtssSettings:
    """Which steps of the teacher are averaged, and what becomes of the mean.

    Args:
        start: The first optimizer step after which predictions count; steps are numbered from 1.
        every: Only each so-manieth step from there on.
        power: The exponent that the mean is raised to; below 1 it flattens.
    """

    start: int
    every: int = 1
    power: float = 0.5

    def __post_init__(self) -> None:
        for name, least in (("start", 0), ("every", 1)):
            value = getattr(self, name)
            if not is_count(value, least):
                raise OptionError(
                    "{option} is {number!r}. Give a whole number, {least} or more.",
                    option=name,
                    number=value,
                    least=least,
                )
        if not 0.0 < self.power < float("inf"):
            raise OptionError(
                "power is {power!r}. Give a number above 0; 0.5 flattens.", power=self.power
            )

    def is_due(self, step: int) -> bool:
        """Whether predictions after so many optimizer steps count.

        Args:
            step: How many steps were made.

        Returns:
            Whether they do.
        """
        return step >= self.start and (step - self.start) % self.every == 0


class Tgtss:
    """Soft labels from what a teacher predicts for its training set while it is trained.

    From a step on, the probabilities after each step (or each k-th) are averaged, and the mean is
    raised to a power: q = p̄^T / Σ p̄^T. A student is trained on q alone (Findings of ACL 2023,
    "Measuring and Mitigating Local Instability in Deep Neural Networks", section 4.5).

    Predicting the whole training set so often costs several trainings: `n_predicted` counts it.
    The free variant observes the probabilities that training computes anyway, those of its own
    batches; they are of the weights before the step, and with dropout if the model has it.

    Args:
        n_examples: How many training examples.
        n_classes: How many classes.
        start: The first optimizer step after which predictions count; steps are numbered from 1.
        every: Only each so-manieth step from there on.
        power: The exponent; 0.5 is the paper's.
        path: A file for the running mean, one for each teacher; memory without it.

    Raises:
        OptionError: A setting is not possible.
        UnreadableError: The file is something else, or has other rows.
    """

    def __init__(
        self,
        n_examples: int,
        n_classes: int,
        *,
        start: int,
        every: int = 1,
        power: float = 0.5,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        self.settings = TgtssSettings(start, every, power)
        self.running_mean = RunningMean(n_examples, n_classes, path=path)
        self._n_predicted = 0
        self._last_step = -1

    @property
    def n_predicted(self) -> int:
        """Forward passes of single examples that were made for this and nothing else.

        Divide by the number of training examples for passes over the training set; without
        gradients, a pass costs about a third of an epoch.
        """
        return self._n_predicted

    @property
    def has_observed(self) -> bool:
        """Whether anything was observed."""
        return self._last_step >= 0

    def is_due(self, step: int) -> bool:
        """Whether to observe after so many optimizer steps.

        Args:
            step: How many steps were made: 1 after the first.

        Returns:
            Whether to.
        """
        return self.settings.is_due(step)

    def observe(
        self,
        probs: Any,  # noqa: ANN401 - tensors, arrays, lists
        *,
        step: int,
        rows: Any = None,  # noqa: ANN401 - as above
        is_extra: bool | None = None,
    ) -> None:
        """Take in what the teacher predicts at a step.

        Args:
            probs: Probabilities, axes (examples, classes).
            step: How many optimizer steps were made.
            rows: Which examples they are of; all of the training set, in order, without them.
            is_extra: Whether they were predicted for this alone, which is what `n_predicted`
                counts: if not given, yes for the whole training set, and no with rows, which are
                then a batch of the training itself. Give True for pieces of the training set.

        Raises:
            OptionError: The step is not due, or earlier than what was observed before.
            ShapeError: There are not as many probabilities as rows and classes.
            ProbabilityError: A row of probabilities is no distribution.
        """
        self._check(step, is_whole=rows is None)
        self.running_mean.update(probs, rows=rows)
        self._last_step = step
        if rows is None if is_extra is None else is_extra:
            self._n_predicted += self.running_mean.n_examples if rows is None else len(rows)

    def _check(self, step: int, *, is_whole: bool) -> None:
        if not self.is_due(step):
            raise OptionError(
                "Step {step} is not due: {settings}. Ask is_due(step) before predicting.",
                step=step,
                settings=self.settings,
            )
        if step < self._last_step or (is_whole and step == self._last_step):
            raise OptionError(
                "Step {step} was observed after step {last_step}. "
                "Steps go up; if the training was resumed, load the state of its checkpoint.",
                step=step,
                last_step=self._last_step,
            )

    def targets(
        self,
        rows: Any = None,  # noqa: ANN401 - as above
        *,
        gold: Any = None,  # noqa: ANN401 - as above
    ) -> Tensor:
        """Soft labels for the student: the mean, raised to the power.

        Args:
            rows: Which examples; all without them.
            gold: Gold labels of the whole training set: examples that were never observed get
                these instead, unsmoothed. Without them such examples are refused.

        Returns:
            Float64 on the CPU, axes (examples, classes).

        Raises:
            MissingExampleError: Examples were never observed, and there are no gold labels.
            ShapeError: There are not as many gold labels as examples.
        """
        mean = self.running_mean
        chosen = torch.arange(mean.n_examples)
        if rows is not None:
            chosen = as_rows(rows, n_examples=mean.n_examples)
        probs = mean.rows(chosen)
        is_unseen = mean.counts[chosen] == 0
        n_unseen = int(is_unseen.sum())
        if n_unseen and gold is None:
            raise MissingExampleError(
                "{n_unseen} of {n_chosen} example(s) were never observed: nothing is known of "
                "them. Train the teacher longer, begin with an earlier start, observe the whole "
                "training set, or give the gold labels as gold to use these instead.",
                n_unseen=n_unseen,
                n_chosen=len(chosen),
            )
        if n_unseen:
            labels = as_labels(gold, n_classes=mean.n_classes)
            if len(labels) != mean.n_examples:
                raise ShapeError(
                    "{n_labels} gold label(s) were given for {n_examples} examples. "
                    "Give those of the whole training set, in order.",
                    n_labels=len(labels),
                    n_examples=mean.n_examples,
                )
            probs[is_unseen] = one_hot(labels[chosen[is_unseen]], n_classes=mean.n_classes)
        return raised(probs, power=self.settings.power)

    # ------------------------------------------------------------------------------- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Every counter and the running mean, or the number of its snapshot on disk."""
        return {
            "settings": asdict(self.settings),
            "n_predicted": self._n_predicted,
            "last_step": self._last_step,
            "running_mean": self.running_mean.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was saved.

        Args:
            state: What `state_dict` gave.

        Raises:
            OptionError: It has other settings, or is of other examples.
            NotFoundError: The snapshot does not exist any more: only the last two are kept.
            DamagedStoreError: The snapshot holds other bytes than the state was saved with.
        """
        if state.get("settings") != asdict(self.settings):
            raise OptionError(
                "The state has the settings {stored}, and these are "
                "{settings}. Load it into the same.",
                stored=state.get("settings"),
                settings=asdict(self.settings),
            )
        self.running_mean.load_state_dict(state["running_mean"])
        self._n_predicted = state["n_predicted"]
        self._last_step = state["last_step"]
