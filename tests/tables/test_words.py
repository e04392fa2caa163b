"""The readings of the words that a Table has now."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sakuin.language.model import LexiconEntries, LexiconLookup
from sakuin.retrieval.ranking import Frequencies

from tests.worlds import FINGERPRINT, TableWorld, long

READ = ("ニジホウテイシキ", "ニジカンスウ", "カタムキ", "コウシキ")
ALL = LexiconLookup(readings=frozenset(READ), words={})


def known(world: TableWorld, tool: str, sought: LexiconLookup = ALL, *, endpoint: str | None = None) -> LexiconEntries:
    return world.records.known_words(endpoint or world.endpoint(tool), tool, "", sought)


def counts(world: TableWorld, table: str) -> set[tuple[Any, ...]]:
    """The readings, what is written so, and in how many chunks."""
    statement = "select reading, written, chunks from table_reading where table_id = %s and fingerprint = %s"
    return set(world.sql(statement, table, FINGERPRINT.id))


def test_a_reading_has_its_written_forms_the_most_frequent_first(world: TableWorld) -> None:
    _, tool, _ = world.indexed({"a": long("片向き", 300), "b": long("傾き", 300), "c": long("傾きと公式", 300)})

    assert known(world, tool).spellings == {"カタムキ": ("傾き", "片向き"), "コウシキ": ("公式",)}


def test_the_words_of_a_text_that_is_gone_go_with_it(world: TableWorld) -> None:
    table, tool, _ = world.indexed({"a": long("片向き", 300), "b": long("公式", 300)})
    world.replace(table, {"a": long("傾き", 300), "b": long("公式", 300)})
    assert known(world, tool).spellings == {"カタムキ": ("片向き",), "コウシキ": ("公式",)}

    world.settle()
    assert known(world, tool).spellings == {"カタムキ": ("傾き",), "コウシキ": ("公式",)}
    world.replace(table, {"a": "short"})
    world.settle()
    assert known(world, tool).spellings == {}
    assert counts(world, table) == set()


def test_workers_side_by_side_count_each_chunk_once(world: TableWorld) -> None:
    table = world.table([long("公式と傾き", 3000 + place) for place in range(8)])
    world.tool(table, "")
    world.deliver(world.queues.asked.pop(0))
    ids = [id for message in world.queues.asked for id in message[3]]
    batches = [ids[start : start + 6] for start in range(0, len(ids), 4)]

    def store(batch: list[str]) -> None:
        world.embed(world.project, table, batch)

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(store, [*batches, *reversed(batches)]))

    assert counts(world, table) >= {("コウシキ", "公式", len(ids)), ("カタムキ", "傾き", len(ids))}


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


def test_the_words_of_other_tables_and_projects_are_unknown(world: TableWorld) -> None:
    own = world.tool(world.table({"a": long("公式", 300)}), "")
    beside = world.tool(world.table({"a": long("傾き", 300)}), "", name="beside")
    other = world.beside()
    foreign = other.tool(other.table({"a": long("二次関数", 300)}), "")
    world.settle()
    other.settle()

    assert [set(known(each, tool).spellings) for each, tool in ((world, own), (world, beside), (other, foreign))] == [
        {"コウシキ"},
        {"カタムキ"},
        {"ニジカンスウ"},
    ]
    assert known(world, foreign, endpoint=world.endpoint(own)) == LexiconEntries()
    assert known(world, beside, endpoint=world.endpoint(own)) == LexiconEntries()


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


def test_an_index_that_is_forgotten_and_a_table_that_is_deleted_leave_no_words(world: TableWorld) -> None:
    first, second = (world.indexed({"a": long("公式", 300)})[0] for _ in range(2))
    assert counts(world, first) == counts(world, second) > {("コウシキ", "公式", 1)}
    assert world.call("delete_table_rows", table=first, fingerprint=FINGERPRINT.id, limit=1000)
    world.call("delete_table", table=second)
    world.maintain()
    assert counts(world, first) == counts(world, second) == set()


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
