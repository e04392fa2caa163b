"""What failed for the last time is said on what it was about: a page, or the tools of a Table."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from sakuin.domain.material_version import Source, padded
from sakuin.domain.work import About
from sakuin.services.give_up_page import GiveUpPage
from sakuin.services.give_up_work import GiveUpWork

from tests.builders import a_page
from tests.in_memory.world import World


@dataclass
class Failures:
    """Hears of Tables: which, why, in which index."""

    told: list[tuple[str, str, str | None]] = field(default_factory=list)

    def __call__(self, table_id: str, reason: str, fingerprint: str | None) -> None:
        self.told.append((table_id, reason, fingerprint))


@pytest.fixture
def world() -> World:
    """One page."""
    world = World()
    world.put("x.html", a_page({"rule-a": "公式: 係数を代入して解く。"}))
    return world


@pytest.fixture
def tables() -> Failures:
    return Failures()


@pytest.fixture
def give_up(world: World, tables: Failures) -> GiveUpWork:
    return GiveUpWork(GiveUpPage(world.index, "", world.bucket), tables)


def test_a_page_s_end_is_said_on_the_page(give_up: GiveUpWork, world: World, tables: Failures) -> None:
    give_up("material", About("x", Source("bucket", "x.html", "version-2", padded("FF"))), "It failed")
    assert (world.index.rows["x"].status, tables.told) == ("failed", [])


@pytest.mark.parametrize("queue", ["tool", "embed"])
def test_a_table_s_end_is_said_on_its_tools(give_up: GiveUpWork, tables: Failures, queue: Any) -> None:
    give_up(queue, About("a table", fingerprint="an index"), "It failed")
    assert tables.told == [("a table", "It failed", "an index")]


def test_of_what_nobody_could_read_nothing_is_said(give_up: GiveUpWork, tables: Failures) -> None:
    give_up("tool", About(), "It failed")
    assert tables.told == []
