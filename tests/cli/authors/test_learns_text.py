"""Drafts are added to a `learns.yml`, and nothing in it changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sakuin.errors import Invalid
from sakuin.knowledge.learns.learns_yml import parse_learns
from sakuin_cli.drafting.learns_text import Draft, drafted_anchors, with_drafts

from tests.effort import times

DRAFT = Draft(('書く "方法"', "How to: read # this"), "rules")
FILE = """\
# what the author says of the file
junior/x_教材:
  rule-a:   # of the anchor
    - 'one way'

  # a comment that stays
  rule-b: [two, "three"]

# of the next page
y:
    def-c:
    - four
"""
BLOCK = """\
  # draft (rules): review it, then delete this line
  rule-z:
    - "書く \\"方法\\""
    - "How to: read # this"
"""


def test_drafts_follow_the_entries_of_their_page() -> None:
    written = with_drafts(FILE.encode(), {"junior/x_教材": {"rule-z": DRAFT}, "z": {"rule-z": DRAFT}}).decode()
    place = FILE.index("\n# of the next page")
    assert written == FILE[:place] + BLOCK + FILE[place:] + "\nz:\n" + BLOCK
    assert set(drafted_anchors(written.encode())) == {("junior/x_教材", "rule-z"), ("z", "rule-z")}


def test_a_new_file_has_nothing_else() -> None:
    assert with_drafts(b"", {"z": {"rule-z": DRAFT}}).decode() == "z:\n" + BLOCK


@pytest.mark.parametrize("text", ["x: {rule-a: [one]}\n", "x:\n  rule-z: []\n", "x: text\n"])
def test_an_entry_that_cannot_be_added_is_an_error(text: str) -> None:
    with pytest.raises(Invalid, match=r"learns\.yml, x: "):
        with_drafts(text.encode(), {"x": {"rule-z": DRAFT}})


ITEMS = st.sampled_from(["one", '"two: 2"', "'three'", "|\n      four\n      five", ">-\n      six", "長い\n      文"])
COMMENTS = st.sampled_from(["", "  # c\n", "\n", "\n  # d\n\n"])
ANCHORS = st.tuples(COMMENTS, st.booleans(), st.lists(ITEMS, min_size=1, max_size=3))
PAGES = st.tuples(st.sampled_from(["", "# p\n", "\n\n"]), st.lists(ANCHORS, min_size=1, max_size=3))


def said(data: bytes) -> dict[str, dict[str, tuple[str, ...]]]:
    """The lists of a file. A block that ended the file has a line end when something follows."""
    lists = parse_learns(data).lists
    return {page: {key: tuple(map(str.rstrip, items)) for key, items in some.items()} for page, some in lists.items()}


@settings(max_examples=times(75), deadline=None)
@given(st.lists(PAGES, max_size=3), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_every_line_of_the_author_stays(
    pages: list[tuple[str, list[tuple[str, bool, list[str]]]]], newline: str, has_bom: bool, has_end: bool
) -> None:
    text = ""
    for number, (before, anchors) in enumerate(pages):
        text += f"{before}page{number}:\n"
        for place, (comment, is_quoted, items) in enumerate(anchors):
            key = f'"rule-{place}":' if is_quoted else f"rule-{place}:"
            text += comment + f"  {key}\n" + "".join(f"    - {item}\n" for item in items)
    text = (text if has_end else text.rstrip("\n")).replace("\n", newline)
    data = (b"\xef\xbb\xbf" if has_bom else b"") + text.encode()
    names = [*(f"page{number}" for number in range(len(pages))), "new"]
    written = with_drafts(data, {name: {"rule-new": DRAFT} for name in reversed(names)})
    kept = iter(written.decode("utf-8-sig").splitlines())
    assert written.startswith(b"\xef\xbb\xbf") is has_bom
    assert all(line in kept for line in data.decode("utf-8-sig").splitlines())
    before, after = said(data), said(written)
    assert after == {name: {**before.get(name, {}), "rule-new": DRAFT.items} for name in names}
    assert list(after) == names
    assert written.count(b"\r\n") == (written.count(b"\n") if newline == "\r\n" and text.count("\n") else 0)
