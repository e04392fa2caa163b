"""The reader that turns an HTML page into a `Page`."""

import gc
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from bs4 import Tag

from sakuin.errors import UnreadablePage
from sakuin.knowledge.markdown import plain_text
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS, Explanation, Page, UnnamedBox, type_of_anchor
from sakuin.knowledge.reading.anchors import AnchoredElement, anchored_elements
from sakuin.knowledge.reading.boxes import unnamed_boxes
from sakuin.knowledge.reading.decoding import html_text
from sakuin.knowledge.reading.examples import illustrated
from sakuin.knowledge.reading.names import concept_name
from sakuin.knowledge.reading.numbering import Number, counting_numbers, without_numbering
from sakuin.knowledge.reading.outline import Outline, fragment_of
from sakuin.knowledge.reading.parsing import attribute, parsed
from sakuin.knowledge.reading.sections.anchors import (
    first_of_duplicates,
    has_ids_of_a_generator,
    section_content,
    section_title,
    sections_of,
    unanchored_headings,
)
from sakuin.knowledge.reading.sections.content import FURNITURE_TITLE, TEMPLATE, main_content
from sakuin.knowledge.reading.sections.outline import SectionOutline
from sakuin.knowledge.reading.sections.settings import PageSettings, page_settings
from sakuin.knowledge.reading.titles import title_of, with_parents
from sakuin.knowledge.reading.tree import Step, steps
from sakuin.language.unicode_text import one_line
from sakuin.texts.catalogue import coded

# Typical pages have a dozen. A page with many thousands takes longer than the time limit of a message.
MOST_EXPLANATIONS = 2000

SITE_SUFFIX = re.compile(r"\s+[-–—|｜:：·»]\s+(?:(?!\s[-–—|｜:：·»]\s).)+$|\s*[|｜]\s*[^|｜]+$")

# More characters take longer than the time limit of a message.
MOST_CHARACTERS = 4_000_000

# Every chunk repeats the metadata of its page. 500 characters are the limit of filters, too.
LONGEST_LABEL = 500
MOST_PREREQUISITES = 100

# A tag of BCP 47 is shorter.
LONGEST_LANGUAGE = 35

LIST_SEPARATOR = re.compile(r"[,、，;；\n]")


@contextmanager
def _without_collections() -> Iterator[None]:
    """Lets no garbage be collected meanwhile.

    A tree grows by many thousands of objects, each of which a collection would look at in vain: up to half of the time.
    """
    were_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if were_enabled:
            gc.enable()


@_without_collections()
def read_page(
    html: bytes, *, box_selectors: Sequence[str] = DEFAULT_BOX_SELECTORS, most_explanations: int = MOST_EXPLANATIONS
) -> Page:
    """Returns what an HTML page explains. Raises `UnreadablePage` with the reason if it cannot be read.

    `category`, `level` and `prerequisites` (separated by "," or "、") are `<meta name="…" content="…">`. The names
    `sakuin:category` and so on take precedence.
    """
    text = html_text(html)
    root, tags, ids = parsed(text)
    if (many := sum(type_of_anchor(id) is not None for id in ids)) > most_explanations:
        raise UnreadablePage(coded("page.many_ids", count=many, most=most_explanations))
    page_steps = list(steps(root))
    meta, own = _meta(tags)
    settings = page_settings(own)
    elements: Sequence[AnchoredElement] = anchored_elements(page_steps) if many and not settings.by_headings else ()
    by_headings = not elements or has_ids_of_a_generator(elements)
    outline: Outline
    if by_headings:
        elements, outline = _sections(tags, page_steps, ids, settings)
        elements = [] if TEMPLATE.match(text) else elements
        if len(elements) > most_explanations:
            raise UnreadablePage(coded("page.many_headings", count=len(elements), most=most_explanations))
    else:
        outline = Outline(elements).read(page_steps)
    explanations = _explanations(elements, outline)
    counting = counting_numbers(outline.titles) | counting_numbers([each.title for each in explanations])
    if counting:
        explanations = tuple(_without_numbering(each, counting) for each in explanations)
    if by_headings:
        explanations = with_parents(explanations)
    return Page(
        title=without_numbering(_title(tags, outline), counting),
        explanations=explanations,
        category=_label(meta.get("category")),
        level=_label(meta.get("level")),
        prerequisites=_listed(meta.get("prerequisites", "")),
        ids=ids,
        links=_links(tags),
        unnamed_boxes=_unnamed_boxes(root, page_steps, () if by_headings else elements, box_selectors),
        language=_language(tags),
        by_headings=by_headings,
        unanchored_headings=unanchored_headings(elements, explanations) if by_headings else (),
        problems=settings.problems,
    )


