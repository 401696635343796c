"""Checks of the doctor: each compares a few runs, and names the likely cause."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from seedproof.doctor.finding import Finding, Phrases, Verdict
from seedproof.doctor.observation import Observed, SeedCall, compared, differences, plural
from seedproof.messages import Message, Sentences
from seedproof.predictions.predictions import Predictions
from seedproof.training.rng import SEEDING

# Maximum number of lines, files or calls that are named.
MOST_NAMED = 3
SENTENCES = {
    # Observations.
    "logged": "{logged}",
    "nothing-logged": "no predictions were logged",
    "cut-at-start": "the budget ended before the first step, so nothing can be compared",
    "nothing-to-compare": "there was nothing to compare",
    "no-classes": "the answers are not classes",
    "not-repeatable": "the same seed does not give the same result",
    "different": "{differences} differ",
    "identical": "{compared} are identical",
    "no-steps": "no torch optimizer took a step",
    "no-change": "a different seed changes nothing at all",
    "other-start": "the weights at the start differ",
    "same-start": "the weights at the start are the same with a different seed",
    "no-sources": "the training does not use separate sources: all random numbers come from one "
    "stream",
    "draws-outside": "{effects}; no source: {differences}",
    "effects": "{effects}",
    "effect": "{source}: {differences}",
    "no-effect": "{source}: nothing",
    "late-seed": "{place} calls {function} after a draw from that generator",
    "constant-seeds": "{calls} in every run",
    "no-seed-calls": "the training does not reseed the global generators",
    "no-common-files": "no file in the code's folder or the current folder is written by both runs",
    "common-files": "two runs with different seeds both write {files}",
    "no-torch": "the training does not use torch",
    "other-threads": "{n_allowed} allowed, but torch uses {n_threads}",
    "other-order": "the order of the ids differs, which does no harm: records are sorted",
    "same-order": "the same ids in the same order",
    "no-labels": "the same ids; without labels, it is unknown if they mean the same examples",
    "positions": "neither ids nor labels were given: examples are identified by position",
    "other-splits": "the splits are {splits!r}, and with another seed {other_splits!r}",
    "other-ids": "with another seed, {n_other} of {n_examples} ids in {split!r} differ",
    "input-check": "{check}: {message}",
    # Causes.
    "budget-too-small": "the budget is too small, or the training uses no torch optimizer",
    "no-call": "nothing calls log_predictions",
    "moving-seed": "{place} calls {function} with a different value each time",
    "unseeded-generator": "{places} creates a generator without a seed",
    "order-of-workers": "{place} starts threads or processes, whose order differs each time",
    "files-written": "it writes {files}, which the next run may read",
    "unknown": "something does not follow the seed: its own RandomState() or Random(), the clock, "
    "a race",
    "constant-seed": "{call} in every run",
    "seed-call": "{place} calls {function}({seed})",
    "draws-unused": "no random draw reaches the model: a library may fix its seed",
    "fixed-start": "the model is loaded or starts with fixed values, which may be intended; or it "
    "is drawn from a generator with a fixed seed",
    "global-generators": "something draws from the global generators outside of any source, so it "
    "changes with every source: the effect of a single source is unknown",
    "drawn-before-seed": "the model is built, or data are drawn, before {place}: the script alone "
    "is not repeatable, and here its seed covers only part of the training",
    "constant-draws": "draws after {place} are the same for all seeds",
    "files-overwritten": "parallel runs overwrite these files, or read those of other runs",
    "split-by-source": "only the source data decides which examples are held out",
    "shuffled-examples": "if the seed shuffles the examples, different examples are compared",
    "split-by-seed": "the name of a split depends on the seed",
    "held-out-by-seed": "the seed decides which examples are held out",
    "shuffled-ids": "ids are positions in an order that the seed shuffles",
    # Fixes.
    "larger-budget": "increase {option}, or omit it",
    "add-call": 'add: sp.current_run().log_predictions("test", ids=ids, probs=probs, '
    "labels=labels)",
    "seed-of-run": "use sp.current_run().seed, not the clock or the system",
    "generator-of-run": 'use run.rng("dropout") (numpy) or run.torch_generator("dropout") instead',
    "results-in-order": "take results in the order of inputs: map(), not as_completed() or "
    "imap_unordered()",
    "own-folder": "write to run.checkpoint_dir, and do not load files of other runs",
    "halve-training": "remove half of the training until the difference disappears; start with "
    "data loading",
    "sort-sets": "sort a set of texts before iterating, and use hashlib instead of hash()",
    "pass-seed": "write {function}(sp.current_run().seed), or pass the seed to the script: "
    "-- --seed {{seed}}",
    "use-sources": 'draw the weights inside `with run.seeded("init"):`, and shuffle with '
    'run.rng("order")',
    "draw-in-source": 'draw it inside a source: `with run.seeded("init"):`, or "dropout" around '
    "the forward pass",
    "pass-generator": "check that its generator is passed to the code that draws",
    "seed-first": "move the call to the top of the program, before the model is built",
    "use-option": "remove the call, and use {option}",
    "hold-source": "keep that source fixed when you compare runs: SeedPlan.one_at_a_time(n)",
    "stored-ids": "store an id with each example, or predict in a fixed order",
    "fixed-names": 'give splits fixed names, such as "test"',
    "fixed-split": 'split the data once with a fixed seed, or vary it only with run.rng("data")',
}
_say = Sentences(SENTENCES)


def _finding(code: str, verdict: Verdict, *messages: Message | str | None) -> Finding:
    """Return a finding: observation, cause and fix, by their code if they have no fields."""
    return Finding(
        code,
        verdict,
        *(_say(message) if isinstance(message, str) else message for message in messages),  # type: ignore[arg-type] # the observation is never None
    )


def check_logged(run: Observed) -> Finding:
    """Check that there is something to measure."""
    code = "logs-predictions"
    if run.splits:
        template = "{n_examples} predictions on {split!r}"
        logged = Phrases(
            tuple(
                Message("predictions", template, n_examples=len(log.ids), split=split)
                for split, log in run.splits.items()
            ),
            ", ",
        )
        return _finding(code, "pass", _say("logged", logged=logged))
    if run.is_cut and run.weights:
        after = "after {n_steps} " + plural("step", run.n_steps)
        template = f"the budget ended {after}; weights are compared instead"
        return _finding(code, "skip", Message("cut-with-weights", template, n_steps=run.n_steps))
    if run.is_cut:
        fix = _say("larger-budget", option="--seconds")
        return _finding(code, "fail", "cut-at-start", "budget-too-small", fix)
    return _finding(code, "fail", "nothing-logged", "no-call", "add-call")


def check_same(first: Observed, second: Observed, more: Sequence[Observed] = ()) -> Finding:
    """Check that one seed gives one result, and name the likely obstacle."""
    code = "same-seed-same-bits"
    changes = differences(first, second)
    if changes:
        cause, fix = next(_suspects(first, second, more))
        return _finding(code, "fail", _say("different", differences=changes), cause, fix)
    same = compared(first, second)
    if not same:
        return _finding(code, "skip", "nothing-to-compare")
    return _finding(code, "pass", _say("identical", compared=same))


def _suspects(
    first: Observed, second: Observed, more: Sequence[Observed]
) -> Iterator[tuple[Message, Message | str]]:
    """Yield why two training runs of one seed may differ and the fix, the likeliest first."""
    moving = [
        *_moving(first.seed_calls, second.seed_calls),
        *_moving(first.generators, second.generators),
    ]
    # An experiment is better evidence than an observation; two more rarely agree by chance.
    if len(more) == 2 and not differences(second, more[1]):
        if not differences(first, more[0]):
            place = moving[0].where if moving else None
            where = "" if place is None else " in {place}"
            template = f"the order of a set or hash(), which differs by process, matters{where}"
            yield Message("order-of-hashes", template, place=place), "sort-sets"
        else:
            named = " ({files})" if first.files else ""
            template = f"the first training leaves something behind that later ones use{named}"
            files = tuple(first.files[:MOST_NAMED])
            yield Message("left-behind", template, files=files), "own-folder"
    if moving:
        place, function = moving[0].where, moving[0].function
        yield _say("moving-seed", place=place, function=function), "seed-of-run"
    if first.unseeded:
        places = tuple(first.unseeded[:MOST_NAMED])
        yield _say("unseeded-generator", places=places), "generator-of-run"
    if first.workers:
        yield _say("order-of-workers", place=first.workers[0]), "results-in-order"
    if first.files:
        yield _say("files-written", files=tuple(first.files[:MOST_NAMED])), "own-folder"
    yield _say("unknown"), "halve-training"


def _moving(first: Sequence[SeedCall], second: Sequence[SeedCall]) -> list[SeedCall]:
    """Return calls from the same line whose value differs."""
    pairs = zip(first, second, strict=False)
    return [a for a, b in pairs if a.where == b.where and a.value != b.value]


def check_other(run: Observed, others: Sequence[Observed], *, is_repeatable: bool) -> Finding:
    """Check that the seed matters at all."""
    code = "other-seed-changes-something"
    if not is_repeatable:
        return _finding(code, "skip", "not-repeatable")
    for other in others:
        changes = differences(run, other)
        if changes:
            return _finding(code, "pass", _say("different", differences=changes))
    same = compared(run, others[0])
    if not same:
        return _finding(code, "skip", "nothing-to-compare")
    observed = _say("identical", compared=same)
    constant = [
        *_constant(run.seed_calls, others[0].seed_calls),
        *_constant(run.generators, others[0].generators),
    ]
    if not constant:
        return _finding(code, "fail", observed, "draws-unused", "use-sources")
    cause = _say("constant-seed", call=_message_of(constant[0]))
    return _finding(code, "fail", observed, cause, _fix_of(constant[0]))


def _constant(first: Sequence[SeedCall], second: Sequence[SeedCall]) -> list[SeedCall]:
    """Return calls with the same value under both seeds that no moving call follows."""
    known = {(*key, call.value) for key, call in _numbered(second)}
    constant: dict[str, list[SeedCall]] = {}
    for key, call in _numbered(first):
        kind = SEEDING.get(call.function, call.where)
        if (*key, call.value) not in known:
            # From here on the generator follows the seed; earlier calls probably fixed the data.
            constant[kind] = []
        elif not call.is_undone:
            constant.setdefault(kind, []).append(call)
    return [call for calls in constant.values() for call in calls]


def _numbered(calls: Sequence[SeedCall]) -> Iterator[tuple[tuple[str, str, int], SeedCall]]:
    """Yield each call with its line, its function, and how often they occurred before."""
    counts: Counter[tuple[str, str]] = Counter()
    for call in calls:
        yield (call.where, call.function, counts[call.where, call.function]), call
        counts[call.where, call.function] += 1


def _message_of(call: SeedCall) -> Message:
    return _say("seed-call", place=call.where, function=call.function, seed=call.value)


def _fix_of(call: SeedCall) -> Message:
    return _say("pass-seed", function=call.function)


def check_start(run: Observed, other: Observed) -> Finding:
    """Check that another seed gives another initial model, not only another order of the data."""
    code = "other-seed-other-start"
    if not run.starts or not other.starts:
        return _finding(code, "skip", "no-steps")
    if not differences(run, other):
        return _finding(code, "skip", "no-change")
    if any(a != b for a, b in zip(run.starts, other.starts, strict=False)):
        return _finding(code, "pass", "other-start")
    return _finding(code, "warn", "same-start", "fixed-start", "draw-in-source")


def check_sources(
    run: Observed,
    by_source: Mapping[str, Observed],
    rest: Observed | None,
    *,
    is_repeatable: bool,
) -> Finding:
    """Check the effect of each source alone."""
    code = "sources-change-something"
    if not is_repeatable:
        return _finding(code, "skip", "not-repeatable")
    if not run.weights and not run.splits:
        return _finding(code, "skip", "nothing-to-compare")
    if not by_source:
        return _finding(code, "skip", "no-sources", None, "use-sources")
    changes = {source: differences(run, other) for source, other in by_source.items()}
    effects = Phrases(
        tuple(
            _say("effect", source=source, differences=changed)
            if changed
            else _say("no-effect", source=source)
            for source, changed in changes.items()
        ),
        "; ",
    )
    outside = differences(run, rest) if rest is not None else Phrases(())
    if outside:
        observed = _say("draws-outside", effects=effects, differences=outside)
        return _finding(code, "warn", observed, "global-generators", "draw-in-source")
    observed = _say("effects", effects=effects)
    idle = tuple(source for source, changed in changes.items() if not changed)
    if not idle:
        return _finding(code, "pass", observed)
    n_steps = run.n_steps if run.is_cut else None
    when = "" if n_steps is None else " within {n_steps} " + plural("step", n_steps)
    template = f"requested, but another seed for it alone changes nothing{when}: {{sources}}"
    cause = Message("idle-sources", template, sources=idle, n_steps=n_steps)
    return _finding(code, "warn", observed, cause, "pass-generator")


def check_when(run: Observed, other: Observed) -> Finding:
    """Check that the training sets its seeds before it draws."""
    code = "seeds-before-draws"
    calls = [call for call in run.seed_calls if not call.is_undone]
    # Libraries draw from python's generator for names and delays, but not from the others.
    late = sorted((call for call in calls if call.is_late), key=_is_of_python)
    if late:
        place = late[0].where
        return _finding(
            code,
            "warn" if _is_of_python(late[0]) else "fail",
            _say("late-seed", place=place, function=late[0].function),
            _say("drawn-before-seed", place=place),
            "seed-first",
        )
    constant = _constant(run.seed_calls, other.seed_calls)
    if constant:
        named = Phrases(tuple(map(_message_of, constant[:MOST_NAMED])))
        cause = _say("constant-draws", place=constant[0].where)
        return _finding(
            code, "warn", _say("constant-seeds", calls=named), cause, _fix_of(constant[0])
        )
    if not calls:
        return _finding(code, "pass", "no-seed-calls")
    template = "{n_calls} " + plural("call", len(calls)) + " of its own"
    return _finding(code, "pass", Message("seed-calls", template, n_calls=len(calls)))


def _is_of_python(call: SeedCall) -> bool:
    return SEEDING[call.function] == "python"


def check_files(run: Observed, other: Observed) -> Finding:
    """Check that parallel runs would not overwrite each other's files."""
    code = "separate-files"
    common = tuple(name for name in run.files if name in other.files)
    if not common:
        return _finding(code, "pass", "no-common-files")
    observed = _say("common-files", files=common[:MOST_NAMED])
    return _finding(code, "warn", observed, "files-overwritten", "own-folder")


