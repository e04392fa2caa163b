"""Changes that a platform made in the database itself."""

from dataclasses import dataclass

from sakuin.domain.project_records import Tool
from sakuin.domain.record_change import RecordChange, record_change
from sakuin.errors import NotFound
from sakuin.ports.projects import ProjectRecords


@dataclass(frozen=True, slots=True)
class HearOfChanges:
    """Takes ids from a webhook and writes the event that belongs to them, nothing else."""

    records: ProjectRecords

    def __call__(self, payload: object) -> bool:
        """Whether the change starts anything."""
        change = record_change(payload)
        if change is None or self._is_known(change):
            return False
        self.records.changed_elsewhere(
            change.event, project_id=change.project_id, table_id=change.table_id, tool_id=change.tool_id
        )
        return True

    def _is_known(self, change: RecordChange) -> bool:
        """Whether there is nothing left to index, or our own functions made the change: its event is written then."""
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
    # Platforms may write metadata themselves: what is no number is none of ours.
    status = tool.metadata.get("search_index")
    generation = status.get("generation") if isinstance(status, dict) else None
    return generation if isinstance(generation, int) else 0
