"""The pytest plugin in real test runs: outcomes, records, xdist, JUnit files and refusals."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
# Always, never and mostly, without drawing anything; each outcome of `mostly` has a score.
SUITE = """
import pytest

@pytest.mark.trials(24, min_pass_rate=0.8)
def test_always():
    pass

@pytest.mark.trials(8, min_pass_rate=0.8)
def test_never():
    assert False, "as expected"

@pytest.mark.trials(8, min_pass_rate=0.8)
@pytest.mark.parametrize("word", ["a", "b-c"])
def test_mostly(word, trial):
    trial.score(trial.number / 8)
    assert trial.seed >= 0
    assert trial.number != 3

def test_plain():
    pass
"""
OPEN = """
import os, pytest

@pytest.mark.trials(8, min_pass_rate=0.8)
def test_open(trial):
    assert trial.seed >= 0
    assert str(trial.number) not in os.environ.get("FAILS", "").split(",")
"""


@pytest.fixture
def run(pytester):
    """Return a function that runs the tests of a folder in this process."""

    def call(*arguments, key="v1", suite=None):
        if suite is not None:
            pytester.makepyfile(test_suite=suite)
        named = ("--seedproof-key", key) if key else ()
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *named, *arguments)

    return call


def cases(path):
    """Return the properties of each test case of a JUnit file, and the kind of its result."""
    by_name = {}
    for case in ET.parse(path).iter("testcase"):  # noqa: S314 - written by this test
        properties = {item.get("name"): item.get("value") for item in case.iter("property")}
        kinds = [part.tag for part in case if part.tag != "properties"]
        by_name[case.get("name")] = (properties, kinds)
    return by_name


def outcomes(result):
    """Return the counts of the last line, which has no trials."""
    return result.parseoutcomes()


def test_three_outcomes(run):
    """Trials that fail do not fail the test run, and are not counted as tests."""
    result = run(suite=SUITE)

    assert outcomes(result) == {"passed": 2, "failed": 1, "undecided": 2}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*as expected*"])  # why a trial failed
    result.stdout.fnmatch_lines(["UNDECIDED  test_suite.py::test_mostly?b-c?"])


def test_undecided_tests_fail_only_if_asked_for(run):
    suite = OPEN

    assert run(suite=suite).ret == pytest.ExitCode.OK
    strict = run("--seedproof-fail-on", "undecided", key="v2")

    assert strict.ret == pytest.ExitCode.TESTS_FAILED
    assert outcomes(strict) == {"failed": 1}


def test_settings_of_the_project(run, pytester):
    pytester.makeini(
        "[pytest]\nseedproof_fail_on = undecided\nseedproof_key = v1\nseedproof_folder = kept\n"
    )

    result = run(suite=OPEN, key="")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (pytester.path / "kept" / "trials.json").is_file()


def test_trials_add_up_until_they_decide(run):
    """21 trials show at least 80 %, so three test runs of eight do."""
    verdicts = [outcomes(run(suite=OPEN)) for _ in range(3)]

    assert verdicts == [{"undecided": 1}, {"undecided": 1}, {"passed": 1}]
    assert outcomes(run(key="v2")) == {"undecided": 1}


def test_trials_that_do_not_draw_from_their_seed_add_up_only_if_they_differ(run):
    """All may be the copies of the first ones, of fixed seeds."""
    suite = OPEN.replace("    assert trial.seed >= 0\n", "")

    verdicts = [outcomes(run("--junitxml=out.xml", suite=suite)) for _ in range(6)]

    assert verdicts == [{"undecided": 1}] * 6
    properties, _ = cases("out.xml")["test_open"]
    assert (properties["trials"], properties["trials_possibly_copied"]) == ("48", "40")


def test_trials_outside_of_a_repository_do_not_add_up(run):
    verdicts = [outcomes(run(suite=OPEN, key="")) for _ in range(3)]

    assert verdicts == [{"undecided": 1}] * 3


def test_repository_is_the_key_by_default(run, pytester):
    """An edit of any file starts anew."""
    pytester.makepyfile(test_suite=OPEN, code="x = 1")
    subprocess.run(["git", "init", "--quiet"], cwd=pytester.path, check=True)  # noqa: S607 - any git
    verdicts = [outcomes(run(key="")) for _ in range(3)]

    pytester.makepyfile(code="x = 2")

    assert verdicts == [{"undecided": 1}, {"undecided": 1}, {"passed": 1}]
    assert outcomes(run(key="")) == {"undecided": 1}


@pytest.mark.parametrize("processes", [(), ("-n", "1")])
def test_file_of_the_test_counts_even_if_git_ignores_it(pytester, processes):
    subprocess.run(["git", "init", "--quiet"], cwd=pytester.path, check=True)  # noqa: S607 - any git
    (pytester.path / ".gitignore").write_text("test_*.py\nstd*\nrunpytest*\n", encoding="utf-8")
    options = ("-p", "no:cacheprovider", *processes)

    verdicts = []
    for suite in [OPEN, OPEN, OPEN, f"{OPEN}# edited\n"]:
        (pytester.path / "test_open.py").write_text(suite, encoding="utf-8")
        verdicts.append(outcomes(pytester.runpytest_subprocess(*options)))

    assert verdicts == [{"undecided": 1}, {"undecided": 1}, {"passed": 1}, {"undecided": 1}]


def test_other_tests_of_a_test_run_do_not_change_the_code(run, pytester):
    """Trials of a file count together, whether it runs alone or with others."""
    pytester.makepyfile(test_other=OPEN)

    verdicts = [outcomes(run(*files, suite=OPEN)) for files in [(), ("test_suite.py",), ()]]

    assert verdicts == [{"undecided": 2}, {"undecided": 1}, {"passed": 1, "undecided": 1}]


def test_records_in_the_folder_of_the_tests(run, pytester):
    """They do not count as code, and the tests next to them do."""
    subprocess.run(["git", "init", "--quiet"], cwd=pytester.path, check=True)  # noqa: S607 - any git
    tests = pytester.mkdir("tests")
    (tests / "test_open.py").write_text(OPEN, encoding="utf-8")
    folder = ("--seedproof-folder", "tests", "tests")

    verdicts = [outcomes(run(*folder, key="")) for _ in range(3)]
    (tests / "test_open.py").write_text(f"{OPEN}# edited\n", encoding="utf-8")

    assert verdicts == [{"undecided": 1}, {"undecided": 1}, {"passed": 1}]
    assert outcomes(run(*folder, key="")) == {"undecided": 1}
    assert not (tests / ".gitignore").exists()


def test_change_outside_of_the_code_fails(run, monkeypatch):
    """Many passes of earlier test runs do not outvote one in which all fails."""
    for _ in range(12):
        passed = run(suite=OPEN)
    monkeypatch.setenv("FAILS", "0,1,2,3,4,5,6,7")

    changed = run()

    assert outcomes(passed) == {"passed": 1}
    assert outcomes(changed) == {"failed": 1}


def test_comparison_with_accepted_trials(run, monkeypatch):
    for _ in range(4):
        run("--seedproof-accept", suite=OPEN)
    monkeypatch.setenv("FAILS", "0,1,2,3,4,5")

    run("--junitxml=plain.xml", key="v2")
    worse = run("--seedproof-fail-on", "worse", "--junitxml=worse.xml", key="v3")

    assert worse.ret == pytest.ExitCode.TESTS_FAILED
    properties, kinds = cases("worse.xml")["test_open"]
    assert (properties["change"], properties["accepted_pass_rate"]) == ("worse", "1.0")
    assert kinds == ["failure"]


def test_junit_file_has_trials_and_verdicts(run):
    run("--junitxml=out.xml", suite=SUITE)

    by_name = cases("out.xml")
    trial, trial_kinds = by_name["test_mostly[a-trial3]"]
    properties, kinds = by_name["test_mostly[a]"]
    assert (trial["trial"], trial["score"], trial_kinds) == ("3", "0.375", ["skipped"])
    assert trial["seed"].isdigit()
    assert kinds == ["skipped"]
    assert properties["outcome"] == "undecided"
    assert (properties["pass_rate"], properties["trials"]) == ("0.875", "8")
    assert float(properties["pass_rate_low"]) < 0.8 < float(properties["pass_rate_high"])
    assert float(properties["score"]) == pytest.approx(3.5 / 8)
    assert float(properties["score_low"]) < 3.5 / 8 < float(properties["score_high"])
    assert by_name["test_never"][1] == ["failure"]
    assert by_name["test_always"][1] == []


def test_xdist_gives_the_same_outcomes(pytester):
    """Trials of a test run in several processes, and one of them judges."""
    pytester.makepyfile(test_suite=SUITE)
    options = ["-p", "no:cacheprovider", "--seedproof-key", "v1"]

    alone = pytester.runpytest_subprocess(*options, "--junitxml=alone.xml", "-q")
    spread = pytester.runpytest_subprocess(
        *options, "--junitxml=spread.xml", "-q", "-n", "2", "--seedproof-folder", "other"
    )

    assert outcomes(spread) == outcomes(alone) == {"passed": 2, "failed": 1, "undecided": 2}
    assert spread.ret == alone.ret == pytest.ExitCode.TESTS_FAILED
    spread_cases, alone_cases = cases("spread.xml"), cases("alone.xml")
    assert spread_cases.keys() == alone_cases.keys()
    for name in ("test_always", "test_never", "test_mostly[a]", "test_mostly[b-c]"):
        assert spread_cases[name] == alone_cases[name]


def test_crash_counts_as_a_failed_trial(pytester):
    """Or a test that crashes in some test runs would pass in the others."""
    pytester.makepyfile(
        test_suite="""
        import os, pytest

        @pytest.mark.trials(4, min_pass_rate=0.5)
        def test_crash(trial):
            if trial.number == 2:
                os._exit(1)
        """
    )

    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-n", "1", "--junitxml=out.xml"
    )

    assert outcomes(result) == {"failed": 1, "undecided": 1}
    properties, _ = cases("out.xml")["test_crash"]
    assert (properties["trials_passed"], properties["trials"]) == ("3", "4")


def test_seeds_of_trials_differ_also_between_test_runs(run, pytester):
    suite = """
    import pytest

    @pytest.mark.trials(8, min_pass_rate=0.8)
    def test_seed(trial):
        with open("seeds", "a") as file:
            print(trial.seed, file=file)
    """

    run(suite=suite)
    run()

    seeds = (pytester.path / "seeds").read_text().split()
    assert len(set(seeds)) == 16


def test_errors_outside_of_the_test_fail_the_test_run(run):
    """A fixture that fails is not a trial that fails."""
    suite = """
    import pytest

    @pytest.fixture
    def service(trial):
        if trial.number == 2:
            raise ConnectionError

    @pytest.mark.trials(8, min_pass_rate=0.8)
    def test_answer(service):
        pass
    """

    result = run("--junitxml=out.xml", suite=suite)

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert outcomes(result) == {"errors": 1, "undecided": 1}
    assert cases("out.xml")["test_answer"][0]["trials"] == "7"


def test_skipped_tests_have_no_verdict(run):
    suite = """
    import pytest

    @pytest.mark.skip
    @pytest.mark.trials(3, min_pass_rate=0.8)
    def test_answer():
        pass
    """

    assert outcomes(run(suite=suite)) == {"skipped": 3}


def test_damaged_records_are_reported_and_trials_judged_alone(run, pytester):
    run(suite=OPEN)
    (pytester.path / ".seedproof" / "trials.json").write_text("{}")

    result = run()

    assert outcomes(result) == {"undecided": 1}
    result.stdout.fnmatch_lines(["*not kept*trials.json*"])


@pytest.mark.parametrize(
    "mark",
    [
        "trials(8)",
        "trials()",
        "trials(0, 0.8)",
        "trials(8, min_pass_rate=1.0)",
        "trials(8, rate=1)",
    ],
)
def test_wrong_marks_are_refused(run, mark):
    result = run(suite=f"import pytest\n@pytest.mark.{mark}\ndef test_answer():\n    pass\n")

    assert outcomes(result) == {"errors": 1}


@pytest.mark.parametrize(
    "call", ["score(1.5)", "score(float('nan'))", "score(3, scale=(5, 1))", "score(1), s(1)"]
)
def test_wrong_scores_fail_the_test_run(run, call):
    """They are mistakes in the test, so they are not counted as trials that failed."""
    suite = f"""
    import pytest

    @pytest.mark.trials(2, min_pass_rate=0.8)
    def test_answer(trial):
        s = trial.score
        trial.{call}
    """

    assert outcomes(run(suite=suite)) == {"failed": 2}


def test_marks_and_fixtures_where_they_have_no_effect_are_refused(run):
    suite = """
    import unittest, pytest

    class TestOld(unittest.TestCase):
        @pytest.mark.trials(8, min_pass_rate=0.8)
        def test_answer(self):
            pass

    def test_plain(trial):
        pass
    """

    assert outcomes(run(suite=suite)) == {"errors": 2}


@pytest.mark.parametrize(
    "test",
    [
        "def test_answer(subtests):\n    with subtests.test():\n        assert False\n",
        "@pytest.mark.xfail\ndef test_answer():\n    assert False\n",
    ],
)
def test_other_ways_to_fail_are_refused(run, test):
    """They would hide that a trial failed."""
    mark = "@pytest.mark.trials(30, min_pass_rate=0.8)"

    result = run(suite=f"import pytest\n{mark}\n{test}")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "passed" not in outcomes(result)


def test_key_does_not_hide_edits_in_a_repository(run, pytester):
    always = "import pytest\n@pytest.mark.trials(30, min_pass_rate=0.8)\ndef test_it(trial):\n    "
    subprocess.run(["git", "init", "--quiet"], cwd=pytester.path, check=True)  # noqa: S607

    first = run(suite=f"{always}assert True\n")
    second = run(suite=f"{always}assert trial.number % 2\n")

    assert outcomes(first) == {"passed": 1}
    assert "passed" not in outcomes(second)


def test_comparison_that_is_not_possible_fails_if_worse_should(run, pytester):
    assert outcomes(run("--seedproof-accept", suite=SUITE, key="v1"))["undecided"] == 2
    (accepted,) = pytester.path.rglob("accepted.json")
    accepted.write_text("<<<<<<< HEAD", encoding="utf-8")

    result = run("--seedproof-fail-on", "worse")

    assert outcomes(result)["failed"] == 4


def test_repeats_after_failures_are_refused(run, pytester):
    """An option of pytest-rerunfailures, and the mark of the same and of other plugins."""
    pytester.makeconftest(
        "def pytest_addoption(parser): parser.addoption('--reruns', type=int, default=0)"
    )
    flaky = OPEN.replace("@pytest", "@pytest.mark.flaky\n@pytest")

    assert outcomes(run("--reruns", "2", suite=OPEN)) == {"errors": 1}
    assert outcomes(run(suite=flaky)) == {"errors": 1}
    assert outcomes(run(suite=OPEN)) == {"undecided": 1}


def test_test_runs_without_the_mark_import_nothing(pytester):
    """The plugin is loaded with every pytest of an environment."""
    pytester.makepyfile(
        test_plain="""
        import sys

        def test_plain():
            loaded = {name for name in sys.modules if name.startswith("seedproof")}
            assert loaded == {
                "seedproof", "seedproof.integrations", "seedproof.integrations.pytest_plugin"
            }
            assert not {"numpy", "pyarrow"} & sys.modules.keys()
        """
    )

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest")

    assert outcomes(result) == {"passed": 1}
    assert not (pytester.path / ".seedproof").exists()


def flaky_suite():
    """Return the benchmark of 20 flaky tests as a module."""
    path = ROOT / "benchmarks" / "pytest_outcomes.py"
    spec = importlib.util.spec_from_file_location("pytest_outcomes_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("n_test_runs", [4, pytest.param(200, marks=pytest.mark.full)])
def test_wrong_decisions_on_flaky_tests_are_rare(n_test_runs):
    """Of 20 tests with known rates; the exact probabilities are at most 2.5 % for each."""
    benchmark = flaky_suite()

    by_rate = benchmark.run_suite(n_test_runs, seed=1)

    wrong, decided = benchmark.wrong_share(by_rate)
    assert {len(names) for names in by_rate.values()} == {n_test_runs}
    assert len(by_rate) == 20
    assert decided >= 2 * n_test_runs - 2  # the test that always fails, and the next ones
    assert wrong <= 0.05 * decided
    assert "\n| 0.8 |" in benchmark.table({0.8: by_rate[0.8][:4]})


def test_names_of_scores_do_not_control_the_terminal(run):
    """A model may have written them."""
    suite = """
        import pytest

        @pytest.mark.trials(8, min_pass_rate=0.8)
        def test_open(trial):
            trial.score(0.5, name="a" + chr(27) + "[2J")
            assert trial.number != 3
    """

    for options in ((), ("--seedproof-fail-on", "undecided")):
        text = str(run(*options, suite=suite).stdout)
        assert "\x1b[2J" not in text
        assert "a\\x1b[2J" in text
