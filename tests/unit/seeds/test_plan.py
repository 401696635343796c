"""Runs of a plan, their shared seeds, and that no seed ever changes."""

from itertools import combinations, product

import pytest

from seedproof.errors import OptionError, UnknownNameError
from seedproof.seeds import MAX_RUNS, SOURCES, SeedPlan
from seedproof.testing.errors import WithFields


def names(plan):
    """Names of the runs of a plan, in order."""
    return [run.name for run in plan.assignments()]


def seeds_of(plan):
    """The seeds of each run, by its name."""
    return {run.name: dict(run.seeds) for run in plan.assignments()}


def moved(first, second):
    """Sources whose seeds differ between two runs."""
    return {source for source in SOURCES if first[source] != second[source]}


def test_all_varies_every_source_in_every_run():
    """Five runs have five seeds of each source, and no seed serves two sources."""
    runs = seeds_of(SeedPlan.all(5))

    assert list(runs) == ["0", "1", "2", "3", "4"]
    for pair in combinations(runs.values(), 2):
        assert moved(*pair) == set(SOURCES)
    assert len({seed for run in runs.values() for seed in run.values()}) == 5 * len(SOURCES)


def test_one_at_a_time_moves_a_single_source_from_a_shared_base():
    """1 + 2 sources × (3 − 1) runs; each differs from the base in the source that it names."""
    runs = seeds_of(SeedPlan.one_at_a_time(3, ["order", "init"]))

    assert list(runs) == ["base", "order=1", "order=2", "init=1", "init=2"]
    base = runs.pop("base")
    for name, seeds in runs.items():
        assert moved(base, seeds) == {name.partition("=")[0]}
    assert runs["init=1"]["init"] != runs["init=2"]["init"]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (SeedPlan.one_at_a_time(2), ["base", "init=1", "order=1", "dropout=1"]),
        (SeedPlan.one_at_a_time(1), ["base"]),  # 1 + 3 × (1 − 1)
    ],
)
def test_one_at_a_time_varies_init_order_and_dropout_by_default(plan, expected):
    """Sampling of data and of an explainer are held."""
    assert names(plan) == expected


def test_factorial_makes_every_combination():
    """2 × 3 runs; two of them share a source's seed exactly if they name the same level of it."""
    runs = seeds_of(SeedPlan.factorial({"init": 2, "order": 3}))

    assert list(runs) == [f"init={i} order={j}" for i in range(2) for j in range(3)]
    for (name, seeds), (other_name, other_seeds) in combinations(runs.items(), 2):
        levels = zip(name.split(), other_name.split(), strict=True)
        assert moved(seeds, other_seeds) == {a.partition("=")[0] for a, b in levels if a != b}


def block_names(index, *sources):
    """Return the names of the runs of a block, which are part of records."""
    return [
        f"block {index}: A",
        f"block {index}: B",
        *(f"block {index}: {source} of A" for source in sources),
    ]


def test_a_block_has_two_independent_runs_and_a_run_per_source():
    """A and B differ in all sources; "X of A" shares X with A, and everything else with B."""
    runs = seeds_of(SeedPlan.blocks(1, ["order", "init", "data"]))

    assert list(runs) == block_names(0, "order", "init", "data")
    first, second, *crossed = runs.values()
    every = {"order", "init", "data"}
    assert moved(first, second) == every
    for source, run in zip(("order", "init", "data"), crossed, strict=True):
        assert moved(first, run) == every - {source}
        assert moved(second, run) == {source}


def test_blocks_share_no_seed_of_what_varies():
    """So they are independent draws; sources that are not named are held in all runs."""
    runs = [run.seeds for run in SeedPlan.blocks(3, ["init", "order"]).assignments()]

    for pair in combinations([runs[:4], runs[4:8], runs[8:]], 2):
        assert all(moved(*seeds) == {"init", "order"} for seeds in product(*pair))


def test_blocks_separate_init_order_and_dropout_by_default():
    """Two blocks of A, B and three sources are ten runs."""
    assert names(SeedPlan.blocks(2)) == [
        *block_names(0, "init", "order", "dropout"),
        *block_names(1, "init", "order", "dropout"),
    ]


def test_blocks_need_at_least_one_block_and_two_sources():
    """With one source, the third run would be run A again."""
    for n_blocks in (0, -1, 2.0, "5", True):
        with pytest.raises(OptionError, check=WithFields(n_blocks=n_blocks)):
            SeedPlan.blocks(n_blocks)
    for sources in ([], ["init"], ["init", "init"]):
        fields = {"sources": sources[:1], "known": SOURCES}
        with pytest.raises(OptionError, check=WithFields(**fields)):
            SeedPlan.blocks(5, sources)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (SeedPlan.all(3), SeedPlan.all(40)),
        (SeedPlan.one_at_a_time(2), SeedPlan.one_at_a_time(9)),
        (SeedPlan.factorial({"init": 2, "data": 2}), SeedPlan.factorial({"init": 3, "data": 4})),
        (SeedPlan.blocks(5), SeedPlan.blocks(10)),
    ],
    ids=["all", "one-at-a-time", "factorial", "blocks"],
)
def test_growth_keeps_the_seeds_that_were_there(small, large):
    """More runs never change runs that may be finished already."""
    assert seeds_of(small).items() <= seeds_of(large).items()
    for grown in (small.grown_to(large), large.grown_to(small)):
        assert grown == large


