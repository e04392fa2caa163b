"""Which questions of an exam the pages teach, and what they teach that no question asks."""

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin.knowledge.model import Match
from sakuin.knowledge.names import link
from sakuin.retrieval.weights import NEAR_MATCH

from sakuin_cli.evaluation.exam import ExamQuestion

# An agent reads so many results.
FIRST = 5
NOT_TAUGHT, NEVER_ASKED = "not taught here", "never asked"


@dataclass(frozen=True, slots=True)
class CoveredQuestion:
    """A question with the best results of the search, and the probability that one of them teaches it."""

    question: ExamQuestion
    results: tuple[Match, ...]

    @property
    def probability(self) -> float:
        """Returns the probability that at least one of the first results answers."""
        return round(1 - math.prod(1 - match.similarity for match in self.results), 4)

    @property
    def is_answered(self) -> bool:
        """Whether an agent gets an answer; otherwise it is `no_good_match`, however far the best result leads."""
        return bool(self.results) and self.results[0].is_good


@dataclass(frozen=True, slots=True)
class Coverage:
    """An exam and pages. `titles` are those of all explanations by id. `at`: from which probability one is taught."""

    questions: Sequence[CoveredQuestion]
    titles: Mapping[str, str]
    at: float

    def taught_by(self, covered: CoveredQuestion) -> list[str]:
        """Returns the ids of the explanations that teach a question, best first; none if it is not taught."""
        if not covered.is_answered or covered.probability < self.at:
            return []
        return [each.id for number, each in enumerate(covered.results) if not number or each.similarity >= NEAR_MATCH]

    @property
    def not_taught(self) -> list[ExamQuestion]:
        """Returns the questions that no explanation teaches."""
        return [each.question for each in self.questions if not self.taught_by(each)]

    @property
    def never_asked(self) -> list[str]:
        """Returns the ids of the explanations that no question asks about, in the order of the pages."""
        asked = {id for each in self.questions for id in self.taught_by(each)}
        return [id for id in self.titles if id not in asked]

    @property
    def summary(self) -> str:
        """Returns the counts in a sentence."""
        taught = len(self.questions) - len(self.not_taught)
        return (
            f"{taught:,} of {len(self.questions):,} questions are taught (probability of at least {self.at:g}); "
            f"{len(self.never_asked):,} of {len(self.titles):,} explanations are never asked"
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields a row for each question, with what teaches it, and one for each explanation that is never asked."""
        for each in self.questions:
            ids = self.taught_by(each)
            name, text = each.question.name, each.question.text
            state = "taught" if ids else NOT_TAUGHT
            yield {"state": state, "name": name, "text": text, "probability": each.probability, "taught_by": ids}
        for id in self.never_asked:
            yield {"state": NEVER_ASKED, "name": id, "text": self.titles[id], "probability": None, "taught_by": []}

    def as_csv(self) -> str:
        """Returns the rows as CSV. A cell that a spreadsheet would compute begins with an apostrophe."""
        written = io.StringIO()
        writer = csv.writer(written)
        writer.writerow(("state", "name", "text", "probability", "taught_by"))
        for row in self.rows():
            cells = (row["state"], row["name"], row["text"], row["probability"], "\n".join(row["taught_by"]))
            writer.writerow(f"'{cell}" if str(cell).startswith(("=", "+", "-", "@", "\t")) else cell for cell in cells)
        return written.getvalue()

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON document."""
        rows = list(self.rows())
        count = len(self.questions)
        return {
            "at": self.at,
            "taught": count - len(self.not_taught),
            "questions": rows[:count],
            "never_asked": [{"id": row["name"], "title": row["text"]} for row in rows[count:]],
        }

    def page(self) -> str:
        """Returns an HTML page."""
        from sakuin_cli.evaluation.page import rendered

        return rendered(
            "coverage.html", coverage=self, rows=list(self.rows()), address=_address, asked=len(self.questions)
        )


def coverage_of(
    questions: Sequence[ExamQuestion],
    titles: Mapping[str, str],
    results: Callable[[str], Sequence[Match]],
    *,
    at: float,
    on_progress: Callable[[str, int, int], None] = lambda _phase, _done, _total: None,
) -> Coverage:
    """Asks every question; `results` are the first ones of a search, best first."""
    covered = []
    for number, question in enumerate(questions, 1):
        covered.append(CoveredQuestion(question, tuple(results(question.text))))
        on_progress("asked", number, len(questions))
    return Coverage(covered, titles, at)


def _address(id: str) -> str:
    """Returns the address of an explanation, relative to the site."""
    material, _, anchor = id.rpartition("#")
    return link(material, anchor, ".")
