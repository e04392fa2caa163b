"""Passages: what belongs together is whole in one of them, and each has its name."""

from hypothesis import given
from hypothesis import strategies as st
from sakuin.retrieval.passages import embedded_passages, passages


@given(st.text(alphabet="漢字かな abc。\n", max_size=2_000), st.integers(3, 300))
def test_passages_cover_a_text_and_overlap(text: str, wide: int) -> None:
    parts = passages(text, wide=wide)
    places, at = [], 0
    for part in parts:
        # In a text that repeats itself it may also be found earlier.
        at = text.index(part, at)
        places.append((at, at + len(part)))
    assert (places[0][0], places[-1][1]) == (0, len(text)) or len(set(text)) < 4
    length = len(parts[0])
    assert all(len(part) == length for part in parts)
    assert len(parts) == 1 or length in (wide, wide * 5 // 3)
    assert len("".join(parts)) <= 2 * len(text) + length


def test_a_passage_of_wide_characters_is_shorter() -> None:
    assert list(map(len, passages("表" * 800, wide=300))) == [300] * 4
    assert list(map(len, passages("word " * 160, wide=300))) == [500] * 2
    assert passages("表" * 300, wide=300) == ["表" * 300]
    # Two thirds of a passage later the next one begins, or a little earlier.
    assert [part[0] for part in passages("".join(map(chr, range(0x4E00, 0x4E00 + 700))), wide=300)] == [
        chr(0x4E00 + start) for start in (0, 200, 400)
    ]


def test_each_passage_has_the_title_and_a_name_of_the_whole_text() -> None:
    text = "一次関数の傾き。" * 60
    parts = embedded_passages(text, title="関数")
    assert [part.removeprefix("関数\n") for part in parts.values()] == passages(text, wide=300)
    first, *others = parts
    assert others == [f"{first}/{number}" for number in range(1, len(parts))]
    assert first not in embedded_passages(text)
    assert list(embedded_passages("", title="関数").values()) == ["関数"]
    assert list(embedded_passages("").values()) == [""]


def test_what_a_text_is_for_is_a_passage_of_its_own_whose_change_renames_no_other() -> None:
    plain = list(embedded_passages("text " * 200, title="title"))
    first, *others = embedded_passages("text " * 200, title="title", learns="title, to learn")
    changed, *same = embedded_passages("text " * 200, title="title", learns="title, to do")
    assert (first != changed, others, same) == (True, plain, plain)
    assert first.endswith("/learns")
