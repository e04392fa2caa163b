"""Kana in a question, and their spellings in the index: the segmentation into known words with the lowest cost."""

import re
from collections.abc import Callable, Iterator

from sakuin.language.letters import to_katakana
from sakuin.language.questions.draft import Replacement

LONGEST_RUN = 60  # kana; a longer run is segmented in pieces
LONGEST_WORD = 18  # kana
_RUN = re.compile(r"[ぁ-ゖァ-ヶー]{2,}")
_KATAKANA_RUN = re.compile(r"[ァ-ヶー]{4,}")
_PIECE = re.compile(r"(?:(?![のをはが]|って|とは|という).)+")
_IDEOGRAPH = re.compile(r"[一-鿿]")
_HIRAGANA = frozenset(chr(code) for code in range(ord("ぁ"), ord("ゖ") + 1))
# Particles, forms of する, なる and できる, and question words in kana, which are never content words.
_FUNCTION_WORDS_LIST = """
の は が を に で と も や へ から まで より って とは という ってなに なに なんですか
です ます する した して しない すると したとき される できる どう どうやる どうやって
どうすれば いい よい ある ない なる なった いる とき ときの こと もの その この どの ください
おしえて ないとき かどうか いくつ なぜ ための ために でも だけ など について かた ほうほう な
だ か ね よ し て た
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_LIST.split())
# What follows another word, in two kana or more: forms of the auxiliaries of modern Japanese and of the verbs that help
# others, and particles. At the beginning of a text たい is 鯛 and なら 奈良. Left out are まい and ぬ, since 枚 is more
# frequent, and れる and せる alone, with which verbs end (流れる, 見せる).
_BOUND_WORDS_LIST = """
ました まして ません ましょう でした でしょう だった だろう なら なので なのに たら たり だり
たい たく たくて たかった たければ なく なくて なかった なければ ずに
れない られ られる られた られて られない られれば せない させ させる させた させて させない された されて
らしい らしく よう ような ように そう そうな そうに みたい みたいな みたいに
ている ていた ていて でいる でいた てある てしまう てしまった てくる てきた ていく ておく てみる てほしい ほしい
けど けれど けれども ので のに ても ながら しか ほど くらい ぐらい ばかり ずつ さえ こそ とか とも なんか なんて かな
っけ において における により による によって にとって にたいして として
"""
_BOUND_WORDS = frozenset(_BOUND_WORDS_LIST.split())


def possible_readings(text: str) -> Iterator[str]:
    """Yields every span of kana in a canonical text that can be a word, in katakana."""
    for run in _RUN.finditer(text):
        katakana = to_katakana(run[0][: LONGEST_RUN * 2])
        for start in range(len(katakana) - 1):
            for end in range(start + 2, min(start + LONGEST_WORD, len(katakana)) + 1):
                yield katakana[start:end]


def kana_word_candidates(text: str) -> Iterator[tuple[int, str]]:
    """Yields position and text of the pieces of kana that can be one word with a typo.

    Hiragana count only in a text without kanji; beside kanji they are mostly grammar.
    """
    for run in (_KATAKANA_RUN if _IDEOGRAPH.search(text) else _RUN).finditer(text):
        for piece in _PIECE.finditer(run[0]):
            if 4 <= len(piece[0]) <= LONGEST_WORD:
                yield run.start() + piece.start(), piece[0]


def kana_rewrites(text: str, spellings_of: Callable[[str], tuple[str, ...]], *, shortest: int) -> list[Replacement]:
    """Returns the words in kana of a canonical text that the index spells in another way, with the most frequent one.

    `spellings_of` looks up a katakana reading; a word has at least `shortest` kana.
    """
    rewrites: list[Replacement] = []
    for run in _RUN.finditer(text):
        for begin in range(0, len(run[0]), LONGEST_RUN):
            piece = run[0][begin : begin + LONGEST_RUN]
            goes_on = run.start() + begin > 0 and _IDEOGRAPH.match(text[run.start() + begin - 1]) is not None
            for start, end, forms in _cheapest(piece, spellings_of, shortest, goes_on=goes_on):
                if piece[start:end] not in forms:
                    at = run.start() + begin
                    rewrites.append(Replacement(at + start, at + end, forms[0]))
    return rewrites


# Costs of a segment, fitted by trial on the development half of the labelled questions.
_UNKNOWN, _PARTICLE = 1.0, 0.3
_WORD = {2: 0.9, 3: 0.6}
_LONG_WORD = 0.45


def _cheapest(
    piece: str, spellings_of: Callable[[str], tuple[str, ...]], shortest: int, *, goes_on: bool
) -> list[tuple[int, int, tuple[str, ...]]]:
    """Returns start, end and spellings of the words in the segmentation with the lowest cost (Viterbi's algorithm).

    `goes_on`: the piece follows a kanji, so that its first kana can belong to the word before.
    """
    katakana = to_katakana(piece)
    # By position, and whether the segment that ends there is unknown: the lowest cost with its words.
    best: dict[tuple[int, bool], tuple[float, tuple[tuple[int, int, tuple[str, ...]], ...]]] = {(0, goes_on): (0.0, ())}

    def reach(at: int, unknown: bool, cost: float, words: tuple[tuple[int, int, tuple[str, ...]], ...]) -> None:
        if (at, unknown) not in best or cost < best[at, unknown][0]:
            best[at, unknown] = (cost, words)

    for start in range(len(piece)):
        for was_unknown in (False, True):
            if (start, was_unknown) not in best:
                continue
            cost, words = best[start, was_unknown]
            after_short = bool(words) and words[-1][1] == start and words[-1][1] - words[-1][0] < 4
            okurigana = after_short and words[-1][2][0][-1] in _HIRAGANA
            if not after_short or okurigana:
                reach(start + 1, True, cost + _UNKNOWN, words)
            for end in range(start + 1, min(start + LONGEST_WORD, len(piece)) + 1):
                segment = piece[start:end]
                if segment in _FUNCTION_WORDS or (segment in _BOUND_WORDS and (start or goes_on)):
                    reach(end, False, cost + _PARTICLE, words)
                size = end - start
                # A short word after unknown kana is probably a part of a longer word.
                if size < shortest or (was_unknown and size < 4):
                    continue
                if forms := spellings_of(katakana[start:end]):
                    reach(end, False, cost + _WORD.get(size, _LONG_WORD), (*words, (start, end, forms)))
    ends = [best[len(piece), unknown] for unknown in (False, True) if (len(piece), unknown) in best]
    return list(min(ends, key=lambda end: end[0])[1]) if ends else []
