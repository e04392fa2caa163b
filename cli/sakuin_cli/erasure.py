"""Erasing a customer: all versions in the buckets, dead letters, and records."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sakuin.errors import Unavailable
from sakuin.platform.s3 import translate_errors

from sakuin_cli.client import DeploymentClient
from sakuin_cli.rest import Record


@dataclass(frozen=True, slots=True)
class Erasure:
    """A customer: a folder of the library, a project, or both.

    `places` are the buckets with the beginnings of the customer's keys. `s3` is boto3's client.
    """

    client: DeploymentClient
    s3: Any
    places: Mapping[str, Collection[str]]
    folder: str | None = None
    project_id: str | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def count(self) -> None:
        """Counts what `erase` would remove."""
        self.counts["versions"] = sum(len(page) for bucket in self.places for page in self._versions(bucket))
        self._records(dry_run=True)

    def erase(self, attempts: Iterable[None]) -> int:
        """Erases everything; what is gone already is no error. Returns what is left after the `attempts` of `poll`."""
        if self.project_id is not None and self._has_project():
            self.client.call("DELETE", "projects", self.project_id)
        self.counts["versions"] = sum(map(self._erase_versions, self.places))
        left = 1
        for _ in attempts:
            # An event of the bucket that is processed later would record the name of its page again.
            if self._has_messages():
                continue
            left = self._records(dry_run=False)
            if not left:
                break
        return left

    def _has_project(self) -> bool:
        return any(project["id"] == self.project_id for project in self.client.call("GET", "projects")["projects"])

    def _versions(self, bucket: str) -> Iterator[list[dict[str, str]]]:
        """Yields key and id of all versions and delete markers of the customer, at most a thousand at a time."""
        for prefix in self.places[bucket]:
            with translate_errors(prefix):
                for page in self.s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
                    listed = (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))
                    yield [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in listed]

    def _erase_versions(self, bucket: str) -> int:
        erased = 0
        for versions in filter(None, self._versions(bucket)):
            with translate_errors(bucket):
                answer = self.s3.delete_objects(Bucket=bucket, Delete={"Objects": versions, "Quiet": True})
            for error in answer.get("Errors", ()):
                raise Unavailable(f"S3 did not delete {error['Key']}: {error['Code']}", vendor="s3")
            erased += len(versions)
        return erased

    def _has_messages(self) -> bool:
        states: Sequence[Record] = self.client.call("GET", "queues")["queues"] or ()
        return self.folder is not None and any(
            one["waiting"] + one["in_flight"] for one in states if one["queue"] == "material"
        )

    def _records(self, *, dry_run: bool) -> int:
        request = {"folder": self.folder, "project_id": self.project_id, "dry_run": dry_run}
        answer = self.client.call("POST", "erase", json=request)
        for name, number in answer["erased"].items():
            self.counts[name] = self.counts.get(name, 0) + number
        return int(answer["left"])
