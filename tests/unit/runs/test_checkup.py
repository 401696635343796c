"""What the doctor says of trainings, which are made by hand here."""

from dataclasses import replace

import pytest

from seedproof.runs.checkup import (
    check_files,
    check_ids,
    check_logged,
    check_other,
    check_same,
    check_sources,
    check_start,
    check_threads,
    check_when,
    difference,
)
from seedproof.runs.observed import Observed, SeedCall, SplitSeen


def trained(*digests, **facts):
    """A training with these weights: at the start, after step 1, and so on."""
    return Observed(
        weights=dict(enumerate(digests)),
        starts=list(digests[:1]),
        n_steps=max(0, len(digests) - 1),
        **facts,
    )


def logged(values="aab", *, ids="012", labels="xyx", split="test", has_ids=True, **facts):
    """A training that says this of three examples."""
    split_seen = SplitSeen(list(ids), list(labels), [v.encode() for v in values], has_ids=has_ids)
    return Observed(splits={split: split_seen}, **facts)


def seeding(function="torch.manual_seed", value="42", where="train.py:3", **facts):
    """A call that seeds a generator."""
    return SeedCall(function, value, where, **facts)


ONE = logged("aab")
SAME, OTHER, THIRD = logged("aab"), logged("abb"), logged("bbb")


# ------------------------------------------------------------------------------ what differs


def test_difference_counts_predictions_by_id():
    """One of three examples changed; that they come in another order is no difference."""
    assert difference(ONE, OTHER) == "1 of 3 predictions on 'test'"
    assert difference(ONE, logged("baa", ids="210", labels="xyx")) is None


def test_difference_names_the_first_step_at_which_weights_part():
    """Later steps follow from it, and a start that differs is called so."""
    assert difference(trained("s", "a", "b"), trained("s", "x", "y")) == "the weights after step 1"
    assert difference(trained("s", "a"), trained("t", "x")) == "the weights at the start"
    assert difference(trained("s", "a"), trained("s", "a", "b")) is None


def test_difference_of_ids_and_splits_counts_unless_a_training_was_cut():
    """One that was ended early has logged less, which says nothing."""
    fewer, renamed = logged("aa", ids="01", labels="xy"), logged(split="held-out")

    assert difference(ONE, fewer) == "the ids of the examples in 'test'"
    assert difference(ONE, renamed) == "the names of the splits"
    assert difference(ONE, replace(fewer, is_cut=True)) is None
    assert difference(ONE, replace(renamed, is_cut=True)) is None


def test_difference_takes_no_example_that_was_cut_off_while_it_was_logged():
    """An id without its value is compared with nothing."""
    torn = logged("aa", ids="012", labels="xy", is_cut=True)

    assert difference(ONE, torn) is None


# ------------------------------------------------------------------------------ it logs


def test_logged_passes_and_counts():
    """Three examples of one split."""
    finding = check_logged(ONE)

    assert (finding.verdict, finding.found) == ("pass", "3 on 'test'")


def test_logged_fails_where_a_training_ends_without():
    """The fix is the line to add."""
    finding = check_logged(trained("s", "a"))

    assert finding.verdict == "fail"
    assert "log_predictions" in finding.fix


def test_logged_is_skipped_where_the_budget_ended_it():
    """Weights are there to compare."""
    finding = check_logged(trained("s", "a", is_cut=True))

    assert finding.verdict == "skip"
    assert "after 1 step;" in finding.found


def test_logged_fails_where_the_budget_left_nothing_to_compare():
    """Else a doctor that saw nothing would call a training healthy."""
    finding = check_logged(Observed(is_cut=True))

    assert finding.verdict == "fail"
    assert "--seconds" in finding.fix


# ------------------------------------------------------------------------------ the same seed


def test_same_passes_and_says_what_was_compared():
    """Only what both trainings have."""
    finding = check_same(trained("s", "a", "b"), trained("s", "a"))

    assert finding.verdict == "pass"
    assert finding.found == "the weights over 1 step are identical"
    assert check_same(ONE, SAME).found == "3 predictions on 'test' are identical"


def test_same_is_skipped_without_anything_to_compare():
    """Two trainings that show nothing are not called identical."""
    assert check_same(Observed(), Observed()).verdict == "skip"
    assert check_same(trained("s", "a"), Observed(is_cut=True)).verdict == "skip"


SUSPECTS = {
    "clock": (
        {"seed_calls": [seeding(value="1")]},
        {"seed_calls": [seeding(value="2")]},
        "train.py:3 calls torch.manual_seed with another value",
    ),
    "generator from the clock": (
        {"generators": [seeding("numpy.random.default_rng", "1")]},
        {"generators": [seeding("numpy.random.default_rng", "2")]},
        "train.py:3 calls numpy.random.default_rng with another value",
    ),
    "unseeded": (
        {"unseeded": ["a.py:1", "b.py:2"], "workers": ["c.py:3"]},
        {},
        "a.py:1, b.py:2 makes a generator without a seed",
    ),
    "workers": ({"workers": ["c.py:3"], "files": ["m.pt"]}, {}, "c.py:3 starts threads or"),
    "files": ({"files": ["m.pt"]}, {}, "it writes m.pt"),
    "unknown": ({}, {}, "something follows no seed"),
}


