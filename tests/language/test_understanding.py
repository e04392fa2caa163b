"""The analysis of a question, step by step."""

from collections.abc import Set

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.language.indexing import index_words
from sakuin.language.model import AnalyzedQuery, LexiconEntries, RewriteStep, Slot
from sakuin.language.questions import query_analysis
from sakuin.language.questions.query_analysis import lexicon_lookup
from sakuin.language.vocabulary import NO_VOCABULARY, Vocabulary, vocabulary_of

NOTHING = LexiconEntries()
MATHEMATICS = vocabulary_of("school-mathematics")
# An index that has every concept of school mathematics, and no word of its own.
TAUGHT = LexiconEntries(known=frozenset(concept.term for concept in MATHEMATICS.concepts))


def analyze_query(
    query: str, known: LexiconEntries, vocabulary: Vocabulary = MATHEMATICS, *, without: Set[str] = frozenset()
) -> AnalyzedQuery:
    return query_analysis.analyze_query(query, known, vocabulary, without=without)


def word_terms(question: AnalyzedQuery) -> set[str]:
    return {term for slot in question.slots if slot.kind == "word" for term in slot.terms}


def steps(question: AnalyzedQuery, rule: str) -> list[tuple[str, str]]:
    return [(step.found, step.read_as) for step in question.steps if step.rule == rule]


def test_kana_are_written_as_the_index_writes_them() -> None:
    known = LexiconEntries(spellings={"カテンホウ": ("仮点法",), "ハンレイズ": ("範例図", "凡例図")})
    question = analyze_query("かてんほうのはんれいず", known)
    assert question.understood_as == "仮点法の範例図"
    assert question.text == "仮点法の範例図 かてんほうのはんれいず"
    assert steps(question, "rewriting") == [("かてんほう", "仮点法"), ("はんれいず", "範例図")]
    assert analyze_query("かてんほう", known, without={"rewriting"}).text == "かてんほう"


@pytest.mark.parametrize(
    ("kana", "written"),
    [
        ("にじほうていしきのかいのこうしき", "二次方程式の解の公式"),
        ("へいほうかんせい", "平方完成"),
        ("さんへいほうのていり", "三平方の定理"),
        ("よげんていり", "余弦定理"),
        ("はこひげず", "箱ひげ図"),
    ],
)
def test_kana_of_a_concept_are_read_where_the_index_has_the_concept(kana: str, written: str) -> None:
    assert analyze_query(kana, TAUGHT).understood_as == written
    assert analyze_query(kana, NOTHING).understood_as is None
    assert analyze_query(kana, TAUGHT, NO_VOCABULARY).understood_as is None


WORDS_IN_KANA = LexiconEntries(
    spellings={"トキ": ("時",), "マト": ("的",), "ナン": ("何",), "タスキガケ": ("たすきがけ", "襷掛け")}
)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        pytest.param("ときどきしかできないことがある", WORDS_IN_KANA, id="words in kana"),
        pytest.param("これはなんですか", WORDS_IN_KANA, id="grammar"),
        pytest.param("まとめかた", WORDS_IN_KANA, id="another word in kana"),
        pytest.param("たすきがけ", WORDS_IN_KANA, id="a spelling of the index"),
        pytest.param(
            "とくちょうりょう", LexiconEntries(spellings={"チョウ": ("長",), "トク": ("徳",)}), id="unknown kana around"
        ),
        pytest.param("条件月", LexiconEntries(similar={"条件月": ("条件",)}), id="a compound of the near word"),
        pytest.param("三角州", LexiconEntries(similar={"三角州": ("三角定規", "三角柱")}), id="a similar reading"),
        pytest.param("階の公式", LexiconEntries(spellings={"カイノコウシキ": ("階の公式",)}), id="a homophone"),
    ],
)
def test_what_is_right_stays_as_it_is(text: str, known: LexiconEntries) -> None:
    assert analyze_query(text, known).steps == ()
    assert analyze_query(text, known).text == text


