"""`seedproof doctor` on scripts with one fault each, and on scripts with none."""

import json
import math
import os
import shutil
from pathlib import Path

import pytest

from seedproof.testing.errors import WithFields

SCRIPTS = Path(__file__).parent / "doctor"
CHECKS = (
    "logs-predictions",
    "same-seed-same-bits",
    "other-seed-changes-something",
    "other-seed-other-start",
    "sources-change-something",
    "stable-ids",
    "seeds-before-draws",
    "separate-files",
    "number-of-threads",
    "usable-answers",
)
VERDICTS = {"p": "pass", "f": "fail", "w": "warn", "s": "skip"}


def call_of(function, seed):
    """Return a call in the marked line that sets a seed, as in a cause."""
    return {"code": "seed-call", "place": "{line}", "function": function, "seed": seed}


# For each script: the exit code, a letter for each check in the order above, and what the cause
# must hold; `{line}` is the line of the script that is marked as its fault.
# Those without torch are trained where there is none, which is fast.
FAULTS = {
    "unseeded_augmentation": (
        1, "pfssspppsp", {"code": "unseeded-generator", "places": ["{line}"]},
    ),
    "hash_order": (1, "pfssspppsp", {"code": "order-of-hashes"}),
    "no_predictions": (1, "fsssssppss", {"code": "no-call"}),
    "constant_generator": (
        1,
        "ppfsspppsp",
        {"code": "constant-seed", "call": call_of("numpy.random.default_rng", "0")},
    ),
    "positions_as_ids": (1, "pppssfpppp", {"code": "shuffled-ids"}),
}  # fmt: skip
# With SEEDPROOF_FULL=1 only: together they take minutes.
FURTHER_FAULTS = {
    "left_checkpoint": (1, "pfssspppsp", {"code": "left-behind", "files": ["best.npy"]}),
    "first_come": (1, "pfssspppsp", {"code": "order-of-workers", "place": "{line}"}),
    "moving_split": (1, "pppspfppsp", {"code": "held-out-by-seed"}),
    "late_seed": (1, "pppsspfppp", {"code": "drawn-before-seed", "place": "{line}"}),
    "constant_seed": (
        1, "ppfsspwppp", {"code": "constant-seed", "call": call_of("torch.manual_seed", "42")},
    ),
    "clock_seed": (
        1,
        "pfssspppsp",
        {"code": "moving-seed", "place": "{line}", "function": "numpy.random.seed"},
    ),
    "first_come_pool": (1, "pfssspppsp", {"code": "order-of-workers", "place": "{line}"}),
    "unseeded_workers": (1, "pfspsppppp", {"code": "unseeded-generator", "places": ["{line}"]}),
    "drawn_split": (0, "pppspwppsp", {"code": "split-by-source"}),
    "shared_file": (0, "pppspppwsp", {"code": "files-overwritten"}),
    "idle_source": (0, "pppswpppsp", {"code": "idle-sources", "sources": ["order"]}),
    "outside_sources": (0, "pppswpppsp", {"code": "global-generators"}),
    "constant_order": (0, "ppppspwppp", {"code": "constant-draws", "place": "{line}"}),
    "fixed_start": (0, "pppwpppppp", {"code": "fixed-start"}),
    "own_threads": (0, "pppsspppwp", {"code": "threads-set", "place": "{line}"}),
}  # fmt: skip
CLEAN = {
    "clean": "pppppppppp",
    "clean_numpy": "pppsppppsp",
    "clean_sklearn": "pppsspppsp",
    "clean_own_seed": "ppppsppppp",
    "clean_gan": "ppppsppppp",
}
ARGUMENTS = {
    "late_seed": ("--", "--seed", "{seed}"),
    "clean_own_seed": ("--", "--seed", "{seed}"),
}
full_only = pytest.mark.skipif(
    os.environ.get("SEEDPROOF_FULL") != "1", reason="slow; SEEDPROOF_FULL=1 runs it"
)


def cases(first, further):
    return [
        *(pytest.param(name, case, id=name) for name, case in first.items()),
        *(pytest.param(name, case, id=name, marks=full_only) for name, case in further.items()),
    ]


@pytest.fixture
def doctor(seedproof, request, tmp_path):
    """Return a function that examines a copy of a script in an empty folder."""

    def examine(name, *options):
        shutil.copy(SCRIPTS / f"{name}.py", tmp_path)
        if "import torch" not in (SCRIPTS / f"{name}.py").read_text(encoding="utf-8"):
            request.getfixturevalue("without_torch")
        target = f"{name}.py", *ARGUMENTS.get(name, ())
        return seedproof("doctor", "--workers", 1, *options, *target)

    return examine


def line_of(name):
    """Return the place of the fault of a script."""
    lines = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8").splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if line.endswith("# fault"))
    return f"{name}.py:{number}"


def verdicts(letters):
    return dict(zip(CHECKS, (VERDICTS[letter] for letter in letters), strict=True))


def verdicts_of(diagnosis):
    return {finding["code"]: finding["verdict"] for finding in diagnosis["findings"]}


@pytest.mark.parametrize(("name", "expected"), cases(FAULTS, FURTHER_FAULTS))
def test_each_planted_fault_is_the_only_one_reported(name, expected, doctor):
    """The check that fails or warns is the one in the table, and its cause is the fault."""
    code, letters, cause = expected

    left, out, err = doctor(name, "--json")

    result = json.loads(out)
    assert verdicts_of(result) == verdicts(letters)
    assert (left, err, result["is_healthy"], result["failure"]) == (code, "", code == 0, None)
    faults = [finding for finding in result["findings"] if finding["verdict"] in {"fail", "warn"}]
    details = faults[0]["details"]["cause"]
    expected = json.loads(json.dumps(cause).replace("{line}", line_of(name)))
    assert {field: details.get(field) for field in expected} == expected
    assert all(finding["fix"] for finding in faults)


