"""A bucket with versions and delete markers that says what happened to it as S3 does."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import md5
from urllib.parse import quote_plus

from sakuin.errors import NotFound, UnreadablePage
from sakuin.platform.s3 import BucketObject, ObjectPage, StoredObject, UploadTarget

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Version:
    """`body` None is a delete marker."""

    id: str
    body: bytes | None
    modified: datetime


@dataclass
class MemoryBucket:
    """An `S3Bucket`. `take_messages` gives S3's notifications since the last time, in the order of the changes."""

    name: str = "materials"
    reads: int = 0
    now: datetime = LONG_AGO
    _versions: dict[str, list[_Version]] = field(default_factory=dict)
    _messages: list[str] = field(default_factory=list)
    _count: int = 0
    _made: int = 0

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        self.reads += 1
        versions = self._versions.get(key, [])
        wanted = versions[-1:] if version_id is None else [each for each in versions if each.id == version_id]
        if not wanted or wanted[0].body is None:
            raise NotFound(f"{key} is not in the bucket")
        if len(wanted[0].body) > max_bytes:
            size = len(wanted[0].body)
            limit = f"{max_bytes:,} (page_bytes for a page, table_bytes for a Table)"
            raise UnreadablePage(f"The file has {size:,} bytes; the limit is {limit}. Split it.")
        return StoredObject(wanted[0].body, wanted[0].id, _etag(wanted[0].body))

    def current(self, key: str) -> BucketObject | None:
        versions = self._versions.get(key)
        if not versions or versions[-1].body is None:
            return None
        return BucketObject(key, versions[-1].id, versions[-1].modified)

    def current_version(self, key: str) -> str | None:
        found = self.current(key)
        return found.version_id if found else None

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self._versions if key.startswith(prefix) and self.current_version(key))

    def current_objects(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> ObjectPage:
        keys = sorted(key for key, versions in self._versions.items() if key.startswith(prefix) and versions)
        keys = [key for key in keys if after is None or key > after]
        items = [BucketObject(key, self.current_version(key), self._versions[key][-1].modified) for key in keys[:limit]]
        return ObjectPage(items, keys[limit - 1] if len(keys) > limit else None)

    def grow_older(self, seconds: float) -> None:
        """Everything that it holds was written so many seconds earlier."""
        for versions in self._versions.values():
            versions[:] = [replace(each, modified=each.modified - timedelta(seconds=seconds)) for each in versions]

    def forget_messages(self) -> None:
        """What happened is told to nobody: events that were lost."""
        self._messages = []

    def begin_anew(self) -> None:
        """Everything is gone without an event, and sequencers begin again: an emulator that was killed."""
        self._versions, self._messages, self._count = {}, [], 0

    def write(self, key: str, body: bytes, *, content_type: str = "text/html") -> str:
        return self._happened(key, body, "ObjectCreated:Put")

    def upload_target(self, key: str, *, seconds: int, headers: Mapping[str, str]) -> UploadTarget:
        return UploadTarget(f"https://bucket/{key}?seconds={seconds}", headers)

    def remove(self, key: str) -> str:
        return self._happened(key, None, "ObjectRemoved:DeleteMarkerCreated")

    def versions(self, key: str) -> list[str]:
        """The ids of a key's versions, delete markers among them, oldest first."""
        return [version.id for version in self._versions.get(key, [])]

    def remove_version(self, key: str, version_id: str) -> None:
        """Takes one version away for good, as S3 does with `versionId`. A delete marker goes without an event."""
        gone = next(each for each in self._versions[key] if each.id == version_id)
        self._versions[key].remove(gone)
        if gone.body is not None:
            self._count += 1
            self._messages.append(self._notification(key, version_id, "ObjectRemoved:Delete"))

    def take_messages(self) -> list[str]:
        """The bodies of the queue's messages, one a change."""
        taken, self._messages = self._messages, []
        return taken

    def _happened(self, key: str, body: bytes | None, event_name: str) -> str:
        self._count += 1
        self._made += 1
        version = _Version(f"version-{self._made}", body, self.now)
        self._versions.setdefault(key, []).append(version)
        self._messages.append(self._notification(key, version.id, event_name))
        return version.id

    def _notification(self, key: str, version_id: str, event_name: str) -> str:
        stored = {
            "key": quote_plus(key, safe="/"),
            "versionId": version_id,
            # S3's sequencers differ in length: zeros at the end may be missing.
            "sequencer": f"{self._count:08X}".rstrip("0"),
        }
        if event_name.startswith("ObjectCreated:"):
            stored["eTag"] = _etag(self._versions[key][-1].body or b"")
        time = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {"eventName": event_name, "eventTime": time, "s3": {"bucket": {"name": self.name}, "object": stored}}
        return json.dumps({"Records": [record]})


def _etag(body: bytes) -> str:
    return md5(body, usedforsecurity=False).hexdigest()
