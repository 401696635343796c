"""A pytest plugin for tests that pass only most of the time.

`@pytest.mark.trials(8, min_pass_rate=0.8)` runs a test eight times and judges its pass rate by an
interval: passed, failed, or undecided. Trials add up over test runs of the same code.

pytest loads this module at every start, so the rest of seedproof is imported only if a test has the
mark. Each trial is a test of its own, so that xdist distributes trials and JUnit files list them; a
further report per test has the verdict.
"""

import hashlib
import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from seedproof.integrations.trial_records import NewTrials, Pooled
    from seedproof.integrations.trial_verdicts import TestVerdict

MARK = "trials"
# Parameter of each trial; not the fixture, which a test need not name.
PARAMETER = "_seedproof_trial"
FAIL_ON = ("undecided", "worse")
USAGE = "@pytest.mark.trials(8, min_pass_rate=0.8)"


class Trial:
    """One of several executions of a test.

    Args:
        test: The test, without the number of the trial.
        number: Number of the trial in this test run, from 0.
        seed: A seed that no other trial has, also in other test runs.
    """

    def __init__(self, test: str, number: int, seed: int) -> None:
        self.test = test
        self.number = number
        self._seed = seed
        self.scores: dict[str, tuple[float, float, float]] = {}
        self.is_seeded = False  # whether the test has read the seed
        self.is_misused = False

    @property
    def seed(self) -> int:
        """A seed that no other trial has, also in other test runs."""
        self.is_seeded = True
        return self._seed

    def score(
        self, value: float, *, name: str = "score", scale: tuple[float, float] = (0.0, 1.0)
    ) -> None:
        """Log a score of this trial; its mean is shown with an interval.

        Args:
            value: The score.
            name: Name of the score, if there are several.
            scale: Lowest and highest possible score, which the interval needs.

        Raises:
            OptionError: The score is not on its scale, or was logged before.

        >>> trial = Trial("test_answer", 0, seed=17)
        >>> trial.score(4, name="rating", scale=(1, 5))
        >>> trial.scores
        {'rating (1 to 5)': (4.0, 1.0, 5.0)}
        """
        low, high = map(float, scale)
        if low < high and (low, high) != (0.0, 1.0):
            name = f"{name} ({low:g} to {high:g})"
        if math.isfinite(high - low) and low <= value <= high and low < high:
            if name not in self.scores:
                self.scores[name] = (float(value), low, high)
                return
            self._refuse("{name} was logged before in this trial. Use another name.", name=name)
        self._refuse(
            "The score {score:g} is not from {low:g} to {high:g}. Pass its range as "
            "scale=(LOWEST, HIGHEST).",
            score=value,
            low=low,
            high=high,
        )

    def _refuse(self, template: str, **fields: object) -> NoReturn:
        from seedproof.errors import OptionError

        self.is_misused = True
        raise OptionError(template, **fields)


TRIAL = pytest.StashKey[Trial]()
TEST_RUN = pytest.StashKey[str]()
FILES = pytest.StashKey[dict[Path, str]]()


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> Trial:
    """The trial that runs: its number, a seed of its own, and `trial.score(0.7)`."""
    present: Trial | None = request.node.stash.get(TRIAL, None)
    if present is None:
        _refuse("The fixture trial needs the mark: add {usage} to the test.", usage=USAGE)
    return present


