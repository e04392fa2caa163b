"""Orphaned uploads are deleted; bodies that a Table or a message still needs stay."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from sakuin.tables.admin.tables import LEFT, OF_THE_GONE, DeleteOrphanedUploads, OrphanedFolder

from tests.doubles.bucket import MemoryBucket
from tests.worlds import TableWorld

NOW = datetime(2026, 7, 1, tzinfo=UTC)


@dataclass
class Uploads:
    """A project whose Tables are uploaded, and the bucket."""

    world: TableWorld
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    now: datetime = NOW

    def upload(self, table: str, *, ago: timedelta = timedelta(days=100), imported: bool = True) -> str:
        """Uploads a body of this age; returns its key."""
        announced = self.world.call("begin_upload", table=table)
        key = f"{self.folder(table)}{announced['upload']}.json"
        self.bucket.now = self.now - ago
        self.bucket.write(key, b"{}")
        if imported:
            self.world.call("finish_upload", table=table, upload=announced["upload"], key=key, error=None)
        return key

    def folder(self, table: str) -> str:
        return f"tables/{self.world.project}/{table}/"

    def removed(self, *, after: timedelta) -> int:
        """Returns how many bodies are deleted after the folders were known for so long."""
        self.world.sql(
            "update orphaned_upload set since = now() - make_interval(secs => %s) where starts_with(folder, %s)",
            after.total_seconds(),
            f"tables/{self.world.project}/",
        )
        return self.delete()

    @property
    def delete(self) -> DeleteOrphanedUploads:
        return DeleteOrphanedUploads(self.world.client, self.bucket, lambda: self.now)

    def known(self) -> list[str]:
        asked = "select folder from orphaned_upload where starts_with(folder, %s)"
        return [row[0] for row in self.world.sql(asked, f"tables/{self.world.project}/")]

    def held(self) -> list[str]:
        return self.bucket.keys(f"tables/{self.world.project}/")


@pytest.fixture
def uploads(world: TableWorld) -> Uploads:
    return Uploads(world)


def hours(delta: timedelta, more: int) -> timedelta:
    return delta + timedelta(hours=more)


def test_a_replaced_body_is_deleted_and_the_current_one_stays(uploads: Uploads) -> None:
    table, edited, empty = (uploads.world.table({}) for _ in range(3))
    newest = [uploads.upload(table) for _ in range(2)][-1]
    uploads.upload(edited)
    uploads.world.replace(edited, {"a": 1})
    # A Table without uploads has no folder.
    uploads.world.call("delete_table", table=empty)
    assert uploads.removed(after=hours(LEFT, -1)) == 0
    assert uploads.removed(after=hours(LEFT, 1)) == 2
    assert (uploads.held(), uploads.known()) == ([newest], [])


def test_a_body_that_a_message_may_still_import_stays_and_is_looked_at_again(uploads: Uploads) -> None:
    table = uploads.world.table({})
    waits = uploads.upload(table, ago=hours(LEFT, -1), imported=False)
    assert uploads.removed(after=hours(LEFT, 1)) == 0
    assert (uploads.held(), uploads.known()) == ([waits], [uploads.folder(table)])
    uploads.now += timedelta(hours=2)
    assert uploads.removed(after=hours(LEFT, 1)) == 1
    assert (uploads.held(), uploads.known()) == ([], [])


@pytest.mark.parametrize("whole_project", [True, False])
def test_nothing_is_left_of_what_was_deleted(uploads: Uploads, whole_project: bool) -> None:
    table, other = uploads.world.table({}), uploads.world.beside()
    uploads.upload(table, ago=timedelta(days=2))
    uploads.upload(table, ago=timedelta(days=2), imported=False)
    stays = Uploads(other, uploads.bucket).upload(other.table({}))
    if whole_project:
        uploads.world.call("delete_project", project=uploads.world.project)
        uploads.world.maintain()
    else:
        uploads.world.call("delete_table", table=table)
    assert uploads.removed(after=hours(OF_THE_GONE, -1)) == 0
    assert uploads.removed(after=hours(OF_THE_GONE, 1)) == 2
    assert (uploads.held(), uploads.known(), uploads.bucket.current_version(stays) is None) == ([], [], False)


def test_a_folder_that_changed_meanwhile_is_checked_again(uploads: Uploads) -> None:
    table = uploads.world.table({})
    folder = OrphanedFolder(uploads.folder(table), uploads.upload(table), gone=False)
    uploads.upload(table)
    uploads.delete.mark_removed(folder, again=False)
    assert uploads.known() == [uploads.folder(table)]


def test_a_folder_of_many_is_emptied_in_portions(uploads: Uploads) -> None:
    table = uploads.world.table({})
    uploads.upload(table)
    for number in range(1000, 1150):
        uploads.bucket.write(f"{uploads.folder(table)}{number}.json", b"{}")
    uploads.world.call("delete_table", table=table)
    assert [uploads.removed(after=hours(OF_THE_GONE, 1)) for _ in range(3)] == [100, 51, 0]
    assert (uploads.held(), uploads.known()) == ([], [])
