"""Blame end to end, and coverage of planted shares."""

import json
import os
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.support.items import item_shards, packed

import seedproof as sp
from seedproof.api.blame import blame
from seedproof.cli.run import next_step
from seedproof.comparison.blame.distances import run_distances, squared_differences
from seedproof.comparison.blame.variance_shares import shares_of
from seedproof.errors import OptionError
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.records.schema import Kind
from seedproof.seeds.seed_design import SeedDesign
from seedproof.testing.errors import WithFields
from seedproof.training.resume import status_of

# SEEDPROOF_FULL=1 runs many studies; CI runs fewer, and allows for their chance:
# the standard deviation of a share of 0.95 is 0.005 from 2,000 studies and 0.015 from 200.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
N_STUDIES = 2000 if FULL else 200
SLACK = 0.0 if FULL else 0.03
SOURCES = ("init", "order", "dropout")
N_LABELS = 3


@dataclass(frozen=True)
class Planted:
    """Studies of two classes whose shares are known.

    A run's logit on an example is normal: a part of the example, a part of each source's seed, and
    a part of the run itself, which is interaction. Two normal values with a correlation of r have
    different signs with a probability of arccos(r)/π, so all shares are known.
    """

    parts: tuple[float, ...]  # variance of each source
    interaction: float  # variance of no source alone
    example: float = 0.0  # variance between examples
    common: float = 0.0  # share of each source that moves all examples together
    n_examples: int = 300

    def draw(self, plan, rng):
        """Logits of each run of a plan, axes (runs, examples)."""
        runs = [run.seeds for run in plan.assignments()]
        logits = rng.normal(0, np.sqrt(self.example), self.n_examples)
        logits = logits + rng.normal(0, np.sqrt(self.interaction), (len(runs), self.n_examples))
        for source, part in zip(SOURCES, self.parts, strict=False):
            levels = np.unique([run[source] for run in runs], return_inverse=True)[1]
            size = (levels.max() + 1, self.n_examples)
            alone = rng.normal(0, np.sqrt(part * (1 - self.common)), size)
            together = rng.normal(0, np.sqrt(part * self.common), (size[0], 1))
            logits += (alone + together)[levels]
        return logits

    def truth(self, *, of_logits):
        """First-order shares, total shares and interaction, in the order of `all_shares`."""
        runs = sum(self.parts) + self.interaction

        def apart(shared):
            if of_logits:
                return runs - shared
            return np.arccos((self.example + shared) / (self.example + runs)) / np.pi

        first = [1 - apart(part) / apart(0) for part in self.parts]
        total = [apart(sum(self.parts) - part) / apart(0) for part in self.parts]
        return np.array([*first, *total, 1 - sum(first)])


def all_shares(matrix, design):
    """All shares of a study, in the order of `Planted.truth`, and the source that causes most."""
    shares = shares_of(matrix, design)
    return [*shares.first.values(), *shares.total.values(), shares.interaction], shares.most


def coverage(planted, n_blocks, *, of_logits=False, factor=1.0, seed=1):
    """Share of studies whose interval contains the truth, per share; and their main sources."""
    rng = np.random.default_rng(seed)
    plan = sp.SeedPlan.blocks(n_blocks, SOURCES[: len(planted.parts)])
    design = SeedDesign([run.seeds for run in plan.assignments()])
    truth, hits, leaders = planted.truth(of_logits=of_logits), [], []
    for _ in range(N_STUDIES):
        logits = planted.draw(plan, rng)
        values = logits if of_logits else (logits > 0).astype(float)
        shares, most = all_shares(squared_differences(values), design)
        low, value, high = np.array([(x.low, x.value, x.high) for x in shares]).T
        low, high = value + factor * (low - value), value + factor * (high - value)
        hits.append((low <= truth) & (truth <= high))
        leaders.append(most)
    return np.mean(hits, axis=0), leaders


STUDIES = {
    "runs move one example at a time": Planted((0.3, 0.3, 0.2), 0.2),
    "runs move all examples together": Planted((0.3, 0.3, 0.2), 0.2, common=0.5),
    "surer models": Planted((0.5, 0.2, 0.1), 0.1, example=4.0, common=0.3),
    "two sources": Planted((0.5, 0.3), 0.2, example=4.0, common=0.3),
}


