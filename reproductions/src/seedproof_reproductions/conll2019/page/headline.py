"""The short answer: by how much do ASWA and NASWA cut what the seed decides?"""

from collections.abc import Iterator
from statistics import median

from seedproof.report.numbers import NO_BREAK, short
from seedproof.report.reasons.words import is_computed
from seedproof_reproductions.conll2019.names import ARMS, BASELINE, JACCARD, KL, METHODS, OVERLAP
from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.conll2019.page.same_share import DEFINITION, same_share
from seedproof_reproductions.page.words import (
    changed,
    clauses,
    figure,
    judged,
    listed,
    paragraphs,
    table,
)

PREDICTIONS = {
    "accuracy_sd": "sd of accuracy",
    "flip_rate": "flip rate",
    "probability_sd": "sd of the probability",
}
LONGER = "Every averaged model had trained for longer than any without"
REASONS = {KL: "KL", JACCARD: "top words"}

TOGETHER = "In each row, those of ASWA and NASWA hold together.\n"
# Whose runs the demo shows, and why its intervals are others.
DEMO_SETTING = "sst-cnn-additive"
DEMO = (
    "`seedproof demo` compares NASWA alone, with attention on 300 of the texts: its intervals of "
    "changes are narrower, because fewer have to hold together.\n"
)


def headline(found: SettingResults) -> str:
    """The question, its answer in sentences, and the figures behind them.

    Args:
        found: The setting that answers it.

    Returns:
        Markdown without a heading.
    """
    about = (
        "By how much do ASWA and NASWA cut what the seed decides?\n"
        f"The figures are those of {found.title}, with {found.seeds} seeds an arm and "
        f"{found.own['n_examples']:,} test texts."
    )
    sentences = (
        *_answers(found),
        same_share(found),
        _epochs(found),
        *_reasons(found),
        _top_words(found),
        _noise(found),
        _independent(found),
        _price(found),
    )
    bullets = "\n".join(f"- {sentence}" for sentence in sentences if sentence)
    return paragraphs((about, _cautions(found), bullets, _table(found), _reading(found)))


def _cautions(found: SettingResults) -> str:
    """What may lie behind the cuts beside the averaging, before any of them is read."""
    told = []
    if _trained_longer(found):
        told.append(f"{LONGER}: averaging and longer training are not told apart here.")
    pairs = [
        (ARMS[arm], found.matched_effect(arm, "flip_rate"), found.effect(arm, "flip_rate"))
        for arm in found.paper_arms
    ]
    left = [
        f"{changed(left)} with {arm} in place of {changed(whole)}"
        for arm, left, whole in pairs
        if left is not None and whole is not None
    ]
    if left:
        told.append(
            f"Runs also differ in how often they say “{found.classes[1]}”: where all runs of an "
            f"arm say it equally often, the flip rate changes by {listed(left)}."
        )
    return f"**Before you read the cuts.** {' '.join(told)}" if told else ""


def _changes(found: SettingResults, metric: str, method: str | None = None) -> str:
    pairs = [(arm, found.effect(arm, metric, method)) for arm in found.paper_arms]
    # Only some arms were explained by gradients and LIME.
    return clauses((ARMS[arm], one) for arm, one in pairs if method is None or one is not None)


def _answers(found: SettingResults) -> Iterator[str]:
    spread, flips = (found.estimate(BASELINE, name) for name in ("accuracy_sd", "flip_rate"))
    yield (
        f"**Accuracy.** Without averaging its sd over seeds is {figure('accuracy_sd', spread)}. "
        + _changes(found, "accuracy_sd")
    )
    yield (
        f"**Answers.** Without averaging two seeds disagree on {figure('flip_rate', flips)} of the "
        f"texts, the flip rate. {_changes(found, 'flip_rate')}"
    )


