"""The reader that turns an HTML page into a `Page`."""

import gc
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from bs4 import Tag

from sakuin.errors import UnreadablePage
from sakuin.knowledge.markdown import plain_text
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS, RESERVED, Explanation, Page, type_of_anchor
from sakuin.knowledge.reading.anchors import AnchoredElement, anchored_elements
from sakuin.knowledge.reading.boxes import names_exercise, unnamed_boxes
from sakuin.knowledge.reading.decoding import html_text
from sakuin.knowledge.reading.names import Number, concept_name, counting_numbers, without_numbering
from sakuin.knowledge.reading.outline import Outline, Region, fragment_of, with_links, without_places
from sakuin.knowledge.reading.parsing import attribute, parsed, with_ruby_closed
from sakuin.knowledge.reading.sections.anchors import (
    add_small_sections,
    section_title,
    sections_of,
    unanchored_headings,
)
from sakuin.knowledge.reading.sections.books import books
from sakuin.knowledge.reading.sections.content import TEMPLATE, main_content
from sakuin.knowledge.reading.sections.notes import put_notes_in_place
from sakuin.knowledge.reading.sections.settings import PageSettings, page_settings
from sakuin.knowledge.reading.titles import title_of, with_parents
from sakuin.knowledge.reading.tree import reveal_panels, steps
from sakuin.language.unicode_text import nfc, one_line
from sakuin.retrieval.filters import LONGEST_NAME, MOST_FILTERS, MOST_VALUES, value_of
from sakuin.texts.catalogue import coded

# Typical pages have a dozen. More explanations, or characters, take longer than the time limit of a message.
MOST_EXPLANATIONS, MOST_CHARACTERS = 2000, 4_000_000
# Every chunk repeats the metadata of its page. Filters have this limit, too. A tag of BCP 47 is shorter.
LONGEST_LABEL, MOST_PREREQUISITES, LONGEST_LANGUAGE = 500, 100, 35

