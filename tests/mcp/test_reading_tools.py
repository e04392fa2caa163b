"""`read_page` and `find_text`: a page in its order, lines with an exact text, cursors, budgets and errors."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.language.unicode_text import estimated_tokens
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.emptied import emptied
from tests.mcp.tool_answers import answer, call, pages, said, size
from tests.worlds import World, Worlds

POTS = """<html lang="en"><title>Pots</title><body><main><h1 id="pots">Pots</h1><p>What to do on a balcony.</p>
<h2 id="how">How often</h2><p>Water daily.</p>
<div class="admonition tip"><p class="admonition-title">Tip</p><p>Push a finger into the soil & wait.</p></div>
<h2>Never at noon</h2><p>The sun burns wet leaves.</p><pre><code>def f(x):
    return x + 1
print(f(2))</code></pre></main>"""
SAILS = "".join(f"<div id='rule-{n}'><h2>Knot {n}</h2><p>{f'Sail {n} well. ' * 40}</p></div>" for n in range(1, 31))
SIGNS = f"<pre id='ex-signs'>{'&quot;' + chr(92) * 30_000}</pre>"
GUIDE = "<title>Guide</title><main><h1 id='guide'>Guide</h1><p>All.</p><h2 id='begin'>Begin</h2><p>Here.</p></main>"
LEVELS = """<title>Levels</title><main><h1 id="levels">Levels</h1><p>All.</p><h2 id="client">Client</h2><p>It asks.</p>
<h3 id="client-options">Options</h3><p>Options of the client:</p><h4 id="client-time">Time</h4><p>Ten seconds.</p>
<h4 id="speed">Speed</h4><p>A slow client.</p><h2 id="server">Server</h2><p>It answers.</p>
<h3 id="server-time">Time</h3><p>An hour.</p><h2>Bare</h2><h3 id="inside">In it</h3><p>Inside.</p></main>"""
CODE = "<main><h1 id='code'>Code</h1><pre>" + "\n".join(f"step({n})" for n in range(150)) + "</pre></main>"
LINKS = (
    """<main><h1 id="links">Links</h1><p>Download it <a href="file.zip">here</a>, see
