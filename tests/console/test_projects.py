"""The console's pages of projects: each flow, by role, and what they must never do."""

import json
import re
from html import unescape
from uuid import uuid4

import httpx
import pytest
from fastapi.routing import APIRoute
from sakuin.console.pages import endpoints, projects, tables
from sakuin.console.pages.projects import groups_of, lines_of
from sakuin.platform.keys import hash_of_key

from tests.console.console_client import ConsoleClient, hidden_fields
from tests.worlds import Worlds

HOSTILE = "<script>alert(1)</script>\"'&{{ 7 * 7 }}{% raw %}"
DOCUMENT = ("articles.json", b'{"articles": [{"text": "' + b"x" * 300 + b'"}]}')
_KEY = re.compile(r"sk_sakuin_[A-Za-z0-9_-]{43}")
_TABLES = ("project", "context_table", "tool", "mcp", "mcp_binding", "project_member", "project_synonyms")


class Projects(ConsoleClient):
    """The pages of projects, in the browser of `user`; of an admin for None."""

    user: str | None = None

    def of(self, user: str | None, language: str = "en") -> "Projects":
        """The same console in another browser."""
        other = self.new_visitor(language)
        other.user = user
        if user is None:
            other.sign_in_admin()
        else:
            other.sign_in_user(user)
        return other

    def upload(self, page: str, action: str, fields: dict[str, str], file: tuple[str, bytes]) -> httpx.Response:
        """Sends the form of a page that has a file."""
        sent = {**hidden_fields(self.get(page).text, action), **fields}
        return self.http.post(f"/console{action}", data=sent, files={"document": file})

    def new_project(self, name: str = "School") -> str:
        """Creates a project; returns its path below the console."""
        made = self.send("/projects", "/projects", {"name": name})
        assert made.status_code == 200, made.text
        return made.url.path.removeprefix("/console")

    def new_table(self, home: str, name: str = "Articles") -> str:
        fields = {"name": name, "chunk_threshold_chars": "200"}
        made = self.upload(home, f"{home}/tables", fields, DOCUMENT)
        assert made.status_code == 200, made.text
        return made.url.path.removeprefix("/console")

    def new_tool(self, home: str, table: str, name: str = "search_articles", json_path: str = "/articles") -> str:
        fields = {"table": table.rpartition("/")[2], "json_path": json_path, "name": name, "description": ""}
        made = self.send(home, f"{home}/tools", fields)
        assert made.status_code == 200, made.text
        return made.url.path.removeprefix("/console")

    def new_endpoint(self, home: str, *tools: str) -> tuple[str, str, httpx.Response]:
        """Creates an endpoint; returns its path, its key and the answer."""
        bound = {f"tool-{tool.rpartition('/')[2]}": "on" for tool in tools}
        made = self.send(home, f"{home}/endpoints", {"name": "Tutor", **bound})
        assert made.status_code == 200, made.text
        path = re.findall(rf'href="/console({home}/endpoints/[0-9a-f-]{{36}})"', made.text)[-1]
        return path, _KEY.findall(made.text)[0], made

    def new_everything(self) -> tuple[list[str], list[str]]:
        """Creates a project with a Table, a Tool and an endpoint; returns their pages, and all pages with a form."""
        home = self.new_project()
        table = self.new_table(home)
        tool = self.new_tool(home, table)
        own = [home, table, tool, self.new_endpoint(home, tool)[0]]
        return own, ["/projects", *own, f"{home}/members", f"{home}/synonyms"]


@pytest.fixture(scope="module")
def signed_out(a_world: Worlds) -> Projects:
    """One console for all tests: each has users and projects of its own."""
    return Projects(a_world())


@pytest.fixture
def owner(signed_out: Projects) -> Projects:
    signed_out.world.bus.taken.clear()
    return signed_out.of(str(uuid4()))