@pytest.mark.parametrize(
    ("kana", "written"),
    [
        ("こうしきでときたい", "公式でときたい"),
        ("こうしきはなんでしょうか", "公式はなんでしょうか"),
        ("こうしきなんか", "公式なんか"),
        ("たいのなかま", "鯛のなかま"),
    ],
)
def test_an_auxiliary_in_kana_is_no_word_of_the_index_except_at_the_beginning(kana: str, written: str) -> None:
    readings = {"コウシキ": "公式", "キタイ": "期待", "ショウカ": "消化", "ナンカ": "南下", "タイ": "鯛"}
    known = LexiconEntries(spellings={reading: (spelling,) for reading, spelling in readings.items()})
    assert analyze_query(kana, known, NO_VOCABULARY).understood_as == written


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("判別指揮", "判別式"),
        ("階の公式", "解の公式"),
        ("余事像の確率", "余事象の確率"),
        ("等差数列の一搬項", "等差数列の一般項"),
        ("三平方の定利", "三平方の定理"),
        ("ニ次方程式", "二次方程式"),
    ],
)
def test_wrong_conversions_have_a_variant_where_the_index_has_the_concept(typed: str, meant: str) -> None:
    question, right = analyze_query(typed, TAUGHT), analyze_query(meant, TAUGHT)
    assert word_terms(question) >= word_terms(right)
    as_typed = word_terms(analyze_query(typed, TAUGHT, without={"typos"}))
    assert as_typed <= word_terms(question)
    if question.steps:
        assert question.understood_as == meant
        assert question.text.endswith(typed)
    assert steps(analyze_query(typed, NOTHING), "typos") == []


@pytest.mark.parametrize(
    "right", ["三次関数", "四次関数", "正弦定理", "箱の面積", "江戸時代の参勤交代", "中和反応", "等式の変形"]
)
def test_correct_text_has_no_typos(right: str) -> None:
    assert steps(analyze_query(right, TAUGHT), "typos") == []
    # A part of the phrase of a concept is nearly this.
    gradient = LexiconEntries(known=frozenset({"#gradient"}))
    assert steps(analyze_query("rate of chance", gradient), "typos") == []


def test_words_a_keystroke_from_one_of_the_index_are_read_as_that() -> None:
    known = LexiconEntries(similar={"たんきょりそお": ("短距離走",), "シュミレーシュン": ("シミュレーション",)})
    question = analyze_query("たんきょりそおのこつ", known)
    assert question.understood_as == "短距離走のこつ"
    assert steps(question, "typos") == [("たんきょりそお", "短距離走")]
    assert steps(analyze_query("たんきょりそおのこつ", known, without={"typos"}), "typos") == []
    assert analyze_query("確率のシュミレーシュン", known).understood_as == "確率のシミュレーション"


def test_grammar_beside_kanji_is_no_typo() -> None:
    known = LexiconEntries(similar={"していく": ("指定",), "でデータ": ("データ",)}, spellings={"ビョウ": ("秒",)})
    for text in ("減少していくとき", "中央値でデータを分ける", "画びょうの確率"):
        assert steps(analyze_query(text, known), "typos") + steps(analyze_query(text, known), "rewriting") == []


@pytest.mark.parametrize(
    ("english", "japanese"),
    [
        ("how do I solve quadratic equations by completing the square?", ["二次方程式", "平方完成"]),
        ("What is the Pythagorean theorem", ["三平方の定理"]),
        ("slope of a line", ["傾き", "直線"]),
        ("nth term of an arithmetic progression", ["一般項", "等差数列"]),
        ("factorise x^2+5x+6", ["因数分解"]),
    ],
)
def test_an_english_question_asks_for_the_japanese_names(english: str, japanese: list[str]) -> None:
    question = analyze_query(english, TAUGHT)
    assert [name for name in japanese if name not in question.text] == []
    assert english in question.text
    for name in japanese:
        assert word_terms(analyze_query(name, NOTHING)) & word_terms(question)
    assert analyze_query(english, TAUGHT, without={"english"}).text == english
    assert analyze_query(english, TAUGHT, NO_VOCABULARY).text == english
    assert word_terms(analyze_query(english, TAUGHT, NO_VOCABULARY)) <= word_terms(question)


# Words that school mathematics has another use for, and words of other languages.
WORDS = """
friction price model mode project product law table order value refraction reaction interest causes party radio
reibung funktion gesetz ordnung wert tabelle preis straße fricción precio modelo ley tabla orden valor proyecto
"""


