"""Hugging Face's Trainer: averaged weights, and the seeds and predictions of a run."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from seedproof.errors import MissingAverageError, RunError
from seedproof.records.tags import spans_of_tags
from seedproof.stabilize import Policy, WeightAverage, build
from seedproof.stabilize.evaluation_mode import evaluating
from seedproof.training.run import Run

# Label of tokens that do not count, such as the later pieces of a word.
IGNORED = -100


def seeds_of(run: Run) -> dict[str, int]:
    """Return the seeds of a run as arguments of `TrainingArguments`.

    `TrainingArguments(..., **seeds_of(run))`: `seed` covers weights and dropout, which the Trainer
    does not distinguish, and `data_seed` the order of examples.

    Args:
        run: The run.

    Returns:
        `seed` and `data_seed`.
    """
    both = np.random.SeedSequence([run.seeds["init"], run.seeds["dropout"]])
    return {"seed": int(both.generate_state(1)[0]), "data_seed": run.seeds["order"]}


class AveragingCallback(TrainerCallback):
    """Average the weights while a Trainer trains.

    Evaluation, the choice of the best model and saved checkpoints use the averaged weights; the
    raw ones are saved in `optimizer.pt`, so that training can be resumed. After training, the
    model has the averaged weights, or those of the best checkpoint if the Trainer loads it.

    Args:
        name: `none`, `aswa`, `naswa`, `ema`, `switch-ema`, `swa`, `lawa`, …: see
            `seedproof.stabilize.build`.
        policy: Settings that replace the preset's.
        start_late: Start a new average if training is resumed from a checkpoint that has none.
            If omitted, such a checkpoint is refused.
    """

    def __init__(
        self, name: str, *, policy: Policy | None = None, start_late: bool = False
    ) -> None:
        self.name = name
        self.policy = policy
        self.start_late = start_late
        self.average: WeightAverage | None = None
        self._applied = ExitStack()

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        optimizer: Any = None,
        **kwargs: Any,
    ) -> None:
        """Attach to the optimizer; if training is resumed, the Trainer has loaded its state."""
        self._applied.close()
        if self.average is not None:
            # Training that was interrupted did not reach `on_train_end`.
            self.average.remove()
        bare = getattr(optimizer, "optimizer", optimizer)
        is_resumed = state.global_step > 0
        # Training that begins may use the optimizer of an earlier one.
        start_late = self.start_late or not is_resumed
        self.average = build(self.name, model, bare, policy=self.policy, start_late=start_late)
        if is_resumed and self.average.policy is not None:
            self._align(self.average, state)

    def _align(self, average: WeightAverage, state: TrainerState) -> None:
        """Give an average the number of epochs of the training that is resumed."""
        n_epochs = int(state.epoch or 0)
        if average.n_steps > 0:
            # A checkpoint at the last step of an epoch is saved before the epoch ends.
            while average.n_epochs < n_epochs:
                average.end_epoch()
        elif self.start_late:
            empty = average.state_dict()
            counters = empty["counters"] | {"n_epochs": n_epochs}
            average.load_state_dict(empty | {"counters": counters})
        else:
            # Some optimizers count no steps, so `build` did not notice.
            raise MissingAverageError(
                "Training resumes at step {step}, but the optimizer's state has no average. Resume "
                "from a checkpoint that was saved with this callback, or pass start_late=True.",
                step=state.global_step,
            )

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        """Give the model its own weights for training."""
        self._applied.close()

    on_epoch_begin = on_step_begin

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Apply the averaged weights if the Trainer evaluates or saves next."""
        self._apply_if_used(control)

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """End the epoch of the average."""
        self._applied.close()
        if self.average is not None:
            self.average.end_epoch()
        self._apply_if_used(control)

    def _apply_if_used(self, control: TrainerControl) -> None:
        is_used = control.should_evaluate or control.should_save
        if is_used and self.average is not None and self.average.n_entered > 0:
            self._applied.enter_context(self.average.applied())

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Leave the chosen weights in the model."""
        if self.average is None:
            return
        has_best_model = args.load_best_model_at_end and state.best_model_checkpoint is not None
        if has_best_model:
            # The Trainer has just loaded averaged weights.
            self.average.leave_model_as_it_is()
        self._applied.close()
        if not has_best_model:
            self.average.finish()


class RunCallback(TrainerCallback):
    """Log the predictions of a run when its training ends.

    The spans of a token classification are logged as sets, one per sequence: tags are named by
    the model's `id2label`, and tokens without a label (-100) are left out.

    Place it after an `AveragingCallback`, so that it sees the averaged weights.

    Args:
        run: The run.
        split: Name of the data.
        batches: Data to predict, such as a DataLoader that does not shuffle. If omitted, the
            Trainer's evaluation data.
        ids: Id of each example. If omitted, its position.
    """

    def __init__(
        self,
        run: Run,
        *,
        split: str = "test",
        batches: Iterable[Mapping[str, Any]] | None = None,
        ids: Any = None,
    ) -> None:
        self.run = run
        self.split = split
        self.batches = batches
        self.ids = ids

    @torch.no_grad()
    def on_train_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        eval_dataloader: Any = None,
        **kwargs: Any,
    ) -> None:
        """Predict and log."""
        batches = eval_dataloader if self.batches is None else self.batches
        if batches is None:
            raise RunError(
                "There is nothing to predict. Pass batches, or give the Trainer an eval_dataset.",
                missing="batches",
            )
        logits, labels, masks = [], [], []
        with evaluating(model):
            for batch in batches:
                moved = {name: values.to(args.device) for name, values in batch.items()}
                gold = moved.pop("labels", None)
                logits.append(model(**moved).logits.float().cpu())
                masks.append(moved.get("attention_mask"))
                if gold is not None:
                    labels.append(gold.cpu())
        if logits[0].ndim == 3:
            self._log_spans(model, logits, labels, masks)
            return
        self.run.log_predictions(
            self.split,
            ids=self.ids,
            probs=torch.cat(logits).softmax(dim=-1),
            labels=torch.cat(labels) if labels else None,
        )

    def _log_spans(
        self, model: Any, logits: list[Any], labels: list[Any], masks: list[Any]
    ) -> None:
        """Log the spans of tagged tokens."""
        names = model.config.id2label
        sets: list[list[str]] = []
        gold: list[list[str]] = []
        for index, of_batch in enumerate(logits):
            chosen = of_batch.argmax(dim=-1)
            is_token = torch.ones(chosen.shape, dtype=torch.bool)
            if labels:
                is_token = labels[index] != IGNORED
            elif masks[index] is not None:
                is_token = masks[index].cpu().bool()
            for row, tokens in enumerate(is_token):
                sets.append(_spans(chosen[row][tokens], names))
                if labels:
                    gold.append(_spans(labels[index][row][tokens], names))
        self.run.log_predictions(
            self.split, ids=self.ids, sets=sets, labels=gold if labels else None
        )


def _spans(tags: Any, names: Mapping[int, str]) -> list[str]:
    return spans_of_tags([names[int(tag)] for tag in tags])
