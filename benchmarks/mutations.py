"""Small faults in the code that decides, each of which a test must catch.

    python benchmarks/mutations.py [--share 0/2] [--only stats.looks] [--out mutations.json]
    python benchmarks/mutations.py --corpus      run tests/truth in place of the nearest test file
    python benchmarks/mutations.py --aim         only check that each row is found in the code

Each row replaces one fragment of one function, and runs the nearest test file, or the corpus of
truth. Tests are collected once and run in a fork per row, whose function gets the other code; what
a file of tests computes when it is imported does not see the fault. A mutation is caught if a test
fails or does not end. Where code has moved, a row is aimed anew: a fragment that is not found
exactly once is an error, also in CI.

Finished rows are kept in the JSON file, and are run again only if the mutated module or the tests
have changed. Two processes with `--share 0/2` and `--share 1/2` need files of their own.
"""

import argparse
import ast
import importlib
import json
import os
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CORPUS = "tests/truth"
# Seconds after which a test is taken to hang: ten times as long as without a mutation, and this.
GRACE = 60
GOAL = 0.9

STATS, GATE, DECIDE = (
    "tests/unit/stats",
    "tests/unit/comparison/gate",
    "tests/unit/comparison/decide",
)
PREDICTIONS, METRICS = "tests/unit/predictions", "tests/unit/metrics"


@dataclass(frozen=True)
class Mutation:
    """One fault."""

    function: str  # module below `seedproof`, a colon, and the function
    old: str
    new: str
    test: str  # the nearest file of tests
    equivalent: str = ""  # why no test can catch it

    @property
    def module(self) -> str:
        """Path of the module below `src`."""
        return f"seedproof/{self.function.partition(':')[0].replace('.', '/')}.py"

    def __str__(self) -> str:
        return f"{self.function}: {_short(self.old)} → {_short(self.new)}"


def _short(fragment: str) -> str:
    return " ".join(fragment.split())


def _of(test: str, *rows: tuple[str, str, str] | tuple[str, str, str, str]) -> list[Mutation]:
    return [Mutation(row[0], row[1], row[2], test, *row[3:]) for row in rows]


