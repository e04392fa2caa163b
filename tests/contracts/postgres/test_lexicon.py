"""What every `Lexicon` promises."""

from sakuin.knowledge.model import KnowledgeChunk
from sakuin.language.model import IndexedWords, LexiconEntries, LexiconLookup

from tests.builders import a_chunk, a_source
from tests.contracts.postgres.conftest import Knowledge

NOTHING = LexiconLookup(frozenset(), {})


def a_text(material: str, number: int, *readings: tuple[str, str], terms: tuple[str, ...] = ()) -> KnowledgeChunk:
    words = IndexedWords(dict.fromkeys(terms, 0.5), frozenset(readings))
    return a_chunk(material, f"rule-{number}", str(number), words=words)


def a_spelled_text(material: str, number: int, **spelled: str) -> KnowledgeChunk:
    words = IndexedWords(dict.fromkeys(spelled.values(), 0.5), frozenset(), spelled)
    return a_chunk(material, f"rule-{number}", str(number), words=words)


def store(knowledge: Knowledge, *chunks: KnowledgeChunk, version: int = 1) -> None:
    for material in {chunk.material for chunk in chunks}:
        page = [chunk for chunk in chunks if chunk.material == material]
        knowledge.apply(a_source(material, version), page, material=material)


def vector_text(knowledge: Knowledge, *readings: str) -> dict[str, tuple[str, ...]]:
    return dict(knowledge.lexicon.look_up("", LexiconLookup(frozenset(readings), {})).spellings)


def near(knowledge: Knowledge, **words: str) -> dict[str, tuple[str, ...]]:
    return dict(knowledge.lexicon.look_up("", LexiconLookup(frozenset(), words)).similar)


def test_an_empty_index_knows_nothing(knowledge: Knowledge) -> None:
    assert knowledge.lexicon.look_up("解の公式", LexiconLookup(frozenset({"カイ"}), {"解": "カイ"})) == LexiconEntries()


def test_a_reading_has_its_written_forms_the_most_frequent_first(knowledge: Knowledge) -> None:
    both = [("カイ", "解"), ("カイ", "階")]
    store(knowledge, a_text("m", 1, *both), a_text("m", 2, ("カイ", "階")), a_text("n", 1, ("シキ", "式")))
    assert vector_text(knowledge, "カイ", "シキ", "ナイ") == {"カイ": ("階", "解"), "シキ": ("式",)}


def test_what_no_page_has_any_more_is_forgotten(knowledge: Knowledge) -> None:
    store(knowledge, a_text("m", 1, ("カイ", "解"), ("シキ", "式")), a_text("n", 1, ("シキ", "式")))
    store(knowledge, a_text("m", 1, ("カイ", "階")), version=2)
    assert vector_text(knowledge, "カイ", "シキ") == {"カイ": ("階",), "シキ": ("式",)}
    knowledge.delete(a_source("n", 2), material="n")
    assert vector_text(knowledge, "カイ", "シキ") == {"カイ": ("階",)}


def test_a_word_that_the_index_does_not_have_is_near_what_it_nearly_is(knowledge: Knowledge) -> None:
    known = (("ハンベツシキ", "判別式"), ("ヘイホウカンセイ", "平方完成"), ("カイ", "解"), ("ケイス", "計数"))
    store(knowledge, a_text("m", 1, *known))
    for typed in ("ハンベツシ", "ハンベツシキキ", "ハンヘツシキ", "ハベンツシキ", "カンベツシキ"):
        assert near(knowledge, word=typed) == {"word": ("判別式",)}, typed
    assert near(knowledge, word="ヘイホオカンセエ") == {"word": ("平方完成",)}
    # Seven kana may have two slips, and kana that are typed twice are none.
    assert near(knowledge, word="ハンメツンシキ") == {"word": ("判別式",)}
    assert near(knowledge, word="ケケイイスス") == {"word": ("計数",)}
    # A short word, and one too many slips away, is near nothing.
    for typed in ("カイイ", "ハンベツ", "ハカンベツ", "シキハンベツ"):
        assert near(knowledge, word=typed) == {}, typed


