"""The main content of a page, without navigation, headers, footers, sidebars, tables of contents and teasers.

One page does not tell what a site repeats on all its pages, so that tags, roles and the class names of common themes
decide. A teaser is a part of a list of pages that has the beginning of another page.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bs4 import Tag

from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.sections.admonitions import admonition_type
from sakuin.knowledge.reading.sections.settings import PageSettings
from sakuin.knowledge.reading.tree import HEADINGS, Step, steps

# The heading of a teaser is among its first steps, and a teaser is short.
HEADING_STEPS, MOST_STEPS = 20, 300


def is_teaser(tag: Tag) -> bool:
    """Returns whether the only heading of an article or of an item of a list is a link to another page of the site.

    The archives, tags and home page of a blog are made of them. The page that they link to is indexed itself.
    """
    if tag.name not in ("article", "li"):
        return False
    has_heading = False
    for number, step in enumerate(islice(steps(tag), MOST_STEPS)):
        if step.kind == "close" and step.tag is tag:
            return has_heading
        if number == HEADING_STEPS and not has_heading:
            return False
        if step.kind == "open" and step.tag.name in HEADINGS:
            if has_heading or step.tag.name == "h1" or not _leads_away(step.tag):
                return False
            has_heading = True
    return False


def _leads_away(heading: Tag) -> bool:
    """Returns whether all of a heading is a link to another page of the site."""
    parts = [part for part in heading.children if isinstance(part, Tag) or str(part).strip()]
    link = heading.parent if len(parts) != 1 or not isinstance(parts[0], Tag) or parts[0].name != "a" else parts[0]
    if link is None or link.name != "a":
        return False
    href = attribute(link, "href")
    is_of_site = ":" not in href.partition("/")[0] or "bookmark" in attribute(link, "rel").split()
    return is_of_site and not href.startswith(("#", "//")) and href != ""


FURNITURE_TAGS = frozenset({"footer", "aside", "button"})

# Of Docutils: an `aside` that belongs to the text.
TEXT_CLASSES = frozenset({"topic", "footnote-list", "footnote"})

FURNITURE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "directory", "doc-toc", "button", "dialog"}
)

FURNITURE_CLASSES = frozenset(
    # tables of contents
    {"toc", "table-of-contents", "tableofcontents", "toctree-wrapper", "localtoc", "on-this-page", "toc-wrapper"}
    | {"theme-doc-toc-mobile", "theme-doc-toc-desktop", "ez-toc-container", "lwptoc", "md-toc", "markdown-toc"}
    | {"wp-block-table-of-contents", "toc-container", "js-toc", "contents-list", "minitoc", "p-toc"}
    # navigation
    | {"pager", "prev-next-area", "prev-next", "rst-footer-buttons", "nav-links", "navigation", "menu"}
    | {"sidebar", "widget", "widget-area", "skip-link", "skip-to-content", "related-pages", "md-sidebar"}
    | {"sphinxsidebar", "footer", "site-footer", "site-header", "taxonomy"}
    # links to sources and to headings; those that are only a sign are recognised by it
    | {"sl-anchor-link"}
    | {"viewcode-link", "viewcode-back", "edit-this-page", "theme-edit-this-page", "md-source-file", "editsection"}
    | {"mw-editsection", "md-content__button", "theme-doc-version-badge", "theme-last-updated"}
    # only for screen readers, only in print, only on the screen
    | {"onlyprint", "print-only", "sr-only", "visually-hidden", "screen-reader-text", "screenreader-text"}
    | {"visuallyhidden", "d-print-none", "no-print", "noprint", "modal", "toast", "offcanvas"}
    # about an article, and what follows it
    | {"avatar", "byline", "posted-on", "cat-links", "tags-links", "date-tags", "cat-label", "under-entry-content"}
    | {"sharedaddy", "jp-relatedposts", "yarpp", "addtoany_share_save_container", "sharrre-container", "sns-share"}
    | {"sns-follow", "share-wrapper", "comments", "comments-area", "comment-respond", "newsletter", "cookie-notice"}
    | {"cookie-banner", "wp-block-post-terms", "wp-block-latest-posts", "wp-block-comments", "giscus", "utterances"}
)

# Class names that themes compose: `post-byline`, `entry__meta`, `c-shareBtns`, `td-page-meta__lastmod`.
FURNITURE_NAME = re.compile(
    r"(?:^|\s)(?:"
    r"(?:post|entry|article|wp-block-post)[-_]{1,2}(?:meta|date|byline|author|footer|nav|navigation|tags|terms|tail)"
    r"|(?:[\w-]*[-_])?(?:breadcrumbs?|pagination|related[-_]?(?:posts|entries|articles)|author[-_]?(?:box|bio)|lastmod"
    r"|(?:social-?)?share[-_]?(?:buttons|btns|links|icons)|social-?share"
    r"|sponsors?|backers|advert(?:isement)?s?|(?:visitor|hit|page|view)[-_]?(?:counter|count|views)|busuanzi)"
    r")(?=\s|$|[-_])"
)

FURNITURE_TITLE = re.compile(r"(?:\w+ )?(?:sponsors?|backers)|スポンサー", re.IGNORECASE)

# A file of a theme that a generator copied into the site.
TEMPLATE = re.compile(r"\s*+(?:\{#(?:(?!#\}).)*+#\}\s*+)*+\{%", re.DOTALL)

FURNITURE_IDS = frozenset(
    {"toc", "table-of-contents", "markdown-toc", "comments", "respond", "disqus_thread", "sidebar", "secondary"}
    | {"ez-toc-container", "footer", "site-footer", "colophon", "masthead", "site-header", "breadcrumbs"}
    | {"cookie-notice", "related-posts", "panel-wrapper", "tail-wrapper", "topbar-wrapper", "search-result-wrapper"}
)

MOST_NOTE_STEPS = 20

MOST_DATELINE_PARTS, LONGEST_DATELINE = 5, 120

# An article is the content if it has at least this share of the text around it.
ARTICLE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An element that may be the content: its steps are those from `start` to `end`, with `length` characters."""

    tag: Tag
    start: int
    end: int
    length: int


