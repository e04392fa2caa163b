"""`sakuin doctor`: a healthy deployment has no finding, and each breakage has its own."""

import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import httpx2
import psycopg
import pytest
from aws_lambda_powertools.utilities import parameters
from sakuin.errors import SakuinError
from sakuin.platform.embedding import DIMENSIONS
from sakuin.platform.secrets import NamedSecret, search_secret
from sakuin.platform.supabase.client import call
from sakuin.platform.supabase.schema import NEWEST_MIGRATION
from sakuin.platform.waiting import WorkRecords, WorkRow
from sakuin.upkeep.doctor import Doctor, Problem, database_problems, disk_problems
from sakuin_cli.doctor import Examination, Report
from sakuin_cli.settings import CommandSettings
from sakuin_local.supabase.database import Database

from tests.awaiting import awaited
from tests.builders import a_page
from tests.cli.aws_endpoint import aws_endpoint
from tests.cli.conftest import Operator, Output
from tests.cli.deployment import ADMIN_KEY, API_KEY, Deployment, deployed
from tests.contracts.scripted_server import Said, scripted_server
from tests.database_server import connection_to
from tests.functions import MATERIALS

SECRETS = ("openai-key-of-this-test", "turbopuffer-key-of-this-test", "wrong-key-of-this-test", API_KEY, ADMIN_KEY)


@dataclass
class Target:
    """A deployment, its store, and the settings that reach it."""

    deployment: Deployment
    store: str
    settings: dict[str, str]

    def examination(self, **changed: str) -> Examination:
        return Examination(CommandSettings.read({**self.settings, **changed}), event_seconds=20)

    def sql(self, statement: str) -> None:
        """Runs a statement as the superuser."""
        connection_to(self.deployment.database.dsn).execute(
            statement.replace("NEWEST", f"'{NEWEST_MIGRATION}'").encode()
        )

    @contextmanager
    def changed(self, statement: str, back: str) -> Iterator[None]:
        self.sql(statement)
        try:
            yield
        finally:
            self.sql(back)

    @contextmanager
    def secret(self, **members: str) -> Iterator[None]:
        """Other members of the secret, which the functions read at once."""
        client, name = boto3.client("secretsmanager"), self.deployment.functions.secret
        before = client.get_secret_value(SecretId=name)["SecretString"]
        self._put(name, json.dumps({**json.loads(before), **members}))
        try:
            yield
        finally:
            self._put(name, before)

    def _put(self, name: str, value: str) -> None:
        boto3.client("secretsmanager").put_secret_value(SecretId=name, SecretString=value)
        parameters.clear_caches()

    def refusals_of_turbopuffer(self) -> AbstractContextManager[None]:
        httpx2.post(f"{self.store}/_stand_in/failures", json={"status": 401}).raise_for_status()
        return nullcontext()

    @contextmanager
    def openai(self, **answers: Any) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patched:
            for name, value in answers.items():
                patched.setattr(self.deployment.functions.openai, name, value)
            yield

    @contextmanager
    def lost_events(self) -> Iterator[None]:
        self.deployment.stuck = True
        yield
        self.deployment.stuck = False
        self.deployment.settle()

    @contextmanager
    def unexposed(self) -> Iterator[None]:
        """The Data API without the schema public, as its settings in the dashboard make it."""
        name = psycopg.conninfo.conninfo_to_dict(self.deployment.database.dsn)["dbname"]
        role = f"alter role authenticator in database {name}"
        reload = "; notify pgrst, 'reload config'; notify pgrst, 'reload schema'"

        def is_exposed() -> bool:
            try:
                return bool(call(self.deployment.client, "database_state", {}))
            except SakuinError:
                return False

        hidden, back = f"{role} set pgrst.db_schemas = 'extensions'", f"{role} reset pgrst.db_schemas"
        with self.changed(hidden + reload, back + reload):
            awaited("the schema is hidden", lambda: not is_exposed(), within_s=20)
            yield
        awaited("the schema is exposed again", is_exposed, within_s=20)


@pytest.fixture(scope="module")
def deployment(database: Database, stand_in: str) -> Iterator[Deployment]:
    with deployed(database, TURBOPUFFER_BASE_URL=stand_in, LEARNS_MODEL="gpt-new") as running:
        yield running


@pytest.fixture
def target(operator: Operator, stand_in: str) -> Iterator[Target]:
    call(operator.deployment.client, "mark_maintained", {})
    with aws_endpoint({"sakuin": {}}) as aws:
        yield Target(
            operator.deployment,
            stand_in,
            {
                **{"SAKUIN_URL": operator.deployment.url, "SAKUIN_BUCKET": MATERIALS, "SAKUIN_STACK": "sakuin"},
                **{"SAKUIN_API_KEY": API_KEY, "SAKUIN_ADMIN_KEY": ADMIN_KEY},
                **{"AWS_ENDPOINT_URL": aws, "AWS_ENDPOINT_URL_S3": "https://s3.amazonaws.com"},
            },
        )


