"""Logs of Inspect with few samples, as dictionaries to change and write."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[..., Path]


def inspect_log(n_examples: int = 4, n_epochs: int = 3, **header: Any) -> dict[str, Any]:
    """Return a complete log; every sample of an odd example is right."""
    rows = [
        {
            "id": f"q{example}",
            "epoch": epoch,
            "scores": {"match": {"value": "C" if (example + epoch) % 2 else "I"}},
        }
        for epoch in range(1, n_epochs + 1)
        for example in range(n_examples)
    ]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "e",
            "task_id": "t",
            "created": "2026-11-16T10:00:00+00:00",
            "task": "quiz",
            "model": "m",
            "dataset": {"sample_ids": [f"q{example}" for example in range(n_examples)]},
            "config": {"epochs": n_epochs},
        },
        "samples": rows,
        **header,
    }


@pytest.fixture
def write(tmp_path) -> Write:
    """Writes a log of Inspect; returns the folder."""

    def call(log: dict[str, Any], name: str = "log.json") -> Path:
        (tmp_path / name).write_text(json.dumps(log))
        return tmp_path

    return call
