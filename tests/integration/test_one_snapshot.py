"""A command reads the manifest of each run once: stores may be large and remote."""

from collections import Counter

import pytest

import seedproof as sp
from seedproof.records.location import Location

ARMS, N_SEEDS = ("none", "calm"), 4


def train(run):
    spread = {"none": 1.0, "calm": 0.1}[run.arm]
    drawn = run.rng("init").normal(size=60) + spread * run.rng("order").normal(size=60)
    run.log_predictions("test", predictions=(drawn > 0).astype(int), labels=[0, 1] * 30)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a finished study of four runs in two arms, in blocks that share seeds."""
    plan = sp.SeedPlan.blocks(2, sources=["init", "order"])
    made = sp.Study(
        "snapshot", train, seeds=plan, arms=ARMS, store=tmp_path_factory.mktemp("study") / "runs"
    )
    made.run(engine="serial", progress=False)
    return made


@pytest.fixture
def reads(monkeypatch):
    """Count how often the manifest of each run is read."""
    counts = Counter()
    opened = Location.open_read

    def counted(place):
        if place.name == "run.json":
            counts[place.parent.name] += 1
        return opened(place)

    monkeypatch.setattr(Location, "open_read", counted)
    return counts


VERBS = {
    "measure": lambda study: study.measure(arm="none"),
    "measure-arms": lambda study: study.measure_arms(),
    "compare": lambda study: study.compare(),
    "compare-common-examples": lambda study: sp.compare(study.store, common_examples=True),
    "gate": lambda study: sp.gate(study.store, arm="calm", max={"flip_rate": 0.9}),
    "gate-against-an-arm": lambda study: sp.gate(
        study.store, baseline=study.store, arm="calm", baseline_arm="none", no_worse=["flip_rate"]
    ),
    "blame": lambda study: sp.blame(study.store, arm="none"),
    "status": lambda study: study.status(),
    "run": lambda study: study.run(engine="serial", progress=False),
    "run-changed-code": lambda study: study.run(
        engine="serial", progress=False, allow_changed_code=True
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_verb_reads_each_run_once(verb, study, reads):
    VERBS[verb](study)

    assert set(reads.values()) == {1}
    assert len(reads) == len(study.status().runs)


@pytest.mark.parametrize(
    "words",
    [
        ["measure", "{store}"],
        ["measure", "{store}", "--arm", "none"],
        ["compare", "{store}"],
        ["gate", "{store}", "--arm", "calm", "--max", "flip_rate=0.9"],
        ["blame", "{store}", "--arm", "none"],
        ["status", "{store}"],
    ],
    ids=lambda words: " ".join(words[:1] + words[2:3]),
)
def test_command_reads_each_run_once(words, study, reads, seedproof):
    """Even where the command reads the arms before it measures them."""
    seedproof(*(word.format(store=study.store) for word in words))

    assert set(reads.values()) == {1}


def test_new_runs_are_read_once(reads, tmp_path):
    made = sp.Study("fresh", train, seeds=3, arms=ARMS, store=tmp_path / "runs")
    made.run(engine="serial", progress=False)

    assert list(reads.values()) == [1] * 6
