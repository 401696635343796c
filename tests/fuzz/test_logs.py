"""Hostile logs of other tools: each is measured, or refused in one line, and never crashes.

`benchmarks/fuzz.py` draws thousands of the same inputs.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.log_inputs import TARGETS, Drawn
from support.log_process import Worker, end_of

Read = Callable[[Drawn], dict[str, Any]]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One process for all tests: it takes seconds to start."""
    process = Worker()
    yield process
    process.end()


@pytest.fixture
def read(worker, check_message) -> Read:
    """Reads an input; returns what it gives. Fails if a row is lost, or nothing names an error."""

    def call(drawn: Drawn) -> dict[str, Any]:
        answer = worker.read(drawn.target, drawn.columns, drawn.options)
        end, problem = end_of(drawn, answer)
        assert end in {"measured", "refused"}, f"{end}: {problem}"
        messages = answer.get("messages", [])
        for message in [*messages, *(x for part in answer["parts"] for x in part["messages"])]:
            check_message(message)
        return answer

    return call


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_logs(name, read, fresh, sized):
    """All rows of what is measured are in figures, or named."""

    @sized(ci=8, full=300)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        read(TARGETS[name](data.draw, fresh()))

    fuzz()


@pytest.mark.parametrize("line", ["null", " null", "[1]", "3"])
def test_table_with_a_line_that_is_not_an_object(line, read, fresh):
    """Arrow's parser ends the process at a block of lines whose first line is null."""
    file = fresh() / "rows.jsonl"
    row = '{"run": 1, "example": "a", "value": 1}\n'
    for n_before in (0, 1, 40_000):
        file.write_text(f"{row * n_before}\n{line}\n{row}")
        answer = read(Drawn(file))
        assert answer["codes"] == ["SP102"]
        assert all(f"{n_before + 2}" in message for message in answer["messages"])
