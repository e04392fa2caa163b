"""What may happen to Tables next: a person changes something, or a machine goes some calls further."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.convergence.interleaving import Fate
from tests.convergence.weighing import weighted

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
    """Somebody changes the `which`th Table or Tool; `sent`: its events leave at once, as the API has it.

    "lose rows" is the store's doing: it comes back from a backup without that Table's namespace.
    """

    what: str
    which: int
    document: Any
    scope: str
    sent: bool


@dataclass(frozen=True)
class Work:
    """A worker takes a message; its first call of `place` has this fate, and after it the worker is left alone.

    `place` may be a number: the call after so many. One that never calls it comes to its end. `doubled`: the
    message's twin stays in the queue.
    """

    which: int
    doubled: bool
    place: str | int
    fate: Fate


@dataclass(frozen=True)
class GoOn:
    """A worker that was left alone goes on to its next call of `place`, which has this fate."""

    which: int
    place: str | int
    fate: Fate


@dataclass(frozen=True)
class Send:
    """Somebody sends what is in the outbox; the bus takes but a part."""

    refused: frozenset[int]
    place: str | int
    fate: Fate


@dataclass(frozen=True)
class Maintenance:
    """The schedule's function begins, a minute after all else, through which those at work kept their messages.

    `later`: the nightly run begins, an hour after, through which nobody kept any.
    """

    later: bool
    place: str | int
    fate: Fate


@dataclass(frozen=True)
class Forget:
    """A queue loses a message, though a worker may have it. None: all queues lose all."""

    which: int | None


@dataclass(frozen=True)
class Look:
    """An agent searches."""

    which: int


Action = Change | Work | GoOn | Send | Maintenance | Forget | Look

_texts = st.sampled_from(_TEXTS)
documents = st.fixed_dictionaries(
    {"a": _texts}, optional={"b~/c": _texts, "list": st.lists(_texts, min_size=1, max_size=3)}
) | st.fixed_dictionaries({}, optional={"list": st.lists(_texts, max_size=3)})
_numbers = st.integers(0, 5)
# Calls that go well are where others come between.
fates = st.sampled_from(tuple(Fate))
_WHAT = (
    *("replace", "replace", "replace", "write elsewhere", "create tool", "switch tool"),
    *("reindex tool", "delete tool", "create table", "delete table", "delete project", "lose rows"),
)
END = "the end"
# Where a worker may stop; the first call of all, and those between which it matters.
_places = st.sampled_from(
    (
        *("", END, END, "rpc/begin_scan", "rpc/plan_nodes", "rpc/finish_scan", "rpc/record_removed"),
        *(
            "rpc/record_unfinished",
            "rpc/finish_work",
            "rpc/mark_ready_if_complete",
            "rpc/changed_nodes",
            "rpc/record_scan",
            "sqs",
            "rpc/chunks_to_store",
            "openai",
            "POST chunk_vector",
        ),
        *("turbopuffer POST", "rpc/record_stored", "rpc/mark_swept"),
        # Not every worker comes to a place that is named; most come to one that is counted.
        *(2 * tuple(range(1, 13))),
    )
)
_places_of_schedule = st.sampled_from(
    (
        *("", END, END, "sqs", "bus", "rpc/mark_events_sent", "rpc/claim_due_work", "rpc/stalled_tables"),
        *("rpc/record_table_restart", "rpc/mark_abandoned_namespaces", "turbopuffer"),
    )
)

_changes = st.builds(Change, st.sampled_from(_WHAT), _numbers, documents, st.sampled_from(SCOPES), st.booleans())
_work = st.builds(Work, _numbers, st.booleans(), _places, fates)
_away = st.builds(Work, _numbers, st.booleans(), st.just("openai"), st.just(Fate.FAIL_BEFORE))
_go_on = st.builds(GoOn, _numbers, _places, fates)
_send = st.builds(Send, st.frozensets(st.integers(0, 3), max_size=2), _places_of_schedule, fates)
_maintenance = st.builds(Maintenance, st.booleans(), _places_of_schedule, fates)
_forget = st.builds(Forget, st.none() | _numbers)
_look = st.builds(Look, _numbers)
# Mostly work: a schedule in which nobody works is all settled at its end, and shows little.
_WEIGHTS = (
    *((_changes, 3), (_work, 8), (_away, 1), (_go_on, 3)),
    *((_send, 1), (_maintenance, 2), (_forget, 1), (_look, 1)),
)
actions: st.SearchStrategy[Action] = weighted(_WEIGHTS)