EFFECT, CONTRAST = "stats.effect", "stats.contrast"
MUTATIONS = [
    *_of(
        f"{STATS}/test_effect.py",
        (f"{EFFECT}:judged", "low <= no_change <= high", "low < no_change <= high"),
        (f"{EFFECT}:judged", "low <= no_change <= high", "low <= no_change < high"),
        (f"{EFFECT}:judged", 'is_good = is_higher == (better == "higher")', "is_good = is_higher"),
        (f"{EFFECT}:judged", "not in QUALITY", "in QUALITY"),
        (f"{EFFECT}:is_inside", "1 / (1 + margin) <= effect.low", "1 - margin <= effect.low"),
        (f"{EFFECT}:is_inside", "effect.high <= 1 + margin", "effect.high < 1 + margin"),
        (f"{EFFECT}:is_inside", "-margin <= effect.low", "-margin < effect.low"),
        (f"{EFFECT}:is_inside", "needs_runs and effect.over", "not needs_runs and effect.over"),
        (f"{EFFECT}:inverted", "(value, high, low)", "(value, low, high)"),
        (f"{EFFECT}:with_enough_runs", "n_runs >= VERDICT_FROM", "n_runs > VERDICT_FROM"),
        (f"{EFFECT}:without_verdict", 'verdict="not tested"', "verdict=effect.verdict"),
        (f"{EFFECT}:directed", "effect.verdict == better", "effect.verdict != better"),
        (f"{EFFECT}:effect_of", "max(low, -1.0), min(high, 1.0)", "low, high"),
        (f"{EFFECT}:effect_of", "needs_runs and over in", "over in"),
        (f"{EFFECT}:unseen_variance", "share * step**2", "share * step"),
        (f"{EFFECT}:Contrast.half_width", "+ self.residual_bias**2", "- self.residual_bias**2"),
        (f"{EFFECT}:Contrast.half_width", "+ self.error", "- self.error"),
        (f"{EFFECT}:Contrast.detectable", "self.df, POWER", "self.df, 1 - POWER / 2"),
        (f"{EFFECT}:RatioOfMeans._ends", "if a <= 0.0:", "if a <= -1.0:"),
        (f"{EFFECT}:RatioOfMeans._ends", "max(b**2 - a * c, 0.0)", "max(b**2 + a * c, 0.0)"),
        (f"{EFFECT}:RatioOfMeans.log_ends", "min(lows), max(highs)", "max(lows), min(highs)"),
    ),
    *_of(
        f"{STATS}/test_looks.py",
        ("stats.looks:look_at", "if n <= n_runs", "if n < n_runs"),
        ("stats.looks:look_at", "if n > n_runs", "if n >= n_runs"),
        ("stats.looks:look_at", "reached[-1] == declared", "reached[0] == declared"),
        ("stats.looks:planned_looks", "declared < LOOKS[0]", "declared <= LOOKS[0]",
         "five runs are a look, declared or not, and the levels depend on `declared` alone"),
        ("stats.looks:planned_looks", "n > declared", "n >= declared"),
    ),
    *_of(
        f"{STATS}/test_spread_interval.py",
        ("stats.spread_interval:spread_interval", "< SPREAD_FROM", "<= SPREAD_FROM"),
        ("stats.spread_interval:spread_interval", ">= BONETT_FROM", "> BONETT_FROM"),
        ("stats.spread_interval:spread_interval", "max(low, least)", "min(low, least)"),
        ("stats.spread_interval:spread_interval", "min(high, largest)", "max(high, largest)"),
        ("stats.spread_interval:_normal_ends", "n_runs - 1, WIDEST_FEW", "n_runs, WIDEST_FEW"),
        ("stats.spread_interval:_is_of_one_run", "- 1))", "+ 1))"),
        ("stats.spread_interval:_bonett", "n / (n - normal)", "n / (n + normal)"),
        ("stats.spread_interval:_bonett", "(n - 3) / n", "(n + 3) / n"),
        ("stats.spread_interval:largest_variance", "(n_runs - 1) /", "n_runs /"),
        ("stats.spread_interval:largest_variance", "2 * tail if", "tail if"),
    ),
    *_of(
        f"{STATS}/test_intervals.py",
        ("stats.intervals:Level.divided", "tail=self.tail / n", "tail=self.tail"),
        ("stats.intervals:Level.confidence", "1 - 2 * self.tail", "1 - self.tail"),
        ("stats.intervals:jackknife_variance", "(n_runs - 1)", "n_runs"),
        ("stats.intervals:_all_alike", "tail ** (1 / statistic.n_drawn)", "tail"),
        ("stats.intervals:_rate_ends", "(1 - value) * fewer + 1", "(1 - value) * fewer"),
        ("stats.intervals:_rate_ends", "min(low, alike)", "low"),
        ("stats.intervals:_widenings", "(n_runs - 1) / (n_runs - 2)", "n_runs / (n_runs - 1)"),
        ("stats.intervals:estimate_mean", "max(low, statistic.least)", "low"),
        ("stats.intervals:_squared_widths", "len(judges.without) - 1", "len(judges.without)"),
    ),
    *_of(
        f"{STATS}/test_drawn.py",
        ("stats.drawn:two_way_variance", "examples - interaction, 0.0", "examples, 0.0"),
        ("stats.drawn:two_way_variance", "max(runs + drawn,", "min(runs + drawn,"),
        ("stats.drawn:two_way_variance", "(1 - run_share) * interaction", "interaction"),
        ("stats.drawn:drawn_df", "min(drawn) - 1", "max(drawn) - 1"),
        ("stats.drawn:slope_at", "value * (1 - value)", "1 - value"),
        ("stats.drawn:sides_of_drawn", "max(-skewed, 0.0)", "max(skewed, 0.0)"),
    ),
    *_of(
        f"{STATS}/test_contrast.py",
        (f"{CONTRAST}:_run_variance", "jackknife_variance(arm - base)", "jackknife_variance(arm)"),
        (f"{CONTRAST}:_run_variance", "(variance / total) ** 2 / df", "(variance / total) ** 2"),
        (f"{CONTRAST}:_examples", "drawn - both * covariance[0]", "drawn + both * covariance[0]"),
        (f"{CONTRAST}:compared", "min(values) <= 0.0", "min(values) < 0.0"),
    ),
    *_of(
        f"{STATS}/test_families.py",
        ("stats.families:with_equivalence", "level.divided(0.5)", "level"),
        ("stats.families:with_equivalence", '!= "no difference shown"', '== "equivalent"'),
        ("stats.families:shared_level", "level.divided(len(rows))", "level"),
        ("stats.families:common_level", "level.divided(len(judged))", "level"),
        ("stats.families:common_level", "tail=min(x.tail", "tail=max(x.tail"),
        ("stats.families:_is_divided", "n_runs < CORRELATED_FROM", "n_runs <= CORRELATED_FROM"),
        ("stats.families:_tail_of_each", "1 - 2 * tail", "1 - tail"),
    ),
    *_of(
        f"{STATS}/test_vote_tests.py",
        ("stats.vote_tests:discover", "<= FALSE_DISCOVERY_RATE * so_far", "< FALSE_DISCOVERY_RATE * so_far"),
        ("stats.vote_tests:_least", "2 if n_old == n_new else 1", "1"),
        ("stats.vote_tests:examine_votes", "<= most", "< most"),
    ),
    *_of(
        f"{STATS}/test_pass_rates.py",
        ("stats.pass_rates:judge", "1 - least", "least"),
        ("stats.pass_rates:judge", "log_capital(total, n - total, least) >= needed", "log_capital(total, n - total, least) > needed + 1"),
        ("stats.pass_rates:log_capital", "if rest == 0:", "if rest >= 0:"),
    ),
    *_of(
        f"{STATS}/test_permutation_test.py",
        ("stats.permutation_test:permutation_p_value", "(1 + np.sum", "(np.sum"),
        ("stats.permutation_test:permutation_p_value", "seen - 1e-9", "seen + 1e-9"),
        ("stats.permutation_test:_beyond", "n_new * (n_new - 1)", "n_new * n_new"),
    ),
    *_of(
        f"{STATS}/test_rank_tests.py",
        ("stats.rank_tests:_by_ranks", "apart >= apart[0]", "apart > apart[0]"),
        ("stats.rank_tests:_doubled_ranks", "2 * below + equal + 1", "2 * below + 2"),
    ),
    *_of(
        f"{STATS}/test_skewness.py",
        ("stats.skewness:clear_skewness", "sign * third", "third"),
        ("stats.skewness:median_over_runs", "chance <= level.tail", "chance < level.tail / 2"),
    ),
    *_of(
        f"{STATS}/test_spread_ratio.py",
        ("stats.spread_ratio:spread_ratio", "center - shift - log_ratio", "center + shift - log_ratio"),
        ("stats.spread_ratio:_unshared", "(len(base) - 1) / (len(base) - 2)", "1"),
        ("stats.spread_ratio:_spread_error", "/ 2", "/ 3"),
    ),
    *_of(
        f"{STATS}/test_trend_test.py",
        ("stats.trend_test:trend_p", "(n_pairs - score) // 2", "(n_pairs - score) // 2 + 1"),
    ),
    *_of(
        f"{GATE}/test_judge.py",
        ("comparison.gate.judge:_side", "high <= limit", "high < limit"),
        ("comparison.gate.judge:_side", "low > limit", "low >= limit"),
        ("comparison.gate.judge:_side", "low >= limit", "low > limit"),
        ("comparison.gate.judge:_side", "high < limit", "high <= limit"),
        ("comparison.gate.judge:_by_interval", "stage.level.divided(n_rules)", "stage.level"),
        ("comparison.gate.judge:_by_interval", "(failing.low, passing.high)", "(passing.low, failing.high)"),
        ("comparison.gate.judge:_compare", "!= baseline.n_runs", "== baseline.n_runs"),
        ("comparison.gate.judge:_compare", "base.value * (1 + rule.limit)", "base.value"),
        ("comparison.gate.judge:GateResult.blocking", "not in self.allowed", "in self.allowed"),
        ("comparison.gate.judge:GateResult.outcome", 'if "fail" in outcomes', 'if {"fail"} == outcomes'),
        ("comparison.gate.judge:_within", "value.low is None or value.high is None", "False"),
        ("comparison.gate.judge:_within", "stage.hold is not None and not is_figure", "False"),
    ),
    *_of(
        f"{GATE}/test_rules.py",
        ("comparison.gate.rules:limit_of", "1.0 + rule.limit", "1.0 - rule.limit"),
        ("comparison.gate.rules:limit_of", "-rule.limit if", "rule.limit if"),
        ("comparison.gate.rules:Rule.__post_init__", "self.limit > 1.0", "self.limit >= 1.0"),
        ("comparison.gate.rules:Rule.__post_init__", "self.limit < 0.0", "self.limit <= 0.0"),
    ),
    *_of(
        f"{GATE}/test_stage.py",
        ("comparison.gate.stage:stage_of", "n_runs < declared or", "n_runs <= declared or"),
        ("comparison.gate.stage:stage_of", "n_runs >= LOOKS[0]", "n_runs > LOOKS[0]"),
        ("comparison.gate.stage:stage_of_trials", "n_trials == declared", "n_trials >= 1"),
        ("comparison.gate.stage:forecast", "sum(map(NormalDist().cdf, ends)) < EVEN", "False"),
    ),
    *_of(
        f"{GATE}/test_caution.py",
        ("comparison.gate.caution:with_cautions", "side * skewness > 0.0", "side * skewness < 0.0"),
        ("comparison.gate.caution:_wrong_side", "-1 if is_floor", "1 if is_floor"),
        ("comparison.gate.caution:has_median", "<= stage.level.tail", "< stage.level.tail / 4"),
    ),
    *_of(
        f"{DECIDE}/test_judge.py",
        ("comparison.decide.judge:judge", "PLAIN if is_better", "levels[n_runs] if is_better"),
        ("comparison.decide.judge:judge", '.verdict == "worse"', '.verdict == "better"'),
        ("comparison.decide.judge:_not_kept", "row.n_runs[1] >= last", "row.n_runs[1] > last"),
        ("comparison.decide.judge:_not_kept", "chance < FUTILE", "chance < FUTILE / 5"),
        ("comparison.decide.judge:_gain", "center=-difference.center", "center=difference.center"),
        ("comparison.decide.judge:_least_gain", "-log1p(-min_gain)", "log1p(-min_gain)"),
        ("comparison.decide.judge:_chance", "1 / n_runs - 1 / last", "1 / n_runs"),
        ("comparison.decide.schedule:Schedule.levels", "level * look**2 / whole", "level"),
        ("comparison.decide.schedule:Schedule.of_trials", "spent=SPENT_ON_TRIALS", "spent=1.0"),
    ),
    *_of(
        f"{DECIDE}/test_level.py",
        ("comparison.decide.level:next_level", "false_keeps - first if k == 0", "false_keeps if k == 0"),
        ("comparison.decide.level:next_level", "n_before - earned", "n_before"),
    ),
    *_of(
        f"{PREDICTIONS}/test_check_thresholds.py",
        ("predictions.input_checks:_constant_runs", "< LEAST_OTHER_ANSWERS", "<= LEAST_OTHER_ANSWERS"),
        ("predictions.input_checks:_constant_answers", ">= LEAST_OTHER_LABELS", "> LEAST_OTHER_LABELS"),
        ("predictions.number_checks:_outliers", "> LONELY *", "> 3 * LONELY *"),
        ("predictions.number_checks:_is_implausible", "< IMPLAUSIBLE", "< 10 * IMPLAUSIBLE"),
        ("predictions.item_checks:_duplicates", ">= IMPLAUSIBLE", ">= 10 * IMPLAUSIBLE"),
        ("predictions.input_checks:_outliers", "agreement < CHANCE_AGREEMENT", "agreement < 0"),
        ("predictions.input_checks:_outliers", "<= LONELY *", "<= 2 * LONELY *"),
        ("predictions.input_checks:_outliers", "len(kept) < 3", "len(kept) < 4"),
        ("predictions.input_checks:few_runs", "n_runs < VERDICT_FROM", "n_runs <= VERDICT_FROM"),
        ("predictions.input_checks:_are_rounded", "< MANY_NUMBERS", "<= MANY_NUMBERS"),
        ("predictions.input_checks:_likely_role", "sums.n_examples / 2", "sums.n_examples"),
        ("predictions.duplicates:_implausible", "< IMPLAUSIBLE", "< 10 * IMPLAUSIBLE"),
        ("predictions.duplicates:_implausible", "(len(group) - 1)", "len(group)"),
        ("predictions.duplicates:identical_arms", "n_contested[group[0]]", "2 * n_contested[group[0]]"),
        ("predictions.number_checks:_constant_runs", "< LEAST_OTHER_NUMBERS", "<= LEAST_OTHER_NUMBERS"),
        ("predictions.number_checks:_outliers", ">= LEAST_UNLIKE", "> LEAST_UNLIKE"),
        ("predictions.item_checks:_constant_runs", "< LEAST_OTHER_ANSWERS", "<= LEAST_OTHER_ANSWERS"),
        ("predictions.text_checks:_distinct", "share < MOSTLY_DISTINCT", "share <= MOSTLY_DISTINCT"),
        ("predictions.text_checks:_outliers", "sums.n_examples < LEAST_EXAMPLES", "sums.n_examples <= LEAST_EXAMPLES"),
        ("measurement.trend:runs_trend", "n_runs < TREND_FROM", "n_runs <= TREND_FROM"),
        ("measurement.trend:runs_trend", "p > LEVEL", "p > LEVEL / 5"),
    ),
    *_of(
        f"{PREDICTIONS}/test_constant_answers.py",
        ("predictions.checks:have_other_values", ">= LEAST_OTHER_LABELS", "> LEAST_OTHER_LABELS"),
    ),
    *_of(
        f"{PREDICTIONS}/test_trial_checks.py",
        ("predictions.trial_checks:_is_unlikely", "LEVEL / 2", "LEVEL"),
        ("predictions.trial_checks:_of_last_trials", "max(axis=0)\n", "min(axis=0)\n"),
    ),
    *_of(
        f"{METRICS}/test_binned_gaps.py",
        ("metrics.calibration:Calibration._binned", "counts + 2 * ADDED", "counts + ADDED"),
        ("metrics.calibration:Calibration._binned", "1 - counts / n", "1 + counts / n"),
        ("metrics.calibration:Calibration._binned", "(expected + of_size) / n**2", "(expected + of_size) / n"),
        ("metrics.calibration:Calibration._binned", "expected - seen", "expected"),
        ("metrics.block_statistic:BinnedGaps.by_run", "- density", "+ density"),
        ("metrics.block_statistic:BinnedGaps._slopes", "3 * np.abs(z)", "np.abs(z)"),
        ("metrics.block_statistic:BinnedGaps._slopes", "-slopes, slopes", "slopes, slopes"),
        ("metrics.block_statistic:BinnedGaps._residuals", "* self.sizes", "* self.sizes.mean()"),
        ("metrics.block_statistic:Residuals.example_covariance", "(n_clusters - 1)", "n_clusters"),
        ("metrics.block_statistic:Residuals.jackknife_covariance", "(n_runs - 1) / n_runs", "1.0"),
        ("metrics.block_statistic:BinnedGaps.residual_bias", "np.square(z) / 8", "np.square(z) / 2"),
    ),
]  # fmt: skip


