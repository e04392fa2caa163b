"""Schedules over Tables: people change things, workers are interleaved, messages doubled, calls lost."""

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from sakuin.tables.document import written_table
from sakuin.tables.nodes import namespace

from tests.convergence import tables_checks
from tests.convergence.machine import Schedule
from tests.convergence.tables_actions import SCOPES, Action, Change, Look, Send, actions, documents
from tests.convergence.tables_oracle import TablesOracle, ToolFact
from tests.convergence.tables_world import THRESHOLD, TablesWorld
from tests.convergence.workers import Workers

_MOST_TABLES = 2


class TablesMachine(Schedule):
    """A schedule over one project."""

    most_rounds = 60
    checks = tables_checks

    def __init__(self) -> None:
        super().__init__()
        self.world = TablesWorld.over(self.backend, counts=self.tally, **self.parts)
        self.oracle = TablesOracle()
        self.workers = Workers(self.world.sqs, self.world.handle, self.tally)
        self._create_project()
        self.names = iter(range(10_000))
        self.tally["schedules"] += 1

    @initialize(document=documents, scope=st.sampled_from(SCOPES), indexed=st.booleans())
    def begin(self, document: Any, scope: str, indexed: bool) -> None:
        self._create_table(document, scope)
        self.world.send_events()
        if indexed:
            self.workers.finish_all()

    @rule(action=actions)
    def step(self, action: Action) -> None:
        match action:
            case Change():
                self._change(action)
            case Send(refused, place, fate):
                self.world.bus.refused = refused
                self.workers.begin(self.world.send_events, place=place, fate=fate)
            case Look(which):
                enabled = [id for id, tool in self.oracle.tools.items() if tool.enabled]
                if enabled:
                    tables_checks.check_look(self.world, self.oracle, _one_of(enabled, which))
            case _:
                self.act(action)
        self.tally[f"step: {getattr(action, 'what', type(action).__name__.lower())}"] += 1

    def is_busy(self) -> bool:
        self.world.bus.refused = frozenset()
        return self.world.each_minute() | self.world.each_night()

    def _create_project(self) -> None:
        self.world.project = self.world.call("create_project", name="p")["id"]
        self.world.mcp = self.world.endpoint()

    def _change(self, action: Change) -> None:
        tables, tools = self.oracle.documents, self.oracle.tools
        if action.what == "create table":
            if len(tables) < _MOST_TABLES:
                self._create_table(action.document, action.scope)
        elif action.what == "delete project":
            for table in list(tables):
                self.oracle.forgot(table)
            self.world.call("delete_project", project=self.world.project)
            self._create_project()
        elif "tool" in action.what and action.what != "create tool":
            if tools:
                self._change_tool(action.what, _one_of(tools, action.which))
        elif tables:
            self._change_table(action, _one_of(tables, action.which))
        if action.sent:
            self.world.send_events()

    def _change_table(self, action: Change, table: str) -> None:
        data = written_table(action.document)
        if action.what == "create tool":
            self._create_tool(table, action.scope)
        elif action.what == "delete table":
            self.oracle.forgot(table)
            self.world.call("delete_table", table=table)
        elif action.what == "upload":
            key = self.world.upload(table, data.encode())
            self.oracle.uploaded(table, key, action.document)
        elif action.what == "lose rows":
            self.oracle.lost = True
            self.world.store.delete_namespace(namespace(self.world.project, table))
        elif action.what == "write elsewhere":
            self.oracle.wrote(table, action.document)
            self.world.write_elsewhere(table, data)
        else:
            self.oracle.wrote(table, action.document)
            self.world.call("replace_table", table=table, data=data, expected_version=None)

    def _change_tool(self, what: str, tool: str) -> None:
        fact = self.oracle.tools[tool]
        if what == "switch tool":
            fact.enabled = not fact.enabled
            self.world.call("change_tool", tool=tool, name=None, description=None, enabled=fact.enabled)
        elif what == "reindex tool":
            self.world.call("reindex_tool", tool=tool)
        else:
            del self.oracle.tools[tool]
            self.world.call("delete_tool", tool=tool)

    def _create_table(self, document: Any, scope: str) -> None:
        data = written_table(document)
        asked = {"project": self.world.project, "name": "t", "data": data, "chunk_threshold": THRESHOLD}
        table = self.world.call("create_table", **asked)["id"]
        self.oracle.wrote(table, document)
        self._create_tool(table, scope)

    def _create_tool(self, table: str, scope: str) -> None:
        place = {"project": self.world.project, "table": table, "json_path": scope}
        made = self.world.call("create_tool", **place, name=f"tool{next(self.names)}", description="d")
        self.world.call("bind_tool", mcp=self.world.mcp, tool=made["id"], status="enabled")
        self.oracle.tools[made["id"]] = ToolFact(table, scope)


def _one_of(many: Collection[str], which: int) -> str:
    return list(many)[which % len(many)]
