"""Standing questions: events about the answer of the library to a question."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sakuin.arguments import MAX_QUERY
from sakuin.errors import Invalid, Unavailable
from sakuin.knowledge.model import Filters
from sakuin.knowledge.names import split_chunk_id
from sakuin.knowledge.search import KnowledgeSearches, RankedMatches
from sakuin.mcp.answers import cursor_of, position_of
from sakuin.mcp.changes.feed import ChangeFeed, last_read
from sakuin.mcp.schemas import record
from sakuin.platform.embedding import QuestionEmbedder, Vector
from sakuin.platform.supabase.client import vector_text
from sakuin.retrieval.proximity import COMPARED
from sakuin.retrieval.vectors import text_hash
from sakuin.retrieval.weights import NEAREST

ANSWERED, CHANGED = "question.answered", "question.changed"
TYPES = {
    ANSWERED: "The library has an answer to a question that it could not answer before.",
    CHANGED: "The explanation that answers a question is another one, has another text, or is gone or there again.",
}
ARGUMENTS = {
    "type": "object",
    "properties": {"question": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY}},
    "required": ["question"],
    "additionalProperties": False,
}
PAYLOAD = record(
    "The answer to a question.",
    {
        "question": "As it was asked.",
        "state": "answered, changed, or gone: nothing answers it any more.",
        "id": "Of the explanation that answers it.",
        "title": "Of the explanation.",
        "type": "rule, method, definition, example or tip.",
        "content_hash": "SHA-256 of its text.",
        "url": "Link to it.",
    },
)
# In scores: how rare words are, and how near unrelated texts, changes a little with each page.
_MARGIN = 0.3
# Vectors of questions that a worker keeps.
_MOST_VECTORS = 2_000


class KeptVectors:
    """An embedder whose `query` embeds each question once in a worker."""

    def __init__(self, embedder: QuestionEmbedder) -> None:
        self.query: Callable[[str], Vector] = lru_cache(maxsize=_MOST_VECTORS)(embedder.query)


@dataclass(frozen=True, slots=True)
class QuestionState:
    """Where a subscriber is: how many events it had, the last change that was read, and the answer then.

    `answer` has the id and the hash of the text of the best result; it is empty without a good match.
    """

    events: int
    read: int
    answer: tuple[str, ...]


_GAP = QuestionState(0, -1, ())


@dataclass(frozen=True, slots=True)
class StandingQuestions:
    """Asks questions of the live index version, as `search_knowledge` does, within the folder of the feed."""

    searches: KnowledgeSearches
    feed: ChangeFeed

    def after(
        self, name: str, question: str, cursor: str | None, folder: str
    ) -> tuple[list[dict[str, Any]], str, int, RankedMatches | None]:
        """Returns the event since a cursor, if there is one, the cursor after it, and how far the feed was read.

        The last is what the question found, None if it was not asked: that is only if something changed. The same
        cursor and the same answer give the same `eventId`. An empty cursor is that of a question without an answer.
        """
        signed = (name, folder, question)
        # Before the question: what changes meanwhile is asked for again.
        read = last_read(self.feed.within(folder).after(None, None, None, 0)["cursor"])
        before = None if cursor is None else _state(cursor, signed) if cursor else _GAP
        if before is not None and before.read == read:
            return [], str(cursor), read, None
        ranked = self._ranked(question, folder)
        answer, shown = self._answer(ranked)
        changed = _change(name, before, answer)
        events = (before.events if before else 0) + bool(changed)
        after = cursor_of(json.dumps([events, read, answer]), *signed)
        if not changed:
            return [], after, read, ranked
        id = hashlib.sha256(repr((signed, events, answer)).encode()).hexdigest()[:32]
        data = {"question": question, "state": changed, **shown}
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        return [{"eventId": id, "name": name, "timestamp": time, "data": data}], after, read, ranked

    def matching(self, question: str, folder: str, ranked: RankedMatches | None) -> tuple[Mapping[str, Any], str]:
        """Returns what changes are compared with (`touched_questions` in SQL), and the vector of the question.

        `ranked`: what the question found, if it was just asked.
        """
        ranked = ranked or self._ranked(question, folder)
        asked, matches = ranked.asked, ranked.matches
        if asked.vector is None or asked.folder_slots:
            # Each change may touch it.
            return {}, ""
        needed = ranked.answer.reach(asked.slots)
        # The others held the first place, or what an example lends, from one another.
        first = [each for each in matches if each.ranked.evidence == matches[0].ranked.evidence]
        watched = list(dict.fromkeys(each.id for each in (*first, *matches[:NEAREST])))
        terms = [{"term": term, "slot": slot, "value": value} for term, slot, value in needed.terms]
        weights = {"per_cosine": needed.per_cosine, "words": needed.words, "covered": needed.covered}
        places = {"space": asked.version.space, "in": asked.filters.beginning or "", "watched": watched}
        return {**places, **weights, "least": needed.least - _MARGIN, "terms": terms}, vector_text(asked.vector)

    def _ranked(self, question: str, folder: str) -> RankedMatches:
        search, filters = self.searches.knowledge_search(), Filters(folder=folder)
        ranked = search.ranked_matches(question, limit=COMPARED, filters=filters)
        if ranked.degraded:
            # By words alone the answer may be another one.
            raise Unavailable("Questions cannot be embedded now")
        return ranked

    def _answer(self, ranked: RankedMatches) -> tuple[tuple[str, ...], Mapping[str, Any]]:
        if ranked.is_refused:
            return (), {}
        best = ranked.matches[0]
        content_hash = text_hash(best.content)
        shown = {"id": best.id, "title": best.title, "type": best.type, "content_hash": content_hash}
        url = self.feed.url(*split_chunk_id(best.id))
        return (best.id, content_hash), {name: value for name, value in shown.items() if value} | {"url": url}


def check_question(arguments: Mapping[str, Any]) -> None:
    """Raises `Invalid` for arguments that are not those of a question."""
    question = arguments.get("question")
    if set(arguments) != {"question"} or not isinstance(question, str) or not question.strip():
        raise Invalid("'arguments' must be {\"question\": …}")
    if len(question) > MAX_QUERY:
        raise Invalid(f"'question' has more than {MAX_QUERY:,} characters")


def _change(name: str, before: QuestionState | None, answer: tuple[str, ...]) -> str:
    """Returns what an event of this name says about an answer; nothing if it says nothing."""
    if before is None or before.answer == answer:
        return ""
    if not before.answer:
        return "answered"
    return "" if name == ANSWERED else "changed" if answer else "gone"


def _state(cursor: str, signed: tuple[str, ...]) -> QuestionState:
    events, read, answer = json.loads(position_of(cursor, *signed))
    return QuestionState(events, read, tuple(answer))
