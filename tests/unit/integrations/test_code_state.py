"""The state of the code changes with everything that Git sees, and with nothing else."""

import shutil
import subprocess

import pytest

from seedproof.integrations.code_state import code_state

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder, *arguments):
    """Run Git with an author of its own."""
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)  # noqa: S607 - whichever git there is


@pytest.fixture
def project(tmp_path):
    """Return a repository with one committed file."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "code.py").write_text("x = 1\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def state(folder):
    """Return the state without a file of records."""
    return code_state(folder, leave_out=[folder / ".seedproof" / "accepted.json"])


@pytest.mark.parametrize("name", ["code.py", "new.py"])
def test_edits_and_new_files_change_the_state(project, name):
    before = state(project)

    (project / name).write_text("x = 2\n")

    assert before is not None
    assert state(project) != before


def test_edit_that_is_undone_restores_the_state(project):
    before = state(project)
    (project / "code.py").write_text("x = 2\n")

    (project / "code.py").write_text("x = 1\n")

    assert state(project) == before


def test_staged_edits_change_the_state(project):
    before = state(project)
    (project / "code.py").write_text("x = 2\n")

    git(project, "add", ".")

    assert state(project) != before


def test_commits_without_changes_keep_the_state(project):
    before = state(project)

    git(project, "commit", "--quiet", "--allow-empty", "-m", "second")

    assert state(project) == before


@pytest.mark.parametrize("name", ["a.log", ".seedproof/accepted.json", "__pycache__/code.pyc"])
def test_records_bytecode_and_ignored_files_keep_the_state(project, name):
    before = state(project)

    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("x")

    assert state(project) == before


def test_other_files_next_to_records_change_the_state(project):
    (project / ".seedproof").mkdir()
    before = state(project)

    (project / ".seedproof" / "test_code.py").write_text("x = 1\n")

    assert state(project) != before


def test_folder_of_the_repository_sees_all_of_it(project):
    (project / "tests").mkdir()
    before = state(project / "tests")

    (project / "code.py").write_text("x = 2\n")

    assert state(project / "tests") != before


def test_installed_packages_change_the_state(project, tmp_path_factory, monkeypatch):
    before = state(project)
    packages = tmp_path_factory.mktemp("packages")
    (packages / "model-2.0.dist-info").mkdir()

    monkeypatch.syspath_prepend(packages)

    assert state(project) != before


def test_ignored_folder_has_no_state(project):
    (project / "out.log").mkdir()

    assert code_state(project / "out.log") is None
