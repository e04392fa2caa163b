"""A starter set of labelled questions, made by rules from titles, headings, first sentences and `learns`."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sakuin.knowledge.learns.from_text import (
    ENGLISH_ACTION,
    KANJI,
    WAY,
    as_verb,
    clause_of,
    language_of_text,
    sentences_of,
)
from sakuin.knowledge.names import is_in_folder
from sakuin.knowledge.page import Explanation

if TYPE_CHECKING:
    from sakuin_cli.rest import Record

CATEGORY, JUDGED = "bootstrap", "feedback"
HALVES = ("dev", "held-out")
MOST_PASSAGES = 50
QUESTIONS_A_PASSAGE = 2
# A question that more texts answer says little about any of them.
MOST_GOLD = 3


@dataclass(frozen=True, slots=True)
class Passage:
    """An indexed text. `id` is that of a knowledge chunk, or the json_pointer of a Table's node.

    `heading` is the section or page around it, `learns` are its author's items.
    """

    id: str
    title: str
    heading: str = ""
    content: str = ""
    learns: tuple[str, ...] = ()


def spread(items: Sequence[Passage]) -> list[Passage]:
    """Returns at most 50 items from all parts of a sequence, in its order."""
    count = min(len(items), MOST_PASSAGES)
    return [items[number * len(items) // count] for number in range(count)]


def starter_questions(passages: Sequence[Passage]) -> list[dict[str, object]]:
    """Returns questions with their answers in the form of labels, about at most 50 passages."""
    gold: defaultdict[str, list[str]] = defaultdict(list)
    for passage in passages:
        for query in dict.fromkeys(_questions(passage)):
            gold[query].append(passage.id)
    queries: dict[str, None] = {}
    for number, passage in enumerate(spread(passages)):
        usable = [query for query in _questions(passage) if len(gold[query]) <= MOST_GOLD and query not in queries]
        # Each passage begins with another kind of question.
        start = number % max(len(usable), 1)
        queries |= dict.fromkeys((usable[start:] + usable[:start])[:QUESTIONS_A_PASSAGE])
    return [
        {"query": query, "gold": gold[query], "category": CATEGORY, "half": HALVES[number % 2]}
        for number, query in enumerate(queries)
    ]


def judged_questions(judgements: "Sequence[Record]", folder: str) -> list[dict[str, object]]:
    """Returns the questions of agents with the explanations of a folder that answered more often than they did not."""
    gold: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for one in judgements:
        query, id, margin = one["query"], one["explanation"], one["answered"] - one["unanswered"]
        if query and id and margin > 0 and is_in_folder(id, folder.strip("/")):
            gold[query].append((-margin, id))
    return [{"query": query, "gold": [id for _, id in sorted(ids)], "category": JUDGED} for query, ids in gold.items()]


def as_lines(questions: Sequence[dict[str, object]]) -> str:
    """Returns labels as JSON Lines."""
    return "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)


def _questions(passage: Passage) -> Iterator[str]:
    language = language_of_text(f"{passage.title}\n{passage.content or passage.heading}")
    is_chinese = language == "other" and KANJI.search(passage.title) is not None
    asked: Callable[[str], str] = _WAYS.get("zh" if is_chinese else language, str)
    explanation = Explanation("", "rule", passage.title, passage.content, 0)
    if passage.title:
        yield asked(passage.title)
    if sentence := next(sentences_of(explanation), ""):
        yield clause_of(sentence).rstrip("…")
    if passage.title and passage.heading and passage.title not in passage.heading:
        yield f"{passage.heading} {passage.title}"
    for item in passage.learns:
        yield asked(item)


def _in_japanese(text: str) -> str:
    if WAY.search(text) or text.endswith(("方法", "手順", "理由", "か")):
        return f"{text}を教えてください"
    if verb := as_verb(text):
        return f"{verb}にはどうすればいいですか"
    return f"「{text}」とはどういうことですか" if re.search("[はがを]", text) else f"{text}とは何ですか"


def _in_english(text: str) -> str:
    lower = text[:1].lower() + text[1:]
    if lower.startswith("how to "):
        return f"How do I {lower.removeprefix('how to ')}?"
    if lower.startswith(("what ", "why ", "how ", "when ", "where ", "who ")):
        return f"{text.rstrip('?')}?"
    if lower.startswith("explain "):
        return text
    return f"How do I {lower}?" if ENGLISH_ACTION.match(text) else f"What is {text}?"


def _in_chinese(text: str) -> str:
    return f"什么是{text}？"


# In other languages a question is the text itself: people rewrite it.
_WAYS: dict[str, Callable[[str], str]] = {"ja": _in_japanese, "en": _in_english, "zh": _in_chinese}
