"""`sakuin rm` and `erase`: of a customer nothing is left but what `erase` names, and of others everything is."""

import json
import unicodedata
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from sakuin.platform.retry import QUEUES
from sakuin.platform.supabase.client import call
from sakuin.upkeep.queues import Queues

from tests.builders import a_page
from tests.cli.aws_endpoint import aws_endpoint
from tests.cli.conftest import FORMULA, Operator, Output
from tests.cli.test_cli_projects import made, put
from tests.events import s3_message
from tests.functions import MATERIALS, TABLES

MEMBER = "11111111-1111-4111-8111-111111111111"
# They name what maintenance has to delete elsewhere, by ids alone, and are deleted with it.
WORK_LEFT = {"outbox", "orphaned_upload", "table_namespace"}


@dataclass
class Customer:
    """A folder and a project, whose texts and names have the customer's name."""

    operator: Operator
    name: str
    project: str = ""

    def moves_in(self) -> "Customer":
        deployment, sql = self.operator.deployment, self.operator.deployment.sql
        for word in ("first", "second"):
            deployment.put(f"{self.name}/a.html", a_page({"rule-a": f"Formula: the {word} of {self.name}."}))
        deployment.put(f"{self.name}/old.html", a_page({"rule-b": f"Formula: the old one of {self.name}."}))
        deployment.functions.s3.delete_object(Bucket=MATERIALS, Key=f"{self.name}/old.html")
        deployment.put(f"{self.name}/learns.yml", b"a: {}")
        deployment.settle()
        self.project = made(self.operator, "/v1/projects", {"name": f"of {self.name}"})["id"]
        table = put(self.operator, self.project, {"articles": [f"The article of {self.name}."]})
        tool = {"type": "search", "table_id": table, "json_path": "/articles", "name": f"search_{self.name}"}
        tool_id = made(self.operator, f"/v1/projects/{self.project}/tools", tool)["id"]
        endpoint = {"name": self.name, "tool_ids": [tool_id]}
        made(self.operator, f"/v1/projects/{self.project}/mcps", endpoint)
        made(self.operator, f"/v1/projects/{self.project}/members", {"user_id": MEMBER, "role": "viewer"})
        made(self.operator, "/v1/keys", {"name": self.name, "purpose": "search", "folder": self.name})
        sql.execute("insert into library_description values (%s, 'What it has.')", [self.name])
        for version in ("1", "2"):
            key = f"tables/{self.project}/{table}/{version}.json"
            deployment.functions.s3.put_object(Bucket=TABLES, Key=key, Body=b"{}")
        sql.execute(
            b"insert into refused_question (day, tool_id, question) values"
            b" (now(), null, 'of ' || %(name)s), (now(), %(tool)s, 'of ' || %(name)s);"
            b" insert into feedback values (now(), %(name)s || '/a#rule-a', 'of ' || %(name)s, 1, 0);"
            b" insert into daily_count values (now(), %(project)s, '', 'asked', 0, 7);"
            b" insert into quota_use values (%(project)s, 'searches', now(), 3)"
            % {
                b"name": b"'%s'" % self.name.encode(),
                b"tool": b"'%s'" % tool_id.encode(),
                b"project": b"'%s'" % self.project.encode(),
            }
        )
        # More letters of others before it than a request receives.
        self._dies("MATERIAL", *[s3_message("nobody.html")] * 25, s3_message(f"{self.name}/a.html"))
        self._dies("TOOL", {"index": {"project_id": self.project, "table_id": table}})
        return self

    def _dies(self, queue: str, *messages: object) -> None:
        url = self.operator.deployment.functions.environ[f"{queue}_DEAD_LETTERS_URL"]
        for message in messages:
            boto3.client("sqs").send_message(QueueUrl=url, MessageBody=json.dumps(message))

    def traces(self) -> dict[str, int]:
        """How many rows of the database, versions of the buckets and dead letters have its name or project."""
        sql, operator = self.operator.deployment.sql, self.operator
        tables = [name for (name,) in sql.execute("select tablename from pg_tables where schemaname = 'public'")]
        found = {}
        for name in tables:
            text = f"select count(*) from public.{name} t where to_jsonb(t)::text ~ '{self.name}|{self.project}'"
            found[name] = sql.execute(text.encode()).fetchall()[0][0]
        for bucket in (MATERIALS, TABLES):
            listed = operator.deployment.functions.s3.list_object_versions(Bucket=bucket)
            keys = [one["Key"] for one in (*listed.get("Versions", ()), *listed.get("DeleteMarkers", ()))]
            found[bucket] = sum(self.name in key or self.project in key for key in keys)
        environ = operator.deployment.functions.environ
        queues = Queues(boto3.client("sqs"), {}, {name: environ[f"{name.upper()}_DEAD_LETTERS_URL"] for name in QUEUES})
        letters = [letter for name in QUEUES for letter in queues.receive(name)]
        queues.release(letters)
        found["letters"] = sum(self.name in one.body or self.project in one.body for one in letters)
        return {name: number for name, number in found.items() if number}


