"""Standing questions: events about an answer, beside an oracle that asks every question after every edit."""

import json
import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import psycopg
import pytest
from psycopg.types.json import Jsonb
from sakuin.errors import Invalid, Unavailable
from sakuin.knowledge.model import EVERYTHING, Filters
from sakuin.knowledge.page import TYPE_OF_PREFIX
from sakuin.knowledge.postgres_search import Lexicon, PostgresChunks, Question
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.knowledge.search import SearchKnowledge
from sakuin.language.model import LexiconEntries, LexiconLookup
from sakuin.mcp.callers import Caller
from sakuin.mcp.changes.due_subscriptions import send_due
from sakuin.mcp.changes.event_types import page_events
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.changes.questions import ANSWERED, CHANGED, KeptVectors, StandingQuestions
from sakuin.mcp.changes.send_webhooks import SendWebhooks
from sakuin.mcp.changes.subscriptions import Subscriptions, subscription_id
from sakuin.mcp.changes.webhooks import Callback, Webhooks
from sakuin.platform.sqs import SqsQueue
from sakuin.retrieval.vectors import text_hash
from sakuin.upkeep.refused_questions import WatchedGaps

from tests.builders import a_page
from tests.doubles.queue import MessageList
from tests.effort import EFFORT
from tests.emptied import emptied
from tests.worlds import World, Worlds

# Folders of pages and of labelled questions.
FOLDERS = [Path(name) for name in os.environ.get("SAKUIN_PAGES", "samples tests/labels").split()]
# Of the questions beside the oracle, which take an hour together.
PARTS = 1 if EFFORT == 1 else 4
PREFIXES = {kind: prefix for prefix, kind in TYPE_OF_PREFIX.items()}


@pytest.fixture
def world(a_world: Worlds, sql: psycopg.Connection) -> Iterator[World]:
    emptied(sql)
    yield a_world()
    emptied(sql)


@pytest.fixture
def many(world: World) -> Iterator[World]:
    """Whoever subscribes may have many questions."""
    world.sql.execute("select set_quotas('{\"subscriptions\": 5000}')")
    yield world
    world.sql.execute("select set_quotas('{\"subscriptions\": 100}')")


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


@pytest.mark.scenario("knowledge-index/a-standing-question-is-told-when-its-answer-changes")
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


@dataclass(frozen=True)
class Session:
    """A client of SQL functions that return JSON, without PostgREST: an oracle asks 60,000 questions."""

    sql: psycopg.Connection

    def rpc(self, function: str, arguments: Mapping[str, Any]) -> Any:
        named = {name: value for name, value in arguments.items() if value is not None}
        values = [Jsonb(value) if name in ("p_slots", "p_words") else value for name, value in named.items()]
        call = f"select {function}({', '.join(f'{name} => %s' for name in named)})"
        ((data,),) = self.sql.execute(call.encode(), values).fetchall()
        answered = SimpleNamespace(status=200, data=json.dumps(data).encode())
        return SimpleNamespace(send=lambda _request: answered)


