"""turbopuffer takes connections and never answers: the schedule and requests end in time."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest
from mangum import Mangum
from sakuin.http.app import rest_api
from sakuin.http.upkeep import reconcile_router
from sakuin.platform.redaction import Failed
from sakuin.platform.secrets import Secrets
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.settings import Settings
from sakuin.tables.nodes import OrphanedIndex, UnindexedTable
from sakuin.tables.reconcile import ReconcileTables, ReconcileVersions
from sakuin.tables.turbopuffer import ChunkStore
from sakuin.upkeep.index_versions import BuildResult
from sakuin.upkeep.maintain import Maintain
from sakuin.upkeep.reconcile import Reconcile, ReconciliationResult
from sakuin.upkeep.schedule import Schedule
from sakuin.wiring.clients import Clients, start_telemetry
from sakuin.wiring.handlers import http_handler, instrument

from tests.events import AUTHORIZATION, event, ring
from tests.platform.test_hanging_vendor import Clock, Killed
from tests.test_template import FUNCTIONS
from tests.worlds import TableWorld, World, long


@dataclass
class Silence(httpx2.BaseTransport):
    """A connection without an answer, for as long as the client waits."""

    clock: Clock

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.clock.passes(request.extensions["timeout"]["read"])
        raise httpx2.ReadTimeout("no answer", request=request)


@dataclass
class Invocation:
    """The clients of a function whose turbopuffer hangs. Time passes only in calls of turbopuffer and pauses."""

    clients: Clients
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.clients.telemetry.work.clock = self.now

    def now(self) -> float:
        return self.clock.now

    @property
    def store(self) -> ChunkStore:
        """The store as the function has it, by this clock."""
        real = self.clients.chunk_store(for_upkeep=True)
        calls: Any = real.ask
        retries = replace(calls.retries, sleep=self.clock.passes, clock=self.now)
        calls.circuit.clock = self.now
        client = real.client.with_options(http_client=httpx2.Client(transport=Silence(self.clock)))
        return replace(real, client=client, ask=replace(calls, retries=retries))


@pytest.fixture
def invocation(environ: dict[str, str], members: dict[str, object]) -> Invocation:
    return Invocation(Clients(Settings.read(environ), Secrets.read(members, "sakuin"), start_telemetry("Maintain")))


@dataclass
class Due:
    """Records with three Tables for each part of maintenance that calls turbopuffer."""

    names: Sequence[str] = ("a", "b", "c")

    def delete_portion(self, *, limit: int) -> None:
        return None

    def unindexed_tables(self) -> Sequence[UnindexedTable]:
        return [UnindexedTable(name, "f", f"project_p_table_{name}", "2026-01-01T00:00:00Z") for name in self.names]

    def orphaned_namespaces(self) -> Collection[str]:
        return [f"project_p_table_{name}" for name in self.names]

    def orphaned_indexes(self) -> Sequence[OrphanedIndex]:
        return [OrphanedIndex("p", name, "f", "_old") for name in self.names]

    def delete_records(self, index: OrphanedIndex, *, limit: int) -> int:
        return 0


@dataclass
class Minute:
    """A minute's schedule over a hanging store. `turns`: the parts that had theirs."""

    invocation: Invocation
    unfinished: UnfinishedWorkStore
    turns: list[str] = field(default_factory=list)
    is_killed: bool = False

    def turn(self, name: str) -> int:
        self.turns.append(name)
        return 0

    def reconcile(self, *, whole: bool, seconds: float) -> ReconciliationResult:
        self.turn("reconciliation")
        self.invocation.store.is_indexed("project_p_table_a")
        return ReconciliationResult()

    def build(self) -> BuildResult:
        if self.is_killed:
            raise Killed
        return BuildResult(self.turn("index versions"), 0, None)

    def run(self) -> None:
        self.invocation.clock.ends = FUNCTIONS["SakuinMaintain"]["Timeout"]
        telemetry, records = self.invocation.clients.telemetry, Due()
        parts: Any = self
        index: Any = records
        maintain = Maintain(
            *(lambda: self.turn("events"), index, self.invocation.store, lambda: self.turn("Tables")),
            *(lambda: self.turn("work"), lambda: self.turn("uploads"), lambda: self.turn("learns")),
            write_quotas=lambda: self.turn("quotas"),
            delete_questions=lambda: self.turn("questions"),
            clock=self.invocation.now,
            work=telemetry.work,
        )
        no_canary: Any = None
        schedule = Schedule(
            *(maintain, parts.build, lambda: parts.reconcile, no_canary, self.unfinished, lambda: 0.0),
            *(telemetry.logger, telemetry.metrics, telemetry.work),
        )
        instrument(schedule.handle, telemetry)({}, self.invocation.clock)


def waiting_work(capsys: pytest.CaptureFixture[str]) -> list[float]:
    """Returns the values of the metric that were written."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    return [value for line in lines for value in line.get("WaitingWork", ())]


@pytest.fixture
def minute(invocation: Invocation, unfinished: UnfinishedWorkStore) -> Minute:
    return Minute(invocation, unfinished)


def test_a_hanging_store_leaves_every_other_part_its_turn(minute: Minute, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Failed, match="turbopuffer did not answer"):
        minute.run()
    assert sorted(minute.turns) == sorted(
        ["quotas", "events", "Tables", "work", "uploads", "learns", "questions", "index versions", "reconciliation"]
    )
    assert minute.turns[0] == "quotas"
    assert minute.invocation.clock.now < minute.invocation.clock.ends / 2
    assert waiting_work(capsys) == [0]


def test_counts_of_alarms_are_written_before_the_end(minute: Minute, capsys: pytest.CaptureFixture[str]) -> None:
    minute.is_killed = True
    with pytest.raises(Killed):
        minute.run()
    assert (waiting_work(capsys), minute.turns[0]) == ([0], "quotas")


def test_a_comparison_on_command_answers_in_time(invocation: Invocation, world: World, tables: TableWorld) -> None:
    for number in range(3):
        tables.indexed([long(f"説明{number}")])
    invocation.clock.ends = FUNCTIONS["SakuinApi"]["Timeout"]
    queues: Any = tables.queues
    compared = ReconcileTables(tables.index, invocation.store, queues, "")
    materials: Any = None
    reconcile = Reconcile(materials, ReconcileVersions([compared]), world.runs, invocation.now, lambda: True)
    api = rest_api(world.library, ring, "1", admin_routers=[reconcile_router(lambda: reconcile)])
    request = event("api.status") | {"rawPath": "/v1/reconcile", "body": json.dumps({"kind": "tables"})}
    request["headers"] = {"content-type": "application/json", **AUTHORIZATION}
    request["requestContext"]["http"] |= {"method": "POST", "path": "/v1/reconcile"}
    answer = http_handler(Mangum(api, lifespan="off"), invocation.clients.telemetry)(request, invocation.clock)
    assert (answer["statusCode"], invocation.clock.now < invocation.clock.ends) == (200, True)
    assert {each["rule"] for each in json.loads(answer["body"])["differences"]} == {"failed"}
