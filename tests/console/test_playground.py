"""The search playground and the refused questions, as pages without a script."""

import json
import re
from dataclasses import replace
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import httpx
import psycopg
import pytest
from sakuin.console.content import rendered
from sakuin.console.forms import href
from sakuin.console.pages.playground import bars
from sakuin.errors import OverLimit, SakuinError, Unavailable
from sakuin.explain.ask_mcp import AskMcp, answer_event
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.aws import LambdaFunction
from sakuin.upkeep.refused_questions import Feedback, RefusedQuestions
from sakuin_cli.evaluation.questions import questions_in

from tests.builders import a_page
from tests.console.console_client import ConsoleClient
from tests.doubles.playground import FUNCTION, Failing, Invoked, asking_mcp
from tests.emptied import emptied
from tests.worlds import TableWorld, World, Worlds, long, with_a_page, world_of

OWNER, STRANGER = (f"00000000-0000-4000-8000-0000000000{end}" for end in ("a1", "b2"))
DOCUMENT = {"articles": [{"title": "関数", "content": long("一次関数の傾き")}, {"content": long("確率の求め方")}]}
EXAMPLE = "junior/二次方程式の解き方_教材#ex-1"
QUESTION = "二次方程式を公式で解きたい"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\u200b" + "長" * 3000


class Console(ConsoleClient):
    """The console with both pages over a world and its Tables; the function `mcp` is in this process."""

    def __init__(self, world: World, tables: TableWorld, *, library_for_users: bool = False) -> None:
        self.tables = tables
        self.asked: list[dict[str, Any]] = []
        self.failures: list[SakuinError] = []
        self.function = asking_mcp(world, tables).function.client
        rest, ask = world.services, AskMcp(LambdaFunction(Invoked(self.answer), FUNCTION))
        places = replace(rest.gaps.places, library_for_users=library_for_users)
        gaps = replace(rest.gaps, places=places, ask=ask, is_recorded=True)
        super().__init__(world, replace(rest, explain=ask, gaps=gaps))

    def answer(self, event: dict[str, Any]) -> Any:
        self.asked.append(event["explanation"])
        if self.failures:
            return answer_event({"explanation": Failing(self.failures.pop())}, event)
        return self.function.answer(event)

    @property
    def question(self) -> dict[str, Any]:
        """What was asked last."""
        question: dict[str, Any] = self.asked[-1]["asked"]
        return question

    def page(self, **query: str) -> httpx.Response:
        return self.get("/playground", params=query)


@pytest.fixture(scope="module")
def one_console(a_world: Worlds, stand_in: str, sql: psycopg.Connection) -> Console:
    """A console over a library with a page, and over a project: all tests read them."""
    emptied(sql)
    return Console(with_a_page(a_world), world_of(a_world.database, stand_in))


@pytest.fixture(scope="module")
def owned(one_console: Console) -> tuple[str, str]:
    """The id of an indexed Tool of OWNER's project, and of its endpoint."""
    tables = one_console.tables
    table = tables.table(DOCUMENT)
    tool = tables.tool(table, "/articles")
    endpoint = tables.endpoint(tool)
    tables.settle()
    one_console.world.projects.add_member(None, tables.project, OWNER, "viewer")
    return tool, endpoint


@pytest.fixture
def signed_out(one_console: Console, sql: psycopg.Connection) -> Console:
    """The console in a new browser, where nothing was asked or refused."""
    one_console.asked.clear()
    sql.execute("truncate refused_question")
    return one_console.new_visitor()


@pytest.fixture
def console(signed_out: Console) -> Console:
    return signed_out.sign_in_admin()


