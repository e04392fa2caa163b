"""Findings about a page, for its author."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from sakuin.knowledge.learns.actions import names_action
from sakuin.knowledge.learns.from_text import language_of_text
from sakuin.knowledge.learns.writer import LEARNS_MAX, LEARNS_MIN, clean_learns
from sakuin.knowledge.model import Collapse
from sakuin.knowledge.names import SYNONYMS_FILE
from sakuin.knowledge.page import EMBEDDED_LENGTH, Page, type_of_anchor
from sakuin.language.unicode_text import is_japanese

Severity = Literal["error", "warning", "info"]

# How many titles a finding names.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to correct. `rule` is a fixed kebab-case name, `message` tells the author what to do."""

    severity: Severity
    rule: str
    material: str
    anchor: str | None
    message: str


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """An indexed chunk. `learns_given` are the author's items as in the file, None without them."""

    anchor: str
    learns: tuple[str, ...]
    learns_given: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class IndexedMaterial:
    """The indexed chunks of one material."""

    chunks: tuple[IndexedChunk, ...]


def findings_of_page(
    material: str, page: Page, indexed: IndexedMaterial | None, *, strict: bool = False
) -> tuple[Finding, ...]:
    """Returns the findings about a page and its chunks. `indexed` is None if the material is not indexed.

    With `strict` a box without an id is an error.
    """
    chunks = indexed.chunks if indexed else ()
    return (
        *_missing_anchors(material, page, chunks),
        *(_sections(material, page, chunks) if page.by_headings else _not_indexed(material, page, chunks)),
        *_page_settings(material, page),
        *_duplicate_ids(material, page),
        *_unnamed_boxes(material, page, "error" if strict else "warning"),
        *poor_learns(material, chunks),
        *_broken_links(material, page),
        *_long_explanations(material, page),
    )


def missing_page(material: str, indexed: IndexedMaterial) -> Finding:
    """Returns the finding about an indexed material without a page."""
    return Finding(
        *("error", "missing-page", material, None),
        f"The page no longer exists, but {len(indexed.chunks)} of its chunks can still be found. "
        f"Upload it again, or run `sakuin rm {material}`.",
    )


def collapsed_page(material: str, lost: Collapse, bucket: str) -> Finding:
    """Returns the finding about a page of which an upload took much."""
    named = ", ".join(f"#{anchor}" for anchor in lost.lost[:_NAMED]) + (" …" if len(lost.lost) > _NAMED else "")
    source = f"{bucket}/{quote(lost.key)}?versionId={lost.version_id}"
    return Finding(
        *("warning", "collapsed", material, None),
        f"An upload took {len(lost.lost):,} of the {lost.count:,} explanations of the page: {named}. "
        f"The version before is {lost.version_id}; it comes back with `aws s3api copy-object --bucket {bucket} "
        f"--key {shlex.quote(lost.key)} --copy-source {shlex.quote(source)}`.",
    )


def unreadable_page(material: str, reason: str) -> Finding:
    """Returns the finding about a page that cannot be read."""
    return Finding("error", "unreadable-page", material, None, f"The page cannot be indexed. {reason}")


def unreadable_file(key: str, reason: str) -> Finding:
    """Returns the finding about a `learns.yml` or `synonyms.yml` that cannot be read."""
    rule = "unreadable-synonyms" if key.endswith(SYNONYMS_FILE) else "unreadable-learns"
    return Finding("error", rule, key, None, reason)


def waiting_page(material: str, key: str, owner_key: str) -> Finding:
    """Returns the finding about a competing key, which is not indexed while the owner's key exists."""
    return Finding(
        *("warning", "waiting-page", material, None),
        f"{key!r} is the same material as {owner_key!r} and waits for it. Delete one of the two keys.",
    )


def _missing_anchors(material: str, page: Page, chunks: Iterable[IndexedChunk]) -> Iterator[Finding]:
    present = {explanation.anchor for explanation in page.explanations}
    for chunk in chunks:
        if chunk.anchor not in present:
            message = f"The page has no #{chunk.anchor} although the index links to it. Push the page again."
            yield Finding("error", "missing-anchor", material, chunk.anchor, message)


def _not_indexed(material: str, page: Page, chunks: Iterable[IndexedChunk]) -> Iterator[Finding]:
    indexed = {chunk.anchor for chunk in chunks}
    explained = {explanation.anchor for explanation in page.explanations}
    for anchor in dict.fromkeys(anchor for anchor in page.ids if type_of_anchor(anchor)):
        if anchor in indexed:
            continue
        if anchor in explained:
            message = f"#{anchor} is in the page but not in the index. Push the page again."
        else:
            message = (
                f"#{anchor} cannot be indexed: it is hidden, inside a drawing, or its id is too long or has "
                "white space or # in it. Move or rename it."
            )
        yield Finding("warning", "not-indexed", material, anchor, message)