<a href="pots.html#how">the pots</a> and <a href="//else.example/a?b=2027">more</a>.</p>
<p>An author wrote [x](&lt;//[y&gt;).</p>
<h2 id="many">Many</h2><p>Of all ropes, """
    + "".join(f"<a href='x/{n:099}.zip'>rope {n}</a>, sewn by hand, " for n in range(99))
    + "</main>"
)
CANARY = "<p id='tip-a'>canary 4711</p>"
LONG = f"<div id='def-long'><h2>Long</h2><p>{'長い文。' * 9_000}</p></div>"


@pytest.fixture(scope="module")
def world(a_world: Worlds, sql: psycopg.Connection) -> Iterator[World]:
    """Replaces the fixture of all tests here: pages in three folders, and the canary's."""
    emptied(sql)
    world = a_world(empty=False, base_url="https://site.example")
    for name, page in (
        ("docs/pots", POTS),
        ("docs/sails", SAILS),
        ("docs/levels", LEVELS),
        ("docs/code", CODE),
        ("docs/links", LINKS),
        ("novel/long", LONG),
        ("signs", SIGNS),
        ("guide/index", GUIDE),
        ("_sakuin/a", CANARY),
    ):
        world.put(f"{name}.html", page.encode())
    yield world
    emptied(sql)


def lines(found: dict[str, Any]) -> list[tuple[str, int]]:
    return [(place["text"], place["line"]) for place in found["places"]]


@pytest.mark.scenario("knowledge-index/read-page-returns-a-page-in-order")
def test_a_page_is_read_in_its_order_with_the_end_of_each_link(tools: KnowledgeTools) -> None:
    found = answer(call(tools, "read_page", page="docs/pots"))
    assert (found["material"], found["title"], found["next_cursor"]) == ("docs/pots", "Pots", None)
    headings = [line for line in found["text"].split("\n") if line.startswith("#")]
    assert headings == [
        "# Pots {#pots}",
        "## How often {#how}",
        "### Push a finger into the soil & wait {#how:~:text=Tip,-Push%20a%20finger%20into%20the%20soil%20%26%20wait.}",
        "## Never at noon {#how:~:text=Never%20at%20noon,-The%20sun%20burns%20wet%20leaves.}",
    ]
    assert "\n    return x + 1\n" in found["text"]
    assert found["text"].count("Water daily.") == 1


@pytest.mark.parametrize(
    ("page", "first"),
    [
        ("docs/pots", "# Pots"),
        ("https://site.example/docs/pots.html", "# Pots"),
        ("docs/pots#how", "## How often"),
        ("/docs/pots.html#how", "## How often"),
        ("docs/pots#how:~:never-at-noon", "## Never at noon"),
        ("/docs/pots.html#how:~:text=Never%20at%20noon", "## How often"),
        ("docs/pots#no-such-anchor", "# Pots"),
        ("https://site.example/guide/", "# Guide"),
        ("https://site.example/guide/#begin", "## Begin"),
        ("guide", "# Guide"),
        ("guide/", "# Guide"),
        ("https://site.example/docs/pots", "# Pots"),
        ("https://site.example/docs/pots/?x=1#how", "## How often"),
        ("docs/pots/", "# Pots"),
        ("./docs/./pots.html#how", "## How often"),
        ("./guide/index.html", "# Guide"),
        ("docs/pots.md", "# Pots"),
        ("https://site.example/docs/pots.MDX#how", "## How often"),
        ("docs%2Fpots", "# Pots"),
        (" docs/pots#how ", "## How often"),
        ("\thttps://site.example/docs/pots.html\n", "# Pots"),
    ],
)
def test_a_page_is_named_as_results_name_it_and_read_from_there(tools: KnowledgeTools, page: str, first: str) -> None:
    text = answer(call(tools, "read_page", page=page))["text"]
    assert text.startswith(first)
    assert "print(f(2))" in text or "guide" in page


def test_a_chunk_of_the_index_of_a_folder_is_read_by_the_address_of_the_folder(tools: KnowledgeTools) -> None:
    for name in ("https://site.example/guide/#begin", "./guide/index.md#begin", " guide%2Findex#begin "):
        chunk = answer(call(tools, "get_chunk_by_id", id=name))["chunk"]
        assert chunk["id"] == "guide/index#begin"


@pytest.mark.parametrize("section", ["how", "How often", "Pots › How often", "Pots > how  often"])
def test_a_section_is_its_explanation_and_what_is_below_its_heading(tools: KnowledgeTools, section: str) -> None:
    text = answer(call(tools, "read_page", page="docs/pots", section=section))["text"]
    assert "Water daily." in text
    assert "Pots {" not in text
    assert "wet leaves" not in text


@pytest.mark.parametrize(
    ("section", "first", "last"),
    [
        ("Client", "## Client {#client}", "A slow client."),
        ("Client › Options › Time", "#### Time {#client-time}", "Ten seconds."),
        ("Server > Time", "### Time {#server-time}", "An hour."),
        ("Options", "### Options {#client-options}", "A slow client."),
        ("server-time", "### Time {#server-time}", "An hour."),
        ("Bare", "## Bare", "Inside."),
    ],
)
def test_any_end_of_a_path_is_a_section_whose_headings_keep_their_levels(
    tools: KnowledgeTools, section: str, first: str, last: str
) -> None:
    text = answer(call(tools, "read_page", page="docs/levels", section=section))["text"]
    assert (text.split("\n")[0], text.rstrip().split("\n")[-1]) == (first, last)


def test_an_end_of_several_paths_is_refused_with_what_it_may_mean(tools: KnowledgeTools) -> None:
    refused = call(tools, "read_page", page="docs/levels", section="Time")
    assert (refused.is_error, "names 2 sections" in said(refused)) == (True, True)
    assert "Levels › Client › Options › Time (client-time); Levels › Server › Time (server-time)" in said(refused)


def test_each_part_of_a_page_has_the_fences_of_its_code(tools: KnowledgeTools) -> None:
    answers = pages(tools, "read_page", page="docs/code", max_tokens=100)
    assert len(answers) > 3
    assert all(each["text"].count("```") == 2 for each in answers)
    lines = [line for each in answers for line in each["text"].split("\n") if line.startswith("step(")]
    assert lines == [f"step({number})" for number in range(150)]


def test_an_introduction_comes_with_the_beginning_of_what_is_below_it(tools: KnowledgeTools) -> None:
    best = answer(call(tools, "search_knowledge", query="options of the client"))["results"][0]
    assert (best["title"], "#### Time {#client-time}\n\nTen seconds." in best["content"]) == ("Client › Options", True)


@pytest.mark.parametrize(("page", "max_tokens"), [("docs/sails", 100), ("docs/sails", 4000), ("novel/long", 4000)])
def test_the_parts_of_a_page_are_its_text_within_the_budget(tools: KnowledgeTools, page: str, max_tokens: int) -> None:
    answers = pages(tools, "read_page", page=page, max_tokens=max_tokens)
    assert all(estimated_tokens(each["text"]) <= max_tokens for each in answers)
    text = "".join("".join(each["text"].split()) for each in answers)
    assert all(each["truncated"] for each in answers[:-1])
    if page == "novel/long":
        assert text.endswith("##Long{#def-long}" + "長い文。" * 9_000)
    else:
        assert text == "".join(f"##Knot{n}{{#rule-{n}}}" + f"Sail{n}well." * 40 for n in range(1, 31))


def lines_of(tools: KnowledgeTools, **arguments: Any) -> list[str]:
    """Returns the lines that a call and its cursors read, where a line that did not fit goes on in the next answer."""
    first, *others = pages(tools, "read_page", **arguments)
    text = first["text"]
    for each in others:
        text += ("\n" if each["line"] > first["line"] + text.count("\n") else "") + each["text"]
    return str(text).split("\n")


@pytest.mark.parametrize(
    ("page", "max_tokens"),
    [("docs/pots", 100), ("docs/pots", 4000), ("docs/sails", 100), ("novel/long", 4000), ("signs", 4000)],
)
def test_lines_of_the_stored_text_fit_the_budget(
    world: World, tools: KnowledgeTools, page: str, max_tokens: int
) -> None:
    query = "select content from knowledge_chunks where material = %s order by position"
    stored = "\n".join(content for (content,) in world.sql.execute(query, (page,))).split("\n")
    assert lines_of(tools, page=page, line=1, max_tokens=max_tokens) == stored
    middle = max(1, len(stored) // 2)
    assert lines_of(tools, page=page, line=middle, lines=3, max_tokens=max_tokens) == stored[middle - 1 : middle + 2]
    beyond = call(tools, "read_page", page=page, line=len(stored) + 1)
    assert (beyond.is_error, "There is no line" in said(beyond)) == (True, True)


@pytest.mark.parametrize("text", ["return", "noon", "Sail 2"])
def test_a_line_that_was_found_is_read_with_its_neighbours(tools: KnowledgeTools, text: str) -> None:
    places = answer(call(tools, "find_text", text=text))["places"]
    assert places
    for place in places:
        found = answer(call(tools, "read_page", page=place["id"], line=max(1, place["line"] - 1), lines=3))
        assert found["text"].split("\n")[place["line"] - found["line"]].startswith(place["text"].removesuffix("…"))
        assert found["url"] == place["url"]
        assert found["next_cursor"] is None


def test_lines_of_a_section_begin_with_its_first_and_end_with_its_last(tools: KnowledgeTools) -> None:
    section = answer(call(tools, "read_page", page="docs/pots", section="How often", lines=100))
    assert (section["line"], "Water daily." in section["text"], "wet leaves" in section["text"]) == (1, True, False)
    gone = call(tools, "read_page", page="docs/pots", section="nothing", line=1)
    assert "The page has no section" in said(gone)
    assert "There is no page" in said(call(tools, "read_page", page="nothing", line=1))
    assert "'line' must be a whole number" in said(call(tools, "read_page", page="docs/pots", line=0))


def test_an_answer_with_many_signs_to_escape_stays_below_its_size(tools: KnowledgeTools) -> None:
    result = call(tools, "read_page", page="signs", max_tokens=4000)
    assert answer(result)["next_cursor"]
    assert size(result) < 40_000


def test_the_page_of_the_canary_is_not_searched(tools: KnowledgeTools) -> None:
    assert answer(call(tools, "find_text", text="canary 4711"))["places"] == []


@pytest.mark.scenario("knowledge-index/find-text-returns-lines-with-an-exact-text")
def test_exact_text_is_found_with_its_place_and_its_neighbours(tools: KnowledgeTools) -> None:
    found = answer(call(tools, "find_text", text="RETURN x + 1"))
    (place,) = found["places"]
    assert (place["before"], place["text"], place["after"]) == ("def f(x):", "    return x + 1", "print(f(2))")
    assert place["id"] == "docs/pots#how:~:never-at-noon"
    assert place["url"].endswith("#how:~:text=Never%20at%20noon,-The%20sun%20burns%20wet%20leaves.")
    chunk = answer(call(tools, "get_chunk_by_id", id=place["id"]))["chunk"]
    assert place["text"] == chunk["content"].split("\n")[place["line"] - 1]


def test_a_link_to_a_text_is_also_a_name_of_its_explanation(tools: KnowledgeTools) -> None:
    place = answer(call(tools, "find_text", text="wet leaves"))["places"][0]
    chunk = answer(call(tools, "get_chunk_by_id", id=place["url"]))["chunk"]
    assert (chunk["id"], chunk["url"]) == (place["id"], place["url"])
    concepts = answer(call(tools, "list_concepts", material="https://site.example/docs/pots.html"))["concepts"]
    assert place["url"] in [each["url"] for each in concepts]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"text": "Sail 7 well", "material": "docs/sails"}, ["docs/sails#rule-7"]),
        ({"text": "Sail 7 well", "in": "novel"}, []),
        ({"text": "Water daily", "in": "docs"}, ["docs/pots#how"]),
        *(
            ({"text": "Water daily", "in": folder}, ["docs/pots#how"])
            for folder in (" ./docs/ ", "https://site.example/docs", "docs/index.html", "docs/pots.md", "docs%2F")
        ),
        ({"text": "Water daily", "in": "https://site.example/"}, ["docs/pots#how"]),
        ({"text": "Water daily", "material": " docs/pots.html "}, ["docs/pots#how"]),
        ({"text": "water weekly"}, []),
    ],
)
def test_text_is_found_in_filtered_pages(tools: KnowledgeTools, arguments: dict[str, Any], found: list[str]) -> None:
    result = answer(call(tools, "find_text", **arguments))
    assert [place["id"] for place in result["places"]] == found
    assert result["next_cursor"] is None


