"""Every template has a value for each of its fields, and every value in a text is a field.

Errors and notes are rendered only when read, so a missing field would surface late.
"""

import ast
from pathlib import Path
from string import Formatter

import pytest

import seedproof
from seedproof import errors

SOURCE = Path(seedproof.__file__).parent
REPRODUCTIONS = Path(__file__).parents[2] / "reproductions" / "src"
FILES = sorted([*SOURCE.rglob("*.py"), *REPRODUCTIONS.rglob("*.py")])
# How many positional arguments come before the template.
PLACES = {"Message": 1} | {
    name: 0
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.SeedproofError)
}
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-3:]))


def calls(source):
    """Yield each call of an error or a message, with its template."""
    tree = ast.parse(source)
    sentences = listed(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
            if name in PLACES and len(node.args) > PLACES[name]:
                yield node, node.args[PLACES[name]]
            elif name == "_say":
                yield from ((node, sentences[code]) for code in codes(node.args[0]))


def listed(tree):
    """Return the templates of `SENTENCES`, by their codes."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "SENTENCES":
            pairs = zip(node.value.keys, node.value.values, strict=True)
            return {key.value: value for key, value in pairs}
    return {}


def codes(node):
    """Return the literal codes: one, or the two of a conditional."""
    match node:
        case ast.Constant(value=code):
            return [code]
        case ast.IfExp(body=body, orelse=orelse):
            return codes(body) + codes(orelse)
    return []


def written(node):
    """Return the literal parts of a text; "" for everything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(written, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return written(left) + written(right)
        case ast.IfExp(body=body, orelse=orelse):
            return written(body) + written(orelse)
    return ""


def without_field(template, fields):
    """Yield placeholders that are not a plain name, or have no field of that name."""
    for _, name, spec, _ in Formatter().parse(template):
        if name is not None and (not name.isidentifier() or name not in fields or "{" in spec):
            yield name


def problems(source):
    """Yield line and placeholder of each template that cannot be rendered with its fields."""
    for call, template in calls(source):
        fields = {keyword.arg for keyword in call.keywords}
        is_listed = getattr(call.func, "id", "") == "_say"
        # Without fields the template is the text; what ** brings shows when it runs.
        if (fields or is_listed) and None not in fields:
            names = without_field(written(template), fields)
            yield from ((call.lineno, name) for name in names)
        if call.args[-1] is not template and not is_listed:
            yield call.lineno, ast.unparse(call.args[-1])


def f_strings(source):
    """Yield line and text of each message whose values are in its text but in no field.

    Phrases may be inserted into a template that has fields: they are literal, too.
    """
    for call, template in calls(source):
        if isinstance(template, ast.JoinedStr) and not call.keywords:
            yield call.lineno, ast.unparse(template)


@pytest.mark.parametrize(
    "source",
    [
        'raise OptionError("No arm {arm!r}. Known: {known}.", arm=arm)',
        'raise errors.OptionError("{arm.name} is not an arm.", arm=arm)',
        'raise OptionError("{arms[0]} is not an arm.", arms=arms)',
        'raise OptionError("{} is not an arm.", arm=arm)',
        'raise OptionError("{n:{width}} runs.", n=n)',
        'raise OptionError("No arm {arm!r}.", arm)',
        'raise OptionError("No arm {arm!r}." + advice, name=arm)',
        'raise OptionError("No {arm}." if is_one else "No {arms}.", arm=arm)',
        'Message("no-arm", "No arm {arm!r}.", name=arm)',
        'SENTENCES = {"no-arm": "No arm {arm!r}."}\n_say("no-arm", name=arm)',
        'SENTENCES = {"one": "One.", "arm": "No {arm!r}."}\n_say("one" if x else "arm", name=arm)',
    ],
)
def test_placeholder_without_field_is_detected(source):
    assert len(list(problems(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        'raise OptionError("No arm {arm!r}, {n:,} runs.", arm=arm, n=n, path=path)',
        'raise OptionError("Write {{{arm}: 1}}.", arm=arm)',
        'raise OptionError("Write max={flip_rate: 1}.")',  # no fields: braces mean nothing
        'raise OptionError("No arm {arm!r}.", **fields)',
        'raise OptionError(f"No arm {{arm!r}}{advice}.", arm=arm)',
        "raise OptionError(template, arm=arm)",
        "raise OptionError",
        'Message("no-arm", "No arm {arm!r}.", arm=arm)',
    ],
)
def test_complete_template_is_accepted(source):
    """Further fields are allowed."""
    assert list(problems(source)) == []
    assert list(f_strings(source)) == []


@pytest.mark.parametrize(
    "source",
    [
        'raise OptionError(f"No arm {arm!r}.")',
        'Message("no-arm", f"No arm {arm!r}.")',
    ],
)
def test_f_string_is_detected(source):
    assert len(list(f_strings(source))) == 1


def test_search_covers_hundreds_of_calls():
    assert len(PLACES) > 25
    assert sum(len(list(calls(path.read_text("utf-8")))) for path in FILES) > 300


@each_file
def test_all_placeholders_have_fields(path):
    assert [f"{line}: {text}" for line, text in problems(path.read_text("utf-8"))] == []


@each_file
def test_no_value_is_in_the_text_only(path):
    assert [f"{line}: {text}" for line, text in f_strings(path.read_text("utf-8"))] == []