def check_threads(run: Observed, threads: int) -> Finding:
    """Check that the training uses the allowed number of threads."""
    code = "number-of-threads"
    if run.n_threads is None:
        return _finding(code, "skip", "no-torch")
    if run.n_threads == threads:
        template = "{n_threads} " + plural("thread", threads)
        return _finding(code, "pass", Message("threads", template, n_threads=threads))
    place = run.thread_calls[-1] if run.thread_calls else None
    subject = "the training" if place is None else "{place}"
    template = f"{subject} calls torch.set_num_threads: results depend on the machine"
    return _finding(
        code,
        "warn",
        _say("other-threads", n_allowed=threads, n_threads=run.n_threads),
        Message("threads-set", template, place=place),
        _say("use-option", option="--threads-per-run"),
    )


def check_answers(run: Observed) -> Finding:
    """Check that the predicted classes fit the labels."""
    code = "usable-answers"
    if run.is_cut or not run.splits:
        return _finding(code, "skip", "nothing-to-compare")
    n_answers = 0
    for log in run.splits.values():
        if not log.answers:  # numbers, lists, sets or texts
            continue
        labels = [label or None for label in log.labels]
        # With probabilities, all classes are known by their columns.
        known = None if log.has_probs or not any(labels) else np.array(labels, dtype=object)
        for check in Predictions.from_arrays([log.answers], labels=known).checks:
            if check.name != "few-runs":
                observed = _say("input-check", check=check.name, message=check.message)
                return _finding(code, "warn", observed, None, Message(check.name, check.remedy))
        n_answers = max(n_answers, len(set(log.answers)))
    if not n_answers:
        return _finding(code, "skip", "no-classes")
    template = "{n_answers} distinct " + plural("answer", n_answers)
    return _finding(code, "pass", Message("several-answers", template, n_answers=n_answers))