def functions_of(source: str) -> dict[str, tuple[int, int]]:
    """Return the first and the last line of each function and class, by its qualified name."""
    spans: dict[str, tuple[int, int]] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                spans[prefix + child.name] = (child.lineno - 1, child.end_lineno or child.lineno)
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(source), "")
    return spans


def mutated(source: str, mutation: Mutation) -> str:
    """Return the source of a module with the fault; an error if it is not found exactly once."""
    name, lines = mutation.function.partition(":")[2], source.splitlines(keepends=True)
    spans = functions_of(source)
    if name not in spans:
        raise LookupError(f"{mutation}: there is no {name} in {mutation.module}")
    start, end = spans[name]
    part = "".join(lines[start:end])
    if (n_found := part.count(mutation.old)) != 1:
        raise LookupError(f"{mutation}: the fragment is there {n_found} times")
    changed = "".join([*lines[:start], part.replace(mutation.old, mutation.new), *lines[end:]])
    if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)):
        raise LookupError(f"{mutation}: nothing changes")
    return changed


def lost_rows(root: Path = ROOT, rows: Iterable[Mutation] = MUTATIONS) -> list[str]:
    """Return the rows that must be aimed anew, in words."""
    lost = []
    for row in rows:
        module, test = root / "src" / row.module, root / row.test
        if not module.exists() or not test.exists():
            lost.append(f"{row}: there is no {test if module.exists() else module}")
            continue
        try:
            mutated(module.read_text(encoding="utf-8"), row)
        except (LookupError, SyntaxError) as error:
            lost.append(str(error))
    return lost