@pytest.mark.parametrize("n_blocks", [5, 10])
@pytest.mark.parametrize("name", STUDIES)
def test_intervals_cover_planted_shares_of_the_flips(name, n_blocks):
    """90 to 99 % for every share, first-order and total, and for the interaction."""
    covered, _ = coverage(STUDIES[name], n_blocks)

    assert np.all(covered >= 0.90 - SLACK), covered
    assert np.all(covered <= min(0.99 + SLACK, 1.0)), covered


@pytest.mark.parametrize("n_blocks", [5, 10])
def test_intervals_cover_planted_shares_of_the_logit(n_blocks):
    """Shares of the variance."""
    planted = Planted((0.3, 0.3, 0.2), 0.2, example=2.0, common=0.3)

    covered, _ = coverage(planted, n_blocks, of_logits=True)

    assert np.all(covered >= 0.90 - SLACK), covered
    assert np.all(covered <= min(0.99 + SLACK, 1.0)), covered


def apart_as_sets(flip_rate):
    """Flip rate and Jaccard distance of sets of three labels that flip independently.

    Half of the labels are given, so that both runs give a label, or neither, equally often.
    """
    flips, distance = 0.0, 0.0
    for states in product(("both", "neither", "one"), repeat=N_LABELS):
        chance = np.prod([flip_rate if x == "one" else (1 - flip_rate) / 2 for x in states])
        n_shared, n_differ = states.count("both"), states.count("one")
        flips += chance * (n_differ > 0)
        distance += chance * n_differ / max(n_shared + n_differ, 1)
    return np.array([flips, distance])


@pytest.mark.parametrize("n_blocks", [5, 10] if FULL else [5])
def test_intervals_cover_planted_shares_of_sets(n_blocks):
    """90 to 99 % for the shares of the flips and of the Jaccard distance."""
    rng, planted = np.random.default_rng(2), replace(STUDIES["two sources"], n_examples=100)
    plan = sp.SeedPlan.blocks(n_blocks, SOURCES[:2])
    design = SeedDesign([run.seeds for run in plan.assignments()])

    def apart(shared):
        correlation = (planted.example + shared) / (planted.example + 1)
        return apart_as_sets(np.arccos(correlation) / np.pi)

    (init, order), nothing = planted.parts, apart(0)
    first = [1 - apart(part) / nothing for part in (init, order)]
    total = [apart(part) / nothing for part in (order, init)]  # the other is shared
    truth, hits = np.array([*first, *total, 1 - sum(first)]), []

    for _ in range(N_STUDIES):
        labels = np.stack([planted.draw(plan, rng) for _ in range(N_LABELS)], axis=2) > 0
        distances = run_distances(item_shards(Kind.SETS, packed(labels), N_LABELS))
        shares = [all_shares(distances[name], design)[0] for name in ("flips", "overlap")]
        low, high = np.array([[(x.low, x.high) for x in of_name] for of_name in shares]).T
        hits.append((low <= truth) & (truth <= high))

    covered = np.mean(hits, axis=0)
    assert np.all(covered >= 0.90 - SLACK), covered
    assert np.all(covered <= min(0.99 + SLACK, 1.0)), covered


def test_narrow_intervals_fail_the_coverage_test():
    """Half of the width covers far too rarely."""
    covered, _ = coverage(STUDIES["runs move all examples together"], 10, factor=0.5)

    assert np.all(covered < 0.85), covered


def test_equal_sources_rarely_have_a_main_source():
    """In at most 5 % of studies."""
    _, leaders = coverage(Planted((0.25, 0.25, 0.25), 0.25, common=0.3), 10)

    assert np.mean([most is not None for most in leaders]) <= 0.05 + SLACK


def test_main_source_is_named():
    """Init has ten times the variance of the others, and nearly every study shows it."""
    _, leaders = coverage(Planted((1.0, 0.1, 0.1), 0.1, common=0.3), 10)

    assert np.mean([most == "init" for most in leaders]) >= 0.95 - SLACK


# ------------------------------------------------------------------------------------- end to end

SCRIPT = """
import numpy as np
import seedproof as sp

run = sp.current_run()
logits = 3 * run.rng("init").normal(size=200) + run.rng("order").normal(size=200)
positive = 1 / (1 + np.exp(-logits))
run.log_predictions("test", probs=np.stack([1 - positive, positive], axis=1))
"""


@pytest.fixture
def script(tmp_path):
    """Init causes nine tenths of the logit's variance, order the rest, dropout none."""
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    return "train.py"


