"""`sp.plan`: seeds that a difference needs, and differences that a number of seeds can show."""

from collections.abc import Iterator
from numbers import Real
from typing import Unpack

from seedproof.api.measure import measure
from seedproof.api.scalars import pilot_of_scalars
from seedproof.comparison.planning.answers import Reach, answer, reach
from seedproof.comparison.planning.pilot import Drawn, Kind, Pilot, pilot_of, pilot_of_arms
from seedproof.errors import OptionError
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.predictions.options import LoadOptions, check_options
from seedproof.predictions.predictions import Loadable
from seedproof.report.comparison.report import ComparisonReport
from seedproof.report.planning import Figures, Plan
from seedproof.report.report import Report
from seedproof.report.result import Result
from seedproof.scalars.read import has_scalars
from seedproof.stats.effect import POWER
from seedproof.stats.intervals import CONFIDENCE
from seedproof.stats.power import (
    MOST_SEEDS,
    FlipTest,
    MeanTest,
    PlannedTest,
    Promise,
    SpreadTest,
    TrialTest,
)
from seedproof.typing import is_count

# Numbers of seeds to show if none is given, and coefficients of variation to assume if none is
# known: runs that are alike, and runs whose threshold drifts.
SEVERAL = (5, 10, 20, 50)
USUAL_CVS = (0.1, 0.3)
# A share, such as accuracy, differs by at most 1. Without a pilot, a difference above 1 is taken
# for one of points if it has more standard deviations than this.
MOST_SDS = 20


def plan(
    *,
    detect: float | None = None,
    detect_sd_ratio: float | None = None,
    detect_flip_ratio: float | None = None,
    sd: float | None = None,
    cv: float | None = None,
    n_examples: int | None = None,
    example_sd: float | None = None,
    pilot: Report | ComparisonReport | Loadable | None = None,
    metric: str | None = None,
    seeds: int | None = None,
    arms: int = 1,
    power: float = POWER,
    confidence: float = CONFIDENCE,
    paired_correlation: float | None = None,
    example_correlation: float | None = None,
    **options: Unpack[LoadOptions],
) -> Plan:
    """Plan how many seeds per arm a difference needs, or what a number of seeds can show.

    Args:
        detect: A true difference between the means of two arms, such as 0.005 of accuracy, or of
            the mean of numbers.
        detect_sd_ratio: A true ratio between their standard deviations over runs, such as 2.
        detect_flip_ratio: A true ratio between their flip rates, such as 0.8.
        sd: Standard deviation over runs of the metric that `detect` refers to.
        cv: Coefficient of variation, over many runs, of a run's mean disagreement with the others.
        n_examples: Number of test examples of the metric that `detect` refers to.
        example_sd: Its standard deviation over examples, from the mean over runs of each; at most
            sqrt(p·(1 - p)) for an accuracy of p.
        pilot: The first runs of one arm, which show all four: a report of them, or whatever
            `sp.Predictions.load` takes. A comparison of a few runs of two arms shows the
            correlation over examples as well. Single numbers per run, as for `sp.measure_scalars`,
            show `sd`.
        metric: The metric of such a pilot that `detect` refers to; may be omitted if it has one.
        seeds: Number of seeds per arm, at least 5; if omitted, the pilot's, or several numbers.
        arms: Number of arms that are compared with the baseline. All verdicts hold
            simultaneously, and the power is that of each.
        power: Probability of showing a true effect.
        confidence: Confidence of the interval that must exclude no change.
        paired_correlation: Correlation of runs of two arms that share a seed; if omitted, arms are
            unpaired.
        example_correlation: Correlation of two arms over examples: how much they are right, or
            flip, on the same ones. If omitted that of a pilot with two arms, or 0, which is
            conservative.
        **options: How the pilot is read, see `sp.LoadOptions`.

    Returns:
        A plan. It assumes that the planned metric is the primary one of `sp.compare`.

    Raises:
        OptionError: A value is not allowed, or one that is needed is missing.

    Examples:
        >>> import seedproof as sp
        >>> sp.plan(sd=0.012, detect=0.005).answers[0].n_seeds
        92
    """
    pilot_runs = _read(pilot, metric, options)
    _check_numbers(
        detect=detect,
        detect_sd_ratio=detect_sd_ratio,
        detect_flip_ratio=detect_flip_ratio,
        sd=sd,
        cv=cv,
        example_sd=example_sd,
        power=power,
        confidence=confidence,
        paired_correlation=paired_correlation,
        example_correlation=example_correlation,
    )
    promise = Promise(power, confidence, arms)
    figures = _pilot(pilot_runs, sd=sd, cv=cv, n_examples=n_examples, example_sd=example_sd)
    least = 1 if figures is not None and figures.are_trials else VERDICT_FROM
    _check_seeds(seeds, least)
    sd = figures.sd.value if figures and figures.sd else sd
    cv = figures.cv.value if figures and figures.cv else cv
    drawn = dict(figures.drawn) if figures else _given_examples(n_examples, example_sd, sd)
    if example_correlation is not None:
        _check_example_correlation(example_correlation, has_examples=bool(drawn))
        drawn = {kind: x.assuming(example_correlation) for kind, x in drawn.items()}
    effects: dict[Kind, float | None] = {
        "mean": detect,
        "sd": detect_sd_ratio,
        "flip_rate": detect_flip_ratio,
    }
    requested: dict[Kind, float] = {k: x for k, x in effects.items() if x is not None}
    _check_requested(requested, sd=sd, cv=cv, has_pilot=figures is not None, are_trials=least == 1)
    if figures is None or not figures.is_of_numbers:
        _check_share(detect, sd, is_accuracy=figures is not None)
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
            "There is nothing to plan. Pass an effect to detect, such as --detect 0.005 --sd "
            "0.012, or a number of seeds with --seeds; in Python, detect=0.005, sd=0.012, or "
            "seeds=.",
            keyword="detect",
        )
    tests = _tests(sd, cv, paired_correlation, drawn, figures)
    answers = tuple(
        answer(tests[kind], x, promise, pilot=figures, drawn=drawn.get(kind))
        for kind, x in requested.items()
    )
    n_seeds = seeds
    if seeds is None and figures and figures.n_runs >= least:
        n_seeds = figures.n_runs
    if n_seeds is None:  # several numbers for the kinds that were named; else this one for all
        chosen = [test for kind, test in tests.items() if kind in named]
    else:
        has_no_flips = figures is not None and (figures.is_of_numbers or figures.are_trials)
        is_known = "flip_rate" in tests or has_no_flips
        usual = () if is_known else USUAL_CVS
        chosen = [*tests.values(), *(FlipTest(x, correlation=paired_correlation) for x in usual)]
    planned = {x.kind: x.n_seeds for x in answers if x.n_seeds}
    return Plan(
        answers,
        tuple(_reaches(promise, chosen, n_seeds, planned, sd=sd, pilot=figures, drawn=drawn)),
        Figures(
            power=power,
            confidence=confidence,
            arms=arms,
            sd=sd,
            cv=cv,
            paired_correlation=paired_correlation,
            examples=drawn,
            pilot=figures,
        ),
    )