def _unnamed_boxes(
    root: Tag, page_steps: Sequence[Step], found: Sequence[AnchoredElement], selectors: Sequence[str]
) -> tuple[UnnamedBox, ...]:
    # Sphinx describes a method in `<dl class="method">`, which is no box.
    boxes = page_steps if found else [step for step in page_steps if step.tag.name != "dl"]
    return unnamed_boxes(root, boxes, found, selectors)


def _sections(
    tags: Sequence[Tag], page_steps: Sequence[Step], ids: Sequence[str], settings: PageSettings
) -> tuple[list[AnchoredElement], Outline]:
    content = main_content(page_steps, settings)
    sections = sections_of(content, first_of_duplicates(tags, ids), settings, _written_title(tags))
    outline = SectionOutline(sections, content[0].tag)
    outline.read(content)
    return [section for section in sections if outline.has_text(section) and _is_explanation(section, outline)], outline


def _is_explanation(section: AnchoredElement, outline: Outline) -> bool:
    """Returns whether a heading has more text than its title, and is not about those who pay for the site."""
    lines = plain_text(outline.regions[id(section.element)].prose.text()).split("\n")
    says_more = section.shape == "element" or any(concept_name(line) != section.title for line in lines)
    return says_more and FURNITURE_TITLE.fullmatch(section.title) is None


def _explanations(found: Sequence[AnchoredElement], outline: Outline) -> tuple[Explanation, ...]:
    texts = {key: region.prose.text() for key, region in outline.regions.items()}
    if (length := sum(map(len, texts.values()))) > MOST_CHARACTERS:
        raise UnreadablePage(coded("page.long", count=length, most=MOST_CHARACTERS))
    regions = {anchored.anchor: outline.regions[id(anchored.element)] for anchored in found}
    concepts_of = illustrated(found, regions)
    explanations = []
    for position, anchored in enumerate(found):
        content = texts[id(anchored.element)]
        if anchored.scope is not None:
            content = section_content(anchored, content)
            title = section_title(anchored, plain_text(content))
        else:
            title = title_of(anchored, plain_text(content))
        explanations.append(
            Explanation(
                anchor=anchored.anchor,
                type=anchored.type,
                title=title,
                content=content or title,
                position=position,
                headings=regions[anchored.anchor].headings,
                illustrates=concepts_of.get(anchored.anchor, ()),
            )
        )
    return tuple(explanations)


def _without_numbering(explanation: Explanation, counting: frozenset[Number]) -> Explanation:
    title = without_numbering(explanation.title, counting)
    headings = tuple(without_numbering(heading, counting) for heading in explanation.headings)
    if (title, headings) == (explanation.title, explanation.headings):
        return explanation
    return replace(explanation, title=title, headings=headings)


def _title(tags: Sequence[Tag], outline: Outline) -> str:
    """Returns the only heading of rank 1; of several the one that `<title>` names, or else `<title>`."""
    written, headings = _written_title(tags), outline.page_titles
    if len(headings) == 1 or not written:
        return headings[0] if headings else written
    return next((heading for heading in headings if heading in written), written)


def _written_title(tags: Sequence[Tag]) -> str:
    element = next((tag for tag in tags if tag.name == "title"), None)
    written = one_line(element.get_text()) if element is not None else ""
    return concept_name(SITE_SUFFIX.sub("", written)) or concept_name(written)


def _meta(tags: Sequence[Tag]) -> tuple[dict[str, str], dict[str, str]]:
    """Returns meta tags by lower-case name without `sakuin:`, and those with `sakuin:` alone.

    A `sakuin:` name wins, then the first with a value.
    """
    own: dict[str, str] = {}
    general: dict[str, str] = {}
    for tag in (tag for tag in tags if tag.name == "meta"):
        name = (attribute(tag, "name") or attribute(tag, "property")).strip().lower()
        value = one_line(attribute(tag, "content"))
        if value:
            target = own if name.startswith("sakuin:") else general
            target.setdefault(name.removeprefix("sakuin:"), value)
    return general | own, own


def _language(tags: Sequence[Tag]) -> str | None:
    html = next((tag for tag in tags if tag.name == "html"), None)
    return one_line(attribute(html, "lang"))[:LONGEST_LANGUAGE] or None if html is not None else None


def _label(text: str | None) -> str | None:
    return text[:LONGEST_LABEL].rstrip() if text else None


def _listed(text: str) -> tuple[str, ...]:
    items = dict.fromkeys(item.strip()[:LONGEST_LABEL] for item in LIST_SEPARATOR.split(text) if item.strip())
    return tuple(items)[:MOST_PREREQUISITES]


def _links(tags: Sequence[Tag]) -> tuple[str, ...]:
    """Returns in-page links, except those to an `<a name>`, which browsers follow too."""
    anchors = [tag for tag in tags if tag.name in ("a", "area")]
    names = {attribute(tag, "name") for tag in anchors if "name" in tag.attrs}
    fragments = (fragment_of(tag) for tag in anchors if "href" in tag.attrs)
    return tuple(fragment for fragment in fragments if fragment and fragment not in names)
