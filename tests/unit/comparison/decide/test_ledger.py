"""The ledger: levels are given once, decisions stand, and writers take turns."""

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.comparison.decide.ledger import Ledger, Settings, answers_of, digest_of
from seedproof.errors import OptionError, StoreError
from seedproof.testing.errors import WithFields

SETTINGS = Settings("accuracy", 20, 0.1, 0.0)
FACTS = {"reason": "futile"}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "loop" / "decisions.jsonl", SETTINGS)


def events(ledger):
    return [json.loads(line)["event"] for line in ledger.path.read_text().splitlines()]


def begin_several(path, first):
    ledger = Ledger(Path(path), SETTINGS)
    return [ledger.begin(f"c{index}", "").position for index in range(first, first + 20)]


def test_candidate_gets_one_level_however_often_it_begins(ledger):
    entries = [ledger.begin("a", "idea") for _ in range(3)]

    assert entries[0] == entries[1] == entries[2]
    assert events(ledger) == ["loop", "begin"]


def test_later_candidate_gets_a_lower_level_until_one_is_kept(ledger):
    first, second = ledger.begin("a", ""), ledger.begin("b", "")
    ledger.decide("b", "keep", 10, FACTS)
    third = ledger.begin("c", "")

    assert first.level > second.level
    assert third.level > second.level


def test_first_decision_stands(ledger):
    ledger.begin("a", "")
    ledger.decide("a", "discard", 5, FACTS)

    entry = ledger.decide("a", "keep", 20, FACTS)

    assert (entry.answer, entry.n_runs) == ("discard", 5)
    assert ledger.read().entries["a"] == entry
    assert events(ledger) == ["loop", "begin", "discard"]


@pytest.mark.parametrize(
    ("option", "other"),
    [
        ("metric", Settings("nll", 20, 0.1, 0.0)),
        ("max_runs", Settings("accuracy", 40, 0.1, 0.0)),
        ("false_keeps", Settings("accuracy", 20, 0.2, 0.0)),
        ("lower_is_better", Settings("accuracy", 20, 0.1, 0.0, lower_is_better=True)),
    ],
)
def test_loop_keeps_the_settings_that_it_began_with(option, other, ledger):
    ledger.begin("a", "")

    with pytest.raises(OptionError, check=WithFields(option=option)):
        Ledger(ledger.path, other).read()


def test_line_that_a_crash_left_unfinished_is_replaced(ledger):
    ledger.begin("a", "")
    with ledger.path.open("ab") as file:
        file.write(b'{"event": "keep", "candi')

    assert list(ledger.read().entries) == ["a"]
    ledger.begin("b", "")
    assert events(ledger) == ["loop", "begin", "begin"]


@pytest.mark.parametrize(
    "line", ["not json", "[]", '{"event": "sell", "candidate": "a"}', '{"event": "keep"}']
)
def test_damaged_line_is_an_error_with_its_number(line, ledger):
    ledger.begin("a", "")
    with ledger.path.open("a") as file:
        file.write(f"{line}\n")

    with pytest.raises(StoreError, check=WithFields(line=3)):
        ledger.read()


def test_processes_that_write_at_once_lose_nothing(ledger):
    with ProcessPoolExecutor(4) as pool:
        positions = list(pool.map(begin_several, [ledger.path] * 4, [0, 20, 40, 60]))

    assert sorted(position for several in positions for position in several) == list(range(1, 81))
    assert len(ledger.read().entries) == 80
    assert events(ledger).count("loop") == 1


def test_folder_in_place_of_the_ledger_is_an_error(tmp_path):
    with pytest.raises(StoreError):
        Ledger(tmp_path, SETTINGS).begin("a", "")


@pytest.mark.parametrize("dtype", [int, float])
def test_digest_stays_when_runs_are_added_and_differs_for_other_runs(dtype):
    answers = np.random.default_rng(0).integers(0, 2, (5, 100)).astype(dtype)

    few, many, other = (
        digest_of(answers_of(sp.Predictions.load(x).first(2)))
        for x in (answers[:2], answers, answers[1:])
    )

    assert few == many
    assert few != other


def test_a_ledger_before_its_first_line_is_empty(ledger):
    loop = ledger.read()

    assert (loop.entries, loop.keeps) == ({}, [])


def test_a_newer_format_is_refused(ledger):
    ledger.begin("a", "")
    first, rest = ledger.path.read_text().split("\n", 1)
    ledger.path.write_text(json.dumps(json.loads(first) | {"format": 2}) + "\n" + rest)

    with pytest.raises(StoreError, check=WithFields(line=1, field="format")):
        ledger.read()