def apply(row: Mutation) -> None:
    """Put the fault into the loaded module: its function gets other code, wherever it is used."""
    module = importlib.import_module(row.module.removesuffix(".py").replace("/", "."))
    path = ROOT / "src" / row.module
    code = compile(mutated(path.read_text(encoding="utf-8"), row), str(path), "exec")
    target: Any = module
    for name in row.function.partition(":")[2].split("."):
        parts = [x for x in code.co_consts if isinstance(x, CodeType) and x.co_name == name]
        (code,), target = parts, vars(target)[name]
    _function_of(target).__code__ = code


def _function_of(target: Any) -> FunctionType:  # noqa: ANN401 - whatever a class holds
    """Return the function behind a property, a class method or a cache."""
    while not isinstance(target, FunctionType):
        names = ("fget", "func", "__func__", "__wrapped__")
        target = next(getattr(target, name) for name in names if hasattr(target, name))
    return target


class Faults:
    """Plugin of pytest that runs the collected tests once per mutation, each time in a fork."""

    def __init__(self, rows: list[Mutation], record: Callable[[Mutation, bool], None]) -> None:
        self.rows, self.record = rows, record
        self.is_fork = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool | None:
        """Run the tests as they are, which must pass, and then with each fault."""
        began, timeout = time.perf_counter(), 3600.0
        for row in (None, *self.rows):
            if (child := os.fork()) == 0:
                self.is_fork = True
                os.setsid()  # so that what it starts ends with it
                if row is not None:
                    apply(row)
                return None  # pytest goes on with the tests
            status = _status_of(child, timeout)
            if row is None:
                if status != 0:
                    os._exit(status or 1)
                timeout = 10 * (time.perf_counter() - began) + GRACE
            else:
                self.record(row, status != 0)
        return True


