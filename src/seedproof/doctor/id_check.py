"""The doctor's check of ids: can predictions of different runs be compared by example?"""

from collections.abc import Sequence
from dataclasses import replace

from seedproof.doctor.finding import Finding
from seedproof.doctor.observation import Observed
from seedproof.messages import Message

STABLE_IDS = "stable-ids"


def check_ids(one: Observed, other: Observed, held: Sequence[Observed] = ()) -> Finding:
    """Check that predictions of different runs can be compared example by example."""
    if not one.splits or not other.splits:
        return Finding(STABLE_IDS, "skip", Message("nothing-logged", "no predictions were logged"))
    fault = _ids_apart(one, other)
    if fault is None:
        return _ids_kept(one, other)
    if "data" in one.sources and held and all(_ids_apart(one, h) is None for h in held):
        return replace(
            fault,
            verdict="warn",
            cause=Message(
                "split-by-source",
                "which examples are held out follows the source data, and that alone",
            ),
            fix=Message(
                "hold-source",
                "hold that source when you compare runs: SeedPlan.one_at_a_time(n)",
            ),
        )
    return fault


def _ids_kept(one: Observed, other: Observed) -> Finding:
    """Return what can be said of ids that are the same."""
    splits = one.splits.values()
    if all(any(seen.labels) for seen in splits):
        both = one.splits.keys() & other.splits.keys()
        if any(one.splits[split].ids != other.splits[split].ids for split in both):
            text = "their order moves, which does no harm: records are sorted"
            return Finding(STABLE_IDS, "pass", Message("other-order", text))
        return Finding(STABLE_IDS, "pass", Message("same-order", "the same ids in the same order"))
    if all(seen.has_ids for seen in splits):
        text = "the same ids; without labels, nobody can tell whether they stand for the same"
        return Finding(STABLE_IDS, "pass", Message("no-labels", text))
    return Finding(
        STABLE_IDS,
        "warn",
        Message(
            "positions", "neither ids nor labels were given: an example is known by its position"
        ),
        Message(
            "shuffled-examples",
            "if the seed shuffles the examples, predictions of different ones will be compared",
        ),
        Message("stored-ids", "give ids that are stored with the examples"),
    )


def _ids_apart(one: Observed, other: Observed) -> Finding | None:
    """Return why two trainings cannot be compared example by example; None if they can."""
    is_cut = one.is_cut or other.is_cut
    if one.splits.keys() != other.splits.keys() and not is_cut:
        return Finding(
            STABLE_IDS,
            "fail",
            Message(
                "other-splits",
                "the splits are {splits!r}, and under another seed {other_splits!r}",
                splits=tuple(sorted(one.splits)),
                other_splits=tuple(sorted(other.splits)),
            ),
            Message("split-by-seed", "the name of a split depends on the seed"),
            Message("fixed-names", 'give splits fixed names, such as "test"'),
        )
    for split in sorted(one.splits.keys() & other.splits.keys()):
        mine, theirs = one.splits[split], other.splits[split]
        if sorted(mine.ids) != sorted(theirs.ids) and not is_cut:
            return Finding(
                STABLE_IDS,
                "fail",
                Message(
                    "other-ids",
                    "under another seed, {n_other} of {n_examples} ids in {split!r} are others",
                    n_other=len(set(mine.ids) - set(theirs.ids)),
                    n_examples=len(mine.ids),
                    split=split,
                ),
                Message("held-out-by-seed", "which examples are held out depends on the seed"),
                Message(
                    "fixed-split",
                    "split the data once, with a fixed seed, or vary it through "
                    'run.rng("data") alone',
                ),
            )
        labels, others = mine.by_id(mine.labels), theirs.by_id(theirs.labels)
        common = [example for example in labels if example in others]
        changed = [example for example in common if labels[example] != others[example]]
        if changed:
            positions = "" if mine.has_ids else "; none were given, so positions are taken"
            return Finding(
                STABLE_IDS,
                "fail",
                Message(
                    "other-labels",
                    "under another seed, {n_changed} of {n_examples} ids in {split!r} stand for "
                    f"examples with another label, such as {{example!r}}{positions}",
                    n_changed=len(changed),
                    n_examples=len(common),
                    split=split,
                    example=changed[0],
                    has_ids=mine.has_ids,
                ),
                Message("shuffled-ids", "ids are positions in an order that the seed shuffles"),
                Message(
                    "stored-ids",
                    "give each example an id that is stored with it, or predict in a fixed order",
                ),
            )
    return None
