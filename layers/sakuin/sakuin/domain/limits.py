"""How much of each thing a deployment takes; docs/limits.md is the same as a table."""

from dataclasses import dataclass

from sakuin.errors import Invalid


@dataclass(frozen=True, slots=True)
class Limits:
    """Each is a setting of the template; the defaults are far over what people need.

    `table_memory_bytes` is what a whole Table may take of the function that answers requests. `table_strings`,
    `table_chunks` and `string_chars` are about the large strings of one Table; `members`, `tables`, `tools` and
    `endpoints` about one project, `projects` about one user. `queries_per_minute` is for each key of `/mcp`
    and each endpoint; 0 is no limit.
    """

    page_explanations: int = 2_000
    table_bytes: int = 100_000_000
    table_memory_bytes: int = 600_000_000
    table_strings: int = 200_000
    table_chunks: int = 1_000_000
    string_chars: int = 5_000_000
    projects: int = 100
    members: int = 1_000
    tables: int = 1_000
    tools: int = 1_000
    endpoints: int = 1_000
    endpoint_tools: int = 100
    mcp_request_bytes: int = 1_000_000
    api_request_bytes: int = 6_000_000
    queries_per_minute: int = 1_200


def check_room(there: int, most: int, *, what: str, setting: str, more: int = 1) -> None:
    """`Invalid` if no `more` fit to those that are `there`."""
    if there + more > most:
        raise Invalid(
            f"That would be {there + more:,} {what}, and there may be {most:,}. Remove some, or raise {setting}."
        )
