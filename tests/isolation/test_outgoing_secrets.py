"""Answers, headers, addresses and logs of the functions contain no secret."""

import json
import re

import boto3
import pytest
import requests

from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.gateway import PUBLISHABLE, SEARCH, SECRET
from tests.isolation.routes import MEMBERS
from tests.isolation.stack import Stack


def secrets_of(stack: Stack) -> dict[str, str]:
    """All secrets by name."""
    kept = boto3.client("secretsmanager", "us-east-1").get_secret_value(SecretId=stack.secret)["SecretString"]
    said = {
        "service key": SECRET,
        "search key": SEARCH,
        "publishable key": PUBLISHABLE,
        "role's token": stack.database.service_key,
        "admin key": stack.admin_key,
        "knowledge key": stack.knowledge_key,
    }
    members = json.loads(kept)
    return said | {name: members[name] for name in ("openai_api_key", "turbopuffer_api_key", "supabase_jwt_secret")}


def test_no_answer_header_address_or_log_line_has_a_secret(
    stack: Stack, owner: Tenant, other: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    tenant = moved_in(stack, "三角比の入口", is_searched=False)
    for bearer in (None, other.token, stack.admin_key, tenant.token):
        for route in MEMBERS:
            stack.ask(route.method, route.path(tenant.ids), route.body(tenant.ids), bearer=bearer)
    for key in (tenant.key, owner.key):
        stack.rpc(owner.ids["mcp_id"], "tools/call", key, name=owner.tool, arguments={"query": "解の公式"})
    stack.ask("GET", "/v1/keys", bearer=stack.admin_key)
    left = "".join(f"{answer.body} {answer.headers}" for answer in stack.answers)
    assert "x-amz-signature" in left.lower()
    lines = stack.log.getvalue() + caplog.text
    assert "request answered" in lines
    for name, value in secrets_of(stack).items():
        assert value not in left, name
        assert value not in lines, name
    for name, value in {"token": tenant.token, "key of an endpoint": owner.key}.items():
        assert value not in lines, name


def test_the_log_of_a_stranger_s_request_shows_nothing_of_the_owner(
    stack: Stack, owner: Tenant, other: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    stack.log.truncate(0)
    for route in MEMBERS:
        stack.ask(route.method, route.path(owner.ids), route.body(owner.ids), bearer=other.token)
    for guess in ("no_such_tool", owner.tool):
        stack.rpc(other.ids["mcp_id"], "tools/call", other.key, name=guess, arguments={"query": "公式"})
    stack.rpc(owner.ids["mcp_id"], "tools/list", other.key)
    lines = stack.log.getvalue() + caplog.text
    assert owner.words not in lines
    assert json.dumps(owner.words).strip('"') not in lines
    assert owner.user not in lines
    assert f"search_{other.user[:8]}" not in lines


# ---------------------------------------------------------------- uploads


def test_an_upload_address_is_valid_for_one_body_of_one_table(stack: Stack, owner: Tenant, other: Tenant) -> None:
    def address(tenant: Tenant) -> str:
        path = f"/v1/tables/{tenant.ids['table_id']}/uploads"
        return str(stack.ask("POST", path, {"size": 10}, bearer=tenant.token).json["upload"]["url"])

    first, second, foreign = address(owner), address(owner), address(other)
    keys = [re.search(r"tables/[0-9a-f-]{36}/[0-9a-f-]{36}/[0-9]+\.json", url) for url in (first, second, foreign)]
    named = [key.group() for key in keys if key]
    assert len(set(named)) == 3
    assert named[0].startswith(f"tables/{owner.ids['project_id']}/{owner.ids['table_id']}/")
    assert named[2].startswith(f"tables/{other.ids['project_id']}/{other.ids['table_id']}/")
    # What was signed: S3 takes no other length and no other type.
    assert "SignedHeaders=content-length%3Bcontent-type%3Bhost%3Bif-none-match" in first
    # The address changes nothing after its body was uploaded.
    body = {"Content-Type": "application/json", "Content-Length": "10", "If-None-Match": "*"}
    sent = [requests.put(first, data=data, headers=body, timeout=60) for data in ('"12345678"', '"abcdefgh"')]
    assert [answer.status_code for answer in sent] == [200, 412]
    assert boto3.client("s3", "us-east-1").get_object(Bucket="tables", Key=named[0])["Body"].read() == b'"12345678"'
