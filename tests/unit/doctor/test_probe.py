"""One training under observation, in this process."""

import pickle
import signal
from pathlib import Path
from textwrap import dedent

import cloudpickle
import pytest

from seedproof.doctor import probe as module
from seedproof.doctor.checks import check_answers
from seedproof.doctor.probe import Probe
from seedproof.errors import InputError
from seedproof.seeds import SeedPlan
from seedproof.testing.errors import WithFields
from seedproof.training.spec import StudySpec
from seedproof.training.target import FunctionTarget, ScriptTarget

TWO_SEEDS = StudySpec("small", "train.py", SeedPlan.all(2)).runs()
# Steps of a model with one weight, which starts at 1 and loses 0.1 each time.
STEPS = """
import torch
weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range({steps}):
    optimizer.zero_grad()
    weight.sum().backward()
    optimizer.step()
"""


@pytest.fixture
def observe(tmp_path, monkeypatch):
    """Train a script in its own folder, called from another; return the observations."""
    code, here = tmp_path / "code", tmp_path / "here"
    code.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)

    def train(script, *, run=0, **budget):
        lines = ["import seedproof as sp", "run = sp.current_run()", dedent(script).strip()]
        path = code / "train.py"
        if not path.exists() or path.read_text(encoding="utf-8") != "\n".join(lines):
            path.write_text("\n".join(lines), encoding="utf-8")
        return Probe(ScriptTarget(str(path)), **budget)(TWO_SEEDS[run])

    return train


# ------------------------------------------------------------------------------ what is logged


def test_predictions_keep_their_order(observe):
    """In batches, with ids and labels as text and the bytes of each row."""
    observed = observe(
        """
        import numpy as np
        run.log_predictions("test", ids=[7, 3], probs=np.eye(2), labels=[0, 1])
        run.log_predictions("test", ids=[5], probs=np.full((1, 2), 0.5), labels=[1])
        """
    )

    split = observed.splits["test"]
    assert (split.ids, split.labels, split.has_ids) == (["7", "3", "5"], ["0", "1", "1"], True)
    assert observed.predictions()["test"]["5"] == bytes.fromhex("000000000000e03f" * 2)


@pytest.mark.parametrize(
    ("columns", "labels"),
    [
        ("values=[0.5, 1.5], targets=[1.0, 2.0]", ["1.0", "2.0"]),
        ("rankings=[['a', 'b'], ['b']], relevant=[['a'], []]", ["['a']", "[]"]),
        ("sets=[['a', 'b'], []], labels=[['a'], ['b']]", ["['a']", "['b']"]),
        ("texts=['Yes', None], references=['yes', None]", ["yes", "None"]),
    ],
    ids=["numbers", "rankings", "sets", "texts"],
)
def test_answers_that_are_not_classes_are_kept(observe, columns, labels):
    """Two runs are compared by them; they have no predicted class."""
    observed = observe(f'run.log_predictions("test", ids=[7, 3], {columns})')

    split = observed.splits["test"]
    assert (split.ids, split.labels, split.answers) == (["7", "3"], labels, [])
    assert len(set(split.values)) == 2
    assert check_answers(observed).verdict == "skip"


def test_predictions_without_ids_have_positions(observe):
    """Over all batches; missing labels are empty."""
    observed = observe(
        """
        run.log_predictions("test", predictions=["cat", "dog"])
        run.log_predictions("test", predictions=["fox"])
        """
    )

    split = observed.splits["test"]
    assert (split.ids, split.labels, split.has_ids) == (["0", "1", "2"], [""] * 3, False)
    assert split.values == [b"cat", b"dog", b"fox"]


def test_long_predictions_are_kept_as_digests(observe):
    """Rows that differ in one bit have different digests."""
    observed = observe(
        """
        import numpy as np
        row = np.full(1000, 0.001)
        moved = row.copy()
        moved[999] = np.nextafter(moved[999], 1)
        run.log_predictions("test", probs=np.stack([row, row, moved]))
        """
    )

    first, same, moved = observed.splits["test"].values
    assert first == same != moved
    assert len(first) == len(moved) == 16


