"""Windows of long texts."""

import hashlib
import itertools
import re
import sys
from random import Random

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sakuin.errors import Invalid
from sakuin.tables.chunking import JOINING, PLAIN, ChunkText, chunks

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
@example("\ud83d\ude00\u0301a", (2, 1))
def test_windows_cover_a_text_in_their_size_and_cut_no_grapheme_that_fits(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    found = chunks(text, size=size, overlap=overlap)
    assert_contract(text, found, size, overlap)
    copy = text.encode("utf-32", "surrogatepass").decode("utf-32", "surrogatepass")
    assert chunks(copy, size=size, overlap=overlap) == found

    between = places_between_graphemes(text)
    longest = max((end - start for start, end in itertools.pairwise(sorted(between))), default=0)
    if longest > size:
        found = chunks(text, size=longest, overlap=overlap)
    for chunk in found:
        assert {chunk.char_start, chunk.char_end} <= between
        inside = GRAPHEME.findall(chunk.text)
        assert not inside[0].isspace()
        assert not inside[-1].isspace()


def test_the_windows_of_texts_are_those_that_were_recorded() -> None:
    # Other windows are other rows in every index: they need another `CHUNKER`.
    random, digest = Random(123), hashlib.sha256()
    for size, overlap in ((1000, 150), (100, 20), (12, 11), (5, 0)) * 25:
        text = "".join(random.choices(random.sample(PIECES, 12), k=random.randint(1, 900)))
        spans = [(chunk.char_start, chunk.char_end) for chunk in chunks(text, size=size, overlap=overlap)]
        digest.update(repr(spans).encode())
    assert digest.hexdigest() == "0b75ae66c5789112bb668de27f38267269e3ee2e4e1fd6a781e69fb87d035869"


def test_a_grapheme_begins_at_each_character_that_is_taken_for_a_beginning() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    beginnings = set(re.findall(f"[{PLAIN}]", every))
    assert beginnings.isdisjoint(regex.findall(r"\p{Extended_Pictographic}|\p{InCB=Consonant}", every))
    assert beginnings.issubset(regex.findall(r"\p{GCB=Other}|\p{GCB=LV}|\p{GCB=LVT}|[\t\r\n]", every))
    assert set(regex.findall(r"\p{GCB=Prepend}|\p{GCB=L}|\r", every)) <= set(re.findall(f"[{JOINING}]", every))


def test_the_default_sizes_keep_the_contract() -> None:
    random = Random(3)
    pieces = ["これは文である。", "短い。", "次の段落\n\n", "a b c. ", FAMILY]
    for _ in range(times(10)):
        text = "".join(random.choices(pieces, k=400))
        assert_contract(text, chunks(text), 1000, 150)


def test_a_text_that_fits_is_one_window_without_its_margins() -> None:
    assert chunks("  一つの文。\n") == [ChunkText(0, 1, "一つの文。", 2, 7)]
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


@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (0, 0), (10, 10), (10, 11), (10, -1)])
def test_a_size_without_progress_is_invalid(size: int, overlap: int) -> None:
    with pytest.raises(Invalid):
        chunks("text", size=size, overlap=overlap)
