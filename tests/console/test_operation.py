"""The console's pages of operation: what they show in both languages, and what they change."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape
from html.parser import HTMLParser

import pytest
from botocore.exceptions import EndpointConnectionError
from sakuin.console.pages import operation
from sakuin.errors import Unavailable
from sakuin.knowledge.messages import read_event
from sakuin.platform.reconciliation import Difference
from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import WorkSubject
from sakuin.upkeep.daily_counts import DailyCountRecords, DailyCounts

from tests.builders import a_page
from tests.console.console_client import ConsoleClient, first_page
from tests.doubles.sqs import ModelledSqs
from tests.events import s3_message
from tests.worlds import PAGE_BOXES, PAGE_KEY, World, Worlds

MATERIAL = "junior/二次方程式の解き方_教材"
HOSTILE = '<script>alert("1")</script>'
USER = "00000000-0000-4000-8000-0000000000aa"
PATHS = ("/", "/work", "/work?queue=material")


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A library with a good page, one that cannot be read, and one that waits."""
    world = a_world()
    world.bucket.now = datetime.now(UTC) - timedelta(seconds=7)
    world.put(PAGE_KEY, a_page(PAGE_BOXES))
    world.put("bad.html", b"%PDF-1.7")
    world.unfinished.defer(WorkSubject("file", PAGE_KEY), Defer(60, "openai is away", "openai"))
    return world


@pytest.fixture
def sqs(world: World) -> ModelledSqs:
    """The queues of the world; those of dead letters are named `dead-…`."""
    sqs: ModelledSqs = world.sqs
    return sqs


@pytest.fixture
def console(world: World) -> ConsoleClient:
    return ConsoleClient(world, first_page(world)).sign_in_admin()


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


def uploaded(key: str) -> str:
    """The message of S3 about an upload."""
    return json.dumps(s3_message(key))


# ---------------------------------------------------------------- every page


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_page_is_in_the_reader_s_language(world: World, sqs: ModelledSqs, language: str) -> None:
    sqs.send_message(QueueUrl="dead-material", MessageBody=uploaded("a.html"))
    console = ConsoleClient(world, first_page(world), language=language).sign_in_admin()
    for path in PATHS:
        page = console.get(path).text
        assert f'<html lang="{language}">' in page
        heading = re.search(r"<h1>(.*?)</h1>", page)
        assert heading
        assert bool(re.search("[\u3040-\u30ff\u4e00-\u9fff]", heading[1])) is (language == "ja")
        # No inline style or script: the policy forbids them.
        assert not re.search(r"<[^>]* (?:style|on\w+)=|<style|<script>", page)


def test_users_see_none_of_these_pages(world: World) -> None:
    console = ConsoleClient(world, first_page(world)).sign_in_user(USER)
    assert MATERIAL not in console.get("/").text
    for path in PATHS[1:]:
        assert console.get(path).status_code == 404, path
    assert "/console/work" not in console.get("/").text
    csrf = re.search(r'name="csrf" value="([^"]*)"', console.get("/").text)
    assert csrf
    assert console.post("/work/material", {"csrf": csrf[1], "sure": "yes"}).status_code == 404


def test_a_form_without_its_token_changes_nothing(console: ConsoleClient, sqs: ModelledSqs) -> None:
    sqs.send_message(QueueUrl="dead-material", MessageBody="body")
    assert console.post("/work/material", {"sure": "yes"}).status_code == 403
    assert [message.queue for message in sqs.messages] == ["dead-material"]


def test_texts_of_pages_messages_and_vendors_are_no_markup(world: World, sqs: ModelledSqs) -> None:
    sqs.send_message(QueueUrl="dead-material", MessageBody=HOSTILE)
    name = f"{HOSTILE}'\"><b>"
    world.put(f"{name}.html", b"%PDF-1.7")
    world.sql.execute("update material set error = %s where status = 'failed'", [HOSTILE])
    world.unfinished.record_retry(WorkSubject("material", name), HOSTILE, vendor=HOSTILE, seconds=5)
    world.runs.take(seconds=60, begin=True)
    world.runs.release(None, [Difference("stale", HOSTILE, HOSTILE, HOSTILE)], [HOSTILE])
    console = ConsoleClient(world, first_page(world)).sign_in_admin()
    for path in (*PATHS, "/work?state=retrying"):
        page = console.get(path).text
        assert "<script>" not in page, path
        assert "<b>" not in page, path
    assert name in shown(console, "/")
    assert HOSTILE in shown(console, "/work?queue=material")


# ---------------------------------------------------------------- each page


