"""The main content of a page, without navigation, headers, footers, sidebars, tables of contents and teasers.

One page does not tell what a site repeats on all its pages, so that tags and roles decide. The class names and ids of
common themes are hints: what they name is left out only if it is mostly links, or a short label. A teaser is a part of
a list of pages that has the beginning of another page.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from bs4 import Tag
from bs4.element import NavigableString

from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.inline import is_inline
from sakuin.knowledge.reading.parsing import attribute, written_names
from sakuin.knowledge.reading.rules import names, pattern
from sakuin.knowledge.reading.sections.admonitions import admonition_type
from sakuin.knowledge.reading.sections.settings import PageSettings
from sakuin.knowledge.reading.tree import HEADINGS, Step, steps
from sakuin.language.unicode_text import one_line

# The heading of a teaser is among its first steps, and a teaser is short.
HEADING_STEPS, MOST_STEPS = 20, 300


def is_teaser(tag: Tag, page_title: str) -> bool:
    """Returns whether the only heading of an article or of an item of a list is a link to another page of the site.

    The archives, tags and home page of a blog are made of them. The page that they link to is indexed itself. The title
    of a post may be a link, too: to the post itself.
    """
    if tag.name not in ("article", "li"):
        return False
    title = ""
    for number, step in enumerate(islice(steps(tag), MOST_STEPS)):
        if step.kind == "close" and step.tag is tag:
            return bool(title) and title not in page_title
        if number == HEADING_STEPS and not title:
            return False
        if step.kind == "open" and step.tag.name in HEADINGS:
            if title or step.tag.name == "h1" or not _leads_away(step.tag):
                return False
            title = one_line(step.tag.get_text()) or "?"
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


FURNITURE_TAGS, PANELS = frozenset({"footer", "aside"}), frozenset({"details", "form", "fieldset"})
# All other elements without an attribute are content.
LOOKED_AT = FURNITURE_TAGS | PANELS | {"button", "header", "article", "li"}
PARTS = frozenset({"main", "article", "h1", "body", "header"})
# The fields of a form; the parents of links that are parts of lists, tables and titles.
FIELDS = frozenset({"input", "select", "textarea"})
ITEMS = frozenset({"li", "td", "th", "dt", "dd", *HEADINGS})
# In the footer of a post, they say when and by whom it was written.
DATELINE = frozenset({"time", "address", "abbr"})

FURNITURE_CLASSES, FURNITURE_NAME = names("furniture_classes"), pattern("furniture_name")
FURNITURE_IDS, FURNITURE_ROLES = names("furniture_ids"), names("furniture_roles")
ROLES_OF_PAGE, TEXT_CLASSES = names("roles_of_page"), names("text_classes")
ACCORDION, CREDIT, COUNT = pattern("accordion"), pattern("credit"), pattern("comment_count")
TEMPLATE = pattern("template")
SENTENCE = re.compile(r"[.!?](?=\s|$)|[。！？]")

# So much of furniture is in links, and of an `aside` in the main content, which may say where something is from.
LINKED, LINKED_NOTE = 0.5, 0.9
# The only article is the content if it has at least this share of the text of a page without `main`.
ARTICLE_SHARE = 0.5
# What an element says is in its first steps.
MOST_LOOKED_AT, LONGEST_LABEL, LONGEST_AD, LONGEST_NOTICE = 300, 60, 20, 120
# Words of a link that is repeated, and how often it is at least.
LONGEST_REPEATED, FEWEST_REPEATED = 20, 5
MOST_DATELINE_PARTS, LONGEST_DATELINE = 5, 120


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An element that may be the content: its steps are those from `start` to `end`, with `length` characters."""

    tag: Tag
    start: int
    end: int
    length: int


def main_content(
    page_steps: Sequence[Step], settings: PageSettings, authored: Sequence[AnchoredElement], page_title: str
) -> tuple[list[Step], dict[str, list[str]]]:
    """Returns the steps of the main content after that of the page, with the `authored` elements wherever they stand.

    Beside them are the texts that were left out of it, by the reason.

    The content is the element that the settings name; otherwise `main`, or the only article, or the body. The header of
    a page belongs to it if it has the page's only h1.
    """
    content, header = _content(_candidates(page_steps, settings, page_title), page_title)
    first, last = (content.start, content.end) if content is not None else (0, len(page_steps))
    is_whole = content is None or content.tag.name == "body"
    element_ids = {id(each.element if each.shape == "element" else each.element.parent) for each in authored}
    repeated, credits = _repeated_links(page_steps), _credits(page_steps)
    steps = [page_steps[0]]
    left_out: defaultdict[str, list[str]] = defaultdict(list)
    reason = ""
    skipped: Tag | None = None
    inside: Tag | None = None  # the element of an author that is open
    articles = 0  # that are open
    for place, step in enumerate(page_steps[1:-1], 1):
        is_header = header is not None and header.start <= place <= header.end
        is_content = is_header or first < place < last
        if inside is None and step.kind == "open" and id(step.tag) in element_ids:
            inside = step.tag
        elif is_content and skipped is None and inside is None and step.kind == "open":
            of_page = is_whole and not articles and not is_header
            is_named = id(step.tag) in settings.left_out or id(step.tag) in repeated
            is_credit = of_page and id(step.tag) in credits
            if is_named or is_credit or _is_furniture(step.tag, page_title, of_page=of_page):
                skipped, reason = step.tag, _reason(step.tag, settings)
        if is_content and step.kind != "text" and step.tag.name == "article":
            articles += 1 if step.kind == "open" else -1
        if inside is not None or (is_content and skipped is None):
            steps.append(step)
        elif is_content and step.kind == "text":
            left_out[reason].append(step.text)
        if step.kind == "close":
            inside = None if step.tag is inside else inside
            skipped = None if step.tag is skipped else skipped
    return steps, left_out


