"""Creation of Search Tools."""

from sakuin.errors import Invalid, NotFound
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.document import parsed_table
from sakuin.tables.json_pointer import resolve
from sakuin.tables.model import Tool, User


def create_search_tool(
    records: ProjectRecords,
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
    # Reads the project first, so that others learn nothing about its Tables.
    if all(table.id != table_id for table in records.tables(user, project_id)):
        raise NotFound(f"There is no table {table_id}")
    stored = records.table(user, table_id)
    if stored.data is not None:
        try:
            resolve(parsed_table(stored.data), json_path)
        except NotFound as error:
            raise Invalid(str(error)) from error
    return records.create_tool(user, table_id, json_path=json_path, name=name, description=description)
