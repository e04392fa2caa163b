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
    is_titled = any(step.tag.name in HEADINGS for step in islice(steps(tag), HEADING_STEPS))
    inside = list(islice(steps(tag), MOST_STEPS)) if is_titled else []
    headings = [step.tag for step in inside if step.kind == "open" and step.tag.name in HEADINGS]
    if len(headings) != 1 or inside[-1].tag is not tag or headings[0].name == "h1" or not _leads_away(headings[0]):
        return False
    return (one_line(headings[0].get_text()) or "?") not in page_title


def _leads_away(heading: Tag) -> bool:
    """Returns whether all of a heading is a link to another page of the site."""
    parts = [part for part in heading.children if isinstance(part, Tag) or str(part).strip()]
    link = heading.parent if len(parts) != 1 or not isinstance(parts[0], Tag) or parts[0].name != "a" else parts[0]
    if link is None or link.name != "a":
        return False
    href = attribute(link, "href")
    is_of_site = ":" not in href.partition("/")[0] or "bookmark" in attribute(link, "rel").split()
    return is_of_site and not href.startswith(("#", "//")) and href != ""


TAGS = frozenset({"footer", "aside"})
PANELS = frozenset({"details", "form", "fieldset"})
# All other elements without an attribute are content.
LOOKED_AT = TAGS | PANELS | {"button", "header", "article", "li"}
PARTS = frozenset({"main", "article", "h1", "body"})
FIELDS = ["input", "select", "textarea"]
# In the footer of a post, they say when and by whom it was written.
DATELINE = frozenset({"time", "address", "abbr"})
# The parents of links that are parts of lists, tables and titles.
ITEMS = frozenset({"li", "td", "th", "dt", "dd", *HEADINGS})
CONTENTS = frozenset({"contents", "topic"})  # of Docutils
NOTE_TAGS, CODE_TAGS = frozenset({"p", "li", "div", "math"}), frozenset({"pre", "table"})

CLASSES, CLASS_NAME, IDS = names("furniture_classes"), pattern("furniture_name"), names("furniture_ids")
ROLES, ROLES_OF_PAGE, TEXT_CLASSES = names("furniture_roles"), names("roles_of_page"), names("text_classes")
ACCORDION, COUNT, TEMPLATE = pattern("accordion"), pattern("comment_count"), pattern("template")
CREDIT, SOURCE_LINK = pattern("credit"), pattern("source_link")
SENTENCE = re.compile(r"[.!?](?=\s|$)|[。！？]")

# So much of furniture is in links, and of an `aside` in the main content, which may say where something is from.
LINKED, LINKED_NOTE = 0.5, 0.9
# The only article is the content if it has at least this share of the text of a page without `main`.
ARTICLE_SHARE = 0.5
# What an element says is in its first steps. In characters: a label, an advertisement, settings and dates.
MOST_LOOKED_AT, LONGEST_LABEL, LONGEST_AD, LONGEST_NOTICE = 300, 60, 20, 120


def main_content(
    page_steps: Sequence[Step], settings: PageSettings, authored: Sequence[AnchoredElement], page_title: str
) -> tuple[list[Step], dict[str, list[str]]]:
    """Returns the steps of the main content after that of the page, with the `authored` elements wherever they stand.

    Beside them are the texts that were left out of it, by the reason. The content is the element that the settings
    name; otherwise `main`, or the only article, or the body. The header with the page's only h1 belongs to it.
    """
    content, header = _content(page_steps, settings, page_title)
    is_whole = content is None or content.name == "body"
    element_ids = {id(each.element if each.shape == "element" else each.element.parent) for each in authored}
    kept = [page_steps[0]]
    left_out: defaultdict[str, list[str]] = defaultdict(list)
    reason = ""
    in_content = content is None
    skipped = inside = in_header = None  # the elements that are open: furniture, of an author, the header
    articles = 0  # that are open
    for step in page_steps[1:-1]:
        tag, is_open, is_close = step.tag, step.kind == "open", step.kind == "close"
        in_header = tag if is_open and tag is header else in_header
        in_content = in_content and not (is_close and tag is content)
        is_content = in_content or in_header is not None
        if is_open and inside is None and id(tag) in element_ids:
            inside = tag
        elif is_open and is_content and skipped is None and inside is None:
            of_page = is_whole and not articles and in_header is None
            if id(tag) in settings.left_out or _is_furniture(tag, page_title, of_page=of_page):
                skipped, reason = tag, "menu" if _beginning(tag).is_linked() else "furniture"
                reason = "form" if tag.name == "button" else "setting" if id(tag) in settings.left_out else reason
        if is_content and tag.name == "article":
            articles += is_open - is_close
        if inside is not None or (is_content and skipped is None):
            kept.append(step)
        elif is_content and step.text:
            left_out[reason].append(step.text)
        in_content = in_content or (is_open and tag is content)
        if is_close:
            skipped, inside, in_header = (None if tag is each else each for each in (skipped, inside, in_header))
    return kept, left_out


