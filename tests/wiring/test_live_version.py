"""A question learns from the call that looks up its words which index version is live."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sakuin.platform.secrets import Secrets
from sakuin.retrieval.index_version import IndexVersion, StoredIndexVersion, TableCut
from sakuin.settings import Settings
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.wiring.clients import Clients, start_telemetry
from sakuin.wiring.index_versions import own_index, recent, searched_versions
from sakuin.wiring.mcp import Searches

from tests.watched import watched
from tests.worlds import SETTINGS, TableWorld, World, long

AN_HOUR = 3600.0


@dataclass(frozen=True)
class QuietClients(Clients):
    """The clients of a worker that gets a question an hour; `paths`: the requests to Postgres."""

    times: list[float] = field(default_factory=lambda: [0.0])
    paths: list[str] = field(default_factory=list)

    def clock(self) -> float:
        return self.times[-1]


@dataclass
class Worker:
    """A worker with two index versions, of which the deployed one is live."""

    clients: QuietClients

    def __post_init__(self) -> None:
        client, paths = self.clients.supabase, self.clients.paths
        watched(client, lambda name, _: paths.append(name))
        self.indexes = IndexVersions(self.clients.supabase)
        self.own = own_index(self.clients.settings)
        self.other = replace(self.own, model=replace(self.own.model, query_prefix="q: "))
        for version in (self.own, self.other):
            self.indexes.add(version)
        self.searches = Searches(self.clients, searched_versions(self.clients))

    def calls(self, question: Callable[[], Any]) -> list[str]:
        """Returns the requests to Postgres of a question that is asked an hour later."""
        self.clients.times.append(self.clients.times[-1] + AN_HOUR)
        self.clients.paths.clear()
        question()
        return list(self.clients.paths)


@pytest.fixture
def worker(world: World, stand_in: str, environ: dict[str, str], members: dict[str, object]) -> Worker:
    settings = Settings.read(environ | {"TURBOPUFFER_BASE_URL": stand_in})
    return Worker(QuietClients(settings, Secrets.read(members, "sakuin"), start_telemetry("Search")))


def test_a_question_about_pages_follows_an_activation_without_a_call_before(worker: Worker) -> None:
    def question() -> None:
        worker.searches.knowledge_search()("解の公式")

    first, quiet = worker.calls(question), worker.calls(question)
    assert first == ["index_versions", *quiet]
    assert quiet[0] == "lexicon_entries"
    assert worker.searches.knowledge_search().pages(None).version == worker.own.pages
    worker.indexes.activate(worker.other.id, force=True)
    worker.indexes.delete(worker.own.id, seconds=0)
    assert worker.calls(question) == ["lexicon_entries", "index_versions", *quiet]
    assert worker.searches.knowledge_search().pages(None).version == worker.other.pages
    assert worker.calls(question) == quiet


def test_a_question_about_a_named_version_follows_no_activation(worker: Worker) -> None:
    search = worker.searches.knowledge_search(worker.own.id)
    worker.indexes.activate(worker.other.id, force=True)
    assert search.ranked_matches("解の公式", limit=1).version == worker.own.pages
    worker.calls(lambda: worker.searches.knowledge_search()("解の公式"))
    assert worker.searches.knowledge_search().pages(None).version == worker.other.pages


def test_a_question_about_a_table_follows_an_activation_without_a_call(worker: Worker, tables: TableWorld) -> None:
    for version in (worker.own, worker.other):
        worker.indexes.add(version)
    *_, endpoint = tables.documented([long("説明")])
    (tool,) = tables.bound(endpoint).tools

    def question() -> None:
        worker.searches.table_search()(endpoint, tool, "説明", top_k=1)

    first, quiet = worker.calls(question), worker.calls(question)
    assert first == ["index_versions", *quiet]
    assert quiet[0] == "table_lexicon_entries"
    worker.indexes.activate(worker.other.id, force=True)
    assert worker.calls(question) == ["table_lexicon_entries", "index_versions", *quiet]
    assert worker.searches.table_search().records.fingerprint == worker.other.tables.id
    assert worker.calls(question) == quiet


OTHER_MODEL = replace(SETTINGS, model=replace(SETTINGS.model, passage_prefix="passage: "))
SMALLER = replace(SETTINGS, cut=TableCut(chunk_size=400))
OLD_TEMPLATE = replace(SETTINGS, text_template="before/1")


def kept(settings: IndexVersion, *, live: bool = False) -> StoredIndexVersion:
    return StoredIndexVersion(settings, live, live, settings.tables.id, "")


def test_what_is_kept_is_asked_again_only_after_some_seconds() -> None:
    now, asked = [0.0], []

    def read() -> int:
        asked.append(now[0])
        return len(asked)

    latest = recent(read, seconds=5, clock=lambda: now[0])
    assert (latest(), latest()) == (1, 1)
    now[0] = 5.1
    assert (latest(), asked) == (2, [0.0, 5.1])


def test_other_versions_of_pages_are_those_of_another_model_with_the_texts_of_this_code(world: World) -> None:
    indexes = [kept(SETTINGS, live=True), kept(SMALLER), kept(OTHER_MODEL), kept(OLD_TEMPLATE)]
    pages = world.apply_page
    assert set(pages.other_versions(indexes)) == {OTHER_MODEL.pages.id}
    assert set(pages.other_versions([kept(OTHER_MODEL, live=True)])) == set()
    assert set(pages.other_versions([kept(OLD_TEMPLATE, live=True)])) == set()
