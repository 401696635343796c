"""One training under observation, in this process."""

import pickle
import signal
from pathlib import Path
from textwrap import dedent

import cloudpickle
import pytest

from seedproof.doctor import probe as module
from seedproof.doctor.probe import Probe
from seedproof.errors import InputError
from seedproof.seeds import SeedPlan
from seedproof.testing.errors import WithFields
from seedproof.training.spec import StudySpec
from seedproof.training.target import FunctionTarget, ScriptTarget

TWO_SEEDS = StudySpec("small", "train.py", SeedPlan.all(2)).runs()
# Steps of a model with one weight, which begins at 1 and loses 0.1 each time.
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
    """Trains a script in a folder of its own, called from another: what was observed."""
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


def test_predictions_are_kept_in_the_order_in_which_they_came(observe):
    """Batch by batch, with ids and labels as text and the bits of each row."""
    seen = observe(
        """
        import numpy as np
        run.log_predictions("test", ids=[7, 3], probs=np.eye(2), labels=[0, 1])
        run.log_predictions("test", ids=[5], probs=np.full((1, 2), 0.5), labels=[1])
        """
    )

    split = seen.splits["test"]
    assert (split.ids, split.labels, split.has_ids) == (["7", "3", "5"], ["0", "1", "1"], True)
    assert seen.predictions()["test"]["5"] == bytes.fromhex("000000000000e03f" * 2)


def test_predictions_without_ids_are_known_by_their_position(observe):
    """Over all batches; labels that were not given are empty."""
    seen = observe(
        """
        run.log_predictions("test", predictions=["cat", "dog"])
        run.log_predictions("test", predictions=["fox"])
        """
    )

    split = seen.splits["test"]
    assert (split.ids, split.labels, split.has_ids) == (["0", "1", "2"], [""] * 3, False)
    assert split.values == [b"cat", b"dog", b"fox"]


def test_long_predictions_are_kept_as_digests(observe):
    """Rows that differ in one bit are still told apart."""
    seen = observe(
        """
        import numpy as np
        row = np.full(1000, 0.001)
        moved = row.copy()
        moved[999] = np.nextafter(moved[999], 1)
        run.log_predictions("test", probs=np.stack([row, row, moved]))
        """
    )

    first, same, moved = seen.splits["test"].values
    assert first == same != moved
    assert len(first) == len(moved) == 16


def test_what_a_real_run_would_refuse_is_refused(observe):
    """An id that comes twice shows only when the records are written."""
    with pytest.raises(InputError, check=WithFields(twice=7)):
        observe('run.log_predictions("test", ids=[7, 7], predictions=[0, 1])')


def test_what_was_cut_off_is_not_refused(observe):
    """A log that is not complete is no fault of the training."""
    seen = observe(
        'run.log_predictions("test", ids=[7, 7], predictions=[0, 1])\n' + STEPS.format(steps=1),
        steps=1,
    )

    assert seen.is_cut
    assert seen.splits["test"].ids == ["7", "7"]


# ------------------------------------------------------------------------------ steps


def test_weights_are_compared_at_every_early_step_and_then_now_and_then(observe):
    """The start, steps 1 to 20, and every tenth."""
    seen = observe(STEPS.format(steps=45))

    assert list(seen.weights) == [*range(21), 30, 40]
    assert len(set(seen.weights.values())) == 23  # it moves at every step
    assert (seen.n_steps, seen.starts, seen.is_cut) == (45, [seen.weights[0]], False)


def test_a_training_ends_after_the_steps_that_it_is_given(observe):
    """Not one more, whatever the training catches."""
    seen = observe(STEPS.format(steps=45).replace("optimizer.step()", SWALLOWED), steps=5)

    assert (seen.n_steps, seen.is_cut) == (5, True)


SWALLOWED = """
    try:
        optimizer.step()
    except Exception:
        pass
""".strip()


def test_the_same_weights_have_the_same_digest_and_others_do_not(observe):
    """Under another seed, torch draws another layer."""
    script = """
        import torch
        layer = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        layer(torch.ones(3)).sum().backward()
        optimizer.step()
    """

    one, same, other = observe(script), observe(script), observe(script, run=1)

    assert one.weights == same.weights
    assert one.weights[0] != other.weights[0]
    assert one.weights[1] != other.weights[1]


def test_each_optimizer_has_a_start(observe):
    """In the order of their first steps; the weights at step 0 are those of the first."""
    seen = observe(
        """
        import torch
        ones, twos = torch.ones(1, requires_grad=True), torch.full((1,), 2.0, requires_grad=True)
        first, second = torch.optim.SGD([ones], lr=0.1), torch.optim.SGD([twos], lr=0.1)
        (ones + twos).sum().backward()
        for optimizer in (first, second, first):
            optimizer.step()
        """
    )

    assert len(seen.starts) == len(set(seen.starts)) == 2
    assert seen.weights[0] == seen.starts[0]
    assert seen.n_steps == 3


