"""Findings about a page, for its author."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote

from sakuin.knowledge.learns.actions import lacking, language_of_text, names_action, title_words
from sakuin.knowledge.learns.writer import LEARNS_MAX, LEARNS_MIN, clean_learns
from sakuin.knowledge.model import Collapse
from sakuin.knowledge.names import SYNONYMS_FILE
from sakuin.knowledge.page import EMBEDDED_LENGTH, Finding, IndexedChunk, Page, Severity, type_of_anchor
from sakuin.language.unicode_text import is_japanese
from sakuin.texts.catalogue import coded, counted, stored

# How many titles a finding names, and how many findings of a page are recorded.
_NAMED, _RECORDED = 5, 100
# So many words of a page, and so much of what is searched, are reported if they are lost, with so many characters.
_LOST, _LOST_SHARE, _SHOWN = 20, 0.01, 80


def findings_of_page(
    material: str, page: Page, indexed: Sequence[IndexedChunk] | None, *, strict: bool = False
) -> tuple[Finding, ...]:
    """Returns the findings about a page and its chunks. `indexed` is None if the material is not indexed.

    With `strict` a box without an id is an error.
    """
    chunks = indexed or ()
    return (
        *_missing_anchors(material, page, chunks),
        *_not_indexed(material, page, chunks),
        *_sections(material, page, chunks),
        *_page_settings(material, page),
        *_duplicate_ids(material, page),
        *_unnamed_boxes(material, page, "error" if strict else "warning"),
        *poor_learns(material, page, chunks),
        *_broken_links(material, page),
        *_long_explanations(material, page),
        *_much_left_out(material, page),
    )


def recorded(findings: Iterable[Finding]) -> list[Mapping[str, Any]]:
    """Returns the first findings about a page, as they are recorded with it."""
    return [
        {"severity": one.severity, "rule": one.rule, "anchor": one.anchor, "message": stored(one.message)}
        for one in islice(findings, _RECORDED)
    ]


def missing_page(material: str, indexed: Sequence[IndexedChunk]) -> Finding:
    """Returns the finding about an indexed material without a page."""
    said = coded("finding.missing_page", count=len(indexed), material=material)
    return Finding("error", "missing-page", material, None, said)


def collapsed_page(material: str, lost: Collapse, bucket: str) -> Finding:
    """Returns the finding about a page of which an upload took much."""
    named = ", ".join(f"#{anchor}" for anchor in lost.lost[:_NAMED]) + (" …" if len(lost.lost) > _NAMED else "")
    source = f"{bucket}/{quote(lost.key)}?versionId={lost.version_id}"
    version = {"version": lost.version_id or "", "bucket": bucket, "key": shlex.quote(lost.key)}
    lacks = {"lost": len(lost.lost), "count": lost.count, "named": named, "source": shlex.quote(source)}
    said = coded("finding.collapsed", **lacks, **version)
    return Finding("warning", "collapsed", material, None, said)


def unreadable_page(material: str, reason: str) -> Finding:
    """Returns the finding about a page that cannot be read."""
    return Finding("error", "unreadable-page", material, None, coded("finding.unreadable_page", reason=reason))


def unreadable_file(key: str, reason: str) -> Finding:
    """Returns the finding about a `learns.yml` or `synonyms.yml` that cannot be read."""
    rule = "unreadable-synonyms" if key.endswith(SYNONYMS_FILE) else "unreadable-learns"
    return Finding("error", rule, key, None, reason)


def waiting_page(material: str, key: str, owner_key: str) -> Finding:
    """Returns the finding about a competing key, which is not indexed while the owner's key exists."""
    said = coded("finding.waiting_page", key=repr(key), owner=repr(owner_key))
    return Finding("warning", "waiting-page", material, None, said)


def _missing_anchors(material: str, page: Page, chunks: Iterable[IndexedChunk]) -> Iterator[Finding]:
    present = {explanation.anchor for explanation in page.explanations}
    for chunk in chunks:
        if chunk.anchor not in present:
            said = coded("finding.missing_anchor", anchor=chunk.anchor)
            yield Finding("error", "missing-anchor", material, chunk.anchor, said)


def _not_indexed(material: str, page: Page, chunks: Iterable[IndexedChunk]) -> Iterator[Finding]:
    indexed = {chunk.anchor for chunk in chunks}
    explained = {explanation.anchor for explanation in page.explanations}
    for anchor in dict.fromkeys(anchor for anchor in page.ids if type_of_anchor(anchor)):
        if anchor in indexed or anchor in page.places:
            continue
        code = "not_indexed" if anchor in explained else "cannot_be_indexed"
        yield Finding("warning", "not-indexed", material, anchor, coded(f"finding.{code}", anchor=anchor))


