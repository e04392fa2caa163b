"""Searching pages: links, or `no_good_match`."""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

import pytest
from sakuin.errors import CircuitOpen, Invalid, Misconfigured, Refused, SakuinError, Unavailable
from sakuin.knowledge.model import Match
from sakuin.knowledge.postgres_search import ChunkSearch, PostgresChunks, Question
from sakuin.platform.embedding import Vector
from sakuin.retrieval.weights import Scale

from tests.builders import a_page
from tests.doubles.embedder import WEIGHTS
from tests.worlds import World, Worlds, search_with

MATERIAL = "二次方程式の解き方_教材"
KEY = f"{MATERIAL}.html"
BOXES = {
    "rule-quadratic-formula": "解の公式: 二次方程式を公式で解きたいときは、係数 a, b, c を読みとって公式に代入する。",
    "method-square": "平方完成: x の係数の半分の2乗を足して引くと、平方の形になる。",
    "def-root": "重解の意味: 二つの解が重なって一つに見えるもの。",
    "ex-1": "噴水の高さ: 水の高さを時刻で表した式を調べる。",
    "tip-sign": "符号のコツ: 負の数を代入するときは括弧をつける。",
    "rule-zero": "平方根の法則: 積が零ならどちらかが零である。",
    "tip-check": "検算の習慣: 出てきた値をもとの式に戻して確かめる。",
}


@pytest.fixture(scope="module")
def library(a_world: Worlds) -> None:
    """A page that no test changes."""
    a_world().put(KEY, a_page(BOXES))


@pytest.fixture
def world(a_world: Worlds, library: None) -> World:
    return a_world(empty=False, base_url="/school_asset")


@pytest.mark.scenario("knowledge-index/a-result-has-every-field")
def test_a_result_has_every_field(world: World) -> None:
    best = world.search("二次方程式を公式で解きたい").results[0]
    assert best.url == "/school_asset/二次方程式の解き方_教材.html#rule-quadratic-formula"
    assert (best.title, best.type, best.material) == ("解の公式", "rule", "二次方程式の解き方_教材")
    assert (best.learns_by, len(best.learns)) == ("rules", 3)
    assert "係数" in best.excerpt
    assert len(best.excerpt) <= 102
    assert 0.5 <= best.similarity <= 1


@pytest.mark.scenario("knowledge-index/an-agent-can-say-what-is-learnt")
def test_an_agent_can_say_what_is_learnt_from_the_result_alone(world: World) -> None:
    best = world.search("解の公式").results[0]
    said = f"このリンク（{best.url}）では{'、'.join(best.learns)}が学べます"
    assert "解の公式" in said


@pytest.mark.scenario("knowledge-index/a-link-carries-the-base-url")
@pytest.mark.parametrize("base_url", ["", "/school_asset"])
def test_a_link_is_the_page_and_the_anchor_below_the_base_url(world: World, base_url: str) -> None:
    world.base_url = base_url
    link = f"{base_url}/二次方程式の解き方_教材.html#rule-quadratic-formula"
    assert world.search("解の公式").results[0].url == link
    assert world.read.url("二次方程式の解き方_教材", "rule-quadratic-formula") == link


@pytest.mark.scenario("knowledge-index/several-results-are-ranked")
def test_the_best_five_come_first_unless_asked_otherwise(world: World) -> None:
    similarities = [hit.similarity for hit in world.search("二次方程式の解の公式").results]
    assert len(similarities) == 5
    assert similarities == sorted(similarities, reverse=True)
    assert len(world.search("二次方程式の解の公式", top_k=50).results) == len(BOXES)
    assert len(world.search("二次方程式の解の公式", top_k=1).results) == 1


def test_the_threshold_decides_about_the_whole_answer_and_drops_no_single_result(world: World) -> None:
    answer = world.search("二次方程式の解の公式", top_k=50)
    assert answer.results[-1].similarity < 0.5
    assert not answer.no_good_match


def test_a_result_without_a_word_of_the_question_and_little_similarity_is_left_out(world: World) -> None:
    found = world.search("解の公式", top_k=50).results
    assert [hit.title for hit in found] == ["解の公式", "重解の意味"]
    assert all(hit.matched for hit in found)


def test_a_question_off_the_topic_has_no_good_match_and_still_the_nearest(world: World) -> None:
    answer = world.search("quarterly dividend yield")
    assert (answer.no_good_match, len(answer.results)) == (True, 3)


class _Near(ChunkSearch):
    """Finds four chunks, two of them nearly."""

    def matches(self, question: Question) -> list[Match]:
        found = (("解の公式", 0.45), ("公式の例", 0.4), ("平方完成", 0.31), ("符号のコツ", 0.2))
        ranked = super().matches(replace(question, limit=5))
        best = next(each for each in ranked if each.anchor == "rule-quadratic-formula")
        scale = Scale(constant=0.0, score=1.0, lead=0.0, least=1.0)
        evidences = [replace(best.ranked, evidence=math.log(each / (1 - each)), scale=scale) for _, each in found]
        titles = [title for title, _ in found]
        return [replace(best, id=title, title=title, ranked=one) for title, one in zip(titles, evidences, strict=True)]


