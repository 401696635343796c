"""`sp.Run`: what a training function gets, its seeds and a log for its results."""

import getpass
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import DtypeError
from seedproof.messages import Message
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.schema import digest
from seedproof.seeds import SeedPlan, Streams
from seedproof.seeds.streams import GLOBAL, NUMPY, TORCH
from seedproof.training.logbook import Logbook
from seedproof.training.rng import GlobalStream, repeatable, torch_generator
from seedproof.training.spec import RunSpec, StudySpec
from seedproof.training.threads import limited_to

if TYPE_CHECKING:
    from seedproof.training.dynamics import Dynamics


class Run:
    """One training under one assignment of seeds.

    A training function gets it as its argument, a script calls `sp.current_run()`.

    Args:
        spec: What decides the run's outcome.
        folder: Where to write records; None if they are checked and dropped.
        checks_at_once: Check each batch when it is logged, not when the run is committed.
        code: Digest of the code that trains it; checkpoints of different code are not found.
        arguments: Arguments of the study, which `spec` has without secrets. If omitted, those.

    Examples:
        >>> import seedproof as sp
        >>> def train(run: sp.Run) -> None:
        ...     answers = run.rng("init").integers(0, 2, 100)
        ...     run.log_predictions("test", predictions=answers, labels=[0] * 100)
        >>> study = sp.Study("coin", train, seeds=3, store="coins")
        >>> _ = study.run(engine="serial")
        >>> study.measure()["flip_rate"].value > 0.3
        True
    """

    def __init__(
        self,
        spec: RunSpec,
        folder: Location | None = None,
        *,
        checks_at_once: bool = False,
        code: str = "",
        arguments: Sequence[str] | None = None,
    ) -> None:
        self._arguments = spec.arguments if arguments is None else tuple(arguments)
        self._code = code[:8] or "any"
        self.spec = spec
        self.folder = folder
        self._streams = Streams(spec.seeds)
        self._generators: dict[tuple[str, str], Any] = {}
        self._globals: dict[str, GlobalStream] = {}
        self._log = Logbook(spec.name, folder, checks_at_once=checks_at_once)

    @property
    def name(self) -> str:
        """Short name of the run, such as "3"."""
        return self.spec.name

    @property
    def arm(self) -> str:
        """Arm of the run, such as "none" or "aswa"."""
        return self.spec.arm

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments after `--` on the command line, or `arguments` of the study."""
        return self._arguments

    @property
    def seeds(self) -> Mapping[str, int]:
        """Seed of each source, 32 bits."""
        return self.spec.seeds

    @property
    def seed(self) -> int:
        """One seed for all sources together, for libraries that take only one."""
        return self._streams.seed

    @contextmanager
    def active(self) -> Iterator[None]:
        """Seed everything by the run, and make it the current run.

        Global generators follow a stream that depends on every source, for code that does not
        separate them. Afterwards they and the number of threads are restored. Engines do this
        around your function; you need it only with `Study.ask`.

        Yields:
            Nothing.
        """
        global _current  # noqa: PLW0603 - a script has no other way to get its run
        with ExitStack() as stack:
            stack.enter_context(limited_to(self.spec.threads))
            if self.spec.deterministic:
                stack.enter_context(repeatable())
            stack.enter_context(GlobalStream(self._streams.everything()).followed())
            before, _current = _current, self
            try:
                yield
            finally:
                _current = before

    def seeded(self, source: str) -> AbstractContextManager[None]:
        """Let the global generators of python, numpy and torch follow one source.

        Afterwards they are restored, also after an exception. The next call continues the stream.

        Args:
            source: `init`, `order`, `dropout`, `data` or `explainer`.

        Returns:
            A context manager.
        """
        if source not in self._globals:
            self._globals[source] = GlobalStream(self._streams.sequence(source, GLOBAL))
        return self._globals[source].followed()

    def rng(self, source: str) -> np.random.Generator:
        """Return the numpy generator of one source, the same object each time.

        Args:
            source: `init`, `order`, `dropout`, `data` or `explainer`.

        Returns:
            A generator.
        """
        key = (source, "numpy")
        if key not in self._generators:
            sequence = self._streams.sequence(source, NUMPY)
            self._generators[key] = np.random.default_rng(sequence)
        generator: np.random.Generator = self._generators[key]
        return generator

    def torch_generator(self, source: str, *, device: str = "cpu") -> Any:  # noqa: ANN401 - torch's
        """Return the torch generator of one source, the same object each time.

        Args:
            source: `init`, `order`, `dropout`, `data` or `explainer`.
            device: Device of the generator.

        Returns:
            A `torch.Generator`.
        """
        key = (source, device)
        if key not in self._generators:
            sequence = self._streams.sequence(source, TORCH)
            self._generators[key] = torch_generator(sequence, device)
        return self._generators[key]

    def log_predictions(
        self,
        split: str,
        *,
        ids: npt.ArrayLike | None = None,
        probs: npt.ArrayLike | None = None,
        predictions: npt.ArrayLike | None = None,
        top_classes: npt.ArrayLike | None = None,
        top_probs: npt.ArrayLike | None = None,
        labels: npt.ArrayLike | None = None,
        classes: Sequence[str] | None = None,
        values: npt.ArrayLike | None = None,
        targets: npt.ArrayLike | None = None,
        rankings: Any = None,  # noqa: ANN401 - arrays, or lists of different lengths
        relevant: Any = None,  # noqa: ANN401 - same
        sets: Any = None,  # noqa: ANN401 - same
        texts: Any = None,  # noqa: ANN401 - texts, and None among them
        references: Any = None,  # noqa: ANN401 - texts, or lists of different lengths
        equivalent: Any = None,  # noqa: ANN401 - as texts
    ) -> None:
        """Log the predictions for some examples, in batches or all at once.

        Up to 256 MB per split, batches may come in any order; beyond that, ids must ascend.

        Args:
            split: Name of the data, such as "test".
            ids: Id of each example, the same in every run. If omitted, its position.
            probs: Probabilities, axes (examples, classes); arrays, or tensors of torch. Half
                precision takes half of the disk, with an error of at most 0.05 % of the value, or
                3e-8 for values below 6e-5.
            predictions: Predicted classes, if there are no probabilities.
            top_classes: Indices of the most probable classes, axes (examples, top), if there are
                too many to log all. Name all classes in `classes`.
            top_probs: Their probabilities, axes (examples, top).
            labels: Gold class of each example. Of sets: right labels in their form.
            classes: Names of the classes. If omitted, their indices.
            values: Numbers in place of classes, such as the predictions of a regression, one per
                example. They are kept in single precision if that changes none, else in double.
            targets: Right number of each example; None or NaN where unknown.
            rankings: Ranked lists in place of classes: a list of items per example, the best first,
                or an array (examples, places) with -1 or "" after the end of a list.
            relevant: Right items of each example: a list, or grades by item; None where unknown.
            sets: Sets of labels in place of classes: a list of labels per example, or flags with
                the axes (examples, labels), whose names are `classes`.
            texts: Free texts in place of classes, one per example, kept as they are; None where
                there is none.
            references: Right texts of each example: one, or a list of them; None where unknown.
            equivalent: Name of the meaning of each text: texts with the same name are the same
                answer. If omitted, equal texts are.
        """
        self._log.add_predictions(
            split,
            ids=ids,
            probs=probs,
            predictions=predictions,
            top_classes=top_classes,
            top_probs=top_probs,
            labels=labels,
            classes=classes,
            values=values,
            targets=targets,
            rankings=rankings,
            relevant=relevant,
            sets=sets,
            texts=texts,
            references=references,
            equivalent=equivalent,
        )

    def log_explanations(
        self,
        split: str,
        method: str,
        *,
        ids: npt.ArrayLike,
        tokens: Sequence[Sequence[str]],
        scores: Sequence[npt.ArrayLike],
        draw: int = 0,
    ) -> None:
        """Log explanations: a score for each token of each example.

        Args:
            split: Name of the data, such as "test".
            method: Name of the explanation, such as "attention".
            ids: Id of each example, the same in every run.
            tokens: List of tokens per example.
            scores: One score per token.
            draw: Index of the repeat, if the explainer itself samples.

        Raises:
            DtypeError: A text is not split into tokens.
        """
        for place, words in enumerate([tokens] if isinstance(tokens, str) else tokens):
            if isinstance(words, str):
                position = None if isinstance(tokens, str) else place
                where = "`tokens`" if position is None else "`tokens[{position}]`"
                raise DtypeError(
                    f"{where} is a string, not a list of tokens. Pass a list of words per example, "
                    "such as text.split(), with one score per word.",
                    position=position,
                )
        self._log.add_explanations(split, method, ids=ids, tokens=tokens, scores=scores, draw=draw)

    def log_dynamics(self, split: str, dynamics: "Dynamics") -> None:
        """Log what the model predicted for each example during the training.

        Args:
            split: Name of the data, such as "dev".
            dynamics: The recorder, after the training; later updates are not logged.
        """
        self._log.add_dynamics(split, dynamics.record())

    def log_scalar(self, name: str, value: float) -> None:
        """Log a number, such as a loss; a later value of the same name replaces it.

        Args:
            name: Name of the scalar.
            value: The number; may be a tensor or array with one element.
        """
        self._log.add_scalar(name, value)

    @property
    def scalars(self) -> Mapping[str, float]:
        """Scalars that were logged so far."""
        return self._log.scalars

    @property
    def checkpoint_dir(self) -> Path:
        """Folder for checkpoints, which is kept when the run crashes and is retried.

        It is in the store if that is local, otherwise in a temporary folder. Different code gets
        a different folder: it must not continue from weights that it would not have produced.
        """
        if self.folder is not None and self.folder.is_local:
            (self.folder / "checkpoints").check_links()
            folder = Path(self.folder.path) / "checkpoints"
        else:
            owner = f"{getpass.getuser()} {self.folder} {self.spec.run_id}"
            folder = Path(gettempdir()) / "seedproof-checkpoints" / digest(owner.encode())
        folder /= self._code
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def is_empty(self) -> bool:
        """True if nothing has been logged."""
        return self._log.is_empty

    def commit(self, facts: Mapping[str, Any]) -> RunManifest:
        """Write all records, then `run.json`, which makes the run finished.

        Args:
            facts: Versions, hardware, timings, digests of the code.

        Returns:
            The content of `run.json`.
        """
        manifest = RunManifest(
            run_id=self.spec.run_id,
            name=self.spec.name,
            parts=self._log.write(),
            arm=self.spec.arm,
            seeds=dict(self.spec.seeds),
            facts=dict(facts),
            scalars=dict(self._log.scalars),
        )
        if self.folder is not None:
            manifest.commit(self.folder)
        return manifest


class RunWarning(UserWarning):
    """Warning that logged data are lost; its only argument is a `Message`."""


_current: Run | None = None


def current_run() -> Run:
    """Return the run that this program trains.

    Outside of `seedproof run`, return the first run of a plan, whose records are checked and
    dropped, so that the program still works.

    Returns:
        The run.

    Examples:
        >>> import seedproof as sp
        >>> def train(run: sp.Run) -> None:
        ...     assert sp.current_run() is run
        ...     run.log_predictions("test", predictions=[0, 1])
        >>> sp.Study("current", train, seeds=2, store="current").run(
        ...     engine="serial"
        ... ).is_done
        True
    """
    global _current  # noqa: PLW0603 - the same run each time
    if _current is None:
        message = Message(
            "no-run",
            "This program was not started with `seedproof run`: its logs are checked, but not "
            "stored.",
        )
        warnings.warn(RunWarning(message), stacklevel=2)
        alone = StudySpec("alone", "alone", SeedPlan.all(1))
        _current = Run(alone.runs()[0], checks_at_once=True)
    return _current
