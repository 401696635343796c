"""Checks of the doctor: each compares a few trainings, and names the likely cause of a fault."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from seedproof.doctor.differences import compared, differences, plural
from seedproof.doctor.finding import Finding, Phrases
from seedproof.doctor.observation import Observed, SeedCall
from seedproof.messages import Message
from seedproof.training.rng import SEEDING

OWN_FOLDER = Message(
    "own-folder", "write into run.checkpoint_dir, and do not load what another run has saved"
)
NOTHING_TO_COMPARE = Message("nothing-to-compare", "there was nothing to compare")
NOT_REPEATABLE = Message("not-repeatable", "the same seed does not even give the same")
# How many lines, files or calls are named.
MOST_NAMED = 3


def check_logged(one: Observed) -> Finding:
    """Check that there is something to measure."""
    code = "logs-predictions"
    if one.splits:
        logged = Phrases(
            tuple(
                Message(
                    "predictions",
                    "{n_examples} on {split!r}",
                    n_examples=len(seen.ids),
                    split=split,
                )
                for split, seen in one.splits.items()
            ),
            ", ",
        )
        return Finding(code, "pass", Message("logged", "{logged}", logged=logged))
    if one.is_cut and one.weights:
        after = "after {n_steps} " + plural("step", one.n_steps)
        template = f"the budget ended it {after}; weights are compared instead"
        return Finding(code, "skip", Message("cut-with-weights", template, n_steps=one.n_steps))
    if one.is_cut:
        return Finding(
            code,
            "fail",
            Message(
                "cut-at-start",
                "the budget ended it before its first step, and nothing could be compared",
            ),
            Message(
                "budget-too-small",
                "the budget is too small, or the training has no optimizer of torch's",
            ),
            Message("larger-budget", "give more {option}, or none", option="--seconds"),
        )
    return Finding(
        code,
        "fail",
        Message("nothing-logged", "it ended without logging any"),
        Message("no-call", "nothing calls log_predictions"),
        Message(
            "add-call",
            'add: sp.current_run().log_predictions("test", ids=ids, probs=probs, labels=labels)',
        ),
    )


def check_same(one: Observed, two: Observed, more: Sequence[Observed] = ()) -> Finding:
    """Check that one seed gives one result, and name what may stand in the way."""
    code = "same-seed-same-bits"
    changes = differences(one, two)
    if changes:
        cause, fix = next(_suspects(one, two, more))
        return Finding(code, "fail", _differ(changes), cause, fix)
    same = compared(one, two)
    if not same:
        return Finding(code, "skip", NOTHING_TO_COMPARE)
    return Finding(code, "pass", _identical(same))


def _differ(changes: Phrases) -> Message:
    return Message("different", "{differences} differ", differences=changes)


def _identical(same: Phrases) -> Message:
    return Message("identical", "{compared} are identical", compared=same)


def _suspects(
    one: Observed, two: Observed, more: Sequence[Observed]
) -> Iterator[tuple[Message, Message]]:
    """Yield what may make two trainings of one seed differ, the likeliest first, and the fix."""
    moving = [*_moving(one.seed_calls, two.seed_calls), *_moving(one.generators, two.generators)]
    # What was tried out says more than what was seen; two more agree by chance less often.
    if len(more) == 2 and not differences(two, more[1]):
        if not differences(one, more[0]):
            yield _order_of_hashes(moving)
        else:
            yield _left_behind(one.files), OWN_FOLDER
    if moving:
        yield (
            Message(
                "moving-seed",
                "{place} calls {function} with another value each time",
                place=moving[0].where,
                function=moving[0].function,
            ),
            Message(
                "seed-of-run",
                "take the seed from sp.current_run().seed, not from the clock or the system",
            ),
        )
    if one.unseeded:
        yield (
            Message(
                "unseeded-generator",
                "{places} makes a generator without a seed",
                places=tuple(one.unseeded[:MOST_NAMED]),
            ),
            Message(
                "generator-of-run",
                'use run.rng("dropout") (numpy) or run.torch_generator("dropout") instead',
            ),
        )
    if one.workers:
        yield (
            Message(
                "order-of-workers",
                "{place} starts threads or processes, whose order differs each time",
                place=one.workers[0],
            ),
            Message(
                "results-in-order",
                "take results in the order of inputs: map(), not as_completed() or "
                "imap_unordered()",
            ),
        )
    if one.files:
        yield (
            Message(
                "files-written",
                "it writes {files}, which the next run may read",
                files=tuple(one.files[:MOST_NAMED]),
            ),
            OWN_FOLDER,
        )
    yield (
        Message(
            "unknown",
            "something follows no seed: a RandomState() or Random() of its own, the clock, a race",
        ),
        Message(
            "halve-training",
            "halve the training until the difference goes; begin with data loading",
        ),
    )


def _order_of_hashes(moving: Sequence[SeedCall]) -> tuple[Message, Message]:
    place = moving[0].where if moving else None
    where = "" if place is None else " in {place}"
    template = f"the order of a set, or hash(), decides something{where}: it differs by process"
    fix = "sort before iterating over a set of texts, and use hashlib instead of hash()"
    return Message("order-of-hashes", template, place=place), Message("sort-sets", fix)


def _left_behind(files: Sequence[str]) -> Message:
    named = " ({files})" if files else ""
    template = f"the first training left something behind that later ones find{named}"
    return Message("left-behind", template, files=tuple(files[:MOST_NAMED]))


def _moving(mine: Sequence[SeedCall], theirs: Sequence[SeedCall]) -> list[SeedCall]:
    """Return calls from the same line whose value differs."""
    pairs = zip(mine, theirs, strict=False)
    return [a for a, b in pairs if a.where == b.where and a.value != b.value]


def check_other(one: Observed, others: Sequence[Observed], *, is_repeatable: bool) -> Finding:
    """Check that the seed matters at all."""
    code = "other-seed-changes-something"
    if not is_repeatable:
        return Finding(code, "skip", NOT_REPEATABLE)
    for other in others:
        changes = differences(one, other)
        if changes:
            return Finding(code, "pass", _differ(changes))
    same = compared(one, others[0])
    if not same:
        return Finding(code, "skip", NOTHING_TO_COMPARE)
    seeds = _constant(one.seed_calls, others[0].seed_calls)
    generators = _constant(one.generators, others[0].generators)
    if seeds or generators:
        call = [*seeds, *generators][0]
        cause = Message("constant-seed", "{call} in every run", call=_message_of(call))
        fix = _fix_of(call)
    else:
        cause = Message(
            "draws-unused",
            "nothing that is drawn reaches the model: its seed may be fixed in a library",
        )
        fix = Message(
            "use-sources",
            'draw weights inside `with run.seeded("init"):`, and shuffle with run.rng("order")',
        )
    return Finding(code, "fail", _identical(same), cause, fix)


def _constant(mine: Sequence[SeedCall], theirs: Sequence[SeedCall]) -> list[SeedCall]:
    """Return calls with the same value under both seeds that no moving one follows."""
    known = {(*key, call.value) for key, call in _numbered(theirs)}
    constant: dict[str, list[SeedCall]] = {}
    for key, call in _numbered(mine):
        kind = SEEDING.get(call.function, call.where)
        if (*key, call.value) not in known:
            # The generator obeys from here on; what was fixed before is data, most likely.
            constant[kind] = []
        elif not call.is_undone:
            constant.setdefault(kind, []).append(call)
    return [call for calls in constant.values() for call in calls]


def _numbered(calls: Sequence[SeedCall]) -> Iterator[tuple[tuple[str, str, int], SeedCall]]:
    """Yield each call with its line, its function, and how often they came before."""
    counts: Counter[tuple[str, str]] = Counter()
    for call in calls:
        yield (call.where, call.function, counts[call.where, call.function]), call
        counts[call.where, call.function] += 1


def _message_of(call: SeedCall) -> Message:
    return Message(
        "seed-call",
        "{place} calls {function}({seed})",
        place=call.where,
        function=call.function,
        seed=call.value,
    )


def _fix_of(call: SeedCall) -> Message:
    return Message(
        "pass-seed",
        "write {function}(sp.current_run().seed), or give a script its seed: -- --seed {{seed}}",
        function=call.function,
    )


def check_start(one: Observed, other: Observed) -> Finding:
    """Check that the model is another one from the start, not only in the order of its data."""
    code = "other-seed-other-start"
    if not one.starts or not other.starts:
        return Finding(code, "skip", Message("no-steps", "no optimizer of torch's made a step"))
    if not differences(one, other):
        return Finding(code, "skip", Message("no-change", "another seed changes nothing at all"))
    if any(a != b for a, b in zip(one.starts, other.starts, strict=False)):
        return Finding(code, "pass", Message("other-start", "the weights at the start differ"))
    return Finding(
        code,
        "warn",
        Message("same-start", "the weights at the start are the same under another seed"),
        Message(
            "fixed-start",
            "the model is loaded or begins with fixed numbers, which may be meant; or it is drawn "
            "from a generator whose seed is fixed",
        ),
        Message("draw-in-source", 'if it is drawn: draw it inside `with run.seeded("init"):`'),
    )


def check_sources(
    one: Observed,
    alone: Mapping[str, Observed],
    rest: Observed | None,
    *,
    is_repeatable: bool,
) -> Finding:
    """Check what each source does alone."""
    code = "sources-change-something"
    if not is_repeatable:
        return Finding(code, "skip", NOT_REPEATABLE)
    if not one.weights and not one.splits:
        return Finding(code, "skip", NOTHING_TO_COMPARE)
    if not alone:
        return Finding(
            code,
            "skip",
            Message(
                "no-sources",
                "the training does not tell sources apart: all its draws follow one stream",
            ),
            fix=Message(
                "use-sources",
                'use run.seeded("init") and run.torch_generator("order") to find out which matters',
            ),
        )
    changes = {source: differences(one, seen) for source, seen in alone.items()}
    effects = Phrases(tuple(_effect(source, what) for source, what in changes.items()), "; ")
    outside = differences(one, rest) if rest is not None else Phrases(())
    if outside:
        return Finding(
            code,
            "warn",
            Message(
                "draws-outside",
                "{effects}; no source: {differences}",
                effects=effects,
                differences=outside,
            ),
            Message(
                "global-generators",
                "something is drawn from the global generators outside of any source, and so "
                "changes with each of them: what a source does alone cannot be told",
            ),
            Message(
                "draw-in-source",
                'put it into a source: `with run.seeded("dropout"):` around the forward pass, say',
            ),
        )
    observed = Message("effects", "{effects}", effects=effects)
    idle = tuple(source for source, what in changes.items() if not what)
    if idle:
        n_steps = one.n_steps if one.is_cut else None
        when = "" if n_steps is None else " within {n_steps} " + plural("step", n_steps)
        return Finding(
            code,
            "warn",
            observed,
            Message(
                "idle-sources",
                f"asked for, but another seed for it alone changes nothing{when}: {{sources}}",
                sources=idle,
                n_steps=n_steps,
            ),
            Message("pass-generator", "look whether its generator is passed on to what draws"),
        )
    return Finding(code, "pass", observed)


def _effect(source: str, changes: Phrases) -> Message:
    if not changes:
        return Message("no-effect", "{source}: nothing", source=source)
    return Message("effect", "{source}: {differences}", source=source, differences=changes)


def check_when(one: Observed, other: Observed) -> Finding:
    """Check that the training seeds itself in time."""
    code = "seeds-before-draws"
    calls = [call for call in one.seed_calls if not call.is_undone]
    # Libraries draw from python's generator for names and delays; from the others, they do not.
    late = sorted((call for call in calls if call.is_late), key=_is_of_python)
    if late:
        place = late[0].where
        return Finding(
            code,
            "warn" if _is_of_python(late[0]) else "fail",
            Message(
                "late-seed",
                "{place} calls {function} after something was drawn from that generator",
                place=place,
                function=late[0].function,
            ),
            Message(
                "drawn-before-seed",
                "the model is built, or the data drawn, before {place}: on its own, the script is "
                "not repeatable, and here, its seed covers a part of the training only",
                place=place,
            ),
            Message(
                "seed-first", "move the call to the top of the program, before the model is built"
            ),
        )
    constant = _constant(one.seed_calls, other.seed_calls)
    if constant:
        return Finding(
            code,
            "warn",
            Message(
                "constant-seeds",
                "{calls} in every run",
                calls=Phrases(tuple(map(_message_of, constant[:MOST_NAMED]))),
            ),
            Message(
                "constant-draws",
                "what is drawn after {place} is the same under all seeds",
                place=constant[0].where,
            ),
            _fix_of(constant[0]),
        )
    if not calls:
        return Finding(code, "pass", Message("no-seed-calls", "it sets none itself"))
    template = "{n_calls} " + plural("call", len(calls)) + " of its own"
    return Finding(code, "pass", Message("seed-calls", template, n_calls=len(calls)))


def _is_of_python(call: SeedCall) -> bool:
    return SEEDING[call.function] == "python"


def check_files(one: Observed, other: Observed) -> Finding:
    """Check that runs at the same time would not overwrite each other's files."""
    code = "separate-files"
    common = [name for name in one.files if name in other.files]
    if not common:
        text = "none are written by both, beside the code or here"
        return Finding(code, "pass", Message("no-common-files", text))
    return Finding(
        code,
        "warn",
        Message(
            "common-files",
            "under either seed, it writes {files}",
            files=tuple(common[:MOST_NAMED]),
        ),
        Message(
            "files-overwritten",
            "runs that go on at the same time overwrite them, or read each other's",
        ),
        Message("own-folder", "write into run.checkpoint_dir, which is the run's own"),
    )


def check_threads(one: Observed, threads: int) -> Finding:
    """Check that it uses as many threads as it may."""
    code = "number-of-threads"
    if one.n_threads is None:
        return Finding(code, "skip", Message("no-torch", "it trains without torch"))
    if one.n_threads == threads:
        return Finding(code, "pass", Message("threads", "{n_threads}", n_threads=threads))
    place = one.thread_calls[-1] if one.thread_calls else None
    subject = "the training" if place is None else "{place}"
    return Finding(
        code,
        "warn",
        Message(
            "other-threads",
            "it may use {n_allowed}, and torch uses {n_threads}",
            n_allowed=threads,
            n_threads=one.n_threads,
        ),
        Message(
            "threads-set",
            f"{subject} calls torch.set_num_threads: another machine gives other bits",
            place=place,
        ),
        Message("use-option", "remove the call, and use {option}", option="--threads-per-run"),
    )
