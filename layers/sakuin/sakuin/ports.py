"""What the services ask of the outside. Docstrings are promises that every adapter keeps.

Every method may raise `Unavailable` when the outside system does not answer.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sakuin.domain.knowledge import Concept, Filters, KnowledgeChunk, Match, StoredChunk
from sakuin.domain.language.question import KnownWords, Slot, Sought
from sakuin.domain.material_version import Applied, MaterialState, Outcome, Receipt, Source
from sakuin.domain.page import Page
from sakuin.domain.project_records import (
    Endpoint,
    EventName,
    OutboxEvent,
    PendingUpload,
    Project,
    StoredTable,
    Switch,
    Table,
    Tool,
    UploadTarget,
)
from sakuin.domain.recipe import Fingerprint
from sakuin.domain.validation import Finding, IndexedMaterial

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of an uploaded file. `version_id` is None in a bucket without versions."""

    body: bytes
    version_id: str | None


class MaterialBucket(Protocol):
    """The uploaded files, in versions; reads see every write that was acknowledged before."""

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        """The current version, or the one named.

        A version that is not there raises `NotFound`; one larger than `max_bytes` raises `UnreadablePage`
        before its body travels.
        """

    def current_version(self, key: str) -> str | None:
        """The tag of what `key` holds now, None when it holds nothing. A delete marker is nothing.

        The tag is the version id, or the content's tag in a bucket without versions.
        """

    def keys(self, prefix: str) -> Sequence[str]:
        """All keys below `prefix`, in order. None there is not an error."""

    def write(self, key: str, body: bytes, *, content_type: str) -> str:
        """Stores a new current version and gives its version id."""

    def remove(self, key: str) -> str:
        """Puts a delete marker on `key` and gives the marker's version id. A key that is not there is not an error."""


class QuestionEmbedder(Protocol):
    """A question to a vector of `dimensions` floats, of length 1."""

    def query(self, text: str) -> Vector:
        """The vector of a question."""


class Embedder(QuestionEmbedder, Protocol):
    """Texts to vectors of `dimensions` floats, of length 1."""

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in the order of the texts. No text is not an error."""


class LearnsModel(Protocol):
    """A language model that says what a reader learns."""

    @property
    def name(self) -> str:
        """Which model and instruction: part of the cache's key."""

    def learns(self, page: Page) -> Mapping[str, tuple[str, ...]]:
        """Anchor to items, for all of a page's explanations, in one time-boxed call; late is `Unavailable`."""


class WorkQueue(Protocol):
    """Messages to the function that indexes materials."""

    def reapply(self, materials: Collection[str], *, reason: str, attempt: int = 1, delay_seconds: int = 0) -> None:
        """Asks for each material to be read and applied again. At least once; none is not an error."""

    def postpone(self, receipt_handle: str, *, seconds: int) -> None:
        """Lets a message that failed come back after `seconds` instead of after the queue's own time."""