def _content(page_steps: Sequence[Step], settings: PageSettings, page_title: str) -> tuple[Tag | None, Tag | None]:
    """Returns the content, None for the whole page, and the header with the heading of the page."""
    parts: defaultdict[str, list[Tag]] = defaultdict(list)
    article: Tag | None = None  # that is open
    length = before = longest = 0
    for step in page_steps:
        tag = step.tag
        length += len(step.text)
        if step.kind == "open" and (id(tag) in settings.content or tag.name in PARTS or "role" in tag.attrs):
            kind = "chosen" if id(tag) in settings.content else _kind(tag, page_title)
            if kind != "article" or article is None:
                parts[kind].append(tag)
                article, before = (tag, length) if kind == "article" else (article, before)
        elif step.kind == "close" and tag is article:
            article, longest = None, length - before
    if parts["chosen"]:
        return parts["chosen"][0], None
    is_article = len(parts["article"]) == 1 and not parts["main"] and longest >= ARTICLE_SHARE * length
    content = next(iter(parts["article"] if is_article else parts["main"] + parts["body"]), None)
    headings = parts["h1"]
    is_of_page = len(headings) == 1 or (headings and one_line(headings[0].get_text()) == page_title)
    headers = [around for around in headings[0].parents if around.name == "header"] if is_of_page else []
    return content, headers[-1] if headers else None


