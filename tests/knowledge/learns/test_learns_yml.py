"""`learns.yml`."""

from sakuin.knowledge.learns.authored import learns_keys, parse_learns


def test_a_key_is_the_material_or_its_last_segment_and_the_whole_path_wins() -> None:
    parsed = parse_learns("頁:\n  rule-a: [一]\n  rule-b: [二]\n中/頁:\n  rule-a: [三]\n".encode())
    assert parsed.for_material("中/頁") == {"rule-a": ("三",), "rule-b": ("二",)}
    assert parsed.for_material("別") == {}
    assert parsed.materials == ("頁", "中/頁")


def test_a_bad_entry_fails_alone_and_says_its_line() -> None:
    parsed = parse_learns("頁:\n  rule-a:\n    - 一\n    - {a: b}\n    - 7\n  other id: [二]\n別: 文\n".encode())
    assert parsed.for_material("頁") == {"rule-a": ("一",)}
    assert [problem.split(":")[0] for problem in parsed.problems] == ["line 4", "line 5", "line 6", "line 7"]


def test_an_anchor_is_any_id_that_a_page_may_have() -> None:
    assert parse_learns(b"docs:\n  '#install': [one]\n").for_material("docs") == {"install": ("one",)}


def test_of_a_repeated_key_the_first_counts() -> None:
    parsed = parse_learns("頁:\n  rule-a: [一]\n  rule-a: [二]\n".encode())
    assert (parsed.for_material("頁")["rule-a"], len(parsed.problems)) == (("一",), 1)


def test_an_empty_file_lists_nothing() -> None:
    assert parse_learns(b"").materials == parse_learns(b"# nothing\n").materials == ()


def test_a_page_is_looked_up_in_its_folder_then_in_each_parent_up_to_the_prefix() -> None:
    assert learns_keys("junior/x.html") == ["junior/learns.yml", "learns.yml"]
    assert learns_keys("site/a/b/x.html", "site/") == ["site/a/b/learns.yml", "site/a/learns.yml", "site/learns.yml"]