def test_a_cursor_reaches_every_line_once_in_the_order_of_the_pages(tools: KnowledgeTools) -> None:
    answers = pages(tools, "find_text", text="l", max_tokens=100)
    places = [(place["id"], place["line"]) for each in answers for place in each["places"]]
    assert len(places) == len(set(places))
    whole = pages(tools, "find_text", text="l", max_tokens=4000)
    assert places == [(place["id"], place["line"]) for each in whole for place in each["places"]]
    assert {id for id, _ in places} > {f"docs/sails#rule-{n}" for n in range(1, 31)}


def test_a_scan_ends_after_its_time_and_says_what_is_left(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sakuin.knowledge.postgres_search._SCAN_SECONDS", 0.0)
    tools = KnowledgeTools(world, ReadKnowledge(world.client, ""))
    answers = pages(tools, "find_text", text="Water daily")
    concepts = answer(call(tools, "list_concepts"))["concepts"]
    assert sum(each["read"] for each in answers) == len(concepts)
    assert max(each["read"] for each in answers) == 1
    assert [place["line"] for each in answers for place in each["places"]] == [2]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_page", {}, "'page' is required"),
        ("read_page", {"page": "nope"}, "There is no page 'nope'. list_materials lists the pages"),
        ("read_page", {"page": "docs/pots", "section": "Colours"}, "has no section 'Colours'. It has: Pots, How often"),
        ("read_page", {"page": "docs/pots", "max_tokens": 99}, "'max_tokens' must be a whole number from 100 to 4000"),
        ("read_page", {"page": "docs/pots", "cursor": "0-0"}, "'cursor' does not belong"),
        ("read_page", {"page": "docs/pots", "words": 4}, "'words' is not an argument"),
        ("find_text", {}, "'text' is required"),
        ("find_text", {"text": " \u200b "}, "'text' must not be blank"),
        ("find_text", {"text": "a\nb"}, "'text' must be one line"),
        ("find_text", {"text": "a" * 201}, "'text' has 201 characters; the limit is 200"),
        ("find_text", {"text": "a", "in": "senior"}, "There is no folder 'senior'"),
        ("find_text", {"text": "a", "material": "pots"}, "There is no material 'pots'"),
        ("find_text", {"text": "a", "cursor": "x"}, "'cursor' does not belong"),
        ("find_text", {"text": "a\0"}, "U+0000"),
    ],
)
def test_a_failure_says_what_to_do(tools: KnowledgeTools, name: str, arguments: dict[str, Any], words: str) -> None:
    result = call(tools, name, **arguments)
    assert result.is_error
    assert words in said(result)


