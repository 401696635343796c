"""Findings of the doctor, on constructed observations."""

from dataclasses import replace
from itertools import zip_longest

import pytest

from seedproof.doctor.checks import (
    check_answers,
    check_files,
    check_ids,
    check_logged,
    check_other,
    check_same,
    check_sources,
    check_start,
    check_threads,
    check_when,
)
from seedproof.doctor.finding import details
from seedproof.doctor.observation import Observed, SeedCall, SplitSeen


def trained(*digests, **facts):
    """Return a training with these weights: at the start, after step 1, and so on."""
    return Observed(
        weights=dict(enumerate(digests)),
        starts=list(digests[:1]),
        n_steps=max(0, len(digests) - 1),
        **facts,
    )


def logged(values="aab", *, ids="012", labels="xyx", split="test", has_ids=True, **facts):
    """Return a training with these predictions for three examples."""
    split_seen = SplitSeen(list(ids), list(labels), [v.encode() for v in values], has_ids=has_ids)
    return Observed(splits={split: split_seen}, **facts)


def seeding(function="torch.manual_seed", value="42", where="train.py:3", **facts):
    """Return a call that seeds a generator."""
    return SeedCall(function, value, where, **facts)


def when(*pairs):
    """Return the finding for calls with these values under two seeds."""
    first = [replace(call, value=value) for call, value, _ in pairs]
    other = [replace(call, value=value) for call, _, value in pairs]
    return check_when(Observed(seed_calls=first), Observed(seed_calls=other))


def predictions(**sizes):
    """Return the data of some of the three predictions."""
    return {"code": "predictions", **sizes, "n_examples": 3, "split": "test"}


def data(code, **fields):
    """Return the data of a message."""
    return {"code": code, **fields}


def seed_call(place, function, seed):
    """Return the data of a call that is named in a finding."""
    return data("seed-call", place=place, function=function, seed=seed)


FIRST = logged("aab")
SAME, OTHER, THIRD = logged("aab"), logged("abb"), logged("bbb")
ONE_CHANGED = data("different", differences=[predictions(n_changed=1)])
TWO_CHANGED = [predictions(n_changed=2)]
REQUESTED = replace(FIRST, sources={"init", "order"})
OF_DATA = replace(FIRST, sources={"data", "init"})
CUT = trained("s", "a", sources={"data"}, is_cut=True)
OTHER_ID = logged(ids="013")
RNG = "numpy.random.default_rng"
CONSTANT = replace(FIRST, seed_calls=[seeding()], generators=[seeding(RNG, "7", "train.py:2")])
CONSTANT_GENERATOR = replace(FIRST, generators=[seeding(RNG, "7")])
HASHED = [
    replace(FIRST, seed_calls=[seeding(value="1")]),
    replace(OTHER, seed_calls=[seeding(value="2")]),
]
VARIED = [
    replace(FIRST, seed_calls=[seeding(value="1")]),
    replace(SAME, seed_calls=[seeding(value="2")]),
]
PYTHON_LATE = seeding("random.seed", where="train.py:9", is_late=True)
LATE = data("late-seed", place="train.py:3", function="torch.manual_seed")
BLANK = {"labels": ["", "", ""]}


def same_seed(first, second, *more):
    """Return the finding for trainings of the same seed that differ."""
    return check_same(replace(FIRST, **first), replace(OTHER, **second), more or [THIRD])


