"""`--dry-run` of every command that changes something: it says what, and changes nothing."""

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import httpx
import pytest
from sakuin_cli.client import DeploymentClient
from sakuin_cli.connections import Command
from sakuin_cli.terminal import Terminal

from tests.builders import a_page
from tests.cli.aws_endpoint import aws_endpoint
from tests.cli.conftest import FORMULA, Operator
from tests.cli.deployment import Deployment
from tests.cli.test_cli_projects import FAQ
from tests.functions import MATERIALS, QUEUES, TABLES
from tests.test_docs_commands import COMMANDS, parameters

# Each command that changes something, with a part of what its dry run says.
DRY_RUNS = {
    "init": ("init .", "write sakuin.toml"),
    "connect": ("connect codex", "codex mcp add sakuin"),
    "push": ("push site --delete", "delete     docs/x.html"),
    "rm": ("rm docs/ --yes", "delete docs/x.html"),
    "describe": ("describe Words", 'PUT /v1/descriptions {"folder": "", "description": "Words"}'),
    "table put": ("table put faq.json --id faq --name n", 'PATCH /v1/tables/TABLE {"name": "n"}'),
    "table rm": ("table rm faq", "DELETE /v1/tables/TABLE"),
    "table synonyms": ("table synonyms words.yml", '/synonyms {"groups": [["one", "two"]]}'),
    "tool new": ("tool new --table faq --json-path /0 --name other", '"table_id": "TABLE", "json_path": "/0"'),
    "tool change": ("tool change ask --disable --reindex", "POST /v1/tools/TOOL/reindex"),
    "tool rm": ("tool rm ask", "DELETE /v1/tools/TOOL"),
    "endpoint new": (
        "endpoint new --name o --tool ask --filter plan=pro",
        '"tool_ids": ["TOOL"], "filter": {"plan": "pro"}',
    ),
    "endpoint change": ("endpoint change tutor --without ask --new-key", "POST /v1/mcps/ENDPOINT/rotate"),
    "endpoint rm": ("endpoint rm tutor", "DELETE /v1/mcps/ENDPOINT"),
    "keys new": ("keys new --for admin", "add the hash of a new key to functions"),
    "keys rm": ("keys rm KEY", "DELETE /v1/keys/KEY"),
    "project new": ("project new other", 'POST /v1/projects {"name": "other"}'),
    "project members": ("project members --add a@b.example", '/members {"email": "a@b.example", "role": "viewer"}'),
    "project rm": ("project rm customer", "DELETE /v1/projects/PROJECT"),
    "redrive": ("redrive --all --discard", "discard material"),
    "index": ("index --activate next", 'POST /v1/index/activate {"index": "next", "force": false}'),
    "validate": ("validate --repair", "nothing was changed"),
    "erase": ("erase --folder docs --yes", "versions"),
}
# These count what was asked.
COUNTERS = {"daily_count", "key_use", "quota_use"}


