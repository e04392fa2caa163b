"""Search Tools: names, questions, states."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.domain.search_tool import SEARCH_INPUT_SCHEMA, SearchIndexStatus, SkippedNode, tool_name_problem
from sakuin.errors import Conflict

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def later(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


@pytest.mark.parametrize("name", ["a", "search_articles-2", "A" * 64])
def test_a_name_that_agents_can_call_has_no_problem(name: str) -> None:
    assert tool_name_problem(name) is None


@pytest.mark.parametrize("name", ["", "a b", "検索", "a.b", "A" * 65, "a\n"])
def test_any_other_name_has_one_that_says_what_to_use(name: str) -> None:
    assert "Use 1 to 64" in (tool_name_problem(name) or "")


def test_only_a_query_is_needed() -> None:
    jsonschema.Draft202012Validator.check_schema(SEARCH_INPUT_SCHEMA)
    jsonschema.validate({"query": "x"}, SEARCH_INPUT_SCHEMA)
    jsonschema.validate({"query": "x", "top_k": 5.0}, SEARCH_INPUT_SCHEMA)


@pytest.mark.parametrize("top_k", [0, -1, 51, "5", True, 5.5, None])
def test_a_top_k_out_of_range_or_kind_is_refused(top_k: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"query": "x", "top_k": top_k}, SEARCH_INPUT_SCHEMA)


@pytest.mark.parametrize("arguments", [{}, {"query": 1}, {"query": "x", "scope": "/"}])
def test_a_missing_query_and_unknown_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(arguments, SEARCH_INPUT_SCHEMA)


def test_an_index_goes_from_pending_to_ready() -> None:
    status = SearchIndexStatus.configured(NOON).started(later(1))
    status = status.progressed(later(2), nodes=2, chunks=7, indexed_chunks=7, skipped=(SkippedNode("/a", "NUL."),))
    assert status.completed(later(3)).as_json() == {
        **{"state": "ready", "configured_at": "2026-11-22T12:00:00+00:00", "started_at": "2026-11-22T12:01:00+00:00"},
        **{"heartbeat_at": "2026-11-22T12:03:00+00:00", "indexed_at": "2026-11-22T12:03:00+00:00"},
        **{"nodes_count": 2, "chunks_count": 7, "indexed_chunks_count": 7},
        **{"skipped_nodes": [{"json_pointer": "/a", "reason": "NUL."}], "last_error": None},
        **{"attempt": 0, "generation": 1},
    }


def test_nothing_to_index_is_ready() -> None:
    assert SearchIndexStatus.configured(NOON).started(NOON).completed(NOON).state == "ready"


def test_a_failure_keeps_the_last_good_time_and_success_forgets_it() -> None:
    ready = SearchIndexStatus.configured(NOON).started(NOON).completed(later(1))
    again = ready.reconfigured(later(2), generation=2)
    failed = again.started(later(3)).failed(later(4), "The store did not answer.\nTraceback …")
    assert (failed.state, failed.indexed_at, failed.last_error, failed.attempt) == (
        *("error", later(1)),
        *("The store did not answer.", 1),
    )
    retried = failed.started(later(5))
    assert (retried.attempt, retried.last_error) == (2, "The store did not answer.")
    recovered = retried.completed(later(6))
    assert (recovered.last_error, recovered.indexed_at, recovered.attempt) == (None, later(6), 0)


def test_a_crash_in_the_middle_can_be_started_again() -> None:
    crashed = SearchIndexStatus.configured(NOON).started(NOON)
    assert crashed.started(later(9)).attempt == 2


def test_ready_waits_for_the_last_chunk() -> None:
    status = SearchIndexStatus.configured(NOON).started(NOON)
    with pytest.raises(Conflict, match="3 chunks"):
        status.progressed(NOON, nodes=1, chunks=5, indexed_chunks=2).completed(NOON)


def test_a_step_that_its_state_does_not_allow_is_a_conflict() -> None:
    pending = SearchIndexStatus.configured(NOON, generation=4)
    ready = pending.started(NOON).completed(NOON)
    steps = [
        lambda: pending.completed(NOON),
        lambda: ready.completed(NOON),
        lambda: ready.started(NOON),
        lambda: ready.failed(NOON, "late"),
        lambda: ready.reconfigured(NOON, generation=4),
    ]
    for step in steps:
        with pytest.raises(Conflict):
            step()


@given(st.text(alphabet=st.characters(codec=None)), st.text(alphabet=st.characters(codec=None)))
def test_a_status_holds_nothing_that_jsonb_refuses(pointer: str, reason: str) -> None:
    status = SearchIndexStatus.configured(NOON).started(NOON)
    status = status.progressed(NOON, nodes=0, chunks=0, indexed_chunks=0, skipped=(SkippedNode(pointer, reason),))
    text = json.dumps(status.failed(NOON, reason).as_json(), ensure_ascii=False)
    assert "\\u0000" not in text.replace("\\\\u0000", "")
    assert text.encode().decode() == text
    assert len(status.failed(NOON, reason).as_json()["last_error"]) in range(1, 301)