@pytest.mark.scenario("knowledge-index/a-phrase-in-quotation-marks-is-required")
def test_a_phrase_in_quotation_marks_is_required_where_it_stands(tools: KnowledgeTools) -> None:
    for query in (
        'about "wet leaves"',
        "about “WET  leaves”",
        "about «wet leaves»",
        "「wet leaves」とは",
        "„wet leaves“",
    ):
        found = answer(call(tools, "search_knowledge", query=query))
        assert ["never%20at%20noon" in hit["url"].lower() for hit in found["results"]] == [True], query
        assert not found["no_good_match"]
        assert "not_exact" not in found
    both = answer(call(tools, "search_knowledge", query='"Sail 7" and "knot 7"'))
    assert [hit["url"].rpartition("/")[2] for hit in both["results"]] == ["sails.html#rule-7"]


@pytest.mark.scenario("knowledge-index/a-phrase-in-quotation-marks-is-required")
def test_a_phrase_that_stands_nowhere_is_said_and_the_ranking_is_the_usual_one(tools: KnowledgeTools) -> None:
    found = answer(call(tools, "search_knowledge", query='about "dry leaves" at noon'))
    assert found["not_exact"].startswith("None of the nearest explanations has “dry leaves” exactly.")
    plain = answer(call(tools, "search_knowledge", query='about " dry leaves " at noon'))
    assert [hit["url"] for hit in found["results"]] == [hit["url"] for hit in plain["results"]]
    several = answer(call(tools, "search_knowledge", queries=['"dry leaves"', '"wet leaves"']))
    assert [("not_exact" in each) for each in several["queries"]] == [True, False]
    for query in (
        'a 5" and a 7" pot',
        "don't water",
        'what is "',
        '"" leaves',
        "「」 leaves",
        'about " dry leaves " at',
    ):
        assert "not_exact" not in answer(call(tools, "search_knowledge", query=query)), query