# Finding, verdict, observation, cause and fix: as data, or as a code.
CASES = {
    # Predictions are logged.
    "logged: number of examples": (
        lambda: check_logged(FIRST),
        ("pass", data("logged", logged=[predictions()])),
    ),
    "logged: the fix is the line to add": (
        lambda: check_logged(trained("s", "a")),
        ("fail", "nothing-logged", "no-call", "add-call"),
    ),
    "logged: weights are compared after a cut": (
        lambda: check_logged(CUT),
        ("skip", data("cut-with-weights", n_steps=1)),
    ),
    "logged: a training without observations is not healthy": (
        lambda: check_logged(Observed(is_cut=True)),
        ("fail", "cut-at-start", "budget-too-small", data("larger-budget", option="--seconds")),
    ),
    # The same seed gives the same result.
    "same: only what both trainings have": (
        lambda: check_same(trained("s", "a", "b"), trained("s", "a")),
        ("pass", data("identical", compared=[data("weights", n_steps=1)])),
    ),
    "same: predictions": (
        lambda: check_same(FIRST, SAME),
        ("pass", data("identical", compared=[predictions()])),
    ),
    "same: two empty observations are not identical": (
        lambda: check_same(Observed(), Observed()),
        ("skip", "nothing-to-compare"),
    ),
    "same: nothing in common": (
        lambda: check_same(trained("s", "a"), Observed(is_cut=True)),
        ("skip", "nothing-to-compare"),
    ),
    "same: seed from the clock": (
        lambda: same_seed(
            {"seed_calls": [seeding(value="1")]}, {"seed_calls": [seeding(value="2")]}
        ),
        (
            "fail",
            ONE_CHANGED,
            data("moving-seed", place="train.py:3", function="torch.manual_seed"),
            "seed-of-run",
        ),
    ),
    "same: generator from the clock": (
        lambda: same_seed({"generators": [seeding(RNG, "1")]}, {"generators": [seeding(RNG, "2")]}),
        ("fail", ONE_CHANGED, data("moving-seed", place="train.py:3", function=RNG), "seed-of-run"),
    ),
    "same: unseeded generators come before workers": (
        lambda: same_seed({"unseeded": ["a.py:1", "b.py:2"], "workers": ["c.py:3"]}, {}),
        (
            "fail",
            ONE_CHANGED,
            data("unseeded-generator", places=["a.py:1", "b.py:2"]),
            "generator-of-run",
        ),
    ),
    "same: workers come before files": (
        lambda: same_seed({"workers": ["c.py:3"], "files": ["m.pt"]}, {}),
        ("fail", ONE_CHANGED, data("order-of-workers", place="c.py:3"), "results-in-order"),
    ),
    "same: files": (
        lambda: same_seed({"files": ["m.pt"]}, {}),
        ("fail", ONE_CHANGED, data("files-written", files=["m.pt"]), "own-folder"),
    ),
    "same: unknown cause": (
        lambda: same_seed({}, {}),
        ("fail", ONE_CHANGED, "unknown", "halve-training"),
    ),
    # The first and third training share a hash seed, as do the second and fourth.
    "same: order of hashes, whatever else was observed": (
        lambda: same_seed({"unseeded": ["a.py:1"], "files": ["m.pt"]}, {}, SAME, OTHER),
        ("fail", ONE_CHANGED, data("order-of-hashes", place=None), "sort-sets"),
    ),
    "same: the line that seeds with a hash": (
        lambda: check_same(*HASHED, HASHED),
        ("fail", ONE_CHANGED, data("order-of-hashes", place="train.py:3"), "sort-sets"),
    ),
    "same: leftovers of the first training, as all later ones agree": (
        lambda: same_seed({"files": ["best.pt"], "workers": ["c.py:3"]}, {}, OTHER, OTHER),
        ("fail", ONE_CHANGED, data("left-behind", files=["best.pt"]), "own-folder"),
    ),
    "same: a race may repeat the first result": (
        lambda: same_seed({"workers": ["c.py:3"]}, {}, FIRST, THIRD),
        ("fail", ONE_CHANGED, "order-of-workers", "results-in-order"),
    ),
    "same: a race may repeat the second result": (
        lambda: same_seed({"workers": ["c.py:3"]}, {}, OTHER, THIRD),
        ("fail", ONE_CHANGED, "order-of-workers", "results-in-order"),
    ),
    # Another seed changes something.
    "other: the first seed may agree by chance": (
        lambda: check_other(FIRST, [SAME, OTHER], is_repeatable=True),
        ("pass", ONE_CHANGED),
    ),
    "other: a difference means nothing if the same seed differs": (
        lambda: check_other(FIRST, [OTHER], is_repeatable=False),
        ("skip", "not-repeatable"),
    ),
    "other: nothing to compare": (
        lambda: check_other(Observed(), [Observed()], is_repeatable=True),
        ("skip", "nothing-to-compare"),
    ),
    "other: constant seed of a global generator": (
        lambda: check_other(CONSTANT, [CONSTANT, CONSTANT], is_repeatable=True),
        (
            "fail",
            "identical",
            {"code": "constant-seed", "call": seed_call("train.py:3", "torch.manual_seed", "42")},
            data("pass-seed", function="torch.manual_seed"),
        ),
    ),
    "other: constant seed of a generator": (
        lambda: check_other(CONSTANT_GENERATOR, [CONSTANT_GENERATOR], is_repeatable=True),
        (
            "fail",
            "identical",
            {"code": "constant-seed", "call": seed_call("train.py:3", RNG, "7")},
            "pass-seed",
        ),
    ),
    "other: a seed that varies is not the cause": (
        lambda: check_other(VARIED[0], VARIED[1:], is_repeatable=True),
        ("fail", "identical", "draws-unused", "use-sources"),
    ),
    # Another seed starts from other weights.
    "start: one optimizer is enough, others may start with zeros": (
        lambda: check_start(
            replace(trained("s", "a"), starts=["0", "s"]),
            replace(trained("s", "b"), starts=["0", "t"]),
        ),
        ("pass", "other-start"),
    ),
    "start: weights that never vary": (
        lambda: check_start(trained("s", "a"), trained("s", "b")),
        ("warn", "same-start", "fixed-start", "draw-in-source"),
    ),
    "start: no steps": (lambda: check_start(FIRST, OTHER), ("skip", "no-steps")),
    "start: no change, which is reported elsewhere": (
        lambda: check_start(trained("s", "a"), trained("s", "a")),
        ("skip", "no-change"),
    ),
    # Each source has an effect.
    "sources: effects": (
        lambda: check_sources(REQUESTED, {"init": OTHER, "order": THIRD}, SAME, is_repeatable=True),
        (
            "pass",
            data(
                "effects",
                effects=[
                    {"code": "effect", "source": "init", "differences": ONE_CHANGED["differences"]},
                    data("effect", source="order", differences=TWO_CHANGED),
                ],
            ),
        ),
    ),
    "sources: a source without effect": (
        lambda: check_sources(REQUESTED, {"order": SAME}, SAME, is_repeatable=True),
        (
            "warn",
            data("effects", effects=[data("no-effect", source="order")]),
            data("idle-sources", sources=["order"], n_steps=None),
            "pass-generator",
        ),
    ),
    "sources: an effect may come after a cut": (
        lambda: check_sources(CUT, {"data": CUT}, CUT, is_repeatable=True),
        ("warn", "effects", data("idle-sources", sources=["data"], n_steps=1), "pass-generator"),
    ),
    "sources: draws outside change with every source": (
        lambda: check_sources(REQUESTED, {"init": OTHER}, THIRD, is_repeatable=True),
        (
            "warn",
            {
                "code": "draws-outside",
                "effects": [
                    {"code": "effect", "source": "init", "differences": ONE_CHANGED["differences"]}
                ],
                "differences": TWO_CHANGED,
            },
            "global-generators",
            "draw-in-source",
        ),
    ),
    "sources: not repeatable": (
        lambda: check_sources(REQUESTED, {"init": OTHER}, None, is_repeatable=False),
        ("skip", "not-repeatable"),
    ),
    "sources: nothing to compare": (
        lambda: check_sources(Observed(), {}, None, is_repeatable=True),
        ("skip", "nothing-to-compare"),
    ),
    "sources: none requested": (
        lambda: check_sources(FIRST, {}, None, is_repeatable=True),
        ("skip", "no-sources", None, "use-sources"),
    ),
    # Seeds are set before draws.
    "when: no seed": (when, ("pass", "no-seed-calls")),
    "when: seeds in time": (
        lambda: when((seeding(), "1", "2"), (seeding("random.seed"), "1", "2")),
        ("pass", data("seed-calls", n_calls=2)),
    ),
    "when: late": (
        lambda: when((seeding(is_late=True), "1", "2")),
        ("fail", LATE, data("drawn-before-seed", place="train.py:3"), "seed-first"),
    ),
    "when: libraries use python's generator": (
        lambda: when((PYTHON_LATE, "1", "2")),
        ("warn", "late-seed", "drawn-before-seed", "seed-first"),
    ),
    "when: a late seed of torch comes first": (
        lambda: when((PYTHON_LATE, "1", "2"), (seeding(is_late=True), "1", "2")),
        ("fail", LATE, "drawn-before-seed", "seed-first"),
    ),
    "when: constants": (
        lambda: when(
            (seeding(), "42", "42"), (seeding("random.seed", where="train.py:4"), "7", "7")
        ),
        (
            "warn",
            data(
                "constant-seeds",
                calls=[
                    seed_call("train.py:3", "torch.manual_seed", "42"),
                    seed_call("train.py:4", "random.seed", "7"),
                ],
            ),
            data("constant-draws", place="train.py:3"),
            "pass-seed",
        ),
    ),
    "when: undone calls are ignored": (
        lambda: when((seeding(is_late=True, is_undone=True), "0", "0")),
        ("pass", "no-seed-calls"),
    ),
    # Files and threads.
    "files: a file of the first only is a cache": (
        lambda: check_files(Observed(files=["cache", "best.pt"]), Observed(files=["best.pt"])),
        ("warn", data("common-files", files=["best.pt"]), "files-overwritten", "own-folder"),
    ),
    "files: none in common": (
        lambda: check_files(Observed(files=["cache"]), Observed()),
        ("pass", "no-common-files"),
    ),
    "threads: no torch": (lambda: check_threads(Observed(), 1), ("skip", "no-torch")),
    "threads: as allowed": (lambda: check_threads(Observed(n_threads=2), 2), ("pass", "threads")),
    "threads: the line is named": (
        lambda: check_threads(Observed(n_threads=2, thread_calls=["train.py:5"]), 1),
        (
            "warn",
            data("other-threads", n_allowed=1, n_threads=2),
            data("threads-set", place="train.py:5"),
            "use-option",
        ),
    ),
    "threads: the line is unknown": (
        lambda: check_threads(Observed(n_threads=2), 1),
        ("warn", "other-threads", data("threads-set", place=None), "use-option"),
    ),
    # Examples keep their ids.
    "ids: same order": (lambda: check_ids(FIRST, OTHER), ("pass", "same-order")),
    "ids: other order": (
        lambda: check_ids(FIRST, logged("baa", ids="210")),
        ("pass", "other-order"),
    ),
    "ids: no predictions": (
        lambda: check_ids(trained("s", "a"), trained("s", "b")),
        ("skip", "nothing-logged"),
    ),
    "ids: other examples are held out": (
        lambda: check_ids(FIRST, OTHER_ID),
        (
            "fail",
            data("other-ids", n_other=1, n_examples=3, split="test"),
            "held-out-by-seed",
            "fixed-split",
        ),
    ),
    "ids: the source data may decide": (
        lambda: check_ids(OF_DATA, OTHER_ID, [SAME, OTHER]),
        ("warn", "other-ids", "split-by-source", "hold-source"),
    ),
    "ids: another source decides as well": (
        lambda: check_ids(OF_DATA, OTHER_ID, [SAME, OTHER_ID]),
        ("fail", "other-ids", "held-out-by-seed", "fixed-split"),
    ),
    "ids: no other source was tried": (
        lambda: check_ids(OF_DATA, OTHER_ID, []),
        ("fail", "other-ids", "held-out-by-seed", "fixed-split"),
    ),
    "ids: the source data is not requested": (
        lambda: check_ids(FIRST, OTHER_ID, [SAME]),
        ("fail", "other-ids", "held-out-by-seed", "fixed-split"),
    ),
    "ids: swapped labels": (
        lambda: check_ids(FIRST, logged(labels="yxx")),
        (
            "fail",
            data(
                "other-labels", n_changed=2, n_examples=3, split="test", example="0", has_ids=True
            ),
            "shuffled-ids",
            "stored-ids",
        ),
    ),
    "ids: splits that are named by the seed": (
        lambda: check_ids(logged(split="test-1"), logged(split="test-2")),
        (
            "fail",
            data("other-splits", splits=["test-1"], other_splits=["test-2"]),
            "split-by-seed",
            "fixed-names",
        ),
    ),
    "ids: cut while it logged": (
        lambda: check_ids(FIRST, logged("a", ids="01", labels="x", is_cut=True)),
        ("pass", "other-order"),
    ),
    "ids: cut before a split": (
        lambda: check_ids(
            Observed(splits={**FIRST.splits, "other": SplitSeen(["7"], ["x"], [b"a"])}),
            replace(FIRST, is_cut=True),
        ),
        ("pass", "same-order"),
    ),
    "ids: without labels": (
        lambda: check_ids(logged(**BLANK), logged(**BLANK)),
        ("pass", "no-labels"),
    ),
    "ids: positions without labels": (
        lambda: check_ids(logged(**BLANK, has_ids=False), logged(**BLANK, has_ids=False)),
        ("warn", "positions", "shuffled-examples", "stored-ids"),
    ),
}
CODES = {
    "logged": "logs-predictions",
    "same": "same-seed-same-bits",
    "other": "other-seed-changes-something",
    "start": "other-seed-other-start",
    "sources": "sources-change-something",
    "when": "seeds-before-draws",
    "files": "separate-files",
    "threads": "number-of-threads",
    "ids": "stable-ids",
}


