"""Which questions of an exam the pages teach, and what they teach that no question asks."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sakuin.knowledge.names import link
from sakuin.retrieval.ranking import leads
from sakuin.retrieval.weights import NEAR_MATCH

from sakuin_cli.evaluation.exam import ExamQuestion
from sakuin_cli.prediction.evidence import PageWeights, SiteEvidence, page_weights

# An agent reads so many results. So many pages are named.
FIRST = 5
NOT_TAUGHT, NEVER_ASKED = "not taught here", "never asked"


@dataclass(frozen=True, slots=True)
class CoveredQuestion:
    """A question with the ids of the explanations that teach it, best first; none if it is not taught.

    `pages` are those that teach it best, `probability` is that one of all pages teaches it.
    """

    question: ExamQuestion
    pages: tuple[str, ...]
    probability: float
    taught_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TeachingPages:
    """Asks which pages teach a question, from the probability `at` on."""

    site: SiteEvidence
    at: float
    weights: PageWeights = field(default_factory=page_weights)

    def __call__(self, question: ExamQuestion) -> CoveredQuestion:
        evidence, site = self.site(question.text), self.site
        page_scores = self.weights.scores(evidence.pages)
        pages = np.argsort(-page_scores, kind="stable")[:FIRST]
        order = np.argsort(-evidence.explanations, kind="stable")
        scores = evidence.explanations[order].tolist()
        probability = self.weights.taught(page_scores)
        taught_by: tuple[str, ...] = ()
        if probability >= self.at and scores[0] >= evidence.scale.least:
            first = next(number for number in order if site.page_of[number] == pages[0])
            ahead = leads(scores[: FIRST + 1], scores)[:FIRST]
            similarities = list(map(evidence.scale.similarity, scores, ahead))
            least = NEAR_MATCH * similarities[0]
            near = (number for number, similarity in zip(order, similarities, strict=False) if similarity >= least)
            numbers = dict.fromkeys((first, *near))
            taught_by = tuple(site.ids[number] for number in numbers)
        return CoveredQuestion(question, tuple(site.pages[each] for each in pages), probability, taught_by)


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
        from jinja2 import Environment, PackageLoader, StrictUndefined

        templates = Environment(
            loader=PackageLoader("sakuin_cli", "evaluation"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        shown = {"rows": list(self.rows()), "address": _address, "asked": len(self.questions)}
        return templates.get_template("coverage.html").render(coverage=self, **shown)


def _address(id: str) -> str:
    """Returns the address of an explanation, relative to the site."""
    material, _, anchor = id.rpartition("#")
    return link(material, anchor, ".")
