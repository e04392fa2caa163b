"""Materials, their versions, their chunks, and what searches return."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from sakuin.errors import Invalid
from sakuin.knowledge.page import RESERVED, ChunkType, Words
from sakuin.language.model import AnalyzedQuery, IndexedWords
from sakuin.platform.embedding import Vector
from sakuin.platform.retry import Waiting
from sakuin.retrieval.filters import Condition, conditions
from sakuin.retrieval.index_version import StoredIndexVersion, recorded_versions
from sakuin.retrieval.ranking import Ranked

# author: from learns.yml; model: from a language model; rules: plain items; provisional: the same, until the
# model has answered.
LearnsSource = Literal["author", "model", "provisional", "rules"]
LearnsAuthor = Literal["author", "model", "rules"]


@dataclass(frozen=True, slots=True)
class Learns:
    """3-5 things that a reader can do afterwards; none of a section that only its heading names.

    `given` are the author's items as in the file, for validation. `key` names the text that a language model is asked
    about; None if it is not asked.
    """

    items: tuple[str, ...]
    source: LearnsSource
    given: tuple[str, ...] | None = None
    key: str | None = None

    @property
    def searched(self) -> tuple[str, ...]:
        """Returns the items that pages are found by. Plain items only repeat words of the text."""
        return self.items if self.source in ("author", "model") else ()


def learns_author(source: LearnsSource) -> LearnsAuthor:
    """Returns who wrote a list, as answers say it."""
    return source if source in ("author", "model") else "rules"


@dataclass(frozen=True, slots=True)
class LocatedText:
    """The place and the text of one explanation; `id` is `material#anchor`."""

    id: str
    material: str
    anchor: str
    title: str
    content: str

    @property
    def body(self) -> str:
        """Returns the content without its heading, which repeats the title."""
        heading, _, body = self.content.partition("\n")
        return body.lstrip("\n") if self.title.rpartition(" › ")[2] in heading and body.strip() else self.content


@dataclass(frozen=True, slots=True)
class KnowledgeChunk(LocatedText):
    """One explanation as it is stored.

    `text_hashes` name the vectors of its passages (see `embedded_passages`); `content_hash` is the SHA-256 hex of
    `content`. `words` are its search terms, and the readings of its own words; there are none if
    the row `words_row` has them already. `section` is the nearest heading around it. `fields` are the page's own, None
    without any.
    """

    learns: Learns
    type: ChunkType
    category: str | None
    level: str | None
    page_title: str
    section: str | None
    language: str | None
    prerequisites: tuple[str, ...]
    position: int
    content_hash: str
    text_hashes: tuple[str, ...]
    illustrates: tuple[str, ...]
    fields: Mapping[str, Sequence[str]] | None
    words: IndexedWords
    words_row: int | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """Which chunks a search or a list includes. None includes all; a `folder` has no slash at its end.

    `own` are conditions of fields that pages have for themselves. `fixed` is the filter of the caller's key: for the
    caller there is nothing that does not pass it.
    """

    type: ChunkType | None = None
    category: str | None = None
    level: str | None = None
    language: str | None = None
    material: str | None = None
    folder: str | None = None
    own: tuple[Condition, ...] = ()
    fixed: "Filters | None" = None

    @classmethod
    def of_key(cls, folder: str, filter: Mapping[str, str] | None) -> "Filters":
        """Returns the filter that a key fixes: a folder, and a value for each field. Raises `Invalid`."""
        named: dict[str, Any] = {name: value for name, value in (filter or {}).items() if name in _OF_KEYS}
        if (kind := named.get("type")) and kind not in get_args(ChunkType):
            raise Invalid(f"There is no type {kind!r}. There are: {', '.join(get_args(ChunkType))}")
        fields = {name: value for name, value in (filter or {}).items() if name not in _OF_KEYS}
        needed = conditions(dict.fromkeys(fields, "list"), fields)
        if {"", *RESERVED} & fields.keys() or len(needed) < len(fields) or not all(named.values()):
            raise Invalid("A filter has a value for type, category, level, language, or fields that pages have")
        return cls(**named, folder=folder or None, own=needed)

    @property
    def beginning(self) -> str | None:
        """Returns how the names of pages in the folder begin."""
        folders = self._folders()
        return folders[0] if folders else None

    @property
    def stored(self) -> dict[str, Any] | None:
        """Returns the form that SQL and turbopuffer read: what passes `fixed`, too; None if all does."""
        lists = {name: self._both(name) for name in _OF_KEYS} | {"folder": self._folders()}
        needed = [*self.own, *(self.fixed.own if self.fixed else ())]
        form: dict[str, Any] = {name: values for name, values in lists.items() if values is not None}
        form |= {"material": self.material} if self.material is not None else {}
        return form | ({"fields": " && ".join(map(_json_path, needed))} if needed else {}) or None

    def _both(self, name: str) -> list[str] | None:
        """Returns the value that is asked for and fixed; none if they differ, None if there is none."""
        values = {value for each in (self, self.fixed) if each and (value := getattr(each, name)) is not None}
        return (list(values) if len(values) == 1 else []) if values else None

    def _folders(self) -> list[str] | None:
        names = sorted({f"{each.folder}/" for each in (self, self.fixed) if each and each.folder}, key=len)
        return (names[-1:] if names[-1].startswith(names[0]) else []) if names else None


EVERYTHING = Filters()
_OF_KEYS = ("type", "category", "level", "language")


def _json_path(condition: Condition) -> str:
    """Returns a condition as a predicate of SQL/JSON path."""
    return f"({' || '.join(f'$.{json.dumps(condition.field)}[*] == {json.dumps(one)}' for one in condition.values)})"


# An impact of 1 as the database stores it.
HIGHEST_IMPACT = 32767


def stored_impact(impact: float) -> int:
    """Returns an impact in (0, 1] as it is stored: 1 to 32767."""
    return max(1, round(impact * HIGHEST_IMPACT))


@dataclass(frozen=True, slots=True)
class ShownChunk(LocatedText):
    """What answers show of a chunk."""

    learns: tuple[str, ...]
    learns_source: LearnsSource
    type: ChunkType
    page_title: str
    section: str | None
    level: str | None
    language: str | None


@dataclass(frozen=True, slots=True)
class Match(ShownChunk):
    """One chunk that a search found, with its score and the parts of it.

    `cosine` is None if vectors were not compared. `nearest_rank` and `matching_rank` are its ranks by meaning and by
    words, from 1; None if that leg did not find it.
    """

    ranked: Ranked
    cosine: float | None
    nearest_rank: int | None
    matching_rank: int | None


@dataclass(frozen=True, slots=True)
class StoredChunk(ShownChunk):
    """All fields of one chunk. `previous` and `next` are its neighbours in the page; None if not read, or none."""

    category: str | None
    prerequisites: tuple[str, ...]
    position: int
    content_hash: str
    generation: int
    previous: LocatedText | None = None
    next: LocatedText | None = None


@dataclass(frozen=True, slots=True)
class ListedConcept:
    """An entry of the list of concepts. `position` is its place in the page, from 0, `text` its beginning."""

    id: str
    title: str
    type: ChunkType
    material: str
    anchor: str
    position: int
    text: str


@dataclass(frozen=True, slots=True)
class PagePart(LocatedText):
    """An explanation in the text of a page. `position` is its place in the page, from 0.

    `line` is the number of its first line, from 1, where the reading began.
    """

    section: str | None
    page_title: str
    position: int
    line: int


@dataclass(frozen=True, slots=True)
class TextMatch(LocatedText):
    """An explanation with the numbers of its lines, from 1, that have the text searched for."""

    position: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FoundText:
    """The result of a scan of texts, in the order of the pages.

    `read` counts the explanations that were compared; `last` is the material and position of the last one if there are
    more.
    """

    matches: tuple[TextMatch, ...]
    read: int
    last: tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class ListedMaterial:
    """An entry of the list of pages."""

    material: str
    title: str
    category: str | None
    level: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """The library (`folder` is empty) or a folder: what its owner says of it, and what is counted there.

    `languages` has the pages of each; `changed_at` is the time of the newest change of an explanation, ISO 8601.
    """

    folder: str
    description: str | None
    pages: int
    types: Sequence[ChunkType]
    languages: Mapping[str, int]
    changed_at: str | None


@dataclass(frozen=True, slots=True)
class FilterValues:
    """The values that filters accept. `materials` are only those that are like a name.

    `fields` are the values of each field that pages have for themselves, at most one more than are listed.
    """

    types: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    materials: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    """One result for an agent. `url` leads to the element.

    `content` is the whole text, `excerpt` about 100 characters of it. `matched` are the words of the question as the
    text writes them, those of the greatest weight first; `missing` are its specifics that the author's text lacks.
    `same_text` are the links of sections with the same headings and text, as in other versions of a documentation,
    `other_languages` those of its translations that match, too.
    """

    id: str
    url: str
    title: str
    content: str
    excerpt: str
    learns: tuple[str, ...]
    learns_by: LearnsAuthor
    similarity: float
    type: ChunkType
    material: str
    page_title: str
    section: str | None
    level: str | None
    language: str | None
    matched: tuple[str, ...]
    missing: tuple[str, ...] = ()
    same_text: tuple[str, ...] = ()
    other_languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer:
    """The answer to a question. `no_good_match`: the answer is probably not among the results, which are the nearest.

    `degraded` is a sentence about the part of the search that was unavailable, `not_exact` one about phrases in
    quotation marks that no result has. `not_in_scope` are the specifics that no text has that passes the filters.
    `uncalibrated` is a sentence about similarities that nobody measured.
    """

    understood: AnalyzedQuery
    results: tuple[Hit, ...]
    no_good_match: bool
    degraded: str | None = None
    not_exact: str | None = None
    not_in_scope: tuple[str, ...] = ()
    uncalibrated: str | None = None

    @property
    def query(self) -> str:
        """Returns the original question."""
        return self.understood.query

    @property
    def understood_as(self) -> str | None:
        """Returns the rewritten question, None if it was not rewritten."""
        return self.understood.understood_as


SEQUENCER_LENGTH = 64


def padded(sequencer: str) -> str:
    """Returns an S3 sequencer that compares correctly as text.

    The sequencers of one key are hexadecimal strings of different lengths. The shorter one is padded with zeros on
    the right before a comparison (Amazon S3 User Guide, "Event message structure").
    """
    return sequencer.upper().ljust(SEQUENCER_LENGTH, "0")


@dataclass(frozen=True, slots=True)
class Source:
    """One version of one S3 object.

    `sequencer` is padded; it orders the events of one key. `uploaded_at` is the time of the upload that an event is
    about (ISO 8601), for the metric of freshness. `etag` is that of its bytes, if the event has it.
    """

    bucket: str
    key: str
    version_id: str | None
    sequencer: str
    uploaded_at: str | None = None
    etag: str | None = field(default=None, compare=False)


Status = Literal["ready", "failed", "deleted"]

# applied: the index has this version; failed: it cannot be read, and the last good version stays searchable;
# superseded: a newer version was applied first; waiting: another key owns the material;
# conflict: the row changed since it was read, so that the caller has to read it again.
Outcome = Literal["applied", "failed", "superseded", "waiting", "conflict"]


@dataclass(frozen=True, slots=True)
class Collapse:
    """What an upload of a page lost: the anchors `lost`, of `count`. `version_id` of `key` is the version before it."""

    key: str
    version_id: str | None
    count: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MaterialState:
    """The record of a material.

    `source` is its newest known version, `indexed_version_id` the searchable one. `generation` counts the changes.
    `collapse` is what an upload lost, if it was much; `findings_count` is the number of recorded findings.
    `page_hash` and `words`, its books, are those of the searchable version, None if they are not known.
    """

    material: str
    source: Source
    status: Status
    error: str | None
    generation: int
    indexed_version_id: str | None
    fingerprint: str | None
    chunks_count: int
    indexed_at: str | None
    collapse: Collapse | None = None
    page_hash: str | None = None
    findings_count: int = 0
    words: Words | None = None
    waiting: Waiting | None = None


@dataclass(frozen=True, slots=True)
class LibraryCounts:
    """The numbers of materials by status and of chunks, and the books of all pages, None if they are not known."""

    materials: Mapping[str, int]
    chunks: int
    words: Words | None


@dataclass(frozen=True, slots=True)
class PageRecord:
    """What a worker knows of a page before it changes it, and the index versions of the deployment.

    `words` has the row of words, the `content_hash` and the first of `text_hashes` by anchor, if this version's index
    wrote them; `language` is that of all of them. The other fields are those of `MaterialState`; of an unknown page,
    those of a deleted one.
    """

    index_versions: Sequence[StoredIndexVersion] = ()
    generation: int = 0
    status: Status = "deleted"
    key: str = ""
    indexed_version_id: str | None = None
    fingerprint: str | None = None
    page_hash: str | None = None
    words: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    language: str | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "PageRecord":
        """Returns the record that `page_record` in SQL gives."""
        return cls(recorded_versions(record), **record["page"] or {}, language=record["language"])


@dataclass(frozen=True, slots=True)
class BucketVersion:
    """The version of a key that the bucket has now; None if it has no object."""

    version_id: str | None


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The result of a change. `next_owner` is a competing key that may own the material now.

    `uploaded_at` is the time of the upload that this change made searchable, if it did. `announcement` is what an event
    has to say.
    """

    outcome: Outcome
    generation: int
    next_owner: Source | None = None
    uploaded_at: str | None = None
    announcement: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class UploadResult:
    """The result of one uploaded version, for the client that waits for it."""

    key: str
    version_id: str
    outcome: Outcome
    reason: str | None
    reason_code: str | None = None


