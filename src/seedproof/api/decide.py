"""`sp.decide`: keep a candidate of a research loop, discard it, or run more."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from seedproof.api.decide_inputs import (
    Compared,
    PredictionSides,
    ScalarSides,
    Sides,
    recognized,
)
from seedproof.api.scalars import refuse_lower
from seedproof.comparison.decide.judge import Decision, Reason, Verdict, check_row, judge
from seedproof.comparison.decide.ledger import FILE_NAME, Decided, Entry, Ledger, Settings
from seedproof.comparison.decide.schedule import Schedule
from seedproof.comparison.gate.rules import allowed_checks
from seedproof.engines import Engine
from seedproof.errors import OptionError
from seedproof.measurement.engines import measuring_engine
from seedproof.predictions.options import LoadOptions
from seedproof.predictions.predictions import Loadable, Predictions
from seedproof.predictions.targets import Input, opened
from seedproof.records.decoding import DecodingError, decode
from seedproof.report.decide import DecisionReport
from seedproof.scalars.read import has_scalars
from seedproof.stats.effect import Effect, without_verdict


def decide(
    baseline: Loadable,
    candidate: Loadable,
    *,
    metric: str | None = None,
    max_runs: int | None = None,
    false_keeps: float = 0.1,
    min_gain: float = 0.0,
    ledger: str | os.PathLike[str] | None = None,
    baseline_arm: str | None = None,
    lower: Sequence[str] | None = None,
    allow: Iterable[str] = (),
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    **options: Unpack[LoadOptions],
) -> DecisionReport:
    """Decide whether a candidate is better than the baseline: keep, discard, or run more.

    Call it again whenever runs are added. A candidate is judged at planned numbers of runs, so that
    the answer does not depend on how often it is called. Over all candidates of a loop, the
    expected share of false keeps is limited.

    A candidate that is shown to be worse in its quality, such as accuracy, is discarded even if a
    metric of stability decides.

    Trials of one model, asked again, are judged over examples: any number of them may decide. Runs
    of models that were trained again need five.

    Args:
        baseline: Runs of the current best: whatever `sp.Predictions.load` takes, or single numbers
            per run, as for `sp.measure_scalars`. All of them count, and they are at least as many
            as the candidate's. If it was kept in the same loop, the runs that it was kept for are
            not enough: as many new ones are needed.
        candidate: Runs of the variant that may replace it, on the same examples if there are any.
        metric: Name of the metric that decides. If omitted `accuracy`; of numbers `mean`, or `mae`
            if there are targets; of ranked lists `ndcg@10`, or another depth; of sets `micro_f1`;
            of single numbers per run the first one.
        max_runs: Runs of a candidate at which it is decided at last: 5, 10, 20, 40 or 80; 20 if
            omitted. Any number of trials of one model; 5 if omitted.
        false_keeps: The largest expected share of keeps that are not better than their baseline.
        min_gain: The least gain of interest: a difference, or a share of the baseline for metrics
            that are compared by their ratio. A candidate is discarded if its interval excludes it.
        ledger: File that remembers the candidates of the loop; if omitted, `decisions.jsonl` in
            the store of the baseline.
        baseline_arm: Arm of the baseline's store; the same as `arm` if omitted.
        lower: Of single numbers per run, the metrics that are better when lower. If omitted, those
            whose names contain a word such as loss, error or cost.
        allow: Names of checks whose errors do not keep the candidate from being decided.
        engine: Where the work is done: `serial`, `processes`, or `ray`. Figures are the same.
        workers: Number of shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        **options: How both are read: `labels`, `ids`, `classes` and others, see `sp.LoadOptions`.

    Returns:
        The answer, its reason, and the number of runs to add.

    Raises:
        OptionError: The loop began with other settings, or an option cannot be used.

    Examples:
        >>> import numpy as np
        >>> import seedproof as sp
        >>> labels, rng = np.zeros(500, dtype=int), np.random.default_rng(0)
        >>> old, new = (rng.random((10, 500)) < share for share in (0.3, 0.1))
        >>> sp.decide(
        ...     old.astype(int), new.astype(int), labels=labels, ledger="loop.jsonl"
        ... ).answer
        'keep'
    """
    pool = measuring_engine(engine, workers=workers, address=address)
    allowed = allowed_checks(allow)
    place = _ledger_path(recognized(baseline), ledger)
    sides: Sides
    if has_scalars(candidate, options, () if metric is None else [metric]):
        sides = ScalarSides.load((baseline, candidate), metric, baseline_arm, lower, options)
    else:
        refuse_lower(lower)
        sides = PredictionSides.load((baseline, candidate), metric, baseline_arm, pool, options)
    schedule = sides.schedule(max_runs)
    settings = Settings(
        sides.metric, schedule.last, float(false_keeps), float(min_gain), sides.lower_is_better
    )
    _check_settings(settings, is_share=sides.is_share)
    book = Ledger(place, settings)
    loop = book.read()
    digests = sides.digests(schedule.n_identifying)
    if digests[0] is not None and digests[0] == digests[1]:
        raise OptionError(
            "The baseline and the candidate are the same runs. Pass other runs as the candidate; "
            "for arms of one store, name them with --baseline-arm and --arm, or baseline_arm= and "
            "arm= in Python.",
            keyword="candidate",
        )
    selected = loop.entries.get(digests[0] or "")
    is_selected = selected is not None and selected.answer == "keep"
    n_selecting = selected.n_runs if selected is not None and is_selected else 0
    n_baseline, n_candidate = sides.n_runs
    step, following = schedule.at(n_candidate)
    result = Decision(
        Verdict("run more", "too few runs"),
        settings,
        name=sides.names[1],
        ledger=str(book.path),
        n_runs=step or 0,
        n_candidate=n_candidate,
        n_baseline=n_baseline,
        n_selecting=n_selecting,
        candidate=digests[1],
        n_kept=len(loop.keeps),
        are_trials=sides.are_trials,
    )
    entry = loop.entries.get(digests[1] or "")
    if entry is not None and entry.answer is not None:
        return DecisionReport(_recorded(result, entry, book))
    if step is None or n_baseline - n_selecting < schedule.baseline_runs(step):
        return DecisionReport(_with_more(result, schedule, following if step is None else step))
    compared = sides.compared(step)
    return DecisionReport(_judged(result, compared, schedule, book, allowed))


def _judged(
    result: Decision,
    compared: Compared,
    schedule: Schedule,
    book: Ledger,
    allowed: tuple[str, ...],
) -> Decision:
    """Return the decision on a compared candidate, after writing it to the ledger."""
    # A candidate may be discarded after two runs; none is kept before the fifth.
    checks = tuple(check for check in compared.checks if check.name != "few-runs")
    effect = compared.row.effect()
    quality = None if compared.quality is None else compared.quality.effect()
    result = replace(result, effect=effect, quality=quality, notes=compared.notes, checks=checks)
    errors = [check.name for check in checks if check.severity == "error"]
    untrusted = [name for name in errors if name not in allowed]
    if untrusted:
        return replace(
            result,
            verdict=Verdict("repair", "untrusted input"),
            effect=without_verdict(effect, untrusted[0]),
            quality=None if quality is None else without_verdict(quality, untrusted[0]),
        )
    check_row(compared.row)
    entry = book.begin(str(result.candidate), result.name)
    verdict = judge(
        compared.row,
        schedule,
        level=entry.level,
        min_gain=result.settings.min_gain,
        quality=compared.quality,
    )
    result = replace(result, verdict=verdict, level=entry.level, position=entry.position)
    if verdict.answer == "run more":
        _, following = schedule.at(result.n_runs)
        return _with_more(result, schedule, following)
    facts = {"reason": verdict.reason, "chance": verdict.chance, "effect": effect.summary()}
    facts["n_baseline"] = result.n_baseline
    facts |= {} if quality is None else {"quality": quality.summary()}
    answer: Decided = "keep" if verdict.answer == "keep" else "discard"
    entry = book.decide(entry.candidate, answer, result.n_runs, facts)
    if (entry.answer, entry.n_runs) != (verdict.answer, result.n_runs):
        return _recorded(result, entry, book)  # another process was faster
    return replace(result, n_kept=len(book.read().keeps))


def _with_more(result: Decision, schedule: Schedule, step: int | None) -> Decision:
    """Return an open decision with the runs to add until the next step."""
    step = schedule.last if step is None else step
    needed = schedule.baseline_runs(step) + result.n_selecting
    return replace(
        result,
        more_candidate=max(step - result.n_candidate, 0),
        more_baseline=max(needed - result.n_baseline, 0),
    )


@dataclass(frozen=True)
class _Facts:
    """Facts of a decision in the ledger."""

    reason: Reason
    chance: float | None
    effect: Mapping[str, Any]
    n_baseline: int
    quality: Mapping[str, Any] | None = None


def _recorded(result: Decision, entry: Entry, book: Ledger) -> Decision:
    """Return the decision that the ledger has."""
    try:
        facts = decode(_Facts, entry.facts, field="facts", allow_unknown=True)
        recorded = _effect(facts.effect, "effect")
        quality = None if facts.quality is None else _effect(facts.quality, "quality")
    except DecodingError as error:
        raise book.damaged(error) from error
    return replace(
        result,
        verdict=Verdict(entry.answer or "run more", facts.reason, facts.chance),
        effect=recorded,
        quality=quality,
        n_runs=entry.n_runs,
        n_baseline=facts.n_baseline,
        level=entry.level,
        position=entry.position,
        is_recorded=True,
    )


def _effect(facts: Mapping[str, Any], name: str) -> Effect:
    """Return a recorded effect, of whose note there is only the text."""
    known = {key: value for key, value in facts.items() if key != "note"}
    return decode(Effect, known, field=f"facts.{name}", allow_unknown=True)


def _ledger_path(baseline: Predictions | Input, ledger: str | os.PathLike[str] | None) -> Path:
    if ledger is not None:
        return Path(ledger)
    if isinstance(baseline, Input) and baseline.kind == "store":
        place = opened(baseline).location
        if place.is_local:
            file = place / FILE_NAME
            file.check_links()
            return Path(file.path)
    raise OptionError(
        "A loop needs a ledger, and only a local store as the baseline has a place for it. Pass a "
        "file with --ledger, or ledger= in Python, the same one for all candidates.",
        keyword="ledger",
    )


def _check_settings(settings: Settings, *, is_share: bool) -> None:
    """Refuse shares outside their range; a gain of numbers of any size is not a share."""
    for option, value, low, high in (
        ("false_keeps", settings.false_keeps, 0.0, 1.0),
        ("min_gain", settings.min_gain, -math.ulp(0.0), 1.0 if is_share else math.inf),
    ):
        if not low < value < high:
            raise OptionError(
                "{option} is {value}. Pass a {noun}.",
                option=option,
                value=value,
                noun="share between 0 and 1" if high == 1.0 else "number of at least 0",
            )