def _reason(tag: Tag, settings: PageSettings) -> str:
    if id(tag) in settings.left_out:
        return "setting"
    return "form" if tag.name == "button" else "menu" if _is_linked(tag) else "furniture"


def _content(found: Mapping[str, Sequence[_Candidate]], page_title: str) -> tuple[_Candidate | None, _Candidate | None]:
    """Returns the content, None for the whole page, and the header with the heading of the page."""
    if found["chosen"]:
        return found["chosen"][0], None
    around = next((found[kind][0] for kind in ("main", "body") if found[kind]), None)
    articles = [each for each in found["article"] if around is None or around.start < each.start < around.end]
    outer = [each for each in articles if not any(other.start < each.start < other.end for other in articles)]
    if not found["main"] and len(outer) == 1 and (around is None or outer[0].length >= ARTICLE_SHARE * around.length):
        around = outer[0]
    headings = found["h1"]
    is_of_page = len(headings) == 1 or (headings and one_line(headings[0].tag.get_text()) == page_title)
    headers = [each for each in found["header"] if is_of_page and each.start < headings[0].start < each.end]
    return around, headers[0] if headers else None


def _candidates(page_steps: Sequence[Step], settings: PageSettings, page_title: str) -> dict[str, list[_Candidate]]:
    """Returns the elements of each kind, in page order."""
    found: dict[str, list[_Candidate]] = {kind: [] for kind in ("chosen", "main", "article", "body", "header", "h1")}
    opened: list[tuple[Tag, str, int, int]] = []
    length = 0
    for place, step in enumerate(page_steps):
        if step.kind == "text":
            length += len(step.text)
        elif step.kind == "open":
            tag = step.tag
            kind = "chosen" if id(tag) in settings.content else ""
            if not kind and (tag.name in PARTS or "role" in tag.attrs):
                kind = _kind(tag, page_title)
            if kind:
                opened.append((step.tag, kind, place, length))
        elif opened and opened[-1][0] is step.tag:
            tag, kind, start, before = opened.pop()
            found[kind].append(_Candidate(tag, start, place, length - before))
    return {kind: sorted(each, key=lambda candidate: candidate.start) for kind, each in found.items()}


def _kind(tag: Tag, page_title: str) -> str:
    role = attribute(tag, "role")
    if tag.name == "main" or role == "main":
        return "main"
    if tag.name == "article" or role == "article":
        return "" if is_teaser(tag, page_title) else "article"
    if tag.name == "h1":
        return "" if _leads_away(tag) else "h1"
    return tag.name if tag.name in ("body", "header") else ""


def _is_furniture(tag: Tag, page_title: str, *, of_page: bool) -> bool:
    """Returns whether an element is no content. `of_page`: it is neither in `main` nor in an article."""
    if not tag.attrs and tag.name not in LOOKED_AT:
        return _is_dateline(tag)
    role = attribute(tag, "role").lower()
    if tag.name == "button" or role == "button":
        return _is_control(tag)
    if tag.name in FURNITURE_TAGS or (of_page and tag.name == "header"):
        is_source = tag.parent is not None and tag.parent.name == "blockquote"
        if (
            is_source
            or not TEXT_CLASSES.isdisjoint(attribute(tag, "class").lower().split())
            or admonition_type(tag) is not None
        ):
            return False
        if tag.name == "footer" and any(step.tag.name in DATELINE for step in islice(steps(tag), MOST_LOOKED_AT)):
            return True
        longest = LONGEST_AD if tag.name == "aside" else LONGEST_LABEL
        is_ad = _is_label(tag, longest=longest) or _is_linked(tag, share=LINKED_NOTE)
        return not _is_note(tag) and (is_ad or (of_page and tag.name != "aside") or (of_page and _is_linked(tag)))
    if is_teaser(tag, page_title) or _is_dateline(tag) or _is_language(tag):
        return True
    has_fields = of_page and tag.name in PANELS and tag.find(list(FIELDS)) is not None
    if has_fields and _is_label(tag, longest=LONGEST_NOTICE):  # settings of the page
        return True
    if role in FURNITURE_ROLES or (of_page and role in ROLES_OF_PAGE):
        return True
    is_named = _is_named(written_names(tag).lower())
    is_named |= attribute(tag, "id").lower() in FURNITURE_IDS and tag.name not in HEADINGS
    return is_named and admonition_type(tag) is None and (_is_label(tag) or _is_linked(tag) or _is_discussion(tag))