def test_plans_of_one_shape_are_joined():
    """3 × 2 and 2 × 4 make 3 × 4, which has the runs of both."""
    first = SeedPlan.factorial({"init": 3, "order": 2})
    second = SeedPlan.factorial({"init": 2, "order": 4})

    joined = first.grown_to(second)

    assert joined == SeedPlan.factorial({"init": 3, "order": 4})
    assert (seeds_of(first) | seeds_of(second)).items() <= seeds_of(joined).items()


@pytest.mark.parametrize(
    "other",
    [
        SeedPlan.all(2, root=1),
        SeedPlan.one_at_a_time(2, SOURCES),
        SeedPlan.factorial(dict.fromkeys(SOURCES, 2)),
        SeedPlan.blocks(1, SOURCES),
        SeedPlan("all", {"init": 2}),
    ],
    ids=["root", "one-at-a-time", "factorial", "blocks", "sources"],
)
def test_plans_of_different_shapes_are_not_joined(other):
    """Another root, kind, or other sources."""
    assert SeedPlan.all(2).grown_to(other) is None


def test_seeds_never_change():
    """They are part of every run's id: other numbers would orphan every store."""
    first, second = (run.seeds for run in SeedPlan.all(2).assignments())
    (elsewhere,) = SeedPlan.all(1, root=7).assignments()

    assert first == {
        "init": 4088532484,
        "order": 3953331965,
        "dropout": 1961512366,
        "data": 2377455350,
        "explainer": 1905993885,
    }
    assert second == {
        "init": 3581274545,
        "order": 3613627650,
        "dropout": 1663335698,
        "data": 1321936645,
        "explainer": 2025564383,
    }
    assert elsewhere.seeds["init"] == 393969088
    assert elsewhere.seeds["explainer"] == 3018317685


def test_all_kinds_of_plans_use_the_same_seeds():
    """A level's seed depends on root, source and level alone."""
    of_all = seeds_of(SeedPlan.all(2, root=3))
    alone = seeds_of(SeedPlan.one_at_a_time(2, ["order"], root=3))
    crossed = seeds_of(SeedPlan.factorial({"order": 2, "init": 2}, root=3))

    assert alone["base"] == of_all["0"]
    assert alone["order=1"] == of_all["0"] | {"order": of_all["1"]["order"]}
    assert crossed["order=1 init=0"] == alone["order=1"]


def test_seeds_fit_what_libraries_take():
    """Numpy and scikit-learn refuse a seed of more than 32 bits."""
    seeds = [seed for run in seeds_of(SeedPlan.all(50)).values() for seed in run.values()]

    assert all(type(seed) is int and 0 <= seed < 2**32 for seed in seeds)


def test_a_plan_is_read_back_from_its_plain_data():
    """As `study.json` holds it."""
    plan = SeedPlan.factorial({"order": 2, "init": 3}, root=5)

    assert plan.as_json() == {"kind": "factorial", "levels": {"order": 2, "init": 3}, "root": 5}
    assert SeedPlan(**plan.as_json()) == plan
    blocks = SeedPlan.blocks(5, ["init", "order"], root=5)
    assert SeedPlan(**blocks.as_json()) == blocks


@pytest.mark.parametrize("n_runs", [0, -1, 1.0, "3", None, True])
def test_impossible_numbers_of_runs_are_refused(n_runs):
    """Anything but a whole number from 1 on."""
    for make in (SeedPlan.all, SeedPlan.one_at_a_time, lambda n: SeedPlan.factorial({"init": n})):
        with pytest.raises(OptionError, check=WithFields(n_levels=n_runs)):
            make(n_runs)


@pytest.mark.parametrize("root", [-1, 0.5, "0", None, False])
def test_impossible_roots_are_refused(root):
    """Anything but a whole number from 0 on."""
    with pytest.raises(OptionError, check=WithFields(root=root)):
        SeedPlan.all(2, root=root)


def test_an_unknown_source_is_refused_with_the_known_ones():
    """A typo would otherwise vary nothing."""
    with pytest.raises(UnknownNameError, check=WithFields(name="weights", known=SOURCES)):
        SeedPlan.one_at_a_time(2, ["init", "weights"])
    with pytest.raises(UnknownNameError, check=WithFields(name="Order", known=SOURCES)):
        SeedPlan.factorial({"Order": 2})


def test_a_plan_in_which_nothing_varies_is_refused():
    """At least one source must vary."""
    with pytest.raises(OptionError, check=WithFields(known=SOURCES)):
        SeedPlan.one_at_a_time(3, [])
    with pytest.raises(OptionError, check=WithFields(known=SOURCES)):
        SeedPlan.factorial({})


@pytest.mark.parametrize(
    "plan",
    [
        SeedPlan.all(7),
        SeedPlan.one_at_a_time(4),
        SeedPlan.one_at_a_time(1, ("init",)),
        SeedPlan.factorial({"init": 3, "order": 4}),
        SeedPlan.blocks(3),
    ],
    ids=lambda plan: plan.kind,
)
def test_number_of_runs_is_known_without_their_seeds(plan):
    assert plan.n_runs == len(plan.assignments())


@pytest.mark.parametrize("levels", [{"init": 10**9}, {"init": 10**3, "order": 10**3}])
def test_absurd_number_of_runs_is_refused(levels):
    with pytest.raises(OptionError, check=WithFields(most=MAX_RUNS)):
        SeedPlan("factorial", levels)


def test_unknown_kind_of_plan_is_refused():
    with pytest.raises(OptionError, check=WithFields(kind="spiral")):
        SeedPlan("spiral", {"init": 2})