SITE_SUFFIX = re.compile(r"\s+[-–—|｜:：·»]\s+(?:(?!\s[-–—|｜:：·»]\s).)+$|\s*[|｜]\s*[^|｜]+$")
LIST_SEPARATOR = re.compile(r"[,、，;；\n]")
# Leads on before anybody can read the page.
REDIRECT = re.compile(r"\s*[01](?:\.\d*)?\s*[;,]?\s*url\s*=", re.IGNORECASE)
REFRESH = re.compile(r"<meta\s[^>]*http-equiv=[\"']?refresh\b", re.IGNORECASE)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Lets no garbage be collected meanwhile: no object of a tree is any, and looking takes up to half of the time."""
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
    `sakuin:category` and so on take precedence; `sakuin:` and any other name is a field of the page's own.
    """
    text = html_text(html)
    root, tags, ids = parsed(with_ruby_closed(text))
    if (many := sum(type_of_anchor(id) is not None for id in ids)) > most_explanations:
        raise UnreadablePage(coded("page.many_ids", count=many, most=most_explanations))
    reveal_panels(tags)
    put_notes_in_place(tags)
    page_steps = list(steps(root))
    first = {tag.name: tag for tag in reversed(tags)}
    meta, own = _meta(tags)
    settings = page_settings({name: texts[0] for name, texts in own.items()}, root)
    authored, places = anchored_elements(page_steps) if many and settings.index != "headings" else ([], frozenset())
    prerequisites = LIST_SEPARATOR.split(meta.get("prerequisites", ""))
    full_title = one_line(first["title"].get_text()) if "title" in first else ""
    written = concept_name(SITE_SUFFIX.sub("", full_title)) or concept_name(full_title)
    content, left_out = main_content(page_steps, settings, authored, written)
    first_of = {nfc(attribute(tag, "id")): tag for tag in reversed(tags) if "id" in tag.attrs}
    elements, lead = sections_of(content, authored, first_of, settings, written)
    base = attribute(first["base"], "href").strip() if "base" in first else ""
    outline = Outline(elements, page_steps[0].tag, lead, base).read(content[1:])
    regions = {each.anchor: outline.regions[id(each.element)] for each in elements}
    added = add_small_sections(elements, regions)
    # Where a script leads on, the element is in `noscript`.
    is_empty = not any(step.text.strip() for step in page_steps)
    is_redirect = any(map(_is_redirect, tags)) or (is_empty and REFRESH.search(text) is not None)
    dropped: defaultdict[str | None, list[AnchoredElement]] = defaultdict(list)
    for element in (element for element in elements if element.anchor not in added):
        reason = "template" if TEMPLATE.match(text) else _left_out(element, regions[element.anchor], settings)
        reason = "redirect" if is_redirect and not element.is_authored else reason
        dropped[reason].append(element)
    explained = dropped.pop(None, [])
    if len(explained) > most_explanations:
        raise UnreadablePage(coded("page.many_headings", count=len(explained), most=most_explanations))
    explanations = _explanations(elements, explained, regions)
    counting = counting_numbers(outline.titles) | counting_numbers([each.title for each in explanations])
    explanations = tuple(_without_numbering(each, counting) for each in explanations) if counting else explanations
    explanations = with_links(elements, with_parents(explanations))
    # The only heading of rank 1; of several the one that `<title>` names, or else `<title>`.
    headings = outline.page_titles
    title = next((each for each in headings if each in written or len(headings) == 1 or not written), written)
    title = without_numbering(title, counting)
    words = books(tags, page_steps, content, left_out, regions, dropped, explanations, title)
    if is_redirect:
        # One without a word is known by it, too.
        words = replace(words, left_out={"redirect": 1, **words.left_out})
    return Page(
        title=title,
        explanations=explanations,
        category=_label(meta.get("category")),
        level=_label(meta.get("level")),
        prerequisites=tuple(dict.fromkeys(filter(None, map(_label, prerequisites))))[:MOST_PREREQUISITES],
        ids=ids,
        links=_links(tags),
        unnamed_boxes=unnamed_boxes(root, page_steps, authored, box_selectors),
        language=one_line(attribute(first["html"], "lang"))[:LONGEST_LANGUAGE] or None if "html" in first else None,
        by_headings=not authored,
        places=places,
        unanchored_headings=() if authored else unanchored_headings(explained, explanations),
        problems=settings.problems,
        words=words,
        fields=_fields(own),
    )


def _left_out(section: AnchoredElement, region: Region, settings: PageSettings) -> str | None:
    """Returns why a section is no explanation, None if it is one: an author's, or more than title and links."""
    if section.is_authored:
        return None
    if settings.index == "ids":
        return "setting"
    if not region.has_text:
        return "menu" if region.linked else ""
    # A title keeps the signs of its code, and a line of text has lost them.
    lines, title = plain_text(region.prose.text()).split("\n"), concept_name(section.title)
    is_more = section.shape == "element" or any(concept_name(line) != title for line in lines)
    return None if is_more else ""


def _explanations(
    found: Sequence[AnchoredElement], kept: Sequence[AnchoredElement], regions: Mapping[str, Region]
) -> tuple[Explanation, ...]:
    """Returns the explanations of the `kept` elements, with places of others in their texts."""
    texts = {each.anchor: regions[each.anchor].prose.text() for each in kept}
    if (length := sum(map(len, texts.values()))) > MOST_CHARACTERS:
        raise UnreadablePage(coded("page.long", count=length, most=MOST_CHARACTERS))
    authored = [each for each in found if each.is_authored]
    concepts_of = _illustrated(authored or kept, {each.anchor: regions[each.anchor] for each in authored or kept})
    explanations = []
    for position, section in enumerate(kept):
        content = texts[section.anchor]
        headings = regions[section.anchor].headings
        text = plain_text(without_places(content))
        title = title_of(section, text) if section.is_authored else section_title(section, text)
        is_exercise = bool(authored) and not section.is_authored and any(map(names_exercise, (title, *headings)))
        explanations.append(
            Explanation(
                anchor=section.anchor,
                type="example" if is_exercise else section.type,
                title=title,
                content=content or title,
                position=position,
                headings=headings,
                illustrates=concepts_of.get(section.anchor, ()),
                is_section=not section.is_authored,
            )
        )
    return tuple(explanations)


