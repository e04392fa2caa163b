"""A Table over a limit fails alone, and its last version stays searchable."""

from dataclasses import replace

import pytest
from sakuin.limits import Limits
from sakuin.tables.index_table import IndexTable

from tests.worlds import TableWorld, long


class Scanned:
    """A Table with one good version, and a scan with limits."""

    def __init__(self, world: TableWorld) -> None:
        self.world = world
        self.table = world.table({"a": long("数列")})
        self.tool = world.tool(self.table, "")
        self.endpoint = world.endpoint(self.tool)
        world.settle()

    def replaced(self, document: object, limits: Limits) -> str:
        """What became of the next version."""
        self.world.replace(self.table, document)
        _, project, table, *_ = self.world.queues.asked.pop()
        scan: IndexTable = replace(self.world.scan, limits=limits)
        outcome = scan(project, table).outcome
        self.world.settle()
        return outcome


@pytest.fixture
def scanned(world: TableWorld) -> Scanned:
    return Scanned(world)


def test_too_many_strings_or_chunks_are_an_error_and_the_last_version_answers(scanned: Scanned) -> None:
    for limits, sentence in (
        (
            Limits(table_strings=2),
            "That would be 3 large strings; the limit is 2 (table_strings). Remove some, or raise the limit.",
        ),
        (
            Limits(table_chunks=5),
            "That would be 6 chunks; the limit is 5 (table_chunks). Remove some, or raise the limit.",
        ),
    ):
        assert scanned.replaced({key: long(f"行列{key}") for key in "abc"}, limits) == "unreadable"
        status = scanned.world.status(scanned.tool)
        assert (status["state"], sentence in status["last_error"]) == ("error", True), status
        assert scanned.world.found(scanned.endpoint) == {"/a"}
    limits = Limits(table_strings=3, table_chunks=6, string_chars=1200)
    assert scanned.replaced({key: long(f"行列{key}") for key in "abc"}, limits) == "scanned"
    assert scanned.world.status(scanned.tool)["last_error"] is None
