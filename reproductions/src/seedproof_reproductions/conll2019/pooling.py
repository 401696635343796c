"""Pool the results of one study that was trained in two halves, under seeds of two roots.

Each half is compared by itself, and only its results are kept. The runs of the halves are
independent, and the texts are the same. Values are averaged on the scale of their intervals, with
weights w proportional to the number of runs. Of the squared width W² of an interval, a share t is
from drawing the texts. So pooled intervals have the squared width Σ w²(1 − t)W² + (Σ w√t W)²: the
part from runs shrinks with their number, and that from texts stays. Where t is not stored it counts
as 1, and the interval does not become shorter. The sd of accuracy needs no pooling if the accuracy
of every run is stored; otherwise its value is the root of the mean variance of both halves.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from seedproof.metrics.statistic import SpreadOverRuns
from seedproof.stats.distributions import student_quantile
from seedproof.stats.effect import judged, scale_of
from seedproof.stats.families import MetricContrast
from seedproof.stats.intervals import Level, estimate
from seedproof_reproductions.conll2019.names import (
    ACCURACY_OF_RUN,
    BASELINE,
    BLOCKS,
    EXPLAINED,
    UNPAIRED,
)
from seedproof_reproductions.conll2019.plan import plan
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.results import plain_effect, plain_figure, shared_versions, short
from seedproof_reproductions.rules import WITHOUT_VERDICT

Plain: TypeAlias = Mapping[str, Any]

# Studies that are not trained in halves.
WHOLE = (BLOCKS, EXPLAINED)
(SPREAD,), BY_CHANCE = UNPAIRED, "accuracy_sd_independent"
# Effects of runs that all give one answer equally often: of an arm alone, and among all arms.
MATCHED_EFFECTS = ("effects", "of_all")


class Interval(NamedTuple):
    """A pooled interval, and the share of its squared width that is from texts."""

    value: float
    low: float
    high: float
    from_texts: float


class Halves(NamedTuple):
    """The same part of both halves, and the number of runs behind each."""

    first: Any
    second: Any
    n_runs: tuple[int, int]

    def at(self, *keys: str) -> "Halves":
        """Return the part of both halves below some keys, None where there is none."""
        first, second = self.first, self.second
        for key in keys:
            first, second = (None if part is None else part.get(key) for part in (first, second))
        return Halves(first, second, self.n_runs)

    @property
    def keys(self) -> list[str]:
        """Keys that both halves have."""
        return [key for key in self.first or {} if key in (self.second or {})]

    @property
    def weights(self) -> tuple[float, ...]:
        """Share of the runs in each half."""
        return tuple(n / sum(self.n_runs) for n in self.n_runs)


# Shares from texts that are not stored.
NOTHING = Halves({}, {}, (1, 1))


def join_halves(results: Sequence[Plain]) -> list[Plain]:
    """Pool studies under the root of the plan with those under its second root, where both exist.

    All other results are returned as they are.
    """
    named = {str(study["name"]): study for study in results}
    pairs = {name: other for name in named if (other := _second_half(named[name])) in named}
    return [
        pool(study, named[pairs[name]]) if name in pairs else study
        for name, study in named.items()
        if name not in pairs.values()
    ]


def _second_half(study: Plain) -> str:
    """Return the name that the other half of a study would have; empty if there is none."""
    setting, name = Setting.from_stored(study["setting"]), str(study["name"])
    if setting.seed != plan()["root"] or name.endswith(WHOLE):
        return ""
    first, second = (replace(setting, seed=plan()[x]).name for x in ("root", "second_root"))
    return second + name.removeprefix(first) if name.startswith(first) else ""


def pool(first: Plain, second: Plain) -> dict[str, Any]:
    """Return the results of both halves as those of one study.

    Arms and comparisons that only the first half has are kept as they are. The numbers of the
    second half's runs continue those of the first.
    """
    n_first = 1 + max(int(run) for run in first["arms"][BASELINE]["runs"])
    arms = {
        name: _pool_arm(arm, second["arms"][name], n_first) if name in second["arms"] else arm
        for name, arm in first["arms"].items()
    }
    answers = {}
    for question, contrasts in first["answers"].items():
        others = {_pair(x): x for x in second["answers"].get(question, ())}
        answers[question] = [
            _pool_contrast(x, others[_pair(x)], arms) if _pair(x) in others else x
            for x in contrasts
        ]
    return {
        **first,
        "versions": shared_versions([first["versions"], second["versions"]]),
        "arms": {
            name: _with_spreads(arm, arms[BASELINE]) if name in second["arms"] else arm
            for name, arm in arms.items()
        },
        "answers": answers,
        "halves": {half["name"]: half["arms"][BASELINE]["n_runs"] for half in (first, second)},
    }


def _pair(contrast: Plain) -> tuple[str, str]:
    return contrast["arm"], contrast["reference"]


def _pool_contrast(first: Plain, second: Plain, arms: Plain) -> dict[str, Any]:
    """Pool the comparison of two arms for a question of the plan."""
    halves = Halves(first, second, (first["n_runs"], second["n_runs"]))
    parts = {
        name: _pool_effects(halves.at(name), halves.at("from_texts", name))
        for name in ("effects", "matched")
    }
    effects, shares = parts["effects"]
    reference, arm = arms.get(first["reference"]), arms.get(first["arm"])
    effects = _with_spread(_with_ratio(effects, reference, arm), reference, arm)
    explained = {
        method: _pool_effects(
            halves.at("explanations", method), halves.at("from_texts", "explanations", method)
        )
        for method in halves.at("explanations").keys
    }
    return {
        **first,
        "n_runs": sum(halves.n_runs),
        "effects": effects,
        "matched": parts["matched"][0],
        "explanations": {method: effects for method, (effects, _) in explained.items()},
        "from_texts": {
            "effects": shares,
            "matched": parts["matched"][1],
            "explanations": {method: shares for method, (_, shares) in explained.items()},
        },
    }


def _pool_arm(first: Plain, second: Plain, n_first: int) -> Plain:
    """Pool an arm; one whose halves have other explanations is kept as in the first half."""
    if first["explanations"].keys() != second["explanations"].keys():
        return first
    halves = Halves(first, second, (first["n_runs"], second["n_runs"]))
    scalars = halves.at("scalars")
    pooled = {
        **first,
        "runs": first["runs"] + [str(int(run) + n_first) for run in second["runs"]],
        "n_runs": sum(halves.n_runs),
        "is_paired": first["is_paired"] and second["is_paired"],
        "scalars": {name: scalars.first[name] + scalars.second[name] for name in scalars.keys},
        "metrics": _pool_figures(halves.at("metrics")),
        "explanations": {
            method: _pool_explanations(halves.at("explanations", method))
            for method in first["explanations"]
        },
        "matched": _pool_matched(halves.at("matched")),
    }
    if "effects" not in first:  # of crossed arms, whose changes are in the answers
        return pooled
    shares = halves.at("from_texts")
    effects, from_texts = _pool_effects(halves.at("effects"), shares)
    of_all = first["of_all"] and {
        "effects": _pool_effects(_among_all(halves), shares)[0],
        "explanations": {
            method: _pool_effects(
                _among_all(halves, "explanations", method),
                halves.at("explanations", method, "from_texts"),
            )[0]
            for method in first["explanations"]
        },
    }
    causes = {half["spread_cause"] for half in halves[:2]} - {None}
    return pooled | {
        "effects": effects,
        "from_texts": from_texts,
        "of_all": of_all,
        "spread_cause": "both" if len(causes) == 2 else next(iter(causes), None),
        "drift": {**first["drift"], "shares": first["drift"]["shares"] + second["drift"]["shares"]},
        "sd_curve": _average(halves.at("sd_curve")),
    }


def _among_all(halves: Halves, *keys: str) -> Halves:
    """Return effects whose intervals hold for all arms; a half of few arms has only its own."""
    place = keys or ("effects",)
    together, alone = halves.at("of_all", *place), halves.at(*place)
    if together.second is not None:
        return together
    own = alone.second["effects"] if keys else alone.second
    return together._replace(second=own)


def _pool_explanations(halves: Halves) -> dict[str, Any]:
    """Pool the explanations of an arm by one method, which must not be random."""
    first, second, _ = halves
    pooled = {**first, "metrics": _pool_figures(halves.at("metrics"))}
    if "effects" not in first:
        return pooled
    effects, from_texts = _pool_effects(halves.at("effects"), halves.at("from_texts"))
    if not effects:  # of the baseline, whose shares are those of its figures
        pooled["metrics"] = _pool_figures(halves.at("metrics"), halves.at("from_texts"))
    return pooled | {
        "effects": effects,
        "from_texts": from_texts,
        "curves": _average(halves.at("curves")),
        "run_kl": first["run_kl"] and first["run_kl"] + second["run_kl"],
    }


def _pool_matched(halves: Halves) -> dict[str, Any] | None:
    """Pool runs that all give one answer equally often; their shares from texts are not stored."""
    if halves.first is None or halves.second is None:
        return None
    pooled = {**halves.first, "metrics": _pool_figures(halves.at("metrics"))}
    if "effects" not in halves.first:
        return pooled
    of_all = halves.at("of_all")
    if of_all.second is None:
        of_all = of_all._replace(second=halves.second["effects"])
    return pooled | {
        "effects": _pool_effects(halves.at("effects"), NOTHING)[0],
        "of_all": _pool_effects(of_all, NOTHING)[0] or None,
    }


def _pool_figures(figures: Halves, shares: Halves = NOTHING) -> dict[str, list[float | None]]:
    """Pool figures that have an interval in both halves; others depend on the number of runs."""
    pooled = {}
    for metric in figures.keys:
        halves = figures.at(metric)
        if all(len(half) == 3 and None not in half for half in halves[:2]):
            ends: Sequence[float] = _pool_interval(metric, halves, shares)[:3]
            if metric == SPREAD:
                squares = zip(halves.weights, (half[0] ** 2 for half in halves[:2]), strict=True)
                ends = _moved(ends, math.sqrt(sum(w * square for w, square in squares)))
            pooled[metric] = [short(end) for end in ends]
    return pooled


def _moved(ends: Sequence[float], value: float) -> tuple[float, ...]:
    """Scale a value and its interval, so that the value becomes another."""
    return tuple(end * value / ends[0] if ends[0] else end for end in ends)


def _pool_effects(effects: Halves, shares: Halves) -> tuple[dict[str, Any], dict[str, Any]]:
    """Pool effects that have a verdict in both halves, at the higher of their confidences.

    Also return the shares from texts of their intervals.
    """
    pooled, from_texts = {}, {}
    for metric in effects.keys:
        halves = [half[metric] for half in effects[:2]]
        unknown = any(half[end] is None for half in halves for end in ("value", "low", "high"))
        if unknown or any(half["verdict"] in WITHOUT_VERDICT for half in halves):
            continue
        confidence = max(half["confidence"] for half in halves)
        widened = [
            _quantile(n, confidence) / _quantile(n, half["confidence"])
            for n, half in zip(effects.n_runs, halves, strict=True)
        ]
        first, second = ([half[x] for x in ("value", "low", "high")] for half in halves)
        ends = Halves(first, second, effects.n_runs)
        interval = _pool_interval(metric, ends, shares, widened)
        pooled[metric] = {
            **halves[0],
            "value": short(interval.value),
            "low": short(interval.low),
            "high": short(interval.high),
            "detectable": None,  # only older results have it
            "verdict": judged(metric, interval.low, interval.high),
            "confidence": confidence,
        }
        from_texts[metric] = short(interval.from_texts)
    return pooled, from_texts


def _quantile(n_runs: int, confidence: float) -> float:
    return student_quantile(n_runs - 1, (1 + confidence) / 2)


def _pool_interval(
    metric: str, ends: Halves, shares: Halves, widened: Sequence[float] = (1.0, 1.0)
) -> Interval:
    """Pool two intervals, each side by itself."""
    # The sd of accuracy is over runs alone.
    unknown = 0.0 if metric == SPREAD else 1.0
    texts = [unknown if share is None else share for share in shares.at(metric)[:2]]
    is_log = scale_of(metric) == "ratio" and min(*ends.first, *ends.second) > 0
    placed = [[math.log(x) if is_log else x for x in half] for half in ends[:2]]
    center = sum(w * half[0] for w, half in zip(ends.weights, placed, strict=True))
    pooled, from_runs, from_texts = [center], 0.0, 0.0
    for end, sign in ((1, -1), (2, 1)):
        widths = [
            w * factor * abs(half[end] - half[0])
            for w, factor, half in zip(ends.weights, widened, placed, strict=True)
        ]
        runs = sum((1 - t) * width**2 for t, width in zip(texts, widths, strict=True))
        drawn = sum(math.sqrt(t) * width for t, width in zip(texts, widths, strict=True)) ** 2
        pooled.append(center + sign * math.sqrt(runs + drawn))
        from_runs, from_texts = from_runs + runs, from_texts + drawn
    share = from_texts / (from_runs + from_texts) if from_runs + from_texts > 0 else 0.0
    value, low, high = (math.exp(x) if is_log else x for x in pooled)
    return Interval(value, low, high, share)


def _average(halves: Halves) -> Any:  # noqa: ANN401 - nested plain data
    """Average nested lists of numbers; counts stay counts, and an unknown number stays unknown."""
    first, second, _ = halves
    if isinstance(first, Mapping):
        return {key: _average(halves.at(key)) for key in halves.keys}
    if isinstance(first, list):
        return [_average(Halves(*pair, halves.n_runs)) for pair in zip(first, second, strict=True)]
    if first is None or second is None or isinstance(first, str):
        return first if first == second else None
    mean = sum(w * x for w, x in zip(halves.weights, (first, second), strict=True))
    return round(mean) if isinstance(first, int) else short(mean)


def _with_spreads(arm: Plain, baseline: Plain) -> Plain:
    """Return an arm with the sd of accuracy and its changes from the accuracies of all runs."""
    accuracies = _accuracies(arm)
    if not accuracies:
        return arm
    spread = estimate(SpreadOverRuns(np.array([*accuracies.values()]), largest=1.0))
    changed = {**arm, "metrics": {**arm["metrics"], SPREAD: plain_figure(spread)}}
    changed["effects"] = _with_spread(arm["effects"], baseline, arm)
    chance = arm["metrics"].get(BY_CHANCE)
    if chance is None or spread.low is None or spread.low <= chance[2]:
        changed["spread_cause"] = None  # no more than chance
    if arm["of_all"]:
        effects = _with_spread(arm["of_all"]["effects"], baseline, arm)
        changed["of_all"] = {**arm["of_all"], "effects": effects}
    matched, base = arm["matched"], baseline["matched"]
    if matched and "effects" in matched:
        both = {x: matched[x] and _with_ratio(matched[x], base, matched) for x in MATCHED_EFFECTS}
        changed["matched"] = {**matched, **both}
    return changed


def _with_ratio(effects: Plain, reference: Plain | None, arm: Plain | None) -> dict[str, Any]:
    """Return effects whose change of the sd of accuracy is the ratio of the pooled sds."""
    sds = [each["metrics"].get(SPREAD) for each in (reference, arm) if each is not None]
    if SPREAD not in effects or len(sds) < 2 or None in sds or not sds[0][0]:
        return dict(effects)
    effect = effects[SPREAD]
    ends = [effect[x] for x in ("value", "low", "high")]
    value, low, high = _moved(ends, sds[1][0] / sds[0][0])
    moved = {"value": short(value), "low": short(low), "high": short(high)}
    return {**effects, SPREAD: {**effect, **moved, "verdict": judged(SPREAD, low, high)}}


def _with_spread(effects: Plain, reference: Plain | None, arm: Plain | None) -> dict[str, Any]:
    """Return effects with that on the sd of accuracy from all runs that both arms have."""
    accuracies = [_accuracies(each) for each in (reference, arm)]
    runs = [run for run in accuracies[0] if run in accuracies[1]]
    if SPREAD not in effects or not runs:
        return dict(effects)
    base, other = (SpreadOverRuns(np.array([of[run] for run in runs])) for of in accuracies)
    n_runs = len(runs), len(runs)
    contrast = MetricContrast(SPREAD, ("", ""), base, other, is_paired=False, n_runs=n_runs)
    tail = (1 - effects[SPREAD]["confidence"]) / 2
    exact = contrast.effect(Level(tail, tail), margin=effects[SPREAD]["margin"])
    return {**effects, SPREAD: plain_effect(exact)}


def _accuracies(arm: Plain | None) -> dict[str, float]:
    """Return the accuracy of each run; empty if it is not stored."""
    if arm is None or ACCURACY_OF_RUN not in arm["scalars"]:
        return {}
    return dict(zip(arm["runs"], arm["scalars"][ACCURACY_OF_RUN], strict=True))