def actions(html: str) -> set[str]:
    """The targets of the forms of a page that may change something, without those of the layout.

    A form that is sent with GET, as a search, only reads.
    """
    forms = [form for form in re.findall(r"<form\b[^>]*>", html) if 'method="get"' not in form]
    found = {unescape(each) for form in forms for each in re.findall(r' action="/console([^"]*)"', form)}
    return found - {"/sign-out"}


# ---------------------------------------------------------------- flows


@pytest.mark.parametrize("is_admin", [True, False])
def test_from_a_new_project_to_an_agent_and_back(owner: Projects, is_admin: bool) -> None:
    console = owner.of(None) if is_admin else owner
    world, home = console.world, console.new_project()
    table = console.new_table(home)
    assert "No Search Tool searches this Table" in console.get(table).text
    tool = console.new_tool(home, table)
    assert world.bus.names == ["ToolCreated"]
    shown = console.get(tool).text
    assert "Waiting" in shown
    assert "/articles" in shown
    endpoint, _key, answer = console.new_endpoint(home, tool)
    assert f"/mcp/{endpoint.rpartition('/')[2]}" in answer.text
    page = console.get(home).text
    for name in ("Articles", "search_articles", "Tutor", "1,000"):
        assert name in page
    # Away with all of it, each by the button of its page.
    assert "The endpoint is deleted" in console.send(endpoint, f"{endpoint}/delete").text
    assert "The Search Tool is deleted" in console.send(tool, f"{tool}/delete").text
    assert "The Table is deleted" in console.send(table, f"{table}/delete").text
    assert world.bus.names == ["ToolCreated", "ToolDeleted", "TableDeleted"]
    assert "is not the name" in console.send(home, f"{home}/delete", {"typed_name": "school"}).text
    assert "The project is deleted" in console.send(home, f"{home}/delete", {"typed_name": "School"}).text
    assert console.get(home).status_code == 404


def test_a_table_is_replaced_renamed_and_scanned_with_another_threshold(owner: Projects) -> None:
    home = owner.new_project()
    table = owner.new_table(home)
    replaced = owner.upload(table, f"{table}/document", {}, ("b.json", '{"b": "語"}'.encode()))
    assert "The document is replaced" in replaced.text
    stale = {**hidden_fields(owner.get(table).text, f"{table}/document"), "version": "1"}
    refused = owner.http.post(f"/console{table}/document", data=stale, files={"document": DOCUMENT})
    assert (refused.status_code, "has version 2, not 1" in unescape(refused.text)) == (409, True)
    assert "Saved" in owner.send(table, f"{table}/change", {"name": "B", "chunk_threshold_chars": "50"}).text
    stored = owner.world.projects.tables(None, home.rpartition("/")[2])[0]
    assert (stored.name, stored.version, stored.chunk_threshold_chars) == ("B", 2, 50)
    assert owner.world.bus.names == ["TableUpdated", "TableUpdated"]


FAQ = [
    {
        "question": f"Can I get my money back after {n} days?",
        "answer": f"{'We return it within a week' if n % 2 else 'Write to us'}: {n}.",
        "plan": ["free", "pro"][n % 2],
        "price": n,
        "seller": {"city": "Bern"},
    }
    for n in range(24)
]