def test_a_healthy_deployment_has_no_finding(operator: Operator, target: Target) -> None:
    output: Output = operator.sakuin("doctor", "--json", **target.settings)
    checked = ["deployment", "admin key", "agent key", "similarity", "bucket events", "queues", "concurrency"]
    assert output.document == {"findings": [], "checked": checked, "unchecked": {}}
    assert output.code == 0
    assert operator.deployment.keys() == []
    assert "Nothing is wrong" in operator.sakuin("doctor", **target.settings).out


GRANT = "grant select on material to service_role"
# Each breaks the deployment, and names the check and the words of its finding.
BREAKAGES: dict[str, tuple[Callable[[Target], AbstractContextManager[None]], str, str]] = {
    "a missing grant": (
        lambda p: p.changed("revoke select on material from service_role", GRANT),
        *("grants", r"no right to material \(select\)"),
    ),
    "a missing right to the function that is asked": (
        lambda p: p.changed(
            "revoke execute on function database_state from service_role",
            "grant execute on function database_state() to service_role",
        ),
        *("database", "permission denied for function database_state"),
    ),
    "a table that everybody may read": (
        lambda p: p.changed("grant select on tool to anon", "revoke select on tool from anon"),
        *("grants", "open past the API: tool"),
    ),
    "an extension in another schema": (
        lambda p: p.changed(
            "alter extension fuzzystrmatch set schema public", "alter extension fuzzystrmatch set schema extensions"
        ),
        *("extension", "fuzzystrmatch is in the schema public"),
    ),
    "a Data API without the schema": (lambda p: p.unexposed(), "database", "does not expose the schema public"),
    "a schema that is older": (
        lambda p: p.changed(
            "alter table material add column note text; "
            "update supabase_migrations.schema_migrations set version = '0' where version = NEWEST",
            "alter table material drop column note; "
            "update supabase_migrations.schema_migrations set version = NEWEST where version = '0'",
        ),
        *("schema", "The schema is older than this version"),
    ),
    "a schema that was changed by hand": (
        lambda p: p.changed("alter table material add column note text", "alter table material drop column note"),
        *("schema", "The schema is not the one of this version"),
    ),
    "a wrong service key": (
        lambda p: p.secret(supabase_service_key="wrong-key-of-this-test"),
        *("database", "refused the key"),
    ),
    "a wrong publishable key": (
        lambda p: p.secret(supabase_publishable_key="wrong-key-of-this-test"),
        *("supabase key", "publishable key"),
    ),
    "a wrong key of OpenAI": (lambda p: p.openai(key_status=401), "openai key", "OpenAI answered 401"),
    "a vendor that limits the rate of embeddings": (
        lambda p: p.openai(statuses=[429] * 3),
        *("embeddings", "OpenAI answered 429 to the embedding of one word"),
    ),
    "a vendor that fails at embeddings": (
        lambda p: p.openai(statuses=[500] * 3),
        *("embeddings", "OpenAI answered 500 to the embedding of one word"),
    ),
    "a maintenance that fails": (
        lambda p: p.changed(
            "update maintenance set ended_at = now() - interval '6 minutes'", "select mark_maintained()"
        ),
        *("maintenance", "The function maintain last ended well at"),
    ),
    "an unknown model": (lambda p: p.openai(unknown_models={"gpt-new"}), "openai model", "has no model gpt-new"),
    "a wrong key of turbopuffer": (lambda p: p.refusals_of_turbopuffer(), "turbopuffer key", "answered 401"),
    "no key of turbopuffer": (lambda p: p.secret(turbopuffer_api_key=""), "turbopuffer key", "no key"),
}


def only(report: Report) -> tuple[str, str]:
    """The one cause in a report: without the database an agent is answered an error, too."""
    assert not [secret for secret in SECRETS if secret in repr(report)]
    assert all(one.advice for one in report.problems)
    cause, *others = report.problems or [Problem("", "", "")]
    assert {one.check for one in others} <= {"agent key"}, others
    return cause.check, cause.problem


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_breakage_is_found_and_nothing_else(target: Target, name: str) -> None:
    broken, check, words = BREAKAGES[name]
    # Without an upload, which would wait.
    examination = target.examination(SAKUIN_BUCKET="")

    def is_found() -> bool:
        found, problem = only(examination())
        return found == check and bool(re.search(words, problem))

    # PostgREST reads its settings and the schema again a moment after a change.
    with broken(target):
        awaited(f"the finding {check}", is_found, within_s=20)
    awaited("a healthy deployment", lambda: not examination().problems, within_s=20)


