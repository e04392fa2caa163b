"""`sakuin annotate --write` inserts attributes and changes no other byte."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sakuin.language.vocabulary import vocabulary_of
from sakuin_cli.annotation.boxes import find_boxes
from sakuin_cli.annotation.slugs import Slugs
from sakuin_cli.annotation.source import Source, read_source

from tests.effort import times

SLUGS = Slugs(vocabulary_of("school-mathematics"))

TITLES = st.sampled_from(
    ["解の公式", "たすき掛け", "Ohm's law", "{{ page.title }}", "練習1", "例1", "→", "<b>x</b>", ""]
)
# What stands between boxes, some of it broken.
BETWEEN = st.sampled_from(
    [
        *("\n", "\r\n", "\r", " ", "文", "a < b", "<p>", "</div>", "<br/>", "<h2>練習問題</h2>", "<h2>本文</h2>"),
        *("{% if x %}", "{% endif %}", "{% for x in y %}", "{% endfor %}", "{{ x | y: '\"' }}", "{# c > #}"),
        *(
            "<!-- <div class='tip'>x</div> -->",
            "<script>'<div class=\"tip\">'</script>",
            "{{ range .Pages }}",
            "{{ end }}",
        ),
        *("<% if a > b %>", "<?php echo '>' ?>", "\\(x < {{y}}\\)", "<a href='#x", '">', "&amp;", "<svg><g/></svg>"),
        *("<table><tr><td>", "<!DOCTYPE html>", "<html lang='ja'>", "\t", "```\n<div class='tip'>x</div>\n```\n"),
    ]
)
TAGS = st.sampled_from(
    [
        *('<div class="rule-box">', "<div class='tip-box'>", "<div\n  class=definition>", "<SECTION CLASS='theorem' >"),
        *('<div class="rule-box" id="rule-quadratic-formula">', "<div id=box1 class=method>", "<aside class=note/>"),
        *('<div class="tip {{ size }}">', '<div {% if a %}data-x="1"{% endif %} class="tip">', '<li class="例題">'),
        *('<div class="tip" {{ attributes }}>', '<div class="tip" id="{{ id }}">', '<div class="x" class="tip">'),
    ]
)
HEADS = st.sampled_from(
    ["", "---\ntitle: <div class='tip'>x</div>\n---\n", '+++\na = "b"\n+++\r\n', '{"a": "<div class=tip>"}\n']
)
BOXES = st.tuples(TAGS, st.sampled_from(["<h3>", "<strong>", "<p class='box-title'>", ""]), TITLES).map("".join)
TEXTS = st.tuples(HEADS, st.lists(st.one_of(BOXES, BETWEEN), max_size=14).map("".join)).map("".join)
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "cp932", "euc_jp", "utf-16", "utf-32"])
DECLARED = {"cp932": "<meta charset=Shift_JIS>", "euc_jp": "<meta charset=EUC-JP>"}


def ids_of(source: Source) -> dict[int, str]:
    found = find_boxes(source, (), SLUGS)
    return {box.position: box.id for box in found.boxes if box.id and box.position is not None}


@settings(max_examples=times(75), deadline=None)
@given(TEXTS, ENCODINGS, st.sampled_from([".html", ".md"]))
def test_without_the_inserted_attributes_it_is_the_original(text: str, encoding: str, suffix: str) -> None:
    data = (DECLARED.get(encoding, "") + text).encode(encoding)
    source = read_source(data, suffix=suffix)
    ids = ids_of(source)
    written = source.with_ids(ids)
    attributes = [rf""" id=(["']){re.escape(one)}\1""" for one in ids.values()]
    again = read_source(written, suffix=suffix)
    # An id that was proposed is nowhere in the original.
    found = re.findall("|".join(f"(?:{one})" for one in attributes).replace(r"\1", "[\"']"), again.text) if ids else []
    assert len(found) == len(ids) == len(set(ids.values()))
    text = again.text
    for one in attributes:
        text, removed = re.subn(one, "", text)
        assert removed == 1
    assert text.encode(source.encoding) == data
    assert ids_of(again) == {}


@pytest.mark.parametrize("broken", [b"\xff\xfe\xfa", "<meta charset=Shift_JIS>文".encode(), b"PK\x03\x04\x00\x00"])
def test_what_is_no_text_is_unreadable(broken: bytes) -> None:
    from sakuin.errors import UnreadablePage

    with pytest.raises(UnreadablePage):
        read_source(broken, suffix=".html")


def test_bytes_with_two_spellings_in_an_old_encoding_stay() -> None:
    # Shift_JIS as Windows reads it has ∵ at 0x81E6 and 0x879A, and writes the first.
    data = b'<meta charset=Shift_JIS><p>\x87\x9a\x81\xe6</p><div class="tip"><b>Look at it</b></div>'
    source = read_source(data, suffix=".html")
    assert source.with_ids(ids_of(source)) == data.replace(b"<div ", b'<div id="tip-look-at-it" ')