def test_the_entries_of_a_table_are_proposed_tested_and_set(owner: Projects) -> None:
    home = owner.new_project()
    made = owner.upload(home, f"{home}/tables", {"name": "faq"}, ("faq.json", json.dumps({"faq": FAQ}).encode()))
    table = made.url.path.removeprefix("/console")
    page = unescape(owner.get(table).text)
    for said in (
        "24 at /faq/*",
        "looks like a list of entries",
        "text 24",
        "number 24",
        "Rows 1 to 20 of 24",
        "To index: 48 chunks",
    ):
        assert said in page, said
    assert re.findall(r'name="((?:search|show|filter)-[^"]*)"[^>]* checked', page) == [
        "search-question",
        "search-answer",
        "filter-plan",
        "filter-price",
    ]
    assert "/faq/20" in owner.get(f"{table}?start=20").text
    ticks = {"pattern": "/faq/*", "search-answer": "on", "filter-plan": "string", "filter-seller/city": "string"}
    tested = owner.send(table, f"{table}/entries", {**ticks, "q": "how do I write", "do": "test"}).text
    found = tested.partition("What the question finds")[2].partition("Rows 1 to 20")[0]
    assert re.findall(r"<code>/faq/(\d+)</code>", found) == ["0", "2", "4", "6", "8"]
    (stored,) = owner.world.projects.tables(None, home.rpartition("/")[2])
    assert stored.entries is None
    assert "Saved" in owner.send(table, f"{table}/entries", {**ticks, "do": "save"}).text
    (stored,) = owner.world.projects.tables(None, home.rpartition("/")[2])
    rules = stored.entries
    assert rules is not None
    assert (rules.pattern, rules.search, rules.show) == ("/faq/*", ("answer",), None)
    assert rules.filter == {"plan": "string", "seller/city": "string"}
    tool = owner.new_tool(home, table, json_path="/faq").rpartition("/")[2]
    bound = {f"tool-{tool}": "on", "name": "Tutor"}
    assert "Its fields: plan" in unescape(owner.send(home, f"{home}/endpoints", bound | {"filter": "size=1"}).text)
    made = owner.send(home, f"{home}/endpoints", bound | {"filter": "plan=pro"})
    (endpoint,) = set(re.findall(rf'href="/console({home}/endpoints/[0-9a-f-]{{36}})"', made.text))
    assert all("<code>plan=pro</code>" in owner.get(page).text for page in (home, endpoint))
    assert "FIELD=VALUE" in owner.send(endpoint, f"{endpoint}/bind", {"tool": tool, "filter": "plan"}).text
    assert (
        "<code>plan=free</code>" in owner.send(endpoint, f"{endpoint}/bind", {"tool": tool, "filter": "plan=free"}).text
    )
    assert "looks like" not in owner.get(table).text
    wrong = owner.send(table, f"{table}/entries", {"pattern": "faq", "do": "save"})
    assert (wrong.status_code, "is a JSON Pointer" in unescape(wrong.text)) == (422, True)
    assert "Saved" in owner.send(table, f"{table}/entries", {"pattern": "", "do": "save"}).text
    assert owner.world.projects.tables(None, home.rpartition("/")[2])[0].entries is None


def test_a_csv_file_becomes_a_table_of_entries(owner: Projects) -> None:
    home = owner.new_project()
    csv = '\ufeffsku,name,price,sold,note\nSKU-1,"Lamp, red",4.5,true,\n007,Chair,12,false,new\n'.encode()
    made = owner.upload(home, f"{home}/tables", {"name": "goods"}, ("goods.CSV", csv))
    table = made.url.path.removeprefix("/console")
    document = owner.world.services.projects.tables.node(None, table.rpartition("/")[2], "")
    assert document == [
        {"sku": "SKU-1", "name": "Lamp, red", "price": 4.5, "sold": True},
        {"sku": "007", "name": "Chair", "price": 12, "sold": False, "note": "new"},
    ]
    assert "2 at /*" in owner.get(table).text
    wrong = {b"a,a\n1,2": "name of its own", b"a,b\n1,2,3": "Line 2 has 3 cells", b'a,b\n"1,2': "is not CSV"}
    for text, said in wrong.items():
        answer = owner.upload(home, f"{home}/tables", {"name": "bad"}, ("bad.csv", text))
        assert (answer.status_code, said in unescape(answer.text)) == (422, True), text


def test_a_document_without_entries_shows_the_texts_that_are_indexed(owner: Projects) -> None:
    home = owner.new_project()
    table = owner.new_table(home)
    page = owner.get(table).text
    assert "1 texts of at least 200 characters" in page
    assert "<code>/articles/0/text</code>" in page
    hostile = json.dumps([{HOSTILE: HOSTILE, "b": "x"}] * 3).encode()
    assert "<script>alert" not in owner.upload(table, f"{table}/document", {}, ("a.json", hostile)).text