def _kind(tag: Tag, page_title: str) -> str:
    role = attribute(tag, "role")
    if tag.name == "main" or role == "main":
        return "main"
    if tag.name == "article" or role == "article":
        return "" if is_teaser(tag, page_title) else "article"
    return tag.name if tag.name == "body" or (tag.name == "h1" and not _leads_away(tag)) else ""


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What the first steps of an element have: their text, the lengths of all words and of those in links, elements."""

    text: str
    length: int
    linked: int
    tags: Mapping[str, Tag]

    def is_label(self, longest: int = LONGEST_LABEL) -> bool:
        """Returns whether an element has only few words, and no sentence, code or table."""
        return len(self.text) <= longest and not SENTENCE.search(self.text) and self.tags.keys().isdisjoint(CODE_TAGS)

    def is_linked(self, share: float = LINKED) -> bool:
        """Returns whether so much of a text is in links and buttons."""
        return self.linked >= share * self.length

    @property
    def is_discussion(self) -> bool:
        """Whether readers write in an element: it has a form, or its heading counts what they wrote."""
        heading = next((inner for name, inner in self.tags.items() if name in HEADINGS), None)
        is_counted = heading is not None and COUNT.fullmatch(one_line(heading.get_text())) is not None
        return is_counted or "form" in self.tags or "time" in self.tags


def _beginning(tag: Tag) -> _Beginning:
    tags: dict[str, Tag] = {}
    texts: list[str] = []
    linked = 0
    link: Tag | None = None
    for step in islice(steps(tag), MOST_LOOKED_AT):
        if step.kind == "text":
            texts.append(step.text.strip())
            linked += len(texts[-1]) if link is not None else 0
        elif step.kind == "open":
            tags.setdefault(step.tag.name, step.tag)
            link = step.tag if link is None and step.tag.name in ("a", "button") else link
        elif step.tag is link:
            link = None
    return _Beginning(one_line(" ".join(texts)), sum(map(len, texts)), linked, tags)


def _is_furniture(tag: Tag, page_title: str, *, of_page: bool) -> bool:
    """Returns whether an element is no content. `of_page`: it is neither in `main` nor in an article."""
    name, around = tag.name, tag.parent
    if _is_dateline(tag):
        return True
    if not tag.attrs and name not in LOOKED_AT:
        return False
    if name == "a" and _is_source_link(tag):
        return True
    role = attribute(tag, "role").lower()
    if name == "button" or role == "button":
        return _is_control(tag)
    names = written_names(tag).lower()
    is_contents = set(names.split()) >= CONTENTS
    if (name in TAGS and not is_contents) or (of_page and name == "header"):
        is_source = around is not None and around.name == "blockquote"
        if is_source or not TEXT_CLASSES.isdisjoint(names.split()) or admonition_type(tag) is not None:
            return False
        beginning = _beginning(tag)
        if name == "footer" and not DATELINE.isdisjoint(beginning.tags):
            return True
        # An author wrote an `aside` that has blocks or a formula, if no theme gave it a class or role.
        is_note = name == "aside" and not {"class", "role"} & tag.attrs.keys() and NOTE_TAGS & beginning.tags.keys()
        is_ad = beginning.is_label(LONGEST_AD if name == "aside" else LONGEST_LABEL) or beginning.is_linked(LINKED_NOTE)
        return not is_note and (is_ad or (of_page and (name != "aside" or beginning.is_linked())))
    is_language = names == "lang" and around is not None and "language-" in attribute(around, "class")  # of VitePress
    if is_language or is_teaser(tag, page_title) or role in ROLES or (of_page and role in ROLES_OF_PAGE):
        return True
    has_fields = of_page and name in PANELS and tag.find(FIELDS) is not None
    if has_fields and _beginning(tag).is_label(LONGEST_NOTICE):  # settings of the page
        return True
    is_named = is_contents or _is_named(names) or (attribute(tag, "id").lower() in IDS and name not in HEADINGS)
    if not is_named or admonition_type(tag) is not None:
        return False
    beginning = _beginning(tag)
    is_credit = CREDIT.match(beginning.text) is not None
    return is_credit or beginning.is_label() or beginning.is_linked() or beginning.is_discussion


@lru_cache(maxsize=4096)
def _is_named(names: str) -> bool:
    """Returns whether the value of a `class` names furniture."""
    return not CLASSES.isdisjoint(names.split()) or CLASS_NAME.search(names) is not None


def _is_source_link(tag: Tag) -> bool:
    """Returns whether a link alone leads from a part of a page to its source, on another page of the site."""
    text = tag.contents[0] if len(tag.contents) == 1 else None
    if not isinstance(text, NavigableString) or not SOURCE_LINK.fullmatch(text) or ":" in attribute(tag, "href"):
        return False
    beside = (tag.previous_sibling, tag.next_sibling)
    is_alone = not any(isinstance(other, NavigableString) and other.strip() for other in beside)
    return is_alone and (tag.parent is None or tag.parent.name not in ITEMS)


def _is_control(tag: Tag) -> bool:
    """Returns whether a button acts on the page. In a heading or a sentence, and above a panel, it is text."""
    is_accordion = "aria-expanded" in tag.attrs or ACCORDION.search(attribute(tag, "class")) is not None
    if tag.name in HEADINGS or is_accordion or tag.parent is None:
        return False
    around = [child for child in tag.parent.contents if child is not tag and str(child).strip()]
    if tag.parent.name in HEADINGS or tag.parent.name == "summary":
        return bool(around)
    return not any(isinstance(child, NavigableString) for child in around)


def _is_dateline(tag: Tag) -> bool:
    """Returns whether a part of an article's header, or of WordPress's, says when it was written: "May 3 · Anna"."""
    in_header = tag.parent is not None and tag.parent.name == "header"
    if tag.name in HEADINGS or not (in_header or "wp-block-group" in attribute(tag, "class")):
        return False
    beginning = _beginning(tag)
    is_short = len(beginning.text) <= LONGEST_NOTICE and HEADINGS.keys().isdisjoint(beginning.tags)
    return is_short and "time" in beginning.tags