@dataclass(frozen=True, slots=True)
class EventResult:
    """The result of an event; `applied` is that of its page, None if it changed none, for the `reason` if there is one.

    `chunks` counts those compared, `embedded` texts without a vector, `asked` the pages that are reindexed.
    """

    material: str | None
    applied: ChangeResult | None = None
    reason: str | None = None
    chunks: int = 0
    embedded: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class AuthoredFile:
    """A version of a `learns.yml` or `synonyms.yml`; None is its removal.

    `folder` and `names`: of a `learns.yml` that was read, the pages that it names below its folder.
    """

    key: str
    version_id: str | None
    folder: str | None = None
    names: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class PageChange:
    """A change of a material: new chunks, the reason why it cannot be read (`error`), or its removal (`deleted`).

    `source` is None for a change that no upload caused. The row of a deleted material stays, so that a late event of
    an older version does not create it again. `learns_files` are the versions of the files that the chunks were written
    with, by key. `page_hash` names the page that they were read from. `findings` are those about it, as they are
    recorded, `words` its books. Without chunks, error and removal, the chunks stay, and it applies only if the
    searchable page has this `page_hash`. `vectors` are those of chunks that are not stored yet, of a `space`.
    `has_rows`: an index version has the rows of the chunks in turbopuffer.
    """

    material: str
    source: Source | None
    chunks: Sequence[KnowledgeChunk] | None = None
    fingerprint: str | None = None
    learns_files: Mapping[str, str | None] = field(default_factory=dict)
    error: str | None = None
    deleted: bool = False
    page_hash: str | None = None
    findings: Sequence[Mapping[str, str | None]] = ()
    words: Words | None = None
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    space: str = ""
    has_rows: bool = True


@dataclass(frozen=True, slots=True)
class RecordedObject:
    """What the index knows of a key: its newest known version, None if it is deleted.

    `again`: it has to be checked again. `young`: it changed recently. `under_way`: a message about it will come soon.
    """

    key: str
    version_id: str | None
    again: bool = False
    young: bool = False
    under_way: bool = False
