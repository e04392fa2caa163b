"""Comparing the index with the pages."""

import re
from dataclasses import replace

import pytest
from sakuin.knowledge.page import EMBEDDED_LENGTH, Explanation, IndexedChunk, Page, UnnamedBox, Words
from sakuin.knowledge.validation import findings_of_page

GOOD = ("和を求める", "差を間違えずに求める", "積を求める")


def page(*anchors: str, **facts: object) -> Page:
    found = tuple(Explanation(anchor, "rule", anchor, "x", number) for number, anchor in enumerate(anchors))
    return Page(**{"title": "頁", "explanations": found, "ids": anchors, **facts})


def index(*anchors: str, given: tuple[str, ...] | None = None) -> tuple[IndexedChunk, ...]:
    return tuple(IndexedChunk(anchor, GOOD, given) for anchor in anchors)


def found(
    read: Page, known: tuple[IndexedChunk, ...] | None, *, strict: bool = False
) -> list[tuple[str, str, str | None]]:
    findings = findings_of_page("m", read, known, strict=strict)
    return [(finding.severity, finding.rule, finding.anchor) for finding in findings]


@pytest.mark.parametrize(
    ("read", "known", "findings"),
    [
        (page("rule-a", links=("rule-a", "top")), index("rule-a", given=GOOD), []),
        (page(), index("rule-a"), [("error", "missing-anchor", "rule-a")]),
        (page("rule-a"), None, [("warning", "not-indexed", "rule-a")]),
        (page("rule-a", ids=("rule-a", "x", "x")), index("rule-a"), [("error", "duplicate-id", "x")]),
        (page(by_headings=True), index(), [("warning", "nothing-indexed", None)]),
        (page(links=("gone", "/route")), None, [("warning", "broken-link", "gone")]),
    ],
    ids=lambda given: given[0][1] if given and isinstance(given, list) else "",
)
def test_what_differs_between_a_page_and_its_index_is_a_finding(
    read: Page, known: tuple[IndexedChunk, ...] | None, findings: list[tuple[str, str, str | None]]
) -> None:
    assert found(read, known) == findings


def test_a_box_without_an_id_is_a_warning_and_with_strict_an_error() -> None:
    read = page(unnamed_boxes=(UnnamedBox(".tip-box", "題"),))
    assert found(read, None) == [("warning", "box-without-id", None)]
    assert found(read, None, strict=True) == [("error", "box-without-id", None)]


def test_learns_that_are_too_few_or_name_no_action_are_warnings() -> None:
    rules = [rule for _, rule, _ in found(page("rule-a"), index("rule-a", given=("D=0 で重解",)))]
    assert rules == ["learns-completed", "learns-no-action", "learns-weak"]


@pytest.mark.parametrize(
    ("items", "reported"),
    [
        (("D=0 で重解", "和を求める", "重解になる理由"), "D=0 で重解"),
        (("The causes of the war", "Explain the causes", "Why the king fled"), "The causes of the war"),
        (("Die Ursachen des Krieges", "Brüche kürzen", "Wörter zählen"), None),
    ],
)
def test_an_authors_items_are_judged_and_get_a_form_to_use(items: tuple[str, ...], reported: str | None) -> None:
    findings = findings_of_page("m", page("rule-a"), index("rule-a", given=items), strict=False)
    assert [finding.rule for finding in findings] == ["learns-no-action"] * (reported is not None)
    if reported is not None:
        (form,) = {"〜する方法", "How to …"} & set(re.findall("〜する方法|How to …", findings[0].message))
        assert f"): {reported}. Reword them." in findings[0].message
        assert (form == "〜する方法") == reported.startswith("D=0")


@pytest.mark.parametrize(
    ("items", "content", "lack"),
    [
        (("解の公式で解く方法", "解の公式を間違えずに使う手順", "公式の計算"), "文", "has a word of its title"),
        (("係数から答えを出す方法", "代入の手順", "根号の計算"), "文", "a symptom, a mistake or a confusion"),
        (("係数から答えを出す方法", "符号の間違いを直す手順", "根号の計算"), "文で x = 2 となる", "small numbers"),
        (("係数から答えを出す方法", "符号の間違いを直す手順", "x²-4=0 の計算"), "文で x = 2 となる", None),
        (("How to solve it quickly", "Fix a wrong sign", "Find the roots"), "`a = 1`", None),
        (("How to solve it quickly", "Fix a wrong sign", "Find the roots"), "for (let i=0; i<a.length; i++)", None),
        (("How to solve it quickly", "Fix a wrong sign", "Find the roots"), "Let x = 2; solve it.", "small numbers"),
        (
            ("How to solve it quickly", "Find two roots", "Find the roots"),
            "text",
            "a symptom, a mistake or a confusion",
        ),
        (("欠点に気づく", "係数の問題点を見つける", "根号の計算"), "[文](<a?x=1>) の A => b", None),
        (("Explain what happens", "Find two roots", "Find the roots"), "text", None),
    ],
)
def test_a_mixture_that_lacks_a_kind_of_item_is_weak(items: tuple[str, ...], content: str, lack: str | None) -> None:
    formula = replace(page("rule-a").explanations[0], title="解の公式", content=content)
    findings = findings_of_page("m", page("rule-a", explanations=(formula,)), index("rule-a", given=items))
    assert [finding.rule for finding in findings] == ["learns-weak"] * (lack is not None)
    assert lack is None or lack in findings[0].message


