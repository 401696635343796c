"""An average of weights that follows an optimizer."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from seedproof.errors import OptionError, RunError
from seedproof.messages import Message
from seedproof.stabilize import batch_norm
from seedproof.stabilize.averaged_copy import AveragedCopy
from seedproof.stabilize.optimizer_state import (
    average_to_resume,
    counted_steps,
    drop_average,
    put_average,
)
from seedproof.stabilize.policy import Policy, Window
from seedproof.stabilize.tracked import tracked, trained
from seedproof.stabilize.travel import Travel
from seedproof.stabilize.weighting import Counters, weigh


class AverageWarning(UserWarning):
    """A warning that an average may not be what the user expects; its argument is a `Message`."""


class WeightAverage:
    """Average of a model's weights over the steps of its optimizer.

    Two lines suffice: create it, and call `end_epoch()`. It holds one more set of weights in 32
    bits; the model is neither copied nor wrapped. Its state is saved with
    `optimizer.state_dict()`, and restored if that is loaded, before or after.

    Args:
        model: The model to average. Frozen weights are skipped, shared ones counted once.
        optimizer: The optimizer whose steps are followed.
        policy: Settings of the average. If omitted, the class's own.
        start_late: Start a new average if the optimizer has taken steps and has none.

    Raises:
        OptionError: The model has nothing to average, or the optimizer has another average.
        MissingAverageError: The optimizer has taken steps without an average.
    """

    preset: ClassVar[Policy | None] = None

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        policy: Policy | None = None,
        *,
        start_late: bool = False,
    ) -> None:
        self.policy = self.preset if policy is None else policy
        self._model = model
        self._optimizer = optimizer
        self._start_late = start_late
        self._count = Counters()
        self._snapshots: list[dict[str, Tensor]] = []
        self._is_applied = False
        self._saved_statistics: list[tuple[Tensor, Tensor]] = []
        self._handles: list[Any] = []
        # Until the first step: how often each weight was written.
        self._versions: list[int] | None = None
        self._is_new, self._raw_differs = True, False
        if self.policy is None:
            self._averaged_copy = AveragedCopy({})
            return
        self._averaged_copy = AveragedCopy(tracked(model, self.policy))
        if not self._averaged_copy.names:
            raise OptionError(
                "The model has no trainable parameter: nothing to average.", n_parameters=0
            )
        self._measure_distance = self._distance_to_model(self.policy)
        if not self._resume():
            self._begin(self.policy)
        self._handles = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
            optimizer.register_state_dict_post_hook(self._save_with_optimizer),
            optimizer.register_load_state_dict_post_hook(self._load_with_optimizer),
        ]

    def _begin(self, policy: Policy) -> None:
        """Start a new average from the model's weights."""
        self._averaged_copy.take_model()
        self._set_counters(Counters(n_members=int(policy.begins_with == "weights")))
        self._snapshots = []
        self._travel = Travel(self._averaged_copy.samples()[1])
        self._is_new, self._raw_differs = True, False
        self._versions = self._averaged_copy.versions()

    def _resume(self) -> bool:
        """Restore the average that the optimizer has loaded; return False if it has none."""
        saved = average_to_resume(self._optimizer, start_late=self._start_late)
        if saved is not None:
            self.load_state_dict(saved)
        drop_average(self._optimizer.param_groups)
        return saved is not None

    def _distance_to_model(self, policy: Policy) -> Callable[[], Tensor] | None:
        """Return the distance that the policy tests, if it has a test."""
        if policy.accept is None:
            return None
        # Without batch-norm statistics: under DDP each rank has its own, so ranks would decide
        # differently, and their weights would diverge.
        weights = trained(self._model)
        names = tuple(weights) if policy.accept.parameters is None else policy.accept.parameters
        unknown = [name for name in names if name not in weights]
        if unknown:
            raise OptionError(
                "The model has no trainable parameter {parameter!r}. It has: {known}.",
                parameter=unknown[0],
                known=tuple([*weights][:10]),
            )
        return self._averaged_copy.distance(policy.accept.order, names)

    def _set_counters(self, counters: Counters) -> None:
        device = self._averaged_copy.device
        self._count = counters if device.type == "cpu" else counters.on(device)

    # ------------------------------------------------------------------------- during training

    def _before_step(self, *_: object) -> None:
        self._refuse_while_applied("step")
        if self._versions is not None:
            self._check_first_step()
        if self.policy is not None and self.policy.enters == "before-step":
            self._offer(self.policy, is_real=self._is_real_step())

    def _check_first_step(self) -> None:
        """Check for weights that were loaded after the average began or was restored."""
        if self._versions != self._averaged_copy.versions():
            if self._is_new and self.n_entered == 0:
                self._averaged_copy.take_model()
                self._travel = Travel(self._averaged_copy.samples()[1])
            elif self._raw_differs and self._averaged_copy.equals_model():
                raise RunError(
                    "The checkpoint was saved while the average was applied, and its averaged "
                    "weights were loaded over the model's own. Load the model before the optimizer "
                    "or before the average is built.",
                    reloaded="model",
                )
        self._versions = None

    def _after_step(self, *_: object) -> None:
        if self.policy is None:
            return
        is_real = self._is_real_step()
        self._count.n_steps = self._count.n_steps + is_real
        if self.policy.enters == "after-step":
            self._offer(self.policy, is_real=is_real)

    def _refuse_while_applied(self, event: Literal["step", "epoch-end"]) -> None:
        if self._is_applied:
            subject = {"step": "The optimizer steps", "epoch-end": "An epoch ends"}[event]
            raise RunError(
                f"{subject} while the average is applied. Train outside `applied()`.", event=event
            )

    def _is_real_step(self) -> Any:  # noqa: ANN401 - a truth value, maybe on a device
        """Return whether AMP performs this step; fused optimizers are called in any case."""
        found_inf = getattr(self._optimizer, "found_inf", None)
        return self._truth(True if found_inf is None else found_inf == 0)

    def _truth(self, value: bool | Tensor) -> Any:  # noqa: ANN401, FBT001 - a truth value
        """Return a truth value in the form of the counters: a bool, or a tensor on their device."""
        if not isinstance(self._count.n_steps, Tensor):
            return bool(value)
        device = self._averaged_copy.device
        if isinstance(value, Tensor):
            return value.reshape(()).to(device)
        return torch.full((), value, dtype=torch.bool, device=device)

    def _offer(self, policy: Policy, *, is_real: Any) -> None:  # noqa: ANN401 - as above
        if self._count.n_epochs < policy.after_epochs:
            return
        weight = weigh(policy, self._count, is_real=is_real, distance=self._distance)
        if isinstance(weight, Tensor) or weight != 0:
            self._averaged_copy.move(weight)

    def _distance(self) -> Any:  # noqa: ANN401 - a number, maybe on a device
        if self._measure_distance is None:
            return 0.0
        distance = self._measure_distance()
        return distance if isinstance(self._count.n_steps, Tensor) else distance.item()

    def end_epoch(self) -> None:
        """Mark the end of an epoch; the model may return to the average, as the policy says."""
        self._refuse_while_applied("epoch-end")
        policy = self.policy
        if policy is None:
            return
        if policy.enters == "epoch-end" and isinstance(policy.weighing, Window):
            self._enter_window(policy, policy.weighing)
        elif policy.enters == "epoch-end":
            self._offer(policy, is_real=self._truth(True))  # noqa: FBT003 - a value
        self._travel.end_epoch(*self._averaged_copy.samples())
        if policy.restart != "none" and self.n_entered > 0:
            self._restart(policy)
        if policy.accept is not None and policy.accept.clear_each_epoch:
            self._count.norm_sum = self._count.norm_sum * 0
            self._count.norm_count = self._count.norm_count * 0
        self._count.n_epochs += 1

    def _enter_window(self, policy: Policy, window: Window) -> None:
        if self._count.n_epochs < policy.after_epochs or self.n_steps < policy.after_steps:
            return
        self._count.n_offered = self._count.n_offered + 1
        if (int(self._count.n_offered) - 1) % policy.every:
            return
        self._averaged_copy.move(1.0)
        self._snapshots.append(self._averaged_copy.copies())
        del self._snapshots[: -window.length]
        self._count.n_entered = self._count.n_entered + 1
        self._averaged_copy.take_mean(self._snapshots)

    def _restart(self, policy: Policy) -> None:
        self._versions = None
        self._reshard()
        if policy.restart == "assign":
            self._averaged_copy.assign()
        else:
            self._averaged_copy.swap()
            self._averaged_copy.keep_swapped()
        if policy.optimizer_state == "reset":
            self._optimizer.state.clear()
        self._count.last_restart = int(self._count.n_steps)

    # ------------------------------------------------------------------------ state and results

    @property
    def is_attached(self) -> bool:
        """True until `finish` or `remove`, while it follows an optimizer."""
        return bool(self._handles)

    @property
    def n_entered(self) -> int:
        """Number of times that weights entered the average."""
        return int(self._count.n_entered)

    @property
    def n_steps(self) -> int:
        """Number of optimizer steps, without those that AMP skipped."""
        return int(self._count.n_steps)

    @property
    def n_epochs(self) -> int:
        """Number of calls of `end_epoch`."""
        return self._count.n_epochs

    def _is_in_model(self) -> bool:
        """Return whether the model holds the chosen weights because it has just swapped."""
        swaps = self.policy is not None and self.policy.restart == "swap"
        return swaps and self._count.last_restart == int(self._count.n_steps)

    @contextmanager
    def applied(
        self,
        batches: Iterable[Any] | None = None,
        *,
        forward: Callable[[Any], object] | None = None,
    ) -> Iterator[None]:
        """Give the model the averaged weights for a while, then its own, bit for bit.

        Args:
            batches: Data from which batch-norm statistics are computed for these weights. If
                omitted, they are those that the policy's `batch_norm` says.
            forward: A function that passes such a batch through the model. If omitted, the
                model is called with the batch, its first element, or its items as keywords.

        Yields:
            Nothing.
        """
        if self.policy is None or self._is_applied:
            yield
            return
        if self.n_entered == 0:
            text = "No weights have entered the average yet: the model keeps its own weights."
            _warn(Message("no-update", text), depth=2)
            yield
            return
        self._swap_in(refreshes=batches is not None)
        try:
            self._refresh(batches, forward, depth=3)
            yield
        finally:
            self._swap_out()

    def _swap_in(self, *, refreshes: bool) -> None:
        if not self._is_in_model():
            self._reshard()
            self._averaged_copy.swap()
        # After the swap: averaged statistics are refreshed for a while only, too.
        if self.policy is not None and (refreshes or self.policy.batch_norm == "refresh"):
            layers = batch_norm.tracked(self._model).values()
            self._saved_statistics = [(b, b.clone()) for layer in layers for b in layer.buffers()]
        self._is_applied = True

    def _swap_out(self) -> None:
        if not self._is_applied:
            return
        for statistic, before in self._saved_statistics:
            statistic.copy_(before)
        self._saved_statistics = []
        if self._averaged_copy.is_swapped:
            self._reshard()
            self._averaged_copy.swap()
        self._is_applied = False

    def _reshard(self) -> None:
        """Make FSDP2 gather weights again: it may still hold those of the last forward pass."""
        if not self._averaged_copy.is_sharded:
            return
        for module in self._model.modules():
            # An isinstance check would import FSDP, which takes seconds.
            reshard = getattr(module, "reshard", None)
            if reshard is not None:
                reshard()

    def _refresh(
        self,
        batches: Iterable[Any] | None,
        forward: Callable[[Any], object] | None,
        *,
        depth: int = 2,
    ) -> None:
        if batches is not None:
            batch_norm.refresh(self._model, batches, forward=forward)
        elif self.policy is not None and batch_norm.tracked(self._model):
            message = batch_norm.caution(self.policy)
            if message is not None:
                _warn(message, depth=depth)

    def finish(
        self,
        batches: Iterable[Any] | None = None,
        *,
        forward: Callable[[Any], object] | None = None,
    ) -> None:
        """Leave the averaged weights in the model for good, and detach from the optimizer.

        Args:
            batches: Data for batch-norm statistics, as in `applied`. The training data will do.
            forward: A function that passes such a batch through the model, as in `applied`.
        """
        if self.policy is not None and not self.is_attached:
            # Already finished or removed: the average is out of date.
            return
        self._swap_out()
        try:
            if self.policy is not None and self.n_entered == 0:
                text = "No weights have entered the average: the model keeps its own weights."
                _warn(Message("no-update", text))
            elif self.policy is not None:
                if not self._is_in_model():
                    self._take_average(self.policy)
                self._refresh(batches, forward)
                self._warn_if_unfinished(self.policy)
        finally:
            self.remove()

    def _take_average(self, policy: Policy) -> None:
        if policy.restart != "assign" and self._averaged_copy.equals_model():
            text = "The average equals the last weights: it has changed nothing."
            _warn(Message("same-weights", text), depth=2)
        self._reshard()
        self._averaged_copy.assign()

    def _warn_if_unfinished(self, policy: Policy) -> None:
        travel = self._travel
        if travel.is_unfinished(restarts=policy.restart != "none"):
            message = Message(
                "unfinished-average",
                "The average still moves, so it may be less accurate than the raw weights: in the "
                "last epoch it moved {moved:.0%} of its whole way, and the raw weights were "
                "{ahead:.0%} of that way ahead. Train longer, or average later weights only: "
                '"ema", a smaller decay, or a later start. Check the accuracy.',
                moved=travel.moved,
                ahead=travel.ahead,
            )
            _warn(message, depth=2)

    def chosen_weights(self) -> dict[str, Tensor]:
        """Return a copy of the weights that `finish` would leave in the model, by name."""
        if self._is_in_model():
            return self._averaged_copy.weights_of_model()
        return self._averaged_copy.averages()

    def leave_model_as_it_is(self) -> None:
        """Detach from the optimizer; the model keeps its current weights, even the average."""
        self._is_applied = False
        self._saved_statistics = []
        self.remove()

    def remove(self) -> None:
        """Detach from the optimizer, and leave the model with its own weights."""
        self._swap_out()
        for handle in self._handles:
            handle.remove()
        self._handles = []

    # ------------------------------------------------------------------------------- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Return all counters and both sets of weights; under FSDP2, all ranks must call it."""
        if self.policy is None:
            return {}
        return {
            "policy": repr(self.policy),
            "counters": self._count.plain(),
            "average": self._averaged_copy.averages() | self._before_refresh(),
            "travel": self._travel.plain(),
            # Empty if the model holds its own weights.
            "raw": self._averaged_copy.raw() or {},
            "snapshots": [self._averaged_copy.gathered(copies) for copies in self._snapshots],
            "optimizer_steps": counted_steps(self._optimizer),
        }

    def _before_refresh(self) -> dict[str, Tensor]:
        """Return averaged batch-norm statistics while the model holds refreshed ones."""
        if self.policy is None or not self._averaged_copy.is_swapped:
            return {}
        saved = {id(buffer): before for buffer, before in self._saved_statistics}
        tensors = tracked(self._model, self.policy)
        return {name: saved[id(x)].clone() for name, x in tensors.items() if id(x) in saved}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint.

        A checkpoint that was saved while the average was applied also holds the model's own
        weights; they are put back into the model.

        Args:
            state: A result of `state_dict`.

        Raises:
            OptionError: The state belongs to another average, or to another model.
        """
        if self.policy is None:
            return
        if state.get("policy") != repr(self.policy):
            raise OptionError(
                "The checkpoint was saved with {stored_policy}, but this average has "
                "{policy!r}. Load it into an average with the same policy.",
                stored_policy=state.get("policy"),
                policy=self.policy,
            )
        differ = set(state["average"]) ^ set(self._averaged_copy.names)
        if differ:
            raise OptionError(
                "The checkpoint belongs to a model with other parameters.",
                parameters=tuple(sorted(differ)),
            )
        self._swap_out()
        self._set_counters(Counters.from_plain(state["counters"]))
        self._averaged_copy.load(state["average"])
        self._travel = Travel.from_plain(state.get("travel"), self._averaged_copy.samples()[0])
        self._snapshots = [self._averaged_copy.parts(copies) for copies in state["snapshots"]]
        if state["raw"]:
            self._reshard()
            self._averaged_copy.load_model(state["raw"])
        self._is_new = False
        self._raw_differs = bool(state["raw"]) and not self._averaged_copy.equals_model()
        self._versions = self._averaged_copy.versions()

    def _save_with_optimizer(self, _: Optimizer, state: dict[str, Any]) -> None:
        put_average(state["param_groups"], self.state_dict())

    def _load_with_optimizer(self, _: Optimizer) -> None:
        if self.policy is None or self._resume():
            return
        self._swap_out()
        self._begin(self.policy)
        if not self._start_late:
            text = "The optimizer's checkpoint has no average: averaging starts again."
            _warn(Message("no-saved-average", text))


def _warn(message: Message, *, depth: int = 1) -> None:
    """Warn at the user's line, `depth` frames above the caller."""
    warnings.warn(AverageWarning(message), stacklevel=depth + 2)