def _reasons(found: SettingResults) -> Iterator[str]:
    for method in found.methods:
        name = METHODS[method]
        distance = figure(KL, found.estimate(BASELINE, KL, method))
        yield (
            f"**{name[0].upper()}{name[1:]}.** Without averaging the mean KL between the "
            f"explanations of two seeds is {distance}. {_changes(found, KL, method)}"
        )


def _top_words(found: SettingResults) -> str:
    shares = [
        f"{figure(JACCARD, found.estimate(BASELINE, JACCARD, method))} by {METHODS[method]}"
        for method in found.methods
    ]
    kept = [
        f"{figure(OVERLAP, found.estimate(BASELINE, OVERLAP, method))} by {METHODS[method]}"
        for method in found.methods
    ]
    if not shares:
        return ""
    return (
        "**Top words.** Of the words that either of two seeds puts among its top 20 %, only one "
        f"of them does so with {listed(shares)}, without averaging. "
        f"One seed finds again, of another's top words, {listed(kept)}."
    )


def _noise(found: SettingResults) -> str:
    computed = [METHODS[method] for method in found.methods if is_computed(method)]
    drawn = [method for method in found.methods if not is_computed(method)]
    told = [_floor(found, method) for method in drawn]
    if computed:
        names, follow = listed(computed), "follow" if len(computed) > 1 else "follows"
        told.insert(
            0,
            f"{names[0].upper()}{names[1:]} {follow} from the weights: one model explained twice "
            "says the same, and no part of the distance is noise.",
        )
    return " ".join(["**Explainer noise.**", *told]) if told else ""


def _floor(found: SettingResults, method: str) -> str:
    name, floor = METHODS[method], found.noise(BASELINE, JACCARD, method)
    if floor is None:
        return f"{name} was drawn once, so nobody knows its noise."
    between = figure(JACCARD, found.estimate(BASELINE, JACCARD, method))
    return (
        f"{name} draws at random: explaining one model twice changes {figure(JACCARD, floor)} of "
        f"the top words, and another seed, with the same draws, {between}."
    )


def _independent(found: SettingResults) -> str:
    arms = (BASELINE, *found.paper_arms)
    return (
        "**Independent flips.** Texts that flip each by itself move the accuracy, too. "
        + " ".join(_spread(found, arm) for arm in arms)
    )


def _spread(found: SettingResults, arm: str) -> str:
    """How much of accuracy's sd flips that know nothing of each other would give."""
    spread = found.estimate(arm, "accuracy_sd")
    alone = found.estimate(arm, "accuracy_sd_independent")
    if spread is None or alone is None:
        return ""
    who = _who(arm)
    start = (
        f"{who[0].upper()}{who[1:]} they would give an sd of "
        f"{figure('accuracy_sd_independent', alone)}; it is {figure('accuracy_sd', spread)}"
    )
    cause, drift = found.of_arm(arm)["spread_cause"], found.of_arm(arm)["drift"]
    if cause is None:
        return f"{start}: more than chance is not shown."
    low, high = (short(end(drift["shares"])) for end in (min, max))
    moved = f"the share of “{drift['class']}” predictions drifts from {low} to {high}"
    why = {"drift": f", mostly because {moved}", "both": f", and {moved}", "runs": ""}[cause]
    return f"{start}: more than chance is shown{why}."


def _price(found: SettingResults) -> str:
    effects = [(ARMS[arm], found.effect(arm, "accuracy")) for arm in found.paper_arms]
    if not effects:
        return ""
    changes = listed([f"{changed(effect)} with {name}" for name, effect in effects])
    losses = {arm: found.scalar(arm, "train_loss") for arm in (BASELINE, *found.paper_arms)}
    text = f"**What it costs.** Accuracy changes by {changes}."
    known = {arm: loss for arm, loss in losses.items() if loss is not None}
    if len(known) < len(losses):
        return text
    told = listed([f"{loss:.3f} ({ARMS[arm]})" for arm, loss in known.items()])
    slower = all(known[arm] > known[BASELINE] for arm in found.paper_arms)
    why = ": part of the steadiness may be slower learning" if slower else ""
    return f"{text} The mean training loss of the chosen models is {told}{why}."


