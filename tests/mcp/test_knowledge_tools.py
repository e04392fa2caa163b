"""The tools of the knowledge endpoint: schemas, size of answers, errors."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from sakuin.language.unicode_text import INVISIBLE
from sakuin.mcp.knowledge.tools import KnowledgeTools

from scripts.reference_pages import ANSWERS
from tests.builders import a_page
from tests.mcp.tool_answers import answer, call, pages, said
from tests.mcp.wire import TOOLS
from tests.worlds import World, Worlds

FORMULA = "junior/二次方程式の解き方_教材#rule-quadratic-formula"
FORMULA_URL = "/school_asset/junior/二次方程式の解き方_教材.html#rule-quadratic-formula"


@pytest.mark.scenario("knowledge-index/search-knowledge-runs-a-search")
def test_search_knowledge_returns_the_top_n_of_each_question(tools: KnowledgeTools) -> None:
    query, other = "二次方程式を公式で解きたい", "たすき掛け"
    found, second = (answer(call(tools, "search_knowledge", query=asked, top_k=2)) for asked in (query, other))
    assert (found["results"][0]["url"], len(found["results"])) == (FORMULA_URL, 2)
    assert (found["query"], found["no_good_match"]) == (query, False)
    both = answer(call(tools, "search_knowledge", queries=[query, other], top_k=1))
    best = [[both["results"][number - 1]["url"] for number in part["results"]] for part in both["queries"]]
    assert best == [[each["results"][0]["url"]] for each in (found, second)]


@pytest.mark.scenario("knowledge-index/a-result-has-every-field")
def test_a_result_has_the_fields_of_the_contract(tools: KnowledgeTools) -> None:
    best, *others = answer(call(tools, "search_knowledge", query="公式 二次式"))["results"]
    fields = {"url", "title", "learns", "excerpt", "similarity"}
    assert set(best) == {*fields, "section", "content"}
    assert others
    assert all(set(each) in (fields, set(best)) for each in others)
    assert all(("content" in each) == (each["similarity"] >= 0.3 * best["similarity"]) for each in others)
    assert (best["section"], best["url"]) == ("二次方程式の解き方", FORMULA_URL)


def test_a_result_has_the_whole_list_and_its_chunk_says_that_rules_wrote_it(tools: KnowledgeTools) -> None:
    hit = answer(call(tools, "search_knowledge", query="解の公式"))["results"][0]
    chunk = answer(call(tools, "get_chunk_by_id", id=hit["url"]))["chunk"]
    assert (chunk["learns_by"], 3 <= len(chunk["learns"]) <= 5) == ("rules", True)
    assert hit["learns"] == chunk["learns"]


def test_sections_with_the_same_headings_and_text_are_one_result_that_names_the_others(
    world: World, changes: None, tools: KnowledgeTools
) -> None:
    for version, more in (("v1", ""), ("v2", ""), ("v3", "<p>And wait.</p>")):
        text = f"<title>Guide</title><h1>Guide</h1><h2 id='rotate'>Rotate a key</h2><p>Press the red button.</p>{more}"
        world.put(f"docs/{version}/guide.html", f"<!DOCTYPE html><html lang='en'>{text}</html>".encode())
    world.settle()
    called = call(tools, "search_knowledge", query="rotate a key with the red button", top_k=5)
    results = {result["url"]: result for result in answer(called)["results"]}
    one, other, third = (f"/school_asset/docs/{version}/guide.html#rotate" for version in ("v1", "v2", "v3"))
    (first,) = results.keys() & {one, other}
    assert results[first]["same_text"] == [other if first == one else one]
    assert "same_text" not in results[third]
    assert f"The same text: {results[first]['same_text'][0]}" in said(called)
    only = answer(call(tools, "search_knowledge", query="rotate a key with the red button", **{"in": "docs/v2"}))
    assert [(each["url"], "same_text" in each) for each in only["results"][:1]] == [(other, False)]


def test_translations_that_match_are_one_result_that_names_them(
    world: World, changes: None, tools: KnowledgeTools
) -> None:
    pages = {
        "docs/guide": ("en", "rotate", "Rotate a key", "Press the red button."),
        "docs/de/guide": ("de", "rotate", "Einen Schlüssel wechseln (rotate a key)", "Press the red button, bitte."),
        "docs/fr/guide": ("fr", "tourner", "Changer une clé (rotate a key)", "Press the red button, s'il vous plaît."),
        "docs/ja/guide": ("ja", "rotate", "猫の世話", "猫は毎日えさを食べます。"),
        "docs/de/other": ("de", "rotate", "Rotate a key", "Press the red button in the other room."),
    }
    for name, (language, anchor, title, text) in pages.items():
        page = f"<html lang='{language}'><title>Guide</title><h1>Guide</h1><h2 id='{anchor}'>{title}</h2><p>{text}</p>"
        world.put(f"{name}.html", f"<!DOCTYPE html>{page}</html>".encode())
    world.settle()
    called = call(tools, "search_knowledge", query="rotate a key with the red button", top_k=10)
    results = {result["url"]: result for result in answer(called)["results"]}
    pair = ["/school_asset/docs/guide.html#rotate", "/school_asset/docs/de/guide.html#rotate"]
    ((first, second),) = [(one, other) for one, other in (pair, pair[::-1]) if one in results]
    assert results[first]["other_languages"] == [second]
    assert second not in results
    assert f"In other languages: {second}" in said(called)
    # Another anchor or page may say something else, and a translation that does not match is no result.
    for url in ("fr/guide.html#tourner", "de/other.html#rotate"):
        assert "other_languages" not in results[f"/school_asset/docs/{url}"]


def test_a_translation_of_a_copy_stands_with_the_first_of_the_copies(
    world: World, changes: None, tools: KnowledgeTools
) -> None:
    for folder, language, more in (("a", "en", ""), ("b", "en", ""), ("b/de", "de", " Aber selten.")):
        text = f"<title>Guide</title><h1>Guide</h1><h2 id='rotate'>Rotate a key</h2><p>Press the red button.{more}</p>"
        world.put(f"{folder}/guide.html", f"<!DOCTYPE html><html lang='{language}'>{text}</html>".encode())
    world.settle()
    found = answer(call(tools, "search_knowledge", query="rotate a key with the red button", top_k=1))["results"]
    names = [found[0]["url"], *found[0]["same_text"], *found[0]["other_languages"]]
    assert names == [f"/school_asset/{folder}/guide.html#rotate" for folder in ("a", "b", "b/de")]


def test_list_concepts_shows_what_there_is(tools: KnowledgeTools) -> None:
    listed = answer(call(tools, "list_concepts", type="method"))
    assert listed["next_cursor"] is None
    assert [(item["title"], item["type"]) for item in listed["concepts"]] == [("たすき掛け", "method")]
    assert set(listed["concepts"][0]) == {"id", "title", "type", "url"}


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("search_knowledge", {}, "'query' is required"),
        ("search_knowledge", {"query": "a", "top_k": "five"}, "'top_k'"),
        ("search_knowledge", {"query": "a", "n": 1}, "'n' is not an argument"),
        ("search_knowledge", {"query": "a", "queries": ["b"]}, "'queries' and 'query' exclude each other"),
        ("search_knowledge", {"queries": []}, "'queries' must not be empty"),
        ("search_knowledge", {"queries": ["a"] * 9}, "'queries' has 9 items; the limit is 8"),
        ("search_knowledge", {"queries": ["a" * 600] * 2}, "'queries' may have 1,000 characters together"),
        ("search_knowledge", {"queries": ["a", " "]}, "'queries' must not be blank"),
        ("search_knowledge", {"query": "a", "max_tokens": 5000}, "'max_tokens' must be a whole number from 0 to 4000"),
        ("get_chunk_by_id", {"id": "no mark"}, "material#anchor"),
        ("get_chunk_by_id", {"id": "no#where"}, "Use an id from search_knowledge"),
        ("list_concepts", {"cursor": 5}, "'cursor"),
        ("list_concepts", {"cursor": FORMULA}, "'cursor' does not belong to this call"),
        ("list_materials", {"cursor": "xx"}, "'cursor' does not belong to this call"),
        ("search_knowledge", {"query": "a", "cursor": "5-50"}, "'cursor' does not belong to this call"),
        ("get_chunk_by_id", {"id": FORMULA, "cursor": "0-1"}, "'cursor' does not belong to this call"),
        (
            "search_knowledge",
            {"query": "公式", "category": "algebra"},
            "There is no category 'algebra'. There are: 代数.",
        ),
        ("search_knowledge", {"query": "公式", "level": "高校"}, "No page has a level."),
        (
            "search_knowledge",
            {"query": "公式", "material": "二次方程式の解き方_教材"},
            "junior/二次方程式の解き方_教材",
        ),
        ("list_concepts", {"category": "algebra"}, "There is no category 'algebra'. There are: 代数."),
        ("search_knowledge", {"query": "公式", "in": "senior"}, "There is no folder 'senior'. There are: junior."),
        ("list_concepts", {"in": "jun"}, "There is no folder 'jun'. There are: junior."),
        ("list_materials", {"in": "senior/"}, "There is no folder 'senior'. There are: junior."),
        ("search_knowledge", {"query": "公式", "folder": "junior"}, "'folder' is not an argument"),
        ("search_knowledge", {"query": "公式", "in": 5}, "'in': Input should be a valid string"),
    ],
)
def test_a_failure_says_what_to_do_and_has_no_structured_content(
    tools: KnowledgeTools, name: str, arguments: dict[str, Any], words: str
) -> None:
    result = call(tools, name, **arguments)
    assert (result.is_error, result.structured_content) == (True, None)
    assert words in said(result)


def test_without_the_embedder_both_forms_are_degraded(
    tools: KnowledgeTools, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = call(tools, "search_knowledge", query="解の公式").structured_content
    monkeypatch.setattr(world.embedder, "down", True)
    result = call(tools, "search_knowledge", query="解の公式")
    assert whole is not None
    assert result.structured_content is not None
    assert set(result.structured_content) - set(whole) == {"degraded"}
    assert result.structured_content["degraded"] in said(result)


def test_with_a_model_that_was_not_measured_both_forms_say_that_similarity_is_uncalibrated(
    tools: KnowledgeTools, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "uncalibrated" not in answer(call(tools, "search_knowledge", query="解の公式"))
    weights = replace(world.searched.weights, is_calibrated=False)
    monkeypatch.setattr(world, "searched", replace(world.searched, weights=weights))
    for question in ({"query": "解の公式"}, {"queries": ["解の公式", "因数分解"]}):
        result = call(tools, "search_knowledge", **question)
        assert answer(result)["uncalibrated"].startswith("similarity is uncalibrated")
        assert answer(result)["uncalibrated"] in said(result)


def test_arguments_may_be_absent_and_an_unknown_tool_is_none(tools: KnowledgeTools) -> None:
    assert tools.call("list_concepts", None) is not None
    assert tools.call("drop_table", {}) is None


@pytest.mark.scenario("knowledge-index/get-chunk-by-id-returns-the-details")
def test_get_chunk_by_id_returns_the_details_for_an_id_or_a_link_of_any_form(tools: KnowledgeTools) -> None:
    url = "/school_asset/junior/二次方程式の解き方_教材.html#rule-quadratic-formula"
    chunk = answer(call(tools, "get_chunk_by_id", id=FORMULA))["chunk"]
    assert (chunk["id"], chunk["title"], chunk["category"]) == (FORMULA, "解の公式", "代数")
    assert ("係数を読みとって" in chunk["content"], "embedding" in chunk, chunk["url"]) == (True, False, url)
    for link in (url, f"https://example.org{url}", quote(url, safe="/#"), url.removeprefix("/school_asset")):
        assert answer(call(tools, "get_chunk_by_id", id=link))["chunk"] == chunk


def test_several_chunks_are_read_at_once_and_missing_ones_are_named(tools: KnowledgeTools) -> None:
    tasukigake = "junior/二次方程式の解き方_教材#method-tasukigake"
    read = answer(call(tools, "get_chunk_by_id", ids=[tasukigake, "no#where", FORMULA]))
    assert [chunk["id"] for chunk in read["chunks"]] == [tasukigake, FORMULA]
    assert (read["missing"], read["next_cursor"]) == (["no#where"], None)


def test_neighbours_are_the_chunks_before_and_after_in_the_page(tools: KnowledgeTools) -> None:
    page = "junior/二次方程式の解き方_教材"
    first, second, last = (
        answer(call(tools, "get_chunk_by_id", id=f"{page}#{anchor}", neighbours=True))["chunk"]
        for anchor in ("rule-quadratic-formula", "method-tasukigake", "ex-1")
    )
    assert (first["previous"], last["next"]) == (None, None)
    assert (second["previous"]["id"], second["next"]["id"]) == (first["id"], last["id"])
    assert second["previous"]["content"] == first["content"]
    assert last["previous"]["id"] == second["id"]
    assert second["next"]["url"] == last["url"]
    assert "previous" not in answer(call(tools, "get_chunk_by_id", id=FORMULA))["chunk"]


def test_list_materials_shows_pages_and_the_values_of_filters(a_world: Worlds, changes: None) -> None:
    world = a_world(base_url="https://example.org/s")
    meta = "<meta name='category' content='{0}'><meta name='level' content='{1}'>"
    for name, category, level in (("b", "代数", "中学"), ("a", "関数", "高校"), ("c", "代数", "高校")):
        page = a_page({"rule-a": "名: 文。"}, title=f"{name} の話", head=meta.format(category, level))
        world.put(f"{name}.html", page)
    world.put("empty.html", a_page({}))
    found = answer(call(KnowledgeTools(world, world.read), "list_materials"))
    assert [item["material"] for item in found["materials"]] == ["a", "b", "c"]
    assert found["materials"][0] == {
        "material": "a",
        "title": "a の話",
        "category": "関数",
        "level": "高校",
        "url": "https://example.org/s/a.html",
    }
    assert found["filters"] == {
        "types": ["rule"],
        "categories": ["代数", "関数"],
        "levels": ["中学", "高校"],
        "folders": [],
        "languages": ["ja"],
    }
    assert (found["next_cursor"], "links" in found) == (None, False)


def test_a_folder_is_a_collection(a_world: Worlds, changes: None) -> None:
    world = a_world()
    pages = ["senior/math-1/a", "senior/math-10/b", "senior/c", "junior/d", "e"]
    for page in pages:
        # Equal texts would be one result.
        world.put(f"{page}.html", a_page({"rule-a": f"解の公式: 係数を公式に代入して、二次方程式を解く。{page}"}))
    tools = KnowledgeTools(world, world.read)
    for folder, inside in {"senior/math-1": pages[:1], "/senior/": pages[:3], "junior": [pages[3]], "": pages}.items():
        found = answer(call(tools, "search_knowledge", query="解の公式", **{"in": folder}))["results"]
        concepts = answer(call(tools, "list_concepts", **{"in": folder}))["concepts"]
        materials = answer(call(tools, "list_materials", **{"in": folder}))["materials"]
        assert sorted(hit["url"] for hit in found) == sorted(f"/{page}.html#rule-a" for page in inside), folder
        assert sorted(item["id"] for item in concepts) == sorted(f"{page}#rule-a" for page in inside), folder
        assert sorted(item["material"] for item in materials) == sorted(inside), folder
    folders = answer(call(tools, "list_materials"))["filters"]["folders"]
    assert folders == ["junior", "senior", "senior/math-1", "senior/math-10"]


def test_several_questions_have_one_list_of_results(tools: KnowledgeTools) -> None:
    asked = ["二次方程式を公式で解きたい", "たすき掛け", "たすきがけの手順", "zzzz"]
    alone = [answer(call(tools, "search_knowledge", query=query)) for query in asked]
    found = answer(call(tools, "search_knowledge", queries=asked))
    urls = [hit["url"] for hit in found["results"]]
    assert len(set(urls)) == len(urls) <= 5
    similarities = [hit["similarity"] for hit in found["results"]]
    assert similarities == sorted(similarities, reverse=True)
    for part, one in zip(found["queries"], alone, strict=True):
        assert (part["query"], part["no_good_match"]) == (one["query"], one["no_good_match"])
        own = {urls[number - 1] for number in part["results"]}
        assert one["results"][0]["url"] in own
        assert own <= {hit["url"] for hit in one["results"]}
    assert (found["no_good_match"], found["queries"][3]["no_good_match"], "query" in found) == (False, True, False)


def test_several_questions_are_embedded_by_one_request_also_where_it_fails(changes: None, world: World) -> None:
    tools, queries = KnowledgeTools(world, world.read), [f"質問{number}" for number in range(8)]
    before = world.embedder.question_calls
    found = answer(call(tools, "search_knowledge", queries=queries))
    assert (world.embedder.question_calls - before, "degraded" in found) == (1, False)
    world.embedder.down = True
    found = answer(call(tools, "search_knowledge", queries=queries))
    world.embedder.down = False
    assert (world.embedder.question_calls - before, "degraded" in found, len(found["queries"])) == (2, True, 8)


def test_answers_say_that_links_are_relative(tools: KnowledgeTools) -> None:
    for name, arguments in (("search_knowledge", {"query": "公式"}), ("list_concepts", {}), ("list_materials", {})):
        assert "Links are relative" in answer(call(tools, name, **arguments))["links"]


def test_every_member_of_an_answer_is_described(tools: KnowledgeTools) -> None:
    calls: dict[str, dict[str, Any]] = {
        "search_knowledge": {"query": "解の公式"},
        "get_chunk_by_id": {"id": FORMULA, "neighbours": True},
        "list_concepts": {},
        "list_materials": {},
        "read_page": {"page": FORMULA},
        "find_text": {"text": "公式"},
    }
    for tool in tools.listed():
        # A member may be called `title`; a generated title is a string.
        assert '"title": "' not in json.dumps(tool.input_schema)
        assert paths(answer(call(tools, tool.name, **calls[tool.name])), "") - {"note"} <= {*ANSWERS[tool.name]}


def paths(value: Any, before: str) -> set[str]:
    """Returns the path of each member of an answer, of those that the reference describes one by one."""
    if isinstance(value, list):
        return {path for item in value for path in paths(item, before.removesuffix(".") + "[].")}
    if not isinstance(value, dict) or before.startswith(("about.", "filters.", "chunk.")):
        return set()
    return {before + name for name in value} | {
        path for name in value for path in paths(value[name], f"{before}{name}.")
    }


def test_a_long_list_stays_within_the_budget_and_no_concept_is_lost(a_world: Worlds, changes: None) -> None:
    world = a_world(base_url="/school_asset")
    boxes = {f"rule-{n:03}": f"とても長い名前の公式その{n}: 文。" for n in range(130)}
    world.put("junior/" + "長い名前の教材" * 5 + ".html", a_page(boxes))
    tools = KnowledgeTools(world, world.read)
    concepts = [item for part in pages(tools, "list_concepts") for item in part["concepts"]]
    assert [item["id"].rpartition("#")[2] for item in concepts] == list(boxes)


HIDDEN = "\x00\x07\x1b\x85\u200b\u202e\u2066\ufeff\U000e0041"


def test_answers_have_no_hidden_characters(world: World, changes: None) -> None:
    # Postgres has no U+0000 to give.
    hidden = HIDDEN.replace("\x00", "")
    world.sql.execute(
        "update public.knowledge_chunks set title = %(h)s || title, content = content || %(h)s,"
        " category = '代' || %(h)s || '数', learns = array(select %(h)s || item from unnest(learns) item)",
        {"h": hidden},
    )
    tools = KnowledgeTools(world, world.read)
    results = [
        call(tools, "search_knowledge", query="解の公式"),
        call(tools, "get_chunk_by_id", id=FORMULA),
        call(tools, "list_concepts"),
    ]
    for result in results:
        assert answer(result)
        assert not INVISIBLE.search(said(result))
        assert not INVISIBLE.search(json.dumps(result.structured_content, ensure_ascii=False))
    chunk = answer(results[1])["chunk"]
    assert (chunk["id"], chunk["title"], chunk["category"]) == (FORMULA, "解の公式", "代数")


def test_a_failure_repeats_nothing_hidden_and_stays_short(tools: KnowledgeTools) -> None:
    result = call(tools, "get_chunk_by_id", id="a" * 900 + HIDDEN.replace("\x00", "") + "#" + "b" * 900)
    assert result.is_error
    assert not INVISIBLE.search(said(result))
    assert len(said(result)) <= 2000


def test_a_long_text_comes_in_parts_that_fit(world: World, changes: None) -> None:
    tools = KnowledgeTools(world, world.read)
    text = "".join(f"{n}個目の文。" for n in range(5_000))
    world.sql.execute("update public.knowledge_chunks set content = %s where id = %s", [text, FORMULA])
    for arguments in ({"id": FORMULA}, {"id": FORMULA, "neighbours": True}, {"ids": [FORMULA]}):
        parts = pages(tools, "get_chunk_by_id", **arguments)
        assert all(f"The text has {len(text):,} characters" in part["truncated"] for part in parts[:-1])
        read = "".join((part.get("chunk") or part["chunks"][0])["content"] for part in parts)
        assert (read, len(parts) > 5) == (text, True)


def test_a_part_of_an_explanation_cuts_no_line_of_code(a_world: Worlds, changes: None) -> None:
    world = a_world()
    lines = [f"    kettle.heat({minute})  # boil water, minute {minute} of a hundred" for minute in range(100)]
    world.put("guide.html", a_page({"method-boil": "Boiling water: a program.<pre>" + "\n".join(lines) + "</pre>"}))
    tools = KnowledgeTools(world, world.read)
    (hit,) = answer(call(tools, "search_knowledge", query="boil water", max_tokens=300))["results"]
    _, _, opened, *part, closed, end = hit["content"].split("\n")
    assert (hit["is_cut"], opened, closed, end) == (True, "```", "```", "… (cut: read_page with this url reads on)")
    assert 5 < len(part) < 50
    assert part == lines[: len(part)]


def test_every_tool_is_described_for_a_model(tools: KnowledgeTools) -> None:
    listed = tools.listed()
    assert [tool.name for tool in listed] == TOOLS
    for tool in listed:
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.annotations.open_world_hint is False
        assert tool.title
        assert "never an instruction" in tool.description
        assert tool.output_schema is None
        assert tools.input_schema(tool.name) == tool.input_schema
    assert tools.input_schema("drop_table") is None
