"""Reads hostile logs in a process of its own, and says how each of them ended.

With `faulthandler`, a segmentation fault or a hang is an outcome with the stack of that process,
and the next input gets a new process.
"""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.log_inputs import Drawn

WORKER = Path(__file__).with_name("log_worker.py")
PATIENCE_SECONDS = 60.0
# Ways in which an input can end; the first two are what is promised.
ENDS = ("measured", "refused", "traceback", "crash", "hang", "silent loss")


class Worker:
    """A process that reads logs; a new one if it crashed or hung."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def read(
        self, target: Path | str, columns: Mapping[str, str], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the answer to one request."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        process = self._process
        request = {"target": str(target), "columns": dict(columns), "options": dict(options)}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            has_answer = bool(selector.select(PATIENCE_SECONDS))
        line = process.stdout.readline() if has_answer else ""
        if not line:  # the end of its output comes before that of the process
            code = f"exit code {process.wait(PATIENCE_SECONDS)}" if has_answer else ""
            self.end()
            return {"crash": code or "no answer in time"}
        return json.loads(line)

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


def end_of(drawn: Drawn, answer: Mapping[str, Any]) -> tuple[str, str]:
    """Return how an input ended, and what is wrong with it."""
    if "crash" in answer:
        return "hang" if "time" in answer["crash"] else "crash", answer["crash"]
    if "traceback" in answer:
        return "traceback", answer["traceback"]
    if drawn.oracle is not None and (lost := drawn.oracle(answer)):
        return "silent loss", lost
    is_read = any(part["code"] is None for part in answer["parts"])
    return "measured" if is_read else "refused", ""