INDEXED = "update material set indexed_at = clock_timestamp()"
LATE = ("bucket events", "An upload had no result after 0 seconds.")
BUSY = "workers are busy: 1 message about pages waited after 0 seconds"


@pytest.mark.parametrize(
    ("statement", "problems", "unchecked"), [(INDEXED, [], {"bucket events": BUSY}), ("select 1", [LATE], {})]
)
def test_an_upload_that_waits_while_other_pages_are_indexed_is_no_finding(
    target: Target, statement: str, problems: list[tuple[str, str]], unchecked: dict[str, str]
) -> None:
    deployment, sqs = target.deployment, boto3.client("sqs")
    queue = deployment.functions.environ["MATERIAL_QUEUE_URL"]
    deployment.put("a.html", a_page({}))
    sqs.send_message(QueueUrl=queue, MessageBody="{}")
    deployment.busy_with = partial(target.sql, statement)
    with target.lost_events():
        report = replace(target.examination(), event_seconds=0.4)()
        deployment.empty()
    assert [(one.check, one.problem) for one in report.problems] == problems
    uncalibrated = {"similarity": "it is uncalibrated with characters; `sakuin eval` measures it"}
    assert report.unchecked == uncalibrated | unchecked
    assert deployment.keys() == []


def test_dead_letters_are_found(target: Target) -> None:
    deployment, sqs = target.deployment, boto3.client("sqs")
    sqs.send_message(QueueUrl=deployment.functions.environ["TOOL_DEAD_LETTERS_URL"], MessageBody="poison")
    # A message that a worker has is no finding.
    sqs.send_message(QueueUrl=deployment.functions.environ["EMBED_QUEUE_URL"], MessageBody="{}")
    sqs.receive_message(QueueUrl=deployment.functions.environ["EMBED_QUEUE_URL"], VisibilityTimeout=60)
    report = target.examination(SAKUIN_BUCKET="")()
    deployment.empty()
    assert only(report) == ("dead letters", "1 dead letter (tool 1).")


def test_what_waits_for_a_vendor_is_found_with_its_reason(target: Target) -> None:
    client, row = target.deployment.client, WorkRow("page", "a", source={"bucket": MATERIALS, "key": "a.html"})
    records, since = WorkRecords(client), datetime.now(UTC).isoformat()
    records.begin(row, "m1")
    records.wait(row, "m1", since=since, reason="OpenAI answered 429", vendor="openai", seconds=60)
    assert only(target.examination(SAKUIN_BUCKET="")()) == ("waiting", "Waiting for openai: 1 (OpenAI answered 429).")
    records.finish(row)


def test_a_learns_yml_that_cannot_be_read_is_found(target: Target) -> None:
    deployment = target.deployment
    deployment.put("junior/learns.yml", b"- no mapping")
    check, problem = only(target.examination(SAKUIN_BUCKET="")())
    assert (check, problem[:34]) == ("authored file", "junior/learns.yml cannot be read: ")
    # Its reason stays although results of uploads are kept for a month.
    target.sql("update upload_result set recorded_at = now() - interval '40 days'")
    deployment.put("a.html", a_page({}))
    assert only(target.examination(SAKUIN_BUCKET="")())[0] == "authored file"
    deployment.put("junior/learns.yml", b"a: {}")
    assert target.examination(SAKUIN_BUCKET="")().problems == []


@pytest.mark.parametrize(
    ("changed", "check"),
    [
        ({"SAKUIN_API_KEY": "wrong-key-of-this-test"}, "agent key"),
        ({"SAKUIN_ADMIN_KEY": "wrong-key-of-this-test"}, "admin key"),
        ({"SAKUIN_URL": "http://127.0.0.1:1"}, "deployment"),
    ],
)
def test_a_wrong_setting_of_the_command_is_found(target: Target, changed: dict[str, str], check: str) -> None:
    assert only(target.examination(SAKUIN_BUCKET="", **changed)())[0] == check


@pytest.mark.parametrize(("limit", "findings"), [(10, []), (9, ["concurrency"])])
def test_an_account_with_too_few_concurrent_executions_is_found(
    target: Target, limit: int, findings: list[str]
) -> None:
    workers = dict.fromkeys(("PageWorkers", "ScanWorkers", "EmbedWorkers"), "2")
    with aws_endpoint({"sakuin": {}}, workers, limit=limit) as aws:
        report = target.examination(SAKUIN_BUCKET="", AWS_ENDPOINT_URL=aws)()
    assert [one.check for one in report.problems] == findings
    assert "concurrency" in report.checked