@pytest.mark.parametrize(("mine", "theirs", "cause"), SUSPECTS.values(), ids=SUSPECTS)
def test_same_names_the_most_telling_suspect(mine, theirs, cause):
    """Three trainings of one seed, three results: what was seen decides."""
    finding = check_same(replace(ONE, **mine), replace(OTHER, **theirs), [THIRD])

    assert finding.verdict == "fail"
    assert finding.found == "1 of 3 predictions on 'test' differ"
    assert finding.cause.startswith(cause)
    assert finding.fix


def test_same_finds_hashing_by_its_secret():
    """First and third have one secret, second and fourth another; what was seen is secondary."""
    one = replace(ONE, unseeded=["a.py:1"], files=["m.pt"])

    finding = check_same(one, OTHER, [SAME, OTHER])

    assert "the order of a set, or hash()" in finding.cause
    assert "sort" in finding.fix


def test_same_names_the_line_that_seeds_with_a_hash():
    """A seed that follows the secret is where it comes in."""
    one = replace(ONE, seed_calls=[seeding(value="1")])
    two = replace(OTHER, seed_calls=[seeding(value="2")])

    assert "in train.py:3" in check_same(one, two, [one, two]).cause


def test_same_finds_what_the_first_training_left_behind():
    """All later ones agree, with either secret."""
    one = replace(ONE, files=["best.pt"], workers=["c.py:3"])

    finding = check_same(one, OTHER, [OTHER, OTHER])

    assert "left something behind" in finding.cause
    assert "best.pt" in finding.cause
    assert "checkpoint_dir" in finding.fix


@pytest.mark.parametrize("third", [ONE, OTHER], ids=["like the first", "like the second"])
def test_same_does_not_take_chance_for_a_reason(third):
    """A race may repeat a result once; the fourth training shows that it does not follow."""
    one = replace(ONE, workers=["c.py:3"])

    assert "c.py:3" in check_same(one, OTHER, [third, THIRD]).cause


# ------------------------------------------------------------------------------ another seed


def test_other_passes_if_any_seed_changes_something():
    """Classes may agree by chance under the first of them."""
    finding = check_other(ONE, [SAME, OTHER], is_repeatable=True)

    assert (finding.verdict, finding.found) == ("pass", "1 of 3 predictions on 'test' differ")


def test_other_is_skipped_where_nothing_follows():
    """A difference means nothing if the same seed differs, too; and nothing is no difference."""
    assert check_other(ONE, [OTHER], is_repeatable=False).verdict == "skip"
    assert check_other(Observed(), [Observed()], is_repeatable=True).verdict == "skip"


def test_other_names_the_constant_seed():
    """The call on a global generator comes before generators that are made, often for data."""
    one = replace(
        ONE,
        seed_calls=[seeding()],
        generators=[seeding("numpy.random.default_rng", "7", "train.py:2")],
    )

    finding = check_other(one, [one, one], is_repeatable=True)

    assert finding.verdict == "fail"
    assert finding.cause == "train.py:3 calls torch.manual_seed(42) in every run"
    assert "torch.manual_seed(sp.current_run().seed)" in finding.fix


def test_other_names_the_generator_with_a_constant_seed():
    """Where no global generator is seeded."""
    one = replace(ONE, generators=[seeding("numpy.random.default_rng", "7")])

    finding = check_other(one, [one], is_repeatable=True)

    assert finding.cause == "train.py:3 calls numpy.random.default_rng(7) in every run"


def test_other_fails_without_a_suspect_too():
    """A seed that moves is no suspect."""
    one = replace(ONE, seed_calls=[seeding(value="1")])
    other = replace(SAME, seed_calls=[seeding(value="2")])

    finding = check_other(one, [other], is_repeatable=True)

    assert finding.verdict == "fail"
    assert "nothing that is drawn reaches the model" in finding.cause


# ------------------------------------------------------------------------------ the start


def test_start_passes_if_one_optimizer_begins_elsewhere():
    """Others may begin with zeros, as a temperature does."""
    one, other = trained("s", "a"), trained("s", "b")

    finding = check_start(replace(one, starts=["0", "s"]), replace(other, starts=["0", "t"]))

    assert finding.verdict == "pass"


def test_start_warns_of_weights_that_never_vary():
    """The order varies, and the model begins the same."""
    finding = check_start(trained("s", "a"), trained("s", "b"))

    assert finding.verdict == "warn"
    assert 'run.seeded("init")' in finding.fix


