"""Questions without a good answer, and what agents say of answers; texts are recorded if the operator wants that."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sakuin.errors import SakuinError
from sakuin.language.unicode_text import one_line
from sakuin.platform.supabase.client import Client, call

# Of a longer question the beginning is kept.
_LONGEST = 300
# Different questions in a day about the library or one Tool: somebody may ask without end.
_MOST_A_DAY = 200
# For a record: the answer waits for it, and a question that is not recorded is no great loss.
SECONDS = 0.5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RefusedQuestion:
    """A question, how often it was asked, and the first and the last of these days (UTC), as 2026-11-22.

    `weak` times it had a good match that is probably wrong, and `unanswered` times an agent said that a result did not
    answer. `tool_id` is None for the library.
    """

    tool_id: str | None
    question: str
    asked: int
    weak: int
    first_day: str
    last_day: str
    unanswered: int = 0


@dataclass(frozen=True, slots=True)
class RefusedQuestions:
    """The table `refused_question`. Nothing in it tells who asked.

    Of the library and of each Tool the first `most_a_day` different questions are recorded.
    """

    client: Client
    most_a_day: int = _MOST_A_DAY

    def record(self, question: str, tool_id: str | None, is_weak: bool = False) -> None:
        """Counts a question of today."""
        arguments = {"p_tool": tool_id, "p_question": question, "p_most": self.most_a_day, "p_weak": is_weak}
        call(self.client, "record_refused_question", arguments)

    def most_frequent(self, tools: Collection[str] | None, limit: int) -> Sequence[RefusedQuestion]:
        """Returns the most frequent questions first, of these Tools; None: of the library and of all Tools."""
        names = None if tools is None else sorted(tools)
        rows = call(self.client, "refused_questions", {"p_tools": names, "p_limit": limit})
        return [RefusedQuestion(**row) for row in rows]


def recorder(questions: RefusedQuestions, redact: Callable[[str], str]) -> Callable[[str, str | None, bool], None]:
    """Returns the function that records a question without secrets, on one line. A failure is logged and not raised."""

    def record(question: str, tool_id: str | None, is_weak: bool) -> None:
        try:
            questions.record(_kept(question, redact), tool_id, is_weak)
        except SakuinError:
            logger.warning("a refused question is not recorded", exc_info=True)

    return record


def _kept(question: str, redact: Callable[[str], str]) -> str:
    # A secret that is cut, or that has invisible characters in it, would not be found.
    text = redact(one_line(question))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


@dataclass(frozen=True, slots=True)
class Judgement:
    """How often agents said that an explanation answered a question, and that it did not.

    The id of the `explanation` is null where no result answered, `query` where questions are not recorded.
    """

    explanation: str | None
    query: str | None
    answered: int
    unanswered: int


@dataclass(frozen=True, slots=True)
class Feedback:
    """The table `feedback`: what agents say of answers of the library, of each of the last 30 days."""

    client: Client

    def record(self, chunk_id: str, question: str, is_answered: bool) -> None:
        """Counts what an agent says today; an empty question is not recorded."""
        arguments = {"p_chunk": chunk_id, "p_question": question, "p_answered": is_answered, "p_most": _MOST_A_DAY}
        call(self.client, "record_feedback", arguments)

    def counts(self, limit: int) -> Sequence[Judgement]:
        """Returns what was said most often."""
        rows = call(self.client, "feedback_counts", {"p_limit": limit})
        return [
            Judgement(row["chunk_id"] or None, row["question"] or None, row["answered"], row["unanswered"])
            for row in rows
        ]


def feedback_recorder(
    feedback: Feedback, redact: Callable[[str], str], *, with_questions: bool
) -> Callable[[str, str, bool], None]:
    """Returns the function that records an explanation, a question if wanted, and whether it answered."""

    def record(chunk_id: str, question: str, is_answered: bool) -> None:
        feedback.record(chunk_id, _kept(question, redact) if with_questions else "", is_answered)

    return record
