"""A Table that waits for a vendor, a rate limit or the next day stays searchable and says since when and why."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from sakuin.errors import CircuitOpen, RateLimited
from sakuin.platform.embedding import Vector
from sakuin.platform.openai.budget import DailyTokens

from tests.doubles.embedder import MODEL, MemoryEmbedder
from tests.worlds import TableWorld, long, passages_of

# 66 chunks, so three messages.
MANY = [long(f"二次方程式の解の公式その{number}", 200) for number in range(66)]


@dataclass
class VendorEmbedder(MemoryEmbedder):
    """An embedder that may be away; `asked` counts all calls."""

    is_away: bool = True
    asked: int = 0

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += 1
        if self.is_away:
            raise CircuitOpen("openai keeps failing", vendor="openai")
        return super().passages(texts)


def test_a_waiting_table_says_since_when_and_why_and_is_ready_a_minute_after_its_vendor(world: TableWorld) -> None:
    world.embedder = embedder = VendorEmbedder()
    world.on_sqs()
    table = world.table(MANY)
    tool = world.tool(table, "")
    world.take_all()
    assert [row.vendor for row in world.waiting_rows(table)] == ["openai"]
    status = world.status(tool)
    said = "openai keeps failing; this waits for openai and continues automatically"
    assert (status["state"], status["waiting_reason"], status.get("last_error")) == ("indexing", said, None)
    asked, since = embedder.asked, status["waiting_since"]
    world.minutes(3)
    # Each of its batches once a minute, or a little more.
    assert 3 * 3 <= embedder.asked - asked <= 3 * 5
    # The same moment, by the clock of the test.
    assert world.status(tool)["waiting_since"] < since

    embedder.is_away = False
    world.passes(60)
    world.take_all()
    status = world.status(tool)
    assert (status["state"], status["indexed_chunks_count"], status["waiting_since"]) == ("ready", 66, None)
    assert world.waiting_rows(table) == []
    assert world.sqs.messages == []


FIRST, SECOND = long("二次方程式の解の公式", 300), long("一次関数の傾き", 300)

BUDGET = 100

USED_UP = "The day's 100 embedding tokens are used up; indexing goes on at 00:00 UTC"


@dataclass
class Days:
    world: TableWorld

    def spend(self) -> None:
        """Spends the whole budget of today."""
        DailyTokens(self.world.client).add(BUDGET)

    def settle(self) -> None:
        self.world.take_all()

    def waiting(self, table: str) -> list[str | None]:
        """Returns the vendor that a Table waits for."""
        return [row.vendor for row in self.world.waiting_rows(table)]

    def next_day(self) -> None:
        """Passes midnight and runs maintenance."""
        self.world.sql("delete from daily_count")
        self.world.passes(86_400)
        self.world.minute()
        self.settle()


@pytest.fixture
def days(world: TableWorld) -> Days:
    def require() -> None:
        """Asks as a worker that has just started: another one keeps the sum it knows until it has paid for a call."""
        DailyTokens(world.client, most=BUDGET).require()

    # Searches have the double alone.
    world.embedders[MODEL] = replace(world.embedder, require_budget=require)
    return Days(world.on_sqs())


def test_a_table_over_the_budget_waits_says_so_and_is_ready_the_next_day(days: Days) -> None:
    world = days.world
    table, tool, endpoint = world.documented({"a": FIRST})
    days.settle()
    assert (days.waiting(table), world.status(tool)["state"]) == ([], "ready")

    days.spend()
    world.replace(table, {"a": FIRST, "b": SECOND})
    days.settle()
    status = world.status(tool)
    assert (status["state"], status["waiting_reason"]) == ("indexing", USED_UP)
    assert days.waiting(table) == [None]
    assert world.found(endpoint) == {"/a"}

    days.next_day()
    status = world.status(tool)
    assert (status["state"], status["last_error"]) == ("ready", None)
    assert days.waiting(table) == []
    assert world.found(endpoint) == {"/a", "/b"}


def test_a_project_over_its_own_tokens_of_the_day_waits_and_others_do_not(world: TableWorld) -> None:
    other = world.beside()
    days = Days(world.on_sqs())
    # One text of 3 bytes a token, however long, is embedded: otherwise it would never be.
    world.sql("select set_quotas('{\"project_daily_tokens\": 1}')")
    table, tool, _ = world.documented({"a": FIRST})
    days.settle()
    assert world.status(tool)["state"] == "ready"
    world.replace(table, {"a": FIRST, "b": SECOND})
    days.settle()
    status = world.status(tool)
    assert status["state"] == "indexing"
    assert status["waiting_reason"].startswith("The limit of 1 tokens of one project in a day (project_daily_tokens)")
    assert days.waiting(table) == [None]
    _, theirs, _ = other.documented({"a": SECOND})
    other.settle()
    assert other.status(theirs)["state"] == "ready"
    world.sql("update quota_use set began = began - interval '1 day'")
    days.next_day()
    assert (world.status(tool)["state"], days.waiting(table)) == ("ready", [])


# Twelve chunks of 1,000 characters, each in five passages, so four requests of one message; 40 chunks are two messages.
TWELVE = [f"{number:02}" + "図" * 998 for number in range(12)]

FORTY = [f"{number:02}" + "表" * 998 for number in range(40)]


@dataclass
class SlowEmbedder(MemoryEmbedder):
    """An embedder whose requests take two seconds of `now`, and that asks to wait after `left` requests.

    `progress` has how many chunks of `world` were stored before each request.
    """

    left: int = 1_000
    now: float = 0.0
    progress: list[int] = field(default_factory=list)
    world: TableWorld | None = None

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if not self.left:
            raise RateLimited("embeddings", vendor="openai", retry_after=30)
        self.left -= 1
        self.now += 2
        if self.world is not None:
            (stored,) = self.world.sql("select count(*) from chunks where indexed_at is not null")
            self.progress += stored
        return super().passages(texts)


def used_tokens(world: TableWorld) -> int:
    return int(world.sql("select coalesce(sum(used), 0) from quota_use where quota = 'project_daily_tokens'")[0][0])


def test_a_rate_limit_keeps_what_is_embedded_and_embeds_it_once(world: TableWorld) -> None:
    world.embedder = embedder = SlowEmbedder(left=1)
    world.on_sqs()
    table, tool, _ = world.documented(TWELVE)
    for _ in range(10):
        world.take_all()
        assert world.waiting == []
        world.passes(30)
    world.take_all()
    status = world.status(tool)
    assert (status["state"], status["indexed_chunks_count"], status["chunks_count"]) == ("indexing", 3, 12)
    assert (status.get("last_error"), status["minutes_left"] >= 1) == (None, True)
    (row,) = world.waiting_rows(table)
    assert (row.reason, row.vendor) == ("Waiting for embeddings, about 1 minute", "openai")

    embedder.left = 1_000
    world.passes(30)
    world.take_all()
    status = world.status(tool)
    assert (status["state"], status["indexed_chunks_count"], status["minutes_left"]) == ("ready", 12, None)
    passages = [passage for text in TWELVE for passage in passages_of(text)]
    assert sorted(embedder.embedded) == sorted(passages)
    assert (world.waiting_rows(table), world.sqs.dead) == ([], [])
    assert used_tokens(world) == sum(len(text.encode()) for text in passages) // 3


def test_progress_counts_chunks_while_a_message_is_worked_on(world: TableWorld) -> None:
    table, tool, _ = world.documented(FORTY[:30])
    world.deliver(world.queues.asked.pop())
    world.embedder = embedder = SlowEmbedder(world=world)
    for _, project, _, ids in world.queues.asked:
        replace(world.embed, clock=lambda: embedder.now)(project, table, ids)
    # After each six seconds.
    assert embedder.progress == [0, 0, 0, 9, 9, 9, 19, 19, 19, 28]
    assert world.status(tool)["state"] == "ready"
