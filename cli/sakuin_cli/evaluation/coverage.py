"""Which questions of an exam the pages teach, and what they teach that no question asks."""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin.knowledge.model import Match
from sakuin.knowledge.names import link
from sakuin.knowledge.postgres_search import DEPTH
from sakuin.knowledge.search import SearchKnowledge
from sakuin.retrieval.ranking import unrelated
from sakuin.retrieval.weights import NEAR_MATCH, Scale, Weights

from sakuin_cli.evaluation.exam import ExamQuestion
from sakuin_cli.prediction.chunks import PredictedChunks

# An agent reads so many results. So many pages are named.
FIRST = 5
NOT_TAUGHT, NEVER_ASKED = "not taught here", "never asked"


@dataclass(frozen=True, slots=True)
class CoveredQuestion:
    """A question with the ids of the explanations that teach it, best first; none if it is not taught.

    `pages` are those that teach it best, `probability` is that the first one teaches it.
    """

    question: ExamQuestion
    pages: tuple[str, ...]
    probability: float
    taught_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TeachingPages:
    """Asks which pages teach a question, from the probability `at` on."""

    chunks: PredictedChunks
    search: SearchKnowledge
    at: float

    def __call__(self, question: ExamQuestion) -> CoveredQuestion:
        ranked = self.search.ranked_matches(question.text, limit=2 * DEPTH)
        weights, asked = self.search.index.weights, ranked.asked
        if not ranked.matches or asked is None:
            return CoveredQuestion(question, (), 0.0, ())
        scale = weights.scale(has_words=asked.has_words, has_vector=True)
        evidence = page_evidence(ranked.matches, self.chunks.page_cosines(asked.vector), weights, scale)
        pages = sorted(evidence, key=lambda page: (-evidence[page], page))
        # Several pages may teach the same, so that the best one needs no lead.
        probability = scale.similarity(evidence[pages[0]], 0.0)
        of_page = next(each for each in ranked.matches if each.material == pages[0])
        is_taught = probability >= self.at and not ranked.is_refused
        taught_by = _teaching(of_page, ranked.matches[:FIRST]) if is_taught else ()
        return CoveredQuestion(question, tuple(pages[:FIRST]), probability, taught_by)


def page_evidence(
    matches: Sequence[Match], cosines: Mapping[str, float], weights: Weights, scale: Scale
) -> dict[str, float]:
    """Returns the evidence of each page, in the unit of that of its explanations; `cosines` are those of whole pages.

    An exercise is often taught by several explanations. The learned order is a conditional logistic regression, so the
    probabilities of the explanations of a page add up. Half of an explanation's meaning is that of its page.
    """
    others = unrelated(cosines.values(), weights)
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for match in matches:
        z = others.deviations(cosines.get(match.material))
        scores[match.material].append(match.evidence + weights.meaning * (z - match.z) / 2)
    return {page: _sum(some, scale.lead) for page, some in scores.items()}


def _sum(scores: Sequence[float], slope: float) -> float:
    """Returns the score whose exponential is the sum of those of `scores`, each multiplied by `slope` before."""
    best = max(scores)
    return best + math.log(sum(math.exp(slope * (each - best)) for each in scores)) / slope


def _teaching(first: Match, results: Sequence[Match]) -> tuple[str, ...]:
    others = (each.id for each in results if each.similarity >= NEAR_MATCH)
    return tuple(dict.fromkeys((first.id, *others)))


@dataclass(frozen=True, slots=True)
class Coverage:
    """An exam and pages. `titles` are those of all explanations by id, `at` is the probability of a taught question."""

    questions: Sequence[CoveredQuestion]
    titles: Mapping[str, str]
    at: float

    @property
    def not_taught(self) -> list[ExamQuestion]:
        """Returns the questions that no explanation teaches."""
        return [each.question for each in self.questions if not each.taught_by]

    @property
    def never_asked(self) -> list[str]:
        """Returns the ids of the explanations that no question asks about, in the order of the pages."""
        asked = {id for each in self.questions for id in each.taught_by}
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
            ids = list(each.taught_by)
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
    ask: TeachingPages,
    *,
    on_progress: Callable[[str, int, int], None] = lambda _phase, _done, _total: None,
) -> Coverage:
    """Asks every question."""
    covered = []
    for number, question in enumerate(questions, 1):
        covered.append(ask(question))
        on_progress("asked", number, len(questions))
    return Coverage(covered, titles, ask.at)


def _address(id: str) -> str:
    """Returns the address of an explanation, relative to the site."""
    material, _, anchor = id.rpartition("#")
    return link(material, anchor, ".")
