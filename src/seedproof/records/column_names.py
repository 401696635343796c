"""Names that people give their columns, and what they mean by them."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from seedproof.messages import Message

# Usual names by role, the likeliest first.
SYNONYMS = {
    "run": ("run", "run_id", "run_name", "seed", "random_seed", "trial", "repeat", "fold", "model"),
    "example": (
        "example",
        "id",
        "example_id",
        "sample_id",
        "sample",
        "uid",
        "guid",
        "qid",
        "doc_id",
        "item",
        "item_id",
        "idx",
        "index",
        "utterance",
        "text_id",
        "row",
    ),
    "label": ("label", "labels", "gold", "gold_label", "target", "truth", "y_true", "true", "y"),
    "prediction": (
        "prediction",
        "predictions",
        "pred",
        "predicted",
        "predicted_label",
        "y_pred",
        "yhat",
        "answer",
        "output",
        "guess",
    ),
}
PROBABILITY = re.compile(
    r"^(p|prob|probs|proba|probability|softmax|score|conf)[_ .:-]?$", re.IGNORECASE
)
# What columns that are one run each are called before and after their number.
RUN_LIKE = re.compile(
    r"^((pred|preds|prediction|predictions|answer|output)[_ .-]?)?"
    r"(seed|run|model|fold|trial|rep|repeat|replicate|init|s|r|m)?[_ .-]?$",
    re.IGNORECASE,
)
ANSWER_LIKE = re.compile(
    r"^([_ .-]?(pred|preds|prediction|predictions|answer|output|class))?$", re.IGNORECASE
)
# A name with a number at its end, or a number between separators: seed_3, run-3, seed3_pred.
NUMBERED = re.compile(r"^(?P<prefix>.*?)(?P<number>\d+)(?P<suffix>\D*)$")


def wide_family(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that are one run each: at least two that differ in their number alone.

    Their names must say that they are runs, such as seed_0 or run3_pred: annotator_1 and
    feature_2 are not taken for one.

    Examples:
        >>> wide_family(["text", "seed_0", "seed_1", "seed_10"])
        ('seed_0', 'seed_1', 'seed_10')
        >>> wide_family(["text", "annotator_1", "annotator_2"])
        ()
    """
    known = {*SYNONYMS["prediction"], *SYNONYMS["run"]}
    if any(name.lower() in known for name in names):
        return ()
    families = [
        found
        for (prefix, suffix), found in _families(names).items()
        if RUN_LIKE.match(prefix) and ANSWER_LIKE.match(suffix)
    ]
    return tuple(families[0]) if len(families) == 1 else ()


def _families(names: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Columns that differ in their number alone, by what is before and after it."""
    families: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if match := NUMBERED.match(name):
            families.setdefault((match["prefix"], match["suffix"]), []).append(name)
    return {
        (prefix, suffix): found
        for (prefix, suffix), found in families.items()
        if len(found) > 1 and not PROBABILITY.match(prefix)
    }


def suggested(names: Sequence[str], given: Mapping[str, str]) -> dict[str, str] | None:
    """Names for the roles that a table's columns most likely have.

    Names by role, only where they are not the usual ones; None if the table does not show what its
    columns are.
    """
    free = list(names)
    found: dict[str, str] = {}
    for role in ("example", "run", "label", "prediction"):
        name = _named(role, given.get(role), free)
        if name is not None:
            found[role] = name
            free.remove(name)
    if "example" not in found:
        return None
    prefix = _prefix(free, given.get("probs", "p_"))
    if prefix is not None:
        found.pop("prediction", None)
        found["probs"] = prefix
    elif "prediction" not in found:
        families = list(_families(free).items())
        if len(families) != 1 or "run" in found:
            return None
        (prefix, _), family = families[0]
        is_exact = [name for name in names if name.startswith(prefix)] == family
        found["wide"] = prefix if is_exact and prefix else ",".join(family)
    usual = {"probs": "p_", "wide": "", **{role: role for role in SYNONYMS}}
    return {role: name for role, name in found.items() if name != usual[role]}


def advice(suggestion: Mapping[str, str] | None, options: str) -> Message:
    """What to do about a wrong name of a column: the call that works, if the table shows it."""
    if suggestion is None:
        return Message(
            "name-columns",
            "Name yours with {options}, or in Python with columns=sp.Columns(…).",
            options=options,
        )
    if not suggestion:
        return Message("columns-usual", "It has the usual names: leave `columns` out.")
    names = ", ".join(f"{role}={name!r}" for role, name in suggestion.items())
    return Message("columns-suggested", "Try columns=sp.Columns({names}).", names=names)


def _named(role: str, wrong: str | None, free: Sequence[str]) -> str | None:
    """The column that most likely has a role."""
    by_lower = {name.lower().replace(" ", "_").replace("-", "_"): name for name in free}
    if wrong is not None and wrong in free:
        return wrong
    for word in (*(() if wrong is None else (wrong.lower(),)), *SYNONYMS[role]):
        if word in by_lower:
            return by_lower[word]
    wanted = [wrong.lower()] if wrong is not None else []
    close = get_close_matches((wanted or [role])[0], list(by_lower), n=1, cutoff=0.75)
    return by_lower[close[0]] if close else None


def _prefix(free: Sequence[str], usual: str) -> str | None:
    """The prefix of probability columns among some."""
    if sum(name.startswith(usual) and name != usual for name in free) > 1:
        return usual
    prefixes: dict[str, int] = {}
    for name in free:
        match = re.match(r"^(.*?[_ .:-])[^_ .:-]+$", name)
        if match and PROBABILITY.match(match[1]):
            prefixes[match[1]] = prefixes.get(match[1], 0) + 1
    several = [prefix for prefix, count in prefixes.items() if count > 1]
    return several[0] if len(several) == 1 else None