def _status_of(child: int, timeout: float) -> int | None:
    """Return the exit code of a process; None if it had to be ended."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run_tests(test: str, rows: list[Mutation], record: Callable[[Mutation, bool], None]) -> None:
    """Collect the tests in a fork, and run them for each row; an error if they do not pass."""
    if (child := os.fork()) != 0:
        if (code := _status_of(child, 24 * 3600.0)) != 0:
            sys.exit(f"{test} does not pass without a mutation (exit code {code}).")
        return
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.chdir(ROOT)
    # Files next to this one have names of packages.
    sys.path[:] = [str(ROOT / "src"), str(ROOT / "reproductions" / "src"), *sys.path[1:]]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
    plugin = Faults(rows, record)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist", test]
    code = int(pytest.main(options, plugins=[plugin]))
    os._exit(code if plugin.is_fork or code != pytest.ExitCode.NO_TESTS_COLLECTED else 0)


class Results:
    """Outcomes by what was run, in a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.by_key: dict[str, dict[str, Any]] = {}
        self.read()

    def read(self) -> None:
        """Read what a fork has written."""
        if self.file.exists():
            self.by_key = json.loads(self.file.read_text(encoding="utf-8"))

    def add(self, key: str, row: Mutation, test: str, *, is_caught: bool) -> None:
        """Write an outcome."""
        self.by_key[key] = {"row": str(row), "test": test, "is_caught": is_caught}
        self.file.write_text(json.dumps(self.by_key, indent=1) + "\n", encoding="utf-8")


