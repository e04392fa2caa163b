"""The documents as a site: it is built without a warning, and Sakuin finds in it what a stranger asks about Sakuin.

The site has no semantic ids, so it is indexed by its headings. Only some pages are: the model takes a second for a
section whose vector is not recorded.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sakuin_local.places import REPOSITORY
from sakuin_local.supabase.database import Database

from tests.documents import PAGES, QUESTIONS, build_site
from tests.emptied import emptied
from tests.general.cached_model import CachedModel
from tests.general.library import Library, library_in
from tests.recorded_vectors import recorded_vectors


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    build_site(folder)
    return folder


@pytest.fixture(scope="module")
def library(
    site: Path, database: Database, sql: psycopg.Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Library]:
    """The chosen pages of the site, indexed."""
    folder = tmp_path_factory.mktemp("library")
    for name in PAGES:
        target = folder / f"{name}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(site / f"{name}.html", target)
    vectors = tmp_path_factory.mktemp("vectors") / "vectors.sqlite"
    emptied(sql)
    with recorded_vectors(vectors):
        yield library_in(database, folder, CachedModel.in_file(vectors), vocabulary="")


def test_the_site_has_no_path_of_the_machine(site: Path) -> None:
    texts = {file: file.read_bytes() for file in site.rglob("*") if file.suffix in (".html", ".json", ".xml")}
    assert [file for file, text in texts.items() if str(REPOSITORY).encode() in text] == []


def test_every_document_is_a_page_of_the_site(site: Path) -> None:
    documents = (file.relative_to(REPOSITORY / "docs") for file in REPOSITORY.glob("docs/**/*.md"))
    pages = {name.with_name("index.html") if name.stem == "README" else name.with_suffix(".html") for name in documents}
    assert {name for name in pages if not (site / name).is_file()} == set()


def test_ten_questions_about_sakuin_are_answered_from_its_own_documents(library: Library) -> None:
    answers = {query: library.explain(query, depth=3) for query, _ in QUESTIONS}
    found = {query: [] if said.refused else [hit.id for hit in said.results] for query, said in answers.items()}
    assert len(found) == 10
    assert {query: found[query] for query, expected in QUESTIONS if expected not in found[query]} == {}
