"""The deployed index is compared with its sources: what was changed behind its back is found, and repaired."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from turbopuffer import Turbopuffer

from tests.integration.conftest import Deployed, eventually
from tests.integration.pages import page, rule
from tests.integration.test_search_tools import OTHER, document_file, texts

pytestmark = pytest.mark.integration

KEY = "照合/戻る_教材.html"


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


def test_a_page_whose_delete_marker_was_removed_is_back_after_the_command(deployed: Deployed) -> None:
    body = page("照合", rule("rule-back", "戻る規則", "この規則は消えてまた現れる。"))
    assert deployed.put(KEY, body) == "applied"
    marker = deployed.client("s3").delete_object(Bucket=deployed.bucket, Key=KEY)["VersionId"]
    assert deployed.outcome(KEY, marker) == "applied"
    with without_notifications(deployed) as bucket:
        bucket.delete_object(Bucket=deployed.bucket, Key=KEY, VersionId=marker)
    missing = found(deployed, KEY, "--materials", "--dry-run")
    assert [one["rule"] for one in missing] == ["missing"]
    assert found(deployed, KEY, "--materials") == missing
    eventually("the page's rule", lambda: _answers(deployed, "照合/戻る_教材#rule-back"))
    assert found(deployed, KEY, "--materials", "--dry-run") == []


def test_a_night_compares_the_whole_deployment(deployed: Deployed) -> None:
    done = maintained(deployed, reconcile=True)
    assert done["goes_on"] is False, "what the samples need is less than a night"


@contextmanager
def without_notifications(deployed: Deployed) -> Iterator[Any]:
    """S3 sends no event when a delete marker is removed; the emulator does."""
    bucket = deployed.client("s3")
    told = bucket.get_bucket_notification_configuration(Bucket=deployed.bucket)
    told.pop("ResponseMetadata")
    bucket.put_bucket_notification_configuration(Bucket=deployed.bucket, NotificationConfiguration={})
    try:
        yield bucket
    finally:
        bucket.put_bucket_notification_configuration(Bucket=deployed.bucket, NotificationConfiguration=told)


def found(deployed: Deployed, where: str, *options: str) -> list[dict[str, Any]]:
    """What the command finds of a page or a Table; of others it may find something, too."""
    code, output = deployed.sakuin("reconcile", *options, "--json")
    findings: list[dict[str, Any]] = json.loads(output)["findings"]
    assert code == (1 if findings else 0), output
    return [one for one in findings if one["where"] == where]


def _answers(deployed: Deployed, chunk: str) -> bool:
    code, _ = deployed.sakuin("chunk", chunk, "--json")
    return code == 0
