"""Findings as data: codes, fields and text."""

import json

from seedproof.doctor.finding import CHECKS, Finding, Phrases, details
from seedproof.messages import Message

CALL = Message("seed-call", "{place} calls {function}", place="train.py:3", function="random.seed")


def test_phrases_are_joined():
    """Without parts, they are empty and false."""
    phrases = Phrases((CALL, CALL), "; ")

    assert phrases
    assert str(phrases) == f"{CALL}; {CALL}"
    assert (str(Phrases(())), bool(Phrases(()))) == ("", False)


def test_details_are_codes_and_fields_at_any_depth():
    """Also of messages inside of messages, and of names."""
    message = Message(
        "constant-seeds", "{calls} in {files}", calls=Phrases((CALL,)), files=("a.py", "b.py")
    )

    assert details(message) == {
        "code": "constant-seeds",
        "calls": [{"code": "seed-call", "place": "train.py:3", "function": "random.seed"}],
        "files": ["a.py", "b.py"],
    }
    assert details(None) is None


def test_finding_is_valid_json_with_texts_and_details():
    """A text is empty if there is nothing to say."""
    code = next(iter(CHECKS))
    finding = Finding(code, "warn", CALL, cause=Message("unknown", "unknown"))

    plain = json.loads(json.dumps(finding.as_json()))

    assert (plain["code"], plain["check"], plain["verdict"]) == (code, CHECKS[code], "warn")
    assert (plain["found"], plain["cause"], plain["fix"]) == (str(CALL), "unknown", "")
    assert plain["details"]["found"]["place"] == "train.py:3"
    assert (plain["details"]["cause"], plain["details"]["fix"]) == ({"code": "unknown"}, None)
