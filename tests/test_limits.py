"""docs/reference/limits.md, the settings and the code have the same limits."""

import json
import re
from dataclasses import asdict
from typing import Any

import psycopg
import pytest
from sakuin import arguments
from sakuin.errors import Misconfigured
from sakuin.knowledge import names
from sakuin.knowledge import page as recipe
from sakuin.knowledge.learns import authored as learns_file
from sakuin.knowledge.reading import page_reader, parsing
from sakuin.language import indexing, synonyms
from sakuin.language.questions import query_analysis
from sakuin.limits import Limits
from sakuin.mcp import callers
from sakuin.settings import Settings
from sakuin.tables import document as table_document
from sakuin.tables import model as search_tool
from sakuin.tables import scan
from sakuin.tables.admin import tables as keep_tables

from tests.environment import ENVIRONMENT
from tests.test_template import ROOT, TEMPLATE, resources
from tests.wiring import test_limits_from_outside

ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?P<limit>[\d,]+) \| (?P<member>[^|]*)\| (?P<beyond>[^|]+) \|$", re.MULTILINE)
ROWS = list(ROW.finditer((ROOT / "docs" / "reference" / "limits.md").read_text(encoding="utf-8")))
COST = (ROOT / "docs" / "measurements" / "cost.md").read_text(encoding="utf-8")
FIGURES = dict(re.findall(r"^\| `(\w+)` \| ([\d,]+) \| measured", COST, re.MULTILINE))
MEMBER = re.compile(r"^`(\w+)`$")
LIMITS = {member[1]: row["limit"] for row in ROWS if (member := MEMBER.match(row["member"].strip()))}
PROJECTS = (ROOT / "supabase" / "schema" / "3_projects.sql").read_text(encoding="utf-8")


def in_sql(pattern: str) -> int:
    """A limit that only SQL checks, everywhere the same."""
    (found,) = set(re.findall(pattern, PROJECTS))
    return int(found)


FIXED: dict[str, Any] = {
    "`learns.yml`, bytes": learns_file.LARGEST_FILE,
    "`synonyms.yml`, bytes": synonyms.MOST_BYTES,
    "groups in a list of synonyms": synonyms.MOST_GROUPS,
    "phrases in a group of synonyms": synonyms.MOST_PHRASES,
    "a phrase of a group of synonyms, characters": synonyms.LONGEST_PHRASE,
    "folders whose synonyms count in one question": query_analysis.MOST_FOLDERS,
    "levels of a Table's JSON": table_document.MAX_DEPTH,
    "a name of a project, Table or endpoint, characters": in_sql(r"length\(name\) between 1 and (\d+)"),
    "the description of a Tool, characters": in_sql(r"'record.description' then length\(value\) <= (\d+)"),
    "`chunk_threshold_chars` of a Table": in_sql(r"(?:p_chars|chunk_threshold_chars) between 1 and (\d+)"),
    "a question, characters": arguments.MAX_QUERY,
    "`top_k`": arguments.MAX_TOP_K,
    "wrong keys for one endpoint, a worker in 5 seconds": callers._MAX_FAILURES,
    "an upload of a Table, seconds until it has started": keep_tables._UPLOAD_SECONDS,
    "characters of an explanation that are embedded": recipe.EMBEDDED_LENGTH,
}


def test_every_limit_is_in_the_table_and_the_other_way_round() -> None:
    assert len(ROWS) > 25
    assert set(LIMITS) == set(asdict(Limits()))


@pytest.mark.parametrize("limit", sorted(LIMITS))
def test_a_limit_of_the_table_is_the_default_and_the_parameter_changes_it(limit: str) -> None:
    default = int(LIMITS[limit].replace(",", ""))
    changed = Settings.read({**ENVIRONMENT, "LIMITS": json.dumps({limit: default + 7})}).limits
    assert asdict(Limits())[limit] == default
    assert asdict(changed) == {**asdict(Limits()), limit: default + 7}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[]", "must be a JSON object"),
        ("{", "must be a JSON object"),
        ('{"pages": 1}', "unknown limit 'pages'; use page_bytes, "),
        ('{"tools": "5"}', "tools must be a whole number"),
        ('{"tools": true}', "tools must be a whole number"),
        ('{"tools": -1}', "tools must be a whole number"),
    ],
)
def test_limits_that_are_none_are_refused_with_their_name(text: str, error: str) -> None:
    with pytest.raises(Misconfigured, match=f"^LIMITS.*{error}"):
        Limits.read(text)