def run_rows(
    rows: list[Mutation], results: Results, *, corpus: bool
) -> list[tuple[Mutation, bool]]:
    """Return the outcome of each row; those that are known are not run."""
    screen = os.fdopen(os.dup(1), "w")
    keys: dict[Mutation, str] = {}
    groups: dict[str, list[Mutation]] = {}
    for row in rows:
        test = CORPUS if corpus else row.test
        source = (ROOT / "src" / row.module).read_text(encoding="utf-8")
        keys[row] = _digest([mutated(source, row), *_texts_of(ROOT / test)])
        if keys[row] not in results.by_key:
            groups.setdefault(test, []).append(row)
    for test, group in groups.items():

        def record(row: Mutation, is_caught: bool, test: str = test) -> None:  # noqa: FBT001
            results.add(keys[row], row, test, is_caught=is_caught)
            print(f"{'caught' if is_caught else 'MISSED'} {row}", file=screen, flush=True)

        run_tests(test, group, record)
        results.read()
    return [(row, bool(results.by_key[keys[row]]["is_caught"])) for row in rows]


def _texts_of(path: Path) -> list[str]:
    files = [path] if path.is_file() else sorted(x for x in path.rglob("*") if x.is_file())
    return [x.read_text(encoding="utf-8", errors="replace") for x in files if x.suffix != ".pyc"]