@pytest.mark.parametrize("word", WORDS.split())
def test_a_word_that_the_index_has_is_searched_as_typed(word: str) -> None:
    term = next(iter(index_words(title=word, learns=(), body="").spelled.values()), word)
    near = {word: ("fraction", "prime", "product", "node", "lay")}
    question = analyze_query(word, LexiconEntries(similar=near, known=TAUGHT.known | {word, term}))
    assert question.text == word
    assert term in word_terms(question)
    assert steps(question, "typos") == []
    assert (question.known, question.changed) == ((term,), ())
    plain = analyze_query(word, LexiconEntries(known=frozenset({word, term})), NO_VOCABULARY)
    assert word_terms(plain) == {term}


@pytest.mark.parametrize("word", WORDS.split())
def test_a_word_that_the_index_lacks_is_still_asked_for_and_no_other_without_the_index(word: str) -> None:
    (term,) = word_terms(analyze_query(word, NOTHING, NO_VOCABULARY))
    assert term in word_terms(analyze_query(word, TAUGHT))
    assert steps(analyze_query(word, TAUGHT), "typos") == []


def test_a_typo_has_the_near_word_of_the_index_as_a_variant() -> None:
    known = LexiconEntries(similar={"fricton": ("friction",), "photosyntesis": ("photosynthesis",)})
    question = analyze_query("Fricton and photosyntesis", known, NO_VOCABULARY)
    assert question.understood_as == "friction and photosynthesis"
    assert question.text == "Fricton and photosyntesis"
    assert {"fricton", "friction"} <= word_terms(question)
    assert len([slot for slot in question.slots if slot.kind == "word"]) == 2


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("price", "slice"),
        ("friction", "fractions"),
        ("information", "formation"),
        ("limiting", "lifting"),
        ("serve", "server"),
        ("datei", "date"),
    ],
)
def test_a_word_of_a_list_or_too_far_away_is_no_typo(typed: str, near: str) -> None:
    assert analyze_query(typed, LexiconEntries(similar={typed: (near,)}), NO_VOCABULARY).steps == ()


def test_a_correction_adds_its_grams_and_counts_only_if_a_result_has_its_word() -> None:
    question = analyze_query("fricton of wood", LexiconEntries(similar={"fricton": ("friction",)}), NO_VOCABULARY)
    grams = {term for slot in question.slots if slot.kind == "gram" for term in slot.terms}
    assert grams >= {"^fri", "^ric", "^ict", "^cto", "^ton", "^cti", "^tio", "^ion"}
    assert question.added == ("friction",)
    assert question.with_results([("wood",), ("friction",)]).understood_as == "friction of wood"
    assert question.with_results([("wood",), ()]).understood_as is None


@pytest.mark.parametrize(("typed", "other"), [("三角州", "柱"), ("世界史", "政治")])
def test_a_japanese_word_is_never_replaced(typed: str, other: str) -> None:
    own = word_terms(analyze_query(typed, NOTHING, NO_VOCABULARY))
    assert own <= word_terms(analyze_query(typed, NOTHING))
    assert other not in word_terms(analyze_query(typed, NOTHING))
    wrong = LexiconEntries(similar={typed: ("政治",)}, known=TAUGHT.known | {typed})
    assert word_terms(analyze_query(typed, wrong)) == own
    unsure = LexiconEntries(similar={typed: ("政治",)}, known=TAUGHT.known)
    assert own <= word_terms(analyze_query(typed, unsure))


def test_a_common_word_is_searched_in_its_own_language_too() -> None:
    question = analyze_query("order of the table", LexiconEntries(known=frozenset({"order", "table"})))
    assert word_terms(question) == {"order", "順序", "table", "表"}
    assert question.text == "order of the table"
    assert word_terms(analyze_query("order of the table", NOTHING, NO_VOCABULARY)) == {"order", "table"}


def test_a_word_of_little_content_is_asked_for_where_the_index_has_it() -> None:
    assert word_terms(analyze_query("what is work", NOTHING)) == set()
    assert word_terms(analyze_query("what is work", LexiconEntries(known=frozenset({"work"})))) == {"work"}