@pytest.mark.parametrize("case", CASES)
def test_check_finds_the_fault_its_cause_and_the_fix(case):
    """Messages are compared as data, or by their code."""
    check, (verdict, *messages) = CASES[case]

    finding = check()

    assert (finding.code, finding.verdict) == (CODES[case.partition(":")[0]], verdict)
    parts = (finding.observed, finding.cause, finding.fix)
    for message, expected in zip_longest(parts, messages):
        if isinstance(expected, dict):
            assert details(message) == expected
        else:
            assert (message and message.code) == expected


def test_fixes_show_the_code_to_write():
    """They can be copied."""
    assert "log_predictions(" in str(check_logged(trained("s", "a")).fix)
    assert 'run.seeded("init")' in str(check_start(trained("s", "a"), trained("s", "b")).fix)
    fix = str(check_other(CONSTANT, [CONSTANT], is_repeatable=True).fix)
    assert "torch.manual_seed(sp.current_run().seed)" in fix
    assert "run.checkpoint_dir" in str(same_seed({"files": ["m.pt"]}, {}).fix)


def test_positions_are_mentioned_if_labels_change_without_ids():
    """The text is longer, and the data has it as a field."""
    with_ids = check_ids(FIRST, logged(labels="yxx")).observed
    without = check_ids(logged(has_ids=False), logged(labels="yxx", has_ids=False)).observed

    assert without.fields["has_ids"] is False
    assert len(str(without)) > len(str(with_ids))