def words(answer: httpx.Response) -> str:
    """The text of a page, as it is read."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def test_a_question_shows_results_with_links_and_what_the_agent_gets(console: Console) -> None:
    answer = console.page(q=QUESTION)
    assert answer.status_code == 200
    address = "/school_asset/junior/二次方程式の解き方_教材.html#rule-quadratic-formula"
    assert f'<a href="{address}" rel="noopener">解の公式</a>' in answer.text
    assert re.search(r'<meter min="0" max="1" [^>]*value="0\.\d+"', answer.text)
    given = KnowledgeTools(console.world, console.world.read).call("search_knowledge", {"query": QUESTION})
    assert given is not None
    shown = re.search(r'<pre id="answer-json"[^>]*>(.*?)</pre>', answer.text, re.S)
    assert shown is not None
    # The default of the form is the tool's.
    assert json.loads(unescape(shown[1])) == given.structured_content
    assert "As the agent gets it" in words(answer)
    assert re.search(r"Answered \d+ ms · about [\d,]+ tokens to the agent", words(answer))


@pytest.mark.parametrize("query", [QUESTION, f'{QUESTION} "</pre>"\u202e'])
def test_each_result_can_be_saved_as_a_golden_question_that_eval_reads(
    console: Console, tmp_path: Path, query: str
) -> None:
    gold = []
    for line in saved(console.page(q=query)):
        (tmp_path / "golden.jsonl").write_text(line, "utf-8")
        (label,), bad = questions_in(tmp_path / "golden.jsonl")
        assert (label.query, label.category, bad) == (query, "playground", [])
        gold += label.gold
    assert gold[0] == "junior/二次方程式の解き方_教材#rule-quadratic-formula"
    assert EXAMPLE in gold


def test_of_a_refused_question_it_can_be_saved_that_none_is_right(console: Console) -> None:
    assert json.loads(saved(console.page(q="ぜんぜん関係のない話 zebra"))[0])["gold"] == []


def saved(page: httpx.Response) -> list[str]:
    """The golden questions that the links of a page save."""
    addresses = re.findall(r'href="data:application/x-ndjson;charset=utf-8,([^"]*)"', page.text)
    return [unquote(address) for address in addresses]


def test_why_a_result_is_there_stands_below_it_as_bars(console: Console) -> None:
    (first, *_) = re.findall(r'<article id="result-1".*?</article>', console.page(q=QUESTION).text, re.S)
    assert "Why it is first" in first
    assert re.search(r'aria-label="By meaning: \d+\.\d\d".*?<line x1="\d', first, re.S)
    assert re.search(r'aria-label="By words: \d\.\d\d"', first)
    assert re.search(r"\d+ of 100 answers with this evidence are right", first)
    assert '<li class="has">' in first


def test_each_feature_of_an_explanation_is_a_bar_with_what_chance_reaches() -> None:
    hits = [
        {"z": 8.0, "words": 0.9, "nearest_rank": 1, "features": {"purpose": 5.0}},
        {"z": 4.0, "words": None, "features": {"purpose": 12.0}},
        {"z": None, "words": 0.3},
    ]
    shown = [(bar.name, bar.length, bar.chance, bar.rank) for bar in bars(hits[0], hits, hits[1:])]
    assert shown == [
        ("z", 80, 20, 1),
        ("words", 90, pytest.approx(15), None),
        ("purpose", pytest.approx(500 / 12), pytest.approx(200 / 12), None),
    ]
    assert [bar.name for bar in bars(hits[2], hits, [])] == ["words"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"x=\frac{a}{2} と a^2 + b^2 = c^2", ["<mfrac>", "<msup>", " と "]),
        ("| a | b |\n| --- | --- |\n| 1 | 2 |", ["<table>", "<td>2</td>"]),
        ("```python\ndef f(): pass\n```", ['<span class="k">def</span>']),
        ("see [the box](#tip-1)", ['<a href="https://p.test/a.html#tip-1" rel="noopener">the box</a>']),
        ("a snake_case name, C:\\Users\\text", ["a snake_case name, C:\\Users\\text"]),
        ("![alt](https://e.test/x.png) # no", ["alt"]),
    ],
)
def test_content_is_rendered_on_the_server(text: str, expected: list[str]) -> None:
    html = rendered(text, "https://p.test/a.html#x")
    assert [each for each in expected if each not in html] == []
    assert "<img" not in html


@pytest.mark.parametrize(
    "text",
    [
        r"a^2 \text{<img src=x onerror=alert(1)>}",
        r"a^2 \text{<![CDATA[<img src=x onerror=alert(1)>]]>}",
        r"\href{javascript:alert(1)}{a^2}",
        r"\style{background:red}{a^2}",
        "[a](javascript:alert(1)) <script>alert(1)</script>",
        "a^2 \ue0000\ue001 \ue0009\ue001",
    ],
)
def test_no_content_becomes_markup_of_the_console(text: str) -> None:
    assert not re.search(r"<img|<script|<!|<[^>]* (?:href|style|on\w+)=", rendered(text))


def test_the_form_keeps_what_was_asked_and_sends_only_what_is_filled(console: Console) -> None:
    answer = console.page(q='公式 "x"', top_k="3", type="rule", category="")
    filters = {name: value for name, value in console.question["filters"].items() if value}
    assert (console.question["query"], console.question["top_k"], filters) == ('公式 "x"', 3, {"type": "rule"})
    assert 'value="公式 &#34;x&#34;"' in answer.text
    assert '<option value="rule" selected>' in answer.text
    assert '<option value="代数">' in answer.text


def test_a_question_without_a_good_match_shows_the_nearest(console: Console) -> None:
    answer = console.page(q="ぜんぜん関係のない話 zebra")
    assert "No good match" in words(answer)
    assert 1 <= answer.text.count("<article") <= 3


def test_a_wrong_argument_is_shown_as_the_agent_s_error(console: Console) -> None:
    answer = console.page(q="公式", top_k="99")
    assert "The agent gets this error: 'top_k' must be a whole number from 1 to 50" in words(answer)


def test_what_is_missed_may_be_a_link_and_else_is_no_explanation(console: Console) -> None:
    address = "/school_asset/junior/二次方程式の解き方_教材.html#ex-1"
    assert console.page(q="公式", expected=address).status_code == 200
    assert console.question["expected"] == EXAMPLE
    assert "This is no id of an explanation" in words(console.page(q="公式", expected="たすき掛け"))


def test_what_is_missed_is_explained_in_japanese(signed_out: Console) -> None:
    answer = signed_out.new_visitor("ja").sign_in_admin().page(q="公式", top_k="1", expected=EXAMPLE)
    assert "例は、type=example を指定しないかぎり" in words(answer)


def test_a_tool_is_asked_at_its_endpoint(console: Console, owned: tuple[str, str]) -> None:
    tool, endpoint = owned
    answer = console.page(q="傾き", target=tool, expected="/1/content", type="rule")
    asked = console.question
    # A Search Tool has no filters.
    assert (asked["tool"], asked["mcp_id"], set(asked["filters"].values())) == ("search", endpoint, {None})
    # It counts with the questions of agents.
    assert console.asked[-1]["payer"] == console.tables.project
    assert "/0/content" in answer.text
    assert '<b dir="auto">関数</b>' in answer.text
    assert f'<option value="{tool}" selected>search</option>' in answer.text


def test_a_tool_that_no_agent_reaches_is_not_asked(console: Console) -> None:
    _, tool, endpoint = console.tables.beside().documented(DOCUMENT)
    console.world.projects.bind(None, endpoint, tool, status="disabled")
    assert "No endpoint has this Tool" in words(console.page(q="傾き", target=tool))
    assert console.asked == []


# ---------------------------------------------------------------- who


def test_a_member_sees_the_tools_of_own_projects_and_nothing_else(signed_out: Console, owned: tuple[str, str]) -> None:
    tool, _ = owned
    member = signed_out.new_visitor().sign_in_user(OWNER)
    assert f'value="{tool}" selected' in member.page().text
    assert "/0/content" in member.page(q="傾き", target=tool).text
    assert member.page(q="公式", target="library").status_code == 404
    stranger = signed_out.new_visitor().sign_in_user(STRANGER)
    signed_out.asked.clear()
    assert tool not in stranger.page().text
    assert "You have no Search Tool" in words(stranger.page())
    for target in (tool, str(uuid4()), "nonsense", "../library"):
        assert stranger.page(q="傾き", target=target).status_code == 404
    assert stranger.asked == []


def test_the_library_opens_to_users_where_the_deployment_says_so(one_console: Console) -> None:
    reader = Console(one_console.world, one_console.tables, library_for_users=True).sign_in_user(STRANGER)
    assert "解の公式" in reader.page(q="公式").text
    # Their searches count with those that their agents make.
    assert reader.asked[-1]["payer"] == STRANGER


def test_without_a_session_the_question_waits_for_the_sign_in(signed_out: Console) -> None:
    asked = signed_out.page(q="公式")
    assert asked.url.path == "/console/sign-in"
    assert unescape(asked.text).count("/playground?q=") == 1


# ---------------------------------------------------------------- what may go wrong


@pytest.mark.parametrize(
    ("failure", "status", "sentence"),
    [
        (Unavailable("The function mcp did not answer", vendor="lambda"), 503, "The search does not answer"),
        (OverLimit("The limit is reached", retry_after=3), 429, "Too many searches in this minute"),
    ],
)
def test_a_failed_search_keeps_its_form_and_gives_advice(
    console: Console, failure: SakuinError, status: int, sentence: str
) -> None:
    console.failures.append(failure)
    answer = console.page(q="公式")
    assert answer.status_code == status
    assert f"{sentence}" in words(answer)
    assert str(failure) in words(answer)
    assert 'name="q"' in answer.text


def test_hostile_text_is_text(console: Console) -> None:
    tables = console.tables.beside()
    console.world.put("x.html", a_page({"rule-x": escape(f"{HOSTILE}: {HOSTILE} 波動方程式")}))
    tool = tables.tool(tables.table({"<b>k</b>\u202e": HOSTILE + "波動方程式"}), "", name="hostile")
    tables.endpoint(tool)
    tables.settle()
    for query in ({"q": "波動方程式"}, {"q": HOSTILE[:900]}, {"q": "波動方程式", "expected": HOSTILE[:900]}):
        for target in ("library", tool):
            answer = console.page(target=target, **query)
            assert answer.status_code == 200
            body = answer.text
            assert "<script>alert" not in body
            assert "<img" not in body
            assert "<b>k" not in body
            assert "&lt;script&gt;" in body or target == tool
            if query == {"q": "波動方程式"}:
                # In the form, what was asked stays as it is; results have no character that nobody sees.
                assert not {"\u202e", "\u200b"} & set(body)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.test/a.html#x", True),
        ("/school_asset/二次.html#rule-a", True),
        ("javascript:alert(1)", False),
        ("JaVaScRiPt:alert(1)", False),
        ("java\tscript:alert(1)", False),
        ("data:text/html,x", False),
        ("//evil.example/x", False),
        ("/\\evil.example", False),
        ("\\\\evil.example", False),
        ("https:evil", False),
        ("http://[", False),
        ("relative.html", False),
    ],
)
def test_only_links_that_lead_to_pages_are_links(url: str, expected: bool) -> None:
    assert href(url) == (url if expected else None)


# ---------------------------------------------------------------- refused questions


def test_refused_questions_lead_back_to_the_playground(console: Console, owned: tuple[str, str]) -> None:
    questions = RefusedQuestions(console.world.client)
    for question, tool in (("地震と津波", None), ("地震と津波", None), ("<script>x</script>&q=1", owned[0])):
        questions.record(question, tool)
    answer = console.get("/gaps")
    assert "<script>x" not in answer.text
    rows = re.findall(r"<tr>\n(.*?)</tr>", answer.text, re.S)[1:]
    assert [re.findall(r'<td class="number">(\d+)', row) for row in rows] == [["2"], ["1"]]
    links = [unescape(link) for link in re.findall(r'href="(/console/playground\?[^"]*)"', answer.text)]
    for link, question in zip(links, ("地震と津波", "<script>x</script>&q=1"), strict=True):
        console.http.get(link)
        assert console.question["query"] == question
    assert console.question["mcp_id"] == owned[1]


def test_an_admin_sees_what_agents_said_of_answers_and_a_member_does_not(signed_out: Console) -> None:
    feedback = Feedback(signed_out.world.client)
    feedback.record(EXAMPLE, "<script>x</script>", False)
    feedback.record("", "", False)
    shown = signed_out.new_visitor("en").sign_in_admin().get("/gaps").text
    rows = re.findall(r"<tr>\n(.*?)</tr>", shown.partition("What agents said of answers")[2], re.S)[1:]
    assert [re.findall(r'<td class="number">(\d+)', row) for row in rows] == [["0", "1"], ["0", "1"]]
    assert (EXAMPLE in rows[1], "No result" in rows[0], "<script>x" in shown) == (True, True, False)
    assert "(1 that an agent called unanswered)" in shown
    member = signed_out.new_visitor("en").sign_in_user(OWNER).get("/gaps").text
    assert "What agents said" not in member
    signed_out.world.sql.execute("delete from feedback")


def test_a_member_sees_the_refused_questions_of_their_tools(signed_out: Console, owned: tuple[str, str]) -> None:
    questions = RefusedQuestions(signed_out.world.client)
    questions.record("a question to the library", None)
    questions.record("a question to a tool", owned[0])
    member, stranger = (signed_out.new_visitor().sign_in_user(user) for user in (OWNER, STRANGER))
    seen = member.get("/gaps").text
    assert "a question to a tool" in seen
    assert "a question to the library" not in seen
    assert "a question" not in stranger.get("/gaps").text


def test_a_gap_shows_its_questions_the_nearest_and_what_a_page_needs(console: Console, owned: tuple[str, str]) -> None:
    questions = RefusedQuestions(console.world.client)
    for question in ("地震の公式", "地震と津波", "津波と地震"):
        questions.record(question, None)
    questions.record("津波", owned[0], is_weak=True)
    listed = words(console.get("/gaps"))
    assert "(1 with a weak answer)" in listed
    ids = re.findall(r"/console/gaps\?gap=(\w+)", console.get("/gaps").text)
    pages = [words(console.get(f"/gaps?gap={id}")) for id in ids]
    (page,) = (
        each for each in pages if "What a page that answers this would need" in each and "地震の公式 (1)" in each
    )
    assert "words that nothing in the index has: 地震" in page
    assert "#rule-quadratic-formula" in page
    assert any("/articles/" in each for each in pages)
    assert console.get("/gaps?gap=gone").status_code == 404


def test_a_user_sees_no_gap_of_others(signed_out: Console, owned: tuple[str, str]) -> None:
    RefusedQuestions(signed_out.world.client).record("津波", owned[0])
    (id,) = re.findall(r"gap=(\w+)", signed_out.new_visitor().sign_in_admin().get("/gaps").text)
    stranger = signed_out.new_visitor().sign_in_user(STRANGER)
    assert stranger.get(f"/gaps?gap={id}").status_code == 404
    assert "/articles/" in signed_out.new_visitor().sign_in_user(OWNER).get(f"/gaps?gap={id}").text


def test_the_page_says_how_to_switch_it_on(one_console: Console) -> None:
    console = ConsoleClient(one_console.world)
    for language in ("en", "ja"):
        assert "RecordRefusedQuestions=true" in console.new_visitor(language).sign_in_admin().get("/gaps").text
