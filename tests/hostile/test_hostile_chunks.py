"""Texts of any shape are cut into windows that hold all of them."""

import pytest
from sakuin.tables.chunking import chunks

from tests.hostile.growth import grows_with_its_input

PIECES = {
    "letters": "x",
    "spaces": " ",
    "lines": "\n",
    "sentences": "。",
    "marks": "\u0323\u0301",
    "zalgo": "a" + "\u0323\u0301" * 40,
    "families": "👨\u200d👩\u200d👧",
    "flags": "🇯🇵",
    "joiners": "\u200d",
    "right to left": "\u202eאב",
    "hangul": "ᄀ",
    "half surrogates": "\ud800",
    "pairs": "\ud83d\ude00",
    "brackets": "」）",
    "carriage returns": "\r\n",
    "prepended": "\u0600",
    "nul": "\0",
}


@pytest.mark.parametrize("shape", PIECES)
def test_a_text_is_cut_in_the_time_that_its_length_takes(shape: str) -> None:
    assert grows_with_its_input(chunks, lambda times: (PIECES[shape] * times)[:times], size=20_000)


@pytest.mark.parametrize("shape", PIECES)
def test_no_character_but_white_space_is_lost(shape: str) -> None:
    text = f"前{PIECES[shape] * 3000}後"
    found = chunks(text)
    held: set[int] = set()
    for chunk in found:
        assert text[chunk.char_start : chunk.char_end] == chunk.text
        assert 0 < len(chunk.text) <= 1000
        held.update(range(chunk.char_start, chunk.char_end))
    assert all(place in held for place, sign in enumerate(text) if not sign.isspace())