def _illustrated(found: Sequence[AnchoredElement], regions: Mapping[str, Region]) -> dict[str, tuple[str, ...]]:
    """Returns for every example the anchors of the concepts that it illustrates, in page order.

    Includes concepts that link to the example, that it links to, or that contain it. If there are none: the one concept
    that all examples under the same heading illustrate, or else the nearest concept before it in its section (h2).
    """
    concepts = {anchored.anchor: position for position, anchored in enumerate(found) if anchored.type != "example"}
    owners = {id(region): anchor for anchor, region in regions.items()}
    shown: dict[str, set[str]] = {}
    for anchor in (anchored.anchor for anchored in found if anchored.type == "example"):
        shown[anchor] = {*regions[anchor].links, owners.get(id(regions[anchor].outer), "")} & concepts.keys()
    for anchor in concepts:
        for link in shown.keys() & regions[anchor].links:
            shown[link].add(anchor)
    groups: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for anchor, targets in shown.items():
        groups[regions[anchor].headings] |= targets
    nearest: dict[tuple[str, ...], str] = {}  # the last concept of each section
    for anchored in found:
        headings = regions[anchored.anchor].headings
        if anchored.type != "example":
            nearest[headings[:2]] = anchored.anchor
        elif not shown[anchored.anchor]:
            together = groups[headings]
            guess = {nearest[headings[:2]]} if headings[:2] in nearest and not together else set()
            shown[anchored.anchor] = together if len(together) == 1 and len(headings) > 1 else guess
    return {anchor: tuple(sorted(targets, key=concepts.__getitem__)) for anchor, targets in shown.items()}


def _without_numbering(explanation: Explanation, counting: frozenset[Number]) -> Explanation:
    title = without_numbering(explanation.title, counting)
    headings = tuple(without_numbering(heading, counting) for heading in explanation.headings)
    return replace(explanation, title=title, headings=headings)


def _meta(tags: Sequence[Tag]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Returns the first meta tags by lower-case name without `sakuin:`, which win, and all those with `sakuin:`."""
    own: defaultdict[str, list[str]] = defaultdict(list)
    general: dict[str, str] = {}
    for tag in (tag for tag in tags if tag.name == "meta"):
        name = (attribute(tag, "name") or attribute(tag, "property")).strip().lower()
        if value := one_line(attribute(tag, "content")):
            if name.startswith("sakuin:"):
                own[name.removeprefix("sakuin:")].append(value)
            else:
                general.setdefault(name, value)
    return general | {name: texts[0] for name, texts in own.items()}, own


def _fields(own: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Returns the values of the meta tags that only filters read; a tag may name several, with separators between."""
    fields = {}
    for name in [name for name in own if 0 < len(name) <= LONGEST_NAME and name not in RESERVED][:MOST_FILTERS]:
        texts = [nfc(text.strip()) for value in own[name] for text in LIST_SEPARATOR.split(value)][:MOST_VALUES]
        if values := tuple(dict.fromkeys(text for text in texts if value_of("list", text) is not None)):
            fields[nfc(name)] = values
    return fields


def _is_redirect(tag: Tag) -> bool:
    """Returns whether an element is what generators write into the page of a former address."""
    is_refresh = tag.name == "meta" and attribute(tag, "http-equiv").strip().lower() == "refresh"
    return is_refresh and REDIRECT.match(attribute(tag, "content")) is not None


def _label(text: str | None) -> str | None:
    return (text or "").strip()[:LONGEST_LABEL].rstrip() or None


def _links(tags: Sequence[Tag]) -> tuple[str, ...]:
    """Returns in-page links, except those to an `<a name>`, which browsers follow too."""
    anchors = [tag for tag in tags if tag.name in ("a", "area")]
    names = {attribute(tag, "name") for tag in anchors if "name" in tag.attrs}
    fragments = (fragment_of(tag) for tag in anchors if "href" in tag.attrs)
    return tuple(fragment for fragment in fragments if fragment and fragment not in names)