class KnowledgeIndex(Protocol):
    """The materials, as the indexer changes them. Each change is one transaction."""

    def remember(self, fingerprint: Fingerprint) -> None:
        """Records what an index of this fingerprint is built with. Twice is once."""

    def state(self, material: str) -> MaterialState | None:
        """What is held of a material; None when it was never heard of."""

    def missing_vectors(self, text_hashes: Collection[str], fingerprint: Fingerprint) -> set[str]:
        """Those of `text_hashes` that have no vector of this model and recipe; the analyzer changes no vector."""

    def keep_vectors(self, vectors: Mapping[str, Vector], fingerprint: Fingerprint) -> None:
        """Stores vectors by the hash of their text. Twice is once."""

    def apply(
        self,
        material: str,
        source: Source | None,
        chunks: Sequence[KnowledgeChunk],
        *,
        fingerprint: str,
        expected_generation: int | None,
    ) -> Applied:
        """Makes the index say of `material` what `chunks` say: new in, gone out, unchanged untouched.

        A version older than what is indexed is `superseded`. The same version again, or `source` None (a change
        that no upload caused), applies only if the row still has `expected_generation`, else `conflict`.
        All vectors must have been kept before.
        """

    def fail(self, material: str, source: Source, reason: str) -> Applied:
        """Keeps why a version cannot be read; what was searchable stays so."""

    def delete(self, material: str, source: Source) -> Applied:
        """Takes a material out of the index and remembers when, so that a late version does not revive it."""

    def leave_receipt(self, source: Source, outcome: Outcome, reason: str | None = None) -> None:
        """Says what became of a version that changed no material by itself."""

    def keep_synonyms(self, source: Source, groups: Sequence[Sequence[str]]) -> Outcome:
        """Makes the site's list of synonyms say what this version of its file says; a removed file says nothing.

        A version older than the one that was kept is `superseded`, else it is `applied`.
        """

    def cached_learns(self, cache_key: str) -> Mapping[str, tuple[str, ...]] | None:
        """What a model answered before to the same question; None if it was never asked."""

    def keep_learns(self, cache_key: str, learns: Mapping[str, tuple[str, ...]]) -> None:
        """Stores a model's answer. Twice is once."""

    def materials_spoken_of(self, folder: str, names: Collection[str]) -> Sequence[str]:
        """The searchable materials below `folder` whose `learns` an author's file there has to do with.

        Those that go by one of `names` (in full, or by their last segment), and those with an author's `learns`.
        """

    def materials_built_otherwise(self, fingerprint: str) -> Sequence[str]:
        """The searchable materials that were built with another fingerprint."""


@dataclass(frozen=True, slots=True)
class MaterialPage:
    """One page of a list, and where the next begins (None at the end)."""

    items: Sequence[MaterialState]
    next_cursor: str | None


class MaterialRecords(Protocol):
    """What is indexed and what became of uploads, for people."""

    def materials(self, *, prefix: str = "", after: str | None = None, limit: int = 200) -> MaterialPage:
        """Materials by name, deleted ones left out."""

    def counts(self) -> Mapping[str, int]:
        """How many materials of each status, and `chunks`."""

    def receipts(self, versions: Collection[tuple[str, str]]) -> Sequence[Receipt]:
        """What became of `(key, version id)` pairs; those not worked on yet are left out."""

    def waiting(self) -> Sequence[tuple[str, str, str]]:
        """`(material, key, owner's key)` of the keys that wait for a material which another key owns."""

    def indexed(self, materials: Collection[str]) -> Mapping[str, IndexedMaterial]:
        """What the index says of these materials' anchors; those without a row are left out."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a search asks of the index. `vector` None asks by words alone, no `slots` by meaning alone.

    `expected` is the id of a chunk that is judged like the others, wherever it ranks. `wants_example`: examples are
    judged by what they say alone, yet below the concepts they show.
    """

    vector: Vector | None
    slots: Sequence[Slot]
    fingerprint: Fingerprint
    filters: Filters
    limit: int
    expected: str | None = None
    wants_example: bool = False


class KnowledgeSearch(Protocol):
    """The knowledge chunks, as agents read them."""

    def matches(self, question: Question) -> Sequence[Match]:
        """The best `limit` chunks by falling similarity, ties by id; fewer only if the filters leave fewer.

        After them the expected one, if it is not among them and the filters let it through. Vectors of another
        model or recipe are never compared: such chunks, and all where `vector` is None, are found by words alone.
        """

    def chunk(self, id: str) -> StoredChunk:
        """One chunk in full; an id that is not there raises `NotFound`."""

    def concepts(self, filters: Filters, *, after: str | None, limit: int) -> tuple[Sequence[Concept], str | None]:
        """Chunks by material and anchor after the id `after`, and the cursor of the next page (None at the end)."""


class Lexicon(Protocol):
    """What the indexed texts themselves, and the site's author, say of words."""

    def look_up(self, query: str, sought: Sought) -> KnownWords:
        """What is known of the words that `query` may be made of; nothing known is not an error."""