def test_probe_refuses_what_a_real_run_refuses(observe):
    """A duplicate id shows only when the records are written."""
    with pytest.raises(InputError, check=WithFields(twice=7)):
        observe('run.log_predictions("test", ids=[7, 7], predictions=[0, 1])')


def test_incomplete_log_of_a_cut_training_is_accepted(observe):
    """It is not a fault of the training."""
    observed = observe(
        'run.log_predictions("test", ids=[7, 7], predictions=[0, 1])\n' + STEPS.format(steps=1),
        steps=1,
    )

    assert observed.is_cut
    assert observed.splits["test"].ids == ["7", "7"]


# ------------------------------------------------------------------------------ steps


def test_weights_are_compared_at_early_steps_and_every_tenth(observe):
    """The start, steps 1 to 20, and every tenth."""
    observed = observe(STEPS.format(steps=45))

    assert list(observed.weights) == [*range(21), 30, 40]
    assert len(set(observed.weights.values())) == 23  # it moves at every step
    assert (observed.n_steps, observed.starts, observed.is_cut) == (
        45,
        [observed.weights[0]],
        False,
    )


def test_training_ends_after_its_budget_of_steps(observe):
    """Whatever exceptions it catches."""
    observed = observe(STEPS.format(steps=45).replace("optimizer.step()", SWALLOWED), steps=5)

    assert (observed.n_steps, observed.is_cut) == (5, True)


SWALLOWED = """
    try:
        optimizer.step()
    except Exception:
        pass
""".strip()


def test_digest_depends_on_the_weights(observe):
    """With another seed, torch draws another layer."""
    script = """
        import torch
        layer = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        layer(torch.ones(3)).sum().backward()
        optimizer.step()
    """

    first, same, other = observe(script), observe(script), observe(script, run=1)

    assert first.weights == same.weights
    assert first.weights[0] != other.weights[0]
    assert first.weights[1] != other.weights[1]


def test_each_optimizer_has_a_start(observe):
    """In the order of their first steps; step 0 has the weights of the first."""
    observed = observe(
        """
        import torch
        ones, twos = torch.ones(1, requires_grad=True), torch.full((1,), 2.0, requires_grad=True)
        first, second = torch.optim.SGD([ones], lr=0.1), torch.optim.SGD([twos], lr=0.1)
        (ones + twos).sum().backward()
        for optimizer in (first, second, first):
            optimizer.step()
        """
    )

    assert len(observed.starts) == len(set(observed.starts)) == 2
    assert observed.weights[0] == observed.starts[0]
    assert observed.n_steps == 3


# ------------------------------------------------------------------------------ seconds


def test_training_ends_after_its_budget_of_seconds(observe):
    """Its log until then is kept, and the clock is stopped."""
    before = signal.getsignal(signal.SIGALRM)

    observed = observe(
        """
        run.log_predictions("test", predictions=[1])
        while True:
            pass
        """,
        seconds=0.2,
    )

    assert observed.is_cut
    assert observed.splits["test"].values == [b"1"]
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_alarm_is_repeated_if_a_training_swallows_it(observe, monkeypatch):
    """A bare except does not make it endless."""
    monkeypatch.setattr(module, "ALARM_SECONDS", 0.2)

    observed = observe(
        """
        alarms = 0
        while True:
            try:
                while True:
                    pass
            except BaseException:
                alarms += 1
                if alarms == 3:
                    raise
        """,
        seconds=0.2,
    )

    assert observed.is_cut


def test_training_within_its_budget_is_not_cut(observe):
    """And no alarm comes afterwards."""
    observed = observe('run.log_predictions("test", predictions=[1])', seconds=60)

    assert not observed.is_cut
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


# ------------------------------------------------------------------------------ sources


