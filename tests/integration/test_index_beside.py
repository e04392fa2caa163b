"""On the deployed template: another index is built beside the one that answers, measured, activated, and left again."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest

from tests.effort import EFFORT
from tests.integration.conftest import Deployed, eventually
from tests.integration.test_redrive import nobody_reads

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(EFFORT == 1, reason="a long form of tests/tables/index_versions/test_activation.py"),
]

TOOL, QUERY = "search_columns", "分数の割り算はどうして逆数をかけるのですか"
NEXT_FINDS_IT = ("--tool", TOOL, "--index", "next", "--min", "hit@5=1")
LABEL = {"query": QUERY, "gold": ["/articles/0/content"], "category": "natural"}


def maintained(deployed: Deployed) -> None:
    """One call of `maintain`, as the schedule makes it."""
    answer = deployed.client("lambda").invoke(FunctionName=deployed.outputs["MaintainFunction"], Payload=b"{}")
    assert "FunctionError" not in answer, answer["Payload"].read()


@pytest.fixture
def other_settings(deployed: Deployed) -> Iterator[Callable[[str], None]]:
    """Deploys another `ChunkSizeChars` to `maintain`, which alone makes an index of its settings.

    An update of the stack does this and takes a minute; of the others only `api` asks for the parameter, and refuses to
    drop what it says. In the end the deployment is as it was.
    """
    client, name = deployed.client("lambda"), deployed.outputs["MaintainFunction"]
    own = client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]

    def deploy(size: str) -> None:
        variables = own | {"CHUNK_SIZE_CHARS": size}
        client.update_function_configuration(FunctionName=name, Environment={"Variables": variables})

    # Right after a deployment nobody has recorded the first index yet.
    maintained(deployed)
    first = indexes(deployed)[0]["fingerprint"]
    yield deploy
    deploy(own["CHUNK_SIZE_CHARS"])
    if others := [index["fingerprint"] for index in indexes(deployed) if index["fingerprint"] != first]:
        # The test failed on its way.
        deployed.api("POST", "/v1/index/activate", json={"index": first, "force": True})
        a_minute_passes(deployed)
        for other in others:
            deployed.api("DELETE", f"/v1/index/{other}")
    maintained(deployed)


def indexes(deployed: Deployed) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = deployed.api("GET", "/v1/index")["indexes"]
    return found


def a_minute_passes(deployed: Deployed) -> None:
    """Ends the minute for which an index stays after it was active.

    The minute is there for the workers of `mcp`, which keep the active index for five seconds. These pass in truth.
    """
    time.sleep(6)
    with psycopg.connect(deployed.environment["SAKUIN_DATABASE_DSN"]) as database:
        database.execute("update index_version set retired_at = retired_at - interval '1 minute'")


def namespace_found(deployed: Deployed) -> str | None:
    """Where the sample's Search Tool finds its first result; None: it finds nothing."""
    url, key = deployed.environment["SAKUIN_TOOLS_MCP_URL"], deployed.environment["SAKUIN_TOOLS_API_KEY"]
    answer = deployed.call_tool({"mcp_id": url.rpartition("/")[2], "key": key}, TOOL, QUERY)
    results = answer["structuredContent"]["results"]
    return str(results[0]["chunk"]["turbopuffer_namespace"]) if results else None


@contextmanager
def searched_all_the_while(deployed: Deployed) -> Iterator[list[str | None]]:
    """Searches while the block runs; yields the namespaces of the best results."""
    found: list[str | None] = []
    over = Event()

    def search() -> None:
        # Without a pause the searches take the processors from what they watch.
        while not over.wait(0.2):
            found.append(namespace_found(deployed))

    with ThreadPoolExecutor(1) as pool:
        searching = pool.submit(search)
        try:
            yield found
        finally:
            over.set()
            searching.result()


def test_another_index_is_built_and_activated_while_searches_answer(
    deployed: Deployed, other_settings: Callable[[str], None], tmp_path: Path
) -> None:
    eventually("every Table in the first index", lambda: indexes(deployed)[0]["tables"]["missing"] == 0)
    (first,) = indexes(deployed)
    old = namespace_found(deployed)
    with searched_all_the_while(deployed) as found:
        with nobody_reads(deployed, tool_queue(deployed)):
            # No text of the samples is longer, so the local endpoint has all vectors.
            other_settings("960")
            maintained(deployed)
            code, output = deployed.sakuin("index", "activate", "--json")
            assert (code, "Tables are missing" in output) == (1, True)
        eventually("every Table in the next index", lambda: indexes(deployed)[1]["tables"]["missing"] == 0)
        assert set(found) == {old}
        labels = tmp_path / "labels.jsonl"
        labels.write_text(json.dumps(LABEL, ensure_ascii=False), "utf-8")
        # It refuses to measure while a busy machine's embeddings are late.
        eventually("a good measure", lambda: deployed.sakuin("eval", str(labels), *NEXT_FINDS_IT)[0] == 0)
        second = deployed.printed("index", "activate")
        assert (second["live"], second["pages"]["missing"], second["tables"]["missing"]) == (True, 0, 0)
        new = eventually("answers of the next index", lambda: {namespace_found(deployed)} - {old}).pop()
        deployed.printed("index", "activate", first["fingerprint"])
        eventually("answers of the first index", lambda: namespace_found(deployed) == old)
    assert set(found) <= {old, new}


def tool_queue(deployed: Deployed) -> str:
    client, name = deployed.client("lambda"), deployed.outputs["MaintainFunction"]
    configured = client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    return str(configured["TOOL_QUEUE_URL"])
