"""Hostile manifests and summaries with valid digests: each is refused in one line, or harmless."""

import contextlib
import copy
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seedproof as sp
from seedproof.cli.main import main
from seedproof.measurement.load import load_saved
from seedproof.records.location import Location
from seedproof.records.manifest import sealed
from seedproof.training.resume import status_of

CANARY = "what is outside of the store"
VALUES = (
    None, True, 0, -1, 3, 10**9, 10**30, 0.5, -1.5, 1e300, "", "x", "\0", "\x1b[2J", "../../outside",
    "/etc/passwd", "a" * 10_000, [], [1], ["a"], [[1]], {}, {"a": 1}, {"a": {"b": [1]}}, [None],
    [[1, 2], [3]], ["a", "a"], "s3://x/y", "\u202eabc", "<script>", 2**63, -(2**63),
)  # fmt: skip

Place = tuple[Any, ...]


def train(run: sp.Run) -> None:
    """Predict 30 examples; one arm fails."""
    if run.arm == "broken":
        raise ValueError("\x1b[2J")
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], 30)
    moved = probs + run.rng("init").normal(0, 0.2, probs.shape) ** 2
    moved /= moved.sum(axis=1, keepdims=True)
    run.log_predictions("test", probs=moved, labels=probs.argmax(axis=1), classes=list("abc"))
    run.log_explanations(
        "test", "lime", ids=[0, 1], tokens=[["a", "b"], ["c"]], scores=[[1.0, moved[0, 0]], [0.5]]
    )
    run.log_scalar("loss", 1.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A store with three arms, a saved report of it, and a file outside of both."""
    folder = tmp_path_factory.mktemp("whole")
    study = sp.Study("s", train, seeds=5, arms=["none", "new", "broken"], store=folder / "store")
    study.run(engine="serial", progress=False)
    sp.measure(folder / "store", arm="none").save(folder / "saved")
    (folder / "outside").write_text(CANARY, encoding="utf-8")
    return folder


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the place of every value inside of a JSON value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value[:6])
    for key, inner in items:
        yield (*place, key)
        yield from places(inner, (*place, key))


def changed(content: Any, draw: st.DrawFn) -> Any:
    """Replace, drop or add one value."""
    content = copy.deepcopy(content)
    *outer, last = draw(st.sampled_from(list(places(content))))
    inside = content
    for key in outer:
        inside = inside[key]
    what = draw(st.sampled_from(["replace"] * 6 + ["drop", "add"]))
    if what == "replace":
        inside[last] = draw(st.sampled_from(VALUES))
    elif what == "drop":
        del inside[last]
    elif isinstance(inside, dict):
        inside[draw(st.sampled_from(["new", "name", "\x1b"]))] = draw(st.sampled_from(VALUES))
    else:
        inside.append(draw(st.sampled_from(VALUES)))
    return content


def rewrite(path: Path, draw: st.DrawFn) -> None:
    """Change one value of a file, and seal it again if it was."""
    content = json.loads(path.read_bytes())
    is_sealed = "digest" in content
    if is_sealed:
        for key in ("digest", "schema"):
            content.pop(key, None)
    content = changed(content, draw)
    as_before = sealed(content) if is_sealed else json.dumps(content).encode()
    path.write_bytes(as_before)


def verbs(folder: Path) -> dict[str, Callable[[], str]]:
    """Return everything that reads a store or a saved report."""
    store, saved = folder / "store", folder / "saved"
    return {
        "measure": lambda: str(sp.measure(store, arm="none")),
        "compare": lambda: str(sp.compare(store)),
        "gate": lambda: str(sp.gate(store, arm="none", max={"flip_rate": 0.5})),
        "status": lambda: str(status_of(Location.of(store))),
        "saved": lambda: str(sp.gate(saved, max={"flip_rate": 0.5})),
        "load": lambda: str(load_saved(Location.of(saved))),
    }


@pytest.fixture
def read(watched, check_message, opened_outside) -> Callable[[Path, str], str]:
    """Reads a folder with a verb, harmlessly; returns the text, or the code of the error."""

    def call(folder: Path, verb: str) -> str:
        with watched(), opened_outside(folder, allowed=[folder]) as outside:
            try:
                text = verbs(folder)[verb]()
            except sp.SeedproofError as error:
                check_message(str(error))
                text = error.code
        assert outside == []
        assert CANARY not in text
        return text

    return call


def test_hostile_manifests(whole, read, fresh, sized):
    files = sorted(path.relative_to(whole) for path in whole.rglob("*.json"))
    refused: set[str] = set()

    @sized(ci=40, full=2000)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        folder = fresh() / "copy"
        shutil.copytree(whole, folder)
        name = data.draw(st.sampled_from(files))
        rewrite(folder / name, data.draw)
        is_saved = name.parts[0] == "saved"
        readers = ["saved", "load"] if is_saved else ["measure", "compare", "gate", "status"]
        text = read(folder, data.draw(st.sampled_from(readers)))
        if text.startswith("SP"):
            refused.add(text)

    fuzz()
    assert refused


# ---------------------------------------------------------------------------------- arguments

WORDS = (
    "measure", "compare", "gate", "status", "run", "plan", "blame", "doctor", "ingest", "report",
    "decide", "versions", "--json", "--out", "--arm", "--split", "--baseline", "--max", "--metrics",
    "--cluster", "--slice", "--memory", "--engine", "--workers", "--seeds", "--arms", "--show",
    "--run", "--example", "--label", "--prediction", "--probs", "--wide", "--classes", "--help", "--",
    "store", "saved", "outside", "table.csv", "flip_rate=0.5", "flip_rate", "none", "-1", "0", "1e9",
    "999999999999999999999", "nan", "", " ", "\0", "\x1b[2J", "\x9b2J", "../..", "*", "[", "a,b",
    "\u202eabc", "é", "s3://", "hf://x", "{seed}", "%s", "-", "--=", "--out=", "=", "2GB", "serial",
)  # fmt: skip


@pytest.fixture
def command(watched, monkeypatch, capfd, no_control) -> Callable[[Path, list[str]], None]:
    """Calls the command line in a folder; no traceback, no control character."""

    def call(folder: Path, words: list[str]) -> None:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["seedproof", *words])
        with watched(), contextlib.suppress(SystemExit):
            main()
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err, words
        no_control(out + err)

    return call


def test_hostile_arguments(whole, command, fresh, sized):
    @sized(ci=60, full=1500)
    @given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7))
    def fuzz(words: list[str]) -> None:
        # Trainings are tested elsewhere: here they would be started by the thousand.
        words = [word.replace("\0", "\x01") for word in words if word not in {"run", "doctor"}]
        folder = fresh() / "copy"
        shutil.copytree(whole, folder)
        (folder / "table.csv").write_text("run,example,prediction\na,1,x\nb,1,y\n", "utf-8")
        command(folder, words)

    fuzz()
