"""Hydra: a callback that measures a sweep as soon as its last job is done."""

import logging
from pathlib import Path
from typing import Any

from seedproof.api.measure import measure_arms
from seedproof.errors import SeedproofError

logger = logging.getLogger(__name__)


class MeasureSweep:
    """Measure the tables that the jobs of a sweep wrote, and save the report in its folder.

    Name it in the configuration, under `hydra.callbacks`:

        hydra:
          callbacks:
            seedproof:
              _target_: seedproof.integrations.hydra.MeasureSweep

    Jobs that differ in their seeds only are runs of one arm. Hydra calls no callback at the end of
    a sweep in which a job failed: then run `seedproof measure` on the folder of the sweep, which
    gives the same figures and lists the jobs without a table.

    Args:
        out: Folder of the report, inside that of the sweep.
    """

    def __init__(self, out: str = "seedproof") -> None:
        self._out = out

    def on_multirun_end(self, config: Any, **_: Any) -> None:  # noqa: ANN401 - Hydra's
        """Measure the sweep; Hydra calls this."""
        folder = Path(config.hydra.sweep.dir)
        try:
            reports = measure_arms(folder)
        except SeedproofError as error:
            # An error in a callback must not hide that the jobs are done.
            logger.error("seedproof cannot measure %s: %s", folder, error)  # noqa: TRY400 - no traceback
            return
        only = next(iter(reports.values()))
        result = only if len(reports) == 1 else reports
        result.save(folder / self._out)
        logger.info("%s\nThe report is in %s.", result.text(), folder / self._out)
