"""The words of a Table: their readings, as turbopuffer gets them, and the synonyms of a project."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from sakuin.language.analysis import analyze, term_counts
from sakuin.language.indexing import index_words
from sakuin.language.model import LexiconEntries, LexiconLookup
from sakuin.language.synonyms import stored_groups
from sakuin.platform.turbopuffer.documents import words_leg
from sakuin.retrieval.index_version import ANALYZER
from sakuin.retrieval.ranking import Frequencies
from sakuin.tables.chunking import chunks
from sakuin.tables.embed_chunks import repeated_terms
from sakuin.tables.search import TableExplanation

from tests.worlds import TableWorld, long

READ = ("ニジホウテイシキ", "ニジカンスウ", "カタムキ", "コウシキ")

ALL = LexiconLookup(readings=frozenset(READ), words={})


def known(world: TableWorld, tool: str, sought: LexiconLookup = ALL, *, endpoint: str | None = None) -> LexiconEntries:
    return world.records.known_words(endpoint or world.endpoint(tool), tool, "", sought)


def test_a_reading_has_its_written_forms_the_most_frequent_first(world: TableWorld) -> None:
    _, tool, _ = world.indexed({"a": long("片向き", 300), "b": long("傾き", 300), "c": long("傾きと公式", 300)})

    assert known(world, tool).spellings == {"カタムキ": ("傾き", "片向き"), "コウシキ": ("公式",)}


def test_a_word_that_the_table_does_not_have_is_a_typo_of_a_near_one(world: TableWorld) -> None:
    tool = world.tool(world.table({"a": long("二次方程式", 300), "b": long("二次関数と公式", 300)}), "")
    world.settle()
    asked = {"二時方程色": "ニジホウテイショク", "虹関数": "ニジカンスー", "工式": "コウシキ", "猫": "ネコ"}

    near = known(world, tool, LexiconLookup(readings=frozenset(), words=asked)).similar

    assert near == {"二時方程色": ("二次方程式",), "虹関数": ("二次関数",)}


def test_a_table_says_which_words_it_has_in_any_language(world: TableWorld) -> None:
    _, tool, _ = world.indexed({"a": long("The friction of a belt. Die Reibung. 三角州の地形。", 300)})
    asked = {"friction": "friction", "fricton": "fricton", "reibung": "reibung", "地形": "チケイ", "chair": "chair"}

    found = known(world, tool, LexiconLookup(frozenset(), asked))

    assert found.known == {"friction", "reibung", "地形"}
    assert found.similar == {"fricton": ("friction",)}


def test_an_endpoint_without_the_tool_knows_and_is_told_nothing(world: TableWorld) -> None:
    tool = world.tool(world.table({"a": long("公式", 300)}), "")
    own = world.tool(world.table({"a": long("傾き")}), "", name="beside")
    world.settle()
    unbound, closed = world.endpoint(tool), world.endpoint(tool)
    world.call("unbind_tool", mcp=unbound, tool=tool)
    world.sql("update mcp set status = 'disabled' where id = %s", closed)
    assert known(world, tool).spellings
    for endpoint in (unbound, closed, world.endpoint(own)):
        assert known(world, tool, endpoint=endpoint) == LexiconEntries()
        assert world.records.term_frequencies(endpoint, tool, ["公式"], sample=5) == (Frequencies(0, {}), ())


WORDS = ("公式", "傾き", "確率", "friction", "Reibung")


def frequencies(world: TableWorld, tool: str, *terms: str, endpoint: str | None = None) -> Frequencies:
    found, _ = world.records.term_frequencies(endpoint or world.endpoint(tool), tool, terms, sample=0)
    return found


def test_a_term_is_counted_in_the_chunks_that_have_it(world: TableWorld) -> None:
    _, tool, _ = world.indexed({"a": long("公式", 300), "b": long("公式と傾き", 300), "c": long("friction", 300)})

    assert frequencies(world, tool, "公式", "傾き", "^公式", "猫") == Frequencies(3, {"公式": 2, "傾き": 1, "^公式": 2})


def test_of_a_large_table_a_part_of_the_chunks_is_counted(world: TableWorld) -> None:
    table, tool, _ = world.indexed({"a": long("公式", 300)})
    # As if 6,000 chunks were counted: of further ones every eighth is.
    world.sql("update table_reading set chunks = 6000 where table_id = %s and written = ''", table)
    world.replace(table, {"a": long("公式", 300), **{str(number): long(f"傾き{number}", 200) for number in range(80)}})
    world.settle()

    found = frequencies(world, tool, "^傾き")
    assert found.total == 6000 + found.chunks["^傾き"]
    assert 1 <= found.chunks["^傾き"] <= 30


def test_the_sample_for_the_meaning_is_the_same_for_every_question(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({str(number): long(f"傾き{number}", 200) for number in range(6)})
    samples = [world.records.term_frequencies(endpoint, tool, [term], sample=4)[1] for term in WORDS]
    assert len(samples[0]) == 4
    assert set(samples[0]) < set(world.rows(table))
    assert all(sample == samples[0] for sample in samples)


SAMPLE = Path(__file__).parents[2] / "samples" / "tables" / "学習コラム.json"


def slot(*terms: str) -> tuple[str, ...]:
    return terms


def test_a_chunk_s_terms_are_stored_as_often_as_they_stand_there() -> None:
    articles = json.loads(SAMPLE.read_text())["articles"]
    texts = [chunk.text for article in articles for chunk in chunks(article["content"])]
    assert len(texts) >= 26
    for text in texts:
        words = index_words(title="", learns=(), body=text)
        assert Counter(repeated_terms(words.impacts)) == term_counts(analyze(text))


def test_single_terms_are_one_clause_and_alternatives_a_maximum() -> None:
    asked = (slot("二次"), slot("方程式"), slot("三平方", "ピタゴラス"), slot("^二次"))
    assert words_leg(asked, "") == (
        "Sum",
        [
            ("terms", "BM25", ["二次", "方程式", "^二次"]),
            ("Max", [("terms", "BM25", [term]) for term in ("三平方", "ピタゴラス")]),
        ],
    )


def test_one_clause_needs_no_sum_and_a_slot_that_stands_twice_counts_once() -> None:
    assert words_leg((slot("公式"), slot("公式")), "") == ("terms", "BM25", ["公式"])


def test_without_words_the_engine_reads_the_question_and_without_that_nothing_is_asked() -> None:
    assert words_leg((), "🐡") == ("content", "BM25", "🐡")
    assert words_leg((slot(),), " \u3000") is None


@pytest.mark.parametrize("many", [(slot(f"語{n}") for n in range(3_000)), (slot(*"甲乙丙丁") for _ in range(3_000))])
def test_a_question_of_any_length_stays_within_the_store_s_limits(many: Iterable[tuple[str, ...]]) -> None:
    asked = json.dumps(words_leg(tuple(many), ""), ensure_ascii=False)
    assert len(asked) < 4_000


def test_of_a_question_that_is_too_long_the_words_are_kept_and_the_grams_cut() -> None:
    leg = words_leg([slot("公式"), *(slot(f"^語{n}") for n in range(200))], "")
    assert leg is not None
    assert leg[2][0] == "公式"
    assert len(leg[2]) < 200


DOCUMENT = {"pass": long("関所を通る人が持つ通行手形"), "inn": long("街道に沿って栄えた宿場町")}

QUESTION = "旅券の見せ方"


def replace(world: TableWorld, *groups: tuple[str, ...], analyzer: str = ANALYZER) -> None:
    world.call("replace_synonyms", project=world.project, groups=stored_groups(groups), analyzer=analyzer)


def explained(world: TableWorld, endpoint: str, **asked: frozenset[str]) -> TableExplanation:
    return world.table_search().explanation(endpoint, world.bound(endpoint).tools[0], QUESTION, **asked)


def found_by_words(explanation: TableExplanation) -> list[str]:
    return [each.chunk.json_pointer for each in explanation.candidates if "通行" in "".join(each.ranked.words.matched)]


def test_a_project_s_synonyms_find_what_its_tables_write(world: TableWorld) -> None:
    _, _, endpoint = world.indexed(DOCUMENT)
    assert found_by_words(explained(world, endpoint)) == []
    replace(world, ("通行手形", "旅券"), ("宿場町", "泊まる所"))
    explanation = explained(world, endpoint)
    assert "/pass" in found_by_words(explanation)
    assert [(step.rule, step.found, step.read_as) for step in explanation.understood.steps] == [
        ("synonyms", "旅券", "通行手形")
    ]
    assert world.search(endpoint, "旅券").results[0].json_path == "/pass"
    assert found_by_words(explained(world, endpoint, without=frozenset({"synonyms"}))) == []
    replace(world)
    assert found_by_words(explained(world, endpoint)) == []
    assert world.sql("select 1 from project_synonyms") == []


def test_another_project_has_none_of_them_and_a_deleted_one_leaves_none(world: TableWorld) -> None:
    other = world.beside()
    _, _, endpoint = other.indexed(DOCUMENT)
    replace(world, ("通行手形", "旅券"))
    assert found_by_words(explained(other, endpoint)) == []
    world.call("delete_project", project=world.project)
    world.maintain()
    assert world.sql("select 1 from project_synonyms") == []


def test_synonyms_that_another_analyzer_stored_still_count(world: TableWorld) -> None:
    _, _, endpoint = world.indexed(DOCUMENT)
    groups = [{"phrases": ["通行手形", "旅券"], "plain": ["another", "form"]}]
    world.call("replace_synonyms", project=world.project, groups=groups, analyzer=ANALYZER)
    assert found_by_words(explained(world, endpoint)) == []
    world.call("replace_synonyms", project=world.project, groups=groups, analyzer="another/1")
    assert "/pass" in found_by_words(explained(world, endpoint))
