"""Filters of pages: what a question names, and what a key fixes, for whom there is nothing else."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from mcp_types import CallToolResult
from sakuin.errors import Invalid
from sakuin.knowledge.model import EVERYTHING, Filters
from sakuin.mcp.knowledge.reading import write_learns
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.turbopuffer.client import TurbopufferRows, connected
from sakuin.retrieval.filters import conditions

from tests.builders import a_page
from tests.doubles.chunk_store import WatchedStore
from tests.effort import EFFORT
from tests.worlds import SETTINGS, World, Worlds

SECRET = "極秘ザナドゥ"
OWN = {
    "a/printer.html": {"rule-printer": "プリンターの設定: 無線につなぐ手順。", "ex-1": "例の設定: プリンターの例。"},
    "a/invoice.html": {
        "def-invoice": "請求書とは: 毎月届く紙。 See [x](b/other.html#rule-x).",
        "tip-pay": "支払い: 期日まで。",
    },
    "b/login.html": {"method-login": "ログインの方法: 合言葉を再発行する。"},
}
OTHERS = {
    f"{folder}/{name}.html": {
        f"rule-{name}": f"{SECRET}の規則: 請求書とプリンターの{SECRET}。{name}",
        f"tip-{name}": f"{SECRET}の助言: 設定 987654 {name}",
    }
    for folder, name in (("a", "other"), ("b", "more"), ("secret", "alone"))
}
QUESTIONS = [
    "プリンターの設定",
    "請求書",
    "ザナドゥ",
    "さなどぅ",
    "極秘ザナドゥの請求書",
    "プリンタの設定",
    "🐡",
    "合言葉 987654",
]


STORES = ("postgres", "turbopuffer")


@pytest.fixture(params=STORES)
def world(request: pytest.FixtureRequest, a_world: Worlds, stand_in: str) -> Iterator[World]:
    """A library without a page, in each of the stores."""
    if request.param == "postgres":
        yield a_world()
        return
    settings = replace(SETTINGS, store="turbopuffer")
    world = a_world(settings=settings, store=WatchedStore(TurbopufferRows(connected(stand_in, "any"))))
    world.indexes.add(settings)
    yield world
    for name in world.store.namespaces("pages_"):
        world.store.delete_namespace(name)


def put(world: World, pages: dict[str, dict[str, str]], head: str) -> None:
    for name, boxes in pages.items():
        world.put(name, a_page(boxes, head=head, title=name))


def meta(**fields: str) -> str:
    return "".join(f"<meta name='sakuin:{name}' content='{value}'>" for name, value in fields.items())


def tools_of(world: World, fixed: Filters = EVERYTHING) -> KnowledgeTools:
    def read(fixed: Filters) -> Any:
        return replace(world.read, fixed=fixed)

    tools = KnowledgeTools(world, world.read, for_chatgpt=True, has_feedback_tool=True)
    tools = replace(tools, places=lambda key: read(key).places(), values=lambda key: read(key).filter_values())
    return tools.within(fixed)


def calls() -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of every tool and argument, of what is there for the key and of what is not."""
    filters: list[dict[str, Any]] = [
        {},
        {"type": "rule"},
        {"type": "tip"},
        {"level": "秘"},
        {"category": "極秘"},
        {"in": "a"},
    ]
    filters += [{"in": "secret"}, {"in": "nowhere"}, {"language": "ja"}, {"language": "xx"}, {"material": "a/other"}]
    filters += [{"filter": {"plan": ["free", "pro"]}}, {"filter": {"plan": SECRET}}, {"filter": {"tenant": "43"}}]
    filters += [{"filter": {"tenant": "42"}}, {"filter": {"nothing": "x"}}, {"level": "易", "filter": {"plan": "pro"}}]
    for query in QUESTIONS:
        for each in filters:
            yield "search_knowledge", {"query": query, **each}
        yield "search_knowledge", {"query": query, "top_k": 1, "max_tokens": 0}
        yield "search", {"query": query}
        yield "find_text", {"text": query}
    yield "search_knowledge", {"queries": QUESTIONS}
    for each in [{}, {"in": "a"}, {"in": "secret"}, {"type": "rule"}, {"category": "極秘"}, {"material": "a/other"}]:
        yield "list_concepts", each
        yield "find_text", {"text": "設定", **{name: one for name, one in each.items() if name in ("in", "material")}}
        yield "list_materials", {name: one for name, one in each.items() if name == "in"}
    for name in [*OWN, *OTHERS, "a", "b", "secret"]:
        page = name.removesuffix(".html")
        for anchor in {**OWN, **OTHERS}.get(name, ("x",)):
            yield "get_chunk_by_id", {"ids": [f"{page}#{anchor}", f"/{page}.html#{anchor}"], "neighbours": True}
            yield "get_chunk_by_id", {"id": f"{page}#{anchor}"}
            yield "fetch", {"id": f"{page}#{anchor}"}
            yield "give_feedback", {"query": "x", "id": f"{page}#{anchor}", "answered": True}
            yield "read_page", {"page": f"{page}#{anchor}"}
        yield "read_page", {"page": page, "line": 1}


