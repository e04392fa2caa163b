"""Readable TeX."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.language.tex import plain_tex, readable_tex

PIECES = ["\\", "{", "}", "$", "$$", " ", "\n", "quad", r"\quad", r"\,", r"\text", r"\left", ".", "(", "x", "解", r"\["]


@pytest.mark.parametrize(
    ("source", "readable"),
    [
        (r"\[ x = \frac{-b \pm \sqrt{b^2-4ac}}{2a} \]", r"x = \frac{-b \pm \sqrt{b^2-4ac}}{2a}"),
        (r"\(x = 1 \ \text{または} \quad x = 2\)", "x = 1 または x = 2"),
        (r"\left( \dfrac{a}{2} \right)^2", r"( \frac{a}{2} )^2"),
        (r"\displaystyle y\,dx \label{e}", "y dx"),
        ("1個 $5 で 2個 $9", "1個 $5 で 2個 $9"),
        ("解は $x^2$ です", "解は x^2 です"),
        (r"C:\text\label and Users\color", r"C:\text\label and Users\color"),
    ],
)
def test_tex_keeps_its_source_without_delimiters_spacing_and_fonts(source: str, readable: str) -> None:
    assert readable_tex(source) == readable


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text())
def test_readable_tex_stays_as_it_is_when_made_readable_again(text: str) -> None:
    once = readable_tex(text)
    assert readable_tex(once) == once


def test_a_title_shows_signs_in_place_of_simple_commands() -> None:
    assert plain_tex(r"\(0 \leq \theta \leq \frac{1}{2}\)") == "0 ≤ θ ≤ 1/2"