@pytest.fixture
def alice(operator: Operator) -> Customer:
    return Customer(operator, "alice").moves_in()


def erase(customer: Customer, *options: object) -> Output:
    """Runs the command for a folder and a project."""
    chosen = ("--folder", customer.name, "--project", customer.project)
    with aws_endpoint({"sakuin": {"MaterialsBucket": MATERIALS, "TablesBucket": TABLES}}) as aws:
        settings = {
            "AWS_ENDPOINT_URL": aws,
            "AWS_ENDPOINT_URL_S3": "https://s3.amazonaws.com",
            "SAKUIN_STACK": "sakuin",
        }
        return customer.operator.sakuin("erase", *chosen, *options, "--json", **settings)


def test_nothing_of_a_customer_is_left_and_everything_of_another_one(alice: Customer, operator: Operator) -> None:
    bob = Customer(operator, "bob").moves_in()
    vectors = "select count(*) from knowledge_vector"
    (both,) = operator.deployment.sql.execute(vectors.encode()).fetchall()
    before, of_bob = alice.traces(), bob.traces()
    counted: dict[str, Any] = erase(alice, "--dry-run").document
    assert (alice.traces(), counted["left"]) == (before, 0)
    expected = {"versions": 7, "dead letters": 2, "pages": 2, "files": 1, "descriptions": 1, "keys": 1, "counters": 1}
    # Nobody knows whose the questions to the library are: all of them go.
    assert counted["erased"].items() >= (expected | {"questions": 2, "judgements": 2}).items()

    first = erase(alice, "--yes", "--timeout", 0)
    assert first.code == 1, first
    assert (first.code, first.document["left"] > 0, "Supabase" in first.document["backups"]) == (1, True, True)
    while call(operator.deployment.client, "delete_portion", {"p_limit": 100}):
        pass
    assert erase(alice, "--yes").code == 0
    assert alice.traces().keys() <= WORK_LEFT
    assert set(of_bob) - set(bob.traces()) == {"feedback"}
    (left,) = operator.deployment.sql.execute(vectors.encode()).fetchall()
    assert left[0] < both[0]
    assert "bob/a" in operator.sakuin("search", "second of bob", "--json").out

    again = erase(alice, "--yes")
    assert (again.code, set(again.document["erased"].values())) == (0, {0})


def test_a_customer_whose_name_begins_another_one_s_is_erased_alone(alice: Customer, operator: Operator) -> None:
    longer = Customer(operator, "alice2")
    operator.deployment.put("alice2/a.html", a_page({"rule-a": "Formula: of alice2."}))
    longer.project = alice.project
    erase(alice, "--yes", "--timeout", 0)
    keys = operator.deployment.keys()
    assert [key for key in keys if key.startswith("alice")] == ["alice2/a.html"]
    assert operator.sakuin("list", "--json").document["materials"][0]["material"] == "alice2/a"