def everything_said(world: World, fixed: Filters) -> list[str]:
    """All that a key is told: lists, instructions, prompts, answers with their cursors, and errors."""
    tools = tools_of(world, fixed)
    said = [tools.instructions(), *(each.model_dump_json() for each in tools.listed())]
    for name, arguments in calls():
        answer = tools.call(name, arguments)
        assert isinstance(answer, CallToolResult)
        said.append(f"{name} {json.dumps(arguments, ensure_ascii=False)}\n{answer.model_dump_json()}")
        cursor = (answer.structured_content or {}).get("next_cursor")
        if cursor:
            said.append(str(tools.call(name, arguments | {"cursor": cursor})))
    for name in (*OWN, *OTHERS):
        try:
            said.append(write_learns(tools.read, name.removesuffix(".html")))
        except Exception as error:
            said.append(str(error))
    return said


def _without_times(said: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+", "", said)


FIXED = {
    "a field": Filters.of_key("", {"tenant": "42"}),
    "a folder and a language": Filters.of_key("a", {"tenant": "42", "language": "ja"}),
    "a level": Filters.of_key("", {"level": "易"}),
    "a type": Filters.of_key("a", {"tenant": "42", "type": "definition"}),
}


# Each filter in one store, and each store with two of them; `make proofs` tries all.
CASES = [
    pytest.param(store, fixed, id=f"{store}-{name}")
    for at, (name, fixed) in enumerate(FIXED.items())
    for store in (STORES if EFFORT > 1 else STORES[at % 2 :][:1])
]


@pytest.mark.parametrize(("world", "fixed"), CASES, indirect=["world"])
def test_a_key_is_told_what_it_would_be_told_without_the_other_pages(world: World, fixed: Filters) -> None:
    put(world, OWN, meta(tenant="42", level="易", plan="free"))
    put(world, OTHERS, meta(tenant="43", level="秘", category="極秘", plan=SECRET, other="x"))
    with_others = everything_said(world, fixed)
    for name in OTHERS:
        world.bucket.remove(name)
    world.settle()
    if fixed.type:
        # Other types of the key's own pages are not there either.
        kept = {name: {id: text for id, text in boxes.items() if id.startswith("def-")} for name, boxes in OWN.items()}
        put(world, {name: boxes for name, boxes in kept.items() if boxes}, meta(tenant="42", level="易", plan="free"))
        for name in (name for name, boxes in kept.items() if not boxes):
            world.bucket.remove(name)
        world.settle()
    alone = everything_said(world, fixed)
    pairs = zip(with_others, alone, strict=True)
    if fixed.type:
        # The pages were put again.
        pairs = ((_without_times(one), _without_times(other)) for one, other in pairs)
    assert [(one, other) for one, other in pairs if one != other] == []
    sent = [each.replace(SECRET, "", 1) for each in with_others]
    assert not any("の規則" in each or "の助言" in each for each in sent)


def test_a_field_that_a_key_fixes_has_no_name(world: World) -> None:
    put(world, OWN, meta(tenant="42", plan="free"))
    tools = tools_of(world, FIXED["a field"])
    ask = {"query": "プリンターの設定"}
    said = [tools.call("search_knowledge", ask | {"filter": {name: "42"}}) for name in ("tenant", "nothing")]
    assert str(said[0]).replace("tenant", "nothing") == str(said[1])
    assert "Its fields: plan" in str(said)
    assert "tenant" not in str([*tools.listed(), tools.call("list_materials", {}), tools.call("search_knowledge", ask)])


def test_an_unknown_value_is_answered_with_those_that_there_are(world: World) -> None:
    put(world, {"a.html": OWN["a/printer.html"]}, meta(product="pro, free", level="易"))
    put(world, {"b.html": OWN["b/login.html"]}, meta(product="lite", level="難"))
    tools = tools_of(world)
    ask = {"query": "プリンターの設定"}
    for filter, told in (
        ({"filter": {"product": "max"}}, 'product has no value \'max\'. Its values: \\"free\\", \\"lite\\", \\"pro\\"'),
        ({"filter": {"plan": "pro"}}, "'filter' has no field 'plan'. Its fields: product"),
        ({"filter": {"product": 3}}, "'filter'"),
        ({"language": "de"}, "There is no language 'de'. There are: ja"),
    ):
        answer = tools.call("search_knowledge", ask | filter)
        assert answer is not None
        assert answer.is_error
        assert told in answer.model_dump_json(), answer.model_dump_json()
    nothing = tools.answer("search_knowledge", ask | {"filter": {"product": "lite"}, "level": "易"})
    assert (nothing["results"], nothing["hint"]) == (
        [],
        "0 for level=易 and product=lite; found in level 難; product free, pro",
    )
    several = found(world, "設定", {"product": ["free", "lite"]})
    assert {each.partition("#")[0] for each in several} == {"a", "b"}
    (search, *_) = tools.listed()
    assert search.input_schema["properties"]["filter"]["properties"] == {
        "product": {"type": "array", "items": {"type": "string", "enum": ["free", "lite", "pro"]}}
    }
    assert "language" not in search.input_schema["properties"]


def test_another_meta_tag_embeds_nothing(world: World) -> None:
    put(world, OWN, meta(tenant="42"))
    before = world.embedder.calls
    put(world, OWN, meta(tenant="43", product="x"))
    assert world.embedder.calls == before
    asked = [found(world, "プリンター", {"tenant": [tenant]}) for tenant in ("42", "43")]
    assert (asked[0], "a/printer#rule-printer" in asked[1]) == (set(), True)


def test_a_key_fixes_a_value_of_a_field_and_no_other_names(world: World) -> None:
    for filter in ({"folder": "a"}, {"type": "page"}, {"": "x"}, {"level": ""}, {"tenant": ""}, {"in": "a"}):
        with pytest.raises(Invalid):
            Filters.of_key("", filter)


def found(world: World, query: str, own: dict[str, list[str]], mode: Any = "both", **others: Any) -> set[str]:
    filters = Filters(own=conditions(dict.fromkeys(own, "list"), own), **others)
    ranked = world.search.ranked_matches(query, limit=100, filters=filters, mode=mode)
    return {match.id for match in ranked.matches}


@pytest.mark.parametrize("seed", range(3))
def test_filters_find_what_a_scan_of_all_pages_finds_through_edits(world: World, seed: int) -> None:
    chance = random.Random(seed)
    names = ["a/1", "a/2", "b/1", "b/c/2", "3"]
    values = {"plan": ["free", "pro", '日"本\\語'], "tags": ["a", "b", "c"]}
    pages: dict[str, dict[str, Any]] = {}

    def page(name: str) -> None:
        own = {field: chance.sample(known, chance.randint(0, 2)) for field, known in values.items()}
        pages[name] = {"own": own, "level": chance.choice(["易", "難", ""]), "folder": name.rpartition("/")[0]}
        head = "".join(
            f'<meta name="sakuin:{field}" content="{one.replace(chr(34), "&quot;")}">'
            for field, each in own.items()
            for one in each
        )
        level = f"<meta name='level' content='{pages[name]['level']}'>"
        world.put(f"{name}.html", a_page({"rule-a": f"文章の規則: 説明の文 {name}"}, head=head + level))

    for name in names:
        page(name)
    for _ in range(3):
        for _ in range(5):
            own = {
                field: chance.sample(known, chance.randint(1, 2))
                for field, known in values.items()
                if chance.random() < 0.6
            }
            level, folder = chance.choice([None, "易"]), chance.choice([None, "a", "b"])
            expected = {
                f"{name}#rule-a"
                for name, each in pages.items()
                if all({*each["own"][field]} & {*wanted} for field, wanted in own.items())
                and level in (None, each["level"])
                and (folder is None or f"{each['folder']}/".startswith(f"{folder}/"))
            }
            for mode in ("both", "words", "vectors"):
                assert found(world, "文章 説明 文", own, mode, level=level, folder=folder) == expected, (own, mode)
        for name in chance.sample(names, 2):
            page(name)
