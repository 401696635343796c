"""Streams are equal for equal seeds, and independent otherwise."""

from itertools import combinations, product

import numpy as np

from seedproof.seeds import SOURCES, SeedPlan, Streams
from seedproof.seeds.streams import GLOBAL, NUMPY, TORCH

USES = (NUMPY, TORCH, GLOBAL)


def streams_of(index):
    """The streams of one run of a plan in which everything varies."""
    return Streams(SeedPlan.all(index + 1).assignments()[index].seeds)


def draws(sequence, n=1000):
    """Numbers of one stream."""
    return np.random.default_rng(sequence).standard_normal(n)


def test_the_same_seeds_give_the_same_numbers():
    """Two objects of equal seeds are interchangeable, for every use of every source."""
    for source, use in product(SOURCES, USES):
        first, second = (draws(streams_of(3).sequence(source, use)) for _ in range(2))
        assert first.tolist() == second.tolist()


def test_every_source_and_use_has_a_stream_of_its_own():
    """No two of the fifteen are correlated, even where two sources have one seed."""
    same = Streams(dict.fromkeys(SOURCES, 5))

    numbers = [draws(same.sequence(*which)) for which in product(SOURCES, USES)]

    assert len(numbers) == 15
    for pair in combinations(numbers, 2):
        # Of 1000 independent pairs, r has the sd 0.032: 0.2 is beyond six of them.
        assert abs(np.corrcoef(*pair)[0, 1]) < 0.2


def test_a_source_depends_on_its_own_seed_alone():
    """Varying one source leaves the streams of all others as they were."""
    base = dict.fromkeys(SOURCES, 1)
    for source, changed in product(SOURCES, SOURCES):
        before = Streams(base).sequence(source, NUMPY).generate_state(4).tolist()
        after = Streams(base | {changed: 2}).sequence(source, NUMPY).generate_state(4).tolist()
        assert (before == after) == (source != changed)


def test_everything_changes_with_every_source():
    """For code that does not distinguish sources."""
    base = dict.fromkeys(SOURCES, 1)

    seeds = {Streams(base).seed} | {Streams(base | {source: 2}).seed for source in SOURCES}

    assert len(seeds) == 1 + len(SOURCES)
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_streams_never_change():
    """The numbers of a run are the same in every later version."""
    streams = streams_of(0)

    assert streams.seed == 539430093
    assert streams.everything().generate_state(3).tolist() == [539430093, 2732789454, 161521761]
    assert streams.sequence("init", NUMPY).generate_state(2).tolist() == [2548056228, 2586637636]
    assert streams.sequence("order", GLOBAL).generate_state(2).tolist() == [1129721752, 499531163]
