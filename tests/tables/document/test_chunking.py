"""Windows of long texts."""

import itertools
import re
import time
import unicodedata
from collections.abc import Callable

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sakuin.errors import Invalid
from sakuin.tables.chunking import ChunkText, Window, chunks, windows

from tests.effort import times

GRAPHEME = regex.compile(r"\X")
FAMILY, FLAG = "👨‍👩‍👧‍👦", "🇯🇵"
PIECES = [
    *("a", "word", "7", "1,000", "あ", "漢字", "カナ", "が", "。", "、", "！？", "」", ". ", "! ", ", ", "!", "."),
    *(" ", "   ", "　", "\t", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\u2028", "\xa0", "\0"),
    *(FAMILY, FLAG, "🇯", "👍🏽", "1\ufe0f\u20e3", "\u200d", "\u0301", "e\u0301\u0302", "か\u3099", "ำ", "한"),
    *("\u1112\u1161", "\ud800", "\udc00", "\ud83d\ude00", "क्ष", " \u0301", "\u0600", "\ufeff", "\u200b"),
]
MIXED = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
ANYTHING = st.text(alphabet=st.characters(codec=None), max_size=120)
TEXTS = MIXED | ANYTHING
SIZES = st.tuples(st.integers(2, 40), st.integers(0, 39)).filter(lambda pair: pair[1] < pair[0])

# Made when they are asked for: each is half a megabyte or more.
LONG: dict[str, Callable[[], str]] = {
    "without a line feed": lambda: "あ" * 400_000,
    "Japanese prose": lambda: ("二次方程式の解の公式は、係数から解を求める式である。" * 20 + "\n\n") * 800,
    "English prose": lambda: "How much is it, he asked. It depends! " * 10_600,
    "only spaces": lambda: " " * 400_000,
    "one letter behind spaces": lambda: "a" + " " * 399_998 + "b",
    "families": lambda: FAMILY * 57_200,
    "flags": lambda: FLAG * 200_000,
    "joiners": lambda: "\u200d" * 400_000,
    "combining": lambda: "a" + "\u0301" * 399_999,
    "accents": lambda: "e\u0301" * 200_000,
    "Windows lines": lambda: "ab\r\n" * 100_000,
    "returns": lambda: "\r" * 400_000,
    "surrogates": lambda: "\ud83d\ude00" * 200_000,
    "signs": lambda: "!" * 400_000,
    "brackets": lambda: "。" + "」" * 399_999,
    "kanji and emoji": lambda: "漢👨" * 200_000,
}


def places_between_graphemes(text: str) -> set[int]:
    """Returns the places where `regex` may cut, except between two halves of a character."""
    ends = {found.end() for found in GRAPHEME.finditer(text)} | {0}
    halves = {found.start() + 1 for found in re.finditer("[\ud800-\udbff][\udc00-\udfff]", text)}
    return ends - halves


def assert_contract(text: str, found: list[ChunkText], size: int, overlap: int) -> None:
    assert [chunk.index for chunk in found] == list(range(len(found)))
    assert {chunk.total for chunk in found} <= {len(found)}
    held = 0
    for chunk in found:
        assert text[chunk.char_start : chunk.char_end] == chunk.text
        assert 0 < len(chunk.text) <= size
        assert not text[held : chunk.char_start].strip()
        held = chunk.char_end
    assert not text[held:].strip()
    for one, other in itertools.pairwise(found):
        assert one.char_start < other.char_start
        assert one.char_end < other.char_end
        assert one.char_end - other.char_start <= overlap


@given(TEXTS, SIZES)
@settings(max_examples=times(250))
@example(FAMILY * 30, (5, 2))
@example("\r\n" * 9 + "a\r\n\u0301b", (2, 1))
@example("a" + " " * 50 + "b", (3, 2))
@example("क्ष" * 9, (2, 1))
@example("\u0600\ud83d\ude00a", (2, 1))
def test_windows_cover_a_text_in_rising_stretches_within_their_size(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    assert_contract(text, chunks(text, size=size, overlap=overlap), size, overlap)


@given(TEXTS, SIZES)
@settings(max_examples=times(250))
@example("\u0600\ud83d\ude00a", (2, 1))
@example("\ud83d\ude00\u0301a", (2, 1))
def test_no_grapheme_is_cut_that_a_window_can_hold(text: str, sizes: tuple[int, int]) -> None:
    between = places_between_graphemes(text)
    longest = max((end - start for start, end in itertools.pairwise(sorted(between))), default=0)
    size, overlap = max(sizes[0], longest), sizes[1]
    for window in windows(text, size=size, overlap=overlap):
        assert {window.char_start, window.char_end} <= between


@given(TEXTS, SIZES)
def test_a_window_neither_begins_nor_ends_with_white_space(text: str, sizes: tuple[int, int]) -> None:
    ends = sorted(places_between_graphemes(text))
    graphemes = [text[start:end] for start, end in itertools.pairwise(ends)]
    if max(map(len, graphemes), default=0) <= sizes[0]:
        for chunk in chunks(text, size=sizes[0], overlap=sizes[1]):
            inside = GRAPHEME.findall(chunk.text)
            assert not inside[0].isspace()
            assert not inside[-1].isspace()


@given(TEXTS, SIZES)
def test_the_same_text_is_cut_the_same_way(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    copy = text.encode("utf-32", "surrogatepass").decode("utf-32", "surrogatepass")
    assert windows(text, size=size, overlap=overlap) == windows(copy, size=size, overlap=overlap)


@pytest.mark.parametrize("kind", LONG)
def test_four_hundred_thousand_characters_are_cut_at_once(kind: str) -> None:
    text = LONG[kind]()[:400_000]
    began = time.process_time()
    found = chunks(text)
    # 0.1 to 0.4 s; a quadratic step would take minutes.
    assert time.process_time() - began < 10
    assert_contract(text, found, 1000, 150)
    assert len(found) <= 1000


@given(
    st.lists(
        st.sampled_from(["これは文である。", "短い。", "次の段落\n\n", "a b c. ", FAMILY]), min_size=300, max_size=500
    )
)
@settings(max_examples=times(10))
def test_the_default_sizes_keep_the_contract(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert_contract(text, chunks(text), 1000, 150)


def test_a_text_that_fits_is_one_window_without_its_margins() -> None:
    assert windows("  一つの文。\n") == [Window(2, 7)]
    assert chunks(" a ") == [ChunkText(0, 1, "a", 1, 2)]


@pytest.mark.parametrize("text", ["", " ", "\r\n\u3000\t", "\n" * 5000])
def test_nothing_but_white_space_has_no_window(text: str) -> None:
    assert chunks(text) == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("一つ目の段落。\n\n二つ目の。段落はとても長い", "一つ目の段落。"),
        ("一つ目の段落。\r\n\r\n二つ目の。段落はとても長い", "一つ目の段落。"),
        ("もう文が終わった。そして、次の文が続いていく", "もう文が終わった。"),
        ("「文が終わった。」そして、次の文が続いていく", "「文が終わった。」"),
        ("それは本当ですか！？そして、次が続いていく", "それは本当ですか！？"),
        ("句の後で切って、それから次の文が続いていく", "句の後で切って、"),
        ("It ends. Then it goes on", "It ends."),
        ("cut later, then1,000 go on", "cut later,"),
        ("one wordlonger thanthis is", "one wordlonger"),
        ("改行の前で切る\n改行の次の行がまだ続いていく", "改行の前で切る"),
        ("円周率は３．１４１５９２６５３５８９７９３２３", "円周率は３．１４１５９２６５３５"),
    ],
)
def test_a_window_ends_where_a_reader_would_pause(text: str, first: str) -> None:
    assert chunks(text, size=16, overlap=0)[0].text == first


def test_the_overlap_begins_with_a_sentence() -> None:
    text = "前の文です。" * 10
    found = chunks(text, size=30, overlap=15)
    assert found[1].text.startswith("前の文です。")
    assert found[0].char_end - found[1].char_start == 12


def test_a_grapheme_that_no_window_can_hold_is_cut_and_its_neighbours_are_not() -> None:
    text = "か\u3099" + "a" + "\u0301" * 10 + "か\u3099"
    assert [chunk.text for chunk in chunks(text, size=4, overlap=0)] == [
        *("か\u3099", "a\u0301\u0301\u0301", "\u0301" * 4, "\u0301" * 3),
        "か\u3099",
    ]


def test_offsets_count_code_points_and_not_what_people_see() -> None:
    decomposed = unicodedata.normalize("NFD", "がぎぐげご") * 300
    assert all(decomposed[chunk.char_start] in "かきくけこ" for chunk in chunks(decomposed))


@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (0, 0), (10, 10), (10, 11), (10, -1)])
def test_a_size_without_progress_is_invalid(size: int, overlap: int) -> None:
    with pytest.raises(Invalid):
        windows("text", size=size, overlap=overlap)
