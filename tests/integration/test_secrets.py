"""Secrets among the arguments reach the script, and nothing that is written or printed."""

import json
from pathlib import Path

import pytest

import seedproof as sp
from seedproof.errors import StudyChangedError
from seedproof.records.location import Location
from seedproof.records.manifest import StudyManifest
from seedproof.seeds import SeedPlan
from seedproof.testing.errors import WithFields
from seedproof.training.spec import StudySpec

KEY, TOKEN, PASSWORD = "k-7Fq2x9", "ghp_" + "a1B2" * 9, "hunter22"
ARGUMENTS = ["--lr", "0.1", "--api-key", KEY, f"HF_TOKEN={TOKEN}", f"db://me:{PASSWORD}@host"]
MASKED = ["--lr", "0.1", "--api-key", "***", "HF_TOKEN=***", "db://me:***@host"]
SCRIPT = """
import sys
from pathlib import Path
import numpy as np
import seedproof as sp

run = sp.current_run()
with Path("given.txt").open("a") as file:
    print(*sys.argv[1:], file=file)
assert list(run.arguments) == sys.argv[1:]
if "fail" in sys.argv:
    raise ValueError(f"refused: {sys.argv[1:]}")
answers = run.rng("init").integers(0, 2, 20)
run.log_predictions("test", predictions=answers, labels=[0, 1] * 10)
"""


@pytest.fixture(autouse=True)
def script(tmp_path):
    Path(tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")


def written(folder):
    """Return everything that files contain, except what the script wrote."""
    files = [
        path for path in Path(folder).rglob("*") if path.is_file() and path.name != "given.txt"
    ]
    return b"".join(path.read_bytes() for path in files if path.suffix != ".py")


def is_clean(text):
    """Return whether a text has no secret."""
    content = text if isinstance(text, bytes) else text.encode()
    return not any(secret.encode() in content for secret in (KEY, TOKEN, PASSWORD))


def train(seedproof, *options, arguments=ARGUMENTS, engine="serial"):
    how = ("--seeds", "2", "--store", "runs", "--engine", engine, *options)
    return seedproof("run", "train.py", *how, "--", *arguments)


@pytest.mark.parametrize("engine", ["serial", "processes"])
@pytest.mark.usefixtures("without_torch")
def test_script_gets_its_arguments_and_records_do_not(seedproof, tmp_path, engine):
    code, out, err = train(seedproof, engine=engine)

    assert code == 0
    assert (tmp_path / "given.txt").read_text().splitlines() == [" ".join(ARGUMENTS)] * 2
    assert all(name in err for name in ("--api-key", "HF_TOKEN", "argument 6"))
    plan = json.loads((tmp_path / "runs" / "study.json").read_bytes())["plan"]
    runs = [json.loads(path.read_bytes()) for path in tmp_path.glob("runs/runs/*/run.json")]
    assert [plan["arguments"], *(run["facts"]["arguments"] for run in runs)] == [MASKED] * 3
    seedproof("measure", "runs", "--out", "report")
    assert is_clean(out + err)
    assert is_clean(written(tmp_path))


def test_study_is_resumed_with_the_same_or_a_new_secret(seedproof, tmp_path):
    """Masked forms are compared; other arguments must stay the same."""
    train(seedproof)

    for arguments in (ARGUMENTS, [word.replace(KEY, "another") for word in ARGUMENTS]):
        code, _, _ = train(seedproof, arguments=arguments)
        assert code == 0
    assert len((tmp_path / "given.txt").read_text().splitlines()) == 2

    for arguments in (ARGUMENTS[2:], ["--lr", "0.2", *ARGUMENTS[2:]]):
        code, _, err = train(seedproof, arguments=arguments)
        assert code == 2
        assert err.count("SP501") == 1
        assert is_clean(err)


def test_no_argument_is_recorded_on_request(seedproof, tmp_path):
    for _ in range(2):
        code, _, err = train(seedproof, "--no-record-arguments")
        assert code == 0
        assert "--api-key" not in err

    assert len((tmp_path / "given.txt").read_text().splitlines()) == 2
    assert json.loads((tmp_path / "runs" / "study.json").read_bytes())["plan"]["arguments"] == []
    assert b"0.1" not in (tmp_path / "runs" / "study.json").read_bytes()


@pytest.mark.parametrize("engine", ["serial", "processes"])
@pytest.mark.usefixtures("without_torch")
def test_failure_that_quotes_its_arguments_is_masked(seedproof, tmp_path, engine):
    code, out, err = train(seedproof, arguments=[*ARGUMENTS, "fail"], engine=engine)
    _, shown, _ = seedproof("status", "runs", "--tracebacks")

    assert code == 4
    assert shown.count("refused") >= 2
    assert is_clean(out + err + shown)
    assert is_clean(written(tmp_path))


def test_function_gets_its_arguments(tmp_path):
    seen = []

    def fit(run: sp.Run) -> None:
        seen.append(run.arguments)
        run.log_predictions("test", predictions=[0, 1], labels=[0, 1])

    study = sp.Study("secret", fit, seeds=2, store=tmp_path / "store", arguments=ARGUMENTS)
    study.run(engine="serial", progress=False)
    run = sp.Study("loop", fit, seeds=1, store=tmp_path / "other", arguments=ARGUMENTS).ask()

    assert seen == [tuple(ARGUMENTS)] * 2
    assert run is not None
    assert run.arguments == tuple(ARGUMENTS)
    assert study.masked == ("--api-key", "HF_TOKEN", "argument 6")
    assert is_clean(written(tmp_path))


def test_store_that_recorded_secrets_is_not_continued(tmp_path):
    """Its runs have ids of the secret."""
    store = Location.of(tmp_path / "store")
    arguments = ("--token", "abc")
    spec = StudySpec("old", "print", SeedPlan.all(2), arguments=arguments)
    StudyManifest("old", plan=spec.as_json()).write(store)
    study = sp.Study("old", print, seeds=2, store=store, arguments=arguments)

    with pytest.raises(StudyChangedError, check=WithFields(setting="arguments")):
        study.status()