def test_constant_seed_before_a_varying_one_is_accepted():
    """The data are fixed, then the same generator follows the seed."""
    fixed, moving = seeding("numpy.random.seed"), seeding("numpy.random.seed", where="train.py:9")

    assert when((fixed, "0", "0"), (moving, "1", "2")).verdict == "pass"
    assert when((moving, "1", "2"), (fixed, "0", "0")).verdict == "warn"
    assert when((fixed, "0", "0"), (seeding(), "1", "2")).verdict == "warn"


def test_every_call_of_a_line_is_compared():
    """A loop over the seeds 0 and 1 is constant; run.seed + i is not."""
    loop = seeding("numpy.random.seed")

    assert when((loop, "0", "0"), (loop, "1", "1")).verdict == "warn"
    assert when((loop, "5", "6"), (loop, "6", "7")).verdict == "pass"


@pytest.mark.parametrize(
    ("answers", "labels", "verdict", "code"),
    [
        (["cat", "dog", "cat"], ["cat", "dog", "dog"], "pass", "several-answers"),
        (["cat", "Dog", "cat"], ["cat", "dog", "dog"], "warn", "input-check"),
        (["cat", "cat", "cat"], ["", "", ""], "pass", "several-answers"),
    ],
    ids=["fit", "another spelling", "no labels"],
)
def test_answers_must_fit_the_labels(answers, labels, verdict, code):
    log = SplitSeen(ids=["0", "1", "2"], labels=labels, answers=answers)

    finding = check_answers(Observed(splits={"test": log}))

    assert (finding.verdict, finding.observed.code) == (verdict, code)
    assert check_answers(Observed(splits={"test": log}, is_cut=True)).verdict == "skip"