def _tests(
    sd: float | None,
    cv: float | None,
    correlation: float | None,
    drawn: dict[Kind, Drawn],
    pilot: Pilot | None,
) -> dict[Kind, PlannedTest]:
    """Return the test of each kind; none of flips if their variation is unknown."""
    nothing = Drawn(0, 0.0)
    of_mean, of_flips = (drawn.get(kind, nothing) for kind in ("mean", "flip_rate"))
    if pilot is not None and pilot.are_trials:
        n_examples = of_mean.n_examples if pilot.weights is None else pilot.weights.n_effective
        n_drawn = of_mean.n_clusters or n_examples
        trials = TrialTest(
            1.0 if sd is None else sd,
            correlation,
            of_mean.of_contrast,
            of_mean.n_clusters,
            n_drawn=n_drawn,
        )
        return {"mean": trials}
    tests: dict[Kind, PlannedTest] = {
        "mean": MeanTest(
            1.0 if sd is None else sd, correlation, of_mean.of_contrast, of_mean.n_clusters
        ),
        "sd": SpreadTest(),
    }
    if cv is not None:
        pair_cv = None if pilot is None else pilot.pair_cv
        tests["flip_rate"] = FlipTest(
            cv, correlation, of_flips.of_contrast, of_flips.n_clusters, pair_cv
        )
    return tests


def _reaches(
    promise: Promise,
    tests: list[PlannedTest],
    n_seeds: int | None,
    planned: dict[Kind, int],
    *,
    sd: float | None,
    pilot: Pilot | None,
    drawn: dict[Kind, Drawn],
) -> Iterator[Reach]:
    """Yield what a number of seeds can show; if None, several and the planned number."""
    for test in tests:
        given = sd if isinstance(test, MeanTest) else None
        if isinstance(test, FlipTest):
            given = test.cv
        several = sorted({*SEVERAL, planned.get(test.kind, SEVERAL[0])})
        for seeds in several if n_seeds is None else [n_seeds]:
            yield reach(test, seeds, given, promise, pilot=pilot, drawn=drawn.get(test.kind))


def _check_numbers(**values: object) -> None:
    """Refuse values that are not numbers, by the name of the keyword."""
    for name, value in values.items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if value is not None and not is_number:
            raise OptionError(
                "{keyword}={given!r} is not a number. Pass a number, such as {keyword}=0.5.",
                keyword=name,
                given=value,
            )