def test_without_a_good_match_the_nearest_three_come_with_their_similarities(world: World) -> None:
    search = search_with(world.search, chunks=_Near(PostgresChunks(world.client), WEIGHTS))
    answer = search("解の後式")
    assert answer.no_good_match
    assert [(each.title, each.similarity) for each in answer.results] == [
        ("解の公式", 0.45),
        ("公式の例", 0.4),
        ("平方完成", 0.31),
    ]
    assert answer.results[0].url == "/school_asset/二次方程式の解き方_教材.html#rule-quadratic-formula"
    assert search("解の後式", top_k=1).no_good_match


def test_without_the_embedding_service_words_alone_answer_and_the_answer_says_so(world: World) -> None:
    whole = world.search("解の公式")
    assert whole.degraded is None
    world.embedder.down = True
    answer = world.search("解の公式")
    assert answer.results[0].title == "解の公式"
    assert answer.degraded is not None
    assert "only words were compared" in answer.degraded
    # What a leg did not say is not added: words alone are less evidence.
    assert 0.5 <= answer.results[0].similarity <= whole.results[0].similarity


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Invalid, "Ask in other words."),
        (Misconfigured, "The operator has to fix the API key or the embedding settings."),
        (Refused, "The operator has to fix the API key or the embedding settings."),
        (CircuitOpen, "Ask again in a minute."),
    ],
)
def test_words_alone_answer_whatever_error_the_embedder_has(world: World, error: type[SakuinError], said: str) -> None:
    class Refusing:
        def questions(self, texts: Sequence[str]) -> list[Vector]:
            raise error("no")

    answer = search_with(world.search, embedder=Refusing())("解の公式")
    assert answer.results[0].title == "解の公式"
    assert answer.degraded is not None
    assert answer.degraded.endswith(f"so only words were compared, not meaning. Results may be missing. {said}")


def test_a_search_by_vectors_alone_fails_without_the_embedder(world: World) -> None:
    world.embedder.down = True
    with pytest.raises(Unavailable):
        world.search.ranked_matches("解の公式", limit=3, mode="vectors")
    assert world.search.ranked_matches("解の公式", limit=3, mode="words").degraded is None


def test_a_question_in_kana_says_what_it_was_understood_as_and_what_matched(world: World) -> None:
    answer = world.search("へいほうかんせい")
    assert (answer.query, answer.understood_as) == ("へいほうかんせい", "平方完成")
    assert answer.results[0].title == "平方完成"
    assert answer.results[0].matched[0] == "平方完成"


def test_a_question_that_was_taken_as_it_stands_was_not_understood_as_another(world: World) -> None:
    assert world.search("平方完成").understood_as is None
    assert world.search("解の公式" * 1000).understood_as is None


def test_legs_and_rules_can_be_left_out_to_see_what_they_do(world: World) -> None:
    both = world.search.ranked_matches("へいほうかんせい", limit=3).matches
    words = world.search.ranked_matches("へいほうかんせい", limit=3, mode="words", without={"rewriting"})
    expected = "二次方程式の解き方_教材#ex-1"
    vectors = world.search.ranked_matches("平方完成", limit=3, mode="vectors", expected=expected).matches
    assert both[0].cosine is not None
    assert words.understood.text == "へいほうかんせい"
    assert all(match.cosine is None for match in words.matches)
    assert [match.ranked.words.share for match in vectors] == [0] * len(vectors)
    assert vectors[-1].anchor == "ex-1"


# ---------------------------------------------------------------- other libraries: they empty the first


def test_an_empty_library_has_no_answer_and_no_error(a_world: Worlds) -> None:
    answer = a_world().search("解の公式")
    assert (answer.no_good_match, answer.results) == (True, ())


def test_a_question_is_doubted_for_what_its_best_text_lacks_not_another(a_world: Worlds) -> None:
    world = a_world()
    texts = {"rule-1045": "Error 1045: The password is wrong.", "rule-1046": "Error 1046: No database is selected."}
    world.put("errors.html", a_page(texts))
    said, nowhere = (world.search.ranked_matches(f"What is error {code}?", limit=2) for code in (1046, 1047))
    assert [match.anchor for match in said.matches] == ["rule-1046", "rule-1045"]
    assert (said.lack.doubts, nowhere.lack.absent) == (set(), ("1047",))


def test_a_chunk_is_read_by_its_id_in_any_spelling(a_world: Worlds) -> None:
    world = a_world(base_url="/school_asset")
    world.put("がぎ.html", a_page({"rule-a": "名: 文。"}))
    for name in ("がぎ#rule-a", "/school_asset/がぎ.html#rule-a"):
        (chunk,) = world.read.chunks([unicodedata.normalize("NFD", name)])
        assert chunk is not None
        assert chunk.id == "がぎ#rule-a"
