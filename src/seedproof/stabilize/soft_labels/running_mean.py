"""Running mean of probabilities, in memory or on disk."""

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
from seedproof.typing import check_count


class RunningMean:
    """Mean probabilities of each example over its updates.

    Stored as float64 sums and a count per row, so the mean is the sum of the updates in their
    order, divided once. It takes 8 bytes per example and class.

    With a path they are stored in a file and need not fit into memory. `state_dict` then copies
    the file to a snapshot next to it (the last two are kept), and `load_state_dict` restores the
    snapshot. Training that is killed at any moment, even during an update, and resumed from its
    last checkpoint gives the same bits as uninterrupted training. A file whose process was killed
    is refused until a checkpoint is loaded.

    Args:
        n_examples: Number of rows.
        n_classes: Number of classes.
        path: A file for the rows, one per training. If omitted, they are kept in memory.

    Raises:
        OptionError: There are too few examples or classes.
        UnreadableError: The file is not that of a running mean, or has another size.
    """

    def __init__(
        self, n_examples: int, n_classes: int, *, path: str | os.PathLike[str] | None = None
    ) -> None:
        check_count("n_examples", n_examples, 1)
        check_count("n_classes", n_classes, 2)
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
        """Add probabilities of some examples: all of them, or none if one of them is refused.

        Args:
            probs: Probabilities, axes (examples, classes).
            rows: Positions of the examples; repeated ones count repeatedly. If omitted, all
                examples in order.

        Raises:
            OptionError: A row does not exist.
            ShapeError: The probabilities do not match rows and classes.
            ProbabilityError: A row of probabilities is not a distribution.
            RunError: The file contains data of an earlier training, or another process uses it.
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
        """Return the mean probabilities of all examples; NaN for those without updates.

        Returns:
            A float64 copy, axes (examples, classes).

        Raises:
            RunError: A process was killed while it changed the file.
        """
        return self.rows(slice(None))

    def rows(self, rows: Any) -> Tensor:  # noqa: ANN401 - as above
        """Return the mean probabilities of some examples; NaN for those without updates.

        Args:
            rows: Positions of the examples.

        Returns:
            A float64 copy, axes (examples, classes).

        Raises:
            OptionError: A row does not exist.
            RunError: A process was killed while it changed the file.
        """
        chosen = rows
        if not isinstance(rows, slice):
            chosen = as_rows(rows, n_examples=self.n_examples).numpy()
        if self._file is not None:
            self._file.check_readable()
        with np.errstate(invalid="ignore"):  # 0/0 for examples without updates
            return torch.from_numpy(self._sums[chosen] / self._counts[chosen, None])

    @property
    def counts(self) -> Tensor:
        """Number of updates per example, as a copy."""
        if self._file is not None:
            self._file.check_readable()
        return torch.from_numpy(np.array(self._counts))

    def clear(self) -> None:
        """Reset all rows."""
        if self._file is not None:
            self._file.clear()
            return
        self._sums[:] = 0.0
        self._counts[:] = 0

    def flush(self) -> None:
        """Write the file to disk, so that other processes can read it; does nothing in memory."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Flush and unlock the file; it can still be read."""
        if self._file is not None:
            self._file.close()

    # ------------------------------------------------------------------------------- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of all rows, or with a path the number and checksum of a snapshot."""
        state: dict[str, Any] = {"n_examples": self.n_examples, "n_classes": self.n_classes}
        if self._file is not None:
            number, checksum = self._file.snapshot()
            return state | {"snapshot": number, "checksum": checksum}
        return state | {
            "sums": torch.from_numpy(self._sums.copy()),
            "counts": torch.from_numpy(self._counts.copy()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved state.

        Args:
            state: A result of `state_dict`.

        Raises:
            OptionError: The size differs, or only one of the two has a file.
            NotFoundError: The snapshot no longer exists: only the last two are kept.
            DamagedStoreError: The snapshot has changed since the state was saved.
        """
        shape = (state.get("n_examples"), state.get("n_classes"))
        if shape != (self.n_examples, self.n_classes):
            raise OptionError(
                "The state has {n_stored} examples and {n_stored_classes} classes, but this mean "
                "has {n_examples} and {n_classes}. Load it into a mean of the same size.",
                n_stored=shape[0],
                n_stored_classes=shape[1],
                n_examples=self.n_examples,
                n_classes=self.n_classes,
            )
        if ("snapshot" in state) != (self._file is not None):
            places = ("a file", "memory")
            saved, own = places if "snapshot" in state else places[::-1]
            raise OptionError(
                f"The state was saved from {saved}, but this mean is in {own}. "
                "Give a path to both or to neither.",
                option="path",
                is_in_file=self._file is not None,
            )
        if self._file is not None:
            self._file.restore(state["snapshot"], state["checksum"])
            return
        self._sums[:] = state["sums"].numpy()
        self._counts[:] = state["counts"].numpy()