# ---------------------------------------------------------------------------------- configuration


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and their settings in files."""
    group = parser.getgroup("seedproof", "pass rates of repeated tests")
    group.addoption(
        "--seedproof-folder",
        metavar="FOLDER",
        help="keep trials between test runs here (default: .seedproof)",
    )
    group.addoption(
        "--seedproof-key",
        metavar="TEXT",
        help="count trials together as long as this text stays the same, such as the "
        "version of a model (default: the state of the Git repository)",
    )
    group.addoption(
        "--seedproof-accept",
        action="store_true",
        help="compare later test runs with the pass rates of this one",
    )
    group.addoption(
        "--seedproof-fail-on",
        action="append",
        choices=FAIL_ON,
        help="also fail tests that are undecided, or worse than accepted",
    )
    parser.addini("seedproof_folder", "folder for trials of repeated tests", default=".seedproof")
    parser.addini("seedproof_key", "name of what is tested, instead of the Git state", default="")
    parser.addini("seedproof_fail_on", "undecided, worse, or both", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark, and judge in the process that gets all reports."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(n, min_pass_rate): run a test n times and judge its pass rate (seedproof)",
    )
    worker = getattr(config, "workerinput", None)  # a process of xdist
    config.stash[TEST_RUN] = worker["testrunuid"] if worker else uuid4().hex
    config.stash[FILES] = {}
    if worker is None:
        config.pluginmanager.register(_Judge(config), "seedproof-judge")


# ------------------------------------------------------------------------- trials, in any process


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each trial."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    n, _ = _arguments(mark)
    _check_plugins(metafunc.config)
    if metafunc.definition.get_closest_marker("flaky") is not None:
        _refuse(
            "A test cannot have the marks trials and flaky: repeats after failures would raise its "
            "pass rate. Remove one of them."
        )
    metafunc.fixturenames.append(PARAMETER)
    metafunc.parametrize(PARAMETER, range(n), indirect=True, ids=[f"trial{i}" for i in range(n)])


@pytest.fixture
def _seedproof_trial(request: pytest.FixtureRequest) -> int:
    """Return the number of the trial."""
    return int(request.param)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Prepare a trial."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if PARAMETER not in parameters:
        return
    number = parameters[PARAMETER]
    test = _without_trial(item.nodeid, number)
    text = f"{item.config.stash[TEST_RUN]} {item.nodeid}"
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    item.stash[TRIAL] = Trial(test, number, seed)
    item.user_properties.append(("trial", number))
    files = item.config.stash[FILES]
    if item.path not in files:  # before the first test, which may write files
        files[item.path] = hashlib.sha256(item.path.read_bytes()).hexdigest()[:16]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse marks on tests that cannot be repeated."""
    if TRIAL not in item.stash and item.get_closest_marker(MARK) is not None:
        _refuse(
            "The mark trials has no effect on methods of unittest.TestCase. Write the test as a "
            "function, or in a class without a base."
        )
    if TRIAL in item.stash and "subtests" in getattr(item, "fixturenames", ()):
        _refuse("The mark trials does not count subtests. Write a test for each of them.")
    if TRIAL in item.stash and item.get_closest_marker("xfail") is not None:
        _refuse("A test with the mark trials has no other expected outcome. Remove the mark xfail.")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the outcome of a trial; a failed one does not fail the test run."""
    report = yield
    present = item.stash.get(TRIAL, None)
    if present is None or present.is_misused or hasattr(report, "wasxfail"):
        return report
    if report.when == "call" and not report.skipped:
        mark = item.get_closest_marker(MARK)
        n_planned, least = _arguments(mark) if mark is not None else (0, 0.5)
        # Plain data, which xdist sends to the process that judges.
        vars(report)["seedproof_trial"] = {
            "test": present.test,
            "number": present.number,
            "n_planned": n_planned,
            "least": least,
            "file": item.config.stash[FILES][item.path],
            "has_passed": report.passed,
            "scores": present.scores,
            "is_seeded": present.is_seeded,
        }
        report.user_properties += [(name, value[0]) for name, value in present.scores.items()]
        if present.is_seeded:
            report.user_properties.append(("seed", present.seed))
        item.user_properties[:] = report.user_properties  # for the report of the teardown
        if report.failed:
            report.outcome = "skipped"
            report.wasxfail = "the trial failed"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.TestReport | pytest.CollectReport,
) -> tuple[str, str, str | tuple[str, dict[str, bool]]] | None:
    """Name the outcomes of trials, which are not counted as tests, and undecided tests."""
    if hasattr(report, "seedproof_undecided"):
        return "undecided", "u", ("UNDECIDED", {"yellow": True})
    if hasattr(report, "seedproof_trial"):
        if report.passed:
            return "", ".", ("TRIAL PASSED", {"green": True})
        return "", "f", ("TRIAL FAILED", {"yellow": True})
    return None


def _arguments(mark: pytest.Mark) -> tuple[int, float]:
    """Return the number of trials and the required pass rate."""
    values = dict(zip(("n", "min_pass_rate"), mark.args, strict=False)) | dict(mark.kwargs)
    n, least = values.get("n"), values.get("min_pass_rate")
    is_whole = isinstance(n, int) and not isinstance(n, bool) and n >= 1
    if len(mark.args) > 2 or values.keys() != {"n", "min_pass_rate"} or not is_whole:
        _refuse("The mark needs a number of trials and a rate. Write {usage}.", usage=USAGE)
    if not isinstance(least, int | float) or not 0 < least < 1:
        _refuse(
            "min_pass_rate is {rate!r}. Pass a rate above 0 and below 1: no number of trials shows "
            "that a test always passes. If it must, leave out the mark.",
            rate=least,
        )
    return n, float(least)  # type: ignore[return-value] # `is_whole`


def _check_plugins(config: pytest.Config) -> None:
    """Refuse options of other plugins that make trials dependent on each other."""
    if config.getoption("reruns", None):
        _refuse(
            "--reruns repeats tests that fail, which would raise their pass rates. Leave it out, "
            "or set it to 0."
        )
    if config.pluginmanager.hasplugin("randomly") and config.getoption("randomly_reset_seed", None):
        _refuse(
            "pytest-randomly gives the same random numbers to all trials. Pass "
            "--randomly-dont-reset-seed."
        )


def _refuse(template: str, **fields: object) -> NoReturn:
    from seedproof.errors import OptionError

    pytest.fail(str(OptionError(template, **fields)), pytrace=False)


def _without_trial(nodeid: str, number: int) -> str:
    """Return the name of a test without the number of its trial, one of its last parameters."""
    head, _, tail = nodeid.rpartition(f"trial{number}")
    if tail != "]":  # another plugin has added a parameter
        return head + tail.removeprefix("-")
    return head.removesuffix("[") if head.endswith("[") else f"{head.removesuffix('-')}]"


# ------------------------------------------------------------------- verdicts, in a single process


@dataclass
class _Test:
    """Trials of a test in this test run."""

    least: float
    location: tuple[str, int | None, str]
    file: str  # digest of its content
    n_planned: int
    trials: dict[int, dict[str, Any]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)  # the first one


class _Judge:
    """Collects trials, judges each test at the end, and keeps the records."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: dict[str, _Test] = {}
        self._crashes: list[str] = []  # what processes of xdist ran when they crashed
        self._verdicts: dict[str, TestVerdict] = {}
        self._notes: list[str] = []
        self._code: str | None = None
        self._has_code = False
        self._is_compared = True

    # The state of the code before the first test, which may write files.
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if any(TRIAL in item.stash for item in session.items):
            self._read_code()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        if any(name.endswith("trial0]") for name in ids):
            self._read_code()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        trial = getattr(report, "seedproof_trial", None)
        if trial is None and report.when not in {"setup", "call", "teardown"}:
            self._crashes.append(report.nodeid)
        if trial is None or report.when != "call":
            return
        path, line, name = report.location
        location = (path, line, _without_trial(name, trial["number"]))
        present = _Test(trial["least"], location, trial["file"], trial["n_planned"])
        test = self._tests.setdefault(trial["test"], present)
        test.trials[trial["number"]] = trial
        if not trial["has_passed"] and not test.failures:
            test.failures.append(f"\nTrial {trial['number']}:\n{report.longreprtext}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            if self._tests:
                session.testscollected += len(self._tests)  # for the progress in percent
                self._judge_all()

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        if not self._verdicts:
            return
        from seedproof.messages import printable

        terminalreporter.section("pass rates")
        for name, verdict in sorted(self._verdicts.items()):
            head, *others = verdict.sentences()
            # Names of scores may come from an answer of a model, and a terminal obeys some signs.
            terminalreporter.write_line(f"{verdict.verdict.upper():<9}  {printable(name)}")
            for sentence in (head, *others):
                terminalreporter.write_line(f"           {printable(sentence)}")
        for note in self._notes:
            terminalreporter.write_line(printable(note))

    # ------------------------------------------------------------------------------ judging

    def _judge_all(self) -> None:
        from seedproof.integrations.trial_records import NewTrials
        from seedproof.integrations.trial_verdicts import TestVerdict

        self._count_crashes()
        new = {
            name: NewTrials.of(test.trials, file=test.file, n_planned=test.n_planned)
            for name, test in self._tests.items()
        }
        for name, pooled in self._pooled(new).items():
            test = self._tests[name]
            verdict = TestVerdict(test.least, pooled)
            self._verdicts[name] = verdict
            self._log(name, test, verdict)

    def _count_crashes(self) -> None:
        """Count trials that crashed as failed; xdist has reported them as failures."""
        for nodeid in self._crashes:
            match = re.search(r"trial(\d+)\]$", nodeid)
            number = int(match[1]) if match else 0
            test = self._tests.get(_without_trial(nodeid, number)) if match else None
            if test is not None:
                test.trials[number] = {"has_passed": False, "scores": {}, "is_seeded": False}

    def _pooled(self, new: "dict[str, NewTrials]") -> "dict[str, Pooled]":
        """Return all trials of each test; those of this test run alone if there are no records."""
        from seedproof.errors import SeedproofError
        from seedproof.integrations.trial_records import Pooled, TrialStore

        self._read_code()
        if self._code is None:
            self._notes.append(
                "Trials are not counted together with those of other test runs: this is not a Git "
                "repository. Name what is tested with --seedproof-key."
            )
        accept = bool(self._config.getoption("seedproof_accept"))
        try:
            pooled = TrialStore(self._folder, self._code).update(new, accept=accept)
        except SeedproofError as error:
            self._notes.append(f"The trials of this test run are not kept or compared. {error}")
            self._is_compared = False
            alone = [(name, trials.evidence) for name, trials in new.items()]
            return {
                name: Pooled(evidence, None, is_repeated=False, has_other_code=False)
                for name, evidence in alone
            }
        if accept:
            count = f"{len(new)} test{'s' if len(new) > 1 else ''}"
            self._notes.append(f"Accepted the pass rates of {count}.")
        return pooled

    def _log(self, name: str, test: _Test, verdict: "TestVerdict") -> None:
        """Report a test: to the terminal, to JUnit files, and to all other plugins."""
        from seedproof.integrations.trial_verdicts import VerdictText
        from seedproof.messages import printable

        allowed = {*(self._config.getoption("seedproof_fail_on") or ())}
        allowed |= {*self._config.getini("seedproof_fail_on")}
        is_worse = verdict.change == "worse" and "worse" in allowed
        is_unknown = not self._is_compared and "worse" in allowed
        is_open = verdict.verdict == "undecided"
        is_refused = is_worse or is_unknown or (is_open and "undecided" in allowed)
        has_failed = verdict.verdict == "failed" or is_refused
        sentences = list(map(printable, verdict.sentences()))
        headline = f"{verdict.verdict}: {sentences[0]}"
        if is_worse and verdict.verdict != "failed":
            headline = f"{verdict.verdict}, but worse than accepted: {sentences[0]}"
        elif is_unknown and verdict.verdict != "failed":
            headline = f"{verdict.verdict}, but not compared with accepted: {sentences[0]}"
        report = pytest.TestReport(
            name,
            test.location,
            {},
            "failed" if has_failed else "skipped" if is_open else "passed",
            None,
            "call",
            user_properties=verdict.properties(),
        )
        if has_failed:
            text = "\n".join([headline, *sentences[1:], *test.failures])
            report.longrepr = VerdictText(text, headline, test.location)  # type: ignore[assignment]
        elif is_open:
            report.wasxfail = headline
            vars(report)["seedproof_undecided"] = True
        self._config.hook.pytest_runtest_logreport(report=report)
        end = pytest.TestReport(
            name,
            test.location,
            {},
            "passed",
            None,
            "teardown",
            user_properties=verdict.properties(),
        )
        self._config.hook.pytest_runtest_logreport(report=end)  # closes the case in JUnit files

    @property
    def _folder(self) -> Path:
        given = self._config.getoption("seedproof_folder")
        if given is not None:
            return Path(self._config.invocation_params.dir, given)
        return Path(self._config.rootpath, self._config.getini("seedproof_folder"))

    def _read_code(self) -> None:
        """Look at the code once, at the beginning."""
        if self._has_code:
            return
        from seedproof.integrations.code_state import code_state
        from seedproof.integrations.trial_records import FILES

        key = self._config.getoption("seedproof_key") or self._config.getini("seedproof_key")
        root = self._config.rootpath
        state = code_state(root, leave_out=[self._folder / name for name in FILES])
        self._code = f"key {key} {state or ''}".rstrip() if key else state
        self._has_code = True
