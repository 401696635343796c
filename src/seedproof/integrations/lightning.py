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
from seedproof.stabilize.average import STATE_KEY
from seedproof.stabilize.evaluation_mode import evaluating
from seedproof.training.rng import advance, capture, from_portable, restore, to_portable
from seedproof.training.run import Run


class EpochSampler(Sampler[int]):
    """Shuffles by the run's `order` and the number of the epoch, which Lightning tells it.

    The order of an epoch does not depend on what was drawn before, so that a training that is
    resumed at the end of an epoch sees what an uninterrupted one sees.

    Args:
        data: What is shuffled.
        run: The run.
    """

    def __init__(self, data: Sized, run: Run) -> None:
        self._n_examples = len(data)
        self._root = Streams(run.seeds).sequence("order", NUMPY)
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Lightning calls this at the beginning of each epoch."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        key = (*self._root.spawn_key, self._epoch)
        sequence = np.random.SeedSequence(self._root.entropy, spawn_key=key)
        yield from np.random.default_rng(sequence).permutation(self._n_examples).tolist()

    def __len__(self) -> int:
        return self._n_examples


class AveragingCallback(Callback):
    """Averages weights while Lightning trains.

    Validation, the choice of the best model and saved checkpoints use the averaged weights; the
    raw ones travel with the optimizer's state, so that a training can be resumed. Its checkpoint
    also holds the state of global generators. After `fit` the module has the averaged weights.

    Args:
        name: `none`, `aswa`, `naswa`, `ema`, `switch-ema`, `swa`, `lawa`, …: see
            `seedproof.stabilize.build`.
        policy: Other settings than the name's own.
        optimizer: Which of the module's optimizers is followed.
    """

    def __init__(self, name: str, *, policy: Policy | None = None, optimizer: int = 0) -> None:
        self.name = name
        self.policy = policy
        self.optimizer = optimizer
        self.average: WeightAverage | None = None
        self._applied = ExitStack()
        self._was_interrupted = False
        self._generators: dict[str, Any] | None = None
        self._at_epoch_start: dict[str, Any] | None = None

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Attach to the optimizer, before Lightning restores its state."""
        chosen = trainer.optimizers[self.optimizer]
        self._was_interrupted = False
        self.average = build(self.name, pl_module, chosen, policy=self.policy)
        savers = [c for c in trainer.checkpoint_callbacks if getattr(c, "save_weights_only", False)]
        if savers and self.average.policy is not None:
            message = Message(
                "raw-weights-saved",
                "Checkpoints with save_weights_only=True hold the raw weights, not the averaged "
                "ones: Lightning asks no callback about them. Save whole checkpoints.",
            )
            warnings.warn(AverageWarning(message), stacklevel=2)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Generators go on where the checkpoint left them."""
        self._applied.close()
        if self._generators is not None:
            from_portable(self._generators)
            self._generators = None

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remember where generators are: making a loader's iterator draws from them.

        Lightning makes one more or less of these when a training is resumed. Where nothing else
        draws, every epoch would begin at the same place, and have the same order.
        """
        advance()
        self._at_epoch_start = capture()

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """The first batch begins where the epoch did."""
        if self._at_epoch_start is not None:
            restore(self._at_epoch_start)
            self._at_epoch_start = None

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """The average learns that an epoch is over, before anything is validated or saved."""
        if trainer.is_last_batch and self.average is not None:
            self.average.end_epoch()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """What is validated has the averaged weights."""
        if self.average is not None and self.average.is_attached and self.average.n_entered > 0:
            self._applied.enter_context(self.average.applied())

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Training needs the module's own weights."""
        self._applied.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Leave nothing behind."""
        self._applied.close()
        if self.average is not None:
            # Somebody may save a checkpoint after this, to go on from.
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
        """A checkpoint has the averaged weights, and the raw ones beside the optimizer's state."""
        if self.average is None or not (self.average.is_attached or self._was_interrupted):
            return
        weights = checkpoint["state_dict"]
        # The average's names do not tell which parts of the module are compiled.
        names = {name.replace("_orig_mod.", ""): name for name in weights}
        state = checkpoint["optimizer_states"][self.optimizer]
        if STATE_KEY not in state:
            state[STATE_KEY] = self.average.state_dict()
        if self.average.n_entered == 0:
            return
        saved = state[STATE_KEY]
        if saved["raw"] is None:
            saved["raw"] = {name: weights[names[name]].clone() for name in saved["average"]}
        for name, value in self.average.chosen_weights().items():
            weights[names[name]] = value.to(weights[names[name]].dtype)

    def state_dict(self) -> dict[str, Any]:
        """The state of global generators, which Lightning does not save."""
        return {"generators": to_portable()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """They are put back when training starts."""
        self._generators = state_dict["generators"]


class RunCallback(Callback):
    """Logs the predictions of a run when `fit` ends.

    Give it after an `AveragingCallback`, so that it sees the averaged weights.

    Args:
        run: The run.
        batches: What is predicted, such as a DataLoader that does not shuffle: pairs of inputs
            and labels. The module's `forward` must return logits.
        split: Name of the data.
        ids: Id of each example; positions without them.
    """

    def __init__(
        self,
        run: Run,
        batches: Iterable[Any],
        *,
        split: str = "test",
        ids: Any = None,
    ) -> None:
        self.run = run
        self.batches = batches
        self.split = split
        self.ids = ids

    @torch.no_grad()
    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Predict, and log."""
        probs, labels = [], []
        with evaluating(pl_module):
            for inputs, gold in self.batches:
                logits = pl_module(inputs.to(pl_module.device))
                if logits.ndim != 2:
                    raise RunError(
                        "The module gives an output of shape {shape!s}, and logits "
                        "have two axes, (examples, classes). Log predictions with "
                        "run.log_predictions.",
                        shape=tuple(logits.shape),
                    )
                probs.append(logits.float().softmax(dim=-1).cpu())
                labels.append(gold.cpu())
        self.run.log_predictions(
            self.split, ids=self.ids, probs=torch.cat(probs), labels=torch.cat(labels)
        )
