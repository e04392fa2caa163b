"""Standing questions: events about an answer, beside an oracle that asks every question after every edit."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
import pytest
from sakuin.errors import Invalid, Unavailable
from sakuin.mcp.changes.event_types import page_events
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.changes.questions import ANSWERED, CHANGED, StandingQuestions
from sakuin.retrieval.vectors import text_hash

from tests.builders import a_page
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


def test_beside_an_oracle_no_change_of_an_answer_is_missed_or_invented(world: World) -> None:
    """As many questions and edits as the effort allows: 15 and 10, in `make proofs` 300 and 200."""
    random_ = random.Random(26)
    questions, edits = 15 * EFFORT, 10 * EFFORT

    def a_text() -> str:
        a, b, c = random_.sample(WORDS, 3)
        return f"{a}: {random_.choice(TEXTS).format(a=a, b=b, c=c)}"

    def edit() -> None:
        name = f"p{random_.randrange(8)}.html"
        kind = random_.random()
        if kind < 0.2 and name in pages:
            pages.pop(name)
            world.bucket.remove(name)
            world.settle()
            return
        page = pages.setdefault(name, {})
        page[f"rule-{random_.randrange(4)}"] = a_text()
        if kind > 0.8:
            page.pop(random_.choice(list(page)))
        world.put(name, a_page(page or {"rule-0": a_text()}))

    pages: dict[str, dict[str, str]] = {}
    for _ in range(6):
        edit()
    followers = [
        Follower(world, f"{random_.choice(WORDS)}の{random_.choice(WORDS)}の求め方", CHANGED) for _ in range(questions)
    ]
    answers = [answer_of(world, each.question) for each in followers]
    told = 0
    for _ in range(edits):
        edit()
        for place, follower in enumerate(followers):
            new = answer_of(world, follower.question)
            expected = (
                [] if new == answers[place] else ["answered" if not answers[place] else "changed" if new else "gone"]
            )
            assert [event["data"]["state"] for event in follower.look()] == expected, follower.question
            answers[place] = new
            told += len(expected)
    assert told > edits / 2
    assert all(len({event["eventId"] for event in each.told}) == len(each.told) for each in followers)
