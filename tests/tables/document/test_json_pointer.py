"""JSON Pointers, RFC 6901."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.errors import Invalid, NotFound
from sakuin.tables.json_pointer import ancestors, is_within, pointer_hash, pointer_of, relative, resolve, tokens

STEPS = st.lists(st.text(alphabet='a0/~*" あ\ud800\0-', max_size=4), max_size=5).map(tuple)

# RFC 6901, section 5.
EXAMPLE = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8}


@pytest.mark.parametrize(
    ("pointer", "node"),
    [
        *(("", EXAMPLE), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2)),
        *(("/e^f", 3), ("/g|h", 4), ("/i\\j", 5), ('/k"l', 6), ("/ ", 7), ("/m~0n", 8)),
    ],
)
def test_the_examples_of_the_rfc_resolve(pointer: str, node: object) -> None:
    assert resolve(EXAMPLE, pointer) == node


@pytest.mark.parametrize("pointer", ["articles", "#/a", " /a", "/a~", "/a~2b", "/~~0"])
def test_what_is_no_pointer_is_invalid(pointer: str) -> None:
    with pytest.raises(Invalid, match="not a JSON Pointer"):
        tokens(pointer)


@pytest.mark.parametrize(
    "step", ["-", "01", "00", "+1", "-1", "1.0", "1e0", "0x1", "３", "", "2", "a", "9" * 5000, " 0"]
)
def test_an_array_has_no_place_but_its_indexes(step: str) -> None:
    with pytest.raises(NotFound):
        resolve({"foo": ["bar", "baz"]}, f"/foo/{step}")


@pytest.mark.parametrize("pointer", ["/missing", "/foo/0/1", "/foo/bar", "/fo"])
def test_what_is_not_there_is_not_found_and_named(pointer: str) -> None:
    with pytest.raises(NotFound, match=pointer):
        resolve(EXAMPLE, pointer)


def test_a_key_of_digits_is_a_key_in_an_object() -> None:
    assert resolve({"01": {"-": "x"}}, "/01/-") == "x"


def test_a_scope_holds_what_is_below_it_and_not_its_namesake() -> None:
    for pointer, scope, below in (
        ("/articles/0/content", "/articles", "/0/content"),
        ("/articles", "/articles", ""),
        ("/articles//x", "/articles/", "/x"),
        ("/a", "", "/a"),
    ):
        assert (is_within(pointer, scope), relative(pointer, scope)) == (True, below)
    for pointer, scope in (("/articles2", "/articles"), ("/articles", "/articles/0")):
        assert not is_within(pointer, scope)
        with pytest.raises(Invalid):
            relative(pointer, scope)


def test_ancestors_go_from_the_root_to_the_node() -> None:
    assert ancestors("/a~1b//c") == ("", "/a~1b", "/a~1b/", "/a~1b//c")
    assert ancestors("") == ("",)
    assert ancestors("/") == ("", "/")


@given(STEPS)
def test_a_pointer_splits_into_the_steps_it_was_made_of(steps: tuple[str, ...]) -> None:
    assert tokens(pointer_of(steps)) == steps
    assert len(ancestors(pointer_of(steps))) == len(steps) + 1


@given(STEPS, STEPS)
def test_a_scope_holds_exactly_the_nodes_it_is_an_ancestor_of(steps: tuple[str, ...], other: tuple[str, ...]) -> None:
    pointer, scope = pointer_of(steps), pointer_of(other)
    assert is_within(pointer, scope) == (scope in ancestors(pointer)) == (steps[: len(other)] == other)


@given(STEPS, STEPS)
def test_scope_and_relative_pointer_make_the_absolute_one(scope: tuple[str, ...], below: tuple[str, ...]) -> None:
    assert pointer_of(scope) + relative(pointer_of(scope + below), pointer_of(scope)) == pointer_of(scope + below)


def test_a_pointers_hash_is_short_and_stays() -> None:
    assert pointer_hash("") == "e3b0c44298fc1c14"
    assert len(pointer_hash("/\ud800" + "あ" * 300)) == 16
