"""Seeds, logs and commits of a run."""

import json
import random  # noqa: TID251 - to pin what a run makes of it
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
import torch

import seedproof as sp
from seedproof.errors import (
    DtypeError,
    DuplicateExampleError,
    EmptyInputError,
    InputError,
    OptionError,
    ProbabilityError,
    RunExistsError,
    UnknownNameError,
)
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.reader import Store
from seedproof.seeds import SOURCES, SeedPlan
from seedproof.testing.errors import WithFields, warning_codes
from seedproof.training import run as run_module
from seedproof.training.rng import seed_everything
from seedproof.training.run import Run, RunWarning, current_run

PROBS = [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]]


@pytest.fixture(autouse=True)
def _no_current_run(monkeypatch):
    """Forget runs of other tests."""
    monkeypatch.setattr(run_module, "_current", None)


@pytest.fixture
def base_and_order(make_run):
    """Return two runs that differ only in the order of examples."""
    plan = SeedPlan.one_at_a_time(2, ["order"])
    return make_run(0, plan=plan), make_run(1, plan=plan)


def test_run_has_the_facts_of_its_specification(make_run):
    """Name, arm, arguments and seeds, as the study planned them."""
    run = make_run(3, arms=("none", "aswa"), arguments=("--lr", "0.1"))

    assert (run.name, run.arm, run.arguments) == ("1", "aswa", ("--lr", "0.1"))
    assert run.seeds == SeedPlan.all(2).assignments()[1].seeds
    paired = make_run(2, arms=("none", "aswa"))
    assert run.seed == paired.seed
    assert run.rng("init").random(5).tolist() == paired.rng("init").random(5).tolist()
    assert run.seed != make_run(0).seed


def test_generators_of_a_source_continue(make_run):
    """Each call returns the same object, so no number is drawn twice."""
    run, fresh = make_run(), make_run()

    first = run.rng("order").random(3).tolist() + run.rng("order").random(2).tolist()
    of_torch = [torch.rand(2, generator=run.torch_generator("order")) for _ in range(2)]

    assert run.rng("order") is run.rng("order")
    assert run.torch_generator("order") is run.torch_generator("order")
    assert first == fresh.rng("order").random(5).tolist()
    whole = torch.rand(4, generator=fresh.torch_generator("order"))
    assert torch.equal(torch.cat(of_torch), whole)


def test_streams_of_a_run_never_change(make_run):
    """A later version must draw the same numbers."""
    run = make_run()

    assert run.rng("order").integers(0, 1000, 5).tolist() == [616, 424, 98, 834, 425]
    assert run.torch_generator("order").initial_seed() == 3477774399924266664
    with run.seeded("order"):
        assert random.getrandbits(32) == 1341734946
    with run.active():
        assert random.getrandbits(32) == 3813739939


def test_sources_have_independent_generators(make_run):
    """Five streams of numpy and of torch; a draw from one moves no other."""
    run, fresh = make_run(), make_run()

    run.rng("order").random(100)

    assert run.rng("init").random() == fresh.rng("init").random()
    states = [each.torch_generator("order").get_state() for each in (run, fresh)]
    assert torch.equal(*states)
    of_numpy = {tuple(run.rng(source).random(3)) for source in SOURCES}
    of_torch = {run.torch_generator(source).initial_seed() for source in SOURCES}
    assert len(of_numpy) == len(of_torch) == len(SOURCES)


def test_only_the_varied_source_changes(base_and_order, draw):
    """If two runs differ in `order`, the streams of all other sources are equal."""
    for source in SOURCES:
        drawn = []
        for run in base_and_order:
            with run.seeded(source):
                of_globals = draw(2)
            of_torch = torch.rand(3, generator=run.torch_generator(source)).tolist()
            drawn.append((of_globals, run.rng(source).random(3).tolist(), of_torch))
        for first, second in zip(*drawn, strict=True):
            assert (first == second) is (source != "order")


@pytest.mark.usefixtures("own_generators")
def test_seeded_blocks_continue_and_restore_the_generators(make_run, draw):
    """Also after an exception."""
    with make_run().seeded("init"):
        whole = draw(3)
    seed_everything(np.random.SeedSequence(1))
    undisturbed = draw(2)
    seed_everything(np.random.SeedSequence(1))
    run = make_run()

    with run.seeded("init"):
        drawn = draw(1)
    first = draw(1)
    with suppress(ZeroDivisionError), run.seeded("init"):
        drawn += draw(2)
        raise ZeroDivisionError

    assert drawn == whole
    assert first + draw(1) == undisturbed


