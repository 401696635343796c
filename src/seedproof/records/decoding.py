"""Decode JSON from untrusted files: with limits, and into dataclasses by their annotations.

Everything that seedproof reads as JSON is read here. An error names the field that is wrong:
`plan.seeds.levels.init: expected int, got str`.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from seedproof.errors import SeedproofError
from seedproof.records.location import Location, is_unicode

MAX_BYTES = 2**26
# Of all levels together; a text of brackets and commas would take twenty times its size.
MAX_VALUES = 2**22
MAX_DEPTH = 32
# Logs of other tools are larger and deeper than anything of our own: an evaluation of an agent has
# every message of every sample.
LOG_BYTES, LOG_VALUES, LOG_DEPTH = 2**29, 2**25, 128
# Beyond every seed, count and time, and still a number for float.
MAX_INTEGER = 2**128
# Escaped half of a character; whole characters above U+FFFF have two.
SURROGATE = b"\\ud"
# Characters of a wrong value that a message shows.
MAX_SHOWN = 40
TYPE_NAMES = {dict: "object", NoneType: "null"}

_T = TypeVar("_T")
_Decoder = Callable[[Any], Any]


class DecodingError(ValueError):
    """Content that a format does not allow; readers add the file and what to do.

    Args:
        problem: The problem, such as "expected int, got str".
        field: Where it is, such as "plan.arms[2]"; empty for the whole content.
    """

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.problem = problem
        self.field = field

    def below(self, name: str) -> "DecodingError":
        """Return the same error with the field as seen from one level above."""
        name = name[:MAX_SHOWN]
        separator = "." if name and self.field and not self.field.startswith("[") else ""
        return DecodingError(self.problem, f"{name}{separator}{self.field}")


def read_json(place: Location, *, is_own: bool = False) -> Any:  # noqa: ANN401 - plain data
    """Return the content of a JSON file as plain data; one of this command may have any size."""
    with place.open_read() as file:
        if not is_own and file.size() > MAX_BYTES:
            raise _too_large(MAX_BYTES, MAX_VALUES)
        content = bytes(file.read())
    return parse_json(content, is_own=is_own)


def parse_json(content: bytes, *, is_own: bool = False, allow_nan: bool = False) -> Any:  # noqa: ANN401 - plain data
    """Return JSON as plain data: not too large or deep, and without NaN or repeated keys.

    Tables of other tools may have NaN.
    """
    n_bytes, n_values = (math.inf, math.inf) if is_own else (MAX_BYTES, MAX_VALUES)
    return _parsed(content, n_bytes, n_values, MAX_DEPTH, allow_nan=allow_nan)


def parse_log(content: bytes) -> Any:  # noqa: ANN401 - plain data
    """Return the JSON of another tool's log as plain data; it may be large and have NaN."""
    return _parsed(content, LOG_BYTES, LOG_VALUES, LOG_DEPTH, allow_nan=True)


def parse_log_object(content: bytes) -> dict[str, Any]:
    """Return the JSON object of another tool's log."""
    value = parse_log(content)
    if not isinstance(value, dict):
        raise _mismatch("object", value)
    return value


def _parsed(
    content: bytes, max_bytes: float, max_values: float, max_depth: int, *, allow_nan: bool
) -> Any:  # noqa: ANN401 - plain data
    n_containers = content.count(b"[") + content.count(b"{")
    n_values = n_containers + content.count(b",")
    if len(content) > max_bytes or n_values > max_values:
        raise _too_large(max_bytes, max_values)
    try:
        text = content.decode()
        constant = float if allow_nan else _refuse_constant
        value = json.loads(text, object_pairs_hook=_object, parse_constant=constant)
    except RecursionError:
        raise _too_deep(max_depth) from None
    except DecodingError:
        raise
    except ValueError as error:
        raise DecodingError(f"not JSON ({str(error)[: 2 * MAX_SHOWN]})") from error
    if n_containers > max_depth or SURROGATE in content.lower():
        _check_nesting(value, max_depth)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise DecodingError(f"the key {_shown(name)} occurs twice")
        content[name] = value
    return content


