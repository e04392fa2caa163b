"""The deterministic writer of `learns`."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from sakuin.knowledge.learns.from_text import (
    ENGLISH_TITLE,
    LONGEST,
    WAY,
    Language,
    abilities_in,
    as_verb,
    clause_of,
    is_mathematical,
    is_verb,
    language_of,
    names_action,
    sentences_of,
    without_brackets,
)
from sakuin.knowledge.model import Learns, LearnsSource
from sakuin.knowledge.page import Explanation, Page
from sakuin.knowledge.reading.names import concept_name, is_generic
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import nfkc, one_line

LEARNS_MIN = 3
LEARNS_MAX = 5

# 判別式 D = b^2 - 4ac: the name ends where the formula begins.
FORMULA_END = re.compile(r"(?<=[ぁ-んァ-ヶ一-龠])\s+[A-Za-z\\|(][^ぁ-んァ-ヶ一-龠]*=[^ぁ-んァ-ヶ一-龠]*$")

LONGEST_STEP = 300  # characters in the content, with its TeX

STEP = re.compile(r"^\d+\. (.+)$", re.MULTILINE)

DEFINED = re.compile(r"(?:^|[。、「])([^\s。、「」=\\（）]{2,12})」?とは", re.MULTILINE)

NOT_USED = re.compile(r"(?:方程式|不等式|問題|場合|とき|場面|意味|文章題)$")

QUESTION = re.compile(r"どちら|どの|どう|どれ|いつ|なぜ|何[をがの]")

QUOTED = re.compile(r"「[^」]*」")

NOUN_FROM_VERB = re.compile(r"[一-龠](?:け|せ|え|り|み|き|げ|れ|び|ち)$")

WANTED = re.compile(
    r"(?:値|確率|和|差|積|商|個数|条件|長さ|面積|体積|角度|角|比|位置|座標|解|距離|平均|項|項数|共有点)$"
)

TO_SOLVE = re.compile(r"(?:方程式|不等式|問題|場合|とき|文章題)$")

TO_SOLVE_ONCE = re.compile(r"(?:パターン|ケース|三角形|数列)$")

OPERATION = re.compile(r"(?:[加減乗除]法|[足引掛割]り?算)$")

VERB_OF_WAY = {
    **{"求め方": "求める", "解き方": "解く", "描き方": "描く"},
    **{"書き方": "書く", "作り方": "作る", "見つけ方": "見つける"},
    **{"使い方": "使う", "読み方": "読む", "見分け方": "見分ける"},
    **{"表し方": "表す", "数え方": "数える", "選び方": "選ぶ"},
    **{"分け方": "分ける", "覚え方": "覚える", "測り方": "測る"},
    **{"引き方": "引く", "かき方": "かく", "調べ方": "調べる"},
}


def write_learns(explanation: Explanation, page: Page) -> tuple[str, ...]:
    """Returns up to five distinct items for an explanation, from its own words. The same input gives the same items.

    Outside of mathematics in Japanese there are only what its title and its steps name as actions, and what its
    sentences say that a reader can do.
    """
    return _written(explanation, page, language_of(explanation, page))[0]


def learns_by_rules(explanation: Explanation, page: Page) -> Learns:
    """Returns the items of `write_learns`, completed to three, and which rules wrote them."""
    language = language_of(explanation, page)
    written, source = _written(explanation, page, language)
    items = clean_learns(written)
    if len(items) < LEARNS_MIN:
        items = _distinct((*items, *written, *_of_anything(explanation, page, language)))[:LEARNS_MIN]
    return Learns(items, source)


def _written(explanation: Explanation, page: Page, language: Language) -> tuple[tuple[str, ...], LearnsSource]:
    if language == "ja" and is_mathematical(explanation, page):
        return _distinct(filter(names_action, _of_mathematics(explanation, page)))[:LEARNS_MAX], "written"
    items = chain(_of_title(explanation, language), abilities_in(explanation, language))
    return _distinct(items)[:LEARNS_MAX], "rules"


def complete_learns(items: Iterable[str], explanation: Explanation, page: Page) -> tuple[str, ...]:
    """Returns the first five items of an author or a language model, completed to the three that the database takes.

    What completes them are the items of `write_learns`, then sentences and names, in Japanese as actions.
    """
    items_given = clean_learns(items)
    if len(items_given) >= LEARNS_MIN:
        return items_given[:LEARNS_MAX]
    language = language_of(explanation, page)
    written, _ = _written(explanation, page, language)
    return _distinct((*items_given, *written, *_of_anything(explanation, page, language)))[:LEARNS_MIN]


def clean_learns(items: Iterable[str]) -> tuple[str, ...]:
    """Returns the items, each on one line, without bullets, empty items and repetitions."""
    return _distinct(re.sub(r"^(?:[-*•・●]\s+|[•・●])+", "", one_line(item)) for item in items)


def _of_mathematics(explanation: Explanation, page: Page) -> Iterator[str]:
    name = _bare_name(explanation.title)
    if explanation.type == "example":
        yield from _of_example(name, explanation, page)
        return
    written = _of_definition(name, explanation) if explanation.type == "definition" else _of_concept(name)
    first, *others = written
    yield first
    yield from tuple(_steps(explanation.text))[:2]
    yield from others
    verb = as_verb(name)
    usable = verb or (_is_noun(name) and not NOT_USED.search(name))
    if usable and page.title and page.title not in name and name not in page.title:
        yield f"{_quoted(page.title)}の問題で{verb or name + 'を使う'}手順"
    if not verb and usable:
        yield f"{name}を自分の言葉で説明する方法"


def _of_title(explanation: Explanation, language: Language) -> Iterator[str]:
    """Yields a title that names an action, and numbered steps that do."""
    title = explanation.title
    if language == "ja":
        name = _bare_name(title)
        if (verb := as_verb(name)) or WAY.search(name):
            yield f"{verb}方法" if verb else name
        yield from tuple(_steps(explanation.text))[:LEARNS_MIN]
    elif language == "en":
        if ENGLISH_TITLE.match(title):
            yield title
        steps = (plain_tex(step).rstrip(". ") for step in STEP.findall(explanation.text))
        actions = (step for step in steps if ENGLISH_TITLE.match(step) and len(step) <= LONGEST[False])
        yield from islice(actions, LEARNS_MIN)


def _of_anything(explanation: Explanation, page: Page, language: Language) -> Iterator[str]:
    title = explanation.title
    if language == "ja":
        yield from (f"{_subject(title)}{rest}" for rest in ("の説明", "の要点の確認", "を説明する方法"))
    else:
        yield from map(clause_of, islice(sentences_of(explanation), LEARNS_MIN))
        yield from (title, f"{page.title or explanation.anchor} › {title}", f"{title} ({explanation.type})")


def _of_concept(name: str) -> list[str]:
    """Returns two to four items that fit the form of the name."""
    verb = as_verb(name)
    if (way := re.match(r"^(.+)の(\w{2,4}方)$", name)) and way[2] in VERB_OF_WAY:
        doing = f"{way[1]}を{VERB_OF_WAY[way[2]]}"
        return [name, f"{doing}手順", f"{doing}場面の判断"]
    if WAY.search(name):
        return [name, f"{name}を例で確かめる方法", f"{name}を使う場面の判断"]
    if name.endswith("分け"):
        return [f"{name}の手順", f"{name}の判断", f"{name}を理由とともに説明する方法"]
    if re.search(r"[うくすつぬむるぐぶい」]か$", name):
        return [f"{name}の判断", f"{name}を問題から見極める方法", f"{name}を理由とともに説明する方法"]
    if QUESTION.search(QUOTED.sub("", name)) and is_verb(name):
        return [f"{name}かの判断", f"{name}かを問題から見極める方法", f"{name}かを理由とともに説明する方法"]
    if verb:
        return [f"{verb}方法", f"{verb}場面の判断", f"{verb}理由を説明する方法"]
    if re.search(r"(?:手順|ステップ|方法)$", name):
        return [f"{name}を順に進める方法", f"{name}を使って問題を解く方法"]
    if name.endswith("の意味"):
        thing = name.removesuffix("の意味")
        return [f"{name}を説明する方法", f"{thing}を式や図から読み取る方法", f"{thing}を使って問題を解く方法"]
    if name.endswith("場面"):
        return [f"{name}の見分け方", f"{name}での解き方", f"{name}かどうかの判断"]
    if TO_SOLVE.search(name):
        return [f"{name}の解き方", f"{name}の見分け方", f"{name}の答えを確かめる方法"]
    if _is_noun(name):
        return [f"{name}の使い方", f"{name}を使って問題を解く方法", f"{name}が役立つ場面の見分け方"]
    quoted = _quoted(name)
    return [f"{quoted}という考え方の使い方", f"{quoted}を意識して問題を解く方法", f"{quoted}が役立つ場面の見分け方"]


def _of_definition(name: str, explanation: Explanation) -> list[str]:
    thing = name.removesuffix("の定義").removesuffix("の意味")
    terms = [concept_name(term) for term in DEFINED.findall(explanation.text)]
    others = [term for term in terms if term and term not in thing and thing not in term and not is_generic(term)]
    return [
        f"{_subject(thing)}の定義を説明する方法",
        *(f"{term}の意味を説明する方法" for term in others[:1]),
        f"{_subject(thing)}の具体例を見つける方法",
        f"{_subject(thing)}を使って問題を解く方法",
    ]


def _of_example(name: str, explanation: Explanation, page: Page) -> Iterator[str]:
    verb = as_verb(name)
    if verb:
        yield f"{verb}手順"
    elif WAY.search(name):
        yield name
    elif WANTED.search(name):
        yield f"{name}の求め方"
    elif TO_SOLVE.search(name) or TO_SOLVE_ONCE.search(name):
        yield f"{name}の解き方"
    elif OPERATION.search(name):
        yield f"{name}の計算"
    for anchor in explanation.illustrates[:1]:
        concept = next((_bare_name(other.title) for other in page.explanations if other.anchor == anchor), name)
        if concept != name:
            yield _shown(concept)
    yield from tuple(_steps(explanation.text))[:3]
    if verb:
        yield f"{verb}問題の見分け方"
        yield f"{verb}途中の計算の書き方"
    yield f"{_quoted(name)}の例題を自分で解き直す手順"
    yield f"{_quoted(name)}の答えを確かめる方法"
    yield f"{_quoted(name)}と同じ型の問題を見分ける方法"


def _shown(concept: str) -> str:
    """Returns an item about the concept that an example shows."""
    if WAY.search(concept):
        return f"{concept}を例題で確かめる方法"
    if verb := as_verb(concept):
        return f"{verb}考え方の使い方"
    if TO_SOLVE.search(concept) or concept.endswith("場面"):
        return f"{concept}の考え方を例題で確かめる方法"
    return f"{_subject(concept)}を例題で使う方法"


def _steps(content: str) -> Iterator[str]:
    """Yields the numbered steps of the content that are short and name an action."""
    for line in STEP.findall(content):
        beginning = re.split(r"[：:→]", line, maxsplit=1)[0]
        if len(beginning) > LONGEST_STEP:
            continue
        step = without_brackets(plain_tex(beginning)).strip("。、 ")
        states = re.search(r"[はが、\\①-⑳]|なので|から、", step)
        if 5 <= len(step) <= 24 and is_verb(step) and not states and not step.endswith("とする"):
            yield f"{step}手順"


def _bare_name(title: str) -> str:
    """Returns the title without brackets and without a formula at its end."""
    short = FORMULA_END.sub("", without_brackets(title))
    return short if len(short) >= 2 else title


def _subject(name: str) -> str:
    return name if _is_noun(name) else _quoted(name)


def _quoted(name: str) -> str:
    return "「" + name.replace("「", "『").replace("」", "』") + "」"


def _is_noun(name: str) -> bool:
    """Returns whether a particle can follow: たすき掛け, 解の公式; not 有理化は最後でOK, 符号を狙え."""
    if as_verb(name) or re.search(r"(?<!また)(?<!^)は|[一-龠」]が最|なら", QUOTED.sub("「」", name)):
        return False
    if NOUN_FROM_VERB.search(name):
        return "を" not in name
    return re.search(r"[ぁ-ん]$", name) is None


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    distinct: dict[str, str] = {}
    for item in items:
        key = "".join(nfkc(item).casefold().split())
        if key:
            distinct.setdefault(key, item)
    return tuple(distinct.values())
