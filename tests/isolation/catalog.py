"""The database's own lists of its tables and functions, and something to give each function."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.isolation.stack import Stack

SCHEMA = "'public'::regnamespace"
# SQL functions by who may call them, what they refuse, and statements of a member about rows of other projects.
RIGHTS: dict[str, Any] = json.loads(Path(__file__).with_name("rights.json").read_text("utf-8"))
_VALUES = {"uuid": str(uuid4()), "uuid[]": [], "text": "x", "text[]": ["x"], "jsonb": {}, "bigint": 1, "integer": 1}
_VALUES |= {"member_role": "editor"}


@dataclass(frozen=True, slots=True)
class Function:
    """A SQL function, and its arguments with their types."""

    name: str
    arguments: dict[str, str]
    # Whether `api` calls it for users.
    is_of_the_api: bool

    def given(self, ids: dict[str, str], **named: Any) -> dict[str, Any]:
        """A value for each argument; ids by the names of the arguments."""
        known = {f"p_{name.removesuffix('_id')}": value for name, value in ids.items()}
        known |= {"p_status": "enabled", "p_json_path": "", "p_data": "{}", "p_tools": []}
        known |= {"p_key_hash": "0" * 64, "p_member": ids.get("user_id", str(uuid4())), **named}
        return {name: known.get(name, _VALUES.get(kind)) for name, kind in self.arguments.items()}


def functions(stack: Stack) -> list[Function]:
    query = (
        "select p.proname, p.proowner = 'sakuin_member'::regrole or p.proname = 'create_project', "
        "coalesce(p.proargnames[1:p.pronargs], '{}'), array(select t::regtype::text from unnest(p.proargtypes) t) "
        "from pg_proc p where p.pronamespace = SCHEMA order by 1, 3"
    )
    found = stack.sql.execute(query.replace("SCHEMA", SCHEMA).encode()).fetchall()
    return [Function(name, dict(zip(names, types, strict=False)), opened) for name, opened, names, types in found]


def tables(stack: Stack, *, readable_by: str | None = None) -> list[str]:
    """Tables and views, all of them or those that a role may read."""
    query = (
        "select relname from pg_class where relnamespace = SCHEMA and relkind in ('r', 'p', 'v', 'm', 'f') "
        "and (%(role)s::text is null or has_table_privilege(%(role)s, oid, 'select')) order by 1"
    )
    found = stack.sql.execute(query.replace("SCHEMA", SCHEMA).encode(), {"role": readable_by})
    return [name for (name,) in found]
