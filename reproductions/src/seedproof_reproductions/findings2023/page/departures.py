"""Where our settings are not the paper's: told before anything is read."""

from collections.abc import Sequence

from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.page.reading import SettingResults
from seedproof_reproductions.findings2023.published import published
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.page.words import listed, paragraphs, table

TITLE = "Not the paper's models:"
ENCODERS = {
    "head": "a head trained on frozen features of MiniLM-L6",
    "finetune": "a fine-tuned MiniLM-L6",
}
NOTES = """\
- **Encoder.** DistilBERT-base has 66 million weights and the paper fine-tunes all of them; \
MiniLM-L6 has 23 million. On the track *head* it is frozen, its mean-pooled features are \
standardized, and a head with one hidden layer of 256 and a dropout of 0.3 is trained on them, as \
many production classifiers are. On the track *fine-tuned* such a head and the encoder are trained \
together, the encoder in bfloat16 with weights in float32.
- **Teachers.** They count from the same share of the training on as in the paper: step 200 of 295 \
on CLINC150, 180 of 225 on MASSIVE. The paper does not say whether its 50 students shared one \
teacher, so on the track *head* both are run. On the track *fine-tuned* teachers are fresh, and \
predict after every tenth step: that arm stands for TGTSS.
- **Label smoothing.** 0.5 on CLINC150 and 0.1 on MASSIVE in the tables, as published; both are \
among all arms.
- **SWA.** The mean of the weights after the last two epochs, as published."""


def departures(found: SettingResults) -> tuple[str, ...]:
    """How a setting differs from the paper's.

    Args:
        found: Our results.

    Returns:
        The encoder first; then what there is more or less of, such as "5 of 50 runs".
    """
    theirs, setting = published()["training"], found.own["setting"]
    sizes = published()["sizes"][found.dataset]
    rate = setting["learning_rate"]
    return (
        ENCODERS[found.track],
        *_fewer_runs(found, theirs["seeds"]),
        *_less("training utterances", found.own["sizes"]["train"], sizes["train"]),
        *_other("test utterances", found.own["sizes"]["test"], sizes["test"]),
        *_other("epochs", setting["epochs"], theirs["epochs"]),
        *_other("utterances a batch", setting["batch_size"], theirs["batch_size"]),
        *([] if rate == theirs["learning_rate"] else [f"a learning rate of {rate:g}"]),
    )


def _fewer_runs(found: SettingResults, theirs: int) -> tuple[str, ...]:
    """Such as "5 of 50 runs", or "13 to 50 runs" where arms differ."""
    if found.seeds == str(found.n_runs):
        return _less("runs", found.n_runs, theirs)
    return (f"{found.seeds}{'' if found.n_runs >= theirs else f' of {theirs}'} runs",)


def _less(noun: str, ours: int, theirs: int) -> tuple[str, ...]:
    return (f"{ours:,} of {theirs:,} {noun}",) if ours < theirs else ()


def _other(noun: str, ours: int, theirs: int) -> tuple[str, ...]:
    return (f"{ours:,} {noun} in place of {theirs:,}",) if ours != theirs else ()


def is_full(found: SettingResults) -> bool:
    """Whether a setting is trained as the recipe has it by default, however many runs it has."""
    setting, usual = found.own["setting"], Setting(found.dataset, found.track)
    names = ("epochs", "batch_size", "dropout", "n_train", "n_test")
    return all(setting[name] == getattr(usual, name) for name in names)


def in_short(settings: Sequence[SettingResults]) -> str:
    """A line on settings that are not the recipe's own, such as a smoke run; nothing without."""
    told = [f"{one.title}: {listed(departures(one)[1:])}" for one in settings if not is_full(one)]
    return f"> **Not the full settings:** {'; '.join(told)}." if told else ""


def banner(settings: Sequence[SettingResults]) -> str:
    """A warning for the top of the page.

    Args:
        settings: Our results.

    Returns:
        A quotation in Markdown.
    """
    start = (
        f"> **{TITLE}** it has {published()['training']['encoder']}. What it printed stands beside "
        "ours so that signs and sizes of changes can be compared, not accuracies; a verdict is "
        "about our settings."
    )
    lines = [f"> - {one.title}: {listed(departures(one))}" for one in settings]
    return "\n".join([start, ">", *lines])


def differences(settings: Sequence[SettingResults]) -> str:
    """Data and training beside the paper's.

    Args:
        settings: Our results.

    Returns:
        Markdown without a heading.
    """
    theirs, sizes = published()["training"], published()["sizes"]
    rows = [
        (
            one.title,
            ENCODERS[one.track],
            _pair(one.own["sizes"]["train"], sizes[one.dataset]["train"]),
            _pair(one.own["sizes"]["test"], sizes[one.dataset]["test"]),
            _pair(one.own["setting"]["epochs"], theirs["epochs"]),
            _pair(one.own["setting"]["batch_size"], theirs["batch_size"]),
            f"{one.own['setting']['learning_rate']:g} ({theirs['learning_rate']:g})",
            f"{one.seeds} ({theirs['seeds']})",
            f"{one.n_traced(BASELINE)}",
        )
        for one in settings
    ]
    header = (
        "",
        "encoder",
        "to train on",
        "to test on",
        "epochs",
        "batch",
        "learning rate",
        "runs",
        "traced runs of the control",
    )
    return paragraphs(("In brackets what the paper had.", table(header, rows), NOTES))


def _pair(ours: int, theirs: int) -> str:
    return f"{ours:,} ({theirs:,})"
