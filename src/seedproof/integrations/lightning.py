"""Lightning's Trainer: averaged weights, and the seeds and predictions of a run."""

import warnings
from collections.abc import Iterable, Iterator, Sized
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch.utils.data import Sampler

from seedproof.errors import RunError
from seedproof.messages import Message
from seedproof.seeds import Streams
from seedproof.seeds.streams import NUMPY
from seedproof.stabilize import AverageWarning, Policy, WeightAverage, build
from seedproof.stabilize.evaluation_mode import evaluating
from seedproof.stabilize.optimizer_state import put_average, saved_average
from seedproof.training.rng import advance, capture, from_portable, restore, to_portable
from seedproof.training.run import Run


class EpochSampler(Sampler[int]):
    """Shuffle by the run's `order` seed and the epoch, which Lightning sets.

    The order of an epoch does not depend on earlier draws, so training that is resumed at the end
    of an epoch sees the same order as uninterrupted training.

    Args:
        data: The data to shuffle.
        run: The run.
    """

    def __init__(self, data: Sized, run: Run) -> None:
        self._n_examples = len(data)
        self._root = Streams(run.seeds).sequence("order", NUMPY)
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch; Lightning calls this when an epoch begins."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        key = (*self._root.spawn_key, self._epoch)
        sequence = np.random.SeedSequence(self._root.entropy, spawn_key=key)
        yield from np.random.default_rng(sequence).permutation(self._n_examples).tolist()

    def __len__(self) -> int:
        return self._n_examples


class AveragingCallback(Callback):
    """Average the weights while Lightning trains.

    Validation, the choice of the best model and saved checkpoints use the averaged weights; the
    raw ones are saved with the optimizer's state, so that training can be resumed. Checkpoints
    also hold the state of global generators. After `fit` the module has the averaged weights.

    Args:
        name: `none`, `aswa`, `naswa`, `ema`, `switch-ema`, `swa`, `lawa`, …: see
            `seedproof.stabilize.build`.
        policy: Settings that replace the preset's.
        optimizer: Index of the optimizer to follow.
        start_late: Start a new average if training is resumed from a checkpoint that has none.
            If omitted, such a checkpoint is refused.
    """

    def __init__(
        self,
        name: str,
        *,
        policy: Policy | None = None,
        optimizer: int = 0,
        start_late: bool = False,
    ) -> None:
        self.name = name
        self.policy = policy
        self.optimizer = optimizer
        self.start_late = start_late
        self.average: WeightAverage | None = None
        self._applied = ExitStack()
        self._was_interrupted = False
        self._generators: dict[str, Any] | None = None
        self._at_epoch_start: dict[str, Any] | None = None

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Attach to the optimizer, before Lightning restores its state."""
        chosen = trainer.optimizers[self.optimizer]
        self._was_interrupted = False
        self.average = build(
            self.name, pl_module, chosen, policy=self.policy, start_late=self.start_late
        )
        savers = [c for c in trainer.checkpoint_callbacks if getattr(c, "save_weights_only", False)]
        if savers and self.average.policy is not None:
            message = Message(
                "raw-weights-saved",
                "Checkpoints with save_weights_only=True contain the raw weights, not the averaged "
                "ones, because Lightning calls no callback for them. Save full checkpoints.",
            )
            warnings.warn(AverageWarning(message), stacklevel=2)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Restore the generators of the checkpoint."""
        self._applied.close()
        if self._generators is not None:
            from_portable(self._generators)
            self._generators = None

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the state of the generators, from which creating a loader's iterator draws.

        Lightning creates one more or one less of these when training is resumed. Advance first:
        if nothing else draws, every epoch would otherwise have the same order.
        """
        advance()
        self._at_epoch_start = capture()

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Restore the generators of the beginning of the epoch at its first batch."""
        if self._at_epoch_start is not None:
            restore(self._at_epoch_start)
            self._at_epoch_start = None

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """End the epoch of the average before anything is validated or saved."""
        if trainer.is_last_batch and self.average is not None:
            self.average.end_epoch()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Validate with the averaged weights."""
        if self.average is not None and self.average.is_attached and self.average.n_entered > 0:
            self._applied.enter_context(self.average.applied())

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Give the module its own weights for training."""
        self._applied.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Detach from the optimizer."""
        self._applied.close()
        if self.average is not None:
            # A checkpoint may still be saved after this, to resume from.
            self._was_interrupted = self.average.is_attached
            self.average.remove()

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Leave the averaged weights in the module."""
        self._applied.close()
        if self.average is not None:
            self.average.finish()

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Put averaged weights into a checkpoint, and raw ones into the optimizer's state."""
        if self.average is None or not (self.average.is_attached or self._was_interrupted):
            return
        weights = checkpoint["state_dict"]
        # The average's names omit the prefix of compiled modules.
        names = {name.replace("_orig_mod.", ""): name for name in weights}
        groups = checkpoint["optimizer_states"][self.optimizer]["param_groups"]
        saved = saved_average(groups)
        if saved is None:
            saved = self.average.state_dict()
        if self.average.n_entered > 0 and not saved["raw"]:
            saved["raw"] = {name: weights[names[name]].clone() for name in saved["average"]}
        put_average(groups, saved)
        if self.average.n_entered == 0:
            return
        for name, value in self.average.chosen_weights().items():
            weights[names[name]] = value.to(weights[names[name]].dtype)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of global generators, which Lightning does not save."""
        return {"generators": to_portable()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the state of global generators until training starts."""
        self._generators = state_dict["generators"]


class RunCallback(Callback):
    """Log the predictions of a run when `fit` ends.

    Place it after an `AveragingCallback`, so that it sees the averaged weights.

    Args:
        run: The run.
        batches: Data to predict, such as a DataLoader that does not shuffle: pairs of inputs
            and labels. The module's `forward` must return logits.
        split: Name of the data.
        ids: Id of each example. If omitted, its position.
    """

    def __init__(
        self, run: Run, batches: Iterable[Any], *, split: str = "test", ids: Any = None
    ) -> None:
        self.run = run
        self.batches = batches
        self.split = split
        self.ids = ids

    @torch.no_grad()
    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Predict and log."""
        probs, labels = [], []
        with evaluating(pl_module):
            for inputs, gold in self.batches:
                logits = pl_module(inputs.to(pl_module.device))
                if logits.ndim != 2:
                    raise RunError(
                        "The module returns an output of shape {shape!s}, but logits have two "
                        "axes, (examples, classes). Log predictions with run.log_predictions.",
                        shape=tuple(logits.shape),
                    )
                probs.append(logits.float().softmax(dim=-1).cpu())
                labels.append(gold.cpu())
        self.run.log_predictions(
            self.split, ids=self.ids, probs=torch.cat(probs), labels=torch.cat(labels)
        )