def test_the_quotas_of_sql_are_those_of_the_code(sql: psycopg.Connection) -> None:
    ((defaults,),) = sql.execute("select default_quotas()").fetchall()
    assert defaults.items() <= asdict(Limits()).items()
    assert len(defaults) == 17


def test_every_limit_is_met_from_outside() -> None:
    budgets = "tests/tables/test_waiting.py"
    elsewhere = {
        "embedding_daily_tokens": budgets,
        "project_daily_tokens": budgets,
        "learns_daily_tokens": "tests/knowledge/learns/test_ask_model.py",
        "public_queries_per_minute": "tests/isolation/test_public_library.py",
        "public_daily_tokens": "tests/isolation/test_public_library.py",
        "sign_ins_of_address": "tests/console/test_sign_in.py",
        "sign_ins_of_account": "tests/console/test_sign_in.py",
        "database_bytes": "tests/cli/test_cli_doctor.py",
    }
    assert set(LIMITS) == set(test_limits_from_outside.LIMITS) | elsewhere.keys()
    assert all((ROOT / path).is_file() for path in elsewhere.values())


def test_what_tenants_may_store_fits_the_default_database() -> None:
    """Also while a second index version has its own vectors, beside 100,000 explanations of pages."""
    limits = Limits()
    a_table_chunk, a_chunk = (
        int(FIGURES[name].replace(",", "")) for name in ("database_bytes_a_table_chunk", "database_bytes_a_chunk")
    )
    # Of four passages, as a Japanese chunk has them.
    vectors = 4 * 4_280
    chunks = limits.all_chunks * (a_table_chunk + vectors)
    assert chunks + limits.all_bytes + 100_000 * a_chunk <= limits.database_bytes
    assert limits.project_chunks <= limits.user_chunks <= limits.all_chunks
    assert limits.project_bytes <= limits.user_bytes <= limits.all_bytes
    assert limits.table_bytes <= limits.project_bytes
    # A day's tokens have a limit for each project, and for all of them.
    assert 0 < limits.project_daily_tokens <= limits.embedding_daily_tokens


@pytest.mark.parametrize("what", sorted(FIXED))
def test_a_limit_that_nothing_raises_is_the_code_s(what: str) -> None:
    (row,) = [row for row in ROWS if row["what"] == what]
    assert int(row["limit"].replace(",", "")) == FIXED[what]


@pytest.mark.parametrize(
    ("number", "of"),
    [
        *((parsing.MOST_ELEMENTS, "elements"), (page_reader.MOST_CHARACTERS, "characters in its explanations")),
        *((page_reader.LONGEST_LABEL, "characters"), (page_reader.MOST_PREREQUISITES, "prerequisites")),
        *((names.LONGEST_ANCHOR, "characters"), (indexing.LONGEST_BODY, "characters")),
        *((learns_file.LONGEST_ITEM, "characters"), (learns_file.LONGEST_NAME, "characters")),
        *((learns_file.MOST_ITEMS, "items of one anchor"), (table_document.MAX_DEPTH, "levels")),
        *((table_document.MOST_OPERATIONS, "operations"), (scan.LONGEST_POINTER, "characters")),
        (arguments.MAX_QUERY, "characters"),
    ],
)
def test_a_bound_of_hostile_input_is_the_code_s(number: int, of: str) -> None:
    assert f"{number:,} {of}" in (ROOT / "docs" / "reference" / "hostile-input.md").read_text(encoding="utf-8")


def test_every_kind_of_tool_has_the_same_top_k() -> None:
    assert search_tool.TOP_K_MAX == arguments.MAX_TOP_K


def test_the_gateway_s_rate_is_the_table_s() -> None:
    (row,) = [row for row in ROWS if row["what"] == "requests to the gateway, a second"]
    (stage,) = resources("AWS::ApiGatewayV2::Stage").values()
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == {"Ref": "RequestsPerSecond"}
    assert TEMPLATE["Parameters"]["RequestsPerSecond"]["Default"] == int(row["limit"])


def test_every_row_says_what_happens_beyond() -> None:
    assert all(row["beyond"].strip() for row in ROWS)