@pytest.mark.parametrize(("name", "letters"), cases({}, CLEAN))
def test_clean_training_passes(name, letters, doctor):
    """However it is seeded, with workers, with two optimizers, without torch."""
    code, out, err = doctor(name, "--json")

    result = json.loads(out)
    assert verdicts_of(result) == verdicts(letters)
    assert (code, err, result["is_healthy"]) == (0, "", True)


@full_only
def test_a_few_steps_suffice(doctor):
    """The weights after five steps decide everything but the ids."""
    code, out, _ = doctor("clean", "--steps", 5, "--json")

    result = json.loads(out)
    assert code == 0
    assert verdicts_of(result) == verdicts("sppppsppps")
    seen = {finding["code"]: finding["details"]["found"] for finding in result["findings"]}
    assert seen["same-seed-same-bits"] == {
        "code": "identical", "compared": [{"code": "weights", "n_steps": 5}],
    }  # fmt: skip
    effects = {
        effect["source"]: [part["step"] for part in effect["differences"]]
        for effect in seen["sources-change-something"]["effects"]
    }
    assert effects == {"init": [0], "order": [1], "dropout": [1]}


@full_only
def test_training_within_its_time_limit_is_examined_in_full(doctor):
    code, out, _ = doctor("clean", "--seconds", 60, "--json")

    assert code == 0
    assert verdicts_of(json.loads(out)) == verdicts("p" * len(CHECKS))


def test_budget_too_small_to_observe_anything_is_a_failure(doctor):
    code, out, _ = doctor("clean_numpy", "--seconds", 0.001, "--json")

    result = json.loads(out)
    assert (code, verdicts_of(result)) == (1, verdicts("fsssssppss"))
    assert result["findings"][0]["details"]["found"]["code"] == "cut-at-start"


def test_training_that_raises_is_reported(doctor):
    """Exit code 4, with the message and the line."""
    code, out, err = doctor("raises")
    result = json.loads(doctor("raises", "--json")[1])

    line = line_of("raises").partition(":")[2]
    assert (code, err) == (4, "")
    assert (result["during_code"], result["is_healthy"]) == ("first-seed", False)
    assert "(19,)" in result["failure"]  # the shape of the labels
    assert f'raises.py", line {line}' in result["traceback"]
    # Without spaces: a line of 80 columns may end anywhere in a long path.
    shown = "".join(out.split())
    assert "".join(result["failure"].split()) in shown
    assert f'raises.py",line{line}' in shown


def test_training_that_fails_the_second_time_is_reported(doctor):
    """Files of the first training break the second."""
    code, out, _ = doctor("once_only", "--json")

    result = json.loads(out)
    assert (code, result["is_healthy"], result["findings"]) == (4, False, [])
    assert result["during_code"] == "same-seed-second"
    assert "FileExistsError" in result["failure"]
    assert 'once_only.py", line ' + line_of("once_only").partition(":")[2] in result["traceback"]


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        (["nowhere.py"], "SP504", {}),
        (["nowhere:train"], "SP504", {"name": "nowhere:train"}),
        ([str(SCRIPTS / "raises.py"), "--steps", "0"], "SP115", {"steps": 0}),
        ([str(SCRIPTS / "raises.py"), "--seconds", "0"], "SP115", {"seconds": 0.0}),
        ([str(SCRIPTS / "raises.py"), "--seconds", "inf"], "SP115", {"seconds": math.inf}),
        (
            [str(SCRIPTS / "raises.py"), "--workers", "0"],
            "SP115",
            {"option": "workers", "number": 0},
        ),
    ],
    ids=["no-script", "no-module", "no-step", "no-time", "all-time", "no-worker"],
)
def test_bad_usage_is_refused_before_training(arguments, code, fields, refused):
    """Exit code 2 and one line; this training would fail with 4."""
    error = refused("doctor", *arguments)

    assert error.code == code
    assert WithFields(**fields)(error), error.fields


def test_report_fits_into_80_columns(doctor, monkeypatch):
    """Each check with its sign, then the observation, the cause and the fix."""
    monkeypatch.setenv("COLUMNS", "80")

    code, out, err = doctor("no_predictions")

    lines = out.splitlines()
    assert (code, err) == (1, "")
    assert max(map(len, lines)) <= 80
    signs = {"p": "✓", "f": "✗", "w": "!", "s": "–"}
    shown = [line[:1] for line in lines if line[:1] in signs.values()]
    assert shown == [signs[letter] for letter in FAULTS["no_predictions"][1]]
    fault = json.loads(doctor("no_predictions", "--json")[1])["findings"][0]
    text = " ".join(out.split())
    places = [text.index(" ".join(fault[part].split())) for part in ("found", "cause", "fix")]
    assert places == sorted(places)


@pytest.mark.usefixtures("without_torch")
def test_function_is_examined_like_a_script(seedproof, tmp_path):
    """By its name; trainings at the same time do not disturb each other."""
    shutil.copy(SCRIPTS / "clean_function.py", tmp_path)

    code, out, err = seedproof("doctor", "clean_function:train", "--workers", 2, "--json")

    result = json.loads(out)
    assert (code, err, result["target"]) == (0, "", "clean_function:train")
    assert verdicts_of(result) == verdicts("pppsppppsp")
