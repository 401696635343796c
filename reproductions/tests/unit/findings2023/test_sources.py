"""Which of a model's random numbers are its run's own."""

import pytest
import torch
from seedproof_reproductions.findings2023.arms import ARMS
from seedproof_reproductions.findings2023.head import Head
from seedproof_reproductions.findings2023.sources import Sources

import seedproof as sp

TRAINED = ("none", "fixed-init", "fixed-init-decay", "fixed-init-draw-2")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """First weights, order and dropped units of three runs, by arm and source."""
    found = {}

    def train(run):
        arm = ARMS[run.arm]
        sources = Sources.of(run, arm)
        head = Head(12, 5, arm, 0.1, sources)
        weights = torch.cat([one.detach().flatten() for one in head.parameters()])
        order = torch.randperm(50, generator=sources.order)
        dropout = torch.rand(50, generator=sources.dropout)
        for source, numbers in (("init", weights), ("order", order), ("dropout", dropout)):
            found.setdefault((run.arm, source), []).append(tuple(numbers.tolist()))
        run.log_scalar("done", 1)

    store = tmp_path_factory.mktemp("sources") / "store"
    study = sp.Study("made", train, seeds=3, arms=TRAINED, store=store)
    status = study.run("serial", progress=False)
    assert not status.failed, status.failed[0].message
    return found


def test_runs_with_a_fixed_init_begin_with_the_same_weights(drawn):
    """Those of the control do not."""
    assert len(set(drawn["fixed-init", "init"])) == 1
    assert len(set(drawn["none", "init"])) == 3
    # What the schedule does comes later.
    assert drawn["fixed-init-decay", "init"] == drawn["fixed-init", "init"]


@pytest.mark.parametrize("source", ["order", "dropout"])
def test_runs_with_a_fixed_init_have_their_own_order_and_dropout(drawn, source):
    """The same as those of the control under the same seeds: only the first weights differ."""
    assert len(set(drawn["fixed-init", source])) == 3
    assert drawn["fixed-init", source] == drawn["none", source]


def test_another_draw_is_another_start_for_all_runs(drawn):
    """And nothing else is another."""
    first, other = ("fixed-init", "fixed-init-draw-2")

    assert len(set(drawn[other, "init"])) == 1
    assert drawn[other, "init"] != drawn[first, "init"]
    assert drawn[other, "order"] == drawn[first, "order"]
    assert drawn[other, "dropout"] == drawn[first, "dropout"]


def test_what_runs_share_is_another_for_each_index_and_draw():
    """And the same at every call: an ensemble has as many teachers as it says."""
    which = [(index, draw) for index in range(3) for draw in range(3)]

    first, again = ([Sources.shared(index, draw).state for index, draw in which] for _ in range(2))

    assert first == again
    # Nor are the three sources of one model the same stream.
    assert len({state for states in first for state in states}) == 3 * len(which)
