"""The deployed index is compared with its sources: what was changed behind its back is found, and repaired."""

import json
from pathlib import Path
from typing import Any

import pytest
from turbopuffer import Turbopuffer

from tests.integration.conftest import Deployed, eventually
from tests.integration.test_search_tools import OTHER, document_file, texts

pytestmark = pytest.mark.integration


def maintained(deployed: Deployed, **event: bool) -> dict[str, Any]:
    """One call of `maintain`, as the schedule makes it."""
    answer = deployed.client("lambda").invoke(
        FunctionName=deployed.outputs["MaintainFunction"], Payload=json.dumps(event).encode()
    )
    assert "FunctionError" not in answer, answer["Payload"].read()
    done: dict[str, Any] = json.loads(answer["Payload"].read())
    return done


def test_a_store_that_was_emptied_is_full_again_after_a_night(deployed: Deployed, tmp_path: Path) -> None:
    table = deployed.printed("table", "put", document_file(tmp_path, {"a": OTHER}))["table_id"]
    tool = deployed.printed("tool", "create", "--table", table, "--json-path", "", "--name", "kept", "--wait")[
        "tool_id"
    ]
    endpoint = deployed.printed("mcp", "create", "--name", "kept", "--tool", tool)
    hit = deployed.call_tool(endpoint, "kept", "一次関数の傾き")["structuredContent"]["results"][0]
    store = Turbopuffer(base_url=deployed.environment["SAKUIN_TURBOPUFFER_BASE_URL"], api_key="local")
    store.namespace(hit["chunk"]["turbopuffer_namespace"]).delete_all()
    assert texts(deployed.call_tool(endpoint, "kept", "一次関数の傾き")) == []
    maintained(deployed, reconcile=True)
    eventually("the Table's texts", lambda: texts(deployed.call_tool(endpoint, "kept", "一次関数の傾き")))
    # The text answers while another may still be on its way.
    eventually("a store without a difference", lambda: not found(deployed, table, "--tables", "--dry-run"))


def test_a_night_compares_the_whole_deployment(deployed: Deployed) -> None:
    done = maintained(deployed, reconcile=True)
    assert done["goes_on"] is False, "what the samples need is less than a night"


def found(deployed: Deployed, where: str, *options: str) -> list[dict[str, Any]]:
    """What the command finds of a page or a Table; of others it may find something, too."""
    code, output = deployed.sakuin("reconcile", *options, "--json")
    findings: list[dict[str, Any]] = json.loads(output)["findings"]
    assert code == (1 if findings else 0), output
    return [one for one in findings if one["where"] == where]
