"""The console's first page: what it shows in both languages."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest
from botocore.exceptions import EndpointConnectionError
from psycopg.types.json import Jsonb
from sakuin.console.charts import axis
from sakuin.platform.waiting import WorkRow
from sakuin.texts.catalogue import stored
from sakuin.upkeep.daily_counts import DailyCountRecords, DailyCounts

from tests.builders import a_page
from tests.console.console_client import ConsoleClient
from tests.doubles.sqs import ModelledSqs
from tests.worlds import PAGE_BOXES, PAGE_KEY, World, Worlds

MATERIAL = "junior/二次方程式の解き方_教材"
HOSTILE = '<script>alert("1")</script>'
USER = "00000000-0000-4000-8000-0000000000aa"


def waits(world: World, material: str, reason: str) -> None:
    """Lets a page wait for openai."""
    since = datetime.now(UTC).isoformat()
    world.work_records.wait(WorkRow("page", material), "m1", since=since, reason=reason, vendor="openai", seconds=60)


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A library with a good page, one that cannot be read, and one that waits."""
    world = a_world()
    world.bucket.now = datetime.now(UTC) - timedelta(seconds=7)
    world.put(PAGE_KEY, a_page(PAGE_BOXES))
    world.put("bad.html", b"%PDF-1.7")
    waits(world, MATERIAL, "openai is away")
    return world


@pytest.fixture
def console(world: World) -> ConsoleClient:
    return ConsoleClient(world).sign_in_admin()


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


# ---------------------------------------------------------------- every page


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_page_is_in_the_reader_s_language(world: World, language: str) -> None:
    world.sqs.send_message(QueueUrl="dead-material", MessageBody="a message")
    page = ConsoleClient(world, language=language).sign_in_admin().get("/").text
    assert f'<html lang="{language}">' in page
    heading = re.search(r"<h1>(.*?)</h1>", page)
    assert heading
    assert bool(re.search("[\u3040-\u30ff\u4e00-\u9fff]", heading[1])) is (language == "ja")
    # No inline style or script: the policy forbids them.
    assert not re.search(r"<[^>]* (?:style|on\w+)=|<style|<script>", page)


def test_users_see_nothing_of_operation(world: World) -> None:
    console = ConsoleClient(world).sign_in_user(USER)
    page = console.get("/").text
    assert MATERIAL not in page
    assert "openai is away" not in page


def test_texts_of_pages_messages_and_vendors_are_no_markup(world: World) -> None:
    world.sqs.send_message(QueueUrl="dead-material", MessageBody=HOSTILE)
    name = f"{HOSTILE}'\"><b>"
    world.put(f"{name}.html", b"%PDF-1.7")
    world.sql.execute("update material set error = %s where status = 'failed'", [Jsonb(stored(HOSTILE))])
    waits(world, MATERIAL, HOSTILE)
    console = ConsoleClient(world).sign_in_admin()
    page = console.get("/").text
    assert "<script>" not in page
    assert "<b>" not in page
    assert name in shown(console, "/")


# ---------------------------------------------------------------- each page


def test_the_first_page_has_counts_and_what_needs_attention(console: ConsoleClient, world: World) -> None:
    world.sqs.send_message(QueueUrl="dead-embed", MessageBody="body")
    world.put("junior/learns.yml", b"- no mapping")
    page = shown(console, "/")
    for text in (
        "Pages 1 · Sections 3",
        "1 page cannot be read.",
        "1 change waits.",
        "1 message was given up.",
        "junior/learns.yml",
        "Its pages keep what the last readable version said.",
        "line 1: write materials as keys",
    ):
        assert text in page
    assert re.search(r"bad .*PDF", page)


def test_the_page_is_there_while_sqs_does_not_answer(world: World) -> None:
    class Away(ModelledSqs):
        def get_queue_attributes(self, **_asked: object) -> dict[str, object]:
            raise EndpointConnectionError(endpoint_url="https://sqs")

    services = replace(world.services, queues=replace(world.queue_states, sqs=Away()))
    console = ConsoleClient(world, services).sign_in_admin()
    assert "SQS does not answer" in shown(console, "/")


