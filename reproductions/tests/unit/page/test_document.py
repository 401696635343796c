from seedproof_reproductions.page.document import Page, write_files


def test_images_are_in_a_folder_named_like_the_page(tmp_path):
    """The page first; what was there is replaced."""
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "a.svg").write_text("old", encoding="utf-8")

    written = write_files(Page("text\n", {"a.svg": "new", "b.svg": "b"}), tmp_path / "page.md")

    assert [path.name for path in written] == ["page.md", "a.svg", "b.svg"]
    assert (tmp_path / "page" / "a.svg").read_text(encoding="utf-8") == "new"