def test_start_is_skipped_without_steps_and_without_any_difference():
    """The second case is a fault already, and one is enough."""
    assert check_start(ONE, OTHER).verdict == "skip"
    assert check_start(trained("s", "a"), trained("s", "a")).verdict == "skip"


# ------------------------------------------------------------------------------ sources


ASKED = replace(ONE, sources={"init", "order"})


def test_sources_pass_and_say_what_each_does():
    """And what is not asked for changes nothing."""
    alone = {"init": OTHER, "order": THIRD}

    finding = check_sources(ASKED, alone, SAME, is_repeatable=True)

    assert finding.verdict == "pass"
    assert finding.found == (
        "init: 1 of 3 predictions on 'test'; order: 2 of 3 predictions on 'test'"
    )


def test_sources_warn_of_one_that_does_nothing():
    """It is asked for, and what it gives is not used."""
    finding = check_sources(ASKED, {"init": OTHER, "order": SAME}, SAME, is_repeatable=True)

    assert finding.verdict == "warn"
    assert finding.found.endswith("order: nothing")
    assert finding.cause.endswith("changes nothing: order")


def test_sources_say_how_far_a_cut_training_went():
    """A source may come in later."""
    one = trained("s", "a", sources={"data"}, is_cut=True)

    finding = check_sources(one, {"data": one}, one, is_repeatable=True)

    assert finding.verdict == "warn"
    assert "within 1 step: data" in finding.cause


def test_sources_warn_of_draws_outside_of_them():
    """They change with every source, so that nothing can be said of any."""
    alone = {"init": OTHER, "order": OTHER}

    finding = check_sources(ASKED, alone, THIRD, is_repeatable=True)

    assert finding.verdict == "warn"
    assert finding.found.endswith("no source: 2 of 3 predictions on 'test'")
    assert "outside of any source" in finding.cause


@pytest.mark.parametrize(
    ("one", "alone", "is_repeatable", "found"),
    [
        (ASKED, {"init": OTHER}, False, "the same seed does not even give the same"),
        (Observed(), {}, True, "there was nothing to compare"),
        (ONE, {}, True, "the training does not tell sources apart"),
    ],
    ids=["not repeatable", "nothing logged", "none asked for"],
)
def test_sources_are_skipped_where_nothing_follows(one, alone, is_repeatable, found):
    """Each time for its own reason."""
    finding = check_sources(one, alone, None, is_repeatable=is_repeatable)

    assert finding.verdict == "skip"
    assert finding.found.startswith(found)


# ------------------------------------------------------------------------------ ids


def test_ids_pass_in_any_order():
    """An order that moves is told, and does no harm."""
    moved = logged("baa", ids="210", labels="xyx")

    assert check_ids(ONE, OTHER).found == "the same ids in the same order"
    assert check_ids(ONE, moved).verdict == "pass"
    assert check_ids(ONE, moved).found.startswith("their order moves")


def test_ids_are_skipped_without_predictions():
    """There are none."""
    assert check_ids(trained("s", "a"), trained("s", "b")).verdict == "skip"


def test_ids_fail_if_other_examples_are_held_out():
    """One of three is another."""
    finding = check_ids(ONE, logged(ids="013"))

    assert finding.verdict == "fail"
    assert finding.found == "under another seed, 1 of 3 ids in 'test' are others"
    assert "held out depends on the seed" in finding.cause


def test_ids_may_follow_the_source_data():
    """Which is what that source is for; held, runs can be laid side by side."""
    one, other = replace(ONE, sources={"data", "init"}), logged(ids="013")

    assert check_ids(one, other, [SAME, OTHER]).verdict == "warn"
    assert check_ids(one, other, [SAME, other]).verdict == "fail"
    assert check_ids(one, other, []).verdict == "fail"
    assert check_ids(ONE, other, [SAME]).verdict == "fail"


def test_ids_fail_if_they_stand_for_other_examples():
    """The labels of two have changed places, which no example does."""
    finding = check_ids(ONE, logged(labels="yxx"))

    assert finding.verdict == "fail"
    assert "2 of 3 ids in 'test' stand for examples with another label, such as '0'" in (
        finding.found
    )
    assert "positions in an order that the seed shuffles" in finding.cause
    assert "positions are taken" not in finding.found
    assert "positions are taken" in (
        check_ids(logged(has_ids=False), logged(labels="yxx", has_ids=False)).found
    )


def test_ids_fail_if_the_splits_are_others():
    """A name with the seed in it."""
    finding = check_ids(logged(split="test-1"), logged(split="test-2"))

    assert finding.verdict == "fail"
    assert finding.found == "the splits are 'test-1', and under another seed 'test-2'"