def test_it_needs_a_customer_and_asks_before_it_erases(alice: Customer, operator: Operator) -> None:
    assert operator.sakuin("erase").code == 2
    before = alice.traces()
    assert erase(alice).code == 1
    assert alice.traces() == before


def test_a_page_is_gone_afterwards(operator: Operator) -> None:
    operator.deployment.put("junior/x.html", a_page(FORMULA))
    removed = operator.sakuin("rm", "junior/x", "--json")
    assert removed.code == 0
    document = removed.document
    assert document.pop("seconds") > 0
    assert document["materials"][0].pop("version_id")
    assert document == {
        "removed": 1,
        "failed": [],
        "pending": [],
        "materials": [{"material": "junior/x", "key": "junior/x.html", "outcome": "applied"}],
    }
    assert operator.sakuin("status", "--json").document["chunks"] == 0
    assert operator.deployment.keys() == []


def test_an_unknown_material_costs_no_other_and_a_late_index_is_reported(operator: Operator) -> None:
    operator.deployment.put("x.html", a_page(FORMULA))
    operator.deployment.stuck = True
    removed = operator.sakuin("rm", "nothing", "x", "--timeout", "0")
    assert removed.code == 1
    assert "✗ nothing  there is no such material" in removed.out
    assert "x  still searchable after 0 s; see `sakuin status`" in removed.out
    assert "0 of 2 removed" in removed.out
    assert operator.deployment.keys() == []


def test_learns_and_synonyms_files_are_removed_by_their_path(operator: Operator) -> None:
    operator.deployment.put("junior/learns.yml", b"x: [")
    operator.deployment.put("synonyms.yml", b"- [one, two]")
    removed = operator.sakuin("rm", "junior/learns.yml", "synonyms.yml", "learns.yml", "--json")
    assert (removed.code, removed.document["removed"], operator.deployment.keys()) == (1, 2, [])
    (failed,) = removed.document["failed"]
    assert (failed["material"], "no such file" in failed["reason"]) == ("learns.yml", True)


def test_a_folder_goes_with_all_that_is_below_it_when_asked(operator: Operator) -> None:
    nfd = unicodedata.normalize("NFD", "ito/が.html")
    kept = ["_sakuin/canary.html", "ito.html", "ito2/a.html"]
    for key in ("ito/a.html", "ito/deep/b.html", nfd, *kept):
        operator.deployment.put(key, a_page(FORMULA, title=key))
    operator.deployment.put("ito/learns.yml", b"a: {rule-formula: [x]}")
    asked = operator.sakuin("rm", "ito/")
    assert (asked.code, asked.out, len(operator.deployment.keys())) == (1, "", 7)
    assert "These 4 files are below ito/:\n  ito/a.html\n  ito/deep/b.html\n  ito/learns.yml\n" in asked.err
    assert "--yes" in asked.err
    removed = operator.sakuin("rm", "ito/", "--yes", "--json").document
    assert [one["material"] for one in removed["materials"]] == ["ito/a", "ito/deep/b", "ito/learns.yml", "ito/が"]
    assert (removed["removed"], operator.deployment.keys()) == (4, kept)
    # Without a slash, a page of that name is meant.
    assert operator.sakuin("rm", "ito", "ito.html", "/", "_sakuin", "--yes", "--json").document["removed"] == 1
    assert operator.deployment.keys() == ["_sakuin/canary.html", "ito2/a.html"]


def test_a_folder_without_a_slash_is_one_unless_a_page_has_its_name(operator: Operator) -> None:
    operator.deployment.put(unicodedata.normalize("NFD", "が/a.html"), a_page(FORMULA))
    assert operator.sakuin("rm", "が", "が/a", "--yes", "--json").document["removed"] == 1
    assert operator.deployment.keys() == []