def _sections(material: str, page: Page, chunks: Sequence[IndexedChunk]) -> Iterator[Finding]:
    """Yields what is particular to the sections of a page, and to a page without a semantic id."""
    sections = {explanation.anchor for explanation in page.explanations if explanation.is_section}
    if "redirect" in page.words.left_out:
        yield Finding("info", "page-redirects", material, None, coded("finding.redirects"))
    elif page.by_headings and not page.explanations:
        yield Finding("warning", "nothing-indexed", material, None, coded("finding.nothing_indexed"))
    elif page.by_headings:
        yield Finding("info", "page-by-headings", material, None, coded("finding.by_headings"))
    if empty := sum(one.anchor in sections and not (one.learns or one.learns_given) for one in chunks):
        said = coded("finding.no_learns", all=counted("section", empty))
        yield Finding("info", "learns-none", material, None, said)
    if missing := sections - {chunk.anchor for chunk in chunks}:
        said = coded("finding.some_not_indexed", missing=len(missing), all=counted("explanation", len(sections)))
        yield Finding("warning", "not-indexed", material, None, said)
    if titles := page.unanchored_headings:
        named = ", ".join(f'"{title}"' for title in titles[:_NAMED])
        if len(titles) > _NAMED:
            named = coded("finding.more_titles", titles=named, count=len(titles) - _NAMED)
        said = coded("finding.heading_without_anchor", all=counted("heading", len(titles)), titles=named)
        yield Finding("warning", "heading-without-anchor", material, None, said)


def _page_settings(material: str, page: Page) -> Iterator[Finding]:
    for problem in page.problems:
        yield Finding("warning", "page-setting", material, None, coded("finding.setting", problem=problem))


def _duplicate_ids(material: str, page: Page) -> Iterator[Finding]:
    # Themes repeat ids that nothing leads to, and the author of a site cannot change them.
    explained = {one.anchor for one in page.explanations}
    reached = {*page.links, *explained} if page.by_headings else set(page.ids)
    for anchor, times in Counter(page.ids).items():
        if times > 1 and anchor in reached:
            severity: Severity = "warning" if page.by_headings and anchor not in explained else "error"
            said = coded("finding.duplicate_id", count=times, id=repr(anchor))
            yield Finding(severity, "duplicate-id", material, anchor, said)


def _unnamed_boxes(material: str, page: Page, severity: Severity) -> Iterator[Finding]:
    for box in page.unnamed_boxes:
        said = coded("finding.box_without_id", title=box.title, selector=box.selector)
        yield Finding(severity, "box-without-id", material, None, said)


def poor_learns(material: str, page: Page, chunks: Iterable[IndexedChunk]) -> Iterator[Finding]:
    """Yields the findings about `learns` of an author: their number, items without an action, and a poor mixture."""
    explanations = {one.anchor: one for one in page.explanations}
    of_titles = Counter(word for one in page.explanations for word in title_words(one.title))
    for chunk in chunks:
        if chunk.learns_given is None or chunk.anchor not in explanations:
            continue
        items = clean_learns(chunk.learns_given)
        if not LEARNS_MIN <= len(items) <= LEARNS_MAX:
            code = "finding.few_learns" if len(items) < LEARNS_MIN else "finding.many_learns"
            said = coded(code, anchor=chunk.anchor, count=len(items))
            yield Finding("warning", "learns-completed", material, chunk.anchor, said)
        # Nobody knows what an action looks like in other languages.
        is_judged = language_of_text(" ".join(items)) != "other"
        passive = [item for item in items[:LEARNS_MAX] if is_judged and not names_action(item)]
        if passive:
            forms = "〜する方法, 〜の計算" if is_japanese(" ".join(passive)) else "How to …, Explain …"
            said = coded("finding.learns_no_action", anchor=chunk.anchor, forms=forms, items=" / ".join(passive))
            yield Finding("warning", "learns-no-action", material, chunk.anchor, said)
        explanation = explanations[chunk.anchor]
        words = [word for word in title_words(explanation.title) if of_titles[word] == 1]
        for lack in lacking(items, words, explanation.text):
            said = coded(f"finding.learns_lack_{lack}", anchor=chunk.anchor)
            yield Finding("warning", "learns-weak", material, chunk.anchor, said)


def _broken_links(material: str, page: Page) -> Iterator[Finding]:
    targets = {*page.ids, "", "top"}
    for fragment in dict.fromkeys(page.links):
        # "#/path" and "#!path" are addresses of an application, not of an element.
        if fragment.lower() not in targets and fragment not in targets and fragment[0] not in "/!":
            yield Finding("warning", "broken-link", material, fragment, coded("finding.broken_link", fragment=fragment))


def _long_explanations(material: str, page: Page) -> Iterator[Finding]:
    for explanation in page.explanations:
        length = len(explanation.text)
        if length > EMBEDDED_LENGTH:
            anchor = explanation.anchor
            said = coded("finding.long_explanation", anchor=anchor, count=length, most=EMBEDDED_LENGTH)
            yield Finding("warning", "long-explanation", material, anchor, said)


def _much_left_out(material: str, page: Page) -> Iterator[Finding]:
    words = page.words
    hidden = sum(count for reason, count in words.left_out.items() if reason in ("hidden", "furniture"))
    if words.lost >= max(_LOST, _LOST_SHARE * words.searched) or hidden > words.searched:
        first = " / ".join(text[:_SHOWN] for text in words.first_lost)
        said = coded("finding.much_left_out", words=str(words), first=f" {first}" if first else "")
        yield Finding("warning", "much-left-out", material, None, said)