def test_ids_that_were_cut_off_are_no_fault():
    """The budget ended one of the trainings while it logged."""
    half = logged("a", ids="01", labels="x", is_cut=True)
    both = Observed(splits={**ONE.splits, "other": SplitSeen(["7"], ["x"], [b"a"])})

    assert check_ids(ONE, half).verdict == "pass"
    assert check_ids(both, replace(ONE, is_cut=True)).verdict == "pass"


def test_ids_without_labels_are_believed_and_positions_are_not():
    """Nobody can see whether an example is the same one."""
    blank = ["", "", ""]

    assert check_ids(logged(labels=blank), logged(labels=blank)).verdict == "pass"
    finding = check_ids(logged(labels=blank, has_ids=False), logged(labels=blank, has_ids=False))
    assert finding.verdict == "warn"
    assert "neither ids nor labels" in finding.found


# ------------------------------------------------------------------------------ when


def when(*pairs):
    """The finding for calls with these values under the first and under another seed."""
    one = [replace(call, value=value) for call, value, _ in pairs]
    other = [replace(call, value=value) for call, _, value in pairs]
    return check_when(Observed(seed_calls=one), Observed(seed_calls=other))


def test_when_passes_if_seeds_are_set_in_time_or_not_at_all():
    """And says how many."""
    assert when().found == "it sets none itself"
    finding = when((seeding(), "1", "2"), (seeding("random.seed"), "1", "2"))
    assert (finding.verdict, finding.found) == ("pass", "2 calls of its own")


def test_when_fails_if_something_was_drawn_before():
    """The line is named."""
    finding = when((seeding(is_late=True), "1", "2"))

    assert finding.verdict == "fail"
    assert finding.found.startswith("train.py:3 calls torch.manual_seed after something was drawn")
    assert "train.py:3" in finding.cause


def test_when_only_warns_if_that_was_pythons_generator():
    """A library may have drawn a name; but a late seed of torch is worse, and comes first."""
    python = seeding("random.seed", where="train.py:9", is_late=True)

    assert when((python, "1", "2")).verdict == "warn"
    finding = when((python, "1", "2"), (seeding(is_late=True), "1", "2"))
    assert finding.verdict == "fail"
    assert finding.found.startswith("train.py:3")


def test_when_warns_of_constants_and_names_them():
    """All of them, if they are few."""
    finding = when((seeding(), "42", "42"), (seeding("random.seed", where="train.py:4"), "7", "7"))

    assert finding.verdict == "warn"
    assert finding.found == (
        "train.py:3 calls torch.manual_seed(42) and train.py:4 calls random.seed(7) in every run"
    )


def test_when_forgives_a_constant_that_a_moving_seed_follows():
    """The data are fixed, and then the same generator obeys; another's seed does not help."""
    fixed, moving = seeding("numpy.random.seed"), seeding("numpy.random.seed", where="train.py:9")

    assert when((fixed, "0", "0"), (moving, "1", "2")).verdict == "pass"
    assert when((moving, "1", "2"), (fixed, "0", "0")).verdict == "warn"
    assert when((fixed, "0", "0"), (seeding(), "1", "2")).verdict == "warn"


def test_when_compares_each_time_that_a_line_is_reached():
    """A loop that seeds with 0 and 1 in every run is constant; with run.seed + i it is not."""
    loop = seeding("numpy.random.seed")

    assert when((loop, "0", "0"), (loop, "1", "1")).verdict == "warn"
    assert when((loop, "5", "6"), (loop, "6", "7")).verdict == "pass"


def test_when_ignores_what_was_undone():
    """Fixed noise to look at, after which the generator goes on where it was."""
    noise = seeding(is_late=True, is_undone=True)

    finding = when((noise, "0", "0"))

    assert (finding.verdict, finding.found) == ("pass", "it sets none itself")


# ------------------------------------------------------------------------------ files, threads


def test_files_warn_of_those_that_are_written_under_both_seeds():
    """What only the first has written is a cache, or the run's own."""
    finding = check_files(Observed(files=["cache", "best.pt"]), Observed(files=["best.pt"]))

    assert finding.verdict == "warn"
    assert finding.found == "under either seed, it writes best.pt"
    assert check_files(Observed(files=["cache"]), Observed()).verdict == "pass"


def test_threads_are_compared_with_what_was_given():
    """And the line that takes more is named, where it is known."""
    assert check_threads(Observed(n_threads=None), 1).verdict == "skip"
    assert check_threads(Observed(n_threads=2), 2).verdict == "pass"
    finding = check_threads(Observed(n_threads=2, thread_calls=["train.py:5"]), 1)
    assert (finding.verdict, finding.found) == ("warn", "it may use 1, and torch uses 2")
    assert finding.cause.startswith("train.py:5 calls torch.set_num_threads")
    assert check_threads(Observed(n_threads=2), 1).cause.startswith("the training calls")
