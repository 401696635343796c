"""Shared by all fuzzing: number of inputs, time limits, a clean temporary folder."""

import contextlib
import faulthandler
import gc
import io
import json
import os
import shutil
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import seedproof as sp
from seedproof.cli.main import main

# Limit of processor time per input: a busy machine is not a bug.
PATIENCE_SECONDS = 10.0
# After this time the process is ended with a traceback.
HANG_SECONDS = 60.0
IS_FULL = os.environ.get("SEEDPROOF_FULL") == "1"

Watch = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def sized() -> Callable[..., settings]:
    """Settings with the number of inputs: `ci`, or `full` with SEEDPROOF_FULL=1."""

    def choose(*, ci: int, full: int) -> settings:
        # Hostile input is large and slow to make by nature.
        slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
        return settings(max_examples=full if IS_FULL else ci, suppress_health_check=slow)

    return choose


@pytest.fixture(scope="session")
def terminal(request) -> int:
    """The real standard error, whatever pytest captures."""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        return os.dup(sys.__stderr__.fileno())


@pytest.fixture
def watched(terminal, tmp_path, monkeypatch) -> Watch:
    """A block that must end in time and leave no temporary file."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    @contextmanager
    def watch() -> Iterator[None]:
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True, file=terminal)
        began = time.process_time()
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
        assert time.process_time() - began < PATIENCE_SECONDS
        if any(scratch.iterdir()):
            # A report deletes its folder; with charts the garbage collector does.
            gc.collect()
        assert list(scratch.iterdir()) == []

    return watch


class _Opened:
    """Files that Python opens while a block is watched; audit hooks cannot be removed."""

    paths: list[str] | None = None

    @classmethod
    def hook(cls, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a file that is opened."""
        if cls.paths is not None and event == "open" and isinstance(arguments[0], str | bytes):
            cls.paths.append(os.fsdecode(arguments[0]))


sys.addaudithook(_Opened.hook)
# Where Python and the libraries read their own files.
OWN_FOLDERS = tuple(
    os.path.realpath(path)
    for path in (
        sys.prefix,
        sys.base_prefix,
        Path(sp.__file__).parent,
        "/usr",
        "/proc",
        "/dev",
        "/sys",
    )
)


@pytest.fixture
def opened_outside(tmp_path) -> Callable[..., AbstractContextManager[list[str]]]:
    """A block that collects the files opened outside of the allowed folders."""

    @contextmanager
    def watch(folder: Path, *, allowed: list[Path]) -> Iterator[list[str]]:
        inside = (*OWN_FOLDERS, *(os.path.realpath(path) for path in allowed))
        inside = (*inside, os.path.realpath(tmp_path / "scratch"))
        outside: list[str] = []
        _Opened.paths = []
        try:
            yield outside
        finally:
            opened, _Opened.paths = _Opened.paths, None
            outside += [
                path
                for path in opened
                if not os.path.realpath(path).startswith(inside)
                or os.path.realpath(path) == os.path.realpath(folder / "outside")
            ]

    return watch


@pytest.fixture(scope="session")
def no_control() -> Callable[[str], None]:
    """Accepts text without control characters other than ends of lines and tabs."""

    def check(text: str) -> None:
        signs = {sign for sign in text if unicodedata.category(sign) in {"Cc", "Cs"}} - {"\n", "\t"}
        assert not signs, ascii(signs)
        assert not set(text) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

    return check


@pytest.fixture
def outcome(watched, check_message) -> Callable[..., dict[str, Any] | str]:
    """Measures an input; returns the summary, or the code of the error."""

    def call(target: Any, **options: Any) -> dict[str, Any] | str:
        with watched():
            try:
                report = sp.measure(target, **options)
            except sp.SeedproofError as error:
                check_message(str(error))
                return error.code
            summary = json.loads(report.to_json())
            n_rows = len(report.examples)
            del report
        check_summary(summary)
        assert n_rows == summary["n_examples"]
        return summary

    return call


@pytest.fixture
def cli_outcome(watched, check_message, monkeypatch) -> Callable[..., dict[str, Any] | str]:
    """The same through the command line, called in this process."""

    def call(*arguments: object) -> dict[str, Any] | str:
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "argv", ["seedproof", "measure", "--json", *map(str, arguments)])
        with watched(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as left:
                exit_code = left.code or 0
        if exit_code:
            head, _, message = err.getvalue().partition(": ")
            code = head.removeprefix("error ")
            check_message(message.removesuffix("\n"))
            document = json.loads(out.getvalue())
            assert (exit_code, document["exit_code"], document["error"]["code"]) == (2, 2, code)
            check_message(document["error"]["message"])
            return code
        assert err.getvalue() == ""
        summary = json.loads(out.getvalue())
        check_summary(summary)
        return summary

    return call


@pytest.fixture(scope="session")
def check_message() -> Callable[[str], None]:
    """Accepts one line of text that a terminal can show as it is."""

    def check(message: str) -> None:
        assert message.strip()
        assert len(message.splitlines()) == 1, message
        # Cc are control characters, Cs halves of surrogate pairs, which nothing can print.
        assert not {"Cc", "Cs"} & {unicodedata.category(sign) for sign in message}, ascii(message)

    return check


def check_summary(summary: dict[str, Any]) -> None:
    """Accepts figures that are possible: rates within 0 and 1, values inside their intervals."""
    assert summary["n_runs"] == len(set(summary["runs"])) >= 2
    assert summary["n_classes"] == len(set(summary["classes"])) >= 1
    assert 0 <= summary["n_labeled"] <= summary["n_examples"]
    assert summary["n_examples"] >= 1
    for name in ("flip_rate", "ambiguity", "accuracy", "discrepancy", "net_flip_rate"):
        if name in summary["metrics"]:
            assert 0.0 <= summary["metrics"][name]["value"] <= 1.0, name
    for name, value in summary["metrics"].items():
        if value["low"] is not None:
            assert value["low"] <= value["value"] <= value["high"], name
    assert ("accuracy" in summary["metrics"]) == (summary["n_labeled"] > 0)


@pytest.fixture
def fresh(tmp_path) -> Callable[[], Path]:
    """Gives the same folder again and again, empty each time."""
    folder = tmp_path / "input"

    def empty() -> Path:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    return empty
