"""An average of weights that follows an optimizer, and leaves nothing behind."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.optim import Optimizer

from seedproof.errors import OptionError, RunError
from seedproof.messages import Message
from seedproof.stabilize import batch_norm
from seedproof.stabilize.averaged_copy import Shadow
from seedproof.stabilize.policy import Policy, Window
from seedproof.stabilize.weighting import Counters, weigh

# Under this key an average travels in the optimizer's state.
STATE_KEY = "seedproof_average"


class AverageWarning(UserWarning):
    """An average is not what its user may think it is; its only argument is a `Message`."""


class WeightAverage:
    """Averages a model's weights as its optimizer moves them.

    Two lines suffice: make it, and call `end_epoch()`. It holds one more set of weights in 32 bits;
    the model is neither copied nor wrapped. Its state travels in `optimizer.state_dict()`.

    Args:
        model: Whose weights are averaged; frozen ones are skipped, shared ones counted once.
        optimizer: Whose steps are followed.
        policy: What the average is; the class's own without one.
    """

    preset: ClassVar[Policy | None] = None

    def __init__(
        self, model: nn.Module, optimizer: Optimizer, policy: Policy | None = None
    ) -> None:
        self.policy = self.preset if policy is None else policy
        self._model = model
        self._optimizer = optimizer
        self._count = Counters()
        self._snapshots: list[dict[str, Tensor]] = []
        self._is_applied = False
        self._kept: list[tuple[Tensor, Tensor]] = []
        self._handles: list[Any] = []
        if self.policy is None:
            self._shadow = Shadow({})
            return
        self._shadow = Shadow(_tracked(_bare(model), self.policy))
        if not self._shadow.names:
            raise OptionError(
                "The model has no parameter that is trained: nothing to average.", n_parameters=0
            )
        self._far = self._distance_to_model(self.policy)
        if self.policy.begins_with == "weights":
            self._count.n_members = 1
        if self._shadow.device.type != "cpu":
            self._count = self._count.on(self._shadow.device)
        self._handles = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
            optimizer.register_state_dict_post_hook(self._save_with_optimizer),
            optimizer.register_load_state_dict_pre_hook(self._load_with_optimizer),
        ]

    def _distance_to_model(self, policy: Policy) -> Callable[[], Tensor] | None:
        """What the policy's test looks at, if it has one."""
        if policy.accept is None:
            return None
        # Statistics are no weights, and under DDP each rank has its own: ranks that compared them
        # would decide differently, and their weights would part.
        weights = _trained(_bare(self._model))
        names = tuple(weights) if policy.accept.parameters is None else policy.accept.parameters
        unknown = [name for name in names if name not in weights]
        if unknown:
            raise OptionError(
                "The model has no parameter {parameter!r} that is trained. It has: {known}.",
                parameter=unknown[0],
                known=tuple([*weights][:10]),
            )
        return self._shadow.distance(policy.accept.order, names)

    # ------------------------------------------------------------------ what goes on in training

    def _before_step(self, *_: object) -> None:
        self._refuse_while_applied("step")
        if self.policy is not None and self.policy.enters == "before-step":
            self._offer(self.policy)

    def _refuse_while_applied(self, event: Literal["step", "epoch-end"]) -> None:
        if self._is_applied:
            subject = {"step": "The optimizer steps", "epoch-end": "An epoch ends"}[event]
            raise RunError(
                f"{subject} while the average is applied. Train outside `applied()`.", event=event
            )

    def _after_step(self, *_: object) -> None:
        if self.policy is None:
            return
        is_real = self._is_real_step()
        self._count.n_steps = self._count.n_steps + is_real
        if self.policy.enters == "after-step":
            self._offer(self.policy)

    def _is_real_step(self) -> Any:  # noqa: ANN401 - a truth value, maybe on a device
        """Whether AMP lets this step happen; fused optimizers are called also if not."""
        found_inf = getattr(self._optimizer, "found_inf", None)
        if isinstance(self._count.n_steps, Tensor):
            device = self._shadow.device
            if found_inf is None:
                return torch.ones((), dtype=torch.bool, device=device)
            return (found_inf == 0).reshape(()).to(device)
        return found_inf is None or not bool(found_inf)

    def _offer(self, policy: Policy, *, is_real: Any = None) -> None:  # noqa: ANN401 - as above
        if self._count.n_epochs < policy.after_epochs:
            return
        weight = weigh(
            policy,
            self._count,
            is_real=self._is_real_step() if is_real is None else is_real,
            distance=self._distance,
        )
        if isinstance(weight, Tensor) or weight != 0:
            self._shadow.move(weight)

    def _distance(self) -> Any:  # noqa: ANN401 - a number, maybe on a device
        if self._far is None:
            return 0.0
        distance = self._far()
        return distance if isinstance(self._count.n_steps, Tensor) else distance.item()

    def end_epoch(self) -> None:
        """Tell that an epoch is over: the model may return to the average, as the policy says."""
        self._refuse_while_applied("epoch-end")
        policy = self.policy
        if policy is None:
            return
        if policy.enters == "epoch-end":
            self._enter_at_epoch_end(policy)
        if policy.restart != "none" and self.n_entered > 0:
            self._restart(policy)
        if policy.accept is not None and policy.accept.clear_each_epoch:
            self._count.norm_sum = self._count.norm_sum * 0
            self._count.norm_count = self._count.norm_count * 0
        self._count.n_epochs += 1

    def _enter_at_epoch_end(self, policy: Policy) -> None:
        if not isinstance(policy.weighing, Window):
            device = self._shadow.device
            on_device = isinstance(self._count.n_steps, Tensor)
            real = torch.ones((), dtype=torch.bool, device=device) if on_device else True
            self._offer(policy, is_real=real)
            return
        if self._count.n_epochs < policy.after_epochs or self.n_steps < policy.after_steps:
            return
        self._count.n_offered = self._count.n_offered + 1
        if (int(self._count.n_offered) - 1) % policy.every:
            return
        self._shadow.move(1.0)
        self._snapshots.append(self._shadow.copies())
        del self._snapshots[: -policy.weighing.length]
        self._count.n_entered = self._count.n_entered + 1
        self._shadow.take_mean(self._snapshots)

    def _restart(self, policy: Policy) -> None:
        self._reshard()
        if policy.restart == "assign":
            self._shadow.assign()
        else:
            self._shadow.trade()
            self._shadow.keep_traded()
        if policy.optimizer_state == "reset":
            self._optimizer.state.clear()
        self._count.last_restart = int(self._count.n_steps)

    # --------------------------------------------------------------------- what people ask of it

    @property
    def is_attached(self) -> bool:
        """Whether it follows an optimizer: not after `finish` or `remove`."""
        return bool(self._handles)

    @property
    def n_entered(self) -> int:
        """How often weights entered the average."""
        return int(self._count.n_entered)

    @property
    def n_steps(self) -> int:
        """Optimizer steps that were made; those that AMP skipped do not count."""
        return int(self._count.n_steps)

    @property
    def n_epochs(self) -> int:
        """Epochs whose end was told."""
        return self._count.n_epochs

    def _is_in_model(self) -> bool:
        """Whether the model holds the chosen weights already: it has just traded for them."""
        swaps = self.policy is not None and self.policy.restart == "swap"
        return swaps and self._count.last_restart == int(self._count.n_steps)

    @contextmanager
    def applied(
        self,
        batches: Iterable[Any] | None = None,
        *,
        forward: Callable[[Any], object] | None = None,
    ) -> Iterator[None]:
        """Inside, the model has the averaged weights; afterwards its own, bit by bit.

        Args:
            batches: For batch-norm statistics, with the policy `batch_norm="refresh"`.
            forward: How such a batch goes through the model, where that is not obvious.

        Yields:
            Nothing.
        """
        if self.policy is None or self._is_applied:
            yield
            return
        if self.n_entered == 0:
            text = "The average has seen no update yet: the model keeps its own weights."
            _warn(Message("no-update", text), depth=2)
            yield
            return
        self._swap_in()
        try:
            self._refresh(batches, forward, depth=3)
            yield
        finally:
            self._swap_out()

    def _swap_in(self) -> None:
        if self.policy is not None and self.policy.batch_norm == "refresh":
            layers = [layer for _, layer in batch_norm.tracked(self._model)]
            self._kept = [(b, b.clone()) for layer in layers for b in layer.buffers()]
        if not self._is_in_model():
            self._reshard()
            self._shadow.trade()
        self._is_applied = True

    def _swap_out(self) -> None:
        if not self._is_applied:
            return
        if self._shadow.is_traded:
            self._reshard()
            self._shadow.trade()
        for statistic, before in self._kept:
            statistic.copy_(before)
        self._kept = []
        self._is_applied = False

    def _reshard(self) -> None:
        """Let FSDP2 gather weights anew: it may still hold those of the last forward pass."""
        if not self._shadow.is_cut:
            return
        for module in self._model.modules():
            # Asking for the class would load FSDP, for seconds, also where nothing is cut.
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
        wants = self.policy is not None and self.policy.batch_norm == "refresh"
        if not wants:
            if batches is not None:
                raise OptionError(
                    'Batches go with the policy batch_norm="refresh".', option="batch_norm"
                )
            return
        if batches is not None:
            batch_norm.refresh(self._model, batches, forward=forward)
        elif batch_norm.tracked(self._model):
            message = Message(
                "stale-batch-norm",
                "Batch-norm statistics are those of other weights: give batches to refresh them "
                'with, or set batch_norm="average" or "copy".',
            )
            _warn(message, depth=depth)

    def finish(
        self,
        batches: Iterable[Any] | None = None,
        *,
        forward: Callable[[Any], object] | None = None,
    ) -> None:
        """Leave the averaged weights in the model for good, and let go of the optimizer.

        Args:
            batches: For batch-norm statistics, with the policy `batch_norm="refresh"`.
            forward: How such a batch goes through the model, where that is not obvious.
        """
        if self.policy is not None and not self.is_attached:
            # It was finished or removed before: its average is of weights of long ago.
            return
        self._swap_out()
        try:
            if self.policy is not None and self.n_entered == 0:
                text = "The average has seen no update: the model keeps its own weights."
                _warn(Message("no-update", text))
            elif self.policy is not None:
                if not self._is_in_model():
                    self._take_average(self.policy)
                self._refresh(batches, forward)
        finally:
            self.remove()

    def _take_average(self, policy: Policy) -> None:
        if policy.restart != "assign" and self._shadow.equals_model():
            text = "The average equals the last weights: it has changed nothing."
            _warn(Message("same-weights", text), depth=2)
        self._reshard()
        self._shadow.assign()

    def chosen_weights(self) -> dict[str, Tensor]:
        """A copy of the weights that `finish` would leave in the model, by name."""
        if self._is_in_model():
            return self._shadow.weights_of_model()
        return self._shadow.averages()

    def leave_model_as_it_is(self) -> None:
        """Let go of the optimizer and keep what the model has now, also if that is the average."""
        self._is_applied = False
        self._kept = []
        self.remove()

    def remove(self) -> None:
        """Let go of the optimizer; the model has its own weights, and nothing is left behind."""
        self._swap_out()
        for handle in self._handles:
            handle.remove()
        self._handles = []

    # ------------------------------------------------------------------------------- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Every counter and both sets of weights; under FSDP2, all ranks must call it."""
        if self.policy is None:
            return {}
        return {
            "policy": repr(self.policy),
            "counters": self._count.plain(),
            "average": self._shadow.averages(),
            "raw": self._shadow.raw(),
            "snapshots": [self._shadow.gathered(one) for one in self._snapshots],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a checkpoint was saved.

        A checkpoint that was saved while the average was applied holds the model's own weights as
        well; they are put back into the model.

        Args:
            state: What `state_dict` gave.

        Raises:
            OptionError: It is of another average, or of another model.
        """
        if self.policy is None:
            return
        if state.get("policy") != repr(self.policy):
            raise OptionError(
                "The checkpoint is of the average {stored_policy}, and this one is "
                "{policy!r}. Load it into the same average.",
                stored_policy=state.get("policy"),
                policy=self.policy,
            )
        if set(state["average"]) != set(self._shadow.names):
            differ = set(state["average"]) ^ set(self._shadow.names)
            raise OptionError(
                "The checkpoint is of a model with other parameters.",
                parameters=tuple(sorted(differ)),
            )
        self._swap_out()
        self._count = Counters.from_plain(state["counters"])
        if self._shadow.device.type != "cpu":
            self._count = self._count.on(self._shadow.device)
        self._shadow.load(state["average"])
        self._snapshots = [self._shadow.parts(one) for one in state["snapshots"]]
        if state["raw"] is not None:
            self._reshard()
            self._shadow.load_model(state["raw"])

    def _save_with_optimizer(self, _: Optimizer, state: dict[str, Any]) -> None:
        state[STATE_KEY] = self.state_dict()

    def _load_with_optimizer(self, _: Optimizer, state: dict[str, Any]) -> None:
        if STATE_KEY in state:
            self.load_state_dict(state[STATE_KEY])
        else:
            text = "The optimizer's checkpoint holds no average: it begins anew."
            _warn(Message("no-saved-average", text))


def _bare(model: nn.Module) -> nn.Module:
    """The model without DDP and compile around it, so that a checkpoint fits with and without."""
    while True:
        if isinstance(model, DataParallel | DistributedDataParallel):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            return model


def _plain(name: str) -> str:
    """A name as if no part of the model were compiled."""
    return name.replace("_orig_mod.", "")


def _trained(model: nn.Module) -> dict[str, Tensor]:
    return {
        _plain(name): parameter
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and parameter.is_floating_point()
    }


def _tracked(model: nn.Module, policy: Policy) -> dict[str, Tensor]:
    """What is averaged: parameters that are trained, and statistics if the policy says so."""
    found = _trained(model)
    if found and policy.batch_norm == "average":
        statistics = batch_norm.statistics(model)
        found |= {_plain(name): statistic for name, statistic in statistics.items()}
    return found


def _warn(message: Message, *, depth: int = 1) -> None:
    """Warn at the line of the user, who is this deep above the caller."""
    warnings.warn(AverageWarning(message), stacklevel=depth + 2)
