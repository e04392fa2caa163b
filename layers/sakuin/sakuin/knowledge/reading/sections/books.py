"""The books of a page: how many words of its main part are searched, left out for a reason, or lost."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bs4 import Tag

from sakuin.knowledge.page import Explanation, Words, body_text
from sakuin.knowledge.reading.anchors import AnchoredElement
from sakuin.knowledge.reading.names import concept_name, without_number
from sakuin.knowledge.reading.outline import Region, without_places
from sakuin.knowledge.reading.tree import Step
from sakuin.language.model import LONGEST_BODY

# In Japanese and Chinese a sign counts as a word. Runs of them in the form that Python finds fastest
# (`retrieval/passages.py`).
_SIGN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
WORD, _SIGNS, _OTHERS = re.compile(rf"[\w{_SIGN}]"), re.compile(f"[{_SIGN}][{_SIGN}]*"), re.compile(r"\w+")

FORM = frozenset({"button", "label", "option", "menu"})

MOST_LOST = 3  # sections whose first words are kept


def books(
    tags: Sequence[Tag],
    page_steps: Iterable[Step],
    content: Sequence[Step],
    left_out: Mapping[str, list[str]],
    regions: Mapping[str, Region],
    dropped: Mapping[str | None, Sequence[AnchoredElement]],
    kept: Sequence[Explanation],
    title: str,
) -> Words:
    """Returns the books. `left_out` has texts by the reason, `dropped` sections, "" for those that are lost."""
    reasons = Counter({reason: _count(texts) for reason, texts in left_out.items()})
    in_content = {id(step.tag.parent) for step in content if step.kind == "open"} | {id(step.tag) for step in content}
    visible = {id(step.tag) for step in page_steps if step.kind == "open"}
    for tag in tags:
        if id(tag) not in visible and id(tag.parent) in in_content:
            reason = "menu" if tag.name == "nav" else "form" if tag.name in FORM else "hidden"
            reasons[reason] += _count(tag.strings)
    # The headings of an explanation are searched with it. Only all titles tell whether the number of a heading counts.
    headings = {without_number(heading) for each in kept for heading in each.headings}
    lost: list[str] = []
    not_searched = 0
    for why, sections in dropped.items():
        texts = [without_places(regions[each.anchor].prose.text()).strip() for each in sections]
        if not why:
            texts = lost = [
                text for text in texts if WORD.search(text) and without_number(concept_name(text)) not in headings
            ]
        not_searched += _count(texts)
        reasons[why or ""] += _count(texts)
    searched = max(0, _count(step.text for step in content if step.kind == "text") - not_searched)
    # Behind the indexed part of a long explanation.
    only_read = _count(body_text(each, title)[LONGEST_BODY:] for each in kept)
    return Words(searched - only_read, reasons.pop("", 0), {**+reasons}, tuple(lost[:MOST_LOST]), only_read)


def _count(texts: Iterable[str]) -> int:
    text = "\n".join(texts)
    others = _SIGNS.split(text)
    return len(text) - sum(map(len, others)) + len(_OTHERS.findall("\n".join(others)))
