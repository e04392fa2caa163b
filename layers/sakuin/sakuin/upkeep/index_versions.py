"""The index versions of a deployment: building, activation and deletion."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin.errors import Conflict
from sakuin.knowledge.messages import MaterialQueue
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.platform.embedding import Embedder, EmbeddingModel, Vector
from sakuin.platform.supabase.client import Client, call
from sakuin.platform.waiting import note_requests
from sakuin.retrieval.index_version import IndexVersion, StoredIndexVersion, find_version
from sakuin.texts.catalogue import coded, restored

# A page that is not indexed after so long is requested again.
_PAGE_SECONDS = 900
_PAGES_PER_RUN = 500
_VECTORS_PER_RUN = 2_000
_REFRESH_SECONDS = 4
# Workers may search the previous index version for seconds after an activation.
_SECONDS_AFTER_ACTIVATION = 60


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A page or Table that is missing in an index version."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class BuiltPart:
    """The progress of an index version, for pages or Tables. `named` are the first ten that are missing."""

    total: int
    missing: int
    named: Sequence[MissingPart]


@dataclass(frozen=True, slots=True)
class IndexVersionState:
    """An index version with its progress, for operators. Times are ISO 8601; `live_since` None: never live."""

    settings: IndexVersion
    live: bool
    created_at: str
    live_since: str | None
    retired_at: str | None
    pages: BuiltPart
    tables: BuiltPart

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing, so that it can become live."""
        return not self.pages.missing and not self.tables.missing


@dataclass(frozen=True, slots=True)
class IndexVersions:
    """The index versions in Postgres. Each method is one transaction."""

    client: Client

    def all(self) -> Sequence[StoredIndexVersion]:
        """Returns all of them, the oldest first; none before the first is added."""
        return list(map(StoredIndexVersion.of, call(self.client, "index_versions", {})))

    def add(self, settings: IndexVersion) -> None:
        """Adds an index version, which every later change updates. The first one becomes active."""
        pages, tables = settings.pages, settings.tables
        row = {
            "fingerprint": settings.id,
            "parts": settings.as_json(),
            "knowledge": {"fingerprint": pages.id, "space": pages.space, "text_template": pages.text_template},
            "tables": tables.id,
            "table_space": tables.space,
        }
        call(self.client, "record_index_version", {"p_index": row})

    def states(self) -> Sequence[IndexVersionState]:
        """Returns the progress of each, the oldest first."""
        return [_state(row) for row in call(self.client, "index_version_states", {})]

    def activate(self, fingerprint: str, *, force: bool = False) -> IndexVersionState:
        """Activates this index version; the previous one stays. `Conflict` if it is not complete, unless forced."""
        arguments = {"p_fingerprint": fingerprint, "p_force": force}
        return _state(call(self.client, "activate_index_version", arguments))

    def delete(self, fingerprint: str, *, seconds: int) -> None:
        """Deletes it; `Conflict` if it is active, or was active within the last `seconds`."""
        call(self.client, "delete_index_version", {"p_fingerprint": fingerprint, "p_seconds": seconds})

    def pages_to_build(self, text_template: str, *, seconds: int, limit: int) -> Sequence[str]:
        """Returns materials missing in an index version with this text template, not returned within `seconds`."""
        arguments = {"p_text_template": text_template, "p_seconds": seconds, "p_limit": limit}
        return list(call(self.client, "claim_pages_to_build", arguments))

    def refresh_tools(self, *, seconds: int) -> int:
        """Updates the status of Tools for the active index version, for at most `seconds`; returns the Tables."""
        return int(call(self.client, "refresh_tool_status", {"p_seconds": seconds}))

    def sweep_vectors(self, *, limit: int) -> int:
        """Deletes vectors of pages that no index version uses, at most `limit` of each kind.

        Returns the number of rows that changed; 0 when nothing is left to do.
        """
        return int(call(self.client, "sweep_vectors", {"p_limit": limit}))


def _state(row: Mapping[str, Any]) -> IndexVersionState:
    pages, tables = row["pages"], row["tables"]
    missing_pages = [MissingPart(name, coded("index.not_built")) for name in pages["named"]]
    missing_tables = [MissingPart(each["table_id"], restored(each["reason"])) for each in tables["named"]]
    return IndexVersionState(
        settings=IndexVersion.from_json(row["parts"]),
        live=row["live"],
        created_at=row["created_at"],
        live_since=row["live_since"],
        retired_at=row["retired_at"],
        pages=BuiltPart(pages["total"], pages["missing"], missing_pages),
        tables=BuiltPart(tables["total"], tables["missing"], missing_tables),
    )


@dataclass(frozen=True, slots=True)
class IndexVersionAdmin:
    """Activation and deletion by name. `deployed` is the index version of the deployed settings."""

    indexes: IndexVersions
    deployed: IndexVersion

    def activate(self, name: str, *, force: bool = False) -> IndexVersionState:
        """Activates the named index version."""
        return self.indexes.activate(find_version(self.indexes.all(), name).settings.id, force=force)

    def delete(self, name: str) -> str:
        """Deletes the named index version and returns its fingerprint."""
        version = find_version(self.indexes.all(), name)
        fingerprint = version.settings.id
        if version.settings == self.deployed and not version.live:
            raise Conflict(f"{fingerprint} has the deployed settings, so it would be built again. Deploy others first")
        self.indexes.delete(fingerprint, seconds=_SECONDS_AFTER_ACTIVATION)
        return fingerprint


@dataclass(frozen=True, slots=True)
class LiveVectors:
    """The vectors of the live index version: those that are stored, and new ones that are not stored."""

    index: KnowledgeIndex
    versions: Callable[[], Sequence[StoredIndexVersion]]
    embedder_of: Callable[[EmbeddingModel], Embedder]

    def __call__(
        self, names: Collection[str], texts: Sequence[str], queries: Sequence[str]
    ) -> tuple[IndexVersion, dict[str, Vector], list[Vector], list[Vector]]:
        """Returns the live version, stored vectors by name, and a vector for each text and each query.

        A service that does not answer, or rejects a text, raises its error.
        """
        live = find_version(self.versions(), None).settings
        embedder = self.embedder_of(live.model)
        stored = self.index.vectors(names, live.pages) if names else {}
        return live, stored, embedder.passages(texts) if texts else [], embedder.questions(queries) if queries else []


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The requested pages and the deleted vectors."""

    pages: int
    swept: int


@dataclass(frozen=True, slots=True)
class BuildIndexVersions:
    """Builds the index version of the deployed settings beside the active one. Repeated, concurrent runs are safe.

    Maintenance starts the indexing of Tables (`RestartTables`). `sakuin index --activate next` activates what is
    complete.
    """

    indexes: IndexVersions
    deployed: IndexVersion
    pages: MaterialQueue

    def __call__(self) -> BuildResult:
        """Requests missing pages that are not requested yet."""
        self.indexes.add(self.deployed)
        pages = self.indexes.pages_to_build(self.deployed.text_template, seconds=_PAGE_SECONDS, limit=_PAGES_PER_RUN)
        reason = coded("letter.index_built")
        note_requests(self.indexes.client, pages, reason)
        self.pages.reindex(pages, reason=reason)
        self.indexes.refresh_tools(seconds=_REFRESH_SECONDS)
        return BuildResult(len(pages), self.indexes.sweep_vectors(limit=_VECTORS_PER_RUN))