# ---------------------------------------------------------------- the keeper's side: what the commands ask for


@dataclass(frozen=True, slots=True)
class MaterialRecord:
    """What a deployment says of one material."""

    material: str
    key: str
    version_id: str | None
    status: str
    error: str | None
    generation: int
    chunks_count: int
    indexed_version_id: str | None
    indexed_at: str | None


@dataclass(frozen=True, slots=True)
class LibraryCounts:
    """How many materials of each status, how many chunks, and `(material, key)` of the keys that wait."""

    materials: Mapping[str, int]
    chunks: int
    waiting: Sequence[tuple[str, str]]


class DeployedLibrary(Protocol):
    """A deployment's records, as its keeper reads them from afar. A key that does not fit is `Misconfigured`."""

    def counts(self) -> LibraryCounts:
        """Counts of the whole library."""

    def materials(self, *, prefix: str = "", after: str | None = None) -> tuple[Sequence[MaterialRecord], str | None]:
        """One page of the materials that begin with `prefix`, by name, and the next page's `after` (None at the end).

        Deleted ones are left out.
        """

    def material(self, name: str) -> MaterialRecord | None:
        """One material; None if it is not there or deleted."""

    def receipts(self, versions: Collection[tuple[str, str]]) -> Sequence[Receipt]:
        """What became of `(key, version id)` pairs, however many; those not worked on yet are left out."""

    def indexed(self, materials: Collection[str]) -> Mapping[str, IndexedMaterial]:
        """What the index says of these materials' anchors, however many; those not indexed are left out."""

    def findings(
        self, *, prefix: str = "", after: str | None = None, strict: bool = False, limit: int = 50
    ) -> tuple[Sequence[Finding], str | None]:
        """Findings about `limit` materials, checked where the pages are, and the next page's `after`."""


class AgentEndpoint(Protocol):
    """The MCP endpoint, as an agent sees it."""

    def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """The tool's structured answer; a failure that the tool reports is `Invalid` with the tool's sentence."""


