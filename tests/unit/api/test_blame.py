import pytest

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.testing.errors import WithFields


@pytest.mark.parametrize("options", [{"clusters": "document"}, {"slices": ["language"]}])
def test_clusters_and_slices_are_refused_by_name(options, tmp_path):
    with pytest.raises(OptionError, check=WithFields(option=next(iter(options)))):
        sp.blame(tmp_path, **options)
