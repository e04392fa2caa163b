"""Administration of Search Tools."""

from dataclasses import dataclass

from sakuin.errors import Invalid, NotFound
from sakuin.tables.admin.checks import check_text
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.document import parsed_table
from sakuin.tables.json_pointer import resolve
from sakuin.tables.model import Tool, User


@dataclass(frozen=True, slots=True)
class ToolAdmin:
    """Creates and changes Tools."""

    records: ProjectRecords

    def create(
        self,
        user: User | None,
        project_id: str,
        *,
        table_id: str,
        json_path: str,
        name: str,
        description: str | None,
    ) -> Tool:
        """Creates a Tool for a part of a Table of the same project. Its index is pending.

        Raises `Invalid` if the Table's document has no such part. One in the bucket is not read: its scan tells.
        Without a description, or with a blank one, the Tool gets one that names its place.
        """
        _check_texts(name=name, json_path=json_path, description=description)
        # Reads the project first, so that others learn nothing about its Tables.
        if all(table.id != table_id for table in self.records.tables(user, project_id)):
            raise NotFound(f"There is no table {table_id}")
        self._check_place(user, table_id, json_path)
        return self.records.create_tool(user, table_id, json_path=json_path, name=name, description=description)

    def _check_place(self, user: User | None, table_id: str, json_path: str) -> None:
        stored = self.records.table(user, table_id)
        if stored.data is None:
            return
        try:
            resolve(parsed_table(stored.data), json_path)
        except NotFound as error:
            raise Invalid(str(error)) from error

    def change(
        self, user: User | None, tool_id: str, *, name: str | None, description: str | None, enabled: bool | None
    ) -> Tool:
        """Changes the fields that are not None. A blank description counts as None."""
        _check_texts(name=name, description=description)
        return self.records.change_tool(user, tool_id, name=name, description=description, enabled=enabled)


def _check_texts(**texts: str | None) -> None:
    for name, text in texts.items():
        check_text(text or "", f"The {name}")