def _read(
    pilot: Report | ComparisonReport | Loadable | None, metric: str | None, options: LoadOptions
) -> Report | ComparisonReport | Pilot | None:
    """Return a pilot as a report, or as the spread of single numbers per run."""
    has_own = has_scalars(pilot, options, [] if metric is None else [metric])
    if metric is not None and not has_own:
        raise OptionError(
            "`{option}` applies to a pilot with single numbers per run. Remove it.", option="metric"
        )
    if pilot is None:
        check_options(["nothing"], options)
        return None
    if isinstance(pilot, Result):
        check_options(["report"], options)
        return pilot
    return pilot_of_scalars(pilot, metric, **options) if has_own else measure(pilot, **options)


def _pilot(pilot: Report | ComparisonReport | Pilot | None, **given: float | None) -> Pilot | None:
    """Return the figures of a pilot, unless options give some of them."""
    if pilot is None:
        return None
    for name, value in given.items():
        if value is not None:
            option = name.replace("_", "-")
            raise OptionError(
                f"Both a pilot and --{option} {{given:g}} ({{keyword}}= in Python) are given, and "
                "the pilot already provides it. Omit one of them.",
                keyword=name,
                given=value,
            )
    if isinstance(pilot, Pilot):
        return pilot
    if isinstance(pilot, ComparisonReport):
        return pilot_of_arms(pilot.comparison)
    if isinstance(pilot, Report):
        return pilot_of(pilot.measurement)
    raise OptionError(
        "A pilot must be a report, not a {type_name}. Pass sp.measure(...) of its runs.",
        keyword="pilot",
        type_name=type(pilot).__name__,
    )


def _given_examples(
    n_examples: int | None, example_sd: float | None, sd: float | None
) -> dict[Kind, Drawn]:
    if n_examples is None and example_sd is None:
        return {}
    if n_examples is None or example_sd is None or sd is None:
        raise OptionError(
            "--n-examples, --example-sd and --sd go together (n_examples=, example_sd= and sd= in "
            "Python). Pass all of them.",
            keyword="example_sd" if example_sd is None else "n_examples",
        )
    if not is_count(n_examples, 2) or not 0.0 <= example_sd < float("inf"):
        raise OptionError(
            "{n_examples} examples with a standard deviation of {example_sd:g} are not allowed. "
            "Pass at least 2, and a number from 0 on.",
            keyword="n_examples",
            n_examples=n_examples,
            example_sd=example_sd,
        )
    return {"mean": Drawn(n_examples, example_sd**2 / n_examples)}


def _check_example_correlation(given: float, *, has_examples: bool) -> None:
    if not has_examples:
        raise OptionError(
            "--example-correlation, or example_correlation= in Python, needs a pilot, or "
            "--example-sd and --n-examples. Leave it out, or pass one of them.",
            keyword="example_correlation",
        )
    if not 0.0 <= given <= 1.0:
        raise OptionError(
            "An example correlation of {given:g} is not allowed. Pass a number from 0 to 1.",
            keyword="example_correlation",
            given=given,
        )


def _check_share(detect: float | None, sd: float | None, *, is_accuracy: bool) -> None:
    """Refuse a difference of shares above 1, which is likely to be in points."""
    if detect is None or sd is None or abs(detect) <= 1.0:
        return
    if is_accuracy or abs(detect) > MOST_SDS * max(sd, 0.0) > 0.0:
        raise OptionError(
            "A difference of {given:g} is absurd for a share such as accuracy, which is at most 1. "
            "Write a difference of {given:g} points as {share:g}.",
            keyword="detect",
            given=detect,
            share=detect / 100,
        )


def _check_seeds(seeds: int | None, least: int) -> None:
    if seeds is not None and not (is_count(seeds, least) and seeds <= MOST_SEEDS):
        raise OptionError(
            "{n_seeds} seeds per arm are not allowed. Pass at least {at_least} and at most "
            "{at_most:,}.",
            keyword="seeds",
            n_seeds=seeds,
            at_least=least,
            at_most=MOST_SEEDS,
        )


def _check_requested(
    requested: dict[Kind, float],
    *,
    sd: float | None,
    cv: float | None,
    has_pilot: bool,
    are_trials: bool,
) -> None:
    """Refuse effects whose variation over runs is unknown, or that have none."""
    if are_trials and "sd" in requested:
        raise OptionError(
            "Trials of one model do not differ as a whole, so that their means have no ratio of "
            "standard deviations. Pass detect= in Python, or --detect.",
            keyword="detect_sd_ratio",
        )
    for kind, value, keyword, usual, missing, unhelpful in (
        (
            "mean",
            sd,
            "sd",
            0.012,
            "A difference in means needs the standard deviation over runs",
            "This pilot has no labels, or its runs are equally good",
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
            remedy = "pass --{keyword}, or {keyword}= in Python, such as {usual}"
            raise OptionError(
                f"{unhelpful}: {remedy}." if has_pilot else f"{missing}: {remedy}; or a pilot.",
                keyword=keyword,
                usual=usual,
                has_pilot=has_pilot,
            )