@pytest.mark.parametrize(("percent", "is_requested"), [(12.0, False), (81.0, True)])
def test_a_database_that_is_nearly_full_needs_attention(world: World, percent: float, is_requested: bool) -> None:
    size = world.sql.execute("select database_bytes()").fetchone()
    assert size
    most_bytes = round(100 * size[0] / percent)
    page = ConsoleClient(world, most_bytes=most_bytes).sign_in_admin().get("/").text
    # The database may have grown meanwhile.
    after = world.sql.execute("select database_bytes()").fetchone()
    assert after
    assert any(f"{100 * each / most_bytes:.0f} %" in page for each in (size[0], after[0]))
    assert ("nearly full" in page) == is_requested


# ---------------------------------------------------------------- the state, and the last 30 days


def test_the_first_sentence_says_what_cannot_be_found_and_that_the_rest_can(console: ConsoleClient) -> None:
    page = shown(console, "/")
    assert "1 page cannot be read. 1 more thing needs attention. Everything else is searchable." in page
    assert "Correct it, then push it again. The last good version still answers. bad" in page
    assert "1 change waits. This continues by itself. 1 : openai is away sakuin status" in page


def test_a_deployment_in_order_says_so(a_world: Worlds) -> None:
    world = a_world()
    world.put(PAGE_KEY, a_page(PAGE_BOXES))
    page = shown(ConsoleClient(world).sign_in_admin(), "/")
    assert "Everything is searchable." in page
    assert "Nothing needs attention." in page


def test_a_new_deployment_loads_a_sample_and_asks_it(a_world: Worlds) -> None:
    world = a_world()
    console = ConsoleClient(world).sign_in_admin()
    page = shown(console, "/")
    assert re.search(
        "Nothing is indexed yet.*sakuin push FOLDER.*sakuin connect.*Load the sample.*Ask the sample", page
    )
    assert "95 % within this" not in page
    console.send("/", "/pages/sample")
    world.settle()
    assert "Everything is searchable." in shown(console, "/")
    assert "Connect an agent" in shown(console, "/pages/page?material=sakuin-sample")


def test_what_waits_in_a_queue_is_not_searchable_yet(a_world: Worlds) -> None:
    world = a_world()
    world.put(PAGE_KEY, a_page(PAGE_BOXES))
    console = ConsoleClient(world).sign_in_admin()
    for number in range(2):
        world.sqs.send_message(QueueUrl="material", MessageBody=f"message {number}")
    for path in ("/", "/live"):
        page = shown(console, path)
        assert "2 changes are being indexed. Everything else is searchable." in page
        assert "Everything is searchable." not in page


def test_the_month_has_figures_and_its_days_a_chart_with_their_numbers_as_a_table(world: World) -> None:
    counts = DailyCounts(DailyCountRecords(world.client).write)
    counts.set_caller(None, "public")
    for name, number in (("asked", 10), ("refused", 3), ("weak", 2)):
        counts.add(name, number)
    counts.add_duration("ms", 240)
    counts.add_duration("fresh", 4_000_000)
    counts.write_now()
    world.sql.execute("select add_tokens('embedding', 2000000)")
    console = ConsoleClient(world, usd_per_million=(0.13, None)).sign_in_admin()
    today = datetime.now(UTC).date().isoformat()
    page = shown(console, "/")
    assert f"Day answered weak no match {today} 5 2 3" in page
    assert "Questions 10 10 today" in page
    assert "Answered 50.0 % 5 without a good answer" in page
    assert "Answer, p95 300 ms" in page
    # Whatever takes longer than the last edge has no number.
    assert "Upload → searchable, p95 > 1 h" in page
    assert "at most $0.26 2,000,000 tokens" in page
    assert "everybody, without a key Library 10 2 3" in page
    html = console.get("/").text
    (day,) = re.findall(rf'<a href="/console/gaps\?day={today}" tabindex="-1".*?</a>', html)
    assert f'data-tip="{today}: answered 5 · weak 2 · no match 3"' in day
    # The axis ends at 10 or above, and the bars of a day stand on each other.
    heights = [float(height) for height in re.findall(r'class="(?:good|busy|bad)" [^>]*height="([\d.]+)"', day)]
    assert heights == pytest.approx([5 / 12 * 100, 2 / 12 * 100, 3 / 12 * 100], abs=0.1)


@pytest.mark.parametrize(
    ("most", "numbers"), [(0, [4, 3, 2, 1, 0]), (171, [200, 150, 100, 50, 0]), (378, [400, 300, 200, 100, 0])]
)
def test_the_axis_of_a_chart_has_round_numbers(most: int, numbers: list[int]) -> None:
    assert axis(most) == numbers
