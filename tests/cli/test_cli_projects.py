"""`sakuin table`, `tool` and `endpoint`."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator
from tests.cli.deployment import ADMIN_KEY
from tests.cli.recorded import recorded

LARGE = json.dumps(["x" * 5_000_000]).encode()

# The same in every process that collects the tests.
NO_ID = "673a3056-56a4-4c43-9851-972acca7da09"


@pytest.fixture
def project(operator: Operator) -> str:
    return str(made(operator, "/v1/projects", {"name": "p"})["id"])


def made(operator: Operator, path: str, body: object) -> Any:
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    answer = httpx.post(operator.deployment.url + path, json=body, headers=headers)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def put(operator: Operator, project: str, document: object = ("x",)) -> str:
    file = operator.file("columns.json", json.dumps(document).encode())
    stored = operator.sakuin("table", "put", file, "--project", project, "--json")
    assert stored.code == 0, stored
    return str(stored.document["table_id"])


def rows(operator: Operator, table: str) -> list[tuple[object, ...]]:
    """What the database says of a Table."""
    return operator.deployment.sql.execute(
        "select name, version, data::text from context_table where id = %s", (table,)
    ).fetchall()


def test_a_file_becomes_a_table_and_then_its_next_version(operator: Operator, project: str) -> None:
    table = put(operator, project)
    assert rows(operator, table)[0][0] == "columns"
    file = operator.file("other.json", b'\xef\xbb\xbf{"a":"\\ud800"}')
    replaced = operator.sakuin("table", "put", file, "--id", table, "--name", "新", "--json")
    assert replaced.document == {"table_id": table, "version": 2, "name": "新", "chunk_threshold_chars": 200}
    assert rows(operator, table) == [("新", 2, '{"a":"\\ud800"}')]
    assert operator.sakuin("table", "rm", table).code == 0
    assert operator.sakuin("table", "rm", table).code == 1
    named = operator.sakuin("table", "put", file, "--project", project, "--name", "記事", "--json").document["table_id"]
    assert rows(operator, named)[0][0] == "記事"


class Bucket:
    """A deployment that takes one large document, and imports it when it is asked the second time.

    `refused` is why it imports nothing.
    """

    def __init__(self, refused: str | None = None) -> None:
        self.refused = refused
        self.url = ""
        self.announced: list[tuple[str, object]] = []
        self.body = b""
        self.looks = 0

    def __call__(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        if method == "POST":
            self.announced.append((path, json.loads(body)))
            target = {"url": f"{self.url}/bucket/1.json", "headers": {"Content-Type": "application/json"}}
            return 201, {"table": self.table(pending=True), "upload": target}
        if method == "PUT":
            self.body = body
            return 200, {}
        self.looks += 1
        return 200, self.table(pending=self.looks == 1)

    def table(self, *, pending: bool) -> dict[str, object]:
        return {"id": "t1", "version": 0 if pending else 1, "import_error": self.refused, "pending_upload": pending}


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    made = Bucket()
    with recorded(made) as made.url:
        yield made


@pytest.mark.parametrize(
    ("place", "announced"),
    [
        (("--project", NO_ID), (f"/v1/projects/{NO_ID}/tables/uploads", {"name": "columns", "size": len(LARGE)})),
        (("--id", NO_ID), (f"/v1/tables/{NO_ID}/uploads", {"size": len(LARGE)})),
    ],
)
def test_a_large_file_and_its_next_version_travel_through_the_bucket(
    operator: Operator, bucket: Bucket, place: tuple[str, str], announced: tuple[str, object]
) -> None:
    file = operator.file("columns.json", LARGE)
    stored = operator.sakuin("table", "put", file, *place, "--json", SAKUIN_URL=bucket.url)
    assert (stored.code, stored.document) == (0, {"table_id": "t1", "version": 1})
    assert (bucket.announced, bucket.body, bucket.looks) == ([announced], LARGE, 2)


def test_a_document_that_is_not_imported_is_a_sentence(operator: Operator, bucket: Bucket) -> None:
    file = operator.file("columns.json", LARGE)
    late = operator.sakuin("table", "put", file, "--project", NO_ID, "--timeout", "0", SAKUIN_URL=bucket.url)
    assert (late.code, late.err) == (1, "sakuin: The table t1 is uploaded, but was not imported within 0 seconds\n")
    bucket.refused = "It has too many strings."
    refused = operator.sakuin("table", "put", file, "--project", NO_ID, SAKUIN_URL=bucket.url)
    assert (refused.code, refused.err) == (1, "sakuin: The table t1 was not imported: It has too many strings.\n")


def test_the_real_deployment_announces_a_large_document_as_that_one_does(
    operator: Operator, project: str, bucket: Bucket
) -> None:
    announced = made(operator, f"/v1/projects/{project}/tables/uploads", {"name": "t", "size": len(LARGE)})
    _, recorded_one = bucket("POST", "", b"{}")
    assert isinstance(recorded_one, dict)
    for member in ("table", "upload"):
        assert set(recorded_one[member]) <= set(announced[member])
    assert announced["table"]["pending_upload"]


def test_a_file_that_is_no_json_is_refused_before_anything_is_sent(operator: Operator, project: str) -> None:
    refused = operator.sakuin("table", "put", operator.file("x.json", b"{\n a"), "--project", project)
    assert refused.code == 1
    assert "line 2" in refused.err
    assert operator.deployment.sql.execute("select count(*) from context_table").fetchone() == (0,)


def test_a_table_says_how_long_a_string_has_to_be(operator: Operator, project: str) -> None:
    file = operator.file("x.json", b"1")
    table = operator.sakuin("table", "put", file, "--project", project, "--chunk-threshold", "80", "--json").document[
        "table_id"
    ]

    def changed(*words: str) -> object:
        return operator.sakuin("table", "put", "--id", table, *words, "--json").document

    assert changed("--name", "記事") == {"table_id": table, "version": 1, "name": "記事", "chunk_threshold_chars": 80}
    assert changed("--chunk-threshold", "40")["chunk_threshold_chars"] == 40
    operator.sakuin("table", "put", file, "--id", table, "--chunk-threshold", "20")
    assert changed("--name", "x") == {"table_id": table, "version": 2, "name": "x", "chunk_threshold_chars": 20}
    assert operator.sakuin("table", "put", "--id", table).code == 2
    assert operator.sakuin("table", "put", "--id", table, "--chunk-threshold", "0").code == 2


FAQ = [{"id": f"q{n}", "question": f"How many {n}?", "answer": f"It is {n}.", "plan": "pro"} for n in range(4)]
FAQ_RULES = {"pattern": "/*", "search": ["question", "answer"], "show": None, "filter": {"plan": "string"}}


def test_a_list_of_entries_is_proposed_with_its_options_and_their_cost(operator: Operator, project: str) -> None:
    file = operator.file("faq.json", json.dumps(FAQ).encode())
    proposed = operator.sakuin("table", "put", file, "--project", project)
    assert "4 entries at /* with id, question, answer, plan: search question and answer, filter plan" in proposed.err
    options = ("--entries", "/*", "--search", "question", "--search", "answer", "--filter", "plan")
    assert " ".join(options).replace("/*", "'/*'") + ":string" in proposed.err
    stored = operator.sakuin("table", "put", file, "--project", project, *options, "--name", "with", "--json")
    assert "8 chunks, about" in stored.err
    (entries,) = operator.deployment.sql.execute("select entries from context_table where name = 'with'").fetchone()
    assert entries == FAQ_RULES
    changed = operator.sakuin("table", "put", "--id", "with", "--project", project, "--no-entries", "--json")
    assert "entries" not in changed.document
    again = operator.sakuin("table", "put", "--id", "with", "--project", project, *options, "--json")
    assert again.document["entries"] == FAQ_RULES
    size = ("--entries", "/*", "--filter", "size")
    unknown = operator.sakuin("table", "put", "--id", "with", "--project", project, *size)
    assert (unknown.code, "no values of one type in 'size'" in unknown.err) == (1, True)


def test_names_take_the_place_of_ids_and_what_was_made_goes(operator: Operator) -> None:
    operator.sakuin("project", "new", "customer", "--json")
    here = ("--project", "customer")
    file = operator.file("faq.json", json.dumps(FAQ).encode())
    operator.sakuin("table", "put", file, *here, "--entries", "/*", "--filter", "plan")
    tool = operator.sakuin("tool", "new", "--table", "faq", "--name", "ask", *here)
    assert tool.code == 0, tool
    changed = operator.sakuin("tool", "change", "ask", "--name", "search", "--disable", *here, "--json").document
    assert (changed["name"], changed["enabled"]) == ("search", False)
    created = operator.sakuin("endpoint", "new", "--name", "m", "--tool", "search", "--filter", "plan=pro", *here)
    assert created.code == 0, created
    stored = operator.deployment.sql.execute("select filter from mcp_binding").fetchall()
    assert stored == [({"plan": ["pro"]},)]
    assert operator.sakuin("endpoint", "change", "m", "--tool", "search", "--filter", "size=1", *here).code == 1
    (listed,) = operator.sakuin("endpoint", "list", *here, "--json").document["mcps"]
    (bound,) = listed["tools"]
    assert (bound["filter"], bound["entries"]["filter"]) == ({"plan": "pro"}, {"plan": "string"})
    assert "search (enabled, plan=pro)" in operator.sakuin("endpoint", "list", *here).out
    assert "/* plan:string" in operator.sakuin("table", "list", *here).out
    refused = operator.sakuin("endpoint", "new", "--name", "n", "--tool", "search", "--filter", "size=1", *here)
    assert (refused.code, "Its fields: plan" in refused.err) == (1, True)
    assert len(operator.sakuin("endpoint", "list", *here, "--json").document["mcps"]) == 1
    csv = operator.file("goods.csv", b"sku,name\n1,Lamp\n")
    assert operator.sakuin("table", "put", csv, *here, "--entries", "/*", "--filter", "sku").code == 0
    stored = operator.deployment.sql.execute("select entries->'filter' from context_table where name = 'goods'")
    assert stored.fetchall() == [({"sku": "number"},)]
    assert operator.sakuin("endpoint", "rm", "m", *here).code == 0
    assert operator.sakuin("project", "rm", "customer").code == 1
    assert "0 projects are named 'custom'" in operator.sakuin("table", "list", "--project", "custom").err
    assert operator.sakuin("project", "rm", "customer", "--yes").code == 0
    assert operator.sakuin("project", "list", "--json").document["projects"] == []


CREATE = ("tool", "new", "--table", NO_ID, "--json-path", "", "--name", "search_x", "--project", NO_ID, "--wait")
STATUS = ("status", "--tool", "tool-1")
SCANNED = {"strings_count": 1412, "large_strings_count": 309, "chunk_threshold_chars": 200, "warning": None}
NOTHING = {**SCANNED, "large_strings_count": 0, "warning": "None of 1,412 strings …"}
EMBEDDING = {"state": "indexing", "chunks_count": 3_101, "indexed_chunks_count": 224, "minutes_left": 48}


@pytest.mark.parametrize(
    ("command", "index", "last_line"),
    [
        (CREATE, {"state": "ready", **SCANNED}, "  found  1,412 strings, 309 with at least 200 characters"),
        (STATUS, {"state": "ready", **NOTHING}, "warning  None of 1,412 strings …"),
        (STATUS, EMBEDDING, "progress  Waiting for embeddings, about 48 minutes"),
    ],
)
def test_people_read_what_the_scan_found_a_warning_and_how_long_a_tool_waits(
    operator: Operator, command: tuple[str, ...], index: dict[str, object], last_line: str
) -> None:
    tool = {"id": "tool-1", "name": "search_x", "metadata": {"search_index": index}}
    with recorded(lambda *_: (201, tool)) as url:
        assert operator.sakuin(*command, SAKUIN_URL=url).out.splitlines()[-1] == last_line


def test_people_read_of_a_tool_what_there_is_to_say(operator: Operator) -> None:
    nodes = [{"json_pointer": f"/a/{number}", "reason": "is too long"} for number in range(5)]
    index = {"state": "error", "chunks_count": 4_000, "indexed_chunks_count": 0, "attempt": 1, "skipped_nodes": nodes}
    index |= {"waiting_since": "2026-11-29T10:00:00+00:00", "waiting_reason": "OpenAI is away", "last_error": "Failed."}
    index |= {"indexed_at": "2026-11-28T10:00:00+00:00", "heartbeat_at": "2026-11-29T10:00:00+00:00"}
    with recorded(lambda *_: (201, {"id": "t", "name": "search_x", "metadata": {"search_index": index}})) as url:
        assert [line.strip() for line in operator.sakuin(*STATUS, SAKUIN_URL=url).out.splitlines()] == [
            "tool_id  t",
            "name  search_x",
            "state  error",
            "chunks  0 of 4,000 indexed",
            "searchable  as of 2026-11-28 10:00 UTC",
            "skipped  /a/0: is too long, /a/1: is too long, /a/2: is too long and 2 more",
            "waiting  since 2026-11-29 10:00 UTC: OpenAI is away",
            "error  Failed.",
        ]


def test_a_tool_is_created_shown_and_deleted(operator: Operator, project: str) -> None:
    options = ("--table", put(operator, project), "--json-path", "", "--name", "search_x", "--project", project)
    created = operator.sakuin("tool", "new", *options, "--json").document
    assert created["search_index"]["state"] == "pending"
    shown = operator.sakuin("status", "--tool", created["tool_id"], "--json").document
    assert shown == {"tool_id": created["tool_id"], "name": "search_x", "search_index": created["search_index"]}
    assert f"tool_id  {created['tool_id']}\n" in operator.sakuin("status", "--tool", created["tool_id"]).out
    assert operator.sakuin("tool", "change", created["tool_id"], "--reindex", "--json").document["state"] == "pending"
    again = operator.sakuin("status", "--tool", created["tool_id"], "--json").document
    assert again["search_index"]["generation"] > created["search_index"]["generation"]
    assert operator.sakuin("tool", "new", *options, "--wait", "--timeout", "0").code == 1
    assert operator.sakuin("tool", "rm", created["tool_id"]).code == 0
    assert operator.sakuin("status", "--tool", created["tool_id"]).code == 1
    assert operator.sakuin("status", "--tool", "x", "--material", "y").code == 2


def test_a_tool_that_is_waited_for_is_shown_when_it_is_ready(operator: Operator) -> None:
    states = iter(["pending", "indexing", "ready"])

    def answer(_method: str, _path: str, _body: bytes) -> tuple[int, object]:
        return 201, {"id": "tool-1", "name": "search_x", "metadata": {"search_index": {"state": next(states)}}}

    with recorded(answer) as url:
        created = operator.sakuin(*CREATE, "--json", SAKUIN_URL=url)
    assert (created.code, created.document) == (0, {"tool_id": "tool-1", "search_index": {"state": "ready"}})


def test_an_endpoint_is_created_bound_closed_and_given_another_key(operator: Operator, project: str) -> None:
    table = put(operator, project)
    one, two = (
        operator.sakuin(
            *("tool", "new", "--table", table, "--json-path", "", "--name", name, "--project", project, "--json")
        ).document["tool_id"]
        for name in ("one", "two")
    )
    created = operator.sakuin("endpoint", "new", "--name", "m", "--tool", one, "--project", project, "--json").document
    assert set(created) == {"mcp_id", "key"}
    mcp = created["mcp_id"]
    bound = operator.sakuin("endpoint", "change", mcp, "--tool", two, "--json").document
    assert [tool["name"] for tool in bound["tools"]] == ["one", "two"]
    without = ("--without", one, "--without", two, "--json")
    assert operator.sakuin("endpoint", "change", mcp, *without).document["tools"] == []
    assert "tools  none" in operator.sakuin("endpoint", "change", mcp, "--disable").out
    assert operator.sakuin("endpoint", "change", mcp, "--disable", "--json").document["status"] == "disabled"
    assert operator.sakuin("endpoint", "change", mcp, "--enable", "--json").document["status"] == "enabled"
    assert operator.sakuin("endpoint", "change", mcp, "--new-key", "--json").document["key"] != created["key"]


def test_synonyms_are_replaced_by_a_file_without_mistakes(operator: Operator, project: str) -> None:
    command = ("table", "synonyms", "--project", project, "--json")
    file = operator.file("words.yml", "- [通行手形, 旅券]\n".encode())
    assert operator.sakuin(*command, file).document == {"project_id": project, "groups": [["通行手形", "旅券"]]}
    wrong = operator.sakuin(*command, operator.file("wrong.yml", "- [宿場町]\n".encode()))
    assert (wrong.code, "line 1: a group needs two" in str(wrong)) == (1, True), wrong
    assert operator.sakuin("table", "synonyms", "--project", project).out == "通行手形, 旅券\n"
    assert operator.sakuin(*command, operator.file("empty.yml", b"")).document["groups"] == []
    assert operator.sakuin(*command).document["groups"] == []


@pytest.mark.parametrize("id", [NO_ID, "no-uuid", "a/b", "..", "?"])
def test_an_id_that_is_not_there_is_a_sentence(operator: Operator, id: str) -> None:
    for words in (
        ("table", "rm"),
        ("tool", "rm"),
        ("tool", "change", "--reindex"),
        ("endpoint", "change", "--new-key"),
    ):
        refused = operator.sakuin(*words, id)
        assert refused.code == 1
        assert refused.err.startswith("sakuin: ")


def test_a_member_is_invited_by_address_and_removed(operator: Operator, project: str) -> None:
    command = ("project", "members", "--project", project)
    added = operator.sakuin(*command, "--add", "Ada@school.example", "--role", "editor", "--json")
    (invited,) = added.document["members"]
    assert (invited["email"], invited["is_invited"], invited["role"]) == ("ada@school.example", True, "editor")
    assert "ada@school.example" in operator.sakuin(*command).out
    wrong = operator.sakuin(*command, "--add", "ada")
    assert (wrong.code, "no e-mail address" in wrong.err) == (1, True), wrong
    # She has accepted, and is invited again.
    operator.deployment.sql.execute("update project_member set is_invited = false where email is not null")
    operator.sakuin(*command, "--add", "ada@school.example")
    assert operator.sakuin(*command, "--rm", "ada@school.example", "--json").document["members"] == []


def test_ids_that_were_lost_are_listed(operator: Operator, project: str) -> None:
    table = put(operator, project)
    named = ("--table", table, "--json-path", "", "--name", "columns", "--project", project, "--json")
    tool = operator.sakuin("tool", "new", *named).document["tool_id"]
    endpoint = operator.sakuin("endpoint", "new", "--name", "m", "--tool", tool, "--project", project, "--json")
    (listed,) = operator.sakuin("project", "list", "--json").document["projects"]
    assert listed == {"project_id": project, "name": "p"}
    (row,) = operator.sakuin("table", "list", "--project", project, "--json").document["tables"]
    assert (row["table_id"], row["name"], row["version"]) == (table, "columns", 1)
    (row,) = operator.sakuin("tool", "list", "--project", project, "--json").document["tools"]
    assert (row["tool_id"], row["state"], row["table_id"]) == (tool, "pending", table)
    shown = operator.sakuin("endpoint", "list", "--project", project).out.splitlines()
    assert (endpoint.document["mcp_id"] in shown[1], shown[1].endswith("columns (enabled)")) == (True, True)


def test_the_pages_of_a_folder_are_listed_with_their_explanations(operator: Operator) -> None:
    operator.deployment.put("junior/x.html", a_page(FORMULA))
    operator.deployment.put("y.html", a_page(FORMULA))
    (row,) = operator.sakuin("list", "--prefix", "junior", "--json").document["materials"]
    assert (row["material"], row["explanations"], row["status"]) == ("junior/x", 1, "ready")
    words = "64 words searched, 0 only read, 0 left out, 0 lost"
    assert operator.sakuin("list").out.splitlines()[-1] == f"2 pages, 2 sections, {words}"
    assert "sakuin push" in operator.sakuin("list", "--prefix", "senior").out
