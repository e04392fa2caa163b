"""The sentences that say why an answer has or lacks an expected chunk, in English and in Japanese."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "ja"]

SENTENCES: Mapping[str, Mapping[Language, str]] = {
    "not_indexed": {
        "en": "Nothing is indexed under this id. `sakuin status` shows the state of its page, `sakuin validate` "
        "whether the page has the id.",
        "ja": "この ID では何も索引されていません。ページの状態は `sakuin status`、ページにこの ID があるかどうかは "
        "`sakuin validate` で確かめられます。",
    },
    "no_id": {
        "en": "This is no id of an explanation. Use material#anchor, or the link of a result.",
        "ja": "これは説明の ID ではありません。「教材#アンカー」か、結果のリンクを入れてください。",
    },
    "no_node": {
        "en": "No chunk of this node is in the tool's index: it is outside the tool's scope, too short, or not indexed "
        "yet. `sakuin status --tool` shows the state of the index.",
        "ja": "このノードのチャンクはツールの索引にありません。ツールの範囲の外にあるか、短すぎるか、"
        "まだ索引されていません。索引の状態は `sakuin status --tool` で確かめられます。",
    },
    "outside_tool": {
        "en": "It is outside the tool, which searches {path}.",
        "ja": "ツールの範囲の外にあります。ツールが検索するのは {path} です。",
    },
    "whole_table": {"en": "the whole Table", "ja": "Table 全体"},
    "outside_filter": {
        "en": "The filter {name}={value} excludes it: its {name} is {has}.",
        "ja": "絞り込み {name}={value} によって除かれています。この要素の {name} は {has} です。",
    },
    "not_given": {"en": "not given", "ja": "指定なし"},
    "rank": {"en": "It is in place {rank}", "ja": "順位は {rank} 位です"},
    "no_rank": {"en": "Its rank is very low", "ja": "順位はとても低いです"},
    "legs": {"en": "{place} ({legs})", "ja": "{place}（{legs}）"},
    "by_meaning": {"en": "{place} by meaning", "ja": "意味では {place} 位"},
    "by_words": {"en": "{place} by words", "ja": "語では {place} 位"},
    "found": {"en": "{place}: it is found.", "ja": "{place}。答えに入っています。"},
    "below": {"en": "{place}, below the first {top_k}.", "ja": "{place}。上位 {top_k} 件に入りません。"},
    "refused": {
        "en": "{place}, but the evidence of the best, {best:.1f}, is below {threshold:.1f}: the answer is no good "
        "match, and has at most the nearest {nearest}.",
        "ja": "{place}。しかし、最もよい結果の根拠 {best:.1f} が {threshold:.1f} に届かないため、"
        "この質問には「該当なし」として、最も近い {nearest} 件までを答えます。",
    },
    "no_common_word": {
        "en": "It has no word in common with the question.",
        "ja": "質問と共通する語がありません。",
    },
    "no_vector": {
        "en": "It has no vector of the present model, so only its words count.",
        "ja": "今のモデルのベクトルがないため、語だけで比べています。",
    },
    "example": {
        "en": "An example ranks below the concept that it shows, unless type=example is requested.",
        "ja": "例は、type=example を指定しないかぎり、その例が示す概念より下に並びます。",
    },
    "ahead": {"en": '"{title}" in place {rank} is ahead.', "ja": "{rank} 位の「{title}」が上にあります。"},
    "ahead_by": {
        "en": '"{title}" in place {rank} is ahead: {points}.',
        "ja": "{rank} 位の「{title}」が上にあります：{points}。",
    },
    "score_by_meaning": {
        "en": "{mine:.2f} against {its:.2f} by meaning (z)",
        "ja": "意味の点数 (z) が {its:.2f} に対して {mine:.2f}",
    },
    "score_by_words": {
        "en": "{mine:.2f} against {its:.2f} by words",
        "ja": "語の点数が {its:.2f} に対して {mine:.2f}",
    },
    "leg_by_meaning": {
        "en": "{mine} against {its} by meaning",
        "ja": "意味の順位が {its} に対して {mine}",
    },
    "leg_by_words": {"en": "{mine} against {its} by words", "ja": "語の順位が {its} に対して {mine}"},
    "nowhere": {"en": "nowhere", "ja": "なし"},
}
_BETWEEN: Mapping[str, Mapping[Language, str]] = {
    "sentences": {"en": " ", "ja": ""},
    "legs": {"en": ", ", "ja": "、"},
    "points": {"en": "; ", "ja": "、"},
}


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences in one language."""

    language: Language = "en"

    def __call__(self, name: str, /, **values: object) -> str:
        """Returns a sentence, or a part of one, with these values."""
        return SENTENCES[name][self.language].format(**values)

    def joined(self, parts: Iterable[str], between: str = "sentences") -> str:
        """Returns the parts as one text."""
        return _BETWEEN[between][self.language].join(parts)


ENGLISH = Sentences()
