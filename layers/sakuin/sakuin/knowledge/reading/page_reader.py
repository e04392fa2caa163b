"""A built HTML page, read into what it explains."""

import re
from collections.abc import Sequence

from bs4 import Tag

from sakuin.errors import UnreadablePage
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS, Explanation, Page, type_of_anchor
from sakuin.knowledge.reading.boxes import unnamed_boxes
from sakuin.knowledge.reading.decoding import html_text
from sakuin.knowledge.reading.examples import illustrated
from sakuin.knowledge.reading.names import concept_name
from sakuin.knowledge.reading.outline import Outline, fragment_of
from sakuin.knowledge.reading.parsing import attribute, parsed
from sakuin.knowledge.reading.places import Place, places
from sakuin.knowledge.reading.titles import title_of
from sakuin.knowledge.reading.walking import steps
from sakuin.language.unicode_text import one_line

# Real pages have a dozen; one with thousands would hold its worker longer than a message may take.
MOST_EXPLANATIONS = 2000

SITE_SUFFIX = re.compile(r"\s+[-–—|｜:：·»]\s+[^-–—|｜:：·»]+$|\s*[|｜]\s*[^|｜]+$")

# More than that no worker cuts, reads and writes in the time that a message has.
MOST_CHARACTERS = 2_000_000

# Every chunk of a page carries what its head says.
LONGEST_LABEL = 500  # characters, as long as a filter may ask for

MOST_PREREQUISITES = 100

LIST_SEPARATOR = re.compile(r"[,、，;；\n]")


def read_page(
    html: bytes,
    *,
    box_selectors: Sequence[str] = DEFAULT_BOX_SELECTORS,
    most_explanations: int = MOST_EXPLANATIONS,
) -> Page:
    """What an HTML page explains. Raises `UnreadablePage` with the reason if it cannot be read.

    `category`, `level` and `prerequisites` (separated by "," or "、") are `<meta name="…" content="…">`,
    each also as `sakuin:category` and so on, which wins.
    """
    root, ids = parsed(html_text(html))
    if (many := sum(type_of_anchor(id) is not None for id in ids)) > most_explanations:
        raise UnreadablePage(
            f"It has {many:,} semantic ids; the limit is {most_explanations:,} (page_explanations). Split the page."
        )
    walk = list(steps(root))
    found = places(walk)
    outline = Outline(found).read(walk)
    meta = _meta(root)
    return Page(
        title=_title(root, outline),
        explanations=_explanations(found, outline),
        category=_label(meta.get("category")),
        level=_label(meta.get("level")),
        prerequisites=_listed(meta.get("prerequisites", "")),
        ids=ids,
        links=_links(root),
        unnamed_boxes=unnamed_boxes(root, walk, found, box_selectors),
    )


def _explanations(found: Sequence[Place], outline: Outline) -> tuple[Explanation, ...]:
    regions = {place.anchor: outline.regions[id(place.element)] for place in found}
    concepts_of = illustrated(found, regions)
    texts = {key: region.prose.text() for key, region in outline.regions.items()}
    if (length := sum(map(len, texts.values()))) > MOST_CHARACTERS:
        raise UnreadablePage(
            f"Its explanations have {length:,} characters; {MOST_CHARACTERS:,} are allowed. Split the page."
        )
    explanations = []
    for position, place in enumerate(found):
        content = texts[id(place.element)]
        title = title_of(place, content)
        explanations.append(
            Explanation(
                anchor=place.anchor,
                type=place.type,
                title=title,
                content=content or title,
                position=position,
                headings=regions[place.anchor].headings,
                illustrates=concepts_of.get(place.anchor, ()),
            )
        )
    return tuple(explanations)


def _title(root: Tag, outline: Outline) -> str:
    if outline.first_heading:
        return outline.first_heading
    element = root.find("title")
    written = one_line(element.get_text()) if element is not None else ""
    return concept_name(SITE_SUFFIX.sub("", written)) or concept_name(written)


def _meta(root: Tag) -> dict[str, str]:
    """Meta tags by lower-case name without `sakuin:`; a `sakuin:` name wins, then the first non-empty one."""
    own: dict[str, str] = {}
    general: dict[str, str] = {}
    for tag in root.find_all("meta"):
        name = (attribute(tag, "name") or attribute(tag, "property")).strip().lower()
        value = one_line(attribute(tag, "content"))
        if value:
            target = own if name.startswith("sakuin:") else general
            target.setdefault(name.removeprefix("sakuin:"), value)
    return general | own


def _label(text: str | None) -> str | None:
    return text[:LONGEST_LABEL].rstrip() if text else None


def _listed(text: str) -> tuple[str, ...]:
    items = dict.fromkeys(item.strip()[:LONGEST_LABEL] for item in LIST_SEPARATOR.split(text) if item.strip())
    return tuple(items)[:MOST_PREREQUISITES]


def _links(root: Tag) -> tuple[str, ...]:
    """In-page links, less those that an old `<a name>` answers: browsers follow them."""
    anchors = root.find_all(["a", "area"])
    names = {attribute(tag, "name") for tag in anchors if "name" in tag.attrs}
    fragments = (fragment_of(tag) for tag in anchors if "href" in tag.attrs)
    return tuple(fragment for fragment in fragments if fragment and fragment not in names)
