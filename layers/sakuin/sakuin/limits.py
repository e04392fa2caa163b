"""The limits of a deployment."""

import json
from dataclasses import dataclass, field, fields

from sakuin.errors import Invalid, Misconfigured


def _limit(default: int, description: str) -> int:
    limit: int = field(default=default, metadata={"description": description})
    return limit


@dataclass(frozen=True, slots=True)
class Limits:
    """The members of the parameter `Limits`; each default is far above normal use."""

    page_bytes: int = _limit(10_000_000, "bytes of a page")
    page_explanations: int = _limit(2_000, "semantic ids, or headings and boxes, in a page")
    table_bytes: int = _limit(100_000_000, "bytes of a Table")
    table_memory_bytes: int = _limit(
        600_000_000, "bytes of memory of a Table that `/v1` changes or reads by pointer; more needs more `HttpMemory`"
    )
    table_strings: int = _limit(200_000, "large strings of a Table")
    table_chunks: int = _limit(1_000_000, "chunks of a Table")
    string_chars: int = _limit(5_000_000, "characters of one string of a Table")
    projects: int = _limit(100, "projects that a user created")
    members: int = _limit(1_000, "members of a project")
    tables: int = _limit(1_000, "Tables of a project")
    tools: int = _limit(1_000, "Tools of a project")
    endpoints: int = _limit(1_000, "MCP endpoints of a project")
    endpoint_tools: int = _limit(100, "Tools of an MCP endpoint")
    project_bytes: int = _limit(200_000_000, "bytes of all Tables of a project")
    project_chunks: int = _limit(150_000, "chunks of all Tables of a project")
    user_bytes: int = _limit(400_000_000, "bytes of all Tables in the projects that a user created")
    user_chunks: int = _limit(150_000, "chunks of all Tables in the projects that a user created")
    all_bytes: int = _limit(1_000_000_000, "bytes of all Tables of the deployment")
    all_chunks: int = _limit(150_000, "chunks of all Tables of the deployment")
    database_bytes: int = _limit(
        8_000_000_000, "bytes of the database's disk: an alarm and `sakuin doctor` announce that 80 % are used"
    )
    project_daily_tokens: int = _limit(
        100_000_000, "tokens embedded in a day (UTC) for a project, estimated as 3 bytes each; 0: no limit"
    )
    reindexes_per_hour: int = _limit(60, "reindexes of Tools that are requested for a project in an hour; 0: no limit")
    requests_per_minute: int = _limit(1_200, "requests of a user to the API's functions in a minute; 0: no limit")
    sign_ins_of_address: int = _limit(60, "wrong passwords from an address at the console in 15 minutes; 0: no limit")
    sign_ins_of_account: int = _limit(10, "wrong passwords of an account at the console in 15 minutes; 0: no limit")
    mcp_request_bytes: int = _limit(1_000_000, "bytes of a request to `/mcp`")
    api_request_bytes: int = _limit(
        4_500_000, "bytes of a request to `/v1`; the gateway rejects what is over 6 MB with its envelope"
    )
    queries_per_minute: int = _limit(1_200, "tool calls in a minute by a key of `/mcp` or of a project; 0: no limit")
    public_queries_per_minute: int = _limit(
        120, "tool calls in a minute by all callers without a key together; 0: no limit but the gateway's"
    )
    public_daily_tokens: int = _limit(
        5_000_000, "tokens of questions without a key that are embedded in a day (UTC); 0: no limit"
    )
    embedding_daily_tokens: int = _limit(200_000_000, "tokens embedded in a day (UTC) for all projects; 0: no limit")
    learns_daily_tokens: int = _limit(
        20_000_000, "tokens that the language model for `learns` reads and writes in a day (UTC); 0: no limit"
    )

    @classmethod
    def read(cls, text: str) -> "Limits":
        """Reads a JSON object of the limits that differ from their defaults; `Misconfigured` if it is wrong."""
        example = '{"table_bytes": 200000000}'
        try:
            values = json.loads(text or "{}")
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise Misconfigured(f"LIMITS must be a JSON object, for example {example}, not {text!r}")
        names = [each.name for each in fields(cls)]
        for name, value in values.items():
            if name not in names:
                raise Misconfigured(f"LIMITS: unknown limit {name!r}; use {', '.join(names)}")
            if type(value) is not int or value < 0:
                raise Misconfigured(f"LIMITS: {name} must be a whole number, for example {example}, not {value!r}")
        return cls(**values)


def check_limit(count: int, most: int, *, what: str, limit: str) -> None:
    """Raises `Invalid` if `count` exceeds the limit `most`. `limit` is the member of `Limits`."""
    if count > most:
        raise Invalid(
            f"That would be {count:,} {what}; the limit is {most:,} ({limit}). Remove some, or raise the limit."
        )