def test_next_step_after_a_single_run_is_more_seeds(seedproof, script):
    """A single run cannot be measured."""
    for n_seeds, code in ((1, "single-run"), (2, "next-command")):
        left, _, err = seedproof("run", script, "--seeds", n_seeds, "--engine", "serial")

        step = next_step(status_of(Location.of("runs")), "runs", verb="measure")
        assert (left, step.code) == (0, code)
        assert err.endswith(f"{step}\n")


def test_blocks_are_run_and_blamed_on_the_command_line(seedproof, script):
    """Independent runs flip 1/2, runs that share init arccos(.9)/π = .144: 1 − .287 = .713."""
    code, _, err = seedproof("run", script, "--blame", 5, "--engine", "serial")
    assert code == 0
    assert len(Store(Location.of("runs")).runs) == 25
    assert err.endswith(f"{next_step(status_of(Location.of('runs')), 'runs', verb='blame')}\n")

    code, out, err = seedproof("blame", "runs", "--json")
    summary = json.loads(out)
    assert (code, err) == (0, "")
    assert summary["sources"] == list(SOURCES)
    assert (summary["n_runs"], summary["n_blocks"], summary["n_examples"]) == (25, 5, 200)
    # From 5 blocks of 200 examples; four standard errors of about .02.
    assert summary["flips"]["first"]["init"]["value"] == pytest.approx(0.713, abs=0.08)
    assert summary["logits"]["first"]["init"]["value"] == pytest.approx(0.9, abs=0.08)
    assert summary["flips"]["total"]["dropout"] == {
        "value": 0.0, "low": 0.0, "high": 0.0, "is_resolved": True,
    }  # fmt: skip
    assert summary["flips"]["most"] == "init"
    assert blame("runs").to_json() == out


LOGGED = {
    "rankings": "rankings=np.argsort(-scores), relevant=[[0]] * 200",
    "sets": 'sets=scores > 0, classes=["a", "b"], labels=np.ones((200, 2), bool)',
    "texts": 'texts=np.where(scores[:, 0] > 0, "Yes.", "no").tolist(), references=["yes"] * 200',
}


@pytest.mark.parametrize("kind", LOGGED)
def test_lists_sets_and_texts_are_blamed_on_the_command_line(kind, seedproof, tmp_path):
    """Init causes nine tenths of the variance of scores."""
    script = SCRIPT[: SCRIPT.index("logits")] + (
        'scores = 3 * run.rng("init").normal(size=(200, 2))\n'
        'scores += run.rng("order").normal(size=(200, 2))\n'
        f'run.log_predictions("test", {LOGGED[kind]})\n'
    )
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    arguments = ("--blame", 5, "--vary", "init,order", "--engine", "serial")
    assert seedproof("run", "train.py", *arguments)[0] == 0

    code, out, err = seedproof("blame", "runs", "--json")

    assert code == 0, err
    summary = json.loads(out)
    assert summary["answers"] == kind
    assert summary["flips"]["most"] == "init"
    assert summary["quality"]["first"]["init"]["value"] > 0.5
    if kind != "sets":  # as the classes of one logit: two items are in every list
        assert summary["flips"]["first"]["init"]["value"] == pytest.approx(0.713, abs=0.08)
        assert "overlap" not in summary
    else:
        assert summary["overlap"]["most"] == "init"
    assert blame("runs").to_json() == out
    blame("runs").save(tmp_path / "report")
    assert "init" in str(blame("runs"))


def test_lists_are_blamed_if_no_first_item_flips(tmp_path):
    """The first item is the same in all runs, and the others are in an order of their own."""

    def train(run):
        scores = 3 * run.rng("init").normal(size=(200, 3)) + run.rng("order").normal(size=(200, 3))
        scores[:, 0] = 1000.0
        run.log_predictions("test", rankings=np.argsort(-scores))

    plan = sp.SeedPlan.blocks(5, sources=["init", "order"])
    sp.Study("lists", train, seeds=plan, store=tmp_path / "runs").run(engine="serial")

    report = sp.blame(tmp_path / "runs")

    assert report.result.flips.most == "init"
    assert report.summary()["are_of_lists"]


