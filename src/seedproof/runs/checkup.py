"""What the doctor asks, and how it finds the cause: each check compares a few trainings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from seedproof.runs.probe import Observed, SeedCall


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


def _compared(one: Observed) -> str:
    """What there was to compare, in words."""
    words = []
    if one.weights:
        words.append(f"weights over {one.n_steps} steps")
    words += [f"{len(seen.ids)} predictions on {split!r}" for split, seen in one.splits.items()]
    return " and ".join(words) or "nothing"


def check_logged(one: Observed) -> Finding:
    """Whether there is anything to measure."""
    check = "It logs predictions"
    if one.splits:
        found = ", ".join(f"{len(seen.ids)} on {split!r}" for split, seen in one.splits.items())
        return Finding(check, "pass", found)
    if one.is_cut:
        return Finding(
            check,
            "skip",
            f"the budget ended it after {one.n_steps} steps; weights are compared instead",
        )
    return Finding(
        check,
        "fail",
        "it ended without logging any",
        "nothing calls log_predictions",
        'add: sp.current_run().log_predictions("test", ids=ids, probs=probs, labels=labels)',
    )


def check_same(one: Observed, two: Observed, three: Observed | None) -> Finding:
    """Whether one seed gives one result, and what may stand in the way."""
    check = "The same seed gives the same bits"
    differs = difference(one, two)
    if differs is None:
        return Finding(check, "pass", f"{_compared(one)} are identical")
    cause, fix = next(_suspects(one, two, three))
    return Finding(check, "fail", f"{differs} differ", cause, fix)


def _suspects(one: Observed, two: Observed, three: Observed | None) -> Iterator[tuple[str, str]]:
    """What may make two trainings of one seed differ, the most telling first, and the cure."""
    for mine, theirs in zip(one.seed_calls, two.seed_calls, strict=False):
        if mine.where == theirs.where and mine.value != theirs.value:
            yield (
                f"{mine.where} calls {mine.function} with another value each time",
                "take the seed from sp.current_run().seed, not from the clock or the system",
            )
    if one.unseeded:
        yield (
            f"{one.unseeded[0]} makes a generator without a seed",
            'use run.rng("dropout") (numpy) or run.torch_generator("dropout") instead',
        )
    if three is not None and difference(one, three) is None:
        yield (
            "the order of a set, or hash(), decides something: it is another in each process",
            "sort before iterating over a set of texts, and use hashlib instead of hash()",
        )
    own_folder = "write into run.checkpoint_dir, and do not load what another run has saved"
    if three is not None and difference(two, three) is None:
        left = f" ({', '.join(one.files[:3])})" if one.files else ""
        yield f"the first training left something behind that later ones find{left}", own_folder
    if one.workers:
        yield (
            f"{one.workers[0]} starts threads or processes, whose order differs each time",
            "take results in the order of inputs: map(), not as_completed() or imap_unordered()",
        )
    if one.files:
        written = ", ".join(one.files[:3])
        yield f"it writes {written} beside the code, which the next run may read", own_folder
    yield (
        "something follows no seed: the clock, the system's entropy, a race, or an operation",
        "halve the training until the difference goes; begin with data loading",
    )


def check_other(one: Observed, other: Observed) -> Finding:
    """Whether the seed matters at all."""
    check = "Another seed changes something"
    differs = difference(one, other)
    if differs is not None:
        return Finding(check, "pass", f"{differs} differ")
    constant = _constant_seeds(one, other)
    if constant:
        cause = (
            f"{constant[0].where} calls {constant[0].function}({constant[0].value}) in every run"
        )
        fix = f"remove that line, or seed with sp.current_run().seed: {constant[0].function}(seed)"
    elif one.splits or one.weights:
        cause = "nothing that is drawn reaches the model: its seed may be fixed in a library"
        fix = 'draw weights inside `with run.seeded("init"):`, and shuffle with run.rng("order")'
    else:
        return Finding(check, "skip", "there was nothing to compare")
    return Finding(check, "fail", f"{_compared(one)} are identical", cause, fix)


def _constant_seeds(one: Observed, other: Observed) -> list[SeedCall]:
    values = {(call.where, call.function): call.value for call in other.seed_calls}
    return [c for c in one.seed_calls if values.get((c.where, c.function)) == c.value]


def check_sources(one: Observed, alone: Mapping[str, Observed]) -> Finding:
    """What each source does alone."""
    check = "Each source changes something of its own"
    if not one.sources:
        return Finding(
            check,
            "skip",
            "the training does not tell sources apart: all its draws follow one stream",
            fix='use run.seeded("init") and run.torch_generator("order") to find out which matters',
        )
    changes = {source: difference(one, seen) for source, seen in alone.items()}
    found = "; ".join(f"{source}: {what or 'nothing'}" for source, what in changes.items())
    idle = [source for source in sorted(one.sources) if changes.get(source, "") is None]
    if idle:
        return Finding(
            check,
            "warn",
            found,
            f"{', '.join(idle)} is asked for, and changes nothing",
            "look whether its generator is passed on to what draws",
        )
    return Finding(check, "pass", found)


def check_ids(one: Observed, other: Observed) -> Finding:
    """Whether predictions of different runs can be laid side by side."""
    check = "Examples keep their ids"
    if not one.splits or not other.splits:
        return Finding(check, "skip", "no predictions were logged")
    has_moved = False
    for split in one.splits.keys() & other.splits.keys():
        mine, theirs = one.splits[split], other.splits[split]
        if sorted(mine.ids) != sorted(theirs.ids):
            only = len(set(mine.ids) - set(theirs.ids))
            return Finding(
                check,
                "fail",
                f"under another seed, {only} of {len(mine.ids)} ids in {split!r} are others",
                "which examples are held out depends on the seed",
                'split the data once, with a fixed seed, or vary it through run.rng("data") alone',
            )
        labels, others = mine.by_id(mine.labels), theirs.by_id(theirs.labels)
        changed = [example for example in labels if labels[example] != others[example]]
        if changed:
            positions = "" if mine.has_ids else ", and none were given: positions are taken"
            return Finding(
                check,
                "fail",
                f"under another seed, {len(changed)} of {len(labels)} ids in {split!r} stand for "
                f"examples with another label, such as {changed[0]!r}{positions}",
                "ids are positions in an order that the seed shuffles",
                "give each example an id that is stored with it, or predict in a fixed order",
            )
        has_moved |= mine.ids != theirs.ids
    if has_moved:
        return Finding(check, "pass", "their order moves, which does no harm: records are sorted")
    return Finding(check, "pass", "the same ids in the same order")


def check_when(one: Observed, other: Observed) -> Finding:
    """Whether the training seeds itself, and in time."""
    check = "Seeds are set before anything is drawn"
    late = next((call for call in one.seed_calls if call.is_late), None)
    if late is not None:
        return Finding(
            check,
            "fail",
            f"{late.where} calls {late.function} after something was drawn from that generator",
            "the model is built, or the data drawn, before the seed is set: on its own, the "
            "script is not repeatable, and here, its seed covers a part of the training only",
            "move the call to the top of the program, before the model is built",
        )
    constant = _constant_seeds(one, other)
    if constant:
        call = constant[0]
        return Finding(
            check,
            "warn",
            f"{call.where} calls {call.function}({call.value}) in every run",
            "whatever is drawn after it is the same under all seeds",
            "remove that line, or seed with sp.current_run().seed",
        )
    n_calls = len(one.seed_calls)
    return Finding(
        check, "pass", f"{n_calls} calls of its own" if n_calls else "it sets none itself"
    )


def check_threads(one: Observed, threads: int) -> Finding:
    """Whether it uses as many threads as it may."""
    check = "It keeps to its threads"
    if one.n_threads is None:
        return Finding(check, "skip", "torch is not installed")
    if one.n_threads == threads:
        return Finding(check, "pass", f"{threads}")
    return Finding(
        check,
        "warn",
        f"it may use {threads}, and torch uses {one.n_threads}",
        "the training calls torch.set_num_threads: another machine gives other bits",
        "remove the call, and use --threads-per-run",
    )
