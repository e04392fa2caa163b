"""`sakuin changes`."""

from typing import Any

import pytest
from sakuin_cli.commands.changes import answers_since

from tests.builders import a_page
from tests.cli.conftest import Operator

A, B = {"rule-a": "公式: 係数を代入する。"}, {"def-b": "判別式: 符号を調べる。"}


@pytest.fixture
def filled(operator: Operator) -> Operator:
    """A library with one page."""
    operator.deployment.put("x.html", a_page(A))
    return operator


def test_changes_are_printed_with_the_cursor_to_go_on(filled: Operator) -> None:
    first = filled.sakuin("changes")
    change, cursor = first.out.splitlines()
    assert "  explanation.added    x#rule-a  " in change
    name, cursor = cursor.split()
    assert name == "cursor"
    assert filled.sakuin("changes", "--since", cursor).out.splitlines() == [f"cursor  {cursor}"]
    filled.deployment.put("x.html", a_page(B))
    later = filled.sakuin("changes", "--since", cursor, "--json").document
    assert {(each["kind"], each["id"]) for each in later["changes"]} == {
        ("explanation.removed", "x#rule-a"),
        ("explanation.added", "x#def-b"),
    }


def test_some_kinds_are_asked_for(filled: Operator) -> None:
    filled.deployment.put("bad.html", b"\xff\xfe\x00\x00 no page")
    found = filled.sakuin("changes", "--kind", "page.failed", "--json").document
    assert [each["id"] for each in found["changes"]] == ["bad"]
    wrong = filled.sakuin("changes", "--kind", "everything")
    assert (wrong.code, "'kind' must be" in wrong.err) == (1, True)


@pytest.mark.parametrize(
    ("setting", "arguments"), [("SAKUIN_API_KEY", []), ("SAKUIN_TOOLS_API_KEY", ["--tools"])], ids=["pages", "tools"]
)
def test_a_wrong_key_is_named(filled: Operator, setting: str, arguments: list[str]) -> None:
    url = filled.deployment.url + "/mcp/00000000-0000-0000-0000-000000000001"
    refused = filled.sakuin("changes", *arguments, SAKUIN_TOOLS_MCP_URL=url, **{setting: "sk_sakuin_" + "x" * 43})
    assert (refused.code, f"The key is not valid. Correct {setting}" in refused.err) == (1, True)


def test_following_asks_again_from_the_last_cursor_after_a_pause() -> None:
    asked: list[Any] = []

    def read(cursor: str | None) -> Any:
        asked.append(cursor)
        return {"changes": [], "cursor": f"{len(asked)}", "more": len(asked) == 1}

    answers = answers_since(read, "0", lambda: asked.append("pause"))
    assert [next(answers)["cursor"] for _ in range(3)] == ["1", "2", "4"]
    assert asked == ["0", "1", "pause", "2"]
    asked.clear()
    assert [each["cursor"] for each in answers_since(read, None, None)] == ["1", "2"]
