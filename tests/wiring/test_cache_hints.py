"""`tools/list` hints to turbopuffer that the Tools of an endpoint will be searched."""

import pytest
from sakuin.errors import Unavailable
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.secrets import Secrets
from sakuin.retrieval.index_version import StoredIndexVersion
from sakuin.settings import Settings
from sakuin.tables.model import BoundTool, Endpoint
from sakuin.wiring.clients import Clients, start_telemetry
from sakuin.wiring.index_versions import own_index
from sakuin.wiring.mcp import Searches

from tests.contracts.scripted_server import Said, scripted_server
from tests.contracts.turbopuffer.test_cache_hints import at_once


def endpoint(*tables: str) -> Endpoint:
    return Endpoint("e", "p", tuple(BoundTool(f"tool-{id}", "p", id, "", id, "d", {}) for id in tables))


def test_the_namespaces_of_the_live_index_get_a_hint_without_metrics(
    environ: dict[str, str], members: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    with scripted_server(Said(body=b'{"status": "ACCEPTED"}')) as turbopuffer:
        settings = Settings.read(environ | {"TURBOPUFFER_BASE_URL": turbopuffer.url})
        telemetry, secrets = start_telemetry("Search"), Secrets.read(members, "sakuin")
        version = StoredIndexVersion(own_index(settings), live=True, answered=True, tables="t", suffix="v2")
        failing = [Unavailable("no")]

        def kept() -> list[StoredIndexVersion]:
            if failing:
                raise failing.pop()
            return [version]

        searches = Searches(Clients(settings, secrets, telemetry), kept)
        searches._hints._start = at_once
        tools = SearchTools(searches, warm=searches.warm)
        # Supabase does not answer: the list does not need it.
        assert [tool.name for tool in tools.listed(endpoint("a"))][:1] == ["a"]
        tools.listed(endpoint("a", "b", "b"))
        tools.listed(endpoint("b"))
    assert turbopuffer.asked == ["/v1/namespaces/project_p_table_b_v2/hint_cache_warm"]
    assert turbopuffer.headers[0]["authorization"] == "Bearer any"
    telemetry.meter.count("Something")
    telemetry.metrics.flush_metrics()
    assert "StoreMilliseconds" not in capsys.readouterr().out