class DeployedExplanations(Protocol):
    """What a deployment says of how it searches, as its keeper asks from afar; one may ask several at a time."""

    def explain(
        self,
        query: str,
        *,
        tool: str | None = None,
        expected: str | None = None,
        top_k: int = 5,
        depth: int = 10,
        filters: Mapping[str, str] | None = None,
        legs: str = "both",
        without: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """The explanation as `POST /v1/explain` gives it, with `depth` results.

        `tool` names a Search Tool, None is `search_knowledge`. A question that cannot be asked is `Invalid`.
        """


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file on this machine. `place` is its path below the folder it was looked for in, with `/`."""

    path: str
    place: str


class LocalFiles(Protocol):
    """The files on this machine."""

    def below(self, path: str) -> Sequence[FoundFile]:
        """All files of a folder, hidden ones left out, or the one file that `path` is, by place.

        A path that is not there raises `NotFound`.
        """

    def read(self, path: str) -> bytes:
        """The bytes of a file. One that is gone or may not be read raises `NotFound`."""


# ---------------------------------------------------------------- the search engine of Tables


@dataclass(frozen=True, slots=True)
class StoredChunkRow:
    """One document in the search engine.

    `ancestors` are 16-hex-digit hashes of pointers, from the root to the node: the last is the node's own.
    """

    doc_id: str
    json_pointer: str
    ancestors: tuple[str, ...]
    content_hash: str
    chunk_index: int
    generation: int
    content: str
    terms: tuple[str, ...]
    vector: Vector


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A document that a search found. `score`: its cosine with the question, or what the words' leg gave it."""

    doc_id: str
    json_pointer: str
    content_hash: str
    chunk_index: int
    score: float


class ChunkStore(Protocol):
    """The chunks of Tables in namespaces of a search engine.

    It has no transactions: rows carry the generation they were written for, and an older writer never undoes a newer.
    """

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        """Stores rows by id; one that is stored with a greater generation is left as it is. Twice is once.

        Durable on return, and each request atomic; many rows are several requests. Ids over 64 bytes, vectors of
        other dimensions than those stored, and text that is no Unicode are `Invalid`. No row is not an error.
        """

    def search(
        self, namespace: str, *, vector: Vector | None, slots: Sequence[Slot], text: str, scope: str, depth: int
    ) -> tuple[Sequence[FoundChunk], Sequence[FoundChunk]]:
        """The nearest and the matching rows below `scope` (a pointer's 16-digit hash), best first, `depth` of each.

        Matching is the sum over `slots` of the best of each slot's terms: weight times BM25. Where there are no
        slots it is BM25 over the engine's own words of `text`. What is too long to ask for is cut. Without a vector
        nothing is nearest. A namespace that is not there holds nothing.
        """

    def renew(self, namespace: str, doc_ids: Collection[str], *, generation: int) -> set[str]:
        """Gives rows a later generation without sending them again, and says which of `doc_ids` now have it.

        Rows that are gone, or have a greater one, are not among them.
        """

    def sweep_node(
        self, namespace: str, *, json_pointer_hash: str, keep_content_hash: str | None, generation: int
    ) -> int:
        """Deletes the rows of one node whose content is not the kept one, up to `generation`; says how many."""

    def sweep_scope(self, namespace: str, *, scope: str, generation: int) -> int:
        """Deletes all rows below a pointer (its 16-digit hash), up to `generation`; says how many."""

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        """Deletes rows by id, with `generation` only those up to it. What is not there is not an error."""

    def delete_namespace(self, namespace: str) -> None:
        """Deletes a namespace with its rows; one that is not there is not an error."""

    def ids(self, namespace: str) -> Mapping[str, int]:
        """The id and generation of every row, however many."""

    def namespaces(self, prefix: str) -> Sequence[str]:
        """The namespaces whose names begin with `prefix`, in order, however many."""


# ---------------------------------------------------------------- projects and what they hold


class ProjectRecords(Protocol):
    """Projects, Tables, Tools and endpoints. Each change is one transaction and writes its own events.

    `user` is the member on whose behalf, by the UUID of Supabase Auth; None is an admin. What is not there, or not
    the user's, raises `NotFound`, and nothing is written.
    """

    def create_project(self, user: str | None, name: str) -> Project:
        """A new project, of which `user` is a member."""

    def projects(self, user: str | None) -> Sequence[Project]:
        """The user's projects, oldest first; an admin's are all."""

    def delete_project(self, user: str | None, project_id: str) -> None:
        """Deletes a project with all that it holds."""

    def add_member(self, user: str | None, project_id: str, member: str) -> None:
        """Makes a user a member. Twice is once."""

    def create_table(self, user: str | None, project_id: str, *, name: str, data: str | None) -> Table:
        """A new Table of version 1, or of version 0 if `data` (JSON text) is None: its body is uploaded later."""

    def table(self, user: str | None, table_id: str) -> StoredTable:
        """A Table with its body."""

    def tables(self, user: str | None, project_id: str) -> Sequence[Table]:
        """A project's Tables by name."""

    def replace_table(self, user: str | None, table_id: str, *, data: str, expected_version: int | None) -> Table:
        """The next version. `Conflict` if the Table no longer has the expected one; None expects nothing."""

    def rename_table(self, user: str | None, table_id: str, name: str) -> Table:
        """Another name. It re-indexes nothing."""

    def delete_table(self, user: str | None, table_id: str) -> None:
        """Deletes a Table with its Tools."""

    def begin_upload(self, user: str | None, table_id: str) -> PendingUpload:
        """Announces a body. A later announcement, or a replaced body, makes this one obsolete."""

    def finish_upload(self, table_id: str, upload: int, key: str | None, error: str | None) -> bool:
        """An announced body has arrived at `key`, or cannot be read for `error`; False if it was obsolete."""

    def create_tool(
        self,
        user: str | None,
        table_id: str,
        *,
        json_path: str,
        name: str,
        description: str,
        input_schema: Mapping[str, Any],
    ) -> Tool:
        """A new Search Tool, pending."""

    def tool(self, user: str | None, tool_id: str) -> Tool:
        """A Tool with its status."""

    def tools(self, user: str | None, project_id: str) -> Sequence[Tool]:
        """A project's Tools by name."""

    def change_tool(
        self,
        user: str | None,
        tool_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> Tool:
        """Changes what is not None. `Conflict` if an endpoint of the Tool has another one of this name."""

    def reindex_tool(self, user: str | None, tool_id: str) -> Tool:
        """Makes a Tool pending again; what the store has lost is stored again."""

    def delete_tool(self, user: str | None, tool_id: str) -> None:
        """Deletes a Tool with its bindings."""

    def create_endpoint(
        self, user: str | None, project_id: str, *, name: str, key_hash: str, tools: Sequence[str]
    ) -> Endpoint:
        """A new MCP endpoint with these Tools bound to it: all of them, or no endpoint.

        `Conflict` if two of them have one name.
        """

    def endpoint(self, user: str | None, mcp_id: str) -> Endpoint:
        """An endpoint with its bindings, by the Tools' names."""

    def endpoints(self, user: str | None, project_id: str) -> Sequence[Endpoint]:
        """A project's endpoints by name."""

    def bind(self, user: str | None, mcp_id: str, tool_id: str, *, status: Switch) -> Endpoint:
        """Binds a Tool of the endpoint's own project, or changes the binding's status. A name taken: `Conflict`."""

    def unbind(self, user: str | None, mcp_id: str, tool_id: str) -> Endpoint:
        """Removes a binding; one that is not there is `NotFound`."""

    def rotate(self, user: str | None, mcp_id: str, *, key_hash: str, overlap_seconds: int) -> Endpoint:
        """Another key; the old one opens for `overlap_seconds` more."""

    def change_endpoint(
        self, user: str | None, mcp_id: str, *, name: str | None = None, status: Switch | None = None
    ) -> Endpoint:
        """Changes what is not None."""

    def delete_endpoint(self, user: str | None, mcp_id: str) -> None:
        """Deletes an endpoint with its bindings."""

    def changed_elsewhere(self, event: EventName, *, project_id: str, table_id: str, tool_id: str | None) -> None:
        """Writes the event of a change that somebody made in the database himself, and makes its Tools pending.

        A Table that is gone is not an error: then only `TableDeleted` writes an event.
        """


class TableBodies(Protocol):
    """The bodies of Tables that are too large for a request, by key."""

    def presigned_put(self, key: str, *, seconds: int, size: int) -> UploadTarget:
        """Where and how anybody may put exactly `size` bytes within `seconds`."""

    def read(self, key: str, *, max_bytes: int) -> bytes:
        """A body. One that is not there is `NotFound`, one over `max_bytes` `Invalid` before it travels."""

    def write(self, key: str, body: bytes) -> None:
        """Stores a body."""


class EventBus(Protocol):
    """The bus that the platform's events travel on."""

    def put(self, events: Sequence[OutboxEvent]) -> set[int]:
        """Sends events; the ids of those that the bus took. None is not an error."""


class Outbox(Protocol):
    """Events that are committed, and wait for the bus."""

    def unsent(self, *, limit: int) -> Sequence[OutboxEvent]:
        """The oldest that wait."""

    def sent(self, ids: Collection[int]) -> None:
        """Remembers that the bus took them. Twice is once; none is not an error."""


class UserTokens(Protocol):
    """The tokens of people who signed in."""

    def user_of(self, token: str) -> str:
        """The UUID of the user; a token that is wrong, too old or made for others is `Unauthorized`."""


class DeployedProjects(Protocol):
    """A deployment's projects, as its keeper reaches them from afar. Views are the REST API's JSON objects."""

    def create_project(self, name: str) -> Mapping[str, Any]:
        """A new project."""

    def create_table(self, project_id: str, *, name: str, document: bytes) -> Mapping[str, Any]:
        """A new Table of a JSON text that fits into a request."""

    def replace_table(self, table_id: str, *, document: bytes) -> Mapping[str, Any]:
        """A Table's next version, of a JSON text that fits into a request."""

    def rename_table(self, table_id: str, name: str) -> Mapping[str, Any]:
        """Another name."""

    def table(self, table_id: str) -> Mapping[str, Any]:
        """A Table without its body."""

    def announce_table(self, project_id: str, *, name: str, size: int) -> Mapping[str, Any]:
        """A new Table whose body of `size` bytes is uploaded: `table`, `upload`."""

    def announce_body(self, table_id: str, *, size: int) -> Mapping[str, Any]:
        """A Table's next body of `size` bytes is uploaded: `table`, `upload`."""

    def upload(self, target: UploadTarget, body: bytes) -> None:
        """Puts a body where it was announced."""

    def delete_table(self, table_id: str) -> None:
        """Deletes a Table."""

    def create_tool(
        self, project_id: str, *, table_id: str, json_path: str, name: str, description: str | None
    ) -> Mapping[str, Any]:
        """A new Search Tool."""

    def tool(self, tool_id: str) -> Mapping[str, Any]:
        """A Tool with its status."""

    def reindex_tool(self, tool_id: str) -> Mapping[str, Any]:
        """Makes a Tool pending again; what the store has lost is stored again."""

    def delete_tool(self, tool_id: str) -> None:
        """Deletes a Tool."""

    def create_endpoint(self, project_id: str, *, name: str, tools: Sequence[str]) -> Mapping[str, Any]:
        """A new endpoint: `mcp`, and its `key`, which is shown once."""

    def bind(self, mcp_id: str, tool_id: str) -> Mapping[str, Any]:
        """Binds a Tool."""

    def unbind(self, mcp_id: str, tool_id: str) -> Mapping[str, Any]:
        """Removes a binding."""

    def switch(self, mcp_id: str, status: Switch) -> Mapping[str, Any]:
        """Enables or disables an endpoint."""

    def rotate(self, mcp_id: str) -> Mapping[str, Any]:
        """Another key: `mcp`, and `key`."""


# ---------------------------------------------------------------- what the work costs


class Meter(Protocol):
    """Numbers for people who look at graphs later. It raises nothing, and nothing depends on it."""

    def count(self, name: str, value: float = 1) -> None:
        """Adds up."""

    def took(self, name: str, milliseconds: float) -> None:
        """How long one thing took."""


class EmbeddingLedger(Protocol):
    """The tokens that indexing has had embedded today; a day begins at 00:00 UTC, for everybody at once."""

    def spent(self) -> int:
        """How many so far."""

    def add(self, tokens: int) -> None:
        """Adds to the day's sum; nothing of it is lost when others add at the same time."""


@dataclass(frozen=True, slots=True)
class SecretVersion:
    """A secret's JSON object, and the name of the version that holds it."""

    members: Mapping[str, object] = field(repr=False)
    id: str


class DeployedKeyUse(Protocol):
    """When the keys of a deployment were used. A key that does not fit is `Misconfigured`."""

    def days(self) -> Mapping[str, str]:
        """Hash to day (2026-11-22, UTC) of the last use; keys not used in a year are left out."""


class StoredSecret(Protocol):
    """The functions' secret, as its keepers write it."""

    def read(self) -> SecretVersion:
        """The current version. No such secret is `NotFound`, one that holds no JSON object `Misconfigured`."""

    def replace(self, members: Mapping[str, object], *, seen: str) -> None:
        """Makes this the current version; `Conflict`, and nothing changed, if that is no longer the one `seen`."""