def _sections(material: str, page: Page, chunks: Sequence[IndexedChunk]) -> Iterator[Finding]:
    """Yields what is particular to a page without a semantic id."""
    count = len(page.explanations)
    if not count:
        message = "Nothing of the page can be found: outside of menus and footers it has no text, or only links."
        yield Finding("warning", "nothing-indexed", material, None, message)
        return
    message = (
        "The page has no semantic id, so that its headings and boxes are indexed. Ids such as rule-…, method-…, ex-… "
        "would tell what each explains, and stay when a title changes. Give them to all that should be found: with one "
        "of them, nothing without one is indexed."
    )
    yield Finding("info", "page-by-headings", material, None, message)
    missing = {explanation.anchor for explanation in page.explanations} - {chunk.anchor for chunk in chunks}
    if missing:
        message = f"{len(missing)} of {_counted(count, 'explanation')} are not in the index. Push the page."
        yield Finding("warning", "not-indexed", material, None, message)
    if titles := page.unanchored_headings:
        named = ", ".join(f'"{title}"' for title in titles[:_NAMED])
        more = f" and {len(titles) - _NAMED:,} more" if len(titles) > _NAMED else ""
        message = (
            f"{_counted(len(titles), 'heading')} without an id: {named}{more}. Links to them lead to the anchor before "
            "them, or to the page. Give each an id, or switch on the ids of headings in the site generator."
        )
        yield Finding("warning", "heading-without-anchor", material, None, message)


def _page_settings(material: str, page: Page) -> Iterator[Finding]:
    for problem in page.problems:
        yield Finding("warning", "page-setting", material, None, f"{problem} The rest of the page is not affected.")
    if page.skipped_headings:
        message = (
            f"{_counted(page.skipped_headings, 'heading')} of the page cannot be found: only the ids "
            f"{', '.join(f'#{one.anchor}' for one in page.explanations[:_NAMED])} are indexed, which look as if they "
            'were made from titles. Add `<meta name="sakuin:index" content="headings">` to index all headings.'
        )
        yield Finding("warning", "headings-not-indexed", material, None, message)


def _duplicate_ids(material: str, page: Page) -> Iterator[Finding]:
    # Themes repeat ids that nothing leads to, and the author of a site cannot change them.
    explained = {one.anchor for one in page.explanations}
    reached = {*page.links, *explained} if page.by_headings else set(page.ids)
    for anchor, times in Counter(page.ids).items():
        if times > 1 and anchor in reached:
            severity: Severity = "warning" if page.by_headings and anchor not in explained else "error"
            message = f"{times} elements have the id {anchor!r}; a link reaches only the first. Rename the rest."
            yield Finding(severity, "duplicate-id", material, anchor, message)


def _unnamed_boxes(material: str, page: Page, severity: Severity) -> Iterator[Finding]:
    for box in page.unnamed_boxes:
        message = (
            f'The box "{box.title}" ({box.selector}) has no semantic id, so nothing can link to it. '
            "Give it one: rule-…, method-…, def-…, ex-… or tip-…."
        )
        yield Finding(severity, "box-without-id", material, None, message)


def poor_learns(material: str, chunks: Iterable[IndexedChunk]) -> Iterator[Finding]:
    """Yields the findings about `learns` of an author: too few or too many items, and items without an action."""
    for chunk in chunks:
        if chunk.learns_given is None:
            continue
        items = clean_learns(chunk.learns_given)
        if not LEARNS_MIN <= len(items) <= LEARNS_MAX:
            consequence = "more were added" if len(items) < LEARNS_MIN else "only the first 5 are used"
            message = f"#{chunk.anchor} has {len(items)} learns items, so {consequence}. Write 3 to 5."
            yield Finding("warning", "learns-completed", material, chunk.anchor, message)
        # Nobody knows what an action looks like in other languages.
        is_judged = language_of_text(" ".join(items)) != "other"
        passive = [item for item in items[:LEARNS_MAX] if is_judged and not names_action(item)]
        if passive:
            forms = "〜する方法, 〜の計算" if is_japanese(" ".join(passive)) else "How to …, Explain …"
            message = (
                f"#{chunk.anchor} has learns items that name no action ({forms}): {' / '.join(passive)}. Reword them."
            )
            yield Finding("warning", "learns-no-action", material, chunk.anchor, message)


def _broken_links(material: str, page: Page) -> Iterator[Finding]:
    targets = {*page.ids, "", "top"}
    for fragment in dict.fromkeys(page.links):
        # "#/path" and "#!path" are addresses of an application, not of an element.
        if fragment.lower() not in targets and fragment not in targets and fragment[0] not in "/!":
            message = f"A link in the page leads to #{fragment}, which no element has. Correct one of them."
            yield Finding("warning", "broken-link", material, fragment, message)


def _long_explanations(material: str, page: Page) -> Iterator[Finding]:
    for explanation in page.explanations:
        length = len(explanation.content)
        if length > EMBEDDED_LENGTH:
            message = (
                f"#{explanation.anchor} has {length:,} characters; what comes after {EMBEDDED_LENGTH:,} is found by "
                "its words only. Split it into explanations of their own."
            )
            yield Finding("warning", "long-explanation", material, explanation.anchor, message)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
