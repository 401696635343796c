from seedproof.papers.page.versions import shared_versions


def test_versions_that_differ_are_left_out():
    """Also one that a setting does not know."""
    first = {"versions": {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6"}}
    second = {"versions": {"python": "3.11.7", "torch": "2.12.0"}}

    assert shared_versions([first, second]) == {"python": "3.11.7"}
