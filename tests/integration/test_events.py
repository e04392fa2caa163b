"""Sample events of the deployed functions, and the id that all lines about one request have."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.conftest import Deployed, eventually
from tests.integration.sample_events import AUTHORIZED, SAMPLE_EVENTS, SampleEvent, sample_files
from tests.integration.test_function_sizes import FUNCTIONS

pytestmark = pytest.mark.integration


def invoked(deployed: Deployed, sample: SampleEvent, event: dict[str, Any]) -> dict[str, Any]:
    """The function's own answer; what it raises fails the test."""
    name = deployed.outputs[f"{sample.function.removeprefix('Sakuin')}Function"]
    answer = deployed.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
    payload: dict[str, Any] = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, payload
    return payload


def test_every_function_has_a_sample_event_and_every_event_is_given() -> None:
    assert {one.function for one in SAMPLE_EVENTS} == set(FUNCTIONS)
    assert {one.name for one in SAMPLE_EVENTS} == sample_files()


@pytest.mark.parametrize("sample", SAMPLE_EVENTS, ids=lambda one: one.name)
def test_a_sample_event_is_answered(deployed: Deployed, sample: SampleEvent) -> None:
    sample.check(invoked(deployed, sample, sample.event(deployed)))


@pytest.mark.parametrize("sample", AUTHORIZED, ids=lambda one: one.name)
def test_a_sample_request_with_a_key_that_opens_is_answered(deployed: Deployed, sample: SampleEvent) -> None:
    sample.check(invoked(deployed, sample, sample.event(deployed, authorized=True)))


def request_of(deployed: Deployed, tool: str) -> str:
    """The id of the request that made a tool, as the database kept it with the tool's event."""
    key = deployed.environment["SAKUIN_SUPABASE_SERVICE_KEY"]
    rows = httpx.get(
        f"{deployed.environment['SAKUIN_SUPABASE_URL']}/rest/v1/outbox",
        params={"tool_id": f"eq.{tool}", "event": "eq.ToolCreated", "select": "request_id"},
        headers={"apikey": key, "Authorization": f"Bearer {key}"},
        timeout=60,
    ).json()
    assert len(rows) == 1
    return str(rows[0]["request_id"])


def said_for(deployed: Deployed, work_id: str) -> list[str]:
    """The log messages of one piece of work."""
    log = Path(deployed.environment["SAKUIN_DATA_FOLDER"]) / "logs" / "emulator.log"
    # A line that is being written has no end yet.
    whole, _, _ = log.read_text(encoding="utf-8", errors="replace").rpartition("\n")
    lines = [line for line in whole.split("\n") if work_id in line]
    read: list[dict[str, Any]] = [json.loads(line) for line in lines if line.startswith("{")]
    return [line["message"] for line in read if line.get("correlation_id") == work_id]


def test_what_a_request_causes_goes_by_the_request_s_id(deployed: Deployed) -> None:
    project = deployed.api("POST", "/v1/projects", json={"name": "correlation"})["id"]
    document = {"name": "t", "data": {"a": "二次方程式の解の公式を使う。" * 100}}
    table = deployed.api("POST", f"/v1/projects/{project}/tables", json=document)["id"]
    wanted = {"table_id": table, "json_path": "", "name": "correlated", "type": "search"}
    tool = deployed.api("POST", f"/v1/projects/{project}/tools", json=wanted)["id"]

    work_id = request_of(deployed, tool)
    assert work_id != "None"
    expected = {"table scanned", "chunks embedded"}
    eventually(f"{expected} of {work_id} in the log", lambda: expected <= set(said_for(deployed, work_id)))