def test_the_first_page_has_counts_and_what_needs_attention(
    console: ConsoleClient, world: World, sqs: ModelledSqs
) -> None:
    sqs.send_message(QueueUrl="dead-embed", MessageBody="body")
    world.put("junior/learns.yml", b"- no mapping")
    world.runs.take(seconds=60, begin=True)
    world.runs.release(None, [Difference("stale", "a.html", "It differs.", "it is checked")])
    page = shown(console, "/")
    for text in (
        "Pages 1 Explanations 3",
        "1 page cannot be read.",
        "1 change waits.",
        "1 message was given up.",
        "junior/learns.yml",
        "Its pages keep what the last readable version said.",
        "line 1: write materials as keys",
        "another version in the index",
    ):
        assert text in page
    assert re.search(r"bad .*PDF", page)


def test_both_pages_are_there_while_sqs_does_not_answer(world: World, sqs: ModelledSqs) -> None:
    class Away(ModelledSqs):
        def get_queue_attributes(self, **_asked: object) -> dict[str, object]:
            raise EndpointConnectionError(endpoint_url="https://sqs")

    letters = replace(world.queue_states.letters, queues=replace(world.queue_states.letters.queues, sqs=Away()))
    services = replace(world.operation, queues=replace(world.queue_states, letters=letters))
    console = ConsoleClient(world, partial(operation.routes, operation=services)).sign_in_admin()
    for path in PATHS:
        assert "SQS does not answer" in shown(console, path)


@pytest.mark.parametrize(("percent", "is_announced"), [(12.0, False), (81.0, True)])
def test_a_database_that_is_nearly_full_needs_attention(world: World, percent: float, is_announced: bool) -> None:
    pages = partial(operation.routes, operation=replace(world.operation, database_percent=lambda: percent))
    page = ConsoleClient(world, pages).sign_in_admin().get("/").text
    assert f"{percent:.0f} %" in page
    assert ("nearly full" in page) == is_announced


def test_work_is_listed_with_its_reason_and_filtered(console: ConsoleClient, world: World) -> None:
    world.sql.execute(
        "insert into unfinished_work (kind, subject, state, reason, retry_at)"
        " select 'material', 'm' || to_char(n, 'FM00'), 'failed', 'it failed', now() from generate_series(0, 54) n"
    )
    page = shown(console, "/work")
    assert "openai is away Outside system: openai" in page
    assert "waiting (1) to be retried (0) failed (55)" in page
    more = following(console, "/work?state=failed")
    assert more
    assert "state=failed" in more
    rest = shown(console, more)
    assert ("m54" in rest, "m00" in rest, following(console, more)) == (True, False, None)
    for cursor in ("x", "[1]", '["a","b","c"]', '["x","b","c","d"]'):
        assert console.get("/work", params={"after": cursor}).status_code == 422


def test_dead_letters_show_their_reason_and_are_sent_again(
    console: ConsoleClient, world: World, sqs: ModelledSqs
) -> None:
    event = read_event(json.loads(uploaded("a.html")))
    assert event
    subject = event.subject
    assert subject
    world.unfinished.record_dead_letter(subject, "The key was refused")
    for body in (uploaded("a.html"), "not JSON"):
        sqs.send_message(QueueUrl="dead-material", MessageBody=body)
    sqs.send_message(QueueUrl="dead-tool", MessageBody="of another queue")
    assert "Pages (2) Tables (1) Chunks of Tables (0)" in shown(console, "/work")
    for _ in range(2):
        page = shown(console, "/work?queue=material")
        assert "a.html was uploaded (version v1)" in page
        assert "The key was refused" in page
        assert "The message is not JSON" in page
    refused = console.send("/work?queue=material", "/work/material")
    assert (refused.status_code, len(sqs.messages)) == (422, 3)
    done = console.send("/work?queue=material", "/work/material", {"sure": "yes", "action": "send_again"})
    assert "The messages were sent again" in done.text
    assert "There are no dead letters" in done.text
    assert sorted((message.queue, message.body) for message in sqs.messages) == [
        ("dead-tool", "of another queue"),
        ("material", "not JSON"),
        ("material", uploaded("a.html")),
    ]
    assert console.get("/work?queue=pages").status_code == 422


def test_dead_letters_are_discarded(console: ConsoleClient, sqs: ModelledSqs) -> None:
    for number in range(25):
        sqs.send_message(QueueUrl="dead-material", MessageBody=f"forged {number}")
    done = console.send("/work?queue=material", "/work/material", {"sure": "yes", "action": "discard"})
    assert "The messages were discarded" in done.text
    assert sqs.messages == []


