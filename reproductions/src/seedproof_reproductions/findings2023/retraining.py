"""Plain data of the pages on new data: mitigations, published figures and the confirmation."""

from collections.abc import Collection, Mapping, Sequence

from seedproof.stats.effect import RATIO_MARGIN, Effect, is_inside
from seedproof_reproductions import figures
from seedproof_reproductions.claims import summarize
from seedproof_reproductions.figures import change, cut, listed, multiple
from seedproof_reproductions.findings2023 import reading, selection
from seedproof_reproductions.findings2023.decision_data import levels
from seedproof_reproductions.findings2023.names import BASELINE, layout, title_of
from seedproof_reproductions.findings2023.page_data import Data, Settings, changes, each
from seedproof_reproductions.findings2023.planned import plan
from seedproof_reproductions.findings2023.preferences import Preference
from seedproof_reproductions.findings2023.reading import ALL_ACCURACY, ALL_FLIPS, SettingResults
from seedproof_reproductions.findings2023.selection import Candidate, is_cut
from seedproof_reproductions.findings2023.settings import TRAIN_DATA
from seedproof_reproductions.page import Table
from seedproof_reproductions.reading import lookup
from seedproof_reproductions.rules import MARGIN, Evidence, Verdict, decide, judge, loses


def retraining(
    settings: Settings,
    retrained: Settings,
    chosen: Mapping[str, Candidate | None],
    preferred: Sequence[Preference] = (),
) -> Data:
    """Return tables and answers on new data; empty if no run drew its own data.

    Args:
        settings: Results of the paper's study.
        retrained: All studies of the plan.
        chosen: The planned choice for each budget; None if no arm qualifies.
        preferred: Arms to use in place of planned choices.

    Returns:
        Names that the templates use.
    """
    resampled = reading.studies(retrained, "bootstrap", root=0)
    if not resampled:
        return {}
    studied = set(resampled[0].treatments)
    arms = [arm for arm in selection.candidates(settings, retrained) if arm.arm in studied]
    planned = [arm for arm in chosen.values() if arm in arms]
    instead = {each.planned.arm: each.instead.arm for each in preferred}
    recommended = [instead.get(arm.arm, arm.arm) for arm in planned]
    frozen, also = reading.heads(settings), plan()["confirmation"]["also"]
    confirmed = [*planned, *(arm for arm in arms if arm.arm in also and arm not in planned)]
    check = confirmation(confirmed, retrained, accepts_loss(chosen))
    return {
        "on": [setting.short_title for setting in resampled],
        "flips": {
            "seeds": levels(frozen, BASELINE, "flip_rate"),
            "data": levels(resampled, BASELINE, "flip_rate"),
        },
        "seeds": _seeds(resampled),
        "planned": plan()["seeds"],
        "more_seeds": _seeds(reading.studies(retrained, "fixed", root=0)),
        "table": mitigations_table(arms, recommended),
        "accuracy": accuracy_table(arms),
        "kept": kept_cuts(arms),
        "published": published_figures(resampled),
        "margin": RATIO_MARGIN,
        "also": [arm.arm for arm in confirmed if arm not in planned],
        "confirmation": check,
        "preferred": [each.data for each in preferred],
        "other_confirmed": [
            arm for arm in check.get("confirmed", ()) if arm not in {*recommended, *instead}
        ],
    }


def _seeds(studies: Settings) -> list[str]:
    """Return the numbers of seeds per arm, each once."""
    return list(dict.fromkeys(study.seeds for study in studies))


def mitigations_table(arms: Sequence[Candidate], recommended: Sequence[str]) -> Table:
    """Return the change of the flip rate under new seeds and new data, accuracy and costs."""
    rows = []
    for arm in arms:
        title = f"{title_of(arm.arm)} `{arm.arm}`"
        head = arm.cost("heads")
        training = multiple(arm.cost("training"))
        rows.append(
            (
                f"**{title}**" if arm.arm in recommended else title,
                *map(change, arm.effects(ALL_FLIPS)),
                accuracy_verdict(arm),
                training if head is None else f"{training} ({head:.2g}×)",
                multiple(arm.cost("serving")),
            )
        )
    headers = [f"flips, {each.study_title}" for each in arms[0].settings] if arms else []
    return Table.of(("", *headers, "accuracy", "training (head alone)", "serving"), rows)


