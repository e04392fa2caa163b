"""Folders of Markdown as built pages, for `sakuin up DIR`."""

import html
import re
import shutil
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.gfm import gfm_plugin

# The id that an author gives a heading, as in Pandoc, MkDocs, Docusaurus, Hugo and kramdown: `## Returns {#returns}`.
_ID = re.compile(r"\s*\{:?\s*#(?P<id>[^\s{}]+)[^{}]*\}\s*$")

_PAGE = '<!doctype html>\n<meta charset="utf-8">\n<title>{title}</title>\n<main>\n{body}</main>\n'


def built_pages(folder: Path, target: Path) -> Path:
    """Returns `folder` if it has built pages; else the folder `target` with its Markdown files as pages.

    Headings get the ids that their authors gave them, or ids as GitHub makes them. Links to other Markdown files lead
    to their pages. Tables, alerts and footnotes are those of GitHub, `!!! note` is a box, `$x$` is TeX.
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
    reader = MarkdownIt("commonmark").use(gfm_plugin, front_matter=True).use(admon_plugin)
    reader.use(dollarmath_plugin, allow_space=False, allow_digits=False).use(anchors_plugin, max_level=6)
    notes: dict[str, object] = {}
    tokens = reader.parse(text, notes)
    headings = [(token, after) for token, after in pairwise(tokens) if token.type == "heading_open"]
    for heading, title in headings:
        _name(heading, title)
    for token in tokens:
        _lead_to_pages(token.children or ())
    first = headings[0][1].content if headings else name
    return _PAGE.format(title=html.escape(first), body=reader.renderer.render(tokens, reader.options, notes))


def _name(heading: Token, title: Token) -> None:
    """Gives a heading the id that ends its title, and takes it off the title."""
    last = title.children[-1] if title.children else None
    if last is not None and (written := _ID.search(last.content)):
        heading.attrSet("id", written["id"])
        last.content = last.content[: written.start()]
        title.content = _ID.sub("", title.content)


def _lead_to_pages(tokens: "list[Token] | tuple[()]") -> None:
    for token in tokens:
        path, hash_sign, fragment = str(token.attrs.get("href", "")).partition("#")
        if path.endswith(".md") and "://" not in path:
            token.attrs["href"] = f"{path.removesuffix('.md')}.html{hash_sign}{fragment}"