def test_sources_are_seeded_independently(make_run, draw):
    """A block of one source does not move another."""
    with make_run().seeded("dropout"):
        alone = draw(2)
    run = make_run()

    with run.seeded("init"):
        of_init = draw(2)
        with run.seeded("dropout"):
            inside = draw(2)

    assert inside == alone
    assert of_init != alone


@pytest.mark.parametrize("what", ["rng", "torch_generator", "seeded"])
def test_unknown_source_is_refused(make_run, what):
    """A typo would otherwise be a stream of its own."""
    with pytest.raises(
        UnknownNameError,
        check=WithFields(name="shuffle", known=SOURCES),
    ):
        getattr(make_run(), what)("shuffle")


@pytest.mark.usefixtures("own_generators")
@pytest.mark.parametrize("fails", [False, True])
def test_active_run_seeds_everything_and_restores_it(make_run, draw, fails):
    """Global generators, threads and torch's flags; also after an exception."""
    seed_everything(np.random.SeedSequence(1))
    undisturbed = draw(2)
    seed_everything(np.random.SeedSequence(1))
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    drawn = []
    try:
        for _ in range(2):
            with suppress(ZeroDivisionError), make_run(threads=1).active():
                drawn.append(draw(3))
                assert torch.get_num_threads() == 1
                assert torch.are_deterministic_algorithms_enabled()
                if fails:
                    raise ZeroDivisionError

        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert drawn[0] == drawn[1]
    assert draw(2) == undisturbed
    assert not torch.are_deterministic_algorithms_enabled()


def test_every_source_changes_the_draws_of_an_active_run(make_run, draw):
    """For scripts that do not separate sources."""
    plan = SeedPlan.one_at_a_time(2, SOURCES)
    drawn = set()

    for index in range(1 + len(SOURCES)):
        with make_run(index, plan=plan).active():
            drawn.add(tuple(draw(1)[0]))

    assert len(drawn) == 1 + len(SOURCES)


def test_deterministic_algorithms_can_be_switched_off(make_run):
    """`deterministic=False` does not change torch's choice."""
    with make_run(deterministic=False).active():
        assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("fails", [False, True])
def test_active_run_is_the_current_one(make_run, fails):
    """Runs may be nested, also with an exception."""
    outer, inner = make_run(0), make_run(1)

    with outer.active():
        assert current_run() is outer
        with suppress(ZeroDivisionError), inner.active():
            assert sp.current_run() is inner
            if fails:
                raise ZeroDivisionError
        assert current_run() is outer
    with pytest.warns(RunWarning) as caught:
        current_run()
    assert warning_codes(caught) == ["no-run"]


def test_program_without_seedproof_run_gets_a_run_that_is_not_stored(tmp_path, monkeypatch):
    """It warns once; the run is always the same, and has the seeds of a first run."""
    monkeypatch.chdir(tmp_path)
    with pytest.warns(RunWarning) as caught:
        run = current_run()
    assert warning_codes(caught) == ["no-run"]

    run.log_predictions("test", probs=PROBS, labels=[0, 1, 1])
    run.log_explanations("test", "lime", ids=[0], tokens=[["a"]], scores=[[1.0]])
    run.log_scalar("loss", 0.5)
    manifest = run.commit({})

    assert current_run() is run
    assert run.seeds == SeedPlan.all(1).assignments()[0].seeds
    assert run.folder is None
    assert manifest.parts == ()
    assert manifest.scalars == {"loss": 0.5}
    assert list(tmp_path.iterdir()) == []
    # Its run is usually not committed, so logs are checked at once.
    with pytest.raises(ProbabilityError, check=WithFields(example=0, probability=-1.0)):
        run.log_predictions("dev", probs=[[2.0, -1.0]])


def test_invalid_records_are_refused_without_a_store(make_run):
    """With the same errors as under `seedproof run`."""
    logits, twice = make_run(kept=False), make_run(kept=False)
    logits.log_predictions("test", probs=[[2.0, -1.0]])
    twice.log_predictions("test", ids=[3, 3], probs=PROBS[:2])

    with pytest.raises(ProbabilityError, check=WithFields(example=0, run="0", probability=-1.0)):
        logits.commit({})
    with pytest.raises(DuplicateExampleError, check=WithFields(twice=3)):
        twice.commit({})


