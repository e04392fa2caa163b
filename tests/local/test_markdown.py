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


WRITTEN = r"""# 公式 {#formula}

解は $x_1=\frac{-b}{2a}$ と $\{x_2\}$ で、 $5 and $6 は値段。[^1]

## Tips { #tips .wide }

!!! tip "Quick"
    Divide *first*.

> [!WARNING]
> Not by zero.

[^1]: A note.
"""


def test_ids_formulas_and_boxes_of_markdown_stay(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(WRITTEN, "utf-8")
    page = read_page((built_pages(tmp_path / "docs", tmp_path / "site") / "a.html").read_bytes())
    found = [(one.type, one.anchor, one.title, one.content) for one in page.explanations]
    formula = r"解は x_1=\frac{-b}{2a} と \{x_2\} で、 $5 and $6 は値段。"
    assert (page.title, found[0][:3]) == ("公式", ("definition", "formula", "公式"))
    assert formula in found[0][3]
    assert ("tip", "tips:~:quick", "Quick", "Quick\nDivide first.") in found
    assert "Not by zero." in found[-1][3]


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
