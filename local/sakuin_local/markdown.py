"""Folders of Markdown as built pages, for `sakuin up DIR`."""

import html
import shutil
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

_PAGE = '<!doctype html>\n<meta charset="utf-8">\n<title>{title}</title>\n<main>\n{body}</main>\n'


def built_pages(folder: Path, target: Path) -> Path:
    """Returns `folder` if it has built pages; else the folder `target` with its Markdown files as pages.

    Headings get ids, as GitHub makes them; links to other Markdown files lead to their pages.
    """
    if any(folder.rglob("*.html")):
        return folder
    shutil.rmtree(target, ignore_errors=True)
    for file in sorted(folder.rglob("*.md")):
        page = target / file.relative_to(folder).with_suffix(".html")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(_page(file.read_text("utf-8", "replace"), file.stem), "utf-8")
    return target


def _page(text: str, name: str) -> str:
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    reader.use(anchors_plugin, max_level=6).use(front_matter_plugin)
    tokens = reader.parse(text)
    headings = (after.content for token, after in pairwise(tokens) if token.type == "heading_open")
    for token in tokens:
        _lead_to_pages(token.children or ())
    body = reader.renderer.render(tokens, reader.options, {})
    return _PAGE.format(title=html.escape(next(headings, name)), body=body)


def _lead_to_pages(tokens: "list[Token] | tuple[()]") -> None:
    for token in tokens:
        path, hash_sign, fragment = str(token.attrs.get("href", "")).partition("#")
        if path.endswith(".md") and "://" not in path:
            token.attrs["href"] = f"{path.removesuffix('.md')}.html{hash_sign}{fragment}"