def accuracy_verdict(arm: Candidate) -> str:
    """Return whether a loss of more than half a point is excluded everywhere, or shown."""
    if arm.keeps_accuracy:
        return "kept"
    return "lower" if any(map(loses, arm.effects(ALL_ACCURACY))) else "not shown"


def accuracy_table(arms: Sequence[Candidate]) -> Table:
    """Return the change of accuracy under new seeds and new data."""
    titles = [each.study_title for each in arms[0].settings] if arms else []
    rows = [(title_of(arm.arm), *map(change, arm.effects(ALL_ACCURACY))) for arm in arms]
    return Table.of(("", *titles), rows)


def kept_cuts(arms: Sequence[Candidate]) -> Data:
    """Return arms with fewer flips under new seeds, by whether they have fewer under new data.

    Those that have not come with their changes, and with a verdict on each data set.
    """
    both, seeds = [], []
    for arm in arms:
        same_data, new_data = _by_kind(arm).values()
        if not all(map(is_cut, same_data)):
            continue
        if all(map(is_cut, new_data)):
            both.append(arm.arm)
            continue
        outcomes = [
            {"change": _without_interval(effect), "verdict": judge_small(effect)}
            for effect in new_data
        ]
        before = [_without_interval(effect) for effect in same_data]
        seeds.append({"arm": arm.arm, "seeds": before, "data": outcomes})
    return {"both": both, "seeds": seeds}


def judge_small(effect: Effect | None) -> str:
    """Return whether a change is a reduction ("fewer"), within the margin ("small"), or "open"."""
    if is_cut(effect):
        return "fewer"
    return "small" if effect is not None and is_inside(effect, RATIO_MARGIN) else "open"


def _without_interval(effect: Effect | None) -> str:
    return change(effect and Effect(effect.metric, effect.scale, effect.value))


def under_new_data(arms: Sequence[str], retrained: Settings) -> Data:
    """Return changes under new data of the first of several arms that was trained there.

    Empty if none was.
    """
    resampled = reading.studies(retrained, "bootstrap", root=0)
    trained = [arm for arm in arms if resampled and all(arm in s.arms for s in resampled)]
    if not trained:
        return {}
    own = Candidate(trained[0], resampled)
    confirming = reading.studies(retrained, "bootstrap", root=plan()["confirmation"]["root"])
    return {
        "arm": own.arm,
        "flips": changes(resampled, trained[:1], ALL_FLIPS),
        "confirmed": changes(confirming, trained[:1], ALL_FLIPS),
        "is_half": all(map(selection.halves, own.effects(ALL_FLIPS))),
        "untrained": [arm for arm in arms if arm not in trained],
    }


def control_ece(retrained: Settings) -> list[Data]:
    """Return the calibration error of the control, corrected for chance, where that is stored."""
    return each(
        reading.studies(retrained, "fixed", root=0),
        [BASELINE],
        lambda setting, arm: setting.estimate(arm, "metrics.ece_corrected"),
        lambda estimate: figures.figure("ece_corrected", estimate),
    )


def _by_kind(arm: Candidate) -> dict[str, list[Effect | None]]:
    """Return the changes of the flip rate by the kind of training data."""
    kinds: dict[str, list[Effect | None]] = {kind: [] for kind in TRAIN_DATA}
    for setting, effect in zip(arm.settings, arm.effects(ALL_FLIPS), strict=True):
        kinds[setting.train_data].append(effect)
    return kinds


