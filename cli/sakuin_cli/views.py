"""The JSON documents of a deployment's REST API."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict


class Work(TypedDict):
    """Unfinished work on a page, a `learns.yml` or `synonyms.yml`, a Table or an upload.

    `subject` is the S3 key, the material or the Table's id; `index` is the index version of Tables, "" for all. `state`
    is retrying, waiting or failed; `retry_at` is None for failed work, which is a dead letter.
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
    """Unfinished work, oldest first, and the counts by state of all of it."""

    counts: Mapping[str, int]
    work: list[Work]


class QueueState(TypedDict):
    """The messages of one queue; `unattended` are those in flight without a known worker."""

    queue: str
    waiting: int
    in_flight: int
    unattended: int
    dead_letters: int


class QueueList(TypedDict):
    """The queues, None while SQS does not answer; and `{"queue", "what", "since", "worker"}` of longer work."""

    queues: list[QueueState] | None
    in_flight: list[Mapping[str, str]]


class DeadLetter(TypedDict):
    id: str
    queue: str
    what: str
    why: str
    since: str
    tries: int
    body: str


class Change(TypedDict):
    """One change of the index. `title` is of an explanation that is there, `moved_to` of one that has another id now.

    `name` is that of a Tool, `reason` says why a page or a Tool failed.
    """

    kind: str
    id: str
    generation: int
    time: str
    title: NotRequired[str]
    type: NotRequired[str]
    content_hash: NotRequired[str]
    url: NotRequired[str]
    moved_to: NotRequired[str]
    name: NotRequired[str]
    reason: NotRequired[str]


class Changes(TypedDict):
    """Changes after a cursor, the next cursor, and whether there are more now."""

    changes: list[Change]
    cursor: str
    more: bool


class Material(TypedDict):
    """One material with its unfinished work."""

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
    """The number of materials by status, the number of chunks, and the `material` and `key` of waiting keys."""

    materials: Mapping[str, int]
    chunks: int
    waiting: list[Mapping[str, str]]


class UploadResult(TypedDict):
    """The result of an uploaded version: `outcome` is applied, failed, superseded or waiting."""

    key: str
    version_id: str
    outcome: str
    reason: str | None


class Difference(TypedDict):
    """A difference between the index and its sources, and its repair."""

    rule: str
    where: str
    message: str
    repair: str


class IndexPart(TypedDict):
    """The progress of pages or of Tables; `named` has `name` and `reason` of the first ten missing ones."""

    total: int
    missing: int
    named: list[Mapping[str, str]]


class Evaluation(TypedDict):
    """An evaluation of an index version; `whole`: it was complete then."""

    questions: int
    k: int
    figures: Mapping[str, float]
    passed: bool
    whole: bool
    at: str


class Index(TypedDict):
    """An index version of the deployment. `live_since` is None if it was never live."""

    fingerprint: str
    settings: Mapping[str, Any]
    live: bool
    created_at: str
    live_since: str | None
    retired_at: str | None
    evaluations: Mapping[str, Evaluation]
    pages: IndexPart
    tables: IndexPart


class Vectors(TypedDict):
    """Vectors of the live index version, packed, and its settings."""

    settings: Mapping[str, Any]
    vectors: Mapping[str, str]
    texts: list[str]
    queries: list[str]


class Project(TypedDict):
    id: str
    name: str


class Member(TypedDict):
    user_id: str
    role: str
    since: str


class Table(TypedDict):
    id: str
    name: str
    version: int
    import_error: str | None
    pending_upload: bool
    chunk_threshold_chars: int


class Description(TypedDict):
    """What the owner says of the library (`folder` is empty) or of a folder."""

    folder: str
    description: str


class Gap(TypedDict):
    """Questions that ask for the same; `tool_id` is None for the library, `since` and `last` are days."""

    id: str
    name: str
    tool_id: str | None
    asked: int
    weak: int
    since: str
    last: str
    questions: list[str]


class Gaps(TypedDict):
    is_recorded: bool
    gaps: list[Gap]


class Remedy(TypedDict):
    """A gap, and what a page that answers it would need."""

    gap: Gap
    heading: str
    words: list[str]
    nearest: list[Mapping[str, Any]]


class Inside(TypedDict):
    """What the deployment sees of itself: its clock (UTC), and `{"check", "problem", "advice"}` for each problem."""

    version: str
    python: str
    time: str
    problems: list[Mapping[str, str]]


class FileToUpload(TypedDict):
    """A file to upload. `md5` is in hex."""

    key: str
    size: int
    md5: str


class Key(TypedDict):
    """A key of the deployment. Those of the secret have no name."""

    hash: str
    purpose: str
    name: str
    folder: str
    project: str | None
    created_at: str | None
    expires_at: str | None
    last_used_on: str | None


class NewKey(TypedDict):
    """A new key."""

    key: str
    hash: str


class UploadTarget(TypedDict):
    url: str
    headers: Mapping[str, str]


class AnnouncedUpload(TypedDict):
    """A Table that waits for the upload of its document."""

    table: Table
    upload: UploadTarget


class Tool(TypedDict):
    id: str
    table_id: str
    json_path: str
    name: str
    # `search_index` has its status.
    metadata: Mapping[str, Any]


class Endpoint(TypedDict):
    id: str
    name: str
    status: str
    tools: list[Mapping[str, Any]]


class EndpointKey(TypedDict):
    """An endpoint and its key, which is shown only once."""

    mcp: Endpoint
    key: str
