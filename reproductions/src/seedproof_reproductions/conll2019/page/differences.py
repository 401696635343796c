"""What differs from the paper, as far as it can be told from the settings."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from seedproof_reproductions.conll2019.names import BASELINE, DATASETS
from seedproof_reproductions.conll2019.page.departures import published_size
from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.conll2019.published import published
from seedproof_reproductions.page.words import listed, paragraphs, table

VECTORS = {"glove-100d": "GloVe, 100 dimensions"}
GRADIENTS = (
    "**Gradients.** Of the log odds, through the attention, as the paper says; its code takes the "
    "attention as given, and multiplies the gradient with the input."
)
CODE = (
    "**Paper and code.** The paper and its authors' public code differ in where the average "
    "starts, how it is weighed, and what happens at the end of an epoch "
    "([the list](../explanation/averaging.md#as-published-and-as-coded)). "
    "*ASWA* and *NASWA* are the paper's here; the code's are arms of their own. "
    "The paper says that training ends early; the code, and we, train all epochs and keep the "
    "checkpoint that is best on dev."
)


def differences(settings: Sequence[SettingResults]) -> str:
    """Data, training and reading, beside the paper's.

    Args:
        settings: Our results.

    Returns:
        Markdown without a heading.
    """
    sentences = (
        _vectors(settings),
        _sizes(settings),
        *_data(settings),
        *_explained(settings),
        _missing(settings),
        CODE,
    )
    return paragraphs(
        (
            "In brackets what the paper had.",
            _trained(settings),
            "\n".join(f"- {one}" for one in sentences if one),
        )
    )


def _trained(settings: Sequence[SettingResults]) -> str:
    theirs = published()["training"]
    return table(
        ("", "training texts", "dev texts", "test texts", "epochs", "seeds", "vocabulary"),
        [
            (
                one.title,
                _of(one, "train"),
                f"{one.own['sizes']['dev']:,}",
                _of(one, "test"),
                f"{one.own['setting']['epochs']} ({theirs['epochs']})",
                f"{one.seeds} ({theirs['seeds']})",
                f"words seen {one.own['setting']['min_count']} times or more",
            )
            for one in settings
        ],
    )


def _of(one: SettingResults, split: str) -> str:
    """Our number of texts beside the paper's."""
    return f"{one.own['sizes'][split]:,} ({published_size(one, split):,})"


def _vectors(settings: Sequence[SettingResults]) -> str:
    ours = listed(sorted({one.own["setting"]["vectors"] for one in settings}))
    return (
        f"**Word vectors.** {VECTORS.get(ours, ours)}, in place of "
        f"{published()['training']['vectors']}. They are trained like all other weights."
    )


def _sizes(settings: Sequence[SettingResults]) -> str:
    smaller = dict.fromkeys(
        DATASETS[one.dataset]
        for one in settings
        if one.own["sizes"]["train"] < published_size(one, "train")
    )
    if not smaller:
        return ""
    return (
        f"**Fewer texts.** The models of {listed(list(smaller))} learn from a part of what the "
        "paper had: read their accuracies beside its tables with that in mind."
    )


def _data(settings: Sequence[SettingResults]) -> Iterator[str]:
    """What is to be known of single data sets."""
    for name, told in DATA.items():
        found = [one for one in settings if one.dataset == name]
        if found:
            # The setting that saw most of it.
            yield told(max(found, key=lambda one: (one.own["sizes"]["test"], _n_train(one))))


def _n_train(one: SettingResults) -> int:
    return int(one.own["sizes"]["train"])


def _sst(one: SettingResults) -> str:
    n_test, theirs = one.own["sizes"]["test"], published_size(one, "test")
    if one.own["setting"]["n_test"] is None:
        tested = (
            "The file that the authors' code reads, with its filter, gives "
            f"{n_test:,} test sentences; their table says {theirs:,}."
        )
    else:
        tested = (
            f"Tested on {n_test:,} sentences alone, drawn from those that the authors' file and "
            f"filter give; their table says {theirs:,}."
        )
    return (
        f"**SST.** {tested} That a word must be seen twice was our choice, made while the test "
        "accuracy was printed beside that of dev: it may flatter all arms alike."
    )


def _agnews(one: SettingResults) -> str:
    is_whole = one.own["setting"]["n_test"] is None
    return (
        "**AG News.** The training file at hand is a part of the original, and those trained "
        f"on and chosen by are drawn from it; the test is {'whole' if is_whole else 'a part, too'}."
    )


def _imdb(one: SettingResults) -> str:
    del one
    return (
        "**IMDB.** The test is drawn from reviews of fewer than 400 tokens, as the paper's "
        "was, and is not the same draw."
    )


def _snli(one: SettingResults) -> str:
    is_whole = one.own["setting"]["n_train"] is None
    use = "are at hand to train on" if is_whole else "were trained on"
    return (
        f"**SNLI.** {_n_train(one):,} of {published_size(one, 'train'):,} pairs {use}. "
        "How the hypothesis enters is [our reading](../how-to/reproduce-a-paper.md"
        "#what-is-as-published-and-what-is-our-reading)."
    )


DATA: Mapping[str, Callable[[SettingResults], str]] = {
    "sst": _sst,
    "agnews": _agnews,
    "imdb": _imdb,
    "snli": _snli,
}


def _explained(settings: Sequence[SettingResults]) -> list[str]:
    """How models were explained, where they were."""
    found = [one for one in settings if one.explained is not None]
    if not found:
        return []
    return [GRADIENTS, *(_on_lime(one) for one in found)]


def _on_lime(one: SettingResults) -> str:
    how, lime = (one.explained or {})["explaining"], one.of_arm(BASELINE, "lime")
    return (
        f"**LIME** ({one.title}). It explains {lime['n_examples']:,} of "
        f"{one.own['n_examples']:,} test texts from {how['n_samples']:,} perturbed copies of each, "
        f"{how['n_draws']} times, with draws that all runs share. "
        "The authors' code takes 5,000, and draws anew for each run, so that its noise is part of "
        "what it reports."
    )


def _missing(settings: Sequence[SettingResults]) -> str:
    present = {one.dataset for one in settings}
    private = [DATASETS[name] for name in ("adr", "diabetes", "anemia") if name not in present]
    if not private:
        return ""
    return (
        f"**Not here.** {listed(private)} may not be passed on. "
        "The recipe reads [your own copy](../how-to/reproduce-a-paper.md"
        "#where-the-data-comes-from)."
    )