@pytest.fixture(scope="module")
def library(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> tuple[Operator, dict[str, str]]:
    """An operator whose deployment has one of everything, and the ids by name."""
    deployment.empty()
    operator = Operator(tmp_path_factory.mktemp("library"), deployment)
    deployment.put("docs/x.html", a_page(FORMULA))
    operator.file("site/docs/y.html", a_page(FORMULA))
    operator.file("words.yml", b"- [one, two]")
    operator.file("faq.json", json.dumps(FAQ).encode())
    files = operator.folder
    ids = {"PROJECT": made(operator, "project", "new", "customer")["project_id"]}
    here = ("--project", ids["PROJECT"])
    rules = ("--entries", "/*", "--filter", "plan")
    ids["TABLE"] = made(operator, "table", "put", files / "faq.json", *rules, *here)["table_id"]
    ids["TOOL"] = made(operator, "tool", "new", "--table", "faq", "--json-path", "", "--name", "ask", *here)["tool_id"]
    ids["ENDPOINT"] = made(operator, "endpoint", "new", "--name", "tutor", "--tool", "ask", *here)["mcp_id"]
    ids["KEY"] = made(operator, "keys", "new", "--for", "push", "--name", "CI")["hash"]
    letters = deployment.functions.environ["MATERIAL_DEAD_LETTERS_URL"]
    boto3.client("sqs").send_message(QueueUrl=letters, MessageBody="poison")
    return operator, ids


def made(operator: Operator, *words: object) -> dict[str, str]:
    output = operator.sakuin(*words, "--json")
    assert output.code == 0, output
    document: dict[str, str] = output.document
    return document


def state(operator: Operator) -> dict[str, object]:
    """Everything that a command could change: rows, versions, files, messages and secrets."""
    sql, s3 = operator.deployment.sql, operator.deployment.functions.s3
    names = [name for (name,) in sql.execute("select tablename from pg_tables where schemaname = 'public'")]
    rows = {
        name: sorted(sql.execute(f"select to_jsonb(t)::text from public.{name} t".encode()).fetchall())
        for name in set(names) - COUNTERS
    }
    versions = {
        bucket: [one["VersionId"] for one in s3.list_object_versions(Bucket=bucket).get("Versions", ())]
        for bucket in (MATERIALS, TABLES)
    }
    sqs, environ = boto3.client("sqs"), operator.deployment.functions.environ
    counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    urls = [*QUEUES, environ["MATERIAL_DEAD_LETTERS_URL"]]
    messages = [
        sum(map(int, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=counts)["Attributes"].values()))
        for url in urls
    ]
    secret = boto3.client("secretsmanager").get_secret_value(SecretId=operator.deployment.functions.secret)
    files = sorted((path, path.read_bytes()) for path in operator.folder.rglob("*") if path.is_file())
    return {**rows, **versions, "messages": messages, "secret": secret["VersionId"], "files": files}


def test_every_command_that_changes_something_is_here() -> None:
    assert {name for name, command in COMMANDS.items() if "--dry-run" in parameters(command)} == DRY_RUNS.keys()


@pytest.fixture
def settings(library: tuple[Operator, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    operator, ids = library
    monkeypatch.chdir(operator.folder)
    with aws_endpoint({"sakuin": {"MaterialsBucket": MATERIALS, "TablesBucket": TABLES}}) as aws:
        yield {
            **{"AWS_ENDPOINT_URL": aws, "AWS_ENDPOINT_URL_S3": "https://s3.amazonaws.com", "SAKUIN_STACK": "sakuin"},
            **{"SAKUIN_PROJECT": ids["PROJECT"], "SAKUIN_SECRET": operator.deployment.functions.secret},
        }


@pytest.mark.parametrize("name", DRY_RUNS)
def test_a_dry_run_says_what_would_change_and_changes_nothing(
    library: tuple[Operator, dict[str, str]], settings: dict[str, str], name: str
) -> None:
    operator, ids = library
    line, said = DRY_RUNS[name]
    if name == "keys new":
        settings.pop("AWS_ENDPOINT_URL")
    before = state(operator)
    output = operator.sakuin(*(ids.get(word, word) for word in line.split()), "--dry-run", **settings)
    for place, id in ids.items():
        said = said.replace(place, id) if place in said else said
    # Of Tables it says that turbopuffer does not answer.
    assert (output.code, said in output.out) == (int(name == "validate"), True), output
    assert state(operator) == before


def test_a_dry_run_of_what_is_not_there_is_a_failure(
    library: tuple[Operator, dict[str, str]], settings: dict[str, str]
) -> None:
    operator, _ = library
    for line in ("table rm", "tool rm", "endpoint rm", "keys rm", "project rm", "index --drop"):
        assert operator.sakuin(*line.split(), "123456789abc", "--dry-run", **settings).code == 1, line


@pytest.mark.parametrize("body", [None, {"dry_run": False}])
def test_a_command_without_a_dry_run_cannot_change_anything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: object
) -> None:
    monkeypatch.setenv("SAKUIN_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("SAKUIN_ADMIN_KEY", "k")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        with pytest.raises(AssertionError, match="changes nothing"):
            Command(Terminal(as_json=False), tmp_path).client.call(method, "tables", "x", json=body)
    quiet = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json={})), base_url="http://x")
    assert DeploymentClient(quiet, may_change=False).call("POST", "erase", json={"dry_run": True}) == {}
