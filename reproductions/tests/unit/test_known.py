"""Errors about names that are not known."""

import pytest

from seedproof.errors import UnknownNameError
from seedproof_reproductions.known import check_known


@pytest.mark.parametrize(("name", "has_suggestion"), [("noen", True), ("xyz", False)])
def test_misspelled_name_is_answered_with_the_nearest(name, has_suggestion):
    with pytest.raises(UnknownNameError) as caught:
        check_known("arm", name, ["none", "aswa"])

    assert ("'none'" in caught.value.fields["meant"]) == has_suggestion
    assert caught.value.fields["known"] == ("none", "aswa")