def _epochs(found: SettingResults) -> str:
    """After which epoch dev found a run best: steadiness and length of training go together."""
    arms = (BASELINE, *found.paper_arms)
    chosen = {arm: found.scalars(arm, "epoch_chosen") for arm in arms}
    if not all(chosen.values()):
        return ""
    told = listed([_chosen(arm, values) for arm, values in chosen.items()])
    text = f"**The chosen epoch.** Of {found.own['setting']['epochs']} epochs, dev chose {told}."
    return f"{text} {LONGER}." if _trained_longer(found) else text


def _trained_longer(found: SettingResults) -> bool:
    """Whether every averaged model was chosen after more epochs than any other."""
    first, *others = (found.scalars(arm, "epoch_chosen") for arm in (BASELINE, *found.paper_arms))
    if not (first and others and all(others)):
        return False
    return all(max(first) < min(values) for values in others)


def _chosen(arm: str, values: tuple[float, ...]) -> str:
    who, low, high = _who(arm), min(values), max(values)
    if low == high:
        return f"epoch {low:g} in every run {who}"
    return f"epochs {low:g} to {high:g} {who} (median {median(values):g})"


def _who(arm: str) -> str:
    return "without averaging" if arm == BASELINE else f"with {ARMS[arm]}"


def _table(found: SettingResults) -> str:
    rows: list[tuple[str, str, str | None]] = [
        (words, metric, None) for metric, words in PREDICTIONS.items()
    ]
    rows += [
        (f"{METHODS[method]}: {words}", metric, method)
        for method in found.methods
        for metric, words in REASONS.items()
    ]
    cells = [
        (
            words,
            figure(metric, found.estimate(BASELINE, metric, method)),
            *(judged(found.effect(arm, metric, method)) for arm in found.paper_arms),
            _noise_cell(found, metric, method),
        )
        for words, metric, method in rows
    ]
    cells[2:2] = _matched_rows(found)
    return table(("", "none", *(ARMS[arm] for arm in found.paper_arms), "explainer noise"), cells)


def _matched_rows(found: SettingResults) -> list[tuple[str, ...]]:
    return [
        (
            f"{PREDICTIONS[metric]}, same share",
            figure(metric, found.matched(BASELINE, metric)),
            *(judged(found.matched_effect(arm, metric)) for arm in found.paper_arms),
            "",
        )
        for metric in ("accuracy_sd", "flip_rate")
        if found.matched(BASELINE, metric) is not None
    ]


def _noise_cell(found: SettingResults, metric: str, method: str | None) -> str:
    if method is None:
        return ""
    return "0" if is_computed(method) else figure(metric, found.noise(BASELINE, metric, method))


def _reading(found: SettingResults) -> str:
    both = len(found.paper_arms) > 1
    together = TOGETHER if both else ""
    together += DEMO if both and found.own["name"] == DEMO_SETTING else ""
    few = "" if found.is_over_runs(BASELINE) else "With two seeds they are over texts alone.\n"
    matched = f"{DEFINITION}\n" if found.matched(BASELINE, "flip_rate") else ""
    paired = (
        "those of changes are paired by seed, except that of the sd of accuracy"
        if found.is_paired
        else "those of changes are not paired, because arms do not share all seeds"
    )
    return (
        "Changes are against *none*, and the words are the verdicts of `seedproof compare`.\n"
        f"Brackets are 95{NO_BREAK}% intervals; {paired}.\n{few}{together}{matched}"
        "An explanation gives each word a share of the importance. "
        "*KL* is the distance between the shares that two seeds give, in nats: 0 if they are "
        "equal.\n"
        "*Top words* is the Jaccard distance of the top 20 %: of the words that either of two "
        "seeds names, the share that only one of them names.\n"
        "*Explainer noise* is the same distance between two explanations of one model."
    )
