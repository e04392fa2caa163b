"""Gaps of the library and of Tools: questions without a good answer in groups, and what a page for them would need."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sakuin.errors import NotFound
from sakuin.language.letters import stem
from sakuin.language.questions.function_words import stop_words
from sakuin.texts.catalogue import coded
from sakuin.upkeep.refused_questions import RefusedQuestion

# Words of nearly every Japanese question, which say nothing about its subject.
_OF_ANY_QUESTION_LIST = """
方 方法 使う 遣る 為る 出来る 有る 居る 成る 何 言う 事 物 者 時 教える 知る 分かる 覚える 考える
見る 何故 良い 無い 場合 意味 仕方 説明 理由 違い 其れ 此れ 其の 此の 的 様 為 所 欲しい 下さい 呉れる
貰う 御 何れ 何方 何処 幾つ 何時
"""
_OF_ANY_QUESTION = frozenset(_OF_ANY_QUESTION_LIST.split())
# Each question is compared with the first one of each gap.
MOST_QUESTIONS = 500
# Of the weight of the shorter question's words, so much is in the other one, too.
_ALIKE = 0.5
# "renew", "renewing" and "renewal" begin alike, in any language with letters.
_BEGINNING = 5
_NAME_WORDS, _LONGEST_NAME, _ID_DIGITS = 3, 80, 12
# Runs of one script: questions are grouped by the function `api`, which has no dictionary.
# One kanji is a word before a particle; before other kana it is the beginning of a verb.
_WORD = re.compile(
    r"[一-鿿々]{2,}|[一-鿿々](?![ぁ-ゟ])|[一-鿿々](?=[のはをがにでとも])|[ァ-ヺー]{2,}"
    r"|[^\W_ぁ-ゟ一-鿿々ァ-ヺー]+(?:['’-][^\W_]+)*"
)
_WITHOUT_SPACES = re.compile(r"[一-鿿々ァ-ヺー\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


@dataclass(frozen=True, slots=True)
class Gap:
    """Questions that ask for the same, the most frequent first, to the library (`tool_id` is None) or to a Tool.

    `name` has their most frequent words. The sums are those of a `RefusedQuestion`; `since` and `last` are days.
    """

    id: str
    name: str
    tool_id: str | None
    asked: int
    weak: int
    unanswered: int
    since: str
    last: str
    questions: tuple[RefusedQuestion, ...]


@dataclass(frozen=True, slots=True)
class Nearest:
    """A result that is near to a gap. `id` is that of an explanation, or the json_pointer of a node, without `url`."""

    id: str
    title: str
    similarity: float
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """What a page that answers a gap would need.

    `words` of its questions are in no text of the index; `heading` is a heading with their words. The `nearest`
    results show where it belongs.
    """

    heading: str
    words: tuple[str, ...]
    nearest: tuple[Nearest, ...]


def gaps_of(questions: Sequence[RefusedQuestion]) -> list[Gap]:
    """Groups questions by their words, the most frequent gap first. The order of the questions does not matter."""
    ordered = sorted(questions, key=lambda each: (-each.asked, each.question, each.tool_id or ""))[:MOST_QUESTIONS]
    features = {each.question: frozenset(_features(each.question)) for each in ordered}
    frequency = Counter(feature for words in features.values() for feature in words)
    weights = {feature: math.log(1 + len(features) / count) for feature, count in frequency.items()}
    groups: list[list[RefusedQuestion]] = []
    for each in ordered:
        words = features[each.question]
        alike = (
            (_alikeness(words, features[group[0].question], weights), -place)
            for place, group in enumerate(groups)
            if group[0].tool_id == each.tool_id
        )
        best, place = max(alike, default=(0.0, 0))
        if best >= _ALIKE:
            groups[-place].append(each)
        else:
            groups.append([each])
    gaps = [_gap(group) for group in groups]
    return sorted(gaps, key=lambda gap: (-gap.asked, gap.name, gap.id))


def gap_with(id: str, gaps: Iterable[Gap]) -> Gap:
    """Returns the gap with an id; `NotFound` if it is none of these."""
    for gap in gaps:
        if gap.id == id:
            return gap
    raise NotFound(coded("form.old_gap"))


def remedy(gap: Gap, explanation: Mapping[str, Any] | None) -> Remedy:
    """Returns what helps, from the explanation of the first question of a gap; None: it cannot be asked."""
    results = (explanation or {}).get("results", ())
    index_words = frozenset(map(str.lower, (explanation or {}).get("understood", {}).get("known", ())))
    words = dict.fromkeys(word for each in gap.questions[:1] for word in _words(each.question))
    missing = tuple(word for word in words if explanation and not _is_known(word, index_words))
    return Remedy(
        gap.name,
        missing,
        tuple(Nearest(each["id"], each["title"], each["similarity"], each["url"]) for each in results),
    )


def _is_known(word: str, index_words: Set[str]) -> bool:
    """Returns whether the index has a word; of a script without spaces, whether it has all of its parts."""
    remainder = word
    for part in sorted(index_words, key=len, reverse=True):
        if part == word or _WITHOUT_SPACES.match(part):
            remainder = remainder.replace(part, "")
    return not remainder


def _words(question: str) -> Iterator[str]:
    """Yields the words with content, in order."""
    stopped = stop_words(question) | _OF_ANY_QUESTION
    for match in _WORD.finditer(question):
        word = match[0].lower()
        if word not in stopped:
            yield word


def _features(question: str) -> Iterator[str]:
    """Yields what questions are compared by: beginnings of words, or pairs of characters without spaces."""
    for word in _words(question):
        if not _WITHOUT_SPACES.match(word):
            yield stem(word)[:_BEGINNING] if word.isalpha() else word
        elif len(word) == 1:
            yield word
        else:
            yield from (word[start : start + 2] for start in range(len(word) - 1))


def _alikeness(one: Set[str], other: Set[str], weights: Mapping[str, float]) -> float:
    """Returns which share of the lighter question's weight both have."""
    lighter = min(sum(weights[each] for each in words) for words in (one, other))
    return sum(weights[each] for each in one & other) / lighter if lighter else 0.0


def _gap(group: Sequence[RefusedQuestion]) -> Gap:
    counts: Counter[str] = Counter()
    for question in group:
        counts.update(dict.fromkeys(_words(question.question), question.asked))
    names = [word for word, _ in counts.most_common(_NAME_WORDS)]
    order = [word for word in dict.fromkeys(_words(group[0].question)) if word in names]
    name = " ".join([*order, *(word for word in names if word not in order)]) or group[0].question[:_LONGEST_NAME]
    first = f"{group[0].tool_id} {group[0].question}"
    return Gap(
        id=sha256(first.encode()).hexdigest()[:_ID_DIGITS],
        name=name,
        tool_id=group[0].tool_id,
        asked=sum(question.asked for question in group),
        weak=sum(question.weak for question in group),
        unanswered=sum(question.unanswered for question in group),
        since=min(question.first_day for question in group),
        last=max(question.last_day for question in group),
        questions=tuple(group),
    )
