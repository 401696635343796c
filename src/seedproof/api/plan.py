"""`sp.plan`: how many seeds a difference needs, and what a number of seeds can show."""

from collections.abc import Iterator
from numbers import Real
from typing import Unpack

from seedproof.api.measure import measure
from seedproof.comparison.planning.answers import Ask, Kind, Reach, kind_of
from seedproof.comparison.planning.pilot import Pilot, pilot_of
from seedproof.errors import OptionError
from seedproof.predictions.options import LoadOptions, check_options
from seedproof.predictions.predictions import Loadable
from seedproof.report.planning import Figures, Plan
from seedproof.report.report import Report
from seedproof.report.result import Result
from seedproof.stats.effect import POWER
from seedproof.stats.intervals import CONFIDENCE
from seedproof.stats.power import (
    LEAST_RUNS,
    MOST_SEEDS,
    FlipTest,
    MeanTest,
    PlannedTest,
    SpreadTest,
    check_shares,
)
from seedproof.typing import is_count

# Numbers of seeds to show if none is given, and coefficients of variation to assume if none is
# known: runs that are alike, and runs whose threshold drifts.
SEVERAL = (5, 10, 20, 50)
USUAL_CVS = (0.1, 0.3)


def plan(
    *,
    detect: float | None = None,
    detect_sd_ratio: float | None = None,
    detect_flip_ratio: float | None = None,
    sd: float | None = None,
    cv: float | None = None,
    pilot: Report | Loadable | None = None,
    seeds: int | None = None,
    power: float = POWER,
    confidence: float = CONFIDENCE,
    paired_correlation: float | None = None,
    example_correlation: float | None = None,
    **options: Unpack[LoadOptions],
) -> Plan:
    """Plan how many seeds per arm a difference needs, or what a number of seeds can show.

    Args:
        detect: A true difference between the means of two arms, such as 0.005 of accuracy.
        detect_sd_ratio: A true ratio between their standard deviations over runs, such as 2.
        detect_flip_ratio: A true ratio between their flip rates, such as 0.8.
        sd: Standard deviation over runs of what `detect` is about.
        cv: Standard deviation over runs of a run's mean disagreement with the others, over its
            mean.
        pilot: The first runs of one arm, which have both: a report of them, or whatever
            `sp.Predictions.load` takes.
        seeds: How many seeds an arm there are; the pilot's, or several without one.
        power: Probability with which a true effect is to be shown.
        confidence: That of the interval which then excludes that nothing changes.
        paired_correlation: How runs of the two arms that share a seed correlate; without it arms
            are taken as unpaired.
        example_correlation: How the flips of the two arms correlate over a pilot's examples;
            0 if omitted, which is cautious.
        **options: How the pilot is read, see `sp.LoadOptions`.

    Returns:
        A plan.

    Raises:
        OptionError: A value is not allowed, or one that is needed is missing.

    Examples:
        >>> import seedproof as sp
        >>> sp.plan(sd=0.012, detect=0.005).answers[0].n_seeds
        92
    """
    if pilot is None:
        check_options(["nothing"], options)
    elif isinstance(pilot, Result):
        check_options(["report"], options)
    else:
        pilot = measure(pilot, **options)
    _check_numbers(
        detect=detect,
        detect_sd_ratio=detect_sd_ratio,
        detect_flip_ratio=detect_flip_ratio,
        sd=sd,
        cv=cv,
        power=power,
        confidence=confidence,
        paired_correlation=paired_correlation,
        example_correlation=example_correlation,
    )
    check_shares(power=power, confidence=confidence)
    _check_seeds(seeds)
    _check_pilot(pilot, sd=sd, cv=cv, example_correlation=example_correlation)
    found = None if pilot is None else pilot_of(pilot.measurement)
    sd = found.sd.value if found and found.sd else sd
    cv = found.cv.value if found and found.cv else cv
    effects: dict[Kind, float | None] = {
        "mean": detect,
        "sd": detect_sd_ratio,
        "flip_rate": detect_flip_ratio,
    }
    asked: dict[Kind, float] = {k: effect for k, effect in effects.items() if effect is not None}
    _check_asked(asked, sd=sd, cv=cv, has_pilot=found is not None)
    if paired_correlation is not None and asked.keys() == {"sd"}:
        raise OptionError(
            "A paired correlation says nothing about standard deviations. Leave out "
            "--paired-correlation, or paired_correlation= in Python.",
            keyword="paired_correlation",
        )
    if not asked and seeds is None and found is None and not _known(sd, cv):
        raise OptionError(
            "There is nothing to plan. Say what to detect, such as --detect 0.005 --sd 0.012, "
            "or how many --seeds there are; in Python detect=0.005, sd=0.012, or seeds=.",
            keyword="detect",
        )
    ask = Ask(power, confidence, example_correlation or 0.0)
    tests = _tests(sd, cv, found, paired_correlation, ask)
    answers = tuple(ask.answer(tests[kind], effect, found) for kind, effect in asked.items())
    n_seeds = found.n_runs if found and seeds is None else seeds
    if n_seeds is None:  # for what was named, several numbers; else for everything, this one
        named = asked.keys() | _known(sd, cv)
        chosen = [test for kind, test in tests.items() if kind in named]
    else:
        usual = () if "flip_rate" in tests else USUAL_CVS
        chosen = [
            *tests.values(),
            *(FlipTest(one, correlation=paired_correlation) for one in usual),
        ]
    planned = {answer.kind: answer.n_seeds for answer in answers if answer.n_seeds}
    reaches = tuple(_reaches(ask, chosen, n_seeds, planned, sd))
    figures = Figures(
        power=power,
        confidence=confidence,
        sd=sd,
        cv=cv,
        paired_correlation=paired_correlation,
        example_correlation=ask.example_correlation if found else None,
        pilot=found,
    )
    return Plan(answers, reaches, figures)


