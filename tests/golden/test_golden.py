"""The recorder itself: what is normalised, what counts as a difference, and how a recording is kept."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.golden import files
from tests.golden.compare import Allowed, Difference, differences, read_allowed, separate
from tests.golden.normalise import Normaliser, lines
from tests.golden.searches import TOP_K, questions, search_entry


def found(recorded: Any, now: Any) -> list[tuple[str, str, str]]:
    return [(each.place, each.recorded, each.now) for each in differences(recorded, now, "rest")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("There is no table 5f0c2e0a-1f6e-4b57-9d0a-3a6b0c9d2e11", "There is no table <uuid>"),
        ("built 2026-11-22T06:15:24.123456+00:00 and 2026-11-22 06:15:24Z", "built <time> and <time>"),
        ("protocol 2025-06-18", "protocol 2025-06-18"),
        ("at http://127.0.0.1:8787/mcp", "at http://<host>/mcp"),
        ("Try again in 12 s.", "Try again in <n> s."),
        ("port 36609 is in use", "port <n> is in use"),
        ("wait at most 300 seconds", "wait at most 300 seconds"),
        ("06c1243e_4cdf0292b19be2d7_ff46b6a8bb7e849c_1", "<table>_4cdf0292b19be2d7_ff46b6a8bb7e849c_1"),
        (f"key sk_sakuin_{'a' * 43}", "key <key>"),
    ],
)
def test_what_is_random_or_a_moment_in_a_text_has_a_placeholder(text: str, shown: str) -> None:
    assert Normaliser().text(text) == shown


def test_members_are_normalised_by_their_names_and_numbers_are_rounded() -> None:
    answer = {"version_id": "abc", "seconds": 1.25, "hash": "0f", "last_used_on": "2026-11-22", "score": 0.123456}
    shown = {"version_id": "<version>", "seconds": "<seconds>", "hash": "<hash>", "last_used_on": "<day>"}
    assert Normaliser().value(answer) == {**shown, "score": 0.1235}


def test_nothing_and_booleans_stay_as_they_are() -> None:
    answer = {"version_id": None, "seconds": True, "last_used_on": None, "n": 5}
    assert Normaliser().value(answer) == answer


def test_a_known_value_has_its_own_placeholder_and_the_longest_wins() -> None:
    normaliser = Normaliser({"http://127.0.0.1:1": "<url>"})
    table = str(uuid4())
    assert normaliser.name(table, "<table>") == table
    assert normaliser.name(f"http://127.0.0.1:1/mcp/{table}", "<endpoint>")
    text = normaliser.text(f"{table} at http://127.0.0.1:1/mcp/{table} or http://127.0.0.1:1/v1")
    assert text == "<table> at <endpoint> or <url>/v1"


def test_a_text_of_several_lines_is_kept_as_lines_without_trailing_blanks() -> None:
    assert lines("one  \ntwo\n") == ["one", "two"]
    assert lines("one\n") == "one"
    assert lines("") == ""


def test_equal_answers_have_no_difference() -> None:
    answer = {"a": [1, {"b": None}], "c": "text", "d": 0.5}
    assert found(answer, dict(reversed(answer.items()))) == []


def test_a_difference_names_its_place_and_both_values() -> None:
    recorded = {"status": {"body": {"detail": "old", "gone": 1}, "list": [1, 2]}}
    now = {"status": {"body": {"detail": "new", "more": True}, "list": [1, 3]}}
    assert found(recorded, now) == [
        ("rest/status/body/detail", "old", "new"),
        ("rest/status/body/gone", "1", "(nothing)"),
        ("rest/status/body/more", "(nothing)", "True"),
        ("rest/status/list/1", "2", "3"),
    ]


def test_of_texts_in_lines_only_the_lines_that_changed_are_shown() -> None:
    assert found({"help": ["a", "b", "c"]}, {"help": ["a", "c", "d", "e"]}) == [
        ("rest/help", "['b']", "['d', 'e']"),
    ]


def test_numbers_may_differ_by_the_last_digits_and_booleans_are_no_numbers() -> None:
    assert found(0.9771, 0.9772) == []
    assert found(1, 1.0) == []
    assert found(0.9771, 0.9781) == [("rest", "0.9771", "0.9781")]
    assert found(11, 12) == [("rest", "11", "12")]
    assert found(1, True) == [("rest", "1", "True")]


@pytest.mark.parametrize(
    ("now", "places"),
    [
        ({"a": 0.9, "b": 0.8, "c": 0.7999, "d": 0.5}, []),
        ({"a": 0.9, "c": 0.7999, "b": 0.8, "d": 0.5}, []),
        ({"b": 0.8, "a": 0.9, "c": 0.7999, "d": 0.5}, ["ranking/1"]),
        ({"a": 0.9, "b": 0.8, "c": 0.7999, "e": 0.5}, []),
        ({"a": 0.9, "b": 0.8, "c": 0.7999, "e": 0.4}, ["ranking/4"]),
        ({"a": 0.91, "b": 0.8, "c": 0.7999, "d": 0.5}, ["ranking/a"]),
        ({"a": 0.9, "b": 0.8, "c": 0.7999}, ["ranking/length"]),
    ],
    ids=["equal", "equals change places", "first and second", "equals at the end", "another", "a score", "one less"],
)
def test_a_ranking_is_compared_in_its_order(now: dict[str, float], places: list[str]) -> None:
    recorded = {"ranking": {"a": 0.9, "b": 0.8, "c": 0.7999, "d": 0.5}}
    assert [place.removeprefix("rest/") for place, _, _ in found(recorded, {"ranking": now})] == places


def test_differences_that_a_step_makes_on_purpose_are_allowed_by_pattern(tmp_path: Path) -> None:
    file = tmp_path / "allowed"
    file.write_text("# the operator has one name\nrest/*/detail -> *operator*\n\ncommands/keys pepper*\nnothing/*\n")
    made = [
        Difference("rest/status/body/detail", "the admin", "the operator"),
        Difference("rest/status/body/detail", "the admin", "somebody"),
        Difference("commands/keys pepper: forget/exit", "0", "2"),
    ]
    refused, permitted, unused = separate(made, read_allowed(file))
    assert refused == [made[1]]
    assert permitted == [made[0], made[2]]
    assert unused == [Allowed("nothing/*")]


@pytest.mark.parametrize("kind", ["knowledge", "rest", "rows"])
def test_a_recording_is_read_as_it_was_written(kind: str, tmp_path: Path) -> None:
    entries = {
        "解の公式 [5]": {"ranking": {"b#2": 0.9, "a#1": 0.8}, "no_good_match": False},
        "nothing [1]": {"error": "文" * 200, "list": ["a" * 100, "b" * 100], "empty": {}, "none": []},
    }
    files.write(tmp_path, kind, entries)
    assert files.read(tmp_path, kind) == entries


def test_ids_keep_their_codes_when_others_come(tmp_path: Path) -> None:
    files.write(tmp_path, "knowledge", {"q [1]": {"ranking": {"m#b": 0.9}}})
    files.write(tmp_path, "tables", {"q [1]": {"ranking": {"/a 0": 0.9}}})
    files.write(tmp_path, "knowledge", {"q [1]": {"ranking": {"m#a": 0.9, "m#b": 0.8}}})
    assert '"k1": "m#b"' in (tmp_path / "ids.json").read_text()
    assert files.read(tmp_path, "knowledge") == {"q [1]": {"ranking": {"m#a": 0.9, "m#b": 0.8}}}
    assert files.read(tmp_path, "tables") == {"q [1]": {"ranking": {"/a 0": 0.9}}}


def test_an_answer_is_condensed_to_its_ranking_and_digests() -> None:
    def recorded(excerpt: str, *, text: str | None = None) -> dict[str, Any]:
        results = [{"id": "m#a", "similarity": 0.97712, "title": "T", "url": "/m#a", "excerpt": excerpt}]
        answer = {"query": "q", "results": results, "no_good_match": False}
        result = {"structuredContent": answer, "content": [{"type": "text", "text": text or json.dumps(answer)}]}
        return search_entry(result, Normaliser(), lambda each: (each["id"], each["similarity"]))

    assert recorded("one")["ranking"] == {"m#a": 0.9771}
    assert recorded("one")["no_good_match"] is False
    assert [place for place, _, _ in found(recorded("one"), recorded("two"))] == ["rest/digests/excerpt"]
    assert [place for place, _, _ in found(recorded("one"), recorded("one", text="{}"))] == ["rest/text"]


def test_every_question_is_recorded_for_both_products() -> None:
    asked = questions()
    names = [each.name for each in asked]
    assert len(set(names)) == len(names) >= 300
    knowledge, tables = (files.read(files.RECORDED, kind) for kind in ("knowledge", "tables"))
    assert set(knowledge) == {f"{name} [{top_k}]" for name in names for top_k in TOP_K}
    assert set(tables) == {f"{each.name} [{top_k}]" for each in asked if not each.filters for top_k in TOP_K}


def test_the_recording_stays_small() -> None:
    assert sum(file.stat().st_size for file in files.RECORDED.glob("*.json")) < 1_500_000
