"""A first question and a description, from the titles of a library."""

import pytest
from sakuin_cli.titles import description_from, question_about


@pytest.mark.parametrize(
    ("titles", "language", "question"),
    [
        (["Prices", "Restore one file", "Refunds"], "en", "How do I restore one file?"),
        (["How to take your first backup"], "en", "How do I take my first backup?"),
        (["Larder", "The default policy", "Errors"], "en", "The default policy: how does it work?"),
        (["解の公式", "たすき掛け"], "ja", "解の公式について教えてください"),
        (["Mettre à jour le programme"], "fr", "Mettre à jour le programme"),
        ([], "en", ""),
        ([], "ja", ""),
    ],
)
def test_a_question_is_made_from_the_title_that_suits_best(titles: list[str], language: str, question: str) -> None:
    assert question_about(titles, language) == question


def test_a_description_names_the_first_pages_and_fits_into_a_shell_and_the_api() -> None:
    assert description_from(["Install", "Restore", "Install"]) == "Install, Restore"
    assert description_from([f"Page {n}" for n in range(10)]).endswith("Page 6, Page 7 +2")
    assert description_from(['The "best"\n\\ way']) == "The best way"
    assert len(description_from(["二次方程式" * 12] + [f"式{n}" * 20 for n in range(9)]).encode()) <= 400
    assert description_from([]) == ""
