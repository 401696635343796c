import pytest
from seedproof_reproductions.conll2019.settings import MIN_COUNTS
from seedproof_reproductions.datasets.catalog import LOADERS, load

from seedproof.errors import UnknownNameError


@pytest.mark.usefixtures("made_sst")
def test_a_data_set_has_the_name_it_is_loaded_by():
    """The name on the command line is the data set's own."""
    assert load("sst").name == "sst"


def test_an_unknown_name_lists_the_known_ones():
    """A typo is answered with what there is."""
    with pytest.raises(UnknownNameError, match="sst, imdb, agnews, snli, adr, diabetes, anemia"):
        load("sts")


def test_every_data_set_has_a_bound_for_rare_words():
    """The recipe knows what can be loaded, and nothing else."""
    assert set(LOADERS) == set(MIN_COUNTS)