def test_the_nearest_comes_first_and_then_the_most_frequent(knowledge: Knowledge) -> None:
    far = [a_text("n", number, ("ヘイホウカンセ", "平方感"), ("ヘイホウカンセツ", "平方関節")) for number in (1, 2)]
    far += [a_text("n", number, ("ヘイホウカンモノ", "平方寛物")) for number in range(3, 9)]
    store(knowledge, a_text("m", 1, ("ヘイホウカンセイホ", "平方官製"), ("ヘイホウカンセツ", "平方関節")), *far)
    assert near(knowledge, word="ヘイホウカンセイ") == {"word": ("平方関節", "平方感", "平方官製", "平方寛物")}


def test_a_word_that_the_index_has_is_no_slip(knowledge: Knowledge) -> None:
    store(knowledge, a_text("m", 1, ("ハンベツシキ", "判別式"), ("ハンベツシャ", "判別者"), terms=("判別士",)))
    assert near(knowledge, 判別士="ハンベツシ", 判別式="ハンベツシキ") == {}


def test_a_word_of_any_language_is_known_by_its_spelling_or_its_term(knowledge: Knowledge) -> None:
    store(knowledge, a_spelled_text("m", 1, equations="equation", straße="straße"), a_text("m", 2, ("シュウ", "州")))
    asked = {"equations": "equations", "equation": "", "straße": "straße", "州": "シュウ", "strase": "strase", "柱": ""}
    found = knowledge.lexicon.look_up("", LexiconLookup(frozenset(), asked))
    assert found.known == {"equations", "equation", "straße", "州"}
    assert found.similar == {"strase": ("straße",)}


def test_a_misspelled_word_is_near_one_that_a_page_has_now(knowledge: Knowledge) -> None:
    store(knowledge, a_spelled_text("m", 1, friction="friction", fractions="fraction"))
    assert near(knowledge, fricton="fricton", coefficient="coefficient") == {"fricton": ("friction",)}
    assert near(knowledge, friction="friction") == {}
    store(knowledge, a_spelled_text("m", 1, fractions="fraction"), version=2)
    assert near(knowledge, fricton="fricton") == {}


def test_the_spellings_of_an_older_analyzer_are_replaced(knowledge: Knowledge) -> None:
    store(knowledge, a_spelled_text("m", 1, equations="equation"))
    store(knowledge, a_spelled_text("m", 1, equations="equat"), version=2)
    asked = LexiconLookup(frozenset(), {"equations": "equations", "equation": ""})
    assert knowledge.lexicon.look_up("", asked).known == {"equations"}


def test_the_site_s_synonyms_come_for_the_phrases_that_stand_in_the_question(knowledge: Knowledge) -> None:
    groups = [("速さの公式", "みはじ"), ("傾き", "変化の割合", "スロープ")]
    assert knowledge.index.store_synonyms("synonyms.yml", "v2", "", groups, expected_generation=0)
    found = knowledge.lexicon.look_up("みはじって何？", NOTHING).synonyms
    assert found == {"": [("速さの公式", "みはじ")]}
    assert knowledge.index.store_synonyms("synonyms.yml", None, "", [], expected_generation=1)
    assert knowledge.lexicon.look_up("みはじ", NOTHING).synonyms == {}


def test_a_long_question_of_many_words_is_looked_up_whole(knowledge: Knowledge) -> None:
    readings = [
        ("".join(chr(0x30A1 + (number * step) % 80) for step in (1, 3, 7)) + "ン", f"語{number}")
        for number in range(80)
    ]
    store(knowledge, a_text("m", 1, *readings))
    asked = {reading for reading, _ in readings}
    assert vector_text(knowledge, *asked).keys() == asked
