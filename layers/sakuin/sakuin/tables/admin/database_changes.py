"""Changes of Tools and Tables that a platform makes directly in the database."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sakuin.errors import Invalid, NotFound
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import EventName, Tool

# The columns that the index depends on. Changes of others, such as the status in `metadata`, start nothing.
_OF_TOOL = ("table_id", "json_path", "enabled", "type")
_OF_TABLE = ("data", "data_key", "version", "chunk_threshold_chars")


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A change of a Tool or a Table in the database, by the product or by a platform.

    `generation` is that of a changed Table. If its Tools have it, or a later one, the event is written already.
    """

    event: EventName
    project_id: str
    table_id: str
    tool_id: str | None
    generation: int | None = None


def record_change(payload: object) -> RecordChange | None:
    """Returns the change in the payload `{type, table, record, old_record}` of a webhook; None if it starts nothing.

    Raises `Invalid` for another payload.
    """
    if not isinstance(payload, dict) or payload.get("table") not in ("tool", "context_table"):
        raise Invalid("Send the payload of a database webhook of the tables tool or context_table.")
    kind, record, old = payload.get("type"), payload.get("record"), payload.get("old_record")
    if kind not in ("INSERT", "UPDATE", "DELETE"):
        raise Invalid("A database webhook's type is INSERT, UPDATE or DELETE.")
    row = old if kind == "DELETE" else record
    if not isinstance(row, dict) or (kind == "UPDATE" and not isinstance(old, dict)):
        raise Invalid("The payload has no record.")
    before = old if isinstance(old, dict) else {}
    return (_of_tool if payload["table"] == "tool" else _of_table)(kind, row, before)


def _of_tool(kind: str, row: Mapping[str, object], before: Mapping[str, object]) -> RecordChange | None:
    if kind == "UPDATE" and all(row.get(name) == before.get(name) for name in _OF_TOOL):
        return None
    events: dict[str, EventName] = {"INSERT": "ToolCreated", "UPDATE": "ToolUpdated", "DELETE": "ToolDeleted"}
    return RecordChange(events[kind], _id(row, "project_id"), _id(row, "table_id"), _id(row, "id"))


def _of_table(kind: str, row: Mapping[str, object], before: Mapping[str, object]) -> RecordChange | None:
    if kind == "DELETE":
        return RecordChange("TableDeleted", _id(row, "project_id"), _id(row, "id"), None)
    # A new Table has no Tools, so there is nothing to index.
    if kind == "INSERT" or all(row.get(name) == before.get(name) for name in _OF_TABLE):
        return None
    generation = row.get("generation")
    number = generation if isinstance(generation, int) else None
    return RecordChange("TableUpdated", _id(row, "project_id"), _id(row, "id"), None, number)


def _id(row: Mapping[str, object], name: str) -> str:
    try:
        return str(UUID(str(row.get(name))))
    except ValueError:
        raise Invalid(f"The record's {name} is not a UUID.") from None


@dataclass(frozen=True, slots=True)
class HandleDatabaseChange:
    """Writes the event of a change. It uses only ids of the payload."""

    records: ProjectRecords

    def __call__(self, payload: object) -> bool:
        """Returns whether the change started indexing."""
        change = record_change(payload)
        if change is None or self._is_known(change):
            return False
        self.records.record_database_change(
            change.event, project_id=change.project_id, table_id=change.table_id, tool_id=change.tool_id
        )
        return True

    def _is_known(self, change: RecordChange) -> bool:
        """Returns whether there is nothing to index, or a function of the product has written the event already."""
        try:
            if change.event == "ToolCreated":
                return "search_index" in self.records.tool(None, str(change.tool_id)).metadata
            if change.event == "TableUpdated" and change.generation is not None:
                tools = self.records.tools(None, change.project_id)
                concerned = [tool for tool in tools if tool.enabled and tool.table_id == change.table_id]
                return all(_generation(tool) >= change.generation for tool in concerned)
        except NotFound:
            return True
        return False


def _generation(tool: Tool) -> int:
    # A platform may overwrite the metadata.
    status = tool.metadata.get("search_index")
    generation = status.get("generation") if isinstance(status, dict) else None
    return generation if isinstance(generation, int) else 0
