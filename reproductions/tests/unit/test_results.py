from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from seedproof.errors import OptionError, UnreadableError
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate
from seedproof.testing.errors import WithFields
from seedproof_reproductions import results
from seedproof_reproductions.conll2019 import results as conll2019
from seedproof_reproductions.conll2019.names import BLOCKS, CROSSED, EXPLAINED
from seedproof_reproductions.findings2023 import results as findings2023

RESULTS = conll2019.stored_results()[0]


def test_numbers_have_six_digits_and_effects_can_be_restored():
    """Counts stay integers; values that are not finite become None; an effect loses its note and power."""
    flips = Effect("flip_rate", "ratio", 0.5, 0.25, 0.75, "runs × examples", 1.5, "steadier")
    effects = {"flip_rate": flips, "mce": Effect("mce", "difference", 1 / 3, note="x")}

    plain = results.plain_effects(effects)
    figures = results.plain_figures({"a": Estimate(0.5, 0.4, 0.6, "runs"), "b": Estimate(0.5)})
    numbers = results.plain_array(np.array([[0.1, np.nan], [1 / 3, 1234567.0]]))

    assert numbers == [[0.1, None], [0.333333, 1234570.0]]
    assert all(isinstance(count, int) for count in results.plain_array(np.array([3, 4])))
    assert results.short(float("inf")) is results.short(None) is None
    assert figures == {"a": [0.5, 0.4, 0.6], "b": [0.5]}
    assert Effect("flip_rate", **plain["flip_rate"]) == replace(flips, detectable=None)
    assert Effect("mce", **plain["mce"]) == Effect("mce", "difference", 0.333333)


def test_written_results_are_read_by_name(tmp_path):
    """Other files are ignored; a missing folder is empty; results of other papers are refused."""
    for name in ("b", "a"):
        results.write_results(RESULTS | {"name": name}, tmp_path / "results")
    (tmp_path / "results" / "note.txt").write_text("no results")

    stored = conll2019.stored_results(tmp_path / "results")

    assert stored == [RESULTS | {"name": "a"}, RESULTS | {"name": "b"}]
    assert conll2019.stored_results(tmp_path / "none") == []
    for paper, version in (("conll2019", 1), ("findings2023", conll2019.FORMAT)):
        with pytest.raises(OptionError):
            results.read_results(paper, tmp_path / "results", version=version)


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[1]", b'{"paper": "conll2019"}'])
def test_file_without_results_is_refused_by_name(tmp_path, content):
    """Even if other files are valid."""
    results.write_results(RESULTS, tmp_path)
    (tmp_path / "package.json").write_bytes(content)
    with pytest.raises(UnreadableError, check=WithFields(file="package.json")):
        conll2019.stored_results(tmp_path)


@pytest.mark.parametrize(
    ("recipe", "derived"), [(conll2019, "min_count"), (findings2023, "learning_rate")]
)
def test_packaged_results_are_named_by_their_setting(recipe, derived):
    """Results of explained and crossed models, and of blocks, have a suffix."""
    stored = recipe.stored_results()

    assert stored
    for content in stored:
        given = {name: value for name, value in content["setting"].items() if name != derived}
        name = recipe.Setting(**given).name
        assert content["name"] in {name, *(name + end for end in (EXPLAINED, CROSSED, BLOCKS))}


def test_packaged_results_are_small():
    """At most 200 kB per setting, those of crossed and explained models included."""
    place = files("seedproof_reproductions")
    stored = [
        path
        for paper in ("conll2019", "findings2023", "thesis2019")
        for folder in place.joinpath(paper).iterdir()
        if folder.is_dir()
        for path in folder.iterdir()
        if path.name.endswith(".json")
    ]

    assert len(stored) > 20
    assert max(len(path.read_bytes()) for path in stored) < 200_000