def test_links_have_their_addresses_where_a_text_is_read_and_none_where_it_is_compared(tools: KnowledgeTools) -> None:
    (place,) = answer(call(tools, "find_text", text="Download it here, see the pots and more"))["places"]
    assert place["text"] == "Download it here, see the pots and more."
    assert answer(call(tools, "find_text", text="2027"))["places"] == []
    file, elsewhere = "[here](<https://site.example/docs/file.zip>)", "[more](<https://else.example/a?b=2027>)"
    pots = "https://site.example/docs/pots.html#how"
    whole = f"Download it {file}, see [the pots](<{pots}>) and {elsewhere}."
    assert f"{whole}\nAn author wrote [x](<//[y>)." in answer(call(tools, "read_page", page="docs/links"))["text"]
    assert whole in answer(call(tools, "get_chunk_by_id", id=place["id"]))["chunk"]["content"]
    assert answer(call(tools, "read_page", page=pots))["title"] == "Pots"
    (first, *_) = answer(call(tools, "search_knowledge", query="download links 2027", max_tokens=1500))["results"]
    assert f"Download it {file}, see the pots and {elsewhere}." in first["content"]
    assert first["missing"] == ["2027"]
    assert "](" not in first["excerpt"]


def test_a_text_is_not_cut_in_an_address(tools: KnowledgeTools) -> None:
    parts = [each["text"] for each in pages(tools, "read_page", page="docs/links", max_tokens=300)]
    assert len(parts) > 9
    assert sum(part.count("](<https://site.example/docs/x/") for part in parts) == 99
    assert [part.count("](<") for part in parts] == [part.count(">)") for part in parts]
    (first, *_) = answer(call(tools, "search_knowledge", query="Of all ropes", max_tokens=400))["results"]
    assert first["is_cut"]
    assert first["content"].count("](<") == first["content"].count(">)")
