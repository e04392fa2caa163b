"""The titles of explanations, with the heading above those that need it, such as "Fixed" in the notes of a release."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from bs4 import Tag

from sakuin.knowledge.markdown import without_code
from sakuin.knowledge.page import Explanation
from sakuin.knowledge.reading.anchors import TITLES_PARENT, AnchoredElement
from sakuin.knowledge.reading.inline import CODE_EDGE, is_inline, is_note_mark, is_struck, marks_of, without_gaps
from sakuin.knowledge.reading.names import (
    concept_name,
    is_generic,
    is_label,
    is_label_alone,
    is_link_label,
    shortened,
    without_number,
)
from sakuin.knowledge.reading.parsing import attribute, classes
from sakuin.knowledge.reading.rules import names, pattern
from sakuin.knowledge.reading.tree import Step, begins_with_text, steps
from sakuin.language.unicode_text import one_line

GENERIC = names("titles_generic")
TITLE_CLASS, TITLE_TAGS = pattern("title_class"), names("title_tags")
TITLE_ATTRIBUTES = ("data-title", "title", "aria-label")
SECTION_NUMBERS = names("section_numbers")
# "0.40.0 (October 15, 2024)", "[1.2.0] - 2024-10-15", "Version 2.1"
VERSION = re.compile(r"[\[(]?(?P<version>(?:v|version )?\d+(?:\.\d+)+[\w.+-]*)", re.IGNORECASE)
# "2.", "(3)"
LONE_NUMBER = re.compile(r"\W*\d{1,4}\W*")
NAMES_SOMETHING = re.compile(r"[^\W\d_]|[^\w\s.,:;()\[\]-]")
ADDITION = re.compile(r"[(（][^()（）]*[)）]\W*")
WORDS = re.compile(r"\w")
FIRST_STEPS, TITLE_STEPS = 40, 60  # a title is at the beginning of its element, and is short
LONGEST_TITLE, LONGEST_TITLE_TEXT, LONGEST_PARENT = 120, 2000, 60  # characters; those of the text with white space


def with_parents(explanations: Sequence[Explanation]) -> tuple[Explanation, ...]:
    """Returns the explanations; generic titles of sections, and those under several headings: "0.40.0 › Fixed"."""
    parents = defaultdict(set)
    for each in explanations:
        parents[each.title].add(each.headings[-1:])
    return tuple(
        replace(each, title=f"{_short(each.headings[-1])} › {each.title}")
        if each.is_section
        and each.headings[-1:] not in ((), (each.title,))
        and (len(parents[each.title]) > 1 or each.title.casefold() in GENERIC or LONE_NUMBER.fullmatch(each.title))
        else each
        for each in explanations
    )


def _short(heading: str) -> str:
    version = VERSION.match(heading)
    return version["version"] if version else heading[:LONGEST_PARENT].rstrip()


def title_of(anchored: AnchoredElement, content: str) -> str:
    """Returns the title of an explanation, from the first of these sources that has one.

    Its heading, title element or first bold words; the attributes `data-title`, `title`, `aria-label`; a `figcaption`
    or `summary` in it; one of its first lines, cut at about 40 characters; the words of its anchor.
    """
    fallback = ""
    for candidate in filter(None, _candidates(anchored, content)):
        name = name_of_title(candidate)
        bare = without_number(name)
        if bare and not is_generic(bare) and not is_label_alone(bare):
            return name
        fallback = fallback or name
    return fallback or anchored.anchor


def name_of_title(words: str) -> str:
    """Returns the name of a concept in a title, which is cut."""
    return concept_name(words)[:LONGEST_TITLE].rstrip()


def words_of(tag: Tag) -> str:
    """Returns the text of the title of a box on one line, without badges ("例1") and link labels ("→ 例1")."""
    return title_words(islice(steps(tag), TITLE_STEPS), of_box=tag)


def title_words(title_steps: Iterable[Step], *, of_box: Tag | None = None) -> str:
    """Returns the words of a title on one line, without marks of notes and without struck-out words among others."""
    all_steps = tuple(title_steps)
    words = ""
    skipped: Tag | None = None
    for step in all_steps:
        if skipped is not None:
            skipped = None if step.kind == "close" and step.tag is skipped else skipped
        elif step.kind == "text":
            # Cut, since nested headings read the same text several times.
            words += "" if _is_left_out(step, words, of_box) else step.text[:LONGEST_TITLE_TEXT]
        elif not is_inline(step.tag):
            words += " "
        elif step.kind == "open" and (is_note_mark(step.tag) or is_struck(step.tag)):
            skipped = step.tag
        else:
            words += CODE_EDGE if step.tag.name == "code" else marks_of(step.tag)[step.kind == "close"]
    title = one_line(without_gaps(words))
    if NAMES_SOMETHING.search(title) and not ADDITION.fullmatch(title):
        return title
    # The label before a lone number or an addition names it: "Theorem 1.1.1.", "Theorem 2 (Pump)".
    return one_line("".join(step.text for step in all_steps if step.tag.name != "a" or WORDS.search(step.text)))


def _is_left_out(step: Step, words: str, of_box: Tag | None) -> bool:
    """Returns whether a text is a number by the generator or the sign of a link, or in the title of a box a label."""
    tag, is_link = step.tag, step.tag.name == "a"
    if not SECTION_NUMBERS.isdisjoint(classes(tag)):  # of Sphinx, Pandoc
        return True
    if not step.text.strip():
        return False
    if is_link and ("#" in attribute(tag, "href") or "href" not in tag.attrs) and not any(map(str.isalnum, step.text)):
        return True
    if of_box is None or tag is of_box:
        return False
    is_in_page = is_link and attribute(tag, "href").startswith("#")
    return is_link_label(one_line(step.text)) if is_in_page else not words.strip() and is_label(step.text)


def _candidates(anchored: AnchoredElement, content: str) -> Iterator[str]:
    if anchored.shape != "element":
        yield words_of(anchored.element)
    elif anchored.origin is not anchored.element and begins_with_text(anchored.origin):
        yield words_of(anchored.origin)
    else:
        yield from leading_titles(anchored.element)
    for tag in (anchored.origin, anchored.element):
        yield from (attribute(tag, name) for name in TITLE_ATTRIBUTES if name in tag.attrs)
    if anchored.shape == "element":
        inside = (step.tag for step in islice(steps(anchored.element), FIRST_STEPS) if step.kind == "open")
        yield from islice((words_of(tag) for tag in inside if tag.name in TITLES_PARENT), 1)
    for line in without_code(content[:500]).split("\n", 3)[:3]:
        yield shortened(line.removeprefix("- "))
    yield anchored.anchor.partition("-")[2].replace("-", " ").replace("_", " ")


def leading_titles(element: Tag) -> Iterator[str]:
    """Yields titles at the beginning of a box. Only labels and decoration may come before them."""
    within: Tag | None = None
    for step in islice(steps(element), FIRST_STEPS):
        if within is not None:
            within = None if step.kind == "close" and step.tag is within else within
        elif step.kind == "open" and step.tag is not element and is_title(step.tag):
            within = step.tag
            yield words_of(step.tag)
        elif step.kind == "text" and not is_label(step.text):
            return


def is_title(tag: Tag) -> bool:
    """Returns whether an element is a title by its tag or class."""
    return tag.name in TITLE_TAGS or any(TITLE_CLASS.search(name) for name in classes(tag))
