import pytest
import torch

from seedproof.stabilize.averaged_copy import AveragedCopy
from seedproof.stabilize.distance import CPU_CHUNK

BIG = 2 * CPU_CHUNK + 17  # three chunks, the last of them short


def numbers(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def moved(averaged, tensors, seed=1):
    """Change the originals, and return the differences in 64 bits."""
    before = [value.double().clone() for value in averaged.values]
    for index, tensor in enumerate(tensors.values()):
        tensor.copy_(numbers(*tensor.shape, seed=seed + index))
    return [tensor.double() - b for tensor, b in zip(tensors.values(), before, strict=True)]


MIXED = {
    "small": lambda: {"a": numbers(3), "b": numbers(2, 2)},
    "many chunks": lambda: {"a": numbers(5), "b": numbers(BIG), "c": numbers(3, CPU_CHUNK)},
    "odd shapes": lambda: {"a": numbers(), "b": numbers(0, 3), "c": numbers(1, 1, 2)},
    "64 bits": lambda: {"a": numbers(7, dtype=torch.float64)},
    "all dtypes": lambda: {
        "a": numbers(BIG, dtype=torch.bfloat16),
        "b": numbers(9, dtype=torch.float16),
        "c": numbers(9, dtype=torch.float64),
        "d": numbers(9),
    },
    "turned": lambda: {"a": numbers(300, 400).t(), "b": numbers(4, 3, 5, 5)},
    "channels last": lambda: {
        "a": numbers(4, 3, 5, 5).to(memory_format=torch.channels_last),
        "b": numbers(2),
    },
    "with gaps": lambda: {"a": numbers(600, 400)[::2, ::3]},
}
each_kind = pytest.mark.parametrize("make", MIXED.values(), ids=MIXED)


@each_kind
def test_distance_is_the_sum_of_absolute_differences(make):
    """In 64 bits, for all shapes, dtypes and layouts."""
    tensors = make()
    averaged = AveragedCopy(tensors)
    differences = moved(averaged, tensors)

    expected = sum(d.abs().sum() for d in differences)

    distance = averaged.distance(1)()
    assert distance.dtype == torch.float64
    # The differences themselves are made in 32 bits, which is where this comes from.
    assert float(distance) == pytest.approx(float(expected), rel=1e-7)


@each_kind
def test_distance_of_order_2_is_a_mean_over_tensors(make):
    """Of Euclidean norms; for both orders, tensors can be chosen."""
    tensors = make()
    averaged = AveragedCopy(tensors)
    differences = moved(averaged, tensors)
    norms = [float(d.norm()) for d in differences]

    assert float(averaged.distance(2)()) == pytest.approx(sum(norms) / len(norms), rel=1e-6)
    assert float(averaged.distance(2, ["a"])()) == pytest.approx(norms[0], rel=1e-6)
    assert float(averaged.distance(1, ["a"])()) == pytest.approx(
        float(differences[0].abs().sum()), rel=1e-6
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.add_(numbers(*t.shape, seed=5), alpha=1e-3),
        # As after Adam's first steps: numbers of one size are all rounded in one direction.
        lambda t: t.add_(numbers(*t.shape, seed=5).sign(), alpha=3e-3),
    ],
    ids=["of all sizes", "of one size"],
)
def test_distance_of_millions_of_numbers_is_exact_to_rounding(change):
    """A sum in 32 bits is off by half a percent at 22 million."""
    tensors = {"a": numbers(1_000, 2_000), "b": numbers(500_003)}
    averaged = AveragedCopy(tensors)
    for tensor in tensors.values():
        change(tensor)
    expected = sum(
        (t - v).abs().double().sum() for t, v in zip(tensors.values(), averaged.values, strict=True)
    )

    assert float(averaged.distance(1)()) == pytest.approx(float(expected), rel=1e-9)


def test_model_that_equals_the_average_has_distance_zero():
    tensors = {"a": numbers(BIG), "b": numbers(3, 4)}

    assert float(AveragedCopy(tensors).distance(1)()) == 0.0


@each_kind
def test_swapping_twice_gives_the_same_bits(make):
    tensors = make()
    averaged = AveragedCopy(tensors)
    moved(averaged, tensors)
    own = [t.clone() for t in tensors.values()]
    average = [v.clone() for v in averaged.values]

    averaged.swap()
    inside = [t.clone() for t in tensors.values()]
    averaged.swap()

    for result, expected in zip(inside, average, strict=True):
        assert torch.equal(result, expected.to(result.dtype))
    assert all(map(torch.equal, tensors.values(), own))
    assert all(map(torch.equal, averaged.values, average))


@each_kind
def test_moving_halfway_gives_the_mean(make):
    tensors = make()
    averaged = AveragedCopy(tensors)
    before = [v.clone() for v in averaged.values]
    moved(averaged, tensors)

    averaged.move(0.5)

    for value, first, second in zip(averaged.values, before, tensors.values(), strict=True):
        expected = (first.double() + second.double()) / 2
        torch.testing.assert_close(value.double(), expected, rtol=2**-22, atol=2**-22)


@each_kind
def test_weight_on_a_device_gives_the_same_bits(make):
    results = []
    for weight in (0.3, torch.tensor(0.3, dtype=torch.float64)):
        tensors = make()
        averaged = AveragedCopy(tensors)
        moved(averaged, tensors)
        averaged.move(weight)
        results.append(averaged.values)

    assert all(map(torch.equal, *results))


@each_kind
def test_moving_all_the_way_gives_a_copy(make):
    tensors = make()
    averaged = AveragedCopy(tensors)
    moved(averaged, tensors)

    averaged.move(1.0)

    assert averaged.equals_model()
    assert float(averaged.distance(1)()) == 0.0


def test_swap_can_be_made_permanent():
    """Then the former weights are the average, for all dtypes."""
    tensors = {"a": numbers(4), "b": numbers(4, dtype=torch.bfloat16)}
    averaged = AveragedCopy(tensors)
    average = [v.clone() for v in averaged.values]
    moved(averaged, tensors)
    own = [t.clone() for t in tensors.values()]

    averaged.swap()
    averaged.keep_swapped()

    assert not averaged.is_swapped
    for tensor, value, before, last in zip(
        tensors.values(), averaged.values, average, own, strict=True
    ):
        assert torch.equal(tensor, before.to(tensor.dtype))
        assert torch.equal(value, last.to(value.dtype))


@pytest.mark.parametrize("is_swapped", [False, True])
def test_both_sets_can_be_read_at_any_time(is_swapped):
    tensors = {"a": numbers(4), "b": numbers(4, dtype=torch.bfloat16)}
    averaged = AveragedCopy(tensors)
    average = {name: v.clone() for name, v in zip(averaged.names, averaged.values, strict=True)}
    moved(averaged, tensors)
    own = {name: t.clone() for name, t in tensors.items()}
    if is_swapped:
        averaged.swap()

    averages, raw = averaged.averages(), averaged.raw()

    assert all(torch.equal(averages[name], average[name]) for name in average)
    assert (raw is not None) == is_swapped
    if raw is not None:
        assert all(torch.equal(raw[name], own[name]) for name in own)


def test_no_graph_is_recorded():
    parameter = torch.nn.Parameter(numbers(3))
    averaged = AveragedCopy({"a": parameter})

    averaged.move(0.5)
    averaged.swap()
    averaged.swap()
    averaged.assign()

    assert not averaged.values[0].requires_grad
    assert parameter.is_leaf
    assert parameter.grad_fn is None
