"""A folder of Markdown as pages."""

from pathlib import Path

from sakuin.knowledge.reading.page_reader import read_page
from sakuin_local.markdown import built_pages

ORDERS = """---
layout: page
---
# Orders & more

See [delivery](delivery.md#how-long) and [a site](https://example.com/x.md).

## 返品について

| within | cost |
|---|---|
| 14 days | none |
"""


def test_markdown_becomes_pages_with_ids_and_links_to_pages(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    (source / "shop").mkdir(parents=True)
    (source / "shop" / "orders.md").write_text(ORDERS, "utf-8")
    site = built_pages(source, tmp_path / "site")
    body = (site / "shop" / "orders.html").read_bytes()
    page = read_page(body)
    assert [one.anchor for one in page.explanations] == ["orders--more", "返品について"]
    assert (page.title, "14 days" in page.explanations[1].content) == ("Orders & more", True)
    assert b'href="delivery.html#how-long"' in body
    assert b'href="https://example.com/x.md"' in body


def test_a_page_whose_markdown_is_gone_is_gone(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("a", "b"):
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n\ntext", "utf-8")
    built_pages(tmp_path / "docs", tmp_path / "site")
    (tmp_path / "docs" / "b.md").unlink()
    assert [file.name for file in built_pages(tmp_path / "docs", tmp_path / "site").iterdir()] == ["a.html"]


def test_a_folder_of_built_pages_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<h1>a</h1>", "utf-8")
    assert built_pages(tmp_path, tmp_path / "site") == tmp_path