def test_the_words_of_a_question_are_looked_up_in_any_language() -> None:
    assert lexicon_lookup("Reibung and friction of law").words == {
        **{"reibung": "reibung", "friction": "friction"},
        **{"and": "", "of": "", "law": ""},
    }
    compound = lexicon_lookup("三角州", MATHEMATICS)
    assert "サンカクシュウ" in compound.readings
    assert compound.words.items() >= {"三角": "", "州": "", "#prism": ""}.items()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("US economy", {"us", "economy"}),
        ("U.S. economy", {"us", "economy"}),
        ("us economy", {"us", "economy"}),
        ("IT department", {"it", "department"}),
        ("What does the IT department do?", {"it", "department"}),
        ("Who leads the WHO?", {"who", "lead"}),
        ("The Who albums", {"who", "album"}),
        ("What is it? Where does the UN meet?", {"un", "meet"}),
        ("die casting", {"die", "casting"}),
        ("trade from 2010 to the UK", {"trade", "2010", "uk"}),
        ("where I'm from and don't go", {"go"}),
        ("Let's meet. Don't wait.", {"meet", "wait"}),
        ("how do I use it", set()),
        ("best pizza recipe", {"best", "pizza", "recipe"}),
        # A single digit is a word, a single letter is none.
        ("turn on HTTP/2", {"turn", "http", "2"}),
        ("section b of the exam", {"section", "exam"}),
        ("Was kostet der Eintritt in die Oper?", {"kostet", "eintritt", "oper"}),
        ("¿Qué es la fotosíntesis y para qué sirve?", {"fotosíntesis", "sirve"}),
        ("Что такое сила трения и как она", {"такое", "сила", "трения"}),
    ],
)
def test_a_stop_word_is_one_of_the_questions_language_and_no_name(query: str, words: set[str]) -> None:
    assert word_terms(analyze_query(query, NOTHING, NO_VOCABULARY)) == words


def test_a_stop_word_that_the_index_has_is_searched_and_not_shown_as_matched() -> None:
    question = analyze_query("what is in it", LexiconEntries(known=frozenset({"it", "is"})), NO_VOCABULARY)
    assert word_terms(question) == {"it", "is"}
    question = analyze_query("cost of it", LexiconEntries(known=frozenset({"it", "cost"})), NO_VOCABULARY)
    assert word_terms(question) == {"cost"}
    assert [slot for slot in question.slots if slot.terms == ("it",)] == [Slot("gram", ("it",))]


@pytest.mark.parametrize("query", ["x squared to the UK", "Who leads the WHO?", "what is a u.s. tax", "二乗の和"])
def test_every_typed_word_that_the_index_has_is_searched(query: str) -> None:
    known = frozenset(lexicon_lookup(query, MATHEMATICS).words)
    question = analyze_query(query, LexiconEntries(known=known))
    assert set(question.known) >= {term for term in lexicon_lookup(query).words if len(term) == 2} & {"uk", "us", "is"}
    assert question.changed == ()


def test_a_word_that_is_not_searched_is_one_that_was_changed() -> None:
    words = [f"word{one}{other}" for one in "abcdefghij" for other in "abcdefghij"]
    question = analyze_query(" ".join(words), LexiconEntries(known=frozenset(words)), NO_VOCABULARY)
    assert question.changed == tuple(words[96:])


def test_a_synonym_finds_its_twin_through_the_concept() -> None:
    page = index_words(title="ピタゴラスの定理", learns=(), body="直角をはさむ二辺", vocabulary=MATHEMATICS)
    asked = analyze_query("三平方の定理", NOTHING)
    assert all(any(term in page.impacts for term in slot.terms) for slot in asked.slots if slot.kind == "word")
    assert not word_terms(analyze_query("三平方の定理", NOTHING, without={"synonyms"})) & {"#pythagorean-theorem"}


def test_the_sites_own_synonyms_are_other_ways_to_say_a_phrase_in_any_language() -> None:
    known = LexiconEntries(synonyms={"": [("ぴよぴよ図", "速さの早見表"), ("soh-cah-toa", "語呂合わせ")]})
    question = analyze_query("ぴよぴよ図", known)
    page = index_words(title="速さの早見表", learns=(), body="")
    assert steps(question, "synonyms") == [("ぴよぴよ図", "速さの早見表")]
    assert all(any(term in page.impacts for term in slot.terms) for slot in question.slots if slot.kind == "word")
    assert "語呂" in word_terms(analyze_query("what is SOH-CAH-TOA?", known))


