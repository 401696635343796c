"""Plain data of the pages on new data: mitigations, published figures and the confirmation."""

from collections.abc import Collection, Mapping, Sequence

from seedproof.stats.effect import Effect
from seedproof_reproductions.claims import summarize
from seedproof_reproductions.figures import change, cut, listed, multiple
from seedproof_reproductions.findings2023 import reading, selection
from seedproof_reproductions.findings2023.decision_data import levels
from seedproof_reproductions.findings2023.names import BASELINE, layout, title_of
from seedproof_reproductions.findings2023.page_data import Data, Settings
from seedproof_reproductions.findings2023.planned import plan
from seedproof_reproductions.findings2023.reading import ALL_ACCURACY, ALL_FLIPS, SettingResults
from seedproof_reproductions.findings2023.selection import Candidate, is_cut
from seedproof_reproductions.findings2023.settings import TRAIN_DATA
from seedproof_reproductions.page import Table
from seedproof_reproductions.reading import lookup
from seedproof_reproductions.rules import MARGIN, Evidence, Verdict, decide, judge, loses


def retraining(settings: Settings, retrained: Settings, chosen: Mapping[str, Candidate]) -> Data:
    """Return tables and answers on new data; empty if no run drew its own data."""
    resampled = reading.studies(retrained, "bootstrap", root=0)
    if not resampled:
        return {}
    studied = set(resampled[0].treatments)
    arms = [arm for arm in selection.candidates(settings, retrained) if arm.arm in studied]
    # A fine-tuned arm is recommended by other runs.
    recommended = [arm for arm in chosen.values() if arm in arms]
    frozen, also = reading.heads(settings), plan()["confirmation"]["also"]
    confirmed = [*recommended, *(arm for arm in arms if arm.arm in also and arm not in recommended)]
    return {
        "on": [setting.short_title for setting in resampled],
        "flips": {
            "seeds": levels(frozen, BASELINE, "flip_rate"),
            "data": levels(resampled, BASELINE, "flip_rate"),
        },
        "seeds": _seeds(resampled),
        "planned": plan()["seeds"],
        "more_seeds": _seeds(reading.studies(retrained, "fixed", root=0)),
        "table": mitigations_table(arms, [arm.arm for arm in recommended]),
        "accuracy": accuracy_table(arms),
        "kept": kept_cuts(arms),
        "published": published_figures(resampled),
        "also": [arm.arm for arm in confirmed if arm not in recommended],
        "confirmation": confirmation(confirmed, retrained, accepts_loss(chosen)),
    }


def _seeds(studies: Settings) -> list[str]:
    """Return the numbers of seeds per arm, each once."""
    return list(dict.fromkeys(study.seeds for study in studies))


def _header(arm: Candidate) -> list[str]:
    """Return a title per setting of an arm, such as "new data, MASSIVE"."""
    return [_title(setting) for setting in arm.settings]


def _title(setting: SettingResults) -> str:
    kind = setting.content["setting"].get("train_data", TRAIN_DATA[0])
    return f"{layout()['titles']['train_data'][kind]}, {setting.short_title}"


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
    headers = [f"flips, {title}" for title in _header(arms[0])] if arms else []
    return Table.of(("", *headers, "accuracy", "training (head alone)", "serving"), rows)


def accuracy_verdict(arm: Candidate) -> str:
    """Return whether a loss of more than half a point is excluded everywhere, or shown."""
    if arm.keeps_accuracy:
        return "kept"
    return "lower" if any(map(loses, arm.effects(ALL_ACCURACY))) else "not shown"


def accuracy_table(arms: Sequence[Candidate]) -> Table:
    """Return the change of accuracy under new seeds and new data."""
    rows = [(title_of(arm.arm), *map(change, arm.effects(ALL_ACCURACY))) for arm in arms]
    return Table.of(("", *(_header(arms[0]) if arms else ())), rows)


def kept_cuts(arms: Sequence[Candidate]) -> Data:
    """Return arms with fewer flips under new seeds, by whether they have fewer under new data."""
    kinds: dict[str, list[str]] = {"both": [], "seeds": []}
    for arm in arms:
        shown = {kind: all(map(is_cut, effects)) for kind, effects in _by_kind(arm).items()}
        if shown[TRAIN_DATA[0]]:
            kinds["both" if shown[TRAIN_DATA[1]] else "seeds"].append(arm.arm)
    return dict(kinds)


def _by_kind(arm: Candidate) -> dict[str, list[Effect | None]]:
    """Return the changes of the flip rate by the kind of training data."""
    kinds: dict[str, list[Effect | None]] = {kind: [] for kind in TRAIN_DATA}
    for setting, effect in zip(arm.settings, arm.effects(ALL_FLIPS), strict=True):
        kinds[setting.content["setting"].get("train_data", TRAIN_DATA[0])].append(effect)
    return kinds


def published_figures(resampled: Settings) -> list[Data]:
    """Return each published figure of the plan with our changes, by protocol, and verdicts."""
    figures = []
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
                known = (
                    effect and Effect("flip_rate", "ratio", effect.value) for effect in effects
                )
                values.append(f"{' / '.join(map(change, known))} with {title_of(arm)}")
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
        figures.append({**figure, "printed": printed, "protocols": protocols})
    return figures


def _contrast(setting: SettingResults, name: str, protocol: str, arm: str) -> Effect | None:
    stored = lookup(setting.content, f"published.{name}.{protocol}.{arm}.flip_rate")
    return None if stored is None else Effect("flip_rate", **stored)


def judge_published(effect: Effect | None, published: float | str) -> Verdict:
    """Judge a cut of a published size; a published lack of one fails if a cut is shown."""
    if isinstance(published, str):
        return decide(fails=is_cut(effect), holds=False)
    return judge("cut", Evidence(effect=effect, published=published))


def accepts_loss(chosen: Mapping[str, Candidate]) -> set[str]:
    """Return the arms that were chosen for a budget that accepts a small loss of accuracy."""
    budgets = {row["says"] for row in layout()["budgets"] if row["arms"] == "nearly"}
    return {arm.arm for budget, arm in chosen.items() if budget in budgets}


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
            rows.append((title_of(arm.arm), _title(setting), *cells))
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
