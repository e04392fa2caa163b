"""How a Search Tool ranks what it finds, and when it says that there is no good match."""

from dataclasses import replace

from sakuin.retrieval.weights import NEAR_MATCH
from sakuin.tables.json_pointer import pointer_hash
from sakuin.tables.nodes import Found, FoundChunk

from tests.doubles.chunk_store import SayingStore
from tests.worlds import TableWorld, long

SUBJECTS = ("二次方程式", "一次関数", "確率", "三平方の定理", "因数分解", "円周角", "相似", "平方根")

# 第 is a word of the texts, nothing else is.
OFF_TOPIC = "光合成をおこなう植物の葉緑体と根の、第"


def texts(count: int) -> dict[str, str]:
    return {str(number): long(f"{SUBJECTS[number % 8]}と第{number}章", 300 + number) for number in range(count)}


def ids(world: TableWorld, table: str) -> dict[str, str]:
    """The doc id of each string of a document of short strings, by its name."""
    rows = world.sql("select json_pointer, turbopuffer_doc_id from chunks where table_id = %s", table)
    return {pointer[1:]: id for pointer, id in rows}


def test_the_first_results_are_the_same_for_every_top_k(world: TableWorld) -> None:
    _, _, endpoint = world.indexed(texts(55))
    for query in ("確率の章", "因数分解を説明する", "第7章の相似"):
        whole = world.search(endpoint, query, top_k=50).results
        assert len(whole) == 50
        for top_k in (1, 10):
            assert world.search(endpoint, query, top_k=top_k).results == whole[:top_k]
        similarities = [hit.similarity for hit in whole]
        assert similarities == sorted(similarities, reverse=True)
        assert [hit.score for hit in whole] == sorted([hit.score for hit in whole], reverse=True)
        assert all(0 <= similarity <= 1 for similarity in similarities)


def test_a_question_about_something_else_has_no_good_match_and_the_nearest_three(world: TableWorld) -> None:
    _, _, endpoint = world.indexed(texts(8))
    answer = world.search(endpoint, OFF_TOPIC)
    assert (len(answer.results), answer.no_good_match) == (3, True)
    for query, is_good in ((OFF_TOPIC, False), ("確率", True)):
        assert world.answer(endpoint, query)["no_good_match"] == (not is_good)
    # In a language that the Table does not have the meaning alone decides.
    answer = world.search(endpoint, "photosynthesis in plants", top_k=3)
    assert (len(answer.results), answer.no_good_match) == (3, True)
    # At most degraded is an answer when nothing is embedded.
    world.embedder.down = True
    assert world.search(endpoint, "確率の説明").results[0].json_path == "/2"
    answer = world.search(endpoint, OFF_TOPIC)
    assert (answer.no_good_match, bool(answer.degraded)) == (True, True)


def test_without_a_good_match_the_nearest_chunks_come_whole(world: TableWorld) -> None:
    document = {name: long(f"{name}章", 300) for name in "abcdef"} | {"long": long("公式", 1900)}
    table, _, endpoint = world.indexed(document)
    rows = world.sql("select json_pointer, turbopuffer_doc_id from chunks where table_id = %s", table)
    # A little less evidence for each next chunk.
    names = sorted((id for _, id in rows), key=lambda id: (pointer_hash("/long") not in id, id))
    chunks = [FoundChunk(id, place, None, 0.02 - place * 0.002, {}, 100) for place, id in enumerate(names, 1)]
    for top_k in (1, 5):
        answer = replace(world, store=SayingStore(Found(tuple(chunks)))).search(endpoint, "猫", top_k=top_k)
        assert (answer.no_good_match, len(answer.results)) == (True, min(top_k, 3))
        first = answer.results[0]
        assert (first.json_path, first.chunk.chunk_index) == ("/long", int(names[0][-1]))
        assert len(first.chunk.chunk_text) > 300


def test_weak_results_without_a_word_of_the_question_are_left_out(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({name: long(f"{name}章", 300) for name in ("good", "word", "weak", "gram")})
    # "good": both; "word": far, but with the word; "weak": far; "gram": far, with a gram alone.
    found = {"good": (0.3, {"説明": 3}), "word": (0.0, {"説明": 1}), "weak": (0.05, {}), "gram": (0.0, {"^説明": 1})}
    of = ids(world, table)
    chunks = tuple(
        FoundChunk(of[name], place, None, cosine, counts, 3_000 if name in ("word", "gram") else 100)
        for place, (name, (cosine, counts)) in enumerate(found.items(), 1)
    )
    search = replace(world, store=SayingStore(Found(chunks)))
    results = search.search(endpoint, "説明と猫と犬と象と虎と馬と牛と羊").results
    assert {hit.json_path: hit.similarity >= NEAR_MATCH for hit in results} == {"/good": True, "/word": False}
    assert tool


def test_a_rare_word_of_the_question_counts_more_than_a_common_one(world: TableWorld) -> None:
    document = {str(number): long("公式", 300) for number in range(12)} | {"rare": long("傾き", 300)}
    table, _, endpoint = world.indexed(document)
    of = ids(world, table)
    chunks = (
        FoundChunk(of["0"], None, 1, 0.1, {"公式": 2}, 100),
        FoundChunk(of["rare"], None, 2, 0.1, {"傾き": 2}, 100),
    )
    results = replace(world, store=SayingStore(Found(chunks))).search(endpoint, "公式 傾き").results
    assert [hit.json_path for hit in results] == ["/rare", "/0"]