def test_a_wrong_document_is_told_so_and_stores_nothing(owner: Projects) -> None:
    home = owner.new_project()
    wrong = {b"{": "is not JSON: ", b"": "Choose a file", b"\xff{}": "UTF-8", b"[" * 9000: "nest"}
    for document, said in wrong.items():
        answer = owner.upload(home, f"{home}/tables", {"name": "kept"}, ("a.json", document))
        assert answer.status_code == 422
        assert said in unescape(answer.text)
    assert owner.world.projects.tables(None, home.rpartition("/")[2]) == []


def test_a_tool_is_changed_disabled_and_indexed_again(owner: Projects) -> None:
    home = owner.new_project()
    tool = owner.new_tool(home, owner.new_table(home))
    owner.send(tool, f"{tool}/change", {"name": "renamed", "description": "About cats"})
    assert {"renamed", "About cats"} <= set(re.findall(r"renamed|About cats", owner.get(tool).text))
    assert "Disabled" in owner.send(tool, f"{tool}/disable").text
    assert "Enabled" in owner.send(tool, f"{tool}/enable").text
    assert "scanned again" in owner.send(tool, f"{tool}/reindex").text
    assert owner.world.bus.names == ["ToolCreated"] + ["ToolUpdated"] * 3
    taken = owner.send(tool, f"{tool}/change", {"name": "not a name", "description": "x"})
    assert (taken.status_code, 'value="not a name"' in taken.text) == (422, True)


def test_the_state_of_a_tool_shows_progress_skipped_texts_and_the_last_error(owner: Projects) -> None:
    home = owner.new_project()
    tool = owner.new_tool(home, owner.new_table(home))
    index = {
        "state": "error",
        "chunks_count": 1200,
        "indexed_chunks_count": 30,
        "last_error": "OpenAI refused the key",
        "skipped_nodes": [{"json_pointer": f"/a/{HOSTILE}", "reason": "too long"}] * 150,
    }
    _write_index(owner, tool, index)
    page = owner.get(tool).text
    assert "30 of 1,200" in page
    assert "OpenAI refused the key" in page
    assert "(100 of 150)" in page
    assert page.count("too long") == 100
    assert "<script>alert" not in page
    # What another platform wrote there is not always what it should be.
    for strange in ([], "x", {"state": 5, "chunks_count": "9", "skipped_nodes": {"a": 1}, "indexed_at": []}):
        _write_index(owner, tool, strange)
        assert "Unknown" in owner.get(tool).text


def test_a_key_is_shown_once_with_configurations_of_agents(owner: Projects) -> None:
    home = owner.new_project()
    tool = owner.new_tool(home, owner.new_table(home))
    endpoint, key, answer = owner.new_endpoint(home, tool)
    assert answer.headers["cache-control"] == "no-store"
    assert key not in str(answer.url)
    for agent in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex", "Gemini CLI"):
        assert agent in answer.text
    assert f"export SAKUIN_TOOLS_API_KEY={key}" in answer.text
    hashes = f"select api_key_hash, previous_key_hash from public.mcp where id = '{endpoint.rpartition('/')[2]}'"
    assert owner.world.sql.execute(hashes.encode()).fetchone() == (hash_of_key(key), None)
    seen = [owner.get(path).text for path in (endpoint, home)]
    assert not any(_KEY.search(page) for page in seen)
    assert "sk_sakuin_…" in seen[0]
    # Replaced: the new one is shown once, too.
    rotated = owner.send(endpoint, f"{endpoint}/rotate", {"overlap": "86400"})
    (new,) = set(_KEY.findall(rotated.text))
    assert owner.world.sql.execute(hashes.encode()).fetchone() == (hash_of_key(new), hash_of_key(key))
    assert new not in owner.get(endpoint).text
    assert owner.send(endpoint, f"{endpoint}/rotate", {"overlap": "1"}).status_code == 422