def _known(sd: float | None, cv: float | None) -> set[Kind]:
    figures: dict[Kind, float | None] = {"mean": sd, "flip_rate": cv}
    return {kind for kind, value in figures.items() if value is not None}


def _tests(
    sd: float | None,
    cv: float | None,
    pilot: Pilot | None,
    correlation: float | None,
    ask: Ask,
) -> dict[Kind, PlannedTest]:
    """The test of each kind; that of flip rates only where something is known of them."""
    tests: list[PlannedTest] = [
        MeanTest(1.0 if sd is None else sd, correlation=correlation),
        SpreadTest(),
    ]
    if cv is not None:
        examples = 0.0
        if pilot is not None:
            examples = 2 * pilot.example_variance * (1 - ask.example_correlation)
        tests.append(FlipTest(cv, correlation=correlation, example_variance=examples))
    return {kind_of(test): test for test in tests}


def _reaches(
    ask: Ask,
    tests: list[PlannedTest],
    n_seeds: int | None,
    planned: dict[Kind, int],
    sd: float | None,
) -> Iterator[Reach]:
    """What a number of seeds can show; without one, several and the number that is planned."""
    for test in tests:
        given = test.cv if isinstance(test, FlipTest) else None
        if isinstance(test, MeanTest):
            given = sd
        several = sorted({*SEVERAL, planned.get(kind_of(test), SEVERAL[0])})
        for seeds in several if n_seeds is None else [n_seeds]:
            if seeds >= test.least_runs:
                yield ask.reach(test, seeds, given)


def _check_numbers(**values: object) -> None:
    """Refuse what is no number, under the name that it was given by."""
    for name, value in values.items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if value is not None and not is_number:
            raise OptionError(
                "{keyword}={given!r} is no number. Give one, such as {keyword}=0.5.",
                keyword=name,
                given=value,
            )


def _check_seeds(seeds: int | None) -> None:
    if seeds is not None and not (is_count(seeds, LEAST_RUNS) and seeds <= MOST_SEEDS):
        raise OptionError(
            "{n_seeds} seeds an arm are not allowed. Give at least {at_least} and at most "
            "{at_most:,}.",
            keyword="seeds",
            n_seeds=seeds,
            at_least=LEAST_RUNS,
            at_most=MOST_SEEDS,
        )


def _check_pilot(
    pilot: Report | None,
    *,
    sd: float | None,
    cv: float | None,
    example_correlation: float | None,
) -> None:
    if pilot is not None and not isinstance(pilot, Report):
        raise OptionError(
            "A pilot is a report, not a {type_name}. Give sp.measure(...) of its runs.",
            keyword="pilot",
            type_name=type(pilot).__name__,
        )
    for name, value in (("sd", sd), ("cv", cv)):
        if pilot is not None and value is not None:
            raise OptionError(
                "The pilot has the {keyword}, and --{keyword} {given:g}, {keyword}= in Python, is "
                "given as well. Leave one out.",
                keyword=name,
                given=value,
            )
    if example_correlation is None:
        return
    if pilot is None:
        raise OptionError(
            "--example-correlation, or example_correlation= in Python, goes with a pilot. Leave it "
            "out, or give one.",
            keyword="example_correlation",
        )
    if not 0.0 <= example_correlation <= 1.0:
        raise OptionError(
            "An example correlation of {given:g} is not allowed. Give one from 0 to 1.",
            keyword="example_correlation",
            given=example_correlation,
        )


def _check_asked(
    asked: dict[Kind, float], *, sd: float | None, cv: float | None, has_pilot: bool
) -> None:
    """Refuse what nothing is known about."""
    for kind, value, missing, in_vain, (name, usual) in (
        (
            "mean",
            sd,
            "A difference of means needs the standard deviation over runs",
            "This pilot has no labels, or its runs are equally accurate",
            ("sd", 0.012),
        ),
        (
            "flip_rate",
            cv,
            "A ratio of flip rates needs to know how much runs differ",
            "In this pilot all runs disagree alike, or not at all",
            ("cv", 0.2),
        ),
    ):
        if kind in asked and value is None:
            give = "give --{keyword}, or {keyword}= in Python, such as {usual}"
            raise OptionError(
                f"{in_vain}: {give}, instead." if has_pilot else f"{missing}: {give}; or a pilot.",
                keyword=name,
                usual=usual,
                has_pilot=has_pilot,
            )
