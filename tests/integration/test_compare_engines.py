"""Verbs that compare give the same bytes on all engines, in any order of the shards."""

import pickle

import numpy as np
import pytest

import seedproof as sp
from seedproof.engines import Outcome
from seedproof.errors import OptionError
from seedproof.records import schema
from seedproof.testing.errors import WithFields


class ShuffledEngine:
    """Do items in random order; task and results are pickled."""

    def map(self, task, items, *, on_start=None):
        """Yield outcomes as another process would."""
        del on_start
        travelled, items = pickle.loads(pickle.dumps(task)), list(items)  # noqa: S301 - our own
        for index in np.random.default_rng(0).permutation(len(items)):
            result = pickle.dumps(travelled(items[index]))
            yield Outcome(int(index), pickle.loads(result))  # noqa: S301 - our own


PROCESSES, SHUFFLED = {"engine": "processes", "workers": 2}, {"engine": ShuffledEngine()}


def train(run):
    """Blocks of runs that share seeds, with probabilities and labels."""
    spread = {"none": 1.0, "calm": 0.4, "same": 1.0}[run.arm]
    logits = run.rng("init").normal(size=(400, 3)) * spread
    logits += run.rng("order").normal(size=(400, 3)) + 3 * np.eye(3)[np.arange(400) % 3]
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    run.log_predictions("test", probs=probs, labels=np.arange(400) % 3)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Three arms of several row groups."""
    place = tmp_path_factory.mktemp("engines") / "store"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "GROUP_BYTES", 600)
        plan = sp.SeedPlan.blocks(2, sources=["init", "order"])
        study = sp.Study("engines", train, seeds=plan, arms=["none", "calm", "same"], store=place)
        study.run(engine="serial", progress=False)
    loaded = sp.Predictions.from_store(place, arm="none")
    assert loaded.source.n_shards == 8
    return place


def _arms(store):
    return [sp.Predictions.from_store(store, arm=arm) for arm in ("none", "calm")]


def _versions(store, **how):
    """Compare versions whose shards have different slices."""
    del store
    rng, languages = np.random.default_rng(0), [f"l{i // 70 % 4}" for i in range(400)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "GROUP_BYTES", 200)
        versions = [
            sp.Predictions.from_arrays(
                np.where(rng.random((4, 400)) < share, rng.integers(0, 3, (4, 400)), 1),
                labels=np.ones(400, dtype=int),
                slices={"language": languages},
            )
            for share in (0.1, 0.4)
        ]
    assert versions[0].source.n_shards == 8
    return sp.compare_versions(*versions, **how)


VERBS = {
    "compare": sp.compare,
    "compare-all-pairs": lambda store, **how: sp.compare(store, all_pairs=True, **how),
    "compare-one-metric": lambda store, **how: sp.compare(store, metrics=["accuracy"], **how),
    "versions": _versions,
    "gate": lambda store, **how: sp.gate(_arms(store)[0], max={"flip_rate": 0.5}, **how),
    "gate-against-a-baseline": lambda store, **how: sp.gate(
        _arms(store)[1], baseline=_arms(store)[0], no_worse=["flip_rate"], **how
    ),
    "blame": lambda store, **how: sp.blame(store, arm="none", **how),
}


@pytest.mark.parametrize("verb", VERBS)
def test_order_of_finished_shards_does_not_matter(verb, store):
    """The same summary and table of examples."""
    here, there = VERBS[verb](store), VERBS[verb](store, **SHUFFLED)

    assert there.to_json() == here.to_json()
    if hasattr(here, "examples"):
        assert there.examples.equals(here.examples)


@pytest.mark.parametrize("verb", ["compare", "versions", "gate", "blame"])
def test_processes_give_the_same_bytes(verb, store):
    """As a single process."""
    assert VERBS[verb](store, **PROCESSES).to_json() == VERBS[verb](store).to_json()


def test_arrays_are_sent_to_workers():
    """Predictions in memory."""
    rng = np.random.default_rng(0)
    arms = {name: rng.integers(0, 3, (4, 300)) for name in ("one", "other")}

    there = sp.compare(arms, engine="processes", workers=2)

    assert there.to_json() == sp.compare(arms).to_json()
    assert there.examples.equals(sp.compare(arms).examples)


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "{store}"],
        ["gate", "{store}", "--arm", "calm", "--max", "flip_rate=0.9"],
        ["blame", "{store}", "--arm", "none"],
    ],
    ids=lambda words: words[0],
)
def test_command_takes_an_engine(words, store, seedproof):
    """With the same output."""
    words = [word.format(store=store) for word in words]
    here = seedproof(*words)

    assert here[0] != 2
    assert seedproof(*words, "--engine", "processes", "--workers", 1) == here


def test_engine_does_not_apply_to_reports(store):
    """They are compared by their figures."""
    reports = [sp.measure(arm) for arm in _arms(store)]

    with pytest.raises(OptionError, check=WithFields(option="engine")):
        sp.compare(reports, engine="processes")
