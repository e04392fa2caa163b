"""What a deployment's REST API answers, as its JSON is."""

from collections.abc import Mapping
from typing import Any, TypedDict


class Work(TypedDict):
    """A page, a file beside pages, a Table or an upload whose work did not finish.

    `subject` is the S3 key, the material or the Table's id; `index` is the index over Tables, "" for all. `state` is
    retrying, waiting or failed; `retry_at` is None for failed work, which is a dead letter.
    """

    kind: str
    subject: str
    index: str
    state: str
    reason: str
    vendor: str | None
    attempts: int
    since: str
    retry_at: str | None


class WorkList(TypedDict):
    """Some of the unfinished work, longest in trouble first, and how much there is by state."""

    counts: Mapping[str, int]
    work: list[Work]


class Material(TypedDict):
    """One material; `work` is the work on it that did not finish."""

    material: str
    key: str
    version_id: str | None
    status: str
    error: str | None
    generation: int
    chunks_count: int
    indexed_version_id: str | None
    indexed_at: str | None
    work: list[Work]


class LibraryStatus(TypedDict):
    """How many materials of each status there are, how many chunks, and the `material` and `key` of keys that wait."""

    materials: Mapping[str, int]
    chunks: int
    waiting: list[Mapping[str, str]]


class UploadResult(TypedDict):
    """What became of an uploaded version: `outcome` is applied, failed, superseded or waiting."""

    key: str
    version_id: str
    outcome: str
    reason: str | None


class Difference(TypedDict):
    """What differs between the index and its sources, and how it is repaired."""

    rule: str
    where: str
    message: str
    repair: str


class IndexPart(TypedDict):
    """How far an index is built, of pages or of Tables; `named` has `name` and `reason` of the first ten it lacks."""

    total: int
    missing: int
    named: list[Mapping[str, str]]


class Index(TypedDict):
    """An index of the deployment; moments are ISO 8601. `live_since` None: it never answered."""

    fingerprint: str
    settings: Mapping[str, Any]
    live: bool
    created_at: str
    live_since: str | None
    retired_at: str | None
    pages: IndexPart
    tables: IndexPart


class Member(TypedDict):
    """A member of a project."""

    user_id: str
    since: str


class Table(TypedDict):
    """A Table without its document."""

    id: str
    version: int
    import_error: str | None
    pending_upload: bool


class UploadTarget(TypedDict):
    """Where a document is put by HTTP, with these headers."""

    url: str
    headers: Mapping[str, str]


class AnnouncedUpload(TypedDict):
    """A Table whose document is uploaded."""

    table: Table
    upload: UploadTarget


class Tool(TypedDict):
    """A Search Tool; its status is in `metadata["search_index"]`."""

    id: str
    name: str
    metadata: Mapping[str, Any]


class Endpoint(TypedDict):
    """An MCP endpoint."""

    id: str
    status: str
    tools: list[Mapping[str, Any]]


class EndpointKey(TypedDict):
    """An endpoint and its key, which is shown only once."""

    mcp: Endpoint
    key: str
