"""What the doctor asks, and how it finds the cause: each check compares a few trainings."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from seedproof.runs.observed import Observed, SeedCall
from seedproof.runs.rng import SEEDING

OWN_FOLDER = "write into run.checkpoint_dir, and do not load what another run has saved"


@dataclass(frozen=True)
class Finding:
    """The answer to one question.

    Args:
        check: The question, as a sentence that should hold.
        verdict: `pass`, `fail`, `warn` (look at it) or `skip` (could not be asked).
        found: What was seen.
        cause: What is likely behind it.
        fix: What to do.
    """

    check: str
    verdict: Literal["pass", "fail", "warn", "skip"]
    found: str
    cause: str = ""
    fix: str = ""


def difference(one: Observed, two: Observed) -> str | None:
    """What differs between two trainings, in words; None if nothing does."""
    return " and ".join([*_weights_apart(one, two), *_predictions_apart(one, two)]) or None


def _weights_apart(one: Observed, two: Observed) -> Iterator[str]:
    """The first step at which weights differ: later ones follow from it."""
    for step in sorted(one.weights.keys() & two.weights.keys()):
        if one.weights[step] != two.weights[step]:
            yield f"the weights after step {step}" if step else "the weights at the start"
            return


def _predictions_apart(one: Observed, two: Observed) -> Iterator[str]:
    mine, theirs = one.predictions(), two.predictions()
    for split in sorted(mine.keys() & theirs.keys()):
        ids = mine[split].keys() & theirs[split].keys()
        changed = [example for example in ids if mine[split][example] != theirs[split][example]]
        if changed:
            yield f"{len(changed)} of {len(ids)} predictions on {split!r}"
        if mine[split].keys() != theirs[split].keys() and not (one.is_cut or two.is_cut):
            yield f"the ids of the examples in {split!r}"
    if mine.keys() != theirs.keys() and not (one.is_cut or two.is_cut):
        yield "the names of the splits"


def _compared(one: Observed, two: Observed) -> str:
    """What two trainings have in common, and could be compared, in words; empty if nothing."""
    words = []
    if one.weights and two.weights:
        words.append(f"the weights over {_count(min(one.n_steps, two.n_steps), 'step')}")
    mine, theirs = one.predictions(), two.predictions()
    for split in mine.keys() & theirs.keys():
        n_common = len(mine[split].keys() & theirs[split].keys())
        words.append(f"{_count(n_common, 'prediction')} on {split!r}")
    return " and ".join(sorted(words, reverse=True))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def check_logged(one: Observed) -> Finding:
    """Whether there is anything to measure."""
    check = "It logs predictions"
    if one.splits:
        found = ", ".join(f"{len(seen.ids)} on {split!r}" for split, seen in one.splits.items())
        return Finding(check, "pass", found)
    if one.is_cut and one.weights:
        after = f"after {_count(one.n_steps, 'step')}"
        found = f"the budget ended it {after}; weights are compared instead"
        return Finding(check, "skip", found)
    if one.is_cut:
        return Finding(
            check,
            "fail",
            "the budget ended it before its first step, and nothing could be compared",
            "the budget is too small, or the training has no optimizer of torch's",
            "give more --seconds, or none",
        )
    return Finding(
        check,
        "fail",
        "it ended without logging any",
        "nothing calls log_predictions",
        'add: sp.current_run().log_predictions("test", ids=ids, probs=probs, labels=labels)',
    )


def check_same(one: Observed, two: Observed, more: Sequence[Observed] = ()) -> Finding:
    """Whether one seed gives one result, and what may stand in the way.

    Args:
        one: A training.
        two: The same again, with another secret for hashing.
        more: If those differ: the same with the secret of `one`, and with that of `two`.

    Returns:
        The finding.
    """
    check = "The same seed gives the same bits"
    differs = difference(one, two)
    compared = _compared(one, two)
    if differs is not None:
        cause, fix = next(_suspects(one, two, more))
        return Finding(check, "fail", f"{differs} differ", cause, fix)
    if not compared:
        return Finding(check, "skip", "there was nothing to compare")
    return Finding(check, "pass", f"{compared} are identical")


def _suspects(one: Observed, two: Observed, more: Sequence[Observed]) -> Iterator[tuple[str, str]]:
    """What may make two trainings of one seed differ, the most telling first, and the cure."""
    moving = [*_moving(one.seed_calls, two.seed_calls), *_moving(one.generators, two.generators)]
    # What was tried out says more than what was seen; two more agree by chance less often.
    if len(more) == 2 and difference(two, more[1]) is None:
        if difference(one, more[0]) is None:
            place = f" in {moving[0].where}" if moving else ""
            yield (
                f"the order of a set, or hash(), decides something{place}: it differs by process",
                "sort before iterating over a set of texts, and use hashlib instead of hash()",
            )
        else:
            left = f" ({', '.join(one.files[:3])})" if one.files else ""
            yield f"the first training left something behind that later ones find{left}", OWN_FOLDER
    if moving:
        yield (
            f"{moving[0].where} calls {moving[0].function} with another value each time",
            "take the seed from sp.current_run().seed, not from the clock or the system",
        )
    if one.unseeded:
        yield (
            f"{', '.join(one.unseeded[:3])} makes a generator without a seed",
            'use run.rng("dropout") (numpy) or run.torch_generator("dropout") instead',
        )
    if one.workers:
        yield (
            f"{one.workers[0]} starts threads or processes, whose order differs each time",
            "take results in the order of inputs: map(), not as_completed() or imap_unordered()",
        )
    if one.files:
        written = ", ".join(one.files[:3])
        yield f"it writes {written}, which the next run may read", OWN_FOLDER
    yield (
        "something follows no seed: a RandomState() or Random() of its own, the clock, a race",
        "halve the training until the difference goes; begin with data loading",
    )


def _moving(mine: Sequence[SeedCall], theirs: Sequence[SeedCall]) -> list[SeedCall]:
    """Calls from the same line whose value differs."""
    pairs = zip(mine, theirs, strict=False)
    return [a for a, b in pairs if a.where == b.where and a.value != b.value]


def check_other(one: Observed, others: Sequence[Observed], *, is_repeatable: bool) -> Finding:
    """Whether the seed matters at all.

    Args:
        one: A training.
        others: The same under other seeds.
        is_repeatable: Whether the same seed gives the same; else nothing follows.

    Returns:
        The finding.
    """
    check = "Another seed changes something"
    if not is_repeatable:
        return Finding(check, "skip", "the same seed does not even give the same")
    changes = [what for what in (difference(one, other) for other in others) if what is not None]
    if changes:
        return Finding(check, "pass", f"{changes[0]} differ")
    compared = _compared(one, others[0])
    if not compared:
        return Finding(check, "skip", "there was nothing to compare")
    seeds = _constant(one.seed_calls, others[0].seed_calls)
    generators = _constant(one.generators, others[0].generators)
    if seeds or generators:
        call = [*seeds, *generators][0]
        cause = f"{call.where} calls {call.function}({call.value}) in every run"
        fix = _fix_of(call)
    else:
        cause = "nothing that is drawn reaches the model: its seed may be fixed in a library"
        fix = 'draw weights inside `with run.seeded("init"):`, and shuffle with run.rng("order")'
    return Finding(check, "fail", f"{compared} are identical", cause, fix)


def _constant(mine: Sequence[SeedCall], theirs: Sequence[SeedCall]) -> list[SeedCall]:
    """Calls that give the same value under both seeds, and are not followed by one that moves."""
    known = {(*key, call.value) for key, call in _numbered(theirs)}
    found: dict[str, list[SeedCall]] = {}
    for key, call in _numbered(mine):
        kind = SEEDING.get(call.function, call.where)
        if (*key, call.value) not in known:
            # The generator obeys from here on; what was fixed before is data, most likely.
            found[kind] = []
        elif not call.is_undone:
            found.setdefault(kind, []).append(call)
    return [call for calls in found.values() for call in calls]


def _numbered(calls: Sequence[SeedCall]) -> Iterator[tuple[tuple[str, str, int], SeedCall]]:
    """Each call with its line, its function, and how often they came before."""
    counts: Counter[tuple[str, str]] = Counter()
    for call in calls:
        yield (call.where, call.function, counts[call.where, call.function]), call
        counts[call.where, call.function] += 1


def _fix_of(call: SeedCall) -> str:
    seeded = f"{call.function}(sp.current_run().seed)"
    return f"write {seeded}, or give a script its seed: -- --seed {{seed}}"


def check_start(one: Observed, other: Observed) -> Finding:
    """Whether the model is another one from the start, and not only in the order of its data."""
    check = "Another seed begins with other weights"
    if not one.starts or not other.starts:
        return Finding(check, "skip", "no optimizer of torch's made a step")
    if difference(one, other) is None:
        return Finding(check, "skip", "another seed changes nothing at all")
    if any(a != b for a, b in zip(one.starts, other.starts, strict=False)):
        return Finding(check, "pass", "the weights at the start differ")
    return Finding(
        check,
        "warn",
        "the weights at the start are the same under another seed",
        "the model is loaded or begins with fixed numbers, which may be meant; or it is drawn "
        "from a generator whose seed is fixed",
        'if it is drawn: draw it inside `with run.seeded("init"):`',
    )


def check_sources(
    one: Observed,
    alone: Mapping[str, Observed],
    rest: Observed | None,
    *,
    is_repeatable: bool,
) -> Finding:
    """What each source does alone.

    Args:
        one: A training.
        alone: The same with another seed for one source, by source.
        rest: The same with another seed for a source that it does not ask for: what changes, is
            drawn outside of sources.
        is_repeatable: Whether the same seed gives the same; else nothing follows.

    Returns:
        The finding.
    """
    check = "Each source changes something of its own"
    if not is_repeatable:
        return Finding(check, "skip", "the same seed does not even give the same")
    if not one.weights and not one.splits:
        return Finding(check, "skip", "there was nothing to compare")
    if not alone:
        return Finding(
            check,
            "skip",
            "the training does not tell sources apart: all its draws follow one stream",
            fix='use run.seeded("init") and run.torch_generator("order") to find out which matters',
        )
    changes = {source: difference(one, seen) for source, seen in alone.items()}
    found = "; ".join(f"{source}: {what or 'nothing'}" for source, what in changes.items())
    outside = None if rest is None else difference(one, rest)
    if outside is not None:
        return Finding(
            check,
            "warn",
            f"{found}; no source: {outside}",
            "something is drawn from the global generators outside of any source, and so changes "
            "with each of them: what a source does alone cannot be told",
            'put it into a source: `with run.seeded("dropout"):` around the forward pass, say',
        )
    idle = [source for source, what in changes.items() if what is None]
    if idle:
        when = f" within {_count(one.n_steps, 'step')}" if one.is_cut else ""
        return Finding(
            check,
            "warn",
            found,
            f"asked for, but another seed for it alone changes nothing{when}: {', '.join(idle)}",
            "look whether its generator is passed on to what draws",
        )
    return Finding(check, "pass", found)


def check_ids(one: Observed, other: Observed, held: Sequence[Observed] = ()) -> Finding:
    """Whether predictions of different runs can be laid side by side.

    Args:
        one: A training.
        other: The same under other seeds.
        held: Trainings in which the source `data` has the seed of `one`.

    Returns:
        The finding.
    """
    check = "Examples keep their ids"
    if not one.splits or not other.splits:
        return Finding(check, "skip", "no predictions were logged")
    fault = _ids_apart(check, one, other)
    if fault is not None:
        if "data" in one.sources and held and all(_ids_apart("", one, h) is None for h in held):
            return replace(
                fault,
                verdict="warn",
                cause="which examples are held out follows the source data, and that alone",
                fix="hold that source when you compare runs: SeedPlan.one_at_a_time(n)",
            )
        return fault
    return _ids_kept(check, one, other)


def _ids_kept(check: str, one: Observed, other: Observed) -> Finding:
    """What can be said of ids that are the same."""
    splits = one.splits.values()
    if all(any(seen.labels) for seen in splits):
        both = one.splits.keys() & other.splits.keys()
        moved = any(one.splits[split].ids != other.splits[split].ids for split in both)
        found = "their order moves, which does no harm: records are sorted"
        return Finding(check, "pass", found if moved else "the same ids in the same order")
    if all(seen.has_ids for seen in splits):
        found = "the same ids; without labels, nobody can tell whether they stand for the same"
        return Finding(check, "pass", found)
    return Finding(
        check,
        "warn",
        "neither ids nor labels were given: an example is known by its position",
        "if the seed shuffles the examples, predictions of different ones will be compared",
        "give ids that are stored with the examples",
    )


def _ids_apart(check: str, one: Observed, other: Observed) -> Finding | None:
    """Why two trainings cannot be laid side by side; None if they can."""
    is_cut = one.is_cut or other.is_cut
    if one.splits.keys() != other.splits.keys() and not is_cut:
        names = [", ".join(map(repr, sorted(seen.splits))) for seen in (one, other)]
        return Finding(
            check,
            "fail",
            f"the splits are {names[0]}, and under another seed {names[1]}",
            "the name of a split depends on the seed",
            'give splits fixed names, such as "test"',
        )
    for split in sorted(one.splits.keys() & other.splits.keys()):
        mine, theirs = one.splits[split], other.splits[split]
        if sorted(mine.ids) != sorted(theirs.ids) and not is_cut:
            only = len(set(mine.ids) - set(theirs.ids))
            return Finding(
                check,
                "fail",
                f"under another seed, {only} of {len(mine.ids)} ids in {split!r} are others",
                "which examples are held out depends on the seed",
                'split the data once, with a fixed seed, or vary it through run.rng("data") alone',
            )
        labels, others = mine.by_id(mine.labels), theirs.by_id(theirs.labels)
        common = [example for example in labels if example in others]
        changed = [example for example in common if labels[example] != others[example]]
        if changed:
            positions = "" if mine.has_ids else "; none were given, so positions are taken"
            return Finding(
                check,
                "fail",
                f"under another seed, {len(changed)} of {len(common)} ids in {split!r} stand for "
                f"examples with another label, such as {changed[0]!r}{positions}",
                "ids are positions in an order that the seed shuffles",
                "give each example an id that is stored with it, or predict in a fixed order",
            )
    return None


def check_when(one: Observed, other: Observed) -> Finding:
    """Whether the training seeds itself, and in time."""
    check = "Seeds are set before anything is drawn"
    calls = [call for call in one.seed_calls if not call.is_undone]
    # Libraries draw from python's generator for names and delays; from the others, they do not.
    late = sorted((call for call in calls if call.is_late), key=_is_of_python)
    if late:
        where = late[0].where
        return Finding(
            check,
            "warn" if _is_of_python(late[0]) else "fail",
            f"{where} calls {late[0].function} after something was drawn from that generator",
            f"the model is built, or the data drawn, before {where}: on its own, the script is "
            "not repeatable, and here, its seed covers a part of the training only",
            "move the call to the top of the program, before the model is built",
        )
    constant = _constant(one.seed_calls, other.seed_calls)
    if constant:
        named = " and ".join(f"{c.where} calls {c.function}({c.value})" for c in constant[:3])
        return Finding(
            check,
            "warn",
            f"{named} in every run",
            f"what is drawn after {constant[0].where} is the same under all seeds",
            _fix_of(constant[0]),
        )
    found = f"{_count(len(calls), 'call')} of its own" if calls else "it sets none itself"
    return Finding(check, "pass", found)


def _is_of_python(call: SeedCall) -> bool:
    return SEEDING[call.function] == "python"


def check_files(one: Observed, other: Observed) -> Finding:
    """Whether runs that go on at the same time would overwrite each other's files."""
    check = "Runs do not write the same files"
    common = [name for name in one.files if name in other.files]
    if not common:
        return Finding(check, "pass", "none are written by both, beside the code or here")
    return Finding(
        check,
        "warn",
        f"under either seed, it writes {', '.join(common[:3])}",
        "runs that go on at the same time overwrite them, or read each other's",
        "write into run.checkpoint_dir, which is the run's own",
    )


def check_threads(one: Observed, threads: int) -> Finding:
    """Whether it uses as many threads as it may."""
    check = "It keeps to its threads"
    if one.n_threads is None:
        return Finding(check, "skip", "it trains without torch")
    if one.n_threads == threads:
        return Finding(check, "pass", f"{threads}")
    place = one.thread_calls[-1] if one.thread_calls else "the training"
    return Finding(
        check,
        "warn",
        f"it may use {threads}, and torch uses {one.n_threads}",
        f"{place} calls torch.set_num_threads: another machine gives other bits",
        "remove the call, and use --threads-per-run",
    )