@lru_cache(maxsize=4096)
def _is_named(written: str) -> bool:
    """Returns whether the value of a `class` names furniture."""
    return not FURNITURE_CLASSES.isdisjoint(written.split()) or FURNITURE_NAME.search(written) is not None


def _credits(page_steps: Sequence[Step]) -> set[int]:
    """Returns the ids of lines at the end of a page that say which program made it."""
    tags = [step.tag for step in page_steps[-MOST_STEPS:] if step.kind == "text" and CREDIT.match(step.text)]
    return {id(tag) for tag in tags if len(one_line(tag.get_text())) <= LONGEST_NOTICE}


def _repeated_links(page_steps: Sequence[Step]) -> set[int]:
    """Returns the ids of links that stand alone, outside of lists and tables, with the same words again and again.

    They lead from each part of a page to another page of the site, such as its source.
    """
    links: defaultdict[str, list[Tag]] = defaultdict(list)
    for tag in (step.tag for step in page_steps if step.kind == "open" and step.tag.name == "a"):
        text = tag.contents[0] if len(tag.contents) == 1 else None
        is_of_site = ":" not in attribute(tag, "href").partition("/")[0]
        if isinstance(text, NavigableString) and len(text) <= LONGEST_REPEATED and is_of_site and _is_alone(tag):
            links[text].append(tag)
    return {
        id(tag)
        for tags in links.values()
        if len({attribute(tag, "href") for tag in tags}) >= FEWEST_REPEATED
        for tag in tags
    }


def _is_alone(link: Tag) -> bool:
    if link.parent is None or link.parent.name in ITEMS:
        return False
    for siblings in (link.previous_siblings, link.next_siblings):
        beside = next((other for other in siblings if str(other).strip()), None)
        if isinstance(beside, NavigableString):
            return False
        if isinstance(beside, Tag) and beside.name != "a" and is_inline(beside):
            return False
    return True


def _is_control(tag: Tag) -> bool:
    """Returns whether a button acts on the page. In a heading or a sentence, and above a panel, it is text."""
    is_accordion = "aria-expanded" in tag.attrs or ACCORDION.search(attribute(tag, "class")) is not None
    if tag.name in HEADINGS or is_accordion or tag.parent is None:
        return False
    around = [child for child in tag.parent.contents if child is not tag and str(child).strip()]
    if tag.parent.name in HEADINGS or tag.parent.name == "summary":
        return bool(around)
    return not any(isinstance(child, NavigableString) for child in around)


def _is_label(tag: Tag, *, longest: int = LONGEST_LABEL) -> bool:
    """Returns whether an element has only few words, and no sentence, code or table."""
    inside = list(islice(steps(tag), MOST_LOOKED_AT))
    if any(step.tag.name in ("pre", "table") for step in inside):
        return False
    text = one_line(" ".join(step.text for step in inside))
    return len(text) <= longest and SENTENCE.search(text) is None


def _is_linked(tag: Tag, *, share: float = LINKED) -> bool:
    """Returns whether so much of a text is in links and buttons."""
    linked = written = 0
    link: Tag | None = None
    for step in islice(steps(tag), MOST_LOOKED_AT):
        if step.kind == "text":
            written += len(step.text.strip())
            linked += len(step.text.strip()) if link is not None else 0
        elif step.kind == "open" and link is None and step.tag.name in ("a", "button"):
            link = step.tag
        elif step.kind == "close" and step.tag is link:
            link = None
    return linked >= share * written


def _is_discussion(tag: Tag) -> bool:
    """Returns whether readers write in an element: it has a form, or its heading counts what they wrote."""
    inside = [step.tag for step in islice(steps(tag), MOST_LOOKED_AT) if step.kind == "open"]
    heading = next((inner for inner in inside if inner.name in HEADINGS), None)
    is_counted = heading is not None and COUNT.fullmatch(one_line(heading.get_text())) is not None
    return is_counted or any(inner.name in ("form", "time") for inner in inside)


def _is_language(tag: Tag) -> bool:
    """Returns whether an element names the language of the code after it, as VitePress does."""
    return (
        attribute(tag, "class") == "lang" and tag.parent is not None and "language-" in attribute(tag.parent, "class")
    )


def _is_note(tag: Tag) -> bool:
    """Returns whether an author wrote an `aside`: it has blocks or a formula, and no theme gave it a class or role."""
    if tag.name != "aside" or "class" in tag.attrs or "role" in tag.attrs:
        return False
    inside = islice(steps(tag), HEADING_STEPS)
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
