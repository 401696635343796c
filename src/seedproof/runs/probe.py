"""One short training under observation: what it seeded, drew, changed and logged."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from seedproof.runs.logbook import as_array
from seedproof.runs.rng import SEEDING, UNSEEDED, capture, load_torch
from seedproof.runs.run import Run
from seedproof.runs.spec import RunSpec
from seedproof.runs.target import Target

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = str(Path(__file__).resolve().parents[1])
# Weights are compared at every one of the first steps, and then now and then.
DENSE_STEPS, SPARSE_STEPS = 20, 10
LEADING_ELEMENTS = 4096


class BudgetReachedError(BaseException):
    """Ends a training that has shown enough; no `except Exception` holds it up."""


@dataclass(frozen=True)
class SeedCall:
    """A call that seeds a global generator.

    Args:
        function: Such as "torch.manual_seed".
        value: The seed, as text.
        where: File and line of the user's code.
        is_late: Whether something had been drawn from that generator before.
    """

    function: str
    value: str
    where: str
    is_late: bool


@dataclass
class SplitSeen:
    """What was logged for one split, in the order in which it came."""

    ids: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    has_ids: bool = True

    def by_id(self, column: Sequence[Any]) -> dict[str, Any]:
        """One column by the ids of its examples."""
        return dict(zip(self.ids, column, strict=True))


@dataclass
class Observed:
    """What one training did.

    Args:
        splits: What it logged.
        weights: Digest of the weights at some steps; 0 is before the first.
        n_steps: Optimizer steps that it made.
        seed_calls: Calls that seeded a global generator.
        unseeded: Where a generator was made without a seed.
        workers: Where threads or processes were started.
        sources: Sources that it asked the run for.
        n_threads: Threads that torch used at the end; None without torch.
        files: Files in the folder of the code that it left behind or changed.
        is_cut: Whether the budget ended it.
    """

    splits: dict[str, SplitSeen] = field(default_factory=dict)
    weights: dict[int, str] = field(default_factory=dict)
    n_steps: int = 0
    seed_calls: list[SeedCall] = field(default_factory=list)
    unseeded: list[str] = field(default_factory=list)
    workers: list[str] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    n_threads: int | None = None
    files: list[str] = field(default_factory=list)
    is_cut: bool = False

    def predictions(self) -> dict[str, dict[str, bytes]]:
        """What was said of each example, by split and id."""
        return {split: seen.by_id(seen.values) for split, seen in self.splits.items()}


@dataclass(frozen=True)
class Probe:
    """Trains once under observation; frozen, so that it can travel to a fresh process.

    Args:
        target: What is trained.
        steps: Optimizer steps after which it is ended.
        seconds: Time after which it is ended.
    """

    target: Target
    steps: int | None = None
    seconds: float | None = None

    def __call__(self, spec: RunSpec) -> Observed:
        """What the training did under the seeds of a run."""
        seen = Observed()
        before = _files(self.target.root)
        with TemporaryDirectory(prefix="seedproof-") as scratch:
            run = _ProbedRun(spec, seen, Path(scratch))
            with warnings.catch_warnings(), run.active():
                warnings.simplefilter("ignore")
                with self._observed(seen), self._limited():
                    try:
                        self.target(run)
                    except BudgetReachedError:
                        seen.is_cut = True
                torch = load_torch()
                seen.n_threads = None if torch is None else torch.get_num_threads()
            run.check()
        after = _files(self.target.root)
        seen.files = sorted(name for name, stamp in after.items() if before.get(name) != stamp)
        return seen

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """End the training when its time is over, wherever it is."""
        if self.seconds is None or not hasattr(signal, "setitimer"):
            yield
            return

        def end(*_: object) -> None:
            raise BudgetReachedError

        before = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    @contextmanager
    def _observed(self, seen: Observed) -> Iterator[None]:
        """Watch generators, threads and optimizers, in this process and for this training only."""
        root = str(self.target.root.resolve())
        start = capture()
        with _Patches() as patches:
            for name, kind in SEEDING.items():
                patches.watch(name, _on_seed(seen, name, kind, start, root))
            for name in UNSEEDED:
                patches.watch(name, _on_unseeded(seen, root))
            for owner in (threading.Thread, BaseProcess):
                patches.watch_method(owner, "start", _on_worker(seen, root))
            with self._optimizers_observed(seen):
                yield

    @contextmanager
    def _optimizers_observed(self, seen: Observed) -> Iterator[None]:
        if load_torch() is None:
            yield
            return
        from torch.optim import optimizer as optimizers

        def before(optimizer: Any, *_: object) -> None:  # noqa: ANN401 - torch's
            if seen.n_steps == 0:
                seen.weights[0] = _weights_digest(optimizer)

        def after(optimizer: Any, *_: object) -> None:  # noqa: ANN401 - torch's
            seen.n_steps += 1
            if seen.n_steps <= DENSE_STEPS or seen.n_steps % SPARSE_STEPS == 0:
                seen.weights[seen.n_steps] = _weights_digest(optimizer)
            if self.steps is not None and seen.n_steps >= self.steps:
                raise BudgetReachedError

        handles = [
            optimizers.register_optimizer_step_pre_hook(before),
            optimizers.register_optimizer_step_post_hook(after),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


class _ProbedRun(Run):
    """A run that remembers what was logged, in the order in which it came."""

    def __init__(self, spec: RunSpec, seen: Observed, scratch: Path) -> None:
        super().__init__(spec)
        self._seen = seen
        self._scratch = scratch

    @property
    def checkpoint_dir(self) -> Path:
        """A fresh folder: a probe must not go on where another stopped."""
        return self._scratch

    def seeded(self, source: str) -> AbstractContextManager[None]:
        """Inside, global generators follow one source."""
        self._seen.sources.add(source)
        return super().seeded(source)

    def rng(self, source: str) -> np.random.Generator:
        """The numpy generator of one source."""
        self._seen.sources.add(source)
        return super().rng(source)

    def torch_generator(self, source: str, *, device: str = "cpu") -> Any:  # noqa: ANN401 - torch's
        """The torch generator of one source."""
        self._seen.sources.add(source)
        return super().torch_generator(source, device=device)

    def log_predictions(
        self,
        split: str,
        *,
        ids: npt.ArrayLike | None = None,
        probs: npt.ArrayLike | None = None,
        predictions: npt.ArrayLike | None = None,
        labels: npt.ArrayLike | None = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        """Keep what the model says of each example."""
        super().log_predictions(
            split, ids=ids, probs=probs, predictions=predictions, labels=labels, classes=classes
        )
        values = as_array(probs if predictions is None else predictions)
        kept = self._seen.splits.setdefault(split, SplitSeen(has_ids=ids is not None))
        first = len(kept.ids)
        names = range(first, first + len(values)) if ids is None else as_array(ids).tolist()
        kept.ids += map(str, names)
        gold = [""] * len(values) if labels is None else as_array(labels).tolist()
        kept.labels += map(str, gold)
        kept.values += [
            row.tobytes() if isinstance(row, np.ndarray) else str(row).encode() for row in values
        ]

    def check(self) -> None:
        """Raise what a real run would raise when it is committed."""
        self._log.write()


class _Patches(AbstractContextManager["_Patches"]):
    """Functions that are watched for a while."""

    def __init__(self) -> None:
        self._patches: list[Any] = []

    def watch(self, name: str, told: Callable[..., None]) -> None:
        """Tell of each call of a function, by its dotted name, before it is made."""
        owner, _, attribute = name.rpartition(".")
        if owner.split(".")[0] in sys.modules:
            self._replace(sys.modules[owner], attribute, told)

    def watch_method(self, owner: type, name: str, told: Callable[..., None]) -> None:
        """Tell of each call of a method, before it is made."""
        self._replace(owner, name, told)

    def _replace(self, owner: Any, name: str, told: Callable[..., None]) -> None:  # noqa: ANN401
        original = getattr(owner, name)

        def watched(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on as they are
            told(*args, **options)
            return original(*args, **options)

        one = patch.object(owner, name, watched)
        one.start()
        self._patches.append(one)

    def __exit__(self, *_: object) -> None:
        for one in reversed(self._patches):
            one.stop()


def _on_seed(
    seen: Observed, name: str, kind: str, start: dict[str, Any], root: str
) -> Callable[..., None]:
    def told(*args: Any, **options: Any) -> None:  # noqa: ANN401 - passed on as they are
        where = _user_line(root)
        if where is None:
            return
        value = next(iter((*args, *options.values())), None)
        if value is None:
            seen.unseeded.append(where)
            return
        is_late = _differs(capture()[kind], start[kind])
        seen.seed_calls.append(SeedCall(name, str(value), where, is_late))
        # From here on, the generator is where this call put it.
        start[kind] = None

    return told


def _differs(now: Any, before: Any) -> bool:  # noqa: ANN401 - the states of three libraries
    return before is not None and repr(_bare(now)) != repr(_bare(before))


def _bare(state: Any) -> Any:  # noqa: ANN401 - the states of three libraries
    if hasattr(state, "numpy"):
        state = state.numpy()
    if isinstance(state, np.ndarray):
        return state.tobytes()
    return [_bare(part) for part in state] if isinstance(state, tuple | list) else state


def _on_unseeded(seen: Observed, root: str) -> Callable[..., None]:
    def told(*args: Any, **options: Any) -> None:  # noqa: ANN401 - passed on as they are
        where = _user_line(root)
        if where is not None and all(value is None for value in (*args, *options.values())):
            seen.unseeded.append(where)

    return told


def _on_worker(seen: Observed, root: str) -> Callable[..., None]:
    def told(*_: object, **__: object) -> None:
        where = _user_line(root)
        if where is not None and where not in seen.workers:
            seen.workers.append(where)

    return told


def _user_line(root: str) -> str | None:
    """File and line of the user's code that led here; None if ours did."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - the way to look at callers
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(PACKAGE) and not path.endswith("probe.py"):
            return None
        if path.startswith(root) and "site-packages" not in path:
            return f"{os.path.relpath(path, root)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def _weights_digest(optimizer: Any) -> str:  # noqa: ANN401 - torch's
    """Digest of the leading weights of each tensor that an optimizer moves."""
    state = blake2b(digest_size=16)
    for group in optimizer.param_groups:
        for weights in group["params"]:
            flat = weights.detach().flatten()[:LEADING_ELEMENTS]
            state.update(flat.double().cpu().numpy().tobytes())
    return state.hexdigest()


def _files(root: Path) -> dict[str, tuple[float, int]]:
    """When each file beside the code was changed, and its size; not what is hidden or compiled."""
    found = {}
    for path in root.iterdir():
        if path.is_file() and not path.name.startswith("."):
            facts = path.stat()
            found[path.name] = (facts.st_mtime, facts.st_size)
    return found
