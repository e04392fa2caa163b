"""Pages of other subjects than mathematics answer questions in four languages as well as they did.

The pages are indexed in this process, with the real database and no vocabulary. The floors in `floors.json` are a
little under what was measured; raise them when the search gets better.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from sakuin.knowledge.reading.page_reader import read_page
from sakuin_local.supabase.database import Database

from tests.emptied import emptied
from tests.general.cached_model import CachedModel
from tests.general.library import library_in
from tests.recorded_vectors import recorded_vectors

FOLDER = Path(__file__).parent
FLOORS = json.loads((FOLDER / "floors.json").read_text("utf-8"))
LANGUAGES = ("de", "en", "ja", "zh")


@dataclass(frozen=True)
class Asked:
    """A question, the id of the chunk that answers it, if one does, and the ids that were found, best first."""

    query: str
    chunk: str | None
    found: list[str]
    is_refused: bool

    def is_hit(self, k: int) -> bool:
        return self.chunk in self.found[:k]


def questions(language: str) -> list[tuple[str, str | None]]:
    lines = (FOLDER / language / "queries.jsonl").read_text("utf-8").splitlines()
    return [(question["query"], question["chunk"]) for question in map(json.loads, lines)]


def ask(language: str, model: CachedModel, database: Database) -> list[Asked]:
    library = library_in(database, FOLDER / language / "site", model, vocabulary="")
    answers = [(query, chunk, library.explain(query, depth=5)) for query, chunk in questions(language)]
    return [Asked(query, chunk, [hit.id for hit in said.results], said.refused) for query, chunk, said in answers]


@pytest.fixture(scope="module")
def asked(
    database: Database, sql: psycopg.Connection, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Asked]]:
    """The questions of each language with what was found."""
    file, found = tmp_path_factory.mktemp("general") / "vectors.sqlite", {}
    with recorded_vectors(file):
        model = CachedModel.in_file(file)
        for language in LANGUAGES:
            emptied(sql)
            found[language] = ask(language, model, database)
    return found


def share(right: Sequence[Asked], of: Sequence[Asked]) -> float:
    return len(right) / len(of)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_question_is_asked_once_and_names_an_element(language: str) -> None:
    ids = {
        f"{page.stem}#{element.anchor}"
        for page in (FOLDER / language / "site").glob("*.html")
        for element in read_page(page.read_bytes()).explanations
    }
    queries, chunks = zip(*questions(language), strict=True)
    assert (len(ids), len(set(queries)), chunks.count(None)) == (25, 25, 3)
    assert {chunk for chunk in chunks if chunk is not None} - ids == set()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("k", [1, 5])
def test_a_language_is_answered_as_well_as_it_was(asked: dict[str, list[Asked]], language: str, k: int) -> None:
    answerable = [one for one in asked[language] if one.chunk is not None]
    missed = [one for one in answerable if not one.is_hit(k)]
    assert 1 - share(missed, answerable) >= FLOORS[language][f"hit@{k}"], missed


def test_answers_are_refused_only_where_there_are_none(asked: dict[str, list[Asked]]) -> None:
    every = [one for language in LANGUAGES for one in asked[language]]
    answerable = [one for one in every if one.chunk is not None]
    others = [one for one in every if one.chunk is None]
    refused = [one for one in answerable if one.is_refused]
    answered = [one for one in others if not one.is_refused]
    assert share(refused, answerable) <= FLOORS["refused"], refused
    assert 1 - share(answered, others) >= FLOORS["recognised"], answered
