"""Findings of the doctor, on constructed observations."""

from dataclasses import replace

import pytest

from seedproof.doctor.checks import (
    check_files,
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


def changed(n_changed):
    """Return the data of a difference in some of the three predictions."""
    return {"code": "predictions", "n_changed": n_changed, "n_examples": 3, "split": "test"}


def seed_call(place, function, seed):
    """Return the data of a call that is named in a finding."""
    return {"code": "seed-call", "place": place, "function": function, "seed": seed}


def codes(finding):
    """Return the codes of what was observed, of the cause and of the fix."""
    return finding.observed.code, finding.cause.code, finding.fix.code


FIRST = logged("aab")
SAME, OTHER, THIRD = logged("aab"), logged("abb"), logged("bbb")
ONE_CHANGED = {"code": "different", "differences": [changed(1)]}


# ------------------------------------------------------------------------------ it logs


def test_logged_passes_and_counts():
    """Three examples of one split."""
    finding = check_logged(FIRST)

    assert (finding.code, finding.verdict) == ("logs-predictions", "pass")
    assert details(finding.observed)["logged"] == [
        {"code": "predictions", "n_examples": 3, "split": "test"}
    ]


def test_logged_fails_without_predictions():
    """The fix is the line to add."""
    finding = check_logged(trained("s", "a"))

    assert finding.verdict == "fail"
    assert codes(finding) == ("nothing-logged", "no-call", "add-call")
    assert "log_predictions(" in str(finding.fix)


def test_logged_is_skipped_after_a_cut():
    """Weights can be compared."""
    finding = check_logged(trained("s", "a", is_cut=True))

    assert finding.verdict == "skip"
    assert details(finding.observed) == {"code": "cut-with-weights", "n_steps": 1}


def test_logged_fails_if_the_budget_leaves_nothing_to_compare():
    """Otherwise a training without observations would look healthy."""
    finding = check_logged(Observed(is_cut=True))

    assert finding.verdict == "fail"
    assert finding.cause.code == "budget-too-small"
    assert finding.fix.fields["option"] == "--seconds"


# ------------------------------------------------------------------------------ the same seed


def test_same_passes_and_reports_what_was_compared():
    """Only what both trainings have."""
    finding = check_same(trained("s", "a", "b"), trained("s", "a"))

    assert (finding.code, finding.verdict) == ("same-seed-same-bits", "pass")
    assert details(finding.observed) == {
        "code": "identical",
        "compared": [{"code": "weights", "n_steps": 1}],
    }
    assert details(check_same(FIRST, SAME).observed)["compared"] == [
        {"code": "predictions", "n_examples": 3, "split": "test"}
    ]


def test_same_is_skipped_without_anything_to_compare():
    """Two trainings without observations are not identical."""
    assert check_same(Observed(), Observed()).verdict == "skip"
    assert check_same(trained("s", "a"), Observed(is_cut=True)).verdict == "skip"


SUSPECTS = {
    "clock": (
        {"seed_calls": [seeding(value="1")]},
        {"seed_calls": [seeding(value="2")]},
        {"code": "moving-seed", "place": "train.py:3", "function": "torch.manual_seed"},
    ),
    "generator from the clock": (
        {"generators": [seeding("numpy.random.default_rng", "1")]},
        {"generators": [seeding("numpy.random.default_rng", "2")]},
        {"code": "moving-seed", "place": "train.py:3", "function": "numpy.random.default_rng"},
    ),
    "unseeded": (
        {"unseeded": ["a.py:1", "b.py:2"], "workers": ["c.py:3"]},
        {},
        {"code": "unseeded-generator", "places": ["a.py:1", "b.py:2"]},
    ),
    "workers": (
        {"workers": ["c.py:3"], "files": ["m.pt"]},
        {},
        {"code": "order-of-workers", "place": "c.py:3"},
    ),
    "files": ({"files": ["m.pt"]}, {}, {"code": "files-written", "files": ["m.pt"]}),
    "unknown": ({}, {}, {"code": "unknown"}),
}


@pytest.mark.parametrize(("first", "second", "cause"), SUSPECTS.values(), ids=SUSPECTS)
def test_same_names_the_likeliest_cause(first, second, cause):
    """Three trainings of one seed have three results: observations decide."""
    finding = check_same(replace(FIRST, **first), replace(OTHER, **second), [THIRD])

    assert finding.verdict == "fail"
    assert details(finding.observed) == ONE_CHANGED
    assert details(finding.cause) == cause
    assert finding.fix is not None


def test_same_detects_the_order_of_hashes():
    """The first and third share a hash seed, as do the second and fourth."""
    first = replace(FIRST, unseeded=["a.py:1"], files=["m.pt"])

    finding = check_same(first, OTHER, [SAME, OTHER])

    assert details(finding.cause) == {"code": "order-of-hashes", "place": None}
    assert finding.fix.code == "sort-sets"


def test_same_names_the_line_that_seeds_with_a_hash():
    """Its seed follows the hash seed."""
    first = replace(FIRST, seed_calls=[seeding(value="1")])
    second = replace(OTHER, seed_calls=[seeding(value="2")])

    assert details(check_same(first, second, [first, second]).cause) == {
        "code": "order-of-hashes",
        "place": "train.py:3",
    }


def test_same_detects_leftovers_of_the_first_training():
    """All later trainings agree, with either hash seed."""
    first = replace(FIRST, files=["best.pt"], workers=["c.py:3"])

    finding = check_same(first, OTHER, [OTHER, OTHER])

    assert details(finding.cause) == {"code": "left-behind", "files": ["best.pt"]}
    assert finding.fix.code == "own-folder"
    assert "run.checkpoint_dir" in str(finding.fix)


@pytest.mark.parametrize("third", [FIRST, OTHER], ids=["like-first", "like-second"])
def test_same_is_not_misled_by_chance(third):
    """A race may repeat a result once, but not twice."""
    first = replace(FIRST, workers=["c.py:3"])

    assert check_same(first, OTHER, [third, THIRD]).cause.code == "order-of-workers"


# ------------------------------------------------------------------------------ another seed


def test_other_passes_if_any_seed_changes_something():
    """With the first seed, classes may agree by chance."""
    finding = check_other(FIRST, [SAME, OTHER], is_repeatable=True)

    assert (finding.code, finding.verdict) == ("other-seed-changes-something", "pass")
    assert details(finding.observed) == ONE_CHANGED


def test_other_is_skipped_without_evidence():
    """If the same seed differs, or there is nothing to compare."""
    differs = check_other(FIRST, [OTHER], is_repeatable=False)
    empty = check_other(Observed(), [Observed()], is_repeatable=True)

    assert (differs.verdict, differs.observed.code) == ("skip", "not-repeatable")
    assert (empty.verdict, empty.observed.code) == ("skip", "nothing-to-compare")


def test_other_names_the_constant_seed():
    """Calls on a global generator come before generators, which are often for data."""
    first = replace(
        FIRST,
        seed_calls=[seeding()],
        generators=[seeding("numpy.random.default_rng", "7", "train.py:2")],
    )

    finding = check_other(first, [first, first], is_repeatable=True)

    assert (finding.verdict, finding.observed.code) == ("fail", "identical")
    assert details(finding.cause) == {
        "code": "constant-seed",
        "call": seed_call("train.py:3", "torch.manual_seed", "42"),
    }
    assert details(finding.fix) == {"code": "pass-seed", "function": "torch.manual_seed"}
    assert "torch.manual_seed(sp.current_run().seed)" in str(finding.fix)


def test_other_names_the_generator_with_a_constant_seed():
    """If no global generator is seeded."""
    first = replace(FIRST, generators=[seeding("numpy.random.default_rng", "7")])

    finding = check_other(first, [first], is_repeatable=True)

    assert details(finding.cause)["call"] == seed_call(
        "train.py:3", "numpy.random.default_rng", "7"
    )


def test_other_fails_without_a_known_cause():
    """A seed that varies is not the cause."""
    first = replace(FIRST, seed_calls=[seeding(value="1")])
    other = replace(SAME, seed_calls=[seeding(value="2")])

    finding = check_other(first, [other], is_repeatable=True)

    assert codes(finding) == ("identical", "draws-unused", "use-sources")
    assert finding.verdict == "fail"


# ------------------------------------------------------------------------------ the start


def test_start_passes_if_one_optimizer_starts_elsewhere():
    """Others may start with zeros."""
    first, other = trained("s", "a"), trained("s", "b")

    finding = check_start(replace(first, starts=["0", "s"]), replace(other, starts=["0", "t"]))

    assert (finding.code, finding.verdict) == ("other-seed-other-start", "pass")


def test_start_warns_of_weights_that_never_vary():
    """The order varies, but the initial model does not."""
    finding = check_start(trained("s", "a"), trained("s", "b"))

    assert finding.verdict == "warn"
    assert codes(finding) == ("same-start", "fixed-start", "draw-in-source")
    assert 'run.seeded("init")' in str(finding.fix)


def test_start_is_skipped_without_steps_and_without_any_difference():
    """The second case is reported as a fault elsewhere."""
    no_steps, no_change = (
        check_start(FIRST, OTHER),
        check_start(trained("s", "a"), trained("s", "a")),
    )

    assert (no_steps.verdict, no_steps.observed.code) == ("skip", "no-steps")
    assert (no_change.verdict, no_change.observed.code) == ("skip", "no-change")


# ------------------------------------------------------------------------------ sources


REQUESTED = replace(FIRST, sources={"init", "order"})


def test_sources_pass_and_report_their_effects():
    """And a source that is not requested has none."""
    alone = {"init": OTHER, "order": THIRD}

    finding = check_sources(REQUESTED, alone, SAME, is_repeatable=True)

    assert (finding.code, finding.verdict) == ("sources-change-something", "pass")
    assert details(finding.observed)["effects"] == [
        {"code": "effect", "source": "init", "differences": [changed(1)]},
        {"code": "effect", "source": "order", "differences": [changed(2)]},
    ]


def test_sources_warn_of_a_source_without_effect():
    """It is requested, but not used."""
    finding = check_sources(REQUESTED, {"init": OTHER, "order": SAME}, SAME, is_repeatable=True)

    assert finding.verdict == "warn"
    assert details(finding.observed)["effects"][1] == {"code": "no-effect", "source": "order"}
    assert details(finding.cause) == {"code": "idle-sources", "sources": ["order"], "n_steps": None}


def test_sources_report_the_steps_of_a_cut_training():
    """A source may have an effect later."""
    first = trained("s", "a", sources={"data"}, is_cut=True)

    finding = check_sources(first, {"data": first}, first, is_repeatable=True)

    assert finding.verdict == "warn"
    assert details(finding.cause) == {"code": "idle-sources", "sources": ["data"], "n_steps": 1}


def test_sources_warn_of_draws_outside():
    """These change with every source, so single effects are unknown."""
    alone = {"init": OTHER, "order": OTHER}

    finding = check_sources(REQUESTED, alone, THIRD, is_repeatable=True)

    assert finding.verdict == "warn"
    assert codes(finding) == ("draws-outside", "global-generators", "draw-in-source")
    assert details(finding.observed)["differences"] == [changed(2)]
    assert [part["source"] for part in details(finding.observed)["effects"]] == ["init", "order"]


@pytest.mark.parametrize(
    ("first", "alone", "is_repeatable", "reason"),
    [
        (REQUESTED, {"init": OTHER}, False, "not-repeatable"),
        (Observed(), {}, True, "nothing-to-compare"),
        (FIRST, {}, True, "no-sources"),
    ],
    ids=["not-repeatable", "nothing-logged", "no-sources"],
)
def test_sources_are_skipped_without_evidence(first, alone, is_repeatable, reason):
    """Each time for another reason."""
    finding = check_sources(first, alone, None, is_repeatable=is_repeatable)

    assert (finding.verdict, finding.observed.code) == ("skip", reason)


# ------------------------------------------------------------------------------ when


def when(*pairs):
    """Return the finding for calls with these values under two seeds."""
    first = [replace(call, value=value) for call, value, _ in pairs]
    other = [replace(call, value=value) for call, _, value in pairs]
    return check_when(Observed(seed_calls=first), Observed(seed_calls=other))


def test_when_passes_if_seeds_are_set_in_time_or_not_at_all():
    """And reports their number."""
    assert (when().code, when().observed.code) == ("seeds-before-draws", "no-seed-calls")
    finding = when((seeding(), "1", "2"), (seeding("random.seed"), "1", "2"))
    assert finding.verdict == "pass"
    assert details(finding.observed) == {"code": "seed-calls", "n_calls": 2}


def test_when_fails_if_something_was_drawn_before():
    """The finding names the line."""
    finding = when((seeding(is_late=True), "1", "2"))

    assert finding.verdict == "fail"
    assert details(finding.observed) == {
        "code": "late-seed",
        "place": "train.py:3",
        "function": "torch.manual_seed",
    }
    assert details(finding.cause) == {"code": "drawn-before-seed", "place": "train.py:3"}


def test_when_warns_if_only_pythons_generator_is_late():
    """Libraries use it; a late seed of torch is worse, and comes first."""
    python = seeding("random.seed", where="train.py:9", is_late=True)

    assert when((python, "1", "2")).verdict == "warn"
    finding = when((python, "1", "2"), (seeding(is_late=True), "1", "2"))
    assert finding.verdict == "fail"
    assert finding.observed.fields["place"] == "train.py:3"


def test_when_warns_of_constants_and_names_them():
    """All of them, if they are few."""
    finding = when((seeding(), "42", "42"), (seeding("random.seed", where="train.py:4"), "7", "7"))

    assert finding.verdict == "warn"
    assert details(finding.observed) == {
        "code": "constant-seeds",
        "calls": [
            seed_call("train.py:3", "torch.manual_seed", "42"),
            seed_call("train.py:4", "random.seed", "7"),
        ],
    }
    assert details(finding.cause) == {"code": "constant-draws", "place": "train.py:3"}


def test_when_accepts_a_constant_before_a_varying_seed():
    """The data are fixed, then the same generator follows the seed."""
    fixed, moving = seeding("numpy.random.seed"), seeding("numpy.random.seed", where="train.py:9")

    assert when((fixed, "0", "0"), (moving, "1", "2")).verdict == "pass"
    assert when((moving, "1", "2"), (fixed, "0", "0")).verdict == "warn"
    assert when((fixed, "0", "0"), (seeding(), "1", "2")).verdict == "warn"


def test_when_compares_every_call_of_a_line():
    """A loop over the seeds 0 and 1 is constant; run.seed + i is not."""
    loop = seeding("numpy.random.seed")

    assert when((loop, "0", "0"), (loop, "1", "1")).verdict == "warn"
    assert when((loop, "5", "6"), (loop, "6", "7")).verdict == "pass"


def test_when_ignores_undone_calls():
    """Such as fixed noise, after which the generator is restored."""
    noise = seeding(is_late=True, is_undone=True)

    finding = when((noise, "0", "0"))

    assert (finding.verdict, finding.observed.code) == ("pass", "no-seed-calls")


# ------------------------------------------------------------------------------ files, threads


def test_files_warn_of_files_of_both_seeds():
    """A file of the first only is a cache, or the run's own."""
    finding = check_files(Observed(files=["cache", "best.pt"]), Observed(files=["best.pt"]))

    assert (finding.code, finding.verdict) == ("separate-files", "warn")
    assert details(finding.observed) == {"code": "common-files", "files": ["best.pt"]}
    assert check_files(Observed(files=["cache"]), Observed()).verdict == "pass"


def test_threads_are_compared_with_the_limit():
    """The finding names the line that exceeds it."""
    assert check_threads(Observed(n_threads=None), 1).verdict == "skip"
    assert check_threads(Observed(n_threads=2), 2).verdict == "pass"
    finding = check_threads(Observed(n_threads=2, thread_calls=["train.py:5"]), 1)
    assert (finding.code, finding.verdict) == ("number-of-threads", "warn")
    assert details(finding.observed) == {"code": "other-threads", "n_allowed": 1, "n_threads": 2}
    assert details(finding.cause) == {"code": "threads-set", "place": "train.py:5"}
    unknown = check_threads(Observed(n_threads=2), 1).cause
    assert details(unknown) == {"code": "threads-set", "place": None}