def test_a_clock_that_is_wrong_is_found(target: Target) -> None:
    late = replace(target.examination(SAKUIN_BUCKET=""), now=lambda: datetime.now(UTC) + timedelta(minutes=6))
    check, problem = only(late())
    assert (check, problem[:31]) == ("clock", "This machine's clock differs by")


def test_a_deployment_of_another_version_is_found(target: Target) -> None:
    with scripted_server(Said(body=b'{"status": "ok", "version": "0.0.1"}'), Said(404)) as other:
        report = target.examination(SAKUIN_BUCKET="", SAKUIN_URL=other.url)()
    assert "The deployment is 0.0.1" in report.problems[0].problem


def secrets_of(target: Target) -> NamedSecret:
    """The secrets that `api` reads."""
    name = target.deployment.functions.secret
    return NamedSecret(name, more=(search_secret(name),))


def inside(target: Target) -> Doctor:
    """The checks that the deployment makes."""
    return Doctor(
        target.deployment.client,
        secrets_of(target).now,
        httpx2.Client(),
        target.deployment.database.rest_url.removesuffix("/rest/v1"),
        target.deployment.functions.openai.url,
        target.store,
        models=("gpt-new",),
        dimensions=DIMENSIONS,
        query_prefix="query: ",
        database_bytes=8_000_000_000,
        shutdown_of={"gpt-new": date(2099, 1, 14)}.get,
    )


@pytest.mark.parametrize(
    ("changed", "check", "said"),
    [
        ({"shutdown_of": lambda _model: datetime.now(UTC).date() + timedelta(days=30)}, "model shutdown", "gpt-new"),
        ({"lacks_base_url": True}, "chatgpt tools", "BaseUrl=https://"),
        ({"database_bytes": 1_000_000}, "disk", "of 0.0 GB"),
        ({"dimensions": 3}, "vector dimensions", "knowledge_vector.embedding is"),
        ({"clock": itertools.count(step=0.2).__next__}, "region", ""),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_is_wrong_inside_is_found(target: Target, changed: dict[str, Any], check: str, said: str) -> None:
    (found,) = replace(inside(target), **changed)()
    assert (found.check, said in found.problem + found.advice) == (check, True)


def test_a_vendor_that_hangs_is_found(target: Target) -> None:
    with target.openai(wrongs=[None]):
        (found,) = replace(inside(target), http=httpx2.Client(timeout=3))()
    assert (found.check, found.problem) == ("embeddings", "OpenAI did not answer to the embedding of one word.")


def test_inside_of_a_healthy_deployment_nothing_is_found(target: Target) -> None:
    assert inside(target)() == replace(inside(target), database_bytes=0)() == []
    # A model that has a prefix for questions gets it, or its endpoint refuses the word.
    assert target.deployment.functions.openai.requests[-1]["input"] == ["query: doctor"]


@pytest.mark.parametrize(
    ("named", "checks"), [("https://auth.example/auth/v1", ["issuer"]), ("{url}/auth/v1", []), (None, [])]
)
def test_another_issuer_than_that_of_tokens_is_found(target: Target, named: str | None, checks: list[str]) -> None:
    keys = replace(secrets_of(target).now(), supabase_publishable_key="sb_publishable_x")
    with scripted_server(Said(), Said(401, b'{"code": "42501"}'), Said(404)) as supabase:
        if named is not None:
            supabase.answers[2] = Said(body=json.dumps({"issuer": named.format(url=supabase.url)}).encode())
        found = replace(inside(target), secrets=lambda: keys, supabase_url=supabase.url)()
    assert [one.check for one in found] == checks


def test_a_wrong_key_of_searches_another_postgres_and_a_read_only_database_are_found(target: Target) -> None:
    for key in ("", "wrong"):
        keys = replace(secrets_of(target).now(), supabase_search_key=key)
        (found,) = replace(inside(target), secrets=lambda keys=keys: keys)()
        assert (found.check, "supabase_search_key" in found.advice) == ("search key", True)
    state = call(inside(target).client, "database_state", {}) | {"postgres": 15}
    (found,) = database_problems(state, DIMENSIONS, datetime.now(UTC))
    assert (found.check, found.problem) == ("versions", "Postgres is 15, which nobody has tried.")
    (found,) = disk_problems({"bytes": 0, "is_read_only": True}, 8_000_000_000)
    assert (found.check, "read-only" in found.problem) == ("disk", True)


def test_without_settings_it_says_so(operator: Operator, tmp_path: Path) -> None:
    output = operator.sakuin("doctor", "--json", SAKUIN_URL="", SAKUIN_DATA=str(tmp_path))
    assert output.code == 1
    assert [one["check"] for one in output.document["findings"]] == ["settings"]
