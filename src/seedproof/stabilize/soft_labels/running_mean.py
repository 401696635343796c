"""The mean of probabilities that come one batch after the other, in memory or on disk."""

import os
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seedproof.errors import OptionError
from seedproof.stabilize.soft_labels.checks import as_probs, as_rows
from seedproof.stabilize.soft_labels.mapped_rows import MappedRows
from seedproof.typing import is_count


class RunningMean:
    """Mean of the probabilities of each example over as many updates as it had.

    Kept as sums in float64 and a count for each row, so that the mean is the sum of what was given,
    in that order, divided once. It takes 8 bytes for each example and class.

    With a path these are in a file, so that they need not fit into memory. Then `state_dict`
    copies the file to a snapshot beside it, of which the last two are kept, and `load_state_dict`
    takes the rows from the snapshot, whatever the file holds. So a training that is killed at any
    moment, be it in the middle of an update, and goes on from its last checkpoint gives the same
    bits as one that was not. Without a checkpoint, a file whose process was killed is refused.

    Args:
        n_examples: How many rows.
        n_classes: How many classes.
        path: A file for the rows, one for each training; memory without it.

    Raises:
        OptionError: There are too few examples or classes.
        UnreadableError: The file is something else, or has other rows.
    """

    def __init__(
        self, n_examples: int, n_classes: int, *, path: str | os.PathLike[str] | None = None
    ) -> None:
        for name, value, least in (("n_examples", n_examples, 1), ("n_classes", n_classes, 2)):
            if not is_count(value, least):
                raise OptionError(
                    "{option} is {number!r}. Give a whole number, {least} or more.",
                    option=name,
                    number=value,
                    least=least,
                )
        self.n_examples = n_examples
        self.n_classes = n_classes
        self._file: MappedRows | None = None
        self._sums: npt.NDArray[np.float64]
        self._counts: npt.NDArray[np.int64]
        if path is None:
            self._sums = np.zeros((n_examples, n_classes))
            self._counts = np.zeros(n_examples, dtype=np.int64)
        else:
            self._file = MappedRows(path, n_examples=n_examples, n_classes=n_classes)
            self._sums, self._counts = self._file.sums, self._file.counts

    def update(
        self,
        probs: Any,  # noqa: ANN401 - tensors, arrays, lists
        *,
        rows: Any = None,  # noqa: ANN401 - as above
    ) -> None:
        """Take in probabilities of some examples; nothing is taken in if one of them is refused.

        Args:
            probs: Probabilities, axes (examples, classes).
            rows: Which examples they are of, one that is there twice counts twice; all of them, in
                order, without it.

        Raises:
            OptionError: A row is of no example.
            ShapeError: There are not as many probabilities as rows and classes.
            ProbabilityError: A row of probabilities is no distribution.
            RunError: The file holds what an earlier training has left, or another process has it.
        """
        chosen = None if rows is None else as_rows(rows, n_examples=self.n_examples).numpy()
        n_given = self.n_examples if chosen is None else len(chosen)
        values = as_probs(probs, n_examples=n_given, n_classes=self.n_classes).numpy()
        with nullcontext() if self._file is None else self._file.changing():
            self._add(chosen, values)

    def _add(self, rows: npt.NDArray[np.int64] | None, values: npt.NDArray[np.float64]) -> None:
        if rows is None:
            self._sums += values
            self._counts += 1
        elif len(np.unique(rows)) == len(rows):
            self._sums[rows] += values
            self._counts[rows] += 1
        else:
            np.add.at(self._sums, rows, values)
            np.add.at(self._counts, rows, 1)

    def mean(self) -> Tensor:
        """Mean probabilities of all examples; NaN where an example never came.

        Returns:
            A float64 tensor of its own, axes (examples, classes).

        Raises:
            RunError: The file's process was killed while it changed it.
        """
        return self.rows(slice(None))

    def rows(self, rows: Any) -> Tensor:  # noqa: ANN401 - as above
        """Mean probabilities of some examples; NaN where an example never came.

        Args:
            rows: Which examples.

        Returns:
            A float64 tensor of its own, axes (examples, classes).

        Raises:
            OptionError: A row is of no example.
            RunError: The file's process was killed while it changed it.
        """
        chosen = rows
        if not isinstance(rows, slice):
            chosen = as_rows(rows, n_examples=self.n_examples).numpy()
        if self._file is not None:
            self._file.check_readable()
        with np.errstate(invalid="ignore"):  # 0/0 of those that never came
            return torch.from_numpy(self._sums[chosen] / self._counts[chosen, None])

    @property
    def counts(self) -> Tensor:
        """How often each example came, copied."""
        if self._file is not None:
            self._file.check_readable()
        return torch.from_numpy(np.array(self._counts))

    def clear(self) -> None:
        """Begin anew, whatever was there."""
        if self._file is not None:
            self._file.clear()
            return
        self._sums[:] = 0.0
        self._counts[:] = 0

    def flush(self) -> None:
        """Bring everything to disk, so that another process can read it; nothing in memory."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Flush, and let another process have the file; what is here can still be read."""
        if self._file is not None:
            self._file.close()

    # ------------------------------------------------------------------------------- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """All rows, copied; with a path, number and checksum of the snapshot that holds them."""
        state: dict[str, Any] = {"n_examples": self.n_examples, "n_classes": self.n_classes}
        if self._file is not None:
            number, checksum = self._file.snapshot()
            return state | {"snapshot": number, "checksum": checksum}
        return state | {
            "sums": torch.from_numpy(self._sums.copy()),
            "counts": torch.from_numpy(self._counts.copy()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was saved.

        Args:
            state: What `state_dict` gave.

        Raises:
            OptionError: It is of other examples or classes, or of memory instead of a file.
            NotFoundError: The snapshot does not exist any more: only the last two are kept.
            DamagedStoreError: The snapshot holds other bytes than the state was saved with.
        """
        shape = (state.get("n_examples"), state.get("n_classes"))
        if shape != (self.n_examples, self.n_classes):
            raise OptionError(
                "The state is of {n_stored} examples and {n_stored_classes} classes, and this mean "
                "has {n_examples} and {n_classes}. Load it into one of the same size.",
                n_stored=shape[0],
                n_stored_classes=shape[1],
                n_examples=self.n_examples,
                n_classes=self.n_classes,
            )
        if ("snapshot" in state) != (self._file is not None):
            places = ("in a file", "in memory")
            had, has = places if "snapshot" in state else places[::-1]
            raise OptionError(
                f"The state is of a mean {had}, and this one is {has}. "
                "Give a path to both or to none.",
                option="path",
                is_in_file=self._file is not None,
            )
        if self._file is not None:
            self._file.restore(state["snapshot"], state["checksum"])
            return
        self._sums[:] = state["sums"].numpy()
        self._counts[:] = state["counts"].numpy()