@pytest.mark.parametrize(("other", "is_weak"), [("rule-b", True), ("More options", False)])
def test_a_word_that_another_title_of_the_page_has_may_be_in_every_item(other: str, is_weak: bool) -> None:
    one, two = page("rule-a", "rule-b").explanations
    titled = page("rule-a", explanations=(replace(one, title="What are Options With"), replace(two, title=other)))
    findings = findings_of_page("m", titled, index("rule-a", given=("Fix options", "Find options", "Find old options")))
    assert ("learns-weak" in [finding.rule for finding in findings]) == is_weak


def test_sections_of_headings_without_any_source_have_no_learns_and_are_counted() -> None:
    sections = tuple(replace(one, is_section=True) for one in page("a", "b", "c").explanations)
    read = page("rule-d", explanations=(*sections, *page("rule-d").explanations))
    known = (IndexedChunk("a", ()), IndexedChunk("b", GOOD), IndexedChunk("c", ()), IndexedChunk("rule-d", ()))
    assert found(read, known) == [("info", "learns-none", None)]
    assert findings_of_page("m", read, known)[0].message.startswith("2 sections without learns.")


def test_an_explanation_that_is_embedded_in_part_is_a_warning() -> None:
    long = replace(page("rule-a").explanations[0], content="あ" * (EMBEDDED_LENGTH + 1))
    whole = replace(long, content="あ" * EMBEDDED_LENGTH)
    known = index("rule-a")
    assert found(page("rule-a", explanations=(long,)), known) == [("warning", "long-explanation", "rule-a")]
    assert found(page("rule-a", explanations=(whole,)), known) == []


def test_a_page_by_headings_says_what_ids_would_improve() -> None:
    ids = ("a", "x", "x", "b", "b", "eq", "eq")
    sections = tuple(replace(one, is_section=True) for one in page("a", "b").explanations)
    read = page(explanations=sections, by_headings=True, ids=ids, links=("eq",), unanchored_headings=tuple("CDEFGH"))
    findings = findings_of_page("m", read, index("a"))
    assert [(finding.severity, finding.rule, finding.anchor) for finding in findings] == [
        ("info", "page-by-headings", None),
        ("warning", "not-indexed", None),
        ("warning", "heading-without-anchor", None),
        # The id x is the theme's: nothing leads to it.
        ("error", "duplicate-id", "b"),
        # Sphinx gives an equation its number's id once more.
        ("warning", "duplicate-id", "eq"),
    ]
    assert "1 of 2 explanations" in findings[1].message
    assert findings[2].message.startswith('6 headings without an id: "C", "D", "E", "F", "G" and 1 more.')


def test_settings_of_a_page_that_cannot_be_used_are_warnings() -> None:
    assert found(page(ids=("rule-a",), places=frozenset({"rule-a"})), index()) == []
    read = page("method-syntax", problems=("sakuin:index is wrong.",))
    assert found(read, index("method-syntax")) == [("warning", "page-setting", None)]


def test_a_page_of_which_much_is_lost_or_hidden_says_what_first() -> None:
    lost = page("rule-a", words=Words(1_000, 30, {}, ("A table of values", "Notes")))
    (finding,) = findings_of_page("m", lost, index("rule-a"))
    assert (
        finding.rule,
        "1,000 words searched, 0 only read, 0 left out, 30 lost. A table of values / Notes" in finding.message,
    ) == ("much-left-out", True)
    assert [rule for _, rule, _ in found(page("rule-a", words=Words(9, 0, {"hidden": 10})), index("rule-a"))] == [
        "much-left-out"
    ]
    for few in (Words(1_000, 9), Words(9_000, 80), Words(9, 0, {"menu": 99})):
        assert found(page("rule-a", words=few), index("rule-a")) == []
