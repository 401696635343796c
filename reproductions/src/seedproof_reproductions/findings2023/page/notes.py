"""How costs are counted, and what limits the figures."""

from collections.abc import Iterator, Sequence

from seedproof_reproductions.findings2023.names import BASELINE, title_of
from seedproof_reproductions.findings2023.page.reading import SettingResults, heads
from seedproof_reproductions.page.words import listed, paragraphs

COUNTED = """\
Costs are counted in multiplications, because seconds depend on the machine and on what else it \
does.
Going back takes twice as many as going forward.
On the track *head* the frozen encoder reads each training utterance once, whatever is trained on \
its features; every epoch of every head, of teachers too, is added, and so is each prediction that \
a teacher makes.
On the track *fine-tuned* each of these passes goes through the encoder.
A shared teacher is charged to each run in full: who trains one model pays for one teacher.
Serving is one utterance through the encoder and all heads that are averaged.
Both are given as multiples of what the control takes."""


# From so many arms on, one or the other looks good by chance.
MANY = 10


def how_counted(settings: Sequence[SettingResults]) -> str:
    """How costs are counted, and what that means here.

    Args:
        settings: Our results.

    Returns:
        Markdown without a heading.
    """
    told = [
        f"{100 * part:.1f}\N{NO-BREAK SPACE}% on {one.short_title}"
        for one in heads(settings)
        if (part := _head_part(one)) is not None
    ]
    small = (
        f"Of what the control's training takes, its head is {listed(told)}: with a frozen encoder, "
        "several heads cost little more than one."
        if told
        else ""
    )
    return paragraphs((COUNTED, small))


def _head_part(one: SettingResults) -> float | None:
    found = one.of(BASELINE).get("scalars") or {}
    head, encoder = (found.get(f"{name}_multiplications") for name in ("head", "encoder"))
    return None if head is None or encoder is None else float(head / (head + encoder))


def limits(settings: Sequence[SettingResults]) -> str:
    """What to bear in mind before the figures are used.

    Args:
        settings: Our results.

    Returns:
        A list in Markdown.
    """
    found = [f"- {one}" for one in (*_many(settings), *_traced(settings))]
    return "\n".join([*found, ALWAYS])


ALWAYS = """\
- **Entropies.** LE_m grows with the number of runs; arms with different numbers of runs are \
compared at the smaller one, and what the table says of an arm is for its own.
- **Shared draws.** An arm whose runs share a teacher or the first weights is conditional on that \
draw: its interval does not know the next one.
- **Where the arms come from.** The plain levers were chosen after a first try on CLINC150; \
MASSIVE had no part in that, so it is the fairer test of them.
- **One recipe.** Two data sets of short English requests, one encoder, one optimizer: another \
recipe may rank the arms otherwise. `seedproof compare` tells on yours."""


def _many(settings: Sequence[SettingResults]) -> Iterator[str]:
    counts = [len(one.others) for one in settings if one.others]
    if not counts:
        return
    told = listed([f"{len(one.others)} on {one.title}" for one in settings if one.others])
    chance = " Of so many, some look good by chance." if max(counts) >= MANY else ""
    yield (
        f"**{'Many' if chance else 'Several'} arms.** There are {told}.{chance} Where arms are "
        "picked by what they show, use the intervals that hold together for all of them; sentences "
        "about a question that was asked beforehand use those of the arm alone."
    )


def _traced(settings: Sequence[SettingResults]) -> Iterator[str]:
    for one in settings:
        counts = [count for arm in one.others if (count := one.n_traced(arm))]
        if not counts:
            continue
        other = [
            title_of(arm)
            for arm in one.others
            if one.wavering(arm) is not None and one.wavering_effect(arm) is None
        ]
        unseen = [title_of(arm) for arm in one.others if not one.n_traced(arm)]
        first = one.n_traced(BASELINE)
        followed = f"{first} runs of the control and up to {max(counts)} of each other arm"
        told = [f"**LE_s on {one.title}.** {followed} were followed over their steps: few."]
        if other:
            told.append(f"More or fewer steps, so that LE_s is not compared: {listed(other)}.")
        if unseen:
            told.append(f"Not followed: {listed(unseen)}.")
        yield " ".join(told)