def test_tools_are_bound_to_an_endpoint_and_it_is_disabled(owner: Projects) -> None:
    home = owner.new_project()
    table = owner.new_table(home)
    first, same = owner.new_tool(home, table, "one"), owner.new_tool(home, table, "one", "")
    endpoint, _key, _answer = owner.new_endpoint(home, first)
    taken = owner.send(endpoint, f"{endpoint}/bind", {"tool": same.rpartition("/")[2]})
    assert (taken.status_code, "another tool named one" in taken.text) == (409, True)
    assert "no longer offers" in owner.send(endpoint, f"{endpoint}/unbind").text
    assert "offers the Search Tool" in owner.send(endpoint, f"{endpoint}/bind", {"tool": same.rpartition("/")[2]}).text
    assert "Disabled" in owner.send(endpoint, f"{endpoint}/disable").text
    assert "Enabled" in owner.send(endpoint, f"{endpoint}/enable").text
    owner.send(endpoint, f"{endpoint}/rename", {"name": "Renamed"})
    assert "Renamed" in owner.get(home).text


def test_members_are_added_changed_and_leave(owner: Projects) -> None:
    home = owner.new_project()
    members, editor, viewer = f"{home}/members", str(uuid4()), str(uuid4())
    assert owner.user
    wrong = owner.send(members, members, {"user_id": "somebody", "role": "viewer"})
    assert (wrong.status_code, 'value="somebody"' in wrong.text) == (422, True)

    def asked(action: str, user: str, **fields: str) -> httpx.Response:
        csrf = owner.csrf()
        return owner.post(action, {**csrf, "user_id": user, **fields})

    invited = asked(members, "Ada@school.example", role="viewer")
    assert ("Invited." in invited.text, "ada@school.example" in invited.text) == (True, True)
    assert asked(members, "ada@school.example", role="owner").status_code == 422
    (row,) = [each for each in owner.world.projects.members(None, home.rpartition("/")[2]) if each.is_invited]
    assert "membership has ended" in asked(f"{members}/remove", row.user_id).text
    assert "Saved" in asked(members, editor, role="editor").text
    assert "Saved" in asked(members, viewer, role="viewer").text
    last = asked(f"{members}/remove", owner.user)
    assert (last.status_code, "the last owner" in last.text) == (409, True)
    assert "Saved" in asked(members, editor, role="owner").text
    left = asked(f"{members}/remove", owner.user)
    assert (left.status_code, left.url.path) == (200, "/console/projects")
    assert owner.get(home).status_code == 404
    roles = [(each.user_id, each.role) for each in owner.world.projects.members(None, home.rpartition("/")[2])]
    assert sorted(roles) == sorted([(editor, "owner"), (viewer, "viewer")])


def test_synonyms_are_edited_as_lines_and_wrong_ones_stay_in_the_form(owner: Projects) -> None:
    home = owner.new_project()
    path = f"{home}/synonyms"
    typed = '解の公式, かいのしき\n\n"a, b", "say ""x""", cc\n'
    assert "Saved" in owner.send(path, path, {"groups": typed}).text
    stored = owner.world.projects.synonyms(None, home.rpartition("/")[2])
    assert [list(group) for group in stored] == [["解の公式", "かいのしき"], ["a, b", 'say "x"', "cc"]]
    assert groups_of(lines_of(stored)) == [list(group) for group in stored]
    for wrong in ("alone", '"open', f"{HOSTILE}"):
        refused = owner.send(path, path, {"groups": wrong})
        assert refused.status_code == 422
        assert wrong in unescape(refused.text)
        assert "<script>alert" not in refused.text
    assert "Saved" in owner.send(path, path, {"groups": " \n"}).text
    assert owner.world.projects.synonyms(None, home.rpartition("/")[2]) == []


# ---------------------------------------------------------------- who may what


