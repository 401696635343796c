import pytest
import torch

from seedproof.stabilize import PRESETS, Decay, Mean, NormRule, Policy
from seedproof.stabilize.weighting import Counters, weigh

CPU = torch.device("cpu")


def weights_of(policy, *, distances=(), skipped=(), n=6, on_device=False):
    """Return the weight of each iteration, and the final counters."""
    count = Counters(n_members=int(policy.begins_with == "weights"))
    count = count.on(CPU) if on_device else count
    weights = []
    for index in range(n):
        is_real = index not in skipped
        given = torch.tensor(is_real) if on_device else is_real

        def distance(index=index):
            far = distances[index]
            return torch.tensor(far, dtype=torch.float64) if on_device else far

        weights.append(float(weigh(policy, count, is_real=given, distance=distance)))
        count.n_steps = count.n_steps + given
    return weights, count


def test_mean_that_begins_with_the_weights_counts_them():
    """1/2, 1/3, 1/4: W_0 is a member before anything enters, and enters once more."""
    weights, _ = weights_of(Policy(), n=3)

    assert weights == [1 / 2, 1 / 3, 1 / 4]


def test_mean_that_begins_with_the_first_copies_it():
    """1, 1/2, 1/3; and 1, 1/3, 1/4 if the first counts twice."""
    once = Policy(begins_with="first")
    twice = Policy(begins_with="first", first_counts=2)

    assert weights_of(once, n=3)[0] == [1, 1 / 2, 1 / 3]
    assert weights_of(twice, n=3)[0] == [1, 1 / 3, 1 / 4]


def test_waiting_and_skipped_steps_have_weight_zero():
    """After two steps, every second one: the third, the fifth."""
    weights, count = weights_of(Policy(after_steps=2, every=2))

    assert weights == [0, 0, 1 / 2, 0, 1 / 3, 0]
    assert (count.n_offered, count.n_entered) == (4, 2)


def test_decay_warms_up():
    """The average keeps 1/10, 2/11, 3/12 of itself, until that exceeds the decay."""
    warm, cold = Policy(weighing=Decay(0.2)), Policy(weighing=Decay(0.2, warm_up=False))

    assert weights_of(warm, n=4)[0] == pytest.approx([9 / 10, 9 / 11, 8 / 10, 8 / 10], rel=1e-15)
    assert weights_of(cold, n=2)[0] == [1 - 0.2] * 2


def test_rule_accepts_weights_further_than_usual():
    """0 > 0 no, list [0]; 4 > 0 yes, [4]; 2 > 4 no, [4, 2]; 3 > 3 no, [4, 2, 3]; 3.5 > 3 yes."""
    policy = Policy(weighing=Mean("iterations"), accept=NormRule())

    weights, count = weights_of(policy, distances=[0, 4, 2, 3, 3.5, 3.4])

    assert weights == [0, 1 / 3, 0, 0, 1 / 6, 0]
    assert (count.norm_sum, count.norm_count, count.n_entered) == (3.5 + 3.4, 2, 2)


def test_mean_over_accepted_counts_only_these():
    """The same decisions, and denominators 2 and 3 instead of 3 and 6."""
    policy = Policy(weighing=Mean("accepted"), accept=NormRule())

    weights, _ = weights_of(policy, distances=[0, 4, 2, 3, 3.5, 3.4])

    assert weights == [0, 1 / 2, 0, 0, 1 / 3, 0]


def test_distances_of_zero_may_be_ignored():
    """3 enters, [3]; 0 and 0 do not; 2 > 1 enters if zeros are kept, otherwise 2 < 3 does not."""
    distances = [3, 0, 0, 2]
    kept = Policy(accept=NormRule(keep_zeros=True))
    forgotten = Policy(accept=NormRule(keep_zeros=False))

    assert [w > 0 for w in weights_of(kept, distances=distances, n=4)[0]] == [1, 0, 0, 1]
    assert [w > 0 for w in weights_of(forgotten, distances=distances, n=4)[0]] == [1, 0, 0, 0]


def test_first_weights_have_no_distance():
    policy = Policy(begins_with="first", accept=NormRule())

    weights, count = weights_of(policy, distances=[99, 1], n=2)

    assert weights == [1, 1 / 2]
    assert (count.norm_sum, count.norm_count) == (1, 1)


POLICIES = [policy for policy in PRESETS.values() if policy is not None]


@pytest.mark.parametrize(
    "policy", [*POLICIES, Policy(weighing=Decay(0.998, warm_up=False), begins_with="first")]
)
def test_device_gives_the_same_numbers(policy):
    """To the last bit of 64."""
    settings = {"distances": [0.0, 4.0, 2.0, 3.0, 3.5, 3.4, 5.0, 5.0], "skipped": {1, 4}, "n": 8}

    weights, count = weights_of(policy, **settings)
    device_weights, on_device = weights_of(policy, **settings, on_device=True)

    assert device_weights == weights
    assert on_device.plain() == count.plain()


def test_skipped_steps_do_not_count():
    policy = Policy(accept=NormRule())

    weights, count = weights_of(policy, distances=[9, 4, 9, 9, 5, 6], skipped={0, 2, 3}, n=6)

    assert weights == [0, 1 / 2, 0, 0, 1 / 3, 1 / 4]
    assert (count.n_offered, count.n_members, count.n_steps) == (3, 4, 3)


def test_counters_survive_a_checkpoint():
    count = Counters(7, 2, 6, 5, 9, 1.25, 3, 4)

    assert Counters.from_plain(count.plain()) == count
    assert Counters.from_plain(count.on(CPU).plain()) == count
    assert {type(value) for value in count.on(CPU).plain().values()} == {int, float}
