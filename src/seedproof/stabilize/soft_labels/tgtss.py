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
from seedproof.typing import check_count


@dataclass(frozen=True)
class TgtssSettings:
    """Settings of `Tgtss`: the steps to average, and the exponent.

    Args:
        start: The first optimizer step after which predictions count; steps are numbered from 1.
        every: Consider every n-th step only.
        power: The exponent that the mean is raised to; below 1 it flattens.
    """

    start: int
    every: int = 1
    power: float = 0.5

    def __post_init__(self) -> None:
        check_count("start", self.start, 0)
        check_count("every", self.every, 1)
        if not 0.0 < self.power < float("inf"):
            raise OptionError(
                "power is {power!r}. Pass a number above 0; 0.5 flattens.", power=self.power
            )

    def is_due(self, step: int) -> bool:
        """Return whether predictions after `step` optimizer steps count."""
        return step >= self.start and (step - self.start) % self.every == 0


class Tgtss:
    """Soft labels from a teacher's predictions for its training set during training.

    From step `start` on, the probabilities after each step (or each n-th) are averaged, and the
    mean is raised to a power: q = p̄^T / Σ p̄^T. A student is trained on q alone (Findings of ACL
    2023, "Measuring and Mitigating Local Instability in Deep Neural Networks", section 4.5).

    Predicting the whole training set so often costs several training runs: `n_predicted` counts it.
    The free variant observes the probabilities that training computes anyway, for its own batches.
    They belong to the weights before the step, and include dropout if the model has it.

    Args:
        n_examples: Number of training examples.
        n_classes: Number of classes.
        start: The first optimizer step after which predictions count; steps are numbered from 1.
        every: Consider every n-th step only.
        power: The exponent; 0.5 is the paper's.
        path: A file for the running mean, one per teacher. If omitted, it is kept in memory.

    Raises:
        OptionError: A setting is not possible.
        UnreadableError: The file is not that of a running mean, or has another size.
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
        """Number of extra forward passes, in examples.

        Divide by the number of training examples for passes over the training set; without
        gradients, a pass costs about a third of an epoch.
        """
        return self._n_predicted

    @property
    def has_observed(self) -> bool:
        """True after the first observation."""
        return self._last_step >= 0

    def is_due(self, step: int) -> bool:
        """Return whether to observe a step.

        Args:
            step: Number of optimizer steps so far: 1 after the first.

        Returns:
            Whether its predictions count.
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
        """Add the teacher's predictions at a step to the mean.

        Args:
            probs: Probabilities, axes (examples, classes).
            step: Number of optimizer steps so far.
            rows: Positions of the examples. If omitted, the whole training set, in order.
            is_extra: Whether they were predicted only for this, and so count in `n_predicted`.
                If omitted, True for the whole training set, and False with rows, which are then
                a batch of the training itself. Give True for pieces of the training set.

        Raises:
            OptionError: The step is not due, or earlier than the last one observed.
            ShapeError: The probabilities do not match rows and classes.
            ProbabilityError: A row of probabilities is not a distribution.
        """
        self._check(step, is_whole=rows is None)
        self.running_mean.update(probs, rows=rows)
        self._last_step = step
        if rows is None if is_extra is None else is_extra:
            self._n_predicted += self.running_mean.n_examples if rows is None else len(rows)

    def _check(self, step: int, *, is_whole: bool) -> None:
        if not self.is_due(step):
            raise OptionError(
                "Step {step} is not due: {settings}. Call is_due(step) before predicting.",
                step=step,
                settings=self.settings,
            )
        if step < self._last_step or (is_whole and step == self._last_step):
            raise OptionError(
                "Step {step} was observed after step {last_step}, but steps must increase. "
                "If training was resumed, load the state of its checkpoint.",
                step=step,
                last_step=self._last_step,
            )

    def targets(
        self,
        rows: Any = None,  # noqa: ANN401 - as above
        *,
        gold: Any = None,  # noqa: ANN401 - as above
    ) -> Tensor:
        """Return soft labels for the student: the mean, raised to the power.

        Args:
            rows: Positions of the examples. If omitted, all of them.
            gold: Gold labels of the whole training set, used unsmoothed for examples that were
                never observed. If omitted, such examples are refused.

        Returns:
            Float64 on the CPU, axes (examples, classes).

        Raises:
            MissingExampleError: Examples were never observed, and there are no gold labels.
            ShapeError: The number of gold labels is not that of the examples.
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
                "{n_unseen} of {n_chosen} example(s) were never observed. Train the teacher "
                "longer, choose an earlier start, observe the whole training set, or pass gold "
                "to use the gold labels instead.",
                n_unseen=n_unseen,
                n_chosen=len(chosen),
            )
        if n_unseen:
            labels = as_labels(gold, n_classes=mean.n_classes)
            if len(labels) != mean.n_examples:
                raise ShapeError(
                    "{n_labels} gold label(s) were given for {n_examples} examples. "
                    "Pass those of the whole training set, in order.",
                    n_labels=len(labels),
                    n_examples=mean.n_examples,
                )
            probs[is_unseen] = one_hot(labels[chosen[is_unseen]], n_classes=mean.n_classes)
        return raised(probs, power=self.settings.power)

    # ------------------------------------------------------------------------------- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Return all counters and the running mean, or the number of its snapshot on disk."""
        return {
            "settings": asdict(self.settings),
            "n_predicted": self._n_predicted,
            "last_step": self._last_step,
            "running_mean": self.running_mean.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved state.

        Args:
            state: A result of `state_dict`.

        Raises:
            OptionError: The settings or the number of examples differ.
            NotFoundError: The snapshot no longer exists: only the last two are kept.
            DamagedStoreError: The snapshot has changed since the state was saved.
        """
        if state.get("settings") != asdict(self.settings):
            raise OptionError(
                "The state was saved with the settings {stored}, but these are {settings}. "
                "Load it into a Tgtss with the same settings.",
                stored=state.get("settings"),
                settings=asdict(self.settings),
            )
        self.running_mean.load_state_dict(state["running_mean"])
        self._n_predicted = state["n_predicted"]
        self._last_step = state["last_step"]
