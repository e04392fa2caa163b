"""What is inserted into a text of JSON or TOML comes out again, and every other character stays."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin_cli.connecting import json_text, toml_text
from sakuin_cli.connecting.text import CannotEdit, without

ADDITION = {"inputs": [{"id": "sakuin-key", "password": True}], "servers": {"sakuin": {"url": "https://s/mcp"}}}
TABLES = {"mcp_servers": {"sakuin": {"url": "https://s/mcp", "bearer_token_env_var": "SAKUIN_API_KEY"}}}
SPACE = st.lists(st.sampled_from([" ", "\t", "\n", "\r\n", "// a, } \n", "/* b: { */"]), max_size=3).map("".join)
NAMES = st.sampled_from(["servers", "inputs", "日本", "a//b", 'quote"', "x"])
SCALARS = st.sampled_from(["1", "-2.5e3", "true", "null", '"a // b"', '"é\\u00e9,}"', "{}", "[]"])


@st.composite
def members(draw: st.DrawFn, depth: int = 2) -> str:
    """An object with comments, odd spaces and sometimes a comma after its last member."""
    names = draw(st.lists(NAMES, unique=True, max_size=3))
    written = []
    for name in names:
        value = draw(members(depth - 1)) if depth and name == "servers" else draw(SCALARS)
        if name == "inputs":
            value = draw(st.sampled_from(["[]", "[ // none\n]", '[{"id": "other"},]']))
        elif name == "servers" and not depth:
            value = "{}"
        written.append(f"{draw(SPACE)}{json.dumps(name)}{draw(SPACE)}:{draw(SPACE)}{value}{draw(SPACE)}")
    comma = draw(st.sampled_from(["", ","])) if names else ""
    return "{" + ",".join(written) + comma + draw(SPACE) + "}"


@given(SPACE, members(), SPACE)
def test_an_insertion_into_json_keeps_every_other_character(before: str, text: str, after: str) -> None:
    original = before + text + after
    new, insertions = json_text.insert(original, ADDITION)
    assert without(new, insertions) == original
    was, now = json_text.read(original), json_text.read(new)
    assert now["servers"]["sakuin"] == ADDITION["servers"]["sakuin"]
    assert now == {
        **was,
        "inputs": [*ADDITION["inputs"], *was.get("inputs", [])],
        "servers": {**was.get("servers", {}), **ADDITION["servers"]},
    }
    assert json_text.insert(new, ADDITION) == (new, [])


@given(members())
def test_an_entry_is_removed_from_json_that_somebody_has_changed(text: str) -> None:
    new, _ = json_text.insert(text, ADDITION)
    for changed in (new, json.dumps(json_text.read(new)), json.dumps(json_text.read(new), indent=3) + "\n"):
        rest = json_text.remove(json_text.remove(changed, ["servers", "sakuin"]), ["inputs", "sakuin-key"])
        was = json_text.read(text)
        assert json_text.read(rest) == {**was, "inputs": was.get("inputs", []), "servers": was.get("servers", {})}


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('{"servers": {"a": 1, "sakuin": 2}}', '{"servers": {"a": 1}}'),
        ('{"servers": {"a": 1, "sakuin": 2,}}', '{"servers": {"a": 1,}}'),
        ('{"servers": {// why\n  "sakuin": 2}}', '{"servers": {// why\n  }}'),
        ('{"servers": {"sakuin": 2 /* mine */, "a": 1}}', '{"servers": { /* mine */ "a": 1}}'),
        ('{"servers": {"a": 1}}', '{"servers": {"a": 1}}'),
    ],
)
def test_a_member_is_removed_with_one_comma_and_no_comment(text: str, rest: str) -> None:
    assert json_text.remove(text, ["servers", "sakuin"]) == rest
    json_text.read(rest)


@pytest.mark.parametrize(
    "text", ["{", '{"a" 1}', '{"a": 1 "b": 2}', '{"a": }', "{} x", '{"a": "\n"}', "[1 2]", "[" * 9999]
)
def test_what_is_no_json_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(CannotEdit, match=r"not valid JSON, near line 1|nested too deeply"):
        json_text.insert(text, ADDITION)


@given(
    st.sampled_from(
        ["", "\n", 'model = "x"', 'model = "x" # why\r\n', "[a]\nb = 1\n\n", '[mcp_servers.other]\nurl = "u"\n']
    )
)
def test_an_insertion_into_toml_keeps_every_other_character(text: str) -> None:
    new, insertions = toml_text.insert(text, TABLES)
    assert without(new, insertions) == text
    others = tomllib.loads(text)
    assert tomllib.loads(new) == {**others, "mcp_servers": {**others.get("mcp_servers", {}), **TABLES["mcp_servers"]}}
    assert toml_text.insert(new, TABLES)[0] == new
    changed: dict[str, Any] = tomllib.loads(
        toml_text.remove(new + "[mcp_servers.sakuin.tools.a]\nx = 1\n# of b\n[b]\n", ["mcp_servers", "sakuin"])
    )
    assert changed == {**others, "b": {}}


def test_an_inline_table_of_toml_has_no_place_for_another_table() -> None:
    new, _ = toml_text.insert("mcp_servers = { a = { url = 'u' } }\n", TABLES)
    with pytest.raises(CannotEdit, match="not valid TOML"):
        toml_text.read(new)