def check_ids(run: Observed, other: Observed, held: Sequence[Observed] = ()) -> Finding:
    """Check that predictions of different runs can be compared by example."""
    code = "stable-ids"
    if not run.splits or not other.splits:
        return _finding(code, "skip", "nothing-logged")
    fault = _id_fault(code, run, other)
    if fault is not None:
        if "data" in run.sources and held and not any(_id_fault(code, run, h) for h in held):
            cause, fix = _say("split-by-source"), _say("hold-source")
            return replace(fault, verdict="warn", cause=cause, fix=fix)
        return fault
    splits = run.splits.values()
    if all(any(log.labels) for log in splits):
        common = run.splits.keys() & other.splits.keys()
        is_same = all(run.splits[split].ids == other.splits[split].ids for split in common)
        return _finding(code, "pass", "same-order" if is_same else "other-order")
    if all(log.has_ids for log in splits):
        return _finding(code, "pass", "no-labels")
    return _finding(code, "warn", "positions", "shuffled-examples", "stored-ids")


def _id_fault(code: str, run: Observed, other: Observed) -> Finding | None:
    """Return why two training runs cannot be compared by example; None if they can."""
    is_cut = run.is_cut or other.is_cut
    if run.splits.keys() != other.splits.keys() and not is_cut:
        splits, other_splits = tuple(sorted(run.splits)), tuple(sorted(other.splits))
        observed = _say("other-splits", splits=splits, other_splits=other_splits)
        return _finding(code, "fail", observed, "split-by-seed", "fixed-names")
    for split in sorted(run.splits.keys() & other.splits.keys()):
        log, other_log = run.splits[split], other.splits[split]
        if sorted(log.ids) != sorted(other_log.ids) and not is_cut:
            n_other, n_examples = len(set(log.ids) - set(other_log.ids)), len(log.ids)
            observed = _say("other-ids", n_other=n_other, n_examples=n_examples, split=split)
            return _finding(code, "fail", observed, "held-out-by-seed", "fixed-split")
        labels, other_labels = log.by_id(log.labels), other_log.by_id(other_log.labels)
        common = [example for example in labels if example in other_labels]
        changed = [example for example in common if labels[example] != other_labels[example]]
        if changed:
            positions = "" if log.has_ids else "; no ids were given, so positions are used"
            observed = Message(
                "other-labels",
                "with another seed, {n_changed} of {n_examples} ids in {split!r} have another "
                f"label, such as {{example!r}}{positions}",
                n_changed=len(changed),
                n_examples=len(common),
                split=split,
                example=changed[0],
                has_ids=log.has_ids,
            )
            return _finding(code, "fail", observed, "shuffled-ids", "stored-ids")
    return None