def test_requested_sources_are_recorded(observe):
    """In every form; printing all seeds requests none."""
    observed = observe(
        """
        print(run.seeds, dict(run.seeds), run.seed)
        run.rng("order")
        run.torch_generator("dropout")
        with run.seeded("init"):
            pass
        """
    )

    assert observed.sources == {"order", "dropout", "init"}
    assert observe('run.seeds["data"]').sources == {"data"}


def test_run_under_observation_draws_the_same_numbers(observe, make_run):
    """Its seeds, streams and global generators are those of a real run."""
    script = """
        import numpy as np, torch
        draws = [np.random.rand(), torch.rand(1).item(), run.rng("order").random(), run.seed]
        with run.seeded("init"):
            draws.append(torch.rand(1).item())
        run.log_predictions("draws", predictions=[f"{draw:.10g}" for draw in draws])
    """
    run = make_run(0, kept=False)
    with run.active():
        drawn = {"run": run}
        exec(dedent(script), drawn)  # noqa: S102 - our own lines, without a probe around them

    observed = observe(script)

    assert observed.splits["draws"].values == [f"{draw:.10g}".encode() for draw in drawn["draws"]]


def test_seed_inside_of_a_source_is_not_late(observe):
    """Draws outside belong to another stream."""
    observed = observe(
        """
        import torch
        torch.rand(1)
        with run.seeded("init"):
            torch.manual_seed(run.seed)
        """
    )

    assert [(call.where, call.is_late) for call in observed.seed_calls] == [("train.py:6", False)]


def test_generators_of_the_run_are_not_user_code(observe):
    """We seed and create them."""
    observed = observe(
        """
        run.rng("order").permutation(3)
        with run.seeded("init"):
            pass
        """
    )

    assert observed.seed_calls == observed.generators == []
    assert observed.unseeded == []


# ------------------------------------------------------------------------------ what is left


def test_files_of_a_training_are_recorded(observe, tmp_path):
    """In the folder of the code and in the current folder, new or changed; not those of the run."""
    (tmp_path / "here" / "old.txt").touch()
    (tmp_path / "code" / "kept.txt").touch()

    observed = observe(
        """
        from pathlib import Path
        Path("out").mkdir()
        for place in (Path("out"), Path("."), Path(__file__).parent, run.checkpoint_dir):
            (place / "new.txt").write_text("new")
        Path("old.txt").write_text("changed")
        """
    )

    assert observed.files == ["new.txt", "new.txt", "old.txt", str(Path("out") / "new.txt")]


def test_folder_for_checkpoints_is_fresh(observe):
    """A probe never continues another; within a training the folder stays the same."""
    script = """
        assert not list(run.checkpoint_dir.iterdir())
        (run.checkpoint_dir / "best.pt").touch()
        assert [path.name for path in run.checkpoint_dir.iterdir()] == ["best.pt"]
    """

    assert observe(script).files == observe(script).files == []


def test_threads_are_those_at_the_end(observe):
    """The run may use one thread."""
    assert observe("pass").n_threads == 1
    observed = observe("import torch; torch.set_num_threads(2)")
    assert (observed.n_threads, observed.thread_calls) == (2, ["train.py:3"])


def test_probes_and_observations_can_be_pickled():
    """To a fresh process, and back."""

    def train(run):
        run.log_predictions("test", predictions=[run.name])

    probe = pickle.loads(cloudpickle.dumps(Probe(FunctionTarget(train), steps=3)))  # noqa: S301

    observed = pickle.loads(pickle.dumps(probe(TWO_SEEDS[1])))  # noqa: S301 - our own

    assert observed.splits["test"].values == [b"1"]


def test_exception_of_a_training_is_raised(observe):
    """Also if it ends with an exit code."""
    with pytest.raises(ZeroDivisionError):
        observe("1 / 0")
    with pytest.raises(SystemExit):
        observe("raise SystemExit(3)")
