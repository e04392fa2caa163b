"""The console's pages for operators: what they show in both languages, and what they change."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from html.parser import HTMLParser

import pytest
from sakuin.errors import Unavailable
from sakuin.knowledge.messages import read_event, subject_of_event
from sakuin.platform.reconciliation import Difference
from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import WorkSubject
from sakuin.upkeep.dead_letters import DeadLetterQueues
from sakuin.upkeep.doctor import Problem

from tests.builders import a_page
from tests.console.console_client import ConsoleClient
from tests.console.operation import operation_over, operators_console
from tests.doubles.sqs import ModelledSqs
from tests.world import PAGE_BOXES, PAGE_KEY, World, Worlds

MATERIAL = "junior/二次方程式の解き方_教材"
BASE_URL = "https://school.example/pages"
HOSTILE = '<script>alert("1")</script>'
USER = "00000000-0000-4000-8000-0000000000aa"
PATHS = (
    *("/", "/pages", f"/pages/page?material={MATERIAL}", "/work", "/dead-letters", "/dead-letters/material"),
    *("/findings", "/findings/night", "/learns", "/freshness", "/doctor"),
)


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A library with a good page, one that cannot be read, and one that waits."""
    world = a_world(base_url=BASE_URL)
    world.bucket.now = datetime.now(UTC) - timedelta(seconds=7)
    world.put(PAGE_KEY, a_page(PAGE_BOXES))
    world.put("bad.html", b"%PDF-1.7")
    world.unfinished.defer(WorkSubject("file", PAGE_KEY, version_id="v2"), Defer(60, "openai is away", "openai"))
    return world


@pytest.fixture
def sqs() -> ModelledSqs:
    return ModelledSqs()


@pytest.fixture
def console(world: World, sqs: ModelledSqs) -> ConsoleClient:
    return operators_console(world, operation_over(world, sqs)).sign_in_admin()


class _Texts(HTMLParser):
    """The texts of a page, without its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts += data.split()


def shown(console: ConsoleClient, path: str) -> str:
    """The text of a page, with single spaces."""
    answer = console.get(path)
    assert answer.status_code == 200, answer.text
    parser = _Texts()
    parser.feed(answer.text)
    return " ".join(parser.texts)


def following(console: ConsoleClient, path: str) -> str | None:
    """The path of a page's link to the next one."""
    found = re.search(r'rel="next" href="/console([^"]*)"', console.get(path).text)
    return unescape(found[1]) if found else None


def record_pages(world: World, many: int) -> None:
    """Makes records of pages below `many/`."""
    world.sql.execute(
        "insert into material (material, bucket, key, sequencer, status)"
        " select name, 'materials', name || '.html', '', 'ready'"
        " from (select 'many/' || to_char(n, 'FM00') name from generate_series(0, %s - 1) n) names",
        [many],
    )


