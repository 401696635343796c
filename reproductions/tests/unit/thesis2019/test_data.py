from itertools import chain

import numpy as np
import pytest
import torch

from seedproof.errors import EmptyInputError
from seedproof_reproductions.thesis2019.data import N_NEGATIVES, prepare
from seedproof_reproductions.thesis2019.settings import Setting


def generator(seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def prepared(made_movielens):
    """Sixty users of two tastes."""
    del made_movielens
    return prepare(Setting())


def history_sets(data):
    """Items of each user, by a loop over the rows."""
    sets = [set() for _ in range(data.n_users)]
    for user, item in zip(data.users, data.items, strict=True):
        sets[user].add(int(item))
    return sets


def test_places_and_rows_equal_a_search_in_lists(prepared):
    histories, lists = prepared.histories, [sorted(s) for s in history_sets(prepared.data)]
    users, items = (grid.reshape(-1) for grid in np.mgrid[:60, :120])

    places = histories.places(torch.from_numpy(users), torch.from_numpy(items))
    rows = histories.rows_of(torch.tensor([7, 2, 59]))

    wanted = [lists[u].index(i) if i in lists[u] else -1 for u, i in zip(users, items, strict=True)]
    assert places.tolist() == wanted
    assert histories.items[rows].tolist() == [*lists[7], *lists[2], *lists[59]]
    assert histories.of(59).tolist() == lists[59]


def test_negatives_are_uniform_over_the_items_that_a_user_has_not_rated(prepared):
    """Chi-square of 20,000 draws for each of two users stays below its mean plus five sd."""
    sets = history_sets(prepared.data)
    users = torch.tensor([0, 1]).repeat_interleave(20_000)

    drawn = prepared.histories.draw_negatives(users, generator(0))

    for user in (0, 1):
        counts = np.bincount(drawn[users == user], minlength=120)
        unrated = [item for item in range(120) if item not in sets[user]]
        assert counts[sorted(sets[user])].sum() == 0
        expected = 20_000 / len(unrated)
        chi_square = ((counts[unrated] - expected) ** 2 / expected).sum()
        assert chi_square < len(unrated) + 5 * np.sqrt(2 * len(unrated))


@pytest.mark.parametrize("by_user", [False, True])
def test_epoch_has_each_positive_once_with_its_negatives(prepared, by_user):
    batch = prepared.batches_of_users if by_user else prepared.batches_of_examples
    batches = list(batch(7, generator(0), generator(1)))
    users, items, labels = (torch.cat(column) for column in zip(*batches, strict=True))

    is_positive = labels == 1
    pairs = sorted(zip(users[is_positive].tolist(), items[is_positive].tolist(), strict=True))
    data, sets = prepared.data, history_sets(prepared.data)
    assert pairs == list(zip(data.users.tolist(), data.items.tolist(), strict=True))
    assert len(labels) == len(pairs) * (1 + N_NEGATIVES)
    negatives = zip(users[~is_positive].tolist(), items[~is_positive].tolist(), strict=True)
    assert not any(item in sets[user] for user, item in negatives)
    counts = torch.bincount(users[~is_positive], minlength=60)
    assert counts.tolist() == [N_NEGATIVES * len(of) for of in sets]


def test_batches_of_users_have_whole_users_one_after_the_other(prepared):
    """With a limit, other positives are drawn in the next epoch."""
    order, negatives = generator(0), generator(1)

    epochs = [list(prepared.batches_of_users(8, order, negatives, 5)) for _ in range(2)]

    drawn = []
    for batches in epochs:
        known = [batch.users.unique_consecutive().tolist() for batch in batches]
        assert [len(users) for users in known] == [8] * 7 + [4]
        assert sorted(chain(*known)) == list(range(60))
        pairs = [
            (int(u), int(i)) for users, items, labels in batches
            for u, i, y in zip(users, items, labels, strict=True) if y
        ]  # fmt: skip
        assert np.bincount([user for user, _ in pairs]).tolist() == [5] * 60
        assert len(set(pairs)) == len(pairs)
        drawn.append(set(pairs))
    # Of 20 to 30 items, 5 are drawn.
    assert len(drawn[0] & drawn[1]) < 0.5 * len(drawn[0])


def test_class_weights_give_each_class_the_same_share(prepared):
    """Two classes of 4 : 1 have the weights 0.625 and 2.5."""
    assert prepared.class_weights.tolist() == [0.625, 2.5]


@pytest.mark.usefixtures("made_movielens")
def test_three_classes_separate_low_ratings(write, data_folder):
    """Ratings of 1 and 2 are disliked; users without all ratings are left out."""
    path = data_folder / "movielens1m" / "ml-1m.train.rating"
    rows = [line.split("\t") for line in path.read_text().splitlines()]

    three = prepare(Setting(output="three"))

    ratings = sorted((int(user), int(item), int(rating)) for user, item, rating, _ in rows)
    assert three.classes.tolist() == [2 if rating > 2 else 1 for *_, rating in ratings]
    assert three.test_classes.tolist() == [1 if user % 4 == 3 else 2 for user in range(60)]
    changed = [[u, i, "0" if u == "5" else r, t] for u, i, r, t in rows]
    write(path.relative_to(data_folder), "\n".join("\t".join(row) for row in changed))
    part = prepare(Setting(output="three", n_users=59))
    assert 5 not in part.data.names
    write(path.relative_to(data_folder), "\n".join(f"{u}\t{i}\t0\t{t}" for u, i, _, t in rows))
    with pytest.raises(EmptyInputError):
        prepare(Setting(output="three", n_users=58))


@pytest.mark.usefixtures("made_movielens")
def test_part_of_the_users_is_the_same_each_time():
    part = prepare(Setting(n_users=10))

    assert part.data.n_users == part.histories.n_users == 10
    assert prepare(Setting(model="gmf", n_users=10)).data.names.tolist() == part.data.names.tolist()