def _digest(texts: Iterable[str]) -> str:
    digest = blake2b(digest_size=8)
    for text in texts:
        digest.update(text.encode())
    return digest.hexdigest()


def print_summary(outcomes: list[tuple[Mutation, bool]]) -> float:
    """Print what was missed, and the share by module; return the share of all."""
    modules: dict[str, list[bool]] = {}
    counted = []
    for row, is_caught in outcomes:
        if not row.equivalent:
            modules.setdefault(row.function.partition(":")[0], []).append(is_caught)
            counted.append(is_caught)
        if not is_caught:
            reason = f" (equivalent: {row.equivalent})" if row.equivalent else ""
            print(f"missed: {row} by {row.test}{reason}")
        elif row.equivalent:
            print(f"caught, though said to be equivalent: {row}")
    print("\n| module | mutations | caught |\n|---|---|---|")
    for module, caught in sorted(modules.items()):
        print(f"| `{module}` | {len(caught)} | {sum(caught)} |")
    share = sum(counted) / len(counted) if counted else 1.0
    print(f"| all | {len(counted)} | {sum(counted)} ({share:.0%}) |")
    return share


def main() -> None:
    """Run all rows, or a share of them."""
    parser = argparse.ArgumentParser(
        description=textwrap.dedent(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--share", default="0/1", metavar="I/N", help="every N-th row from the I-th"
    )
    parser.add_argument("--only", default="", help="start of the names of functions")
    parser.add_argument("--corpus", action="store_true", help=f"run {CORPUS}")
    parser.add_argument("--aim", action="store_true", help="only look for the fragments")
    parser.add_argument("--out", type=Path, default=Path("mutations.json"))
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if lost := lost_rows():
        sys.exit("\n".join(["Aim these rows anew:", *lost]))
    if options.aim:
        print(f"{len(MUTATIONS)} rows are found in the code.")
        return
    if options.corpus and not (ROOT / CORPUS).is_dir():
        sys.exit(f"There is no {CORPUS}.")
    index, n_shares = map(int, options.share.split("/"))
    rows = [row for row in MUTATIONS if row.function.startswith(options.only)][index::n_shares]
    outcomes = run_rows(rows, Results(options.out), corpus=options.corpus)
    share = print_summary(outcomes)
    if not options.corpus and share < GOAL:
        sys.exit(f"Fewer than {GOAL:.0%} are caught.")


if __name__ == "__main__":
    main()