class SharedSearch:
    """The search of a world for many questions. Vectors are computed once, and a text is read once between two edits.

    If it is frozen, what the index says of words and of unrelated texts never changes.
    """

    def __init__(self, world: World, *, is_frozen: bool) -> None:
        session: Any = Session(world.sql)
        self.is_frozen, self.stored = is_frozen, world.searched.chunks
        self.chunks, self.lexicon = PostgresChunks(session), Lexicon(session)
        self.statistics: dict[tuple[float, ...], Mapping[str, Any]] = {}
        self.words: dict[str, LexiconEntries] = {}
        self.shown: dict[str, Mapping[str, Any]] = {}
        search = world.knowledge_search()
        index, embedder = replace(search.index, chunks=self), KeptVectors(search.embedder)
        self.search = replace(search, lexicon=self, index=index, embedder=embedder)

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        return self.search

    def look_up(self, query: str, words: LexiconLookup, filters: Filters = EVERYTHING) -> LexiconEntries:
        if not self.is_frozen:
            return self.lexicon.look_up(query, words, filters)
        if query not in self.words:
            self.words[query] = self.lexicon.look_up(query, words, filters)
        return self.words[query]

    def candidates(self, question: Question) -> Mapping[str, Any]:
        rows = self.chunks.candidates(question)
        kept = {name: rows[name] for name in ("total", "frequency", "cosines")}
        return {**rows, **self.statistics.setdefault(tuple(question.vector or ()), kept)} if self.is_frozen else rows

    def texts(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        self.shown.update(self.stored.texts([id for id in ids if id not in self.shown]))
        return {id: self.shown[id] for id in ids if id in self.shown}


@dataclass(frozen=True)
class Pages:
    """What is written: explanations by page and anchor, further texts of explanations, and questions."""

    pages: Mapping[str, Mapping[str, str]]
    texts: Sequence[str]
    questions: Sequence[str]


def real_pages(*folders: Path) -> Pages:
    """The pages of folders with every second explanation, the texts of all, and the questions of files and titles."""
    pages: dict[str, dict[str, str]] = {}
    texts, titles, asked = [], [], []
    for folder in folders:
        for file in sorted(folder.rglob("*.html")):
            page = pages.setdefault(file.relative_to(folder.parent).as_posix(), {})
            for number, each in enumerate(read_page(file.read_bytes()).explanations):
                title = each.title.replace(": ", " ")
                texts.append(escape(f"{title}: {each.content}"))
                titles.append(title)
                if number % 2 == 0:
                    page[f"{PREFIXES[each.type]}-{number}"] = texts[-1]
        for file in sorted(folder.rglob("*.jsonl")):
            asked += [json.loads(line)["query"] for line in file.read_text("utf-8").splitlines()]
    draw = random.Random(26)
    questions = list(dict.fromkeys([*asked, *titles]))
    draw.shuffle(questions)
    return Pages({name: page for name, page in pages.items() if page}, texts, questions)


class Library:
    """A library that is edited at random, and its subscriptions to questions."""

    def __init__(self, world: World, content: Pages, *, is_frozen: bool = False, seed: int = 26) -> None:
        self.world, self.random, self.content, self.pages = world, random.Random(seed), content, dict[str, Any]()
        self.searches = SharedSearch(world, is_frozen=is_frozen)
        feed = ChangeFeed(world.client, world.read.url)
        self.types = page_events(feed, StandingQuestions(self.searches, feed))
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
        for name, page in content.pages.items():
            self.put(name, page)

    def put(self, name: str, page: Mapping[str, str]) -> None:
        self.pages[name] = page
        self.world.put(name, a_page(page))

    def answer(self, question: str) -> tuple[str, ...]:
        """What the library answers now: the id and the hash of the text, or nothing."""
        found = self.searches.knowledge_search()(question, top_k=1)
        return () if found.no_good_match else (found.results[0].id, text_hash(found.results[0].content))

    def edit(self) -> None:
        """Changes, adds or removes an explanation, or removes a page or adds it again."""
        name, kind = self.random.choice(list(self.pages)), self.random.random()
        page = dict(self.pages[name])
        if kind < 0.1 and page:
            self.world.bucket.remove(name)
            self.world.settle()
            self.pages[name] = {}
            return
        anchor = f"{self.random.choice([*PREFIXES.values()])}-{self.random.randrange(6)}"
        page[self.random.choice([*page, anchor])] = self.random.choice(self.content.texts)
        if kind > 0.8:
            page.pop(self.random.choice(list(page)))
        self.put(name, page or {"rule-0": self.content.texts[0]})

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
        self.searches.shown.clear()
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
    library = Library(world, Pages({}, ["判別式: 判別式の符号で解の個数を調べる。"], []))
    library.subscribe("判別式の意味は何か")
    world.put("x.html", a_page({"rule-a": library.content.texts[0]}))
    library.deliver()
    world.put("x.html", a_page({"rule-b": "判別式: 判別式の意味は解の個数である。"}))
    for _ in range(2):
        assert send_due(world.client, library.queue, 10, match=False) == 1
    assert [body for body, _ in library.queue.client.sent] == [{"subscription": "", "attempt": 0}] * 2
    # Two messages that wake, and one for the question.
    assert library.deliver() == 3


@pytest.mark.scenario("knowledge-index/a-watched-gap-is-told-when-it-is-closed")
def test_a_watched_gap_is_told_to_everybody_who_follows_the_feed(world: World) -> None:
    question, watched = "判別式で解の個数を調べるには", WatchedGaps(world.client)
    library = Library(world, Pages({}, [], []))
    everywhere, inside = (library.types.within(folder) for folder in ("", "junior"))
    begins = [types.after(None, "gap.answered", {}, None, 1).cursor for types in (everywhere, inside)]
    world.put("y.html", a_page({"tip-a": "検算: 代入して確かめる。"}))
    watched.watch(question)
    watched.watch(question)
    assert library.deliver() == 1
    assert [(one.question, one.answer) for one in watched.all()] == [(question, None)]
    world.put("x.html", a_page({"rule-b": "判別式: 判別式の符号で解の個数を調べる。"}))
    library.deliver()
    assert [(one.question, one.answer) for one in watched.all()] == [(question, "x#rule-b")]
    told, hidden = (
        types.after(None, "gap.answered", {}, cursor, 5).events
        for types, cursor in zip((everywhere, inside), begins, strict=True)
    )
    assert [
        event["data"].items() >= {"id": question, "answer": "x#rule-b", "title": "判別式"}.items() for event in told
    ]
    assert told[0]["data"]["url"].endswith("x.html#rule-b")
    assert (len(told), hidden, Recorded.messages) == (1, [], [])
    world.put("x.html", a_page({"rule-b": "判別式: 判別式の符号で、解の個数を調べる。"}))
    assert library.deliver() == 0
    watched.watch("ほかの質問")
    watched.forget("ほかの質問")
    assert [one.question for one in watched.all()] == [question]


@dataclass
class Counts:
    """Of pairs of a question and an edit: what changed, what was told otherwise, and what was asked."""

    pairs: int = 0
    changed: int = 0
    missed: int = 0
    false: int = 0
    asked: int = 0


def beside_an_oracle(library: Library, questions: Sequence[str], edits: int) -> Counts:
    """Edits a library, and asks every question after every edit."""
    ids = {question: library.subscribe(question) for question in questions}
    library.edit()
    library.deliver()
    answers = {question: library.answer(question) for question in questions}
    counts = Counts()
    for _ in range(edits):
        Recorded.messages.clear()
        library.edit()
        counts.asked += library.deliver()
        told = Counter(id for id, _ in Recorded.messages)
        for question in questions:
            before, answers[question] = answers[question], library.answer(question)
            is_changed = before != answers[question]
            counts.changed += is_changed
            counts.missed += is_changed and not told[ids[question]]
            counts.false += max(0, told[ids[question]] - is_changed)
            counts.pairs += 1
    print(counts)
    # What rarer words changed is found within a day.
    library.world.sql.execute("update event_subscription set asked_at = asked_at - interval '2 days'")
    library.deliver()
    for question, id in ids.items():
        (cursor,) = library.world.sql.execute("select cursor from event_subscription where id = %s", (id,)).fetchall()[
            0
        ]
        assert tuple(json.loads(cursor.partition(".")[2])[2]) == answers[question]
    return counts


@pytest.mark.scenario("knowledge-index/a-standing-question-is-told-when-its-answer-changes")
@pytest.mark.parametrize("is_frozen", [True, False], ids=["frozen", "live"])
@pytest.mark.parametrize("part", range(PARTS))
def test_changes_of_answers_are_told_and_few_questions_are_asked(many: World, part: int, is_frozen: bool) -> None:
    """15 questions and 10 edits, in `make proofs` 300 and 200: the same edits for each part of the questions.

    While the statistics of words and of unrelated texts are frozen, nothing is missed, and nothing told without a
    change. With live ones a few are: a rate that only the long form has enough pairs for, and that the next day's pass
    corrects.
    """
    content = real_pages(*FOLDERS)
    library = Library(many, content, is_frozen=is_frozen)
    counts = beside_an_oracle(library, content.questions[part : 15 * EFFORT : PARTS], 10 * EFFORT)
    assert counts.changed
    if is_frozen or EFFORT > 1:
        assert counts.missed + counts.false <= (0 if is_frozen else counts.pairs // 100)
    assert counts.asked < counts.pairs / 8


@pytest.mark.skipif(EFFORT == 1, reason="2,000 questions take minutes: make proofs")
def test_of_many_standing_questions_few_are_asked(many: World) -> None:
    """2,000 questions and 500 edits in `make proofs`. Three explanations of each question are watched."""
    content = real_pages(*FOLDERS)
    library = Library(many, content)
    for number in range(100 * EFFORT):
        again, place = divmod(number, len(content.questions))
        library.subscribe(content.questions[place] + " again" * again)
    library.deliver()
    asked, edits = 0, 25 * EFFORT
    for _ in range(edits):
        library.edit()
        asked += library.deliver()
    share, explanations = asked / (100 * EFFORT * edits), sum(map(len, library.pages.values()))
    print(f"{explanations} explanations, {share:.2%} of the questions asked")
    assert share <= 0.002 + 8 / explanations
