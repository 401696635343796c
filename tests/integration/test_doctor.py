"""`seedproof doctor` on scripts with one fault each, and on scripts with none."""

import json
import os
import shutil
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "doctor"
CHECKS = (
    "It logs predictions",
    "The same seed gives the same bits",
    "Another seed changes something",
    "Another seed begins with other weights",
    "Each source changes something of its own",
    "Examples keep their ids",
    "Seeds are set before anything is drawn",
    "Runs do not write the same files",
    "It keeps to its threads",
)
VERDICTS = {"p": "pass", "f": "fail", "w": "warn", "s": "skip"}
# What the doctor says of each script: its exit code, a letter for each check in the order above,
# and what the cause must contain; `{line}` is the line of the script that is marked as its fault.
# Those without torch are trained where there is none, which is fast.
FAULTS = {
    "unseeded_augmentation": (1, "pfsssppps", "{line} makes a generator without a seed"),
    "hash_order": (1, "pfsssppps", "the order of a set, or hash()"),
    "left_checkpoint": (1, "pfsssppps", "left something behind that later ones find (best.npy)"),
    "first_come": (1, "pfsssppps", "{line} starts threads or processes"),
    "moving_split": (1, "pppspfpps", "which examples are held out depends on the seed"),
    "no_predictions": (1, "fssssspps", "nothing calls log_predictions"),
    "late_seed": (1, "pppsspfpp", "before {line}"),
    "constant_generator": (1, "ppfssppps", "{line} calls numpy.random.default_rng(0)"),
    "positions_as_ids": (1, "pppssfppp", "positions in an order that the seed shuffles"),
}
# With SEEDPROOF_FULL=1 only: together they take minutes.
FURTHER_FAULTS = {
    "constant_seed": (1, "ppfsspwpp", "{line} calls torch.manual_seed(42) in every run"),
    "clock_seed": (1, "pfsssppps", "{line} calls numpy.random.seed with another value"),
    "first_come_pool": (1, "pfsssppps", "{line} starts threads or processes"),
    "unseeded_workers": (1, "pfspspppp", "{line} makes a generator without a seed"),
    "drawn_split": (0, "pppspwpps", "held out follows the source data, and that alone"),
    "shared_file": (0, "pppspppws", "overwrite them"),
    "idle_source": (0, "pppswppps", "changes nothing: order"),
    "outside_sources": (0, "pppswppps", "drawn from the global generators outside"),
    "constant_order": (0, "ppppspwpp", "after {line} is the same under all seeds"),
    "fixed_start": (0, "pppwppppp", "a generator whose seed is fixed"),
    "own_threads": (0, "pppsspppw", "{line} calls torch.set_num_threads"),
}
CLEAN = {
    "clean": "ppppppppp",
    "clean_numpy": "pppspppps",
    "clean_sklearn": "pppssppps",
    "clean_own_seed": "ppppspppp",
    "clean_gan": "ppppspppp",
}
ARGUMENTS = {
    "late_seed": ("--", "--seed", "{seed}"),
    "clean_own_seed": ("--", "--seed", "{seed}"),
}
full_only = pytest.mark.skipif(
    os.environ.get("SEEDPROOF_FULL") != "1", reason="slow; SEEDPROOF_FULL=1 runs it"
)


def cases(first, further):
    """Names and expectations, for pytest."""
    return [
        *(pytest.param(name, case, id=name) for name, case in first.items()),
        *(pytest.param(name, case, id=name, marks=full_only) for name, case in further.items()),
    ]


@pytest.fixture
def doctor(seedproof, request, tmp_path):
    """Examines a copy of a script, in an empty folder: exit code, stdout, stderr."""

    def examine(name, *options):
        shutil.copy(SCRIPTS / f"{name}.py", tmp_path)
        if "import torch" not in (SCRIPTS / f"{name}.py").read_text(encoding="utf-8"):
            request.getfixturevalue("without_torch")
        target = f"{name}.py", *ARGUMENTS.get(name, ())
        return seedproof("doctor", "--workers", 1, *options, *target)

    return examine


def line_of(name):
    """Where the fault of a script is."""
    lines = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8").splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if line.endswith("# fault"))
    return f"{name}.py:{number}"


def verdicts(letters):
    """The verdict on each check."""
    return dict(zip(CHECKS, (VERDICTS[letter] for letter in letters), strict=True))


# ------------------------------------------------------------------------------ the table


@pytest.mark.parametrize(("name", "expected"), cases(FAULTS, FURTHER_FAULTS))
def test_each_planted_fault_is_found_and_nothing_else(name, expected, doctor):
    """The check that fails or warns is the one in the table, and its cause is the fault."""
    code, letters, cause = expected

    left, out, err = doctor(name, "--json")

    found = json.loads(out)
    assert {one["check"]: one["verdict"] for one in found["findings"]} == verdicts(letters)
    assert (left, err, found["is_healthy"], found["failure"]) == (code, "", code == 0, None)
    named = [one for one in found["findings"] if one["verdict"] in {"fail", "warn"}]
    assert cause.replace("{line}", line_of(name)) in named[0]["cause"]
    assert all(one["fix"] for one in named)


