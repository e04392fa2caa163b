"""docs/limits.md, the template, the settings and the code have the same limits."""

import re
from dataclasses import asdict
from typing import Any

import pytest
from sakuin.domain import learns_file, recipe, search_tool, table_document
from sakuin.domain.language import site_synonyms
from sakuin.domain.limits import Limits
from sakuin.entrypoints import mcp_arguments, mcp_messages, wrong_keys
from sakuin.services import keep_tables, keep_tools, names_of_records
from sakuin.settings import Settings

from tests.bootstrap import test_limits_from_outside
from tests.test_settings import ENVIRONMENT
from tests.test_template import GLOBAL, ROOT, TEMPLATE, resources

ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?P<limit>[\d,]+) \| (?P<raised>[^|]*)\| (?P<beyond>[^|]+) \|$", re.MULTILINE)
ROWS = list(ROW.finditer((ROOT / "docs" / "limits.md").read_text(encoding="utf-8")))
PARAMETER = re.compile(r"`((?:Max[A-Z]|QueriesPer|EmbeddingDaily)\w+)`")
LIMITS = {
    parameter[1]: number for row in ROWS if (number := row["limit"]) and (parameter := PARAMETER.search(row["raised"]))
}
FIXED: dict[str, Any] = {
    "`learns.yml`, bytes": learns_file.LARGEST_FILE,
    "`synonyms.yml`, bytes": site_synonyms.LARGEST_FILE,
    "levels of a Table's JSON": table_document.MAX_DEPTH,
    "a name of a project, Table or endpoint, characters": names_of_records._LONGEST_NAME,
    "the description of a Tool, characters": keep_tools._LONGEST_DESCRIPTION,
    "messages in a batch": mcp_messages.LONGEST_BATCH,
    "a question, characters": mcp_arguments.MAX_QUERY,
    "`top_k`": mcp_arguments.MAX_TOP_K,
    "wrong keys for one endpoint, a worker in 5 seconds": wrong_keys._MOST_MISSES,
    "an upload of a Table, seconds until it has begun": keep_tables._UPLOAD_SECONDS,
    "characters of an explanation that are embedded": recipe.EMBEDDED_LENGTH,
}


def variable(parameter: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", parameter).upper()


def limits_of_template() -> set[str]:
    return {name for name in TEMPLATE["Parameters"] if PARAMETER.fullmatch(f"`{name}`")}


def test_every_limit_of_the_template_is_in_the_table_and_the_other_way_round() -> None:
    assert len(ROWS) > 25
    assert set(LIMITS) == limits_of_template()


@pytest.mark.parametrize("parameter", sorted(LIMITS))
def test_a_limit_is_the_same_in_the_table_the_template_and_the_settings(parameter: str) -> None:
    said = int(LIMITS[parameter].replace(",", ""))
    assert TEMPLATE["Parameters"][parameter]["Default"] == said
    assert GLOBAL["Environment"]["Variables"][variable(parameter)] == {"Ref": parameter}
    by_default, raised = Settings.read(ENVIRONMENT), Settings.read({**ENVIRONMENT, variable(parameter): str(said + 7)})
    changed = {
        name: (before, after)
        for name, before in _numbers(by_default).items()
        if (after := _numbers(raised)[name]) != before
    }
    assert list(changed.values()) == [(said, said + 7)]


def _numbers(settings: Settings) -> dict[str, int]:
    own = {"page_bytes": settings.max_page_bytes, "daily_tokens": settings.embedding_daily_tokens}
    return {**own, **asdict(settings.limits)}


def test_every_limit_is_met_from_outside() -> None:
    elsewhere = {"EMBEDDING_DAILY_TOKENS": "tests/tables/test_table_budget.py"}
    assert set(map(variable, LIMITS)) == set(test_limits_from_outside.LIMITS) | elsewhere.keys()
    assert all((ROOT / path).is_file() for path in elsewhere.values())


def test_the_defaults_of_code_and_settings_are_the_same() -> None:
    assert Settings.read(ENVIRONMENT).limits == Limits()


@pytest.mark.parametrize("what", sorted(FIXED))
def test_a_limit_that_nothing_raises_is_the_code_s(what: str) -> None:
    (row,) = [row for row in ROWS if row["what"] == what]
    assert int(row["limit"].replace(",", "")) == FIXED[what]


def test_every_kind_of_tool_has_the_same_top_k() -> None:
    assert search_tool.TOP_K_MAX == mcp_arguments.MAX_TOP_K


def test_the_gateway_s_rate_is_the_table_s() -> None:
    (row,) = [row for row in ROWS if row["what"] == "requests to the gateway, a second"]
    (stage,) = resources("AWS::ApiGatewayV2::Stage").values()
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == int(row["limit"])


def test_every_row_says_what_happens_beyond() -> None:
    assert all(row["beyond"].strip() for row in ROWS)
