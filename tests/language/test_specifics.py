"""The numbers, codes and names of a question, and those that a text lacks."""

import pytest
from sakuin.language.model import LexiconEntries
from sakuin.language.questions.query_analysis import analyze_query
from sakuin.language.questions.specifics import missing_from


def missing(query: str, text: str, **lexicon: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return missing_from(text, analyze_query(query, LexiconEntries(**lexicon)))


@pytest.mark.parametrize(
    ("query", "text", "lacks"),
    [
        ("How do I fix error 1046?", "Error 1045 means that the password is wrong.", ["1046"]),
        ("CVE-2024-3095 の影響", "CVE-2024-3094 は展開されたファイルに影響します。", ["CVE-2024-3095"]),
        ("ISO 14001 certification", "ISO 9001 asks for a certification of quality.", ["14001"]),
        ("平成13年の人口", "平成12年の人口は三千人です。", ["13"]),
        ("第四条は何ですか", "第三条 会員は会費を払う。", ["第四"]),
        ("三次方程式の解き方", "二次方程式を解の公式で解きます。", ["三次"]),
        ("drop_table", "Use drop_index before you load the rows.", ["drop_table"]),
        (
            "how does --extract-video work",
            "With --extract-media the files are written below a folder.",
            ["--extract-video"],
        ),
        ("Install on macOS", "Install it on Windows with the program of the release.", ["macOS"]),
        ("Population of Marseille", "Lyon has a population of half a million.", ["Marseille"]),
        ("What is the population of marseille?", "Lyon has a population of half a million.", ["marseille"]),
        (
            "¿Cuándo nació Picasso en la ciudad?",
            "Dalí nació en la ciudad de Figueras y murió en el mismo lugar.",
            ["Picasso"],
        ),
        ("佐藤さんの連絡先", "斉藤さんの連絡先は受付にあります。", ["佐藤"]),
        ("Java言語の特徴", "C言語の特徴は速さです。", ["Java"]),
        ("クバネティスの使い方", "ドッカーの使い方を説明します。", ["クバネティス"]),
        ("When should I set smart-wrap?", "Set smart-case to search in any case.", ["smart-wrap"]),
        ("What is in static/an-image.png?", "Files of static/an-icon.png are copied.", ["static/an-image.png"]),
        ("what does `npm audit` do", "Use npm install to add a package.", ["npm audit"]),
        ("Wann wurde Kowalczyk geboren?", "Er wurde als Sohn eines Müllers in der Stadt geboren.", ["Kowalczyk"]),
    ],
)
def test_what_a_text_lacks_is_said_as_typed(query: str, text: str, lacks: list[str]) -> None:
    assert [*missing(query, text)] == lacks


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("error 1,045", "Error 1045 means that the password is wrong."),
        ("in the 14th century", "The plague of the fourteenth century."),
        ("version 2.10", "Since 2.10.3 the option is on."),
        ("第4条", "第四条 会員は会費を払う。"),
        ("dec 0054", "DEC-54 says how."),
        ("DEC-0054", "dec0054 says how."),
        ("setTimeout()", "Call set_timeout with milliseconds."),
        ("Where is the U.S. capital?", "The United States have their capital in Washington."),
        ("What did Hutton's paper say?", "James Hutton wrote a paper."),
        ("Who sang at the Superbowl?", "Who sang at the Super Bowl was a secret."),
        ("ｶﾗｵｹのﾏｼﾝ", "カラオケのマシンを置く。"),
        ("Варшаве сколько жителей", "Варшава имеет два миллиона жителей."),
        ("BEYONCÉ when was she born, said Beyonce", "Beyoncé was born in 1981."),
        # Common nouns and verbs may be said in other words.
        ("ピアノの弦の張り方", "バイオリンの弦はペグで張ります。"),
        ("how do I remove a thing quickly", "Delete the entry."),
        ("Wie viele Spieler hat eine Mannschaft", "Ein Team hat elf Leute auf dem Feld und der Rasen ist grün."),
        ("Wie lautet die neue Verordnung in Staatsbesitz?", "Das Gesetz ist auf dem Stand von heute und gilt."),
        ("an up-to-date list and/or a table", "The entries are shown as they are."),
        # In another language a name may be written in another way.
        ("What is the population of Marseille?", "マルセイユの人口は約九十万人です。"),
    ],
)
def test_another_form_of_the_same_is_not_missing(query: str, text: str) -> None:
    assert missing(query, text) == ()


def test_codes_and_numbers_count_in_every_language() -> None:
    assert missing("What does error 1046 of setTimeout mean?", "エラー1045は認証の失敗です。") == ("1046", "setTimeout")


def test_what_the_search_reads_otherwise_is_not_missing() -> None:
    text = "田中さんはテニスが好きです。"
    assert missing("たなかさんの趣味", text, spellings={"タナカ": ("田中",)}) == ()
    assert (
        missing(
            "Kuberntes pods of the cluster",
            "Kubernetes runs pods of the cluster.",
            similar={"kuberntes": ("kubernetes",)},
        )
        == ()
    )


@pytest.mark.parametrize("query", ["the of and a", "!!! ...", "🎉", "What is it?"])
def test_a_question_of_stop_words_or_signs_asks_nothing(query: str) -> None:
    assert analyze_query(query, LexiconEntries()).asks_nothing


@pytest.mark.parametrize("query", ["IT", "c", "the Who", "公式"])
def test_a_name_is_a_question(query: str) -> None:
    assert not analyze_query(query, LexiconEntries()).asks_nothing


@pytest.mark.parametrize(
    ("query", "other"), [("cpp", "C++"), ("c plus plus", "C++"), ("csharp", "C#"), ("齊藤", "斉藤")]
)
def test_names_are_searched_in_their_other_spellings(query: str, other: str) -> None:
    questions = (analyze_query(each, LexiconEntries()) for each in (query, other))
    searched, own = ({term for slot in question.slots for term in slot.terms} for question in questions)
    assert own & searched
    assert missing(query, f"Only {other} is explained.") == ()