def test_blocks_of_named_sources_can_grow(seedproof, script):
    """Two more blocks are added to the first."""
    arguments = ("run", script, "--vary", "init,order", "--engine", "serial")
    assert seedproof(*arguments, "--blame", 1)[0] == 0
    assert seedproof(*arguments, "--blame", 3)[0] == 0

    runs = Store(Location.of("runs")).runs
    assert len(runs) == 3 * 4
    planned = {run.name for run in sp.SeedPlan.blocks(3, SOURCES[:2]).assignments()}
    assert {run.name for run in runs} == planned
    code, out, _ = seedproof("blame", "runs", "--json")
    summary = json.loads(out)
    assert code == 0
    assert summary["n_blocks"] == 3
    assert not any(share["is_resolved"] for share in summary["flips"]["first"].values())


def test_arm_and_split_are_options(seedproof, refused, script):
    """With two arms, an arm must be named."""
    seedproof("run", script, "--blame", 5, "--arms", "none,aswa", "--engine", "serial")

    error = refused("blame", "runs")
    assert (error.code, error.fields["known"]) == ("SP115", ("none", "aswa"))
    assert seedproof("blame", "runs", "--arm", "aswa", "--split", "test")[0] == 0
    error = refused("blame", "runs", "--arm", "aswa", "--split", "dev")
    assert (error.code, error.fields["noun"], error.fields["given"]) == ("SP115", "split", "dev")


def test_a_study_without_shared_seeds_is_refused(seedproof, refused, script):
    """Exit code 2 and one line."""
    seedproof("run", script, "--seeds", 3, "--engine", "serial")

    error = refused("blame", "runs")

    assert error.code == "SP100"
    assert set(error.fields["sources"]) >= set(SOURCES)


@pytest.mark.parametrize("target", ["folder", "nowhere"])
def test_target_that_is_nothing_is_refused(target, refused):
    """An empty folder, a missing path."""
    Path("folder").mkdir()

    error = refused("blame", target)

    assert error.code == "SP101"
    assert target in {Path(str(value)).name for value in error.fields.values()}


def test_table_of_classes_is_refused(refused):
    """It has no seeds."""
    rows = "0,1,a\n0,2,b\n1,1,a\n1,2,a\n"
    Path("predictions.csv").write_text(f"run,example,prediction\n{rows}", encoding="utf-8")

    assert isinstance(refused("blame", "predictions.csv"), OptionError)


def test_table_of_trials_is_blamed(seedproof):
    """Examples that differ make the mean uncertain, and more of them are the remedy."""
    rng = np.random.default_rng(0)
    chances = rng.choice([0.1, 0.9], 60)
    rows = [
        f"{task},{trial},{int(rng.random() < chance)}"
        for task, chance in enumerate(chances)
        for trial in range(4)
    ]
    Path("trials.csv").write_text("\n".join(["task,trial,reward", *rows]), encoding="utf-8")
    columns = ("--example", "task", "--trial", "trial", "--value", "reward")

    code, out, err = seedproof("blame", "trials.csv", *columns, "--json")

    assert code == 0, err
    blamed = json.loads(out)
    assert blamed["sizes"] == {"trial": 4, "example": 60}
    assert blamed["parts"][0]["metric"] == "variance_example"
    assert [option["unit"] for option in blamed["more"]] == ["example", "trial"]
    code, out, err = seedproof("blame", "trials.csv", *columns)
    assert code == 0, err
    assert "examples" in out


def test_a_report_cannot_be_blamed():
    """It has no seeds."""
    with pytest.raises(OptionError, check=WithFields(type_name="Report")):
        blame(sp.measure([["a", "b"], ["a", "a"]]))


@pytest.mark.parametrize(
    ("options", "code", "fields"),
    [
        (("--blame", 0), "SP115", {"n_blocks": 0}),
        (("--blame", 5, "--vary", "init"), "SP115", {"sources": ["init"]}),
        (("--blame", 5, "--vary", "init,"), "SP115", {"option": "--vary", "vary": "init,"}),
        (("--blame", 5, "--vary", "init,weights"), "SP301", {"name": "weights"}),
        (("--blame", 5, "--seeds", 5), "SP115", {"options": ("--seeds", "--blame")}),
    ],
    ids=["no-block", "one-source", "no-source", "unknown-source", "seeds"],
)
def test_impossible_blocks_are_refused(options, code, fields, refused, script):
    """Before anything is trained."""
    error = refused("run", script, *options, "--engine", "serial")

    assert error.code == code
    assert WithFields(**fields)(error), error.fields
    assert not Path("runs").exists()


def test_help_names_the_options(seedproof):
    """Those that choose runs and format."""
    code, out, _ = seedproof("blame", "--help")

    assert code == 0
    for option in ("--arm", "--split", "--json"):
        assert option in out
