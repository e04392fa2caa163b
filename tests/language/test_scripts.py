"""Words of every script; `notation.yaml` has their forms and grams."""

import pytest
from sakuin.knowledge.excerpt import matched_words
from sakuin.language.letters import stem
from sakuin.language.model import LexiconEntries
from sakuin.language.questions.query_analysis import analyze_query
from sakuin.language.unicode_text import folded

# A text, a question with one word of it, and the word.
SPACED = [
    ("भारत की राजधानी दिल्ली है।", "राजधानी क्या है?", "राजधानी"),
    ("தமிழ் மொழி பழமையானது.", "மொழி எது?", "மொழி"),
    ("بُنِيَتِ المَدْرَسَةُ في القاهرة، ثم هُدِمت.", "المدرسه", "المدرسه"),
    ("المدينة القديمة", "أين المدينة؟", "المدينه"),
    ("בְּרֵאשִׁית בָּרָא אֱלֹהִים", "בראשית", "בראשית"),
    ("Что такое сила трения?", "трения", "трения"),
    ("ქართული ენა, ძველი", "ენა", "ენა"),
    ("հայերեն լեզու", "լեզու", "լեզու"),
    ("ትግርኛ ቋንቋ፣ ሰላም።", "ቋንቋ", "ቋንቋ"),
    ("한국어의 근 구하기", "근", "근"),
]


@pytest.mark.parametrize(("text", "question", "word"), SPACED, ids=lambda value: value[:12])
def test_a_word_of_a_script_with_spaces_has_no_punctuation(text: str, question: str, word: str) -> None:
    asked = [term for slot in analyze_query(question, LexiconEntries()).slots for term in slot.terms]
    assert stem(word) in asked
    assert word in matched_words(text, [term for term in asked if not term.startswith("^")])


def test_an_arabic_word_is_found_with_article_conjunction_and_ending() -> None:
    forms = ("الجامعات", "والجامعات", "جامعات", "للجامعة", "جامعة")
    assert {stem(folded(form)) for form in forms} == {"جامع"}
    # What is too short stays.
    assert [stem(word) for word in ("و", "ال", "ولد", "بال")] == ["و", "ال", "ولد", "بال"]