def _refuse_constant(text: str) -> None:
    raise DecodingError(f"{text} is not a number")


def _check_nesting(value: object, max_depth: int) -> None:
    """Refuse deep nesting, and texts that cannot be encoded."""
    level, depth = [value], 0
    while level:
        if depth > max_depth:
            raise _too_deep(max_depth)
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                below += item
                below += item.values()
            elif isinstance(item, list):
                below += item
            elif isinstance(item, str) and not item.isascii() and not is_unicode(item):
                raise DecodingError(f"the text {_shown(item)} is not valid Unicode")
        level, depth = below, depth + 1


def _too_large(max_bytes: float, max_values: float) -> DecodingError:
    return DecodingError(f"more than {max_bytes:,} bytes or {max_values:,} values")


def _too_deep(max_depth: int) -> DecodingError:
    return DecodingError(f"nested more than {max_depth} levels deep")


def decode(kind: type[_T], value: object, *, field: str = "", allow_unknown: bool = False) -> _T:
    """Return plain data as a dataclass or named tuple, by the annotations of its fields.

    Args:
        kind: The class.
        value: Plain data, such as `parse_json` returns.
        field: Where the value is, for errors.
        allow_unknown: Whether objects may have keys that are not fields; they are ignored.

    Returns:
        An instance, with tuples for sequences.

    Raises:
        DecodingError: A field is missing, unknown or has another type, or the class refuses it.
    """
    key: Any = kind
    try:
        decoded: _T = _decoder(key, allow_unknown)(value)
    except DecodingError as error:
        raise error.below(field) from error.__cause__
    return decoded