def test_messages_show_whether_a_worker_has_them(console: ConsoleClient, world: World, sqs: ModelledSqs) -> None:
    for key in ("a.html", "b.html", "c.html"):
        sqs.send_message(QueueUrl="material", MessageBody=uploaded(key))
    sqs.receive_message(QueueUrl="material", MaxNumberOfMessages=2)
    world.unfinished.renew_lease("m1", "material", uploaded("a.html"), worked=12, seconds=60)
    world.unfinished.renew_lease("m9", "tool", '{"index": {}}', worked=90, seconds=-5)
    page = shown(console, "/work")
    assert "Pages 1 2 1 Tables 0 0 0" in page
    assert re.search(r"a\.html was uploaded \(version v1\) \S+ \S+ UTC at work", page)
    assert "dead; delivered again" in page


def test_a_look_at_many_dead_letters_is_bounded(console: ConsoleClient, sqs: ModelledSqs) -> None:
    for number in range(35):
        sqs.send_message(QueueUrl="dead-material", MessageBody=f"body {number:02}")
    assert "20 of 35 messages are shown." in shown(console, "/work?queue=material")
    assert sum(message.receives for message in sqs.messages) == 20


def test_the_last_night_is_shown_with_its_differences(console: ConsoleClient, world: World) -> None:
    assert "There was none yet" in shown(console, "/")
    world.runs.take(seconds=60, begin=True)
    world.runs.release("x", [Difference("left over", "a", "It has rows.", "they go")], ["tables: away"])
    page = shown(console, "/")
    for text in ("is still running", "rows of the store belong to nothing", "It has rows.", "they go", "tables: away"):
        assert text in page


# ---------------------------------------------------------------- the state, and the last 30 days


def test_the_first_sentence_says_what_cannot_be_found_and_that_the_rest_can(console: ConsoleClient) -> None:
    page = shown(console, "/")
    assert "1 page cannot be read. 1 more thing needs attention. Everything else is searchable." in page
    assert "Correct it for the reason below, then push it again: sakuin push" in page
    assert "1 change waits. This continues by itself. Work" in page


def test_a_deployment_in_order_says_so(a_world: Worlds) -> None:
    world = a_world()
    world.put(PAGE_KEY, a_page(PAGE_BOXES))
    page = shown(ConsoleClient(world, first_page(world)).sign_in_admin(), "/")
    assert "Everything is searchable." in page
    assert "What to do" not in page


def test_a_new_deployment_shows_three_steps(a_world: Worlds) -> None:
    world = a_world()
    page = shown(ConsoleClient(world, first_page(world)).sign_in_admin(), "/")
    assert re.search("Nothing is indexed yet.*sakuin push FOLDER.*sakuin connect.*Ask a question", page)
    assert "The last 30 days" not in page


def test_charts_have_their_numbers_as_tables(world: World) -> None:
    counts = DailyCounts(DailyCountRecords(world.client).write)
    counts.set_caller(None, "public")
    for name, number in (("asked", 10), ("refused", 3), ("weak", 2)):
        counts.add(name, number)
    counts.add_duration("ms", 240)
    counts.write_now()
    world.sql.execute("select add_tokens('embedding', 2000000)")
    pages = partial(operation.routes, operation=replace(world.operation, usd_per_million=(0.13, None)))
    console, today = ConsoleClient(world, pages).sign_in_admin(), datetime.now(UTC).date().isoformat()
    page = shown(console, "/")
    assert f"Day answered weak refused {today} 5 2 3" in page
    assert f"Day 95 % within half within {today} 0.3 s 0.3 s" in page
    assert f"Day embeddings what readers learn {today} 2,000,000 0" in page
    assert "everybody, without a key Library 10 2 3" in page
    assert "cost at most 0.26 US dollars" in page
    html = console.get("/").text
    assert len(re.findall(r'<svg [^>]*role="img" aria-label="[^"]+"', html)) == 3
    # Stacked, the bars of a day are as high as the drawing.
    heights = map(float, re.findall(r"M291 [\d.]+v-([\d.]+)h", html.split("</svg>")[0]))
    assert sum(heights) == pytest.approx(100, abs=0.2)


@pytest.mark.parametrize("is_away", [False, True])
def test_the_menu_counts_unfinished_work_for_admins(world: World, is_away: bool) -> None:
    def counts() -> dict[str, int]:
        if is_away:
            raise Unavailable("Supabase did not answer", vendor="supabase")
        return {"/work": world.unfinished.counts().total}

    menu = shown(ConsoleClient(world, first_page(world), counts=counts).sign_in_admin(), "/")
    assert ("Work and dead letters 1" in menu) is not is_away