def uploaded(key: str) -> str:
    """The message of S3 about an upload."""
    stored = {"key": key, "versionId": "v1", "sequencer": "01"}
    record = {"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "materials"}, "object": stored}}
    return json.dumps({"Records": [record]})


# ---------------------------------------------------------------- every page


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_page_is_in_the_reader_s_language(world: World, sqs: ModelledSqs, language: str) -> None:
    sqs.send_message(QueueUrl="dead-material", MessageBody=uploaded("a.html"))
    console = operators_console(world, operation_over(world, sqs), language=language).sign_in_admin()
    for path in PATHS:
        page = console.get(path).text
        assert f'<html lang="{language}">' in page
        heading = re.search(r"<h1>(.*?)</h1>", page)
        assert heading
        own = "/pages/page" not in path
        assert (
            not own
            or bool(re.search("[\u3040-\u30ff\u4e00-\u9fff]|learns", heading[1])) is (language == "ja")
            or (heading[1] == "Learns")
        )
        # No inline style or script: the policy forbids them.
        assert not re.search(r"<[^>]* (?:style|on\w+)=|<style|<script>", page)


def test_users_see_none_of_these_pages(world: World, sqs: ModelledSqs) -> None:
    console = operators_console(world, operation_over(world, sqs)).sign_in_user(USER)
    assert MATERIAL not in console.get("/").text
    for path in PATHS[1:]:
        assert console.get(path).status_code == 404, path
    assert "/console/pages" not in console.get("/").text
    csrf = re.search(r'name="csrf" value="([^"]*)"', console.get("/").text)
    assert csrf
    for path in ("/dead-letters/material", "/pages/outdated", "/doctor"):
        assert console.post(path, {"csrf": csrf[1], "sure": "yes"}).status_code == 404


@pytest.mark.parametrize("path", ["/dead-letters/material", "/pages/outdated", "/doctor"])
def test_a_form_without_its_token_changes_nothing(console: ConsoleClient, sqs: ModelledSqs, path: str) -> None:
    sqs.send_message(QueueUrl="dead-material", MessageBody="body")
    assert console.post(path, {"sure": "yes"}).status_code == 403
    assert [message.queue for message in sqs.messages] == ["dead-material"]


def test_texts_of_pages_messages_and_vendors_are_no_markup(world: World, sqs: ModelledSqs) -> None:
    sqs.send_message(QueueUrl="dead-material", MessageBody=HOSTILE)
    world.put("a.html", a_page({"rule-a": f"&lt;script&gt;alert(1)&lt;/script&gt;: {HOSTILE}"}))
    world.sql.execute("update knowledge_chunks set title = %s, learns[1] = %s", [HOSTILE, HOSTILE])
    name = f"{HOSTILE}'\"><b>"
    world.put(f"{name}.html", b"%PDF-1.7")
    world.sql.execute("update material set error = %s where status = 'failed'", [HOSTILE])
    world.unfinished.record_retry(WorkSubject("material", name), HOSTILE, vendor=HOSTILE, seconds=5)
    found = [Difference("stale", HOSTILE, HOSTILE, HOSTILE)]
    world.runs.take(seconds=60, begin=True)
    world.runs.release(None, found, [HOSTILE])
    problems = [Problem(HOSTILE, HOSTILE, HOSTILE)]
    console = operators_console(world, operation_over(world, sqs, problems)).sign_in_admin()
    for path in (*PATHS, "/pages?prefix=" + HOSTILE, "/work?state=retrying"):
        page = console.get(path).text
        assert "<script>" not in page, path
        assert "<b>" not in page, path
    assert HOSTILE in unescape(console.send("/doctor", "/doctor").text)
    assert "<script>" not in console.send("/doctor", "/doctor").text
    link = re.search(r'href="/console(/pages/page[^"]*PDF|/pages/page\?material=%3C[^"]*)"', console.get("/pages").text)
    assert link
    assert name in shown(console, unescape(link[1]))


# ---------------------------------------------------------------- each page


def test_the_first_page_counts_what_is_indexed_and_names_what_needs_attention(
    console: ConsoleClient, world: World, sqs: ModelledSqs
) -> None:
    sqs.send_message(QueueUrl="dead-embed", MessageBody="body")
    world.runs.take(seconds=60, begin=True)
    world.runs.release(None, [Difference("stale", "a.html", "It differs.", "it is checked")])
    page = shown(console, "/")
    for text in (
        "Pages 1 Pages that could not be read 1 Explanations 3",
        "Work waiting 1",
        "Dead letters: Chunks of Tables 1",
        "Differences in the last night 1",
        "openai is away",
        "changes today: 1, 95 of 100 within 8 s",
    ):
        assert text in page
    assert re.search(r"bad .*PDF", page)


def test_the_first_page_is_there_while_sqs_does_not_answer(world: World, sqs: ModelledSqs) -> None:
    class Away(DeadLetterQueues):
        def count(self, queue: str) -> int:
            raise Unavailable("SQS did not accept the request", vendor="sqs")

    operation = replace(operation_over(world, sqs), dead_letters=Away(sqs, {}, {}))
    console = operators_console(world, operation).sign_in_admin()
    assert "unknown: SQS does not answer" in shown(console, "/")
    assert console.get("/dead-letters").status_code == 503


def test_pages_are_listed_by_name_found_by_their_beginning_and_state(console: ConsoleClient, world: World) -> None:
    record_pages(world, 55)
    first = shown(console, "/pages")
    assert ("bad" in first, "many/48" in first, "many/49" in first) == (True, False, False)
    more = following(console, "/pages?prefix=many/")
    assert more
    assert "prefix=many" in more
    assert ("many/54" in shown(console, more), following(console, more)) == (True, None)
    failed = shown(console, "/pages?status=failed")
    assert ("PDF" in failed, MATERIAL in failed) == (True, False)
    assert "No page has such a name" in shown(console, "/pages?prefix=nobody")
    assert console.get("/pages?status=gone").status_code == 422


def test_a_page_shows_its_versions_work_findings_and_explanations(console: ConsoleClient, world: World) -> None:
    page = shown(console, f"/pages/page?material={MATERIAL}")
    version = world.bucket.current_version(PAGE_KEY)
    for text in (str(version), "openai is away", "解の公式", "rules neither an author nor a model wrote any"):
        assert text in page
    assert "searchable" in page
    links = re.findall(r'href="(https://[^"]*)"', console.get(f"/pages/page?material={MATERIAL}").text)
    assert f"{BASE_URL}/{MATERIAL}.html#rule-quadratic-formula" in links
    world.bucket.write(PAGE_KEY, a_page({"rule-new": "新しい: 文。"}))
    assert "The index leads to an element that the page does not have" in shown(
        console, f"/pages/page?material={MATERIAL}"
    )
    assert console.get("/pages/page?material=nobody").status_code == 404


def test_outdated_pages_are_indexed_again_after_a_confirmation(world: World, sqs: ModelledSqs) -> None:
    console = operators_console(world, operation_over(world, sqs)).sign_in_admin()
    assert console.send("/pages", "/pages/outdated").status_code == 422
    assert "No page is outdated" in console.send("/pages", "/pages/outdated", {"sure": "yes"}).text
    other = replace(operation_over(world, sqs), library=replace(world.library, fingerprint="another"))
    console = operators_console(world, other).sign_in_admin()
    assert "being indexed again" in console.send("/pages", "/pages/outdated", {"sure": "yes"}).text
    assert [done.material for done in world.settle()] == [MATERIAL]


def test_work_is_listed_with_its_reason_and_filtered(console: ConsoleClient, world: World) -> None:
    world.sql.execute(
        "insert into unfinished_work (kind, subject, state, reason, retry_at)"
        " select 'material', 'm' || to_char(n, 'FM00'), 'failed', 'it failed', now() from generate_series(0, 54) n"
    )
    page = shown(console, "/work")
    assert "openai is away Outside system: openai" in page
    assert "waiting (1) tried again (0) failed (55)" in page
    more = following(console, "/work?state=failed")
    assert more
    assert "state=failed" in more
    rest = shown(console, more)
    assert ("m54" in rest, "m00" in rest, following(console, more)) == (True, False, None)
    for cursor in ("x", "[1]", '["a","b","c"]', '["x","b","c","d"]'):
        assert console.get("/work", params={"after": cursor}).status_code == 422


def test_dead_letters_are_shown_with_their_reason_and_sent_again(
    console: ConsoleClient, world: World, sqs: ModelledSqs
) -> None:
    event = read_event(json.loads(uploaded("a.html")))
    assert event
    subject = subject_of_event(event)
    assert subject
    world.unfinished.record_dead_letter(subject, "The key was refused")
    for body in (uploaded("a.html"), "not JSON"):
        sqs.send_message(QueueUrl="dead-material", MessageBody=body)
    sqs.send_message(QueueUrl="dead-tool", MessageBody="of another queue")
    assert "Pages 2 Tables 1 Chunks of Tables 0" in shown(console, "/dead-letters")
    for _ in range(2):
        page = shown(console, "/dead-letters/material")
        assert "a.html was uploaded (version v1)" in page
        assert "The key was refused" in page
        assert "The message is not JSON" in page
    refused = console.send("/dead-letters/material", "/dead-letters/material")
    assert (refused.status_code, len(sqs.messages)) == (422, 3)
    done = console.send("/dead-letters/material", "/dead-letters/material", {"sure": "yes"})
    assert "The messages were sent again" in done.text
    assert "There are no dead letters" in done.text
    assert sorted((message.queue, message.body) for message in sqs.messages) == [
        ("dead-tool", "of another queue"),
        ("material", "not JSON"),
        ("material", uploaded("a.html")),
    ]
    assert console.get("/dead-letters/pages").status_code == 422


def test_a_look_at_many_dead_letters_is_bounded(console: ConsoleClient, sqs: ModelledSqs) -> None:
    for number in range(35):
        sqs.send_message(QueueUrl="dead-material", MessageBody=f"body {number:02}")
    assert "20 of 35 messages are shown." in shown(console, "/dead-letters/material")
    assert sum(message.receives for message in sqs.messages) == 20


def test_findings_of_validation_open_the_page_at_the_element(console: ConsoleClient, world: World) -> None:
    world.bucket.write(PAGE_KEY, a_page({"rule-new": "新しい: 文。"}))
    page = console.get("/findings").text
    assert f'href="{BASE_URL}/{MATERIAL}.html#rule-quadratic-formula"' in page
    text = shown(console, "/findings")
    assert "The index leads to an element that the page does not have" in text
    assert "The page cannot be read" in text
    assert "Pages looked at: 2" in text
    assert "Nothing to correct" not in shown(console, "/findings?prefix=bad")
    record_pages(world, 20)
    for number in range(20, 25):
        world.put(f"many/{number}.html", a_page({"rule-a": "解の公式: 文。"}))
    more = following(console, "/findings?prefix=many/")
    assert more
    assert "Pages looked at: 5 Nothing to correct" in shown(console, more)


def test_a_link_without_a_host_leads_nowhere(a_world: Worlds, sqs: ModelledSqs) -> None:
    world = a_world(base_url="/school_asset")
    world.put(PAGE_KEY, a_page(PAGE_BOXES))
    page = operators_console(world, operation_over(world, sqs)).sign_in_admin().get("/learns").text
    assert "<code>#rule-quadratic-formula</code>" in page
    assert "school_asset" not in page


def test_the_last_night_is_shown_with_its_differences(console: ConsoleClient, world: World) -> None:
    assert "There was none yet" in shown(console, "/findings/night")
    world.runs.take(seconds=60, begin=True)
    world.runs.release("x", [Difference("left over", "a", "It has rows.", "they go")], ["tables: away"])
    page = shown(console, "/findings/night")
    for text in ("is still running", "rows of the store belong to nothing", "It has rows.", "they go", "tables: away"):
        assert text in page


def test_learns_are_listed_with_their_source_and_what_is_missing(console: ConsoleClient, world: World) -> None:
    page = shown(console, "/learns")
    assert "3 of 3 explanations." in page
    assert page.count("neither an author nor a model wrote any") == 3
    given = ["解の公式を使う方法", "判別式", "係数の計算"]
    world.sql.execute(
        "update knowledge_chunks set learns_source = 'author', learns = %s, learns_given = %s where anchor = 'ex-1'",
        [given, given],
    )
    world.sql.execute(
        "update knowledge_chunks set learns_source = 'model', learns = %s where anchor like 'method-%%'",
        [[given[0], given[2], "判別式の計算"]],
    )
    marked = shown(console, "/learns?only=marked")
    assert "2 of 3 explanations." in marked
    assert "an item names no action" in marked
    assert ("たすき掛け" in marked, "噴水の高さ" in marked) == (False, True)
    assert "1 of 3 explanations." in shown(console, "/learns?only=model&prefix=junior/")
    assert console.get("/learns?only=nobody").status_code == 422


def test_freshness_is_a_plot_with_a_name_and_a_table(console: ConsoleClient, world: World) -> None:
    for days, seconds in ((1, 40), (2, 100_000)):
        moved = "select record_freshness('pages', now() - make_interval(secs => %s))"
        world.sql.execute("update freshness_day set day = day - %s", [1])
        world.sql.execute(moved, [seconds * days])
    page = console.get("/freshness").text
    assert page.count("<circle") == page.count("<rect") == 3
    assert 'role="img" aria-labelledby="plot-pages plot-pages-text"' in page
    text = shown(console, "/freshness")
    today = datetime.now(UTC).date()
    assert f"{today} 1 more than a day more than a day {today - timedelta(1)} 1 50 s 50 s" in text
    assert f"{today - timedelta(2)} 1 8 s 8 s" in text
    assert "Tables, from the change No changes in these days." in text


def test_the_doctor_checks_on_request_only(world: World, sqs: ModelledSqs) -> None:
    asked: list[int] = []
    problem = Problem("openai key", "OpenAI refuses the key.", "Add another key.")

    def doctor() -> list[Problem]:
        asked.append(1)
        return [problem] if len(asked) == 1 else []

    console = operators_console(world, replace(operation_over(world, sqs), doctor=doctor)).sign_in_admin()
    console.get("/doctor")
    assert asked == []
    assert "OpenAI refuses the key." in console.send("/doctor", "/doctor").text
    assert "Nothing is wrong." in console.send("/doctor", "/doctor").text