# ------------------------------------------------------------------------------ seconds


def test_a_training_ends_when_its_time_is_over(observe):
    """Wherever it is; what it logged until then is there, and the clock is stopped."""
    before = signal.getsignal(signal.SIGALRM)

    seen = observe(
        """
        run.log_predictions("test", predictions=[1])
        while True:
            pass
        """,
        seconds=0.2,
    )

    assert seen.is_cut
    assert seen.splits["test"].values == [b"1"]
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_training_that_swallows_the_alarm_hears_it_again(observe, monkeypatch):
    """A bare except, or a place where python ignores exceptions, does not make it endless."""
    monkeypatch.setattr(module, "ALARM_SECONDS", 0.2)

    seen = observe(
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

    assert seen.is_cut


def test_a_training_within_its_time_is_not_cut(observe):
    """And no alarm comes afterwards."""
    seen = observe('run.log_predictions("test", predictions=[1])', seconds=60)

    assert not seen.is_cut
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


# ------------------------------------------------------------------------------ sources


def test_sources_are_noted_when_they_are_asked_for(observe):
    """In whatever way; to print all seeds asks for none."""
    seen = observe(
        """
        print(run.seeds, dict(run.seeds), run.seed)
        run.rng("order")
        run.torch_generator("dropout")
        with run.seeded("init"):
            pass
        """
    )

    assert seen.sources == {"order", "dropout", "init"}
    assert observe('run.seeds["data"]').sources == {"data"}


def test_a_run_under_observation_draws_what_a_real_one_draws(observe, make_run):
    """Its seeds, its streams and the global generators are the same."""
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

    seen = observe(script)

    assert seen.splits["draws"].values == [f"{draw:.10g}".encode() for draw in drawn["draws"]]


def test_a_seed_inside_of_a_source_is_not_late(observe):
    """What was drawn outside is another stream's."""
    seen = observe(
        """
        import torch
        torch.rand(1)
        with run.seeded("init"):
            torch.manual_seed(run.seed)
        """
    )

    assert [(call.where, call.is_late) for call in seen.seed_calls] == [("train.py:6", False)]


def test_the_runs_own_generators_are_not_the_users(observe):
    """They are seeded and made by us, and by nobody's line."""
    seen = observe(
        """
        run.rng("order").permutation(3)
        with run.seeded("init"):
            pass
        """
    )

    assert seen.seed_calls == seen.generators == []
    assert seen.unseeded == []


# ------------------------------------------------------------------------------ what is left


def test_files_that_a_training_leaves_are_noted(observe, tmp_path):
    """Beside the code and in the current folder, new or changed; not those of the run itself."""
    (tmp_path / "here" / "old.txt").touch()
    (tmp_path / "code" / "kept.txt").touch()

    seen = observe(
        """
        from pathlib import Path
        Path("out").mkdir()
        for place in (Path("out"), Path("."), Path(__file__).parent, run.checkpoint_dir):
            (place / "new.txt").write_text("new")
        Path("old.txt").write_text("changed")
        """
    )

    assert seen.files == ["new.txt", "new.txt", "old.txt", str(Path("out") / "new.txt")]


def test_the_folder_for_checkpoints_is_fresh_each_time(observe):
    """A probe never goes on where another stopped; the folder stays one within a training."""
    script = """
        assert not list(run.checkpoint_dir.iterdir())
        (run.checkpoint_dir / "best.pt").touch()
        assert [path.name for path in run.checkpoint_dir.iterdir()] == ["best.pt"]
    """

    assert observe(script).files == observe(script).files == []


def test_threads_are_those_at_the_end(observe):
    """The run may use one."""
    assert observe("pass").n_threads == 1
    seen = observe("import torch; torch.set_num_threads(2)")
    assert (seen.n_threads, seen.thread_calls) == (2, ["train.py:3"])


def test_probes_and_what_they_saw_can_travel():
    """To a fresh process, and back."""

    def train(run):
        run.log_predictions("test", predictions=[run.name])

    probe = pickle.loads(cloudpickle.dumps(Probe(FunctionTarget(train), steps=3)))  # noqa: S301

    seen = pickle.loads(pickle.dumps(probe(TWO_SEEDS[1])))  # noqa: S301 - our own

    assert seen.splits["test"].values == [b"1"]


def test_a_training_that_raises_is_not_hidden(observe):
    """Nor is one that ends with an exit code."""
    with pytest.raises(ZeroDivisionError):
        observe("1 / 0")
    with pytest.raises(SystemExit):
        observe("raise SystemExit(3)")