@pytest.mark.parametrize(("name", "letters"), cases({}, CLEAN))
def test_a_clean_training_passes(name, letters, doctor):
    """Whoever seeds it, with workers, with two optimizers, without torch."""
    code, out, err = doctor(name, "--json")

    found = json.loads(out)
    assert {one["check"]: one["verdict"] for one in found["findings"]} == verdicts(letters)
    assert (code, err, found["is_healthy"]) == (0, "", True)


# ------------------------------------------------------------------------------ budgets


@full_only
def test_a_few_steps_are_enough(doctor):
    """The weights of five steps answer everything but the ids."""
    code, out, _ = doctor("clean", "--steps", 5, "--json")

    findings = {one["check"]: one for one in json.loads(out)["findings"]}
    assert code == 0
    assert {check: one["verdict"] for check, one in findings.items()} == verdicts("sppppsppp")
    assert findings[CHECKS[1]]["found"] == "the weights over 5 steps are identical"
    assert findings[CHECKS[4]]["found"] == (
        "init: the weights at the start; order: the weights after step 1; "
        "dropout: the weights after step 1"
    )


@full_only
def test_a_training_within_its_seconds_is_examined_in_full(doctor):
    """A minute is more than it needs."""
    code, out, _ = doctor("clean", "--seconds", 60, "--json")

    assert code == 0
    found = {one["check"]: one["verdict"] for one in json.loads(out)["findings"]}
    assert found == verdicts("p" * 9)


def test_a_budget_that_shows_nothing_is_a_fault(doctor):
    """A doctor that saw nothing does not call a training healthy."""
    code, out, _ = doctor("clean_numpy", "--seconds", 0.001, "--json")

    found = {one["check"]: one["verdict"] for one in json.loads(out)["findings"]}
    assert (code, found) == (1, verdicts("fssssspps"))


# ------------------------------------------------------------------------------ no training


def test_a_training_that_raises_is_shown(doctor):
    """Exit code 4, with the message and the line."""
    code, out, err = doctor("raises")

    line = line_of("raises").partition(":")[2]
    assert (code, err) == (4, "")
    assert out.startswith("raises.py does not train (the first seed): ")
    assert "labels of shape (19,)" in " ".join(out.split())
    # Without spaces: a line of 80 columns may end anywhere in a long path.
    assert f'raises.py",line{line}' in "".join(out.split())


def test_a_training_that_works_once_says_when_it_failed(doctor):
    """What the first training left is in the way of the second."""
    code, out, _ = doctor("once_only", "--json")

    found = json.loads(out)
    assert (code, found["is_healthy"], found["findings"]) == (4, False, [])
    assert found["during"] == "the same seed again"
    assert "FileExistsError" in found["failure"]
    assert 'once_only.py", line ' + line_of("once_only").partition(":")[2] in found["traceback"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py"], "is no file"),
        (["nowhere:train"], "is no function that can be found"),
        ([str(SCRIPTS / "raises.py"), "--steps", "0"], "0 steps are not possible"),
        ([str(SCRIPTS / "raises.py"), "--seconds", "0"], "0.0 seconds are not possible"),
        ([str(SCRIPTS / "raises.py"), "--seconds", "inf"], "inf seconds are not possible"),
        ([str(SCRIPTS / "raises.py"), "--workers", "0"], "workers is 0"),
    ],
    ids=["no script", "no module", "no step", "no time", "all time", "no worker"],
)
def test_bad_usage_is_refused_before_anything_is_trained(arguments, message, seedproof):
    """Exit code 2 and one line; this training would fail with 4."""
    code, out, err = seedproof("doctor", *arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


# ------------------------------------------------------------------------------ what is shown


def test_the_page_fits_into_80_columns(doctor, monkeypatch):
    """Each check with its sign, and what is wrong with what was found, the cause and the fix."""
    monkeypatch.setenv("COLUMNS", "80")

    code, out, err = doctor("no_predictions")

    lines = out.splitlines()
    assert (code, err) == (1, "")
    assert max(map(len, lines)) <= 80
    signs = {"p": "✓", "f": "✗", "w": "!", "s": "–"}
    shown = [line for line in lines if line[:1] in signs.values()]
    letters = FAULTS["no_predictions"][1]
    assert shown == [f"{signs[a]} {check}" for a, check in zip(letters, CHECKS, strict=True)]
    assert " ".join(out.split()).startswith(
        "✗ It logs predictions found it ended without logging any cause nothing calls "
        "log_predictions fix add: sp.current_run().log_predictions("
    )
    assert lines[-1] == "1 fault found."


# ------------------------------------------------------------------------------ functions


@pytest.mark.usefixtures("without_torch")
def test_a_function_is_examined_like_a_script(seedproof, tmp_path):
    """By its name; several trainings at a time do not disturb each other."""
    shutil.copy(SCRIPTS / "clean_function.py", tmp_path)

    code, out, err = seedproof("doctor", "clean_function:train", "--workers", 2, "--json")

    found = json.loads(out)
    assert (code, err, found["target"]) == (0, "", "clean_function:train")
    assert {one["check"]: one["verdict"] for one in found["findings"]} == verdicts("pppspppps")
