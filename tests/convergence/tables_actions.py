"""What may happen to Tables next, beside what may happen to any schedule."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.convergence.actions import (
    END,
    GoOn,
    Maintenance,
    SharedAction,
    Work,
    fates,
    forget,
    numbers,
    unavailable,
    weighted,
)
from tests.convergence.interleaving import Fate

_TEXTS = (
    "公式に代入する。係数を読みとる。",
    "一次関数の傾きを求める。切片は別に読む。",
    "三平方の定理は直角三角形でだけ使える。斜辺を先に見つけ、残る二辺の平方の和と比べる。",
    "短い",
    "終わりに\0がある文字列は読めない。",
)
SCOPES = ("", "/a", "/list", "/list/1")


@dataclass(frozen=True)
class Change:
    """Somebody changes the `which`th Table or Tool; `sent`: its events are published at once, as by the API.

    "upload": through S3, whose event may be lost: then the document never becomes the Table's.
    "lose rows": the store was restored from a backup without that Table's namespace.
    """

    what: str
    which: int
    document: Any
    scope: str
    sent: bool


@dataclass(frozen=True)
class Send:
    """Somebody publishes the outbox; the bus refuses some entries."""

    refused: frozenset[int]
    place: str | int
    fate: Fate


@dataclass(frozen=True)
class Look:
    which: int


Action = Change | Send | Look | SharedAction

_texts = st.sampled_from(_TEXTS)
documents = st.fixed_dictionaries(
    {"a": _texts}, optional={"b~/c": _texts, "list": st.lists(_texts, min_size=1, max_size=3)}
) | st.fixed_dictionaries({}, optional={"list": st.lists(_texts, max_size=3)})
_WHAT = (
    *("replace", "replace", "upload", "upload", "write elsewhere", "create tool", "switch tool"),
    *("reindex tool", "delete tool", "create table", "delete table", "delete project", "lose rows"),
)
# Where a worker may stop; the first call of all, and those between which it matters.
_places = st.sampled_from(
    (
        *("", END, END, "rpc/begin_scan", "rpc/plan_nodes", "rpc/finish_scan", "rpc/record_scan"),
        *(
            "rpc/begin_work",
            "rpc/record_wait",
            "rpc/finish_work",
            "rpc/finish_upload",
            "s3 read",
            "rpc/mark_ready_if_complete",
            "rpc/changed_nodes",
            "sqs",
            "openai",
        ),
        *(
            "openai",
            "rpc/chunks_to_store",
            "POST chunk_vector",
            "turbopuffer POST",
            "rpc/record_stored",
            "rpc/mark_swept",
        ),
        # Not every worker comes to a place that is named; most come to one that is counted: a page of a scan and a
        # batch of chunks make six calls.
        *(5 * tuple(range(6))),
    )
)
_places_of_schedule = st.sampled_from(
    (
        *("", END, END, "sqs", "bus", "rpc/mark_events_sent", "rpc/stalled_tables"),
        *("rpc/record_table_start", "rpc/mark_abandoned_namespaces", "turbopuffer"),
    )
)

_changes = st.builds(Change, st.sampled_from(_WHAT), numbers, documents, st.sampled_from(SCOPES), st.booleans())
_work = st.builds(Work, numbers, st.booleans(), _places, fates)
_go_on = st.builds(GoOn, numbers, _places, fates)
_send = st.builds(Send, st.frozensets(st.integers(0, 3), max_size=2), _places_of_schedule, fates)
_maintenance = st.builds(Maintenance, st.booleans(), _places_of_schedule, fates)
_look = st.builds(Look, numbers)
# Mostly work: a schedule without workers shows little.
_WEIGHTS = (
    *((_changes, 3), (_work, 8), (unavailable, 1), (_go_on, 3)),
    *((_send, 1), (_maintenance, 2), (forget, 1), (_look, 1)),
)
actions: st.SearchStrategy[Action] = weighted(_WEIGHTS)
