"""`sp.plan`: seeds that a difference needs, and differences that a number of seeds can show."""

from collections.abc import Iterator
from numbers import Real
from typing import Unpack

from seedproof.api.measure import measure
from seedproof.comparison.planning.answers import Ask, Kind, Reach
from seedproof.comparison.planning.pilot import pilot_of
from seedproof.errors import OptionError
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.predictions.options import LoadOptions, check_options
from seedproof.predictions.predictions import Loadable
from seedproof.report.planning import Figures, Plan
from seedproof.report.report import Report
from seedproof.report.result import Result
from seedproof.stats.effect import POWER
from seedproof.stats.intervals import CONFIDENCE
from seedproof.stats.power import (
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
        sd: Standard deviation over runs of the metric that `detect` refers to.
        cv: Coefficient of variation over runs of a run's mean disagreement with the others.
        pilot: The first runs of one arm, which show both: a report of them, or whatever
            `sp.Predictions.load` takes.
        seeds: Number of seeds per arm, at least 5; if omitted, the pilot's, or several numbers.
        power: Probability of showing a true effect.
        confidence: Confidence of the interval that must exclude no change.
        paired_correlation: Correlation of runs of the two arms that share a seed; if omitted, arms
            are unpaired.
        example_correlation: Correlation of the flips of the two arms over a pilot's examples; if
            omitted 0, which is conservative.
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
    if seeds is not None and not (is_count(seeds, VERDICT_FROM) and seeds <= MOST_SEEDS):
        raise OptionError(
            "{n_seeds} seeds per arm are not allowed. Give at least {at_least} and at most "
            "{at_most:,}.",
            keyword="seeds",
            n_seeds=seeds,
            at_least=VERDICT_FROM,
            at_most=MOST_SEEDS,
        )
    _check_pilot(pilot, sd=sd, cv=cv, example_correlation=example_correlation)
    figures = None if pilot is None else pilot_of(pilot.measurement)
    sd = figures.sd.value if figures and figures.sd else sd
    cv = figures.cv.value if figures and figures.cv else cv
    effects: dict[Kind, float | None] = {
        "mean": detect,
        "sd": detect_sd_ratio,
        "flip_rate": detect_flip_ratio,
    }
    requested: dict[Kind, float] = {k: x for k, x in effects.items() if x is not None}
    _check_requested(requested, sd=sd, cv=cv, has_pilot=figures is not None)
    if paired_correlation is not None and requested.keys() == {"sd"}:
        raise OptionError(
            "A paired correlation does not apply to standard deviations. Leave out "
            "--paired-correlation, or paired_correlation= in Python.",
            keyword="paired_correlation",
        )
    variation: dict[Kind, float | None] = {"mean": sd, "flip_rate": cv}
    named = requested.keys() | {kind for kind, x in variation.items() if x is not None}
    if not named and seeds is None and figures is None:
        raise OptionError(
            "There is nothing to plan. Give an effect to detect, such as --detect 0.005 --sd "
            "0.012, or a number of seeds with --seeds; in Python, detect=0.005, sd=0.012, or "
            "seeds=.",
            keyword="detect",
        )
    ask = Ask(power, confidence, example_correlation or 0.0)
    tests: dict[Kind, PlannedTest] = {
        "mean": MeanTest(1.0 if sd is None else sd, correlation=paired_correlation),
        "sd": SpreadTest(),
    }
    if cv is not None:
        drawn = 2 * figures.example_variance * (1 - ask.example_correlation) if figures else 0.0
        tests["flip_rate"] = FlipTest(
            cv,
            correlation=paired_correlation,
            example_variance=drawn,
            n_clusters=figures.n_clusters if figures else None,
        )
    answers = tuple(ask.answer(tests[kind], x, figures) for kind, x in requested.items())
    n_seeds = seeds
    if seeds is None and figures and figures.n_runs >= VERDICT_FROM:
        n_seeds = figures.n_runs
    if n_seeds is None:  # several numbers for the kinds that were named; else this one for all
        chosen = [test for kind, test in tests.items() if kind in named]
    else:
        usual = () if "flip_rate" in tests else USUAL_CVS
        chosen = [*tests.values(), *(FlipTest(x, correlation=paired_correlation) for x in usual)]
    planned = {answer.kind: answer.n_seeds for answer in answers if answer.n_seeds}
    return Plan(
        answers,
        tuple(_reaches(ask, chosen, n_seeds, planned, sd)),
        Figures(
            power=power,
            confidence=confidence,
            sd=sd,
            cv=cv,
            paired_correlation=paired_correlation,
            example_correlation=ask.example_correlation if figures else None,
            pilot=figures,
        ),
    )


def _reaches(
    ask: Ask,
    tests: list[PlannedTest],
    n_seeds: int | None,
    planned: dict[Kind, int],
    sd: float | None,
) -> Iterator[Reach]:
    """Yield what a number of seeds can show; if None, several and the planned number."""
    for test in tests:
        given = sd if isinstance(test, MeanTest) else None
        if isinstance(test, FlipTest):
            given = test.cv
        several = sorted({*SEVERAL, planned.get(test.kind, SEVERAL[0])})
        for seeds in several if n_seeds is None else [n_seeds]:
            yield ask.reach(test, seeds, given)


def _check_numbers(**values: object) -> None:
    """Refuse values that are not numbers, by the name of the keyword."""
    for name, value in values.items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if value is not None and not is_number:
            raise OptionError(
                "{keyword}={given!r} is not a number. Give a number, such as {keyword}=0.5.",
                keyword=name,
                given=value,
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
            "A pilot must be a report, not a {type_name}. Give sp.measure(...) of its runs.",
            keyword="pilot",
            type_name=type(pilot).__name__,
        )
    for name, value in (("sd", sd), ("cv", cv)):
        if pilot is not None and value is not None:
            raise OptionError(
                "The pilot has the {keyword}, and --{keyword} {given:g}, {keyword}= in Python, is "
                "given as well. Leave out either.",
                keyword=name,
                given=value,
            )
    if example_correlation is None:
        return
    if pilot is None:
        raise OptionError(
            "--example-correlation, or example_correlation= in Python, needs a pilot. Leave it "
            "out, or give a pilot.",
            keyword="example_correlation",
        )
    if not 0.0 <= example_correlation <= 1.0:
        raise OptionError(
            "An example correlation of {given:g} is not allowed. Give a number from 0 to 1.",
            keyword="example_correlation",
            given=example_correlation,
        )


def _check_requested(
    requested: dict[Kind, float], *, sd: float | None, cv: float | None, has_pilot: bool
) -> None:
    """Refuse effects whose variation over runs is unknown."""
    for kind, value, keyword, usual, missing, unhelpful in (
        (
            "mean",
            sd,
            "sd",
            0.012,
            "A difference in means needs the standard deviation over runs",
            "This pilot has no labels, or its runs are equally accurate",
        ),
        (
            "flip_rate",
            cv,
            "cv",
            0.2,
            "A ratio of flip rates needs the variation of flips over runs",
            "In this pilot the flips do not vary over runs",
        ),
    ):
        if kind in requested and value is None:
            give = "give --{keyword}, or {keyword}= in Python, such as {usual}"
            raise OptionError(
                f"{unhelpful}: {give}." if has_pilot else f"{missing}: {give}; or a pilot.",
                keyword=keyword,
                usual=usual,
                has_pilot=has_pilot,
            )