def test_a_formula_is_one_thing_to_ask_for() -> None:
    question = analyze_query("x²-7x+12=0", NOTHING)
    (slot,) = question.slots
    assert {"x^2-7x+12=0", "x^2", "7x"} == set(slot.terms)
    assert steps(analyze_query(r"\frac{1}{2}", NOTHING), "notation") == [(r"\frac{1}{2}", "1/2")]


def test_grams_are_asked_for_beside_words_unless_switched_off() -> None:
    assert {slot.kind for slot in analyze_query("標準偏差", NOTHING).slots} == {"word", "gram"}
    assert {slot.kind for slot in analyze_query("標準偏差", NOTHING, without={"grams"}).slots} == {"word"}


@pytest.mark.parametrize(
    "text", ["一元二次方程怎么解", "勾股定理的证明", "이차방정식의 근의 공식", "théorème de Pythagore", "Что"]
)
def test_other_languages_pass_and_find_what_is_written_in_them(text: str) -> None:
    page = index_words(title=text, learns=(), body="")
    question = analyze_query(text, NOTHING)
    assert question.text == text
    assert word_terms(question) & page.impacts.keys()


@pytest.mark.parametrize("nothing", ["", " ", "？？？", "\0\ud800\u202e", "!?", "。、", "※→"])
def test_a_question_of_no_words_has_no_slots_and_one_that_is_all_asking_has(nothing: str) -> None:
    assert analyze_query(nothing, NOTHING).slots == ()
    assert lexicon_lookup(nothing).readings == frozenset()
    assert analyze_query(f"どうすればいいですか{nothing}", NOTHING).slots != ()


@given(st.text(max_size=80), st.text(alphabet="のかいこうしきってにじ二次方程式x^2=√ab ?", max_size=40))
def test_any_question_is_understood_in_one_way_without_what_stores_refuse(noise: str, mathematics: str) -> None:
    query = mathematics + noise
    known = LexiconEntries(spellings=dict.fromkeys(lexicon_lookup(query).readings, ("解",)))
    question = analyze_query(query, known)
    assert question == analyze_query(query, known)
    question.text.encode()
    assert "\0" not in question.text
    for slot in question.slots:
        assert slot.terms
        for term in slot.terms:
            assert term.strip()
            assert len(term.encode()) <= 39


def test_steps_say_what_was_done_in_the_order_it_was_done() -> None:
    question = analyze_query("Ｘの二乗のいんすうぶんかいってどうやるの？", TAUGHT)
    assert question.steps == (
        RewriteStep("notation", "xの二乗のいんすうぶんかいってどうやるの?", "x^2のいんすうぶんかいってどうやるの?"),
        RewriteStep("rewriting", "いんすうぶんかい", "因数分解"),
    )


@pytest.mark.parametrize(
    ("queries", "wants_example"),
    [
        (
            ["加減法の例題", "つるかめ算を解く例を見せて", "外れ値を例で知りたい", "a worked example", "具体例は？"],
            True,
        ),
        (["反比例の式", "例外はあるか", "比例を教えて", "解の公式", "examination dates"], False),
    ],
)
def test_a_question_may_ask_for_an_example(queries: list[str], wants_example: bool) -> None:
    for query in queries:
        found = analyze_query(query, NOTHING)
        has_step = any(step.rule == "examples" for step in found.steps)
        assert (found.wants_example, has_step) == (wants_example, wants_example), query
        assert not analyze_query(query, NOTHING, without={"examples"}).wants_example


def test_a_phrase_of_the_vocabulary_is_known_with_one_misspelled_word_and_one_word_alone_is_not() -> None:
    vocabulary = vocabulary_of("school-mathematics")
    known = LexiconEntries(known=frozenset({"#pythagorean-theorem", "#fraction"}))
    asked = analyze_query("pythagorian theorem", known, vocabulary)
    assert steps(asked, "typos") == [("pythagorian", "pythagorean")]
    assert {"pythagorian", "#pythagorean-theorem"} <= set(word_terms(asked))
    assert "#pythagorean-theorem" in lexicon_lookup("pythagorian theorem", vocabulary).words
    # The index has no such concept, or only a single word is alike.
    assert steps(analyze_query("pythagorian theorem", NOTHING, vocabulary), "typos") == []
    assert steps(analyze_query("friction", known, vocabulary), "typos") == []
