"""`sp.decide`: keep a candidate of a research loop, discard it, or run more."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from seedproof.api.compare import arm_data
from seedproof.comparison.arms.compare import compare_arms
from seedproof.comparison.arms.result import Comparison
from seedproof.comparison.decide.judge import (
    Decision,
    Reason,
    Verdict,
    baseline_runs,
    judge,
    looks_to,
    refuse_without_interval,
    step_at,
)
from seedproof.comparison.decide.ledger import (
    FILE_NAME,
    N_IDENTIFYING,
    Decided,
    Entry,
    Ledger,
    Settings,
    digest_of,
)
from seedproof.comparison.gate.rules import allowed_checks
from seedproof.engines import Engine
from seedproof.errors import OptionError
from seedproof.measurement.engines import measuring_engine
from seedproof.measurement.selection import check_allowed, known_metrics
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.predictions.arms import short_names
from seedproof.predictions.options import LoadOptions, check_options
from seedproof.predictions.predictions import Loadable, Predictions, load_one, on_common_examples
from seedproof.predictions.targets import Input, opened, recognize
from seedproof.records.decoding import DecodingError, decode
from seedproof.records.location import Location
from seedproof.report.decide import DecisionReport
from seedproof.stats.effect import Effect


def decide(
    baseline: Loadable,
    candidate: Loadable,
    *,
    metric: str = "accuracy",
    max_runs: int = 20,
    false_keeps: float = 0.1,
    min_gain: float = 0.0,
    ledger: str | os.PathLike[str] | None = None,
    baseline_arm: str | None = None,
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

    Args:
        baseline: Runs of the current best: whatever `sp.Predictions.load` takes. All of them count,
            and they are at least as many as the candidate's. If it was kept in the same loop, the
            runs that it was kept for are not enough: as many new ones are needed.
        candidate: Runs of the variant that may replace it, on the same examples.
        metric: Name of the metric that decides.
        max_runs: Runs of a candidate at which it is decided at last: 5, 10, 20, 40 or 80.
        false_keeps: The largest expected share of keeps that are not better than their baseline.
        min_gain: The least gain of interest: a difference, or a share of the baseline for metrics
            that are compared by their ratio. A candidate is discarded if its interval excludes it.
        ledger: File that remembers the candidates of the loop; if omitted, `decisions.jsonl` in
            the store of the baseline.
        baseline_arm: Arm of the baseline's store; the same as `arm` if omitted.
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
    known_metrics([metric])
    looks_to(max_runs)
    settings = Settings(metric, max_runs, float(false_keeps), float(min_gain))
    _check_shares(settings)
    allowed = allowed_checks(allow)
    inputs = [_recognized(target) for target in (baseline, candidate)]
    check_options([_kind(x) for x in inputs], options)
    names = _names([baseline, candidate], inputs, [baseline_arm, options.get("arm")])
    book = Ledger(_ledger_path(inputs[0], ledger), settings)
    of_baseline: LoadOptions = {**options, "arm": baseline_arm or options.get("arm")}
    how = of_baseline if _kind(inputs[0]) == "store" else options
    arms = {
        "baseline": load_one(inputs[0], how, least_runs=1),
        "candidate": load_one(inputs[1], options, least_runs=1),
    }
    for arm in arms.values():
        check_allowed((metric,), arm.source)
        if arm.source.settings.are_trials:
            raise OptionError(
                "Decisions rest on runs, and {run!r} is a trial of one model. Compare trials with "
                "seedproof compare --sequential.",
                run=arm.runs[0],
            )
    if options.get("common_examples"):
        arms = on_common_examples(arms)
    loop = book.read()
    base, new = arms["baseline"], arms["candidate"]
    digests = [digest_of(arm) if len(arm.runs) >= N_IDENTIFYING else None for arm in (base, new)]
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
    step, following = step_at(len(new.runs), max_runs)
    result = Decision(
        Verdict("run more", "too few runs"),
        settings,
        name=names[1],
        ledger=str(book.path),
        n_runs=step or 0,
        n_candidate=len(new.runs),
        n_baseline=len(base.runs),
        n_selecting=n_selecting,
        candidate=digests[1],
        n_kept=len(loop.keeps),
    )
    entry = loop.entries.get(digests[1] or "")
    if entry is not None and entry.answer is not None:
        return DecisionReport(_recorded(result, entry, book))
    if step is None or len(base.runs) - n_selecting < baseline_runs(step):
        return DecisionReport(_with_more(result, following if step is None else step))
    compared = _compared({"baseline": base, "candidate": new.first(step)}, metric, pool, options)
    return DecisionReport(_judged(result, compared, book, allowed, following=following))


def _judged(
    result: Decision,
    compared: Comparison,
    book: Ledger,
    allowed: tuple[str, ...],
    *,
    following: int | None,
) -> Decision:
    """Return the decision on a compared candidate, after writing it to the ledger."""
    # A candidate may be discarded after two runs; none is kept before the fifth.
    checks = tuple(check for check in compared.checks if check.name != "few-runs")
    row = compared.arms[0].contrasts[result.settings.metric]
    effect = row.effect()
    result = replace(result, effect=effect, notes=compared.notes, checks=checks)
    if {check.name for check in checks if check.severity == "error"} - set(allowed):
        return replace(result, verdict=Verdict("repair", "untrusted input"))
    if result.n_runs >= VERDICT_FROM:
        refuse_without_interval(effect)
    entry = book.begin(str(result.candidate), result.name)
    verdict = judge(row, level=entry.level, settings=result.settings)
    result = replace(result, verdict=verdict, level=entry.level, position=entry.position)
    if verdict.answer == "run more":
        return _with_more(result, following)
    facts = {"reason": verdict.reason, "chance": verdict.chance, "effect": effect.summary()}
    facts["n_baseline"] = result.n_baseline
    answer: Decided = "keep" if verdict.answer == "keep" else "discard"
    entry = book.decide(entry.candidate, answer, result.n_runs, facts)
    if (entry.answer, entry.n_runs) != (verdict.answer, result.n_runs):
        return _recorded(result, entry, book)  # another process was faster
    return replace(result, n_kept=len(book.read().keeps))


def _compared(
    arms: dict[str, Predictions], metric: str, engine: Engine | None, options: LoadOptions
) -> Comparison:
    with TemporaryDirectory(prefix="seedproof-") as working:
        return compare_arms(
            arm_data(arms),
            Location.of(working),
            metrics=(metric,),
            primary=metric,
            skip_damaged=options.get("skip_damaged", False),
            engine=engine,
            progress=options.get("progress"),
        )


def _with_more(result: Decision, step: int | None) -> Decision:
    """Return an open decision with the runs to add until the next step."""
    step = result.settings.max_runs if step is None else step
    return replace(
        result,
        more_candidate=max(step - result.n_candidate, 0),
        more_baseline=max(baseline_runs(step) + result.n_selecting - result.n_baseline, 0),
    )


@dataclass(frozen=True)
class _Facts:
    """Facts of a decision in the ledger."""

    reason: Reason
    chance: float | None
    effect: Mapping[str, Any]
    n_baseline: int


def _recorded(result: Decision, entry: Entry, book: Ledger) -> Decision:
    """Return the decision that the ledger has."""
    try:
        facts = decode(_Facts, entry.facts, field="facts", allow_unknown=True)
        # Only the text of a note is recorded.
        effect = {name: value for name, value in facts.effect.items() if name != "note"}
        recorded = decode(Effect, effect, field="facts.effect", allow_unknown=True)
    except DecodingError as error:
        raise book.damaged(error) from error
    return replace(
        result,
        verdict=Verdict(entry.answer or "run more", facts.reason, facts.chance),
        effect=recorded,
        n_runs=entry.n_runs,
        n_baseline=facts.n_baseline,
        level=entry.level,
        position=entry.position,
        is_recorded=True,
    )


def _recognized(target: Loadable) -> Predictions | Input:
    """Recognize a target; a list with one path is that path, as the command line gives it."""
    if isinstance(target, Predictions):
        return target
    if isinstance(target, list | tuple) and len(target) == 1 and isinstance(target[0], str):
        return recognize(target[0])
    return recognize(target)


def _kind(recognized: Predictions | Input) -> str:
    return "predictions" if isinstance(recognized, Predictions) else recognized.kind


def _names(
    targets: list[Any], inputs: list[Predictions | Input], arms: list[str | None]
) -> list[str]:
    """Names of both: of the arm of a store if it is given, else of the file."""
    usual = short_names(targets)
    usual = ["baseline", "candidate"] if usual == ["baseline", "arm 1"] else usual
    triples = zip(usual, inputs, arms, strict=True)
    return [(_kind(x) == "store" and arm) or name for name, x, arm in triples]


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


def _check_shares(settings: Settings) -> None:
    values = {"false_keeps": settings.false_keeps, "min_gain": settings.min_gain}
    for name, value in values.items():
        if not 0.0 <= value < 1.0 or (name == "false_keeps" and value == 0.0):
            raise OptionError(
                "{option} is {value}. Pass a share between 0 and 1.", option=name, value=value
            )
