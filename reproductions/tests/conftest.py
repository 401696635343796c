"""Settings for all tests of the reproductions."""

import gc

import pytest


def pytest_collection_finish():
    """What is imported by now is not looked through again by each garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Or DuckDB would complain, as the process ends, that its objects are left."""
    gc.unfreeze()


@pytest.fixture
def seedproof(monkeypatch, capfd, tmp_path):
    """The command line, in this process: exit code, standard output and standard error."""
    from seedproof.cli.main import main

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["seedproof", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return left.value.code or 0, out, err

    return call
