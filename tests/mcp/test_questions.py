"""Standing questions: events about an answer, beside an oracle that asks every question after every edit."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import psycopg
import pytest
from sakuin.errors import Invalid, Unavailable
from sakuin.mcp.changes.due_subscriptions import send_due
from sakuin.mcp.changes.event_types import page_events
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.changes.questions import ANSWERED, CHANGED, StandingQuestions
from sakuin.mcp.changes.send_webhooks import SendWebhooks
from sakuin.mcp.changes.subscriptions import Caller, Subscriptions, subscription_id
from sakuin.mcp.changes.webhooks import Callback, Webhooks
from sakuin.platform.sqs import SqsQueue
from sakuin.retrieval.vectors import text_hash

from tests.builders import a_page
from tests.doubles.queue import MessageList
from tests.effort import EFFORT
from tests.emptied import emptied
from tests.worlds import World, Worlds

WORDS = [
    *("接線", "傾き", "判別式", "平方", "因数", "頂点", "軸", "対称", "漸化式", "極限"),
    *("積分", "面積", "確率", "期待値", "分散", "ベクトル", "内積", "行列", "複素数", "対数"),
]
TEXTS = ["{a}の{b}は{c}から求める。", "{a}を{b}で割ると{c}が残る。", "{c}が正なら{a}は{b}より大きい。"]


@pytest.fixture
def world(a_world: Worlds, sql: psycopg.Connection) -> Iterator[World]:
    emptied(sql)
    yield a_world()
    emptied(sql)


@dataclass
class Follower:
    """Follows a question by its cursor, and notes what it was told."""

    world: World
    question: str
    name: str
    folder: str = ""
    cursor: str | None = None
    told: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        feed = ChangeFeed(self.world.client, self.world.read.url)
        self.types = page_events(feed, StandingQuestions(self.world, feed)).within(self.folder)
        self.look()

    def look(self) -> list[Mapping[str, Any]]:
        happened = self.types.after(None, self.name, {"question": self.question}, self.cursor, 1)
        self.cursor = happened.cursor
        self.told += happened.events
        return list(happened.events)

    def states(self) -> list[str]:
        return [event["data"]["state"] for event in self.told]


def answer_of(world: World, question: str) -> tuple[str, ...]:
    """What the library answers now: the id and the hash of the text, or nothing."""
    found = world.search(question, top_k=1)
    return () if found.no_good_match else (found.results[0].id, text_hash(found.results[0].content))


def test_the_first_answer_another_text_and_its_end_are_told(world: World) -> None:
    question = "判別式で解の個数を調べるには"
    world.put("y.html", a_page({"tip-a": "検算: 代入して確かめる。"}))
    first, other = (Follower(world, question, name) for name in (ANSWERED, CHANGED))
    world.put("x.html", a_page({"rule-a": "判別式: 判別式の符号で解の個数を調べる。"}))
    (answered,) = first.look()
    assert answered["data"]["id"] == "x#rule-a"
    assert answered["data"]["url"].endswith("x.html#rule-a")
    other.look()
    world.put("x.html", a_page({"rule-a": "判別式: 判別式の符号を見て、解の個数を調べる。"}))
    assert (first.look(), [event["data"]["state"] for event in other.look()]) == ([], ["changed"])
    world.bucket.remove("x.html")
    world.settle()
    first.look()
    other.look()
    assert (first.states(), other.states()) == (["answered"], ["answered", "changed", "gone"])
    assert other.told[-1]["data"].keys() == {"question", "state"}


def test_the_same_cursor_gives_the_same_event_and_nothing_new_costs_no_question(world: World) -> None:
    world.put("y.html", a_page({"tip-a": "検算: 代入して確かめる。"}))
    follower = Follower(world, "判別式で解の個数を調べるには", ANSWERED)
    cursor = follower.cursor
    world.put("x.html", a_page({"rule-a": "判別式: 判別式の符号で解の個数を調べる。"}))
    (event,) = follower.look()
    again = replace(follower, cursor=cursor)
    again.cursor = cursor
    assert again.look()[0]["eventId"] == event["eventId"]
    calls = world.embedder.calls
    assert (follower.look(), world.embedder.calls) == ([], calls)


def test_what_is_not_in_the_folder_of_the_key_answers_nothing(world: World) -> None:
    world.put("junior/y.html", a_page({"tip-a": "検算: 代入して確かめる。"}))
    inside, everywhere = (
        Follower(world, "判別式で解の個数を調べるには", ANSWERED, folder) for folder in ("junior", "")
    )
    world.put("senior/x.html", a_page({"rule-a": "判別式: 判別式の符号で解の個数を調べる。"}))
    assert (len(inside.look()), len(everywhere.look())) == (0, 1)


def test_while_questions_cannot_be_embedded_nothing_is_told(world: World) -> None:
    world.put("x.html", a_page({"rule-a": "判別式: 判別式の符号で解の個数を調べる。"}))
    follower = Follower(world, "判別式で解の個数を調べるには", CHANGED)
    world.put("y.html", a_page({"tip-a": "検算: 代入して確かめる。"}))

    def away(_text: str) -> Any:
        raise Unavailable("away")

    world.embedder.query = away  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        follower.look()
    del world.embedder.query  # type: ignore[method-assign]
    assert follower.look() == []


@pytest.mark.parametrize("arguments", [{}, {"question": ""}, {"question": 5}, {"question": "a" * 2000}, {"q": "a"}])
def test_what_is_no_question_is_an_error(world: World, arguments: dict[str, Any]) -> None:
    feed = ChangeFeed(world.client, world.read.url)
    with pytest.raises(Invalid):
        page_events(feed, StandingQuestions(world, feed)).check(ANSWERED, arguments)


class Recorded(Webhooks):
    """Keeps messages instead of sending them."""

    messages: ClassVar[list[tuple[str, Mapping[str, Any]]]] = []

    async def send(self, to: Callback, id: str, message: Mapping[str, Any]) -> bytes:
        self.messages.append((to.subscription, message))
        return b""


class Library:
    """A library that is edited at random, and its subscriptions to questions."""

    def __init__(self, world: World, pages: int, seed: int = 26) -> None:
        self.world, self.random, self.pages, self.count = world, random.Random(seed), {}, pages
        feed = ChangeFeed(world.client, world.read.url)
        self.types = page_events(feed, StandingQuestions(world, feed))
        self.subscriptions = Subscriptions(world.client, lambda: "key")
        self.queue = SqsQueue(MessageList(), "webhook")
        everything = Caller(None, "", "key:k")
        self.work = SendWebhooks(
            self.subscriptions,
            self.types,
            self.types,
            lambda _principal, _mcp_id: everything,
            Recorded(),
            self.queue,
            lambda _payer, _events: None,
        )
        Recorded.messages.clear()
        for number in range(pages):
            self.put(f"p{number}.html", {f"rule-{place}": self.text() for place in range(4)})

    def text(self) -> str:
        a, b, c = self.random.sample(WORDS, 3)
        return f"{a}: {self.random.choice(TEXTS).format(a=a, b=b, c=c)}"

    def question(self) -> str:
        return "の".join(self.random.sample(WORDS, 2)) + f"{self.random.choice(['', '求め方', '例', '意味'])}は何か"

    def put(self, name: str, page: dict[str, str]) -> None:
        self.pages[name] = page
        self.world.put(name, a_page(page))

    def edit(self) -> None:
        """Changes, adds or removes an explanation, or removes a page or adds it again."""
        name, kind = f"p{self.random.randrange(self.count)}.html", self.random.random()
        page = dict(self.pages.get(name, {}))
        if kind < 0.1 and page:
            self.world.bucket.remove(name)
            self.world.settle()
            self.pages[name] = {}
            return
        page[f"rule-{self.random.randrange(6)}"] = self.text()
        if kind > 0.8:
            page.pop(self.random.choice(list(page)))
        self.put(name, page or {"rule-0": self.text()})

    def subscribe(self, question: str) -> str:
        """Returns the id of a new subscription to the changes of an answer."""
        arguments = {"question": question}
        begins = self.types.after(None, CHANGED, arguments, None, 1)
        id = subscription_id("key:k", None, "https://example.com/", CHANGED, arguments)
        row = {"id": id, "principal": "key:k", "payer": "k", "owner": "", "mcp_id": None, "name": CHANGED}
        row |= {"arguments": arguments, "url": "https://example.com/", "not_before": None}
        row |= {"cursor": begins.cursor, "position": begins.position}
        self.subscriptions.save(row, "whsec_c2VjcmV0", replaced=None, seconds=86_400, verified=True)
        return id

    def deliver(self) -> int:
        """Delivers all messages; returns how many questions were asked."""
        sent: list[Any] = self.queue.client.sent
        count = 0
        while send_due(self.world.client, self.queue, 1000) or sent:
            messages = [body for body, _ in sent]
            sent.clear()
            count += len(messages)
            for body in messages:
                self.work.process(self.work.read(body))
        return count


def test_a_worker_of_pages_compares_no_question_and_wakes_one_that_does(world: World) -> None:
    library = Library(world, pages=1)
    library.subscribe("判別式の意味は何か")
    world.put("x.html", a_page({"rule-a": library.text()}))
    library.deliver()
    world.put("x.html", a_page({"rule-b": "判別式: 判別式の意味は解の個数である。"}))
    for _ in range(2):
        assert send_due(world.client, library.queue, 10, match=False) == 1
    assert [body for body, _ in library.queue.client.sent] == [{"subscription": "", "attempt": 0}] * 2
    # Two messages that wake, and one for the question.
    assert library.deliver() == 3


def test_beside_an_oracle_changes_of_answers_are_told_and_few_questions_are_asked(
    world: World, sql: psycopg.Connection
) -> None:
    """15 questions and 10 edits, in `make proofs` 300 and 200."""
    sql.execute("select set_quotas('{\"subscriptions\": 1000}')")
    library = Library(world, pages=20)
    questions = list(dict.fromkeys(library.question() for _ in range(15 * EFFORT)))
    ids = {question: library.subscribe(question) for question in questions}
    answers = {question: answer_of(world, question) for question in questions}
    library.edit()
    library.deliver()
    Recorded.messages.clear()
    answers = {question: answer_of(world, question) for question in questions}
    asked = told = wrong = 0
    for _ in range(10 * EFFORT):
        library.edit()
        asked += library.deliver()
        received = Counter(id for id, _ in Recorded.messages)
        Recorded.messages.clear()
        for question in questions:
            new = answer_of(world, question)
            told += new != answers[question]
            wrong += received[ids[question]] != (new != answers[question])
            answers[question] = new
    pairs = len(questions) * 10 * EFFORT
    print(f"{told} changes of answers, {wrong} differences; {asked} of {pairs} questions asked")
    assert told
    assert wrong <= max(1, pairs // 100)
    assert asked < pairs / 2
    # What rarer words changed is found within a day.
    sql.execute("update event_subscription set asked_at = asked_at - interval '2 days'")
    library.deliver()
    for question, id in ids.items():
        cursor = sql.execute("select cursor from event_subscription where id = %s", (id,)).fetchall()[0][0]
        assert tuple(json.loads(cursor.partition(".")[2])[2]) == answers[question]
    sql.execute("select set_quotas('{\"subscriptions\": 100}')")