def published_figures(resampled: Settings) -> list[Data]:
    """Return each published figure of the plan with our changes, by protocol, and verdicts."""
    checked = []
    for figure in plan()["published"]:
        protocols = []
        for protocol in figure["protocols"]:
            rows, verdicts, values = [], [], []
            for arm in figure["arms"]:
                effects = [
                    _contrast(setting, figure["name"], protocol, arm) for setting in resampled
                ]
                verdicts += [judge_published(effect, figure["cut"]) for effect in effects]
                rows.append((title_of(arm), *map(change, effects)))
                known = " / ".join(map(_without_interval, effects))
                values.append(f"{known} with {title_of(arm)}")
            names = [setting.short_title for setting in resampled]
            table = Table.of((f"against {title_of(figure['against'])}", *names), rows)
            words = summarize(verdicts)
            if isinstance(figure["cut"], str):
                n_shown = verdicts.count(Verdict.FAILS)
                words = f"contrary to this, a reduction is shown in {n_shown} of {len(verdicts)}"
                words = words if n_shown else "no reduction is shown here either"
            judged = {"verdict": words, "changes": listed(values)}
            protocols.append({"name": protocol, "table": table, **judged})
        printed = "none" if figure["cut"] == "none" else cut(figure["cut"])
        checked.append({**figure, "printed": printed, "protocols": protocols})
    return checked


def _contrast(setting: SettingResults, name: str, protocol: str, arm: str) -> Effect | None:
    stored = lookup(setting.content, f"published.{name}.{protocol}.{arm}.flip_rate")
    return None if stored is None else Effect("flip_rate", **stored)


def judge_published(effect: Effect | None, published: float | str) -> Verdict:
    """Judge a cut of a published size; a published lack of one fails if a cut is shown."""
    if isinstance(published, str):
        return decide(fails=is_cut(effect), holds=False)
    return judge("cut", Evidence(effect=effect, published=published))


def accepts_loss(chosen: Mapping[str, Candidate | None]) -> set[str]:
    """Return the arms that were chosen for a budget that accepts a small loss of accuracy."""
    budgets = {row["says"] for row in layout()["budgets"] if row["arms"] == "nearly"}
    return {arm.arm for budget, arm in chosen.items() if arm is not None and budget in budgets}


def confirmation(
    arms: Sequence[Candidate], retrained: Settings, may_lose: Collection[str] = ()
) -> Data:
    """Return arms on other seeds and other utterances, next to the choice.

    Args:
        arms: The arms of the choice.
        retrained: All studies of the plan.
        may_lose: Arms whose budget accepts a small loss of accuracy; they are confirmed by it.

    Returns:
        A table, and arms that are confirmed or not; empty without runs.
    """
    root = plan()["confirmation"]["root"]
    studies = [each for kind in TRAIN_DATA for each in reading.studies(retrained, kind, root=root)]
    rows, confirmed, trained = [], [], []
    for arm in arms:
        own = Candidate(arm.arm, tuple(each for each in studies if arm.arm in each.arms))
        if len(own.settings) < len(arm.settings):
            continue
        trained.append(arm.arm)
        margin = selection.SMALL_LOSS if arm.arm in may_lose else MARGIN
        if own.cuts and own.loses_at_most(margin):
            confirmed.append(arm.arm)
        for chosen, setting in zip(arm.settings, own.settings, strict=True):
            effects = (each.effect(arm.arm, ALL_FLIPS) for each in (chosen, setting))
            accuracy = (each.effect(arm.arm, ALL_ACCURACY) for each in (chosen, setting))
            cells = map(change, (*effects, *accuracy))
            rows.append((title_of(arm.arm), setting.study_title, *cells))
    if not rows:
        return {}
    header = ("", "", "flips, choice", "confirmation", "accuracy, choice", "confirmation")
    sizes = {each.short_title: each.content["sizes"]["test"] for each in studies}
    return {
        "table": Table.of(header, rows),
        "confirmed": confirmed,
        "open": [arm for arm in trained if arm not in confirmed],
        "sizes": [f"{size:,} of {title}" for title, size in sizes.items()],
        "seeds": _seeds(studies),
    }
