import re
from xml.etree import ElementTree as ET

from seedproof_reproductions.findings2023.page.pareto import (
    BOTTOM,
    TOP,
    draw_pareto,
    front,
    points_of,
)

SPACE = "{http://www.w3.org/2000/svg}"


def words(image):
    """Everything that is written in an image."""
    return [one.text for one in ET.fromstring(image).iter(f"{SPACE}text")]  # noqa: S314 - our own


def test_a_point_is_where_an_arm_does_least_and_costs_most(settings, make_arm):
    """Over the data sets; its interval holds together with those of all arms."""
    settings[1].own["arms"]["heads-16"] = make_arm(0.3, training=1.2)

    point = next(one for one in points_of(settings) if one.arm == "heads-16")

    assert round(point.cost, 6) == 0.25
    assert (point.change, point.low, point.high) == (0.3 - 1, 0.3 - 0.08 - 1, 0.3 + 0.08 - 1)
    assert point.is_honest
    assert point.keeps_accuracy


def test_the_front_has_what_nobody_beats(settings):
    """What costs no more and cuts more; linear loses accuracy, and a shared teacher is no rival."""
    found = [one.arm for one in front(points_of(settings))]

    assert found == ["zero-last", "wide-decay-zero-smooth", "heads-16"]


def test_the_picture_is_the_same_each_time_and_names_what_matters(settings):
    """The front, the paper's methods and what is recommended; of all others a small mark."""
    points = points_of(settings)

    image = draw_pareto(points, "All < nothing", ["linear"])

    assert image == draw_pareto(points, "All < nothing", ["linear"])
    written = words(image)
    for name in ("16 heads", "zero last layer", "TGTSS (fresh teacher)", "SWA"):
        assert name in written
    assert "linear head + decay + zero last + 2× epochs" in written
    assert "ASWA (+100 %)" in written  # an arrow: the scale ends before
    assert "TGTSS without exponent (fresh)" not in written
    assert len(re.findall(r'r="2.1"', image)) == 1


def test_intervals_are_not_cut_by_the_edge(settings, make_arm):
    """One that ends at +40 % begins and ends inside the picture, with its mark in between."""
    for one in settings:
        one.own["arms"]["swa"] = make_arm(1.1, loose=0.3, group="paper")

    image = draw_pareto(points_of(settings), "t")

    bars = [(float(a), float(b)) for a, b in re.findall(r'd="M[\d.]+ ([\d.]+)V([\d.]+)"', image)]
    assert min(high for _, high in bars) > TOP
    assert max(low for low, _ in bars) < BOTTOM


def test_colors_follow_light_and_dark(settings):
    """No color is fixed, so that each is one of the two sets."""
    image = draw_pareto(points_of(settings), "t")

    assert "prefers-color-scheme: dark" in image
    assert set(re.findall(r'(?:fill|stroke)="(#\w+)"', image)) == set()


def test_arms_of_unknown_cost_are_left_out(settings):
    """Without costs on one data set there is no place for it."""
    settings[0].own["arms"]["heads-16"]["costs"] = None

    assert "heads-16" not in [one.arm for one in points_of(settings)]
    assert points_of([]) == ()


def test_one_arm_is_enough_for_a_picture(settings):
    """The only one, with a cut and no cost."""
    points = [one for one in points_of(settings) if one.arm == "zero-last"]

    assert "zero last layer" in words(draw_pareto(points, "t"))
