"""Levels of repetition of numbers: runs, trials of each run, judges of each trial."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from seedproof.errors import DuplicateExampleError, MissingExampleError, OptionError
from seedproof.records.answer_settings import JUDGE, TRIAL, AnswerSettings, Levels
from seedproof.records.schema import ITEMS, Kind
from seedproof.records.shards import natural_order

if TYPE_CHECKING:
    from seedproof.records.manifest import RunManifest

# All levels, the outermost first.
LEVELS = ("run", TRIAL, JUDGE)

# Between the names of the levels in a text that DuckDB joins.
SEPARATOR = "\x1f"

# Name of a repeat at each level, such as ("seed 3", "1") for a trial of a run.
Repeat: TypeAlias = tuple[str, ...]


def split_repeats(
    texts: Sequence[str], names: Sequence[str]
) -> tuple[list[str], dict[str, Repeat]]:
    """Return the levels at which repeats differ, and in order each repeat by its joined text.

    A level with a single name is left out: a table that has its only model in a column `run` has
    trials, not runs. So does one with a single trial of a single model.
    """
    repeats = [tuple(text.split(SEPARATOR, len(names) - 1)) for text in texts]
    differs = [len(set(members)) > 1 for members in zip(*repeats, strict=True)]
    kept = [place for place, is_kept in enumerate(differs) if is_kept]
    kept = kept or [names.index(TRIAL) if TRIAL in names else 0]
    by_repeat = {
        tuple(repeat[place] for place in kept): text
        for repeat, text in zip(repeats, texts, strict=True)
    }
    ordered = {by_repeat[repeat]: repeat for repeat in in_order(list(by_repeat))}
    return [names[place] for place in kept], ordered


def in_order(repeats: Sequence[Repeat]) -> list[Repeat]:
    """Return repeats in natural order, by the outermost level first.

    >>> in_order([("b", "10"), ("b", "9"), ("a", "10")])
    [('a', '10'), ('b', '9'), ('b', '10')]
    """
    ranks = [
        {name: rank for rank, name in enumerate(natural_order(list(dict.fromkeys(names))))}
        for names in zip(*repeats, strict=True)
    ]

    def place(repeat: Repeat) -> list[int]:
        return [rank[name] for rank, name in zip(ranks, repeat, strict=True)]

    return sorted(repeats, key=place)


def settings_of(names: Sequence[str], repeats: Sequence[Repeat]) -> AnswerSettings:
    """Return settings that say what repeats, given the names of the levels and ordered repeats.

    A single run with several trials is one model with trials.

    >>> settings_of(
    ...     ["trial", "judge"], [("0", "a"), ("0", "b"), ("1", "a"), ("1", "b")]
    ... ).levels
    Levels(names=('trial', 'judge'), codes=((0, 0, 1, 1), (0, 1, 0, 1)))
    """
    if len(names) > 1 and names[0] == "run" and len({repeat[0] for repeat in repeats}) == 1:
        names, repeats = names[1:], [repeat[1:] for repeat in repeats]
    are_trials = bool(names) and "run" not in names
    if len(names) < 2:
        return AnswerSettings(are_trials=are_trials)
    codes = tuple(_codes(names, repeats, depth) for depth in range(len(names)))
    # Judges with the same names in every answer are the same people or models: they are not drawn
    # anew with each answer, so that more answers do not average out how strict they are.
    judges = tuple(dict.fromkeys(repeat[-1] for repeat in repeats)) if names[-1] == JUDGE else ()
    if len(judges) != max(codes[-1]) + 1:
        judges = ()
    return AnswerSettings(are_trials=are_trials, levels=Levels(tuple(names), codes, judges))


def number_settings_of(names: Sequence[str], repeats: Sequence[Repeat]) -> AnswerSettings:
    """Return settings of numbers: repeats that are judges alone are judges of one trial.

    >>> number_settings_of(["judge"], [("Ann",), ("Bob",)]).levels
    Levels(names=('trial', 'judge'), codes=((0, 0), (0, 1)), judges=('Ann', 'Bob'))
    """
    if list(names) == [JUDGE] and len(repeats) > 1:
        return settings_of([TRIAL, JUDGE], [("0", judge) for (judge,) in repeats])
    return settings_of(names, repeats)


def recorded_settings(runs: Sequence["RunManifest"], kind: Kind) -> AnswerSettings:
    """Return settings that say what repeats, from the facts of each run of a store."""
    recorded = [run.facts.get("levels", {}) for run in runs]
    names = [level for level in LEVELS if all(level in of_run for of_run in recorded)]
    settings = number_settings_of if kind is Kind.NUMBERS else settings_of
    return settings(names, [tuple(of_run[name] for name in names) for of_run in recorded])


def refuse_levels_of_items(kind: Kind, settings: AnswerSettings) -> None:
    """Raise an error for lists or sets with two levels of repetition.

    Trials of one run are not runs of their own: counted as such, they would make intervals over
    runs too narrow.
    """
    if kind in ITEMS and settings.levels is not None:
        outer, inner = settings.levels.names[:2]
        raise OptionError(
            "The {kind} have both {outer}s and {inner}s of each {outer}, and {kind} are measured "
            "at one level. Keep the rows of one {inner} per {outer}, such as the first, or those "
            "of one {outer} with all its {inner}s.",
            option=inner,
            kind=str(kind),
            outer=outer,
            inner=inner,
        )


def refuse_unequal(settings: AnswerSettings, figures: str) -> None:
    """Raise an error if examples have different numbers of trials, for what needs the same."""
    if settings.are_unequal:
        raise OptionError(
            "The examples have different numbers of trials. {figures} of the same number for "
            "all: keep the first ones of each example, or run the missing ones.",
            option="trial",
            figures=figures,
        )


@contextmanager
def explaining_trials_of_classes(column: str, *, is_varying: bool) -> Iterator[None]:
    """Name the trials of a run where classes have them, and so appear to repeat examples.

    `column` is that of the trials, and `is_varying` whether rows of an example differ in it.
    """
    try:
        yield
    except DuplicateExampleError as error:
        if not is_varying:
            raise
        raise OptionError(
            "A run has several rows per example, which differ in the column {column!r}: classes "
            "with trials inside of runs are not supported. Keep the rows of one trial per run; "
            "or keep one run, and name its trials as runs: --run {column}.",
            option="trial",
            column=column,
        ) from error


def _codes(names: Sequence[str], repeats: Sequence[Repeat], depth: int) -> tuple[int, ...]:
    """Return the place of each repeat at one level, inside the level above."""
    members: dict[Repeat, dict[str, int]] = {}
    for repeat in repeats:
        inside = members.setdefault(repeat[:depth], {})
        inside.setdefault(repeat[depth], len(inside))
    _check_complete(names, members, depth)
    return tuple(members[repeat[:depth]][repeat[depth]] for repeat in repeats)


def _check_complete(
    names: Sequence[str], members: Mapping[Repeat, Mapping[str, int]], depth: int
) -> None:
    """Raise an error unless the level above always has the same or equally many members."""
    known = {name for inside in members.values() for name in inside}
    sizes = [len(inside) for inside in members.values()]
    are_different = sum(sizes) == len(known)  # named anew inside each
    if set(sizes) == {max(sizes) if are_different else len(known)}:
        return
    above, inside = min(members.items(), key=lambda item: len(item[1]))
    missing = None if are_different else natural_order(list(known - inside.keys()))[0]
    raise MissingExampleError(
        "There are {n_members} {level}s in {above}, and {n_needed} in others{such_as}. Fill them "
        "in, or leave incomplete ones out.",
        n_members=len(inside),
        level=names[depth],
        above=", ".join(f"{level} {name!r}" for level, name in zip(names, above, strict=False)),
        n_needed=max(sizes) if are_different else len(known),
        missing=missing,
        such_as="" if missing is None else f", such as {missing!r}",
    )
