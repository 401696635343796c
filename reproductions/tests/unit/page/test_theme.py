from seedproof_reproductions.page.theme import DARK, LIGHT, STYLE


def test_light_and_dark_have_the_same_colors():
    """One that is missing would be black on black."""
    assert set(LIGHT) == set(DARK)
    assert STYLE.count("--ink:") == 2