def test_last_value_of_a_scalar_is_kept(make_run):
    """Floats, integers, and arrays or tensors with one element."""
    run = make_run(kept=False)

    run.log_scalar("loss", 2.0)
    run.log_scalar("loss", torch.tensor([0.25], requires_grad=True))
    run.log_scalar("steps", np.int64(7))

    assert run.scalars == {"loss": 0.25, "steps": 7.0}
    assert all(type(value) is float for value in run.scalars.values())


def test_retry_of_a_run_finds_its_checkpoints(make_run, tmp_path):
    """Another run has another folder."""
    (make_run(0).checkpoint_dir / "epoch-3.pt").write_text("weights")

    again, other = make_run(0), make_run(1)

    assert (again.checkpoint_dir / "epoch-3.pt").read_text() == "weights"
    assert again.checkpoint_dir.is_relative_to(tmp_path / "store" / "runs" / again.spec.run_id)
    assert list(other.checkpoint_dir.iterdir()) == []


def test_checkpoints_of_a_remote_store_are_local(make_run, tmp_path, monkeypatch):
    """Training libraries need a path, which an object store does not have."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    spec = make_run().spec
    # For us, such a filesystem is remote like an object store.
    elsewhere = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    run = Run(spec, Location(elsewhere, "bucket/runs/1"))

    folder = run.checkpoint_dir

    assert folder.is_dir()
    assert folder.is_relative_to(tmp_path / "temporary")
    assert folder == Run(spec, Location(elsewhere, "bucket/runs/1")).checkpoint_dir
    assert folder != Run(spec, Location(elsewhere, "other/runs/1")).checkpoint_dir
    assert folder != make_run(1, kept=False).checkpoint_dir


def test_different_code_finds_no_checkpoint(make_run):
    """It must not continue from weights that it would not have produced."""
    run = make_run()
    again, changed = (Run(run.spec, run.folder, code=code) for code in ("a" * 32, "b" * 32))
    (again.checkpoint_dir / "weights").write_text("old")

    assert list(changed.checkpoint_dir.iterdir()) == []
    assert Run(run.spec, run.folder, code="a" * 32).checkpoint_dir == again.checkpoint_dir


def test_committed_run_is_read_back(make_run, read_back):
    """Predictions of two splits, explanations, scalars, seeds and facts."""
    run = make_run(1, arms=("none", "aswa"))
    run.log_predictions("test", ids=[7, 3, 5], probs=PROBS, labels=[0, 1, 1])
    run.log_predictions("dev", ids=["b", "a"], predictions=["fox", "cat"], labels=["cat", "cat"])
    run.log_explanations(
        "test", "lime", ids=[5, 3], tokens=[["a", "b"], ["c"]], scores=[[0.5, -1.0], [2.0]], draw=1
    )
    run.log_scalar("loss", 0.5)

    written = run.commit({"threads": 1, "code": {"train.py": "00ff"}})

    assert RunManifest.load(run.folder) == written
    assert (written.run_id, written.name, written.arm) == (run.spec.run_id, "0", "aswa")
    assert (written.status, written.scalars) == ("finished", {"loss": 0.5})
    assert written.seeds == run.seeds
    assert written.facts == {"threads": 1, "code": {"train.py": "00ff"}}
    test, dev = (read_back(run.folder, written.parts, split) for split in ("test", "dev"))
    assert (test.ids, test.labels, test.classes) == ([3, 5, 7], [1, 1, 0], ("0", "1"))
    assert test.values == [PROBS[1], PROBS[2], PROBS[0]]
    assert (dev.ids, dev.labels, dev.values) == (["a", "b"], [0, 0], [0, 1])
    assert dev.classes == ("cat", "fox")
    (why,) = [part for part in written.parts if part.path.startswith("explanations/test/lime/")]
    assert pq.read_table(Path(run.folder.path) / why.path).to_pylist() == [
        {"example": 3, "tokens": ["c"], "scores": [2.0], "draw": 1},
        {"example": 5, "tokens": ["a", "b"], "scores": [0.5, -1.0], "draw": 1},
    ]
    assert len(written.parts) == 3


def test_dynamics_are_committed_as_they_were_when_logged(make_run):
    """A later update is not kept, and a run with dynamics only is not empty."""
    run = make_run()
    dynamics = sp.Dynamics(2, ids=["b", "a"], labels=[0, 1])
    dynamics.update(np.array([0, 0]))
    assert run.is_empty

    run.log_dynamics("dev", dynamics)
    dynamics.update(np.array([1, 1]))

    assert not run.is_empty
    (part,) = run.commit({}).parts
    assert pq.read_table(Path(run.folder.path) / part.path).select(
        ["example", "n_steps", "classes", "counts"]
    ).to_pylist() == [
        {"example": "a", "n_steps": 1, "classes": [0], "counts": [1]},
        {"example": "b", "n_steps": 1, "classes": [0], "counts": [1]},
    ]


@pytest.mark.parametrize("kept", [True, False], ids=["store", "no-store"])
def test_invalid_dynamics_are_refused(make_run, kept):
    """A duplicate split, an invalid name, or no updates."""
    run = make_run(kept=kept)
    dynamics = sp.Dynamics(2, ids=["b", "a"])

    with pytest.raises(EmptyInputError):
        run.log_dynamics("dev", dynamics)
    dynamics.update(np.array([0, 0]))
    with pytest.raises(OptionError, check=WithFields(name="../dev", noun="split")):
        run.log_dynamics("../dev", dynamics)
    run.log_dynamics("dev", dynamics)
    with pytest.raises(OptionError, check=WithFields(split="dev")):
        run.log_dynamics("dev", dynamics)
    run.log_dynamics("test", dynamics)

    assert len(run.commit({}).parts) == (2 if kept else 0)


@pytest.mark.parametrize(
    ("tokens", "position"),
    [([["a", "film"], "no"], 1), ("no", None)],
    ids=["one-of-them", "all"],
)
def test_text_that_is_not_split_into_tokens_is_refused(make_run, tokens, position):
    """Its letters would count as words."""
    with pytest.raises(DtypeError, check=WithFields(position=position)):
        make_run().log_explanations(
            "test", "lime", ids=[0, 1], tokens=tokens, scores=[[1.0, 2.0], [1.0, 2.0]]
        )


def test_score_that_is_not_a_number_is_refused_with_its_position(make_run):
    """The advice is not to omit the token, which other runs would keep."""
    run = make_run()
    scores = [[1.0, 2.0], [1.0, float("nan")]]
    run.log_explanations(
        "test", "lime", ids=[0, 7], tokens=[["a", "film"], ["not", "bad"]], scores=scores
    )

    with pytest.raises(InputError, check=WithFields(place=1)):
        run.commit({})


def test_run_json_is_written_last(make_run, monkeypatch):
    """When it is created, every file that it lists is complete."""
    seen = []
    commit = Location.commit

    def watched(place, content, **settings):
        folder = Path(place.path).parent
        sizes = {part["path"]: part["size"] for part in json.loads(content)["parts"]}
        seen.append(all((folder / path).stat().st_size == size for path, size in sizes.items()))
        assert len(sizes) == 3
        commit(place, content, **settings)

    monkeypatch.setattr(Location, "commit", watched)
    run = make_run()
    for split in ("test", "dev"):
        run.log_predictions(split, probs=PROBS)
    run.log_explanations("test", "lime", ids=[0], tokens=[["a"]], scores=[[1.0]])

    run.commit({})

    assert seen == [True]


def test_run_without_commit_does_not_exist(make_run, tmp_path):
    """Readers see it only with its `run.json`."""
    store = Location.of(tmp_path / "store")
    StudyManifest("small").write(store)
    broken, fine = make_run(0), make_run(1)
    broken.log_predictions("dev", probs=PROBS)
    broken.log_predictions("test", probs=[[0.5, 0.75]])
    fine.log_predictions("test", probs=PROBS)

    with pytest.raises(ProbabilityError, check=WithFields(sum=1.25, tolerance=0.001)):
        broken.commit({})
    fine.commit({})

    assert [run.name for run in Store(store).runs] == ["1"]
    assert list(Path(broken.folder.path).rglob("*.parquet"))  # written, and listed nowhere


def test_run_is_committed_once(make_run):
    """A second commit is refused, and the first one is kept."""
    first, second = make_run(), make_run()
    first.log_scalar("loss", 1.0)
    second.log_scalar("loss", 2.0)
    first.commit({})

    with pytest.raises(RunExistsError) as caught:
        second.commit({})
    assert Path(str(caught.value.fields["path"])).name == "run.json"

    assert RunManifest.load(first.folder).scalars == {"loss": 1.0}
    assert [path.name for path in Path(first.folder.path).iterdir()] == ["run.json"]