def test_each_role_sees_what_it_may_do_and_is_refused_the_rest(owner: Projects) -> None:
    world, ((home, table, tool, endpoint), (_, *pages)) = owner.world, owner.new_everything()
    project_id = home.rpartition("/")[2]
    editor, viewer, stranger = (str(uuid4()) for _ in range(3))
    for user, role in ((editor, "editor"), (viewer, "viewer")):
        world.projects.add_member(None, project_id, user, role)
    of_owner = {f"{home}/delete", f"{home}/members"}
    every = {each for page in pages for each in actions(owner.get(page).text)}
    every |= {f"{table}/document", f"{tool}/enable", f"{endpoint}/enable", f"{endpoint}/bind"}
    assert of_owner <= every
    # A new route has to be tried here.
    pages_of_projects = (projects, tables, endpoints)
    routes = [route for module in pages_of_projects for route in module.router.routes]
    posts = [each for each in routes if isinstance(each, APIRoute) and "POST" in each.methods]
    untried = {each.path for each in posts if not any(each.path_regex.fullmatch(action) for action in every)}
    assert untried == {"/projects"}
    before = world.rows(*_TABLES)
    for user, refused in ((viewer, every), (editor, of_owner), (stranger, every)):
        console = owner.of(user)
        csrf = console.csrf()
        found = 404 if user == stranger else 200
        assert {console.get(page).status_code for page in pages} == {found}
        shown = {each for page in pages for each in actions(console.get(page).text)}
        # Everybody may leave.
        assert not shown & (refused - {f"{home}/members/remove"}), user
        for action in sorted(refused):
            fields = {"user_id": str(owner.user), "role": "viewer", "name": "x", "typed_name": "School", "overlap": "0"}
            fields |= {"tool": tool.rpartition("/")[2], "table": table.rpartition("/")[2], "groups": "aa,bb"}
            fields |= {"description": "x", "document": "{}", "chunk_threshold_chars": "9"}
            answer = console.post(action, {**csrf, **fields})
            assert answer.status_code == (404 if user == stranger else 403), (action, answer.status_code)
    assert world.rows(*_TABLES) == before
    assert "School" not in owner.of(stranger).get("/projects").text


def test_records_of_another_project_are_not_found_below_the_readers_own(owner: Projects) -> None:
    stranger = owner.of(str(uuid4()))
    (mine, table, tool, endpoint), theirs = owner.new_everything()[0], stranger.new_project("Other")
    for path in (table, tool, endpoint):
        assert stranger.get(path.replace(mine, theirs)).status_code == 404
    csrf = stranger.csrf()
    for action in ("delete", "enable", "rotate", "reindex", "document", "change", "bind"):
        for path in (table, tool, endpoint):
            answer = stranger.post(f"{path.replace(mine, theirs)}/{action}", {**csrf, "overlap": "0", "document": "{}"})
            assert answer.status_code in (404, 405, 422), (path, action)
    asked = {**csrf, "table": table.rpartition("/")[2], "json_path": "", "name": "x", "description": ""}
    assert stranger.post(f"{theirs}/tools", asked).status_code == 404
    asked = {**csrf, "name": "x", f"tool-{tool.rpartition('/')[2]}": "on"}
    assert stranger.post(f"{theirs}/endpoints", asked).status_code == 404
    assert len(owner.world.projects.tables(None, mine.rpartition("/")[2])) == 1


def test_no_form_changes_anything_without_the_token_of_the_session(owner: Projects) -> None:
    pages = owner.new_everything()[1]
    before = owner.world.rows(*_TABLES)
    every = {each for page in pages for each in actions(owner.get(page).text)}
    assert len(every) >= 20
    for action in every:
        assert owner.post(action, {"name": "x"}).status_code == 403, action
        assert owner.http.post(f"/console{action}", files={"document": DOCUMENT}).status_code == 403, action
    assert owner.world.rows(*_TABLES) == before


def test_the_address_of_a_form_leads_to_the_page_above_it(owner: Projects) -> None:
    home = owner.new_project()
    endpoint, key, answer = owner.new_endpoint(home)
    assert answer.url.path == f"/console{home}/endpoints"
    for form, page in ((f"{home}/endpoints", home), (f"{endpoint}/rotate", endpoint), (f"{home}/delete", home)):
        again = owner.get(form)
        assert (again.status_code, again.url.path) == (200, f"/console{page}")
        assert key not in again.text
    switched = owner.get(f"/language/ja?back={home}/endpoints")
    assert (switched.status_code, '<html lang="ja">' in switched.text) == (200, True)


