"""Learns of a language model: the page first, then small calls in messages that may come twice, late, or never."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import psycopg
import pytest
from sakuin.errors import Refused, Unavailable
from sakuin.knowledge.learns.instructions import Section
from sakuin.knowledge.messages import AskLearns
from sakuin.knowledge.postgres import PAGES_AT_ONCE
from sakuin.platform.openai.budget import DailyTokens

from tests.builders import a_page
from tests.convergence.passing import A_DAY, A_MINUTE, AN_HOUR, time_passes
from tests.doubles.learns_model import MemoryLearnsModel
from tests.worked_queue import Killed, WorkedQueue
from tests.worlds import World, Worlds

KEY, MATERIAL = "a.html", "a"
ITEMS = ("甲の方法", "乙の方法", "丙の方法")
ONE, TWO = a_page({"rule-a": "解の公式: 一の版。"}), a_page({"rule-a": "解の公式: 二の版。"})
FIVE_MINUTES = 301
MOST_CALLS = 8


@dataclass
class Model(MemoryLearnsModel):
    """Answers the same for each text. `during` happens in a call; `poison` is an anchor that spoils its call."""

    during: Callable[[], object] = lambda: None
    error: Exception | None = None
    poison: str = ""
    require_budget: Callable[[], None] = lambda: None
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def learns(self, sections: Sequence[Section]) -> Mapping[str, tuple[str, ...]]:
        self.require_budget()
        super().learns(sections)
        self.during()
        anchors = [one.anchor for one in sections]
        if self.error or self.poison in anchors:
            raise self.error or Unavailable("no usable answer", vendor="openai")
        return dict.fromkeys(anchors, ITEMS)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def world(a_world: Worlds, model: Model) -> World:
    return a_world(model=model)


def sources(world: World, material: str = MATERIAL) -> list[str]:
    return [chunk.learns.source for chunk in world.chunks(material)]


def numbered(count: int) -> bytes:
    """A page of so many explanations."""
    return a_page({f"rule-{number:03}": f"公式{number}: 第{number}の係数を代入する。" for number in range(count)})


def pass_time(world: World, seconds: int) -> None:
    """Lets time pass, with maintenance and workers."""
    time_passes(world.sql, seconds)
    world.ask_model()


def pending(world: World) -> int:
    (rows,) = world.rows("pending_learns")
    return len(rows)


def test_a_page_is_searchable_before_any_call(world: World, model: Model) -> None:
    version = world.put(KEY, ONE)
    assert (world.upload_result(KEY, version).outcome, sources(world), model.asked) == ("applied", ["provisional"], 0)
    assert [hit.id for hit in world.search("解の公式", top_k=5).results] == ["a#rule-a"]
    world.ask_model()
    assert (world.chunks()[0].learns.items, sources(world), pending(world)) == (ITEMS, ["model"], 0)


@pytest.mark.parametrize(("count", "groups"), [(1, [1]), (6, [6]), (7, [4, 3]), (14, [5, 5, 4])])
def test_a_call_has_four_to_six_explanations_in_order(
    world: World, model: Model, count: int, groups: list[int]
) -> None:
    world.put(KEY, numbered(count))
    world.ask_model()
    assert [len(group) for group in model.groups] == groups
    assert [anchor for group in model.groups for anchor in group] == [f"rule-{number:03}" for number in range(count)]
    assert sources(world) == ["model"] * count


def test_a_changed_explanation_costs_one_text(world: World, model: Model) -> None:
    world.put(KEY, a_page({"rule-a": "公式: 一。", "tip-b": "コツ: 二。"}))
    world.ask_model()
    world.put(KEY, a_page({"rule-a": "公式: 一。", "tip-b": "コツ: 三。"}))
    assert sources(world) == ["model", "provisional"]
    world.ask_model()
    assert (model.groups, sources(world)) == ([("rule-a", "tip-b"), ("tip-b",)], ["model", "model"])


def test_few_messages_of_a_large_upload_are_in_the_queue(world: World, model: Model) -> None:
    for number in range(7):
        world.put(f"{number}.html", a_page({"rule-a": f"公式: {number}。"}))
    assert [world.send_learns(), world.send_learns()] == [PAGES_AT_ONCE, 0]
    # Each page that is done makes room for the next.
    world.settle()
    assert (model.asked, pending(world)) == (7, 0)


# ---------------------------------------------------------------- twice, late, changed, deleted, killed


def test_a_message_that_comes_twice_at_the_same_time_pays_once(world: World, model: Model) -> None:
    world.put(KEY, numbered(5))
    world.send_learns()
    (body,) = world.queue.take_messages()
    model.during = lambda: world.deliver(body)
    assert world.deliver(body).applied
    world.deliver(body)
    assert (model.asked, sources(world)) == (1, ["model"] * 5)


def test_messages_for_pages_that_do_not_wait_do_nothing(world: World, model: Model) -> None:
    ask = AskLearns(material=MATERIAL)
    assert world.process(ask).reason == "the material is not indexed"
    world.put(KEY, ONE)
    world.ask_model()
    assert world.process(ask).reason == "no explanation of the page waits for a language model"
    world.bucket.remove(KEY)
    world.settle()
    assert world.process(ask).reason == "the material is not indexed"
    assert (model.asked, pending(world), world.chunks()) == (1, 0, [])


def test_after_a_lost_message_or_a_killed_worker_the_page_comes_back(world: World, model: Model) -> None:
    world.put(KEY, ONE)
    assert (world.send_learns(), len(world.queue.take_messages())) == (1, 1)
    time_passes(world.sql, 181)

    def kill() -> None:
        raise Killed

    model.during = kill
    with pytest.raises(Killed):
        world.ask_model()
    model.during = lambda: None
    pass_time(world, FIVE_MINUTES)
    assert (model.asked, sources(world)) == (2, ["model"])


# ---------------------------------------------------------------- a model that is away, refuses, or costs too much


def test_a_model_away_for_hours_makes_no_dead_letters_and_few_calls(world: World, model: Model) -> None:
    version, model.late = world.put(KEY, ONE), True
    work = WorkedQueue(world.events, world.work_records)
    for _ in range(10 * AN_HOUR // FIVE_MINUTES):
        time_passes(world.sql, FIVE_MINUTES)
        world.send_learns()
        assert all(work.deliver(body) for body in world.queue.take_messages())
    assert (model.asked, sources(world), world.work_records.waiting().rows) == (3, ["provisional"], [])
    assert world.upload_result(KEY, version).outcome == "applied"
    assert not world.search("公式", top_k=5).no_good_match
    model.late = False
    pass_time(world, A_DAY)
    assert sources(world) == ["model"]


def test_the_calls_for_a_text_are_bounded_and_its_deterministic_list_stays(world: World, model: Model) -> None:
    world.put(KEY, ONE)
    model.late = True
    for _ in range(2 * MOST_CALLS):
        pass_time(world, A_DAY)
    assert (model.asked, sources(world), pending(world)) == (MOST_CALLS, ["rules"], 0)
    # A new text is asked about again.
    model.late = False
    world.put(KEY, TWO)
    world.ask_model()
    assert sources(world) == ["model"]


def test_a_text_that_spoils_its_calls_keeps_no_neighbour_from_an_answer(world: World, model: Model) -> None:
    model.poison = "rule-000"
    world.put(KEY, numbered(14))
    world.ask_model()
    pass_time(world, A_MINUTE)
    # The answers of the other groups are applied at once, those of its own group later.
    assert [sources(world).count(source) for source in ("provisional", "model")] == [5, 9]
    for _ in range(10):
        pass_time(world, A_DAY)
    assert sources(world) == ["rules", *["model"] * 13]


def test_a_refusal_uses_up_no_calls(world: World, model: Model) -> None:
    world.put(KEY, ONE)
    model.error = Refused("Buy credit", vendor="openai")
    for _ in range(MOST_CALLS + 2):
        pass_time(world, A_DAY)
    assert (model.asked, sources(world)) == (MOST_CALLS + 2, ["provisional"])
    model.error = None
    pass_time(world, A_DAY)
    assert sources(world) == ["model"]


def test_a_spent_budget_waits_for_the_next_day(world: World, model: Model, sql: psycopg.Connection) -> None:
    sql.execute("delete from daily_count")
    budget = DailyTokens(world.client, "learns", 10)
    budget.add(10)
    model.require_budget = budget.require
    world.put(KEY, ONE)
    world.ask_model()
    pass_time(world, A_MINUTE)
    sql.execute("delete from daily_count")
    assert (model.asked, sources(world)) == (0, ["provisional"])
    pass_time(world, A_DAY)
    assert sources(world) == ["model"]


def test_without_a_model_what_waits_is_written(world: World) -> None:
    world.put(KEY, ONE)
    world.model = None
    world.ask_model()
    assert (sources(world), pending(world)) == (["rules"], 0)
