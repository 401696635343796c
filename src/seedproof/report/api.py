"""`sp.measure`: predictions in, a report out."""

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import numpy.typing as npt

from seedproof.errors import OptionError, SeedproofError, TooFewRunsError
from seedproof.measurement.measure import measure_shards
from seedproof.records.columns import Columns
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.records.targets import Target, open_target
from seedproof.report.report import Report
from seedproof.report.side_by_side import SideBySide
from seedproof.report.text import printable
from seedproof.typing import Progress

DEFAULT_MEMORY = "2GB"
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def measure(
    target: Target,
    *,
    labels: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    runs: Sequence[str] | None = None,
    columns: Columns | None = None,
    arm: str | None = None,
    split: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Report:
    """How much of the predictions the seed decided.

    Args:
        target: Predictions of at least two runs: an array of probabilities (runs, examples,
            classes) or of predicted classes (runs, examples); a dataframe of any library that
            speaks Arrow; a path or several (CSV, TSV, Parquet, JSONL, npz); a store.
        labels: Gold class of each example, with arrays.
        ids: Id of each example, with arrays.
        classes: Names of the classes, with arrays.
        runs: Names of the runs, with arrays.
        columns: Names of the columns, with tables.
        arm: Which arm of a store.
        split: Which split of a store.
        memory: What reading tables may use, such as "4GB"; larger ones are sorted on disk.
        progress: Called as the work goes on.

    Returns:
        A report.

    Raises:
        InputError: The predictions cannot be measured; the message says why and what to do.
    """
    if columns is not None and not isinstance(columns, Columns):
        raise OptionError(
            f"columns is a {type(columns).__name__}. Give sp.Columns(run=…, example=…, …)."
        )
    limit = parse_memory(memory)
    scratch = Path(mkdtemp(prefix="seedproof-"))
    try:
        with TemporaryDirectory(prefix="seedproof-") as working:
            source, notes = open_target(
                target,
                arrays={"labels": labels, "ids": ids, "classes": classes, "runs": runs},
                columns=columns or Columns(),
                choice={"arm": arm, "split": split},
                memory=limit,
                working=Path(working),
                progress=progress,
            )
            result = measure_shards(
                source, Location.of(scratch / "examples.parquet"), progress=progress, notes=notes
            )
    except BaseException as error:
        shutil.rmtree(scratch, ignore_errors=True)
        if isinstance(error, SeedproofError):
            # It quotes names of files and classes, which may hold line ends and control codes.
            error.args = (printable(str(error)),)
        raise
    return Report(result, scratch)


def measure_arms(
    store: str | os.PathLike[str] | Location,
    *,
    split: str | None = None,
    progress: Progress | None = None,
) -> SideBySide:
    """The reports of all arms of a store, side by side.

    Args:
        store: The folder or URL of a study's store.
        split: Which split; may be left out if there is only one.
        progress: Called as the work goes on.

    Returns:
        A report for each arm that has at least two finished runs.

    Raises:
        TooFewRunsError: No run is finished.
    """
    place = Location.of(store)
    arms = Store(place).arms()
    if not arms:
        raise TooFewRunsError(f"{place} has no finished run. Finish the study first.")
    n_runs = Counter(run.arm for run in Store(place).runs if run.status == "finished")
    enough = [arm for arm in arms if n_runs[arm] >= 2] or arms
    reports = {arm: measure(place, arm=arm, split=split, progress=progress) for arm in enough}
    return SideBySide(reports, left_out=[arm for arm in arms if arm not in enough])


def parse_memory(memory: str | int) -> int:
    """Bytes from text such as "500MB" or "4GB".

    Args:
        memory: A number of bytes, or text with a unit.

    Returns:
        Bytes.

    Raises:
        OptionError: It is neither, or less than 100 MB.
    """
    text = str(memory).strip().upper().replace("IB", "B")
    unit = text[-2:] if text[-2:] in _UNITS else ""
    try:
        size = int(float(text.removesuffix(unit)) * _UNITS.get(unit, 1))
    except (ValueError, OverflowError):
        size = 0
    if size < 100 * 10**6:
        raise OptionError(
            f"A memory of {memory!r} is not allowed. Give at least 100MB, such as 4GB."
        )
    return size
