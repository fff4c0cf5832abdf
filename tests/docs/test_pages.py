"""Every page can be found: design notes in their index, pages in the site's contents, pictures (PNG) in the gallery."""

import pathlib
import re

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def links(page: pathlib.Path) -> set[str]:
    return set(re.findall(r"\]\(([^)#]+?)\)", page.read_text(encoding="utf-8")))


def test_design_notes_are_in_their_index():
    notes = {path.name for path in (DOCS / "design").glob("*.md")} - {"README.md"}
    assert notes <= links(DOCS / "design/README.md")


def test_pages_are_in_the_contents_of_the_site():
    contents = re.findall(r"```\{toctree\}(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.S)
    named = {line.strip() for block in contents for line in block.splitlines()}
    assert {path.stem for path in DOCS.glob("*.md")} - {"index"} <= named


def test_pictures_are_in_the_gallery_and_say_who_makes_them():
    gallery = DOCS / "gallery.md"
    for picture in (DOCS / "images").glob("*.png"):
        assert f"images/{picture.name}" in links(gallery)
        assert f"../examples/python/{picture.stem}.py" in links(gallery)
        assert picture.stat().st_size < 700_000, "a page is loaded over the net"


def test_links_between_pages_lead_somewhere():
    for page in [*DOCS.glob("*.md"), *DOCS.glob("design/*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]:
        for link in links(page):
            if "://" in link or link.startswith("reference/"):  # the reference is made with the site
                continue
            assert (page.parent / link).exists(), f"{page}: {link}"