def test_errors_of_projects_are_in_the_reader_s_language(owner: Projects) -> None:
    console, no_id = owner.of(owner.user, language="ja"), uuid4()
    home = console.new_project()
    table = console.new_table(home)
    nested = console.upload(table, f"{table}/document", {}, ("a.json", b"[" * 9000)).text
    long_name = console.send(table, f"{table}/change", {"name": "x" * 201, "chunk_threshold_chars": "50"}).text
    nothing = console.get(f"/projects/{no_id}").text
    unknown = console.get("/nothing")
    assert (unknown.status_code, "サインアウト" in unknown.text) == (404, True)
    for page, sentence in {
        nested: "ドキュメントの入れ子が 2,000 段を超えています。",
        long_name: "名前は 1〜200 文字です。",
        nothing: f"プロジェクト {no_id} はありません",
        unknown.text: "このアドレスにページはありません",
    }.items():
        (problem,) = re.findall(r'<p class="problem".*?</p>', page, re.DOTALL)
        assert sentence in problem
        assert 'lang="en"' not in problem


def test_a_form_over_the_limit_is_answered_by_a_page(owner: Projects) -> None:
    home = owner.new_project()
    answer = owner.upload(home, f"{home}/tables", {"name": "x"}, ("large.json", b"1" * 4_500_001))
    assert answer.status_code == 413
    assert "<h1>This is too large</h1>" in answer.text
    assert "sakuin table put" in answer.text
    assert "Sign out" in answer.text


def test_a_form_that_made_a_key_makes_no_second_one(owner: Projects) -> None:
    home = owner.new_project()
    form = {**hidden_fields(owner.get(home).text, f"{home}/endpoints"), "name": "Tutor"}
    made = owner.post(f"{home}/endpoints", form)
    endpoint = re.findall(rf'href="/console({home}/endpoints/[0-9a-f-]{{36}})"', made.text)[-1]
    again = owner.post(f"{home}/endpoints", form)
    assert (again.url.path, again.url.query) == (f"/console{home}", b"done=sent_before")
    assert "sent before" in again.text
    assert again.text.count(f"{home}/endpoints/") == 1
    form = {**hidden_fields(owner.get(endpoint).text, f"{endpoint}/rotate"), "overlap": "0"}
    (key,) = set(_KEY.findall(owner.post(f"{endpoint}/rotate", form).text))
    again = owner.post(f"{endpoint}/rotate", form)
    assert (again.url.path, _KEY.findall(again.text)) == (f"/console{endpoint}", [])
    hashes = owner.world.sql.execute("select api_key_hash from mcp where id = %s", [endpoint.rpartition("/")[2]])
    assert hashes.fetchone() == (hash_of_key(key),)


# ---------------------------------------------------------------- hostile texts


def test_hostile_names_are_text_on_every_page(owner: Projects) -> None:
    console = owner.of(owner.user, language="ja")
    home = console.new_project(HOSTILE)
    table = console.new_table(home, HOSTILE)
    tool = console.new_tool(home, table)
    console.send(tool, f"{tool}/change", {"name": "search_articles", "description": HOSTILE})
    endpoint, _key, answer = console.new_endpoint(home, tool)
    console.send(endpoint, f"{endpoint}/rename", {"name": HOSTILE})
    paths = ["/projects", home, table, tool, endpoint, f"{home}/members", f"{home}/synonyms"]
    for page in [answer.text, *(console.get(path).text for path in paths)]:
        assert HOSTILE in unescape(page)
        assert "<script>alert" not in page
        assert "49" not in re.findall(r"&amp;(\w+)", page)


def _write_index(console: Projects, tool: str, index: object) -> None:
    from psycopg.types.json import Jsonb

    update = "update public.tool set metadata = %s where id = %s"
    console.world.sql.execute(update, (Jsonb({"search_index": index}), tool.rpartition("/")[2]))
