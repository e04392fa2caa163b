"""The keeper's side: what the commands ask for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sakuin.domain.material_version import Receipt
from sakuin.domain.project_records import Switch, UploadTarget
from sakuin.domain.reconciliation import Difference
from sakuin.domain.validation import Finding, IndexedMaterial
from sakuin.domain.work import WorkRow, WorkState


@dataclass(frozen=True, slots=True)
class MaterialRecord:
    """What a deployment says of one material; `work` are the messages about it that are not done."""

    material: str
    key: str
    version_id: str | None
    status: str
    error: str | None
    generation: int
    chunks_count: int
    indexed_version_id: str | None
    indexed_at: str | None
    work: Sequence[WorkRow] = ()


@dataclass(frozen=True, slots=True)
class LibraryCounts:
    """How many materials of each status, how many chunks, and `(material, key)` of the keys that wait."""

    materials: Mapping[str, int]
    chunks: int
    waiting: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class WorkList:
    """Some work that is not done, and how much there is in all."""

    counts: Mapping[str, int]
    rows: Sequence[WorkRow]


class DeployedWork(Protocol):
    """A deployment's rows of work, as its keeper reads them from afar. A key that does not fit is `Misconfigured`."""

    def work(self, *, state: WorkState | None = None, subject: str | None = None, ids: Sequence[str] = ()) -> WorkList:
        """The work that fits, at most 500 rows; `ids` may be any number, none stands for all."""


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
        index: str | None = None,
    ) -> Mapping[str, Any]:
        """The explanation as `POST /v1/explain` gives it, with `depth` results.

        `tool` names a Search Tool, None is `search_knowledge`. `index` names one that is kept, None is the one that
        answers. A question that cannot be asked is `Invalid`.
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


class DeployedProjects(Protocol):
    """A deployment's projects, as its keeper reaches them from afar. Views are the REST API's JSON objects."""

    def create_project(self, name: str) -> Mapping[str, Any]:
        """A new project."""

    def members(self, project_id: str) -> Mapping[str, Any]:
        """A project's members: `members`."""

    def remove_member(self, project_id: str, user_id: str) -> None:
        """Makes a user no member."""

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


@dataclass(frozen=True, slots=True)
class SecretVersion:
    """A secret's JSON object, and the name of the version that holds it."""

    members: Mapping[str, object] = field(repr=False)
    id: str


class DeployedReconciliation(Protocol):
    """A deployment that holds its index against its sources. A key that does not fit is `Misconfigured`."""

    def page(self, kind: str, after: str | None, *, dry_run: bool) -> tuple[Sequence[Difference], str | None]:
        """What one page of one part found and, unless `dry_run`, has repaired; and the next one's `after`."""


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