@cache
def _decoder(kind: Any, allow_unknown: bool) -> _Decoder:  # noqa: ANN401, FBT001 - a type, cached
    """Return the function that decodes values of a type."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if get_origin(kind) is None:
        return _class_decoder(kind, allow_unknown=allow_unknown)

    def inner(item: object) -> _Decoder:
        return _decoder(item, allow_unknown)

    return _generic_decoder(get_origin(kind), get_args(kind), inner)


def _generic_decoder(
    origin: object, items: tuple[Any, ...], inner: Callable[[object], _Decoder]
) -> _Decoder:
    """Return the decoder of a type such as `Mapping[str, int]` or `float | None`."""
    if origin is Literal:
        return _choice({option: option for option in items})
    if origin in {Union, UnionType}:
        return _either(items, inner)
    if origin in {dict, Mapping}:
        return _mapping(inner(items[1]))
    if origin is list:
        return _list(list, repeat(inner(items[0])))
    if origin is Sequence or items[1:] == (Ellipsis,):
        return _list(tuple, repeat(inner(items[0])))
    return _list(tuple, [inner(item) for item in items], least=len(items), most=len(items))


def _class_decoder(kind: Any, *, allow_unknown: bool) -> _Decoder:  # noqa: ANN401 - a class
    """Return the decoder of an enumeration, a dataclass or a named tuple."""
    if issubclass(kind, Enum):
        return _choice({option.value: option for option in kind})
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        required = {
            field.name: field.default is MISSING and field.default_factory is MISSING
            for field in fields(kind)
        }
        decoders = {name: _decoder(hints[name], allow_unknown) for name in required}
        return _instance(kind, decoders, required, allow_unknown=allow_unknown)
    if hasattr(kind, "_fields"):
        row = [_decoder(hints[name], allow_unknown) for name in kind._fields]
        least = len(row) - len(kind._field_defaults)
        return _list(lambda values: kind(*values), row, least=least, most=len(row))
    return _unreadable


def _unknown(value: object) -> object:
    raise DecodingError(f"unknown key, with the value {_shown(value)}")


def _unreadable(value: object) -> object:
    raise DecodingError(f"cannot be read from JSON, got {_shown(value)}")


def _text(value: object) -> str:
    if type(value) is not str:
        raise _mismatch("str", value)
    return value


def _truth(value: object) -> bool:
    if type(value) is not bool:
        raise _mismatch("bool", value)
    return value


def _integer(value: object) -> int:
    if type(value) is not int:
        raise _mismatch("int", value)
    if abs(value) >= MAX_INTEGER:
        raise DecodingError("the number is too large")
    return value


def _number(value: object) -> float:
    if type(value) is int:
        return _integer(value)  # as it was written
    if type(value) is not float:
        raise _mismatch("float", value)
    if not math.isfinite(value):
        raise DecodingError("the number is too large")
    return value


_SCALARS: dict[Any, _Decoder] = {
    Any: lambda value: value,
    str: _text,
    bool: _truth,
    int: _integer,
    float: _number,
}


def _either(items: Sequence[Any], inner: Callable[[object], _Decoder]) -> _Decoder:
    """Return the decoder of an optional type, or of one of several scalars, as in `str | int`."""
    kinds = [kind for kind in items if kind is not NoneType]
    decoders = {kind: inner(kind) for kind in kinds}
    names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)

    def decode_either(value: object) -> object:
        if value is None and NoneType in items:
            return None
        if len(kinds) == 1:
            return decoders[kinds[0]](value)
        if type(value) not in decoders:
            raise _mismatch(names, value)
        return decoders[type(value)](value)

    return decode_either


def _choice(options: dict[Any, Any]) -> _Decoder:
    known = ", ".join(map(repr, options))

    def decode_choice(value: object) -> object:
        if not isinstance(value, str | int) or value not in options:
            raise DecodingError(f"expected one of {known}, got {_shown(value)}")
        return options[value]

    return decode_choice


def _mapping(item: _Decoder) -> _Decoder:
    def decode_mapping(value: object) -> object:
        if not isinstance(value, dict):
            raise _mismatch("object", value)
        name, parts = "", {}
        try:
            for name, part in value.items():
                parts[name] = item(part)
        except DecodingError as error:
            raise error.below(name) from error.__cause__
        return parts

    return decode_mapping


def _list(
    build: Callable[[list[Any]], Any],
    decoders: Iterable[_Decoder],
    *,
    least: int = 0,
    most: float = math.inf,
) -> _Decoder:
    """Return the decoder of a list, with a decoder per position."""

    def decode_list(value: object) -> object:
        if not isinstance(value, list):
            raise _mismatch("list", value)
        if not least <= len(value) <= most:
            raise DecodingError(f"expected {most} values, got {len(value)}")
        parts: list[Any] = []
        try:
            for decoder, part in zip(decoders, value, strict=False):
                parts.append(decoder(part))
        except DecodingError as error:
            raise error.below(f"[{len(parts)}]") from error.__cause__
        return build(parts)

    return decode_list


def _instance(
    kind: Any,  # noqa: ANN401 - a class
    decoders: Mapping[str, _Decoder],
    required: Mapping[str, bool],
    *,
    allow_unknown: bool,
) -> _Decoder:
    """Return the decoder of a dataclass."""

    def decode_instance(value: object) -> object:
        if not isinstance(value, dict):
            raise _mismatch("object", value)
        for name in required:
            if required[name] and name not in value:
                raise DecodingError("missing", name)
        name, parts = "", {}
        try:
            for name, part in value.items():
                if name in decoders or not allow_unknown:
                    parts[name] = decoders.get(name, _unknown)(part)
        except DecodingError as error:
            raise error.below(name) from error.__cause__
        try:
            return kind(**parts)
        except (ValueError, SeedproofError) as error:  # of `__post_init__`
            raise DecodingError(str(error).rstrip(".")) from error

    return decode_instance


def _mismatch(expected: str, value: object) -> DecodingError:
    kind = type(value)
    return DecodingError(f"expected {expected}, got {TYPE_NAMES.get(kind, kind.__name__)}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