def main_content(page_steps: Sequence[Step], settings: PageSettings) -> list[Step]:
    """Returns the steps of the main content, beginning with its element.

    It is the element that the settings name; otherwise the largest article, or `main`, or the body.
    """
    content = _content(_candidates(page_steps, settings), page_steps)
    steps: list[Step] = []
    skipped: Tag | None = None
    articles = 0  # that are open
    for step in page_steps[content.start : content.end + 1]:
        if skipped is not None:
            skipped = None if step.kind == "close" and step.tag is skipped else skipped
            continue
        if step.kind == "open" and step.tag is not content.tag:
            of_page = content.tag.name == "body" and not articles
            if settings.leaves_out(step.tag) or _is_furniture(step.tag, of_page=of_page):
                skipped = step.tag
                continue
        if step.tag.name == "article" and step.kind != "text":
            articles += 1 if step.kind == "open" else -1
        steps.append(step)
    return steps


def _content(found: dict[str, list[_Candidate]], page_steps: Sequence[Step]) -> _Candidate:
    whole = _Candidate(page_steps[0].tag, 0, len(page_steps) - 1, 0)
    around = next((found[kind][0] for kind in ("chosen", "main", "body") if found[kind]), whole)
    if found["chosen"]:
        return around
    inside = (each for each in found["article"] if around.start < each.start and each.end < around.end)
    article = max(inside, key=lambda each: each.length, default=around)
    return article if article.length >= ARTICLE_SHARE * around.length else around


def _candidates(page_steps: Sequence[Step], settings: PageSettings) -> dict[str, list[_Candidate]]:
    """Returns the elements of each kind, in page order."""
    found: dict[str, list[_Candidate]] = {"chosen": [], "main": [], "article": [], "body": []}
    opened: list[tuple[Tag, str, int, int]] = []
    length = 0
    for place, step in enumerate(page_steps):
        if step.kind == "text":
            length += len(step.text)
        elif step.kind == "open":
            kind = "chosen" if settings.is_content(step.tag) else _kind(step.tag)
            if kind:
                opened.append((step.tag, kind, place, length))
        elif opened and opened[-1][0] is step.tag:
            tag, kind, start, before = opened.pop()
            found[kind].append(_Candidate(tag, start, place, length - before))
    return {kind: sorted(each, key=lambda candidate: candidate.start) for kind, each in found.items()}


def _kind(tag: Tag) -> str | None:
    role = attribute(tag, "role")
    if tag.name == "main" or role == "main":
        return "main"
    if tag.name == "article" or role == "article":
        return None if is_teaser(tag) else "article"
    return "body" if tag.name == "body" else None


def _is_furniture(tag: Tag, *, of_page: bool) -> bool:
    """Returns whether an element is no content. `of_page`: it is neither in `main` nor in an article."""
    names = attribute(tag, "class").lower().split()
    if tag.name in FURNITURE_TAGS or (of_page and tag.name == "header"):
        return TEXT_CLASSES.isdisjoint(names) and admonition_type(tag) is None and not _is_note(tag)
    if is_teaser(tag) or _is_dateline(tag) or _is_language(tag):
        return True
    if not tag.attrs:
        return False
    if not FURNITURE_CLASSES.isdisjoint(names) or FURNITURE_NAME.search(attribute(tag, "class").lower()):
        return admonition_type(tag) is None
    if attribute(tag, "role").lower() in FURNITURE_ROLES:
        return True
    # Generators make the ids of headings, and of sections without another class, of their titles.
    is_titled = tag.name in HEADINGS or names == ["section"] or (tag.name == "section" and not names)
    return attribute(tag, "id").lower() in FURNITURE_IDS and not is_titled


def _is_language(tag: Tag) -> bool:
    """Returns whether an element names the language of the code after it, as VitePress does."""
    return (
        attribute(tag, "class") == "lang" and tag.parent is not None and "language-" in attribute(tag.parent, "class")
    )


def _is_note(tag: Tag) -> bool:
    """Returns whether an author wrote an `aside`: it has blocks or a formula, and no theme gave it a class or role."""
    if tag.name != "aside" or "class" in tag.attrs or "role" in tag.attrs:
        return False
    inside = islice(steps(tag), MOST_NOTE_STEPS)
    return any(step.tag.name in ("p", "li", "div") for step in inside) or tag.find("math", recursive=False) is not None


def _is_dateline(tag: Tag) -> bool:
    """Returns whether an element has the date of an article, as "May 3 · One min read".

    It is in the header of the article, or a group of WordPress's blocks.
    """
    in_header = tag.parent is not None and tag.parent.name == "header" and tag.name not in HEADINGS
    in_block = tag.name == "div" and "wp-block-group" in attribute(tag, "class")
    if not in_header and not in_block:
        return False
    parts = [child for child in islice(tag.children, MOST_DATELINE_PARTS) if isinstance(child, Tag)]
    if in_header and any(part.name == "time" for part in parts):
        return True
    return (
        in_block
        and any("wp-block-post-date" in attribute(part, "class") for part in parts)
        and len(tag.get_text()) <= LONGEST_DATELINE
        and tag.find(list(HEADINGS)) is None
    )
